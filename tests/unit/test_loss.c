/* test_loss.c - a daemon dies for good, and the job goes on without it: cache, remote store, server
 * and the file system together.
 *
 * Daemons are rigs with address files; what they serve is a directory of the file system.  They
 * store nothing by themselves, so that each death loses what was not asked for.  Their process is
 * that of the test, and alive: so each of them is told that it was given up before it is bypassed.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rig.h"
#include "splitmix.h"
#include "zc_addrfile.h"
#include "zc_lost_mark.h"
#include "zc_store_posix.h"
#include "zc_store_remote.h"
#include "zc_tp_fault.h"

enum {
    DAEMONS = 2,
    PAGE = 4096,
    BLOCK = 4 * PAGE,
    BYTES = 16 * BLOCK,
    TIMEOUT_MS = 1000,
    RW = ZC_OPEN_READ | ZC_OPEN_WRITE,
    NEW = RW | ZC_OPEN_CREATE,
};

static struct rig rigs[DAEMONS];
static struct zc_tp *endpoints[DAEMONS];
static uint64_t boots[DAEMONS];
static bool runs[DAEMONS];
static struct zc_store *shared; /* the file system of all */
static char dir[64], name[80];
static uint64_t starts;

static struct zc_store *store;
static struct zc_cache *cache;
static struct zc_handle *file;

/* ---- daemons ---- */

static void path_of(unsigned i, char *path)
{
    sprintf(path, "%s/%u.addr", dir, i);
}

static void announce(unsigned i)
{
    struct zc_addrfile a = {.protocol = ZC_PROTOCOL,
                            .provider = "loop",
                            .pid = getpid(),
                            .boot_id = rig_boot_id,
                            .secret = rig_secret,
                            .root = "/"};
    char path[80];

    path_of(i, path);
    gethostname(a.host, sizeof a.host - 1);
    memcpy(a.address, rigs[i].addr, rigs[i].addr_len);
    a.address_len = rigs[i].addr_len;
    ck_assert_int_eq(zc_addrfile_write(path, &a), 0);
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

/* As kill -9: nothing is said any more, and nothing written. */
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
    return zc_lost_mark_is_there(path, boots[i]);
}

/* ---- a job ---- */

static void connect_to(unsigned daemons)
{
    struct zc_net_config cfg = {
        .open_transport = zc_tp_loop_open, .timeout_ms = TIMEOUT_MS, .name = "job"};
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

static void works(int rc)
{
    ck_assert_msg(rc == 0, "%s", rc ? zc_error_text(rc) : "");
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

/* Of daemons that serve `files`; NULL: the file system. */
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

/* The daemon is back, and serves what is opened from then on; but not the file that this job has
 * open without it: who opens that again would not see what is written past the daemon. */
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

/* Whose bytes lie about as chance has it, while one of two is killed. */
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

/* Another daemon takes its place, too late for this file; who opens it next goes there. */
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
    works(zc_cache_flush(file, ZC_LEVEL_STAGED)); /* which is as far as the file, here */
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

/* It could write over what would be written. */
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
    works(zc_cache_flush(file, ZC_LEVEL_STORED)); /* now it can */
    is_stored(0, BYTES, 1);
    close_well();
    down();
}
END_TEST

/* One that was told to stop writes what it has, and nothing is written around it until then. */
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
    ck_assert_int_eq(unlink(path), 0); /* as the last that it does */
    works(zc_cache_flush(file, ZC_LEVEL_STORED));
    is_stored(0, BYTES, 2);
    ck_assert(!was_told(0));
    close_well();
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

int main(void)
{
    Suite *s = suite_create("loss");

    zc_log_init(NULL);
    if (!getenv("ZCACHE_LOG"))
        zc_log_to_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    CASE(s, "bypass", 120, what_was_staged_is_written_directly, opened_again_when_it_is_back,
         random_writes, size_without_the_first, size_without_the_second, too_late);
    CASE(s, "not", 120, unless_it_is_asked_for, a_daemon_that_cannot_be_told, a_daemon_that_stops,
         a_file_that_is_not_here, a_file_that_is_another_one_here);
    return run_suite(s);
}
