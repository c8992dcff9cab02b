/* zc_spin.h - whether a wait for messages begins with looking, instead of with sleep.
 *
 * To sleep and be woken takes longer than most peers need to answer, on both sides: 4 KiB there and
 * back over TCP of one host take 20 us where both sides look, and 85 where both sleep.  So a wait
 * may begin with looking for ZC_SPIN_NS, as long as that finds something.  Where it does not,
 * ZC_SPIN_TRIES times in a row, waits are slept through; after some that were short enough for
 * looking to have been of use it is tried again, ever more seldom while that is in vain.  Linux
 * does the same for virtual processors that halt (halt_poll_ns of KVM).
 *
 * Who is idle has no waits that end, so that this costs nothing then; when a burst of messages is
 * over one or two waits look for the next.  On a host of one processor nobody
 * looks: the peer needs it. Threads that share one otherwise give it up to each other as they look.
 *
 * Pure: times are what the caller says, ns.  Whoever drives the endpoint owns it: no lock.
 */
#ifndef ZC_SPIN_H
#define ZC_SPIN_H

#include <stdbool.h>
#include <stdint.h>

enum {
    ZC_SPIN_NS = 50000,        /* a wait begins with looking for so long */
    ZC_SPIN_SHORT_NS = 150000, /* slept through, and shorter than this: looking may be of use */
    ZC_SPIN_TRIES = 2,
    ZC_SPIN_WARY_MAX = 256, /* short waits until it is tried again, at most */
};

struct zc_spin {
    bool alone;           /* there is one processor */
    unsigned tries;       /* waits in a row that may find nothing */
    unsigned wary;        /* while that is 0: short waits until it is tried again, ... */
    unsigned until_trial; /* ... and how many of them are left */
};

/* `processors`: of the host. The peer of a process that is bound to one may have another. */
void zc_spin_init(struct zc_spin *s, int processors);
bool zc_spin_looks(const struct zc_spin *s);
/* A wait that began with looking has found something that way, or nothing. */
void zc_spin_looked(struct zc_spin *s, bool found);
/* A wait of `ns` in which nobody looked has ended with something. */
void zc_spin_slept(struct zc_spin *s, uint64_t ns);

#endif
