/* test_replay.c - a daemon dies with unstable bytes, another takes its place, and the job goes on:
 * cache, remote store and server together.
 *
 * Daemons are rigs with address files, over one memory store, which is their file system.  They
 * store nothing in the background, so each death loses what was not flushed.  Skipped where the
 * remote store does not find the successor of a daemon.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "rig.h"
#include "zc_clock_sim.h"
#include "zc_addrfile.h"
#include "zc_store_remote.h"
#include "zc_tp_fault.h"

enum { DAEMONS = 2, PAGE = 4096, BLOCK = 4 * PAGE, BYTES = 16 * BLOCK };

static struct rig rigs[DAEMONS];
static struct zc_tp *endpoints[DAEMONS];
static bool runs[DAEMONS];
static struct zc_store *shared; /* the file system of all daemons */
static char dir[64];
static uint64_t starts;

static struct zc_store *store;
static struct zc_cache *cache;
static struct zc_handle *file;
static char said[400]; /* error of a close */

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
    rig_boot_id = 1000 * ++starts;
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

static void replace_daemon(unsigned i)
{
    kill_daemon(i);
    start_daemon(i);
}

/* ---- a job ---- */

static void connect_to(unsigned daemons)
{
    struct zc_net_config cfg = {
        .open_transport = zc_tp_loop_open, .timeout_ms = 10000, .name = "job"};
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

/* False, and printed: the store does not reopen. */
static bool reopens(void)
{
    static const char why[] = "skipped: the remote store does not find a daemon's successor\n";
    bool yes;

    connect_to(1);
    replace_daemon(0);
    yes = zc_store_ping(store) == 0;
    zc_store_destroy(store);
    if (!yes)
        fputs(why, stdout);
    fflush(stdout);
    return yes;
}

/* Starts daemons, and a cache of so many pages with the file open; false: skipped. */
static bool up(unsigned daemons, enum zc_replay replay, unsigned pages)
{
    struct zc_cache_config cfg = ZC_CACHE_CONFIG_DEFAULT;
    struct zc_attr attr = {.block_size = BLOCK};
    int rc;

    strcpy(dir, "/tmp/zc-replay-XXXXXX");
    ck_assert(mkdtemp(dir) != NULL);
    ck_assert_int_eq(zc_store_mem_create(&shared), 0);
    for (unsigned i = 0; i < daemons; i++)
        start_daemon(i);
    if (!reopens())
        return false;
    connect_to(daemons);
    cfg.page_size = PAGE;
    cfg.capacity = (size_t)pages * PAGE;
    cfg.idle_ms = 1;
    cfg.retry_ms = 10;
    cfg.transient = true;
    cfg.replay = replay;
    ck_assert_int_eq(zc_cache_create(&cfg, store, &cache), 0);
    rc = zc_cache_open(cache, "/f", ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE, 0644, &file,
                       &attr);
    ck_assert_msg(rc == 0, "open: %s", rc ? zc_error_text(rc) : "");
    return true;
}

static void down(void)
{
    char path[80];

    if (cache) {
        zc_cache_close(file);
        zc_cache_destroy(cache);
        zc_store_destroy(store);
    }
    for (unsigned i = 0; i < DAEMONS; i++) {
        path_of(i, path);
        unlink(path);
        if (runs[i])
            rig_down(&rigs[i]);
    }
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

static void flush_ok(enum zc_level level)
{
    int rc = zc_cache_flush(file, level);

    ck_assert_msg(rc == 0, "flush: %s", rc ? zc_error_text(rc) : "");
}

/* Compares the file. */
static void is_stored(uint64_t off, size_t len, unsigned gen)
{
    unsigned char *buf = malloc(len);
    struct iovec iov = {buf, len};
    struct zc_attr attr = {0};
    struct zc_sfile *sf;

    ck_assert_int_eq(zc_store_open_file(shared, "/f", ZC_OPEN_READ, 0, &sf, &attr), 0);
    ck_assert_int_eq(zc_store_preadv(sf, &iov, 1, off), (ssize_t)len);
    zc_store_close_file(sf, ZC_LEVEL_VISIBLE);
    expect(buf, len, off, gen);
    free(buf);
}

/* ---- tests ---- */

START_TEST(what_was_staged_is_sent_again)
{
    if (up(1, ZC_REPLAY_ON, 128)) {
        put(0, BYTES, 1);
        flush_ok(ZC_LEVEL_STAGED);
        ck_assert_uint_eq(stats().retained_bytes, BYTES);
        replace_daemon(0);
        WAIT_FOR(stats().replayed_bytes == BYTES); /* without a request */
        flush_ok(ZC_LEVEL_STORED);
        is_stored(0, BYTES, 1);
        ck_assert_uint_eq(stats().lost_bytes, 0);
    }
    down();
}
END_TEST

/* A daemon remembers a failed sync of stored bytes, and dies. */
START_TEST(a_failed_sync_outlives_its_daemon)
{
    if (up(1, ZC_REPLAY_ON, 128)) {
        put(0, BYTES, 1);
        flush_ok(ZC_LEVEL_STORED);
        put(0, PAGE, 2);
        zc_store_fault_set(rigs[0].store, ZC_FAULT_SYNC, 1, 1, EIO);
        ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_DURABLE), -EIO);
        replace_daemon(0);
        ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_DURABLE), -EIO);
        ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_STORED), -EIO);
        ck_assert_int_eq(zc_cache_truncate(file, 0), 0);
        flush_ok(ZC_LEVEL_DURABLE);
    }
    down();
}
END_TEST

