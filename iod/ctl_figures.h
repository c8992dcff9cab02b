/* ctl_figures.h - what two samples of a daemon say of the time between them.  Pure. */
#ifndef CTL_FIGURES_H
#define CTL_FIGURES_H

#include "ctl_watch.h"

struct ctl_figures {
    uint64_t dirty, cached, failed, lost; /* bytes */
    uint64_t waiting;                     /* accesses and flushes */
    uint64_t sessions;
    bool rated; /* what follows is known: bytes a second; slow: from the store */
    double written, stored, read, read_slow, ahead;
};

/* `before` NULL, or of another connection: no rates. */
void ctl_figures_of(const struct ctl_sample *now, const struct ctl_sample *before,
                    struct ctl_figures *f);
void ctl_figures_add(struct ctl_figures *sum, const struct ctl_figures *f);

/* Part of the bytes read that the cache had, 0 to 1; negative: nothing was read. */
double ctl_figures_hits(const struct ctl_figures *f);

/* A file of all daemons that have bytes of it. */
struct ctl_busy {
    const char *path;       /* the samples' */
    uint64_t handles, size; /* the most that one daemon says */
    uint64_t cached, dirty, failed, lost;
    uint64_t changed; /* bytes by which cached and dirty have become more or less */
};

/* The files of n samples (of which some may be NULL, as may be those before), the busiest first:
 * by what has changed and is dirty, then by what is cached.  The caller frees *out. */
size_t ctl_busy_files(struct ctl_sample *const *now, struct ctl_sample *const *before, unsigned n,
                      struct ctl_busy **out);

#endif
