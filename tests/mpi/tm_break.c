/* tm_break.c - a disk that cannot be written for a while.
 *
 * faultshim.c makes every write to the file fail while the switch file exists.  Accesses may then
 * fail; a rank whose access succeeded goes on as usual, and after a successful sync or close its
 * bytes are in the file: also while the disk is broken.  A sync that fails does so on every rank
 * and names the file; once the disk is repaired a sync brings everything to the file that was ever
 * reported as written.  (The first one may still fail, for a write that was under way at the
 * repair; and the second, as a failure of one rank is reported to the others too, perhaps only
 * then.)  fdatasync goes on working: what it could not keep would be lost, and every later sync
 * would say so.
 *
 * The model stays exact except for undefined bytes (TM_UNSURE): those of an access that failed, and
 * after a close that failed those written since the last good sync.  The size of the file is left
 * alone meanwhile.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tm.h"

static void set_switch(struct tm *tm, const char *word)
{
    char name[4200];
    int fd;

    MPI_Barrier(MPI_COMM_WORLD);
    if (tm->rank == 0 && !word && unlink(tm->opt.breaks))
        tm_fail(tm, "cannot unlink %s", tm->opt.breaks);
    if (tm->rank == 0 && word) {
        snprintf(name, sizeof name, "%s.new", tm->opt.breaks);
        fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
        if (fd < 0 || write(fd, word, strlen(word)) < 0 || close(fd) ||
            rename(name, tm->opt.breaks))
            tm_fail(tm, "cannot write %s", name);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

bool tm_break_class(int rc)
{
    int class;

    MPI_Error_class(rc, &class);
    return class == MPI_ERR_IO || class == MPI_ERR_NO_SPACE || class == MPI_ERR_QUOTA;
}

/* All ranks learn which accesses failed; their bytes become undefined, unless a later access wrote
 * them. */
static void share_failures(struct tm *tm, const struct tm_access *a, int n)
{
    int failed[TM_MAX_RANKS * TM_PER_RANK];

    for (int i = 0; i < n; i++)
        failed[i] = a[i].rank == tm->h->me && a[i].failed;
    MPI_Allreduce(MPI_IN_PLACE, failed, n, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) {
        if (!failed[i] || !a[i].write)
            continue;
        for (int64_t at = 0; at < tm->image.max; at++)
            if (tm->image.who[at] == a[i].id)
                tm->image.who[at] = TM_UNSURE;
        tm->image.unsure = true;
    }
}

static void accesses(struct tm *tm)
{
    static struct tm_access a[TM_MAX_RANKS * TM_PER_RANK];
    bool barrier;
    int n = tm_plan(tm, a, &barrier);

    tm_say(tm, "%s%d accesses with a broken disk", barrier ? "barrier, " : "", n);
    if (barrier)
        tm_meet(tm);
    tm->failed = false;
    tm_run(tm, a, n);
    share_failures(tm, a, n);
    tm_types_release(tm->mark);
}

/* If there is no room for all of it the path has lost its middle. */
static bool names_file(const struct tm *tm, const char *text)
{
    const char *slash = strrchr(tm->opt.path, '/');
    char rest[300];

    snprintf(rest, sizeof rest, "...%s", slash ? slash : tm->opt.path);
    return strstr(text, tm->opt.path) || strstr(text, rest);
}

/* The same result on every rank, with the text it needs. */
static bool agreed(struct tm *tm, int rc, const char *what)
{
    char text[MPI_MAX_ERROR_STRING];
    int failed[2] = {rc != MPI_SUCCESS, rc == MPI_SUCCESS}, len;

    if (tm->h->me < 0)
        failed[0] = failed[1] = 0;
    MPI_Allreduce(MPI_IN_PLACE, failed, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (failed[0] && failed[1])
        tm_fail(tm, "%s fails on some ranks and succeeds on others", what);
    if (tm->h->me >= 0 && rc) {
        MPI_Error_string(rc, text, &len);
        if (!tm_break_class(rc) || !names_file(tm, text))
            tm_fail(tm, "%s\n  does not name the file or has another class: %s", what, text);
    }
    return !failed[0];
}

static void look_at_file(struct tm *tm)
{
    MPI_Barrier(MPI_COMM_WORLD);
    tm_check_file(tm);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The disk breaks, is written to, and works again before the file is closed. */
static void end_with_sync(struct tm *tm)
{
    int rc = MPI_SUCCESS;

    tm_say(tm, "sync with a broken disk");
    if (tm->h->me >= 0)
        rc = MPI_File_sync(tm->h->fh);
    if (agreed(tm, rc, "a sync with a broken disk"))
        look_at_file(tm);
    set_switch(tm, NULL);
    tm_say(tm, "sync with a mended disk");
    if (tm->h->me >= 0)
        rc = MPI_File_sync(tm->h->fh);
    if (rc && !tm_break_class(rc))
        tm_ok(tm, rc, "a sync with a mended disk");
    MPI_Barrier(MPI_COMM_WORLD); /* writes under way at the repair have ended */
    if (tm->h->me >= 0)
        rc = MPI_File_sync(tm->h->fh);
    if (rc && !tm_break_class(rc))
        tm_ok(tm, rc, "a second sync with a mended disk");
    if (tm->h->me >= 0)
        tm_ok(tm, MPI_File_sync(tm->h->fh), "a third sync with a mended disk");
    look_at_file(tm);
    tm_barrier(tm);
}

/* It is closed before: bytes written since `before` may be lost. */
static void end_with_close(struct tm *tm, const uint32_t *before)
{
    bool gone = tm->h->amode & MPI_MODE_DELETE_ON_CLOSE, good;
    int rc = MPI_SUCCESS;

    tm_say(tm, "close with a broken disk");
    if (tm->h->me >= 0) {
        tm_barrier(tm);
        rc = MPI_File_close(&tm->h->fh);
        MPI_Comm_free(&tm->h->comm);
    }
    tm->nopen = 0;
    good = agreed(tm, rc, "a close with a broken disk");
    for (int64_t at = 0; at < tm->image.max && !good; at++)
        if (tm->image.who[at] != before[at]) {
            tm->image.who[at] = TM_UNSURE;
            tm->image.unsure = true;
        }
    tm->exists = !gone;
    look_at_file(tm);
    set_switch(tm, NULL);
    tm_open(tm);
}

void tm_break(struct tm *tm)
{
    static const char *const words[] = {"EIO but sync", "ENOSPC but sync", "EDQUOT but sync"};
    const char *word = words[tm_pick(&tm->rng, 3)];
    int steps = (int)tm_between(&tm->rng, 1, 3);
    bool sync = tm_chance(&tm->rng, 60);
    size_t bytes = (size_t)tm->image.max * sizeof *tm->image.who;
    uint32_t *before = malloc(bytes);

    if (!before)
        tm_fail(tm, "no memory for the model");
    if (!tm->opt.breaks || tm->h->amode & MPI_MODE_RDONLY || !tm->image.size) {
        free(before);
        return;
    }
    tm_say(tm, "the disk breaks: %s", word);
    tm_barrier(tm);
    if (tm->h->me >= 0)
        tm_ok(tm, MPI_File_sync(tm->h->fh), "sync");
    memcpy(before, tm->image.who, bytes);
    set_switch(tm, word);
    tm->broken = true;
    /* errors of requests are the world's */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    while (steps--)
        accesses(tm);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    tm->broken = false;
    if (sync)
        end_with_sync(tm);
    else
        end_with_close(tm, before);
    free(before);
}
