/* test_sets.c - one file behind changing sets of daemons: which daemons cache which bytes, and for
 * how long. */
#include "config.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "raw_peer.h"
#include "zc_clock_sim.h"
#include "zc_store_remote.h"

enum {
    PAGE = 4096,
    BLOCK = 8192,
    BLOCKS = 6,
    RW = ZC_OPEN_READ | ZC_OPEN_WRITE,
    NEW = RW | ZC_OPEN_CREATE
};

static struct rig rigs[2];
static struct zc_store *shared; /* the file system of both */

static void up_with(const struct zc_cache_config *a, const struct zc_cache_config *b)
{
    const struct zc_cache_config *cfg[] = {a, b};

    ck_assert_int_eq(zc_store_mem_create(&shared), 0);
    for (unsigned i = 0; i < 2; i++) {
        rig_boot_id = 100 + i;
        rig_up(&rigs[i], cfg[i], borrow(shared));
    }
}

static void up(void)
{
    up_with(NULL, NULL);
}

static void down(void)
{
    rig_down(&rigs[0]);
    rig_down(&rigs[1]);
    zc_store_destroy(shared);
}

/* A job: a store over these daemons, by their letters, with /f open. */
struct job {
    struct zc_store *store;
    struct zc_sfile *file;
    struct zc_attr attr;
};

static int job_begin(struct job *j, const char *daemons, uint64_t block)
{
    struct zc_net *net = rig_net(10000);
    struct zc_client *clients[4];
    uint32_t n = 0;

    for (; daemons[n]; n++)
        clients[n] = rig_connect(&rigs[daemons[n] - 'a'], net);
    ck_assert_int_eq(zc_store_remote_over(net, clients, n, &j->store), 0);
    j->attr = (struct zc_attr){.block_size = block};
    j->file = NULL;
    return zc_store_open_file(j->store, "/f", NEW, 0600, &j->file, &j->attr);
}

static void job_is_on(struct job *j, const char *daemons)
{
    int rc = job_begin(j, daemons, BLOCK);

    ck_assert_msg(rc == 0, "open through %s: %s", daemons, zc_error_text(rc));
}

static void job_write(struct job *j, unsigned gen)
{
    unsigned char buf[BLOCKS * BLOCK];
    struct iovec iov = {buf, sizeof buf};

    fill(buf, sizeof buf, 0, gen);
    ck_assert_int_eq(zc_store_pwritev(j->file, &iov, 1, 0), (ssize_t)sizeof buf);
}

static void job_reads(struct job *j, unsigned gen)
{
    unsigned char buf[BLOCKS * BLOCK];
    struct iovec iov = {buf, sizeof buf};

    ck_assert_int_eq(zc_store_preadv(j->file, &iov, 1, 0), (ssize_t)sizeof buf);
    expect(buf, sizeof buf, 0, gen);
}

static void job_close(struct job *j, enum zc_level level)
{
    if (j->file)
        ck_assert_int_eq(zc_store_close_file(j->file, level), 0);
    zc_store_destroy(j->store);
}

static uint64_t counter(int i, const char *name)
{
    struct zc_net *net = rig_net(10000);
    struct zc_client *c = rig_connect(&rigs[i], net);
    uint64_t v = rig_stat(c, name);

    zc_client_disconnect(c);
    zc_net_destroy(net);
    return v;
}

/* One of several opens that may create a file is told that it did, by one request to the first
 * daemon. */
START_TEST(the_creator_is_told)
{
    struct job j, k;
    uint64_t failed;

    up();
    failed = counter(0, "requests_failed");
    job_is_on(&j, "ab");
    ck_assert(j.attr.created);
    ck_assert_uint_eq(counter(0, "requests_failed"), failed);
    job_is_on(&k, "ab");
    ck_assert(!k.attr.created);
    job_close(&k, ZC_LEVEL_STAGED);
    job_close(&j, ZC_LEVEL_STAGED);
    down();
}
END_TEST

/* A daemon's cache of one set does not hide what another set has written since. */
START_TEST(sets_one_after_the_other)
{
    static const char *const sets[] = {"a", "ab", "a", "ba", "b", "ab", "a"};
    struct job j;

    up();
    for (unsigned i = 0; i < sizeof sets / sizeof *sets; i++) {
        job_is_on(&j, sets[i]);
        if (i > 0)
            job_reads(&j, i - 1);
        job_write(&j, i);
        job_reads(&j, i);
        ck_assert_int_eq(zc_store_sync(j.file, ZC_LEVEL_STORED), 0);
        job_close(&j, ZC_LEVEL_STORED); /* as MPI_File_close: all is stored before any closes */
    }
    down();
}
END_TEST

