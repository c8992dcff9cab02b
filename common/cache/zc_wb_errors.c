/* zc_wb_errors.c - write-back errors of a file; see zc_wb_errors.h. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_cache_internal.h"
#include "zc_log.h"
#include "zc_wb_errors.h"

enum {
    LOSSES_MOST = 1000, /* files whose losses are listed by name */
    KEPT_MOST = 4096,   /* default of zc_cache_config.lost_files, some 3 KiB each */
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

/* Subtracts `by` from *bytes, down to 0. */
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

/* ---- losses by name, kept as long as the cache ---- */

struct loss {
    struct zc_list link; /* cache->losses */
    char *path;
    struct zc_spans spans;
    struct zc_error why; /* of the last loss */
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
                              .err = l->why.rc,
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

/* ---- syncs and losses ---- */

void zc_wb_errors_written(struct zc_file *f, uint64_t lo, uint64_t hi, uint64_t bytes)
{
    zc_assert_held(&f->cache->lock);
    zc_spans_add(&f->wb_errors.unsure, lo, hi, bytes);
}

void zc_wb_errors_lose(struct zc_cache *c, struct zc_file *f, const struct zc_spans *s,
                       const struct zc_error *why)
{
    struct loss *l;

    zc_assert_held(&c->lock);
    if (s->n > 0) {
        zc_error("%s: %" PRIu64 " bytes are lost, %u range%s within bytes %" PRIu64 "-%" PRIu64
                 ": %s",
                 f->path, s->bytes, s->n, s->n == 1 ? "" : "s", s->s[0].lo, s->s[s->n - 1].hi - 1,
                 why->text);
        c->st.lost_bytes += s->bytes;
        zc_spans_join(&f->wb_errors.lost, s);
        l = loss_of(c, f->path);
        if (l) {
            zc_spans_join(&l->spans, s);
            l->why = *why;
        }
    }
    f->wb_errors.lost_unknown = f->wb_errors.lost_unknown || s->n == 0;
    f->wb_errors.lost_why = *why; /* includes the file's name */
    if (f->wb_errors.lost.n > 0)
        zc_error_set(&f->wb_errors.lost_why, why->rc,
                     "%" PRIu64 " bytes within %" PRIu64 "-%" PRIu64 " may be lost: %s",
                     f->wb_errors.lost.bytes, f->wb_errors.lost.s[0].lo,
                     f->wb_errors.lost.s[f->wb_errors.lost.n - 1].hi - 1, why->text);
}

void zc_spans_add_page(struct zc_spans *s, struct zc_cache *c, const struct zc_page *p,
                       const struct zc_extents *e)
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

        zc_spans_add_page(&s, c, p, &p->dirty);
        zc_spans_add_page(&s, c, p, &p->flushing);
    }
    return s;
}

void zc_wb_errors_lose_unwritten(struct zc_cache *c, struct zc_file *f)
{
    struct zc_error why = f->write_why;
    struct zc_spans s = unwritten(c, f);

    if (s.n == 0)
        return;
    if (why.rc == 0)
        zc_error_set(&why, -ECANCELED, "it was not written back when the cache ended");
    zc_wb_errors_lose(c, f, &s, &why);
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
                                  .err = f->write_why.rc,
                                  .cause = f->write_why.rc ? f->write_why.text : ""};

            if (s.n > 0 && f->name != ZC_NAME_GONE)
                fn(arg, &out);
        }
    zc_lock_put(&c->lock);
}

/* Adds bytes that the store is accepting now, or has accepted without our knowledge. */
static void add_under_way(struct zc_cache *c, const struct zc_file *f, struct zc_spans *s)
{
    zc_list_each (&f->flushing, n) {
        const struct zc_page *p = zc_list_entry(n, struct zc_page, state_link);

        zc_spans_add_page(s, c, p, &p->flushing);
    }
    zc_list_each (&f->direct_writes, n) {
        const struct zc_direct_write *a = zc_list_entry(n, struct zc_direct_write, link);

        zc_spans_add(s, a->first << c->page_shift, a->end << c->page_shift,
                     (a->end - a->first) << c->page_shift);
    }
}

