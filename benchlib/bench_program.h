/*
 * A benchmark from main() to its exit status: rank 0's command line counts, errors in it end the
 * program before the run, and the verdict decides on the output and the status.
 *
 * Options and report are types of the program, each with a member that all programs share.
 */
#ifndef BENCH_PROGRAM_H
#define BENCH_PROGRAM_H

#include <stdio.h>

#include <jansson.h>
#include <mpi.h>

#include "args.h"
#include "bench_options.h"
#include "bench_report.h"

struct options;
struct report;

struct bench_program {
    const char *name;
    /* Returns 0, or -EINVAL with a message, the same on all ranks. */
    int (*parse)(struct options *o, int argc, char **argv, int nranks, char message[ARGS_MESSAGE]);
    void (*help)(FILE *out);
    /* Runs, and ends with bench_program_publish(), whose status it returns. Collective. */
    int (*run)(const struct bench_program *p, const struct options *o, MPI_Comm comm);
    /* Print the faults, or the figures, and return either as JSON, a new reference. On rank 0. */
    void (*failure)(const struct report *r, FILE *out);
    void (*table)(const struct report *r, FILE *out);
    json_t *(*json)(const struct report *r);
};

/* Does all of main(); `common` is the member of the options. Returns an exit status. */
int bench_program_main(const struct bench_program *p, struct options *o,
                       struct bench_options *common, int argc, char **argv);
/* Prints the report, of which `common` is a member, as the options say. Returns an exit status, the
 * same on all ranks. Collective. */
int bench_program_publish(const struct bench_program *p, const struct report *r,
                          const struct bench_report *common, MPI_Comm comm);

#endif
