/* test_rpc_view.c - files exported to clients, and transfers through views, over the loop. */
#include "config.h"

#include <errno.h>
#include <stdio.h>

#include "rig.h"
#include "zc_net_internal.h"
#include "zc_view.h"

enum { SPACE = 600000 };

static struct rig rig;
static struct zc_net *net;
static struct zc_client *client;
static struct zc_handle *exported;
static uint64_t number;

static void up(const struct zc_cache_config *cfg)
{
    struct zc_attr attr = {0};

    rig_up(&rig, cfg, NULL);
    net = rig_net(60000);
    client = rig_connect(&rig, net);
    ck_assert_int_eq(zc_cache_open(rig.cache, "/exported",
                                   ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE, 0600, &exported,
                                   &attr),
                     0);
    number = zc_server_export(rig.server, exported, NULL);
    ck_assert_uint_ne(number, 0);
}

static void down(void)
{
    zc_server_unexport(rig.server, number);
    ck_assert_int_eq(zc_client_write(client, number, "x", 1, 0), -EBADF);
    ck_assert_int_eq(zc_cache_close(exported), 0);
    zc_client_disconnect(client);
    zc_net_destroy(net);
    rig_down(&rig);
}

/* Pieces of random length at random places: nothing repeats. */
static struct zc_view *irregular(unsigned *seed, unsigned n)
{
    struct zc_view_builder *b;
    struct zc_view *v;
    int64_t at = 0;

    ck_assert_int_eq(zc_view_builder_create(&b), 0);
    for (unsigned i = 0; i < n; i++) {
        int64_t len = 1 + rand_r(seed) % 50;

        at += rand_r(seed) % 70;
        ck_assert_int_eq(zc_view_add(b, at, len), 0);
        at += len;
    }
    ck_assert_int_eq(zc_view_finish(b, at + rand_r(seed) % 40, &v), 0);
    return v;
}

/* All clients of an exported file share its handle; a failed sync is reported to each of them, also
 * if it was made for one alone and the next one succeeds, and permanently. */
START_TEST(failed_sync_is_told_to_all)
{
    struct zc_client *other;

    up(NULL);
    other = rig_connect(&rig, net);
    ck_assert_int_eq(zc_client_write(other, number, "abc", 3, 0), 3);
    zc_store_fault_set(rig.store, ZC_FAULT_SYNC, 1, 1, EIO);
    ck_assert_int_eq(zc_client_flush(client, number, ZC_LEVEL_DURABLE), -EIO);
    ck_assert_int_eq(zc_client_flush(other, number, ZC_LEVEL_DURABLE), -EIO);
    ck_assert_int_eq(zc_client_flush(client, number, ZC_LEVEL_DURABLE), -EIO);
    ck_assert_int_eq(zc_cache_flush(exported, ZC_LEVEL_DURABLE), -EIO);
    ck_assert_int_eq(zc_client_truncate(client, number, 0), 0);
    ck_assert_int_eq(zc_client_flush(client, number, ZC_LEVEL_DURABLE), 0);
    ck_assert_int_eq(zc_client_flush(other, number, ZC_LEVEL_DURABLE), 0);
    ck_assert_int_eq(zc_cache_flush(exported, ZC_LEVEL_DURABLE), 0);
    zc_client_disconnect(other);
    down();
}
END_TEST

/* One round of syncs, one of each client, fails on all of them or on none: the first asks while the
 * disk is full, the second when there is room again, the owner itself last. */
START_TEST(a_round_of_syncs_has_one_verdict)
{
    struct zc_client *other;

    up(NULL);
    other = rig_connect(&rig, net);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(zc_client_write(other, number, "abc", 3, 0), 3);
        zc_store_fault_set(rig.store, ZC_FAULT_WRITE, 1, UINT32_MAX, ENOSPC);
        ck_assert_int_eq(zc_client_flush(client, number, ZC_LEVEL_STORED), -ENOSPC);
        zc_store_fault_set(rig.store, 0, 0, 0, 0);
        ck_assert_int_eq(zc_client_flush(other, number, ZC_LEVEL_STORED), -ENOSPC);
        ck_assert_int_eq(zc_cache_flush(exported, ZC_LEVEL_STORED), -ENOSPC);
        ck_assert_int_eq(zc_cache_flush(exported, ZC_LEVEL_STORED), 0);
        ck_assert_int_eq(zc_client_flush(other, number, ZC_LEVEL_STORED), 0);
        ck_assert_int_eq(zc_client_flush(client, number, ZC_LEVEL_STORED), 0);
    }
    zc_client_disconnect(other);
    down();
}
END_TEST

