/* ctl_daemon.h - one request to each of several daemons, all at the same time. */
#ifndef CTL_DAEMON_H
#define CTL_DAEMON_H

#include <stdbool.h>
#include <stdint.h>

#include "zc_addrfile.h"

/* Besides enum zc_info: asked again and again (ctl_top.h). */
#define CTL_TOP UINT32_MAX

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
    void *talker;          /* what talk() needs besides */
    const char *waits_for; /* atomic: while it is asked; or NULL */

    int rc; /* 0 or negative errno, explained by error */
    char error[512];
    char *text;     /* INFO; freed by ctl_daemons_free() */
    char *status;   /* the same of what talk() may ask besides */
    uint64_t count; /* CONTROL */
};

/* The daemons of a ZCACHE_DAEMONS list.  Returns how many, or a negative errno. */
int ctl_daemons_find(const char *list, struct ctl_daemon **out);
void ctl_daemons_free(struct ctl_daemon *d, int n);

struct ctl_wait {
    uint64_t silence_ms; /* a daemon that is silent for so long has failed */
    uint64_t until_ms;   /* so has, with -ETIMEDOUT, what is not done after so long; 0: for ever */
    void (*tick)(void *arg); /* called now and then; or NULL */
    void *arg;
};

/* Sends the command to all and waits for all answers, and after STOP until they are gone.  False:
 * threads are left that still wait, and there is only _exit(). */
bool ctl_daemons_run(struct ctl_daemon *d, int n, const struct ctl_command *cmd,
                     const struct ctl_wait *wait);

/* The same of one daemon, by the calling thread.  What an earlier request left in *d is gone. */
void ctl_daemon_run(struct ctl_daemon *d, const struct ctl_command *cmd, uint64_t timeout_ms);

/* -ESRCH, explained by zc_errorf(): a daemon of this host that is gone need not be waited for. */
int ctl_daemon_check_alive(const struct ctl_daemon *d);

#endif
