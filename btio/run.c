/*
 * One run.
 *
 *     open | compute, write | compute, write | ... | close
 *     open | read, check | read, check | ... | close
 *
 * Where the close is told not to wait until everything is stored, that is waited for in between,
 * and then the file is checked through POSIX where that is asked for.
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "bench_hints.h"
#include "posix_check.h"
#include "run.h"

void run_init(struct run *run, const struct options *o, MPI_Comm comm)
{
    *run = (struct run){.options = o, .comm = comm};
    MPI_Comm_rank(comm, &run->rank);
    solver_init(&run->solver, &o->problem, o->q, comm);
    run->io = (struct io){.method = io_method_get(o->method),
                          .grid = &run->solver.grid,
                          .all = comm,
                          .file = o->common.file,
                          .info = bench_hints_make(&o->common.hints)};
    if (run->io.method != NULL)
        io_init(&run->io);
    int64_t n = o->problem.n;
    run->file_bytes = o->dumps * n * n * n * (int64_t)sizeof(state);
    /* calloc(0) may return NULL. */
    run->compute_seconds = calloc((size_t)o->dumps + 1, sizeof(double));
    run->write_seconds = calloc((size_t)o->dumps + 1, sizeof(double));
    run->read_seconds = calloc((size_t)o->dumps + 1, sizeof(double));
    run->witness = o->dumps > 0 ? witness_create(&run->solver.grid, o->dumps) : NULL;
    if (run->compute_seconds == NULL || run->write_seconds == NULL || run->read_seconds == NULL ||
        (o->dumps > 0 && run->witness == NULL))
        bench_abort("out of memory for %d dumps", o->dumps);
}

void run_free(struct run *run)
{
    if (run->io.info != MPI_INFO_NULL)
        MPI_Info_free(&run->io.info);
    witness_destroy(run->witness);
    free(run->compute_seconds);
    free(run->write_seconds);
    free(run->read_seconds);
    solver_free(&run->solver);
}

/* ---- the file -------------------------------------------------------------------------------- */

static void open_file(struct run *run, bool writing)
{
    run->io.writing = writing;
    double start = bench_now();
    io_open(&run->io);
    run->own[writing ? T_OPEN : T_READ_OPEN] = bench_now() - start;
}

/* Returns the seconds it took. */
static double move_dump(struct run *run, int dump)
{
    double start = bench_now();
    io_move(&run->io, dump);
    return bench_now() - start;
}

static void close_file(struct run *run)
{
    double start = bench_now();
    io_close(&run->io);
    run->own[run->io.writing ? T_CLOSE : T_READ_CLOSE] = bench_now() - start;
}

static void check_size(struct run *run)
{
    int64_t size = io_size(&run->io), expected = io_expected_size(&run->io, run->options->dumps);
    if (size != expected)
        verdict_fault(&run->verdict, "%s has %" PRId64 " bytes, where %" PRId64 " were expected",
                      run->io.name, size, expected);
}

/* ---- computing and writing ------------------------------------------------------------------- */

static void write_dump(struct run *run, int dump)
{
    run->write_seconds[dump] = move_dump(run, dump);
    run->own[T_WRITE] += run->write_seconds[dump];
}

static void compute(struct run *run)
{
    const struct options *o = run->options;
    int steps = o->problem.steps, dump = 0;
    for (int step = 1; step <= steps; step++) {
        bool due = o->dumps > 0 && (step % o->interval == 0 || step == steps);
        double start = bench_now();
        solver_step(&run->solver);
        if (due)
            witness_note(run->witness, dump);
        double computed = bench_now() - start;
        run->own[T_COMPUTE] += computed;
        if (dump < o->dumps)
            run->compute_seconds[dump] += computed;
        if (due && o->write)
            write_dump(run, dump);
        dump += due;
        bench_progress(o->common.progress, "step", step, steps);
    }
}

