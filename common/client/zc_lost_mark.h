/* zc_lost_mark.h - the mark by which a daemon learns that a job has gone on without it.
 *
 * A daemon that gives no sign of life may be dead, cut off, or stopped; in the last two cases it
 * still has bytes that it means to write.  Before a client writes that daemon's share of a file
 * itself, it leaves a mark beside the address file ("FILE.addr.lost", a line with the boot id for
 * each daemon that was given up), and waits.  The daemon looks for its mark before it changes a
 * file, unless it has just done so, and ends without another write when it finds it.  So
 *
 *     no change of a file by the daemon begins more than ZC_LOST_LOOK_MS after it has looked,
 *     no write around it begins less than ZC_LOST_WAIT_MS after the mark was left.
 *
 * A daemon that was told to stop is not given up while it answers: it writes what is nowhere else,
 * and ends.  One whose address file is another daemon's by now ends as by the mark (iod_lost.h).
 *
 * What is left is a change that the kernel has begun, and that the file system holds for longer
 * than ZC_LOST_WAIT_MS, a daemon that is stopped in the few instructions between the look and the
 * system call, and a directory whose changes take more than a second to be seen (NFS without
 * lookupcache=positive).
 */
#ifndef ZC_LOST_MARK_H
#define ZC_LOST_MARK_H

#include <stdbool.h>
#include <stdint.h>

enum { ZC_LOST_LOOK_MS = 1000, ZC_LOST_WAIT_MS = 2000 };

/* Leaves the mark of the daemon of this address file; 0 also when it is there, or a negative errno
 * explained by zc_errorf(). */
int zc_lost_mark_leave(const char *addrfile, uint64_t boot_id);
/* It is there.  Where that cannot be known it is not. */
bool zc_lost_mark_is_there(const char *addrfile, uint64_t boot_id);

#endif
