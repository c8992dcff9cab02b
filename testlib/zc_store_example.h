/* zc_store_example.h - the smallest store: copy it, and its case in test_store.c, to begin another.
 *
 * Files of one directory.  A store may leave out what this one does: ranges in one call, a backlog,
 * rendezvous records, numbers of what is stored, a ping (zc_store.h describes the behaviour
 * without).
 */
#ifndef ZC_STORE_EXAMPLE_H
#define ZC_STORE_EXAMPLE_H

#include "zc_store.h"

/* `dir` exists; names of files are "/NAME", without another slash. */
int zc_store_example_create(const char *dir, struct zc_store **out);

#endif
