/* zc_unstable.c - unstable bytes: accepted by a lossy store and not stored yet.  zc_unstable.h
 * describes their life.
 *
 * A page has one store number for all its kept bytes, that of its last store write, which is not
 * less than that of any byte; so a page that is written all the time is released once writing
 * pauses.  A page lies in one block, hence at one server; where blocks are smaller than pages
 * nothing is kept.
 *
 * Unprotected bytes of a server are in two generations.  New ones join the newer, whose number
 * grows with them; when the older one is stored the newer takes its place.  So each ends, however
 * many bytes become unprotected meanwhile, and a file needs memory for a few spans only.  After the
 * death of a server more may be reported as lost than it had not stored, never less.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_cache_internal.h"
#include "zc_log.h"
#include "zc_unstable.h"

enum { ASK_AGAIN_MOST = 64 }; /* times retry_ms, as for failed pages */

int zc_unstable_init(struct zc_cache *c, struct zc_file *f)
{
    zc_list_init(&f->unstable.pages);
    zc_list_init(&f->unstable.link);
    if (!zc_store_lossy(c->store))
        return 0;
    f->unstable.servers = calloc(c->store->servers, sizeof *f->unstable.servers);
    return f->unstable.servers ? 0 : -ENOMEM;
}

void zc_unstable_free(struct zc_file *f)
{
    zc_list_del(&f->unstable.link);
    free(f->unstable.servers);
    f->unstable.servers = NULL;
}

/* ---- servers ---- */

static bool pages_lie_at_one(const struct zc_cache *c, const struct zc_file *f)
{
    return c->store->servers == 1 || (f->block_size && f->block_size % c->page_size == 0);
}

static bool retains(const struct zc_cache *c, const struct zc_file *f)
{
    return f->unstable.replay != ZC_REPLAY_OFF && !c->cfg.uncached && pages_lie_at_one(c, f);
}

static uint32_t server_of(struct zc_cache *c, const struct zc_page *p)
{
    return zc_store_server(p->file->wr, zc_page_offset(c, p));
}

bool zc_unstable_pins(const struct zc_page *p)
{
    return zc_unstable_strict(p->file) && !zc_extents_empty(&p->kept);
}

bool zc_unstable_strict(const struct zc_file *f)
{
    return f->unstable.servers && f->unstable.replay == ZC_REPLAY_STRICT;
}

void zc_unstable_choose(struct zc_cache *c, struct zc_file *f, unsigned flags)
{
    enum zc_replay wished = flags & ZC_OPEN_REPLAY_STRICT ? ZC_REPLAY_STRICT
                            : flags & ZC_OPEN_REPLAY      ? ZC_REPLAY_ON
                                                          : c->cfg.replay;

    if (!zc_list_empty(&f->unstable.pages))
        return; /* they keep the mode they were opened with */
    if (f->handles == 0 || wished > f->unstable.replay)
        f->unstable.replay = wished;
}

bool zc_unstable_published(const struct zc_file *f)
{
    zc_list_each (&f->unstable.pages, n)
        if (zc_list_entry(n, struct zc_page, kept_link)->published)
            return true;
    return false;
}

static void list_file(struct zc_cache *c, struct zc_file *f)
{
    if (!zc_list_linked(&f->unstable.link))
        zc_list_add_tail(&c->unstable_files, &f->unstable.link);
}

/* ---- unprotected bytes ---- */

/* Whether all accepted bytes are stored, and those written through it are stored on reply: no
 * further progress will be reported. */
static bool is_clear(const struct zc_unstable_server *s)
{
    return s->at.unstable_seq && s->at.committed_seq >= s->at.unstable_seq;
}

static void add(struct zc_cache *c, struct zc_file *f, struct zc_unstable_server *s, uint64_t lo,
                uint64_t hi)
{
    if (is_clear(s))
        return;
    list_file(c, f);
    zc_spans_add(&s->newer.spans, lo, hi, hi - lo);
    s->newer.number = s->at.unstable_seq;
}

/* Bytes of several blocks may be at several servers. */
void zc_unstable_unprotect(struct zc_cache *c, struct zc_file *f, uint64_t lo, uint64_t hi)
{
    uint64_t block = c->store->servers > 1 && f->block_size ? f->block_size : UINT64_MAX;

    zc_assert_held(&c->lock);
    if (!f->unstable.servers || !f->wr)
        return;
    while (lo < hi) {
        uint64_t room = block - lo % block, end = room < hi - lo ? lo + room : hi;

        add(c, f, &f->unstable.servers[zc_store_server(f->wr, lo)], lo, end);
        lo = end;
    }
}

