/* tm_kill.c - launches that are killed: what is left open, and what is true of the file then.
 *
 * A program of such a launch ends in the middle: after a sync of all, or some accesses later.  When
 * all programs of the launch have ended so, FILE names the ranks, and they read until they are
 * killed.  Synced bytes are in the file; a byte written later may have in the file the value of the
 * last access or of one between, and no other: the next launch checks which, and continues from
 * that.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tm.h"

/* Opens that are never closed, of all programs of this launch. */
static struct left {
    MPI_File fh;
    int64_t size;
} * left;
static int nleft;

static void leave_open(struct tm *tm, struct tm_handle *h)
{
    if (h->me < 0)
        return;
    tm_ok(tm, MPI_File_set_view(h->fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL), "set_view");
    if (h->amode & MPI_MODE_WRONLY)
        return;
    left = realloc(left, (size_t)(nleft + 1) * sizeof *left);
    if (!left)
        tm_fail(tm, "no memory for what is left open");
    left[nleft++] = (struct left){h->fh, tm->image.size};
}

static void go_on(struct tm *tm)
{
    static struct tm_access a[TM_MAX_RANKS * TM_PER_RANK];
    int steps = (int)tm_between(&tm->rng, 1, 4);
    bool barrier;

    while (steps--) {
        int n = tm_plan(tm, a, &barrier);

        tm_say(tm, "%s%d accesses before it is killed", barrier ? "barrier, " : "", n);
        if (barrier)
            tm_meet(tm);
        tm_run(tm, a, n);
        tm_types_release(tm->mark);
    }
}

bool tm_kill_leave(struct tm *tm)
{
    bool close = tm_chance(&tm->rng, 20), more = tm_chance(&tm->rng, 50);
    size_t bytes = (size_t)tm->image.max * sizeof *tm->image.who;

    if (close || !tm->exists)
        return false;
    tm_say(tm, "sync before it is killed");
    tm_barrier(tm);
    for (int i = 0; i < tm->nopen; i++)
        if (tm->handles[i].me >= 0 && !(tm->handles[i].amode & MPI_MODE_RDONLY))
            tm_ok(tm, MPI_File_sync(tm->handles[i].fh), "sync");
    MPI_Barrier(MPI_COMM_WORLD);
    if (more) {
        tm->stored = malloc(bytes);
        if (!tm->stored)
            tm_fail(tm, "no memory for the model");
        memcpy(tm->stored, tm->image.who, bytes);
        tm->stored_size = tm->image.size;
        tm->stored_last = tm->last;
        go_on(tm);
    }
    for (int i = 0; i < tm->nopen; i++)
        leave_open(tm, &tm->handles[i]);
    tm->nopen = 0;
    return true;
}

/* ---- waiting for the end ---- */

static void tell(struct tm *tm)
{
    int pids[TM_MAX_RANKS], mine = (int)getpid();
    char name[4300];
    FILE *f;

    MPI_Gather(&mine, 1, MPI_INT, pids, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (tm->rank)
        return;
    snprintf(name, sizeof name, "%s.new", tm->opt.killed);
    f = fopen(name, "w");
    for (int i = 0; i < tm->nranks && f; i++)
        fprintf(f, "%d\n", pids[i]);
    if (!f || fclose(f) || rename(name, tm->opt.killed))
        tm_fail(tm, "cannot write %s", tm->opt.killed);
}

void tm_kill_wait(struct tm *tm)
{
    static uint8_t bytes[8192];
    struct tm_rng r = {(uint64_t)tm->rank};
    MPI_Request request;

    tm_say(tm, "waiting to be killed");
    tell(tm);
    while (!nleft)
        pause();
    for (;;) {
        struct left *l = &left[tm_pick(&r, nleft)];
        int64_t at = tm_between(&r, 0, l->size);

        tm_ok(tm, MPI_File_iread_at(l->fh, at, bytes, (int)sizeof bytes, MPI_BYTE, &request),
              "read before it is killed");
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

/* ---- the result ---- */

/* Returns the access that wrote the byte; 0 if possibly none, -1 if none can have. */
static int64_t author(const struct tm *tm, int64_t at, uint8_t byte)
{
    uint32_t stored = tm->stored[at];

    if (byte == (stored ? tm_stamp(at, stored) : 0))
        return stored;
    for (uint32_t who = tm->last; who > tm->stored_last; who--)
        if (byte == tm_stamp(at, who))
            return who;
    return tm->opt.reference && !stored ? 0 : -1; /* data sieving puts something into holes */
}

static void take(struct tm *tm, const uint8_t *found, int64_t size)
{
    char is[200];

    if (size < tm->stored_size || size > tm->image.size)
        tm_fail(tm, "%s has %lld bytes, and should have %lld to %lld", tm->opt.path,
                (long long)size, (long long)tm->stored_size, (long long)tm->image.size);
    for (int64_t i = 0; i < size; i++) {
        int64_t who = author(tm, i, found[i]);

        if (who < 0) {
            tm_image_decode(&tm->image, found + i, size - i, i, tm->last, is, sizeof is);
            tm_fail(tm,
                    "after it was killed the file is wrong from offset %lld on\n"
                    "  expected: what access %u wrote here, or one after %u\n  found %02x: %s",
                    (long long)i, tm->stored[i], tm->stored_last, found[i], is);
        }
        tm->image.who[i] = (uint32_t)who;
    }
    tm_image_resize(&tm->image, size);
}

void tm_kill_look(struct tm *tm)
{
    uint8_t *found = malloc((size_t)tm->image.max + 1);
    int fd = open(tm->opt.path, O_RDONLY);
    int64_t got = 0;
    ssize_t n = 1;

    if (fd < 0 || !found)
        tm_fail(tm, "cannot open %s", tm->opt.path);
    for (; got <= tm->image.max && n > 0; got += n)
        n = pread(fd, found + got, (size_t)(tm->image.max + 1 - got), got);
    if (n < 0)
        tm_fail(tm, "cannot read %s", tm->opt.path);
    close(fd);
    take(tm, found, got);
    free(found);
}
