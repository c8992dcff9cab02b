/* zc_client_ring.c - small writes through a ring shared with a server of this host (zc_ring.h).
 *
 * A write that the ring cannot take returns false, and the caller sends it by message.  That is
 * also how it waits for a full ring, since the server applies all entries before it handles a
 * message.
 *
 * A server that ends our session sets `closed` in the ring's header, and applies the entries it
 * finds after that.  If the writer sees `closed` after its write, the entry may have been missed:
 * it is sent by message, or fails; at worst the bytes are written twice.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "zc_futex.h"
#include "zc_log.h"
#include "zc_net_internal.h"
#include "zc_ring.h"
#include "zc_view.h"

void zc_client_ring_init(struct zc_client *c)
{
    zc_lock_init(&c->ring_lock, ZC_ORDER_RING);
}

void zc_client_ring_free(struct zc_client *c)
{
    if (c->control)
        munmap(c->control, ZC_RING_CONTROL);
    if (c->ring)
        munmap(c->ring, ZC_RING_HEADER + ZC_RING_SIZE);
    if (c->pagedescs)
        munmap((void *)c->pagedescs, c->pagedescs_len);
    free(c->piece.bytes);
    zc_lock_destroy(&c->ring_lock);
}

struct shared {
    void *control, *ring, *pagedescs; /* or NULL */
    uint64_t pagedescs_at, pagedescs_len;
};

/* Page descriptors are used only if the control page is mapped. */
static void use(struct zc_client *c, const struct shared *m)
{
    zc_lock_get(&c->net->lock);
    c->control = m->control;
    c->ring = m->ring;
    c->blind = !m->control;
    c->pagedescs = m->pagedescs;
    c->pagedescs_at = m->pagedescs_at;
    c->pagedescs_len = m->pagedescs_len;
    zc_lock_put(&c->net->lock);
}

static int map(struct zc_client *c, const struct zc_msg *reply, struct shared *m)
{
    struct zc_tp *tp = c->net->tp;
    int rc = zc_tp_map(tp, c->peer, (int)reply->control_fd, ZC_RING_CONTROL, true, &m->control);

    if (rc == 0)
        rc = zc_tp_map(tp, c->peer, (int)reply->ring_fd, ZC_RING_HEADER + ZC_RING_SIZE, true,
                       &m->ring);
    if (rc == 0 && reply->pagedescs_len)
        rc = zc_tp_map(tp, c->peer, (int)reply->pagedescs_fd, reply->pagedescs_len, false,
                       &m->pagedescs);
    m->pagedescs_at = reply->pagedescs;
    m->pagedescs_len = reply->pagedescs_len;
    return rc;
}

static void unmap(const struct shared *m)
{
    if (m->control)
        munmap(m->control, ZC_RING_CONTROL);
    if (m->ring)
        munmap(m->ring, ZC_RING_HEADER + ZC_RING_SIZE);
    if (m->pagedescs)
        munmap(m->pagedescs, m->pagedescs_len);
}

int zc_client_ring_open(struct zc_client *c)
{
    struct zc_msg m = {.type = ZC_T_RING_OPEN}, reply;
    struct shared all = {0};
    int rc = zc_tp_is_local(c->net->tp, c->peer) ? zc_call(c, &m, &reply)
                                                 : zc_errorf(EOPNOTSUPP, "it is not of this host");

    if (rc)
        return rc;
    rc = map(c, &reply, &all);
    if (rc) {
        unmap(&all);
        all = (struct shared){0};
    }
    use(c, &all);
    return rc;
}

/* Whether an entry of `need` bytes fits; *skip: bytes of the ring left unused before it. */
static bool has_room(const struct zc_client *c, uint32_t need, uint32_t *skip)
{
    uint64_t used = c->head - __atomic_load_n(&c->ring->tail, __ATOMIC_ACQUIRE);
    uint32_t at = (uint32_t)(c->head % ZC_RING_SIZE);
    uint32_t end = __atomic_load_n(&c->ring->end, __ATOMIC_RELAXED);
    bool again; /* from the beginning: also in an empty ring, whose first bytes are still cached, if
                   that leaves room for half of it until the owner takes the entry out */

    if (end > ZC_RING_SIZE)
        end = ZC_RING_SIZE;
    again = at + need > end || (used == 0 && at >= ZC_RING_FIRST && at >= end / 2);
    *skip = again ? ZC_RING_SIZE - at : 0;
    if (used <= ZC_RING_SIZE && ZC_RING_SIZE - used >= (uint64_t)need + *skip)
        return true;
    if (need >= ZC_RING_GROWS_FOR)
        __atomic_add_fetch(&c->ring->full, 1, __ATOMIC_RELAXED);
    return false;
}

/* Puts the view between an entry and its bytes. */
static void put_view(unsigned char *at, const struct zc_ring_write *p)
{
    memcpy(at, &p->disp, sizeof p->disp);
    (void)zc_view_encode(p->view, at + sizeof p->disp, zc_view_encoded(p->view));
}

