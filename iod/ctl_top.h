/* ctl_top.h - zcachectl top: rates of daemons and busy files, redrawn at an interval. */
#ifndef CTL_TOP_H
#define CTL_TOP_H

#include <stdbool.h>
#include <stdint.h>

struct ctl_top {
    const char *daemons; /* as ZCACHE_DAEMONS */
    uint64_t timeout_ms; /* a daemon without an answer for this time has failed */
    uint64_t interval_ms;
    uint64_t count; /* number of pictures; 0: no limit */
    bool json;      /* a line for each picture */
};

/* Runs until a key, a signal or `count` ends it.  Returns 0; 1 if a daemon had no figures in the
 * last picture; a negative errno, explained by zc_errorf(), if it cannot begin.  Ends the process
 * after a signal, or if a daemon is silent at the end. */
int ctl_top_run(const struct ctl_top *o);

#endif
