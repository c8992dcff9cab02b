/* zc_journal_judge.c - decides at a start whether each file with pending bytes is still the one
 * that was noted, and whether its bytes may be written (the rules are in zc_journal.h).
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_journal_replay.h"

/* ---- the identity of files ---- */

/* Whether it is another file.  Device numbers may change when the host reboots. */
bool zc_replay_is_another(const struct zc_replay_run *w, const struct zc_attr *was,
                          const struct zc_attr *now)
{
    if (now->ino != was->ino)
        return true;
    if (was->born_ns && now->born_ns)
        return now->born_ns != was->born_ns;
    return now->dev != was->dev && !w->j->scan->rebooted;
}

/* Returns the noted attributes.  Takes the lock: a thread of the cache may note a change. */
struct zc_attr zc_replay_noted(const struct zc_replay_run *w, const struct zc_journal_file *f)
{
    struct zc_attr attr;

    zc_lock_get(&w->j->lock);
    attr = f->noted;
    zc_lock_put(&w->j->lock);
    return attr;
}

/* Whether the file is as the dead daemon left it when none of its changes was under way. */
static bool is_unchanged(const struct zc_journal_file *f, const struct zc_attr *was,
                         const struct zc_attr *now)
{
    return !f->intent && now->size == was->size && now->mtime_ns == was->mtime_ns &&
           now->ctime_ns == was->ctime_ns;
}

/* What its times leave to explain its contents; ZC_COMPARE_ALL: they do not say that another
 * program has changed it since. */
static enum zc_compare_how times_say(const struct zc_replay_run *w, const struct zc_journal_file *f,
                                     const struct zc_attr *was, const struct zc_attr *now)
{
    int64_t last = w->j->scan->heartbeat_ns + ZC_JOURNAL_SLACK_MS * (int64_t)ZC_NS_PER_MS;
    bool settled = !f->intent && !w->j->scan->rebooted; /* size and times were noted */

    if (f->shared || is_unchanged(f, was, now) || (!settled && now->ctime_ns <= last))
        return ZC_COMPARE_ALL;
    if (settled && (now->mtime_ns != was->mtime_ns || now->size != was->size))
        return ZC_COMPARE_EXACT;
    return !settled && now->mtime_ns > last ? ZC_COMPARE_EXACT : ZC_COMPARE_STRICT;
}

/* Whether they say so. */
static bool times_object(const struct zc_replay_run *w, const struct zc_journal_file *f,
                         const struct zc_attr *was, const struct zc_attr *now)
{
    return times_say(w, f, was, now) != ZC_COMPARE_ALL;
}

bool zc_replay_needs_contents(const struct zc_replay_run *w, const struct zc_journal_file *f,
                              const struct zc_attr *was, const struct zc_attr *now)
{
    if (f->shared || f->intent || times_object(w, f, was, now))
        return true;
    return w->j->scan->rebooted && !w->j->scan->unsynced && !is_unchanged(f, was, now);
}

/* Times that are not as noted leave the decision to the contents (zc_replay_needs_contents()), but
 * not where newer bytes that zcache has acknowledged could be the same as earlier ones: after a
 * reboot that may have lost records of them, and if a job has bypassed the daemon, whose mark may
 * be missing.  A file that is shorter was truncated: beyond its end it has nothing to compare. */
const char *zc_replay_objection(const struct zc_replay_run *w, const struct zc_journal_file *f,
                                const struct zc_attr *was, const struct zc_attr *now)
{
    bool rebooted = w->j->scan->rebooted; /* a noted size and times may be lost */
    int64_t last = w->j->scan->heartbeat_ns + ZC_JOURNAL_SLACK_MS * (int64_t)ZC_NS_PER_MS;

    if (rebooted && w->j->scan->unsynced)
        return "the host was started again meanwhile, and the journal was not synced "
               "(--journal-sync)";
    if (now->size < was->size && !rebooted && !f->shared)
        return "the file was truncated meanwhile";
    if (w->sink->bypassed && (f->shared ? now->ctime_ns > last : times_object(w, f, was, now)))
        return "a job has gone on without the daemon, and the file has changed since";
    if (!w->sink->read && times_object(w, f, was, now))
        return ZC_REPLAY_CHANGED;
    return NULL;
}

