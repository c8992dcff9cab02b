/* zc_journal_segment.c - segments of a journal: creation, deletion, and waiting for room.
 *
 *     made --current--> full --nothing in it is owed or explains what is, no ticket--> deleted
 *
 * A segment is allocated in full when it is made, so that a full disk is met here and nowhere else.
 * The last segment is replaced by an empty one when all of it is stored: once a second, and when
 * there is no room for another one beside it.
 *
 * A disk may have room for one segment only, or lose the room it had.  Then writes wait for
 * write-back of the current segment, which is deleted before the next one is made.  Its notes about
 * older segments are first copied into a small segment, which notes also get when there is no room
 * for a whole one.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "zc_fd.h"
#include "zc_journal_internal.h"
#include "zc_units.h"

/* ---- parts ---- */

/* Finds the file's part of the segment.  Linear: a file has at most one part per segment. */
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

    if (s->moved)
        return;
    zc_segment_name(s->number, name);
    if (unlinkat(j->dir_fd, name, 0) < 0 && errno != ENOENT)
        zc_warn("journal %s/%s: %s", j->dir, name, strerror(errno));
}

void zc_segment_end(struct zc_journal *j)
{
    struct zc_segment *s = j->writer.current;

    if (s->at > 0) {
        if (ftruncate(j->writer.fd, (off_t)s->at) < 0)
            zc_warn("journal %s: segment %" PRIu64 ": %s", j->dir, s->number, strerror(errno));
        s->size = s->at;
        return;
    }
    delete_file(j, s); /* even the SEGMENT record was not written */
    close(j->writer.fd);
    j->writer.fd = -1;
    j->writer.current = NULL;
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
    if (err == EFBIG)
        return zc_errorf(err,
                         "journal %s: a segment has %llu bytes, which is above the limit on the "
                         "size of files: raise it (ulimit -f), or give a smaller --journal-size",
                         j->dir, (unsigned long long)j->segment_size);
    return zc_errorf(err, "journal %s/%s: %s", j->dir, name, strerror(err));
}

static bool no_room(int rc)
{
    return rc == -ENOSPC || rc == -EDQUOT;
}

