/* test_journal_killed.c - a daemon is killed during a change in its store, or its host dies: its
 * unstored bytes are still known to belong to the file.
 *
 * A journal over a directory; at some point of a change a copy is made of what would be there if
 * the daemon were killed now, and the next start has to replay what was pending.
 */
#include "config.h"

#include <dirent.h>
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
#include "zc_clock_sim.h"
#include "zc_journal.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_store_journal.h"
#include "zc_store_posix.h"
#include "zc_units.h"

#define WAIT_FOR(cond)                                                                             \
    do {                                                                                           \
        while (!(cond))                                                                            \
            zc_clock_sleep(50000);                                                                 \
    } while (0)

enum { MIB = 1 << 20, SIZE = 1000, PENDING = 100 };

static char tmp[64], root[128], dir[128], path[160];
static struct zc_journal *j;
static struct zc_store *below, *store;
static struct zc_store_ops ops; /* of the store below, with the test's actions between */
static const struct zc_store_ops *real;
static bool sync_too, shared_too;
static const char *next_boot = "one"; /* boot id of the host for the next daemon */

/* ---- a disk that delays the journal ---- */

static atomic_bool holds, held, holds_beat, held_beat;
static atomic_int syncs, data_syncs, file_syncs; /* ... of the file that is cached */

/* Replaces the C library's function: only a journal writes with it. */
ssize_t pwrite(int fd, const void *p, size_t len, off_t off)
{
    if (atomic_load(&holds))
        atomic_store(&held, true);
    WAIT_FOR(!atomic_load(&holds));
    return syscall(SYS_pwrite64, fd, p, len, off);
}

/* A held call has set the time, but does not return. */
int futimens(int fd, const struct timespec t[2])
{
    int rc = (int)syscall(SYS_utimensat, fd, NULL, t, 0);

    if (atomic_load(&holds_beat))
        atomic_store(&held_beat, true);
    WAIT_FOR(!atomic_load(&holds_beat));
    return rc;
}

int fdatasync(int fd)
{
    struct stat a, b;

    atomic_fetch_add(&data_syncs, 1);
    if (fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_ino == b.st_ino)
        atomic_fetch_add(&file_syncs, 1);
    return (int)syscall(SYS_fdatasync, fd);
}

int fsync(int fd)
{
    atomic_fetch_add(&syncs, 1);
    return (int)syscall(SYS_fsync, fd);
}

/* ---- the state at the kill ---- */

static struct death {
    char dir[160];
    struct zc_attr attr;
    short returned[SIZE];
    char why[256];
} deaths[4];
static atomic_int ndeaths;

static void copy_file(const char *from, const char *to)
{
    char buf[4096];
    ssize_t n;
    struct stat st;
    int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_EXCL, 0600);

    ck_assert_int_ge(in, 0);
    ck_assert_int_ge(out, 0);
    ck_assert_int_eq(fstat(in, &st), 0);
    while ((n = read(in, buf, sizeof buf)) > 0)
        ck_assert_int_eq(write(out, buf, (size_t)n), n);
    syscall(SYS_utimensat, out, NULL, (struct timespec[]){st.st_atim, st.st_mtim}, 0);
    close(in);
    close(out);
}

static void each_file(const char *in, void (*fn)(const char *name, void *arg), void *arg)
{
    DIR *d = opendir(in);
    const struct dirent *e;

    ck_assert_ptr_nonnull(d);
    while ((e = readdir(d)))
        if (e->d_name[0] != '.')
            fn(e->d_name, arg);
    closedir(d);
}

static void copy_into(const char *name, void *arg)
{
    const struct death *k = arg;
    char from[512], to[512];

    snprintf(from, sizeof from, "%s/%s", dir, name);
    snprintf(to, sizeof to, "%s/%s", k->dir, name);
    copy_file(from, to);
}

/* Takes the copy now. */
static void die_here(void)
{
    int n = atomic_fetch_add(&ndeaths, 1);
    struct death *k = &deaths[n];

    ck_assert_int_lt(n, 4);
    snprintf(k->dir, sizeof k->dir, "%s/death%d", tmp, n);
    ck_assert_int_eq(mkdir(k->dir, 0700), 0);
    each_file(dir, copy_into, k);
    ck_assert_int_eq(zc_store_stat(below, path, &k->attr), 0);
}

