/* ctl_watch.h - polls daemons: a thread and a connection for each, so that a silent one delays no
 * other.
 *
 * No lock: a pipe tells a thread to ask, and another one passes samples, and their ownership, to
 * the caller.  After a failure the next request connects again, from the address file as it is
 * then.
 *
 * All calls are made by one thread.
 */
#ifndef CTL_WATCH_H
#define CTL_WATCH_H

#include "ctl_daemon.h"

/* A file of a daemon's answer, which owns the path. */
struct ctl_file {
    const char *path;
    uint64_t handles, size, cached, dirty, failed, lost;
    uint64_t changed; /* bytes by which cached and dirty have become more or less (ctl_figures.h) */
};
/* Compares their paths, for qsort() and bsearch(). */
int ctl_by_path(const void *a, const void *b);

/* An answer of one daemon, or its error. */
struct ctl_sample {
    unsigned daemon;
    uint64_t at; /* ns, CLOCK_MONOTONIC */
    struct zc_error error;
    bool found; /* addr is valid */
    struct zc_addrfile addr;

    /* valid without an error: */
    bool fresh;             /* the first of a connection: counters may have started again */
    uint64_t taken;         /* ns of the daemon's clock, comparable within a connection only */
    json_t *info;           /* CTL_TOP */
    struct ctl_file *files; /* by path */
    size_t nfiles;
};
void ctl_sample_free(struct ctl_sample *s); /* NULL: no effect */

struct ctl_watch;

/* Starts threads for the daemons of a ZCACHE_DAEMONS list.  Returns 0, or a negative errno
 * explained by zc_errorf(). */
int ctl_watch_create(const char *list, uint64_t timeout_ms, struct ctl_watch **out);

unsigned ctl_watch_count(const struct ctl_watch *w);
const char *ctl_watch_name(const struct ctl_watch *w, unsigned i);
const char *ctl_watch_path(const struct ctl_watch *w, unsigned i); /* of the address file */

/* Asks each daemon that has no request under way. */
void ctl_watch_ask(struct ctl_watch *w);
bool ctl_watch_is_asked(const struct ctl_watch *w, unsigned i); /* a request is under way */

/* Returns a descriptor that is readable when ctl_watch_take() has a sample. */
int ctl_watch_fd(const struct ctl_watch *w);
/* Returns a sample, which the caller frees; NULL: there is none yet. */
struct ctl_sample *ctl_watch_take(struct ctl_watch *w);

/* Disconnects and frees all.  Returns false if a daemon is still silent after `wait_ms` (negative:
 * no limit): its thread runs, nothing is freed, and the process must end by _exit(). */
bool ctl_watch_destroy(struct ctl_watch *w, int wait_ms);

#endif
