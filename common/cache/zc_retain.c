/* zc_retain.c - what a lossy store has taken and not stored yet.  zc_retain.h says what becomes of
 * it.
 *
 * A page has one number for all that it retains, that of its last store write, which is not less
 * than the number of any byte; so a page that is written all the time is let go when it comes to
 * rest.  It lies in one block, hence at one server; where blocks are smaller than pages nothing is
 * retained.
 *
 * Exposed bytes of a server are of two generations.  New ones join the newer, whose number grows
 * with them; when the older is stored the newer takes its place.  So each ends, however much is
 * exposed meanwhile, and a file needs the room of a few spans.  What is reported when a server dies
 * may therefore be more than it had not stored, never less.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_cache_internal.h"
#include "zc_log.h"
#include "zc_retain.h"

enum { ASK_AGAIN_MOST = 64 }; /* times retry_ms: as failed pages are tried again */

int zc_retain_init(struct zc_cache *c, struct zc_file *f)
{
    zc_list_init(&f->retain.pages);
    zc_list_init(&f->retain.link);
    if (!zc_store_lossy(c->store))
        return 0;
    f->retain.servers = calloc(c->store->servers, sizeof *f->retain.servers);
    return f->retain.servers ? 0 : -ENOMEM;
}

void zc_retain_free(struct zc_file *f)
{
    zc_list_del(&f->retain.link);
    free(f->retain.servers);
    f->retain.servers = NULL;
}

/* ---- who ---- */

static bool pages_lie_at_one(const struct zc_cache *c, const struct zc_file *f)
{
    return c->store->servers == 1 || (f->block_size && f->block_size % c->page_size == 0);
}

static bool retains(const struct zc_cache *c, const struct zc_file *f)
{
    return f->retain.replay != ZC_REPLAY_OFF && !c->cfg.uncached && pages_lie_at_one(c, f);
}

static uint32_t server_of(struct zc_cache *c, const struct zc_page *p)
{
    return zc_store_server(p->file->wr, zc_page_offset(c, p));
}

bool zc_retain_pins(const struct zc_page *p)
{
    return zc_retain_strict(p->file) && !zc_extents_empty(&p->retained);
}

bool zc_retain_strict(const struct zc_file *f)
{
    return f->retain.servers && f->retain.replay == ZC_REPLAY_STRICT;
}

void zc_retain_choose(struct zc_cache *c, struct zc_file *f, unsigned flags)
{
    enum zc_replay wished = flags & ZC_OPEN_REPLAY_STRICT ? ZC_REPLAY_STRICT
                            : flags & ZC_OPEN_REPLAY      ? ZC_REPLAY_ON
                                                          : c->cfg.replay;

    if (!zc_list_empty(&f->retain.pages))
        return; /* which are as they were asked for */
    if (f->handles == 0 || wished > f->retain.replay)
        f->retain.replay = wished;
}

bool zc_retain_handed(const struct zc_file *f)
{
    zc_list_each (&f->retain.pages, n)
        if (zc_list_entry(n, struct zc_page, retained_link)->handed)
            return true;
    return false;
}

static void list_file(struct zc_cache *c, struct zc_file *f)
{
    if (!zc_list_linked(&f->retain.link))
        zc_list_add_tail(&c->retaining, &f->retain.link);
}

/* ---- exposed bytes ---- */

/* All that it has taken is stored, as what is written through it is by the time of the answer:
 * there would be no news of it. */
static bool is_clear(const struct zc_retain_server *s)
{
    return s->at.taken && s->at.stored >= s->at.taken;
}

static void add(struct zc_cache *c, struct zc_file *f, struct zc_retain_server *s, uint64_t lo,
                uint64_t hi)
{
    if (is_clear(s))
        return;
    list_file(c, f);
    zc_spans_add(&s->newer.spans, lo, hi, hi - lo);
    s->newer.number = s->at.taken;
}

/* Bytes of several blocks may be at several servers. */
void zc_retain_expose(struct zc_cache *c, struct zc_file *f, uint64_t lo, uint64_t hi)
{
    uint64_t block = c->store->servers > 1 && f->block_size ? f->block_size : UINT64_MAX;

    zc_assert_held(&c->lock);
    if (!f->retain.servers || !f->wr)
        return;
    while (lo < hi) {
        uint64_t room = block - lo % block, end = room < hi - lo ? lo + room : hi;

        add(c, f, &f->retain.servers[zc_store_server(f->wr, lo)], lo, end);
        lo = end;
    }
}

