/* zc_journal_file.c - the files that a journal knows, and what it notes of them.
 *
 * A file is known from its first open for writing, or from a segment of an earlier daemon, until no
 * store file of it is open, no ticket names it and no segment has records of it.  One that is gone
 * is not found any more: its device and inode may be another one's soon.
 *
 *     NOTED  --changing(): no change begins before the journal has been told-->  FLUX
 *     FLUX   --looked(), opened(): none of our changes under way, nor since-->  NOTED
 *
 * The journal is told of either only if it has records of the file; the FILE with which those of a
 * segment begin has the state as it is.  A note is made of the state there is when its turn has
 * come, so that two of them cannot be the wrong way round.  What comes into flux does so with the
 * turn: whoever else is about to change the file waits until the note about that is written.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

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
        .path = f->path,
        .path_len = (uint32_t)strlen(f->path),
    };

    if (r.path_len > ZC_RECORD_PATH_MAX)
        r.path_len = ZC_RECORD_PATH_MAX;
    *flags = (f->flux ? ZC_RECORD_FLUX : 0) | (f->shared ? ZC_RECORD_SHARED : 0);
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

/* What the file is, with the turn. */
static int note_here(struct zc_journal *j, struct zc_journal_file *f)
{
    int rc = zc_journal_note(j, f, ZC_RECORD_FILE, 0);

    return rc < 0 ? rc : zc_journal_push(j, false);
}

static int note(struct zc_journal *j, struct zc_journal_file *f)
{
    int rc;

    zc_journal_take_turn(j);
    rc = note_here(j, f);
    zc_journal_end_turn(j);
    return rc;
}

/* A birth is read at opens only. */
static void set_noted(struct zc_journal_file *f, const struct zc_attr *attr)
{
    int64_t born = attr->born_ns ? attr->born_ns : f->noted.born_ns;

    f->noted = *attr;
    f->noted.born_ns = born;
    f->flux = f->told = false;
}

static bool differ(const struct zc_attr *a, const struct zc_attr *b)
{
    return a->size != b->size || a->mtime_ns != b->mtime_ns || a->ctime_ns != b->ctime_ns;
}

/* Opened with these attributes, which were read before as many changes had ended. */
static void set_opened(struct zc_journal *j, struct zc_journal_file *f, uint64_t changes,
                       const struct zc_attr *attr)
{
    if (f->changing)
        return;
    set_noted(f, attr);
    if (changes != j->changes) { /* one of this file? it has other times then, and another size */
        f->flux = true;
        f->noted.size = 0;
    }
}

/* Others have deleted it, and its number is that of another file. */
static bool births_differ(const struct zc_journal_file *f, const struct zc_attr *attr)
{
    return f->noted.born_ns && attr->born_ns && f->noted.born_ns != attr->born_ns;
}

/* The file of these attributes, made if need be, with the path it is opened by; with the lock.
 * *before: the one that had the number until others deleted it; it stays for unneeded(). */
