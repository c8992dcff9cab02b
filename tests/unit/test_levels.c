/* test_levels.c - how far a server's writes have come: through it, without a cache, counted. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "rig.h"
#include "zc_store_remote.h"
#include "zc_view.h"

enum { PAGE = 4096, RW = ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE };

static struct rig rig;
static struct zc_net *net;
static struct zc_client *client;
static struct zc_cache_config cfg;

/* Nothing is written back by itself. */
static void lazy(void)
{
    cfg = (struct zc_cache_config)ZC_CACHE_CONFIG_DEFAULT;
    cfg.capacity = 64 * PAGE;
    cfg.page_size = PAGE;
    cfg.idle_ms = 0;
    cfg.high_watermark = 100;
    cfg.retry_ms = 1000000;
    cfg.level = ZC_LEVEL_STAGED;
}

static void up(void)
{
    rig_up(&rig, &cfg, NULL);
    net = rig_net(5000);
    client = rig_connect(&rig, net);
}

static void down(void)
{
    zc_client_disconnect(client);
    zc_net_destroy(net);
    rig_down(&rig);
}

static uint64_t open_with(const char *path, unsigned flags)
{
    struct zc_attr attr = {.block_size = 8192};
    uint64_t h;
    int rc = zc_client_open(client, path, RW | flags, 0644, &h, &attr);

    ck_assert_msg(rc == 0, "open: %s", zc_error_text(rc));
    return h;
}

static void put(uint64_t h, size_t len, uint64_t off, unsigned gen)
{
    unsigned char *buf = malloc(len);

    fill(buf, len, off, gen);
    ck_assert_int_eq(zc_client_write(client, h, buf, len, off), (ssize_t)len);
    free(buf);
}

/* What the store itself has. */
static void stored(const char *path, size_t len, uint64_t off, unsigned gen)
{
    unsigned char *buf = calloc(1, len);
    struct iovec iov = {buf, len};
    struct zc_attr attr = {0};
    struct zc_sfile *f;

    ck_assert_int_eq(zc_store_open_file(rig.store, path, ZC_OPEN_READ, 0, &f, &attr), 0);
    ck_assert_int_eq(zc_store_preadv(f, &iov, 1, off), (ssize_t)len);
    zc_store_close_file(f, ZC_LEVEL_VISIBLE);
    expect(buf, len, off, gen);
    free(buf);
}

static void store_put(const char *path, const char *text, uint64_t off)
{
    struct iovec iov = {(void *)(uintptr_t)text, strlen(text)};
    struct zc_attr attr = {0};
    struct zc_sfile *f;

    ck_assert_int_eq(zc_store_open_file(rig.store, path, RW, 0600, &f, &attr), 0);
    ck_assert_int_eq(zc_store_pwritev(f, &iov, 1, off), (ssize_t)iov.iov_len);
    zc_store_close_file(f, ZC_LEVEL_VISIBLE);
}

/* ---- write-through ---- */

/* A write that is answered is in the store, small or by RMA; what other handles write to the
 * same file may wait, and nothing of a flush up to `staged` is waited for. */
START_TEST(through_writes_are_stored)
{
    static const size_t sizes[] = {1, 100, PAGE, 20000, 100001};
    uint64_t h, other;

    lazy();
    up();
    h = open_with("/f", ZC_OPEN_THROUGH);
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        put(h, sizes[i], 1000 * i, i);
        ck_assert_uint_eq(rig_stat(client, "dirty_bytes"), 0);
        stored("/f", sizes[i], 1000 * i, i);
    }
    other = open_with("/g", 0);
    put(other, 500, 0, 9);
    ck_assert_uint_eq(rig_stat(client, "dirty_bytes"), 500);
    ck_assert_int_eq(zc_client_flush(client, h, ZC_LEVEL_STAGED), 0);
    ck_assert_int_eq(zc_client_close(client, h, ZC_LEVEL_STAGED), 0);
    ck_assert_int_eq(zc_client_close(client, other, ZC_LEVEL_STORED), 0);
    down();
}
END_TEST