static void expose_extents(struct zc_cache *c, struct zc_page *p, const struct zc_extents *e)
{
    const struct zc_range *r = zc_extents_ranges(e);
    uint64_t start = zc_page_offset(c, p);

    for (uint32_t i = 0; i < e->n; i++)
        zc_retain_expose(c, p->file, start + r[i].lo, start + r[i].hi);
}

/* What is stored of it. */
static void exposed_end(struct zc_retain_server *s)
{
    for (int i = 0; i < 2 && s->at.stored >= s->older.number; i++) {
        s->older = s->newer;
        s->newer = (struct zc_exposed){0};
    }
}

static bool any_exposed(const struct zc_cache *c, const struct zc_file *f)
{
    return zc_retain_exposed(c, f) > 0;
}

uint64_t zc_retain_exposed(const struct zc_cache *c, const struct zc_file *f)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; f->retain.servers && i < c->store->servers; i++)
        sum += f->retain.servers[i].older.spans.bytes + f->retain.servers[i].newer.spans.bytes;
    return sum;
}

void zc_retain_forgive(struct zc_file *f, uint64_t lo, uint64_t hi)
{
    for (uint32_t i = 0; f->retain.servers && i < f->cache->store->servers; i++) {
        zc_spans_sub(&f->retain.servers[i].older.spans, lo, hi);
        zc_spans_sub(&f->retain.servers[i].newer.spans, lo, hi);
    }
}

/* ---- pages ---- */

static void count(struct zc_cache *c, struct zc_page *p, uint64_t more, uint64_t less)
{
    c->retained_bytes += more - less;
    p->file->retain.bytes += more - less;
}

/* The page retains nothing any more. */
static void release(struct zc_cache *c, struct zc_page *p)
{
    count(c, p, 0, zc_extents_bytes(&p->retained));
    zc_extents_clear(&p->retained);
    p->handed = false;
    zc_list_del(&p->retained_link);
}

/* The same, and its lists hear of it. */
static void release_and_place(struct zc_cache *c, struct zc_page *p)
{
    release(c, p);
    zc_page_trim(c, p);
    zc_page_place(c, p);
}

void zc_retain_let_go(struct zc_cache *c, struct zc_page *p)
{
    zc_assert_held(&c->lock);
    if (zc_extents_empty(&p->retained))
        return;
    expose_extents(c, p, &p->retained);
    release(c, p);
}

void zc_retain_cut(struct zc_cache *c, struct zc_page *p, uint32_t lo)
{
    uint64_t before = zc_extents_bytes(&p->retained);

    if (before == 0)
        return;
    zc_extents_sub(&p->retained, lo, c->page_size); /* a tail: needs no memory */
    count(c, p, zc_extents_bytes(&p->retained), before);
    if (zc_extents_empty(&p->retained))
        release(c, p);
}

void zc_retain_page(struct zc_cache *c, struct zc_page *p)
{
    struct zc_file *f = p->file;
    uint64_t before = zc_extents_bytes(&p->retained);
    struct zc_retain_server *s;

    zc_assert_held(&c->lock);
    if (!f->retain.servers || zc_extents_empty(&p->flushing))
        return;
    if (!retains(c, f)) {
        expose_extents(c, p, &p->flushing);
        return;
    }
    s = &f->retain.servers[server_of(c, p)];
    if (is_clear(s)) {
        zc_retain_stored(c, p);
        return;
    }
    if (zc_extents_merge(&p->retained, &p->flushing) < 0)
        abort(); /* zc_page_to_flushing() */
    count(c, p, zc_extents_bytes(&p->retained), before);
    if (before == 0 || p->flush_epoch < p->retained_epoch)
        p->retained_epoch = p->flush_epoch;
    p->retained_number = s->at.taken;
    if (before == 0)
        zc_list_add_tail(&f->retain.pages, &p->retained_link);
    list_file(c, f);
}

void zc_retain_stored(struct zc_cache *c, struct zc_page *p)
{
    if (!zc_extents_empty(&p->retained))
        release(c, p);
}

/* ---- how far the store has come ---- */

static void lose(struct zc_cache *c, struct zc_file *f, const struct zc_spans *s, const char *cause)
{
    struct zc_why why;

    if (s->n == 0)
        return;
    c->st.lost_exposed_bytes += s->bytes;
    zc_why_set(&why, -EIO, "%s", cause);
    zc_ledger_lose(c, f, s, &why);
}

