/* zc_journal_before.c - notes checksums of the bytes that a staged write will replace, if reading
 * them costs no I/O.
 *
 * The replay of a file whose times prove nothing compares its contents with these checksums: bytes
 * that still match were not written by another program meanwhile (zc_journal_compare.c).  The old
 * bytes are read right after the DATA record is made, from the kernel's page cache only, and their
 * checksums follow in a BEFORE record.  Bytes that are not cached there are not noted, and neither
 * are bytes beyond the end of the file, which read as zeros at a replay unless another program has
 * written them.
 *
 * A checksum is of a piece, which is within a chunk and does not cross a border: a place where a
 * recent write of the file, or what a replay has restored, begins or ends.  Of writes that overlap,
 * the daemon may store the earlier and then die: the file then has the bytes of one write up to a
 * border, and beyond it what it had before.  Borders of BORDERS writes are known in each of CHUNKS
 * chunks; older ones are forgotten, so a piece may then cross one, and what it covers is kept back
 * in such a case.
 *
 * All functions except zc_before_open() are called with the writer lock.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "zc_fd.h"
#include "zc_journal_internal.h"

enum {
    PIECES = 4096, /* maximum number of pieces noted per write */
    BORDERS = 14,
    CHUNKS = 8192, /* a hash table */
};

/* A range of the file within one chunk, relative to the beginning of the first one, and its
 * checksum. */
struct piece {
    uint32_t lo, len;
    uint64_t sum;
};

/* The last borders in a chunk of a file. */
struct borders {
    uint64_t chunk; /* its number, from 1 on; 0: unused */
    uint32_t file;
    uint16_t at[BORDERS]; /* relative to the chunk; 0: none */
    uint16_t next;        /* of these that is overwritten next */
};

struct zc_journal_peek {
    struct borders borders[CHUNKS];
    unsigned char bytes[ZC_JOURNAL_BODY];
    struct piece pieces[PIECES];
};

/* Whether `fd` is memory, where no read waits. */
static bool is_memory(int fd)
{
    struct statfs fs;

    return fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
}

/* Whether the file system can be read without waiting: NFS and Lustre, for two, cannot.  Asked once
 * at an open, as the question may itself wait there. */
static bool can_peek(int fd)
{
    char byte;
    struct iovec iov = {&byte, 1};

    return preadv2(fd, &iov, 1, 0, RWF_NOWAIT) >= 0 || errno != EOPNOTSUPP || is_memory(fd);
}

/* Opens for reading the file that `at`, an O_PATH, is of; closes `at`. */
static int reopen(int at)
{
    char name[32];
    int fd;

    snprintf(name, sizeof name, "/proc/thread-self/fd/%d", at);
    fd = zc_fd(open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY));
    close(at);
    return fd;
}

/* The path may be another file's by now, also a device, which the open alone could set going: it is
 * looked at before it is opened. */
