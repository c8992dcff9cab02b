/* zc_client_glance.c - reads of pages that a server of this host shows: copied out of its memory,
 * without asking it, and without its doing anything.
 *
 * A reply to a read tells where the page's glance is (zc_glance.h); the client remembers that for
 * some pages, with the glance as it saw it last.  Bytes are copied first and the glance after them:
 * when it is still the same, they are good.  When it is another one, of the same page, once more.
 * What was copied is looked at here, in a copy of our own: a server that shows nonsense is asked.
 *
 * Bytes that turn out not to be shown must not have come into the reader's memory, whose read may
 * end before them: few of them are copied into ours first; for more, the glance is looked at
 * before.
 */
#include "config.h"

#include "zc_log.h"
#include "zc_net_internal.h"

enum {
    TRIES = 3,      /* then the page changes all the time: who has it is asked */
    SMALL = 8 << 10 /* bytes that are copied once more rather than looked at beforehand */
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
    zc_lock_put(&c->net->lock);
}

/* Whether the page is in that place, and these bytes of it may be read. */
static bool shows(const struct zc_seen *s, uint32_t lo, uint32_t hi)
{
    const struct zc_glance *g = &s->last;

    return zc_glance_shown(g) && g->file == s->file && g->no == s->no && g->lo <= lo && hi <= g->hi;
}

/* Copies these bytes of the page, and the glance after them; with `buf` NULL that alone.  True:
 * they are as it was known to show them.  Then it is known as it is now. */
static bool copy(struct zc_client *c, struct zc_seen *s, uint32_t lo, uint32_t len, void *buf)
{
    struct zc_glance now, before = s->last;
    const struct zc_peek copies[] = {{buf, before.data + lo, len}, {&now, s->where, sizeof now}};

    s->last.turn = 1;
    if (zc_tp_peek(c->net->tp, c->peer, buf ? copies : copies + 1, buf ? 2 : 1))
        return false;
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

bool zc_client_peek(struct zc_client *c, uint64_t handle, void *buf, size_t len, uint64_t off)
{
    uint32_t lo = c->page_size ? (uint32_t)(off % c->page_size) : 0;
    uint64_t no = c->page_size ? off / c->page_size : 0;
    struct zc_seen *s, mine;
    bool good;

    if (len == 0 || len > c->page_size - lo || !zc_client_sees_all(c))
        return false;
    zc_lock_get(&c->net->lock);
    s = slot_of(c, handle, no);
    if (c->broken || c->failed || !is_of(s, handle, no)) {
        zc_lock_put(&c->net->lock);
        return false;
    }
    mine = *s;
    c->sending++; /* the peer stays */
    zc_lock_put(&c->net->lock);
    good = look(c, &mine, lo, (uint32_t)len, buf);
    zc_lock_get(&c->net->lock);
    if (is_of(s, handle, no) && s->where == mine.where)
        s->last = mine.last;
    c->peeks += good;
    zc_net_sent(c);
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
