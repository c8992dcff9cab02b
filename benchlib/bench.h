/*
 * What the benchmarks share on top of MPI: errors, files, clocks, figures over ranks, large counts
 * and progress.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <mpi.h>

#include "args.h"

/* Exit statuses of the benchmarks. */
enum {
    BENCH_OK = 0,
    BENCH_WRONG = 1,    /* the run ended, but the data, the file or its size are not right */
    BENCH_USAGE = 2,    /* options; nothing was done */
    BENCH_MPI_ERROR = 3 /* an MPI call failed or fell short; through MPI_Abort */
};

/* ---- command line and errors ---- */

/* The name in front of messages; call before anything else here. */
void bench_init(const char *program);
const char *bench_name(void);
/* All ranks take rank 0's command line, so that no rank has an option another lacks. The new
 * argv is one block for free(), once the options that point into it are not used any more.
 * Collective. */
void bench_share_argv(MPI_Comm comm, int *argc, char ***argv);
/* Prints "program: rank R: ..." on stderr, in one write. */
void bench_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, then MPI_Abort with BENCH_MPI_ERROR. */
void bench_abort(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* If `err` is not MPI_SUCCESS, prints the call, the file and MPI's own words, and aborts. */
void bench_check(int err, const char *call, const char *file);
/* The same for a call every rank has made: the ranks agree first, and one speaks for all. */
void bench_check_all(MPI_Comm comm, int err, const char *call, const char *file);

/* ---- files ---- */

/* Removes the file; with `missing_ok`, it may not be there. Collective. */
void bench_delete(MPI_Comm comm, const char *file, MPI_Info info, bool missing_ok);

/* Waits until a file that was closed is stored, and returns the seconds that took: 0 where the
 * close has waited, which it does unless `asked` has the hint zcache_close_level. In truth this
 * is hidden behind whatever an application does after the close. Collective. */
double bench_settle(MPI_Comm comm, const char *file, MPI_Info info, const struct arg_pairs *asked);

/* ---- clocks and figures ---- */

double bench_now(void);
/* Of `n` values of every rank, each on its own; the result is on rank 0 only. Collective. */
struct bench_figures {
    double min, avg, max;
};
void bench_over_ranks(MPI_Comm comm, const double *values, int n, struct bench_figures *out);
/* Sorts `values`. */
double bench_median(double *values, int n);

/* ---- large counts ---- */

/* A type and count that together are `bytes` bytes, for calls whose count is an int. The type is
 * MPI_BYTE or has to be given to bench_bytes_free(). */
void bench_bytes_make(int64_t bytes, MPI_Datatype *type, int *count);
void bench_bytes_free(MPI_Datatype *type);
/* The bytes a call has moved according to its status; -1 when the status does not know. */
int64_t bench_status_bytes(const MPI_Status *status, MPI_Datatype type);

/* ---- progress ---- */

/* One line of rank 0 on stderr, rewritten a few times per second. `done` == `of` clears it.
 * Launchers hide the terminal from their ranks, so users can ask for it. */
enum { BENCH_PROGRESS_NEVER, BENCH_PROGRESS_ALWAYS, BENCH_PROGRESS_TERMINAL = -1 };
void bench_progress(int when, const char *what, int done, int of);

#endif