/* Whether another set of daemons or another zcache program has opened it for writing. */
int zc_replay_is_marked(const struct zc_replay_run *w, const struct zc_journal_file *f, bool *yes)
{
    struct zc_attr was = zc_replay_noted(w, f);
    uint64_t mark = 0;
    int rc = 0;

    *yes = false;
    if (w->j->record.fd < 0)
        return 0;
    rc = zc_root_mark_get(&w->j->record, was.ino, &mark);
    *yes = rc == 0 && mark != was.mark;
    return rc;
}

/* Refuses the file.  `gone`: its inode number may have been reused. */
static void refuse(struct zc_journal_file *f, const char *why, bool gone)
{
    f->old->verdict = ZC_REPLAY_REFUSED;
    f->old->why = why;
    f->old->gone = gone;
}

/* Refuses a file that another zcache writer has opened; takes precedence over its times. */
int zc_replay_refuse_marked(const struct zc_replay_run *w, struct zc_journal_file *f)
{
    bool marked = false;
    int rc = zc_replay_is_marked(w, f, &marked);

    if (marked)
        refuse(f,
               w->sink->bypassed ? "a job has gone on without the daemon, and opened the file"
                                 : "it was opened for writing elsewhere since",
               false);
    return rc;
}

/* Whether the contents of the file permit all of its pending bytes to be written. */
bool zc_replay_is_explained(const struct zc_replay_run *w, const struct zc_journal_file *f)
{
    zc_list_each (&f->old->pages, n) {
        const struct zc_replay_page *p = zc_list_entry(n, struct zc_replay_page, link);

        if (!zc_compare_explains(w->compare, f, p->no * ZC_COMPARE_PAGE, &p->bytes, f->old->how,
                                 &p->same))
            return false;
    }
    return true;
}

/* Whether another program, which has changed the file before it was compared, has gone on. */
static bool is_changed_again(const struct zc_journal_file *f, const struct zc_attr *now)
{
    const struct zc_attr *seen = &f->old->seen;

    return f->old->how != ZC_COMPARE_ALL &&
           (now->size != seen->size || now->mtime_ns != seen->mtime_ns ||
            now->ctime_ns != seen->ctime_ns);
}

/* Returns why the contents of the file do not permit its bytes to be written, or NULL. */
static const char *judge_contents(const struct zc_replay_run *w, const struct zc_journal_file *f,
                                  const struct zc_attr *was, const struct zc_attr *now)
{
    if (f->old->compare && !zc_replay_is_explained(w, f))
        return f->old->how != ZC_COMPARE_ALL ? ZC_REPLAY_CHANGED : ZC_REPLAY_UNEXPLAINED;
    if (!w->sink->read || !zc_replay_needs_contents(w, f, was, now))
        return NULL;
    if (!f->old->compare || times_say(w, f, was, now) > f->old->how || is_changed_again(f, now))
        return ZC_REPLAY_CHANGED; /* since zc_replay_compare_all() */
    return NULL;
}

