/* tm_image.c - the expected contents of the file. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tm_image.h"
#include "tm_rng.h"

enum { MANY = 255 }; /* ranks, accesses of one rank that may be under way, or opens */

uint8_t tm_stamp(int64_t off, uint32_t who)
{
    return (uint8_t)(2 + tm_mix((uint64_t)off << 32 ^ who) % 254);
}

void tm_image_init(struct tm_image *m, int64_t max)
{
    memset(m, 0, sizeof *m);
    m->max = max;
    m->who = calloc((size_t)max, sizeof *m->who);
    m->readers = calloc((size_t)max, 1);
    m->writers = calloc((size_t)max, 1);
    m->through = calloc((size_t)max, 1);
    if (!m->who || !m->readers || !m->writers || !m->through) {
        fprintf(stderr, "t_model: no memory for the model\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

void tm_image_free(struct tm_image *m)
{
    free(m->who);
    free(m->readers);
    free(m->writers);
    free(m->through);
}

void tm_image_write(struct tm_image *m, int64_t off, int64_t len, uint32_t who)
{
    for (int64_t i = off; i < off + len; i++)
        m->who[i] = who;
    if (len && off + len > m->size) {
        m->size = off + len;
        m->grown = true;
    }
}

void tm_image_resize(struct tm_image *m, int64_t size)
{
    if (size < m->size)
        memset(m->who + size, 0, (size_t)(m->size - size) * sizeof *m->who);
    m->size = size;
    m->grown = true;
}

uint8_t tm_image_byte(const struct tm_image *m, int64_t off)
{
    return m->who[off] && m->who[off] != TM_UNSURE ? tm_stamp(off, m->who[off]) : 0;
}

/* ---- conflicts ---- */

void tm_image_barrier(struct tm_image *m)
{
    memset(m->readers, 0, (size_t)m->max);
    memset(m->writers, 0, (size_t)m->max);
    memset(m->through, 0, (size_t)m->max);
    m->grower = 0;
    m->settled = m->size;
    m->grown = m->end_seen = false;
}

static bool taken(const struct tm_image *m, const uint8_t *marks, const struct tm_touch *t)
{
    for (int64_t i = t->off; i < t->off + t->len; i++)
        if (marks[i] && !(t->alone && marks[i] == t->rank + 1) &&
            !(t->waits && m->through[i] == t->open))
            return true;
    return false;
}

bool tm_image_conflict(const struct tm_image *m, const struct tm_touch *t)
{
    int64_t end = t->off + t->len;

    if (taken(m, m->writers, t) || (t->write && taken(m, m->readers, t)))
        return true;
    if (t->write) /* a rank has queried the end of the file, possibly not yet */
        return end > m->size && m->end_seen;
    return m->grown && end > m->settled && !(t->waits && m->grower == t->open);
}

static void mark(uint8_t *by, uint8_t mine)
{
    *by = *by && *by != mine ? MANY : mine;
}

void tm_image_touch(struct tm_image *m, const struct tm_touch *t)
{
    uint8_t *marks = t->write ? m->writers : m->readers;
    uint8_t mine = t->alone ? (uint8_t)(t->rank + 1) : MANY;

    for (int64_t i = t->off; i < t->off + t->len; i++) {
        mark(&marks[i], mine);
        if (t->write)
            mark(&m->through[i], t->open);
    }
    if (t->write && t->len && t->off + t->len > m->size)
        mark(&m->grower, t->open);
    if (!t->write && t->off + t->len > m->size)
        m->end_seen = true;
}

/* ---- identification of bytes ---- */

static bool is_stamp(const uint8_t *found, int64_t n, int64_t off, uint32_t who)
{
    for (int64_t i = 0; i < n; i++)
        if (found[i] != tm_stamp(off + i, who))
            return false;
    return true;
}

static bool all(const uint8_t *found, int64_t n, uint8_t byte)
{
    for (int64_t i = 0; i < n; i++)
        if (found[i] != byte)
            return false;
    return true;
}

void tm_image_decode(const struct tm_image *m, const uint8_t *found, int64_t n, int64_t off,
                     uint32_t last, char *text, int len)
{
    int at = 0;

    if (n > 16)
        n = 16;
    if (n < 4) { /* too short to be sure of anything but the place */
        for (uint32_t who = last; who > 0 && at < len - 40; who--)
            if (is_stamp(found, n, off, who))
                at += snprintf(text + at, (size_t)(len - at), "%s access %u",
                               at ? " or" : "what was written here by", who);
        if (at)
            return;
    }
    if (all(found, n, 0) || all(found, n, TM_FILL)) {
        snprintf(text, (size_t)len, "%s", *found ? "memory not read into" : "zeros, as of a hole");
        return;
    }
    for (; n > 3; n--) { /* the right place first, then any; the longer the surer */
        for (uint32_t who = last; who > 0; who--) {
            if (is_stamp(found, n, off, who)) {
                snprintf(text, (size_t)len, "what access %u wrote here", who);
                return;
            }
        }
        for (uint32_t who = last; who > 0; who--) {
            for (int64_t o = 0; o < m->max; o++) {
                if (!is_stamp(found, n, o, who))
                    continue;
                snprintf(text, (size_t)len, "what access %u wrote at %lld, %+lld bytes from here",
                         who, (long long)o, (long long)(o - off));
                return;
            }
        }
    }
    at = snprintf(text, (size_t)len, "no stamp known:");
    for (int64_t i = 0; i < n && at < len - 4; i++)
        at += snprintf(text + at, (size_t)(len - at), " %02x", found[i]);
}
