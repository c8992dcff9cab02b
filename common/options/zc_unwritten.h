/* zc_unwritten.h - the bytes that the caches of this process have not written back, in files
 * that outlive it.
 *
 * Where ZCACHE_UNWRITTEN names a directory, this process has two files there: a table of numbers of
 * 64 bits, mapped, each the bytes of one file that are dirty in an aggregator's cache; and a text,
 * whose line of the same number is that file's path. Line 0 is the process: its number, and its
 * host. The kernel keeps both when the process is killed, so that the launcher, which asked for
 * them, can name what was lost. A process that ends by itself leaves zeros.
 *
 * Not in it: writes that another rank has left in shared memory and the owner has not taken yet.
 *
 * Threads: any.
 */
#ifndef ZC_UNWRITTEN_H
#define ZC_UNWRITTEN_H

#include <stdint.h>

/* Returns the counter of this file's dirty bytes, which is valid as long as the process lives;
 * atomic.  NULL: not asked for, or impossible, which was reported. */
uint64_t *zc_unwritten_of(const char *path);
/* Removes the files, once other messages have named what is left. */
void zc_unwritten_named(void);

#endif
