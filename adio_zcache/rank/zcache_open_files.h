/* zcache_open_files.h - the files that this process has open, for its end (zcache_exit.h).
 *
 * Threads: any.
 */
#ifndef ZCACHE_OPEN_FILES_H
#define ZCACHE_OPEN_FILES_H

struct zcache_file;

/* Adds a file that is open at its owners. */
void zcache_open_files_add(struct zcache_file *f);
/* Removes a file that is about to be closed at its owners; waits while it is being flushed.  Does
 * nothing if it was not added. */
void zcache_open_files_remove(struct zcache_file *f);

#endif
