/* zc_store_posix.h - the store of a directory tree, or of all files of the system. */
#ifndef ZC_STORE_POSIX_H
#define ZC_STORE_POSIX_H

#include "zc_store.h"

/* Files below `root` and only those: paths are absolute, must begin with `root` as
 * given or as resolved, and no symbolic link may lead out of it (openat2
 * RESOLVE_BENEATH); else EACCES.  root == NULL: no confinement, any path (embedded mode). */
int zc_store_posix_create(const char *root, struct zc_store **out);
/* Sets `fn`, called without locks before each open and each call that changes a file; to call right
 * after creation. */
void zc_store_posix_ask_first(struct zc_store *s, void (*fn)(void *arg), void *arg);
/* Marks files that are opened for writing in root records (zc_root_record.h) as opened by the set
 * of daemons that the open names, or else by `who`, constant over restarts; 0, the default: a
 * random number.  To call right after creation. */
void zc_store_posix_mark_as(struct zc_store *s, uint64_t who);
/* Leaves opened files unmarked: zc_store_posix_mark() marks a file, before it is written to, and
 * returns 0 or a negative errno, explained. */
void zc_store_posix_mark_later(struct zc_store *s);
int zc_store_posix_mark(struct zc_sfile *f);
/* As zc_root_seat_check(). */
int zc_store_posix_check_seat(struct zc_sfile *f, uint64_t seat, uint64_t boot_id);
/* Makes long runs of data bypass the system's page cache, where the file system can; to call right
 * after creation. */
void zc_store_posix_direct(struct zc_store *s);

#endif
