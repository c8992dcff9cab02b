/* iod_signals.h - a thread that takes signals, so that none interrupts other code of the daemon.
 *
 *     serving --SIGTERM--> leaving --grace time over--> stopping --SIGINT--> told to stop
 *     serving, leaving --SIGINT--> told to stop --SIGINT--> abandon()
 *
 * With a grace time SIGTERM is a batch system's, which may send it more than once: it makes the
 * daemon leave, and nothing more.  Without one it is the same as SIGINT.  A daemon that stops of
 * itself may be told to stop all the same: only the next signal means that it shall give up.
 * SIGXCPU, sent when the limit on processor time is near, makes it stop of itself.  SIGUSR1 raises
 * the log level, SIGUSR2 lowers it.
 */
#ifndef IOD_SIGNALS_H
#define IOD_SIGNALS_H

#include <stdbool.h>

enum { IOD_SIGNALS_WAIT_MS = 500 };

struct iod_signals {
    bool grace;                 /* there is a grace time */
    bool (*leave)(void *arg);   /* begins it; false: not now, stop */
    bool (*leaving)(void *arg); /* after leave, every IOD_SIGNALS_WAIT_MS; false: stop now */
    void (*stop)(void *arg);
    void (*abandon)(void *arg) __attribute__((noreturn));
    void (*reopen)(void *arg); /* SIGHUP */
    void (*wait)(void *arg);   /* after stop, every IOD_SIGNALS_WAIT_MS */
    void *arg;
};

/* Blocks the signals in this thread and those that it starts; to call before any is started. */
void iod_signals_block(void);

/* Returns whether SIGTERM or SIGINT has come already; before the thread is started. */
bool iod_signals_told_to_end(void);

/* Starts the thread; *s must stay valid.  Takes signals since iod_signals_block(), too. */
int iod_signals_start(const struct iod_signals *s);

#endif