/* The store refuses: the writer is told, and its bytes alone are forgotten. */
START_TEST(refused_writes_are_not_kept)
{
    unsigned char buf[PAGE];
    uint64_t h, other;

    lazy();
    up();
    h = open_with("/f", ZC_OPEN_THROUGH);
    other = open_with("/f", 0);
    put(other, 10, 50, 1);
    memset(buf, 'x', sizeof buf);
    zc_store_fault_set(rig.store, ZC_FAULT_WRITE, 1, UINT32_MAX, ENOSPC);
    ck_assert_int_eq(zc_client_write(client, h, buf, 20, 100), -ENOSPC);
    ck_assert_msg(strstr(zc_error_text(ENOSPC), "/f") != NULL, "%s", zc_error_text(ENOSPC));
    ck_assert_int_eq(zc_client_write(client, h, buf, PAGE, 10 * PAGE), -ENOSPC);
    ck_assert_uint_eq(rig_stat(client, "dirty_bytes"), 10);
    ck_assert_uint_eq(rig_stat(client, "failed_bytes"), 10);
    zc_store_fault_set(rig.store, 0, 0, 0, 0);
    ck_assert_int_eq(zc_client_flush(client, other, ZC_LEVEL_STORED), 0);
    stored("/f", 10, 50, 1);
    put(h, 20, 100, 2);
    stored("/f", 20, 100, 2);
    ck_assert_int_eq(zc_client_close(client, h, ZC_LEVEL_STORED), 0);
    ck_assert_int_eq(zc_client_close(client, other, ZC_LEVEL_STORED), 0);
    down();
}
END_TEST

/* The same of pieces that lie anywhere: nothing of them can be read, nor does the file end where
 * they would.  What others have written between them, and could not be stored either, stays. */
static void refused_pieces(size_t len)
{
    static unsigned char in[30 * PAGE], there[30 * PAGE], buf[90000];
    struct iovec iov = {there, sizeof there};
    struct zc_view_builder *b;
    struct zc_sfile *sf;
    struct zc_attr attr;
    struct zc_view *v;
    uint64_t h, other;

    lazy();
    up();
    h = open_with("/f", ZC_OPEN_THROUGH);
    other = open_with("/f", 0);
    ck_assert_int_eq(zc_view_builder_create(&b), 0);
    ck_assert_int_eq(zc_view_add_run(b, 0, 10, 100, 1000), 0);
    ck_assert_int_eq(zc_view_finish(b, 100000, &v), 0);
    put(other, 10, 550, 1);
    zc_store_fault_set(rig.store, ZC_FAULT_WRITE, 1, UINT32_MAX, ENOSPC);
    memset(buf, 'x', sizeof buf);
    for (int i = 0; i < 40; i++) { /* more than there may be lists at a time */
        ck_assert_int_eq(rig_through_view(client, h, true, v, 5, buf, len, 0), -ENOSPC);
        ck_assert_uint_eq(rig_stat(client, "dirty_bytes"), 10);
        ck_assert_uint_eq(rig_stat(client, "failed_bytes"), 10);
    }
    ck_assert_uint_eq(rig_stat(client, "views"), rig_views ? 1 : 0);
    ck_assert_int_eq(zc_store_stat(rig.store, "/f", &attr), 0);
    zc_store_fault_set(rig.store, 0, 0, 0, 0);
    ck_assert_int_eq(zc_client_flush(client, other, ZC_LEVEL_STORED), 0);
    stored("/f", 10, 550, 1);
    ck_assert_int_eq(zc_store_stat(rig.store, "/f", &attr), 0);
    ck_assert_int_eq(zc_client_read(client, h, in, sizeof in, 0), (ssize_t)attr.size);
    ck_assert_int_eq(zc_store_open_file(rig.store, "/f", ZC_OPEN_READ, 0, &sf, &attr), 0);
    ck_assert_int_eq(zc_store_preadv(sf, &iov, 1, 0), (ssize_t)attr.size);
    zc_store_close_file(sf, ZC_LEVEL_VISIBLE);
    ck_assert_mem_eq(in, there, attr.size); /* first halves of store writes */
    ck_assert_int_eq(rig_through_view(client, h, true, v, 5, buf, len, 0), (ssize_t)len);
    ck_assert_uint_eq(rig_stat(client, "dirty_bytes"), 0);
    ck_assert_int_eq(zc_client_close(client, h, ZC_LEVEL_STORED), 0);
    ck_assert_int_eq(zc_client_close(client, other, ZC_LEVEL_STORED), 0);
    zc_view_put(v);
    down();
}

START_TEST(refused_pieces_are_not_kept)
{
    refused_pieces(900);
    refused_pieces(9000);
}
END_TEST

/* No memory for views: all of it by lists. */
START_TEST(refused_lists_are_not_kept)
{
    rig_views = 0;
    refused_pieces(900);
    refused_pieces(9000);
}
END_TEST

/* A sync that failed is for syncs and closes to tell, all of them, not for a write that went well.
 */
START_TEST(writes_do_not_take_the_errors_of_syncs)
{
    uint64_t h, other;

    lazy();
    up();
    h = open_with("/f", ZC_OPEN_THROUGH);
    other = open_with("/f", 0);
    put(h, 100, 0, 1);
    zc_store_fault_set(rig.store, ZC_FAULT_SYNC, 1, 1, EIO);
    ck_assert_int_eq(zc_client_flush(client, other, ZC_LEVEL_DURABLE), -EIO);
    put(h, 100, 0, 2);
    ck_assert_int_eq(zc_client_close(client, h, ZC_LEVEL_STORED), -EIO);
    ck_assert_int_eq(zc_client_close(client, other, ZC_LEVEL_STORED), -EIO);
    ck_assert_int_eq(zc_client_unlink(client, "/f"), 0); /* which ends it */
    down();
}
END_TEST

