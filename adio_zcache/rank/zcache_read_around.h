/* zcache_read_around.h - reads of a file by the rank itself, past its owner's cache.
 *
 * Where no open of the job can write to a file, all of it is in the file system, and the kernel has
 * it in its page cache, to copy it into the owner's cache first only costs time: so with a file
 * that has just been written, closed and opened again.  A rank on the owner's host reads such a
 * file with pread(), as ROMIO would, where zc_way() says so.  Not with daemons, which may have more
 * of it.
 *
 * The owner says in the open that the file is quiescent, and shows when it may have ceased to be;
 * it is not again before the next open.  That is compared after each read (zc_pagedesc.h).  The
 * kernel is asked once, at some places of the file, whether its page cache has it.  If any is
 * missing all reads go by the owner, whose readahead needs to see them.  The kernel tells since
 * Linux 6.5 (cachestat(2)), since 6.13 only of files that the user owns or may write to.
 *
 * Threads: any.
 */
#ifndef ZCACHE_READ_AROUND_H
#define ZCACHE_READ_AROUND_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct zc_client;
struct zcache_file;
struct zcache_owner;

struct zcache_read_around {
    int fd;     /* atomic: what to read by; below 0: not known yet, or never (.c) */
    int opened; /* descriptor of its own, or -1; kept until the file is closed: close() releases the
                   process's fcntl(2) locks on it, as over ufs */
};

void zcache_read_around_init(struct zcache_read_around *a);
void zcache_read_around_free(struct zcache_read_around *a);

/* Reads up to `len` bytes at file offset `off`, which are in a block of owner `o`; `client`: the
 * connection to it, NULL where this rank is the owner.  Returns how many, fewer only where the file
 * ends; or -1: the caller has to read by the owner, `buf` may have been overwritten. */
ssize_t zcache_read_around(struct zcache_file *f, const struct zcache_owner *o,
                           struct zc_client *client, void *buf, size_t len, uint64_t off);

#endif
