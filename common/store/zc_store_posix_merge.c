/* zc_store_posix_merge.c - which files may have scattered pieces written by read-modify-write.
 *
 * The bytes between the pieces are written as they were read, so no other process may write them
 * meanwhile.  That holds where
 *   - locks of the file system keep out every other writer (zc_lock_reach.h), or
 *   - there is no other writer: this open has created the file, or says so (ZC_OPEN_SOLE), and no
 *     open of this store without that has the file for writing.  Once such an open comes, that is
 *     over for good.
 * Elsewhere pieces are written one by one.  Locks are taken wherever they may work, also where
 * they are not trusted: between processes of one host they often do.
 */
#include "config.h"

#include <string.h>

#include "zc_log.h"
#include "zc_store_posix_internal.h"
#include "zc_store_posix_ranges.h"

/* ---- file systems ---- */

static const struct posix_device *known(const struct posix_store *ps, dev_t dev)
{
    for (unsigned i = 0; i < ps->ndevices; i++)
        if (ps->devices[i].dev == dev)
            return &ps->devices[i];
    return NULL;
}

/* The oldest entry makes room. */
static void enter(struct posix_store *ps, const struct posix_device *d)
{
    enum { MOST = sizeof ps->devices / sizeof *ps->devices };

    if (ps->ndevices == MOST)
        memmove(ps->devices, ps->devices + 1, (MOST - 1) * sizeof *d);
    else
        ps->ndevices++;
    ps->devices[ps->ndevices - 1] = *d;
}

static bool is_trusted(struct posix_store *ps, const struct posix_file *f, dev_t dev)
{
    struct posix_device d = {.dev = dev};
    const struct posix_device *found;
    bool trusted;

    zc_lock_get(&ps->lock);
    found = known(ps, dev);
    trusted = found && found->trusted;
    zc_lock_put(&ps->lock);
    if (found)
        return trusted;
    zc_lock_reach_find(f->fd, &d.locks);
    d.trusted = zc_lock_reach_trusted(d.locks.reach);
    zc_lock_get(&ps->lock);
    found = known(ps, dev);
    if (!found)
        enter(ps, &d);
    zc_lock_put(&ps->lock);
    if (!found)
        zc_info("%s: on %s; scattered pieces are written %s", f->path, d.locks.text,
                d.trusted ? "together, under a lock"
                          : "one by one, but for files that a job creates");
    return d.trusted;
}

/* ---- files without another writer ---- */

static bool same(const struct posix_file *a, const struct posix_file *b)
{
    return a->dev == b->dev && a->ino == b->ino;
}

/* Two opens of a file end each other's exclusiveness, unless both declared it. */
static void settle_sole(struct posix_store *ps, struct posix_file *f, bool sole)
{
    zc_lock_get(&ps->lock);
    zc_list_each (&ps->untrusted, n) {
        struct posix_file *other = zc_list_entry(n, struct posix_file, link);

        if (!same(f, other))
            continue;
        if (!sole)
            __atomic_store_n(&other->sole, false, __ATOMIC_RELAXED);
        sole = sole && __atomic_load_n(&other->sole, __ATOMIC_RELAXED);
    }
    f->sole = sole;
    zc_list_add_tail(&ps->untrusted, &f->link);
    zc_lock_put(&ps->lock);
}

void zc_posix_merge_open(struct posix_store *ps, struct posix_file *f, const struct stat *st,
                         bool writes, bool sole)
{
    f->trusted = is_trusted(ps, f, st->st_dev);
    f->locks = f->trusted || zc_ranges_may_lock(f->fd) ? POSIX_LOCKS_WAIT : POSIX_LOCKS_NONE;
    f->dev = st->st_dev;
    f->ino = st->st_ino;
    zc_list_init(&f->link);
    if (!f->trusted && writes)
        settle_sole(ps, f, sole);
}

void zc_posix_merge_close(struct posix_store *ps, struct posix_file *f)
{
    if (!zc_list_linked(&f->link))
        return;
    zc_lock_get(&ps->lock);
    zc_list_del(&f->link);
    zc_lock_put(&ps->lock);
}

bool zc_posix_merges(const struct posix_file *f)
{
    return f->trusted ? __atomic_load_n(&f->locks, __ATOMIC_RELAXED) != POSIX_LOCKS_NONE
                      : __atomic_load_n(&f->sole, __ATOMIC_RELAXED);
}
