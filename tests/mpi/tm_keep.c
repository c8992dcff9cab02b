/* tm_keep.c - what a launch leaves to the next one: files, and what the model knows of them.
 *
 * FILE.SEED is the file of a program, FILE.SEED.model what it should hold.  The next launch goes
 * on with both: with other daemons in between, which may have what is in neither.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tm.h"

struct head {
    uint64_t launches;
    int64_t size, max;
    uint32_t last, exists;
};

static void set_names(struct tm *tm)
{
    static char name[4200];
    static const char *base;
    const char *colon;

    if (!base)
        base = tm->opt.name;
    snprintf(name, sizeof name, "%s.%llu", base, (unsigned long long)tm->seed);
    colon = strchr(name, ':');
    tm->opt.name = name;
    tm->opt.path = colon ? colon + 1 : name;
}

static FILE *open_model(const struct tm *tm, const char *how)
{
    char path[4300];

    snprintf(path, sizeof path, "%s.model", tm->opt.path);
    return fopen(path, how);
}

static void move(struct tm *tm, FILE *f, bool out, void *p, size_t n)
{
    if ((out ? fwrite(p, 1, n, f) : fread(p, 1, n, f)) != n)
        tm_fail(tm, "cannot %s %s.model", out ? "write" : "read", tm->opt.path);
}

void tm_keep_begin(struct tm *tm)
{
    struct head head = {0};
    FILE *f;

    set_names(tm);
    f = open_model(tm, "rb");
    if (f) {
        move(tm, f, false, &head, sizeof head);
        if (head.max != tm->image.max)
            tm_fail(tm, "%s.model is of a file of other size", tm->opt.path);
        move(tm, f, false, tm->image.who, (size_t)head.max * sizeof *tm->image.who);
        fclose(f);
    } else if (tm->rank == 0) {
        unlink(tm->opt.path);
    }
    tm->image.size = head.size;
    tm->last = head.last;
    tm->exists = head.exists;
    tm->launches = head.launches + 1;
    tm->rng.state += tm->launches * 7919;
    MPI_Barrier(MPI_COMM_WORLD);
    tm_check_file(tm);
}

void tm_keep_end(struct tm *tm)
{
    struct head head = {tm->launches, tm->image.size, tm->image.max, tm->last, tm->exists};
    FILE *f;

    MPI_Barrier(MPI_COMM_WORLD);
    f = tm->rank == 0 ? open_model(tm, "wb") : NULL;
    if (f) {
        move(tm, f, true, &head, sizeof head);
        move(tm, f, true, tm->image.who, (size_t)head.max * sizeof *tm->image.who);
    }
    if (tm->rank == 0 && (!f || fclose(f)))
        tm_fail(tm, "cannot write %s.model", tm->opt.path);
    MPI_Barrier(MPI_COMM_WORLD);
}
