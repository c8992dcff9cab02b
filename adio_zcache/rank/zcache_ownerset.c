/* zcache_ownerset.c - the owner sets that this process knows. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_handshake.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zcache_finalize.h"
#include "zcache_network.h"
#include "zcache_ownerset.h"

enum { MAX_OWNERS = 1 << 16 };

static struct zc_lock lock = ZC_LOCK_INITIALIZER(ZC_ORDER_PROCESS);
static struct zc_list groups = {&groups, &groups};
static zc_cond detached = PTHREAD_COND_INITIALIZER;

/* ---- lifetime ---- */

/* Whether this owner keeps bytes that could not be written back before the last close.  The next
 * open has to find them here; without this set they would be invisible, and older than what that
 * open writes.  A destination that is gone is not waited for. */
static bool owes(const struct zcache_ownerset *g)
{
    int why = g->agg ? zc_cache_owes(zcache_agg_cache(g->agg), g->dev, g->ino) : 0;

    return g->owing || (why && !zcache_network_is_loss(why));
}

/* Whether the file is open, here or through our aggregator, or is about to be. */
static bool is_used(const struct zcache_ownerset *g)
{
    return g->users || g->attached || owes(g);
}

static void group_free(struct zcache_ownerset *g)
{
    int rc = zc_store_withdraw(g->publication);

    if (rc) /* it ends with this process at the latest */
        zc_info("withdrawing a rendezvous record: %s", zc_error_text(rc));
    if (g->store)
        zcache_store_put(g->store, false);
    zc_forget(g->owners, g->nowners * sizeof *g->owners);
    free(g->owners);
    free(g);
}

/* Takes unused owner sets off the list; the caller frees them, without the lock. */
static void sort_out(struct zc_list *over)
{
    zc_assert_held(&lock);
    zc_list_each_safe (&groups, n) {
        if (is_used(zc_list_entry(n, struct zcache_ownerset, link)))
            continue;
        zc_list_del(n);
        zc_list_add_tail(over, n);
    }
}

static void free_all(struct zc_list *over)
{
    struct zc_list *n;

    while ((n = zc_list_pop(over)))
        group_free(zc_list_entry(n, struct zcache_ownerset, link));
}

/* This process has no file open any more: later opens must not find it. */
static void leave(void)
{
    struct zc_list over;

    zc_list_init(&over);
    zc_lock_get(&lock);
    sort_out(&over);
    zc_lock_put(&lock);
    free_all(&over);
}

/* Returns an owner set with bytes to be written once more, with a reference; or NULL. */
static struct zcache_ownerset *next_to_pay(void)
{
    struct zcache_ownerset *found = NULL;

    zc_lock_get(&lock);
    zc_list_each (&groups, n) {
        struct zcache_ownerset *g = zc_list_entry(n, struct zcache_ownerset, link);

        if (!found && !g->paid && g->agg && owes(g))
            found = g;
    }
    if (found) {
        found->paid = true;
        found->users++;
    }
    zc_lock_put(&lock);
    return found;
}

/* At the end: other processes have nothing open at our aggregators either, or the process ends.
 * Bytes that are owed are written while others still find them here, or never: the end of the cache
 * reports them. */
static void leave_all(void)
{
    struct zcache_ownerset *g;
    struct zc_list over;

    while ((g = next_to_pay())) {
        zcache_agg_settle(g->agg);
        zc_cache_drain(zcache_agg_cache(g->agg));
        zc_lock_get(&lock);
        g->users--;
        zc_lock_put(&lock);
    }
    zc_list_init(&over);
    zc_lock_get(&lock);
    zc_list_splice(&over, &groups);
    zc_lock_put(&lock);
    free_all(&over);
}

void zcache_ownerset_put(struct zcache_ownerset *g)
{
    struct zc_list over;

    if (!g)
        return;
    zc_list_init(&over);
    zc_lock_get(&lock);
    if (!zc_list_linked(&g->link)) /* never entered */
        zc_list_add_tail(&groups, &g->link);
    g->users--;
    sort_out(&over);
    zc_lock_put(&lock);
    free_all(&over);
}

