/* zc_store_posix_io.c - data of a file of the posix store.
 *
 * A system call may transfer a part, or be interrupted: all loops continue from there, choosing the
 * descriptor for each call again (zc_store_posix_direct.c).  Writes take the lock of
 * zc_store_posix_ranges.h where writers do not know each other.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "zc_log.h"
#include "zc_store_posix_internal.h"
#include "zc_store_posix_ranges.h"
#include "zc_tsan.h"

enum { BATCH_IOV = IOV_MAX };

int zc_posix_lock(struct posix_file *f, uint64_t off, uint64_t len)
{
    enum posix_locks locks = __atomic_load_n(&f->locks, __ATOMIC_RELAXED);
    int rc;

    if (locks == POSIX_LOCKS_NONE)
        return POSIX_UNLOCKED;
    rc = zc_ranges_lock(f->fd, off, len, locks == POSIX_LOCKS_WAIT);
    if (rc == 0)
        return POSIX_LOCKED;
    if (rc == -EBUSY)
        return zc_errorf(EBUSY,
                         "write of %s, %llu bytes at %llu: another process holds a lock on them "
                         "for a minute; was it stopped?",
                         f->path, (unsigned long long)len, (unsigned long long)off);
    if (rc != -EAGAIN) {
        __atomic_store_n(&f->locks, POSIX_LOCKS_NONE, __ATOMIC_RELAXED);
        return POSIX_UNLOCKED;
    }
    if (locks == POSIX_LOCKS_WAIT &&
        __atomic_compare_exchange_n(&f->locks, &locks, POSIX_LOCKS_TRY, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED))
        zc_warn("%s: the program, or another, holds an fcntl lock on bytes %llu+%llu; what it has "
                "locked is written without locks from here on, scattered pieces one by one",
                f->path, (unsigned long long)off, (unsigned long long)len);
    return POSIX_CONTENDED;
}

/* Returns the total length; -EFBIG if the range does not fit a file. */
static ssize_t check_range(const struct posix_file *f, const struct iovec *iov, int n, uint64_t off)
{
    size_t len = 0;

    for (int i = 0; i < n; i++) {
        if (iov[i].iov_len > (size_t)SSIZE_MAX - len)
            return zc_errorf(EINVAL, "%s: a transfer of more than %zd bytes", f->path,
                             (ssize_t)SSIZE_MAX);
        len += iov[i].iov_len;
    }
    if (off > (uint64_t)INT64_MAX - len)
        return zc_errorf(EFBIG, "%s: offset %llu + %zu is beyond what a file can hold", f->path,
                         (unsigned long long)off, len);
    return (ssize_t)len;
}

/* Position in an iovec array. */
struct walk {
    const struct iovec *iov;
    int n;
    size_t skip; /* bytes of iov[0] that are done */
};

/* Fills `batch` for the next call, skipping what is done of the first entry. */
static int walk_batch(const struct walk *w, struct iovec *batch)
{
    int n = w->n < BATCH_IOV ? w->n : BATCH_IOV;

    memcpy(batch, w->iov, (size_t)n * sizeof(*batch));
    batch[0].iov_base = (char *)batch[0].iov_base + w->skip;
    batch[0].iov_len -= w->skip;
    return n;
}

static void walk_on(struct walk *w, size_t done)
{
    while (w->n > 0 && done >= w->iov->iov_len - w->skip) {
        done -= w->iov->iov_len - w->skip;
        w->skip = 0;
        w->iov++;
        w->n--;
    }
    w->skip += done;
}

ssize_t zc_posix_preadv(struct zc_sfile *sf, const struct iovec *iov, int n, uint64_t off)
{
    struct posix_file *f = posix_file(sf);
    struct walk w = {.iov = iov, .n = n};
    struct iovec batch[BATCH_IOV];
    ssize_t total = 0, got;
    ssize_t len = check_range(f, iov, n, off);

    if (len < 0)
        return len;
    walk_on(&w, 0);
    while (total < len) {
        int nb = walk_batch(&w, batch);
        int fd = zc_posix_direct_aim(f, batch, &nb, off + (uint64_t)total);

        got = preadv(fd, batch, nb, (off_t)(off + (uint64_t)total));
        if (got < 0 && (errno == EINTR || zc_posix_direct_refused(sf->store, f, fd, errno)))
            continue;
        if (got < 0)
            return zc_errorf(errno, "read of %s, %zd bytes at %llu: %s%s", f->path, len,
                             (unsigned long long)off, strerror(errno), zc_posix_remedy(errno));
        if (got == 0)
            break;
        total += got;
        walk_on(&w, (size_t)got);
    }
    return total;
}

static const char *cause_of(int err, char cause[ZC_TEXT_MAX])
{
    snprintf(cause, ZC_TEXT_MAX, "%s%s", strerror(err), zc_posix_remedy(err));
    return cause;
}

