/* zc_store_posix_ranges.c - many small pieces of a file written as one large write. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "zc_lock.h"
#include "zc_store_posix_ranges.h"
#include "zc_tsan.h"

bool zc_ranges_may_lock(int fd)
{
    struct statfs fs;

    return fstatfs(fd, &fs) == 0 && fs.f_type != NFS_SUPER_MAGIC;
}

enum { PROGRAM_WAIT_MS = 2000, WRITER_WAIT_MS = 60000, LOCK_POLL_US = 500 };

static int set_lock(int fd, short type, uint64_t off, uint64_t len)
{
    struct flock l = {
        .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)off, .l_len = (off_t)len};

    return fcntl(fd, F_OFD_SETLK, &l) < 0 ? (errno == EACCES ? -EAGAIN : -errno) : 0;
}

/* Whether the conflicting lock is a process's: zcache takes locks of open file descriptions
 * only. */
static bool by_program(int fd, uint64_t off, uint64_t len)
{
    struct flock l = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)off, .l_len = (off_t)len};

    return fcntl(fd, F_OFD_GETLK, &l) == 0 && l.l_type != F_UNLCK && l.l_pid > 0;
}

int zc_ranges_lock(int fd, uint64_t off, uint64_t len, bool patient)
{
    uint64_t begun = zc_now(), waited;
    int rc;

    while ((rc = set_lock(fd, F_WRLCK, off, len)) == -EAGAIN) {
        waited = zc_now() - begun;
        if (waited > WRITER_WAIT_MS * ZC_NS_PER_MS)
            return -EBUSY;
        if ((!patient || waited > PROGRAM_WAIT_MS * ZC_NS_PER_MS) && by_program(fd, off, len))
            return -EAGAIN;
        zc_clock_sleep(LOCK_POLL_US * 1000);
    }
    return rc;
}

void zc_ranges_unlock(int fd, uint64_t off, uint64_t len)
{
    set_lock(fd, F_UNLCK, off, len);
}

/* Finds a lock that conflicts with [off, end), not necessarily the first: 0, none; 1, a program's
 * on [*lo, *hi); 2, of zcache; or a negative errno. */
static int find_lock(int fd, uint64_t off, uint64_t end, uint64_t *lo, uint64_t *hi)
{
    struct flock l = {.l_type = F_WRLCK,
                      .l_whence = SEEK_SET,
                      .l_start = (off_t)off,
                      .l_len = (off_t)(end - off)};

    if (fcntl(fd, F_OFD_GETLK, &l) < 0)
        return -errno;
    if (l.l_type == F_UNLCK)
        return 0;
    if (l.l_pid <= 0)
        return 2;
    *lo = (uint64_t)l.l_start > off ? (uint64_t)l.l_start : off;
    *hi = l.l_len && (uint64_t)(l.l_start + l.l_len) < end ? (uint64_t)(l.l_start + l.l_len) : end;
    return 1;
}

int zc_ranges_wait_unlocked(int fd, uint64_t off, uint64_t len)
{
    uint64_t begun = zc_now(), end = off + len, lo = off, hi = end;

    while (off < end) {
        uint64_t to = end;
        int rc;

        /* Bytes that a program has locked have no other lock; what is before them may. */
        while ((rc = find_lock(fd, off, to, &lo, &hi)) == 1 && lo > off)
            to = lo;
        if (rc < 0)
            return rc;
        if (rc == 2) {
            if (zc_now() - begun > WRITER_WAIT_MS * ZC_NS_PER_MS)
                return -EBUSY;
            zc_clock_sleep(LOCK_POLL_US * 1000);
        } else {
            off = rc == 1 ? hi : to;
        }
    }
    return 0;
}

/* Returns the first byte in [off, end) that is not in a hole, or `end`.  Holes are asked for on
 * local file systems only: the client of a shared one may answer from its cache, while another host
 * has written there. */
static uint64_t first_data(int fd, uint64_t off, uint64_t end, bool sparse)
{
    off_t at = sparse ? lseek(fd, (off_t)off, SEEK_DATA) : (off_t)off;

    if (at < 0)
        return errno == ENXIO ? end : off;
    return (uint64_t)at < end ? (uint64_t)at : end;
}

/* Reads up to the end of the file and fills the rest with zeros.  *read: bytes that were there.
 * -EOPNOTSUPP: not readable (write-only, a bad block); the pieces may be written one by one. */
static int read_all(int fd, char *buf, size_t len, uint64_t off, bool sparse, uint64_t *read)
{
    size_t done = first_data(fd, off, off + len, sparse) - off;

    memset(buf, 0, done);

    while (done < len) {
        ssize_t got = pread(fd, buf + done, len - done, (off_t)(off + done));

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -EOPNOTSUPP;
        if (got == 0)
            break;
        done += (size_t)got;
        *read += (uint64_t)got;
    }
    memset(buf + done, 0, len - done);
    return 0;
}

static int write_all(int fd, const char *buf, size_t len, uint64_t off,
                     const struct zc_ranges_ask *ask)
{
    while (len > 0) {
        ssize_t put;

        if (ask->fn)
            ask->fn(ask->arg);
        put = pwrite(fd, buf, len, (off_t)off);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return put < 0 ? -errno : -EIO;
        buf += put;
        len -= (size_t)put;
        off += (uint64_t)put;
    }
    return 0;
}

ssize_t zc_ranges_write(int fd, const char *data, const struct zc_range *r, uint32_t n,
                        uint64_t off, bool sparse, const struct zc_ranges_ask *ask,
                        struct zc_merge *m)
{
    uint32_t lo = r[0].lo, len = r[n - 1].hi - lo;
    ssize_t total = 0;
    char *buf;
    int rc;

    buf = malloc(len);
    rc = buf ? read_all(fd, buf, len, off + lo, sparse, &m->read) : -EOPNOTSUPP;
    if (rc == 0) {
        ZC_TSAN_RACY_BEGIN(); /* clients may write to the page meanwhile */
        for (uint32_t i = 0; i < n; i++) {
            memcpy(buf + (r[i].lo - lo), data + r[i].lo, r[i].hi - r[i].lo);
            total += r[i].hi - r[i].lo;
        }
        ZC_TSAN_RACY_END();
        rc = write_all(fd, buf, len, off + lo, ask);
    }
    if (rc < 0) {
        free(buf);
        return rc;
    }
    m->data = buf;
    return total;
}

ssize_t zc_ranges_write_each(int fd, const char *data, const struct zc_range *r, uint32_t n,
                             uint64_t off, const struct zc_ranges_ask *ask)
{
    ssize_t total = 0;
    int rc = 0;

    ZC_TSAN_RACY_BEGIN();
    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        rc = write_all(fd, data + r[i].lo, r[i].hi - r[i].lo, off + r[i].lo, ask);
        total += r[i].hi - r[i].lo;
    }
    ZC_TSAN_RACY_END();
    return rc < 0 ? rc : total;
}
