/* zc_ledger.c - what is owed of a file.  zc_ledger.h says what that is and when it ends. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_cache_internal.h"
#include "zc_ledger.h"
#include "zc_log.h"

enum {
    LOSSES_MOST = 1000, /* files whose losses are kept by name */
    KEPT_MOST = 4096,   /* files that are kept for them, some 3 KiB each */
};

/* ---- spans ---- */

static void close_gap(struct zc_spans *s, unsigned i)
{
    s->s[i].hi = s->s[i + 1].hi;
    s->n--;
    memmove(s->s + i + 1, s->s + i + 2, (s->n - i - 1) * sizeof s->s[0]);
}

static void close_smallest_gap(struct zc_spans *s)
{
    unsigned best = 0;

    for (unsigned i = 1; i + 1 < s->n; i++)
        if (s->s[i + 1].lo - s->s[i].hi < s->s[best + 1].lo - s->s[best].hi)
            best = i;
    close_gap(s, best);
}

/* Takes `by` of *bytes, as far as there are so many. */
static void less(uint64_t *bytes, uint64_t by)
{
    *bytes -= by < *bytes ? by : *bytes;
}

void zc_spans_add(struct zc_spans *s, uint64_t lo, uint64_t hi, uint64_t bytes)
{
    struct zc_span x = {lo, hi};
    unsigned i = 0, j;

    if (lo >= hi)
        return;
    if (s->n == ZC_SPANS)
        close_smallest_gap(s);
    s->bytes += bytes;
    while (i < s->n && s->s[i].hi < lo)
        i++;
    for (j = i; j < s->n && s->s[j].lo <= hi; j++) {
        uint64_t from = s->s[j].lo > lo ? s->s[j].lo : lo, to = s->s[j].hi < hi ? s->s[j].hi : hi;

        if (bytes == hi - lo && from < to)
            less(&s->bytes, to - from);
        x.lo = s->s[j].lo < x.lo ? s->s[j].lo : x.lo;
        x.hi = s->s[j].hi > x.hi ? s->s[j].hi : x.hi;
    }
    memmove(s->s + i + 1, s->s + j, (s->n - j) * sizeof s->s[0]);
    s->n += 1 - (j - i);
    s->s[i] = x;
}

void zc_spans_join(struct zc_spans *s, const struct zc_spans *more)
{
    uint64_t known = 0;

    for (unsigned i = 0; i < more->n; i++)
        known += more->s[i].hi - more->s[i].lo;
    for (unsigned i = 0; i < more->n; i++)
        zc_spans_add(s, more->s[i].lo, more->s[i].hi,
                     known == more->bytes ? more->s[i].hi - more->s[i].lo
                     : i == 0             ? more->bytes
                                          : 0);
}

void zc_spans_sub(struct zc_spans *s, uint64_t lo, uint64_t hi)
{
    struct zc_spans old = *s;
    uint64_t left = 0;

    s->n = 0;
    s->bytes = 0;
    for (unsigned i = 0; i < old.n; i++) {
        struct zc_span x = old.s[i];

        if (x.lo < lo)
            zc_spans_add(s, x.lo, x.hi < lo ? x.hi : lo, 0);
        if (x.hi > hi)
            zc_spans_add(s, x.lo > hi ? x.lo : hi, x.hi, 0);
    }
    for (unsigned i = 0; i < s->n; i++)
        left += s->s[i].hi - s->s[i].lo;
    s->bytes = left < old.bytes ? left : old.bytes;
}

/* ---- losses, by name, for as long as the cache lives ---- */

struct loss {
    struct zc_list link; /* cache->losses */
    char *path;
    struct zc_spans spans;
    struct zc_why why; /* of the last of them */
};

static struct loss *loss_of(struct zc_cache *c, const char *path)
{
    struct loss *l;

    zc_list_each (&c->losses, n) {
        l = zc_list_entry(n, struct loss, link);
        if (strcmp(l->path, path) == 0)
            return l;
    }
    l = c->nlosses < LOSSES_MOST ? calloc(1, sizeof *l) : NULL;
    if (l && !(l->path = strdup(path))) {
        free(l);
        l = NULL;
    }
    if (l) {
        zc_list_add_tail(&c->losses, &l->link);
        c->nlosses++;
    }
    return l;
}

void zc_cache_losses(struct zc_cache *c, void (*fn)(void *arg, const struct zc_loss *), void *arg)
{
    zc_lock_get(&c->lock);
    zc_list_each (&c->losses, n) {
        const struct loss *l = zc_list_entry(n, struct loss, link);
        struct zc_loss out = {.path = l->path,
                              .bytes = l->spans.bytes,
                              .spans = l->spans.s,
                              .nspans = l->spans.n,
                              .err = l->why.err,
                              .cause = l->why.text};

        fn(arg, &out);
    }
    zc_lock_put(&c->lock);
}

void zc_losses_free(struct zc_cache *c)
{
    struct zc_list *n;

    while ((n = zc_list_pop(&c->losses))) {
        struct loss *l = zc_list_entry(n, struct loss, link);

        free(l->path);
        free(l);
    }
}