void zcache_ownerset_owe(struct zcache_ownerset *g, int rc)
{
    zc_lock_get(&lock);
    g->owing = rc && !zcache_network_is_loss(rc) && g->nowners > 1 && g->agg;
    zc_lock_put(&lock);
}

bool zcache_ownerset_needs_record(struct zcache_ownerset *g, int rc)
{
    bool lasts;

    zc_lock_get(&lock);
    lasts = g->users > 1 || g->attached || (rc && !zcache_network_is_loss(rc));
    g->over = !lasts && !g->publication;
    lasts = lasts && !g->publication;
    zc_lock_put(&lock);
    return lasts;
}

void zcache_ownerset_set_whole(struct zcache_ownerset *g, bool whole)
{
    zc_lock_get(&lock);
    g->whole = whole;
    zc_lock_put(&lock);
}

bool zcache_ownerset_all_whole(void)
{
    bool all = true;

    zc_lock_get(&lock);
    zc_list_each (&groups, n) {
        const struct zcache_ownerset *g = zc_list_entry(n, struct zcache_ownerset, link);

        all = all && (!is_used(g) || (g->whole && g->users && !g->attached));
    }
    zc_lock_put(&lock);
    return all;
}

/* ---- other processes at our aggregator ---- */

/* Finds an owner set by number.  One that has ended is on the list until this process next opens or
 * closes a file. */
static struct zcache_ownerset *by_number(uint64_t number)
{
    zc_assert_held(&lock);
    zc_list_each (&groups, n) {
        struct zcache_ownerset *g = zc_list_entry(n, struct zcache_ownerset, link);

        if (zcache_ownerset_number(g) == number && is_used(g))
            return g;
    }
    return NULL;
}

/* Adds a handle of another process.  An owner set that has ended admits none: its record may be
 * being withdrawn, and settings of its unopened file are decided anew. */
static bool attach(uint64_t number)
{
    struct zcache_ownerset *g;

    zc_lock_get(&lock);
    g = by_number(number);
    if (g && g->over)
        g = NULL;
    if (g)
        g->attached++;
    zc_lock_put(&lock);
    return g;
}

/* By the aggregator's threads: the owner set is freed when this process next opens or closes a
 * file. */
static void detach(uint64_t number)
{
    struct zcache_ownerset *g;

    zc_lock_get(&lock);
    g = by_number(number);
    if (g)
        g->attached--;
    pthread_cond_broadcast(&detached);
    zc_lock_put(&lock);
}

static bool is_attached(void)
{
    zc_assert_held(&lock);
    zc_list_each (&groups, n)
        if (zc_list_entry(n, struct zcache_ownerset, link)->attached)
            return true;
    return false;
}

static bool any_attached(void)
{
    bool any;

    zc_lock_get(&lock);
    any = is_attached();
    zc_lock_put(&lock);
    return any;
}

/* Waits for other processes' handles; the aggregator notices those that have died. */
static void wait_for_all(void)
{
    zc_lock_get(&lock);
    while (is_attached())
        zc_cond_wait(&detached, &lock);
    zc_lock_put(&lock);
}

static void watch_end(void)
{
    zcache_finalize_add(ZCACHE_END_MEETING, leave);
    zcache_finalize_add(ZCACHE_END_ATTACHED, wait_for_all);
    zcache_finalize_add(ZCACHE_END_GROUPS, leave_all);
    zcache_finalize_ask(any_attached);
}

/* ---- by file, by id ---- */

struct zcache_ownerset *zcache_ownerset_new(const struct zc_stripe *place)
{
    struct zcache_ownerset *g = calloc(1, sizeof *g);

    if (!g)
        return NULL;
    zcache_agg_groups(attach, detach);
    zc_list_init(&g->link);
    g->stripe = *place;
    g->nowners = zc_stripe_owners(place);
    g->users = 1;
    g->owners = calloc(g->nowners, sizeof *g->owners);
    if (g->owners)
        return g;
    free(g);
    return NULL;
}

