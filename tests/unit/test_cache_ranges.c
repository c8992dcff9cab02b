/* test_cache_ranges.c - writes that fill some ranges of a page, opens of one's own, refresh. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "rig.h"

enum { PAGE = 4096, FILE_SIZE = 40 * PAGE };

static struct zc_store *mem;
static struct zc_cache *cache;

static struct zc_handle *open_flags(const char *path, unsigned flags)
{
    struct zc_attr attr = {0};
    struct zc_handle *h;
    int rc = zc_cache_open(cache, path, ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE | flags, 0600,
                           &h, &attr);

    ck_assert_msg(rc == 0, "open: %s", zc_error_text(rc));
    return h;
}

static void up(unsigned pages, uint32_t max_extents)
{
    struct zc_cache_config cfg = ZC_CACHE_CONFIG_DEFAULT;

    cfg.capacity = (size_t)pages * PAGE;
    cfg.page_size = PAGE;
    cfg.idle_ms = 1;
    cfg.max_extents = max_extents;
    ck_assert_int_eq(zc_store_mem_create(&mem), 0);
    ck_assert_int_eq(zc_cache_create(&cfg, mem, &cache), 0);
}

static void down(void)
{
    ck_assert_int_eq(zc_cache_drain(cache), 0);
    zc_cache_destroy(cache);
    mem->ops->destroy(mem);
}

struct wait {
    struct zc_access a;
    struct zc_lock lock;
    zc_cond cond;
    bool ready;
};

static void on_ready(struct zc_access *a)
{
    struct wait *w = zc_list_entry(a, struct wait, a);

    zc_lock_get(&w->lock);
    w->ready = true;
    pthread_cond_signal(&w->cond);
    zc_lock_put(&w->lock);
}

static void begin(struct wait *w, struct zc_handle *h, uint64_t off, uint32_t len, uint32_t nranges)
{
    int rc;

    memset(w, 0, sizeof *w);
    zc_lock_init(&w->lock);
    zc_cond_init(&w->cond);
    w->a = (struct zc_access){.handle = h,
                              .dir = ZC_WRITE,
                              .off = off,
                              .len = len,
                              .nranges = nranges,
                              .ready = on_ready};
    rc = zc_cache_begin(&w->a);
    if (rc == -EINPROGRESS) {
        zc_lock_get(&w->lock);
        while (!w->ready)
            zc_cond_wait(&w->cond, &w->lock);
        zc_lock_put(&w->lock);
        rc = w->a.status;
    }
    ck_assert_int_eq(rc, 0);
}

/* Writes random ranges inside a random span of one page, here and in the model. */
static void write_ranges(struct zc_handle *h, unsigned char *model, uint64_t *size, unsigned *seed,
                         unsigned gen)
{
    struct zc_range r[64];
    uint32_t n = 0, lo = (uint32_t)rand_r(seed) % PAGE, at = lo;
    uint64_t page = (uint64_t)rand_r(seed) % (FILE_SIZE / PAGE) * PAGE;
    uint32_t hi = lo + 1 + (uint32_t)rand_r(seed) % (PAGE - lo);
    struct wait w;

    begin(&w, h, page + lo, hi - lo, 64);
    while (n < 64 && at < hi) {
        uint32_t from = at + (uint32_t)rand_r(seed) % 40, to = from + 1 + (uint32_t)rand_r(seed) % 90;

        if (to > hi)
            break;
        fill((unsigned char *)w.a.data + (from - lo), to - from, page + from, gen);
        fill(model + page + from, to - from, page + from, gen);
        r[n++] = (struct zc_range){from, to};
        if (page + to > *size)
            *size = page + to;
        at = to + 1;
    }
    zc_cache_end_ranges(&w.a, r, n);
}

