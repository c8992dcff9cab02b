/* zc_journal_file.c - the files that a journal knows, and the notes of their identity.
 *
 * A file is known from its first open for writing, or from a segment of an earlier daemon, until no
 * store file of it is open, no ticket names it and no segment has records of it.  A deleted file is
 * not found any more: its device and inode may soon be those of another file.
 *
 *     NOTED   --intent_begin(): a change waits until this is in the journal-->  INTENT
 *     INTENT  --checked(), opened(): no change of ours was under way-->         NOTED
 *
 * Either state is written to the journal only if it has records of the file; the FILE record that
 * introduces a file in a segment has its current state.  A note describes the state at the time of
 * writing, under the writer lock, so two notes cannot be written in the wrong order.  INTENT is
 * entered under the writer lock: a second thread about to change the file waits until the note is
 * written.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "zc_journal_internal.h"

static struct zc_list *bucket(struct zc_journal *j, uint64_t dev, uint64_t ino)
{
    uint64_t x = (dev * 0x9e3779b97f4a7c15ull) ^ (ino * 0xd6e8feb86659fd93ull);

    return &j->files[(x >> 32) % ZC_JOURNAL_BUCKETS];
}

struct zc_journal_file *zc_jfile_find(struct zc_journal *j, uint64_t dev, uint64_t ino)
{
    zc_assert_held(&j->lock);
    zc_list_each (bucket(j, dev, ino), n) {
        struct zc_journal_file *f = zc_list_entry(n, struct zc_journal_file, link);

        if (f->dev == dev && f->ino == ino && !f->gone)
            return f;
    }
    return NULL;
}

struct zc_journal_file *zc_jfile_new(struct zc_journal *j, uint32_t id)
{
    struct zc_journal_file *f = calloc(1, sizeof *f);

    (void)j;
    if (!f)
        return NULL;
    zc_list_init(&f->link);
    zc_list_init(&f->parts);
    f->id = id;
    f->peek_fd = -1;
    return f;
}

void zc_jfile_place(struct zc_journal *j, struct zc_journal_file *f)
{
    zc_list_del(&f->link);
    zc_list_add_tail(bucket(j, f->dev, f->ino), &f->link);
}

void zc_jfile_destroy(struct zc_journal_file *f)
{
    zc_list_del(&f->link);
    if (f->peek_fd >= 0)
        close(f->peek_fd);
    free(f->path);
    free(f);
}

void zc_jfile_reap(struct zc_journal_file *f)
{
    if (!f->opens && !f->tickets && !f->segments && !f->changing && !f->old)
        zc_jfile_destroy(f);
}

size_t zc_jfile_record(const struct zc_journal_file *f, unsigned char *body, uint64_t *flags)
{
    struct zc_record_file r = {
        .dev = f->dev,
        .ino = f->ino,
        .size = f->noted.size,
        .born_ns = f->noted.born_ns,
        .mtime_ns = f->noted.mtime_ns,
        .ctime_ns = f->noted.ctime_ns,
        .mark = f->noted.mark,
        .path = f->path,
        .path_len = (uint32_t)strlen(f->path),
    };

    if (r.path_len > ZC_RECORD_PATH_MAX)
        r.path_len = ZC_RECORD_PATH_MAX;
    *flags = (f->intent ? ZC_RECORD_INTENT : 0) | (f->shared ? ZC_RECORD_SHARED : 0) |
             (f->refused ? ZC_RECORD_REFUSED : 0);
    return zc_record_put_file(body, &r);
}

struct zc_journal_file *zc_journal_find(struct zc_journal *j, uint64_t dev, uint64_t ino)
{
    struct zc_journal_file *f;

    zc_lock_get(&j->lock);
    f = zc_jfile_find(j, dev, ino);
    if (f && !f->opens)
        f = NULL;
    zc_lock_put(&j->lock);
    return f;
}

/* Writes the state of the file; with the writer lock. */
static int note_here(struct zc_journal *j, struct zc_journal_file *f)
{
    int rc = zc_journal_note(j, f, ZC_RECORD_FILE, 0);

    return rc < 0 ? rc : zc_journal_push(j, false);
}