static struct zcache_ownerset *by_file(uint64_t dev, uint64_t ino)
{
    zc_assert_held(&lock);
    zc_list_each (&groups, n) {
        struct zcache_ownerset *g = zc_list_entry(n, struct zcache_ownerset, link);

        if (dev && g->dev == dev && g->ino == ino && is_used(g) && !g->expected)
            return g;
    }
    return NULL;
}

static struct zcache_ownerset *by_id(const unsigned char *id)
{
    zc_assert_held(&lock);
    zc_list_each (&groups, n) {
        struct zcache_ownerset *g = zc_list_entry(n, struct zcache_ownerset, link);

        if (!memcmp(g->id, id, sizeof g->id) && is_used(g))
            return g;
    }
    return NULL;
}

struct zcache_ownerset *zcache_ownerset_find(uint64_t dev, uint64_t ino)
{
    struct zcache_ownerset *g;
    struct zc_list over;

    zc_list_init(&over);
    zc_lock_get(&lock);
    sort_out(&over);
    g = by_file(dev, ino);
    if (g)
        g->users++;
    zc_lock_put(&lock);
    free_all(&over);
    return g;
}

struct zcache_ownerset *zcache_ownerset_expect(struct zcache_ownerset *g)
{
    struct zcache_ownerset *known;

    watch_end();
    zc_lock_get(&lock);
    known = by_id(g->id);
    if (known) {
        known->users++;
    } else {
        g->expected = true;
        zc_list_add_tail(&groups, &g->link);
    }
    zc_lock_put(&lock);
    if (!known)
        return g;
    zcache_ownerset_put(g);
    return known;
}

struct zcache_ownerset *zcache_ownerset_enter(struct zcache_ownerset *g, bool unless_known)
{
    struct zcache_ownerset *known;

    zc_lock_get(&lock);
    known = unless_known ? by_file(g->dev, g->ino) : NULL;
    if (known)
        known->users++;
    else
        g->expected = false;
    zc_lock_put(&lock);
    if (!known)
        return g;
    zcache_ownerset_put(g);
    return known;
}

/* ---- rendezvous records ---- */

struct head {
    uint64_t ino;
    unsigned char id[16];
    uint64_t block_size;
    struct zc_agreed agreed;
    uint32_t daemons, aggregators, width, first;
};

/* What precedes each owner's addresses. */
struct place_record {
    unsigned char process[ZCACHE_PROCESS_ID];
    uint32_t world_rank, near_len, far_len;
};

int zcache_ownerset_record(const struct zcache_ownerset *g, void **record, size_t *len)
{
    struct head h = {.ino = g->ino,
                     .block_size = g->stripe.block_size,
                     .agreed = g->agreed,
                     .daemons = g->stripe.daemons,
                     .aggregators = g->stripe.aggregators,
                     .width = g->stripe.width,
                     .first = g->stripe.first};
    char *at;

    *len = sizeof h;
    for (uint32_t i = 0; i < g->nowners; i++)
        *len += sizeof(struct place_record) + g->owners[i].near_len + g->owners[i].far_len;
    *record = at = malloc(*len);
    if (!at)
        return zc_errorf(ENOMEM, "no memory for a rendezvous record of %zu bytes", *len);
    memcpy(h.id, g->id, sizeof h.id);
    memcpy(at, &h, sizeof h);
    at += sizeof h;
    for (uint32_t i = 0; i < g->nowners; i++) {
        const struct zcache_member *m = &g->owners[i];
        struct place_record p = {
            .world_rank = m->world_rank, .near_len = m->near_len, .far_len = m->far_len};

        memcpy(p.process, m->process, sizeof p.process);
        memcpy(at, &p, sizeof p);
        at += sizeof p;
        memcpy(at, m->near, m->near_len);
        at += m->near_len;
        memcpy(at, m->far, m->far_len);
        at += m->far_len;
    }
    return 0;
}

/* Takes `n` bytes of a record; false: it is too short. */
static bool take(const char **at, size_t *left, void *to, size_t n)
{
    if (*left < n)
        return false;
    memcpy(to, *at, n);
    *at += n;
    *left -= n;
    return true;
}

