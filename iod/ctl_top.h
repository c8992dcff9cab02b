/* ctl_top.h - what daemons do, renewed all the time. */
#ifndef CTL_TOP_H
#define CTL_TOP_H

#include <stdbool.h>
#include <stdint.h>

struct ctl_top {
    const char *daemons; /* as ZCACHE_DAEMONS */
    uint64_t timeout_ms; /* a daemon that is silent for so long has failed */
    uint64_t interval_ms;
    uint64_t count; /* pictures; 0: until told to end */
    bool json;      /* a line for each picture */
};

/* Runs until it is told to end.  0; 1: a daemon had no figures in the last picture; negative:
 * not begun, explained by zc_errorf().  May end the process. */
int ctl_top_run(const struct ctl_top *o);

#endif
