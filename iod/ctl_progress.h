/* ctl_progress.h - shows the progress of write-back at daemons, on a line of the terminal.
 *
 * Daemons are asked over connections of their own, while they carry out a command.
 */
#ifndef CTL_PROGRESS_H
#define CTL_PROGRESS_H

#include <stdbool.h>

#include "ctl_watch.h"
#include "iod_progress.h"

/* The caller sets `daemons`, and the rest to zeros. */
struct ctl_progress {
    const char *daemons; /* as ZCACHE_DAEMONS */
    struct ctl_watch *watch;
    uint64_t *left; /* bytes, by daemon; UINT64_MAX: not known yet */
    struct iod_progress progress;
    bool off;   /* nothing is shown: no terminal, or an error */
    bool shown; /* the line is on the terminal */
};

/* Asks the daemons and draws the line again.  No effect without a terminal. */
void ctl_progress_step(struct ctl_progress *p);
/* Removes the line.  Returns false if threads still ask: the process must then end by _exit(). */
bool ctl_progress_end(struct ctl_progress *p);

#endif
