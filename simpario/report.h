/*
 * The report, as a table and as JSON. Everything here happens on rank 0.
 */
#ifndef REPORT_H
#define REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

#include "bench_report.h"
#include "pass.h"

struct report {
    struct bench_report common;
    const struct run *run;
    /* Complete and verified, unless the verdict has a fault. */
    const struct pass *reference; /* NULL: there was none */
    const struct pass *repeats;
    int n;
};

/* Passed: all bytes read were checked, and all bytes written, by reading them through MPI-IO or
 * POSIX. Skipped: some were not checked, and there is no fault. */
enum verification { VERIFY_PASSED, VERIFY_FAILED, VERIFY_SKIPPED };
enum verification report_verification(const struct report *r);
/* "passed", "failed", "skipped" */
const char *report_verification_name(const struct report *r);

/* The fraction of the I/O's cost that computing has hidden (see simpario.c). False when there is
 * no reference to compare with. */
bool report_hidden(const struct report *r, const struct pass *p, enum direction d,
                   double *fraction);
/* The same as a share of what could have been hidden at best: all of the I/O, or as much of it as
 * there was computing. False without a reference or without computing. */
bool report_overlap(const struct report *r, const struct pass *p, enum direction d,
                    double *fraction);
/* The repeat whose cost (write + close, or read) is the median; the lower one of two. */
int report_typical(const struct report *r);

/* Prints the faults, without figures. */
void report_failure(const struct report *r, FILE *out);
void report_table(const struct report *r, FILE *out);
/* Returns a new reference. */
json_t *report_json(const struct report *r);

#endif
