/* yieldshim.c - preloaded into tests that run more MPI ranks than there are cores.
 *
 * MPICH over UCX polls without pause: a rank that waits keeps the core from the one it
 * waits for.  Each turn of its loop calls ucp_worker_progress(); standing in front of that,
 * we sleep for a moment when many turns in a row have found nothing to do.
 */
#include "config.h"

#include <dlfcn.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <time.h>

enum { IDLE_TURNS = 50, NEXT_TURNS = 10, NAP_NS = 20000 };

unsigned ucp_worker_progress(void *worker);

typedef unsigned (*progress_fn)(void *worker);

/* Where MPI was opened privately (Python), the next one after us is not to be found. */
static progress_fn find(void)
{
    void *f = dlsym(RTLD_NEXT, "ucp_worker_progress");
    void *ucp = f ? NULL : dlopen("libucp.so.0", RTLD_NOW | RTLD_NOLOAD);
    progress_fn fn;

    if (ucp)
        f = dlsym(ucp, "ucp_worker_progress");
    *(void **)&fn = f;
    return fn;
}

static void nap(long ns)
{
    static __thread int precise;
    struct timespec t = {0, ns};

    if (!precise)
        precise = prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL) == 0;
    nanosleep(&t, NULL);
}

unsigned ucp_worker_progress(void *worker)
{
    static progress_fn next;
    static __thread int idle, naps;
    unsigned n;

    if (!next)
        next = find();
    n = next(worker);
    if (n) {
        idle = 0;
        naps = 0;
    } else if (++idle == IDLE_TURNS) {
        idle = IDLE_TURNS - NEXT_TURNS;
        nap(NAP_NS << naps);
        naps += naps < 4;
    }
    return n;
}