/* The set changes while bytes of the last one are unwritten: they are written back before the
 * open. */
START_TEST(staged_bytes_of_another_set)
{
    struct zc_cache_config lazy = ZC_CACHE_CONFIG_DEFAULT;
    struct job j;

    lazy.capacity = 64 * PAGE;
    lazy.page_size = PAGE;
    lazy.idle_ms = 0;
    lazy.level = ZC_LEVEL_STAGED;
    up_with(&lazy, &lazy);
    job_is_on(&j, "ab");
    job_write(&j, 1);
    zc_store_fault_delay(rigs[0].store, ZC_FAULT_WRITE, 2000);
    zc_store_fault_delay(rigs[1].store, ZC_FAULT_WRITE, 2000);
    job_close(&j, ZC_LEVEL_STAGED);
    job_is_on(&j, "ba");
    job_reads(&j, 1);
    job_write(&j, 2);
    job_close(&j, ZC_LEVEL_STAGED);
    job_is_on(&j, "ab");
    job_reads(&j, 2);
    job_close(&j, ZC_LEVEL_STORED);
    down();
}
END_TEST

/* Two sets at a time would each cache what the other writes. */
START_TEST(a_second_set_is_refused)
{
    struct job j, k;
    int rc;

    up();
    job_is_on(&j, "a");
    rc = job_begin(&k, "ab", BLOCK);
    ck_assert_int_eq(rc, -EBUSY);
    ck_assert_msg(strstr(zc_error_text(rc), "/f is open through another set of daemons") != NULL,
                  "%s", zc_error_text(rc));
    ck_assert_msg(strstr(zc_error_text(rc), "ZCACHE_DAEMONS") != NULL, "%s", zc_error_text(rc));
    job_close(&k, ZC_LEVEL_STORED);
    job_write(&j, 1);
    job_is_on(&k, "a"); /* the same set is accepted */
    job_reads(&k, 1);
    job_close(&k, ZC_LEVEL_STORED);
    job_close(&j, ZC_LEVEL_STORED);
    job_is_on(&k, "ab");
    job_reads(&k, 1);
    job_close(&k, ZC_LEVEL_STORED);
    down();
}
END_TEST

/* ---- a client that is killed ---- */

/* Its session lasts until its silence limit; it prevents an open by another set no longer than
 * that, and what that set writes is read. */
START_TEST(the_set_of_the_dead)
{
    struct zc_msg m = {
        .type = ZC_T_OPEN, .open_flags = RW, .set = 12345, .daemons = 1, .path = {"/f", 2}};
    struct raw raw;
    struct job j;

    up();
    job_is_on(&j, "a");
    job_write(&j, 1);
    job_close(&j, ZC_LEVEL_STORED);
    raw_up(&raw, &rigs[0]);
    m.session = raw_hello(&raw, 1500, ZC_PROTOCOL);
    raw_call(&raw, &m);
    ck_assert_int_eq(raw.last.status, 0);
    ck_assert_uint_eq(counter(0, "handles"), 1);
    job_is_on(&j, "ab");
    ck_assert_uint_eq(counter(0, "sessions_lost"), 1);
    job_write(&j, 2);
    job_close(&j, ZC_LEVEL_STORED);
    job_is_on(&j, "a");
    job_reads(&j, 2);
    job_close(&j, ZC_LEVEL_STORED);
    zc_tp_close(raw.tp);
    down();
}
END_TEST

/* Transport of a daemon that gets no processor for a while. */
static int (*loop_progress)(struct zc_tp *tp, int timeout_ms);
static atomic_uint stall_ms;

static int stalled_progress(struct zc_tp *tp, int timeout_ms)
{
    zc_clock_sleep(atomic_exchange(&stall_ms, 0) * ZC_NS_PER_MS);
    return loop_progress(tp, timeout_ms);
}

static int open_stalled(const struct zc_tp_config *cfg, struct zc_tp **out)
{
    static struct zc_tp_ops ops;
    int rc = zc_tp_loop_open(cfg, out);

    if (rc == 0) {
        ops = *(*out)->ops;
        loop_progress = ops.progress;
        ops.progress = stalled_progress;
        (*out)->ops = &ops;
    }
    return rc;
}