START_TEST(exported_file)
{
    struct zc_attr attr;
    struct zc_later l;
    char buf[4] = "";

    up(NULL);
    ck_assert_int_eq(zc_client_write(client, number, "abc", 3, 1000), 3);
    ck_assert_int_eq(zc_cache_read(exported, buf, 3, 1000), 3);
    ck_assert_str_eq(buf, "abc");
    ck_assert_int_eq(zc_client_getattr(client, number, &attr), 0);
    ck_assert_uint_eq(attr.size, 1003);
    zc_client_refresh_start(client, number, ZC_LEVEL_STORED, &l);
    ck_assert_int_eq(zc_client_wait(client, &l), 0);
    ck_assert_int_eq(zc_client_close(client, number, ZC_LEVEL_STORED), -EBADF);
    ck_assert_int_eq(zc_client_write(client, number + 1, "x", 1, 0), -EBADF);
    ck_assert_int_eq(zc_client_write(client, number ^ 1ull << 40, "x", 1, 0), -EBADF);
    down();
}
END_TEST

static ssize_t vread(struct zc_client *c, struct zc_view *v, int64_t disp, void *buf, size_t len,
                     int64_t off)
{
    return rig_through_view(c, number, false, v, disp, buf, len, off);
}

static ssize_t vwrite(struct zc_client *c, struct zc_view *v, int64_t disp, const void *buf,
                      size_t len, int64_t off)
{
    return rig_through_view(c, number, true, v, disp, buf, len, off);
}

/* Writes and reads through one view; compares everything with a plain array. */
static void through(struct zc_view *v, int64_t disp, unsigned char *model, uint64_t *size,
                    unsigned *seed, unsigned gen)
{
    static unsigned char out[SPACE], in[SPACE];
    int64_t off = rand_r(seed) % 5000, at = 0;
    size_t len = 1 + (size_t)rand_r(seed) % (gen % 3 ? 9000 : 60000);
    struct zc_view_iter it;

    ck_assert_int_eq(zc_view_start(&it, v, disp, off), 0);
    for (size_t i = 0; i < len; i++)
        out[i] = (unsigned char)rand_r(seed);
    while (at < (int64_t)len) {
        int64_t to, n;

        ck_assert_int_eq(zc_view_next(&it, (int64_t)len - at, &to, &n), 0);
        if (to + n > SPACE) { /* stay inside the model */
            len = (size_t)at;
            break;
        }
        memcpy(model + to, out + at, (size_t)n);
        if ((uint64_t)(to + n) > *size)
            *size = (uint64_t)(to + n);
        at += n;
    }
    ck_assert_int_eq(vwrite(client, v, disp, out, len, off), (ssize_t)len);
    memset(in, 0x55, sizeof in);
    ck_assert_int_eq(vread(client, v, disp, in, len, off), (ssize_t)len);
    ck_assert_mem_eq(in, out, len);
    ck_assert(in[len] == 0x55);
}

static void random_views(const struct zc_cache_config *cfg)
{
    static unsigned char model[SPACE], in[SPACE];
    uint64_t size = 0;
    unsigned seed = 77;

    memset(model, 0, sizeof model);
    up(cfg);
    for (unsigned i = 0; i < cases(300); i++) {
        int64_t len = 1 + rand_r(&seed) % 64, stride = len + rand_r(&seed) % 200;
        struct zc_view *v;

        if (i % 4 == 0)
            v = irregular(&seed, 1 + (unsigned)rand_r(&seed) % 400);
        else if (i % 4 == 1) /* tiles interleave, pieces do not overlap */
            v = rig_vector(0, len, len * 7, 2, len * 2);
        else
            v = rig_vector(rand_r(&seed) % 100, len, stride, 1 + rand_r(&seed) % 300,
                           stride * 301 + rand_r(&seed) % 50);
        through(v, rand_r(&seed) % 20000, model, &size, &seed, i);
        zc_view_put(v);
    }
    ck_assert_uint_eq(zc_cache_size(exported), size);
    ck_assert_int_eq(zc_client_read(client, number, in, SPACE, 0), (ssize_t)size);
    ck_assert_mem_eq(in, model, size);
    down();
}

