/* zc_memory.h - memory shared by processes of one host: a memfd, which others open through /proc
 * (zc_tp_map()).  Untouched pages take no memory.
 */
#ifndef ZC_MEMORY_H
#define ZC_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* Creates a memfd of `len` zero bytes, sealed against resizing, and maps it at *at; `theirs`: other
 * processes may write to it.  Free with zc_memory_free().  -EOPNOTSUPP, explained: not available.
 */
int zc_memory_share(const char *name, size_t len, bool theirs, int *fd, void **at);
void zc_memory_free(void *at, size_t len, int fd);

#endif