static struct zc_journal_file *meet(struct zc_journal *j, char **path, const struct zc_attr *attr,
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

/* Nothing of the file matters any more. */
static void unneeded(struct zc_journal *j, struct zc_journal_file *f)
{
    zc_journal_take_turn(j);
    zc_journal_note(j, f, ZC_RECORD_VOID, UINT64_MAX);
    zc_journal_push(j, false);
    zc_journal_end_turn(j);
}

uint64_t zc_journal_opening(struct zc_journal *j)
{
    uint64_t changes;

    zc_lock_get(&j->lock);
    changes = j->changes;
    zc_lock_put(&j->lock);
    return changes;
}

struct zc_journal_file *zc_journal_opened(struct zc_journal *j, const char *path, uint64_t changes,
                                          const struct zc_attr *attr, bool shared)
{
    char *copy = strdup(path);
    struct zc_journal_file *f, *before = NULL;
    bool tell = false, tell_before;
    struct zc_attr was;

    if (!copy)
        return NULL;
    zc_lock_get(&j->lock);
    f = meet(j, &copy, attr, &before);
    if (f) {
        bool renamed = copy && strcmp(copy, f->path) != 0;

        tell = f->flux || renamed || f->shared != shared;
        was = f->noted;
        f->opens++;
        f->shared = f->shared || shared;
        set_opened(j, f, changes, attr);
        tell = f->segments > 0 && (tell || differ(&was, &f->noted));
    }
    tell_before = before && before->segments > 0;
    zc_lock_put(&j->lock);
    free(copy);
    if (before) {
        if (tell_before)
            unneeded(j, before);
        zc_journal_closed(j, before, false);
    }
    if (tell)
        note(j, f);
    return f;
}

/* What is stored now is at least as new as records up to this one; with the lock.  At a start those
 * that the sink has not been given yet are in no page: nothing that is noted may be about them. */
static uint64_t covered(const struct zc_journal *j)
{
    return j->seq < j->given ? j->seq : j->given;
}

void zc_journal_closed(struct zc_journal *j, struct zc_journal_file *f, bool settled)
{
    uint64_t until;
    bool tell;

    zc_lock_get(&j->lock);
    until = covered(j);
    tell = settled && f->segments > 0 && !f->gone && f->tickets == 0;
    zc_lock_put(&j->lock);
    if (tell) {
        zc_journal_take_turn(j);
        zc_journal_note(j, f, ZC_RECORD_VOID, until);
        zc_journal_push(j, false);
        zc_journal_end_turn(j);
    }
    zc_lock_get(&j->lock);
    f->opens--;
    zc_jfile_reap(f);
    zc_lock_put(&j->lock);
}

/* The file is in flux, and may be as short as this.  A note that cannot be written holds nothing
 * up: when the daemon dies before the next one can, what is pending is told as lost. */
static void tell_flux(struct zc_journal *j, struct zc_journal_file *f, uint64_t size)
{
    bool tell;
    int rc = 0;

    zc_journal_take_turn(j);
    zc_lock_get(&j->lock);
    tell = (!f->told || size < f->noted.size) && f->segments > 0 && !f->gone;
    f->flux = true;
    if (size < f->noted.size)
        f->noted.size = size;
    zc_lock_put(&j->lock);
    if (tell)
        rc = note_here(j, f);
    zc_lock_get(&j->lock);
    f->told = rc == 0;
    zc_lock_put(&j->lock);
    zc_journal_end_turn(j);
}

uint64_t zc_journal_changing(struct zc_journal *j, struct zc_journal_file *f, uint64_t size)
{
    uint64_t seq;
    bool told;

    zc_lock_get(&j->lock);
    f->changing++;
    told = f->told && size >= f->noted.size;
    zc_lock_put(&j->lock);
    if (!told)
        tell_flux(j, f, size);
    zc_journal_beat(j);
    zc_lock_get(&j->lock);
    seq = covered(j);
    zc_lock_put(&j->lock);
    return seq;
}

void zc_journal_changed(struct zc_journal *j, struct zc_journal_file *f)
{
    zc_lock_get(&j->lock);
    f->changing--;
    f->changes++;
    j->changes++;
    zc_lock_put(&j->lock);
    zc_journal_beat(j);
}

uint64_t zc_journal_changes(struct zc_journal *j, struct zc_journal_file *f)
{
    uint64_t changes;

    zc_lock_get(&j->lock);
    changes = f->changing ? UINT64_MAX : f->changes;
    zc_lock_put(&j->lock);
    return changes;
}

void zc_journal_looked(struct zc_journal *j, struct zc_journal_file *f, uint64_t changes,
                       const struct zc_attr *attr)
{
    bool tell = false, other;

    if (attr->nlink == 0) {
        zc_journal_gone(j, f);
        return;
    }
    zc_lock_get(&j->lock);
    other = attr->ctime_ns >= f->noted.ctime_ns && differ(attr, &f->noted);
    if ((f->flux || other) && !f->changing && f->changes == changes) {
        set_noted(f, attr);
        tell = f->segments > 0 && !f->gone;
    }
    zc_lock_put(&j->lock);
    if (tell)
        note(j, f);
}

void zc_journal_cut(struct zc_journal *j, struct zc_journal_file *f, uint64_t size)
{
    bool tell;

    zc_lock_get(&j->lock);
    tell = f->segments > 0 && !f->gone;
    f->noted.size = size;
    zc_lock_put(&j->lock);
    if (!tell)
        return;
    zc_journal_take_turn(j);
    zc_journal_note(j, f, ZC_RECORD_CUT, size);
    zc_journal_note(j, f, ZC_RECORD_FILE, 0); /* it may be smaller now */
    zc_journal_push(j, false);
    zc_journal_end_turn(j);
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
        f->opens++; /* it stays */
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
    zc_lock_get(&j->lock);
    set_noted(f, attr);
    zc_lock_put(&j->lock);
    return note(j, f);
}

int zc_journal_sync(struct zc_journal *j)
{
    int rc;

    if (!j->cfg.sync)
        return 0;
    zc_journal_take_turn(j);
    rc = zc_journal_push(j, true);
    zc_journal_end_turn(j);
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
    zc_journal_take_turn(j);
    zc_journal_note_ranges(j, f, until, off, r, n);
    zc_journal_push(j, false);
    zc_journal_end_turn(j);
}
