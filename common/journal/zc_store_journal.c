/* zc_store_journal.c - passes calls on, and notes their effects on a file.
 *
 *     write, write_ranges   intent before, STORED after
 *     truncate, allocate    intent before; TRUNCATE after the former
 *     getattr               the file's attributes, if no change was under way; its deletion
 *     unlink                intent before; DISCARD, if that was the last link
 *
 * After each change the file's attributes are noted, unless another change is under way: so a
 * change by another program is detected by its effect, not by its time.
 *
 *     sync                  makes the notes durable, too: no older bytes are replayed over these
 *     close                 DISCARD, when a cache closes a file without unwritten bytes: at
 *                           ZC_LEVEL_STAGED or above, while surplus opens end at ZC_LEVEL_VISIBLE
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_log.h"
#include "zc_store_journal.h"
#include "zc_store_layer.h"

struct jn_store {
    struct zc_layer layer;
    struct zc_journal *journal;
};

struct jn_sfile {
    struct zc_layer_file layer;
    struct zc_journal_file *file; /* NULL: open read-only */
};

static struct jn_store *jn_store(struct zc_store *s)
{
    return (struct jn_store *)s;
}

static struct jn_sfile *jn_sfile(struct zc_sfile *f)
{
    return (struct jn_sfile *)f;
}

static struct zc_journal *journal_of(const struct zc_sfile *f)
{
    return ((const struct jn_store *)f->store)->journal;
}

static struct zc_sfile *below(struct zc_sfile *f)
{
    return zc_layer_below(f);
}

/* ---- files ---- */

/* Syncs a file that is new, or empty and may be, and removes it again if that fails and this open
 * has created it: a journal that survives the host needs its file to do so. */
static int keep_new(struct jn_store *js, const char *path, bool created, struct zc_sfile *f)
{
    int rc = zc_journal_syncs(js->journal) ? zc_store_sync(f, ZC_LEVEL_DURABLE) : 0;
    struct zc_attr made = {0}, there = {0};

    if (rc == 0)
        return 0;
    if (created && zc_store_getattr(f, &made) == 0 && made.size == 0 &&
        zc_store_stat(js->layer.below, path, &there) == 0 && there.ino == made.ino)
        zc_store_unlink(js->layer.below, path);
    zc_store_close_file(f, ZC_LEVEL_VISIBLE);
    return zc_errorf(-rc, "open %s: sync of the new file: %s", path, strerror(-rc));
}

static int jn_open(struct zc_store *s, const char *path, unsigned flags, mode_t mode,
                   struct zc_sfile **out, struct zc_attr *attr)
{
    struct jn_sfile *f = calloc(1, sizeof *f);
    bool shared = attr->set.count > 1;
    uint64_t changes = zc_journal_opening(jn_store(s)->journal);
    int rc;

    *out = NULL;
    if (!f)
        return zc_errorf(ENOMEM, "open %s: out of memory", path);
    rc = zc_store_open_file(jn_store(s)->layer.below, path, flags, mode, &f->layer.below, attr);
    if (rc == 0 && flags & ZC_OPEN_CREATE && attr->size == 0)
        rc = keep_new(jn_store(s), path, attr->created, f->layer.below);
    if (rc == 0 && flags & ZC_OPEN_WRITE) {
        f->file = zc_journal_opened(jn_store(s)->journal, path, changes, attr, shared);
        if (!f->file) {
            zc_store_close_file(f->layer.below, ZC_LEVEL_VISIBLE);
            rc = zc_errorf(ENOMEM, "open %s: out of memory", path);
        }
    }
    if (rc < 0) {
        free(f);
        return rc;
    }
    f->layer.sfile.store = s;
    *out = &f->layer.sfile;
    return 0;
}

static int jn_close(struct zc_sfile *sf, enum zc_level level)
{
    struct jn_sfile *f = jn_sfile(sf);
    int rc = zc_store_close_file(f->layer.below, level);

    if (f->file)
        zc_journal_closed(journal_of(sf), f->file, level >= ZC_LEVEL_STAGED);
    free(f);
    return rc;
}

static int jn_getattr(struct zc_sfile *sf, struct zc_attr *attr)
{
    struct zc_journal *j = journal_of(sf);
    struct zc_journal_file *f = jn_sfile(sf)->file;
    uint64_t changes = f ? zc_journal_changes(j, f) : 0;
    int rc = zc_store_getattr(below(sf), attr);

    if (rc == 0 && f)
        zc_journal_checked(j, f, changes, attr);
    return rc;
}

/* Ends a change: notes the file's attributes, unless they cannot be read. */
static void changed(struct zc_sfile *sf)
{
    struct zc_attr attr;

    zc_journal_intent_end(journal_of(sf), jn_sfile(sf)->file);
    jn_getattr(sf, &attr);
}

static ssize_t jn_pwritev(struct zc_sfile *sf, const struct iovec *iov, int n, uint64_t off)
{
    struct zc_journal *j = journal_of(sf);
    struct zc_journal_file *f = jn_sfile(sf)->file;
    struct zc_range all = {0, 0};
    uint64_t until;
    ssize_t rc;

    if (!f)
        return zc_store_pwritev(below(sf), iov, n, off);
    until = zc_journal_intent_begin(j, f, ZC_JOURNAL_NOT_TRUNCATED);
    rc = zc_store_pwritev(below(sf), iov, n, off);
    if (rc > 0) {
        all.hi = (uint32_t)rc; /* zc_cache_config.max_io */
        zc_journal_stored(j, f, until, off, &all, 1);
    }
    changed(sf);
    return rc;
}