int zc_before_open(const char *path, const struct zc_attr *attr)
{
    int fd = zc_fd(open(path, O_PATH | O_CLOEXEC));
    struct stat st;

    if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_ino != attr->ino ||
                    st.st_dev != attr->dev)) {
        close(fd);
        return -1;
    }
    fd = fd < 0 ? fd : reopen(fd);
    if (fd >= 0 && !can_peek(fd)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Returns how many bytes could be read without I/O; 0: the file ends there.  What the kernel is
 * storing is locked for a moment, and ext4 reads nothing of it then that must not wait: that is
 * waited for, a chunk at a time. */
static ssize_t peek(int fd, unsigned char *to, size_t len, uint64_t off)
{
    struct iovec iov = {to, len};
    size_t chunk = ZC_JOURNAL_CHUNK - off % ZC_JOURNAL_CHUNK;
    ssize_t n = preadv2(fd, &iov, 1, (off_t)off, RWF_NOWAIT);
    bool again = n < 0 && errno == EAGAIN;

    if (n < 0 && errno == EOPNOTSUPP && is_memory(fd))
        return preadv(fd, &iov, 1, (off_t)off);
    iov.iov_len = len < chunk ? len : chunk;
    if (again && zc_fd_cached(fd, off, iov.iov_len) >= (int64_t)iov.iov_len)
        return preadv(fd, &iov, 1, (off_t)off);
    return n;
}

/* ---- borders ---- */

static struct borders *borders_of(struct zc_journal_peek *p, uint32_t file, uint64_t at)
{
    uint64_t x = (at / ZC_JOURNAL_CHUNK) * 0x9e3779b97f4a7c15ull + file * 0xd6e8feb86659fd93ull;

    return &p->borders[(x >> 32) % CHUNKS];
}

static bool is_of(const struct borders *b, uint32_t file, uint64_t at)
{
    return b->chunk == at / ZC_JOURNAL_CHUNK + 1 && b->file == file;
}

static void note_border(struct zc_journal_peek *p, uint32_t file, uint64_t at)
{
    struct borders *b = borders_of(p, file, at);
    uint16_t in = (uint16_t)(at % ZC_JOURNAL_CHUNK);

    if (in == 0)
        return;
    if (!is_of(b, file, at))
        *b = (struct borders){.chunk = at / ZC_JOURNAL_CHUNK + 1, .file = file};
    for (unsigned i = 0; i < BORDERS; i++)
        if (b->at[i] == in)
            return;
    b->at[b->next] = in;
    b->next = (uint16_t)((b->next + 1) % BORDERS);
}

/* Returns the first border behind `at`, or the end of the chunk. */
static uint64_t next_border(struct zc_journal_peek *p, uint32_t file, uint64_t at)
{
    uint64_t begin = at / ZC_JOURNAL_CHUNK * ZC_JOURNAL_CHUNK, next = begin + ZC_JOURNAL_CHUNK;
    const struct borders *b = borders_of(p, file, at);

    for (unsigned i = 0; is_of(b, file, at) && i < BORDERS; i++)
        if (begin + b->at[i] > at && begin + b->at[i] < next)
            next = begin + b->at[i];
    return next;
}

void zc_before_border(struct zc_journal *j, const struct zc_journal_file *f, uint64_t lo,
                      uint64_t hi)
{
    if (!j->writer.peek)
        j->writer.peek = calloc(1, sizeof *j->writer.peek);
    if (!j->writer.peek)
        return;
    note_border(j->writer.peek, f->id, lo);
    note_border(j->writer.peek, f->id, hi);
}

/* Returns the limit on cuts at borders for a write of `bytes` bytes. */
static size_t most_cuts(size_t bytes)
{
    return BORDERS * (bytes / ZC_JOURNAL_CHUNK + 2);
}

/* ---- pieces ---- */

/* What of the file is in zc_journal_peek.bytes. */
struct window {
    uint32_t file;
    size_t cuts; /* at borders that are still allowed */
    uint64_t at, end;
    uint64_t missing; /* before that nothing more can be read */
    bool ended;       /* nor behind it: the file ends there */
};

/* Where a read ends that begins with the range [lo, hi), the k-th: with the last of those behind it
 * that are no more than a chunk apart.  A call for each of thousands of small ranges would cost
 * more than all that is done with them. */
static uint64_t reach(const struct zc_journal_write *w, uint32_t k, uint32_t end, uint64_t lo,
                      uint64_t hi)
{
    uint64_t zero = w->off - w->base;

    while (++k < end && zero + w->r[k].lo - hi <= ZC_JOURNAL_CHUNK &&
           zero + w->r[k].hi - lo <= ZC_JOURNAL_BODY)
        hi = zero + w->r[k].hi;
    return hi;
}

static void move_window(struct zc_journal_peek *p, int fd, struct window *v, uint64_t lo,
                        uint64_t hi)
{
    ssize_t n = peek(fd, p->bytes, (size_t)(hi - lo), lo);

    v->at = lo;
    v->end = lo + (n > 0 ? (uint64_t)n : 0);
    v->ended = n == 0;
    if (n < 0)
        v->missing = zc_fd_cached(fd, lo, hi - lo) == 0
                         ? hi
                         : (lo / ZC_JOURNAL_CHUNK + 1) * ZC_JOURNAL_CHUNK;
}

static uint32_t most_pieces(const struct zc_journal *j)
{
    size_t fit = j->body_max / (ZC_RECORD_RANGE + ZC_RECORD_SUM);

    return fit < PIECES ? (uint32_t)fit : PIECES;
}

size_t zc_before_most(const struct zc_journal *j, uint32_t nranges, size_t bytes)
{
    size_t n = bytes / ZC_JOURNAL_CHUNK + 2 * (size_t)nranges + most_cuts(bytes);
    size_t most = most_pieces(j);

    return (n < most ? n : most) * (ZC_RECORD_RANGE + ZC_RECORD_SUM);
}

/* Adds the pieces of [lo, hi) of the file that were read; false: there is no room for more. */
static bool add_pieces(const struct zc_journal *j, struct window *v, uint64_t base, uint64_t lo,
                       uint64_t hi, uint32_t *n)
{
    struct zc_journal_peek *p = j->writer.peek;
    uint32_t most = most_pieces(j);
    uint64_t next;

    hi = hi < v->end ? hi : v->end; /* it may end with the file */
    for (uint64_t at = lo; at >= v->at && at < hi; at = next) {
        next =
            v->cuts ? next_border(p, v->file, at) : (at / ZC_JOURNAL_CHUNK + 1) * ZC_JOURNAL_CHUNK;
        v->cuts -= next < hi && next % ZC_JOURNAL_CHUNK != 0;
        next = next < hi ? next : hi;
        if (*n == most)
            return false;
        p->pieces[*n] = (struct piece){(uint32_t)(at - base), (uint32_t)(next - at),
                                       zc_record_sum(p->bytes + (at - v->at), next - at)};
        ++*n;
    }
    return true;
}

/* Adds the pieces of [lo, hi), reading as far as `far`, in as many reads as it takes; false: there
 * is no room for more. */
static bool note_range(const struct zc_journal *j, int fd, struct window *v, uint64_t base,
                       uint64_t lo, uint64_t hi, uint64_t far, uint32_t *n)
{
    while (lo < hi && !v->ended) {
        if (lo >= v->end && lo >= v->missing)
            move_window(j->writer.peek, fd, v, lo, far);
        if (!add_pieces(j, v, base, lo, hi, n))
            return false;
        lo = lo < v->end ? v->end : v->missing;
    }
    return true;
}

uint32_t zc_before_look(struct zc_journal *j, const struct zc_journal_write *w, uint32_t i,
                        uint32_t nranges, uint32_t skip, size_t bytes)
{
    uint64_t base = w->off - w->base + w->r[i].lo + skip;
    struct window v = {.file = w->file->id, .cuts = most_cuts(bytes)};
    uint32_t n = 0;

    if (w->file->peek_fd < 0)
        return 0;
    if (!j->writer.peek)
        j->writer.peek = calloc(1, sizeof *j->writer.peek);
    for (uint32_t k = i; j->writer.peek && k < i + nranges && bytes && !v.ended; k++, skip = 0) {
        uint64_t lo = w->off - w->base + w->r[k].lo + skip, len = w->r[k].hi - w->r[k].lo - skip;

        if (len > bytes)
            len = bytes;
        bytes -= (size_t)len;
        if (!note_range(j, w->file->peek_fd, &v, base, lo, lo + len,
                        reach(w, k, i + nranges, lo, lo + len), &n))
            break;
    }
    for (uint32_t k = i; k < i + nranges; k++)
        zc_before_border(j, w->file, w->off - w->base + w->r[k].lo, w->off - w->base + w->r[k].hi);
    return n;
}

size_t zc_before_record(const struct zc_journal *j, uint32_t n, unsigned char *body,
                        struct zc_record *r)
{
    const struct piece *p = j->writer.peek->pieces;

    for (uint32_t i = 0; i < n; i++) {
        zc_record_put_range(body, i, p[i].lo, p[i].len);
        zc_record_put_sum(body, n, i, p[i].sum);
    }
    r->nranges = n;
    r->span = (uint64_t)p[n - 1].lo + p[n - 1].len;
    return (size_t)n * (ZC_RECORD_RANGE + ZC_RECORD_SUM);
}