static void expose_extents(struct zc_cache *c, struct zc_page *p, const struct zc_extents *e)
{
    const struct zc_range *r = zc_extents_ranges(e);
    uint64_t start = zc_page_offset(c, p);

    for (uint32_t i = 0; i < e->n; i++)
        zc_unstable_unprotect(c, p->file, start + r[i].lo, start + r[i].hi);
}

/* Ends the generations that are stored. */
static void exposed_end(struct zc_unstable_server *s)
{
    for (int i = 0; i < 2 && s->at.committed_seq >= s->older.number; i++) {
        s->older = s->newer;
        s->newer = (struct zc_unprotected){0};
    }
}

static bool any_exposed(const struct zc_cache *c, const struct zc_file *f)
{
    return zc_unstable_unprotected(c, f) > 0;
}

uint64_t zc_unstable_unprotected(const struct zc_cache *c, const struct zc_file *f)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; f->unstable.servers && i < c->store->servers; i++)
        sum += f->unstable.servers[i].older.spans.bytes + f->unstable.servers[i].newer.spans.bytes;
    return sum;
}

void zc_unstable_forgive(struct zc_file *f, uint64_t lo, uint64_t hi)
{
    for (uint32_t i = 0; f->unstable.servers && i < f->cache->store->servers; i++) {
        zc_spans_sub(&f->unstable.servers[i].older.spans, lo, hi);
        zc_spans_sub(&f->unstable.servers[i].newer.spans, lo, hi);
    }
}

/* ---- pages ---- */

static void count(struct zc_cache *c, struct zc_page *p, uint64_t more, uint64_t less)
{
    c->retained_bytes += more - less;
    p->file->unstable.bytes += more - less;
}

/* Ends the page's kept bytes. */
static void release(struct zc_cache *c, struct zc_page *p)
{
    count(c, p, 0, zc_extents_bytes(&p->kept));
    zc_extents_clear(&p->kept);
    p->published = false;
    zc_list_del(&p->kept_link);
}

/* Ends the page's kept bytes, and places the page. */
static void release_and_place(struct zc_cache *c, struct zc_page *p)
{
    release(c, p);
    zc_page_trim(c, p);
    zc_page_place(c, p);
}

void zc_unstable_release(struct zc_cache *c, struct zc_page *p)
{
    zc_assert_held(&c->lock);
    if (zc_extents_empty(&p->kept))
        return;
    expose_extents(c, p, &p->kept);
    release(c, p);
}

void zc_unstable_release_part(struct zc_cache *c, struct zc_page *p, uint32_t lo, uint32_t hi)
{
    uint64_t before = zc_extents_bytes(&p->kept), start = zc_page_offset(c, p);
    struct zc_range r = {lo, lo};

    zc_assert_held(&c->lock);
    while (zc_extents_next(&p->kept, r.hi, hi, &r))
        zc_unstable_unprotect(c, p->file, start + r.lo, start + r.hi);
    if (zc_extents_sub(&p->kept, lo, hi) < 0) {
        zc_unstable_release(c, p);
        return;
    }
    count(c, p, zc_extents_bytes(&p->kept), before);
    if (before > 0 && zc_extents_empty(&p->kept))
        release(c, p);
}

void zc_unstable_truncate(struct zc_cache *c, struct zc_page *p, uint32_t lo)
{
    uint64_t before = zc_extents_bytes(&p->kept);

    if (before == 0)
        return;
    zc_extents_sub(&p->kept, lo, c->page_size); /* a tail: needs no memory */
    count(c, p, zc_extents_bytes(&p->kept), before);
    if (zc_extents_empty(&p->kept))
        release(c, p);
}

void zc_unstable_page(struct zc_cache *c, struct zc_page *p)
{
    struct zc_file *f = p->file;
    uint64_t before = zc_extents_bytes(&p->kept);
    struct zc_unstable_server *s;

    zc_assert_held(&c->lock);
    if (!f->unstable.servers || zc_extents_empty(&p->flushing))
        return;
    s = &f->unstable.servers[server_of(c, p)];
    if (pages_lie_at_one(c, f) && s->at.unstable_seq > 0 &&
        s->at.unstable_seq <= s->at.committed_seq) {
        zc_unstable_committed(c, p); /* of a server that stores on reply */
        return;
    }
    if (!retains(c, f)) {
        expose_extents(c, p, &p->flushing);
        return;
    }
    s = &f->unstable.servers[server_of(c, p)];
    if (is_clear(s)) {
        zc_unstable_committed(c, p);
        return;
    }
    if (zc_extents_merge(&p->kept, &p->flushing) < 0)
        abort(); /* zc_page_to_flushing() */
    count(c, p, zc_extents_bytes(&p->kept), before);
    if (before == 0 || p->flush_epoch < p->kept_epoch)
        p->kept_epoch = p->flush_epoch;
    p->kept_seq = s->at.unstable_seq;
    if (before == 0)
        zc_list_add_tail(&f->unstable.pages, &p->kept_link);
    list_file(c, f);
}

