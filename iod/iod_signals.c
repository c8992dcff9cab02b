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
    sigaddset(&set, SIGXCPU);
    sigaddset(&set, SIGPWR);
    return set;
}

void iod_signals_block(void)
{
    sigset_t set = wanted();

    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file size limit is an error of that file: EFBIG */
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

enum state { SERVING, GRACE, STOPPING, INTERRUPTED };

/* Returns the next signal; 0: none came in time while the daemon is about to end.  SIGXCPU that is
 * not the kernel's is a batch system's, before a time limit of its own, and may come more than
 * once: it is the same as SIGTERM, or as SIGPWR where there is no grace time. */
static int next_signal(const struct iod_signals *s, const sigset_t *set, enum state state)
{
    const struct timespec wait = {IOD_SIGNALS_WAIT_MS / 1000, IOD_SIGNALS_WAIT_MS % 1000 * 1000000};
    siginfo_t info;
    int sig;

    do
        sig = state == SERVING ? sigwaitinfo(set, &info) : sigtimedwait(set, &info, &wait);
    while (sig < 0 && errno == EINTR);
    if (sig == SIGXCPU && info.si_code != SI_KERNEL)
        return s->grace ? SIGTERM : SIGPWR;
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

/* SIGTERM or SIGINT. */
static enum state interrupt(const struct iod_signals *s, enum state state, int sig)
{
    if (s->grace && sig == SIGTERM) {
        if (state != SERVING)
            return state;
        if (s->begin_grace(s->arg))
            return GRACE;
    }
    if (state == INTERRUPTED)
        s->abandon(s->arg);
    if (state != STOPPING)
        s->stop(s->arg);
    return INTERRUPTED;
}

/* SIGPWR or SIGXCPU, which comes at the soft limit and with each further second of processor time;
 * SIGKILL comes at the hard one. */
static enum state save_all(const struct iod_signals *s, enum state state, int sig)
{
    if (state != SERVING && state != GRACE)
        return state;
    if (sig == SIGXCPU)
        zc_warn("the limit on processor time (ulimit -t) is almost reached: stopping");
    s->stop(s->arg);
    return STOPPING;
}

/* No signal came for a while; or, in the grace time, one did. */
static enum state no_signal(const struct iod_signals *s, enum state state)
{
    if (state != GRACE) {
        s->progress(s->arg);
        return state;
    }
    if (s->grace_lasts(s->arg))
        return GRACE;
    s->stop(s->arg);
    return STOPPING;
}

static void *take_signals(void *arg)
{
    const struct iod_signals *s = arg;
    enum state state = SERVING;
    sigset_t set = wanted();
    int sig;

    for (;;) {
        sig = next_signal(s, &set, state);
        if (sig == SIGHUP)
            s->reopen(s->arg);
        else if (sig == SIGUSR1 || sig == SIGUSR2)
            change_log_level(sig == SIGUSR1 ? 1 : -1);
        else if (sig == SIGXCPU || sig == SIGPWR)
            state = save_all(s, state, sig);
        else if (sig != 0)
            state = interrupt(s, state, sig);
        if (sig == 0 || state == GRACE)
            state = no_signal(s, state);
    }
    return NULL;
}

bool iod_signals_told_to_end(void)
{
    sigset_t pending;

    return sigpending(&pending) == 0 &&
           (sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1 ||
            sigismember(&pending, SIGPWR) == 1);
}

int iod_signals_start(const struct iod_signals *s)
{
    pthread_t thread;
    int rc = zc_thread_start(&thread, "signals", take_signals, (void *)s);

    if (rc == 0)
        pthread_detach(thread);
    return rc;
}
