/*
 * What came out, as a table and as JSON. Everything here happens on rank 0.
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
    /* Complete and right, all of them, or the verdict says otherwise. */
    const struct pass *reference; /* NULL: there was none */
    const struct pass *repeats;
    int n;
};

/* Passed has what was checked in full: what was read, and what was written, by reading it through
 * MPI-IO or POSIX. Skipped is what was not, or in part, and has no fault. */
enum verification { VERIFY_PASSED, VERIFY_FAILED, VERIFY_SKIPPED };
enum verification report_verification(const struct report *r);
/* "passed", "failed", "skipped" */
const char *report_verification_name(const struct report *r);

/* The fraction of the I/O's cost that computing has hidden (see simpario.c). False when there is
 * no reference to compare with. */
bool report_hidden_write(const struct report *r, const struct pass *p, double *fraction);
bool report_hidden_read(const struct report *r, const struct pass *p, double *fraction);
/* The same as a share of what could have been hidden at best: all of the I/O, or as much of it as
 * there was computing. False without a reference or without computing. */
bool report_overlap_write(const struct report *r, const struct pass *p, double *fraction);
bool report_overlap_read(const struct report *r, const struct pass *p, double *fraction);
/* The repeat whose cost (write + close, or read) is the median; the lower one of two. */
int report_typical(const struct report *r);

/* What was wrong; no figures. */
void report_failure(const struct report *r, FILE *out);
void report_table(const struct report *r, FILE *out);
/* A new reference. */
json_t *report_json(const struct report *r);

#endif
