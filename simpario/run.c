/*
 * What all passes share: set-up and figures over ranks.
 */
#include "config.h"

#include <stdlib.h>

#include "pass.h"
#include "stamp.h"

const char *const times_names[T_COUNT] = {"open",  "compute",  "wait",   "io",    "sync",
                                          "close", "io_close", "settle", "total", "stored"};
const char *const phase_names[P_COUNT] = {"compute", "wait", "io", "sync"};

static void prepare(const struct run *run, struct shape *s)
{
    if (run->pattern->prepare != NULL && run->pattern->prepare(s) != 0)
        bench_abort("out of memory for --pattern %s", run->pattern->name);
}

static void release(const struct run *run, struct shape *s)
{
    if (run->pattern->release != NULL)
        run->pattern->release(s);
}

void run_init(struct run *run, const struct options *o, MPI_Comm comm)
{
    *run = (struct run){.options = o, .pattern = pattern_get(o->pattern), .comm = comm};
    MPI_Comm_rank(comm, &run->rank);
    MPI_Comm_size(comm, &run->nranks);
    run->writer = options_shape(o, run->rank, run->nranks);
    run->reader = options_shape(o, (run->rank + o->read_shift) % run->nranks, run->nranks);
    prepare(run, &run->writer);
    prepare(run, &run->reader);
    run->file_bytes = pattern_file_bytes(&run->writer);
    run->info = bench_hints_make(&o->hints);
    for (int i = 0; i < (transfer_overlaps((enum access_kind)o->access) ? 2 : 1); i++) {
        run->buf[i] = malloc((size_t)o->record);
        if (run->buf[i] == NULL)
            bench_abort("out of memory for a record of %lld bytes", (long long)o->record);
        /* Touch all pages, so that the first phase is like the others. */
        stamp_poison(run->buf[i], (size_t)o->record);
    }
    bench_bytes_make(o->record, &run->type, &run->count);
}

void run_free(struct run *run)
{
    bench_bytes_free(&run->type);
    release(run, &run->writer);
    release(run, &run->reader);
    free(run->buf[0]);
    free(run->buf[1]);
    if (run->info != MPI_INFO_NULL)
        MPI_Info_free(&run->info);
}

static void times_reduce(const struct run *run, struct times *t)
{
    if (!t->done)
        return;
    bench_over_ranks(run->comm, t->own, T_COUNT, t->ranks);
    for (int i = 0; i < P_COUNT; i++)
        MPI_Reduce(run->rank == 0 ? MPI_IN_PLACE : t->phase[i], t->phase[i], run->options->phases,
                   MPI_DOUBLE, MPI_MAX, 0, run->comm);
}

void pass_reduce(const struct run *run, struct pass *pass)
{
    times_reduce(run, &pass->write);
    times_reduce(run, &pass->read);
}

static void times_init(const struct run *run, struct times *t, enum direction direction)
{
    static const int always[] = {T_OPEN, T_COMPUTE, T_WAIT, T_IO, T_TOTAL};
    const struct options *o = run->options;
    *t = (struct times){.done = false};
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        t->has[always[i]] = true;
    t->has[T_SYNC] = direction == WRITE && o->sync;
    for (int i = 0; i < P_COUNT; i++) {
        t->phase_has[i] = i != P_SYNC || t->has[T_SYNC];
        t->phase[i] = calloc((size_t)o->phases, sizeof(double));
        if (t->phase[i] == NULL)
            bench_abort("out of memory for %d phases", o->phases);
    }
}

static void times_free(struct times *t)
{
    for (int i = 0; i < P_COUNT; i++) {
        free(t->phase[i]);
        t->phase[i] = NULL;
    }
    timeline_free(&t->timeline);
}

void pass_init(const struct run *run, int generation, double interval, struct pass *pass)
{
    pass->interval = run->rank == 0 ? interval : 0;
    pass->generation = generation;
    times_init(run, &pass->write, WRITE);
    times_init(run, &pass->read, READ);
}

void pass_free(struct pass *pass)
{
    times_free(&pass->write);
    times_free(&pass->read);
}
