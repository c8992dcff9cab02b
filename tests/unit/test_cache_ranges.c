/* test_cache_ranges.c - writes that fill some ranges of a page, caches of jobs, refresh. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "rig.h"
#include "zc_clock_sim.h"
#include "zc_cache_internal.h"

enum { PAGE = 4096, FILE_SIZE = 40 * PAGE };

static struct zc_store *store;               /* the faulty one, over memory */
static struct zc_cache *cache, *other_cache; /* the second: of another job */

static struct zc_handle *open_in(struct zc_cache *c, const char *path)
{
    struct zc_attr attr = {0};
    struct zc_handle *h;
    int rc = zc_cache_open(c, path, ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE, 0600, &h, &attr);

    ck_assert_msg(rc == 0, "open: %s", zc_error_text(rc));
    return h;
}

static struct zc_handle *open_file(const char *path)
{
    return open_in(cache, path);
}

/* Configures a cache of so many pages without background write-back. */
static struct zc_cache_config cache_of(unsigned pages)
{
    struct zc_cache_config cfg = ZC_CACHE_CONFIG_DEFAULT;

    cfg.capacity = (size_t)pages * PAGE;
    cfg.page_size = PAGE;
    cfg.idle_ms = 0;
    return cfg;
}

static void up_with(const struct zc_cache_config *cfg)
{
    struct zc_store *mem;

    ck_assert_int_eq(zc_store_mem_create(&mem), 0);
    ck_assert_int_eq(zc_store_fault_create(mem, &store), 0);
    ck_assert_int_eq(zc_cache_create(cfg, store, &cache), 0);
    ck_assert_int_eq(zc_cache_create(cfg, store, &other_cache), 0);
}

static void up(unsigned pages, uint32_t max_extents, bool transient)
{
    struct zc_cache_config cfg = cache_of(pages);

    cfg.idle_ms = 1;
    cfg.max_extents = max_extents;
    cfg.transient = transient;
    up_with(&cfg);
}

