/* tm.h - the model test: the state of a run, and its parts.
 *
 * All ranks draw the same program and keep the same model; each executes its own part. tm_plan.c
 * draws accesses, tm_run.c executes them, tm_file.c does everything else to the file, tm_outside.c
 * is another program, tm_break.c breaks the disk, tm_kill.c is about launches that are killed,
 * tm_check.c compares.
 */
#ifndef TM_H
#define TM_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "tm_image.h"
#include "tm_rng.h"
#include "tm_view.h"

enum { TM_MAX_RANKS = 32, TM_MAX_HINTS = 16, TM_PER_RANK = 3, TM_MAX_OPENS = 8 };

struct tm_options {
    const char *name;                /* with prefix */
    const char *path;                /* for POSIX calls */
    const char *again;               /* the command that replays a seed; NULL: this one */
    const char *breaks;              /* faultshim's switch; NULL: the disk never breaks */
    const char *hints[TM_MAX_HINTS]; /* "key=value" */
    int nhints;
    uint64_t first_seed, last_seed;
    int steps, opens; /* opens: maximum at a time */
    int64_t max;
    bool strict, subsets, verbose;
    bool waits;    /* collective reads wait for writes of the same open: no barrier between them */
    bool keep;     /* keeps files, and the model of them, for the next launch */
    bool replaced; /* before this launch another program replaced every file */
    const char *killed; /* names the ranks of a launch that is killed in the end; NULL: it is not */
    bool reference;     /* not zcache: known bugs of ROMIO are ignored */
    int hang_seconds;
};

/* An open of the file; ranks are those of its communicator. */
struct tm_handle {
    uint8_t id; /* never 0; unique since the last barrier */
    MPI_Comm comm;
    MPI_File fh; /* MPI_FILE_NULL: of other ranks, or not open yet */
    int members[TM_MAX_RANKS], n;
    int me; /* -1: not among them */
    int amode;
    struct tm_view views[TM_MAX_RANKS];
    int64_t pos[TM_MAX_RANKS]; /* individual pointers, in etypes */
};

struct tm {
    struct tm_options opt;
    const char *replay; /* command line without the seed */
    int rank, nranks;   /* of MPI_COMM_WORLD */

    uint64_t seed;
    struct tm_rng rng;
    int step;
    bool whole;        /* the next accesses are reads of the whole file */
    bool broken;       /* the disk is broken: accesses may fail ... */
    bool failed;       /* ... and one of this rank's has, in this step */
    uint32_t last;     /* number of the last access */
    uint64_t launches; /* with --keep: this one is number ... */
    char text[400];    /* the step under way */

    struct tm_handle handles[TM_MAX_OPENS], *h; /* h: the one the step is about */
    int nopen;
    unsigned opened; /* how many there were */

    /* the file, through all opens */
    bool exists; /* under its name */
    int mark;    /* types made later belong to the step */
    struct tm_image image;

    /* After a launch that was killed; stored is NULL if the whole image is in the file. */
    uint32_t *stored; /* as `image.who`, at the last sync ... */
    int64_t stored_size;
    uint32_t stored_last; /* ... and the number of the last access before it */
};

enum tm_how { TM_BLOCKING, TM_NONBLOCKING, TM_SPLIT };

struct tm_access {
    uint32_t id;
    int rank;
    bool write, collective, individual;
    enum tm_how how;
    int64_t at;  /* etypes */
    int64_t len; /* bytes */
    int64_t got; /* bytes to be moved, fewer at the end of the file */
    struct tm_type *mem;
    int count;

    /* if it is this rank's: tm_buffer_*() */
    uint8_t *block, *want; /* of `room` bytes: memory, and its expected contents in the end */
    uint8_t *unsure;       /* bytes of it that are undefined; NULL: none */
    int64_t room, origin;  /* origin: the buffer's address within the block */
    bool failed;           /* with a broken disk */
    MPI_Request request;
};

/* ---- tm_plan.c ---- */

/* Draws the accesses of a step into a[] (TM_MAX_RANKS * TM_PER_RANK), enters them into the model,
 * and makes the buffers of this rank's.  *barrier: ranks have to meet before; the model takes that
 * into account already. */
int tm_plan(struct tm *tm, struct tm_access *a, bool *barrier);
void tm_plan_describe(const struct tm *tm, const struct tm_access *a, char *text, int len);

/* ---- tm_buffer.c ---- */

void tm_buffer_make(struct tm *tm, struct tm_access *a);
void tm_buffer_check(struct tm *tm, struct tm_access *a); /* frees it, too */
void tm_buffer_free(struct tm_access *a);
static inline void *tm_buffer(const struct tm_access *a)
{
    return a->block + a->origin;
}

/* ---- tm_run.c ---- */

void tm_run(struct tm *tm, struct tm_access *a, int n);

/* ---- tm_file.c ---- */

/* The ranks of the open meet; all ranks if there may be several opens. */
void tm_meet(struct tm *tm);
/* The same, and the model knows that conflicting accesses may follow. */
void tm_barrier(struct tm *tm);
void tm_open(struct tm *tm);      /* as drawn: members, mode, hints; tm->h is the new one */
void tm_close(struct tm *tm);     /* tm->h; the last one also checks the file */
void tm_close_all(struct tm *tm); /* in any order */
void tm_reopen(struct tm *tm);
void tm_recreate(struct tm *tm);
void tm_set_view(struct tm *tm);
/* Changes the set of opens, where there may be several: one more, one fewer, the name deleted. */
void tm_change_opens(struct tm *tm);

/* ---- tm_keep.c: state between launches, a file for each seed ---- */

void tm_keep_begin(struct tm *tm); /* sets the names; reads the state of the last launch */
void tm_keep_end(struct tm *tm);

/* ---- tm_outside.c: another program, while the file is not open ---- */

void tm_outside(struct tm *tm);         /* changes the file; creates one if there is none */
void tm_outside_replace(struct tm *tm); /* by another one of that name */

/* ---- tm_kill.c: launches that are killed ---- */

/* Leaves the file open as it is, mostly; false: there is something to be ended first. */
bool tm_kill_leave(struct tm *tm);
void tm_kill_wait(struct tm *tm) __attribute__((noreturn)); /* for the end of all ranks */
/* In the next launch: the model takes over what has reached the file, if allowed. */
void tm_kill_look(struct tm *tm);

/* ---- tm_break.c ---- */

/* Breaks the disk for a while, where opt.breaks allows it. */
void tm_break(struct tm *tm);
/* Whether the error class is allowed for that. */
bool tm_break_class(int rc);

/* ---- tm_size.c: nothing here moves data ---- */

/* All ranks may query the end of the file: no rank moves it until the next barrier. */
void tm_settle_end(struct tm *tm);
void tm_seek(struct tm *tm);
void tm_get_size(struct tm *tm);
void tm_set_size(struct tm *tm);
void tm_preallocate(struct tm *tm);
void tm_sync(struct tm *tm);

/* ---- tm_check.c ---- */

/* Reports what failed, where and how to repeat it, and ends all ranks. */
void tm_fail(const struct tm *tm, const char *fmt, ...)
    __attribute__((format(printf, 2, 3), noreturn));
/* Fails unless rc is MPI_SUCCESS. */
void tm_ok(const struct tm *tm, int rc, const char *what);
/* Rank 0 of the world compares the file, by POSIX calls, with the model. */
void tm_check_file(const struct tm *tm);
/* Sets the text of the step under way. */
void tm_say(struct tm *tm, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Ends with a message if a step takes too long. */
void tm_watch(struct tm *tm);

#endif
