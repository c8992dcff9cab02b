/* zcache_read_around.c - reads of a file by the rank itself (zcache_read_around.h). */
#include "config.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "zc_cache.h"
#include "zc_client.h"
#include "zc_fd.h"
#include "zc_log.h"
#include "zc_pagedesc.h"
#include "zcache_file.h"
#include "zcache_ownerset.h"
#include "zcache_read_around.h"

/* The kernel is asked about so many places of a file, or about all of a file of less than 8 MiB. It
 * looks at 1 MiB in 8 us, so that takes it 64 us at most: less than to read the owner's first
 * page. */
enum {
    PLACES = 16,
    PLACE_SIZE = 256 << 10, /* bytes */
};

enum { NOT_ASKED = -1, ASKING = -2, NEVER = -3 }; /* in place of a descriptor */

void zcache_read_around_init(struct zcache_read_around *a)
{
    *a = (struct zcache_read_around){.fd = NOT_ASKED, .opened = -1};
}

void zcache_read_around_free(struct zcache_read_around *a)
{
    if (a->opened >= 0)
        close(a->opened);
    *a = (struct zcache_read_around){.fd = NEVER, .opened = -1};
}

static bool has_range(int fd, uint64_t off, uint64_t len)
{
    return zc_fd_cached(fd, off, len) >= (int64_t)len;
}

/* Whether the page cache has the file, as far as the places tell. */
static bool is_cached(int fd, uint64_t size)
{
    uint64_t apart = size / PLACES / PLACE_SIZE * PLACE_SIZE;

    if (apart <= PLACE_SIZE)
        return has_range(fd, 0, size);
    for (uint64_t i = 0; i < PLACES; i++)
        if (!has_range(fd, i * apart, PLACE_SIZE))
            return false;
    return true;
}

static bool is_that_of(const struct zcache_ownerset *g, const struct stat *st)
{
    return S_ISREG(st->st_mode) && st->st_dev == g->dev && st->st_ino == g->ino;
}

/* Opens the file that the owner has open; -1: the name is of another one here, or of none. */
static int open_file(const struct zcache_file *f)
{
    struct stat st;
    int fd;

    if (stat(f->path, &st) || !is_that_of(f->ownerset, &st))
        return -1;
    fd = zc_fd(open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (fd >= 0 && (fstat(fd, &st) || !is_that_of(f->ownerset, &st))) {
        close(fd); /* another file has got the name meanwhile */
        fd = -1;
    }
    return fd;
}

/* Returns the descriptor to read by, or NEVER.  A rank that is the only owner uses its cache's,
 * which is the file's as long as that owner says that it is quiescent. */
static int ask(struct zcache_file *f)
{
    struct zc_handle *h = f->nowners == 1 ? f->owners[0].local : NULL;
    int fd = h ? zc_cache_descriptor(h) : (f->around.opened = open_file(f));
    struct stat st;

    if (fd < 0 || fstat(fd, &st) || !is_cached(fd, (uint64_t)st.st_size))
        return NEVER;
    zc_debug("%s is read past its owners' caches: no open can write to it, and the kernel has it "
             "in memory",
             f->path);
    return fd;
}

/* The first call asks for it; meanwhile others read by the owner. */
static int descriptor(struct zcache_file *f)
{
    int *at = &f->around.fd, fd = __atomic_load_n(at, __ATOMIC_ACQUIRE);

    if (fd != NOT_ASKED ||
        !__atomic_compare_exchange_n(at, &fd, ASKING, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return fd;
    fd = ask(f);
    __atomic_store_n(at, fd, __ATOMIC_RELEASE);
    return fd;
}

static bool is_quiescent(const struct zcache_owner *o, struct zc_client *client)
{
    return o->local ? zc_cache_is_quiescent(o->local, &o->quiescence)
                    : client && zc_client_is_quiescent(client, &o->quiescence);
}

ssize_t zcache_read_around(struct zcache_file *f, const struct zcache_owner *o,
                           struct zc_client *client, void *buf, size_t len, uint64_t off)
{
    int fd = is_quiescent(o, client) ? descriptor(f) : NEVER;
    size_t done = 0;
    ssize_t n = fd >= 0 ? 1 : -1;

    while (n > 0 && done < len) {
        n = pread(fd, (char *)buf + done, len - done, (off_t)(off + done));
        done += n > 0 ? (size_t)n : 0;
    }
    if (n < 0 || !is_quiescent(o, client)) /* the descriptor may be another file's by now */
        return -1;
    return done < len && f->nowners > 1 ? -1 : (ssize_t)done; /* another may know a larger size */
}