static void *opens_through_ab(void *job)
{
    return (void *)(intptr_t)job_begin(job, "ab", BLOCK);
}

/* The time granted to a silent client does not count as a heartbeat. */
START_TEST(the_set_of_the_dead_at_a_busy_daemon)
{
    struct raw raw;
    struct zc_msg m;
    pthread_t opener;
    struct job j;
    void *rc;

    rig_transport = open_stalled;
    up();
    rig_transport = zc_tp_loop_open;
    job_is_on(&j, "a");
    job_close(&j, ZC_LEVEL_STORED);
    raw_up(&raw, &rigs[0]);
    m = (struct zc_msg){.type = ZC_T_OPEN,
                        .version = ZC_PROTOCOL,
                        .session = raw_hello(&raw, 3000, ZC_PROTOCOL),
                        .open_flags = RW,
                        .set = 12345,
                        .daemons = 1,
                        .path = {"/f", 2}};
    raw_call(&raw, &m);
    ck_assert_int_eq(raw.last.status, 0);
    ck_assert_int_eq(pthread_create(&opener, NULL, opens_through_ab, &j), 0);
    zc_clock_sleep(500 * ZC_NS_PER_MS); /* it waits */
    atomic_store(&stall_ms, 1500);
    pthread_join(opener, &rc);
    ck_assert_int_eq((int)(intptr_t)rc, 0);
    ck_assert_uint_eq(counter(0, "sessions_lost"), 1);
    job_close(&j, ZC_LEVEL_STORED);
    zc_tp_close(raw.tp);
    down();
}
END_TEST

/* ---- blocks of another size ---- */

static void opens_in_pages(struct raw *raw, uint32_t silence_ms)
{
    struct zc_msg m = {.type = ZC_T_OPEN, .version = ZC_PROTOCOL};

    raw_up(raw, &rigs[1]);
    m.session = raw_hello(raw, silence_ms, ZC_PROTOCOL);
    m.open_flags = RW | ZC_OPEN_PLACED;
    m.block_size = PAGE;
    m.path = (struct zc_bytes){"/f", 2};
    raw_call(raw, &m);
    ck_assert_int_eq(raw->last.status, 0);
    ck_assert_uint_eq(raw->last.block_size, PAGE);
}

/* One daemon has evicted a killed client, the other one not yet. */
START_TEST(the_blocks_of_the_dead)
{
    struct raw raw;
    struct job j;

    up();
    job_is_on(&j, "ab");
    job_write(&j, 1);
    job_close(&j, ZC_LEVEL_STORED);
    opens_in_pages(&raw, 1500);
    job_is_on(&j, "ab");
    ck_assert_uint_eq(j.attr.block_size, BLOCK);
    ck_assert_uint_eq(counter(1, "sessions_lost"), 1);
    job_reads(&j, 1);
    job_close(&j, ZC_LEVEL_STORED);
    zc_tp_close(raw.tp);
    down();
}
END_TEST

START_TEST(the_blocks_of_the_living)
{
    struct zc_net *net = rig_net(10000);
    struct zc_attr attr = {.block_size = PAGE};
    struct zc_client *c;
    uint64_t handle;
    struct job j;
    int rc;

    up();
    job_is_on(&j, "ab");
    job_write(&j, 1); /* the file is remembered with its blocks */
    job_close(&j, ZC_LEVEL_STORED);
    c = rig_connect(&rigs[1], net);
    ck_assert_int_eq(zc_client_open(c, "/f", RW | ZC_OPEN_PLACED, 0, &handle, &attr), 0);
    ck_assert_uint_eq(attr.block_size, PAGE);
    rc = job_begin(&j, "ab", BLOCK);
    ck_assert_int_eq(rc, -EBUSY);
    ck_assert_msg(strstr(zc_error_text(rc), "/f is open here in blocks of 4096") != NULL, "%s",
                  zc_error_text(rc));
    job_close(&j, ZC_LEVEL_STORED);
    ck_assert_int_eq(zc_client_close(c, handle, ZC_LEVEL_STORED), 0);
    job_is_on(&j, "ab");
    job_reads(&j, 1);
    job_close(&j, ZC_LEVEL_STORED);
    zc_client_disconnect(c);
    zc_net_destroy(net);
    down();
}
END_TEST