static atomic_bool flush_over;

static void flushed(struct zc_flush *f)
{
    (void)f;
    atomic_store(&flush_over, true);
}

/* Another client writes a page to the daemon, which does not store it. */
static void other_client_writes(void)
{
    struct zc_attr attr = {.block_size = BLOCK};
    static const char page[PAGE];
    struct zc_handle *h;

    ck_assert_int_eq(zc_cache_open(rigs[0].cache, "/f", ZC_OPEN_WRITE, 0, &h, &attr), 0);
    ck_assert_int_eq(zc_cache_write(h, page, PAGE, BYTES), PAGE);
    ck_assert_int_eq(zc_cache_close(h), 0);
}

/* The same while another client writes: its bytes are not stored, which must not affect the verdict
 * on the job's bytes. */
START_TEST(a_failed_sync_beside_another_writer_does_too)
{
    if (up(1, ZC_REPLAY_ON, 128)) {
        struct zc_flush f = {.handle = file, .level = ZC_LEVEL_DURABLE, .done = flushed};

        put(0, BYTES, 1);
        flush_ok(ZC_LEVEL_STORED);
        put(0, PAGE, 2);
        zc_store_fault_set(rigs[0].store, ZC_FAULT_SYNC, 1, 1, EIO);
        zc_store_fault_hold(rigs[0].store, ZC_FAULT_SYNC);
        atomic_store(&flush_over, false);
        zc_cache_flush_start(&f);
        WAIT_FOR(zc_store_fault_held(rigs[0].store) == 1);
        other_client_writes();
        zc_store_fault_release(rigs[0].store);
        WAIT_FOR(atomic_load(&flush_over));
        ck_assert_int_eq(f.error.rc, -EIO);
        replace_daemon(0);
        ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_DURABLE), -EIO);
        ck_assert_int_eq(zc_cache_truncate(file, 0), 0);
        flush_ok(ZC_LEVEL_DURABLE);
    }
    down();
}
END_TEST

/* A daemon that refuses bytes has them in its cache: they are kept, and its successor accepts
 * them. */
START_TEST(a_refused_sync_does_not)
{
    if (up(1, ZC_REPLAY_ON, 128)) {
        put(0, BYTES, 1);
        zc_store_fault_set(rigs[0].store, ZC_FAULT_WRITE, 1, UINT64_MAX, ENOSPC);
        ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_DURABLE), -ENOSPC);
        replace_daemon(0);
        flush_ok(ZC_LEVEL_DURABLE);
        is_stored(0, BYTES, 1);
        ck_assert_uint_eq(stats().lost_bytes, 0);
    }
    down();
}
END_TEST

