/* ctl_figures.h - figures of a daemon from two samples: levels, and rates between them. */
#ifndef CTL_FIGURES_H
#define CTL_FIGURES_H

#include "ctl_watch.h"

struct ctl_figures {
    uint64_t dirty, cached, failed, lost; /* bytes */
    uint64_t waiting;                     /* accesses and flushes */
    uint64_t sessions;
    bool rated; /* the rates that follow are known: bytes a second; read_slow: from the store */
    double written, stored, read, read_slow, ahead;
};

/* Computes the figures of `now`, and the rates since `before`, unless that is NULL or of another
 * connection. */
void ctl_figures_of(const struct ctl_sample *now, const struct ctl_sample *before,
                    struct ctl_figures *f);
void ctl_figures_add(struct ctl_figures *sum, const struct ctl_figures *f);

/* Returns which part of the bytes read was in the cache, 0 to 1; negative: nothing was read. */
double ctl_figures_hits(const struct ctl_figures *f);

/* Lists the files of n samples (some of which may be NULL, as may be those before), the busiest
 * first: by what has changed and is dirty, then by what is cached.  A file that several daemons
 * have is one: the sum of its bytes, the most that one says of its handles and size.  The caller
 * frees *out; paths are the samples'. */
size_t ctl_busy_files(struct ctl_sample *const *now, struct ctl_sample *const *before, unsigned n,
                      struct ctl_file **out);

#endif