static int sink_stat(void *arg, const char *name, struct zc_attr *attr)
{
    (void)name;
    *attr = ((const struct death *)arg)->attr;
    return 0;
}

static int sink_open(void *arg, const char *name, uint64_t mark, void **file)
{
    (void)mark;
    (void)name;
    *file = arg;
    return 0;
}

static int sink_write(void *file, const void *buf, size_t len, uint64_t off)
{
    for (size_t i = 0; i < len; i++)
        ((struct death *)file)->returned[off + i] = ((const unsigned char *)buf)[i];
    return 0;
}

static int sink_close(void *file, uint64_t *number)
{
    (void)file;
    *number = 1;
    return 0;
}

static void sink_lost(void *arg, const char *name, uint64_t lo, uint64_t hi, uint64_t bytes,
                      const char *why)
{
    struct death *k = arg;

    (void)name;
    snprintf(k->why, sizeof k->why, "%llu bytes in %llu-%llu: %s", (unsigned long long)bytes,
             (unsigned long long)lo, (unsigned long long)hi, why);
}

static void sink_kept(void *arg, const char *name, const struct zc_journal_span *s, unsigned n,
                      uint64_t bytes, const char *why, const char *where)
{
    (void)where;
    sink_lost(arg, name, s[0].lo, s[n - 1].hi, bytes, why);
}

static int not_all(void *arg, uint64_t dev, uint64_t ino, uint64_t number)
{
    (void)arg;
    (void)dev;
    (void)ino;
    (void)number;
    return -EAGAIN;
}

/* Checks that pending bytes are replayed, whenever it was killed; or none, because of `why`. */
static void come_back_unless(const char *why)
{
    ck_assert_int_gt(atomic_load(&ndeaths), 0);
    for (int i = 0; i < atomic_load(&ndeaths); i++) {
        struct death *k = &deaths[i];
        struct zc_journal_sink sink = {.arg = k,
                                       .stat = sink_stat,
                                       .open = sink_open,
                                       .write = sink_write,
                                       .close = sink_close,
                                       .kept = sink_kept,
                                       .lost = sink_lost};
        struct zc_journal_config cfg = {
            .dir = k->dir, .root = root, .size = MIB, .boot = next_boot};

        for (int start = 0; start < 2; start++) { /* the first start stores nothing */
            struct zc_journal_replayed r;
            struct zc_journal *next;

            *k->why = '\0';
            memset(k->returned, -1, sizeof k->returned);
            ck_assert_int_eq(zc_journal_open(&cfg, &next), 0);
            zc_journal_attach(next, NULL, not_all, NULL);
            ck_assert_int_eq(zc_journal_replay(next, &sink, &r), 0);
            ck_assert_msg(why && start == 0 ? strstr(k->why, why) != NULL : !*k->why,
                          "death %d, start %d: %s", i, start, k->why);
            for (int x = 0; x < PENDING; x++)
                ck_assert_int_eq(k->returned[x], why ? -1 : 'p');
            zc_journal_close(next, start == 1);
        }
    }
}

static void come_back(void)
{
    come_back_unless(NULL);
}

/* ---- a file with bytes that are pending ---- */

static struct zc_sfile *open_file(void)
{
    struct zc_attr attr = {.set.count = shared_too ? 2 : 1};
    struct zc_sfile *f;
    int rc = zc_store_open_file(store, path, ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE, 0644,
                                &f, &attr);

    ck_assert_msg(rc == 0, "%s", zc_error_text(rc));
    return f;
}

static void write_at(struct zc_sfile *f, uint64_t off, size_t len)
{
    char data[SIZE];
    struct iovec iov = {data, len};

    memset(data, 's', sizeof data);
    ck_assert_int_eq(zc_store_pwritev(f, &iov, 1, off), (ssize_t)len);
}

struct put {
    struct zc_journal_write w;
    atomic_bool done;
};

static void put_done(struct zc_journal_write *w)
{
    atomic_store(&((struct put *)w)->done, true);
}

/* Writes the first PENDING bytes, which are never stored. */
static void put(const struct zc_attr *attr)
{
    struct zc_journal_ticket ticket = {0};
    struct zc_range r = {0, PENDING};
    char data[PENDING];
    struct put p = {.w = {.file = zc_journal_find(j, attr->dev, attr->ino),
                          .ticket = &ticket,
                          .data = data,
                          .r = &r,
                          .n = 1,
                          .done = put_done}};

    memset(data, 'p', sizeof data);
    ck_assert_ptr_nonnull(p.w.file);
    zc_journal_put(j, &p.w);
    WAIT_FOR(atomic_load(&p.done));
    ck_assert_int_eq(p.w.error.rc, 0);
    zc_journal_taken(j, &ticket, 1);
}