static int note(struct zc_journal *j, struct zc_journal_file *f)
{
    int rc;

    zc_journal_writer_lock(j);
    rc = note_here(j, f);
    zc_journal_writer_unlock(j);
    return rc;
}

/* Stores new attributes; keeps birth time and mark, which only opens read. */
static void set_noted(struct zc_journal_file *f, const struct zc_attr *attr)
{
    int64_t born = attr->born_ns ? attr->born_ns : f->noted.born_ns;
    uint64_t mark = attr->mark ? attr->mark : f->noted.mark;

    f->noted = *attr;
    f->noted.born_ns = born;
    f->noted.mark = mark;
    f->intent = f->told = false;
}

static bool differ(const struct zc_attr *a, const struct zc_attr *b)
{
    return a->size != b->size || a->mtime_ns != b->mtime_ns || a->ctime_ns != b->ctime_ns;
}

/* Stores the attributes of an open.  `changes`: value of j->changes before they were read. */
static void set_opened(struct zc_journal *j, struct zc_journal_file *f, uint64_t changes,
                       const struct zc_attr *attr)
{
    if (attr->mark)
        f->noted.mark = attr->mark;
    if (f->changing)
        return;
    set_noted(f, attr);
    if (changes != j->changes) { /* a change of this file may have ended meanwhile: size and times
                                    are uncertain */
        f->intent = true;
        f->noted.size = 0;
    }
}

/* Whether the inode number has been reused: the noted file was deleted outside the daemon. */
static bool births_differ(const struct zc_journal_file *f, const struct zc_attr *attr)
{
    return f->noted.born_ns && attr->born_ns && f->noted.born_ns != attr->born_ns;
}

/* Finds or creates the file with these attributes and gives it *path, returning the old path there;
 * with the lock.  *before: a deleted file that had this inode number, kept for unneeded(). */
static struct zc_journal_file *rendezvous(struct zc_journal *j, char **path,
                                          const struct zc_attr *attr,
                                          struct zc_journal_file **before)
{
    struct zc_journal_file *f = zc_jfile_find(j, attr->dev, attr->ino);
    char *old;

    if (f && births_differ(f, attr)) {
        f->gone = true;
        f->opens++;
        *before = f;
        f = NULL;
    }
    if (!f) {
        f = zc_jfile_new(j, j->next_id);
        if (!f)
            return NULL;
        j->next_id++;
        f->dev = attr->dev;
        f->ino = attr->ino;
        zc_jfile_place(j, f);
    }
    old = f->path;
    f->path = *path;
    *path = old;
    return f;
}

/* Notes that no record of the file matters any more. */
static void unneeded(struct zc_journal *j, struct zc_journal_file *f)
{
    zc_journal_writer_lock(j);
    zc_journal_note(j, f, ZC_RECORD_DISCARD, UINT64_MAX);
    zc_journal_push(j, false);
    zc_journal_writer_unlock(j);
}

uint64_t zc_journal_opening(struct zc_journal *j)
{
    uint64_t changes;

    zc_lock_get(&j->lock);
    changes = j->changes;
    zc_lock_put(&j->lock);
    return changes;
}

/* Sets the descriptor for reading the contents of the file, unless it has one; takes `fd` over. */
static void set_peek(struct zc_journal *j, struct zc_journal_file *f, int fd)
{
    zc_journal_writer_lock(j);
    if (f->peek_fd < 0) {
        f->peek_fd = fd;
        fd = -1;
    }
    zc_journal_writer_unlock(j);
    if (fd >= 0)
        close(fd);
}

