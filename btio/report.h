/*
 * What came out, as a table and as JSON. Everything here happens on rank 0.
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

/* The solver's million operations per second, as the NAS benchmarks count them. */
double report_mops(const struct report *r, double seconds);

/* The norms that were checked, and those published or NULL. */
struct report_norm {
    const char *key, *title;
    const double *computed, *published;
};
#define REPORT_NORMS 3
/* Returns how many there are. */
int report_norms(const struct report *r, struct report_norm norms[REPORT_NORMS]);

/* What was wrong; no figures. */
void report_failure(const struct report *r, FILE *out);
void report_table(const struct report *r, FILE *out);
/* A new reference. */
json_t *report_json(const struct report *r);

#endif
