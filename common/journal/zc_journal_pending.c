/* zc_journal_pending.c - finds the pending ranges of an earlier daemon's journal.
 *
 * The first pass of a replay reads no data.  Records are visited in order: the ranges of a DATA
 * become pending, those of a STORED, TRUNCATE or DISCARD stop being so.  A STORED covers records up
 * to its `until`, which may lie long before the STORED itself, so these are sorted by `until`
 * first.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_journal_replay.h"

/* A record that ends the pending state of ranges. */
struct zc_replay_removal {
    uint64_t key; /* last record that it covers */
    struct zc_record r;
};

int zc_replay_no_memory(const struct zc_replay_run *w)
{
    return zc_errorf(ENOMEM, "journal %s: out of memory", w->j->dir);
}

struct zc_journal_file *zc_replay_file(const struct zc_replay_run *w, const struct zc_record *r)
{
    const struct zc_scan *s = w->j->scan;

    return r->file < s->nfiles ? s->files[r->file] : NULL;
}

/* ---- pending ranges ---- */

static struct zc_list *bucket(struct zc_replay_run *w, const struct zc_replay *of, uint64_t no)
{
    uint64_t x = ((uintptr_t)of >> 4) * 0x9e3779b97f4a7c15ull + no * 0xd6e8feb86659fd93ull;

    return &w->buckets[(x >> 32) % ZC_REPLAY_BUCKETS];
}

struct zc_replay_page *zc_replay_find(struct zc_replay_run *w, const struct zc_replay *of,
                                      uint64_t no)
{
    zc_list_each (bucket(w, of, no), n) {
        struct zc_replay_page *p = zc_list_entry(n, struct zc_replay_page, hash);

        if (p->of == of && p->no == no)
            return p;
    }
    return NULL;
}

static struct zc_replay_page *find_or_make(struct zc_replay_run *w, struct zc_replay *of,
                                           uint64_t no)
{
    struct zc_replay_page *p = zc_replay_find(w, of, no);

    if (p || !(p = calloc(1, sizeof *p)))
        return p;
    p->of = of;
    p->no = no;
    zc_extents_init(&p->bytes);
    zc_extents_init(&p->same);
    zc_list_add_tail(&of->pages, &p->link);
    zc_list_add_tail(bucket(w, of, no), &p->hash);
    return p;
}

static void drop(struct zc_replay_page *p)
{
    zc_list_del(&p->link);
    zc_list_del(&p->hash);
    zc_extents_free(&p->bytes);
    zc_extents_free(&p->same);
    free(p);
}

/* Adds or removes [lo, hi) of the file. */
static int change(struct zc_replay_run *w, struct zc_replay *of, uint64_t lo, uint64_t hi, bool add)
{
    for (uint64_t next; lo < hi; lo = next) {
        uint64_t no = lo / ZC_COMPARE_PAGE, base = no * ZC_COMPARE_PAGE;
        struct zc_replay_page *p = add ? find_or_make(w, of, no) : zc_replay_find(w, of, no);
        uint32_t to;

        next = hi < base + ZC_COMPARE_PAGE ? hi : base + ZC_COMPARE_PAGE;
        to = (uint32_t)(next - base);
        if (!p && add)
            return zc_replay_no_memory(w);
        if (p && (add ? zc_extents_add(&p->bytes, (uint32_t)(lo - base), to)
                      : zc_extents_sub(&p->bytes, (uint32_t)(lo - base), to)) < 0)
            return zc_replay_no_memory(w);
        if (p && !add && zc_extents_empty(&p->bytes))
            drop(p);
    }
    return 0;
}

static int change_ranges(struct zc_replay_run *w, struct zc_replay *of, const struct zc_record *r,
                         bool add)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < r->nranges; i++) {
        uint32_t lo, len;

        zc_record_get_range(r, i, &lo, &len);
        rc = change(w, of, r->off + lo, r->off + lo + len, add);
    }
    return rc;
}