/* ---- sync ---- */

/* What others changed while it is open is seen after a sync, behind two caches. */
START_TEST(a_refresh_reaches_the_daemons)
{
    struct zc_cache_config cfg = ZC_CACHE_CONFIG_DEFAULT;
    struct iovec iov = {(void *)(uintptr_t) "other", 5};
    struct zc_attr attr = {.block_size = BLOCK};
    struct zc_cache *agg;
    struct zc_handle *h;
    struct zc_sfile *sf;
    unsigned char buf[5];
    struct job j;

    up();
    job_is_on(&j, "ab");
    job_write(&j, 1);
    cfg.capacity = 8 * BLOCK;
    cfg.page_size = BLOCK;
    cfg.transient = true;
    ck_assert_int_eq(zc_cache_create(&cfg, j.store, &agg), 0);
    ck_assert_int_eq(zc_cache_open(agg, "/f", RW, 0, &h, &attr), 0);
    ck_assert_int_eq(zc_cache_flush(h, ZC_LEVEL_STORED), 0);
    job_reads(&j, 1);
    ck_assert_int_eq(zc_cache_read(h, buf, 5, BLOCK), 5);
    expect(buf, 5, BLOCK, 1);
    attr = (struct zc_attr){0};
    ck_assert_int_eq(zc_store_open_file(shared, "/f", RW, 0, &sf, &attr), 0);
    for (unsigned i = 0; i < 2; i++)
        ck_assert_int_eq(zc_store_pwritev(sf, &iov, 1, i * BLOCK), 5);
    zc_store_close_file(sf, ZC_LEVEL_VISIBLE);
    ck_assert_int_eq(zc_cache_flush(h, ZC_LEVEL_STORED), 0);
    ck_assert_int_eq(zc_cache_refresh(h), 0);
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_int_eq(zc_cache_read(h, buf, 5, i * BLOCK), 5);
        ck_assert_mem_eq(buf, "other", 5);
    }
    ck_assert_int_eq(zc_cache_close(h), 0);
    zc_cache_drain(agg);
    zc_cache_destroy(agg);
    job_close(&j, ZC_LEVEL_STORED);
    down();
}
END_TEST

/* ---- pages and blocks ---- */

/* Blocks that are not a multiple of a page would share one between two daemons. */
START_TEST(no_page_is_of_two_daemons)
{
    struct job j;

    up();
    ck_assert_int_eq(job_begin(&j, "ab", PAGE + PAGE / 2), 0);
    ck_assert_uint_eq(j.attr.block_size, 2 * PAGE);
    job_write(&j, 1);
    job_close(&j, ZC_LEVEL_STORED);
    down();
}
END_TEST

/* The same if one daemon has larger pages than the other. */
START_TEST(daemons_with_pages_of_two_sizes)
{
    struct zc_cache_config small = ZC_CACHE_CONFIG_DEFAULT, large = small;
    struct job j;
    int rc;

    small.capacity = large.capacity = 64 * PAGE;
    small.page_size = PAGE;
    large.page_size = 8 * PAGE;
    up_with(&small, &large);
    rc = job_begin(&j, "ab", PAGE);
    ck_assert_int_eq(rc, -EINVAL);
    ck_assert_msg(strstr(zc_error_text(rc), "--page-size") != NULL, "%s", zc_error_text(rc));
    job_close(&j, ZC_LEVEL_STORED);
    rc = job_begin(&j, "ba", PAGE);
    ck_assert_msg(rc == 0, "%s", rc ? zc_error_text(rc) : "");
    ck_assert_uint_eq(j.attr.block_size, 8 * PAGE);
    job_close(&j, ZC_LEVEL_STORED);
    down();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sets of daemons");

    zc_log_init(NULL);
    zc_clock = zc_clock_sim();
    CASE(s, "sets", 30, the_creator_is_told, sets_one_after_the_other, staged_bytes_of_another_set,
         a_second_set_is_refused, the_set_of_the_dead, the_set_of_the_dead_at_a_busy_daemon);
    CASE(s, "blocks", 30, the_blocks_of_the_dead, the_blocks_of_the_living);
    CASE(s, "sync", 30, a_refresh_reaches_the_daemons);
    CASE(s, "pages", 30, no_page_is_of_two_daemons, daemons_with_pages_of_two_sizes);
    return run_suite(s);
}