/* ---- without a cache ---- */

/* Pages are buffers: nothing stays in them, however many clients there are and however much
 * larger than them a request is. */
START_TEST(nothing_is_cached)
{
    static unsigned char in[200000];
    uint64_t h;

    lazy();
    cfg.uncached = true;
    cfg.capacity = 8 * PAGE;
    up();
    h = open_with("/f", 0);
    put(h, sizeof in, 77, 1);
    stored("/f", sizeof in, 77, 1);
    ck_assert_uint_eq(rig_stat(client, "dirty_bytes"), 0);
    ck_assert_uint_eq(rig_stat(client, "used_bytes"), 0);
    ck_assert_int_eq(zc_client_read(client, h, in, sizeof in, 77), sizeof in);
    expect(in, sizeof in, 77, 1);
    store_put("/f", "changed behind its back", 5000);
    ck_assert_int_eq(zc_client_read(client, h, in, 23, 5000), 23);
    ck_assert_mem_eq(in, "changed behind its back", 23);
    ck_assert_int_eq(zc_client_truncate(client, h, 5005), 0);
    ck_assert_int_eq(zc_client_read(client, h, in, 100, 5000), 5);
    ck_assert_uint_eq(rig_stat(client, "used_bytes"), 0);
    ck_assert_int_eq(zc_client_close(client, h, ZC_LEVEL_STAGED), 0);
    down();
}
END_TEST

struct worker {
    pthread_t thread;
    unsigned no;
};

static void *work(void *arg)
{
    struct worker *w = arg;
    size_t len = 10 * PAGE + 100;
    unsigned char *buf = malloc(len);
    char path[20];
    uint64_t h;

    snprintf(path, sizeof path, "/%u", w->no % 2);
    h = open_with(path, 0);
    for (unsigned i = 0; i < 30; i++) {
        uint64_t off = w->no * len;

        put(h, len, off, i);
        ck_assert_int_eq(zc_client_read(client, h, buf, len, off), (ssize_t)len);
        expect(buf, len, off, i);
        stored(path, len, off, i);
    }
    ck_assert_int_eq(zc_client_close(client, h, ZC_LEVEL_STAGED), 0);
    free(buf);
    return NULL;
}

