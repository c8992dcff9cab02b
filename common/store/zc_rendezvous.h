/* zc_rendezvous.h - table of rendezvous records at files (zc_store.h), in memory.
 *
 * A server keeps the records of its clients in one, the store in memory its own.  Not locked: the
 * owner of the table serializes calls.
 */
#ifndef ZC_RENDEZVOUS_H
#define ZC_RENDEZVOUS_H

#include <stddef.h>
#include <stdint.h>

#include "zc_list.h"

enum { ZC_RENDEZVOUS_BUCKETS = 256 };

/* Key of a record. */
struct zc_rendezvous_key {
    const char *job; /* `job_len` bytes, no NUL behind them */
    size_t job_len;
    uint64_t dev, ino;
};

/* A publisher of records. */
struct zc_rendezvous_owner {
    struct zc_list records; /* struct zc_published_record */
    size_t bytes;           /* memory of these */
};

/* A record, while it is published or being read. */
struct zc_published_record {
    struct zc_list by_key, by_number;
    struct zc_list owned;              /* zc_rendezvous_owner.records */
    struct zc_rendezvous_owner *owner; /* NULL: withdrawn */
    struct zc_rendezvous_key key;      /* its job is behind the bytes */
    uint64_t number;
    unsigned refs; /* the table's, and those of zc_published_record_get() */
    size_t len;
    unsigned char bytes[];
};

struct zc_rendezvous_table {
    struct zc_list by_key[ZC_RENDEZVOUS_BUCKETS], by_number[ZC_RENDEZVOUS_BUCKETS];
    uint64_t last_number;
};

/* Numbers of records begin after `seed`. */
void zc_rendezvous_init(struct zc_rendezvous_table *c, uint64_t seed);
void zc_rendezvous_owner_init(struct zc_rendezvous_owner *o);

/* Finds the record of the key; NULL: none, or only the one numbered `replaces`. */
struct zc_published_record *zc_rendezvous_find(struct zc_rendezvous_table *c,
                                               const struct zc_rendezvous_key *k,
                                               uint64_t replaces);
/* Memory of a record of `len` bytes. */
size_t zc_rendezvous_cost(const struct zc_rendezvous_key *k, size_t len);
/* Publishes one, replacing that of the key; NULL: no memory. */
struct zc_published_record *zc_rendezvous_publish(struct zc_rendezvous_table *c,
                                                  struct zc_rendezvous_owner *o,
                                                  const struct zc_rendezvous_key *k,
                                                  const void *bytes, size_t len);
/* Withdraws a record of this owner, if it is still published. */
void zc_rendezvous_withdraw(struct zc_rendezvous_table *c, const struct zc_rendezvous_owner *o,
                            uint64_t number);
/* All of them. */
void zc_rendezvous_forget(struct zc_rendezvous_owner *o);

/* References: the bytes stay until the last is put, published or not. */
struct zc_published_record *zc_published_record_get(struct zc_published_record *l);
void zc_published_record_put(struct zc_published_record *l); /* NULL: nothing */

#endif
