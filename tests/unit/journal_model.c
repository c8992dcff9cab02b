/* journal_model.c - a journal without a daemon, a cache or a store, and a model of what it has to
 * return; the disk that it is on, which may be full or fail; and a sink for what it replays.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "journal_model.h"

/* ---- a model, and the store it stands for ---- */

struct model m;

/* The journal's thread takes it, too. */
pthread_mutex_t model_lock = PTHREAD_MUTEX_INITIALIZER;

char dir[64], root[] = "/root/of/all";
struct zc_journal *j;
uint64_t size = MIB;
bool sync_too;
const char *boot; /* boot id of the host; NULL: the kernel's */

static struct model_file *by_ino(uint64_t ino)
{
    for (int i = 0; i < FILES; i++)
        if (m.f[i].ino == ino)
            return &m.f[i];
    return NULL;
}

void set_refused(int rc)
{
    pthread_mutex_lock(&model_lock);
    m.refused = rc;
    pthread_mutex_unlock(&model_lock);
}

int owes(void *arg, uint64_t dev, uint64_t ino, uint64_t number)
{
    const struct model_file *f;
    int rc = 0;

    (void)arg;
    (void)dev;
    pthread_mutex_lock(&model_lock);
    rc = m.owing ? -EAGAIN : 0;
    f = by_ino(ino);
    for (int i = 0; f && i < SIZE && rc == 0; i++)
        if (f->pending[i] >= 0 && f->number[i] <= number)
            rc = m.refused ? m.refused : -EAGAIN;
    pthread_mutex_unlock(&model_lock);
    return rc;
}

void set_owing(bool on)
{
    pthread_mutex_lock(&model_lock);
    m.owing = on;
    pthread_mutex_unlock(&model_lock);
}

void hurry(void *arg, bool on)
{
    (void)arg;
    atomic_fetch_add(&m.hurried, on ? 1 : -1);
}

/* ---- a disk ---- */

atomic_bool disk_full;
atomic_int disk_room = -1;    /* segments that fit; negative: unlimited */
atomic_llong disk_bytes = -1; /* bytes they may have; negative: unlimited */

/* Writes of the journal's thread fail, possibly after half of the bytes; a held one is under way
 * until the test releases it. */
atomic_bool disk_breaks, disk_half, disk_holds, disk_held;

ssize_t pwrite(int fd, const void *p, size_t len, off_t off)
{
    if (!atomic_load(&disk_breaks))
        return syscall(SYS_pwrite64, fd, p, len, off);
    if (atomic_load(&disk_half))
        syscall(SYS_pwrite64, fd, p, len / 2 & ~(size_t)7, off);
    atomic_store(&disk_held, true);
    WAIT_FOR(!atomic_load(&disk_holds));
    errno = EIO;
    return -1;
}

/* Reads that do not wait, by which a journal looks what a file has. */
atomic_bool peek_fails;
atomic_int peeks;
atomic_int peek_stutters;

ssize_t preadv2(int fd, const struct iovec *iov, int n, off_t off, int flags)
{
    struct iovec part = {iov[0].iov_base, iov[0].iov_len < 4096 ? iov[0].iov_len : 4096};
    int peek = atomic_fetch_add(&peeks, 1);

    if (atomic_load(&peek_stutters) == 2 && peek % 2 == 1) {
        errno = EAGAIN;
        return -1;
    }
    if (atomic_load(&peek_stutters))
        return preadv(fd, &part, 1, off);
    if (!atomic_load(&peek_fails))
        return syscall(SYS_preadv2, fd, iov, (long)n, (long)off, 0L, (long)flags);
    errno = EOPNOTSUPP;
    return -1;
}

/* The segment being made exists already. */
int segments(void)
{
    DIR *d = opendir(dir);
    const struct dirent *e;
    int n = -1;

    while ((e = readdir(d)))
        n += strncmp(e->d_name, "segment.", 8) == 0;
    closedir(d);
    return n;
}

/* Bytes of all segments. */
long long segment_bytes(void)
{
    DIR *d = opendir(dir);
    const struct dirent *e;
    long long sum = 0;
    struct stat st;

    while ((e = readdir(d)))
        if (strncmp(e->d_name, "segment.", 8) == 0 && fstatat(dirfd(d), e->d_name, &st, 0) == 0)
            sum += st.st_size;
    closedir(d);
    return sum;
}

/* Replaces the C library's function, by which a journal makes its segments. */
int posix_fallocate(int fd, off_t off, off_t len)
{
    if (atomic_load(&disk_bytes) >= 0 && segment_bytes() + len > atomic_load(&disk_bytes))
        return ENOSPC;
    if (atomic_load(&disk_full) || (atomic_load(&disk_room) >= 0 && segments() >= disk_room))
        return ENOSPC;
    return ftruncate(fd, off + len) < 0 ? errno : 0;
}