static ssize_t jn_write_ranges(struct zc_sfile *sf, const char *data, const struct zc_range *r,
                               uint32_t n, uint64_t off, struct zc_merge *m)
{
    struct zc_journal *j = journal_of(sf);
    struct zc_journal_file *f = jn_sfile(sf)->file;
    uint64_t until;
    ssize_t rc;

    if (!f)
        return zc_store_write_ranges(below(sf), data, r, n, off, m);
    until = zc_journal_intent_begin(j, f, ZC_JOURNAL_NOT_TRUNCATED);
    rc = zc_store_write_ranges(below(sf), data, r, n, off, m);
    if (rc > 0)
        zc_journal_stored(j, f, until, off, r, n);
    changed(sf);
    return rc;
}

static int jn_truncate(struct zc_sfile *sf, uint64_t size)
{
    struct zc_journal *j = journal_of(sf);
    struct zc_journal_file *f = jn_sfile(sf)->file;
    int rc;

    if (!f)
        return zc_store_truncate(below(sf), size);
    zc_journal_intent_begin(j, f, size);
    rc = zc_store_truncate(below(sf), size);
    if (rc == 0 || rc == -EREMOTEIO)
        zc_journal_truncate(j, f, size);
    changed(sf);
    return rc;
}

static int jn_allocate(struct zc_sfile *sf, uint64_t off, uint64_t len)
{
    struct zc_journal *j = journal_of(sf);
    struct zc_journal_file *f = jn_sfile(sf)->file;
    int rc;

    if (f)
        zc_journal_intent_begin(j, f, ZC_JOURNAL_NOT_TRUNCATED);
    rc = zc_store_allocate(below(sf), off, len);
    if (f)
        changed(sf);
    return rc;
}

static int jn_sync(struct zc_sfile *f, enum zc_level level)
{
    int rc = zc_store_sync(below(f), level);

    return rc == 0 && level >= ZC_LEVEL_DURABLE ? zc_journal_sync(journal_of(f)) : rc;
}

/* ---- the store ---- */

/* Deletes a name of the file: whether it has others is read from the file, open as `open` if that
 * is permitted. */
static int unlink_name(struct jn_store *js, const char *path, struct zc_journal_file *f,
                       const struct zc_attr *before)
{
    struct zc_attr attr = {0};
    struct zc_sfile *open = NULL;
    bool gone = before->nlink <= 1;
    int rc;

    if (zc_store_open_file(js->layer.below, path, ZC_OPEN_READ, 0, &open, &attr) < 0 ||
        attr.ino != before->ino)
        gone = gone && !open;
    zc_journal_intent_begin(js->journal, f, ZC_JOURNAL_NOT_TRUNCATED);
    rc = zc_store_unlink(js->layer.below, path);
    zc_journal_intent_end(js->journal, f);
    if (open && attr.ino == before->ino) {
        uint64_t changes = zc_journal_changes(js->journal, f);

        gone = zc_store_getattr(open, &attr) == 0 ? attr.nlink == 0 : gone;
        if (!gone)
            zc_journal_checked(js->journal, f, changes, &attr);
    }
    if (open)
        zc_store_close_file(open, ZC_LEVEL_VISIBLE);
    zc_journal_unlinked(js->journal, f, rc == 0 && gone);
    return rc;
}

static int jn_unlink(struct zc_store *s, const char *path)
{
    struct zc_attr attr = {0};
    struct zc_journal_file *f = NULL;

    if (zc_store_stat(jn_store(s)->layer.below, path, &attr) == 0 && !attr.link)
        f = zc_journal_unlinking(jn_store(s)->journal, &attr);
    if (f)
        return unlink_name(jn_store(s), path, f, &attr);
    return zc_store_unlink(jn_store(s)->layer.below, path);
}

static void jn_destroy(struct zc_store *s)
{
    zc_store_destroy(jn_store(s)->layer.below);
    free(s);
}

static const struct zc_store_ops jn_ops = {
    .open = jn_open,
    .close = jn_close,
    .pwritev = jn_pwritev,
    .write_ranges = jn_write_ranges,
    .getattr = jn_getattr,
    .truncate = jn_truncate,
    .allocate = jn_allocate,
    .sync = jn_sync,
    .unlink = jn_unlink,
    .destroy = jn_destroy,
};

int zc_store_journal_create(struct zc_store *below_store, struct zc_journal *j,
                            struct zc_store **out)
{
    struct jn_store *s;

    *out = NULL;
    if (zc_store_lossy(below_store))
        return zc_errorf(EINVAL, "a journal over a store that keeps no promise itself");
    s = calloc(1, sizeof *s);
    if (!s)
        return zc_errorf(ENOMEM, "journal: out of memory");
    zc_layer_init(&s->layer, &jn_ops, NULL, below_store);
    s->journal = j;
    *out = &s->layer.store;
    return 0;
}
