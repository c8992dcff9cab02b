/*
 * Two-phase I/O in the program itself, instead of collective I/O. The data of a phase is cut into
 * one contiguous part for each rank. MPI_Alltoallv collects each part at its rank, which writes it
 * with MPI_File_write_at; reading does the reverse.
 *
 * The exchange is planned once, after the open: phases differ only in their place in the file.
 */
#ifndef EXCHANGE_H
#define EXCHANGE_H

#include <mpi.h>

#include "pattern.h"
#include "transfer.h"

struct exchange;

/* Plans the exchange among the ranks of `comm`, which share the file, from its first phase.
 * Collective, like all below. `shape` and `comm` have to outlive it. Aborts without memory. */
struct exchange *exchange_new(const struct pattern *p, const struct shape *shape, MPI_Comm comm,
                              int phase);
void exchange_free(struct exchange *e);

/* Moves the rank's record of a phase; the file has the default view. *moved: whether this rank's
 * access to the file moved all its bytes. Returns MPI's error code. */
int exchange_move(struct exchange *e, enum direction direction, MPI_File fh, int phase,
                  void *record, bool *moved);

#endif