/* ---- a sink ---- */

struct model_file *by_path(const char *path)
{
    for (int i = 0; i < FILES; i++)
        if (strcmp(m.f[i].path, path) == 0)
            return &m.f[i];
    ck_abort_msg("no file %s", path);
    return NULL;
}

static int sink_stat(void *arg, const char *path, struct zc_attr *attr)
{
    struct model_file *f = by_path(path);

    (void)arg;
    *attr = f->attr;
    return f->hidden ? -EACCES : f->there ? 0 : -ENOENT;
}

static int sink_open(void *arg, const char *path, uint64_t mark, void **file)
{
    struct model_file *f = by_path(path);

    (void)arg;
    (void)mark;
    if (m.storing)
        f->jfile = zc_journal_opened(j, path, zc_journal_opening(j), &f->attr, false);
    *file = f;
    return 0;
}

void touch(struct model_file *f)
{
    f->attr.mtime_ns += 1000;
    f->attr.ctime_ns += 1000;
}

static void sink_store(struct model_file *f, const unsigned char *bytes, size_t len, uint64_t off)
{
    uint64_t until = zc_journal_intent_begin(j, f->jfile, ZC_JOURNAL_NOT_TRUNCATED);
    struct zc_range r = {0, (uint32_t)len};

    touch(f);
    if (off + len > f->attr.size)
        f->attr.size = off + len;
    for (size_t i = 0; i < len; i++)
        f->stored[off + i] = bytes[i];
    zc_journal_stored(j, f->jfile, until, off, &r, 1);
    zc_journal_intent_end(j, f->jfile);
}

static int sink_write(void *file, const void *buf, size_t len, uint64_t off)
{
    struct model_file *f = file;

    if (off + len > SIZE)
        ck_abort_msg("beyond the end");
    if (++m.writes == m.breaks_at)
        return -EIO;
    if (m.leaving && m.replacing)
        m.leaving->attr.born_ns++;
    else if (m.leaving)
        m.leaving->there = false;
    m.leaving = NULL;
    for (size_t i = 0; i < len; i++)
        f->returned[off + i] = ((const unsigned char *)buf)[i];
    if (m.storing)
        sink_store(f, buf, len, off);
    return 0;
}

static int sink_close(void *file, uint64_t *number)
{
    struct model_file *f = file;

    if (m.storing)
        zc_journal_closed(j, f->jfile, true);
    *number = ++m.numbers;
    return 0;
}

static void sink_lost(void *arg, const char *path, uint64_t lo, uint64_t hi, uint64_t bytes,
                      const char *why)
{
    (void)arg;
    (void)path;
    (void)lo;
    (void)hi;
    m.lost += bytes;
    m.complaints++;
    snprintf(m.why, sizeof m.why, "%s", why);
}

/* Reported like lost bytes, but they are kept. */
static void sink_kept(void *arg, const char *path, const struct zc_journal_span *s, unsigned n,
                      uint64_t bytes, const char *why, const char *where)
{
    char segment[512];

    snprintf(segment, sizeof segment, "%s/segment.%016d", where, 1);
    ck_assert_uint_gt(n, 0);
    sink_lost(arg, path, s[0].lo, s[n - 1].hi, bytes, why);
    ck_assert_int_eq(access(segment, R_OK), 0);
}

const struct zc_journal_sink sink = {.stat = sink_stat,
                                     .open = sink_open,
                                     .write = sink_write,
                                     .close = sink_close,
                                     .kept = sink_kept,
                                     .lost = sink_lost};

/* ---- up and down ---- */

int try_open(struct zc_journal **out)
{
    struct zc_journal_config cfg = {
        .dir = dir, .root = root, .size = size, .sync = sync_too, .boot = boot};

    return zc_journal_open(&cfg, out);
}

void open_journal(void)
{
    int rc = try_open(&j);

    ck_assert_msg(rc == 0, "%s", zc_error_text(rc));
    zc_journal_attach(j, NULL, owes, hurry);
    atomic_store(&m.hurried, 0);
}

struct zc_journal_replayed replay(void)
{
    struct zc_journal_replayed r;
    int rc;

    m.lost = m.complaints = 0;
    for (int i = 0; i < FILES; i++)
        memset(m.f[i].returned, -1, sizeof m.f[i].returned);
    rc = zc_journal_replay(j, &sink, &r);
    ck_assert_msg(rc == 0, "%s", zc_error_text(rc));
    ck_assert_uint_eq(r.lost_bytes + r.kept_bytes, m.lost);
    return r;
}

