/* zc_journal_replay.c - what an earlier daemon had taken and not stored goes to where it belongs.
 *
 * First which bytes these are, without looking at any: records are gone through in order; what a
 * DATA brings is pending, and what a STORED, CUT or VOID is about is not any more.  A STORED is
 * about records up to its `until`, which may be well before where it lies itself, so these are
 * sorted by that first.  Then the DATA are gone through once more, and what is pending of each is
 * written, older ones before newer ones: so what was written last is there in the end.
 *
 * Meanwhile the cache stores what it is given, and this is noted as ever, but as being about no
 * record behind the last that it has been given (zc_journal.given): a start that fails, or dies,
 * leaves what was not its turn yet to the next one.
 *
 * Whether a file is still the one that the bytes are for is decided of all files before anything is
 * written (zc_journal.h says how).  Only then this daemon gives signs of life: when it fails
 * before, what others do to a file until the next start is still later than the last one of the
 * daemon that left it.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_journal_internal.h"

enum { PAGE = 1 << 20, BUCKETS = 1 << 12 };

/* Of a file. */
struct zc_replay {
    struct zc_list pages; /* struct pending */
    enum { UNKNOWN, GOOD, REFUSED } verdict;
    uint64_t number; /* of what was written, as the sink has it */
};

/* What is pending of PAGE bytes of it. */
struct pending {
    struct zc_list link, hash;
    const struct zc_replay *of;
    uint64_t no;
    struct zc_extents bytes;
};

/* A record after which something is not pending any more. */
struct removal {
    uint64_t key; /* the last record that it is about */
    struct zc_record r;
};

struct replaying {
    struct zc_journal *j;
    const struct zc_journal_sink *sink;
    struct zc_journal_replayed *out;
    struct zc_list buckets[BUCKETS];
    struct removal *removals;
    size_t n, cap, next;
    struct zc_journal_file *open; /* in `file` */
    void *file;
};

static int no_memory(const struct replaying *w)
{
    return zc_errorf(ENOMEM, "journal %s: out of memory", w->j->dir);
}

static struct zc_journal_file *file_of(const struct replaying *w, const struct zc_record *r)
{
    const struct zc_scan *s = w->j->scan;

    return r->file < s->nfiles ? s->files[r->file] : NULL;
}

/* ---- what is pending ---- */

static struct zc_list *bucket(struct replaying *w, const struct zc_replay *of, uint64_t no)
{
    uint64_t x = ((uintptr_t)of >> 4) * 0x9e3779b97f4a7c15ull + no * 0xd6e8feb86659fd93ull;

    return &w->buckets[(x >> 32) % BUCKETS];
}

static struct pending *find(struct replaying *w, const struct zc_replay *of, uint64_t no)
{
    zc_list_each (bucket(w, of, no), n) {
        struct pending *p = zc_list_entry(n, struct pending, hash);

        if (p->of == of && p->no == no)
            return p;
    }
    return NULL;
}

static struct pending *find_or_make(struct replaying *w, struct zc_replay *of, uint64_t no)
{
    struct pending *p = find(w, of, no);

    if (p || !(p = calloc(1, sizeof *p)))
        return p;
    p->of = of;
    p->no = no;
    zc_extents_init(&p->bytes);
    zc_list_add_tail(&of->pages, &p->link);
    zc_list_add_tail(bucket(w, of, no), &p->hash);
    return p;
}

static void drop(struct pending *p)
{
    zc_list_del(&p->link);
    zc_list_del(&p->hash);
    zc_extents_free(&p->bytes);
    free(p);
}

/* Adds or removes [lo, hi) of the file. */
static int change(struct replaying *w, struct zc_replay *of, uint64_t lo, uint64_t hi, bool add)
{
    for (uint64_t next; lo < hi; lo = next) {
        uint64_t no = lo / PAGE, base = no * PAGE;
        struct pending *p = add ? find_or_make(w, of, no) : find(w, of, no);
        uint32_t to;

        next = hi < base + PAGE ? hi : base + PAGE;
        to = (uint32_t)(next - base);
        if (!p && add)
            return no_memory(w);
        if (p && (add ? zc_extents_add(&p->bytes, (uint32_t)(lo - base), to)
                      : zc_extents_sub(&p->bytes, (uint32_t)(lo - base), to)) < 0)
            return no_memory(w);
        if (p && !add && zc_extents_empty(&p->bytes))
            drop(p);
    }
    return 0;
}

