/* zc_client_post.c - small writes that are left in memory of a server of this host (zc_post.h).
 *
 * What cannot be left is false: the caller asks by message.  That is how a full ring is waited for,
 * for the server takes everything out that was left before it looks at a message.
 *
 * A server that ends our session says so in the box, and takes out what it finds after that.  A
 * write whose writer sees that afterwards may have been missed; it is made by message, if that goes
 * through, and else it fails: at worst its bytes are there twice.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "zc_log.h"
#include "zc_net_internal.h"
#include "zc_post.h"
#include "zc_view.h"

void zc_client_posts_init(struct zc_client *c)
{
    zc_lock_init(&c->box_lock, ZC_ORDER_BOX);
}

void zc_client_posts_free(struct zc_client *c)
{
    if (c->board)
        munmap(c->board, ZC_BOARD);
    if (c->box)
        munmap(c->box, ZC_POSTBOX_HEAD + ZC_POSTBOX);
    if (c->glances)
        munmap((void *)c->glances, c->glances_len);
    free(c->piece.bytes);
    zc_lock_destroy(&c->box_lock);
}

struct shared {
    void *board, *box, *glances; /* or NULL */
    uint64_t glances_at, glances_len;
};

/* What shows of pages is of use only to who sees the board. */
static void use(struct zc_client *c, const struct shared *m)
{
    zc_lock_get(&c->net->lock);
    c->board = m->board;
    c->box = m->box;
    c->blind = !m->board;
    c->glances = m->glances;
    c->glances_at = m->glances_at;
    c->glances_len = m->glances_len;
    zc_lock_put(&c->net->lock);
}

static int map(struct zc_client *c, const struct zc_msg *reply, struct shared *m)
{
    struct zc_tp *tp = c->net->tp;
    int rc = zc_tp_map(tp, c->peer, (int)reply->board_fd, ZC_BOARD, true, &m->board);

    if (rc == 0)
        rc =
            zc_tp_map(tp, c->peer, (int)reply->box_fd, ZC_POSTBOX_HEAD + ZC_POSTBOX, true, &m->box);
    if (rc == 0 && reply->glances_len)
        rc = zc_tp_map(tp, c->peer, (int)reply->glances_fd, reply->glances_len, false, &m->glances);
    m->glances_at = reply->glances;
    m->glances_len = reply->glances_len;
    return rc;
}

static void unmap(const struct shared *m)
{
    if (m->board)
        munmap(m->board, ZC_BOARD);
    if (m->box)
        munmap(m->box, ZC_POSTBOX_HEAD + ZC_POSTBOX);
    if (m->glances)
        munmap(m->glances, m->glances_len);
}

