/* ctl_daemon.h - one request to each of several daemons, all at the same time. */
#ifndef CTL_DAEMON_H
#define CTL_DAEMON_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "zc_addrfile.h"
#include "zc_error.h"
#include "zc_wire.h"

/* What commands ask for: members of a daemon's document.  TOP asks again and again (ctl_top.h),
 * JOURNAL asks no daemon. */
#define CTL_STATUS  (ZC_INFO_STATUS | ZC_INFO_COUNTERS)
#define CTL_STATS   (ZC_INFO_STATS | CTL_STATUS)
#define CTL_FILES   ZC_INFO_FILES
#define CTL_TOP     (ZC_INFO_STATUS | ZC_INFO_STATS | ZC_INFO_FILES)
#define CTL_JOURNAL 0

struct ctl_command {
    const char *name;
    bool control;  /* CONTROL, else INFO */
    uint32_t what; /* enum zc_control, or CTL_ */
    bool counts;   /* CONTROL: the answer has a number of bytes */
    const char *done, *help;
};

struct zc_client;

struct ctl_daemon {
    const char *path; /* of the address file */
    char name[64];    /* the file's name without .addr */
    bool found;       /* `addr` is valid */
    bool told;        /* it was sent a control request */
    struct zc_addrfile addr;
    /* Replaces the command's request: talks with the daemon over `c`.  NULL: the request is sent.
     */
    int (*talk)(struct ctl_daemon *d, struct zc_client *c);
    void *talker;          /* argument of talk() */
    const char *waits_for; /* atomic: what a request waits for, for messages; or NULL */

    struct zc_error error;
    json_t *info;   /* INFO: the document; freed by ctl_daemons_free() */
    uint64_t count; /* CONTROL */
};

/* Finds the daemons of a ZCACHE_DAEMONS list.  Returns their number, or a negative errno; *out is
 * freed by ctl_daemons_free(). */
int ctl_daemons_find(const char *list, struct ctl_daemon **out);
void ctl_daemons_free(struct ctl_daemon *d, int n);

struct ctl_wait {
    uint64_t silence_ms;     /* a daemon without an answer for this time has failed */
    uint64_t until_ms;       /* a request not done by then fails with -ETIMEDOUT; 0: no limit */
    void (*tick)(void *arg); /* called every half second meanwhile; NULL: not */
    void *arg;
};

/* Sends the command to all daemons at the same time and waits for their answers; after STOP, until
 * they are gone.  Returns false if threads still wait: the process must then end by _exit(). */
bool ctl_daemons_run(struct ctl_daemon *d, int n, const struct ctl_command *cmd,
                     const struct ctl_wait *wait);

/* Sends the command to one daemon, on the calling thread.  Replaces the results of an earlier
 * request in *d. */
void ctl_daemon_run(struct ctl_daemon *d, const struct ctl_command *cmd, uint64_t timeout_ms);

/* Returns -ESRCH, explained by zc_errorf(), if the daemon ran on this host and is gone; else 0. */
int ctl_daemon_check_alive(const struct ctl_daemon *d);

#endif
