/* zcache_refusal.h - a collective call that one rank refuses is refused by all.
 *
 * ROMIO looks at a rank's arguments before it asks the other ranks, which then wait for one that
 * has left the call.  Here a rank that finds something wrong stays, and all ask each other, once.
 */
#ifndef ZCACHE_REFUSAL_H
#define ZCACHE_REFUSAL_H

#include <stdbool.h>
#include <stdint.h>

#include <mpi.h>

/* All zero: nothing is wrong. */
struct zcache_refusal {
    int mpi_class; /* MPI_SUCCESS, or of the error */
    char text[508];
};

/* Notes why this rank refuses; the first reason stays. */
void zcache_refuse(struct zcache_refusal *r, int mpi_class, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The same of a negative errno, explained; 0: nothing. */
void zcache_refuse_rc(struct zcache_refusal *r, int rc);

/* Collective: one reduction, and a broadcast where somebody refuses.  True when nobody does and
 * `value` is the same everywhere.  Else *r is the reason: this rank's own, or that of the lowest
 * rank which has one, by its number in `comm`, or that not all give the same `what`. */
bool zcache_refusal_agree(struct zcache_refusal *r, int64_t value, const char *what, MPI_Comm comm);

/* An MPI error code for it: "zcache: WHAT PATH: reason". */
int zcache_refusal_code(const struct zcache_refusal *r, const char *what, const char *path);

#endif
