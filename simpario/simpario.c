/*
 * simpario: computing and I/O in turn, as data-intensive parallel applications do it.
 *
 * All ranks share one file, or, with one of the patterns, a few. In each phase every rank computes
 * for a while and then writes one record; phases follow each other in the file. Afterwards the file
 * is closed, opened again and read back in the same way. With n ranks, phase p begins at p * n *
 * record:
 *
 *   --pattern contiguous     | r0 r0 r0 | r1 r1 r1 | r2 r2 r2 |
 *   --pattern interleaved    | r0 r1 r2 | r0 r1 r2 | r0 r1 r2 |   (in pieces, through a view)
 *   --pattern subarray3d, subarray4d, irregular, checkpoint, arrays, climate, blocks, lattice,
 *   ragged4d: see pattern_*.c; --permute: permute.h
 *
 * Figures are the maximum over the ranks; bandwidth is the bytes of the file divided by that.
 * "write" is what the application waits for in its writes, "write + close" what it waits for
 * until the file is closed. To tell how much of that cost computing has hidden takes a reference:
 * the same run without computing, made twice beforehand; the cheaper one counts ("I/O alone"):
 *
 *   hidden fraction of writing = 1 - (write + close) / (write + close + settle of the reference)
 *   hidden fraction of reading = 1 - read / (read of the reference)
 *
 * Settling is what is left to be stored after a close that does not wait for it.
 *
 * Making the data is part of computing before a write, checking it of computing after a read.
 * Every byte read is checked (stamp.h); data that is not right makes no figures.
 *
 * Run:
 *
 *   mpiexec -n 2 simpario -f ufs:/tmp/x --pattern interleaved --compute 0.05
 *
 * prints (hints cut short):
 *
 *   simpario 0.2.0, MPICH Version: 4.0.2
 *     file      ufs:/tmp/x, 40 MiB, generation 1
 *     ranks     2, peak memory 19.6 MiB
 *     phases    20, record 1 MiB per rank, compute 50.00 ms (spin)
 *     pattern   interleaved in pieces of 4 KiB, collective, barrier before I/O
 *     verified  120 MiB through MPI-IO, 0 B through POSIX
 *
 *   writing              time     bandwidth  phase min    median       max  I/O alone
 *     open           139.6 us                                                116.6 us
 *     compute         1.000 s                                                 2.65 ms
 *     wait           250.5 us                                                 73.8 us
 *     write          14.43 ms  2771.7 MiB/s   613.7 us  691.3 us   1.46 ms   14.38 ms
 *     close           35.1 us                                                 19.8 us
 *     write + close  14.46 ms  2766.7 MiB/s                                  14.40 ms
 *     total           1.015 s                                                17.23 ms
 *     stored after    1.015 s    39.4 MiB/s                                  17.23 ms
 *   reading              time     bandwidth  phase min    median       max  I/O alone
 *     open           120.8 us                                                 81.2 us
 *     compute         1.000 s                                                 2.90 ms
 *     wait           289.8 us                                                153.8 us
 *     read            6.66 ms  6009.9 MiB/s   275.1 us  324.8 us  441.2 us    5.13 ms
 *     close           39.3 us                                                 10.3 us
 *     total           1.007 s                                                 8.18 ms
 *   hidden behind computing: -0.4 % of write + close, -0.4 % of what could be
 *   hidden behind computing: -29.7 % of read, -29.7 % of what could be
 *
 *   hints in force
 *     cb_nodes                       1
 *     romio_filesystem_type          UFS: Generic ROMIO driver for all UNIX-like file systems
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "bench_program.h"
#include "options.h"
#include "pass.h"
#include "report.h"
#include "stamp.h"

/* Keeps the cheaper one in *best. The choice is rank 0's, which alone has the figures. */
static void keep_cheaper(struct times *best, struct times *other, int which)
{
    if (!best->done || (other->done && other->ranks[which].max < best->ranks[which].max)) {
        struct times t = *best;
        *best = *other;
        *other = t;
    }
}

/* What the I/O costs alone. The first time round, buffers, memory and page cache are cold, which
 * would make any later run look as if it hid something: so it is done twice, and the cheaper
 * writing and the cheaper reading count. False when something is wrong. */
static bool run_reference(struct run *run, struct pass *reference)
{
    const struct options *o = run->options;
    for (int back = 2; back >= 1; back--) {
        /* The data of the first repeat has to differ from what the reference leaves behind. */
        int earlier = (o->generation + STAMP_GENERATIONS - back) % STAMP_GENERATIONS;
        struct pass pass;
        pass_init(run, o->write ? earlier : o->generation, 0, &pass);
        pass_run(run, 0, &pass);
        bool wrong = verdict_any(run->comm, &run->verdict);
        if (!wrong) {
            pass_reduce(run, &pass);
            keep_cheaper(&reference->write, &pass.write,
                         pass.write.has[T_CLOSE] ? T_IO_CLOSE : T_IO);
            keep_cheaper(&reference->read, &pass.read, T_IO);
        }
        pass_free(&pass);
        if (wrong)
            return false;
    }
    return true;
}

/* The reference, then the repeats; stops at the first one that is not right. Returns how many
 * repeats are in `repeats`. */
static int run_all(struct run *run, struct pass *reference, struct pass *repeats)
{
    const struct options *o = run->options;
    if (o->reference && !run_reference(run, reference))
        return 0;
    for (int i = 0; i < o->repeat; i++) {
        pass_init(run, o->write ? o->generation + i : o->generation, o->timeline, &repeats[i]);
        pass_run(run, o->compute, &repeats[i]);
        if (verdict_any(run->comm, &run->verdict))
            return i;
        pass_reduce(run, &repeats[i]);
    }
    return o->repeat;
}

static int benchmark(const struct bench_program *p, const struct options *o, MPI_Comm comm)
{
    struct run run;
    struct pass reference = {.generation = 0};
    struct pass *repeats = calloc((size_t)o->repeat, sizeof *repeats);
    if (repeats == NULL)
        bench_abort("out of memory for %d repeats", o->repeat);
    run_init(&run, o, comm);
    struct report *report = calloc(1, sizeof *report);
    if (report == NULL)
        bench_abort("out of memory for the report");

    report->n = run_all(&run, &reference, repeats);
    inspect_file(comm, run.side[WRITE].comm, run.side[WRITE].file, run.info,
                 &report->common.inspection);
    if (o->write && !o->common.keep)
        bench_delete(run.side[WRITE].comm, run.side[WRITE].file, run.info, false);
    report->run = &run;
    report->reference = o->reference ? &reference : NULL;
    report->repeats = repeats;
    bench_report_gather(&report->common, comm, &o->common, run.file_bytes, &run.verdict);
    int status = bench_program_publish(p, report, &report->common, comm);

    pass_free(&reference);
    for (int i = 0; i < o->repeat; i++)
        pass_free(&repeats[i]);
    free(repeats);
    bench_report_free(&report->common);
    free(report);
    run_free(&run);
    return status;
}

static const struct bench_program simpario = {
    .name = "simpario",
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
    return bench_program_main(&simpario, &o, &o.common, argc, argv);
}