START_TEST(few_buffers_for_many)
{
    struct worker w[6];

    lazy();
    cfg.uncached = true;
    cfg.capacity = 4 * PAGE;
    up();
    for (unsigned i = 0; i < 6; i++) {
        w[i].no = i;
        ck_assert_int_eq(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
    }
    for (unsigned i = 0; i < 6; i++)
        pthread_join(w[i].thread, NULL);
    ck_assert_uint_eq(rig_stat(client, "used_bytes"), 0);
    down();
}
END_TEST

/* ---- counting ---- */

static uint64_t backlog(uint64_t h, uint32_t what)
{
    struct zc_later l;

    zc_client_backlog_start(client, h, what, &l);
    ck_assert_int_eq(zc_client_wait(client, &l), 0);
    return l.count;
}

START_TEST(backlog_of_a_server)
{
    struct zc_later l;
    uint64_t h, g;

    lazy();
    up();
    h = open_with("/f", 0);
    g = open_with("/g", 0);
    ck_assert_uint_eq(backlog(h, ZC_BACKLOG_HERE), 0);
    put(h, 10000, 5, 1);
    put(h, 10000, 105, 1);
    put(g, 7, 0, 1);
    ck_assert_uint_eq(backlog(h, ZC_BACKLOG_HERE), 10100);
    ck_assert_uint_eq(backlog(h, ZC_BACKLOG_BELOW), 0);
    ck_assert_uint_eq(backlog(g, ZC_BACKLOG_HERE), 7);
    ck_assert_int_eq(zc_client_flush(client, h, ZC_LEVEL_STORED), 0);
    ck_assert_uint_eq(backlog(h, ZC_BACKLOG_HERE), 0);
    zc_client_backlog_start(client, h, 3, &l);
    ck_assert_int_eq(zc_client_wait(client, &l), -EINVAL);
    ck_assert_uint_eq(l.count, 0);
    down();
}
END_TEST

/* An aggregator's cache over two daemons: what is in it, and what is in them. */
START_TEST(backlog_of_two_levels)
{
    struct zc_client *clients[2];
    struct zc_store *mem, *remote;
    struct zc_attr attr = {.block_size = 8192};
    struct rig rigs[2];
    struct zc_cache *agg;
    struct zc_handle *h;
    uint64_t below;
    static char buf[40000];

    lazy();
    ck_assert_int_eq(zc_store_mem_create(&mem), 0);
    net = rig_net(5000);
    for (int i = 0; i < 2; i++) {
        rig_up(&rigs[i], &cfg, borrow(mem));
        clients[i] = rig_connect(&rigs[i], net);
    }
    ck_assert_int_eq(zc_store_remote_over(net, clients, 2, &remote), 0);
    cfg.level = ZC_LEVEL_VISIBLE;
    cfg.transient = true;
    ck_assert_int_eq(zc_cache_create(&cfg, remote, &agg), 0);
    ck_assert_int_eq(zc_cache_open(agg, "/f", RW, 0600, &h, &attr), 0);
    ck_assert_int_eq(zc_cache_write(h, buf, sizeof buf, 0), sizeof buf);
    ck_assert_int_eq(zc_cache_backlog_below(h, &below), 0);
    ck_assert_uint_eq(zc_cache_backlog(h), sizeof buf);
    ck_assert_uint_eq(below, 0);
    ck_assert_int_eq(zc_cache_flush(h, ZC_LEVEL_STAGED), 0);
    ck_assert_int_eq(zc_cache_write(h, buf, 100, 100000), 100);
    ck_assert_int_eq(zc_cache_backlog_below(h, &below), 0);
    ck_assert_uint_eq(zc_cache_backlog(h), 100);
    ck_assert_uint_eq(below, sizeof buf);
    ck_assert_int_eq(zc_cache_flush_later(h, ZC_LEVEL_STORED), 0);
    do {
        ck_assert_int_eq(zc_cache_backlog_below(h, &below), 0);
    } while (zc_cache_backlog(h) + below > 0);
    ck_assert_int_eq(zc_cache_close(h), 0);
    ck_assert_int_eq(zc_cache_drain(agg), 0);
    zc_cache_destroy(agg);
    zc_store_destroy(remote);
    for (int i = 0; i < 2; i++)
        rig_down(&rigs[i]);
    zc_store_destroy(mem);
}
END_TEST

/* The lower cache holds so much that its disk refused that it takes no more of what the upper one
 * writes back.  When the disk is mended, one flush of the upper cache brings all of it there. */
START_TEST(a_full_cache_below_is_asked_to_try_again)
{
    static unsigned char buf[PAGE];
    struct zc_attr attr = {.block_size = 8192};
    struct zc_store *remote;
    struct zc_cache *agg;
    struct zc_handle *h;
    uint64_t dirty;

    lazy();
    cfg.capacity = 16 * PAGE;
    up();
    ck_assert_int_eq(zc_store_remote_over(net, &client, 1, &remote), 0);
    cfg.capacity = 64 * PAGE;
    cfg.level = ZC_LEVEL_VISIBLE;
    cfg.transient = true;
    ck_assert_int_eq(zc_cache_create(&cfg, remote, &agg), 0);
    ck_assert_int_eq(zc_cache_open(agg, "/f", RW, 0600, &h, &attr), 0);
    zc_store_fault_set(rig.store, ZC_FAULT_WRITE, 1, UINT32_MAX, ENOSPC);
    for (unsigned i = 0; i < 32; i++) {
        fill(buf, PAGE, (uint64_t)2 * i * PAGE, 1);
        ck_assert_int_eq(zc_cache_write(h, buf, PAGE, (uint64_t)2 * i * PAGE), PAGE);
    }
    ck_assert_int_eq(zc_cache_flush(h, ZC_LEVEL_STORED), -ENOSPC);
    dirty = zc_cache_backlog(h);
    ck_assert_uint_gt(dirty, 0); /* not taken below ... */
    ck_assert_uint_lt(dirty, 32 * PAGE);
    zc_store_fault_set(rig.store, 0, 0, 0, 0);
    ck_assert_msg(zc_cache_flush(h, ZC_LEVEL_STORED) == 0, "%s", zc_error_text(ENOSPC));
    for (uint64_t i = 0; i < 32; i++)
        stored("/f", PAGE, 2 * i * PAGE, 1);
    ck_assert_int_eq(zc_cache_close(h), 0);
    ck_assert_int_eq(zc_cache_drain(agg), 0);
    zc_cache_destroy(agg);
    zc_store_destroy(remote);
    rig_down(&rig);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("levels");

    zc_log_init(NULL);
    if (!getenv("ZCACHE_LOG")) /* failures are expected here */
        zc_log_to_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    CASE(s, "through", 60, through_writes_are_stored, refused_writes_are_not_kept,
         refused_pieces_are_not_kept, refused_lists_are_not_kept,
         writes_do_not_take_the_errors_of_syncs);
    CASE(s, "uncached", 60, nothing_is_cached, few_buffers_for_many);
    CASE(s, "backlog", 60, backlog_of_a_server, backlog_of_two_levels,
         a_full_cache_below_is_asked_to_try_again);
    return run_suite(s);
}
