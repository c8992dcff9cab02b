/* test_loss.c - a daemon dies for good, and the job goes on without it: cache, remote store, server
 * and file system together.
 *
 * Daemons are rigs with address files; they serve a directory of the file system.  They store
 * nothing in the background, so each death loses what was not flushed.  They live in the test's
 * process: so each of them has to be fenced before it is bypassed.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rig.h"
#include "zc_clock_sim.h"
#include "splitmix.h"
#include "zc_addrfile.h"
#include "zc_fence.h"
#include "zc_root_record.h"
#include "zc_store_posix.h"
#include "zc_store_remote.h"
#include "zc_tp_fault.h"

enum {
    DAEMONS = 2,
    PAGE = 4096,
    BLOCK = 4 * PAGE,
    BYTES = 16 * BLOCK,
    TIMEOUT_MS = 1000,
    LOOKS = 10,
    RW = ZC_OPEN_READ | ZC_OPEN_WRITE,
    NEW = RW | ZC_OPEN_CREATE,
};

static struct rig rigs[DAEMONS];
static struct zc_tp *endpoints[DAEMONS];
static uint64_t boots[DAEMONS];
static bool runs[DAEMONS];
static struct zc_store *shared; /* the file system of all daemons */
static char dir[64], name[80];
static uint64_t starts;

static struct zc_store *store;
static struct zc_cache *cache;
static struct zc_handle *file;
static int ending; /* zc_store_remote_bypass_at_end() */
static unsigned timeout_ms = TIMEOUT_MS;

static void works(int rc)
{
    ck_assert_msg(rc == 0, "%s", rc ? zc_error_text(rc) : "");
}

/* ---- the record of the root ---- */

enum { SEAT = 17, SUCCESSOR = 5 };

static struct zc_root_record rec;
static bool raise_when_marked;

static void raise_seat(void)
{
    works(zc_root_seat_raise(&rec, SEAT, SUCCESSOR));
}

/* Counts syncs of a mark. */
int fdatasync(int fd)
{
    if (raise_when_marked) {
        raise_when_marked = false;
        raise_seat();
    }
    return (int)syscall(SYS_fdatasync, fd);
}

static unsigned looks; /* at whether the process of a daemon still exists; atomic */
static atomic_bool holds_looks, look_is_held;

int kill(pid_t pid, int sig)
{
    __atomic_fetch_add(&looks, 1, __ATOMIC_RELAXED);
    while (atomic_load(&holds_looks)) {
        atomic_store(&look_is_held, true);
        zc_clock_sleep(ZC_NS_PER_MS);
    }
    return (int)syscall(SYS_kill, pid, sig);
}

/* ---- daemons ---- */

static void path_of(unsigned i, char *path)
{
    sprintf(path, "%s/%u.addr", dir, i);
}

static void announce(unsigned i)
{
    char path[80];

    path_of(i, path);
    rig_announce(&rigs[i], path, "loop", getpid());
}

static void start_daemon(unsigned i)
{
    struct zc_cache_config cfg = ZC_CACHE_CONFIG_DEFAULT;

    cfg.page_size = PAGE;
    cfg.capacity = 4 * BYTES;
    cfg.idle_ms = 0;
    cfg.level = ZC_LEVEL_STAGED;
    boots[i] = rig_boot_id = 1000 * ++starts;
    rig_transport = zc_tp_fault_open;
    rig_up(&rigs[i], &cfg, borrow(shared));
    endpoints[i] = zc_tp_fault_last();
    runs[i] = true;
    announce(i);
}

/* Like kill -9: sends and writes nothing any more. */
static void kill_daemon(unsigned i)
{
    zc_tp_fault_kill(endpoints[i]);
    zc_store_fault_set(rigs[i].store, ZC_FAULT_WRITE, 1, UINT64_MAX, EIO);
    rig_stop(&rigs[i]);
    rig_free(&rigs[i]);
    runs[i] = false;
}

static bool was_told(unsigned i)
{
    char path[80];

    path_of(i, path);
    return zc_fence_look(path, boots[i]) == 1;
}

/* ---- a job ---- */

static void connect_to(unsigned daemons)
{
    struct zc_net_config cfg = {
        .open_transport = zc_tp_loop_open, .timeout_ms = timeout_ms, .name = "job"};
    char paths[200];
    int rc;

    path_of(0, paths);
    if (daemons > 1) {
        strcat(paths, ",");
        path_of(1, paths + strlen(paths));
    }
    rc = zc_store_remote_create(paths, &cfg, &store);
    ck_assert_msg(rc == 0, "connect: %s", rc ? zc_error_text(rc) : "");
}

