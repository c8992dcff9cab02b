/* zcache_finalize.c - the end of what a process keeps open between its files. */
#include "config.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdlib.h>

#include "zc_lock.h"
#include "zc_log.h"
#include "zcache_finalize.h"

static struct zc_lock lock = ZC_LOCK_INITIALIZER(ZC_ORDER_PROCESS);

/* Under the lock. */
static void (*ends[ZCACHE_ENDS])(void);
static bool watching;
static unsigned files; /* open in this process */
static bool ending;    /* MPI_Finalize has begun */

static void end_all(void)
{
    for (int i = 0; i < ZCACHE_ENDS; i++) {
        void (*fn)(void);

        zc_lock_get(&lock);
        fn = ends[i];
        ends[i] = NULL;
        zc_lock_put(&lock);
        if (fn)
            fn();
    }
}

/* For a program that never closes its file: nobody will come any more. */
static void at_exit(void)
{
    bool left;

    zc_lock_get(&lock);
    left = files > 0;
    zc_lock_put(&lock);
    if (left)
        end_all();
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
    if (!busy)
        end_all();
    else if (atexit(at_exit))
        zc_error("a file that is never closed may lose what was written to it");
    return MPI_SUCCESS;
}

void zcache_finalize_add(enum zcache_end what, void (*fn)(void))
{
    zc_lock_get(&lock);
    ends[what] = fn;
    zc_lock_put(&lock);
}

void zcache_finalize_watch(void)
{
    bool first;
    int key;

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
    if (last)
        end_all();
}