void zc_unstable_committed(struct zc_cache *c, struct zc_page *p)
{
    if (!zc_extents_empty(&p->kept))
        release(c, p);
}

/* ---- progress of the store ---- */

static void lose(struct zc_cache *c, struct zc_file *f, const struct zc_spans *s, const char *cause)
{
    struct zc_error why;

    if (s->n == 0)
        return;
    c->st.lost_exposed_bytes += s->bytes;
    zc_error_set(&why, -EIO, "%s", cause);
    zc_wb_errors_lose(c, f, s, &why);
}

/* Makes the kept bytes of the page, lost by their server, dirty again. */
static void send_again(struct zc_cache *c, struct zc_page *p)
{
    uint64_t bytes = zc_extents_bytes(&p->kept);

    if (zc_page_again(c, p) == 0) {
        c->st.replayed_bytes += bytes;
    } else {
        struct zc_spans s = {0};

        zc_spans_add_page(&s, c, p, &p->kept);
        lose(c, p->file, &s,
             "a daemon died before it had stored them, and there is no memory to send them again");
    }
    release_and_place(c, p);
}

/* Handles the death of a server; `s->at`: its last progress. */
static void died(struct zc_cache *c, struct zc_file *f, uint32_t server)
{
    struct zc_unstable_server *s = &f->unstable.servers[server];
    uint64_t before = c->st.replayed_bytes;

    f->unstable.deaths++;
    zc_list_each_safe (&f->unstable.pages, n) {
        struct zc_page *p = zc_list_entry(n, struct zc_page, kept_link);

        if (server_of(c, p) != server)
            continue;
        if (p->kept_seq <= s->at.committed_seq)
            release_and_place(c, p);
        else
            send_again(c, p);
    }
    zc_spans_join(&s->older.spans, &s->newer.spans);
    lose(c, f, &s->older.spans,
         "a daemon died before it had stored them, and they were not in the cache any more");
    zc_wb_errors_forgotten(c, f);
    if (c->st.replayed_bytes > before)
        zc_info("%s: a daemon has died: %llu bytes that it had not stored are sent again", f->path,
                (unsigned long long)(c->st.replayed_bytes - before));
    f->retry_at = f->backoff = 0; /* what the dead server refused its successor may accept */
    if (c->nreserved >= c->npages)
        c->shrunk = true; /* pages in use could not be released: zc_unstable_make_room() */
    s->older = s->newer = (struct zc_unprotected){0};
    s->synced = (struct zc_progress){0};
    if (c->store->servers == 1)
        f->wb_errors.unsure = (struct zc_spans){0}; /* stored, dirty or lost, all of it */
    zc_kick(c);
}

/* Releases what is stored. */
static void stored(struct zc_cache *c, struct zc_file *f)
{
    zc_list_each_safe (&f->unstable.pages, n) {
        struct zc_page *p = zc_list_entry(n, struct zc_page, kept_link);

        if (p->kept_seq <= f->unstable.servers[server_of(c, p)].at.committed_seq)
            release_and_place(c, p);
    }
    for (uint32_t i = 0; i < c->store->servers; i++)
        exposed_end(&f->unstable.servers[i]);
    if (zc_list_empty(&f->unstable.pages) && !any_exposed(c, f))
        zc_list_del(&f->unstable.link);
}

void zc_unstable_update(struct zc_cache *c, struct zc_file *f)
{
    bool more = false;

    zc_assert_held(&c->lock);
    for (uint32_t i = 0; f->unstable.servers && f->wr && i < c->store->servers; i++) {
        struct zc_unstable_server *s = &f->unstable.servers[i];
        struct zc_progress now;

        zc_store_progress(f->wr, i, &now);
        if (now.verifier != s->at.verifier) {
            died(c, f, i);
            s->at = (struct zc_progress){.verifier = now.verifier};
            more = true;
        }
        s->at.unstable_seq = now.unstable_seq;
        more = more || now.committed_seq > s->at.committed_seq;
        if (now.committed_seq > s->at.committed_seq)
            s->at.committed_seq = now.committed_seq;
    }
    if (more)
        stored(c, f);
}

void zc_unstable_moved(struct zc_watch *w)
{
    struct zc_cache *c = zc_list_entry(w, struct zc_cache, watch);

    zc_lock_get(&c->lock);
    zc_list_each_safe (&c->unstable_files, n) {
        struct zc_file *f = zc_list_entry(n, struct zc_file, unstable.link);

        zc_unstable_update(c, f);
        zc_file_flush_now(c, f);
    }
    zc_list_each_safe (&c->failed_files, n)
        zc_unstable_update(c, zc_list_entry(n, struct zc_file, failed_link));
    zc_cache_unlock(c);
}