static void says(int rc, const char *text)
{
    ck_assert_int_lt(rc, 0);
    ck_assert_msg(strstr(zc_error_text(rc), text) != NULL, "%s", zc_error_text(rc));
}

static void open_file(unsigned flags)
{
    struct zc_attr attr = {.block_size = BLOCK};

    works(zc_cache_open(cache, name, flags, 0644, &file, &attr));
}

/* Daemons that serve `files`; NULL: the file system. */
static void up_over(struct zc_store *files, unsigned daemons, unsigned flags)
{
    struct zc_cache_config cfg = ZC_CACHE_CONFIG_DEFAULT;

    strcpy(dir, "/tmp/zc-loss-XXXXXX");
    ck_assert(mkdtemp(dir) != NULL);
    sprintf(name, "%s/f", dir);
    shared = files;
    if (!shared)
        works(zc_store_posix_create(NULL, &shared));
    for (unsigned i = 0; i < daemons; i++)
        start_daemon(i);
    connect_to(daemons);
    cfg.page_size = PAGE;
    cfg.capacity = (size_t)2 * BYTES;
    cfg.idle_ms = 1;
    cfg.retry_ms = 10;
    cfg.transient = true;
    cfg.replay = ZC_REPLAY_ON;
    works(zc_cache_create(&cfg, store, &cache));
    open_file(flags);
}

static void up(unsigned daemons, unsigned flags)
{
    up_over(NULL, daemons, flags);
}

static void down(void)
{
    char path[100];

    if (file)
        zc_cache_close(file);
    zc_cache_destroy(cache);
    zc_store_destroy(store);
    for (unsigned i = 0; i < DAEMONS; i++) {
        path_of(i, path);
        unlink(path);
        strcat(path, ".lost");
        remove(path);
        if (runs[i])
            rig_down(&rigs[i]);
    }
    unlink(name);
    strcpy(path, dir);
    strcat(path, "/" ZC_ROOT_RECORD_NAME);
    unlink(path);
    rmdir(dir);
    zc_store_destroy(shared);
}

static struct zc_cache_stats stats(void)
{
    struct zc_cache_stats st;

    zc_cache_stats(cache, &st);
    return st;
}

static void put(uint64_t off, size_t len, unsigned gen)
{
    unsigned char *buf = malloc(len);
    ssize_t n;

    fill(buf, len, off, gen);
    n = zc_cache_write(file, buf, len, off);
    ck_assert_msg(n == (ssize_t)len, "write: %s", n < 0 ? zc_error_text((int)n) : "short");
    free(buf);
}

static void reads(uint64_t off, size_t len, unsigned gen)
{
    unsigned char *buf = malloc(len);

    ck_assert_int_eq(zc_cache_read(file, buf, len, off), (ssize_t)len);
    expect(buf, len, off, gen);
    free(buf);
}

static void in_the_file(void *buf, uint64_t off, size_t len)
{
    int fd = open(name, O_RDONLY | O_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pread(fd, buf, len, (off_t)off), (ssize_t)len);
    close(fd);
}

static void is_stored(uint64_t off, size_t len, unsigned gen)
{
    unsigned char *buf = malloc(len);

    in_the_file(buf, off, len);
    expect(buf, len, off, gen);
    free(buf);
}

static void close_well(void)
{
    works(zc_cache_close(file));
    file = NULL;
}

/* ---- tests ---- */

START_TEST(what_was_staged_is_written_directly)
{
    up(1, NEW | ZC_OPEN_BYPASS);
    put(0, BYTES, 1);
    works(zc_cache_flush(file, ZC_LEVEL_STAGED));
    kill_daemon(0);
    works(zc_cache_flush(file, ZC_LEVEL_STORED));
    is_stored(0, BYTES, 1);
    ck_assert_uint_eq(stats().replayed_bytes, BYTES);
    ck_assert(was_told(0));
    put(BLOCK, PAGE, 2);
    works(zc_cache_flush(file, ZC_LEVEL_DURABLE));
    is_stored(0, BLOCK, 1);
    is_stored(BLOCK, PAGE, 2);
    is_stored(BLOCK + PAGE, BYTES - BLOCK - PAGE, 1);
    ck_assert_uint_eq(stats().lost_bytes, 0);
    ck_assert_uint_eq(stats().retained_bytes, 0);
    close_well();
    down();
}
END_TEST

