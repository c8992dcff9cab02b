/* zcache_group.c - who owns the blocks of a file in this job: the groups of this process. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_lock.h"
#include "zc_log.h"
#include "zc_shake.h"
#include "zcache_finalize.h"
#include "zcache_group.h"
#include "zcache_network.h"

enum { MAX_OWNERS = 1 << 16 };

static struct zc_lock lock = ZC_LOCK_INITIALIZER(ZC_ORDER_PROCESS);
static struct zc_list groups = {&groups, &groups};
static zc_cond detached = PTHREAD_COND_INITIALIZER;

/* ---- how long ---- */

/* What could not be written back before the last close is kept, and only here is it seen by those
 * who open the file next, and older than what they write.  Where it was to go is no more: there is
 * nothing to wait for. */
static bool owes(const struct zcache_group *g)
{
    int why = g->agg ? zc_cache_owes(zcache_agg_cache(g->agg), g->dev, g->ino) : 0;

    return g->owing || (why && !zcache_network_is_loss(why));
}

/* Somebody has the file open, here or through our aggregator; or will have to. */
static bool is_used(const struct zcache_group *g)
{
    return g->users || g->attached || owes(g);
}

static void group_free(struct zcache_group *g)
{
    int rc = zc_store_part(g->seat);

    if (rc) /* it ends with this process at the latest */
        zc_info("taking a card back: %s", zc_error_text(rc));
    if (g->store)
        zcache_store_put(g->store, false);
    zc_forget(g->owners, g->nowners * sizeof *g->owners);
    free(g->owners);
    free(g);
}

/* Takes those off the list that nobody uses; they are the caller's to free, without the lock. */
static void sort_out(struct zc_list *over)
{
    zc_assert_held(&lock);
    zc_list_each_safe (&groups, n) {
        if (is_used(zc_list_entry(n, struct zcache_group, link)))
            continue;
        zc_list_del(n);
        zc_list_add_tail(over, n);
    }
}

static void free_all(struct zc_list *over)
{
    struct zc_list *n;

    while ((n = zc_list_pop(over)))
        group_free(zc_list_entry(n, struct zcache_group, link));
}

/* This process has nothing open any more: nobody shall find it who has not found it yet. */
static void leave(void)
{
    struct zc_list over;

    zc_list_init(&over);
    zc_lock_get(&lock);
    sort_out(&over);
    zc_lock_put(&lock);
    free_all(&over);
}

/* A group with bytes that are to be tried once more, with one user more; or NULL. */
static struct zcache_group *next_to_pay(void)
{
    struct zcache_group *found = NULL;

