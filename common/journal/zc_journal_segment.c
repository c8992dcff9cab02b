/* zc_journal_segment.c - segments of a journal: made, in use, free, deleted; who waits for room.
 *
 *     made --current--> full --nothing in it is owed, no ticket--> deleted
 *
 * All of it is allocated when a segment is made, so that a disk that is full is met here, and only
 * here.  What is the last in the journal and all stored makes way for an empty one, once a second.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "zc_journal_internal.h"
#include "zc_units.h"

/* ---- parts ---- */

/* The file has few parts: one a segment. */
static struct zc_journal_part *find_part(const struct zc_segment *s,
                                         const struct zc_journal_file *f)
{
    for (struct zc_list *n = f->parts.prev; n != &f->parts; n = n->prev) {
        struct zc_journal_part *p = zc_list_entry(n, struct zc_journal_part, file_link);

        if (p->segment == s)
            return p;
    }
    return NULL;
}

struct zc_journal_part *zc_segment_part(struct zc_journal *j, struct zc_segment *s,
                                        struct zc_journal_file *f)
{
    struct zc_journal_part *p;

    zc_lock_get(&j->lock);
    p = find_part(s, f);
    if (!p && (p = calloc(1, sizeof *p)) != NULL) {
        p->file = f;
        p->segment = s;
        f->segments++;
        zc_list_add_tail(&s->parts, &p->link);
        zc_list_add_tail(&f->parts, &p->file_link);
    }
    zc_lock_put(&j->lock);
    return p;
}

void zc_segment_forget(struct zc_journal *j, struct zc_segment *s)
{
    struct zc_list *n;

    zc_lock_get(&j->lock);
    while ((n = zc_list_pop(&s->parts))) {
        struct zc_journal_part *p = zc_list_entry(n, struct zc_journal_part, link);

        zc_list_del(&p->file_link);
        p->file->segments--;
        zc_jfile_reap(p->file);
        free(p);
    }
    zc_list_del(&s->link);
    j->st.journal_bytes -= s->at;
    j->st.journal_records -= s->records;
    zc_lock_put(&j->lock);
    free(s);
}

static void delete_file(struct zc_journal *j, const struct zc_segment *s)
{
    char name[32];

    zc_segment_name(s->number, name);
    if (unlinkat(j->dir_fd, name, 0) < 0 && errno != ENOENT)
        zc_warn("journal %s/%s: %s", j->dir, name, strerror(errno));
}

void zc_segment_end(struct zc_journal *j)
{
    struct zc_segment *s = j->current;

    if (s->at > 0) {
        if (ftruncate(j->fd, (off_t)s->at) < 0)
            zc_warn("journal %s: segment %" PRIu64 ": %s", j->dir, s->number, strerror(errno));
        s->size = s->at;
        return;
    }
    delete_file(j, s); /* not even its first record is there */
    close(j->fd);
    j->fd = -1;
    j->current = NULL;
    zc_segment_forget(j, s);
}

/* ---- making one ---- */

static int refuse_segment(struct zc_journal *j, const char *name, int err)
{
    if (err == ENOSPC || err == EDQUOT)
        return zc_errorf(err,
                         "journal %s: no room for a segment of %llu bytes: %s; give the daemon "
                         "another directory, or a smaller --journal-size",
                         j->dir, (unsigned long long)j->segment_size, strerror(err));
    return zc_errorf(err, "journal %s/%s: %s", j->dir, name, strerror(err));
}

/* Creates the file with its room; the descriptor or a negative errno. */
static int make_file(struct zc_journal *j, const char *name)
{
    int fd = openat(j->dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600), err;

    if (fd < 0)
        return refuse_segment(j, name, errno);
    err = posix_fallocate(fd, 0, (off_t)j->segment_size);
    if (err && err != EOPNOTSUPP && err != EINVAL) {
        close(fd);
        unlinkat(j->dir_fd, name, 0);
        return refuse_segment(j, name, err);
    }
    if (j->cfg.sync && (fsync(fd) < 0 || fsync(j->dir_fd) < 0)) {
        err = errno;
        close(fd);
        unlinkat(j->dir_fd, name, 0);
        return refuse_segment(j, name, err);
    }
    return fd;
}

