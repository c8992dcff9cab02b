/*
 * Hints: those requested by --hint, and those in force for a file.
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

/* Checks the lengths of keys and values against MPI's limits. Returns 0, or -EINVAL with a message.
 */
int bench_hints_check(const struct arg_pairs *pairs, char message[ARGS_MESSAGE]);
/* Returns an info, which the caller frees; MPI_INFO_NULL without hints. */
MPI_Info bench_hints_make(const struct arg_pairs *pairs);
/* Replaces *hints by those of MPI_File_get_info. */
void bench_hints_read(MPI_File fh, const char *file, struct bench_hints *hints);
/* Returns the value in force, or NULL. */
const char *bench_hints_find(const struct bench_hints *hints, const char *key);
void bench_hints_free(struct bench_hints *hints);
/* Prints the hints in force, and those of `asked` that are not. */
void bench_hints_print(const struct bench_hints *hints, const struct arg_pairs *asked, FILE *out);

#endif
