/* test_journal.c - a journal alone: without a daemon, a cache or a store.
 *
 * A model knows, of each byte of some small files, what was written and not stored.  A journal that
 * is opened again has to bring back these bytes, all of them and no other: after any series of
 * writes, store writes, truncations and deletions, with segments coming and going; after a tail
 * torn at any byte; and when a bit has flipped it has to say so.
 */
#include "config.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "check_main.h"
#include "splitmix.h"
#include "zc_journal.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_record.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Until it is so; Check ends what takes too long. */
#define WAIT_FOR(cond)                                                                             \
    do {                                                                                           \
        while (!(cond))                                                                            \
            usleep(50);                                                                            \
    } while (0)

enum { FILES = 3, SIZE = 40000, MIB = 1 << 20 };

/* ---- a model, and the store it stands for ---- */

struct model_file {
    char path[32];
    struct zc_attr attr;
    bool there;
    bool hidden; /* it cannot be looked at */
    struct zc_journal_file *jfile;
    short pending[SIZE];   /* the byte; -1: none */
    uint64_t number[SIZE]; /* of the write that brought it */
    short returned[SIZE];  /* by a replay */
    short stored[SIZE];    /* by a sink that does; -1: nothing */
};

static struct model {
    struct model_file f[FILES];
    uint64_t numbers;
    int refused; /* what the store says; 0: nothing */
    bool owing;  /* it does not say that anything is stored */
    atomic_int hurried;
    bool storing;               /* the sink stores what it is given, as a cache does */
    int writes;                 /* that it has been given, ... */
    int breaks_at;              /* ... of which this one fails; 0: none */
    struct model_file *leaving; /* with the first of them it goes, ... */
    bool replacing;             /* ... or is another one */
    uint64_t lost;
    unsigned complaints;
    char why[256];
} m;

/* The journal's thread asks for it. */
static pthread_mutex_t model_lock = PTHREAD_MUTEX_INITIALIZER;

static char dir[64], root[] = "/root/of/all";
static struct zc_journal *j;
static uint64_t size = MIB;
static bool sync_too;

static struct model_file *by_ino(uint64_t ino)
{
    for (int i = 0; i < FILES; i++)
        if (m.f[i].there && m.f[i].attr.ino == ino)
            return &m.f[i];
    return NULL;
}

static int owes(void *arg, uint64_t dev, uint64_t ino, uint64_t number)
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

static void hurry(void *arg, bool on)
{
    (void)arg;
    atomic_fetch_add(&m.hurried, on ? 1 : -1);
}

/* ---- a disk ---- */

static atomic_bool disk_full;
static atomic_int disk_room = -1; /* segments that it has room for; negative: any */

/* The writes of the journal's thread fail, perhaps when half of it is there; one that is held is
 * under way until the test has let it go. */
static atomic_bool disk_breaks, disk_half, disk_holds, disk_held;

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

/* The one that is being made is there already. */
static int segments(void)
{
    DIR *d = opendir(dir);
    const struct dirent *e;
    int n = -1;

    while ((e = readdir(d)))
        n += strncmp(e->d_name, "segment.", 8) == 0;
    closedir(d);
    return n;
}

/* In the place of the C library's: a journal makes its segments with it. */
int posix_fallocate(int fd, off_t off, off_t len)
{
    if (atomic_load(&disk_full) || (atomic_load(&disk_room) >= 0 && segments() >= disk_room))
        return ENOSPC;
    return ftruncate(fd, off + len) < 0 ? errno : 0;
}

/* ---- a sink ---- */

static struct model_file *by_path(const char *path)
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

static int sink_open(void *arg, const char *path, void **file)
{
    struct model_file *f = by_path(path);

    (void)arg;
    if (m.storing)
        f->jfile = zc_journal_opened(j, path, zc_journal_opening(j), &f->attr, false);
    *file = f;
    return 0;
}

static void touch(struct model_file *f)
{
    f->attr.mtime_ns += 1000;
    f->attr.ctime_ns += 1000;
}

