/* zc_store_journal.c - passes calls on, and notes what they do to a file.
 *
 *     write, write_ranges   flux before, STORED after
 *     truncate, allocate    flux before; CUT after the former
 *     getattr               what the file is, if nothing was under way; that it is deleted
 *     unlink                VOID, if that was the last link
 *     sync                  to the disk, what was noted, too: so no older bytes come over these
 *     close                 VOID, when a cache closes a file nothing of which is unwritten: at
 *                           ZC_LEVEL_STAGED or above, while surplus opens end at ZC_LEVEL_VISIBLE
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_log.h"
#include "zc_store_journal.h"

struct jn_store {
    struct zc_store store;
    struct zc_store_ops ops; /* without what the store below has not */
    struct zc_store *below;
    struct zc_journal *journal;
};

struct jn_sfile {
    struct zc_sfile sfile;
    struct zc_sfile *below;
    struct zc_journal_file *file; /* NULL: open for reading only */
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
    return jn_sfile(f)->below;
}

/* ---- files ---- */

/* What survives the host needs its file, which may have been made just now. */
static int keep_new(struct jn_store *js, const char *path, unsigned flags, struct zc_sfile *f)
{
    int rc = zc_journal_syncs(js->journal) ? zc_store_sync(f, ZC_LEVEL_DURABLE) : 0;
    struct zc_attr made = {0}, there = {0};

    if (rc == 0)
        return 0;
    if (flags & ZC_OPEN_EXCL && zc_store_getattr(f, &made) == 0 && made.size == 0 &&
        zc_store_stat(js->below, path, &there) == 0 && there.ino == made.ino)
        zc_store_unlink(js->below, path);
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
    rc = zc_store_open_file(jn_store(s)->below, path, flags, mode, &f->below, attr);
    if (rc == 0 && flags & ZC_OPEN_CREATE && attr->size == 0)
        rc = keep_new(jn_store(s), path, flags, f->below);
    if (rc == 0 && flags & ZC_OPEN_WRITE) {
        f->file = zc_journal_opened(jn_store(s)->journal, path, changes, attr, shared);
        if (!f->file) {
            zc_store_close_file(f->below, ZC_LEVEL_VISIBLE);
            rc = zc_errorf(ENOMEM, "open %s: out of memory", path);
        }
    }
    if (rc < 0) {
        free(f);
        return rc;
    }
    f->sfile.store = s;
    *out = &f->sfile;
    return 0;
}

static int jn_close(struct zc_sfile *sf, enum zc_level level)
{
    struct jn_sfile *f = jn_sfile(sf);
    int rc = zc_store_close_file(f->below, level);

    if (f->file)
        zc_journal_closed(journal_of(sf), f->file, level >= ZC_LEVEL_STAGED);
    free(f);
    return rc;
}

static ssize_t jn_preadv(struct zc_sfile *f, const struct iovec *iov, int n, uint64_t off)
{
    return zc_store_preadv(below(f), iov, n, off);
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
    until = zc_journal_changing(j, f, ZC_JOURNAL_NOT_CUT);
    rc = zc_store_pwritev(below(sf), iov, n, off);
    if (rc > 0) {
        all.hi = (uint32_t)rc; /* zc_cache_config.max_io */
        zc_journal_stored(j, f, until, off, &all, 1);
    }
    zc_journal_changed(j, f);
    return rc;
}

static ssize_t jn_write_ranges(struct zc_sfile *sf, const char *data, const struct zc_range *r,
                               uint32_t n, uint64_t off)
{
    struct zc_journal *j = journal_of(sf);
    struct zc_journal_file *f = jn_sfile(sf)->file;
    uint64_t until;
    ssize_t rc;

    if (!f)
        return zc_store_write_ranges(below(sf), data, r, n, off);
    until = zc_journal_changing(j, f, ZC_JOURNAL_NOT_CUT);
    rc = zc_store_write_ranges(below(sf), data, r, n, off);
    if (rc > 0)
        zc_journal_stored(j, f, until, off, r, n);
    zc_journal_changed(j, f);
    return rc;
}

static int jn_getattr(struct zc_sfile *sf, struct zc_attr *attr)
{
    struct zc_journal *j = journal_of(sf);
    struct zc_journal_file *f = jn_sfile(sf)->file;
    uint64_t changes = f ? zc_journal_changes(j, f) : 0;
    int rc = zc_store_getattr(below(sf), attr);

    if (rc == 0 && f)
        zc_journal_looked(j, f, changes, attr);
    return rc;
}

