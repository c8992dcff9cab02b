/* zc_thread.c - starting a thread that takes no signals, and has its name before it does anything:
 * what it records is put down to that. */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_address_space.h"
#include "zc_clock.h"
#include "zc_log.h"
#include "zc_thread.h"
#include "zc_units.h"

enum { TRIES = 20, PAUSE_MS = 1 };

struct start {
    char name[16]; /* as pthread_setname_np(3) takes it */
    void *(*run)(void *);
    void *arg;
};

static void *begin(void *arg)
{
    struct start s = *(struct start *)arg;

    free(arg);
    pthread_setname_np(pthread_self(), s.name);
    return s.run(s.arg);
}

/* A new thread of glibc reserves 128 MiB of addresses for its heap and gives most of them back:
 * what does not fit below a limit may fit a moment later. */
static int create(pthread_t *out, struct start *s)
{
    for (int tries = 1;; tries++) {
        int rc = pthread_create(out, NULL, begin, s);

        if (rc != EAGAIN || tries == TRIES || !zc_address_space_limited())
            return rc;
        zc_clock_sleep(PAUSE_MS * ZC_NS_PER_MS);
    }
}

int zc_thread_start(pthread_t *out, const char *name, void *(*run)(void *), void *arg)
{
    struct start *s = malloc(sizeof *s);
    char remedy[ZC_ADDRESS_SPACE_TEXT];
    sigset_t all, old;
    int rc;

    if (!s)
        return zc_errorf(ENOMEM, "thread %s cannot start: out of memory", name);
    *s = (struct start){.run = run, .arg = arg};
    snprintf(s->name, sizeof s->name, "%s", name);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    rc = create(out, s);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc) {
        free(s);
        zc_address_space_thread(remedy, sizeof remedy);
        return zc_errorf(rc, "thread %s cannot start: %s%s", name, strerror(rc),
                         remedy[0] ? remedy : "; raise the limit on processes (ulimit -u)");
    }
    return 0;
}
