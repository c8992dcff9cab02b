/* iod_signals.h - signals, taken by a thread of their own, so that no code of the daemon
 * is ever interrupted by one.  SIGUSR1 and SIGUSR2: the log says more, or less. */
#ifndef IOD_SIGNALS_H
#define IOD_SIGNALS_H

enum { IOD_SIGNALS_WAIT_MS = 500 };

struct iod_signals {
    void (*stop)(void *arg);                              /* first SIGTERM or SIGINT */
    void (*abandon)(void *arg) __attribute__((noreturn)); /* second one */
    void (*reopen)(void *arg);                            /* SIGHUP */
    void (*wait)(void *arg); /* after stop, again and again, every IOD_SIGNALS_WAIT_MS */
    void *arg;
};

/* Blocks them in this thread and all it will start; before any thread. */
void iod_signals_block(void);

/* Starts the thread; *s must live on.  Signals that came since iod_signals_block() count. */
int iod_signals_start(const struct iod_signals *s);

#endif
