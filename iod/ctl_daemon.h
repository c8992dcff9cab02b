/* ctl_daemon.h - one request to each of several daemons, all at the same time. */
#ifndef CTL_DAEMON_H
#define CTL_DAEMON_H

#include <stdbool.h>
#include <stdint.h>

#include "zc_addrfile.h"

struct ctl_command {
    const char *name;
    bool control;  /* CONTROL, else INFO */
    uint32_t what; /* enum zc_control, enum zc_info */
    bool counts;   /* CONTROL: the answer has a number of bytes */
    const char *done, *help;
};

struct zc_client;

struct ctl_daemon {
    const char *path; /* of the address file */
    char name[64];    /* the file's name without .addr */
    bool found;       /* `addr` is valid */
    bool told;        /* it was there, and was told to do something */
    struct zc_addrfile addr;
    /* Talks with it, instead of one request; NULL: the command is that request. */
    int (*talk)(struct ctl_daemon *d, struct zc_client *c);

    int rc; /* 0 or negative errno, explained by error */
    char error[512];
    char *text;     /* INFO; freed by ctl_daemons_free() */
    char *status;   /* the same of what talk() may ask besides */
    uint64_t count; /* CONTROL */
};

/* The daemons of a ZCACHE_DAEMONS list.  Returns how many, or a negative errno. */
int ctl_daemons_find(const char *list, struct ctl_daemon **out);
void ctl_daemons_free(struct ctl_daemon *d, int n);

/* Sends the command to all and waits for all answers; a daemon that is silent for
 * timeout_ms has failed.  After STOP it also waits until they are gone. */
void ctl_daemons_run(struct ctl_daemon *d, int n, const struct ctl_command *cmd,
                     uint64_t timeout_ms);

#endif