void run_compute(struct run *run)
{
    bool writing = run->io.method != NULL && run->options->write;
    /* So that memory and caches are warm in the first step, too. */
    solver_start(&run->solver);
    solver_step(&run->solver);
    solver_start(&run->solver);
    if (writing)
        io_delete(&run->io, true);
    MPI_Barrier(run->comm);
    double start = bench_now();
    if (writing)
        open_file(run, true);
    compute(run);
    if (writing)
        close_file(run);
    run->own[T_WRITE_CLOSE] = run->own[T_WRITE] + run->own[T_CLOSE];
    run->own[T_TOTAL] = bench_now() - start;
    if (writing)
        run->own[T_SETTLE] =
            bench_settle(run->io.comm, run->io.name, run->io.info, &run->options->common.hints);
    run->own[T_COMMITTED] = run->own[T_TOTAL] + run->own[T_SETTLE];
    MPI_Barrier(run->comm);
}

/* ---- reading and verifying ------------------------------------------------------------------- */

static void read_dump(struct run *run, int dump)
{
    state error;
    witness_poison(run->witness);
    run->read_seconds[dump] = move_dump(run, dump);
    run->own[T_READ] += run->read_seconds[dump];
    run->verdict.checked += witness_check(run->witness, dump, "", &run->verdict);
    solver_error(&run->solver, error);
    for (int m = 0; m < NVAR; m++)
        run->norms.mean_error[m] += error[m] / run->options->dumps;
}

static void read_back(struct run *run)
{
    const struct options *o = run->options;
    double start = bench_now();
    open_file(run, false);
    check_size(run);
    if (!verdict_any(run->comm, &run->verdict)) {
        for (int dump = 0; dump < o->dumps; dump++) {
            read_dump(run, dump);
            bench_progress(o->common.progress, "reading", dump + 1, o->dumps);
        }
    }
    close_file(run);
    run->own[T_READ_TOTAL] = bench_now() - start;
}

static void check_norm(struct run *run, const char *name, const state norm, const double *published)
{
    for (int m = 0; m < NVAR; m++) {
        if (!isfinite(norm[m]))
            verdict_fault(&run->verdict,
                          "%s norm %d is not finite: a time step of %g may be too long for %d "
                          "points along an edge",
                          name, m + 1, run->options->problem.dt, run->options->problem.n);
        else if (published != NULL && !norm_agrees(norm[m], published[m]))
            verdict_fault(
                &run->verdict,
                "%s norm %d of class %c is %.13e, published is %.13e, they differ by %.1e", name,
                m + 1, run->options->problem.class, norm[m], published[m],
                norm_difference(norm[m], published[m]));
    }
}

static void check_norms(struct run *run)
{
    const struct options *o = run->options;
    const struct norms *p = problem_published(&o->problem);
    check_norm(run, "residual", run->norms.residual, p != NULL ? p->residual : NULL);
    check_norm(run, "error", run->norms.error, p != NULL ? p->error : NULL);
    if (o->dumps > 0)
        check_norm(run, "mean error", run->norms.mean_error, options_published_mean(o));
}

void run_verify(struct run *run)
{
    const struct options *o = run->options;
    /* Before anybody can have changed the file, and outside all times. */
    if (run->io.method != NULL && o->common.posix_verify != NULL)
        posix_check(&run->io, run->witness, o->common.posix_verify, o->dumps, &run->verdict);
    if (run->io.method != NULL && !verdict_any(run->comm, &run->verdict))
        read_back(run);
    /* Of data that is not right they would say nothing. */
    if (verdict_any(run->comm, &run->verdict))
        return;
    solver_error(&run->solver, run->norms.error);
    solver_residual(&run->solver, run->norms.residual);
    if (run->rank == 0)
        check_norms(run);
}

static void reduce_seconds(const struct run *run, double *seconds)
{
    MPI_Reduce(run->rank == 0 ? MPI_IN_PLACE : seconds, seconds, run->options->dumps, MPI_DOUBLE,
               MPI_MAX, 0, run->comm);
}

void run_reduce(struct run *run)
{
    bench_over_ranks(run->comm, run->own, T_COUNT, run->ranks);
    reduce_seconds(run, run->compute_seconds);
    reduce_seconds(run, run->write_seconds);
    reduce_seconds(run, run->read_seconds);
}