static int cut(struct zc_replay_run *w, struct zc_replay *of, uint64_t size)
{
    int rc = 0;

    zc_list_each_safe (&of->pages, n) {
        const struct zc_replay_page *p = zc_list_entry(n, struct zc_replay_page, link);
        uint64_t end = (p->no + 1) * ZC_COMPARE_PAGE;

        if (rc == 0 && end > size)
            rc = change(w, of, p->no * ZC_COMPARE_PAGE > size ? p->no * ZC_COMPARE_PAGE : size, end,
                        false);
    }
    return rc;
}

static int remove_one(struct zc_replay_run *w, const struct zc_record *r)
{
    struct zc_journal_file *f = zc_replay_file(w, r);

    if (!f || !f->old)
        return 0;
    if (r->kind == ZC_RECORD_STORED)
        return change_ranges(w, f->old, r, false);
    return cut(w, f->old, r->kind == ZC_RECORD_TRUNCATE ? r->until : 0);
}

static int remove_until(struct zc_replay_run *w, uint64_t seq)
{
    int rc = 0;

    for (; rc == 0 && w->next < w->n && w->removals[w->next].key < seq; w->next++)
        rc = remove_one(w, &w->removals[w->next].r);
    return rc;
}

/* ---- the first pass ---- */

static int collect(void *arg, const struct zc_record *r)
{
    struct zc_replay_run *w = arg;

    if (r->kind != ZC_RECORD_STORED && r->kind != ZC_RECORD_TRUNCATE &&
        r->kind != ZC_RECORD_DISCARD)
        return 0;
    if (r->kind == ZC_RECORD_STORED && !zc_record_sound(r))
        return 0;
    if (w->n == w->cap) {
        size_t cap = 2 * w->cap + 256;
        struct zc_replay_removal *more = realloc(w->removals, cap * sizeof *more);

        if (!more)
            return zc_replay_no_memory(w);
        w->removals = more;
        w->cap = cap;
    }
    w->removals[w->n++] = (struct zc_replay_removal){
        .key = r->kind == ZC_RECORD_TRUNCATE ? r->seq : r->until, .r = *r};
    return 0;
}

static int by_key(const void *a, const void *b)
{
    const struct zc_replay_removal *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->r.seq < y->r.seq ? -1 : x->r.seq > y->r.seq;
}

static int pend(void *arg, const struct zc_record *r)
{
    struct zc_replay_run *w = arg;
    struct zc_journal_file *f = zc_replay_file(w, r);
    int rc = remove_until(w, r->seq);

    if (rc || r->kind != ZC_RECORD_DATA || !f || !f->path || !zc_record_sound(r))
        return rc;
    if (!f->old) {
        f->old = calloc(1, sizeof *f->old);
        if (!f->old)
            return zc_replay_no_memory(w);
        zc_list_init(&f->old->pages);
        f->old->end = UINT64_MAX;
    }
    return change_ranges(w, f->old, r, true);
}

int zc_replay_walk(struct zc_replay_run *w, zc_scan_fn *fn)
{
    const struct zc_scan *s = w->j->scan;
    int rc = 0;

    for (unsigned i = 0; rc == 0 && i < s->n; i++) {
        const struct zc_scanned *g = &s->segments[i];
        uint64_t end;

        if (g->map)
            rc = zc_scan_walk(g->map, (size_t)g->segment->at, g->segment->number, true, fn, NULL, w,
                              &end);
    }
    return rc;
}

int zc_replay_find_pending(struct zc_replay_run *w)
{
    int rc = zc_replay_walk(w, collect);

    if (rc)
        return rc;
    if (w->n)
        qsort(w->removals, w->n, sizeof *w->removals, by_key);
    rc = zc_replay_walk(w, pend);
    while (rc == 0 && w->next < w->n)
        rc = remove_one(w, &w->removals[w->next++].r);
    return rc;
}

bool zc_replay_has_pending(const struct zc_journal_file *f)
{
    return f && f->old && !zc_list_empty(&f->old->pages);
}

/* ---- what is read of them ---- */