START_TEST(only_what_the_dead_one_had)
{
    if (up(2, ZC_REPLAY_ON, 128)) {
        put(0, BYTES, 1);
        flush_ok(ZC_LEVEL_STAGED);
        replace_daemon(1);
        WAIT_FOR(stats().replayed_bytes > 0);
        ck_assert_uint_eq(stats().replayed_bytes, BYTES / 2);
        flush_ok(ZC_LEVEL_STORED);
        is_stored(0, BYTES, 1);
    }
    down();
}
END_TEST

START_TEST(and_not_what_was_stored)
{
    if (up(1, ZC_REPLAY_ON, 128)) {
        put(0, BYTES, 1);
        flush_ok(ZC_LEVEL_STORED);
        put(BLOCK, PAGE, 2);
        flush_ok(ZC_LEVEL_STAGED);
        replace_daemon(0);
        WAIT_FOR(stats().replayed_bytes == PAGE);
        flush_ok(ZC_LEVEL_STORED);
        is_stored(0, BLOCK, 1);
        is_stored(BLOCK, PAGE, 2);
        is_stored(BLOCK + PAGE, PAGE, 1);
    }
    down();
}
END_TEST

static atomic_bool writing;

/* Writes all over the file, generation by generation, and flushes it. */
static void *writer(void *arg)
{
    unsigned *gen = arg;

    for (*gen = 0; atomic_load(&writing); ++*gen) {
        put(0, BYTES, *gen + 1);
        flush_ok(ZC_LEVEL_STAGED);
    }
    return NULL;
}

static void kills_while_it_writes(unsigned daemons, enum zc_replay replay, unsigned pages)
{
    pthread_t t;
    unsigned gen;

    if (up(daemons, replay, pages)) {
        atomic_store(&writing, true);
        ck_assert_int_eq(pthread_create(&t, NULL, writer, &gen), 0);
        for (unsigned i = 0; i < 4; i++) {
            uint64_t before = stats().store_written_bytes;

            WAIT_FOR(stats().store_written_bytes > before + BYTES / 2);
            replace_daemon(i % daemons);
        }
        atomic_store(&writing, false);
        pthread_join(t, NULL);
        flush_ok(ZC_LEVEL_STORED);
        is_stored(0, BYTES, gen);
        ck_assert_uint_eq(stats().lost_bytes, 0);
    }
    down();
}

START_TEST(killed_while_it_is_written)
{
    kills_while_it_writes(1, ZC_REPLAY_ON, 128);
}
END_TEST

START_TEST(either_of_two)
{
    kills_while_it_writes(2, ZC_REPLAY_ON, 128);
}
END_TEST

START_TEST(strict_in_little_room)
{
    kills_while_it_writes(2, ZC_REPLAY_STRICT, 16);
}
END_TEST

START_TEST(what_was_not_kept_is_named)
{
    int rc;

    if (up(1, ZC_REPLAY_OFF, 128)) {
        put(0, BYTES, 1);
        flush_ok(ZC_LEVEL_STORED);
        put(PAGE, 100, 2);
        flush_ok(ZC_LEVEL_STAGED);
        replace_daemon(0);
        rc = zc_cache_flush(file, ZC_LEVEL_STORED);
        ck_assert_int_eq(rc, -EIO);
        ck_assert_msg(strstr(zc_error_text(rc), "100 bytes within 4096-4195"), "%s",
                      zc_error_text(rc));
    }
    down();
}
END_TEST

static void *closer(void *rc)
{
    *(int *)rc = zc_cache_close(file);
    snprintf(said, sizeof said, "%s", *(int *)rc ? zc_error_text(*(int *)rc) : "");
    return NULL;
}

