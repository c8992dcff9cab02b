/*
 * What one direction of a pass took.
 */
#include "config.h"

#include <stdlib.h>

#include "times.h"

const char *const times_names[T_COUNT] = {"open",  "compute",  "wait",   "io",    "sync",
                                          "close", "io_close", "settle", "total", "stored"};
const char *const phase_names[P_COUNT] = {"compute", "wait", "io", "sync"};

void times_init(struct times *t, int phases, bool sync)
{
    static const int always[] = {T_OPEN, T_COMPUTE, T_WAIT, T_IO, T_TOTAL};
    *t = (struct times){.phases = phases};
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        t->has[always[i]] = true;
    t->has[T_SYNC] = sync;
    for (int i = 0; i < P_COUNT; i++) {
        t->phase_has[i] = i != P_SYNC || sync;
        t->phase[i] = calloc((size_t)phases, sizeof(double));
        if (t->phase[i] == NULL)
            bench_abort("out of memory for %d phases", phases);
    }
}

void times_free(struct times *t)
{
    for (int i = 0; i < P_COUNT; i++) {
        free(t->phase[i]);
        t->phase[i] = NULL;
    }
    timeline_free(&t->timeline);
}

void times_reduce(struct times *t, MPI_Comm comm)
{
    int rank;
    if (!t->done)
        return;
    MPI_Comm_rank(comm, &rank);
    bench_over_ranks(comm, t->own, T_COUNT, t->ranks);
    for (int i = 0; i < P_COUNT; i++)
        MPI_Reduce(rank == 0 ? MPI_IN_PLACE : t->phase[i], t->phase[i], t->phases, MPI_DOUBLE,
                   MPI_MAX, 0, comm);
}