static int change_ranges(struct replaying *w, struct zc_replay *of, const struct zc_record *r,
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

static int cut(struct replaying *w, struct zc_replay *of, uint64_t size)
{
    int rc = 0;

    zc_list_each_safe (&of->pages, n) {
        const struct pending *p = zc_list_entry(n, struct pending, link);
        uint64_t end = (p->no + 1) * PAGE;

        if (rc == 0 && end > size)
            rc = change(w, of, p->no * PAGE > size ? p->no * PAGE : size, end, false);
    }
    return rc;
}

static int remove_one(struct replaying *w, const struct zc_record *r)
{
    struct zc_journal_file *f = file_of(w, r);

    if (!f || !f->old)
        return 0;
    if (r->kind == ZC_RECORD_STORED)
        return change_ranges(w, f->old, r, false);
    return cut(w, f->old, r->kind == ZC_RECORD_CUT ? r->until : 0);
}

static int remove_until(struct replaying *w, uint64_t seq)
{
    int rc = 0;

    for (; rc == 0 && w->next < w->n && w->removals[w->next].key < seq; w->next++)
        rc = remove_one(w, &w->removals[w->next].r);
    return rc;
}

/* ---- the first time through ---- */

static int collect(void *arg, const struct zc_record *r)
{
    struct replaying *w = arg;

    if (r->kind != ZC_RECORD_STORED && r->kind != ZC_RECORD_CUT && r->kind != ZC_RECORD_VOID)
        return 0;
    if (r->kind == ZC_RECORD_STORED && !zc_record_sound(r))
        return 0;
    if (w->n == w->cap) {
        size_t cap = 2 * w->cap + 256;
        struct removal *more = realloc(w->removals, cap * sizeof *more);

        if (!more)
            return no_memory(w);
        w->removals = more;
        w->cap = cap;
    }
    w->removals[w->n++] =
        (struct removal){.key = r->kind == ZC_RECORD_CUT ? r->seq : r->until, .r = *r};
    return 0;
}

static int by_key(const void *a, const void *b)
{
    const struct removal *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->r.seq < y->r.seq ? -1 : x->r.seq > y->r.seq;
}

static int pend(void *arg, const struct zc_record *r)
{
    struct replaying *w = arg;
    struct zc_journal_file *f = file_of(w, r);
    int rc = remove_until(w, r->seq);

    if (rc || r->kind != ZC_RECORD_DATA || !f || !f->path || !zc_record_sound(r))
        return rc;
    if (!f->old) {
        f->old = calloc(1, sizeof *f->old);
        if (!f->old)
            return no_memory(w);
        zc_list_init(&f->old->pages);
    }
    return change_ranges(w, f->old, r, true);
}

static int walk(struct replaying *w, zc_scan_fn *fn)
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

static int find_pending(struct replaying *w)
{
    int rc = walk(w, collect);

    if (rc)
        return rc;
    if (w->n)
        qsort(w->removals, w->n, sizeof *w->removals, by_key);
    rc = walk(w, pend);
    while (rc == 0 && w->next < w->n)
        rc = remove_one(w, &w->removals[w->next++].r);
    return rc;
}

/* ---- whose they are ---- */

static uint64_t pending_bytes(const struct zc_replay *of, uint64_t *lo, uint64_t *hi)
{
    uint64_t sum = 0;

    *lo = UINT64_MAX;
    *hi = 0;
    zc_list_each (&of->pages, n) {
        const struct pending *p = zc_list_entry(n, struct pending, link);
        const struct zc_range *r = zc_extents_ranges(&p->bytes);
        uint64_t base = p->no * PAGE;

        sum += zc_extents_bytes(&p->bytes);
        *lo = base + r[0].lo < *lo ? base + r[0].lo : *lo;
        *hi = base + r[p->bytes.n - 1].hi > *hi ? base + r[p->bytes.n - 1].hi : *hi;
    }
    return sum;
}

/* Devices get other numbers when a host starts again. */
static bool another(const struct replaying *w, const struct zc_attr *was, const struct zc_attr *now)
{
    if (now->ino != was->ino)
        return true;
    if (was->born_ns && now->born_ns)
        return now->born_ns != was->born_ns;
    return now->dev != was->dev && !w->j->scan->rebooted;
}

/* Whether somebody else has changed the file: why it is not what it was; NULL: it is. */
static const char *objection(const struct replaying *w, const struct zc_journal_file *f,
                             const struct zc_attr *now)
{
    const struct zc_attr *was = &f->noted;
    bool rebooted = w->j->scan->rebooted; /* then a size or times we have seen may be lost */
    int64_t last = w->j->scan->beat_ns + ZC_JOURNAL_SLACK_MS * (int64_t)ZC_NS_PER_MS;

    if (rebooted && w->j->scan->unsynced)
        return "the host was started again meanwhile, and the journal was not synced "
               "(--journal-sync)";
    if (now->size < was->size && !rebooted && !f->shared)
        return "the file was truncated meanwhile";
    if (f->shared && w->sink->bypassed && now->ctime_ns > last)
        return "a job has gone on without the daemon, and the file has changed since";
    if (f->shared)
        return NULL;
    if (f->flux || rebooted ? now->ctime_ns > last
                            : now->size != was->size || now->mtime_ns != was->mtime_ns ||
                                  now->ctime_ns != was->ctime_ns)
        return "the file was changed by others meanwhile";
    return NULL;
}

/* `gone`: its number may be another one's. */
static void refuse(struct replaying *w, struct zc_journal_file *f, const char *why, bool gone)
{
    uint64_t lo, hi, bytes = pending_bytes(f->old, &lo, &hi);

    f->old->verdict = REFUSED;
    w->out->lost_bytes += bytes;
    w->sink->lost(w->sink->arg, f->path, lo, hi, bytes, why);
    zc_journal_take_turn(w->j); /* nor does the next start ask */
    zc_journal_note(w->j, f, ZC_RECORD_VOID, gone ? UINT64_MAX : w->j->scan->last_seq);
    zc_journal_push(w->j, true);
    zc_journal_end_turn(w->j);
    zc_lock_get(&w->j->lock);
    f->gone = f->gone || gone;
    zc_lock_put(&w->j->lock);
}

/* Another daemon's clients may have truncated the file, and this one was not told any more: what is
 * beyond the end is not theirs, the rest is. */
static int cut_short(struct replaying *w, struct zc_journal_file *f, uint64_t size)
{
    uint64_t lo, hi, end, bytes = pending_bytes(f->old, &lo, &hi);
    int rc = cut(w, f->old, size);

    bytes -= rc == 0 ? pending_bytes(f->old, &lo, &end) : bytes;
    if (bytes) {
        w->out->lost_bytes += bytes;
        w->sink->lost(w->sink->arg, f->path, size, hi, bytes, "the file was truncated meanwhile");
        zc_journal_cut(w->j, f, size); /* nor does the next start tell it */
    }
    return rc;
}

static int judge(struct replaying *w, struct zc_journal_file *f)
{
    struct zc_attr now = {0}, was;
    const char *why = NULL;
    int rc = w->sink->stat(w->sink->arg, f->path, &now);

    zc_lock_get(&w->j->lock);
    was = f->noted;
    zc_lock_put(&w->j->lock);
    if (rc == -ENOENT || rc == -ENOTDIR) {
        refuse(w, f, "the file was deleted meanwhile", true);
        return 0;
    }
    if (rc < 0)
        return rc;
    if (another(w, &was, &now)) {
        refuse(w, f, "the file was replaced meanwhile", true);
        return 0;
    }
    if (f->old->verdict == GOOD) /* what has changed since was changed by us */
        return 0;
    why = objection(w, f, &now);
    if (why) {
        refuse(w, f, why, false);
        return 0;
    }
    zc_lock_get(&w->j->lock);
    f->dev = f->noted.dev = now.dev;
    zc_jfile_place(w->j, f);
    zc_lock_put(&w->j->lock);
    f->old->verdict = GOOD;
    w->out->files++;
    if (w->j->scan->rebooted)
        return zc_journal_see(w->j, f, &now);
    return f->shared && now.size < was.size ? cut_short(w, f, now.size) : 0;
}

static int judge_all(struct replaying *w)
{
    const struct zc_scan *s = w->j->scan;
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < s->nfiles; i++)
        if (s->files[i] && s->files[i]->old && !zc_list_empty(&s->files[i]->old->pages))
            rc = judge(w, s->files[i]);
    if (rc == 0)
        rc = zc_journal_come_alive(w->j);
    return rc;
}

