/* zcache_finalize.c - the end of what a process keeps open between its files. */
#include "config.h"

#include <mpi.h>
#include <stdbool.h>

#include "zc_lock.h"
#include "zcache_exit.h"
#include "zcache_finalize.h"

static struct zc_lock lock = ZC_LOCK_INITIALIZER(ZC_ORDER_PROCESS);

/* Under the lock. */
static void (*ends[ZCACHE_ENDS])(void);
static bool (*others)(void);
static bool watching;
static unsigned files; /* open in this process */
static bool ending;    /* MPI_Finalize has begun */

void zcache_finalize_end(enum zcache_end what)
{
    void (*fn)(void);

    zc_lock_get(&lock);
    fn = ends[what];
    ends[what] = NULL;
    zc_lock_put(&lock);
    if (fn)
        fn();
}

static void end_all(void)
{
    for (int i = 0; i < ZCACHE_ENDS; i++)
        zcache_finalize_end((enum zcache_end)i);
}

/* This process has no file open.  Whether another one has, through an aggregator of this one. */
static bool is_attached(void)
{
    zcache_finalize_end(ZCACHE_END_MEETING);
    return zcache_finalize_shared();
}

static int at_finalize(MPI_Comm comm, int key, void *value, void *extra)
{
    bool busy;

    (void)comm;
    (void)key;
    (void)value;
    (void)extra;
    zc_lock_get(&lock);
    ending = true;
    busy = files > 0;
    zc_lock_put(&lock);
    if (!busy && !is_attached()) /* else the exit handler does */
        end_all();
    return MPI_SUCCESS;
}

void zcache_finalize_add(enum zcache_end what, void (*fn)(void))
{
    zc_lock_get(&lock);
    ends[what] = fn;
    zc_lock_put(&lock);
}

void zcache_finalize_ask(bool (*attached)(void))
{
    zc_lock_get(&lock);
    others = attached;
    zc_lock_put(&lock);
}

bool zcache_finalize_begun(void)
{
    bool begun;

    zc_lock_get(&lock);
    begun = ending;
    zc_lock_put(&lock);
    return begun;
}

bool zcache_finalize_shared(void)
{
    bool (*fn)(void);

    zc_lock_get(&lock);
    fn = others;
    zc_lock_put(&lock);
    return fn && fn();
}

void zcache_finalize_watch(void)
{
    bool first;
    int key;

    zcache_exit_watch();
    zc_lock_get(&lock);
    first = !watching;
    watching = true;
    zc_lock_put(&lock);
    if (first &&
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_finalize, &key, NULL) == MPI_SUCCESS) {
        MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
        MPI_Comm_free_keyval(&key);
    }
}

void zcache_finalize_file_opened(void)
{
    zc_lock_get(&lock);
    files++;
    zc_lock_put(&lock);
}

void zcache_finalize_file_closed(void)
{
    bool last;

    zc_lock_get(&lock);
    last = --files == 0 && ending;
    zc_lock_put(&lock);
    if (last && !is_attached())
        end_all();
}
