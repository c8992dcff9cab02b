/* zc_fence.h - the fence mark by which a job fences a daemon, and goes on without it.
 *
 * A daemon that does not respond may be dead, cut off, or stopped; in the last two cases it still
 * has bytes to write.  Before a client writes that daemon's share of a file itself, it leaves a
 * mark beside the address file ("FILE.addr.lost", a line with the boot id for each fenced daemon),
 * and waits.  The daemon checks for its mark before it changes a file, unless it has just done so,
 * and exits without another write when it finds it.  So
 *
 *     no change of a file by the daemon begins more than ZC_FENCE_CHECK_MS after its check,
 *     no write that bypasses it begins less than ZC_FENCE_WAIT_MS after the mark was left.
 *
 * A daemon that was told to stop is not fenced while it responds: it writes back what exists
 * nowhere else, and exits.  A daemon whose address file has become another daemon's exits as if it
 * found the mark (iod_fence.h).
 *
 * Not covered: a change that the kernel has begun, and that the file system delays for longer than
 * ZC_FENCE_WAIT_MS; a daemon that is stopped between the check and the system call; and a directory
 * whose changes take more than a second to be visible (NFS without lookupcache=positive).
 */
#ifndef ZC_FENCE_H
#define ZC_FENCE_H

#include <stdint.h>

enum { ZC_FENCE_CHECK_MS = 1000, ZC_FENCE_WAIT_MS = 2000 };

/* Leaves the fence mark for the daemon of this address file; 0 also if the mark exists, or a
 * negative errno explained by zc_errorf(). */
int zc_fence_create(const char *addrfile, uint64_t boot_id);
/* Returns 1: the mark exists; 0: it does not; or a negative errno: unknown, e.g. because no file
 * descriptor was free.  A file or directory that does not exist or may not be read has no mark. */
int zc_fence_look(const char *addrfile, uint64_t boot_id);

#endif
