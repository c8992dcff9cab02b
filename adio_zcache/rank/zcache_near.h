/* zcache_near.h - are all ranks of a file on one host, and may reach each other there? */
#ifndef ZCACHE_NEAR_H
#define ZCACHE_NEAR_H

#include <mpi.h>
#include <stdbool.h>

#include "zc_tp_local.h"

/* By rank 0: this process's card, for others to try, if that is wanted and there are others; else,
 * and where there is none, one that nobody reaches.  Whether it has cards of all ranks, from opens
 * before, and reaches them: then each rank only has to try rank 0's, by zc_tp_local_reaches(). */
bool zcache_near_look(MPI_Comm comm, bool wanted, struct zc_tp_local_card *out);

/* Otherwise.  `first`: rank 0's card, on every rank.
 * *near: in, whether that is wanted, the same on every rank; out, whether it is so, on every
 * rank the same.  Collective.  0, or a negative errno explained when MPI failed. */
int zcache_near_agree(MPI_Comm comm, const struct zc_tp_local_card *first, bool *near);

#endif
