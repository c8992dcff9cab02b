/*
 * What the user asked for.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdint.h>
#include <stdio.h>

#include "bench_options.h"
#include "pattern.h"
#include "transfer.h"

/* Flags are ints: 0, 1, or -1 where the default depends on other options. */
struct options {
    struct bench_options common;
    int phases;
    int64_t record; /* bytes per rank and phase */
    double compute; /* seconds per phase */
    int compute_by; /* COMPUTE_SPIN, COMPUTE_SLEEP */
    int pattern;    /* index for pattern_get() */
    int64_t piece;  /* bytes; 0: not given */
    int order;      /* enum order */
    int seed;
    int files, parts;  /* checkpoint */
    int64_t align;     /* checkpoint: bytes; 0: not aligned */
    const char *array; /* arrays: "360x180x35"; NULL: the default, or none */
    int access;        /* enum access_kind */
    int read_shift;
    int barrier;
    int sync;
    int write, read;
    int verify;
    int reopen;
    int overwrite;
    int repeat;
    int reference;
    int generation;
    const char *stamp; /* the name in the stamps; NULL: that of the file */
    int gaps;
    double timeline; /* seconds between samples; 0: none */
};

/* Defaults, then the command line, then what options imply for each other. Returns 0, or
 * -EINVAL with a message. With --help or --version nothing else is checked. */
int options_parse(struct options *o, int argc, char **argv, int nranks, char message[ARGS_MESSAGE]);
void options_help(FILE *out);
const char *options_access_name(const struct options *o);
const char *options_compute_name(const struct options *o);
/* The shape of a rank's accesses, settled. */
struct shape options_shape(const struct options *o, int rank, int nranks);

#endif