    zc_lock_get(&lock);
    zc_list_each (&groups, n) {
        struct zcache_group *g = zc_list_entry(n, struct zcache_group, link);

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

/* Nor do others have any more at our aggregators; or the process ends.  What is owed is written
 * while others still find it here, or never: the end of the cache says so. */
static void leave_all(void)
{
    struct zcache_group *g;
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

void zcache_group_put(struct zcache_group *g)
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

void zcache_group_owe(struct zcache_group *g, int rc)
{
    zc_lock_get(&lock);
    g->owing = rc && !zcache_network_is_loss(rc) && g->nowners > 1 && g->agg;
    zc_lock_put(&lock);
}

/* ---- others, at our aggregator ---- */

/* One that has ended is on the list until this process next opens or closes a file. */
static struct zcache_group *by_number(uint64_t number)
{
    zc_assert_held(&lock);
    zc_list_each (&groups, n) {
        struct zcache_group *g = zc_list_entry(n, struct zcache_group, link);

        if (zcache_group_number(g) == number && is_used(g))
            return g;
    }
    return NULL;
}

/* One more handle.  Nobody is let in to a group that has ended: its card may be on its way back,
 * and what was decided for its file, which nobody has open, is decided anew. */
static bool attach(uint64_t number)
{
    struct zcache_group *g;

    zc_lock_get(&lock);
    g = by_number(number);
    if (g)
        g->attached++;
    zc_lock_put(&lock);
    return g;
}

/* By the aggregator's threads: the group goes when this process next opens or closes a file. */
static void detach(uint64_t number)
{
    struct zcache_group *g;

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
        if (zc_list_entry(n, struct zcache_group, link)->attached)
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

/* Those who are gone without a word are noticed by the aggregator. */
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

struct zcache_group *zcache_group_new(const struct zc_place *place)
{
    struct zcache_group *g = calloc(1, sizeof *g);

    if (!g)
        return NULL;
    zcache_agg_groups(attach, detach);
    zc_list_init(&g->link);
    g->place = *place;
    g->nowners = zc_place_owners(place);
    g->users = 1;
    g->owners = calloc(g->nowners, sizeof *g->owners);
    if (g->owners)
        return g;
    free(g);
    return NULL;
}

static struct zcache_group *by_file(uint64_t dev, uint64_t ino)
{
    zc_assert_held(&lock);
    zc_list_each (&groups, n) {
        struct zcache_group *g = zc_list_entry(n, struct zcache_group, link);

        if (dev && g->dev == dev && g->ino == ino && is_used(g) && !g->expected)
            return g;
    }
    return NULL;
}

static struct zcache_group *by_id(const unsigned char *id)
{
    zc_assert_held(&lock);
    zc_list_each (&groups, n) {
        struct zcache_group *g = zc_list_entry(n, struct zcache_group, link);

        if (!memcmp(g->id, id, sizeof g->id) && is_used(g))
            return g;
    }
    return NULL;
}

struct zcache_group *zcache_group_find(uint64_t dev, uint64_t ino)
{
    struct zcache_group *g;
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

struct zcache_group *zcache_group_expect(struct zcache_group *g)
{
    struct zcache_group *known;

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
    zcache_group_put(g);
    return known;
}

struct zcache_group *zcache_group_enter(struct zcache_group *g, bool unless_known)
{
    struct zcache_group *known;

    zc_lock_get(&lock);
    known = unless_known ? by_file(g->dev, g->ino) : NULL;
    if (known)
        known->users++;
    else
        g->expected = false;
    zc_lock_put(&lock);
    if (!known)
        return g;
    zcache_group_put(g);
    return known;
}

/* ---- cards ---- */

struct head {
    uint64_t ino;
    unsigned char id[16];
    uint64_t block_size, write_back, replay, on_daemon_loss, checksum;
    uint32_t daemons, aggregators;
};

/* Of each owner, what comes before the bytes of its addresses. */
struct place_card {
    unsigned char process[ZCACHE_PROCESS_ID];
    uint32_t world_rank, near_len, far_len;
};

int zcache_group_card(const struct zcache_group *g, void **card, size_t *len)
{
    struct head h = {.ino = g->ino,
                     .block_size = g->place.block_size,
                     .write_back = g->write_back,
                     .replay = g->replay,
                     .on_daemon_loss = g->on_daemon_loss,
                     .checksum = g->checksum,
                     .daemons = g->place.daemons,
                     .aggregators = g->place.aggregators};
    char *at;

    *len = sizeof h;
    for (uint32_t i = 0; i < g->nowners; i++)
        *len += sizeof(struct place_card) + g->owners[i].near_len + g->owners[i].far_len;
    *card = at = malloc(*len);
    if (!at)
        return zc_errorf(ENOMEM, "no memory for a card of %zu bytes", *len);
    memcpy(h.id, g->id, sizeof h.id);
    memcpy(at, &h, sizeof h);
    at += sizeof h;
    for (uint32_t i = 0; i < g->nowners; i++) {
        const struct zcache_member *m = &g->owners[i];
        struct place_card p = {
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

/* Takes `n` bytes of a card; false: it has no more. */
static bool take(const char **at, size_t *left, void *to, size_t n)
{
    if (*left < n)
        return false;
    memcpy(to, *at, n);
    *at += n;
    *left -= n;
    return true;
}

static bool take_owners(struct zcache_group *g, const char *at, size_t left)
{
    for (uint32_t i = 0; i < g->nowners; i++) {
        struct zcache_member *m = &g->owners[i];
        struct place_card p;

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

/* The group that this process knows by this id, or `g` itself, from now on. */
static int known_or_new(struct zcache_group *g, struct zcache_group **out)
{
    struct zcache_group *known;
    bool gone;

    watch_end();
    zc_lock_get(&lock);
    known = by_id(g->id);
    gone = !known && zcache_group_mine(g) >= 0;
    if (known) {
        known->users++;
    } else if (!gone) {
        g->expected = true; /* its owners may say that it has ended */
        zc_list_add_tail(&groups, &g->link);
    }
    zc_lock_put(&lock);
    if (known || gone)
        zcache_group_put(g);
    *out = gone ? NULL : known ? known : g;
    return gone ? zc_errorf(ESTALE, "those who had the file open have closed it") : 0;
}

int zcache_group_of_card(const void *card, size_t len, uint64_t dev, struct zcache_group **out)
{
    const char *at = card;
    struct zc_place place;
    struct zcache_group *g;
    struct head h;

    if (!take(&at, &len, &h, sizeof h) || !h.block_size || !h.aggregators ||
        h.aggregators > MAX_OWNERS || h.daemons > MAX_OWNERS || h.replay > ZC_REPLAY_STRICT ||
        h.on_daemon_loss > ZC_LOSS_BYPASS || h.checksum > ZC_CHECKSUM_ON)
        return zc_errorf(EPROTO, "the card of those who have the file open makes no sense");
    place = (struct zc_place){h.block_size, h.daemons, h.aggregators};
    g = zcache_group_new(&place);
    if (!g)
        return zc_errorf(ENOMEM, "no memory for %u aggregators", h.aggregators);
    g->dev = dev;
    g->ino = h.ino;
    g->write_back = h.write_back;
    g->replay = h.replay;
    g->on_daemon_loss = h.on_daemon_loss;
    g->checksum = h.checksum;
    memcpy(g->id, h.id, sizeof g->id);
    if (!take_owners(g, at, len)) {
        zcache_group_put(g);
        return zc_errorf(EPROTO, "the card of those who have the file open is cut off");
    }
    return known_or_new(g, out);
}

/* ---- this process ---- */

int zcache_group_mine(const struct zcache_group *g)
{
    unsigned char me[ZCACHE_PROCESS_ID];

    if (zcache_process_id(me))
        return -1;
    for (uint32_t i = 0; i < g->nowners; i++)
        if (!memcmp(g->owners[i].process, me, sizeof me))
            return (int)i;
    return -1;
}

uint64_t zcache_group_number(const struct zcache_group *g)
{
    uint64_t number;

    memcpy(&number, g->id, sizeof number);
    return number;
}

struct zcache_agg *zcache_group_agg(struct zcache_group *g)
{
    struct zcache_agg *agg;

    zc_lock_get(&lock);
    agg = g->agg;
    zc_lock_put(&lock);
    return agg;
}

struct zcache_agg *zcache_group_own(struct zcache_group *g, struct zcache_agg *agg,
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

void zcache_group_sit(struct zcache_group *g, struct zc_seat *seat)
{
    zc_lock_get(&lock);
    g->seat = seat;
    zc_lock_put(&lock);
}
