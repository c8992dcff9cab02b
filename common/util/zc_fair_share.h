/* zc_fair_share.h - arithmetic of fair shares of room that is held and of work that is served.
 *
 * Accounts have equal weights.  Both algorithms are work-conserving: an account may use what others
 * leave.  Nothing here allocates or locks; the caller guards the arguments.
 *
 *     room    max-min fairness: an account that wants no more than the level gets what it wants,
 *             the others get the level each.  60 pages, wants of 10, 50 and 90: the level is 25.
 *     turns   start-time fair queueing by cost, such as bytes: waiting flows are served in order of
 *             their start.  The start of a flow is the end of its last work, but not before the
 *             clock, the start of the last work served: an idle flow saves nothing up, and a flow
 *             that was alone owes nothing for what it got.
 *
 * While two flows have work waiting, what they were served differs by at most the sum of their
 * largest costs.
 */
#ifndef ZC_FAIR_SHARE_H
#define ZC_FAIR_SHARE_H

#include <stddef.h>
#include <stdint.h>

/* Returns the level of `room` among n accounts, in the unit of `wants`, rounded down.  UINT64_MAX:
 * there is enough for all. */
uint64_t zc_fair_share_level(const uint64_t *wants, size_t n, uint64_t room);

/* A server and one of its flows; both begin as zeros. */
struct zc_fair_share_clock {
    uint64_t now;
};
struct zc_fair_share_flow {
    uint64_t end; /* of what it was served */
};

/* Returns the start of the flow's next work.  The waiting flow with the lowest one is next. */
uint64_t zc_fair_share_start(const struct zc_fair_share_clock *c,
                             const struct zc_fair_share_flow *t);
/* Accounts for work of this cost, which the flow is served now. */
void zc_fair_share_serve(struct zc_fair_share_clock *c, struct zc_fair_share_flow *t,
                         uint64_t cost);

#endif
