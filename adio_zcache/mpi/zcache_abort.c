/*
 * MPI_Abort, before which what the process has written is written back, for ZCACHE_ABORT_TIME at
 * most. Then it calls the MPI_Abort that the program would have called without the plugin: the next
 * one that the linker knows, maybe of a tool for profiling; or, where the MPI library was opened
 * privately, that library's.
 */
#include "config.h"

#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

#include "zcache_abort.h"
#include "zcache_library.h"

static void (*before_abort)(void); /* atomic */

void zcache_abort_watch(void (*before)(void))
{
    __atomic_store_n(&before_abort, before, __ATOMIC_RELEASE);
}

static int end(const char *name, MPI_Comm comm, int code)
{
    void (*before)(void) = __atomic_load_n(&before_abort, __ATOMIC_ACQUIRE);
    int (*fn)(MPI_Comm comm, int code);

    if (before)
        before();
    *(void **)&fn = dlsym(RTLD_NEXT, name);
    if (!fn)
        *(void **)&fn = zcache_library_symbol(name);
    if (fn)
        return fn(comm, code);
    fflush(NULL);
    _exit(code);
}

int MPI_Abort(MPI_Comm comm, int code)
{
    return end("MPI_Abort", comm, code);
}

int PMPI_Abort(MPI_Comm comm, int code)
{
    return end("PMPI_Abort", comm, code);
}
