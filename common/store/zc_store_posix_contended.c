/* zc_store_posix_contended.c - writes of bytes on which a program holds an fcntl lock.
 *
 * They go on without the lock: a program may lock a file of its own and wait for the write.
 * Another zcache process may merge on the same stretch meanwhile, because it got its lock before
 * the program did, or after the program has released it.  What it has read before this write it
 * writes after it.  So a write without the lock
 *   1. writes the pieces, from a copy that does not change;
 *   2. waits until each byte has been seen once without the lock of a merge: a merge that began
 *      before the end of (1) has ended then, a later one reads the pieces as they are;
 *   3. reads the pieces back, and begins again if one of them differs.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "zc_log.h"
#include "zc_store_posix_internal.h"
#include "zc_store_posix_ranges.h"
#include "zc_tsan.h"

enum { ROUNDS = 100, STRETCH = 4 << 20 };

/* 1: the pieces are in the file; 0: they differ; negative errno: the file could not be read. */
static int read_back(int fd, const char *data, const struct zc_range *r, uint32_t n, uint64_t off,
                     char *buf)
{
    for (uint32_t i = 0; i < n; i++) {
        size_t len = r[i].hi - r[i].lo, done = 0;

        while (done < len) {
            ssize_t got = pread(fd, buf + done, len - done, (off_t)(off + r[i].lo + done));

            if (got < 0 && errno == EINTR)
                continue;
            if (got < 0)
                return -errno;
            if (got == 0)
                return 0;
            done += (size_t)got;
        }
        if (memcmp(buf, data + r[i].lo, len) != 0)
            return 0;
    }
    return 1;
}

/* `data` does not change.  A file without read permission cannot be read back; what may merge there
 * has to read it, too. */
static ssize_t write_stable(struct posix_file *f, const char *data, const struct zc_range *r,
                            uint32_t n, uint64_t off, const struct zc_ranges_ask *ask, char *buf)
{
    uint64_t lo = off + r[0].lo, len = r[n - 1].hi - r[0].lo;

    for (unsigned round = 0; round < ROUNDS; round++) {
        ssize_t put = zc_ranges_write_each(f->fd, data, r, n, off, ask);
        int rc = put < 0 ? (int)put : zc_ranges_wait_unlocked(f->fd, lo, len);

        if (rc == 0)
            rc = read_back(f->fd, data, r, n, off, buf);
        if (rc < 0 && rc != -EBADF)
            return rc;
        if (rc != 0)
            return put;
    }
    return -EBUSY;
}

ssize_t zc_posix_write_contended(struct posix_file *f, const char *data, const struct zc_range *r,
                                 uint32_t n, uint64_t off, const struct zc_ranges_ask *ask)
{
    uint32_t lo = r[0].lo, hi = r[n - 1].hi;
    char *copy = malloc(hi), *buf = malloc(hi - lo);
    ssize_t rc = -ENOMEM;

    if (copy && buf) {
        ZC_TSAN_RACY_BEGIN(); /* clients may write to the page meanwhile */
        memcpy(copy + lo, data + lo, hi - lo);
        ZC_TSAN_RACY_END();
        rc = write_stable(f, copy, r, n, off, ask, buf);
    }
    free(copy);
    free(buf);
    return rc;
}

/* Copies the bytes [from, from + len) of the buffers to `to`. */
static void gather(char *to, const struct iovec *iov, size_t from, size_t len)
{
    for (; len > 0; iov++) {
        size_t some;

        if (from >= iov->iov_len) {
            from -= iov->iov_len;
            continue;
        }
        some = iov->iov_len - from < len ? iov->iov_len - from : len;
        memcpy(to, (const char *)iov->iov_base + from, some);
        to += some;
        len -= some;
        from = 0;
    }
}

ssize_t zc_posix_writev_contended(struct posix_file *f, const struct iovec *iov, size_t len,
                                  uint64_t off, const struct zc_ranges_ask *ask)
{
    size_t most = len < STRETCH ? len : STRETCH;
    char *copy = malloc(most), *buf = malloc(most);
    ssize_t rc = copy && buf ? 0 : -ENOMEM;

    for (size_t done = 0; rc >= 0 && done < len; done += (size_t)rc) {
        struct zc_range whole = {0, (uint32_t)(len - done < most ? len - done : most)};

        ZC_TSAN_RACY_BEGIN();
        gather(copy, iov, done, whole.hi);
        ZC_TSAN_RACY_END();
        rc = write_stable(f, copy, &whole, 1, off + done, ask, buf);
    }
    free(copy);
    free(buf);
    return rc < 0 ? rc : (ssize_t)len;
}