/* The daemon is back, and serves files opened from then on; but not the file that this job has open
 * without it: another open would not see what bypasses the daemon. */
START_TEST(opened_again_when_it_is_back)
{
    unsigned char buf[PAGE];
    struct iovec iov = {buf, PAGE};
    struct zc_attr attr = {0};
    struct zc_sfile *other;

    up(1, ZC_OPEN_WRITE | ZC_OPEN_CREATE | ZC_OPEN_BYPASS);
    put(0, BYTES, 1);
    kill_daemon(0);
    works(zc_cache_flush(file, ZC_LEVEL_STORED));
    start_daemon(0);
    WAIT_FOR(zc_store_ping(store) == 0);
    works(zc_store_open_file(store, name, ZC_OPEN_READ | ZC_OPEN_BYPASS, 0, &other, &attr));
    for (unsigned gen = 2; gen < 5; gen++) {
        put(0, PAGE, gen);
        works(zc_cache_flush(file, ZC_LEVEL_STORED));
        ck_assert_int_eq(zc_store_preadv(other, &iov, 1, 0), PAGE);
        expect(buf, PAGE, 0, gen);
    }
    works(zc_store_close_file(other, ZC_LEVEL_VISIBLE));
    ck_assert_int_eq(zc_store_open_file(store, name, ZC_OPEN_READ, 0, &other, &attr), -EBUSY);
    close_well();
    works(zc_cache_drain(cache));
    works(zc_store_open_file(store, name, ZC_OPEN_READ, 0, &other, &attr));
    works(zc_store_close_file(other, ZC_LEVEL_VISIBLE));
    down();
}
END_TEST

/* Bytes in random places, while one of two daemons is killed. */
START_TEST(random_writes)
{
    static unsigned char image[BYTES], got[BYTES];
    uint64_t rng = 17;

    up(2, NEW | ZC_OPEN_BYPASS);
    put(0, BYTES, 0);
    fill(image, BYTES, 0, 0);
    for (unsigned i = 0; i < 1500; i++) {
        size_t len = 1 + splitmix(&rng) % (2 * PAGE);
        uint64_t off = splitmix(&rng) % (BYTES - len);

        put(off, len, i);
        fill(image + off, len, off, i);
        if (i == 500)
            kill_daemon(1);
        if (i % 100 == 99)
            works(zc_cache_flush(file, ZC_LEVEL_STAGED));
        if (i % 10 == 9) {
            ck_assert_int_eq(zc_cache_read(file, got, len, off), (ssize_t)len);
            ck_assert(!memcmp(got, image + off, len));
        }
    }
    works(zc_cache_flush(file, ZC_LEVEL_STORED));
    in_the_file(got, 0, BYTES);
    ck_assert(!memcmp(got, image, BYTES));
    ck_assert(was_told(1) && !was_told(0));
    ck_assert_uint_eq(stats().lost_bytes, 0);
    close_well();
    down();
}
END_TEST

static void sizes_without(unsigned victim)
{
    struct stat st;

    up(2, NEW | ZC_OPEN_BYPASS);
    put(0, BYTES, 1);
    works(zc_cache_flush(file, ZC_LEVEL_STORED));
    kill_daemon(victim);
    works(zc_cache_truncate(file, BYTES / 2 + 100));
    ck_assert_uint_eq(zc_cache_size(file), BYTES / 2 + 100);
    ck_assert_int_eq(stat(name, &st), 0);
    ck_assert_int_eq(st.st_size, BYTES / 2 + 100);
    works(zc_cache_allocate(file, 0, BYTES));
    ck_assert_uint_eq(zc_cache_size(file), BYTES);
    put(BYTES, 10, 3);
    works(zc_cache_flush(file, ZC_LEVEL_STORED));
    reads(0, BYTES / 2 + 100, 1);
    is_stored(0, BYTES / 2 + 100, 1);
    is_stored(BYTES, 10, 3);
    if (victim == 0) {
        works(zc_cache_unlink(cache, name));
        ck_assert_int_lt(stat(name, &st), 0);
    }
    close_well();
    down();
}

START_TEST(size_without_the_first)
{
    sizes_without(0);
}
END_TEST

START_TEST(size_without_the_second)
{
    sizes_without(1);
}
END_TEST