static void down(void)
{
    ck_assert_int_eq(zc_cache_drain(cache), 0);
    zc_cache_destroy(cache);
    ck_assert_int_eq(zc_cache_drain(other_cache), 0);
    zc_cache_destroy(other_cache);
    zc_store_destroy(store);
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
    zc_lock_init(&w->lock, ZC_ORDER_WAITER);
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

/* Writes random ranges inside a random span of one page, to the file and to the model. */
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
        uint32_t from = at + (uint32_t)rand_r(seed) % 40,
                 to = from + 1 + (uint32_t)rand_r(seed) % 90;

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

static void against_model(unsigned pages, uint32_t max_extents, bool transient)
{
    static unsigned char model[FILE_SIZE], in[FILE_SIZE];
    unsigned seed = pages * 31 + max_extents;
    uint64_t size = 0;
    struct zc_handle *h;

    up(pages, max_extents, transient);
    h = open_file("/f");
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
    h = open_file("/f");
    ck_assert_int_eq(zc_cache_read(h, in, FILE_SIZE, 0), (ssize_t)size);
    ck_assert_mem_eq(in, model, size);
    ck_assert_int_eq(zc_cache_close(h), 0);
    down();
}

START_TEST(ranges_with_room)
{
    against_model(64, 1024, false);
}
END_TEST

START_TEST(ranges_in_two_pages)
{
    against_model(2, 1024, true);
}
END_TEST

START_TEST(ranges_that_collapse)
{
    against_model(5, 3, false);
}
END_TEST

/* Writes every second byte of a page, then the others: hundreds of ranges become one.  Returns the
 * memory for ranges at the most. */
static uint64_t holes_and_plugs(struct zc_handle *h)
{
    struct zc_range r[512];
    struct zc_cache_stats st;

    for (uint32_t odd = 0; odd < 2; odd++) {
        struct wait w;

        begin(&w, h, 0, 1024, 512);
        for (uint32_t i = 0; i < 512; i++) {
            r[i] = (struct zc_range){2 * i + odd, 2 * i + odd + 1};
            fill((unsigned char *)w.a.data + r[i].lo, 1, r[i].lo, 1);
        }
        zc_cache_end_ranges(&w.a, r, 512);
    }
    zc_cache_stats(cache, &st);
    return st.range_bytes;
}

/* Memory for ranges stays with a dirty page for its next pieces, and no longer. */
START_TEST(room_for_ranges)
{
    struct zc_cache_config cfg = cache_of(4);
    struct zc_cache_stats st;
    struct zc_handle *h;
    uint64_t kept;

    for (int scarce = 0; scarce < 2; scarce++) {
        if (scarce)
            cfg.range_memory = 1024;
        up_with(&cfg);
        h = open_file("/f");
        kept = holes_and_plugs(h);
        if (scarce)
            do /* a page without memory for its ranges is written */
                zc_cache_stats(cache, &st);
            while (st.range_bytes >= 1024);
        else
            ck_assert_uint_ge(kept, 2 * 512 * sizeof(struct zc_range));
        ck_assert_int_eq(zc_cache_flush(h, ZC_LEVEL_STORED), 0);
        zc_cache_stats(cache, &st);
        ck_assert_uint_lt(st.range_bytes, 1024);
        ck_assert_int_eq(zc_cache_close(h), 0);
        down();
    }
}
END_TEST

/* A clean page keeps no spare memory for ranges, however little: many pages together would make
 * memory look short. */
START_TEST(room_of_clean_pages)
{
    struct zc_cache_config cfg = cache_of(16);
    struct zc_cache_stats st;
    struct zc_handle *h;

    up_with(&cfg);
    h = open_file("/f");
    for (uint64_t at = 0; at < 16 * PAGE; at += 128)
        ck_assert_int_eq(zc_cache_write(h, "x", 1, at), 1);
    zc_cache_stats(cache, &st);
    ck_assert_uint_gt(st.range_bytes, 0);
    ck_assert_int_eq(zc_cache_flush(h, ZC_LEVEL_STORED), 0);
    zc_cache_stats(cache, &st);
    ck_assert_uint_lt(st.range_bytes, 16 * 40 * sizeof(struct zc_range)); /* what is valid */
    for (uint64_t at = 0; at < 16 * PAGE; at += PAGE) {                   /* fills the gaps */
        char c = 1;

        ck_assert_int_eq(zc_cache_read(h, &c, 1, at + 1), 1);
        ck_assert_int_eq(c, 0);
    }
    zc_cache_stats(cache, &st);
    ck_assert_uint_eq(st.range_bytes, 0);
    ck_assert_int_eq(zc_cache_close(h), 0);
    down();
}
END_TEST

static void expect_text(struct zc_handle *h, const char *want, uint64_t off)
{
    char is[8] = "";

    ck_assert_int_eq(zc_cache_read(h, is, strlen(want), off), (ssize_t)strlen(want));
    ck_assert_str_eq(is, want);
}

/* Two jobs do not see each other's bytes before flush and refresh; each cache drops its pages with
 * its last handle, and not before. */
START_TEST(transient_caches)
{
    struct zc_cache_config cfg = cache_of(8);
    struct zc_handle *a, *more, *b;
    struct zc_cache_stats st;
    char buf[4] = "";

    cfg.transient = true;
    up_with(&cfg);
    a = open_file("/f");
    ck_assert_int_eq(zc_cache_write(a, "old", 3, 0), 3);
    ck_assert_int_eq(zc_cache_flush(a, ZC_LEVEL_STORED), 0);
    b = open_in(other_cache, "/f");
    ck_assert_int_eq(zc_cache_read(b, buf, 3, 0), 3);
    ck_assert_str_eq(buf, "old");
    more = open_file("/f");
    ck_assert_int_eq(zc_cache_write(a, "newer", 5, 0), 5);
    ck_assert_int_eq(zc_cache_read(b, buf, 3, 0), 3);
    ck_assert_str_eq(buf, "old");
    ck_assert_int_eq(zc_cache_read(more, buf, 3, 0), 3);
    ck_assert_str_eq(buf, "new");
    ck_assert_uint_eq(zc_cache_size(more), 5);
    ck_assert_int_eq(zc_cache_close(a), 0);
    ck_assert_int_eq(zc_cache_read(b, buf, 3, 0), 3);
    ck_assert_str_eq(buf, "old");
    ck_assert_int_eq(zc_cache_flush(more, ZC_LEVEL_STORED), 0);
    ck_assert_int_eq(zc_cache_refresh(b), 0);
    ck_assert_uint_eq(zc_cache_size(b), 5);
    ck_assert_int_eq(zc_cache_read(b, buf, 3, 0), 3);
    ck_assert_str_eq(buf, "new");
    zc_cache_stats(cache, &st);
    ck_assert_uint_gt(st.used_bytes, 0);
    ck_assert_int_eq(zc_cache_close(more), 0);
    ck_assert_int_eq(zc_cache_close(b), 0);
    ck_assert_int_eq(zc_cache_drain(cache), 0);
    zc_cache_stats(cache, &st);
    ck_assert_uint_eq(st.used_bytes, 0); /* no page is kept */
    down();
}
END_TEST

static void *open_late(void *arg)
{
    (void)arg;
    return open_file("/f");
}

/* The last handle is closed, and another one opened while the store files are being closed: a
 * process in between may have written. */
START_TEST(transient_opens_during_settling)
{
    struct zc_cache_config cfg = cache_of(8);
    struct zc_handle *h, *b;
    pthread_t opener;
    void *late;

    zc_clock = zc_clock_sim();
    cfg.transient = true;
    up_with(&cfg);
    h = open_file("/f");
    ck_assert_int_eq(zc_cache_write(h, "old", 3, 0), 3);
    zc_store_fault_hold(store, ZC_FAULT_WRITE);
    ck_assert_int_eq(zc_cache_flush_later(h, ZC_LEVEL_STORED), 0);
    WAIT_FOR(zc_store_fault_held(store) == 1);
    ck_assert_int_eq(zc_cache_write(h, "more", 4, 100), 4);
    ck_assert_int_eq(zc_cache_close(h), 0); /* its write-back is under way */
    ck_assert_int_eq(pthread_create(&opener, NULL, open_late, NULL), 0);
    pthread_join(opener, &late);
    zc_store_fault_release(store);
    ck_assert_int_eq(zc_cache_flush(late, ZC_LEVEL_STORED), 0);
    ck_assert_int_eq(zc_cache_close(late), 0);
    b = open_in(other_cache, "/f");
    ck_assert_int_eq(zc_cache_write(b, "new", 3, 0), 3);
    ck_assert_int_eq(zc_cache_flush(b, ZC_LEVEL_STORED), 0);
    ck_assert_int_eq(zc_cache_close(b), 0);
    h = open_file("/f");
    expect_text(h, "new", 0);
    expect_text(h, "more", 100);
    ck_assert_int_eq(zc_cache_close(h), 0);
    down();
}
END_TEST

/* Bytes cached in a job are not visible to others before the store has them. */
START_TEST(visible_to_other_jobs)
{
    struct zc_cache_config cfg = cache_of(8);
    struct zc_handle *a, *b;

    cfg.transient = true;
    up_with(&cfg);
    a = open_file("/f");
    b = open_in(other_cache, "/f");
    ck_assert_int_eq(zc_cache_write(a, "new", 3, 0), 3);
    ck_assert_int_eq(zc_cache_flush(a, ZC_LEVEL_VISIBLE), 0);
    ck_assert_int_eq(zc_cache_refresh(b), 0);
    expect_text(b, "new", 0);
    ck_assert_int_eq(zc_cache_close(a), 0);
    ck_assert_int_eq(zc_cache_close(b), 0);
    down();
}
END_TEST

START_TEST(refresh_keeps_what_is_dirty)
{
    struct zc_handle *h;
    char buf[8];

    up(8, 1024, false);
    h = open_file("/f");
    ck_assert_int_eq(zc_cache_write(h, "dirty", 5, 200), 5);
    ck_assert_int_eq(zc_cache_refresh(h), 0);
    ck_assert_int_eq(zc_cache_read(h, buf, 5, 200), 5);
    ck_assert_mem_eq(buf, "dirty", 5);
    ck_assert_int_eq(zc_cache_close(h), 0);
    down();
}
END_TEST

/* A page with as many dirty ranges as valid ones may differ in them: others are in a store
 * write. */
START_TEST(pieces_during_a_store_write)
{
    static const struct zc_range pieces[2][2] = {{{10, 11}, {20, 21}}, {{30, 31}, {40, 41}}};
    struct zc_cache_config cfg = cache_of(8);
    char want[100], is[100];
    struct zc_handle *h;

    up_with(&cfg);
    h = open_file("/f");
    memset(want, 'o', sizeof want);
    ck_assert_int_eq(zc_cache_write(h, want, sizeof want, 0), sizeof want);
    zc_store_fault_hold(store, ZC_FAULT_WRITE);
    ck_assert_int_eq(zc_cache_flush_later(h, ZC_LEVEL_STORED), 0);
    WAIT_FOR(zc_store_fault_held(store) == 1);
    ck_assert_int_eq(zc_cache_write(h, "n", 1, 5), 1); /* one dirty range, and one valid */
    want[5] = 'n';
    for (int i = 0; i < 2; i++) {
        struct wait w;

        begin(&w, h, 0, sizeof want, 2);
        for (int k = 0; k < 2; k++)
            want[pieces[i][k].lo] = ((char *)w.a.data)[pieces[i][k].lo] = 'n';
        zc_cache_end_ranges(&w.a, pieces[i], 2);
    }
    /* nothing is read: the store has none of it yet */
    ck_assert_int_eq(zc_cache_read(h, is, sizeof is, 0), sizeof is);
    ck_assert_mem_eq(is, want, sizeof is);
    zc_store_fault_release(store);
    ck_assert_int_eq(zc_cache_flush(h, ZC_LEVEL_STORED), 0);
    ck_assert_int_eq(zc_cache_close(h), 0);
    down();
}
END_TEST

/* ---- refresh of pages in use ---- */

enum use { DIRTY, WRITING, READ_BY_ANOTHER, IN_FLUSH, QUEUED, USES };

static void *read_other(void *arg)
{
    char buf[1];

    return (void *)(intptr_t)zc_cache_read(arg, buf, 1, PAGE);
}

static void *read_end(void *arg)
{
    char buf[1];

    return (void *)(intptr_t)zc_cache_read(arg, buf, 1, PAGE - 1);
}

static void expect_byte(struct zc_handle *h, uint64_t off, char c)
{
    char is = 0;

    ck_assert_int_eq(zc_cache_read(h, &is, 1, off), 1);
    ck_assert_int_eq(is, c);
}

/* Another open changes byte 20 of a page whose bytes 0 to 99 are cached; `use` is the use of the
 * page during the refresh.  Byte 10 is this cache's own. */
static void refresh_in_use(enum use use)
{
    static char page[PAGE];
    struct zc_cache_config cfg = cache_of(8);
    struct zc_handle *mine, *other;
    struct zc_cache_stats st;
    pthread_t reader[2];
    struct wait w;

    cfg.prefetch = 0;
    cfg.readers = 1;
    cfg.transient = true;
    up_with(&cfg);
    mine = open_file("/f");
    other = open_in(other_cache, "/f");
    memset(page, 'o', sizeof page);
    ck_assert_int_eq(zc_cache_write(other, page, PAGE, PAGE), PAGE);
    ck_assert_int_eq(zc_cache_flush(other, ZC_LEVEL_STORED), 0);
    ck_assert_int_eq(zc_cache_write(mine, page, 100, 0), 100);
    ck_assert_int_eq(zc_cache_flush(mine, ZC_LEVEL_STORED), 0);
    ck_assert_int_eq(zc_cache_write(other, "n", 1, 20), 1);
    ck_assert_int_eq(zc_cache_flush(other, ZC_LEVEL_STORED), 0);
    expect_byte(mine, 20, 'o');

    if (use == DIRTY || use == IN_FLUSH)
        ck_assert_int_eq(zc_cache_write(mine, "m", 1, 10), 1);
    if (use == WRITING)
        begin(&w, mine, 10, 1, 1);
    if (use == READ_BY_ANOTHER) {
        memset(&w, 0, sizeof w);
        w.a = (struct zc_access){.handle = mine, .dir = ZC_READ, .off = 0, .len = 50};
        ck_assert_int_eq(zc_cache_begin(&w.a), 0);
    }
    if (use == IN_FLUSH) {
        zc_store_fault_hold(store, ZC_FAULT_WRITE);
        ck_assert_int_eq(zc_cache_flush_later(mine, ZC_LEVEL_STORED), 0);
        WAIT_FOR(zc_store_fault_held(store) == 1);
    }
    if (use == QUEUED) { /* behind a read of another page */
        zc_store_fault_hold(store, ZC_FAULT_READ);
        ck_assert_int_eq(pthread_create(&reader[0], NULL, read_other, mine), 0);
        WAIT_FOR(zc_store_fault_held(store) == 1);
        ck_assert_int_eq(pthread_create(&reader[1], NULL, read_end, mine), 0);
        WAIT_FOR((zc_cache_stats(cache, &st), st.reading_pages == 2));
    }
    ck_assert_int_eq(zc_cache_refresh(mine), 0);
    if (use == READ_BY_ANOTHER) {
        expect_all(w.a.data, 50, 'o', "what is being read");
        zc_cache_end(&w.a, 0);
    }
    if (use == QUEUED) {
        zc_store_fault_release(store);
        pthread_join(reader[0], NULL);
        pthread_join(reader[1], NULL);
    }
    expect_byte(mine, 20, 'n');
    if (use == WRITING) {
        *(char *)w.a.data = 'm';
        zc_cache_end(&w.a, 1);
    }
    if (use == IN_FLUSH)
        zc_store_fault_release(store);
    expect_byte(mine, 10, use == DIRTY || use == IN_FLUSH || use == WRITING ? 'm' : 'o');
    ck_assert_int_eq(zc_cache_flush(mine, ZC_LEVEL_STORED), 0);
    expect_byte(mine, 20, 'n');
    ck_assert_int_eq(zc_cache_close(mine), 0);
    ck_assert_int_eq(zc_cache_close(other), 0);
    down();
}

START_TEST(refresh_of_a_page_in_use)
{
    for (int use = DIRTY; use < USES; use++)
        refresh_in_use((enum use)use);
}
END_TEST

/* A refused page, refreshed while it is read, and discarded piece by piece gets more ranges: there
 * is room for them when the reader has ended. */
START_TEST(refused_pieces_are_given_up_while_the_page_is_read)
{
    static char old[PAGE], buf[PAGE];
    struct zc_cache_config cfg = cache_of(8);
    struct wait w = {0};
    struct zc_handle *h;

    up_with(&cfg);
    h = open_file("/f");
    memset(old, 'o', PAGE);
    ck_assert_int_eq(zc_cache_write(h, old, PAGE, 0), PAGE);
    ck_assert_int_eq(zc_cache_flush(h, ZC_LEVEL_STORED), 0);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(zc_cache_write(h, "newer bytes", 11, 100 * i), 11);
    zc_store_fault_set(store, ZC_FAULT_WRITE, 1, 1000, EIO);
    ck_assert_int_eq(zc_cache_flush(h, ZC_LEVEL_STORED), -EIO);
    w.a = (struct zc_access){.handle = h, .off = 2000, .len = 1, .ready = on_ready};
    ck_assert_int_eq(zc_cache_begin(&w.a), 0);
    ck_assert_int_eq(zc_cache_refresh(h), 0);
    for (int i = 1; i < 11; i += 2)
        zc_cache_discard(h, 200 + i, 1);
    zc_cache_end(&w.a, 0);
    zc_store_fault_set(store, 0, 0, 0, 0);
    ck_assert_int_eq(zc_cache_read(h, buf, PAGE, 0), PAGE);
    ck_assert_mem_eq(buf + 100, "newer bytes", 11);
    ck_assert_mem_eq(buf + 200, "noworobotos", 11);
    ck_assert_mem_eq(buf + 311, old, PAGE - 311);
    ck_assert_int_eq(zc_cache_flush(h, ZC_LEVEL_STORED), 0);
    ck_assert_int_eq(zc_cache_close(h), 0);
    down();
}
END_TEST

/* ---- reused inode numbers ---- */

/* A store in which every file has the same inode number, as a removed file and its successor
 * may. */
static int same_number_open(struct zc_store *s, const char *path, unsigned flags, mode_t mode,
                            struct zc_sfile **out, struct zc_attr *attr)
{
    int rc = borrowed_open(s, path, flags, mode, out, attr);

    attr->ino = 1;
    return rc;
}

static int same_number_stat(struct zc_store *s, const char *path, struct zc_attr *attr)
{
    int rc = borrowed_stat(s, path, attr);

    attr->ino = 1;
    return rc;
}

static unsigned references(uint64_t dev, uint64_t ino)
{
    struct zc_file *f;
    unsigned n = 0;

    zc_lock_get(&cache->lock);
    f = zc_file_find(cache, dev, ino);
    if (f)
        n = f->refs;
    zc_lock_put(&cache->lock);
    return n;
}

static void *close_it(void *arg)
{
    return (void *)(intptr_t)zc_cache_close(arg);
}

static void *open_it(void *arg)
{
    *(struct zc_handle **)arg = open_file("/f");
    return NULL;
}

/* While the last descriptor of a removed file is being closed, a new file with its number is
 * opened: it is not taken for the removed one, and its bytes are kept. */
START_TEST(successor_of_a_removed_file)
{
    struct zc_store *below = NULL, *faulty;
    struct zc_cache_config cfg = cache_of(8);
    struct zc_attr attr = {0};
    struct zc_handle *old, *next;
    pthread_t closer, opener;
    void *rc;

    ck_assert_int_eq(zc_store_mem_create(&below), 0);
    ck_assert_int_eq(zc_store_fault_create(below, &faulty), 0);
    store = borrow(faulty);
    ((struct borrowed *)store)->ops.open = same_number_open;
    ((struct borrowed *)store)->ops.stat = same_number_stat;
    ck_assert_int_eq(zc_cache_create(&cfg, store, &cache), 0);

    old = open_file("/f");
    ck_assert_int_eq(zc_store_stat(store, "/f", &attr), 0);
    ck_assert_int_eq(zc_cache_write(old, "old", 3, 0), 3);
    ck_assert_int_eq(zc_cache_unlink(cache, "/f"), 0);
    zc_store_fault_hold(faulty, ZC_FAULT_CLOSE);
    pthread_create(&closer, NULL, close_it, old);
    WAIT_FOR(zc_store_fault_held(faulty) == 1);
    pthread_create(&opener, NULL, open_it, &next);
    WAIT_FOR(references(attr.dev, attr.ino) == 2);
    zc_store_fault_release(faulty);
    pthread_join(closer, &rc);
    ck_assert_ptr_null(rc);
    pthread_join(opener, NULL);

    ck_assert_uint_eq(zc_cache_size(next), 0);
    ck_assert_int_eq(zc_cache_write(next, "new", 3, 0), 3);
    ck_assert_int_eq(zc_cache_close(next), 0);
    ck_assert_int_eq(zc_cache_drain(cache), 0);
    ck_assert_int_eq(zc_store_stat(store, "/f", &attr), 0);
    ck_assert_uint_eq(attr.size, 3);
    zc_cache_destroy(cache);
    zc_store_destroy(store);
    zc_store_destroy(faulty);
}
END_TEST

/* ---- reads in several store calls ---- */

static void *read_all(void *arg)
{
    static char buf[PAGE];

    return (void *)(intptr_t)zc_cache_read(arg, buf, sizeof buf, 0);
}

static uint64_t dirty_bytes(void)
{
    struct zc_cache_stats st;

    zc_cache_stats(cache, &st);
    return st.dirty_bytes;
}

/* A page with more gaps than one store call reads.  While the first call, which reached the end of
 * the file, returns, a write to the last gap ends, gives the page too many ranges, is written back
 * and dropped: the second call must read those bytes from the file. */
START_TEST(the_end_of_the_file_moves_between_two_reads_of_a_page)
{
    struct zc_cache_config cfg = cache_of(4);
    struct zc_handle *h;
    struct wait w;
    pthread_t reader;
    char buf[4];

    cfg.max_extents = 64;
    cfg.prefetch = 0;
    cfg.transient = true;
    up_with(&cfg);
    h = open_file("/f");
    for (unsigned i = 0; i < 64; i++)
        ck_assert_int_eq(zc_cache_write(h, "x", 1, 10 + 10 * i), 1);
    begin(&w, h, 3000, 4, 1);
    memcpy(w.a.data, "last", 4);
    zc_store_fault_hold(store, ZC_FAULT_READ_RESULT);
    ck_assert_int_eq(pthread_create(&reader, NULL, read_all, h), 0);
    WAIT_FOR(zc_store_fault_held(store) == 1);
    zc_cache_end(&w.a, 4);
    WAIT_FOR(dirty_bytes() == 0);
    zc_store_fault_release(store);
    pthread_join(reader, NULL);
    ck_assert_int_eq(zc_cache_read(h, buf, 4, 3000), 4);
    ck_assert_mem_eq(buf, "last", 4);
    ck_assert_int_eq(zc_cache_close(h), 0);
    down();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cache ranges");

    CASE(s, "model", 120, ranges_with_room, ranges_in_two_pages, ranges_that_collapse,
         room_for_ranges, room_of_clean_pages, pieces_during_a_store_write);
    CASE(s, "reads", 60, the_end_of_the_file_moves_between_two_reads_of_a_page);
    CASE(s, "opens", 60, transient_caches, transient_opens_during_settling, visible_to_other_jobs,
         refresh_keeps_what_is_dirty, refresh_of_a_page_in_use,
         refused_pieces_are_given_up_while_the_page_is_read, successor_of_a_removed_file);
    return run_suite(s);
}
