/* zc_thread.c - starting a thread that takes no signals. */
#include "config.h"

#include <signal.h>
#include <string.h>

#include "zc_log.h"
#include "zc_thread.h"

int zc_thread_start(pthread_t *out, const char *name, void *(*run)(void *), void *arg)
{
    sigset_t all, old;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    rc = pthread_create(out, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc)
        return zc_errorf(rc, "thread %s cannot start: %s; raise the limit on processes (ulimit -u)",
                         name, strerror(rc));
    pthread_setname_np(*out, name);
    return 0;
}