/* Creates the file and allocates `size` bytes; returns the descriptor or a negative errno. */
static int make_file(struct zc_journal *j, const char *name, uint64_t size)
{
    int fd = zc_fd(openat(j->dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)), err;

    if (fd < 0)
        return refuse_segment(j, name, errno);
    err = posix_fallocate(fd, 0, (off_t)size);
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

static int make(struct zc_journal *j, uint64_t size)
{
    struct zc_record r = {.kind = ZC_RECORD_SEGMENT, .until = j->writer.written_seq};
    struct zc_record_segment head = {.root = j->record.id,
                                     .seat = j->cfg.seat,
                                     .generation = j->generation,
                                     .boot_id = j->cfg.boot_id,
                                     .path = j->root,
                                     .path_len = (uint32_t)strlen(j->root)};
    struct zc_segment *s = calloc(1, sizeof *s);
    char name[32];
    int fd;

    if (!s)
        return zc_errorf(ENOMEM, "journal %s: out of memory", j->dir);
    zc_segment_name(j->writer.next_number, name);
    fd = make_file(j, name, size);
    if (fd < 0) {
        free(s);
        return fd;
    }
    s->number = j->writer.next_number++;
    s->size = size;
    zc_list_init(&s->parts);
    if (j->writer.fd >= 0)
        close(j->writer.fd);
    j->writer.fd = fd;
    zc_lock_get(&j->lock);
    if (j->writer.current)
        j->writer.current->last_seq = j->seq;
    zc_list_add_tail(&j->segments, &s->link);
    zc_lock_put(&j->lock);
    j->writer.current = s;
    zc_journal_append(j, &r, zc_record_put_segment(zc_journal_body(j), &head));
    return 0;
}

static uint64_t allocated(const struct zc_journal *j)
{
    uint64_t sum = 0;

    zc_list_each (&j->segments, n)
        sum += zc_list_entry(n, struct zc_segment, link)->size;
    return sum;
}

/* ---- deleting ---- */

/* Returns 0 if the cache does not owe what the segment has of the file, else as
 * zc_journal_config.owes.  `t`: a ticket that does not count, or NULL. */
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

/* The same for all parts of the file up to `last`; *before: there is an earlier one. */
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

/* Whether stored bytes of the part may explain what the file has below later ones that are still
 * owed: those staged before the part was stored noted what the file had then (zc_journal_before.c),
 * and a replay that finds the part's bytes there has to know them.  Not while a write waits for
 * room. */
static bool explains(struct zc_journal *j, struct zc_journal_part *p)
{
    if (j->writer.waits || !j->writer.current)
        return false;
    if (!p->stored_by || p->segment == j->writer.current)
        p->stored_by = j->writer.current->number;
    for (struct zc_list *n = p->file_link.next; n != &p->file->parts; n = n->next) {
        const struct zc_journal_part *later = zc_list_entry(n, struct zc_journal_part, file_link);

        if (later->segment->number > p->stored_by)
            break;
        if (owed(j, later, NULL) == -EAGAIN)
            return true;
    }
    return false;
}

static bool needed(struct zc_journal *j, const struct zc_segment *s)
{
    bool before;

    zc_list_each (&s->parts, n) {
        struct zc_journal_part *p = zc_list_entry(n, struct zc_journal_part, link);

        if (owed_until(j, p, &before) || explains(j, p))
            return true;
    }
    return tickets_in(j, s) > 0;
}

/* Before a segment is deleted: copies what its notes say about older segments into the current one.
 * The segment stays if that fails, as nothing else would make these records void. */
static int bequeath(struct zc_journal *j, struct zc_segment *s)
{
    const struct zc_segment *heir = j->writer.current;
    uint64_t had = heir ? heir->records : 0;
    bool before;
    int rc = 0;

    zc_list_each (&s->parts, n) {
        struct zc_journal_part *p = zc_list_entry(n, struct zc_journal_part, link);

        if (p->file->path && owed_until(j, p, &before) == 0 && before)
            rc = zc_journal_note(j, p->file, ZC_RECORD_DISCARD,
                                 p->file->gone ? UINT64_MAX : s->last_seq);
        if (rc < 0)
            return rc;
    }
    rc = zc_journal_push(j, true);
    if (j->writer.current)
        j->writer.current->bequests +=
            j->writer.current->records - (j->writer.current == heir ? had : 0);
    return rc;
}

static int retire(struct zc_journal *j, struct zc_segment *s)
{
    int rc = bequeath(j, s);

    if (rc < 0)
        return rc;
    delete_file(j, s);
    zc_segment_forget(j, s);
    j->writer.told_full = false;
    return 0;
}

bool zc_segments_free(struct zc_journal *j, const struct zc_segment *s)
{
    return !needed(j, s);
}

void zc_segments_reap(struct zc_journal *j)
{
    if (j->writer.reaping)
        return;
    j->writer.reaping = true;
    zc_list_each_safe (&j->segments, n) {
        struct zc_segment *s = zc_list_entry(n, struct zc_segment, link);
        const struct zc_segment *current = j->writer.current;

        if (s == current || needed(j, s))
            continue;
        if (retire(j, s) < 0 && j->writer.current != current)
            break; /* the next in the list may be the segment that failed */
    }
    j->writer.reaping = false;
    zc_segments_hurry(j);
}

/* ---- the next one ---- */

/* Whether no older segment has records of its files: then its notes need not be kept. */
static bool stands_alone(const struct zc_segment *s)
{
    zc_list_each (&s->parts, n) {
        const struct zc_journal_part *p = zc_list_entry(n, struct zc_journal_part, link);

        if (p->file->parts.next != &p->file_link)
            return false;
    }
    return true;
}

/* Deletes the current segment if it is not needed; the buffer is empty. */
static bool clear_current(struct zc_journal *j)
{
    struct zc_segment *s = j->writer.current;
    bool cleared;

    if (j->writer.reaping || !s || needed(j, s))
        return false;
    j->writer.reaping = true;
    if (stands_alone(s)) {
        close(j->writer.fd);
        j->writer.fd = -1;
        j->writer.current = NULL;
        delete_file(j, s);
        zc_segment_forget(j, s);
        cleared = true;
    } else {
        cleared = make(j, ZC_JOURNAL_NOTES) == 0 && retire(j, s) == 0;
    }
    j->writer.reaping = false;
    return cleared;
}

static bool has_budget(const struct zc_journal *j, bool note)
{
    return note || allocated(j) + j->segment_size <= j->cfg.size;
}

/* Makes a segment of full size.  -ENOSPC: the journal is at its limit, or the disk is full. */
static int make_whole(struct zc_journal *j, bool note)
{
    return has_budget(j, note) ? make(j, j->segment_size)
                               : zc_errorf(ENOSPC, "journal %s: full", j->dir);
}

int zc_segment_next(struct zc_journal *j, bool note)
{
    int rc = zc_journal_push(j, true);
    bool full;

    if (rc < 0)
        return rc;
    rc = make_whole(j, note);
    if (no_room(rc) && !j->writer.reaping) {
        zc_segments_reap(j);
        rc = make_whole(j, note);
        if (no_room(rc) && clear_current(j))
            rc = make_whole(j, note);
    }
    full = no_room(rc) && has_budget(j, note);
    if (full && !j->writer.told_full) {
        zc_warn("%s", zc_error_text(rc));
        j->writer.told_full = true;
    }
    if (full && note && make(j, ZC_JOURNAL_NOTES) == 0)
        rc = 0;
    return rc;
}

/* ---- room ---- */

/* Asks for write-back when three quarters of the journal are used, until half are. */
void zc_segments_hurry(struct zc_journal *j)
{
    uint64_t used = allocated(j), size = j->cfg.size;
    bool hurry = j->hurrying ? used > size / 2 : used > size / 4 * 3;

    if (hurry == j->hurrying || !j->cfg.hurry)
        return;
    j->hurrying = hurry;
    j->cfg.hurry(j->cfg.arg, hurry);
}

/* Returns the store error that keeps a segment, or 0; write-back under way does not count. */
static int held_by(struct zc_journal *j, const struct zc_segment *s,
                   const struct zc_journal_ticket *t)
{
    zc_list_each (&s->parts, n) {
        int rc = owed(j, zc_list_entry(n, struct zc_journal_part, link), t);

        if (rc && rc != -EAGAIN)
            return rc;
    }
    if (t && t->file && s->number >= t->first && s->number <= t->last && tickets_in(j, s) == 1)
        return -EDEADLK; /* the ticket would wait for itself */
    return 0;
}

/* Returns why no segment will be freed; 0: one may be; -EDEADLK: write-back cannot help. */
static int stuck(struct zc_journal *j, const struct zc_journal_ticket *t)
{
    int why = -EDEADLK;

    zc_list_each (&j->segments, n) {
        const struct zc_segment *s = zc_list_entry(n, struct zc_segment, link);
        int rc = held_by(j, s, t);

        if (rc == 0 && needed(j, s))
            return 0;
        why = rc && rc != -EDEADLK ? rc : why;
    }
    return why;
}

/* Returns the store's error if the file's write-back fails and half of the journal is used. */
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
    if (err == -EDEADLK)
        return zc_errorf(ENOSPC, "write to %s: the journal %s has no room: %s", f->path, j->dir,
                         strerror(ENOSPC));
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

/* Releases the writer lock for a moment: the notes of other threads are what makes room. */
static void pause_turn(struct zc_journal *j)
{
    zc_journal_writer_unlock(j);
    zc_lock_get(&j->lock);
    if (!j->stop)
        zc_cond_wait_until(&j->room, &j->lock, zc_now() + ZC_JOURNAL_POLL_MS * ZC_NS_PER_MS);
    zc_lock_put(&j->lock);
    zc_journal_heartbeat(j);
    zc_journal_writer_lock(j);
}

static void count_full(struct zc_journal *j)
{
    zc_lock_get(&j->lock);
    j->st.journal_full++;
    zc_lock_put(&j->lock);
}

/* Waits until a segment can be made.  The first try keeps stored segments that explain others
 * (explains()), and stuck() may see a segment that the next try deletes: the write is refused only
 * when two tries in a row find nothing to wait for. */
static int wait_for_segment(struct zc_journal *j, const struct zc_journal_write *w)
{
    bool counted = false, none = false;
    int rc, why;

    while (no_room(rc = zc_segment_next(j, false))) {
        if (!counted)
            count_full(j);
        counted = true;
        j->writer.waits = w;
        why = stuck(j, w->ticket);
        if (why && none) {
            rc = refuse_write(j, w->file, why, "others'");
            break;
        }
        none = why != 0;
        if (none)
            continue;
        if (stopped(j)) {
            rc = zc_errorf(ESHUTDOWN, "the daemon is stopping");
            break;
        }
        if (!j->hurrying && j->cfg.hurry) { /* the disk is full below the limit */
            j->hurrying = true;
            j->cfg.hurry(j->cfg.arg, true);
        }
        pause_turn(j);
    }
    j->writer.waits = NULL;
    return rc;
}

int zc_segment_room(struct zc_journal *j, size_t len, const struct zc_journal_write *w)
{
    while (!j->writer.current ||
           j->writer.current->at + j->writer.fill + len > j->writer.current->size) {
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
