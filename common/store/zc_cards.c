/* zc_cards.c - the cards that lie at files, found by what they are known by and by number. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "zc_cards.h"

void zc_cards_init(struct zc_cards *c, uint64_t seed)
{
    for (unsigned i = 0; i < ZC_CARDS_BUCKETS; i++) {
        zc_list_init(&c->by_key[i]);
        zc_list_init(&c->by_number[i]);
    }
    c->last_number = seed;
}

void zc_cards_owner_init(struct zc_cards_owner *o)
{
    zc_list_init(&o->cards);
    o->bytes = 0;
}

static struct zc_list *bucket_of(struct zc_cards *c, const struct zc_cards_key *k)
{
    return &c->by_key[(k->ino * 31 + k->dev) % ZC_CARDS_BUCKETS];
}

static bool same(const struct zc_cards_key *a, const struct zc_cards_key *b)
{
    return a->dev == b->dev && a->ino == b->ino && a->job_len == b->job_len &&
           memcmp(a->job, b->job, a->job_len) == 0;
}

struct zc_laid *zc_cards_find(struct zc_cards *c, const struct zc_cards_key *k, uint64_t replaces)
{
    zc_list_each (bucket_of(c, k), n) {
        struct zc_laid *l = zc_list_entry(n, struct zc_laid, by_key);

        if (same(&l->key, k))
            return l->number == replaces ? NULL : l;
    }
    return NULL;
}

size_t zc_cards_cost(const struct zc_cards_key *k, size_t len)
{
    return sizeof(struct zc_laid) + len + k->job_len;
}

struct zc_laid *zc_laid_get(struct zc_laid *l)
{
    l->refs++;
    return l;
}

void zc_laid_put(struct zc_laid *l)
{
    if (l && --l->refs == 0)
        free(l);
}

static void remove_card(struct zc_laid *l)
{
    zc_list_del(&l->by_key);
    zc_list_del(&l->by_number);
    zc_list_del(&l->owned);
    l->owner->bytes -= zc_cards_cost(&l->key, l->len);
    l->owner = NULL;
    zc_laid_put(l);
}

struct zc_laid *zc_cards_lay(struct zc_cards *c, struct zc_cards_owner *o,
                             const struct zc_cards_key *k, const void *bytes, size_t len)
{
    struct zc_laid *l = malloc(zc_cards_cost(k, len)), *there = zc_cards_find(c, k, 0);
    char *job;

    if (!l)
        return NULL;
    if (there)
        remove_card(there);
    if (++c->last_number == 0)
        c->last_number++;
    job = (char *)l->bytes + len;
    memcpy(job, k->job, k->job_len);
    memcpy(l->bytes, bytes, len);
    l->owner = o;
    l->key = (struct zc_cards_key){job, k->job_len, k->dev, k->ino};
    l->number = c->last_number;
    l->refs = 1;
    l->len = len;
    zc_list_add_tail(bucket_of(c, k), &l->by_key);
    zc_list_add_tail(&c->by_number[l->number % ZC_CARDS_BUCKETS], &l->by_number);
    zc_list_add_tail(&o->cards, &l->owned);
    o->bytes += zc_cards_cost(k, len);
    return l;
}

void zc_cards_take_back(struct zc_cards *c, const struct zc_cards_owner *o, uint64_t number)
{
    zc_list_each (&c->by_number[number % ZC_CARDS_BUCKETS], n) {
        struct zc_laid *l = zc_list_entry(n, struct zc_laid, by_number);

        if (l->number == number && l->owner == o) {
            remove_card(l);
            return;
        }
    }
}

void zc_cards_forget(struct zc_cards_owner *o)
{
    while (!zc_list_empty(&o->cards))
        remove_card(zc_list_entry(o->cards.next, struct zc_laid, owned));
}
