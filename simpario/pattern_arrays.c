/*
 * Arrays: one rank writes large arrays of floats one after another, as models do that gather
 * their output first; the others compute.
 *
 *   | array 0, all of it from r0 | array 1 | array 2 | ...
 *
 * The full size, ten arrays of 1440 x 720 x 70, is that of a weather and climate benchmark of
 * NASA's Goddard Space Flight Center (Application Controlled Parallel Asynchronous I/O).
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pattern.h"

#define ELEMENT 4 /* single precision */

/* "360x180x35" */
static bool parse(const char *text, int sides[3])
{
    for (int d = 0; d < 3; d++) {
        char *end;
        errno = 0;
        long n = strtol(text, &end, 10);
        if (end == text || errno != 0 || n < 1 || n > INT32_MAX)
            return false;
        if (*end != (d < 2 ? 'x' : '\0'))
            return false;
        sides[d] = (int)n;
        text = end + 1;
    }
    return true;
}

static int settle(struct shape *s, char message[ARGS_MESSAGE])
{
    const char *text = s->array != NULL ? s->array : DEFAULT_ARRAY;
    if (s->piece != 0) {
        strcpy(message, "--pattern arrays has no pieces: drop --piece");
        return -EINVAL;
    }
    if (!parse(text, s->block)) {
        snprintf(message, ARGS_MESSAGE,
                 "--array %s is not the size of an array: give three sides, such as 1440x720x70",
                 text);
        return -EINVAL;
    }
    if (__builtin_mul_overflow((int64_t)ELEMENT * s->block[0], s->block[1], &s->record) ||
        __builtin_mul_overflow(s->record, s->block[2], &s->record)) {
        snprintf(message, ARGS_MESSAGE, "--array %s is more than 8 EiB: give a smaller one", text);
        return -EINVAL;
    }
    return 0;
}

static int64_t bytes(const struct shape *s)
{
    return s->rank == 0 ? s->record : 0;
}

static int64_t file_bytes(const struct shape *s)
{
    return s->phases * s->record;
}

static int64_t segments(const struct shape *s)
{
    return s->rank == 0;
}

static struct segment segment(const struct shape *s, int phase, int64_t i)
{
    (void)i;
    struct segment seg = {phase * s->record, s->record};
    return seg;
}

static void describe(const struct shape *s, char *buf, size_t size)
{
    snprintf(buf, size, "arrays of %d x %d x %d floats by one rank", s->block[0], s->block[1],
             s->block[2]);
}

const struct pattern pattern_arrays = {
    .name = "arrays",
    .phases = DEFAULT_PHASES_ARRAYS,
    .access = ACCESS_INDEPENDENT,
    .settle = settle,
    .bytes = bytes,
    .file_bytes = file_bytes,
    .segments = segments,
    .segment = segment,
    .describe = describe,
};
