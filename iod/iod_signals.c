/* iod_signals.c - the thread that takes signals. */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>

#include "iod_signals.h"
#include "zc_log.h"
#include "zc_thread.h"

static sigset_t wanted(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    return set;
}

void iod_signals_block(void)
{
    sigset_t set = wanted();

    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file size limit is an error of that file: EFBIG */
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/* Returns the next signal; 0: none came in time while the daemon is stopping. */
static int next_signal(const sigset_t *set, bool stopping)
{
    const struct timespec wait = {IOD_SIGNALS_WAIT_MS / 1000, IOD_SIGNALS_WAIT_MS % 1000 * 1000000};
    int sig;

    do
        sig = stopping ? sigtimedwait(set, NULL, &wait) : sigwaitinfo(set, NULL);
    while (sig < 0 && errno == EINTR);
    return sig < 0 ? 0 : sig;
}

static void change_log_level(int by)
{
    int level = (int)zc_log_threshold + by;

    if (level < ZC_LOG_ERROR || level > ZC_LOG_TRACE)
        return;
    if (by > 0)
        zc_log_level((enum zc_log_level)level);
    zc_warn("log level is %s from now on", zc_log_levels[level]);
    zc_log_level((enum zc_log_level)level);
}

static void *take_signals(void *arg)
{
    const struct iod_signals *s = arg;
    sigset_t set = wanted();
    bool stopping = false;
    int sig;

    for (;;) {
        sig = next_signal(&set, stopping);
        if (sig == 0) {
            s->wait(s->arg);
        } else if (sig == SIGHUP) {
            s->reopen(s->arg);
        } else if (sig == SIGUSR1 || sig == SIGUSR2) {
            change_log_level(sig == SIGUSR1 ? 1 : -1);
        } else if (stopping) {
            s->abandon(s->arg);
        } else {
            stopping = true;
            s->stop(s->arg);
        }
    }
    return NULL;
}

int iod_signals_start(const struct iod_signals *s)
{
    pthread_t thread;
    int rc = zc_thread_start(&thread, "signals", take_signals, (void *)s);

    if (rc == 0)
        pthread_detach(thread);
    return rc;
}
