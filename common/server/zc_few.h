/* zc_few.h - what a server has few of, and transfers hold while they wait for cache space: buffers
 * (zc_bounce.c), and lists of pieces in memory (zc_transfer_begin.c).
 *
 * Transfers that find none free, or whose tenant has its part (zc_tenant.h), wait in order, and
 * are served by the main loop alone: what is given back inside a callback does not call into
 * another transfer.
 *
 * A transfer that has to wait for cache space keeps what it holds meanwhile (it is idle), so such
 * transfers get at most 1/8 of all, and half of their tenant's part, and those that can complete
 * pages come first.  None is passed over for ever.
 *
 * Of one client and file a write does not pass another one: a page that a client skips, as there
 * is no room for it, may find none later, as the pages after it wait for clients that wait for that
 * page; then pages are written back with one client's part, and fetched again for another's.
 *
 * All by the server's thread.
 */
#ifndef ZC_FEW_H
#define ZC_FEW_H

#include <stdbool.h>
#include <stdint.h>

#include "zc_list.h"

struct zc_handle;
struct zc_session;

enum zc_few_kind { ZC_FEW_BUFFERS, ZC_FEW_LISTS, ZC_FEW_KINDS };

struct zc_few {
    enum zc_few_kind kind;
    unsigned all;           /* of which a tenant has a part */
    unsigned free;          /* the owner's: it counts them */
    unsigned idle;          /* held by transfers that lacked cache space when they got them */
    uint64_t search;        /* ordinal of the latest one of `waiting` */
    struct zc_list waiting; /* struct zc_few_wait, first come first */
};

/* The write of a session that the latest search of a kind passed last. */
struct zc_few_mark {
    uint64_t search;
    const struct zc_handle *handle;
};

/* A transfer that holds one, or waits for one. */
struct zc_few_wait {
    struct zc_list link;
    struct zc_session *session;
    struct zc_handle *handle; /* target file ... */
    uint64_t at;              /* ... and offset of its first byte, for lacks_room() */
    bool writes;
    /* Whether the cache has no room for that now; false for reads. */
    bool (*lacks_room)(const struct zc_few_wait *w);
    unsigned passed; /* how often others came first that had waited less */
    bool idle;       /* it counts in zc_few.idle */
};

void zc_few_init(struct zc_few *f, enum zc_few_kind kind, unsigned all);
/* Whether it may have one at once; else it waits.  The caller takes what is free. */
bool zc_few_get(struct zc_few *f, struct zc_few_wait *w);
/* It does not lack room any more, or ends. */
void zc_few_not_idle(struct zc_few *f, struct zc_few_wait *w);
/* It ends, or its client is gone: its tenant may have another one. */
void zc_few_gave(struct zc_few *f, struct zc_few_wait *w);
/* Takes the next one that may have one from the queue; the caller takes what is free.  NULL: there
 * is none. */
struct zc_few_wait *zc_few_pop(struct zc_few *f);
/* Whether none waits that may have one, whatever the cache has room for. */
bool zc_few_is_served(const struct zc_few *f);

#endif
