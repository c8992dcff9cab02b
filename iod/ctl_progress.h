/* ctl_progress.h - how far daemons are with writing back, on a line of the terminal.
 *
 * They are asked beside what they have been told to do, by connections of their own.
 */
#ifndef CTL_PROGRESS_H
#define CTL_PROGRESS_H

#include <stdbool.h>

#include "ctl_watch.h"
#include "iod_progress.h"

/* Begins with `daemons` and zeros. */
struct ctl_progress {
    const char *daemons; /* as ZCACHE_DAEMONS */
    struct ctl_watch *watch;
    uint64_t *left; /* bytes, by daemon; UINT64_MAX: not known yet */
    struct iod_progress progress;
    bool off;   /* there is no terminal, or something else is amiss */
    bool shown; /* there is a line */
};

/* Draws the line anew; to be called now and then.  Nothing where there is no terminal. */
void ctl_progress_step(struct ctl_progress *p);
/* Takes the line away.  False: threads are left that ask; there is only _exit(). */
bool ctl_progress_end(struct ctl_progress *p);

#endif
