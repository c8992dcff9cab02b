/*
 * What the user asked for.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdint.h>
#include <stdio.h>

#include "args.h"
#include "problem.h"

struct options {
    int class;  /* index into class_names */
    int n;      /* points along an edge; 0: the class's */
    int steps;  /* 0: the class's */
    double dt;  /* 0: as problem_make() says */
    int method; /* index into io_method_names */
    const char *file;
    struct arg_pairs hints;
    int interval; /* steps between dumps */
    int write;
    int keep;
    const char *posix_verify;
    const char *json;
    const char *label; /* for the report; NULL: none */
    int progress;      /* BENCH_PROGRESS_... */
    int quiet;
    int help, version;
    /* Follow from the above and the number of ranks. */
    int q;     /* ranks along an edge */
    int dumps; /* 0 with the method "none" */
    struct problem problem;
};

/* Defaults, then the command line, then what follows. Returns 0, or -EINVAL with a message. With
 * --help or --version nothing else is checked. */
int options_parse(struct options *o, int argc, char **argv, int nranks, char message[ARGS_MESSAGE]);
void options_free(struct options *o);
void options_help(FILE *out);
/* The published mean of error norms over dumps; NULL when there is none for this problem and
 * interval. */
const double *options_published_mean(const struct options *o);

#endif