START_TEST(views_against_a_model)
{
    random_views(NULL);
}
END_TEST

/* Without memory for views everything uses lists. */
START_TEST(views_as_lists)
{
    rig_views = 0;
    random_views(NULL);
}
END_TEST

START_TEST(views_in_two_pages)
{
    struct zc_cache_config cfg = ZC_CACHE_CONFIG_DEFAULT;

    cfg.page_size = 4096;
    cfg.capacity = 2 * 4096;
    cfg.idle_ms = 5;
    cfg.max_extents = 20;
    random_views(&cfg);
}
END_TEST

/* Long pieces go directly to and from pages: less than one page is copied through a buffer. */
START_TEST(long_pieces_are_not_copied)
{
    static unsigned char file[SPACE], in[SPACE];
    struct zc_cache_config cfg = ZC_CACHE_CONFIG_DEFAULT;
    struct zc_view *v = rig_vector(1000, 100000, 150000, 3, 500000);

    cfg.page_size = 65536;
    cfg.capacity = 64 * 65536;
    cfg.prefetch = 8;
    up(&cfg);
    fill(file, sizeof file, 0, 1);
    ck_assert_int_eq(zc_client_write(client, number, file, 420000, 0), 420000);
    for (int64_t from = 0; from < 200000; from += 33333) {
        /* to the end of the file */
        ck_assert_int_eq(vread(client, v, 0, in, sizeof in, from), 300000 - from);
        for (int64_t at = from; at < 300000; at++)
            if (in[at - from] != file[1000 + at / 100000 * 150000 + at % 100000])
                ck_abort_msg("wrong byte at view offset %lld", (long long)at);
    }
    zc_view_put(v);
    down();
}
END_TEST

START_TEST(end_of_file_in_a_view)
{
    struct zc_view *v = rig_vector(0, 10, 100, 1000, 100000);
    char buf[600];

    up(NULL);
    ck_assert_int_eq(zc_client_write(client, number, "0123456789", 10, 5000), 10); /* piece 50 */
    ck_assert_int_eq(vread(client, v, 0, buf, sizeof buf, 0), 510);
    ck_assert_mem_eq(buf + 500, "0123456789", 10);
    ck_assert_int_eq(vread(client, v, 4, buf, sizeof buf, 0), 506); /* the piece is cut */
    ck_assert_int_eq(vread(client, v, 5010, buf, sizeof buf, 0), 0);
    zc_view_put(v);
    down();
}
END_TEST

/* Threads whose pieces interleave byte by byte, all in the same pages. */
enum { WRITERS = 5, PIECES = 20000 };

static void *interleave(void *arg)
{
    int64_t me = (int64_t)(uintptr_t)arg;
    struct zc_view *v = rig_vector(0, 3, 3 * WRITERS, PIECES, 3 * WRITERS * PIECES);
    unsigned char *buf = malloc(3 * PIECES);

    for (int i = 0; i < 3 * PIECES; i++)
        buf[i] = stamp((uint64_t)(me * 3 + i / 3 * 3 * WRITERS + i % 3), 9);
    for (int64_t at = 0; at < 3 * PIECES; at += 6000)
        ck_assert_int_eq(vwrite(client, v, me * 3, buf + at, 6000, at), 6000);
    zc_view_put(v);
    free(buf);
    return NULL;
}

START_TEST(false_sharing)
{
    static unsigned char in[3 * WRITERS * PIECES];
    pthread_t t[WRITERS];

    up(NULL);
    for (uintptr_t i = 0; i < WRITERS; i++)
        pthread_create(&t[i], NULL, interleave, (void *)i);
    for (int i = 0; i < WRITERS; i++)
        pthread_join(t[i], NULL);
    ck_assert_int_eq(zc_client_read(client, number, in, sizeof in, 0), (ssize_t)sizeof in);
    expect(in, sizeof in, 0, 9);
    down();
}
END_TEST