static bool take_owners(struct zcache_ownerset *g, const char *at, size_t left)
{
    for (uint32_t i = 0; i < g->nowners; i++) {
        struct zcache_member *m = &g->owners[i];
        struct place_record p;

        if (!take(&at, &left, &p, sizeof p) || p.near_len > sizeof m->near ||
            p.far_len > sizeof m->far || !take(&at, &left, m->near, p.near_len) ||
            !take(&at, &left, m->far, p.far_len))
            return false;
        m->near_len = p.near_len;
        m->far_len = p.far_len;
        m->world_rank = p.world_rank;
        memcpy(m->process, p.process, sizeof m->process);
    }
    return left == 0;
}

/* Returns the owner set that this process knows by this id, or registers `g`. */
static int known_or_new(struct zcache_ownerset *g, struct zcache_ownerset **out)
{
    struct zcache_ownerset *known;
    bool gone;

    watch_end();
    zc_lock_get(&lock);
    known = by_id(g->id);
    gone = !known && zcache_ownerset_mine(g) >= 0;
    if (known) {
        known->users++;
    } else if (!gone) {
        g->expected = true; /* its owners may say that it has ended */
        zc_list_add_tail(&groups, &g->link);
    }
    zc_lock_put(&lock);
    if (known || gone)
        zcache_ownerset_put(g);
    *out = gone ? NULL : known ? known : g;
    return gone ? zc_errorf(ESTALE, "those who had the file open have closed it") : 0;
}

int zcache_ownerset_of_record(const void *record, size_t len, uint64_t dev,
                              struct zcache_ownerset **out)
{
    const char *at = record;
    struct zc_stripe place;
    struct zcache_ownerset *g;
    struct head h;

    if (!take(&at, &len, &h, sizeof h) || !h.block_size || !h.aggregators ||
        h.aggregators > MAX_OWNERS || h.daemons > MAX_OWNERS || !zc_agreed_valid(&h.agreed))
        return zc_errorf(
            EPROTO, "the rendezvous record of the ranks that have the file open makes no sense");
    place = (struct zc_stripe){h.block_size, h.daemons, h.aggregators, h.width, h.first};
    g = zcache_ownerset_new(&place);
    if (!g)
        return zc_errorf(ENOMEM, "no memory for %u aggregators", h.aggregators);
    g->dev = dev;
    g->ino = h.ino;
    g->agreed = h.agreed;
    memcpy(g->id, h.id, sizeof g->id);
    if (!take_owners(g, at, len)) {
        zcache_ownerset_put(g);
        return zc_errorf(EPROTO,
                         "the rendezvous record of the ranks that have the file open is cut off");
    }
    return known_or_new(g, out);
}

/* ---- this process ---- */

int zcache_ownerset_mine(const struct zcache_ownerset *g)
{
    unsigned char me[ZCACHE_PROCESS_ID];

    if (zcache_process_id(me))
        return -1;
    for (uint32_t i = 0; i < g->nowners; i++)
        if (!memcmp(g->owners[i].process, me, sizeof me))
            return (int)i;
    return -1;
}

uint64_t zcache_ownerset_number(const struct zcache_ownerset *g)
{
    uint64_t number;

    memcpy(&number, g->id, sizeof number);
    return number;
}

struct zcache_agg *zcache_ownerset_agg(struct zcache_ownerset *g)
{
    struct zcache_agg *agg;

    zc_lock_get(&lock);
    agg = g->agg;
    zc_lock_put(&lock);
    return agg;
}

struct zcache_agg *zcache_ownerset_own(struct zcache_ownerset *g, struct zcache_agg *agg,
                                       struct zcache_store *store)
{
    bool first;

    zcache_store_hold(store);
    zc_lock_get(&lock);
    first = !g->agg;
    if (first) {
        g->agg = agg;
        g->store = store;
    }
    agg = g->agg;
    zc_lock_put(&lock);
    if (!first)
        zcache_store_put(store, false);
    return agg;
}

void zcache_ownerset_sit(struct zcache_ownerset *g, struct zc_publication *publication)
{
    zc_lock_get(&lock);
    g->publication = publication;
    zc_lock_put(&lock);
}
