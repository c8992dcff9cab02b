/* zc_timing.c - measures the duration of store calls and of waits.
 *
 * The store is busy while at least one of its calls is under way: with several flushers that is
 * less than the sum of their times, and shows whether the store was idle at times.
 */
#include "config.h"

#include "zc_cache_internal.h"

uint64_t zc_call_began(struct zc_cache *c)
{
    uint64_t now = zc_now();

    zc_assert_held(&c->lock);
    if (c->ncalls++ == 0)
        c->busy_since = now;
    return now;
}

void zc_call_ended_mixed(struct zc_cache *c, uint64_t began, enum zc_event_kind kind, int64_t bytes)
{
    uint64_t *sum = kind == ZC_EVENT_STORE_READ    ? &c->st.store_read_ns
                    : kind == ZC_EVENT_STORE_WRITE ? &c->st.store_write_ns
                                                   : &c->st.store_sync_ns;
    uint64_t now = zc_now();

    zc_assert_held(&c->lock);
    *sum += now - began;
    zc_event_was(kind, began, now, bytes > 0 ? (uint64_t)bytes : 0);
    if (--c->ncalls == 0)
        c->st.store_busy_ns += now - c->busy_since;
}

void zc_call_ended(struct zc_cache *c, uint64_t began, enum zc_event_kind kind, int64_t bytes)
{
    uint64_t took = zc_now() - began;

    zc_call_ended_mixed(c, began, kind, bytes);
    if (bytes > 0 && kind == ZC_EVENT_STORE_READ)
        zc_cost_add(&c->cost.reads, (uint64_t)bytes, took);
    else if (bytes > 0 && kind == ZC_EVENT_STORE_WRITE)
        zc_cost_add(&c->cost.writes, (uint64_t)bytes, took);
}

static void waits(struct zc_cache *c, struct zc_access *a, uint64_t *waiting)
{
    zc_assert_held(&c->lock);
    ++*waiting;
    a->since = zc_now();
}

static void waited(struct zc_cache *c, const struct zc_access *a, uint64_t *waiting, uint64_t *ns,
                   enum zc_event_kind kind)
{
    uint64_t now = zc_now();

    zc_assert_held(&c->lock);
    --*waiting;
    *ns += now - a->since;
    zc_event_was(kind, a->since, now, a->len);
}

void zc_waits_room(struct zc_cache *c, struct zc_access *a)
{
    waits(c, a, &c->st.waiting_room);
}

void zc_waited_room(struct zc_cache *c, const struct zc_access *a)
{
    waited(c, a, &c->st.waiting_room, &c->st.room_wait_ns, ZC_EVENT_ROOM);
}

void zc_waits_page(struct zc_cache *c, struct zc_access *a)
{
    waits(c, a, &c->st.waiting_read);
}

void zc_waited_page(struct zc_cache *c, const struct zc_access *a)
{
    waited(c, a, &c->st.waiting_read, &c->st.read_wait_ns, ZC_EVENT_PAGE);
}
