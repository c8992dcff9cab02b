/* zc_journal_image.c - walks a journal's image without a daemon: what a replay would write. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "zc_journal_offline.h"
#include "zc_journal_replay.h"

static int tell_file(struct zc_replay_run *w, struct zc_journal_file *f)
{
    struct zc_journal_span s[ZC_JOURNAL_SPANS];
    struct zc_image_file found = {.number = f->id, .path = f->path, .noted = f->noted, .spans = s};

    found.n = zc_replay_spans(w, f, s, &found.bytes);
    found.unexplained = f->old->compare && !zc_replay_is_explained(w, f);
    return w->walk->file(w->walk->arg, &found);
}

static int tell_data(struct zc_replay_run *w, struct zc_journal_file *f, uint64_t lo, uint32_t len,
                     const unsigned char *bytes)
{
    struct zc_journal_span next;
    uint64_t at = lo, end = lo + len;
    int rc = 0;

    for (; rc == 0 && zc_replay_next_pending(w, f, at, end, &next); at = next.hi)
        rc = w->walk->data(w->walk->arg, f->id, next.lo, bytes + (next.lo - lo),
                           (uint32_t)(next.hi - next.lo));
    return rc;
}

static int tell_record(void *arg, const struct zc_record *r)
{
    struct zc_replay_run *w = arg;
    struct zc_journal_file *f = r->kind == ZC_RECORD_DATA ? zc_replay_file(w, r) : NULL;

    return f && zc_replay_has_pending(f) && zc_record_sound(r) ? zc_replay_each(w, r, f, tell_data)
                                                               : 0;
}

static int tell_all(struct zc_replay_run *w)
{
    const struct zc_scan *s = w->j->scan;
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < s->nfiles; i++) {
        if (!zc_replay_has_pending(s->files[i]))
            continue;
        s->files[i]->old->verdict =
            ZC_REPLAY_REFUSED; /* so that zc_replay_spans() covers the whole file */
        rc = tell_file(w, s->files[i]);
    }
    return rc == 0 && w->walk->data ? zc_replay_walk(w, tell_record) : rc;
}

int zc_image_walk(struct zc_journal *j, const struct zc_image_walk *image_walk)
{
    const struct zc_journal_sink files = {.arg = image_walk->arg, .read = image_walk->read};
    struct zc_replay_run *w = calloc(1, sizeof *w);
    int rc;

    if (!w)
        return zc_errorf(ENOMEM, "journal %s: out of memory", j->dir);
    w->j = j;
    w->walk = image_walk;
    w->sink = &files;
    for (unsigned i = 0; i < ZC_REPLAY_BUCKETS; i++)
        zc_list_init(&w->buckets[i]);
    rc = zc_replay_find_pending(w);
    if (rc == 0)
        rc = zc_replay_compare_all(w);
    if (rc == 0)
        rc = tell_all(w);
    zc_replay_forget(w);
    zc_compare_free(w->compare);
    free(w);
    return rc;
}

const char *zc_image_objection(struct zc_journal *j, const struct zc_image_file *image,
                               const struct zc_attr *now, bool *no_match)
{
    static const struct zc_journal_sink nobody_bypassed;
    struct zc_replay_run w = {.j = j, .sink = &nobody_bypassed};
    const struct zc_journal_file *f = j->scan->files[image->number];
    bool marked = false;
    const char *why;

    *no_match = zc_replay_is_another(&w, &image->noted, now);
    if (*no_match)
        return "the file was replaced meanwhile";
    why = zc_replay_objection(&w, f, &image->noted, now);
    if (!why && zc_replay_is_marked(&w, f, &marked) < 0)
        return "the record of the root cannot be read";
    if (marked)
        return "it was opened for writing elsewhere since";
    if (!why && f->refused)
        why = ZC_REPLAY_KEPT;
    if (!why && image->unexplained && zc_replay_needs_contents(&w, f, &image->noted, now))
        why = ZC_REPLAY_UNEXPLAINED;
    return why;
}