struct sender {
    unsigned seed, rounds, pieces;
    ssize_t worst;
};

/* Writes through a series of new views, none of which the server has seen. */
static void *new_views(void *arg)
{
    struct sender *w = arg;
    char out[64] = "";

    w->worst = sizeof out;
    for (unsigned i = 0; i < w->rounds; i++) {
        struct zc_view *v = irregular(&w->seed, w->pieces);
        ssize_t n;

        n = vwrite(client, v, 0, out, sizeof out, 0);
        if (n < w->worst)
            w->worst = n;
        zc_view_put(v);
    }
    return NULL;
}

/* The flushers of a cache are threads of one client; their views of several messages must not
 * disturb each other. */
START_TEST(threads_send_views_of_their_own)
{
    enum { THREADS = 4, ROUNDS = 4 };
    struct sender w[THREADS];
    pthread_t t[THREADS];

    up(NULL);
    for (unsigned i = 0; i < THREADS; i++) {
        w[i] = (struct sender){i, ROUNDS, 20000, 0};
        pthread_create(&t[i], NULL, new_views, &w[i]);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(t[i], NULL);
        ck_assert_int_eq(w[i].worst, 64);
    }
    ck_assert_uint_eq(rig_stat(client, "requests_failed"), 0);
    down();
}
END_TEST

/* Of a cache of eight pages seven may be unwritten.  Requests beyond wait, and do not take the few
 * buffers from requests whose pages are there. */
START_TEST(requests_without_room_leave_buffers)
{
    enum { PAGE = 64 << 10, PART = PAGE / 2, PAGES = 7, WAITING = 16 };
    struct zc_cache_config cfg = ZC_CACHE_CONFIG_DEFAULT;
    static unsigned char out[PART], in[PAGE];
    struct zc_vio waiting[WAITING];
    struct zc_client *other;
    struct zc_view *v;

    cfg.capacity = 8 * PAGE;
    cfg.page_size = PAGE;
    cfg.idle_ms = 0;
    up(&cfg);
    other = rig_connect(&rig, net);
    v = rig_vector(0, 4096, 8192, 1000, 8192000);
    zc_store_fault_hold(rig.store, ZC_FAULT_WRITE);
    memset(out, 1, sizeof out);
    for (int i = 0; i < PAGES; i++)
        ck_assert_int_eq(vwrite(client, v, 0, out, PART, i * PART), PART);
    for (int i = 0; i < WAITING; i++) {
        waiting[i] = (struct zc_vio){.write = true,
                                     .handle = number,
                                     .view = v,
                                     .buf = out,
                                     .len = PART,
                                     .off = (uint64_t)(PAGES + i) * PART};
        ck_assert_int_eq(zc_vio_aim(client, &waiting[i]), 0);
        ck_assert_uint_eq(waiting[i].len, PART);
        zc_vio_start(client, &waiting[i]);
    }
    WAIT_FOR(rig_stat(other, "requests_active") > WAITING);
    ck_assert_int_eq(vwrite(other, v, 4096, out, PART, 0), PART);
    zc_store_fault_release(rig.store);
    for (int i = 0; i < WAITING; i++)
        ck_assert_int_eq(zc_vio_wait(client, &waiting[i]), PART);
    ck_assert_int_eq(zc_client_read(client, number, in, PAGE, 0), PAGE);
    expect_all(in, PAGE, 1, "the page of both");
    zc_view_put(v);
    zc_client_disconnect(other);
    down();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("rpc view");

    zc_log_init(NULL);
    CASE(s, "exported", 60, exported_file, failed_sync_is_told_to_all,
         a_round_of_syncs_has_one_verdict);
    CASE(s, "views", 240, views_against_a_model, views_as_lists, views_in_two_pages,
         long_pieces_are_not_copied, end_of_file_in_a_view, false_sharing,
         threads_send_views_of_their_own, requests_without_room_leave_buffers);
    return run_suite(s);
}