/* One system call.  Writers of one file queue here, asleep: in the kernel they would spin for the
 * inode's lock and take a processor from other threads. */
static ssize_t write_once(struct posix_file *f, int fd, const struct iovec *iov, int n,
                          uint64_t off)
{
    bool serialize = f->known && fd == f->fd;
    ssize_t put;

    if (serialize)
        zc_lock_get(&f->serialize);
    ZC_TSAN_RACY_BEGIN();
    put = pwritev(fd, iov, n, (off_t)off);
    ZC_TSAN_RACY_END();
    if (serialize)
        zc_lock_put(&f->serialize);
    return put;
}

/* Returns the length, or a negative errno without an explanation. */
static ssize_t write_all(struct zc_sfile *sf, const struct iovec *iov, int n, ssize_t len,
                         uint64_t off)
{
    struct posix_file *f = posix_file(sf);
    struct walk w = {.iov = iov, .n = n};
    struct iovec batch[BATCH_IOV];
    ssize_t total = 0, put;

    walk_on(&w, 0);
    while (total < len) {
        int nb = walk_batch(&w, batch);
        int fd = zc_posix_direct_aim(f, batch, &nb, off + (uint64_t)total);

        posix_ask(sf->store);
        put = write_once(f, fd, batch, nb, off + (uint64_t)total);
        if (put < 0 && (errno == EINTR || zc_posix_direct_refused(sf->store, f, fd, errno)))
            continue;
        if (put <= 0)
            return put < 0 ? -errno : -EIO;
        total += put;
        walk_on(&w, (size_t)put);
    }
    return total;
}

ssize_t zc_posix_pwritev(struct zc_sfile *sf, const struct iovec *iov, int n, uint64_t off)
{
    struct posix_file *f = posix_file(sf);
    const struct zc_ranges_ask ask = {posix_store(sf->store)->ask, posix_store(sf->store)->ask_arg};
    char cause[ZC_TEXT_MAX];
    ssize_t len = check_range(f, iov, n, off), rc;
    int locked;

    if (len <= 0)
        return len;
    locked = zc_posix_lock(f, off, (uint64_t)len);
    if (locked < 0)
        return locked;
    if (locked == POSIX_CONTENDED)
        rc = zc_posix_writev_contended(f, iov, (size_t)len, off, &ask);
    else
        rc = write_all(sf, iov, n, len, off);
    if (locked == POSIX_LOCKED)
        zc_ranges_unlock(f->fd, off, (uint64_t)len);
    if (rc < 0)
        return zc_errorf_because((int)-rc, cause_of((int)-rc, cause),
                                 "write of %s, %zd bytes at %llu", f->path, len,
                                 (unsigned long long)off);
    return rc;
}

/* Whether to merge without a lock: locks do not work there, and there is no other writer.  Not so
 * where a program holds a lock on the bytes. */
static bool may_go_unlocked(const struct posix_file *f)
{
    return !f->trusted && __atomic_load_n(&f->locks, __ATOMIC_RELAXED) == POSIX_LOCKS_NONE;
}

ssize_t zc_posix_write_ranges(struct zc_sfile *sf, const char *data, const struct zc_range *r,
                              uint32_t n, uint64_t off, struct zc_merge *m)
{
    struct posix_file *f = posix_file(sf);
    const struct posix_store *ps = posix_store(sf->store);
    const struct zc_ranges_ask ask = {ps->ask, ps->ask_arg};
    struct iovec whole = {NULL, r[n - 1].hi};
    char cause[ZC_TEXT_MAX];
    uint64_t len = r[n - 1].hi - r[0].lo;
    ssize_t rc = check_range(f, &whole, 1, off);
    int locked;

    if (rc < 0)
        return rc;
    locked = zc_posix_lock(f, off + r[0].lo, len);
    if (locked < 0)
        return locked;
    rc = -ENOSPC;
    if (locked != POSIX_CONTENDED && zc_posix_merges(f) && (locked || may_go_unlocked(f)))
        rc = zc_ranges_write(f->fd, data, r, n, off, f->known, &ask, m);
    if (rc == -ENOSPC || rc == -EDQUOT) /* a merge may also need space between pieces */
        rc = locked == POSIX_CONTENDED ? zc_posix_write_contended(f, data, r, n, off, &ask)
                                       : zc_ranges_write_each(f->fd, data, r, n, off, &ask);
    if (locked == POSIX_LOCKED)
        zc_ranges_unlock(f->fd, off + r[0].lo, len);
    if (rc < 0 && rc != -EOPNOTSUPP)
        return zc_errorf_because((int)-rc, cause_of((int)-rc, cause),
                                 "write of %s, %u pieces at %llu", f->path, n,
                                 (unsigned long long)off);
    return rc;
}