/* Decides about a file whose inode and birth time are as noted. */
static int judge_found(struct zc_replay_run *w, struct zc_journal_file *f,
                       const struct zc_attr *now)
{
    const struct zc_attr was = zc_replay_noted(w, f);
    const char *why = zc_replay_objection(w, f, &was, now);
    int rc = zc_replay_refuse_marked(w, f);

    if (rc < 0 || f->old->verdict == ZC_REPLAY_REFUSED)
        return rc;
    if (!why && f->refused)
        why = ZC_REPLAY_KEPT;
    if (!why)
        why = judge_contents(w, f, &was, now);
    if (why) {
        refuse(f, why, false);
        return 0;
    }
    zc_lock_get(&w->j->lock);
    f->dev = f->noted.dev = now->dev;
    zc_jfile_place(w->j, f);
    zc_lock_put(&w->j->lock);
    f->old->verdict = ZC_REPLAY_GOOD;
    w->out->files++;
    if (w->j->scan->rebooted)
        return zc_journal_see(w->j, f, now);
    if (f->shared && now->size < was.size) {
        /* A client of another daemon may have truncated it without reaching this one: bytes beyond
         * the end are refused, the others are not. */
        f->old->end = now->size;
        f->old->why = "the file was truncated meanwhile";
    }
    return 0;
}

/* Finds the file by the name of its open, or else by another one: it may have been renamed, or have
 * had two names of which that one was deleted. */
static int find_file(struct zc_replay_run *w, struct zc_journal_file *f, struct zc_attr *now)
{
    char other[ZC_RECORD_PATH_MAX + 1];
    struct zc_attr found = {0}, was = zc_replay_noted(w, f);
    int rc = w->sink->stat(w->sink->arg, f->path, now);
    char *name;

    if (rc < 0 && rc != -ENOENT && rc != -ENOTDIR)
        return rc;
    if ((rc == 0 && !zc_replay_is_another(w, &was, now)) || !w->sink->find ||
        !w->sink->find(w->sink->arg, f->path, was.ino, other) ||
        w->sink->stat(w->sink->arg, other, &found) < 0 || zc_replay_is_another(w, &was, &found))
        return rc;
    name = strdup(other);
    if (!name)
        return zc_replay_no_memory(w);
    zc_lock_get(&w->j->lock);
    free(f->path);
    f->path = name;
    zc_lock_put(&w->j->lock);
    *now = found;
    return 0;
}

int zc_replay_judge(struct zc_replay_run *w, struct zc_journal_file *f)
{
    struct zc_attr now = {0}, was;
    int rc = find_file(w, f, &now);

    was = zc_replay_noted(w, f);
    if (rc == -ENOENT || rc == -ENOTDIR) {
        refuse(f, "the file is not there: it was deleted or renamed, or its directory was", true);
        return 0;
    }
    if (rc < 0)
        return rc;
    if (zc_replay_is_another(w, &was, &now)) {
        refuse(f, "the file was replaced meanwhile", true);
        return 0;
    }
    if (f->old->verdict ==
        ZC_REPLAY_GOOD) /* later changes are this daemon's, or have set the mark */
        return zc_replay_refuse_marked(w, f);
    return judge_found(w, f, &now);
}

/* Notes what is refused before heartbeats of this daemon begin: if it dies before that is set
 * aside, the times that objected are no later than these. */
static int note_refusals(struct zc_replay_run *w)
{
    const struct zc_scan *s = w->j->scan;
    int rc = 0, rc_push;

    zc_journal_writer_lock(w->j);
    for (uint32_t i = 0; rc == 0 && i < s->nfiles; i++) {
        struct zc_journal_file *f = s->files[i];

        if (!zc_replay_has_pending(f) || f->old->verdict != ZC_REPLAY_REFUSED || f->old->gone ||
            f->refused)
            continue;
        zc_lock_get(&w->j->lock);
        f->refused = true;
        zc_lock_put(&w->j->lock);
        rc = zc_journal_note(w->j, f, ZC_RECORD_FILE, 0);
    }
    rc_push = zc_journal_push(w->j, true);
    zc_journal_writer_unlock(w->j);
    if (rc == 0)
        rc = rc_push;
    return rc < 0 ? zc_errorf(-rc, "journal %s: what is kept back cannot be noted: %s", w->j->dir,
                              strerror(-rc))
                  : 0;
}