static bool put_bytes(unsigned char *at, const struct zc_ring_write *p)
{
    if (!p->buf)
        return p->pack(p->arg, at) == 0;
    memcpy(at, p->buf, p->len);
    return true;
}

/* Puts the entry, which exists when the server sees the new head. */
static bool put(struct zc_client *c, struct zc_ring_entry *entry, const struct zc_ring_write *p,
                uint32_t skip)
{
    unsigned char *ring = zc_ring_data(c->ring), *gap = ring + c->head % ZC_RING_SIZE;
    unsigned char *at = skip ? ring : gap;

    if (entry->view)
        put_view(at + sizeof *entry, p);
    if (!put_bytes(at + sizeof *entry + zc_ring_entry_prefix(entry->view), p))
        return false;
    if (skip)
        memcpy(gap, &(struct zc_ring_entry){.view = ZC_RING_WRAP}, sizeof *entry);
    __atomic_store_n(&c->ring->putting, 1, __ATOMIC_RELAXED); /* visible before the stamp is */
    entry->stamp = __atomic_fetch_add(&c->control->stamps, 1, __ATOMIC_SEQ_CST);
    memcpy(at, entry, sizeof *entry);
    c->head += skip + zc_ring_entry_size(entry->len, entry->view);
    __atomic_store_n(&c->ring->head, c->head, __ATOMIC_SEQ_CST);
    __atomic_store_n(&c->ring->putting, 0, __ATOMIC_RELEASE);
    return true;
}

static void wake(struct zc_ring_control *b)
{
    if (__atomic_load_n(&b->asleep, __ATOMIC_SEQ_CST) &&
        __atomic_exchange_n(&b->asleep, 0, __ATOMIC_SEQ_CST))
        zc_futex_set(&b->doorbell);
}

/* Whether the session is alive and has a ring. */
static bool open_for_posts(struct zc_client *c)
{
    bool yes;

    zc_lock_get(&c->net->lock);
    yes = c->ring && !c->broken.rc && !c->failed.rc && !c->bye;
    zc_lock_put(&c->net->lock);
    return yes && !__atomic_load_n(&c->control->refuses, __ATOMIC_RELAXED) &&
           !__atomic_load_n(&c->ring->closed, __ATOMIC_RELAXED);
}

/* Builds the entry; false: such a write can never go by ring. */
static bool entry_of(struct zc_client *c, const struct zc_ring_write *p, struct zc_ring_entry *l)
{
    size_t view = p->view ? zc_view_encoded(p->view) : 0;

    if (p->len == 0 || p->len > ZC_RING_ENTRY_MAX || p->off > (uint64_t)INT64_MAX - p->len ||
        view > ZC_RING_VIEW_MAX || (p->view && !view) || !open_for_posts(c) ||
        (view && !__atomic_load_n(&c->ring->views, __ATOMIC_RELAXED)))
        return false;
    *l = (struct zc_ring_entry){
        .handle = p->handle, .off = p->off, .len = (uint32_t)p->len, .view = (uint32_t)view};
    return true;
}

bool zc_client_ring_write(struct zc_client *c, const struct zc_ring_write *p)
{
    struct zc_ring_entry entry;
    uint32_t skip;
    bool left;

    if (!entry_of(c, p, &entry))
        return false;
    zc_lock_get(&c->ring_lock);
    left = has_room(c, zc_ring_entry_size(entry.len, entry.view), &skip) && put(c, &entry, p, skip);
    zc_lock_put(&c->ring_lock);
    if (!left)
        return false;
    wake(c->control); /* in a closed ring, too: the owner has to see that the stamp is void */
    if (__atomic_load_n(&c->ring->closed, __ATOMIC_SEQ_CST))
        return false;
    __atomic_add_fetch(&c->shmring, 1, __ATOMIC_RELAXED);
    zc_trace("- handle %llu off %llu len %zu%s: left in memory of %s",
             (unsigned long long)p->handle, (unsigned long long)p->off, p->len,
             p->view ? ", through a view" : "", c->label);
    return true;
}

uint64_t zc_client_ring_writes(const struct zc_client *c)
{
    return __atomic_load_n(&c->shmring, __ATOMIC_RELAXED);
}

uint64_t *zc_client_pointer_at(struct zc_client *c, uint64_t handle)
{
    struct zc_known_pointer *k = &c->pointers[handle % ZC_KNOWN];
    uint64_t *word = NULL;

    zc_lock_get(&c->net->lock);
    if (c->control && !c->broken.rc && !c->failed.rc && k->handle == handle && k->at)
        word = &c->control->pointers[k->at - 1];
    zc_lock_put(&c->net->lock);
    return word;
}

void zc_client_pointer_is(struct zc_client *c, uint64_t handle, uint32_t at)
{
    zc_lock_get(&c->net->lock);
    if (at <= ZC_POINTERS)
        c->pointers[handle % ZC_KNOWN] = (struct zc_known_pointer){handle, at};
    zc_lock_put(&c->net->lock);
}

bool zc_client_sees_all(struct zc_client *c)
{
    return !c->blind && (!c->control || zc_ring_drained(c->control));
}
