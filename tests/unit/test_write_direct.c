/* test_write_direct.c - direct writes past the cache: their claims, and accesses that wait for
 * them. */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "check_main.h"
#include "zc_cache.h"
#include "zc_log.h"
#include "zc_store_fault.h"
#include "zc_store_mem.h"

enum { PAGE = 4096, PAGES = 4, NEW = ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE };

static struct zc_store *store;
static struct zc_cache *cache;
static struct zc_handle *file;

static void setup(void)
{
    struct zc_cache_config cfg = ZC_CACHE_CONFIG_DEFAULT;
    struct zc_attr attr = {0};
    struct zc_store *mem;

    cfg.page_size = PAGE;
    cfg.capacity = PAGES * PAGE;
    cfg.high_watermark = 100;
    cfg.low_watermark = 50;
    cfg.idle_ms = 0;
    ck_assert_int_eq(zc_store_mem_create(&mem), 0);
    ck_assert_int_eq(zc_store_fault_create(mem, &store), 0);
    ck_assert_int_eq(zc_cache_create(&cfg, store, &cache), 0);
    ck_assert_int_eq(zc_cache_open(cache, "/f", NEW, 0644, &file, &attr), 0);
}

static void teardown(void)
{
    ck_assert_int_eq(zc_cache_close(file), 0);
    ck_assert_int_eq(zc_cache_drain(cache), 0);
    zc_cache_destroy(cache);
    zc_store_destroy(store);
}

static struct zc_cache_stats stats(void)
{
    struct zc_cache_stats st;

    zc_cache_stats(cache, &st);
    return st;
}

static void expect(uint64_t off, size_t len, int c)
{
    char *buf = malloc(len);

    ck_assert_int_eq(zc_cache_read(file, buf, len, off), (ssize_t)len);
    expect_all(buf, len, c, "file");
    free(buf);
}

static ssize_t around(uint64_t off, size_t len, int c)
{
    char *buf = malloc(len);
    ssize_t rc;

    memset(buf, c, len);
    rc = zc_cache_write_direct(file, buf, len, off);
    free(buf);
    return rc;
}

/* A call in a thread of its own. */
struct call {
    pthread_t thread;
    uint64_t off;
    size_t len;
    int c;
    ssize_t rc;
};

static void *call_around(void *arg)
{
    struct call *k = arg;

    k->rc = around(k->off, k->len, k->c);
    return NULL;
}

static void *call_expect(void *arg)
{
    struct call *k = arg;

    expect(k->off, k->len, k->c);
    return NULL;
}

static void *call_truncate(void *arg)
{
    struct call *k = arg;

    k->rc = zc_cache_truncate(file, k->off);
    return NULL;
}

static void start(struct call *k, void *(*fn)(void *), uint64_t off, size_t len, int c)
{
    *k = (struct call){.off = off, .len = len, .c = c};
    ck_assert_int_eq(pthread_create(&k->thread, NULL, fn, k), 0);
}

static ssize_t finish(struct call *k)
{
    pthread_join(k->thread, NULL);
    return k->rc;
}

static void wait_held(unsigned n)
{
    while (zc_store_fault_held(store) != n)
        sched_yield();
}

/* The edges go through the cache; whole pages do not and are not cached. */
START_TEST(whole_pages_only)
{
    ck_assert_int_eq(around(PAGE / 2, 3 * PAGE, 'a'), 3 * PAGE);
    ck_assert_uint_eq(stats().around_bytes, 2 * PAGE);
    ck_assert_uint_eq(stats().dirty_bytes, PAGE);
    ck_assert_uint_eq(stats().used_bytes, 2 * PAGE);
    ck_assert_uint_eq(zc_cache_size(file), PAGE / 2 + 3 * PAGE);
    ck_assert_uint_eq(zc_cache_room(file), (PAGES - 3) * PAGE); /* one stays for readers */
    expect(PAGE / 2, 3 * PAGE, 'a');
    expect(0, PAGE / 2, 0);
}
END_TEST

/* A page that is cached, dirty or clean, is written in the cache: no stale copy stays. */
START_TEST(cached_pages_go_through)
{
    char byte = 'x';

    ck_assert_int_eq(zc_cache_write(file, &byte, 1, PAGE + 5), 1);
    expect(0, 1, 0);
    ck_assert_int_eq(around(0, 6 * PAGE, 'b'), 6 * PAGE);
    ck_assert_uint_eq(stats().around_bytes, 4 * PAGE);
    expect(0, 6 * PAGE, 'b');
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_STORED), 0);
    zc_cache_evict(cache);
    expect(0, 6 * PAGE, 'b');
}
END_TEST