int zc_replay_judge_all(struct zc_replay_run *w)
{
    const struct zc_scan *s = w->j->scan;
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < s->nfiles; i++)
        if (zc_replay_has_pending(s->files[i]) && w->j->fenced)
            refuse(s->files[i], w->j->fenced, false);
        else if (zc_replay_has_pending(s->files[i]))
            rc = zc_replay_judge(w, s->files[i]);
    if (rc == 0 && !w->j->fenced)
        rc = note_refusals(w);
    if (rc == 0)
        rc = zc_journal_heartbeat_start(w->j);
    return rc;
}

/* ---- contents of files ---- */

/* Calls zc_compare_data() for the part of a range in each page that has pending bytes. */
static int compare_data(struct zc_replay_run *w, struct zc_journal_file *f, uint64_t lo,
                        uint32_t len, const unsigned char *bytes)
{
    uint64_t end = lo + len, next;
    int rc = 0;

    for (uint64_t at = lo; rc == 0 && at < end; at = next) {
        struct zc_replay_page *p = zc_replay_find(w, f->old, at / ZC_COMPARE_PAGE);

        next = (at / ZC_COMPARE_PAGE + 1) * ZC_COMPARE_PAGE;
        next = next < end ? next : end;
        if (p &&
            zc_compare_data(w->compare, f, at, next, bytes + (at - lo), f->old->how, &p->same) < 0)
            rc = zc_replay_no_memory(w);
    }
    return rc;
}

static int compare_sums(struct zc_replay_run *w, struct zc_journal_file *f,
                        const struct zc_record *r)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < r->nranges; i++) {
        struct zc_replay_page *p;
        uint32_t lo, len;

        zc_record_get_range(r, i, &lo, &len);
        p = zc_replay_find(w, f->old, (r->off + lo) / ZC_COMPARE_PAGE);
        if (p && zc_compare_sum(w->compare, f, r->off + lo, r->off + lo + len,
                                zc_record_get_sum(r, i), f->old->how, &p->same) < 0)
            rc = zc_replay_no_memory(w);
    }
    return rc;
}

static int compare_record(void *arg, const struct zc_record *r)
{
    struct zc_replay_run *w = arg;
    struct zc_journal_file *f = zc_replay_file(w, r);

    if (!f || !f->old || !f->old->compare || !zc_record_sound(r))
        return 0;
    if (r->kind == ZC_RECORD_DATA)
        return zc_replay_each(w, r, f, compare_data);
    return r->kind == ZC_RECORD_BEFORE ? compare_sums(w, f, r) : 0;
}

/* Whether contents decide about the file, which is looked for under its current name. */
static bool is_to_compare(struct zc_replay_run *w, struct zc_journal_file *f)
{
    struct zc_attr now = {0}, was;

    if (!w->sink->stat)
        return f->shared || f->intent || w->j->scan->rebooted;
    if (find_file(w, f, &now) < 0) /* zc_replay_judge() reports it */
        return false;
    was = zc_replay_noted(w, f);
    if (zc_replay_is_another(w, &was, &now) || zc_replay_objection(w, f, &was, &now))
        return false;
    f->old->how = times_say(w, f, &was, &now);
    f->old->seen = now;
    return zc_replay_needs_contents(w, f, &was, &now);
}

/* Compares the contents of files that the dead daemon was changing, of those that other daemons
 * change as well, and of those whose size and times are not as noted. */
int zc_replay_compare_all(struct zc_replay_run *w)
{
    const struct zc_scan *s = w->j->scan;
    int rc = 0;

    if (!w->sink->read || w->j->fenced)
        return 0;
    for (uint32_t i = 0; rc == 0 && i < s->nfiles; i++) {
        struct zc_journal_file *f = s->files[i];

        if (!zc_replay_has_pending(f) || !is_to_compare(w, f))
            continue;
        if (!w->compare && !(w->compare = zc_compare_new(w->sink)))
            rc = zc_replay_no_memory(w);
        f->old->compare = rc == 0;
    }
    return rc == 0 && w->compare ? zc_replay_walk(w, compare_record) : rc;
}
