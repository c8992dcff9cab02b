/* zc_memory.h - memory that processes of one host share: a memfd, whose descriptor others open by
 * /proc (zc_tp_map()).  Pages of it that nobody has touched are none.
 */
#ifndef ZC_MEMORY_H
#define ZC_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* Memory of zeros that nobody can make smaller or larger; `theirs`: others may write there, too.
 * Freed by zc_memory_free().  -EOPNOTSUPP, explained: there is none. */
int zc_memory_share(const char *name, size_t len, bool theirs, int *fd, void **at);
void zc_memory_free(void *at, size_t len, int fd);

#endif
