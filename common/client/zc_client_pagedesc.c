/* zc_client_pagedesc.c - peeks: copies bytes of published pages from a server's memory,
 * without a message and without any action of the server.
 *
 * A reply to a read has the address of the page's descriptor (zc_pagedesc.h) in the server's array,
 * which is mapped here; the client remembers it for some pages.  The descriptor is read before and
 * after the bytes are copied: if it is the same, the bytes are valid.  If it has changed but is of
 * the same page, this is tried again.  What is read is checked here: if a server publishes invalid
 * descriptors, a message is sent.
 *
 * Small sequential reads have a piece of the page copied ahead, larger each time, and are served
 * from that piece while the descriptor's seq is unchanged: without a system call.
 *
 * Bytes that are not published do not reach the reader's buffer, as its read may end before them,
 * unless they cease to be so while they are copied.
 */
#include "config.h"

#include <stdlib.h>

#include "zc_log.h"
#include "zc_net_internal.h"

enum {
    NEAR = 16,          /* page descriptors that are searched for a page */
    TRIES = 3,          /* after these the page changes too often: send a read */
    GAP = ZC_PIECE / 8, /* bytes that sequential reads may skip */
    SMALL = 8 << 10     /* larger reads are not served from a piece */
};

/* A read of a part of one page. */
struct want {
    uint64_t handle, no;
    uint32_t lo, len;
    void *buf;
};

static struct zc_seen *slot_of(struct zc_client *c, uint64_t handle, uint64_t no)
{
    uint64_t x = (handle * 31 + no) * 0x9e3779b97f4a7c15ull;

    return &c->seen[(x >> 32) % ZC_SEEN];
}

static bool is_of(const struct zc_seen *s, uint64_t handle, uint64_t no)
{
    return s->g && s->handle == handle && s->no == no;
}

/* Returns the descriptor at this address of the server; NULL: it is not mapped. */
static const struct zc_pagedesc *mapped(const struct zc_client *c, uint64_t where)
{
    uint64_t at = where - c->pagedescs_at;

    if (!c->pagedescs || where < c->pagedescs_at || at % sizeof(struct zc_pagedesc) ||
        at >= c->pagedescs_len / sizeof(struct zc_pagedesc) * sizeof(struct zc_pagedesc))
        return NULL;
    return (const struct zc_pagedesc *)(const void *)(c->pagedescs + at);
}

void zc_client_learn_page(struct zc_client *c, uint64_t handle, uint64_t off,
                          const struct zc_io *io)
{
    const struct zc_pagedesc *g = io->pagedesc && c->page_size ? mapped(c, io->pagedesc) : NULL;
    uint64_t no;

    if (!g)
        return;
    no = off / c->page_size;
    zc_lock_get(&c->net->lock);
    c->last_seen = (struct zc_seen){.handle = handle, .no = no, .g = g, .file = io->file};
    *slot_of(c, handle, no) = c->last_seen;
    zc_lock_put(&c->net->lock);
}

/* Reads the descriptor.  True: it is of this page, and published. */
static bool read_pagedesc(const struct zc_seen *s, struct zc_pagedesc *now)
{
    zc_pagedesc_read(s->g, now);
    return zc_pagedesc_is_published(now) && now->file == s->file && now->no == s->no;
}

/* True: the descriptor is that of the page, is published, and covers bytes [lo, hi) of it. */
static bool shows(const struct zc_seen *s, uint32_t lo, uint32_t hi, struct zc_pagedesc *now)
{
    return read_pagedesc(s, now) && now->lo <= lo && hi <= now->hi;
}

/* Copies published bytes of the page, without the lock.  Sets *now to the descriptor they were
 * copied under.  False: the page changed or cannot be read; read by message. */
static bool copy(struct zc_client *c, const struct zc_seen *s, uint32_t lo, uint32_t len, void *buf,
                 struct zc_pagedesc *now)
{
    for (int i = 0; i < TRIES && shows(s, lo, lo + len, now); i++) {
        const struct zc_peek bytes = {buf, now->data + lo, len};
        struct zc_pagedesc then;

        if (zc_tp_peek(c->net->tp, c->peer, &bytes, 1))
            break;
        zc_pagedesc_read(s->g, &then);
        if (zc_pagedesc_same(now, &then))
            return true;
    }
    return false;
}

/* Pages that were written one after the other have adjacent descriptors.  True: this one is near
 * that of the page read last. */
static bool find(struct zc_client *c, uint64_t handle, uint64_t no, struct zc_seen *s)
{
    const struct zc_seen *last = &c->last_seen;
    const struct zc_pagedesc *end;

    if (!last->g || last->handle != handle)
        return false;
    end = (const void *)(c->pagedescs + c->pagedescs_len / sizeof *end * sizeof *end);
    for (const struct zc_pagedesc *g = last->g + 1; g < end && g <= last->g + NEAR; g++) {
        struct zc_seen found = {handle, no, g, last->file};
        struct zc_pagedesc now;

        if (read_pagedesc(&found, &now) && now.written) {
            *s = found;
            return true;
        }
    }
    return false;
}

