/*
 * The result of verification: bytes checked, and faults.
 *
 * Every rank keeps its own verdict while it runs; verdict_gather() combines them.
 */
#ifndef VERDICT_H
#define VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include <mpi.h>

#define VERDICT_TEXT  480
#define VERDICT_TEXTS 8 /* maximum number of ranks whose faults are printed */

struct verdict {
    int64_t checked;       /* bytes read through MPI-IO and compared */
    int64_t posix_checked; /* bytes read through POSIX and compared */
    int64_t wrong;         /* bytes that differ */
    int64_t faults;        /* ranges with wrong bytes, wrong sizes, ... */
    char first[VERDICT_TEXT];
};

struct verdict_sum {
    struct verdict v; /* sums; `first` is not used */
    /* On rank 0: the first fault of the first ranks that have one. */
    int texts;
    char text[VERDICT_TEXTS][VERDICT_TEXT + 32];
};

/* Counts a fault, and keeps the text of the first one. */
void verdict_fault(struct verdict *v, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Counts a fault that explains the earlier ones, and keeps its text instead of theirs. */
void verdict_cause(struct verdict *v, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Returns whether any rank has a fault. Collective. */
bool verdict_any(MPI_Comm comm, const struct verdict *v);
/* Adds up the verdicts: the numbers on all ranks, the texts on rank 0. Collective. */
void verdict_gather(MPI_Comm comm, const struct verdict *v, struct verdict_sum *sum);

#endif
