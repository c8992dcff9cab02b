/* zc_store_posix_ranges.h - many small pieces of a file written as one large one.
 *
 * The stretch is read, the pieces are put in, and it is written again.  Others may write the bytes
 * between (aggregators of other jobs without daemons, daemons of other sets): a lock on the stretch
 * keeps them out; they take it too, for any write.
 * Locks are of the open file description (F_OFD_SETLK), so they work between threads and go
 * with the descriptor.
 */
#ifndef ZC_STORE_POSIX_RANGES_H
#define ZC_STORE_POSIX_RANGES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "zc_extent.h"

/* Not where a lock is a call to a server that may not answer. */
bool zc_ranges_may_lock(int fd);
/* 0 or a negative errno.  -EAGAIN: a program has locked bytes there for itself, for longer than
 * it takes to write when `patient`, else at all.  -EBUSY: another lock like ours is held for much
 * longer than that: who goes on without may be overwritten with what was there before. */
int zc_ranges_lock(int fd, uint64_t off, uint64_t len, bool patient);
void zc_ranges_unlock(int fd, uint64_t off, uint64_t len);

/* As zc_store_ops.write_ranges, without explanations or lock, which the caller holds. */
ssize_t zc_ranges_write(int fd, const char *data, const struct zc_range *r, uint32_t n,
                        uint64_t off);

#endif