/* ---- syncs, and what is lost ---- */

void zc_ledger_stored(struct zc_file *f, uint64_t lo, uint64_t hi, uint64_t bytes)
{
    zc_assert_held(&f->cache->lock);
    zc_spans_add(&f->ledger.unsure, lo, hi, bytes);
}

void zc_ledger_lose(struct zc_cache *c, struct zc_file *f, const struct zc_spans *s,
                    const struct zc_why *why)
{
    struct loss *l;

    zc_assert_held(&c->lock);
    if (s->n > 0) {
        zc_error("%s: %" PRIu64 " bytes are lost, %u range%s within bytes %" PRIu64 "-%" PRIu64
                 ": %s",
                 f->path, s->bytes, s->n, s->n == 1 ? "" : "s", s->s[0].lo, s->s[s->n - 1].hi - 1,
                 why->text);
        c->st.lost_bytes += s->bytes;
        zc_spans_join(&f->ledger.lost, s);
        l = loss_of(c, f->path);
        if (l) {
            zc_spans_join(&l->spans, s);
            l->why = *why;
        }
    }
    f->ledger.lost_unknown = f->ledger.lost_unknown || s->n == 0;
    f->ledger.lost_why = *why; /* which names the file */
    if (f->ledger.lost.n > 0)
        zc_why_set(&f->ledger.lost_why, why->err,
                   "%" PRIu64 " bytes within %" PRIu64 "-%" PRIu64 " may be lost: %s",
                   f->ledger.lost.bytes, f->ledger.lost.s[0].lo,
                   f->ledger.lost.s[f->ledger.lost.n - 1].hi - 1, why->text);
}

static void add_page(struct zc_cache *c, const struct zc_page *p, const struct zc_extents *e,
                     struct zc_spans *s)
{
    const struct zc_range *r = zc_extents_ranges(e);
    uint64_t start = zc_page_offset(c, p);

    for (uint32_t i = 0; i < e->n; i++)
        zc_spans_add(s, start + r[i].lo, start + r[i].hi, r[i].hi - r[i].lo);
}

static struct zc_spans unwritten(struct zc_cache *c, const struct zc_file *f)
{
    struct zc_spans s = {0};

    zc_list_each (&f->pages, n) {
        const struct zc_page *p = zc_list_entry(n, struct zc_page, file_link);

        add_page(c, p, &p->dirty, &s);
        add_page(c, p, &p->flushing, &s);
    }
    return s;
}

void zc_ledger_lose_unwritten(struct zc_cache *c, struct zc_file *f)
{
    struct zc_why why = f->write_why;
    struct zc_spans s = unwritten(c, f);

    if (s.n == 0)
        return;
    if (why.err == 0)
        zc_why_set(&why, -ECANCELED, "it was not written back when the cache ended");
    zc_ledger_lose(c, f, &s, &why);
}

void zc_cache_unwritten(struct zc_cache *c, void (*fn)(void *arg, const struct zc_loss *),
                        void *arg)
{
    zc_lock_get(&c->lock);
    for (unsigned i = 0; i < ZC_FILE_BUCKETS; i++)
        zc_list_each (&c->files[i], n) {
            const struct zc_file *f = zc_list_entry(n, struct zc_file, link);
            struct zc_spans s = unwritten(c, f);
            struct zc_loss out = {.path = f->path,
                                  .bytes = s.bytes,
                                  .spans = s.s,
                                  .nspans = s.n,
                                  .err = f->write_why.err,
                                  .cause = f->write_why.err ? f->write_why.text : ""};

            if (s.n > 0 && !f->unlinked)
                fn(arg, &out);
        }
    zc_lock_put(&c->lock);
}

/* Bytes that the store is taking now, or has taken without that we know. */
static void add_under_way(struct zc_cache *c, const struct zc_file *f, struct zc_spans *s)
{
    zc_list_each (&f->flushing, n) {
        const struct zc_page *p = zc_list_entry(n, struct zc_page, state_link);

        add_page(c, p, &p->flushing, s);
    }
    zc_list_each (&f->arounds, n) {
        const struct zc_around *a = zc_list_entry(n, struct zc_around, link);

        zc_spans_add(s, a->first << c->page_shift, a->end << c->page_shift,
                     (a->end - a->first) << c->page_shift);
    }
}

void zc_ledger_sync_begins(struct zc_file *f)
{
    zc_assert_held(&f->cache->lock);
    f->ledger.syncing = f->ledger.unsure;
    f->ledger.syncing_changes = f->token.changes;
    f->ledger.syncing_over = false;
    f->ledger.unsure = (struct zc_spans){0};
}

