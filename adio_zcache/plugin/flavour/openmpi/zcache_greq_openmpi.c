/*
 * Generalized requests under Open MPI, which does not poll them: MPI_Grequest_start, and a callback
 * in Open MPI's progress engine that polls the requests under way.
 *
 * opal_progress_register() is not a public interface, but Open MPI 4 and 5 export it. Without it no
 * request is started, and the driver completes nonblocking accesses at once.
 *
 * The callback runs in any thread that is inside MPI. One thread polls at a time, and a nested
 * callback does nothing. A request that completes can be freed by another thread while it
 * is still being polled; `busy` and `freed` make the last of the two free its state.
 *
 * Open MPI takes the error of a request from the status that its query function fills in, not from
 * what the function returns.
 */
#include "config.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>

#include "zc_list.h"
#include "zc_lock.h"
#include "zcache_greq.h"

const bool zcache_greq_poll_may_yield = false;

struct greq {
    struct zc_list link; /* under the lock, as are: */
    bool busy;           /* the callback polls it */
    bool freed;          /* MPI has freed it */
    const struct zcache_greq_functions *fns;
    void *state;
};

static struct zc_lock lock = ZC_LOCK_INITIALIZER(ZC_ORDER_REQUESTS);
static struct zc_list greqs; /* under the lock; .next is NULL before the first */
static unsigned ngreqs;      /* atomic */
static bool polling;         /* atomic: a thread is in the callback */

/* With the lock, which it releases: frees G. */
static void destroy(struct greq *g)
{
    zc_assert_held(&lock);
    zc_list_del(&g->link);
    zc_lock_put(&lock);
    __atomic_sub_fetch(&ngreqs, 1, __ATOMIC_RELEASE);
    g->fns->free(g->state);
    free(g);
}

/* Polls G, with the lock, which it drops meanwhile. False: G has been freed. */
static bool poll_one(struct greq *g)
{
    MPI_Status status;

    g->busy = true;
    zc_lock_put(&lock);
    g->fns->poll(g->state, &status);
    zc_lock_get(&lock);
    g->busy = false;
    if (!g->freed)
        return true;
    destroy(g);
    zc_lock_get(&lock);
    return false;
}

/* Called by Open MPI. Returns the number of requests that progressed, which Open MPI uses to pace
 * itself; always 0. */
static int progress(void)
{
    if (!__atomic_load_n(&ngreqs, __ATOMIC_ACQUIRE) ||
        __atomic_exchange_n(&polling, true, __ATOMIC_ACQUIRE))
        return 0;
    zc_lock_get(&lock);
    for (struct zc_list *n = greqs.next; n != &greqs; n = n->next) {
        if (!poll_one(zc_list_entry(n, struct greq, link)))
            break; /* the rest at the next call */
    }
    zc_lock_put(&lock);
    __atomic_store_n(&polling, false, __ATOMIC_RELEASE);
    return 0;
}

static int query(void *arg, MPI_Status *status)
{
    struct greq *g = arg;
    int code = g->fns->query(g->state, status);

    status->MPI_ERROR = code;
    return code;
}

static int free_request(void *arg)
{
    struct greq *g = arg;

    zc_lock_get(&lock);
    if (g->busy) {
        g->freed = true;
        zc_lock_put(&lock);
    } else {
        destroy(g);
    }
    return MPI_SUCCESS;
}

static int cancel(void *arg, int complete)
{
    struct greq *g = arg;

    return g->fns->cancel(g->state, complete);
}

/* Registers the callback with Open MPI, once. */
static bool progress_registered(void)
{
    static bool done;
    int (*opal_progress_register)(int (*)(void)) = NULL;
    bool was;

    zc_lock_get(&lock);
    was = done;
    zc_lock_put(&lock);
    if (was)
        return true;
    *(void **)&opal_progress_register = dlsym(RTLD_DEFAULT, "opal_progress_register");
    if (!opal_progress_register || opal_progress_register(progress) != 0)
        return false;
    zc_lock_get(&lock);
    done = true;
    zc_lock_put(&lock);
    return true;
}

static void add(struct greq *g)
{
    zc_lock_get(&lock);
    if (!greqs.next)
        zc_list_init(&greqs);
    zc_list_add_tail(&greqs, &g->link);
    zc_lock_put(&lock);
    __atomic_add_fetch(&ngreqs, 1, __ATOMIC_RELEASE);
}

int zcache_greq_start(const struct zcache_greq_functions *fns, void *state, MPI_Request *request)
{
    struct greq *g;
    int rc;

    if (!progress_registered())
        return MPI_ERR_UNSUPPORTED_OPERATION;
    g = calloc(1, sizeof *g);
    if (!g)
        return MPI_ERR_NO_MEM;
    g->fns = fns;
    g->state = state;
    rc = MPI_Grequest_start(query, free_request, cancel, g, request);
    if (rc == MPI_SUCCESS)
        add(g);
    else
        free(g);
    return rc;
}
