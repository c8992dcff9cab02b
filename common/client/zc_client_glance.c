/* zc_client_glance.c - reads of pages that a server of this host shows: copied out of its memory,
 * without asking it, and without its doing anything.
 *
 * A reply to a read tells where the page's glance is (zc_glance.h); the client remembers that for
 * some pages, with the glance as it saw it last.  Bytes are copied first and the glance after them:
 * when it is still the same, they are good.  When it is another one, of the same page, once more.
 * What was copied is looked at here, in a copy of our own: a server that shows nonsense is asked.
 *
 * Where the server's glances are mapped, looking at one costs nothing.  Then small reads that go on
 * where the last one ended have a piece of the page copied for the next ones, larger each time, and
 * are made out of that as long as the glance is at its turn.
 *
 * Bytes that turn out not to be shown must not have come into the reader's memory, whose read may
 * end before them: few of them are copied into ours first; for more, the glance is looked at
 * before.
 */
#include "config.h"

#include <stdlib.h>

#include "zc_log.h"
#include "zc_net_internal.h"

enum {
    NEAR = 16,          /* glances that are looked through for a page */
    TRIES = 3,          /* then the page changes all the time: who has it is asked */
    GAP = ZC_PIECE / 8, /* bytes that reads may leave out and still go on */
    SMALL = 8 << 10     /* bytes that are copied once more rather than looked at beforehand */
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
    return s->where && s->handle == handle && s->no == no;
}

void zc_client_saw(struct zc_client *c, uint64_t handle, uint64_t off, const struct zc_io *io)
{
    uint64_t no = c->page_size ? off / c->page_size : 0;
    struct zc_seen *s;

    if (!io->glance || !c->page_size)
        return;
    zc_lock_get(&c->net->lock);
    s = slot_of(c, handle, no);
    if (!is_of(s, handle, no) || s->where != io->glance || s->file != io->file)
        *s = (struct zc_seen){.handle = handle,
                              .no = no,
                              .where = io->glance,
                              .file = io->file,
                              .last = {.turn = 1}}; /* nothing is known of it */
    c->last_seen = *s;
    zc_lock_put(&c->net->lock);
}

/* Whether the page is in that place, and these bytes of it may be read. */
static bool shows(const struct zc_seen *s, uint32_t lo, uint32_t hi)
{
    const struct zc_glance *g = &s->last;

    return zc_glance_shown(g) && g->file == s->file && g->no == s->no && g->lo <= lo && hi <= g->hi;
}

/* ---- its glance ---- */

/* Where it can be seen without a system call; NULL: nowhere. */
static const struct zc_glance *mapped(const struct zc_client *c, uint64_t where)
{
    uint64_t at = where - c->glances_at;

    if (!c->glances || where < c->glances_at || at % sizeof(struct zc_glance) ||
        at >= c->glances_len / sizeof(struct zc_glance) * sizeof(struct zc_glance))
        return NULL;
    return (const struct zc_glance *)(const void *)(c->glances + at);
}

/* Copies these bytes of the page, and the glance after them; with `buf` NULL that alone.  True:
 * they are as it was known to show them.  Then it is known as it is now. */
static bool copy(struct zc_client *c, struct zc_seen *s, uint32_t lo, uint32_t len, void *buf)
{
    const struct zc_glance *there = mapped(c, s->where);
    struct zc_glance now, before = s->last;
    const struct zc_peek copies[] = {{buf, before.data + lo, len}, {&now, s->where, sizeof now}};
    unsigned from = buf ? 0 : 1, to = there ? 1 : 2;

    s->last.turn = 1;
    if (from < to && zc_tp_peek(c->net->tp, c->peer, copies + from, to - from))
        return false;
    if (there)
        zc_glance_look(there, &now);
    s->last = now;
    return buf && zc_glance_same(&now, &before);
}

/* With no lock; `s` is the caller's own.  False: the server has to be asked. */
static bool look(struct zc_client *c, struct zc_seen *s, uint32_t lo, uint32_t len, void *buf)
{
    unsigned char few[SMALL];
    bool small = len <= SMALL;

    if (!small || !shows(s, lo, lo + len))
        copy(c, s, lo, len, NULL);
    for (int i = 0; i < TRIES && shows(s, lo, lo + len); i++) {
        if (!copy(c, s, lo, len, small ? few : buf))
            continue;
        if (small)
            memcpy(buf, few, len);
        return true;
    }
    return false;
}

/* Pages that were written one after the other have their glances near each other.  True: this one
 * is near that of the page which was read last. */