void open_file(struct model_file *f)
{
    pthread_mutex_lock(&model_lock);
    f->ino = f->attr.ino;
    pthread_mutex_unlock(&model_lock);
    f->jfile = zc_journal_opened(j, f->path, zc_journal_opening(j), &f->attr, false);
    ck_assert_ptr_nonnull(f->jfile);
}

static void make_file(struct model_file *f)
{
    static uint64_t inos = 100;

    pthread_mutex_lock(&model_lock);
    inos++;
    f->attr = (struct zc_attr){.dev = 7, .ino = inos, .nlink = 1, .born_ns = (int64_t)inos};
    f->ino = inos;
    f->there = true;
    memset(f->pending, -1, sizeof f->pending);
    pthread_mutex_unlock(&model_lock);
}

static void clean_aside(int in, const char *name)
{
    int fd = openat(in, name, O_RDONLY | O_DIRECTORY);
    DIR *d = fdopendir(fd);
    const struct dirent *e;

    ck_assert_ptr_nonnull(d);
    while ((e = readdir(d)))
        if (e->d_name[0] != '.')
            ck_assert_int_eq(unlinkat(fd, e->d_name, 0), 0);
    closedir(d);
    ck_assert_int_eq(unlinkat(in, name, AT_REMOVEDIR), 0);
}

/* Removes what was set aside as damaged. */
void clean_asides(void)
{
    DIR *d = opendir(dir);
    const struct dirent *e;

    ck_assert_ptr_nonnull(d);
    while ((e = readdir(d)))
        if (strncmp(e->d_name, "set-aside.", 10) == 0)
            clean_aside(dirfd(d), e->d_name);
    closedir(d);
}

void clean_dir(void)
{
    DIR *d = opendir(dir);
    const struct dirent *e;

    if (!d)
        return;
    while ((e = readdir(d)))
        if (strncmp(e->d_name, "set-aside.", 10) == 0)
            clean_aside(dirfd(d), e->d_name);
        else if (e->d_name[0] != '.')
            ck_assert_int_eq(unlinkat(dirfd(d), e->d_name, 0), 0);
    closedir(d);
    ck_assert_int_eq(rmdir(dir), 0);
}

void up_with(uint64_t bytes)
{
    memset(&m, 0, sizeof m);
    size = bytes;
    sync_too = false;
    snprintf(dir, sizeof dir, "/tmp/zcache-journal.%ld", (long)getpid());
    clean_dir();
    for (int i = 0; i < FILES; i++) {
        snprintf(m.f[i].path, sizeof m.f[i].path, "/f%d", i);
        make_file(&m.f[i]);
    }
    open_journal();
    replay();
    for (int i = 0; i < FILES; i++)
        open_file(&m.f[i]);
}

void up(void)
{
    up_with(MIB);
}

/* The daemon dies: what was answered is there. */
void die(void)
{
    zc_journal_freeze(j);
    zc_journal_close(j, false);
    for (int i = 0; i < FILES; i++)
        m.f[i].jfile = NULL;
}

void down(void)
{
    zc_journal_close(j, true);
    clean_dir();
}

/* ---- operations of a daemon ---- */

static void put_done(struct zc_journal_write *w)
{
    atomic_store(&((struct put *)w)->done, true);
}

void begin_put(struct put *p, struct model_file *f, const void *data, uint64_t off,
               const struct zc_range *r, uint32_t n)
{
    *p = (struct put){.w = {.file = f->jfile,
                            .data = data,
                            .off = off,
                            .r = r,
                            .n = n,
                            .base = r[0].lo,
                            .done = put_done}};
    p->w.ticket = &p->ticket;
    zc_journal_put(j, &p->w);
}

int end_put(struct put *p)
{
    WAIT_FOR(atomic_load(&p->done));
    zc_journal_taken(j, &p->ticket, m.numbers);
    return p->w.error.rc;
}

/* Writes one byte value to these ranges of the file. */
int put_ranges(struct model_file *f, int byte, const struct zc_range *r, uint32_t n)
{
    unsigned char data[SIZE];
    struct put p;
    int rc;

    memset(data, byte, sizeof data);
    m.numbers++;
    begin_put(&p, f, data + r[0].lo, r[0].lo, r, n);
    WAIT_FOR(atomic_load(&p.done));
    rc = p.w.error.rc;
    pthread_mutex_lock(&model_lock);
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        for (uint32_t x = r[i].lo; x < r[i].hi; x++) {
            f->pending[x] = (short)byte;
            f->number[x] = m.numbers;
        }
    pthread_mutex_unlock(&model_lock);
    zc_journal_taken(j, &p.ticket, m.numbers);
    return rc;
}

