/* zc_account.h - what clients make a server hold, for each and for all of them.
 *
 *     allowance   requests under way and answers that were not taken yet: set aside when a session
 *                 begins, which is told how many requests it may have under way (credits) and
 *                 how much data a message may carry.  Who keeps to that never exceeds it.
 *     kept        open files, cards, texts: taken when they are made, given back when they go
 *
 * A server with a budget never has more of both than that.  The first sessions get the most; the
 * more there are, the less a new one gets, down to ZC_ACCOUNT_LEAST.  Without a budget
 * sessions get all that there is to get, and are bounded each for itself.
 *
 * Who exceeds his allowance does not take his answers, or does not keep to his credits: he is not
 * read any more.  One message waits until he has taken enough, others are thrown away.
 *
 * All by the server's thread.
 */
#ifndef ZC_ACCOUNT_H
#define ZC_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zc_wire.h"

enum {
    ZC_ACCOUNT_REQUEST = 5 << 10, /* memory of a request without its data, bytes */
    ZC_ACCOUNT_SESSION = 2 << 10, /* of a session without allowance and what it keeps */
    ZC_ACCOUNT_BRIEF = 1 << 10,   /* data in a message, where there is little memory */
    ZC_ACCOUNT_LEAST = ZC_ACCOUNT_SESSION + ZC_ACCOUNT_REQUEST + ZC_ACCOUNT_BRIEF,
    ZC_ACCOUNT_NOTICES = 4 << 10, /* beyond its allowance, for notices and signs of life */
};

/* Of a server, bytes. */
struct zc_account {
    size_t limit;  /* 0: none */
    size_t used;   /* of it */
    size_t kept;   /* of that: what is kept */
    size_t extras; /* what allowances are more than the least */
};

/* Of a session, bytes. */
struct zc_purse {
    bool open;
    unsigned credits;
    uint32_t max_inline;
    size_t allowance, active; /* the latter: of requests under way */
    size_t kept;
};

/* Whether there is memory for one more session. */
bool zc_account_has_room(const struct zc_account *a);
/* A session begins, with `credits` if there is memory for them; false: there is none at all. */
bool zc_account_open(struct zc_account *a, struct zc_purse *p, unsigned credits);
/* It has ended; more than once is the same. */
void zc_account_close(struct zc_account *a, struct zc_purse *p);

/* How much may be kept, by all together. */
size_t zc_account_quarter(const struct zc_account *a);
/* Something is kept for it; false: it may not be, and nothing is taken.  Nobody gets more than what
 * he leaves to others. */
bool zc_account_keep(struct zc_account *a, struct zc_purse *p, size_t bytes);
void zc_account_give(struct zc_account *a, struct zc_purse *p, size_t bytes);

/* What a request takes while it is under way. */
size_t zc_account_cost(const struct zc_msg *m);

#endif