struct zc_journal_file *zc_journal_opened(struct zc_journal *j, const char *path, uint64_t changes,
                                          const struct zc_attr *attr, bool shared)
{
    char *copy = strdup(path);
    struct zc_journal_file *f, *before = NULL;
    bool tell = false, tell_before, first = false;
    struct zc_attr was;

    if (!copy)
        return NULL;
    zc_lock_get(&j->lock);
    f = rendezvous(j, &copy, attr, &before);
    if (f) {
        bool renamed = copy && strcmp(copy, f->path) != 0;

        tell = f->intent || renamed || f->shared != shared || f->refused;
        was = f->noted;
        first = f->opens++ == 0;
        f->shared = f->shared || shared;
        f->refused = false;
        set_opened(j, f, changes, attr);
        tell = f->segments > 0 && (tell || differ(&was, &f->noted) || was.mark != f->noted.mark);
    }
    tell_before = before && before->segments > 0;
    zc_lock_put(&j->lock);
    if (before) {
        if (tell_before)
            unneeded(j, before);
        zc_journal_closed(j, before, false);
    }
    if (first)
        set_peek(j, f, zc_before_open(path, attr));
    free(copy); /* the file's former path, which a replay opens it by: `path` itself */
    if (tell)
        note(j, f);
    return f;
}

/* Number of the last record whose bytes a store write that begins now includes; with the lock.
 * During a replay, records that the sink has not received are in no page: no note may cover
 * them. */
static uint64_t covered(const struct zc_journal *j)
{
    return j->seq < j->given ? j->seq : j->given;
}

void zc_journal_closed(struct zc_journal *j, struct zc_journal_file *f, bool settled)
{
    uint64_t until;
    bool tell;
    int fd = -1;

    zc_lock_get(&j->lock);
    until = covered(j);
    tell = settled && f->segments > 0 && !f->gone && f->tickets == 0;
    zc_lock_put(&j->lock);
    if (tell) {
        zc_journal_writer_lock(j);
        zc_journal_note(j, f, ZC_RECORD_DISCARD, until);
        zc_journal_push(j, false);
        zc_journal_writer_unlock(j);
    }
    zc_journal_writer_lock(j);
    zc_lock_get(&j->lock);
    if (--f->opens == 0) { /* at once: else an open between could be left without it */
        fd = f->peek_fd;
        f->peek_fd = -1;
    }
    zc_jfile_reap(f);
    zc_lock_put(&j->lock);
    zc_journal_writer_unlock(j);
    if (fd >= 0)
        close(fd);
}

/* Notes an intent: the file is about to change, and may become as short as `size`.  If the note
 * cannot be written, the change goes on: should the daemon die before the next note, what is
 * pending is reported as lost. */
static void tell_intent(struct zc_journal *j, struct zc_journal_file *f, uint64_t size)
{
    bool tell;
    int rc = 0;

    zc_journal_writer_lock(j);
    zc_lock_get(&j->lock);
    tell = (!f->told || size < f->noted.size) && f->segments > 0 && !f->gone;
    f->intent = true;
    if (size < f->noted.size)
        f->noted.size = size;
    zc_lock_put(&j->lock);
    if (tell)
        rc = note_here(j, f);
    zc_lock_get(&j->lock);
    f->told = rc == 0;
    zc_lock_put(&j->lock);
    zc_journal_writer_unlock(j);
}

uint64_t zc_journal_intent_begin(struct zc_journal *j, struct zc_journal_file *f, uint64_t size)
{
    uint64_t seq;
    bool told;

    zc_lock_get(&j->lock);
    f->changing++;
    told = f->told && size >= f->noted.size;
    zc_lock_put(&j->lock);
    if (!told)
        tell_intent(j, f, size);
    zc_journal_heartbeat(j);
    zc_lock_get(&j->lock);
    seq = covered(j);
    zc_lock_put(&j->lock);
    return seq;
}

void zc_journal_intent_end(struct zc_journal *j, struct zc_journal_file *f)
{
    zc_lock_get(&j->lock);
    f->changing--;
    f->changes++;
    j->changes++;
    zc_lock_put(&j->lock);
    zc_journal_heartbeat(j);
}

