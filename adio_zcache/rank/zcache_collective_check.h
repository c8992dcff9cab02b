/* zcache_collective_check.h - a collective call that fails on one rank fails on all.
 *
 * ROMIO checks a rank's arguments before it communicates, and the other ranks then wait for one
 * that has left the call.  Here a rank with an error stays, and all ranks exchange theirs once.
 */
#ifndef ZCACHE_COLLECTIVE_CHECK_H
#define ZCACHE_COLLECTIVE_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include <mpi.h>

/* All zero: no error. */
struct zcache_collective_check {
    int mpi_class; /* MPI_SUCCESS, or the error's class */
    char text[508];
};

/* Notes an error of this rank; the first one is kept. */
void zcache_refuse(struct zcache_collective_check *r, int mpi_class, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The same for a negative errno, explained; 0: no error. */
void zcache_refuse_rc(struct zcache_collective_check *r, int rc);

/* Exchanges errors: collective, one reduction, and a broadcast if there is an error.  True if no
 * rank has one and `value` is the same everywhere.  Else *r is the reason: this rank's own, or that
 * of the lowest rank with one, by its number in `comm`, or that the ranks' values of `what`
 * differ. */
bool zcache_collective_check_agree(struct zcache_collective_check *r, int64_t value,
                                   const char *what, MPI_Comm comm);

/* Returns an MPI error code for it: "zcache: WHAT PATH: reason". */
int zcache_collective_check_code(const struct zcache_collective_check *r, const char *what,
                                 const char *path);

#endif
