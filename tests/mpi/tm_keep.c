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
    int64_t size, max, stored_size;
    uint32_t last, exists, unsure;
    uint32_t killed, stored_last; /* killed: with the stored ones behind the image */
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

static uint32_t *new_image(struct tm *tm)
{
    uint32_t *who = calloc((size_t)tm->image.max, sizeof *who);

    if (!who)
        tm_fail(tm, "no memory for the model");
    return who;
}

static void load(struct tm *tm, FILE *f)
{
    size_t bytes = (size_t)tm->image.max * sizeof *tm->image.who;
    struct head head;

    move(tm, f, false, &head, sizeof head);
    if (head.max != tm->image.max)
        tm_fail(tm, "%s.model is of a file of other size", tm->opt.path);
    move(tm, f, false, tm->image.who, bytes);
    tm->stored = head.killed ? new_image(tm) : NULL;
    if (tm->stored)
        move(tm, f, false, tm->stored, bytes);
    tm->stored_size = head.stored_size;
    tm->stored_last = head.stored_last;
    tm->image.size = head.size;
    tm->image.unsure = head.unsure;
    tm->last = head.last;
    tm->exists = head.exists;
    tm->launches = head.launches;
}

static void save(struct tm *tm, FILE *f)
{
    size_t bytes = (size_t)tm->image.max * sizeof *tm->image.who;
    struct head head = {.launches = tm->launches,
                        .size = tm->image.size,
                        .max = tm->image.max,
                        .last = tm->last,
                        .exists = tm->exists,
                        .unsure = tm->image.unsure,
                        .killed = tm->stored != NULL,
                        .stored_size = tm->stored_size,
                        .stored_last = tm->stored_last};

    move(tm, f, true, &head, sizeof head);
    move(tm, f, true, tm->image.who, bytes);
    if (tm->stored)
        move(tm, f, true, tm->stored, bytes);
}

/* Finds the file as the last launch left it, whatever became of that; then another program. */
static void go_on(struct tm *tm)
{
    int changes = tm_chance(&tm->rng, 50) ? (int)tm_between(&tm->rng, 1, 3) : 0;

    if (tm->stored && !tm->opt.replaced)
        tm_kill_look(tm);
    free(tm->stored);
    tm->stored = NULL;
    MPI_Barrier(MPI_COMM_WORLD);
    if (tm->opt.replaced)
        tm_outside_replace(tm);
    else
        tm_check_file(tm);
    while (changes--)
        tm_outside(tm);
}

void tm_keep_begin(struct tm *tm)
{
    FILE *f;

    tm_say(tm, "what the last launch left");
    set_names(tm);
    tm->launches = 0;
    tm->last = 0;
    f = open_model(tm, "rb");
    if (f) {
        load(tm, f);
        fclose(f);
    } else if (tm->rank == 0) {
        unlink(tm->opt.path);
    }
    tm->rng.state += ++tm->launches * 7919;
    if (f)
        go_on(tm);
    MPI_Barrier(MPI_COMM_WORLD);
}

void tm_keep_end(struct tm *tm)
{
    FILE *f;

    MPI_Barrier(MPI_COMM_WORLD);
    f = tm->rank == 0 ? open_model(tm, "wb") : NULL;
    if (f)
        save(tm, f);
    if (tm->rank == 0 && (!f || fclose(f)))
        tm_fail(tm, "cannot write %s.model", tm->opt.path);
    free(tm->stored);
    tm->stored = NULL;
    MPI_Barrier(MPI_COMM_WORLD);
}