/* A file without a change under way, and its times noted. */
static struct zc_sfile *settled_file(void)
{
    struct zc_sfile *f = open_file();
    struct zc_attr attr;

    write_at(f, 0, SIZE);
    ck_assert_int_eq(zc_store_getattr(f, &attr), 0);
    put(&attr);
    ck_assert_int_eq(zc_store_getattr(f, &attr), 0);
    return f;
}

static void up(void)
{
    struct zc_journal_config cfg = {
        .dir = dir, .root = root, .size = MIB, .sync = sync_too, .boot = "one"};
    struct zc_journal_sink sink = {0};
    struct zc_journal_replayed r;

    snprintf(tmp, sizeof tmp, "/tmp/zcache-killed.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(tmp));
    snprintf(root, sizeof root, "%s/root", tmp);
    snprintf(path, sizeof path, "%s/f", root);
    snprintf(dir, sizeof dir, "%s/journal", tmp);
    ck_assert_int_eq(mkdir(root, 0700), 0);
    ck_assert_int_eq(zc_store_posix_create(root, &below), 0);
    real = below->ops;
    ops = *real;
    below->ops = &ops;
    ck_assert_int_eq(zc_journal_open(&cfg, &j), 0);
    ck_assert_int_eq(zc_store_journal_create(below, j, &store), 0);
    zc_journal_attach(j, NULL, not_all, NULL);
    ck_assert_int_eq(zc_journal_replay(j, &sink, &r), 0);
}

static void delete_dir(char *which);
static void delete_in(const char *name, void *in)
{
    char full[512];

    snprintf(full, sizeof full, "%s/%s", (const char *)in, name);
    if (strncmp(name, "set-aside.", 10) == 0)
        delete_dir(full);
    else
        ck_assert_int_eq(unlink(full), 0);
}

static void delete_dir(char *which)
{
    each_file(which, delete_in, which);
    ck_assert_int_eq(rmdir(which), 0);
}

static void clean_up(void)
{
    for (int i = 0; i < atomic_load(&ndeaths); i++)
        delete_dir(deaths[i].dir);
    delete_dir(dir);
    delete_dir(root);
    ck_assert_int_eq(rmdir(tmp), 0);
}

static void down(struct zc_sfile *f)
{
    zc_store_close_file(f, ZC_LEVEL_VISIBLE);
    zc_journal_freeze(j);
    zc_store_destroy(store);
    zc_journal_close(j, true);
    clean_up();
}

/* ---- moments ---- */

static atomic_int writes;

static ssize_t write_and_die(struct zc_sfile *f, const struct iovec *iov, int n, uint64_t off)
{
    ssize_t rc = real->pwritev(f, iov, n, off);

    die_here();
    atomic_fetch_add(&writes, 1);
    return rc;
}

static void *write_once(void *f)
{
    write_at(f, 500, 10);
    return NULL;
}

static pthread_t start(void *(*fn)(void *), void *arg)
{
    pthread_t t;

    ck_assert_int_eq(pthread_create(&t, NULL, fn, arg), 0);
    return t;
}

/* It must not; waits a tenth of a second for it. */
static bool has_written(void)
{
    for (int i = 0; i < 1000 && atomic_load(&writes) == 0; i++)
        zc_clock_sleep(100000);
    return atomic_load(&writes) > 0;
}

/* While one thread writes the intent to the journal, a second one must not change the file
 * first. */
START_TEST(two_change_it_at_once)
{
    struct zc_sfile *f;
    pthread_t one, other;

    up();
    f = settled_file();
    ops.pwritev = write_and_die;
    atomic_store(&holds, true);
    one = start(write_once, f);
    WAIT_FOR(atomic_load(&held));
    other = start(write_once, f);
    ck_assert(!has_written());
    atomic_store(&holds, false);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    ck_assert_int_eq(atomic_load(&writes), 2);
    come_back();
    down(f);
}
END_TEST

static struct zc_sfile *first;

static int open_and_write(struct zc_store *s, const char *name, unsigned flags, mode_t mode,
                          struct zc_sfile **out, struct zc_attr *attr)
{
    int rc = real->open(s, name, flags, mode, out, attr);

    write_at(first, 500, 10);
    return rc;
}

/* The file changes after an open has read its attributes. */
START_TEST(it_changes_while_it_is_opened)
{
    struct zc_sfile *second;

    up();
    first = settled_file();
    usleep(20000); /* a file system's clock */
    ops.open = open_and_write;
    second = open_file();
    die_here();
    come_back();
    zc_store_close_file(second, ZC_LEVEL_VISIBLE);
    down(first);
}
END_TEST

static int truncate_and_die(struct zc_sfile *f, uint64_t size)
{
    int rc = real->truncate(f, size);

    die_here();
    return rc;
}

/* It is shorter, and the journal has not been told. */
START_TEST(it_is_truncated)
{
    struct zc_sfile *f;

    up();
    f = settled_file();
    if (_i == 1)
        write_at(f, 500, 10); /* has an open intent already */
    ops.truncate = truncate_and_die;
    ck_assert_int_eq(zc_store_truncate(f, PENDING), 0);
    die_here();
    come_back();
    down(f);
}
END_TEST

/* A name that leads to it is deleted. */
START_TEST(a_link_to_it_is_deleted)
{
    struct zc_sfile *f;
    struct zc_attr attr;
    char link[192];

    up();
    f = settled_file();
    snprintf(link, sizeof link, "%s/link", root);
    ck_assert_int_eq(symlink("f", link), 0);
    ck_assert_int_eq(zc_store_unlink(store, link), 0);
    ck_assert_int_eq(zc_store_getattr(f, &attr), 0);
    put(&attr);
    die_here();
    come_back();
    down(f);
}
END_TEST

/* Its mode changes, but not its bytes; a live daemon sees that and goes on. */
START_TEST(it_gets_another_mode)
{
    struct zc_sfile *f;
    struct zc_attr attr;

    up();
    f = settled_file();
    usleep(20000); /* a file system's clock */
    ck_assert_int_eq(chmod(path, 0600), 0);
    if (_i == 0)
        ck_assert_int_eq(zc_store_getattr(f, &attr), 0);
    else
        zc_store_close_file(open_file(), ZC_LEVEL_VISIBLE);
    die_here();
    come_back();
    down(f);
}
END_TEST

/* Another program writes to it right after our last change, before its attributes are read. */
START_TEST(it_is_written_to_at_once)
{
    struct zc_sfile *f;
    int fd;

    up();
    f = settled_file();
    write_at(f, 500, 10);
    usleep(20000); /* a file system's clock */
    fd = open(path, O_WRONLY);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, "other", 5), 5);
    close(fd);
    die_here();
    come_back_unless("changed by others");
    down(f);
}
END_TEST

