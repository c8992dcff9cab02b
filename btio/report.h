/*
 * The report, as a table and as JSON. Everything here happens on rank 0.
 */
#ifndef REPORT_H
#define REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

#include "bench_report.h"
#include "run.h"

struct report {
    struct bench_report common;
    const struct run *run;
};

/* Returns the solver's million operations per second, as the NAS benchmarks count them. */
double report_mops(const struct report *r, double seconds);

/* A norm that was checked, and the published one or NULL. */
struct report_norm {
    const char *key, *title;
    const double *computed, *published;
};
#define REPORT_NORMS 3
/* Returns the number of norms. */
int report_norms(const struct report *r, struct report_norm norms[REPORT_NORMS]);

/* Prints the faults, without figures. */
void report_failure(const struct report *r, FILE *out);
void report_table(const struct report *r, FILE *out);
/* Returns a new reference. */
json_t *report_json(const struct report *r);

#endif
