/* zcache_process.c - which process of the job this is, and where the others are. */
#include "config.h"

#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "zc_log.h"
#include "zcache_process.h"

static unsigned char my_id[ZCACHE_PROCESS_ID];
static int my_status;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_id(void)
{
    if (getrandom(my_id, sizeof my_id, 0) != sizeof my_id)
        my_status = -errno;
}

int zcache_process_id(unsigned char id[ZCACHE_PROCESS_ID])
{
    pthread_once(&once, make_id);
    if (my_status)
        return zc_errorf(-my_status, "getrandom");
    memcpy(id, my_id, sizeof my_id);
    return 0;
}

static int world_size(void)
{
    int size = 1;

    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

bool zcache_process_alone(void)
{
    return world_size() == 1;
}

bool zcache_process_whole_job(MPI_Comm comm)
{
    int is = MPI_UNEQUAL, threads = MPI_THREAD_MULTIPLE;
    MPI_Comm parent = MPI_COMM_NULL;

    MPI_Comm_compare(comm, MPI_COMM_WORLD, &is);
    MPI_Query_thread(&threads);
    MPI_Comm_get_parent(&parent); /* a job of its own, which may have its parent's key */
    return is != MPI_UNEQUAL && threads != MPI_THREAD_MULTIPLE && parent == MPI_COMM_NULL;
}

/* Returns the launcher's number of members on this host; 0: it says none. */
static int launched_here(void)
{
    /* Of Hydra (MPICH, Intel MPI) and of Open MPI. */
    static const char *const names[] = {"MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);

        if (value)
            return atoi(value);
    }
    return 0;
}

bool zcache_process_one_host(void)
{
    int here = launched_here();

    return here ? here == world_size() : zcache_process_alone();
}

unsigned zcache_process_on_host(void)
{
    int here = launched_here();

    if (here <= 0) {
        int most = world_size();
        long processors = sysconf(_SC_NPROCESSORS_ONLN);

        here = processors < most ? (int)processors : most;
    }
    return here > 0 ? (unsigned)here : 1;
}