/* The close of a file at a dead daemon, answered by its successor. */
static int close_at_the_next(void)
{
    struct zc_attr attr = {.block_size = BLOCK};
    pthread_t t;
    int rc;

    kill_daemon(0);
    ck_assert_int_eq(pthread_create(&t, NULL, closer, &rc), 0);
    WAIT_FOR(stats().retained_bytes == 0); /* nothing is kept from here on */
    start_daemon(0);
    pthread_join(t, NULL);
    ck_assert_int_eq(zc_cache_open(cache, "/f", ZC_OPEN_READ | ZC_OPEN_WRITE, 0, &file, &attr), 0);
    return rc;
}

/* Its bytes were staged by a close that did not wait for the file: they are reported by range. */
START_TEST(killed_while_it_is_closed)
{
    if (up(1, ZC_REPLAY_ON, 128)) {
        put(0, BYTES, 1);
        flush_ok(ZC_LEVEL_STORED);
        put(PAGE, 100, 2);
        flush_ok(ZC_LEVEL_STAGED);
        ck_assert_int_eq(close_at_the_next(), -EIO);
        ck_assert_msg(strstr(said, "100 bytes within 4096-4195"), "%s", said);
        ck_assert_uint_eq(stats().lost_bytes, 100);
    }
    down();
}
END_TEST

START_TEST(killed_while_it_is_closed_with_all_stored)
{
    if (up(1, ZC_REPLAY_ON, 128)) {
        put(0, BYTES, 1);
        flush_ok(ZC_LEVEL_STORED);
        ck_assert_int_eq(close_at_the_next(), 0);
        ck_assert_uint_eq(stats().lost_bytes, 0);
        is_stored(0, BYTES, 1);
    }
    down();
}
END_TEST

static void *flusher(void *rc)
{
    *(int *)rc = zc_cache_flush(file, ZC_LEVEL_STORED);
    return NULL;
}

static bool is_in(int log, const char *text)
{
    char buf[4096];
    ssize_t n = pread(log, buf, sizeof buf - 1, 0);

    buf[n > 0 ? n : 0] = 0;
    return strstr(buf, text);
}

/* It writes back everything before it ends: nothing is lost, kept or not. */
START_TEST(a_stop_is_no_death)
{
    int log = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC | O_APPEND, 0600), rc;
    pthread_t t;

    if (up(1, ZC_REPLAY_OFF, 128)) {
        zc_store_fault_hold(rigs[0].store, ZC_FAULT_WRITE);
        put(0, BYTES, 1);
        flush_ok(ZC_LEVEL_STAGED);
        ck_assert_uint_eq(stats().exposed_bytes, BYTES);
        zc_log_to_fd(log);
        zc_server_stop(rigs[0].server);
        WAIT_FOR(zc_store_fault_held(rigs[0].store) > 0);
        pthread_create(&t, NULL, flusher, &rc);
        WAIT_FOR(is_in(log, "waiting for it"));
        zc_store_fault_release(rigs[0].store);
        rig_down(&rigs[0]);
        start_daemon(0);
        pthread_join(t, NULL);
        is_stored(0, BYTES, 1);
        ck_assert_msg(rc == 0, "flush: %s", rc ? zc_error_text(rc) : "");
        ck_assert_uint_eq(stats().lost_bytes, 0);
        ck_assert_int_eq(rc, 0);
    }
    down();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("replay");

    zc_log_init(NULL);
    zc_clock = zc_clock_sim();
    if (!getenv("ZCACHE_LOG"))
        zc_log_to_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    CASE(s, "staged", 120, what_was_staged_is_sent_again, a_failed_sync_outlives_its_daemon,
         a_failed_sync_beside_another_writer_does_too, a_refused_sync_does_not,
         only_what_the_dead_one_had, and_not_what_was_stored, what_was_not_kept_is_named,
         killed_while_it_is_closed, killed_while_it_is_closed_with_all_stored, a_stop_is_no_death);
    CASE(s, "writing", 120, killed_while_it_is_written, either_of_two, strict_in_little_room);
    return run_suite(s);
}