/* A successor starts too late for this file; the next open uses it. */
START_TEST(too_late)
{
    up(1, NEW | ZC_OPEN_BYPASS);
    put(0, BYTES, 1);
    works(zc_cache_flush(file, ZC_LEVEL_STAGED));
    kill_daemon(0);
    works(zc_cache_flush(file, ZC_LEVEL_STORED));
    start_daemon(0);
    WAIT_FOR(zc_store_ping(store) == 0);
    put(0, BYTES, 2);
    works(zc_cache_flush(file, ZC_LEVEL_STAGED)); /* here this means in the file */
    is_stored(0, BYTES, 2);
    close_well();
    open_file(RW);
    reads(0, BYTES, 2);
    put(0, PAGE, 3);
    works(zc_cache_flush(file, ZC_LEVEL_STORED));
    is_stored(0, PAGE, 3);
    close_well();
    down();
}
END_TEST

START_TEST(unless_it_is_asked_for)
{
    up(1, NEW);
    put(0, BYTES, 1);
    works(zc_cache_flush(file, ZC_LEVEL_STAGED));
    kill_daemon(0);
    says(zc_cache_flush(file, ZC_LEVEL_STORED), "no sign of life");
    ck_assert(!was_told(0));
    down();
}
END_TEST

/* It could overwrite what would be written. */
START_TEST(a_daemon_that_cannot_be_told)
{
    char path[100];

    up(1, NEW | ZC_OPEN_BYPASS);
    path_of(0, path);
    strcat(path, ".lost");
    ck_assert_int_eq(mkdir(path, 0700), 0);
    put(0, BYTES, 1);
    kill_daemon(0);
    says(zc_cache_flush(file, ZC_LEVEL_STORED), "it cannot be bypassed");
    ck_assert_int_eq(rmdir(path), 0);
    works(zc_cache_flush(file, ZC_LEVEL_STORED)); /* now it can be told */
    is_stored(0, BYTES, 1);
    close_well();
    down();
}
END_TEST

/* A daemon that is told to stop writes back, and is not bypassed until then. */
START_TEST(a_daemon_that_stops)
{
    char path[80];

    up(1, NEW | ZC_OPEN_BYPASS);
    put(0, BYTES, 1);
    works(zc_cache_flush(file, ZC_LEVEL_STAGED));
    zc_store_fault_hold(rigs[0].store, ZC_FAULT_WRITE);
    zc_server_stop(rigs[0].server);
    WAIT_FOR(zc_store_fault_held(rigs[0].store) > 0);
    put(0, BYTES, 2);
    says(zc_cache_flush(file, ZC_LEVEL_STORED), "it cannot be bypassed: it is stopping");
    ck_assert(!was_told(0));
    zc_store_fault_release(rigs[0].store);
    rig_stop(&rigs[0]);
    rig_free(&rigs[0]);
    runs[0] = false;
    path_of(0, path);
    ck_assert_int_eq(unlink(path), 0); /* its last action */
    works(zc_cache_flush(file, ZC_LEVEL_STORED));
    is_stored(0, BYTES, 2);
    ck_assert(!was_told(0));
    close_well();
    down();
}
END_TEST

/* ---- a process that ends, with a file that was not opened to be written directly ---- */

static void *drain(void *arg)
{
    works(zc_cache_drain(cache));
    return arg;
}

static void up_to_end_over(struct zc_store *files)
{
    up_over(files, 1, NEW);
    works(zc_cache_close(file));
    zc_store_remote_bypass_at_end(store, &ending);
    open_file(RW);
}

static void up_to_end(void)
{
    up_to_end_over(NULL);
}

static void down_after_end(void)
{
    close_well();
    ck_assert_uint_eq(stats().lost_bytes, 0);
    __atomic_store_n(&ending, 0, __ATOMIC_RELEASE);
    down();
}

START_TEST(at_the_end_after_a_daemon_that_was_killed)
{
    up_to_end();
    put(0, BYTES, 1);
    works(zc_cache_flush(file, ZC_LEVEL_STAGED));
    kill_daemon(0);
    says(zc_cache_flush(file, ZC_LEVEL_STORED), "no sign of life");
    ck_assert(!was_told(0));
    __atomic_store_n(&ending, 1, __ATOMIC_RELEASE);
    works(zc_cache_flush(file, ZC_LEVEL_STORED)); /* with what was sent to the daemon */
    is_stored(0, BYTES, 1);
    ck_assert(was_told(0));
    down_after_end();
}
END_TEST

