/*
 * Hints: what was asked for with --hint, and what a file then says is in force.
 */
#ifndef BENCH_HINTS_H
#define BENCH_HINTS_H

#include <stdio.h>

#include <mpi.h>

#include "args.h"

struct bench_hint {
    char key[MPI_MAX_INFO_KEY + 1];
    char value[256]; /* longer ones are cut */
};

struct bench_hints {
    int n;
    struct bench_hint *hint;
};

/* MPI takes only so long keys and values. Returns 0, or -EINVAL with a message. */
int bench_hints_check(const struct arg_pairs *pairs, char message[ARGS_MESSAGE]);
/* MPI_INFO_NULL when there are none; the caller frees. */
MPI_Info bench_hints_make(const struct arg_pairs *pairs);
/* Replaces *hints by what MPI_File_get_info says. */
void bench_hints_read(MPI_File fh, const char *file, struct bench_hints *hints);
/* The value in force, or NULL. */
const char *bench_hints_find(const struct bench_hints *hints, const char *key);
void bench_hints_free(struct bench_hints *hints);
/* Those in force, and what of `asked` is not. */
void bench_hints_print(const struct bench_hints *hints, const struct arg_pairs *asked, FILE *out);

#endif
