/* faultshim.c - preloaded: makes the file system under zcache misbehave, in a daemon and in
 * the ranks of a program alike.
 *
 * Only calls that zcached, libzcache.so or an MPI library with the driver built in make
 * themselves, on files below a directory, are meddled with: the faults come from where the
 * kernel would raise them, and everything of ours that has to cope, store_posix included, is
 * tested as it is shipped.
 *
 *     FAULTSHIM_UNDER=DIR     files below it, but for its record
 *     FAULTSHIM_SHORT=P       P percent of the reads and writes move a part only
 *     FAULTSHIM_EINTR=P       P percent of all calls are interrupted before they do anything
 *     FAULTSHIM_DELAY=P:US    P percent of all calls take US microseconds longer
 *     FAULTSHIM_SEED=N
 *     FAULTSHIM_SWITCH=FILE   while it exists and says EIO, ENOSPC or EDQUOT, nothing can be
 *                             written: writes, allocations and fdatasync fail with that;
 *                             with "but sync" behind it fdatasync works
 *     FAULTSHIM_CUT=FILE      while it exists, no size can be set: ftruncate fails with EIO
 *     FAULTSHIM_HOLD=FILE     while it exists, what would be written waits; a process that does has
 *                             made FILE.PID
 *     FAULTSHIM_FLIP=FILE     one bit of the next 16 KiB and more that go from process to process
 *                             is flipped when there is FILE, which is taken away; of all of them
 *                             while there is FILE.all
 *     FAULTSHIM_DEV=N         files are on a device whose number is N more, as a file system that
 *                             several hosts mount is on each another one
 *     FAULTSHIM_FS=N          they are on a file system with this magic number
 *     FAULTSHIM_REPORT=FILE   at exit, also by _exit(2), a line of counts is appended here
 */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

enum { MAX_IOV = 1024 };

static struct {
    const char *under, *toggle, *cut, *hold, *flip;
    unsigned short_rate, eintr_rate, delay_rate, delay_us;
    uint64_t seed;
    unsigned dev, fs;
} want;

static unsigned long shorts, eintrs, delays, errors; /* raised; atomic */

static unsigned number(const char *name)
{
    const char *s = getenv(name);

    return s ? (unsigned)strtoul(s, NULL, 10) : 0;
}

__attribute__((constructor)) static void read_environment(void)
{
    const char *delay = getenv("FAULTSHIM_DELAY"), *colon = delay ? strchr(delay, ':') : NULL;

    want.under = getenv("FAULTSHIM_UNDER");
    want.toggle = getenv("FAULTSHIM_SWITCH");
    want.cut = getenv("FAULTSHIM_CUT");
    want.hold = getenv("FAULTSHIM_HOLD");
    want.flip = getenv("FAULTSHIM_FLIP");
    want.short_rate = number("FAULTSHIM_SHORT");
    want.eintr_rate = number("FAULTSHIM_EINTR");
    want.delay_rate = number("FAULTSHIM_DELAY");
    want.delay_us = colon ? (unsigned)strtoul(colon + 1, NULL, 10) : 0;
    want.seed = number("FAULTSHIM_SEED");
    want.dev = number("FAULTSHIM_DEV");
    want.fs = number("FAULTSHIM_FS");
}

__attribute__((destructor)) static void report(void)
{
    const char *name = getenv("FAULTSHIM_REPORT");
    int fd = name && shorts + eintrs + delays + errors
                 ? open(name, O_WRONLY | O_APPEND | O_CREAT, 0644)
                 : -1;

    if (fd < 0)
        return;
    dprintf(fd, "short %lu eintr %lu delay %lu error %lu\n", shorts, eintrs, delays, errors);
    close(fd);
}

/* A daemon that ends while libfabric starts runs no destructors (zc_tp_start_under_way()). */
__attribute__((noreturn)) void _exit(int status)
{
    void (*next)(int) __attribute__((noreturn));

    report();
    *(void **)&next = dlsym(RTLD_NEXT, "_exit");
    next(status);
}

