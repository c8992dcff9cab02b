/*
 * The command line's options.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdint.h>
#include <stdio.h>

#include "bench_options.h"
#include "problem.h"

struct options {
    struct bench_options common;
    int class;    /* index into class_names */
    int n;        /* points along an edge; 0: the class's */
    int steps;    /* 0: the class's */
    double dt;    /* 0: as problem_make() says */
    int method;   /* index into io_method_names */
    int interval; /* steps between dumps */
    int write;
    /* Derived from these and the number of ranks. */
    int q;     /* ranks along an edge */
    int dumps; /* 0 with the method "none" */
    struct problem problem;
};

/* Sets defaults, reads the command line, and derives the rest. Returns 0, or -EINVAL with a
 * message. With --help or --version nothing else is checked. */
int options_parse(struct options *o, int argc, char **argv, int nranks, char message[ARGS_MESSAGE]);
void options_help(FILE *out);
/* Returns the published mean of error norms over dumps; NULL if there is none for this problem and
 * interval. */
const double *options_published_mean(const struct options *o);

#endif
