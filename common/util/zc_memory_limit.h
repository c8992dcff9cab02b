/* zc_memory_limit.h - the limits on the memory of this process, by which default sizes are chosen.
 *
 * Shared with other processes: this host's memory, and the limit of each control group (version 1
 * and 2) from this process's own up to the highest that can be seen.  Of this process alone: its
 * address space (ulimit -v), and what of that is private and can be written (ulimit -d).
 *
 * Threads: any.  Allocates no memory.
 */
#ifndef ZC_MEMORY_LIMIT_H
#define ZC_MEMORY_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

enum { ZC_MEMORY_LIMIT_TEXT = 256 };

struct zc_memory_limit {
    uint64_t bytes;                  /* UINT64_MAX: none is known */
    bool shared;                     /* with other processes */
    char text[ZC_MEMORY_LIMIT_TEXT]; /* what it is, for messages: "this host's memory" */
};

/* Calls fn with each limit; the struct is valid during the call.  A file that cannot be read is
 * left out. */
void zc_memory_limit_each(void (*fn)(void *arg, const struct zc_memory_limit *), void *arg);
/* The same, with the control groups' files below the directory `under` (at most 255 bytes); the
 * host's memory and ulimit -v and -d are the real ones.  For tests. */
void zc_memory_limit_each_under(const char *under,
                                void (*fn)(void *arg, const struct zc_memory_limit *), void *arg);

/* The least of those that are shared, and of those that are not. */
struct zc_memory_limits {
    struct zc_memory_limit shared, own;
};
void zc_memory_limits_find(struct zc_memory_limits *out);

#endif
