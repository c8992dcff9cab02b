/*
 * btio: BT of the NAS Parallel Benchmarks with its I/O.
 *
 * A flow is simulated on a cubic grid, implicitly, with block tridiagonal systems along the lines
 * of one direction after the other; every few steps the solution is written. A rank has cells all
 * over the grid (grid.h), so a dump of the shared file is a pattern of short pieces:
 *
 *     one plane, 4 ranks:   | r0 r1 |  row after row,       | r3 r2 |  in the other
 *                           | r2 r3 |  five doubles a point | r1 r0 |  half of the cube
 *
 * Figures are the maximum over the ranks. Everything is read back and compared, and norms of it
 * have to be those published; a run that is not right makes no figures.
 *
 * Run:
 *
 *   mpiexec -n 4 btio -c W -f ufs:/tmp/x
 *
 * prints (norms and hints cut short):
 *
 *   btio 0.1.0, MPICH Version: 4.0.2
 *     problem   class W: 24 x 24 x 24 points, 200 steps of 0.0008
 *     ranks     4, 2 x 2, peak memory 21.1 MiB
 *     file      ufs:/tmp/x, full, 21.1 MiB, 40 dumps, one in 5 steps
 *     verified  norms of class W to 1e-08, 21.1 MiB read back
 *
 *   norms                      computed            published  difference
 *     residual 1    1.1255904093440e+02  1.1255904093440e+02     3.1e-14
 *     error 1       4.4196557360080e+00  4.4196557360080e+00     1.0e-14
 *     mean error 1  6.7295943986120e+01  6.7295943986120e+01     4.9e-15
 *
 *   computing and writing       time    bandwidth  dump min    median      max
 *     compute              596.80 ms
 *     open                   1.68 ms
 *     write                 75.50 ms  279.4 MiB/s   1.38 ms   1.91 ms  4.88 ms
 *     close                 419.8 us
 *     write + close         75.92 ms  277.8 MiB/s
 *     total                672.48 ms
 *     stored after         672.48 ms   31.4 MiB/s
 *   reading                     time    bandwidth  dump min    median      max
 *     open                   1.04 ms
 *     read                  30.31 ms  696.0 MiB/s  653.0 us  829.4 us  1.50 ms
 *     close                 187.7 us
 *   12933.5 Mop/s computing, 11478.1 Mop/s in total
 *
 *   hints in force
 *     cb_nodes                       1
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "bench_json.h"
#include "options.h"
#include "report.h"
#include "run.h"

/* The report, on rank 0. Returns an exit status. */
static int publish(const struct report *report)
{
    const struct options *o = report->run->options;
    int status = BENCH_OK;
    if (bench_report_failed(&report->common)) {
        report_failure(report, stderr);
        status = BENCH_WRONG;
    } else if (!o->common.quiet) {
        report_table(report, stdout);
        fflush(stdout);
    }
    if (o->common.json != NULL) {
        int json_status = bench_json_write(o->common.json, report_json(report));
        if (status == BENCH_OK)
            status = json_status;
    }
    return status;
}

static int benchmark(const struct options *o, MPI_Comm comm)
{
    struct run *run = malloc(sizeof *run);
    struct report *report = calloc(1, sizeof *report);
    if (run == NULL || report == NULL)
        bench_abort("out of memory for the report");
    run_init(run, o, comm);
    run_compute(run);
    run_verify(run);
    if (run->io.method != NULL)
        inspect_file(comm, run->io.comm, run->io.name, run->io.info, &report->common.inspection);
    if (run->io.method != NULL && o->write && !o->common.keep)
        io_delete(&run->io, false);

    run_reduce(run);
    report->run = run;
    bench_report_gather(&report->common, comm, &o->common, run->file_bytes, &run->verdict);

    int status = BENCH_OK;
    if (run->rank == 0)
        status = publish(report);
    MPI_Bcast(&status, 1, MPI_INT, 0, comm);
    run_free(run);
    free(run);
    bench_report_free(&report->common);
    free(report);
    return status;
}

static int btio(int argc, char **argv, MPI_Comm comm)
{
    struct options o;
    char message[ARGS_MESSAGE];
    int rank, nranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &nranks);
    bench_share_argv(comm, &argc, &argv);
    int rc = options_parse(&o, argc, argv, nranks, message);
    int status = rc != 0 ? BENCH_USAGE : BENCH_OK;
    if (rc != 0 && rank == 0)
        fprintf(stderr, "btio: %s\n", message);
    if (rc == 0 && o.common.help && rank == 0)
        options_help(stdout);
    if (rc == 0 && o.common.version && !o.common.help && rank == 0)
        printf("btio (zcache) %s\n", PACKAGE_VERSION);
    if (rc == 0 && !o.common.help && !o.common.version) {
        status = bench_json_test(comm, o.common.json, o.common.file, o.common.posix_verify,
                                 o.common.numbered);
        if (status == BENCH_OK)
            status = benchmark(&o, comm);
    }
    options_free(&o);
    free(argv);
    return status;
}

int main(int argc, char **argv)
{
    bench_init("btio");
    MPI_Init(&argc, &argv);
    int status = btio(argc, argv, MPI_COMM_WORLD);
    MPI_Finalize();
    return status;
}