uint64_t zc_journal_changes(struct zc_journal *j, struct zc_journal_file *f)
{
    uint64_t changes;

    zc_lock_get(&j->lock);
    changes = f->changing ? UINT64_MAX : f->changes;
    zc_lock_put(&j->lock);
    return changes;
}

void zc_journal_checked(struct zc_journal *j, struct zc_journal_file *f, uint64_t changes,
                        const struct zc_attr *attr)
{
    bool tell = false, other;

    if (attr->nlink == 0) {
        zc_journal_gone(j, f);
        return;
    }
    zc_lock_get(&j->lock);
    other = attr->ctime_ns >= f->noted.ctime_ns && differ(attr, &f->noted);
    if ((f->intent || other) && !f->changing && f->changes == changes) {
        set_noted(f, attr);
        tell = f->segments > 0 && !f->gone;
    }
    zc_lock_put(&j->lock);
    if (tell)
        note(j, f);
}

void zc_journal_truncate(struct zc_journal *j, struct zc_journal_file *f, uint64_t size)
{
    bool tell;

    zc_lock_get(&j->lock);
    tell = f->segments > 0 && !f->gone;
    f->noted.size = size;
    zc_lock_put(&j->lock);
    if (!tell)
        return;
    zc_journal_writer_lock(j);
    zc_journal_note(j, f, ZC_RECORD_TRUNCATE, size);
    zc_journal_note(j, f, ZC_RECORD_FILE, 0); /* the size may be smaller now */
    zc_journal_push(j, false);
    zc_journal_writer_unlock(j);
}

void zc_journal_gone(struct zc_journal *j, struct zc_journal_file *f)
{
    bool tell;

    zc_lock_get(&j->lock);
    tell = f->segments > 0 && !f->gone;
    zc_lock_put(&j->lock);
    if (tell)
        unneeded(j, f);
    zc_lock_get(&j->lock);
    f->gone = true;
    zc_lock_put(&j->lock);
}

struct zc_journal_file *zc_journal_unlinking(struct zc_journal *j, const struct zc_attr *attr)
{
    struct zc_journal_file *f;

    zc_lock_get(&j->lock);
    f = zc_jfile_find(j, attr->dev, attr->ino);
    if (f && births_differ(f, attr))
        f = NULL;
    if (f)
        f->opens++; /* keeps the file until unlinked() */
    zc_lock_put(&j->lock);
    return f;
}

void zc_journal_unlinked(struct zc_journal *j, struct zc_journal_file *f, bool gone)
{
    if (gone)
        zc_journal_gone(j, f);
    zc_journal_closed(j, f, false);
}

int zc_journal_see(struct zc_journal *j, struct zc_journal_file *f, const struct zc_attr *attr)
{
    int rc;

    zc_lock_get(&j->lock);
    set_noted(f, attr);
    zc_lock_put(&j->lock);
    rc = note(j, f);
    return rc == -ENOSPC || rc == -EDQUOT ? 0 : rc; /* like other notes: the log has it already */
}

int zc_journal_sync(struct zc_journal *j)
{
    int rc;

    if (!j->cfg.sync)
        return 0;
    zc_journal_writer_lock(j);
    rc = zc_journal_push(j, true);
    zc_journal_writer_unlock(j);
    return rc;
}

bool zc_journal_syncs(const struct zc_journal *j)
{
    return j->cfg.sync;
}

void zc_journal_stored(struct zc_journal *j, struct zc_journal_file *f, uint64_t until,
                       uint64_t off, const struct zc_range *r, uint32_t n)
{
    bool tell;

    zc_lock_get(&j->lock);
    tell = f->segments > 0 && !f->gone && n > 0;
    zc_lock_put(&j->lock);
    if (!tell)
        return;
    zc_journal_writer_lock(j);
    zc_journal_note_ranges(j, f, until, off, r, n);
    zc_journal_push(j, false);
    zc_journal_writer_unlock(j);
}