int zc_client_share(struct zc_client *c)
{
    struct zc_msg m = {.type = ZC_T_POSTBOX}, reply;
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

/* Whether a write of `need` bytes of the ring, at *at of it, has room; *skip bytes before that are
 * left out. */
static bool has_room(const struct zc_client *c, uint32_t need, uint32_t *skip)
{
    uint64_t tail = __atomic_load_n(&c->box->tail, __ATOMIC_ACQUIRE), used = c->head - tail;
    uint32_t to_end = (uint32_t)(ZC_POSTBOX - c->head % ZC_POSTBOX);

    *skip = to_end < need ? to_end : 0;
    return used <= ZC_POSTBOX && ZC_POSTBOX - used >= (uint64_t)need + *skip;
}

/* What comes between a letter and its bytes. */
static void put_view(unsigned char *at, const struct zc_posted *p)
{
    memcpy(at, &p->disp, sizeof p->disp);
    (void)zc_view_encode(p->view, at + sizeof p->disp, zc_view_encoded(p->view));
}

static bool put_bytes(unsigned char *at, const struct zc_posted *p)
{
    if (!p->buf)
        return p->pack(p->arg, at) == 0;
    memcpy(at, p->buf, p->len);
    return true;
}

/* The write is there when its server sees the new head. */
static bool put(struct zc_client *c, struct zc_letter *letter, const struct zc_posted *p,
                uint32_t skip)
{
    unsigned char *ring = zc_postbox_ring(c->box), *gap = ring + c->head % ZC_POSTBOX;
    unsigned char *at = skip ? ring : gap;

    if (letter->view)
        put_view(at + sizeof *letter, p);
    if (!put_bytes(at + sizeof *letter + zc_post_before(letter->view), p))
        return false;
    if (skip)
        memcpy(gap, &(struct zc_letter){.view = ZC_POST_GAP}, sizeof *letter);
    __atomic_store_n(&c->box->putting, 1, __ATOMIC_RELAXED); /* seen by who sees the stamp given */
    letter->stamp = __atomic_fetch_add(&c->board->stamps, 1, __ATOMIC_SEQ_CST);
    memcpy(at, letter, sizeof *letter);
    c->head += skip + zc_post_room(letter->len, letter->view);
    __atomic_store_n(&c->box->head, c->head, __ATOMIC_SEQ_CST);
    __atomic_store_n(&c->box->putting, 0, __ATOMIC_RELEASE);
    return true;
}

static void wake(struct zc_board *b)
{
    if (__atomic_load_n(&b->asleep, __ATOMIC_SEQ_CST) &&
        __atomic_exchange_n(&b->asleep, 0, __ATOMIC_SEQ_CST))
        sem_post(&b->bell);
}

/* Whether the session goes on, and there is memory to leave things in. */
static bool open_for_posts(struct zc_client *c)
{
    bool yes;

    zc_lock_get(&c->net->lock);
    yes = c->box && !c->broken && !c->failed && !c->bye;
    zc_lock_put(&c->net->lock);
    return yes && !__atomic_load_n(&c->board->refuses, __ATOMIC_RELAXED) &&
           !__atomic_load_n(&c->box->closed, __ATOMIC_RELAXED);
}

/* Whether it could ever be left: what it would look like in the ring. */
static bool letter_of(struct zc_client *c, const struct zc_posted *p, struct zc_letter *l)
{
    size_t view = p->view ? zc_view_encoded(p->view) : 0;

    if (p->len == 0 || p->len > ZC_POST_MAX || p->off > (uint64_t)INT64_MAX - p->len ||
        view > ZC_POST_VIEW || (p->view && !view) || !open_for_posts(c) ||
        (view && !__atomic_load_n(&c->box->views, __ATOMIC_RELAXED)))
        return false;
    *l = (struct zc_letter){
        .handle = p->handle, .off = p->off, .len = (uint32_t)p->len, .view = (uint32_t)view};
    return true;
}

bool zc_client_post(struct zc_client *c, const struct zc_posted *p)
{
    struct zc_letter letter;
    uint32_t skip;
    bool left;

    if (!letter_of(c, p, &letter))
        return false;
    zc_lock_get(&c->box_lock);
    left = has_room(c, zc_post_room(letter.len, letter.view), &skip) && put(c, &letter, p, skip);
    zc_lock_put(&c->box_lock);
    if (!left)
        return false;
    wake(c->board); /* in a closed box, too: the stamp is void, which somebody has to see */
    if (__atomic_load_n(&c->box->closed, __ATOMIC_SEQ_CST))
        return false;
    __atomic_add_fetch(&c->posts, 1, __ATOMIC_RELAXED);
    zc_trace("- handle %llu off %llu len %zu%s: left in memory of %s",
             (unsigned long long)p->handle, (unsigned long long)p->off, p->len,
             p->view ? ", through a view" : "", c->label);
    return true;
}

uint64_t zc_client_posts(const struct zc_client *c)
{
    return __atomic_load_n(&c->posts, __ATOMIC_RELAXED);
}

uint64_t *zc_client_pointer_at(struct zc_client *c, uint64_t handle)
{
    struct zc_known_pointer *k = &c->pointers[handle % ZC_KNOWN];
    uint64_t *word = NULL;

    zc_lock_get(&c->net->lock);
    if (c->board && !c->broken && !c->failed && k->handle == handle && k->at)
        word = &c->board->pointers[k->at - 1];
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
    return !c->blind && (!c->board || zc_board_clear(c->board));
}
