/*
 * Reports in JSON: the parts they are made of, and where they go.
 *
 * A part that cannot be made is remembered, and such a report is not written: so those who make one
 * need not look at each part.
 */
#ifndef BENCH_JSON_H
#define BENCH_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>
#include <mpi.h>

#include "bench.h"
#include "bench_hints.h"
#include "bench_options.h"

/* Whether the report that the options ask for, if they do, can be written; before the run, so that
 * an hour's figures are not lost to a typing error. It must not be the file with the data. Returns
 * an exit status, the same on all ranks. Collective. */
int bench_json_test(MPI_Comm comm, const struct bench_options *o);
/* Writes the report, or says why not; takes the reference to `root`. Returns an exit status. */
int bench_json_write(const char *name, json_t *root);
/* These take the reference to `value`. Where it is NULL, for instance because json_pack() was given
 * a text that is not UTF-8 or a number that is not finite, the report is not written. */
void bench_json_set(json_t *object, const char *key, json_t *value);
void bench_json_append(json_t *array, json_t *value);
/* Hints as one object: those in force, those asked for. */
json_t *bench_json_hints(const struct bench_hints *hints);
json_t *bench_json_pairs(const struct arg_pairs *pairs);
/* An array. */
json_t *bench_json_numbers(const double *values, int n);
/* The maximum over the ranks goes to `object`, an object with the others to `over_ranks`. */
void bench_json_figures(json_t *object, json_t *over_ranks, const char *key,
                        const struct bench_figures *f);
/* Null for NULL. Bytes that are not UTF-8 become U+FFFD: hints in force and the words of faults may
 * have been cut anywhere. */
json_t *bench_json_text(const char *text);

#endif