/* One of two names is deleted, by the daemon: it is still the same file, by its notes. */
START_TEST(it_has_another_name)
{
    struct zc_sfile *f;
    char other[192];

    up();
    f = settled_file();
    snprintf(other, sizeof other, "%s/other", root);
    ck_assert_int_eq(link(path, other), 0);
    usleep(20000); /* a file system's clock */
    ck_assert_int_eq(zc_store_unlink(store, other), 0);
    die_here();
    come_back();
    down(f);
}
END_TEST

/* ---- the host reboots ---- */

/* What of the file was not synced is lost, its size and times included. */
static void host_dies(void)
{
    next_boot = "two";
    for (int i = 0; i < atomic_load(&ndeaths); i++) {
        deaths[i].attr.size = 0;
        deaths[i].attr.mtime_ns -= 1000000000;
        deaths[i].attr.ctime_ns -= 1000000000;
    }
}

START_TEST(the_host_dies)
{
    struct zc_sfile *f;

    sync_too = _i >= 1;
    shared_too = _i == 2;
    up();
    f = settled_file();
    die_here();
    host_dies();
    come_back_unless(_i == 0 ? "the host was started again" : NULL);
    down(f);
}
END_TEST

/* A daemon that could not write all back has shut down; what it left is safe. */
START_TEST(the_host_is_started_again_after_its_end)
{
    struct zc_sfile *f;

    up();
    f = settled_file();
    zc_store_close_file(f, ZC_LEVEL_VISIBLE);
    zc_journal_freeze(j);
    zc_store_destroy(store);
    zc_journal_close(j, false);
    ck_assert_int_eq(zc_store_posix_create(root, &below), 0);
    die_here();
    host_dies();
    come_back();
    zc_store_destroy(below);
    clean_up();
}
END_TEST