/* A file that it cannot write itself waits for another daemon as long as ever. */
START_TEST(at_the_end_without_the_file)
{
    struct zc_store *mem;
    pthread_t thread;

    works(zc_store_mem_create(&mem));
    timeout_ms = 20 * TIMEOUT_MS;
    up_to_end_over(mem);
    put(0, BYTES, 1);
    works(zc_cache_flush(file, ZC_LEVEL_STAGED));
    zc_server_stop(rigs[0].server);
    put(0, BLOCK, 2);
    __atomic_store_n(&ending, 1, __ATOMIC_RELEASE);
    ck_assert_int_eq(pthread_create(&thread, NULL, drain, NULL), 0);
    rig_stop(&rigs[0]);
    rig_free(&rigs[0]);
    start_daemon(0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    down_after_end();
    timeout_ms = TIMEOUT_MS;
}
END_TEST

/* Nothing is left to write: what its journal may have, of others as well, is not kept back. */
static void ends_with_nothing_to_write(unsigned flags)
{
    up_to_end();
    put(0, BYTES, 1);
    works(zc_cache_flush(file, ZC_LEVEL_STORED));
    if (!(flags & ZC_OPEN_WRITE)) {
        close_well();
        works(zc_cache_drain(cache));
        open_file(flags);
        reads(0, BYTES, 1);
    }
    kill_daemon(0);
    WAIT_FOR(zc_store_ping(store) < 0);
    __atomic_store_n(&ending, 1, __ATOMIC_RELEASE);
    zc_clock_sleep(3000 * ZC_NS_PER_MS); /* it is looked for again, every 2 s at most */
    close_well();
    works(zc_cache_drain(cache));
    ck_assert(!was_told(0));
    __atomic_store_n(&ending, 0, __ATOMIC_RELEASE);
    down();
}

START_TEST(at_the_end_with_all_stored)
{
    ends_with_nothing_to_write(RW);
}
END_TEST

START_TEST(at_the_end_of_a_reader)
{
    ends_with_nothing_to_write(ZC_OPEN_READ);
}
END_TEST

/* It is asked whether it still lives, and waited for. */
START_TEST(at_the_end_while_a_daemon_stops)
{
    unsigned before;
    pthread_t thread;
    char path[80];

    up_to_end();
    put(0, BYTES, 1);
    works(zc_cache_flush(file, ZC_LEVEL_STAGED));
    zc_store_fault_hold(rigs[0].store, ZC_FAULT_WRITE);
    zc_server_stop(rigs[0].server);
    WAIT_FOR(zc_store_fault_held(rigs[0].store) > 0);
    put(0, BLOCK, 2);
    __atomic_store_n(&ending, 1, __ATOMIC_RELEASE);
    before = __atomic_load_n(&looks, __ATOMIC_RELAXED);
    ck_assert_int_eq(pthread_create(&thread, NULL, drain, NULL), 0);
    WAIT_FOR(__atomic_load_n(&looks, __ATOMIC_RELAXED) - before > LOOKS);
    /* A daemon that has ended, with its address file still there, would be shut out. */
    atomic_store(&holds_looks, true);
    WAIT_FOR(atomic_load(&look_is_held));
    zc_store_fault_release(rigs[0].store);
    rig_stop(&rigs[0]);
    rig_free(&rigs[0]);
    runs[0] = false;
    path_of(0, path);
    ck_assert_int_eq(unlink(path), 0); /* its last action */
    atomic_store(&holds_looks, false);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    is_stored(0, BLOCK, 2);
    is_stored(BLOCK, BYTES - BLOCK, 1);
    ck_assert(!was_told(0));
    down_after_end();
}
END_TEST

static uint64_t mark_of_file(void)
{
    struct stat st;
    uint64_t mark;

    ck_assert_int_eq(stat(name, &st), 0);
    works(zc_root_mark_get(&rec, st.st_ino, &mark));
    return mark;
}

/* The journal of the failed daemon may be replayed from now on, after files were checked for
 * marks. */
static void its_successor_replays(bool sees_mark)
{
    uint64_t mark;

    rig_identity = SEAT;
    up(1, NEW | ZC_OPEN_BYPASS);
    works(zc_root_record_make(dir, false, &rec));
    works(zc_root_seat_take(&rec, SEAT, boots[0], 1));
    put(0, BYTES, 1);
    works(zc_cache_flush(file, ZC_LEVEL_STAGED));
    mark = mark_of_file();
    kill_daemon(0);
    raise_when_marked = sees_mark;
    if (!sees_mark)
        raise_seat();
    says(zc_cache_flush(file, ZC_LEVEL_STORED),
         "it cannot be bypassed: another daemon has started in its place");
    ck_assert((mark_of_file() != mark) == sees_mark); /* otherwise all would be set aside in vain */
    ck_assert(was_told(0) == sees_mark);
    start_daemon(0); /* it serves now */
    WAIT_FOR(zc_store_ping(store) == 0);
    works(zc_cache_flush(file, ZC_LEVEL_STORED));
    is_stored(0, BYTES, 1);
    close_well();
    zc_root_record_close(&rec);
    rig_identity = 0;
    down();
}

START_TEST(a_daemon_whose_successor_replays)
{
    its_successor_replays(false);
}
END_TEST

START_TEST(a_daemon_whose_successor_has_judged_before_the_mark)
{
    its_successor_replays(true);
}
END_TEST

/* It still holds its seat: nothing prevents the job from going on. */
START_TEST(with_a_record_of_the_root)
{
    rig_identity = SEAT;
    up(1, NEW | ZC_OPEN_BYPASS);
    works(zc_root_record_make(dir, false, &rec));
    works(zc_root_seat_take(&rec, SEAT, boots[0], 1));
    put(0, BYTES, 1);
    kill_daemon(0);
    works(zc_cache_flush(file, ZC_LEVEL_STORED));
    is_stored(0, BYTES, 1);
    close_well();
    zc_root_record_close(&rec);
    rig_identity = 0;
    down();
}
END_TEST

START_TEST(a_file_that_is_not_here)
{
    struct zc_store *mem;

    works(zc_store_mem_create(&mem));
    up_over(mem, 1, NEW | ZC_OPEN_BYPASS);
    put(0, BYTES, 1);
    kill_daemon(0);
    says(zc_cache_flush(file, ZC_LEVEL_STORED), "No such file");
    down();
}
END_TEST

START_TEST(a_file_that_is_another_one_here)
{
    struct zc_store *mem;
    int fd;

    works(zc_store_mem_create(&mem));
    up_over(mem, 1, NEW);
    fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    close(fd);
    close_well();
    open_file(RW | ZC_OPEN_BYPASS);
    put(0, BYTES, 1);
    kill_daemon(0);
    says(zc_cache_flush(file, ZC_LEVEL_STORED), "is another file here");
    down();
}
END_TEST

/* Without a free descriptor the mark is unknown, which is not the same as none. */
START_TEST(a_mark_that_cannot_be_read)
{
    struct rlimit was, none;
    char addrfile[64];
    int rc;

    snprintf(addrfile, sizeof addrfile, "/tmp/zcache-mark.%ld", (long)getpid());
    ck_assert_int_eq(zc_fence_look(addrfile, 5), 0);
    ck_assert_int_eq(zc_fence_create(addrfile, 5), 0);
    ck_assert_int_eq(zc_fence_look(addrfile, 5), 1);
    ck_assert_int_eq(zc_fence_look(addrfile, 6), 0);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &was), 0);
    none = (struct rlimit){0, was.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    rc = zc_fence_look(addrfile, 5);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &was), 0);
    ck_assert_int_eq(rc, -EMFILE);
    strcat(addrfile, ".lost");
    ck_assert_int_eq(unlink(addrfile), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("loss");

    zc_log_init(NULL);
    zc_clock = zc_clock_sim();
    if (!getenv("ZCACHE_LOG"))
        zc_log_to_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    CASE(s, "bypass", 120, what_was_staged_is_written_directly, opened_again_when_it_is_back,
         random_writes, size_without_the_first, size_without_the_second, too_late,
         with_a_record_of_the_root, at_the_end_after_a_daemon_that_was_killed,
         at_the_end_with_all_stored, at_the_end_of_a_reader, at_the_end_without_the_file,
         at_the_end_while_a_daemon_stops);
    CASE(s, "not", 120, unless_it_is_asked_for, a_daemon_that_cannot_be_told, a_daemon_that_stops,
         a_daemon_whose_successor_replays, a_daemon_whose_successor_has_judged_before_the_mark,
         a_file_that_is_not_here, a_file_that_is_another_one_here, a_mark_that_cannot_be_read);
    return run_suite(s);
}