void zc_wb_errors_sync_begins(struct zc_file *f)
{
    zc_assert_held(&f->cache->lock);
    f->wb_errors.syncing = f->wb_errors.unsure;
    f->wb_errors.syncing_changes = f->validator.changes;
    f->wb_errors.syncing_over = false;
    f->wb_errors.unsure = (struct zc_spans){0};
}

void zc_wb_errors_synced(struct zc_cache *c, struct zc_file *f, enum zc_level level,
                         const struct zc_error *why)
{
    struct zc_spans about = f->wb_errors.syncing;
    bool remembers = c->store->remembers;

    zc_assert_held(&c->lock);
    f->wb_errors.syncing = (struct zc_spans){0};
    if (!why->rc && level >= ZC_LEVEL_DURABLE) {
        f->wb_errors.durable = f->wb_errors.syncing_changes;
        f->wb_errors.undurable_why.rc = 0;
    } else if (why->rc) {
        f->wb_errors.durable = ZC_NEVER_DURABLE;
    }
    if (why->rc && !remembers && level >= ZC_LEVEL_DURABLE) {
        zc_spans_join(&about, &f->wb_errors.unsure); /* stored meanwhile: may be concerned */
        f->wb_errors.unsure = (struct zc_spans){0};
        add_under_way(c, f, &about); /* so may these */
        if (about.n > 0 || !f->wb_errors.syncing_over)
            zc_wb_errors_lose(c, f, &about, why);
        /* else nothing of the file is left: the caller is told, and the next sync may succeed */
    } else if (why->rc || level < (remembers ? ZC_LEVEL_STORED : ZC_LEVEL_DURABLE)) {
        zc_spans_join(&f->wb_errors.unsure, &about);
    }
}

void zc_wb_errors_undurable(struct zc_file *f, const struct zc_error *why)
{
    zc_assert_held(&f->cache->lock);
    f->wb_errors.undurable = f->wb_errors.unsure;
    f->wb_errors.undurable_why = *why;
}

void zc_wb_errors_forgotten(struct zc_cache *c, struct zc_file *f)
{
    struct zc_wb_errors *l = &f->wb_errors;
    struct zc_error why;

    zc_assert_held(&c->lock);
    if (!l->undurable_why.rc)
        return;
    zc_error_set(&why, l->undurable_why.rc,
                 "a daemon could not sync what it had stored, and died: %s", l->undurable_why.text);
    zc_wb_errors_lose(c, f, &l->undurable, &why);
    l->undurable = (struct zc_spans){0};
    l->undurable_why.rc = 0;
}

bool zc_wb_errors_durable(const struct zc_file *f)
{
    zc_assert_held(&f->cache->lock);
    return !f->cache->store->remembers && f->wb_errors.durable == f->validator.changes;
}

void zc_wb_errors_clear(struct zc_file *f, uint64_t lo, uint64_t hi)
{
    struct zc_wb_errors *l = &f->wb_errors;

    zc_assert_held(&f->cache->lock);
    zc_spans_sub(&l->unsure, lo, hi);
    zc_spans_sub(&l->syncing, lo, hi);
    zc_spans_sub(&l->lost, lo, hi);
    if (l->undurable.n > 0 || (lo == 0 && hi == UINT64_MAX)) {
        zc_spans_sub(&l->undurable, lo, hi);
        l->undurable_why.rc = l->undurable.n > 0 ? l->undurable_why.rc : 0;
    }
    zc_unstable_forgive(f, lo, hi);
    if (lo == 0 && hi == UINT64_MAX) {
        l->lost_unknown = false;
        l->syncing_over = true;
    }
    if (l->lost.n == 0 && !l->lost_unknown)
        l->lost_why.rc = 0;
}

