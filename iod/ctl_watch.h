/* ctl_watch.h - asks daemons again and again: a thread and a connection for each, so that one
 * that is silent delays no other.
 *
 * No lock: a thread is told to ask through a pipe, and hands what it got, for good, through
 * another one.  A connection that fails is made anew at the next request, from the address file
 * as it is then.
 *
 * All calls are the business of one thread.
 */
#ifndef CTL_WATCH_H
#define CTL_WATCH_H

#include "ctl_daemon.h"
#include "ctl_text.h"

/* What one daemon said at one time. */
struct ctl_sample {
    unsigned daemon;
    uint64_t at; /* ns, CLOCK_MONOTONIC */
    int rc;      /* 0, or a negative errno, explained by error */
    char error[512];
    bool found; /* addr is valid */
    struct zc_addrfile addr;

    /* rc == 0 only: */
    bool fresh; /* the first of a connection: counters may have begun anew */
    char *status, *stats;
    char *text;             /* what the paths of the files are in */
    struct ctl_file *files; /* by path */
    size_t nfiles;
};
void ctl_sample_free(struct ctl_sample *s); /* or NULL */

struct ctl_watch;

/* The daemons of a ZCACHE_DAEMONS list.  0, or a negative errno explained by zc_errorf(). */
int ctl_watch_create(const char *list, uint64_t timeout_ms, struct ctl_watch **out);

unsigned ctl_watch_count(const struct ctl_watch *w);
const char *ctl_watch_name(const struct ctl_watch *w, unsigned i);
const char *ctl_watch_path(const struct ctl_watch *w, unsigned i); /* of the address file */

/* Asks each daemon that is not being asked. */
void ctl_watch_ask(struct ctl_watch *w);
bool ctl_watch_is_asked(const struct ctl_watch *w, unsigned i); /* and has not answered */

/* Readable when ctl_watch_take() has something. */
int ctl_watch_fd(const struct ctl_watch *w);
/* The caller's to free; NULL: nothing yet. */
struct ctl_sample *ctl_watch_take(struct ctl_watch *w);

/* Leaves the daemons and frees all.  False: one is still silent after so long (negative: for
 * ever), its thread runs, and nothing is freed: there is only _exit(). */
bool ctl_watch_destroy(struct ctl_watch *w, int wait_ms);

#endif