/* ---- whose call, and what becomes of it ---- */

/* An address sanitizer's functions stand between zcache's and us, and call us in their name. */
static bool ours(const void *caller)
{
    const char *name;
    Dl_info info;

    if (!want.under || !dladdr(caller, &info) || !info.dli_fname)
        return false;
    name = strrchr(info.dli_fname, '/');
    name = name ? name + 1 : info.dli_fname;
    return strstr(name, "zcached") || !strncmp(name, "libzcache", 9) ||
           !strncmp(name, "mca_io_zcache", 13) || !strncmp(name, "libmpi.so", 9) ||
           !strncmp(name, "libasan", 7);
}

static bool below(int fd)
{
    char link[40], path[PATH_MAX];
    ssize_t n;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    return n > 0 && !strncmp(path, want.under, strlen(want.under)) &&
           !strstr(path, "/.zcache-root"); /* its room was allocated when it was made */
}

static unsigned dice(unsigned sides)
{
    static __thread uint64_t x;
    static uint64_t threads;

    if (!x)
        x = (want.seed + __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED)) * 0x9e3779b97f4a7c15u |
            1;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return (unsigned)((x >> 11) % sides);
}

static bool falls(unsigned rate, unsigned long *count)
{
    if (dice(100) >= rate)
        return false;
    __atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
    return true;
}

static void sleep_us(unsigned us)
{
    struct timespec t = {us / 1000000, (long)(us % 1000000) * 1000};

    nanosleep(&t, NULL);
}

