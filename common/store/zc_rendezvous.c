/* zc_rendezvous.c - table of rendezvous records, by key and by number. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "zc_rendezvous.h"

void zc_rendezvous_init(struct zc_rendezvous_table *c, uint64_t seed)
{
    for (unsigned i = 0; i < ZC_RENDEZVOUS_BUCKETS; i++) {
        zc_list_init(&c->by_key[i]);
        zc_list_init(&c->by_number[i]);
    }
    c->last_number = seed;
}

void zc_rendezvous_owner_init(struct zc_rendezvous_owner *o)
{
    zc_list_init(&o->records);
    o->bytes = 0;
}

static struct zc_list *bucket_of(struct zc_rendezvous_table *c, const struct zc_rendezvous_key *k)
{
    return &c->by_key[(k->ino * 31 + k->dev) % ZC_RENDEZVOUS_BUCKETS];
}

static bool same(const struct zc_rendezvous_key *a, const struct zc_rendezvous_key *b)
{
    return a->dev == b->dev && a->ino == b->ino && a->job_len == b->job_len &&
           memcmp(a->job, b->job, a->job_len) == 0;
}

struct zc_published_record *zc_rendezvous_find(struct zc_rendezvous_table *c,
                                               const struct zc_rendezvous_key *k, uint64_t replaces)
{
    zc_list_each (bucket_of(c, k), n) {
        struct zc_published_record *l = zc_list_entry(n, struct zc_published_record, by_key);

        if (same(&l->key, k))
            return l->number == replaces ? NULL : l;
    }
    return NULL;
}

size_t zc_rendezvous_cost(const struct zc_rendezvous_key *k, size_t len)
{
    return sizeof(struct zc_published_record) + len + k->job_len;
}

struct zc_published_record *zc_published_record_get(struct zc_published_record *l)
{
    l->refs++;
    return l;
}

void zc_published_record_put(struct zc_published_record *l)
{
    if (l && --l->refs == 0)
        free(l);
}

static void remove_record(struct zc_published_record *l)
{
    zc_list_del(&l->by_key);
    zc_list_del(&l->by_number);
    zc_list_del(&l->owned);
    l->owner->bytes -= zc_rendezvous_cost(&l->key, l->len);
    l->owner = NULL;
    zc_published_record_put(l);
}

struct zc_published_record *zc_rendezvous_publish(struct zc_rendezvous_table *c,
                                                  struct zc_rendezvous_owner *o,
                                                  const struct zc_rendezvous_key *k,
                                                  const void *bytes, size_t len)
{
    struct zc_published_record *l = malloc(zc_rendezvous_cost(k, len)),
                               *there = zc_rendezvous_find(c, k, 0);
    char *job;

    if (!l)
        return NULL;
    if (there)
        remove_record(there);
    if (++c->last_number == 0)
        c->last_number++;
    job = (char *)l->bytes + len;
    memcpy(job, k->job, k->job_len);
    memcpy(l->bytes, bytes, len);
    l->owner = o;
    l->key = (struct zc_rendezvous_key){job, k->job_len, k->dev, k->ino};
    l->number = c->last_number;
    l->refs = 1;
    l->len = len;
    zc_list_add_tail(bucket_of(c, k), &l->by_key);
    zc_list_add_tail(&c->by_number[l->number % ZC_RENDEZVOUS_BUCKETS], &l->by_number);
    zc_list_add_tail(&o->records, &l->owned);
    o->bytes += zc_rendezvous_cost(k, len);
    return l;
}

void zc_rendezvous_withdraw(struct zc_rendezvous_table *c, const struct zc_rendezvous_owner *o,
                            uint64_t number)
{
    zc_list_each (&c->by_number[number % ZC_RENDEZVOUS_BUCKETS], n) {
        struct zc_published_record *l = zc_list_entry(n, struct zc_published_record, by_number);

        if (l->number == number && l->owner == o) {
            remove_record(l);
            return;
        }
    }
}

void zc_rendezvous_forget(struct zc_rendezvous_owner *o)
{
    while (!zc_list_empty(&o->records))
        remove_record(zc_list_entry(o->records.next, struct zc_published_record, owned));
}
