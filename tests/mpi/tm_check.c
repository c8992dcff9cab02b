/* tm_check.c - compares, and says what is wrong. */
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tm.h"

/* ---- failing ---- */

static void heading(const struct tm *tm, const char *what)
{
    fprintf(stderr, "t_model: %s on rank %d of %d: seed %llu, step %d: %s\n", what, tm->rank,
            tm->nranks, (unsigned long long)tm->seed, tm->step, tm->text);
}

static void again(const struct tm *tm)
{
    const char *seed = tm->opt.again ? strstr(tm->opt.again, "SEED") : NULL;

    if (seed) {
        fprintf(stderr, "  again: %.*s%llu%s\n", (int)(seed - tm->opt.again), tm->opt.again,
                (unsigned long long)tm->seed, seed + 4);
        if (tm->seed > tm->opt.first_seed)
            fprintf(stderr, "  or, with what went before: %.*s%llu-%llu%s\n",
                    (int)(seed - tm->opt.again), tm->opt.again,
                    (unsigned long long)tm->opt.first_seed, (unsigned long long)tm->seed, seed + 4);
        fflush(stderr);
        return;
    }
    fprintf(stderr, "  again: mpiexec -n %d %s --seed %llu\n", tm->nranks, tm->replay,
            (unsigned long long)tm->seed);
    fflush(stderr);
}

void tm_fail(const struct tm *tm, const char *fmt, ...)
{
    va_list args;

    heading(tm, "FAILED");
    fputs("  ", stderr);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    again(tm);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

void tm_ok(const struct tm *tm, int rc, const char *what)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int len;

    if (rc == MPI_SUCCESS)
        return;
    MPI_Error_string(rc, text, &len);
    tm_fail(tm, "%s\n  %s", what, text);
}

/* ---- hanging ---- */

static const struct tm *watched;

static void too_long(int sig)
{
    (void)sig; /* nothing else is going to happen: printf will do */
    heading(watched, "HANGS");
    again(watched);
    _exit(3);
}

void tm_watch(struct tm *tm)
{
    watched = tm;
    signal(SIGALRM, too_long);
}

void tm_say(struct tm *tm, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(tm->text, sizeof tm->text, fmt, args);
    va_end(args);
    alarm((unsigned)tm->opt.hang_seconds);
    if (tm->opt.verbose && tm->rank == 0)
        fprintf(stderr, "seed %llu step %d: %s\n", (unsigned long long)tm->seed, tm->step,
                tm->text);
}

/* ---- the file as others see it ---- */

static void compare(const struct tm *tm, const uint8_t *found)
{
    const struct tm_image *m = &tm->image;
    uint8_t want[16];
    char is[200], shall[200];
    int64_t n = 0;

    for (int64_t i = 0; i < m->size; i++) {
        if (found[i] == tm_image_byte(m, i) || (tm->opt.reference && !m->who[i]) ||
            m->who[i] == TM_UNSURE)
            continue;
        for (n = 0; n < 16 && i + n < m->size && found[i + n] != tm_image_byte(m, i + n); n++)
            want[n] = tm_image_byte(m, i + n);
        tm_image_decode(m, found + i, n, i, tm->last, is, sizeof is);
        tm_image_decode(m, want, n, i, tm->last, shall, sizeof shall);
        tm_fail(tm,
                "the file itself is wrong from offset %lld on\n  expected %02x: %s\n"
                "  found    %02x: %s",
                (long long)i, want[0], shall, found[i], is);
    }
}

static void check(const struct tm *tm)
{
    const struct tm_image *m = &tm->image;
    uint8_t *found = calloc(1, (size_t)m->size + 1);
    int fd = open(tm->opt.path, O_RDONLY);
    int64_t got = 0;
    struct stat st;
    ssize_t n = 1;

    if (!tm->exists) {
        if (fd >= 0)
            tm_fail(tm, "%s is there, and should have been deleted", tm->opt.path);
        free(found);
        return;
    }
    if (fd < 0 || fstat(fd, &st) || !found)
        tm_fail(tm, "cannot open %s", tm->opt.path);
    if (st.st_size != m->size)
        tm_fail(tm, "%s has %lld bytes, and should have %lld", tm->opt.path, (long long)st.st_size,
                (long long)m->size);
    for (; got < m->size && n > 0; got += n)
        n = pread(fd, found + got, (size_t)(m->size - got), got);
    if (got < m->size)
        tm_fail(tm, "cannot read %s", tm->opt.path);
    close(fd);
    compare(tm, found);
    free(found);
}

void tm_check_file(const struct tm *tm)
{
    if (tm->rank == 0)
        check(tm);
}
