/* zc_store_posix.h - the store of a directory tree, or of all files of the system. */
#ifndef ZC_STORE_POSIX_H
#define ZC_STORE_POSIX_H

#include "zc_store.h"

/* Files below `root` and only those: paths are absolute, must begin with `root` as
 * given or as resolved, and no symbolic link may lead out of it (openat2
 * RESOLVE_BENEATH); else EACCES.  root == NULL: no confinement, any path (embedded mode). */
int zc_store_posix_create(const char *root, struct zc_store **out);
/* Before each call that changes a file, and each open, `fn` is called, without locks; at once after
 * creation. */
void zc_store_posix_ask_first(struct zc_store *s, void (*fn)(void *arg), void *arg);
/* Long runs of data go past the system's page cache, where a file system can; at once after
 * creation. */
void zc_store_posix_direct(struct zc_store *s);

#endif
