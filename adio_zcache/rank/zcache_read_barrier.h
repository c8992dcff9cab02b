/* zcache_read_barrier.h - collective reads come after what each rank wrote before its call.
 *
 * MPI leaves that to the program; but ROMIO's two-phase reads exchange data and so wait for all
 * ranks, and programs rely on it.  A rank cannot know whether others have written, as independent
 * writes involve no other rank; so every collective read of a writable file waits, and none of a
 * read-only one.
 */
#ifndef ZCACHE_READ_BARRIER_H
#define ZCACHE_READ_BARRIER_H

#include <stdbool.h>

#include "adio.h"

/* Whether collective reads through this handle wait; the same on every rank. */
bool zcache_read_barrier_wanted(ADIO_File fd);
/* Waits for all ranks, if wanted; 0 or a negative errno, explained.  Collective. */
int zcache_read_barrier_wait(ADIO_File fd);
/* The same, nonblocking: *others completes when all ranks have entered; MPI_REQUEST_NULL: need not
 * wait. */
void zcache_read_barrier_begin(ADIO_File fd, MPI_Request *others);
/* For a rank that has left a collective read before its wait, or makes it at once: takes part now, so
 * that the others go on.  `waits`: until they have entered, too; else that is looked at in later
 * calls, and at the latest when the file is closed. */
void zcache_read_barrier_join(ADIO_File fd, bool waits);
/* When all ranks close the file. */
void zcache_read_barrier_end(ADIO_File fd);

#endif