static int make(struct zc_journal *j)
{
    struct zc_record r = {.kind = ZC_RECORD_SEGMENT, .until = j->written_seq};
    struct zc_segment *s = calloc(1, sizeof *s);
    size_t len = strlen(j->root);
    char name[32];
    int fd;

    if (!s)
        return zc_errorf(ENOMEM, "journal %s: out of memory", j->dir);
    zc_segment_name(j->next_number, name);
    fd = make_file(j, name);
    if (fd < 0) {
        free(s);
        return fd;
    }
    s->number = j->next_number++;
    s->size = j->segment_size;
    zc_list_init(&s->parts);
    if (j->fd >= 0)
        close(j->fd);
    j->fd = fd;
    zc_lock_get(&j->lock);
    if (j->current)
        j->current->last_seq = j->seq;
    zc_list_add_tail(&j->segments, &s->link);
    zc_lock_put(&j->lock);
    j->current = s;
    memcpy(zc_journal_body(j), j->root, len);
    zc_journal_append(j, &r, len);
    return 0;
}

static uint64_t allocated(const struct zc_journal *j)
{
    uint64_t sum = 0;

    zc_list_each (&j->segments, n)
        sum += zc_list_entry(n, struct zc_segment, link)->size;
    return sum;
}

/* -ENOSPC: the journal is as large as it may be, or the disk is full. */
int zc_segment_next(struct zc_journal *j, bool note)
{
    int rc = zc_journal_push(j, true);

    if (rc < 0)
        return rc;
    if (!note && allocated(j) + j->segment_size > j->cfg.size) {
        zc_segments_reap(j);
        if (allocated(j) + j->segment_size > j->cfg.size)
            return zc_errorf(ENOSPC, "journal %s: full", j->dir);
    }
    rc = make(j);
    if ((rc == -ENOSPC || rc == -EDQUOT) && !j->reaping) { /* the disk has less than we may take */
        zc_segments_reap(j);
        rc = make(j);
    }
    if (rc == -ENOSPC && !j->told_full) {
        zc_warn("%s", zc_error_text(rc));
        j->told_full = true;
    }
    return rc;
}

/* ---- deleting ---- */

/* What a segment has of a file is not owed: 0; else as zc_journal_config.owes.  `t`: a ticket that
 * does not count, or NULL. */
static int owed(struct zc_journal *j, const struct zc_journal_part *p,
                const struct zc_journal_ticket *t)
{
    const struct zc_segment *s = p->segment;
    uint64_t dev, ino, number;
    unsigned busy;

    zc_lock_get(&j->lock);
    busy = s->busy - (t && t->file && s->number >= t->first && s->number <= t->last);
    number = p->file->gone ? 0 : p->number;
    dev = p->file->dev;
    ino = p->file->ino;
    zc_lock_put(&j->lock);
    if (busy)
        return -EAGAIN;
    return number && j->cfg.owes ? j->cfg.owes(j->cfg.arg, dev, ino, number) : 0;
}

/* The same for all that it and those before it have of the file; *before: there are any. */
static int owed_until(struct zc_journal *j, const struct zc_journal_part *last, bool *before)
{
    *before = false;
    zc_list_each (&last->file->parts, n) {
        const struct zc_journal_part *p = zc_list_entry(n, struct zc_journal_part, file_link);
        int rc = owed(j, p, NULL);

        if (rc)
            return rc;
        if (p == last)
            break;
        *before = true;
    }
    return 0;
}

static unsigned tickets_in(struct zc_journal *j, const struct zc_segment *s)
{
    unsigned busy;

    zc_lock_get(&j->lock);
    busy = s->busy;
    zc_lock_put(&j->lock);
    return busy;
}

static bool needed(struct zc_journal *j, const struct zc_segment *s)
{
    bool before;

    zc_list_each (&s->parts, n)
        if (owed_until(j, zc_list_entry(n, struct zc_journal_part, link), &before))
            return true;
    return tickets_in(j, s) > 0;
}

/* What is in older ones of its files is not needed any more: nobody would say so without it, and
 * it stays when that cannot be said. */
static int bequeath(struct zc_journal *j, struct zc_segment *s)
{
    const struct zc_segment *heir = j->current;
    uint64_t had = heir ? heir->records : 0;
    bool before;
    int rc = 0;

    zc_list_each (&s->parts, n) {
        struct zc_journal_part *p = zc_list_entry(n, struct zc_journal_part, link);

        if (p->file->path && owed_until(j, p, &before) == 0 && before)
            rc = zc_journal_note(j, p->file, ZC_RECORD_VOID,
                                 p->file->gone ? UINT64_MAX : s->last_seq);
        if (rc < 0)
            return rc;
    }
    rc = zc_journal_push(j, true);
    if (j->current)
        j->current->bequests += j->current->records - (j->current == heir ? had : 0);
    return rc;
}

static int retire(struct zc_journal *j, struct zc_segment *s)
{
    int rc = bequeath(j, s);

    if (rc < 0)
        return rc;
    delete_file(j, s);
    zc_segment_forget(j, s);
    j->told_full = false;
    return 0;
}

bool zc_segments_free(struct zc_journal *j, const struct zc_segment *s)
{
    return !needed(j, s);
}

