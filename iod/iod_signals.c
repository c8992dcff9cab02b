/* iod_signals.c - signals, taken by a thread of their own. */
#include "config.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

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
    return set;
}

void iod_signals_block(void)
{
    sigset_t set = wanted();

    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file size limit is an error of that file: EFBIG */
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void *take_signals(void *arg)
{
    const struct iod_signals *s = arg;
    sigset_t set = wanted();
    bool stopping = false;
    int sig;

    for (;;) {
        if (sigwait(&set, &sig))
            continue;
        if (sig == SIGHUP) {
            s->reopen(s->arg);
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
