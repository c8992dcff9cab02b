/* zc_fd.h - descriptors that are never 0, 1 or 2.
 *
 * A program may have closed its standard streams, and the next descriptor opened takes their place:
 * messages to standard error would then go into a file, a socket or shared memory of zcache.  So
 * each new descriptor passes through here (a test looks for calls that do not).
 */
#ifndef ZC_FD_H
#define ZC_FD_H

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* Returns the descriptor that a call has just returned or, in its place, one above 2,
 * close-on-exec.  The old number is left open for neither reading nor writing, and is not inherited
 * by programs.  -1 with errno is passed on, and also returned if there is no room for another
 * one. */
int zc_fd(int fd);

/* fopen(3) and opendir(3) with such descriptors. */
FILE *zc_fopen(const char *path, const char *mode);
DIR *zc_opendir(const char *path);

/* Read or write all of `len` bytes at `at`, going on after a part and after a signal.  Return 0, or
 * a (positive) errno; EIO: the file ends before. */
int zc_fd_read_at(int fd, void *to, size_t len, off_t at);
int zc_fd_write_at(int fd, const void *from, size_t len, off_t at);

/* Returns how many of the bytes [off, off + len) the kernel has in memory, in whole pages; -1: it
 * does not tell (before Linux 6.5, and since 6.13 of files that the user neither owns nor may write
 * to). */
int64_t zc_fd_cached(int fd, uint64_t off, uint64_t len);

/* For zcache's own programs, at their start: opens /dev/null for those of 0 to 2 that are
 * closed. */
void zc_fd_fill(void);

#endif