/* What the page retains was lost by its server: it is dirty again. */
static void send_again(struct zc_cache *c, struct zc_page *p)
{
    uint64_t bytes = zc_extents_bytes(&p->retained);

    if (zc_page_again(c, p) == 0) {
        c->st.replayed_bytes += bytes;
    } else {
        const struct zc_range *r = zc_extents_ranges(&p->retained);
        uint64_t start = zc_page_offset(c, p);
        struct zc_spans s = {0};

        for (uint32_t i = 0; i < p->retained.n; i++)
            zc_spans_add(&s, start + r[i].lo, start + r[i].hi, r[i].hi - r[i].lo);
        lose(c, p->file, &s,
             "a daemon died before it had stored them, and there is no memory to send them again");
    }
    release_and_place(c, p);
}

/* With `s->at` as it was last. */
static void died(struct zc_cache *c, struct zc_file *f, uint32_t server)
{
    struct zc_retain_server *s = &f->retain.servers[server];
    uint64_t before = c->st.replayed_bytes;

    f->retain.deaths++;
    zc_list_each_safe (&f->retain.pages, n) {
        struct zc_page *p = zc_list_entry(n, struct zc_page, retained_link);

        if (server_of(c, p) != server)
            continue;
        if (p->retained_number <= s->at.stored)
            release_and_place(c, p);
        else
            send_again(c, p);
    }
    zc_spans_join(&s->older.spans, &s->newer.spans);
    lose(c, f, &s->older.spans,
         "a daemon died before it had stored them, and they were not in the cache any more");
    if (c->st.replayed_bytes > before)
        zc_info("%s: a daemon has died: %llu bytes that it had not stored are sent again", f->path,
                (unsigned long long)(c->st.replayed_bytes - before));
    f->retry_at = f->backoff = 0; /* what the dead one refused its successor may take */
    if (c->nclaimed >= c->npages)
        c->shrunk = true; /* pages in use could not be let go: zc_retain_make_room() */
    s->older = s->newer = (struct zc_exposed){0};
    s->synced = (struct zc_progress){0};
    if (c->store->servers == 1)
        f->ledger.unsure = (struct zc_spans){0}; /* stored, dirty or lost, all of it */
    zc_kick(c);
}

/* Lets go what is stored. */
static void stored(struct zc_cache *c, struct zc_file *f)
{
    zc_list_each_safe (&f->retain.pages, n) {
        struct zc_page *p = zc_list_entry(n, struct zc_page, retained_link);

        if (p->retained_number <= f->retain.servers[server_of(c, p)].at.stored)
            release_and_place(c, p);
    }
    for (uint32_t i = 0; i < c->store->servers; i++)
        exposed_end(&f->retain.servers[i]);
    if (zc_list_empty(&f->retain.pages) && !any_exposed(c, f))
        zc_list_del(&f->retain.link);
}

void zc_retain_look(struct zc_cache *c, struct zc_file *f)
{
    bool more = false;

    zc_assert_held(&c->lock);
    for (uint32_t i = 0; f->retain.servers && f->wr && i < c->store->servers; i++) {
        struct zc_retain_server *s = &f->retain.servers[i];
        struct zc_progress now;

        zc_store_progress(f->wr, i, &now);
        if (now.epoch != s->at.epoch) {
            died(c, f, i);
            s->at = (struct zc_progress){.epoch = now.epoch};
            more = true;
        }
        s->at.taken = now.taken;
        more = more || now.stored > s->at.stored;
        if (now.stored > s->at.stored)
            s->at.stored = now.stored;
    }
    if (more)
        stored(c, f);
}

void zc_retain_moved(struct zc_watch *w)
{
    struct zc_cache *c = zc_list_entry(w, struct zc_cache, watch);

    zc_lock_get(&c->lock);
    zc_list_each_safe (&c->retaining, n) {
        struct zc_file *f = zc_list_entry(n, struct zc_file, retain.link);

        zc_retain_look(c, f);
        zc_file_eager(c, f);
    }
    zc_list_each_safe (&c->failed_files, n)
        zc_retain_look(c, zc_list_entry(n, struct zc_file, failed_link));
    zc_cache_unlock(c);
}

