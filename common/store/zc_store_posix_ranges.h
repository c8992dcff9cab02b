/* zc_store_posix_ranges.h - many small pieces of a file written as one large write.
 *
 * The stretch is read, modified and written back.  Other processes may write the bytes between the
 * pieces (aggregators of other jobs without daemons, daemons of other sets); all of them take a
 * lock on the stretch for any write.  Locks are of the open file description (F_OFD_SETLK), so they
 * work between threads and end with the descriptor.
 */
#ifndef ZC_STORE_POSIX_RANGES_H
#define ZC_STORE_POSIX_RANGES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "zc_extent.h"
#include "zc_store.h"

/* Whether locks may be used: not where a lock is a call to a server that may not answer. */
bool zc_ranges_may_lock(int fd);
/* 0 or a negative errno.  -EAGAIN: a program has locked the bytes; with `patient` this is returned
 * only after a wait of some writes' length.  -EBUSY: another zcache lock has been held for far
 * longer than any write takes; a write without the lock could be overwritten with older bytes. */
int zc_ranges_lock(int fd, uint64_t off, uint64_t len, bool patient);
void zc_ranges_unlock(int fd, uint64_t off, uint64_t len);
/* Returns 0 when each byte has been seen once, at different times, without the lock of another
 * zcache writer; programs may hold locks all the while.  -EBUSY: that took longer than any write
 * does. */
int zc_ranges_wait_unlocked(int fd, uint64_t off, uint64_t len);

/* Called after all is read, before each write; fn may be NULL. */
struct zc_ranges_ask {
    void (*fn)(void *arg);
    void *arg;
};

/* Writes piece by piece, where the bytes between must not be written; else like
 * zc_ranges_write(). */
ssize_t zc_ranges_write_each(int fd, const char *data, const struct zc_range *r, uint32_t n,
                             uint64_t off, const struct zc_ranges_ask *ask);

/* As zc_store_ops.write_ranges, but without explanations or lock, which the caller holds. `sparse`:
 * the local file system reports holes, which are not read. */
ssize_t zc_ranges_write(int fd, const char *data, const struct zc_range *r, uint32_t n,
                        uint64_t off, bool sparse, const struct zc_ranges_ask *ask,
                        struct zc_merge *m);

#endif
