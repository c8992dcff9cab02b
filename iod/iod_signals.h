/* iod_signals.h - a thread that takes signals, so that none interrupts other code of the daemon.
 *
 *     SERVING --SIGTERM, begin_grace()--> GRACE --grace_lasts() is false--> STOPPING
 *     SERVING, GRACE --SIGPWR, SIGXCPU--> STOPPING
 *     SERVING, GRACE, STOPPING --SIGINT--> INTERRUPTED --SIGINT--> abandon()
 *
 * stop() is called once, on the way to STOPPING or INTERRUPTED.
 *
 * With a grace time SIGTERM is a batch system's, which may send it more than once: it is ignored in
 * every state but SERVING.  Without one, or if begin_grace() returns false, it is the same as
 * SIGINT.  SIGPWR is the launcher's: sent more than once, or by several, it never makes the daemon
 * give up.  SIGXCPU of the kernel says that the limit on processor time is near; from others it is
 * the same as SIGTERM, or as SIGPWR where there is no grace time.  SIGUSR1 raises the log level,
 * SIGUSR2 lowers it.
 */
#ifndef IOD_SIGNALS_H
#define IOD_SIGNALS_H

#include <stdbool.h>

enum { IOD_SIGNALS_WAIT_MS = 500 };

/* Called by the thread, without locks; signals wait until they return. */
struct iod_signals {
    bool grace;                     /* there is a grace time (iod_grace.h) */
    bool (*begin_grace)(void *arg); /* false: there is none now, stop */
    bool (*grace_lasts)(void *arg); /* after each signal, at most IOD_SIGNALS_WAIT_MS apart */
    void (*stop)(void *arg);        /* begins to end; returns at once */
    void (*abandon)(void *arg) __attribute__((noreturn));
    void (*reopen)(void *arg);   /* SIGHUP */
    void (*progress)(void *arg); /* after stop, while no signal comes for IOD_SIGNALS_WAIT_MS */
    void *arg;
};

/* Blocks TERM, INT, PWR, HUP, USR1, USR2 and XCPU in this thread and those that it starts, and
 * ignores PIPE and XFSZ; to call before any is started. */
void iod_signals_block(void);

/* Returns whether SIGTERM, SIGINT, SIGPWR or SIGXCPU is pending; before iod_signals_start(). */
bool iod_signals_told_to_end(void);

/* Starts the thread, detached; *s must stay valid until the process ends.  It takes signals that
 * have come since iod_signals_block(), too.  0, or a negative errno, explained. */
int iod_signals_start(const struct iod_signals *s);

#endif
