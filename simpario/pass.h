/*
 * One pass over the file: write it in phases, read it back in phases.
 */
#ifndef PASS_H
#define PASS_H

#include "run.h"
#include "times.h"

struct pass {
    int generation;  /* of the data written or read; not set for a reference */
    double interval; /* seconds between samples of the timeline, or 0 */
    struct times write, read;
};

void pass_init(const struct run *run, int generation, double interval, struct pass *pass);
/* Writes and reads as the options say, computing `compute` seconds per phase. Faults go to
 * run->verdict; with a fault in writing, reading is left out. Collective. */
void pass_run(struct run *run, double compute, struct pass *pass);
/* Reduces the times to rank 0. Collective. */
void pass_reduce(const struct run *run, struct pass *pass);
void pass_free(struct pass *pass);

#endif
