/* zcache_read_barrier.h - collective reads come after what each rank wrote before its call.
 *
 * MPI leaves that to the program; but ROMIO's two-phase reads exchange data and so wait for all
 * ranks, and programs rely on it.  A rank cannot know whether others have written, as independent
 * writes involve no other rank; so every collective read of a writable file waits, and none of a
 * read-only one.  Not with zcache_read_after_write=false, and not a nonblocking one that is made in
 * the call.
 */
#ifndef ZCACHE_READ_BARRIER_H
#define ZCACHE_READ_BARRIER_H

#include <stdbool.h>

#include "adio.h"

/* Whether collective reads through this handle wait; the same on every rank. */
bool zcache_read_barrier_wanted(ADIO_File fd);
/* Waits for all ranks, if wanted; 0 or a negative errno, explained.  Collective. */
int zcache_read_barrier_wait(ADIO_File fd);
/* Starts a barrier, if one is wanted, which the caller has asked: *others completes when all ranks
 * have entered; MPI_REQUEST_NULL: MPI could not start it, and the read does not wait. */
void zcache_read_barrier_begin(ADIO_File fd, MPI_Request *others);
/* Enters the barrier of a read that this rank has left before its wait, or makes at once, so that
 * the others go on.  `waits`: until all have entered; else the request is kept, tested in the next
 * such call, and completed at the close. */
void zcache_read_barrier_join(ADIO_File fd, bool waits);
/* When all ranks close the file. */
void zcache_read_barrier_end(ADIO_File fd);

#endif