void zc_retain_begin(struct zc_cache *c, struct zc_file *f)
{
    for (uint32_t i = 0; f->retain.servers && i < c->store->servers; i++) {
        struct zc_retain_server *s = &f->retain.servers[i];

        memset(s, 0, sizeof *s);
        zc_store_progress(f->wr, i, &s->at);
    }
}

void zc_retain_end(struct zc_cache *c, struct zc_file *f)
{
    zc_assert_held(&c->lock);
    zc_list_each_safe (&f->retain.pages, n)
        release_and_place(c, zc_list_entry(n, struct zc_page, retained_link));
    zc_retain_forgive(f, 0, UINT64_MAX);
    zc_list_del(&f->retain.link);
    f->retain.why.err = 0;
    f->retain.backoff = f->retain.ask_at = 0;
}

/* ---- syncs ---- */

void zc_retain_sync_begins(struct zc_cache *c, struct zc_file *f)
{
    zc_retain_look(c, f);
    for (uint32_t i = 0; f->retain.servers && i < c->store->servers; i++)
        f->retain.servers[i].synced = f->retain.servers[i].at;
}

/* Those who ask the store see it now, and may change it. */
static void hand(struct zc_cache *c, struct zc_file *f)
{
    zc_list_each (&f->retain.pages, n) {
        struct zc_page *p = zc_list_entry(n, struct zc_page, retained_link);

        if (p->retained_number <= f->retain.servers[server_of(c, p)].synced.taken)
            p->handed = true;
    }
}

void zc_retain_synced(struct zc_cache *c, struct zc_file *f, enum zc_level level, int rc)
{
    zc_retain_look(c, f);
    if (!f->retain.servers || rc < 0)
        return;
    for (uint32_t i = 0; level >= ZC_LEVEL_STORED && i < c->store->servers; i++) {
        struct zc_retain_server *s = &f->retain.servers[i];

        if (s->synced.epoch == s->at.epoch && s->synced.taken > s->at.stored)
            s->at.stored = s->synced.taken;
    }
    if (level >= ZC_LEVEL_STORED)
        stored(c, f);
    else
        hand(c, f);
}

/* ---- room ---- */

void zc_retain_stake(struct zc_cache *c, struct zc_page *p)
{
    bool at_stake = p->claimed || !zc_extents_empty(&p->retained);

    if (at_stake != p->at_stake)
        c->nstake += at_stake ? 1 : (uint64_t)-1;
    p->at_stake = at_stake;
}

void zc_retain_make_room(struct zc_cache *c)
{
    uint64_t spare = c->npages / 8 > 1 ? c->npages / 8 : 1; /* as zc_quota_healthy() has it */
    struct zc_page *p;

    while (c->nstake + spare > c->npages && (p = zc_lru_retained(c)) != NULL) {
        zc_retain_let_go(c, p);
        zc_page_place(c, p);
    }
}

struct zc_file *zc_retain_to_ask(struct zc_cache *c, uint64_t now, uint64_t *wake)
{
    zc_list_each (&c->retaining, n) {
        struct zc_file *f = zc_list_entry(n, struct zc_file, retain.link);

        if (!zc_retain_strict(f) || zc_list_empty(&f->retain.pages) || f->syncing || f->settling ||
            !f->wr)
            continue;
        if (f->retain.ask_at <= now)
            return f;
        if (f->retain.ask_at < *wake)
            *wake = f->retain.ask_at;
    }
    return NULL;
}

void zc_retain_asked(struct zc_cache *c, struct zc_file *f, const struct zc_why *why)
{
    struct zc_retain *r = &f->retain;
    uint64_t max = c->cfg.retry_ms * ASK_AGAIN_MOST * ZC_NS_PER_MS;

    r->why = *why;
    if (why->err == 0) {
        r->ask_at = r->backoff = 0;
        return;
    }
    r->backoff = r->backoff ? 2 * r->backoff : c->cfg.retry_ms * ZC_NS_PER_MS;
    if (r->backoff > max)
        r->backoff = max;
    r->ask_at = zc_now() + r->backoff;
}

const struct zc_why *zc_retain_stuck(const struct zc_cache *c)
{
    const struct zc_why *why = NULL;

    zc_list_each (&c->retaining, n) {
        const struct zc_file *f = zc_list_entry(n, struct zc_file, retain.link);

        if (!zc_retain_strict(f) || zc_list_empty(&f->retain.pages))
            continue;
        if (f->retain.why.err == 0)
            return NULL;
        why = &f->retain.why;
    }
    return why;
}