static void sink_store(struct model_file *f, const unsigned char *bytes, size_t len, uint64_t off)
{
    uint64_t until = zc_journal_changing(j, f->jfile, ZC_JOURNAL_NOT_CUT);
    struct zc_range r = {0, (uint32_t)len};

    touch(f);
    if (off + len > f->attr.size)
        f->attr.size = off + len;
    for (size_t i = 0; i < len; i++)
        f->stored[off + i] = bytes[i];
    zc_journal_stored(j, f->jfile, until, off, &r, 1);
    zc_journal_changed(j, f->jfile);
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

static const struct zc_journal_sink sink = {.stat = sink_stat,
                                            .open = sink_open,
                                            .write = sink_write,
                                            .close = sink_close,
                                            .lost = sink_lost};

/* ---- up and down ---- */

static int try_open(struct zc_journal **out)
{
    struct zc_journal_config cfg = {.dir = dir, .root = root, .size = size, .sync = sync_too};

    return zc_journal_open(&cfg, out);
}

static void open_journal(void)
{
    int rc = try_open(&j);

    ck_assert_msg(rc == 0, "%s", zc_error_text(rc));
    zc_journal_attach(j, NULL, owes, hurry);
    atomic_store(&m.hurried, 0);
}

static struct zc_journal_replayed replay(void)
{
    struct zc_journal_replayed r;
    int rc;

    m.lost = m.complaints = 0;
    for (int i = 0; i < FILES; i++)
        memset(m.f[i].returned, -1, sizeof m.f[i].returned);
    rc = zc_journal_replay(j, &sink, &r);
    ck_assert_msg(rc == 0, "%s", zc_error_text(rc));
    ck_assert_uint_eq(r.lost_bytes, m.lost);
    return r;
}

static void open_file(struct model_file *f)
{
    f->jfile = zc_journal_opened(j, f->path, zc_journal_opening(j), &f->attr, false);
    ck_assert_ptr_nonnull(f->jfile);
}

static void make_file(struct model_file *f)
{
    static uint64_t inos = 100;

    pthread_mutex_lock(&model_lock);
    inos++;
    f->attr = (struct zc_attr){.dev = 7, .ino = inos, .nlink = 1, .born_ns = (int64_t)inos};
    f->there = true;
    memset(f->pending, -1, sizeof f->pending);
    pthread_mutex_unlock(&model_lock);
}

static void clean_dir(void)
{
    DIR *d = opendir(dir);
    const struct dirent *e;

    if (!d)
        return;
    while ((e = readdir(d)))
        if (e->d_name[0] != '.')
            ck_assert_int_eq(unlinkat(dirfd(d), e->d_name, 0), 0);
    closedir(d);
    ck_assert_int_eq(rmdir(dir), 0);
}

static void up(void)
{
    memset(&m, 0, sizeof m);
    size = MIB;
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

/* The daemon dies: what it has answered is there. */
static void die(void)
{
    zc_journal_freeze(j);
    zc_journal_close(j, false);
    for (int i = 0; i < FILES; i++)
        m.f[i].jfile = NULL;
}

static void down(void)
{
    zc_journal_close(j, true);
    clean_dir();
}

/* ---- what a daemon does ---- */

struct put {
    struct zc_journal_write w;
    struct zc_journal_ticket ticket;
    atomic_bool done;
};

static void put_done(struct zc_journal_write *w)
{
    atomic_store(&((struct put *)w)->done, true);
}

static void begin_put(struct put *p, struct model_file *f, const void *data, uint64_t off,
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

static int end_put(struct put *p)
{
    WAIT_FOR(atomic_load(&p->done));
    zc_journal_taken(j, &p->ticket, m.numbers);
    return p->w.status;
}

/* A write of these ranges of the file, with one byte everywhere. */
static int put_ranges(struct model_file *f, int byte, const struct zc_range *r, uint32_t n)
{
    unsigned char data[SIZE];
    struct put p;
    int rc;

    memset(data, byte, sizeof data);
    m.numbers++;
    begin_put(&p, f, data + r[0].lo, r[0].lo, r, n);
    WAIT_FOR(atomic_load(&p.done));
    rc = p.w.status;
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

static int put(struct model_file *f, int byte, uint32_t lo, uint32_t hi)
{
    struct zc_range r = {lo, hi};

    return put_ranges(f, byte, &r, 1);
}

static void look(struct model_file *f)
{
    uint64_t changes = zc_journal_changes(j, f->jfile);

    zc_journal_looked(j, f->jfile, changes, &f->attr);
}

/* A store write of what is pending there, and, meanwhile, another write of `byte` >= 0 to `at`. */
static void store(struct model_file *f, uint32_t lo, uint32_t hi, int byte, uint32_t at)
{
    uint64_t until = zc_journal_changing(j, f->jfile, ZC_JOURNAL_NOT_CUT);
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
    zc_journal_changed(j, f->jfile);
}

static void truncate_to(struct model_file *f, uint32_t end)
{
    zc_journal_changing(j, f->jfile, end);
    f->attr.size = end;
    touch(f);
    zc_journal_cut(j, f->jfile, end);
    pthread_mutex_lock(&model_lock);
    for (uint32_t x = end; x < SIZE; x++)
        f->pending[x] = -1;
    pthread_mutex_unlock(&model_lock);
    zc_journal_changed(j, f->jfile);
}

static void delete_and_make(struct model_file *f)
{
    zc_journal_unlinked(j, zc_journal_unlinking(j, &f->attr), true);
    zc_journal_closed(j, f->jfile, false);
    make_file(f);
    open_file(f);
}

/* What has come back is what was pending. */
static void compare(void)
{
    for (int i = 0; i < FILES; i++)
        for (int x = 0; x < SIZE; x++)
            if (m.f[i].returned[x] != m.f[i].pending[x])
                ck_abort_msg("file %d, byte %d: %d, not %d", i, x, m.f[i].returned[x],
                             m.f[i].pending[x]);
}

static void come_back(void)
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

static struct zc_journal_stats stats(void)
{
    struct zc_journal_stats st;

    zc_journal_stats(j, &st);
    return st;
}

/* ---- any series of calls ---- */

static void random_put(struct model_file *f, uint64_t *seed)
{
    struct zc_range r[20];
    uint32_t n = 1 + (uint32_t)(splitmix(seed) % 20), at = (uint32_t)(splitmix(seed) % 1000);
    uint32_t most = splitmix(seed) % 3 ? 40 : 1900;

    for (uint32_t i = 0; i < n; i++) {
        at += 1 + (uint32_t)(splitmix(seed) % 50);
        r[i].lo = at;
        at += 1 + (uint32_t)(splitmix(seed) % most);
        r[i].hi = at;
    }
    ck_assert_int_eq(put_ranges(f, (int)(splitmix(seed) % 256), r, n), 0);
}

static void random_step(uint64_t *seed)
{
    struct model_file *f = &m.f[splitmix(seed) % FILES];
    uint32_t lo = (uint32_t)(splitmix(seed) % (SIZE - 100));
    uint32_t hi = lo + 1 + (uint32_t)(splitmix(seed) % (SIZE - 100 - lo));
    unsigned what = (unsigned)(splitmix(seed) % 100);

    if (stats().journal_bytes > size / 2) /* as the cache would */
        for (int i = 0; i < FILES; i++)
            store(&m.f[i], 0, SIZE, -1, 0);
    if (what < 55)
        random_put(f, seed);
    else if (what < 80)
        store(f, lo, hi, -1, 0);
    else if (what < 90)
        store(f, lo, hi, (int)(splitmix(seed) % 256), lo);
    else if (what < 94)
        look(f);
    else if (what < 96)
        truncate_to(f, lo);
    else if (what < 98)
        delete_and_make(f);
    else if (what < 99) {
        store(f, 0, SIZE, -1, 0);
        zc_journal_closed(j, f->jfile, true);
        open_file(f);
    } else {
        die();
        come_back();
    }
}

START_TEST(any_series_of_calls)
{
    uint64_t seed = (uint64_t)_i * 7919 + 1;
    int steps = (int)cases(700);

    up();
    for (int i = 0; i < steps; i++)
        random_step(&seed);
    die();
    come_back();
    down();
}
END_TEST

/* ---- torn and damaged ---- */

static char *image;
static size_t image_len;

static void segment_path(char *path, size_t len)
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

static void write_image(size_t len, size_t file_len, int fill)
{
    char path[512], rubbish[128];
    int fd;

    ck_assert_uint_le(file_len - len, sizeof rubbish);
    clean_dir();
    ck_assert_int_eq(mkdir(dir, 0700), 0);
    snprintf(path, sizeof path, "%s/segment.0000000000000001", dir);
    fd = open(path, O_RDWR | O_CREAT, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pwrite(fd, image, len, 0), (ssize_t)len);
    for (size_t i = 0; i < sizeof rubbish; i++)
        rubbish[i] = (char)(fill * (int)(i % 13));
    if (len < file_len)
        ck_assert_int_eq(pwrite(fd, rubbish, file_len - len, (off_t)len),
                         (ssize_t)(file_len - len));
    ck_assert_int_eq(ftruncate(fd, (off_t)file_len), 0);
    close(fd);
}

static void read_image(void)
{
    char path[512];
    int fd;

    segment_path(path, sizeof path);
    fd = open(path, O_RDONLY);
    image_len = stats().journal_bytes;
    image = malloc(image_len);
    ck_assert_int_eq(pread(fd, image, image_len, 0), (ssize_t)image_len);
    close(fd);
}

enum { STEPS = 9 };
static struct {
    size_t end;
    short pending[FILES][200];
} history[STEPS + 1];

static void remember(int step)
{
    history[step].end = stats().journal_bytes;
    for (int i = 0; i < FILES; i++)
        memcpy(history[step].pending[i], m.f[i].pending, sizeof history[step].pending[i]);
}

static void make_history(void)
{
    const struct zc_range three[] = {{3, 5}, {9, 40}, {41, 42}};

    up();
    zc_log_level(ZC_LOG_ERROR); /* each torn tail is told */
    remember(0);
    for (int i = 1; i <= STEPS; i++) {
        struct model_file *f = &m.f[i == 4];

        if (i == 3)
            store(f, 10, 30, -1, 0);
        else if (i == 6)
            truncate_to(f, 35);
        else if (i == 5)
            ck_assert_int_eq(put_ranges(f, i, three, 3), 0);
        else
            ck_assert_int_eq(put(f, i, (uint32_t)(i * 7), (uint32_t)(i * 7 + 60)), 0);
        remember(i);
    }
    read_image();
    die();
}

/* Some step is what came back, and no byte of it is wrong; which, or -1. */
static int step_of(int from)
{
    for (int s = from; s >= 0; s--) {
        bool same = true;

        for (int i = 0; i < FILES; i++)
            same = same && memcmp(m.f[i].returned, history[s].pending[i],
                                  sizeof history[s].pending[i]) == 0;
        if (same)
            return s;
    }
    return -1;
}

/* Of files in flux nobody asks for times. */
static void forgive_times(void)
{
    for (int i = 0; i < FILES; i++)
        m.f[i].attr.size = SIZE;
}

static bool padded;

/* What is missing of the step is padding, which is there again behind the cut.  (Steps 3 and 6 are
 * two records each.) */
static bool whole(int step, size_t cut)
{
    return padded && history[step].end - cut < 8;
}

START_TEST(torn_at_every_byte)
{
    make_history();
    padded = _i > 0;
    for (size_t cut = 0; cut <= image_len; cut += _i ? 3 : 1) {
        int want = STEPS, got;

        while (want > 0 && history[want].end > cut)
            want--;
        /* the end of the file, zeros behind it, or rubbish */
        write_image(cut, _i == 0 ? cut : cut + 100, _i == 2 ? 17 : 0);
        for (int i = 0; i < FILES; i++)
            m.f[i].attr.mtime_ns = m.f[i].attr.ctime_ns = m.f[i].attr.size = 0;
        m.f[0].attr.size = want >= 3 ? 35 : 0; /* from the store write on it is in flux */
        open_journal();
        replay();
        got = step_of(STEPS);
        if (got != want && !(got == want + 1 && (got == 3 || got == 6 || whole(got, cut))))
            ck_abort_msg("cut at %zu: step %d, not %d", cut, got, want);
        ck_assert_msg(m.complaints == 0, "cut at %zu: %s", cut, m.why);
        zc_journal_close(j, true);
    }
    free(image);
    clean_dir();
}
END_TEST

START_TEST(flipped_bits)
{
    make_history();
    forgive_times();
    for (size_t at = (size_t)_i; at < image_len; at += 3) {
        char was = image[at];
        size_t last;

        image[at] = (char)(was ^ 1 << (at + (size_t)_i) % 8);
        write_image(image_len, image_len + 64, 0);
        image[at] = was;
        last = history[STEPS - 1].end;
        if (try_open(&j) < 0) { /* its begin */
            ck_assert_uint_lt(at, history[0].end);
            continue;
        }
        zc_journal_attach(j, NULL, owes, hurry);
        replay();
        if (m.complaints == 0)
            ck_assert_msg(at >= last ? step_of(STEPS) == STEPS - 1 : step_of(STEPS) == STEPS,
                          "a bit of byte %zu, and nobody says so", at);
        zc_journal_close(j, true);
    }
    free(image);
    clean_dir();
}
END_TEST

/* ---- a disk that fails ---- */

/* A store write begins while a write to the journal is under way that fails: it is not about the
 * ones behind that. */
START_TEST(what_failed_keeps_its_number)
{
    static unsigned char data[SIZE]; /* several records */
    struct model_file *f = &m.f[0];
    struct zc_range all = {0, SIZE};
    struct zc_range first = {0, 100};
    uint64_t until;
    struct put p;

    up();
    zc_log_level(ZC_LOG_ERROR);
    ck_assert_int_eq(put(f, 1, 0, 100), 0);
    store(f, 0, 100, -1, 0);
    atomic_store(&disk_half, _i % 2);
    atomic_store(&disk_held, false);
    atomic_store(&disk_holds, true);
    atomic_store(&disk_breaks, true);
    begin_put(&p, f, data, 0, &all, 1);
    WAIT_FOR(atomic_load(&disk_held));
    until = zc_journal_changing(j, f->jfile, ZC_JOURNAL_NOT_CUT);
    atomic_store(&disk_holds, false);
    ck_assert_int_eq(end_put(&p), -EIO);
    for (int i = 0; i < 3 * (_i / 2); i++) /* and new segments fail, too */
        ck_assert_int_eq(put(f, 2, 0, 100), -EIO);
    ck_assert_int_le(segments(), 3);
    atomic_store(&disk_breaks, false);
    ck_assert_int_eq(put(f, 3, 0, 100), 0);
    zc_journal_stored(j, f->jfile, until, 0, &first, 1);
    zc_journal_changed(j, f->jfile);
    die();
    come_back();
    down();
}
END_TEST

/* Cuts the last record off. */
static void cut_last(const char *path)
{
    static unsigned char bytes[MIB];
    uint64_t at = 0, last = 0;
    struct zc_record r;
    int fd = open(path, O_RDWR);
    ssize_t n = pread(fd, bytes, sizeof bytes, 0);

    ck_assert_int_gt(n, 0);
    while (zc_record_read(bytes + at, (size_t)n - at, 1, &r) == ZC_FOUND_RECORD) {
        last = at;
        at += r.length;
    }
    ck_assert_uint_gt(last, 0);
    ck_assert_int_eq(ftruncate(fd, (off_t)last), 0);
    close(fd);
}

/* Where no sum is wrong a number is missing. */
START_TEST(a_record_that_is_missing)
{
    char path[512];

    up();
    zc_log_level(ZC_LOG_ERROR);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(put(&m.f[0], i, 0, SIZE), 0);
    die();
    segment_path(path, sizeof path);
    cut_last(path);
    open_journal();
    ck_assert_uint_eq(replay().damaged, 1);
    ck_assert_ptr_nonnull(strstr(m.why, "the end of segment 1"));
    down();
}
END_TEST

/* ---- whose file it is ---- */

static void die_and_look(const char *want)
{
    struct zc_journal_replayed r;

    die();
    open_journal();
    r = replay();
    if (want) {
        ck_assert_uint_eq(m.complaints, 1);
        ck_assert_ptr_nonnull(strstr(m.why, want));
        ck_assert_uint_eq(r.lost_bytes, 50);
        ck_assert_uint_eq(r.bytes, 0);
        zc_journal_close(j, false); /* it is said once */
        open_journal();
        replay();
    }
    ck_assert_msg(m.complaints == 0, "%s", m.why);
    down();
}

static int64_t real_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

START_TEST(a_file_that_is_another_one)
{
    struct model_file *f = &m.f[0];
    const char *want = NULL;

    up();
    f->attr.size = 100;
    store(f, 0, 100, -1, 0);
    look(f);
    ck_assert_int_eq(put(f, 5, 50, 100), 0);
    switch (_i) {
    case 0: /* as it was */
        break;
    case 1:
        f->there = false;
        want = "deleted";
        break;
    case 2:
        f->attr.ino++;
        want = "replaced";
        break;
    case 3: /* the number is another one's */
        f->attr.born_ns++;
        want = "replaced";
        break;
    case 4:
        f->attr.size = 99;
        want = "truncated";
        break;
    case 5:
        touch(f);
        want = "changed";
        break;
    case 6: /* by us, as we were when we died */
        zc_journal_changing(j, f->jfile, ZC_JOURNAL_NOT_CUT);
        touch(f);
        f->attr.size = 200;
        f->attr.ctime_ns = real_now();
        break;
    case 7: /* and somebody else, after that */
        zc_journal_changing(j, f->jfile, ZC_JOURNAL_NOT_CUT);
        f->attr.ctime_ns = real_now() + 60000 * (int64_t)ZC_NS_PER_MS;
        want = "changed";
        break;
    case 8: /* other daemons serve it, too */
        zc_journal_closed(j, f->jfile, false);
        f->jfile = zc_journal_opened(j, f->path, zc_journal_opening(j), &f->attr, true);
        touch(f);
        break;
    default: /* another host may have given the device another number: the birth decides */
        f->attr.dev = 8;
        f->attr.born_ns = 0;
        want = "replaced";
        break;
    }
    die_and_look(want);
}
END_TEST

/* Others changed it through another daemon, and this one died before it was told: what is beyond
 * the new end was theirs to cut off, and is told once; the rest comes back. */
START_TEST(a_shared_file_that_is_shorter)
{
    struct model_file *f = &m.f[0];

    up();
    f->attr.size = 100;
    zc_journal_closed(j, f->jfile, false);
    f->jfile = zc_journal_opened(j, f->path, zc_journal_opening(j), &f->attr, true);
    ck_assert_int_eq(put(f, 5, 50, 100), 0);
    die();
    f->attr.size = 75;
    for (int i = 0; i < 2; i++) {
        open_journal();
        replay();
        ck_assert_uint_eq(m.lost, i == 0 ? 25 : 0);
        ck_assert(i > 0 || strstr(m.why, "truncated"));
        ck_assert_int_eq(f->returned[50], 5);
        ck_assert_int_eq(f->returned[74], 5);
        ck_assert_int_eq(f->returned[75], -1);
        zc_journal_close(j, false);
    }
    clean_dir();
}
END_TEST

/* Its writes are journaled, and what the number's file before had is not its. */
static void use_anew(struct model_file *f)
{
    pthread_mutex_lock(&model_lock);
    memset(f->pending, -1, sizeof f->pending);
    pthread_mutex_unlock(&model_lock);
    open_file(f);
    ck_assert_ptr_eq(zc_journal_find(j, f->attr.dev, f->attr.ino), f->jfile);
    ck_assert_int_eq(put(f, 7, 10, 60), 0);
    die();
    come_back();
}

/* Others have deleted it, and another file has its number. */
START_TEST(a_number_that_is_used_again)
{
    struct model_file *f = &m.f[0];

    up();
    ck_assert_int_eq(put(f, 5, 0, 50), 0);
    if (_i == 2) { /* while no daemon was there */
        die();
        f->attr.born_ns++;
        open_journal();
        replay();
        ck_assert_uint_eq(m.complaints, 1);
        open_file(&m.f[1]);
        open_file(&m.f[2]);
    } else if (_i == 3) { /* at once, while we delete it */
        struct zc_journal_file *old = zc_journal_unlinking(j, &f->attr);

        zc_journal_closed(j, f->jfile, false);
        f->attr.born_ns++;
        open_file(f);
        zc_journal_unlinked(j, old, true);
        zc_journal_closed(j, f->jfile, false);
    } else {
        if (_i == 0)
            store(f, 0, 50, -1, 0);
        zc_journal_closed(j, f->jfile, _i == 0);
        f->attr.born_ns++;
    }
    use_anew(f);
    down();
}
END_TEST

/* ---- a start that does not end ---- */

/* The sink breaks at a write, or the daemon is killed then: what it has stored is. */
static int break_at(int n)
{
    struct zc_journal_replayed r;
    int rc;

    open_journal();
    m.writes = 0;
    m.breaks_at = n;
    rc = zc_journal_replay(j, &sink, &r);
    m.breaks_at = 0;
    die();
    return rc;
}

START_TEST(a_start_that_breaks_off_loses_nothing)
{
    up();
    ck_assert_int_eq(put(&m.f[0], 1, 0, 4096), 0);
    ck_assert_int_eq(put(&m.f[1], 2, 0, 100), 0);
    ck_assert_int_eq(put(&m.f[2], 3, 0, 100), 0);
    ck_assert_int_eq(put(&m.f[0], 4, 8192, 12288), 0);
    ck_assert_int_eq(put(&m.f[0], 5, 2000, 9000), 0);
    ck_assert_int_eq(put(&m.f[1], 6, 50, 150), 0);
    die();
    for (int i = 0; i < FILES; i++)
        memset(m.f[i].stored, -1, sizeof m.f[i].stored);
    m.storing = true;
    ck_assert_int_eq(break_at(1 + _i % 6), -EIO);
    if (_i >= 6)
        break_at(1 + _i % 5); /* once more, if so much is left */
    open_journal();
    replay();
    ck_assert_msg(m.complaints == 0, "%s", m.why);
    for (int i = 0; i < FILES; i++)
        ck_assert_msg(memcmp(m.f[i].stored, m.f[i].pending, sizeof m.f[i].stored) == 0,
                      "file %d is not what was written", i);
    die();
    open_journal();
    ck_assert_uint_eq(replay().bytes, 0);
    down();
}
END_TEST

/* ---- full ---- */

START_TEST(a_full_one_waits_for_write_back)
{
    static unsigned char data[SIZE];
    struct model_file *f = &m.f[0];
    struct zc_range all = {0, SIZE};
    struct put p;
    int n = 0;

    up();
    do {
        ck_assert_int_eq(put(f, n % 256, 0, SIZE), 0);
        n++;
    } while (stats().journal_bytes < size - 3 * SIZE);
    do {
        m.numbers++;
        begin_put(&p, f, data, 0, &all, 1);
        WAIT_FOR(atomic_load(&p.done) || stats().journal_full > 0);
        if (stats().journal_full > 0)
            break;
        ck_assert_int_eq(end_put(&p), 0);
    } while (true);
    ck_assert_int_eq(atomic_load(&m.hurried), 1);
    ck_assert(!atomic_load(&p.done));
    ck_assert_uint_eq(stats().journal_waiting, 1);
    ck_assert_uint_le(stats().journal_bytes, size);
    store(f, 0, SIZE, -1, 0); /* a note finds room */
    ck_assert_int_eq(end_put(&p), 0);
    WAIT_FOR(stats().journal_bytes < size / 2);
    WAIT_FOR(atomic_load(&m.hurried) == 0);
    down();
}
END_TEST

START_TEST(what_is_refused_does_not_fill_it)
{
    struct model_file *bad = &m.f[0], *good = &m.f[1];
    int rc;

    up();
    ck_assert_int_eq(put(bad, 1, 0, SIZE), 0);
    m.refused = -EDQUOT;
    for (int i = 0; (rc = put(bad, i % 256, 0, SIZE)) == 0; i++)
        ck_assert_int_lt(i, 100);
    ck_assert_int_eq(rc, -EDQUOT);
    ck_assert_uint_lt(stats().journal_bytes, size / 4 * 3);
    for (int i = 0; i < 100; i++) { /* many times its size */
        ck_assert_int_eq(put(good, i % 256, 0, SIZE), 0);
        store(good, 0, SIZE, -1, 0);
    }
    die();
    come_back();
    down();
}
END_TEST

static void set_owing(bool on)
{
    pthread_mutex_lock(&model_lock);
    m.owing = on;
    pthread_mutex_unlock(&model_lock);
}

/* Some notes, until not one more fits into the last segment. */
static void fill_segment(struct model_file *f)
{
    atomic_store(&disk_full, true);
    for (int i = 0; i < MIB / 16 / ZC_RECORD_HEAD; i++) {
        ck_assert_ptr_eq(zc_journal_opened(j, f->path, zc_journal_opening(j), &f->attr, false),
                         f->jfile);
        zc_journal_closed(j, f->jfile, true);
    }
}

/* Segments that nobody needs, but for what they say of older ones: there is no room to say it. */
START_TEST(what_cannot_be_bequeathed_stays)
{
    up();
    zc_log_level(ZC_LOG_ERROR);
    set_owing(true);
    store(&m.f[0], 0, SIZE, -1, 0);              /* its times say nothing from now on */
    ck_assert_int_eq(put(&m.f[1], 9, 0, 10), 0); /* keeps the first */
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(put(&m.f[0], i, 0, SIZE), 0);
    store(&m.f[0], 0, SIZE, -1, 0);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(put(&m.f[2], i, 0, SIZE), 0);
    store(&m.f[2], 0, SIZE, -1, 0);
    fill_segment(&m.f[2]);
    set_owing(false);
    usleep(2200000); /* two ticks, in which they would go */
    die();
    atomic_store(&disk_full, false);
    come_back();
    down();
}
END_TEST

static int newest(char *path, size_t len)
{
    DIR *d = opendir(dir);
    const struct dirent *e;
    unsigned n, most = 0;

    while ((e = readdir(d)))
        if (sscanf(e->d_name, "segment.%u", &n) == 1 && n > most) {
            most = n;
            snprintf(path, len, "%s/%s", dir, e->d_name);
        }
    closedir(d);
    return (int)most;
}

/* That a file was deleted stands in another segment than its bytes; that one goes, theirs stays.
 * What is said of it again is no reason to begin one segment after the other. */
START_TEST(what_was_deleted_stays_so)
{
    char path[512], heir[512];
    int number;

    up();
    ck_assert_int_eq(put(&m.f[0], 5, 0, 50), 0);
    ck_assert_int_eq(put(&m.f[1], 6, 0, 50), 0);
    die();
    come_back();
    newest(path, sizeof path);
    delete_and_make(&m.f[0]);
    WAIT_FOR(access(path, F_OK) != 0);
    number = newest(heir, sizeof heir);
    usleep(2200000); /* two ticks */
    ck_assert_int_eq(newest(heir, sizeof heir), number);
    die();
    come_back();
    down();
}
END_TEST

/* The disk has less than the journal may have: writers wait for write-back all the same. */
START_TEST(a_disk_that_is_smaller)
{
    up();
    zc_log_level(ZC_LOG_ERROR);
    atomic_store(&disk_room, 4);
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(put(&m.f[0], i, 0, SIZE), 0);
        if (i % 2)
            store(&m.f[0], 0, SIZE, -1, 0);
    }
    ck_assert_int_eq(put(&m.f[1], 7, 0, SIZE), 0);
    ck_assert_int_le(segments(), 4);
    die();
    atomic_store(&disk_room, -1);
    come_back();
    down();
}
END_TEST

/* ---- the sign of life ---- */

static int64_t beat(void)
{
    char path[128];
    struct stat st;

    snprintf(path, sizeof path, "%s/alive", dir);
    ck_assert_int_eq(stat(path, &st), 0);
    return (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
}

static void set_beat(int64_t ns)
{
    struct timespec t[2] = {{ns / 1000000000, ns % 1000000000}, {ns / 1000000000, ns % 1000000000}};
    char path[128];

    snprintf(path, sizeof path, "%s/alive", dir);
    ck_assert_int_eq(utimensat(AT_FDCWD, path, t, 0), 0);
}

static void check_alive(void)
{
    set_beat(1000000000);
    for (int i = 0; i < 50 && beat() == 1000000000; i++)
        usleep(50000);
    ck_assert_int_ne(beat(), 1000000000);
}

START_TEST(a_full_one_gives_signs_of_life)
{
    static unsigned char data[SIZE];
    struct zc_range all = {0, SIZE};
    struct put p[40];

    up();
    for (int i = 0; i < 40; i++)
        begin_put(&p[i], &m.f[0], data, 0, &all, 1);
    WAIT_FOR(stats().journal_full > 0);
    check_alive();
    for (int i = 0; i < 40; i++)
        ck_assert_int_eq(end_put(&p[i]), 0);
    down();
}
END_TEST

static atomic_bool enough;

static void put_again(struct zc_journal_write *w)
{
    struct put *p = (struct put *)w;

    zc_journal_taken(j, &p->ticket, 0);
    if (atomic_load(&enough))
        atomic_store(&p->done, true);
    else
        zc_journal_put(j, w);
}

/* More than fits into its buffer: some are queued at any moment. */
START_TEST(a_busy_one_gives_signs_of_life)
{
    static unsigned char data[SIZE];
    struct zc_range all = {0, SIZE};
    struct put p[100];

    up();
    die();
    size = 64 * MIB;
    come_back();
    atomic_store(&enough, false);
    for (int i = 0; i < 100; i++) {
        p[i] = (struct put){.w = {.file = m.f[0].jfile,
                                  .ticket = &p[i].ticket,
                                  .data = data,
                                  .r = &all,
                                  .n = 1,
                                  .done = put_again}};
        zc_journal_put(j, &p[i].w);
    }
    check_alive();
    check_alive();
    atomic_store(&enough, true);
    for (int i = 0; i < 100; i++)
        WAIT_FOR(atomic_load(&p[i].done));
    down();
}
END_TEST

enum { MINUTE = 60 };

static int64_t ago(int64_t seconds)
{
    return real_now() - seconds * 1000000000;
}

/* A start fails before it has looked at all files: what others do before the next one is seen. */
START_TEST(a_start_that_fails_is_no_sign_of_life)
{
    struct zc_journal_replayed r;

    up();
    for (int i = 0; i < 2; i++) {
        zc_journal_changing(j, m.f[i].jfile, ZC_JOURNAL_NOT_CUT);
        ck_assert_int_eq(put(&m.f[i], 5, 0, 50), 0);
    }
    die();
    set_beat(ago(60 * MINUTE));
    m.f[0].hidden = true;
    m.f[1].attr.ctime_ns = ago(30 * MINUTE);
    open_journal();
    if (_i == 0)
        ck_assert_int_eq(zc_journal_replay(j, &sink, &r), -EACCES);
    if (_i == 1)
        usleep(1200000); /* a tick of its thread */
    zc_journal_close(j, false);
    m.f[0].hidden = false;
    open_journal();
    replay();
    ck_assert_uint_eq(m.complaints, 1);
    ck_assert_uint_eq(m.lost, 50);
    ck_assert_ptr_nonnull(strstr(m.why, "changed by others"));
    ck_assert_int_eq(m.f[0].returned[0], 5);
    down();
}
END_TEST

/* One that fails later has changed files itself, and that it has not left them alone is known. */
START_TEST(a_start_that_stores_is_a_sign_of_life)
{
    up();
    for (int i = 0; i < 2; i++) {
        zc_journal_changing(j, m.f[i].jfile, ZC_JOURNAL_NOT_CUT);
        ck_assert_int_eq(put(&m.f[i], 5, 0, 50), 0);
        m.f[i].attr.ctime_ns = ago(61 * MINUTE);
    }
    die();
    set_beat(ago(60 * MINUTE));
    m.storing = true;
    ck_assert_int_eq(break_at(2), -EIO);
    m.f[0].attr.ctime_ns = real_now();
    open_journal();
    replay();
    ck_assert_msg(m.complaints == 0, "%s", m.why);
    ck_assert_int_eq(m.f[1].returned[0], 5);
    down();
}
END_TEST

/* A file goes, or is replaced, while others are written. */
START_TEST(a_file_that_goes_during_a_start)
{
    up();
    ck_assert_int_eq(put(&m.f[0], 5, 0, 50), 0);
    ck_assert_int_eq(put(&m.f[1], 5, 0, 50), 0);
    die();
    m.leaving = &m.f[1];
    m.replacing = _i > 0;
    open_journal();
    replay();
    ck_assert_uint_eq(m.complaints, 1);
    ck_assert_ptr_nonnull(strstr(m.why, _i > 0 ? "replaced" : "deleted"));
    ck_assert_int_eq(m.f[0].returned[0], 5);
    ck_assert_int_eq(m.f[1].returned[0], -1);
    down();
}
END_TEST

/* ---- who may use it ---- */

static void refused(int want, const char *text)
{
    struct zc_journal *other;
    int rc = try_open(&other);

    ck_assert_int_eq(rc, want);
    ck_assert_msg(strstr(zc_error_text(rc), text), "%s", zc_error_text(rc));
}

/* Of the first record, whose body is the root. */
static void set_version(int fd, unsigned version)
{
    unsigned char head[ZC_RECORD_HEAD];
    uint32_t sum;

    ck_assert_int_eq(pread(fd, head, sizeof head, 0), sizeof head);
    head[5] = (unsigned char)version;
    memset(head + 60, 0, 4);
    sum = htole32((uint32_t)XXH3_64bits(head, sizeof head));
    memcpy(head + 60, &sum, sizeof sum);
    ck_assert_int_eq(pwrite(fd, head, sizeof head, 0), sizeof head);
}

START_TEST(one_daemon_one_root_one_user)
{
    char path[512];
    int fd;

    up();
    refused(-EBUSY, "in use by another daemon (process ");
    ck_assert_int_eq(put(&m.f[0], 1, 0, 10), 0);
    segment_path(path, sizeof path);
    die();
    root[1] = 'R';
    refused(-EINVAL, "has bytes of files below /root/of/all");
    root[1] = 'r';
    fd = open(path, O_RDWR);
    set_version(fd, ZC_RECORD_VERSION + 1);
    refused(-EPROTO, "another version");
    set_version(fd, ZC_RECORD_VERSION);
    close(fd);
    ck_assert_int_eq(chmod(dir, 0777), 0);
    refused(-EPERM, "may be written to by others");
    ck_assert_int_eq(chmod(dir, 0700), 0);
    if (geteuid() == 0) {
        ck_assert_int_eq(chown(dir, 4711, 4711), 0);
        refused(-EPERM, "belongs to user 4711");
        ck_assert_int_eq(chown(dir, 0, 0), 0);
    }
    size = 1000;
    refused(-EINVAL, "too few");
    size = MIB;
    come_back();
    down();
}
END_TEST

START_TEST(nothing_is_left_of_a_good_end)
{
    const struct dirent *e;
    DIR *d;

    up();
    sync_too = true;
    ck_assert_int_eq(put(&m.f[0], 1, 0, 10), 0);
    store(&m.f[0], 0, 10, -1, 0);
    zc_journal_close(j, true);
    d = opendir(dir);
    while ((e = readdir(d)))
        ck_assert_msg(strncmp(e->d_name, "segment", 7), "%s is left", e->d_name);
    closedir(d);
    clean_dir();
}
END_TEST

START_TEST(writes_are_synced_if_asked_for)
{
    up();
    die();
    sync_too = true;
    come_back();
    ck_assert_int_eq(put(&m.f[0], 1, 0, 10), 0);
    ck_assert_uint_gt(stats().journal_syncs, 0);
    die();
    come_back();
    down();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("journal");
    TCase *tc = tcase_create("records");

    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, any_series_of_calls, 0, 8);
    tcase_add_loop_test(tc, torn_at_every_byte, 0, 3);
    tcase_add_loop_test(tc, flipped_bits, 0, 2);
    tcase_add_loop_test(tc, what_failed_keeps_its_number, 0, 4);
    tcase_add_test(tc, a_record_that_is_missing);
    suite_add_tcase(s, tc);
    tc = tcase_create("files");
    tcase_add_loop_test(tc, a_file_that_is_another_one, 0, 10);
    tcase_add_test(tc, a_shared_file_that_is_shorter);
    tcase_add_loop_test(tc, a_number_that_is_used_again, 0, 4);
    tcase_add_loop_test(tc, a_start_that_breaks_off_loses_nothing, 0, 12);
    tcase_add_loop_test(tc, a_start_that_fails_is_no_sign_of_life, 0, 3);
    tcase_add_test(tc, a_start_that_stores_is_a_sign_of_life);
    tcase_add_loop_test(tc, a_file_that_goes_during_a_start, 0, 2);
    suite_add_tcase(s, tc);
    CASE(s, "room", 60, a_full_one_waits_for_write_back, what_is_refused_does_not_fill_it,
         what_cannot_be_bequeathed_stays, what_was_deleted_stays_so, a_disk_that_is_smaller);
    CASE(s, "life", 60, a_full_one_gives_signs_of_life, a_busy_one_gives_signs_of_life);
    CASE(s, "directory", 20, one_daemon_one_root_one_user, nothing_is_left_of_a_good_end,
         writes_are_synced_if_asked_for);
    return run_suite(s);
}