int put(struct model_file *f, int byte, uint32_t lo, uint32_t hi)
{
    struct zc_range r = {lo, hi};

    return put_ranges(f, byte, &r, 1);
}

void look(struct model_file *f)
{
    uint64_t changes = zc_journal_changes(j, f->jfile);

    zc_journal_checked(j, f->jfile, changes, &f->attr);
}

/* Stores what is pending in [lo, hi); meanwhile another write of `byte`, if >= 0, goes to `at`. */
void store(struct model_file *f, uint32_t lo, uint32_t hi, int byte, uint32_t at)
{
    uint64_t until = zc_journal_intent_begin(j, f->jfile, ZC_JOURNAL_NOT_TRUNCATED);
    struct zc_range r = {0, hi - lo};

    touch(f);
    if (hi > f->attr.size)
        f->attr.size = hi;
    if (byte >= 0)
        ck_assert_int_eq(put(f, byte, at, at + 50), 0);
    zc_journal_stored(j, f->jfile, until, lo, &r, 1);
    pthread_mutex_lock(&model_lock);
    for (uint32_t x = lo; x < hi; x++)
        if (byte < 0 || x < at || x >= at + 50)
            f->pending[x] = -1;
    pthread_mutex_unlock(&model_lock);
    zc_journal_intent_end(j, f->jfile);
}

void truncate_to(struct model_file *f, uint32_t end)
{
    zc_journal_intent_begin(j, f->jfile, end);
    f->attr.size = end;
    touch(f);
    zc_journal_truncate(j, f->jfile, end);
    pthread_mutex_lock(&model_lock);
    for (uint32_t x = end; x < SIZE; x++)
        f->pending[x] = -1;
    pthread_mutex_unlock(&model_lock);
    zc_journal_intent_end(j, f->jfile);
}

void delete_and_make(struct model_file *f)
{
    zc_journal_unlinked(j, zc_journal_unlinking(j, &f->attr), true);
    zc_journal_closed(j, f->jfile, false);
    make_file(f);
    open_file(f);
}

/* Compares replayed with pending bytes. */
static void compare(void)
{
    for (int i = 0; i < FILES; i++)
        for (int x = 0; x < SIZE; x++)
            if (m.f[i].returned[x] != m.f[i].pending[x])
                ck_abort_msg("file %d, byte %d: %d, not %d", i, x, m.f[i].returned[x],
                             m.f[i].pending[x]);
}

void come_back(void)
{
    struct zc_journal_replayed r;

    open_journal();
    r = replay();
    ck_assert_msg(m.complaints == 0, "%s", m.why);
    ck_assert_uint_eq(r.damaged, 0);
    compare();
    for (int i = 0; i < FILES; i++) {
        pthread_mutex_lock(&model_lock);
        for (int x = 0; x < SIZE; x++)
            m.f[i].number[x] = 0;
        pthread_mutex_unlock(&model_lock);
        open_file(&m.f[i]);
    }
}

struct zc_journal_stats stats(void)
{
    struct zc_journal_stats st;

    zc_journal_stats(j, &st);
    return st;
}

void segment_path(char *path, size_t len)
{
    DIR *d = opendir(dir);
    const struct dirent *e;

    *path = '\0';
    while ((e = readdir(d)))
        if (strncmp(e->d_name, "segment.", 8) == 0 &&
            (!*path || strcmp(e->d_name, strrchr(path, '/') + 1) < 0))
            snprintf(path, len, "%s/%s", dir, e->d_name);
    closedir(d);
    ck_assert(*path);
}

/* ---- a file on the disk ---- */

/* A file of the model that has these bytes on the disk, which a journal can look at. */
void make_real(struct model_file *f, const void *bytes, size_t len)
{
    struct stat st;
    int fd;

    zc_journal_closed(j, f->jfile, false);
    snprintf(f->path, sizeof f->path, "/tmp/zcache-real.%ld", (long)getpid());
    fd = open(f->path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, len), (ssize_t)len);
    ck_assert_int_eq(fstat(fd, &st), 0);
    close(fd);
    f->attr.dev = st.st_dev;
    f->attr.ino = st.st_ino;
    f->attr.size = len;
    open_file(f);
}

uint64_t looked_at;
unsigned char has[SIZE]; /* what all files have, then zeros */

ssize_t sink_read(void *arg, const char *path, void *buf, size_t len, uint64_t off)
{
    (void)arg;
    (void)path;
    memset(buf, 0, len);
    if (off < SIZE)
        memcpy(buf, has + off, len < SIZE - off ? len : SIZE - off);
    looked_at += len;
    return (ssize_t)len;
}

int sink_swallow(void *file, const void *buf, size_t len, uint64_t off)
{
    (void)file;
    (void)buf;
    (void)len;
    (void)off;
    return 0;
}