/* ---- the second time through ---- */

static int close_file(struct replaying *w)
{
    uint64_t number = 0;
    int rc = 0;

    if (w->open) {
        rc = w->sink->close(w->file, &number);
        if (number > w->open->old->number)
            w->open->old->number = number;
    }
    w->open = NULL;
    return rc;
}

/* Unless it is refused: it may have gone since. */
static int open_file(struct replaying *w, struct zc_journal_file *f)
{
    int rc = 0;

    if (w->open == f)
        return 0;
    rc = close_file(w);
    if (rc == 0)
        rc = judge(w, f);
    if (rc == 0 && f->old->verdict == GOOD)
        rc = w->sink->open(w->sink->arg, f->path, &w->file);
    if (rc == 0 && f->old->verdict == GOOD)
        w->open = f;
    return rc;
}

/* What is pending of [lo, lo + len), whose bytes these are. */
static int restore(struct replaying *w, struct zc_journal_file *f, uint64_t lo, uint32_t len,
                   const unsigned char *bytes)
{
    uint64_t at = lo, end = lo + len;
    int rc = 0;

    while (rc == 0 && at < end) {
        uint64_t base = at / PAGE * PAGE;
        uint32_t to = end < base + PAGE ? (uint32_t)(end - base) : PAGE;
        const struct pending *p = find(w, f->old, at / PAGE);
        struct zc_range r;

        if (!p || !zc_extents_next(&p->bytes, (uint32_t)(at - base), to, &r)) {
            at = base + to;
            continue;
        }
        at = base + r.hi;
        rc = open_file(w, f);
        if (rc || f->old->verdict == REFUSED)
            return rc;
        rc = w->sink->write(w->file, bytes + (base + r.lo - lo), r.hi - r.lo, base + r.lo);
        if (rc == 0)
            w->out->bytes += r.hi - r.lo;
    }
    return rc;
}