void zc_segments_reap(struct zc_journal *j)
{
    if (j->reaping)
        return;
    j->reaping = true;
    zc_list_each_safe (&j->segments, n) {
        struct zc_segment *s = zc_list_entry(n, struct zc_segment, link);
        const struct zc_segment *current = j->current;

        if (s == current || needed(j, s))
            continue;
        if (retire(j, s) < 0 && j->current != current)
            break; /* it may have been the next in the list, and failed */
    }
    j->reaping = false;
    zc_segments_hurry(j);
}

/* ---- room ---- */

/* Write-back is asked for from three quarters on, until it is half. */
void zc_segments_hurry(struct zc_journal *j)
{
    uint64_t used = allocated(j), size = j->cfg.size;
    bool hurry = j->hurrying ? used > size / 2 : used > size / 4 * 3;

    if (hurry == j->hurrying || !j->cfg.hurry)
        return;
    j->hurrying = hurry;
    j->cfg.hurry(j->cfg.arg, hurry);
}

/* Why a segment will not go, but for what is on its way; 0: it may go. */
static int held_by(struct zc_journal *j, const struct zc_segment *s,
                   const struct zc_journal_ticket *t)
{
    zc_list_each (&s->parts, n) {
        int rc = owed(j, zc_list_entry(n, struct zc_journal_part, link), t);

        if (rc && rc != -EAGAIN)
            return rc;
    }
    if (t && t->file && s->number >= t->first && s->number <= t->last && tickets_in(j, s) == 1)
        return -EDEADLK; /* it waits for itself */
    return 0;
}

/* Why nothing will make room; 0: something may. */
static int stuck(struct zc_journal *j, const struct zc_journal_ticket *t)
{
    int why = 0;

    zc_list_each (&j->segments, n) {
        int rc = held_by(j, zc_list_entry(n, struct zc_segment, link), t);

        if (rc == 0)
            return 0;
        why = rc == -EDEADLK && why ? why : rc;
    }
    return why;
}

/* A file that the store refuses has had its share. */
static int beyond_share(struct zc_journal *j, const struct zc_journal_file *f)
{
    if (allocated(j) <= j->cfg.size / 2)
        return 0;
    zc_list_each (&f->parts, n) {
        int rc = owed(j, zc_list_entry(n, struct zc_journal_part, file_link), NULL);

        if (rc && rc != -EAGAIN)
            return rc;
    }
    return 0;
}

static int refuse_write(struct zc_journal *j, const struct zc_journal_file *f, int err,
                        const char *whose)
{
    return zc_errorf(-err,
                     "write to %s: the journal %s is full of %s bytes that cannot be written "
                     "back: %s",
                     f->path, j->dir, whose, strerror(-err));
}

static bool stopped(struct zc_journal *j)
{
    bool stop;

    zc_lock_get(&j->lock);
    stop = j->stop;
    zc_lock_put(&j->lock);
    return stop;
}

/* Lets others have the turn meanwhile: their notes are what makes room. */
static void pause_turn(struct zc_journal *j)
{
    zc_journal_end_turn(j);
    zc_lock_get(&j->lock);
    if (!j->stop)
        zc_cond_wait_until(&j->room, &j->lock, zc_now() + ZC_JOURNAL_POLL_MS * ZC_NS_PER_MS);
    zc_lock_put(&j->lock);
    zc_journal_beat(j);
    zc_journal_take_turn(j);
}

static int wait_for_segment(struct zc_journal *j, const struct zc_journal_write *w)
{
    bool counted = false;
    int rc, why;

    while ((rc = zc_segment_next(j, false)) == -ENOSPC) {
        if (!counted) {
            zc_lock_get(&j->lock);
            j->st.journal_full++;
            zc_lock_put(&j->lock);
            counted = true;
        }
        why = stuck(j, w->ticket);
        if (why)
            return refuse_write(j, w->file, why, "others'");
        if (stopped(j))
            return zc_errorf(ESHUTDOWN, "the daemon is stopping");
        if (!j->hurrying && j->cfg.hurry) { /* the disk is fuller than we may make it */
            j->hurrying = true;
            j->cfg.hurry(j->cfg.arg, true);
        }
        pause_turn(j);
    }
    return rc;
}

int zc_segment_room(struct zc_journal *j, size_t len, const struct zc_journal_write *w)
{
    while (!j->current || j->current->at + j->fill + len > j->current->size) {
        int rc = w ? beyond_share(j, w->file) : 0;

        if (rc)
            rc = refuse_write(j, w->file, rc, "its");
        else
            rc = w ? wait_for_segment(j, w) : zc_segment_next(j, true);
        if (rc < 0)
            return rc;
    }
    return 0;
}
