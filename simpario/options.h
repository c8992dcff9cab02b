/*
 * The command line's options.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
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
    int writers;       /* checkpoint: ranks that wrote what is read; 0: as many as read */
    int roles;         /* ranks of the layout that each rank reads as, one after the other */
    int64_t align;     /* checkpoint: bytes; 0: not aligned */
    const char *array; /* arrays: "360x180x35"; NULL: the default, or none */
    int climate_map;   /* climate: index in climate_map_names */
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
    const char *permute_text; /* --permute; NULL: not given */
    int permute;              /* a permutation, PERMUTE_NONE or PERMUTE_ALL */
    int permute_by;           /* enum permute_by */
    int datarep;              /* index in datarep_names */
    double timeline;          /* seconds between samples; 0: none */
};

/* Sets defaults, reads the command line, and derives values that options imply for each other.
 * Returns 0, or -EINVAL with a message. With --help or --version nothing else is checked. */
int options_parse(struct options *o, int argc, char **argv, int nranks, char message[ARGS_MESSAGE]);
void options_help(FILE *out);
/* Whether MPI converts. */
bool options_external(const struct options *o);
/* Whether a record in memory is other bytes than in the file, or in another order. */
bool options_rearranged(const struct options *o);
const char *options_access_name(const struct options *o);
const char *options_compute_name(const struct options *o);
/* Returns the shape of what a rank writes, or reads, after settle(). */
struct shape options_shape(const struct options *o, int rank, int nranks, bool reading);

#endif