/* The store's old bytes are neither read nor cached: accesses to the pages wait. */
START_TEST(readers_wait)
{
    struct call w, r[2];

    ck_assert_int_eq(around(0, 4 * PAGE, 'o'), 4 * PAGE);
    zc_store_fault_hold(store, ZC_FAULT_WRITE);
    start(&w, call_around, 0, 4 * PAGE, 'n');
    wait_held(1);
    start(&r[0], call_expect, 10, 20, 'n');
    start(&r[1], call_expect, 3 * PAGE, PAGE, 'n');
    while (stats().waiting_room != 2)
        sched_yield();
    zc_store_fault_release(store);
    ck_assert_int_eq(finish(&w), 4 * PAGE);
    finish(&r[0]);
    finish(&r[1]);
}
END_TEST

START_TEST(truncation_waits)
{
    struct call w, t;

    zc_store_fault_hold(store, ZC_FAULT_WRITE | ZC_FAULT_TRUNCATE);
    start(&w, call_around, 0, 8 * PAGE, 'n');
    wait_held(1);
    start(&t, call_truncate, PAGE, 0, 0);
    for (int i = 0; i < 1000; i++) { /* it must not even begin */
        ck_assert_uint_le(zc_store_fault_held(store), 1);
        sched_yield();
    }
    zc_store_fault_release(store);
    ck_assert_int_eq(finish(&w), 8 * PAGE);
    ck_assert_int_eq(finish(&t), 0);
    ck_assert_uint_eq(zc_cache_size(file), PAGE);
    expect(0, PAGE, 'n');
    ck_assert_int_eq(around(2 * PAGE, PAGE, 'm'), PAGE);
    expect(PAGE, PAGE, 0);
}
END_TEST

/* The call itself returns the error, and nothing stays claimed. */
START_TEST(errors_are_told)
{
    ck_assert_int_eq(around(0, 2 * PAGE, 'a'), 2 * PAGE);
    zc_store_fault_set(store, ZC_FAULT_WRITE, 1, 1, ENOSPC);
    ck_assert_int_eq(around(2 * PAGE, 2 * PAGE, 'b'), -ENOSPC);
    ck_assert_msg(strstr(zc_error_text(ENOSPC), "/f") != NULL, "%s", zc_error_text(ENOSPC));
    ck_assert_uint_eq(zc_cache_size(file), 2 * PAGE);
    ck_assert_int_eq(around(2 * PAGE, 2 * PAGE, 'c'), 2 * PAGE);
    expect(2 * PAGE, 2 * PAGE, 'c');
    ck_assert_int_eq(around(UINT64_MAX - PAGE, 4, 'c'), -EFBIG);
}
END_TEST

/* Threads in ranges of their own, whose edges share pages, in a cache of four pages. */
enum { THREADS = 4, SPAN = 20 * PAGE + 1000, ROUNDS = 60 };

static void *worker(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg;
    uint64_t base = seed * (uint64_t)SPAN;
    char *model = calloc(1, SPAN), *in = malloc(SPAN);

    for (int i = 0; i < ROUNDS; i++) {
        size_t off = (size_t)rand_r(&seed) % SPAN;
        size_t len = 1 + (size_t)rand_r(&seed) % (SPAN - off);
        ssize_t n;

        if (rand_r(&seed) % 4 == 0) {
            n = zc_cache_read(file, in, len, base + off);
            if (n < 0 || memcmp(in, model + off, (size_t)n))
                ck_abort_msg("a read is wrong");
            continue;
        }
        memset(model + off, rand_r(&seed), len);
        n = rand_r(&seed) % 3 ? zc_cache_write_direct(file, model + off, len, base + off)
                              : zc_cache_write(file, model + off, len, base + off);
        ck_assert_int_eq(n, (ssize_t)len);
    }
    ck_assert_int_eq(zc_cache_write(file, model, SPAN, base), SPAN);
    free(in);
    return model;
}

START_TEST(against_a_model)
{
    pthread_t t[THREADS];
    char *in = malloc(SPAN);
    void *model;

    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, worker, (void *)i);
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(t[i], &model);
        ck_assert_int_eq(zc_cache_read(file, in, SPAN, i * (uint64_t)SPAN), SPAN);
        ck_assert_mem_eq(in, model, SPAN);
        free(model);
    }
    ck_assert_uint_gt(stats().around_bytes, 0);
    free(in);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("around");
    TCase *c = tcase_create("around");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, stretched(120));
    tcase_add_test(c, whole_pages_only);
    tcase_add_test(c, cached_pages_go_through);
    tcase_add_test(c, readers_wait);
    tcase_add_test(c, truncation_waits);
    tcase_add_test(c, errors_are_told);
    tcase_add_test(c, against_a_model);
    suite_add_tcase(s, c);
    return run_suite(s);
}