void zc_ledger_synced(struct zc_cache *c, struct zc_file *f, enum zc_level level,
                      const struct zc_why *why)
{
    struct zc_spans about = f->ledger.syncing;
    bool remembers = c->store->remembers;

    zc_assert_held(&c->lock);
    f->ledger.syncing = (struct zc_spans){0};
    if (!why->err && level >= ZC_LEVEL_DURABLE)
        f->ledger.durable = f->ledger.syncing_changes;
    else if (why->err)
        f->ledger.durable = ZC_NEVER_DURABLE;
    if (why->err && !remembers && level >= ZC_LEVEL_DURABLE) {
        zc_spans_join(&about, &f->ledger.unsure); /* stored meanwhile: it may have been these */
        f->ledger.unsure = (struct zc_spans){0};
        add_under_way(c, f, &about); /* or these */
        if (about.n > 0 || !f->ledger.syncing_over)
            zc_ledger_lose(c, f, &about, why);
        /* else nothing is left of the file: who asked is told, and the next sync may succeed */
    } else if (why->err || level < (remembers ? ZC_LEVEL_STORED : ZC_LEVEL_DURABLE)) {
        zc_spans_join(&f->ledger.unsure, &about);
    }
}

bool zc_ledger_durable(const struct zc_file *f)
{
    zc_assert_held(&f->cache->lock);
    return !f->cache->store->remembers && f->ledger.durable == f->token.changes;
}

void zc_ledger_forgive(struct zc_file *f, uint64_t lo, uint64_t hi)
{
    struct zc_ledger *l = &f->ledger;

    zc_assert_held(&f->cache->lock);
    zc_spans_sub(&l->unsure, lo, hi);
    zc_spans_sub(&l->syncing, lo, hi);
    zc_spans_sub(&l->lost, lo, hi);
    zc_retain_forgive(f, lo, hi);
    if (lo == 0 && hi == UINT64_MAX) {
        l->lost_unknown = false;
        l->syncing_over = true;
    }
    if (l->lost.n == 0 && !l->lost_unknown)
        l->lost_why.err = 0;
}

static void forget_oldest(struct zc_cache *c)
{
    zc_list_each (&c->kept, n) {
        struct zc_file *f = zc_list_entry(n, struct zc_file, ledger.kept);

        if (!zc_file_unused(f))
            continue;
        zc_warn("%s: nobody who opens it will be told any more what is lost of it: more than %d "
                "files have lost bytes",
                f->path, KEPT_MOST);
        if (c->late.err == 0)
            c->late = f->ledger.lost_why;
        zc_file_destroy(f);
        return;
    }
}

void zc_ledger_keep(struct zc_cache *c, struct zc_file *f)
{
    zc_assert_held(&c->lock);
    if (!zc_list_linked(&f->ledger.kept)) {
        zc_list_add_tail(&c->kept, &f->ledger.kept);
        c->nkept++;
    }
    if (c->nkept > KEPT_MOST)
        forget_oldest(c);
}

void zc_ledger_unkeep(struct zc_file *f)
{
    f->cache->nkept -= zc_list_linked(&f->ledger.kept);
    zc_list_del(&f->ledger.kept);
}

/* ---- what is refused, and who is told ---- */

void zc_ledger_page_failed(struct zc_cache *c, struct zc_page *p, bool failed)
{
    struct zc_file *f = p->file;

    zc_assert_held(&c->lock);
    if (p->failed == failed)
        return;
    p->failed = failed;
    __atomic_store_n(&c->nrefused, c->nrefused + (failed ? 1 : -1), __ATOMIC_RELAXED);
    if (failed && f->nfailed++ == 0) {
        c->nbarred += f->nclaimed;
    } else if (!failed && --f->nfailed == 0) {
        c->nbarred -= f->nclaimed;
        f->write_why.err = 0;
    }
}

bool zc_ledger_refused(struct zc_cache *c, const struct zc_file *f, struct zc_why *why)
{
    struct zc_spans s = {0};

    zc_assert_held(&c->lock);
    if (f->nfailed == 0)
        return false;
    zc_list_each (&f->failed, n) {
        const struct zc_page *p = zc_list_entry(n, struct zc_page, state_link);

        add_page(c, p, &p->dirty, &s);
    }
    *why = f->write_why;
    if (s.n == 1)
        zc_why_set(why, why->err, "write of %s, %" PRIu64 " bytes at %" PRIu64 ": %s", f->path,
                   s.bytes, s.s[0].lo, f->write_why.cause);
    else if (s.n > 1)
        zc_why_set(why, why->err,
                   "write of %s, %" PRIu64 " bytes in %u ranges within %" PRIu64 "-%" PRIu64 ": %s",
                   f->path, s.bytes, s.n, s.s[0].lo, s.s[s.n - 1].hi - 1, f->write_why.cause);
    return true;
}

bool zc_ledger_verdict(struct zc_file *f, const struct zc_why *failed, uint64_t *told,
                       struct zc_why *why)
{
    struct zc_ledger *l = &f->ledger;

    zc_assert_held(&f->cache->lock);
    why->err = 0;
    if (failed) {
        *why = *failed;
        if (told && ++*told > l->reports) {
            l->reports = *told;
            l->report_why = *failed;
        }
    } else if (l->lost_why.err) {
        *why = l->lost_why;
        l->told++;
        if (told)
            *told = l->reports;
    } else if (told && *told < l->reports) {
        *why = l->report_why;
        *told = l->reports;
    }
    return why->err != 0;
}
