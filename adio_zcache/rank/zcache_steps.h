/* zcache_steps.h - steps of a file (doc/SEMANTICS.md): one job publishes them, with the hint
 * zcache_steps, and others read them, with zcache_wait_step.
 *
 * Rank 0 itself has the file open at the daemons, for as long as the file is open: it publishes and
 * waits for all ranks, and tells the owners which step to read.  Collective functions return the
 * same result on every rank.  Errors: a negative errno, explained.
 */
#ifndef ZCACHE_STEPS_H
#define ZCACHE_STEPS_H

#include "adio.h"
#include "zc_store.h"

struct zcache_file;

/* On rank 0, before the file is opened: checks that the hints can be followed. */
int zcache_steps_check(ADIO_File fd, uint32_t daemons);
/* After an open that failed with -ENOENT: pauses and returns true if the file is waited for; the
 * caller tries again. */
bool zcache_steps_wait_for_file(struct zcache_file *f);
/* Collective: begins publishing or reading steps, when the file, of `size` bytes, is open at its
 * owners and, as `*sfile` of rank 0, at the daemons.  Takes *sfile over, and sets it to NULL, if it
 * is needed longer. */
int zcache_steps_opened(ADIO_File fd, struct zc_sfile **sfile, uint64_t size);
/* Collective: waits for step `n` or a later one, and reads that from now on. */
int zcache_steps_wait(ADIO_File fd, uint64_t n);
/* Collective: MPI_File_sync of a file with zcache_steps. */
int zcache_steps_sync(ADIO_File fd, enum zc_level level);
/* Closes rank 0's file at the daemons, if it has one. */
void zcache_steps_end(struct zcache_file *f);

#endif