/* ---- sequential reads ---- */

/* Reads from the piece copied before. */
static bool take(struct zc_client *c, const struct want *w)
{
    const struct zc_piece *p = &c->piece;

    if (p->busy || p->handle != w->handle || p->no != w->no || w->lo < p->lo ||
        w->lo + w->len > p->hi || zc_pagedesc_seq(p->g) != p->seq)
        return false;
    memcpy(w->buf, p->bytes + (w->lo - p->lo), w->len);
    return true;
}

/* Returns how much is worth copying: more each time, during sequential reads; only the bytes
 * wanted if the page has changed since, because it may change again. */
static uint32_t worth(const struct zc_client *c, const struct want *w)
{
    const struct zc_piece *p = &c->piece;
    bool changed = p->handle == w->handle && p->no == w->no && w->lo >= p->lo && w->lo < p->hi &&
                   zc_pagedesc_seq(p->g) != p->seq;
    uint64_t off = w->no * c->page_size + w->lo, skipped = off - p->next, want;

    if (changed || p->next_handle != w->handle || off < p->next || skipped > GAP)
        return w->len;
    want = 2 * p->want + skipped;
    return want < ZC_PIECE ? (uint32_t)want : ZC_PIECE;
}

/* Returns how much of the page a piece may have, from `lo` on; 0: none. */
static uint32_t room(struct zc_client *c, const struct want *w, const struct zc_seen *s)
{
    uint32_t want = worth(c, w);
    struct zc_pagedesc now;

    c->piece.want = want > w->len ? want : w->len;
    if (want <= w->len || c->piece.busy || !shows(s, w->lo, w->lo + w->len, &now))
        return 0;
    if (want > now.hi - w->lo)
        want = now.hi - w->lo;
    if (want > c->page_size - w->lo)
        want = c->page_size - w->lo;
    if (!c->piece.bytes)
        c->piece.bytes = malloc(ZC_PIECE);
    return c->piece.bytes ? want : 0;
}

/* With the lock again.  `len` is 0: nothing could be copied, because others write to the page. */
static void keep(struct zc_client *c, const struct want *w, const struct zc_seen *s, uint32_t len,
                 uint64_t seq)
{
    struct zc_piece *p = &c->piece;

    p->busy = false;
    if (!len) {
        p->want = w->len;
        return;
    }
    p->handle = w->handle;
    p->no = w->no;
    p->lo = w->lo;
    p->hi = w->lo + len;
    p->g = s->g;
    p->seq = seq;
}

/* ---- reads ---- */

/* With the lock, which is dropped while bytes are copied. */
static bool see(struct zc_client *c, const struct want *w, const struct zc_seen *s)
{
    const struct zc_seen mine = *s;
    uint32_t more = w->len <= SMALL ? room(c, w, &mine) : 0;
    struct zc_pagedesc now = {0};
    bool stays, good;

    c->sending++; /* keeps the peer */
    if (more) {
        c->piece.busy = true;
        c->piece.hi = 0;
    }
    zc_lock_put(&c->net->lock);
    stays = more && copy(c, &mine, w->lo, more, c->piece.bytes, &now);
    if (stays)
        memcpy(w->buf, c->piece.bytes, w->len);
    good = stays || copy(c, &mine, w->lo, w->len, w->buf, &now);
    zc_lock_get(&c->net->lock);
    if (more)
        keep(c, w, &mine, stays ? more : 0, now.seq);
    c->last_seen = mine;
    zc_net_sent(c);
    return good;
}

bool zc_client_peek(struct zc_client *c, uint64_t handle, void *buf, size_t len, uint64_t off)
{
    struct want w = {.handle = handle, .buf = buf, .len = (uint32_t)len};
    struct zc_seen *s;
    bool good;

    w.no = c->page_size ? off / c->page_size : 0;
    w.lo = c->page_size ? (uint32_t)(off % c->page_size) : 0;
    if (len == 0 || len > c->page_size - w.lo || !zc_client_sees_all(c))
        return false;
    zc_lock_get(&c->net->lock);
    s = slot_of(c, handle, w.no);
    good = !c->broken.rc && !c->failed.rc &&
           (take(c, &w) || ((is_of(s, handle, w.no) || find(c, handle, w.no, s)) && see(c, &w, s)));
    c->piece.next_handle = handle;
    c->piece.next = off + len;
    c->peeks += good;
    zc_lock_put(&c->net->lock);
    if (good)
        zc_trace("- handle %llu off %llu len %zu: read out of the memory of %s",
                 (unsigned long long)handle, (unsigned long long)off, len, c->label);
    return good;
}

bool zc_client_is_quiescent(struct zc_client *c, const struct zc_quiescence *q)
{
    const struct zc_pagedesc *g = q->pagedesc ? mapped(c, q->pagedesc) : NULL;

    return g && zc_pagedesc_seq(g) == q->seq;
}

uint64_t zc_client_peeks(struct zc_client *c)
{
    uint64_t count;

    zc_lock_get(&c->net->lock);
    count = c->peeks;
    zc_lock_put(&c->net->lock);
    return count;
}
