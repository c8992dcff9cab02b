/* zc_journal_replay.c - writes what an earlier daemon accepted and did not store.
 *
 * The first pass finds the pending ranges without reading data (zc_journal_pending.c).  The second
 * pass visits the DATA records again and writes what is pending of each, oldest first, so that the
 * last write wins.
 *
 * The cache stores these bytes in the meantime, and that is noted as usual, but never for records
 * that the sink has not received (zc_journal.given): a start that fails or dies leaves the rest to
 * the next.
 *
 * Whether each file is still the one that was noted is decided (zc_journal_judge.c) before anything
 * is written and after the seat was raised (zc_journal_fence.c); its mark is read again before each
 * write.  Heartbeats begin only after that: if this start fails earlier, changes that other
 * programs make until the next start are still later than the last heartbeat of the earlier daemon.
 * The boot id in `alive` is the earlier daemon's until all that is refused was set aside.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_journal_replay.h"

/* ---- the second pass ---- */

static int close_file(struct zc_replay_run *w)
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

/* Opens the file in the sink, unless it is refused: it may have been deleted since
 * zc_replay_judge_all(). */
static int open_file(struct zc_replay_run *w, struct zc_journal_file *f)
{
    int rc = 0;

    if (w->open == f)
        return zc_replay_refuse_marked(w, f);
    rc = close_file(w);
    if (rc == 0)
        rc = zc_replay_judge(w, f);
    if (rc == 0 && f->old->verdict == ZC_REPLAY_GOOD)
        rc = w->sink->open(w->sink->arg, f->path, zc_replay_noted(w, f).mark, &w->file);
    if (rc < 0 || f->old->verdict == ZC_REPLAY_REFUSED)
        return rc;
    w->open = f;
    return zc_replay_refuse_marked(w, f);
}

/* What is written over these bytes later may find the file with all of them or none: the cache
 * stores them when it likes. */
static void note_restored(struct zc_replay_run *w, const struct zc_journal_file *f,
                          const struct zc_journal_span *s)
{
    w->out->bytes += s->hi - s->lo;
    zc_journal_writer_lock(w->j);
    zc_before_border(w->j, f, s->lo, s->hi);
    zc_journal_writer_unlock(w->j);
}

