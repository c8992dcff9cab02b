/*
 * What a benchmark is, and its way from main() to its exit status: the command line is rank 0's;
 * what cannot work is said before anything runs; the verdict decides what is told, and how it ends.
 *
 * Options and report are the program's own types, which both have a part that is common to all.
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
    /* What came out, on rank 0: what is wrong; or the figures; JSON, a new reference, of either. */
    void (*failure)(const struct report *r, FILE *out);
    void (*table)(const struct report *r, FILE *out);
    json_t *(*json)(const struct report *r);
};

/* All of main(); `common` is a part of the options. Returns an exit status. */
int bench_program_main(const struct bench_program *p, struct options *o,
                       struct bench_options *common, int argc, char **argv);
/* Tells what is in the report, of which `common` is a part, as its options ask for. Returns an exit
 * status, the same on all ranks. Collective. */
int bench_program_publish(const struct bench_program *p, const struct report *r,
                          const struct bench_report *common, MPI_Comm comm);

#endif