static int jn_truncate(struct zc_sfile *sf, uint64_t size)
{
    struct zc_journal *j = journal_of(sf);
    struct zc_journal_file *f = jn_sfile(sf)->file;
    int rc;

    if (!f)
        return zc_store_truncate(below(sf), size);
    zc_journal_changing(j, f, size);
    rc = zc_store_truncate(below(sf), size);
    if (rc == 0 || rc == -EREMOTEIO)
        zc_journal_cut(j, f, size);
    zc_journal_changed(j, f);
    return rc;
}

static int jn_allocate(struct zc_sfile *sf, uint64_t off, uint64_t len)
{
    struct zc_journal *j = journal_of(sf);
    struct zc_journal_file *f = jn_sfile(sf)->file;
    int rc;

    if (f)
        zc_journal_changing(j, f, ZC_JOURNAL_NOT_CUT);
    rc = zc_store_allocate(below(sf), off, len);
    if (f)
        zc_journal_changed(j, f);
    return rc;
}

static int jn_sync(struct zc_sfile *f, enum zc_level level)
{
    int rc = zc_store_sync(below(f), level);

    return rc == 0 && level >= ZC_LEVEL_DURABLE ? zc_journal_sync(journal_of(f)) : rc;
}

static int jn_backlog(struct zc_sfile *f, uint64_t *bytes)
{
    return zc_store_backlog(below(f), bytes);
}

/* The card is the store's below, which takes it back without us. */
static int jn_meet(struct zc_sfile *f, const char *job, const void *card, size_t len,
                   uint64_t replaces, struct zc_seat **mine, struct zc_card *theirs)
{
    return zc_store_meet(below(f), job, card, len, replaces, mine, theirs);
}

static int jn_refresh(struct zc_sfile *f)
{
    return zc_store_refresh(below(f));
}

/* ---- the store ---- */

static int jn_unlink(struct zc_store *s, const char *path)
{
    struct zc_attr attr = {0};
    struct zc_journal *j = jn_store(s)->journal;
    struct zc_journal_file *f = NULL;
    int rc;

    if (zc_store_stat(jn_store(s)->below, path, &attr) == 0 && !attr.link && attr.nlink <= 1)
        f = zc_journal_unlinking(j, &attr);
    rc = zc_store_unlink(jn_store(s)->below, path);
    if (f)
        zc_journal_unlinked(j, f, rc == 0);
    return rc;
}

static int jn_stat(struct zc_store *s, const char *path, struct zc_attr *attr)
{
    return zc_store_stat(jn_store(s)->below, path, attr);
}

static int jn_ping(struct zc_store *s)
{
    return zc_store_ping(jn_store(s)->below);
}

static void jn_destroy(struct zc_store *s)
{
    zc_store_destroy(jn_store(s)->below);
    free(s);
}

static const struct zc_store_ops jn_ops = {
    .open = jn_open,
    .close = jn_close,
    .preadv = jn_preadv,
    .pwritev = jn_pwritev,
    .write_ranges = jn_write_ranges,
    .getattr = jn_getattr,
    .truncate = jn_truncate,
    .allocate = jn_allocate,
    .sync = jn_sync,
    .backlog = jn_backlog,
    .meet = jn_meet,
    .refresh = jn_refresh,
    .unlink = jn_unlink,
    .stat = jn_stat,
    .ping = jn_ping,
    .destroy = jn_destroy,
};

/* What the store below cannot do, or need not, cannot be done through us. */
static struct zc_store_ops ops_over(const struct zc_store_ops *below_ops)
{
    struct zc_store_ops ops = jn_ops;

    ops.name = below_ops->name;
    if (!below_ops->write_ranges)
        ops.write_ranges = NULL;
    if (!below_ops->backlog)
        ops.backlog = NULL;
    if (!below_ops->meet)
        ops.meet = NULL;
    if (!below_ops->refresh)
        ops.refresh = NULL;
    if (!below_ops->ping)
        ops.ping = NULL;
    return ops;
}

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
    s->store = *below_store;
    s->ops = ops_over(below_store->ops);
    s->store.ops = &s->ops;
    s->below = below_store;
    s->journal = j;
    *out = &s->store;
    return 0;
}
