/* zc_cards.h - the cards that lie at files (zc_store.h), in memory.
 *
 * A server keeps those of its clients in one, the store in memory its own.  Plain data: whoever has
 * one keeps other threads away.
 */
#ifndef ZC_CARDS_H
#define ZC_CARDS_H

#include <stddef.h>
#include <stdint.h>

#include "zc_list.h"

enum { ZC_CARDS_BUCKETS = 256 };

/* What a card is known by. */
struct zc_cards_key {
    const char *job; /* `job_len` bytes, no NUL behind them */
    size_t job_len;
    uint64_t dev, ino;
};

/* Somebody who leaves cards. */
struct zc_cards_owner {
    struct zc_list cards; /* struct zc_laid */
    size_t bytes;         /* memory of these */
};

/* A card, while it lies at its file or somebody reads it. */
struct zc_laid {
    struct zc_list by_key, by_number;
    struct zc_list owned;         /* zc_cards_owner.cards */
    struct zc_cards_owner *owner; /* NULL: it lies there no more */
    struct zc_cards_key key;      /* its job is behind the bytes */
    uint64_t number;
    unsigned refs; /* the table's, and those of zc_laid_get() */
    size_t len;
    unsigned char bytes[];
};

struct zc_cards {
    struct zc_list by_key[ZC_CARDS_BUCKETS], by_number[ZC_CARDS_BUCKETS];
    uint64_t last_number;
};

/* Numbers of cards begin behind `seed`. */
void zc_cards_init(struct zc_cards *c, uint64_t seed);
void zc_cards_owner_init(struct zc_cards_owner *o);

/* The card that lies there; NULL: none, or only the one with the number `replaces`. */
struct zc_laid *zc_cards_find(struct zc_cards *c, const struct zc_cards_key *k, uint64_t replaces);
/* Memory of a card of `len` bytes. */
size_t zc_cards_cost(const struct zc_cards_key *k, size_t len);
/* Lays one, in place of what lies there; NULL: no memory. */
struct zc_laid *zc_cards_lay(struct zc_cards *c, struct zc_cards_owner *o,
                             const struct zc_cards_key *k, const void *bytes, size_t len);
/* Takes back a card of this owner, if it still lies there. */
void zc_cards_take_back(struct zc_cards *c, const struct zc_cards_owner *o, uint64_t number);
/* All of them. */
void zc_cards_forget(struct zc_cards_owner *o);

/* Its bytes stay for who has one of these, wherever the card is. */
struct zc_laid *zc_laid_get(struct zc_laid *l);
void zc_laid_put(struct zc_laid *l); /* NULL: nothing */

#endif
