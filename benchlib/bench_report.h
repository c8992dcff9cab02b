/*
 * What the reports of all benchmarks have, and the parts of table and JSON that are made of it.
 *
 * A program's own `struct report` has it as its member `common`. But for bench_report_gather() and
 * bench_report_free() everything here happens on rank 0.
 */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>
#include <mpi.h>

#include "bench.h"
#include "bench_options.h"
#include "inspect.h"
#include "table.h"
#include "verdict.h"

struct bench_report {
    const struct bench_options *options;
    int ranks;
    int64_t file_bytes; /* of the file or files, data of all phases */
    struct verdict_sum verdict;
    struct inspection inspection; /* of nothing where there is no file */
    int64_t peak_rss;             /* bytes, maximum over the ranks; 0: the system does not tell */
    char library[128];            /* MPI's version, one line */
};

/* All but the inspection, which is asked for while the file is still there. The options have to
 * outlive it. Collective. */
void bench_report_gather(struct bench_report *r, MPI_Comm comm, const struct bench_options *o,
                         int64_t file_bytes, const struct verdict *v);
void bench_report_free(struct bench_report *r);

/* Whether there is a fault; then there are no figures. */
bool bench_report_failed(const struct bench_report *r);
/* Bytes of the file per second. */
double bench_report_rate(const struct bench_report *r, double seconds);

/* ---- words and tables ---- */

/* The faults that were found; `more` follows on their number, in the same line. */
void bench_report_print_failure(const struct bench_report *r, const char *more, FILE *out);
/* The first line: the program and the MPI library. */
void bench_report_print_program(const struct bench_report *r, FILE *out);
/* The last lines: what the caches did, and the hints in force. */
void bench_report_print_system(const struct bench_report *r, FILE *out);

/* A row of figures. */
struct bench_row {
    const char *name;
    double seconds;
    bool per_byte;       /* a bandwidth makes sense */
    const double *parts; /* seconds of `n` phases or dumps, of which the least, the median and the
                          * most are shown; NULL: none are */
    int n;
    const char *last; /* text of the last column; NULL: none */
};
void bench_report_row(const struct bench_report *r, struct table *t, const struct bench_row *row);

/* ---- JSON ---- */

/* The first keys, up to the number of ranks: a new reference. `format` is raised when keys change
 * their meaning. */
json_t *bench_report_json(const struct bench_report *r, int format);
/* Hints in force and caches. */
void bench_report_json_system(const struct bench_report *r, json_t *root);
/* The last keys of the verification: the faults that were found. */
void bench_report_json_faults(const struct bench_report *r, json_t *verification);

/* What figures are made of, under the same names whichever benchmark it is from. Seconds are the
 * maximum over the ranks; NAN becomes null. */
struct bench_summary {
    const char *pattern;
    int phases;
    int64_t record_bytes; /* of a rank and phase, the average */
    bool verified;
    double compute, open, write, sync, close, write_close, total, stored;
    double read_compute, read_open, read, read_close, read_total;
    double hidden_write, hidden_read; /* fractions */
};
json_t *bench_report_json_summary(const struct bench_report *r, const struct bench_summary *s);

#endif
