/* zc_times.c - how long the store takes, and how long accesses wait.
 *
 * The store is busy while at least one of its calls is under way: with several flushers that is
 * less than the sum of their times, and is what tells whether there was time left that nobody used.
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

void zc_call_ended(struct zc_cache *c, uint64_t began, enum zc_event_kind kind, int64_t bytes)
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

void zc_waits_room(struct zc_cache *c, struct zc_access *a)
{
    zc_assert_held(&c->lock);
    c->st.waiting_room++;
    a->since = zc_now();
}

void zc_waited_room(struct zc_cache *c, const struct zc_access *a)
{
    uint64_t now = zc_now();

    zc_assert_held(&c->lock);
    c->st.waiting_room--;
    c->st.room_wait_ns += now - a->since;
    zc_event_was(ZC_EVENT_ROOM, a->since, now, a->len);
}

void zc_waits_page(struct zc_cache *c, struct zc_access *a)
{
    zc_assert_held(&c->lock);
    c->st.waiting_read++;
    a->since = zc_now();
}

void zc_waited_page(struct zc_cache *c, const struct zc_access *a)
{
    uint64_t now = zc_now();

    zc_assert_held(&c->lock);
    c->st.waiting_read--;
    c->st.read_wait_ns += now - a->since;
    zc_event_was(ZC_EVENT_PAGE, a->since, now, a->len);
}
