/* iod_signals.h - a thread that takes signals, so that none interrupts other code of the daemon.
 * SIGUSR1 raises the log level, SIGUSR2 lowers it. */
#ifndef IOD_SIGNALS_H
#define IOD_SIGNALS_H

enum { IOD_SIGNALS_WAIT_MS = 500 };

struct iod_signals {
    void (*stop)(void *arg);                              /* first SIGTERM or SIGINT */
    void (*abandon)(void *arg) __attribute__((noreturn)); /* second one */
    void (*reopen)(void *arg);                            /* SIGHUP */
    void (*wait)(void *arg); /* after stop, every IOD_SIGNALS_WAIT_MS */
    void *arg;
};

/* Blocks the signals in this thread and those that it starts; to call before any is started. */
void iod_signals_block(void);

/* Starts the thread; *s must stay valid.  Takes signals since iod_signals_block(), too. */
int iod_signals_start(const struct iod_signals *s);

#endif