/* A start that cannot make heartbeats fails, and the next one finds everything unchanged. */
START_TEST(heartbeats_are_impossible)
{
    struct zc_journal_sink sink = {.arg = &deaths[0], .stat = sink_stat};
    struct zc_journal_config cfg = {.dir = deaths[0].dir, .root = root, .size = MIB, .boot = "one"};
    struct zc_journal_replayed r;
    struct zc_journal *next;
    struct zc_sfile *f;
    char alive[192];

    up();
    f = settled_file();
    die_here();
    snprintf(alive, sizeof alive, "%s/alive", deaths[0].dir);
    ck_assert_int_eq(unlink(alive), 0);
    ck_assert_int_eq(mkdir(alive, 0700), 0);
    ck_assert_int_eq(zc_journal_open(&cfg, &next), 0);
    ck_assert_int_eq(zc_journal_replay(next, &sink, &r), -EISDIR);
    ck_assert_ptr_nonnull(strstr(zc_error_text(-EISDIR), alive));
    zc_journal_close(next, false);
    ck_assert_int_eq(rmdir(alive), 0);
    come_back();
    down(f);
}
END_TEST

/* A created file is there, and what was noted of it when it is synced. */
START_TEST(what_counts_then_is_synced)
{
    struct zc_sfile *f;
    int before, synced = 0;

    sync_too = true;
    up();
    f = open_file();
    ck_assert_int_eq(atomic_load(&file_syncs), 1);
    zc_store_close_file(f, ZC_LEVEL_VISIBLE);
    f = settled_file();
    for (int i = 0; i < 5 && synced < 2; i++) { /* unless the journal has just done so itself */
        write_at(f, 0, 10);                     /* of what is in the journal */
        before = atomic_load(&data_syncs);
        ck_assert_int_eq(zc_store_sync(f, ZC_LEVEL_DURABLE), 0);
        synced = atomic_load(&data_syncs) - before;
    }
    ck_assert_int_ge(synced, 2); /* the file, and the journal */
    down(f);
}
END_TEST

/* ---- heartbeat ---- */

/* No heartbeat succeeds: changes meanwhile would be taken for another program's. */
START_TEST(no_change_without_a_heartbeat)
{
    struct zc_sfile *f;
    uint64_t since;
    pthread_t one;

    zc_clock = zc_clock_sim();
    sync_too = _i == 1;
    up();
    f = settled_file();
    write_at(f, 500, 10); /* with an open intent, the journal is not asked */
    ops.pwritev = write_and_die;
    atomic_store(&syncs, 0);
    atomic_store(&holds_beat, true);
    WAIT_FOR(atomic_load(&held_beat));
    since = zc_now();
    WAIT_FOR(zc_now() - since > (ZC_JOURNAL_SLACK_MS + 200) * ZC_NS_PER_MS);
    one = start(write_once, f);
    ck_assert(!has_written());
    atomic_store(&holds_beat, false);
    pthread_join(one, NULL);
    ck_assert_int_eq(atomic_load(&writes), 1);
    ck_assert(_i == 0 || atomic_load(&syncs) > 0);
    come_back();
    down(f);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("journal_killed");
    TCase *tc = tcase_create("moments");

    tcase_set_timeout(tc, stretched(60));
    tcase_add_test(tc, two_change_it_at_once);
    tcase_add_test(tc, it_changes_while_it_is_opened);
    tcase_add_loop_test(tc, it_is_truncated, 0, 2);
    tcase_add_test(tc, a_link_to_it_is_deleted);
    tcase_add_loop_test(tc, it_gets_another_mode, 0, 2);
    tcase_add_test(tc, it_is_written_to_at_once);
    tcase_add_test(tc, it_has_another_name);
    tcase_add_loop_test(tc, the_host_dies, 0, 3);
    tcase_add_test(tc, the_host_is_started_again_after_its_end);
    tcase_add_test(tc, heartbeats_are_impossible);
    tcase_add_test(tc, what_counts_then_is_synced);
    tcase_add_loop_test(tc, no_change_without_a_heartbeat, 0, 2);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