/* Writes what is pending of [lo, lo + len), whose bytes these are. */
static int restore(struct zc_replay_run *w, struct zc_journal_file *f, uint64_t lo, uint32_t len,
                   const unsigned char *bytes)
{
    uint64_t at = lo, end = lo + len < f->old->end ? lo + len : f->old->end;
    struct zc_journal_span next;
    int rc = 0;

    for (; rc == 0 && zc_replay_next_pending(w, f, at, end, &next); at = next.hi) {
        rc = open_file(w, f);
        if (rc || f->old->verdict == ZC_REPLAY_REFUSED)
            return rc;
        rc = w->sink->write(w->file, bytes + (next.lo - lo), next.hi - next.lo, next.lo);
        if (rc == 0)
            note_restored(w, f, &next);
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
    struct zc_replay_run *w = arg;
    struct zc_journal_file *f = r->kind == ZC_RECORD_DATA ? zc_replay_file(w, r) : NULL;
    bool wanted = f && f->old && f->old->verdict != ZC_REPLAY_REFUSED && zc_record_sound(r);
    int rc = wanted ? zc_replay_each(w, r, f, restore) : 0;

    if (rc == 0)
        given(w->j, r->seq);
    return rc;
}

/* ---- refused bytes ---- */

static int put_aside(struct zc_replay_run *w, struct zc_journal_file *f, uint64_t lo, uint32_t len,
                     const unsigned char *bytes)
{
    uint64_t from = zc_replay_refused_from(f), at = lo > from ? lo : from, end = lo + len;
    struct zc_journal_span next;
    int rc = 0;

    for (; rc == 0 && zc_replay_next_pending(w, f, at, end, &next); at = next.hi)
        rc = zc_aside_put(w->j, &w->aside, f, next.lo, bytes + (next.lo - lo),
                          (uint32_t)(next.hi - next.lo));
    return rc;
}

static int put_record_aside(void *arg, const struct zc_record *r)
{
    struct zc_replay_run *w = arg;
    struct zc_journal_file *f = r->kind == ZC_RECORD_DATA ? zc_replay_file(w, r) : NULL;

    if (!f || zc_replay_refused_from(f) == UINT64_MAX || !zc_record_sound(r))
        return 0;
    return zc_replay_each(w, r, f, put_aside);
}

static void tell_kept(struct zc_replay_run *w, struct zc_journal_file *f)
{
    struct zc_journal_span s[ZC_JOURNAL_SPANS];
    uint64_t bytes;
    unsigned n = zc_replay_spans(w, f, s, &bytes);
    char where[512];

    snprintf(where, sizeof where, "%s/%s", w->j->dir, w->aside.name);
    w->out->kept_bytes += bytes;
    if (n)
        w->sink->kept(w->sink->arg, f->path, s, n, bytes, f->old->why, where);
}

/* Notes that refused bytes were set aside, so that the next start does not replay them: it may have
 * no reason to refuse them. */
static int note_refused(struct zc_replay_run *w, struct zc_journal_file *f)
{
    bool gone = f->old->gone;
    int rc, rc_push;

    if (f->old->verdict != ZC_REPLAY_REFUSED) {
        zc_journal_truncate(w->j, f, f->old->end);
        return 0;
    }
    zc_journal_writer_lock(w->j);
    rc = zc_journal_note(w->j, f, ZC_RECORD_DISCARD, gone ? UINT64_MAX : w->j->scan->last_seq);
    rc_push = zc_journal_push(w->j, true);
    zc_journal_writer_unlock(w->j);
    if (rc == 0)
        rc = rc_push;
    if (rc < 0)
        return zc_errorf(-rc, "journal %s: what is not written back cannot be set aside: %s",
                         w->j->dir, strerror(-rc));
    zc_lock_get(&w->j->lock);
    f->gone = f->gone || gone;
    zc_lock_put(&w->j->lock);
    return 0;
}

static int set_aside(struct zc_replay_run *w)
{
    const struct zc_scan *s = w->j->scan;
    const char *why = NULL;
    int rc;

    for (uint32_t i = 0; i < s->nfiles; i++)
        if (zc_replay_refused_from(s->files[i]) != UINT64_MAX)
            why = s->files[i]->old->why;
    if (w->j->fenced)
        return s->n ? zc_aside_all(w->j, &w->aside, w->j->fenced) : 0;
    if (!why)
        return 0;
    rc = zc_aside_begin(w->j, &w->aside);
    if (rc == 0)
        rc = zc_replay_walk(w, put_record_aside);
    return rc < 0 ? rc : zc_aside_end(w->j, &w->aside, why);
}

/* Sets aside and reports what is refused, then discards it from the journal. */
static int keep_refused(struct zc_replay_run *w)
{
    const struct zc_scan *s = w->j->scan;
    int rc = set_aside(w);

    for (uint32_t i = 0; rc == 0 && i < s->nfiles; i++) {
        if (zc_replay_refused_from(s->files[i]) == UINT64_MAX)
            continue;
        tell_kept(w, s->files[i]);
        if (!w->j->fenced)
            rc = note_refused(w, s->files[i]);
    }
    zc_aside_free(&w->aside);
    return rc;
}

/* ---- the whole replay ---- */

static void tell_damage(struct zc_replay_run *w)
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

/* Releases the segments to normal deletion, when the cache has stored what it was given. */
static void hand_over(struct zc_replay_run *w)
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
    j->st.journal_kept_bytes = w->out->kept_bytes;
    zc_lock_put(&j->lock);
}

int zc_journal_replay(struct zc_journal *j, const struct zc_journal_sink *sink,
                      struct zc_journal_replayed *out)
{
    struct zc_replay_run *w = calloc(1, sizeof *w);
    int rc, rc_close;

    *out = (struct zc_journal_replayed){0};
    if (!w)
        return zc_errorf(ENOMEM, "journal %s: out of memory", j->dir);
    w->j = j;
    w->aside.fd = w->aside.file = -1;
    w->sink = sink;
    w->out = out;
    for (unsigned i = 0; i < ZC_REPLAY_BUCKETS; i++)
        zc_list_init(&w->buckets[i]);
    rc = zc_replay_find_pending(w);
    if (rc == 0 && !j->fenced)
        rc = zc_journal_fence_raise(j);
    if (rc == 0)
        rc = zc_replay_compare_all(w);
    if (rc == 0)
        rc = zc_replay_judge_all(w);
    if (rc == 0)
        rc = zc_replay_walk(w, restore_record);
    rc_close = close_file(w);
    if (rc == 0)
        rc = rc_close;
    if (rc == 0)
        rc = keep_refused(w);
    if (rc == 0 && j->fenced) /* if raised earlier, an interrupted start would make the next one
                                 take the bytes for this one's */
        rc = zc_journal_fence_raise(j);
    if (rc == 0 && j->scan->ndamage && !j->fenced)
        rc = zc_aside_damaged(j);
    if (rc == 0)
        rc = zc_journal_heartbeat_take(j);
    if (rc == 0) {
        given(j, UINT64_MAX);
        tell_damage(w);
        hand_over(w);
    }
    zc_replay_forget(w);
    zc_compare_free(w->compare);
    free(w);
    if (rc == 0)
        zc_scan_free(j);
    return rc;
}
