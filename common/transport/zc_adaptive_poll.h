/* zc_adaptive_poll.h - whether a wait for messages polls before it sleeps.
 *
 * To sleep and be woken takes longer than most peers need to answer: a round trip of 4 KiB over TCP
 * of one host takes 20 us if both sides poll, and 85 if both sleep.  So a wait polls for ZC_POLL_NS
 * first, as long as that finds something.  After ZC_POLL_TRIES failures in a row waits sleep at
 * once; after some of them that were short enough for polling to help it is tried again, ever more
 * rarely while it fails.  KVM does the same for halted virtual processors (halt_poll_ns).
 *
 * An idle process has no waits that end, so this costs nothing then; after a burst of messages one
 * or two waits poll for the next.  With a single processor no wait polls, because the peer needs
 * it.  Threads that share a processor yield it to each other as they poll.
 *
 * Pure functions: the caller passes times, ns.  Belongs to the thread that drives the endpoint; no
 * lock.
 */
#ifndef ZC_ADAPTIVE_POLL_H
#define ZC_ADAPTIVE_POLL_H

#include <stdbool.h>
#include <stdint.h>

enum {
    ZC_POLL_NS = 50000,        /* a wait polls so long first */
    ZC_POLL_SHORT_NS = 150000, /* a sleep shorter than this: polling may help */
    ZC_POLL_TRIES = 2,
    ZC_POLL_WARY_MAX = 256, /* below this polling may help instead of a sleep */
};

struct zc_adaptive_poll {
    bool alone;           /* the host has a single processor */
    unsigned tries;       /* further failures in a row until waits sleep at once */
    unsigned wary;        /* while tries is 0: short waits until the next trial, ... */
    unsigned until_trial; /* ... and how many of them are left */
};

/* `processors`: those of the host, since the peer of a process bound to one may run on another. */
void zc_adaptive_poll_init(struct zc_adaptive_poll *s, int processors);
bool zc_adaptive_poll_checks(const struct zc_adaptive_poll *s);
/* Notes whether a wait that polled found something. */
void zc_adaptive_poll_checked(struct zc_adaptive_poll *s, bool found);
/* Notes a wait of `ns` that slept at once and ended with a message. */
void zc_adaptive_poll_slept(struct zc_adaptive_poll *s, uint64_t ns);

#endif
