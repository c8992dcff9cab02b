/*
 * The common part of the benchmarks' reports, as table and as JSON.
 *
 * It is the member `common` of a program's `struct report`. All functions except
 * bench_report_gather() and bench_report_free() are called on rank 0.
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
    struct inspection inspection; /* empty without a file */
    int64_t peak_rss;             /* bytes, maximum over the ranks; 0: unknown */
    char library[128];            /* MPI's version, one line */
};

/* Fills in all members except the inspection, which is made while the file exists. The options have
 * to outlive it. Collective. */
void bench_report_gather(struct bench_report *r, MPI_Comm comm, const struct bench_options *o,
                         int64_t file_bytes, const struct verdict *v);
void bench_report_free(struct bench_report *r);

/* Whether there is a fault, and so no figures. */
bool bench_report_failed(const struct bench_report *r);
/* Returns bytes of the file per second. */
double bench_report_rate(const struct bench_report *r, double seconds);

/* ---- text ---- */

/* Prints the faults; `more` follows their number, on the same line. */
void bench_report_print_failure(const struct bench_report *r, const char *more, FILE *out);
/* Prints the first line: the program and the MPI library. */
void bench_report_print_program(const struct bench_report *r, FILE *out);
/* Prints the last lines: counters of the caches, and the hints in force. */
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

/* Returns an object with the first keys, up to the number of ranks: a new reference. `format` is
 * raised when keys change their meaning. */
json_t *bench_report_json(const struct bench_report *r, int format);
/* Adds hints in force and caches. */
void bench_report_json_system(const struct bench_report *r, json_t *root);
/* Adds the last keys of the verification: the faults. */
void bench_report_json_faults(const struct bench_report *r, json_t *verification);

/* The summary, with the same keys for all benchmarks. Seconds are maxima over the ranks; NAN
 * becomes null. */
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
