/* zc_fair.h - arithmetic of fair shares: of room that is held, and of work that is done in turn.
 *
 * Accounts are whoever shares; all of them count the same.  Both are work-conserving: what one
 * leaves, others may have.  Nothing here allocates or locks; who calls guards what he passes.
 *
 *     room    max-min: who wants no more than the level has what he wants, and the others have
 *             the level each.  60 pages, wants of 10, 50 and 90: the level is 25.
 *     turns   start-time fair queueing by cost, bytes say: who waits is served in order of his
 *             start.  A start is where his last work ended, but never before the clock, which is
 *             the start of the last work served: so who was away has saved nothing up, and who
 *             had much while nobody else was there owes nothing for it.
 *
 * While two accounts have work waiting, what they were served differs by no more than the largest
 * cost of the one and that of the other.
 */
#ifndef ZC_FAIR_H
#define ZC_FAIR_H

#include <stddef.h>
#include <stdint.h>

/* The level of `room` among n accounts, in the unit of both; what a division leaves over, less
 * than one for each, belongs to nobody.  UINT64_MAX: there is enough for all. */
uint64_t zc_fair_level(const uint64_t *wants, size_t n, uint64_t room);

/* What is shared, and one that shares it; both begin as zeros. */
struct zc_fair_clock {
    uint64_t now;
};
struct zc_fair_turn {
    uint64_t end; /* of what it was served */
};

/* The start of its next work: of those who wait the one with the least is next. */
uint64_t zc_fair_start(const struct zc_fair_clock *c, const struct zc_fair_turn *t);
/* It is served a work that costs so much. */
void zc_fair_serve(struct zc_fair_clock *c, struct zc_fair_turn *t, uint64_t cost);

#endif
