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
 *   btio 0.2.0, MPICH Version: 4.0.2
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
#include "bench_program.h"
#include "options.h"
#include "report.h"
#include "run.h"

static int benchmark(const struct bench_program *p, const struct options *o, MPI_Comm comm)
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
    int status = bench_program_publish(p, report, &report->common, comm);

    run_free(run);
    free(run);
    bench_report_free(&report->common);
    free(report);
    return status;
}

static const struct bench_program btio = {
    .name = "btio",
    .parse = options_parse,
    .help = options_help,
    .run = benchmark,
    .failure = report_failure,
    .table = report_table,
    .json = report_json,
};

int main(int argc, char **argv)
{
    struct options o;
    return bench_program_main(&btio, &o, &o.common, argc, argv);
}
