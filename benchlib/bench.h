/*
 * Functions of the benchmarks on top of MPI: errors, files, clocks, figures over ranks, large
 * counts and progress.
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

/* Sets the name in front of messages; to call before all others here. */
void bench_init(const char *program);
const char *bench_name(void);
/* Gives all ranks the command line of rank 0, so that options are the same everywhere. The new argv
 * is one block for free(), when the options that point into it are not used any more. Collective.
 */
void bench_share_argv(MPI_Comm comm, int *argc, char ***argv);
/* Prints "program: rank R: ..." on stderr, in one write. */
void bench_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints it, and calls MPI_Abort with BENCH_MPI_ERROR. */
void bench_abort(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* If `err` is not MPI_SUCCESS, prints the call, the file and MPI's error text, and aborts. */
void bench_check(int err, const char *call, const char *file);
/* The same for a call that every rank has made: one rank prints for all. Collective. */
void bench_check_all(MPI_Comm comm, int err, const char *call, const char *file);

/* ---- files ---- */

/* Removes the file; with `missing_ok`, it may not be there. Collective. */
void bench_delete(MPI_Comm comm, const char *file, MPI_Info info, bool missing_ok);

/* Waits until a closed file is stored. Returns the seconds that took: 0 if the close has waited,
 * which it does unless `asked` has the hint zcache_close_level. An application would do other work
 * meanwhile. Collective. */
double bench_settle(MPI_Comm comm, const char *file, MPI_Info info, const struct arg_pairs *asked);

/* ---- clocks and figures ---- */

double bench_now(void);
struct bench_figures {
    double min, avg, max;
};
/* Computes the figures of each of `n` values over the ranks, on rank 0. Collective. */
void bench_over_ranks(MPI_Comm comm, const double *values, int n, struct bench_figures *out);
/* Returns the median; sorts `values`. */
double bench_median(double *values, int n);

/* ---- large counts ---- */

/* Makes a type and count of `bytes` bytes together, for calls whose count is an int.
 * bench_bytes_free() frees the type. */
void bench_bytes_make(int64_t bytes, MPI_Datatype *type, int *count);
void bench_bytes_free(MPI_Datatype *type);
/* Returns the bytes that a call has moved according to its status; -1: unknown. */
int64_t bench_status_bytes(const MPI_Status *status, MPI_Datatype type);

/* ---- progress ---- */

/* Shows progress on a line of standard error, by rank 0, a few times per second; `done` == `of`
 * clears it. Launchers hide the terminal from ranks, so `when` may ask for it. */
enum { BENCH_PROGRESS_NEVER, BENCH_PROGRESS_ALWAYS, BENCH_PROGRESS_TERMINAL = -1 };
void bench_progress(int when, const char *what, int done, int of);

#endif