static void given(struct zc_journal *j, uint64_t seq)
{
    zc_lock_get(&j->lock);
    j->given = seq;
    zc_lock_put(&j->lock);
}

static int restore_record(void *arg, const struct zc_record *r)
{
    struct replaying *w = arg;
    struct zc_journal_file *f = r->kind == ZC_RECORD_DATA ? file_of(w, r) : NULL;
    const unsigned char *bytes = r->body + (size_t)r->nranges * ZC_RECORD_RANGE;
    bool wanted = f && f->old && f->old->verdict != REFUSED && zc_record_sound(r);
    int rc = 0;

    for (uint32_t i = 0; wanted && rc == 0 && i < r->nranges; i++) {
        uint32_t lo, len;

        zc_record_get_range(r, i, &lo, &len);
        rc = restore(w, f, r->off + lo, len, bytes);
        bytes += len;
    }
    if (rc == 0)
        given(w->j, r->seq);
    return rc;
}

/* ---- all of it ---- */

static void tell_damage(struct replaying *w)
{
    const struct zc_scan *s = w->j->scan;

    w->out->damaged = s->ndamage;
    for (unsigned i = 0; i < s->ndamage; i++) {
        const struct zc_damage *d = &s->damage[i];
        char why[160];

        snprintf(why, sizeof why, "the journal is damaged (%s)", d->where);
        if (d->file && d->file->gone)
            continue;
        if (d->file && d->file->path && d->hi > d->lo) {
            w->out->lost_bytes += d->hi - d->lo;
            w->sink->lost(w->sink->arg, d->file->path, d->lo, d->hi, d->hi - d->lo, why);
        } else {
            w->sink->lost(w->sink->arg, d->file ? d->file->path : NULL, 0, 0, 0, why);
        }
    }
}

/* The segments go when the cache has stored what it was given. */
static void hand_over(struct replaying *w)
{
    struct zc_journal *j = w->j;

    zc_lock_get(&j->lock);
    for (unsigned i = 0; i < j->scan->n; i++) {
        struct zc_segment *s = j->scan->segments[i].segment;

        zc_list_each (&s->parts, n) {
            struct zc_journal_part *p = zc_list_entry(n, struct zc_journal_part, link);

            p->number = p->file->old ? p->file->old->number : 0;
        }
        s->busy--;
    }
    j->st.journal_replayed_bytes = w->out->bytes;
    j->st.journal_lost_bytes = w->out->lost_bytes;
    zc_lock_put(&j->lock);
}

static void forget(struct replaying *w)
{
    const struct zc_scan *s = w->j->scan;

    zc_lock_get(&w->j->lock);
    for (uint32_t i = 0; i < s->nfiles; i++) {
        struct zc_journal_file *f = s->files[i];

        if (!f || !f->old)
            continue;
        while (!zc_list_empty(&f->old->pages))
            drop(zc_list_entry(f->old->pages.next, struct pending, link));
        free(f->old);
        f->old = NULL;
    }
    zc_lock_put(&w->j->lock);
    free(w->removals);
}

int zc_journal_replay(struct zc_journal *j, const struct zc_journal_sink *sink,
                      struct zc_journal_replayed *out)
{
    struct replaying *w = calloc(1, sizeof *w);
    int rc, rc_close;

    *out = (struct zc_journal_replayed){0};
    if (!w)
        return zc_errorf(ENOMEM, "journal %s: out of memory", j->dir);
    w->j = j;
    w->sink = sink;
    w->out = out;
    for (unsigned i = 0; i < BUCKETS; i++)
        zc_list_init(&w->buckets[i]);
    rc = find_pending(w);
    if (rc == 0)
        rc = judge_all(w);
    if (rc == 0)
        rc = walk(w, restore_record);
    rc_close = close_file(w);
    if (rc == 0)
        rc = rc_close;
    if (rc == 0) {
        given(j, UINT64_MAX);
        tell_damage(w);
        hand_over(w);
    }
    forget(w);
    free(w);
    if (rc == 0)
        zc_scan_free(j);
    return rc;
}