/* Finds the first pending range in [at, end). */
bool zc_replay_next_pending(struct zc_replay_run *w, const struct zc_journal_file *f, uint64_t at,
                            uint64_t end, struct zc_journal_span *next)
{
    while (at < end) {
        uint64_t base = at / ZC_COMPARE_PAGE * ZC_COMPARE_PAGE;
        uint32_t to = end < base + ZC_COMPARE_PAGE ? (uint32_t)(end - base) : ZC_COMPARE_PAGE;
        const struct zc_replay_page *p = zc_replay_find(w, f->old, at / ZC_COMPARE_PAGE);
        struct zc_range r;

        if (p && zc_extents_next(&p->bytes, (uint32_t)(at - base), to, &r)) {
            *next = (struct zc_journal_span){base + r.lo, base + r.hi};
            return true;
        }
        at = base + to;
    }
    return false;
}

/* Calls fn for each range of a DATA record. */
int zc_replay_each(struct zc_replay_run *w, const struct zc_record *r, struct zc_journal_file *f,
                   zc_replay_range_fn *fn)
{
    const unsigned char *bytes = r->body + (size_t)r->nranges * ZC_RECORD_RANGE;
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < r->nranges; i++) {
        uint32_t lo, len;

        zc_record_get_range(r, i, &lo, &len);
        rc = fn(w, f, r->off + lo, len, bytes);
        bytes += len;
    }
    return rc;
}

/* Returns where refused bytes of the file begin; UINT64_MAX: there are none. */
uint64_t zc_replay_refused_from(const struct zc_journal_file *f)
{
    return !zc_replay_has_pending(f)              ? UINT64_MAX
           : f->old->verdict == ZC_REPLAY_REFUSED ? 0
                                                  : f->old->end;
}

static int by_page(const void *a, const void *b)
{
    const struct zc_replay_page *x = *(struct zc_replay_page *const *)a,
                                *y = *(struct zc_replay_page *const *)b;

    return x->no < y->no ? -1 : x->no > y->no;
}

/* Collects the refused spans and the number of bytes in them.  At most ZC_JOURNAL_SPANS: the last
 * one then spans gaps. */
unsigned zc_replay_spans(struct zc_replay_run *w, struct zc_journal_file *f,
                         struct zc_journal_span s[ZC_JOURNAL_SPANS], uint64_t *bytes)
{
    struct zc_replay_page **pages;
    unsigned n = 0;
    size_t k = 0;

    *bytes = 0;
    zc_list_each (&f->old->pages, l)
        k++;
    pages = calloc(k + 1, sizeof *pages);
    k = 0;
    zc_list_each (&f->old->pages, l)
        if (pages)
            pages[k++] = zc_list_entry(l, struct zc_replay_page, link);
    if (k)
        qsort(pages, k, sizeof *pages, by_page);
    for (size_t i = 0; i < k; i++) {
        uint64_t at = pages[i]->no * ZC_COMPARE_PAGE, end = at + ZC_COMPARE_PAGE,
                 from = zc_replay_refused_from(f);
        struct zc_journal_span r;

        for (at = at > from ? at : from; zc_replay_next_pending(w, f, at, end, &r); at = r.hi) {
            *bytes += r.hi - r.lo;
            if (n && (s[n - 1].hi == r.lo || n == ZC_JOURNAL_SPANS))
                s[n - 1].hi = r.hi;
            else
                s[n++] = r;
        }
    }
    free(pages);
    return n;
}

void zc_replay_forget(struct zc_replay_run *w)
{
    const struct zc_scan *s = w->j->scan;

    zc_lock_get(&w->j->lock);
    for (uint32_t i = 0; i < s->nfiles; i++) {
        struct zc_journal_file *f = s->files[i];

        if (!f || !f->old)
            continue;
        while (!zc_list_empty(&f->old->pages))
            drop(zc_list_entry(f->old->pages.next, struct zc_replay_page, link));
        free(f->old);
        f->old = NULL;
    }
    zc_lock_put(&w->j->lock);
    free(w->removals);
}
