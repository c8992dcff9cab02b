/* zc_fabric.h - libfabric, opened at its first use.
 *
 * Some MPI libraries bring a libfabric of their own, and one process must not have two; programs
 * that never open a zcache: file should not load one at all.  So nothing links with it: the library
 * is opened by its soname, which finds the one already loaded.
 */
#ifndef ZC_FABRIC_H
#define ZC_FABRIC_H

#include <rdma/fabric.h>

struct zc_fabric {
    int (*getinfo)(uint32_t version, const char *node, const char *service, uint64_t flags,
                   const struct fi_info *hints, struct fi_info **info);
    void (*freeinfo)(struct fi_info *info);
    struct fi_info *(*dupinfo)(const struct fi_info *info); /* NULL: a new one */
    int (*fabric)(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
    const char *(*strerror)(int errnum);
    uint32_t (*version)(void);
};

/* Returns 0 and the table, loaded once; -ENOENT or -ELIBBAD explained by zc_errorf(). */
int zc_fabric_load(const struct zc_fabric **out);

/* Sets environment variables that libfabric reads: before another thread loads it. */
void zc_fabric_prepare(void);

/* Returns "1.17", or "not loaded". */
const char *zc_fabric_version(void);

#endif