static unsigned most_kept(const struct zc_cache *c)
{
    return c->cfg.lost_files ? c->cfg.lost_files : KEPT_MOST;
}

static void forget_oldest(struct zc_cache *c)
{
    zc_list_each (&c->kept, n) {
        struct zc_file *f = zc_list_entry(n, struct zc_file, wb_errors.kept);

        if (!zc_file_unused(f))
            continue;
        zc_warn("%s: opens of it are not told any more what is lost of it: more than %u "
                "files have lost bytes",
                f->path, most_kept(c));
        if (c->late.rc == 0)
            c->late = f->wb_errors.lost_why;
        zc_file_destroy(f);
        return;
    }
}

void zc_wb_errors_keep(struct zc_cache *c, struct zc_file *f)
{
    zc_assert_held(&c->lock);
    if (!zc_list_linked(&f->wb_errors.kept)) {
        zc_list_add_tail(&c->kept, &f->wb_errors.kept);
        c->nkept++;
    }
    if (c->nkept > most_kept(c))
        forget_oldest(c);
}

void zc_wb_errors_unkeep(struct zc_file *f)
{
    f->cache->nkept -= zc_list_linked(&f->wb_errors.kept);
    zc_list_del(&f->wb_errors.kept);
}

/* ---- refused pages, and reports ---- */

void zc_wb_errors_page_refused(struct zc_cache *c, struct zc_page *p, enum zc_page_refused refused)
{
    bool failed = refused == ZC_REFUSED_ALONE, had_failed = p->refused == ZC_REFUSED_ALONE;
    struct zc_file *f = p->file;

    zc_assert_held(&c->lock);
    ZC_PAGE_MOVE(p, refused, refused);
    if (failed == had_failed)
        return;
    __atomic_store_n(&c->nrefused, c->nrefused + (failed ? 1 : -1), __ATOMIC_RELAXED);
    if (failed && f->nfailed++ == 0) {
        c->nbarred += f->nreserved;
    } else if (!failed && --f->nfailed == 0) {
        c->nbarred -= f->nreserved;
        f->write_why.rc = 0;
    }
}

bool zc_wb_errors_refused(struct zc_cache *c, const struct zc_file *f, struct zc_error *why)
{
    struct zc_spans s = {0};

    zc_assert_held(&c->lock);
    if (f->nfailed == 0)
        return false;
    zc_list_each (&f->failed, n) {
        const struct zc_page *p = zc_list_entry(n, struct zc_page, state_link);

        zc_spans_add_page(&s, c, p, &p->dirty);
    }
    *why = f->write_why;
    if (s.n == 1)
        zc_error_set(why, why->rc, "write of %s, %" PRIu64 " bytes at %" PRIu64 ": %s", f->path,
                     s.bytes, s.s[0].lo, f->write_why.text + f->write_why.cause);
    else if (s.n > 1)
        zc_error_set(why, why->rc,
                     "write of %s, %" PRIu64 " bytes in %u ranges within %" PRIu64 "-%" PRIu64
                     ": %s",
                     f->path, s.bytes, s.n, s.s[0].lo, s.s[s.n - 1].hi - 1,
                     f->write_why.text + f->write_why.cause);
    return true;
}

bool zc_wb_errors_check(struct zc_file *f, const struct zc_error *failed, uint64_t *told,
                        struct zc_error *why)
{
    struct zc_wb_errors *l = &f->wb_errors;

    zc_assert_held(&f->cache->lock);
    why->rc = 0;
    if (failed) {
        *why = *failed;
        if (told && ++*told > l->reports) {
            l->reports = *told;
            l->report_why = *failed;
        }
    } else if (l->lost_why.rc) {
        *why = l->lost_why;
        l->reported++;
        if (told)
            *told = l->reports;
    } else if (told && *told < l->reports) {
        *why = l->report_why;
        *told = l->reports;
    }
    return why->rc != 0;
}