/* What the switch says; 0: all is well. */
static int broken(bool sync)
{
    char word[32] = "";
    int fd = want.toggle ? open(want.toggle, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t n;

    if (fd < 0)
        return 0;
    n = read(fd, word, sizeof word - 1);
    close(fd);
    if (n <= 0 || (sync && strstr(word, "but sync")))
        return 0;
    __atomic_fetch_add(&errors, 1, __ATOMIC_RELAXED);
    return !strncmp(word, "ENOSPC", 6) ? ENOSPC : !strncmp(word, "EDQUOT", 6) ? EDQUOT : EIO;
}

static void wait_while_held(void)
{
    char note[PATH_MAX];
    int fd;

    if (!want.hold || access(want.hold, F_OK))
        return;
    snprintf(note, sizeof note, "%s.%ld", want.hold, (long)getpid());
    fd = open(note, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd >= 0)
        close(fd);
    while (access(want.hold, F_OK) == 0)
        sleep_us(10000);
}

/* Passes a call: true, or errno is set and it fails. */
static bool passes(bool writes, bool sync)
{
    int err = writes || sync ? broken(sync) : 0;

    if (writes || sync)
        wait_while_held();
    if (falls(want.delay_rate, &delays))
        sleep_us(want.delay_us);
    if (!err && falls(want.eintr_rate, &eintrs))
        err = EINTR;
    errno = err;
    return !err;
}

/* The first part of `iov`, now and then, in `cut`; returns how many of it. */
static int shorten(const struct iovec *iov, int n, struct iovec *cut)
{
    size_t total = 0, left;
    int used = 0;

    for (int i = 0; i < n; i++)
        total += iov[i].iov_len;
    if (n > MAX_IOV || total < 2 || !falls(want.short_rate, &shorts))
        return 0;
    for (left = 1 + dice((unsigned)(total - 1)); left; left -= cut[used++].iov_len) {
        cut[used] = iov[used];
        if (cut[used].iov_len > left)
            cut[used].iov_len = left;
    }
    return used;
}

/* Whether a bit of so many bytes is to be flipped. */
static bool flips(ssize_t n)
{
    char all[PATH_MAX];

    if (!want.flip || n < 16 << 10)
        return false;
    snprintf(all, sizeof all, "%s.all", want.flip);
    return unlink(want.flip) == 0 || access(all, F_OK) == 0;
}

/* ---- the calls ---- */

/* The function that ours stands in front of, in `next`. */
#define FIND(name)                                                                                 \
    do                                                                                             \
        if (!next)                                                                                 \
            *(void **)&next = dlsym(RTLD_NEXT, name);                                              \
    while (0)
#define MEDDLE(fd) (ours(__builtin_return_address(0)) && below(fd))

ssize_t preadv(int fd, const struct iovec *iov, int n, off_t off)
{
    static ssize_t (*next)(int, const struct iovec *, int, off_t);
    struct iovec cut[MAX_IOV];
    int used;

    FIND("preadv");
    if (!MEDDLE(fd))
        return next(fd, iov, n, off);
    if (!passes(false, false))
        return -1;
    used = shorten(iov, n, cut);
    return next(fd, used ? cut : iov, used ? used : n, off);
}

ssize_t pwritev(int fd, const struct iovec *iov, int n, off_t off)
{
    static ssize_t (*next)(int, const struct iovec *, int, off_t);
    struct iovec cut[MAX_IOV];
    int used;

    FIND("pwritev");
    if (!MEDDLE(fd))
        return next(fd, iov, n, off);
    if (!passes(true, false))
        return -1;
    used = shorten(iov, n, cut);
    return next(fd, used ? cut : iov, used ? used : n, off);
}

int fdatasync(int fd)
{
    static int (*next)(int);

    FIND("fdatasync");
    if (MEDDLE(fd) && !passes(false, true))
        return -1;
    return next(fd);
}

int ftruncate(int fd, off_t size)
{
    static int (*next)(int, off_t);

    FIND("ftruncate");
    if (MEDDLE(fd) && !passes(false, false))
        return -1;
    if (MEDDLE(fd) && want.cut && access(want.cut, F_OK) == 0) {
        errno = EIO;
        return -1;
    }
    return next(fd, size);
}

int fallocate(int fd, int mode, off_t off, off_t len)
{
    static int (*next)(int, int, off_t, off_t);

    FIND("fallocate");
    if (MEDDLE(fd) && !passes(true, false))
        return -1;
    return next(fd, mode, off, len);
}

int fstat(int fd, struct stat *st)
{
    static int (*next)(int, struct stat *);
    int rc;

    FIND("fstat");
    rc = next(fd, st);
    if (rc == 0 && want.dev && MEDDLE(fd))
        st->st_dev += want.dev;
    return rc;
}

int fstatfs(int fd, struct statfs *fs)
{
    static int (*next)(int, struct statfs *);
    int rc;

    FIND("fstatfs");
    rc = next(fd, fs);
    if (rc == 0 && want.fs && MEDDLE(fd))
        fs->f_type = want.fs;
    return rc;
}

ssize_t process_vm_readv(pid_t pid, const struct iovec *here, unsigned long n,
                         const struct iovec *there, unsigned long m, unsigned long flags)
{
    static ssize_t (*next)(pid_t, const struct iovec *, unsigned long, const struct iovec *,
                           unsigned long, unsigned long);
    ssize_t got;

    FIND("process_vm_readv");
    got = next(pid, here, n, there, m, flags);
    if (got > 0 && n == 1 && ours(__builtin_return_address(0)) && flips(got))
        ((unsigned char *)here->iov_base)[got / 2] ^= 16;
    return got;
}

ssize_t process_vm_writev(pid_t pid, const struct iovec *here, unsigned long n,
                          const struct iovec *there, unsigned long m, unsigned long flags)
{
    static ssize_t (*next)(pid_t, const struct iovec *, unsigned long, const struct iovec *,
                           unsigned long, unsigned long);
    ssize_t put;

    FIND("process_vm_writev");
    put = next(pid, here, n, there, m, flags);
    if (put > 0 && n == 1 && ours(__builtin_return_address(0)) && flips(put)) {
        unsigned char byte = ((const unsigned char *)here->iov_base)[put / 2] ^ 8;
        struct iovec mine = {&byte, 1}, his = {(char *)there->iov_base + put / 2, 1};

        next(pid, &mine, 1, &his, 1, 0);
    }
    return put;
}