static void against_model(unsigned pages, uint32_t max_extents, unsigned flags)
{
    static unsigned char model[FILE_SIZE], in[FILE_SIZE];
    unsigned seed = pages * 31 + max_extents;
    uint64_t size = 0;
    struct zc_handle *h;

    up(pages, max_extents);
    h = open_flags("/f", flags);
    memset(model, 0, sizeof model);
    for (unsigned i = 0; i < cases(3000); i++) {
        if (rand_r(&seed) % 3) {
            write_ranges(h, model, &size, &seed, i);
        } else {
            uint64_t off = (uint64_t)rand_r(&seed) % FILE_SIZE;
            size_t len = 1 + (size_t)rand_r(&seed) % (FILE_SIZE - off);
            ssize_t want = off >= size ? 0 : (ssize_t)(off + len > size ? size - off : len);

            ck_assert_int_eq(zc_cache_read(h, in, len, off), want);
            ck_assert_mem_eq(in, model + off, (size_t)want);
        }
        ck_assert_uint_eq(zc_cache_size(h), size);
    }
    ck_assert_int_eq(zc_cache_flush(h, ZC_LEVEL_STORED), 0);
    ck_assert_int_eq(zc_cache_close(h), 0);
    h = open_flags("/f", 0);
    ck_assert_int_eq(zc_cache_read(h, in, FILE_SIZE, 0), (ssize_t)size);
    ck_assert_mem_eq(in, model, size);
    ck_assert_int_eq(zc_cache_close(h), 0);
    down();
}

START_TEST(ranges_with_room)
{
    against_model(64, 1024, 0);
}
END_TEST

START_TEST(ranges_in_two_pages)
{
    against_model(2, 1024, ZC_OPEN_PRIVATE);
}
END_TEST

START_TEST(ranges_that_collapse)
{
    against_model(5, 3, 0);
}
END_TEST

/* Two opens of one's own know nothing of each other until flush and refresh. */
START_TEST(private_opens)
{
    struct zc_handle *a, *b;
    struct zc_cache_stats st;
    char buf[4] = "";

    up(8, 1024);
    a = open_flags("/f", ZC_OPEN_PRIVATE);
    ck_assert_int_eq(zc_cache_write(a, "old", 3, 0), 3);
    ck_assert_int_eq(zc_cache_flush(a, ZC_LEVEL_STORED), 0);
    b = open_flags("/f", ZC_OPEN_PRIVATE);
    ck_assert_int_eq(zc_cache_read(b, buf, 3, 0), 3);
    ck_assert_str_eq(buf, "old");
    ck_assert_int_eq(zc_cache_write(a, "newer", 5, 0), 5);
    ck_assert_int_eq(zc_cache_read(b, buf, 3, 0), 3);
    ck_assert_str_eq(buf, "old");
    ck_assert_int_eq(zc_cache_flush(a, ZC_LEVEL_STORED), 0);
    ck_assert_int_eq(zc_cache_refresh(b), 0);
    ck_assert_uint_eq(zc_cache_size(b), 5);
    ck_assert_int_eq(zc_cache_read(b, buf, 3, 0), 3);
    ck_assert_str_eq(buf, "new");
    ck_assert_int_eq(zc_cache_close(a), 0);
    ck_assert_int_eq(zc_cache_close(b), 0);
    ck_assert_int_eq(zc_cache_drain(cache), 0);
    zc_cache_stats(cache, &st);
    ck_assert_uint_eq(st.used_bytes, 0); /* nothing of them is kept */
    down();
}
END_TEST

START_TEST(refresh_keeps_what_is_dirty)
{
    struct zc_handle *h;
    char buf[8];

    up(8, 1024);
    h = open_flags("/f", 0);
    zc_cache_grow(h, 100);
    ck_assert_uint_eq(zc_cache_size(h), 100);
    ck_assert_int_eq(zc_cache_write(h, "dirty", 5, 200), 5);
    ck_assert_int_eq(zc_cache_refresh(h), 0);
    ck_assert_int_eq(zc_cache_read(h, buf, 5, 200), 5);
    ck_assert_mem_eq(buf, "dirty", 5);
    ck_assert_int_eq(zc_cache_close(h), 0);
    down();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cache ranges");

    CASE(s, "model", 120, ranges_with_room, ranges_in_two_pages, ranges_that_collapse);
    CASE(s, "opens", 60, private_opens, refresh_keeps_what_is_dirty);
    return run_suite(s);
}