static bool find(struct zc_client *c, uint64_t handle, uint64_t no, struct zc_seen *s)
{
    const struct zc_seen *last = &c->last_seen;

    for (unsigned i = 1; last->where && last->handle == handle && i <= NEAR; i++) {
        uint64_t where = last->where + i * sizeof(struct zc_glance);
        const struct zc_glance *g = mapped(c, where);
        struct zc_seen found = {handle, no, where, last->file, {.turn = 1}};

        if (!g)
            break;
        zc_glance_look(g, &found.last);
        if (found.last.written && shows(&found, found.last.lo, found.last.hi)) {
            *s = found;
            return true;
        }
    }
    return false;
}

/* ---- reads that go on ---- */

/* Out of the piece that was copied before. */
static bool take(struct zc_client *c, const struct want *w)
{
    const struct zc_piece *p = &c->piece;

    if (p->busy || p->handle != w->handle || p->no != w->no || w->lo < p->lo ||
        w->lo + w->len > p->hi || zc_glance_turn(p->g) != p->turn)
        return false;
    memcpy(w->buf, p->bytes + (w->lo - p->lo), w->len);
    return true;
}

/* How much is worth copying: more each time, while reads go on; not where the page has changed
 * since, as it may all the time. */
static uint32_t worth(const struct zc_client *c, const struct want *w)
{
    const struct zc_piece *p = &c->piece;
    bool changed = p->handle == w->handle && p->no == w->no && w->lo >= p->lo && w->lo < p->hi &&
                   zc_glance_turn(p->g) != p->turn;
    uint64_t off = w->no * c->page_size + w->lo, skipped = off - p->next, want;

    if (changed || p->next_handle != w->handle || off < p->next || skipped > GAP)
        return w->len;
    want = 2 * p->want + skipped;
    return want < ZC_PIECE ? (uint32_t)want : ZC_PIECE;
}

/* How much of the page a piece may have, from `lo` on; 0: none is to be copied. */
static uint32_t room(struct zc_client *c, const struct want *w, struct zc_seen *s)
{
    uint32_t want = worth(c, w);

    c->piece.want = want > w->len ? want : w->len;
    if (want <= w->len || c->piece.busy || !mapped(c, s->where))
        return 0;
    if (!shows(s, w->lo, w->lo + w->len))
        copy(c, s, w->lo, w->len, NULL);
    if (!shows(s, w->lo, w->lo + w->len))
        return 0;
    if (want > s->last.hi - w->lo)
        want = s->last.hi - w->lo;
    if (want > c->page_size - w->lo)
        want = c->page_size - w->lo;
    if (!c->piece.bytes)
        c->piece.bytes = malloc(ZC_PIECE);
    return c->piece.bytes ? want : 0;
}

/* As look(), of `len` bytes that stay; the piece is the caller's. */
static bool look_for_more(struct zc_client *c, const struct want *w, struct zc_seen *s,
                          uint32_t len)
{
    if (!look(c, s, w->lo, len, c->piece.bytes))
        return false;
    memcpy(w->buf, c->piece.bytes, w->len);
    return true;
}

/* With the lock again.  `len` is 0: no more could be copied, as others write to the page. */
static void keep(struct zc_client *c, const struct want *w, const struct zc_seen *s, uint32_t len)
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
    p->g = mapped(c, s->where);
    p->turn = s->last.turn;
}

/* ---- reads ---- */

/* With the lock, which is dropped while bytes are copied. */
static bool see(struct zc_client *c, const struct want *w, struct zc_seen *s)
{
    struct zc_seen mine = *s;
    uint32_t more = w->len <= SMALL ? room(c, w, &mine) : 0;
    bool stays = false, good;

    c->sending++; /* the peer stays */
    if (more) {
        c->piece.busy = true;
        c->piece.hi = 0;
    }
    zc_lock_put(&c->net->lock);
    if (more)
        stays = look_for_more(c, w, &mine, more);
    good = stays || look(c, &mine, w->lo, w->len, w->buf);
    zc_lock_get(&c->net->lock);
    if (more)
        keep(c, w, &mine, stays ? more : 0);
    if (is_of(s, w->handle, w->no) && s->where == mine.where)
        s->last = mine.last;
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
    good = !c->broken && !c->failed &&
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

uint64_t zc_client_peeks(struct zc_client *c)
{
    uint64_t count;

    zc_lock_get(&c->net->lock);
    count = c->peeks;
    zc_lock_put(&c->net->lock);
    return count;
}
