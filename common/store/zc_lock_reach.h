/* zc_lock_reach.h - how far fcntl locks of a file system reach: which writers they keep out.
 *
 * A list by magic number and mount options.  What is not in it is UNKNOWN: a lock there may be
 * local to its host, so a write that depends on one may destroy what another host writes.
 */
#ifndef ZC_LOCK_REACH_H
#define ZC_LOCK_REACH_H

#include <stdbool.h>

enum zc_lock_reach {
    ZC_LOCKS_UNKNOWN, /* not in the list, or its options tell nothing */
    ZC_LOCKS_NONE,    /* known not to leave the host, or not to work */
    ZC_LOCKS_HOST,    /* a local file system: all writers are on this host */
    ZC_LOCKS_HOSTS,   /* known to reach every host that mounts it */
};

struct zc_lock_reach_info {
    enum zc_lock_reach reach;
    char text[96]; /* file system and reason, for messages: "nfs4: vers=4.2" */
};

/* Locks keep out every other writer that takes them. */
static inline bool zc_lock_reach_trusted(enum zc_lock_reach r)
{
    return r == ZC_LOCKS_HOST || r == ZC_LOCKS_HOSTS;
}

/* "unknown", "none", "host", "hosts" */
const char *zc_lock_reach_name(enum zc_lock_reach r);

/* `magic`: statfs.f_type; `type` and `options` as in /proc/self/mountinfo, "" where unknown. */
void zc_lock_reach_of(long magic, const char *type, const char *options,
                      struct zc_lock_reach_info *out);

/* Finds how far locks reach on the file system of `fd`, any kind of descriptor.  Reads
 * /proc/self/mountinfo where the magic number is not enough.  Does not fail: what cannot be found
 * out is UNKNOWN. */
void zc_lock_reach_find(int fd, struct zc_lock_reach_info *out);
/* As zc_lock_reach_find(), for a path; explains nothing. */
void zc_lock_reach_find_path(const char *path, struct zc_lock_reach_info *out);

#endif