void zc_unstable_begin(struct zc_cache *c, struct zc_file *f)
{
    for (uint32_t i = 0; f->unstable.servers && i < c->store->servers; i++) {
        struct zc_unstable_server *s = &f->unstable.servers[i];

        memset(s, 0, sizeof *s);
        zc_store_progress(f->wr, i, &s->at);
    }
}

void zc_unstable_end(struct zc_cache *c, struct zc_file *f)
{
    zc_assert_held(&c->lock);
    zc_list_each_safe (&f->unstable.pages, n)
        release_and_place(c, zc_list_entry(n, struct zc_page, kept_link));
    zc_unstable_forgive(f, 0, UINT64_MAX);
    zc_list_del(&f->unstable.link);
    f->unstable.why.rc = 0;
    f->unstable.backoff = f->unstable.ask_at = 0;
}

/* ---- syncs ---- */

void zc_unstable_sync_begins(struct zc_cache *c, struct zc_file *f)
{
    zc_unstable_update(c, f);
    for (uint32_t i = 0; f->unstable.servers && i < c->store->servers; i++)
        f->unstable.servers[i].synced = f->unstable.servers[i].at;
}

/* Publishes unstable bytes after a sync: other jobs read them from the store, and may change
 * them. */
static void hand(struct zc_cache *c, struct zc_file *f)
{
    zc_list_each (&f->unstable.pages, n) {
        struct zc_page *p = zc_list_entry(n, struct zc_page, kept_link);

        if (p->kept_seq <= f->unstable.servers[server_of(c, p)].synced.unstable_seq)
            p->published = true;
    }
}

void zc_unstable_synced(struct zc_cache *c, struct zc_file *f, enum zc_level level, int rc)
{
    zc_unstable_update(c, f);
    if (!f->unstable.servers || rc < 0)
        return;
    for (uint32_t i = 0; level >= ZC_LEVEL_STORED && i < c->store->servers; i++) {
        struct zc_unstable_server *s = &f->unstable.servers[i];

        if (s->synced.verifier == s->at.verifier && s->synced.unstable_seq > s->at.committed_seq)
            s->at.committed_seq = s->synced.unstable_seq;
    }
    if (level >= ZC_LEVEL_STORED)
        stored(c, f);
    else
        hand(c, f);
}

/* ---- room ---- */

void zc_unstable_make_room(struct zc_cache *c)
{
    uint64_t spare = c->npages / 8 > 1 ? c->npages / 8 : 1; /* as in zc_dirty_limit_healthy() */
    struct zc_page *p;

    while (c->npins_unstable + spare > c->npages && (p = zc_lru_kept(c)) != NULL) {
        zc_unstable_release(c, p);
        zc_page_place(c, p);
    }
}

struct zc_file *zc_unstable_to_ask(struct zc_cache *c, uint64_t now, uint64_t *wake)
{
    zc_list_each (&c->unstable_files, n) {
        struct zc_file *f = zc_list_entry(n, struct zc_file, unstable.link);

        if (!zc_unstable_strict(f) || zc_list_empty(&f->unstable.pages) || f->syncing ||
            f->ctl == ZC_CTL_SETTLING || !f->wr)
            continue;
        if (f->unstable.ask_at <= now)
            return f;
        if (f->unstable.ask_at < *wake)
            *wake = f->unstable.ask_at;
    }
    return NULL;
}

void zc_unstable_asked(struct zc_cache *c, struct zc_file *f, const struct zc_error *why)
{
    struct zc_unstable *r = &f->unstable;
    uint64_t max = c->cfg.retry_ms * ASK_AGAIN_MOST * ZC_NS_PER_MS;

    r->why = *why;
    if (why->rc == 0) {
        r->ask_at = r->backoff = 0;
        return;
    }
    r->backoff = r->backoff ? 2 * r->backoff : c->cfg.retry_ms * ZC_NS_PER_MS;
    if (r->backoff > max)
        r->backoff = max;
    r->ask_at = zc_now() + r->backoff;
}

const struct zc_error *zc_unstable_stuck(const struct zc_cache *c)
{
    const struct zc_error *why = NULL;

    zc_list_each (&c->unstable_files, n) {
        const struct zc_file *f = zc_list_entry(n, struct zc_file, unstable.link);

        if (!zc_unstable_strict(f) || zc_list_empty(&f->unstable.pages))
            continue;
        if (f->unstable.why.rc == 0)
            return NULL;
        why = &f->unstable.why;
    }
    return why;
}
