/*
 * Reports in JSON: their parts, and where they are written.
 *
 * If a part cannot be made this is remembered and the report is not written, so callers need not
 * check each part.
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

/* Checks that the report, if the options ask for one, can be written, and that it is not the data
 * file; before the run, so that a mistyped name does not cost an hour's figures. Returns an exit
 * status, the same on all ranks. Collective. */
int bench_json_test(MPI_Comm comm, const struct bench_options *o);
/* Writes the report, or says why it cannot; takes the reference to `root`. Returns an exit
 * status. */
int bench_json_write(const char *name, json_t *root);
/* These take the reference to `value`. If it is NULL, for instance because json_pack() was given a
 * text that is not UTF-8 or a number that is not finite, the report is not written. */
void bench_json_set(json_t *object, const char *key, json_t *value);
void bench_json_append(json_t *array, json_t *value);
/* Returns the hints in force and those asked for as one object. */
json_t *bench_json_hints(const struct bench_hints *hints);
json_t *bench_json_pairs(const struct arg_pairs *pairs);
/* Returns an array. */
json_t *bench_json_numbers(const double *values, int n);
/* Adds the maximum over the ranks to `object`, and the other statistics to `over_ranks`. */
void bench_json_figures(json_t *object, json_t *over_ranks, const char *key,
                        const struct bench_figures *f);
/* Returns null for NULL. Bytes that are not UTF-8 become U+FFFD: hints in force and error texts may
 * have been cut anywhere. */
json_t *bench_json_text(const char *text);

#endif
