/* test_merge.c - pages of many ranges: written once, read at most once, right whatever happens.
 *
 * The store counts its calls, and fails a test in which it has to read a page twice to merge it.
 * Maps are like those of climate models: elements of 8 bytes dealt irregularly to writers, each at
 * another place of the file at a time.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "zc_cache_internal.h"

#include "cache_rig.h"
#include "zc_clock_sim.h"

enum {
    LARGE = 64 << 10, /* a page, where it has many ranges */
    ELEMENT = 8,
    WRITERS = 8,
    PAGES = 96, /* more than any cache has */
    APART = 3   /* pages between one writer and the next */
};

static const struct zc_store_ops *real;
static struct zc_store_ops counting;

static struct {
    unsigned writes, reads, merges;
    uint64_t written, read;  /* bytes of the file, those between ranges included */
    unsigned merged[PAGES];  /* times each page was */
    bool twice;              /* a page may be */
    int fail;                /* negative errno: of the next merge */
    void (*meanwhile)(void); /* called once, within the next merge, without locks */
} calls;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static size_t bytes_of(const struct iovec *iov, int n)
{
    size_t sum = 0;

    for (int i = 0; i < n; i++)
        sum += iov[i].iov_len;
    return sum;
}

static void count(unsigned *n, uint64_t *bytes, uint64_t more)
{
    pthread_mutex_lock(&mutex);
    ++*n;
    *bytes += more;
    pthread_mutex_unlock(&mutex);
}

static ssize_t count_write(struct zc_sfile *f, const struct iovec *iov, int n, uint64_t off)
{
    count(&calls.writes, &calls.written, bytes_of(iov, n));
    return real->pwritev(f, iov, n, off);
}

static ssize_t count_read(struct zc_sfile *f, const struct iovec *iov, int n, uint64_t off)
{
    ssize_t got = real->preadv(f, iov, n, off);

    count(&calls.reads, &calls.read, got > 0 ? (uint64_t)got : 0);
    return got;
}

/* As the posix store does it: reads the stretch, puts the ranges in, writes it. */
static ssize_t merge(struct zc_sfile *f, const char *data, const struct zc_range *r, uint32_t n,
                     uint64_t off, struct zc_merge *m)
{
    uint32_t lo = r[0].lo, len = r[n - 1].hi - lo;
    struct iovec iov = {calloc(1, len), len};
    void (*meanwhile)(void);
    ssize_t total = 0, got;
    bool again;
    int rc;

    pthread_mutex_lock(&mutex);
    meanwhile = calls.meanwhile;
    rc = calls.fail;
    calls.meanwhile = NULL;
    calls.fail = 0;
    again = rc == 0 && ++calls.merged[off / LARGE] > 1 && !calls.twice;
    pthread_mutex_unlock(&mutex);
    if (again)
        ck_abort_msg("page %llu is read again to be written back",
                     (unsigned long long)(off / LARGE));
    got = rc ? rc : real->preadv(f, &iov, 1, off + lo);
    for (uint32_t i = 0; i < n && got >= 0; i++) {
        memcpy((char *)iov.iov_base + r[i].lo - lo, data + r[i].lo, r[i].hi - r[i].lo);
        total += r[i].hi - r[i].lo;
    }
    if (got >= 0) {
        count(&calls.merges, &calls.read, (uint64_t)got);
        count(&calls.writes, &calls.written, len);
        got = real->pwritev(f, &iov, 1, off + lo);
    }
    if (meanwhile)
        meanwhile();
    if (got < 0) {
        free(iov.iov_base);
        return zc_errorf((int)-got, "merge: made to fail");
    }
    *m = (struct zc_merge){.read = len, .data = iov.iov_base};
    return total;
}

static void setup_counting(void)
{
    cfg = (struct zc_cache_config)ZC_CACHE_CONFIG_DEFAULT;
    cfg.page_size = LARGE;
    cfg.capacity = 4 * (size_t)LARGE;
    cfg.high_watermark = 100;
    cfg.idle_ms = 0;
    cfg.retry_ms = 1;
    cfg.max_extents = LARGE;
    cfg.published = true;
    ck_assert_int_eq(zc_store_mem_create(&memory), 0);
    store = memory;
    real = memory->ops;
    counting = *real;
    counting.pwritev = count_write;
    counting.preadv = count_read;
    counting.write_ranges = merge;
    memory->ops = &counting;
}

static void up(unsigned flags)
{
    memset(&calls, 0, sizeof calls);
    make_cache();
    file = open_flags("/f", NEW | flags);
}

static void down(void)
{
    ck_assert_int_eq(zc_cache_close(file), 0);
    ck_assert_int_eq(zc_cache_drain(cache), 0);
    zc_cache_destroy(cache);
    zc_store_destroy(store);
}

static unsigned char value(uint64_t off)
{
    return (unsigned char)(1 + off * 37 % 251);
}

/* What the file has before: all ones, PAGES pages. */
static void fill_store(void)
{
    char *ones = malloc(LARGE);

    memset(ones, 0xee, LARGE);
    for (uint64_t i = 0; i < PAGES; i++) {
        struct iovec iov = {ones, LARGE};

        ck_assert_int_eq(real->pwritev(file->file->wr, &iov, 1, i * LARGE), LARGE);
    }
    free(ones);
}

static void write_bytes(uint64_t off, uint32_t len)
{
    char buf[ELEMENT];

    for (uint32_t i = 0; i < len; i++)
        buf[i] = (char)value(off + i);
    ck_assert_int_eq(zc_cache_write(file, buf, len, off), (int)len);
}

/* Every third element of the first page, or what is left of it. */
static void write_third(uint32_t from, uint32_t to)
{
    for (uint32_t at = from; at < to; at += 3 * ELEMENT)
        write_bytes(at, ELEMENT);
}

static void check_read(uint64_t off, unsigned char want)
{
    unsigned char got;

    ck_assert_int_eq(zc_cache_read(file, &got, 1, off), 1);
    if (got != want)
        ck_abort_msg("byte %llu is %u, should be %u", (unsigned long long)off, got, want);
}

static void check_thirds(void)
{
    for (uint32_t at = 0; at < LARGE - 3 * ELEMENT; at++)
        check_read(at, at % (3 * ELEMENT) < ELEMENT ? value(at) : 0xee);
}

static void flush(void)
{
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_STORED), 0);
}

/* What was read to merge is not read again, by whomever. */
START_TEST(what_was_read_stays)
{
    up(_i ? ZC_OPEN_CHECKSUM : 0);
    fill_store();
    write_third(0, LARGE);
    flush();
    ck_assert_uint_eq(calls.merges, 1);
    ck_assert_uint_eq(calls.writes, 1);
    ck_assert_uint_eq(stats().merge_read_bytes, calls.read);
    check_thirds();
    ck_assert_uint_eq(calls.reads, 0);
    ck_assert_uint_eq(stats().damaged_bytes, 0);
    ck_assert_uint_eq(stats().page_rewrites, 0);
    write_bytes(3, 1);
    flush();
    ck_assert_uint_eq(calls.merges, 1); /* one range: nothing to merge */
    ck_assert_uint_eq(stats().page_rewrites, 1);
    down();
}
END_TEST

/* A page whose merge has failed is not whole. */
START_TEST(a_failed_merge_makes_nothing_valid)
{
    up(0);
    fill_store();
    calls.twice = true;
    calls.fail = -EIO;
    write_third(0, LARGE);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_STORED), -EIO); /* told once ... */
    flush();                                                       /* ... and tried again */
    ck_assert_uint_eq(calls.merges, 1);
    check_thirds();
    down();
}
END_TEST

static struct zc_access slow;

static void nothing(struct zc_access *a)
{
    (void)a;
}

/* One write between the ranges is over, another one is under way. */
static void write_between(void)
{
    write_bytes(ELEMENT, ELEMENT);
    slow = (struct zc_access){
        .handle = file, .dir = ZC_WRITE, .off = 4 * ELEMENT, .len = ELEMENT, .ready = nothing};
    ck_assert_int_eq(zc_cache_begin(&slow), 0);
    memset(slow.data, 0x55, ELEMENT);
}

START_TEST(writes_meanwhile_win)
{
    up(_i ? ZC_OPEN_CHECKSUM : 0);
    fill_store();
    write_third(0, LARGE);
    calls.meanwhile = write_between;
    flush();
    check_read(ELEMENT, value(ELEMENT));
    zc_cache_end(&slow, ELEMENT);
    check_read(4 * ELEMENT, 0x55);
    check_read(5 * ELEMENT, 0xee);
    calls.twice = true;
    flush();
    zc_cache_refresh(file);
    check_read(ELEMENT, value(ELEMENT));
    check_read(4 * ELEMENT, 0x55);
    ck_assert_uint_eq(stats().damaged_bytes, 0);
    down();
}
END_TEST

static void refresh(void)
{
    struct iovec iov = {"Z", 1};

    ck_assert_int_eq(real->pwritev(file->file->wr, &iov, 1, ELEMENT), 1); /* by another job */
    ck_assert_int_eq(zc_cache_refresh(file), 0);
}

/* Others have changed the file since it was read to merge, and the cache was told. */
START_TEST(a_refresh_meanwhile_is_not_undone)
{
    up(0);
    fill_store();
    write_third(0, LARGE);
    calls.meanwhile = refresh;
    flush();
    check_read(ELEMENT, 'Z');
    down();
}
END_TEST

/* Clean bytes that were damaged in memory are found before the rest of their grain gets a new sum.
 */
START_TEST(damaged_clean_bytes_are_found)
{
    struct zc_page *p;

    up(ZC_OPEN_CHECKSUM);
    fill_store();
    write_bytes(8 * 1024, ELEMENT);
    flush(); /* clean, in a grain of its own */
    write_third(0, 6 * 1024);
    write_third(12 * 1024, LARGE);
    zc_lock_get(&cache->lock);
    p = zc_page_find(cache, file->file, 0);
    zc_page_data(cache, p)[8 * 1024] ^= 1;
    zc_lock_put(&cache->lock);
    flush();
    check_read(8 * 1024, value(8 * 1024));
    ck_assert_uint_gt(stats().damaged_bytes, 0);
    ck_assert_uint_eq(stats().lost_bytes, 0);
    down();
}
END_TEST

/* ---- maps, and caches of many sizes ---- */

/* A page that may still become whole waits while idle pages leave. */
START_TEST(whole_pages_leave_first)
{
    static char whole[LARGE];

    cfg.idle_ms = 100; /* and so long is what a page waits for others to complete it, 20 times */
    up(0);
    for (unsigned i = 0; i < LARGE; i++)
        whole[i] = (char)value(i);
    write_third(0, LARGE);
    ck_assert_int_eq(zc_cache_write(file, whole, LARGE, LARGE), LARGE);
    WAIT_FOR(st.store_writes > 0);
    ck_assert_uint_eq(calls.written, LARGE); /* the second one */
    ck_assert_uint_eq(calls.merges, 0);
    ck_assert_int_eq(zc_cache_write(file, whole, LARGE, 0), LARGE);
    WAIT_FOR(st.dirty_bytes == 0);
    ck_assert_uint_eq(calls.written, 2 * LARGE);
    ck_assert_uint_eq(calls.read, 0);
    ck_assert_uint_eq(stats().page_rewrites, 0);
    down();
}
END_TEST

static unsigned owner_of(uint64_t element)
{
    uint64_t x = (element / 3 + 1) * 0x9e3779b97f4a7c15ull; /* runs of three */

    return (unsigned)((x ^ (x >> 31)) >> 7) % WRITERS;
}

static atomic_bool has_room;

static void room_came(struct zc_access *a)
{
    (void)a;
    atomic_store(&has_room, true);
}

/* What one writer has of a page, in one access. */
static void write_part(unsigned who, uint64_t page)
{
    static struct zc_range r[LARGE / ELEMENT];
    static struct zc_access a;
    uint32_t n = 0;

    for (uint32_t at = 0; at < LARGE; at += ELEMENT) {
        if (owner_of((page * LARGE + at) / ELEMENT) != who)
            continue;
        if (n > 0 && r[n - 1].hi == at)
            r[n - 1].hi += ELEMENT;
        else
            r[n++] = (struct zc_range){at, at + ELEMENT};
    }
    a = (struct zc_access){.handle = file,
                           .dir = ZC_WRITE,
                           .off = page * LARGE,
                           .len = LARGE,
                           .nranges = n,
                           .ready = room_came};
    atomic_store(&has_room, false);
    if (zc_cache_begin(&a) == -EINPROGRESS)
        while (!atomic_load(&has_room))
            zc_clock_sleep(50000);
    ck_assert_int_eq(a.status, 0);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t at = r[i].lo; at < r[i].hi; at++)
            ((unsigned char *)a.data)[at] = value(page * LARGE + at);
    zc_cache_end_ranges(&a, r, n);
}

/* Sets the cost of a store call, on which the time that the cache waits for pages to be completed
 * depends. */
static void set_patience(double seconds)
{
    zc_lock_get(&cache->lock);
    cache->cost.writes.request = cache->cost.reads.request = seconds * 1e9;
    zc_lock_put(&cache->lock);
}

static unsigned vain_waits(void)
{
    unsigned n;

    zc_lock_get(&cache->lock);
    n = cache->vain_waits;
    zc_lock_put(&cache->lock);
    return n;
}

static atomic_bool waiter_has_room;

static void waiter_room_came(struct zc_access *a)
{
    (void)a;
    atomic_store(&waiter_has_room, true);
}

static void begin_waiter(struct zc_access *a, uint64_t page)
{
    *a = (struct zc_access){.handle = file,
                            .dir = ZC_WRITE,
                            .off = page * LARGE,
                            .len = ELEMENT,
                            .ready = waiter_room_came};
    atomic_store(&waiter_has_room, false);
    ck_assert_int_eq(zc_cache_begin(a), -EINPROGRESS);
}

static void end_waiter(struct zc_access *a)
{
    while (!atomic_load(&waiter_has_room))
        zc_clock_sleep(50000);
    ck_assert_int_eq(a->status, 0);
    for (uint32_t i = 0; i < ELEMENT; i++)
        ((unsigned char *)a->data)[i] = value(a->off + i);
    zc_cache_end(a, ELEMENT);
}

START_TEST(room_waits_for_those_behind)
{
    enum { ROOM = 7 }; /* dirty limit, in pages, of a cache with eight */
    struct zc_access a;

    cfg.capacity = 8 * (size_t)LARGE;
    up(0);
    set_patience(1);
    for (unsigned who = 0; who < WRITERS / 2; who++)
        for (uint64_t page = 0; page < ROOM; page++)
            write_part(who, page);
    begin_waiter(&a, ROOM);
    for (uint64_t page = 0; page < ROOM; page++)
        for (unsigned who = WRITERS / 2; who < WRITERS; who++)
            write_part(who, page);
    end_waiter(&a);
    flush();
    ck_assert_uint_eq(calls.merges, 0);
    ck_assert_uint_eq(calls.read, 0);
    ck_assert_uint_eq(stats().page_rewrites, 0);
    ck_assert_uint_eq(calls.written, ROOM * (uint64_t)LARGE + ELEMENT);
    down();
}
END_TEST

/* Without a writer that completes pages, accesses get room nevertheless, and soon without a wait.
 */
START_TEST(room_comes_without_others)
{
    enum { MOST = 8 }; /* as GIVEN_UP in zc_flush_order.c */
    struct zc_access a;
    unsigned before = 0;

    cfg.capacity = 8 * (size_t)LARGE;
    up(0);
    for (uint64_t page = 0; page < 7; page++)
        write_part(0, page);
    for (uint64_t page = 7; page < 7 + 2 * MOST; page++) {
        begin_waiter(&a, page);
        end_waiter(&a);
        ck_assert_uint_ge(vain_waits(), before);
        ck_assert_uint_le(vain_waits(), MOST);
        before = vain_waits();
    }
    ck_assert_uint_eq(before, MOST);
    down();
}
END_TEST

/* A page that one write makes whole says nothing of pages that several writers complete: waits in
 * vain still count. */
START_TEST(a_whole_page_is_no_completed_one)
{
    enum { BEFORE = 5, ROOM = 7 };
    struct zc_access a, whole = {.handle = NULL};
    unsigned before;

    cfg.capacity = 8 * (size_t)LARGE;
    up(0);
    for (uint64_t page = 0; page < ROOM - 1; page++)
        write_part(0, page);
    whole = (struct zc_access){
        .handle = file, .dir = ZC_WRITE, .off = ROOM * LARGE, .len = LARGE, .ready = room_came};
    ck_assert_int_eq(zc_cache_begin(&whole), 0);
    write_part(0, ROOM - 1);
    set_patience(1);
    zc_lock_get(&cache->lock);
    cache->vain_waits = BEFORE;
    zc_lock_put(&cache->lock);
    begin_waiter(&a, ROOM + 1);
    for (uint32_t i = 0; i < LARGE; i++)
        ((unsigned char *)whole.data)[i] = value(whole.off + i);
    zc_cache_end(&whole, LARGE);
    before = vain_waits();
    end_waiter(&a);
    ck_assert_uint_ge(before, BEFORE);
    down();
}
END_TEST

static void check_file(void)
{
    unsigned char *in = malloc((size_t)PAGES * LARGE);
    struct iovec iov = {in, (size_t)PAGES * LARGE};

    ck_assert_int_eq(real->preadv(file->file->wr, &iov, 1, 0), (ssize_t)iov.iov_len);
    for (size_t at = 0; at < iov.iov_len; at++)
        if (in[at] != value(at))
            ck_abort_msg("byte %zu is %u, should be %u", at, in[at], value(at));
    free(in);
}

/* Requests to the store. */
struct traffic {
    uint64_t bytes; /* bytes written and read */
    unsigned requests;
};

/* Writes the whole file by maps through a cache of so many pages, writers APART pages apart. */
static struct traffic traffic(unsigned pages, unsigned high)
{
    struct traffic moved;

    cfg.capacity = (size_t)pages * LARGE;
    cfg.high_watermark = high;
    cfg.low_watermark = high / 2;
    cfg.idle_ms = 50;
    cfg.range_memory = LARGE; /* an eighth of the cache suffices */
    up(0);
    calls.twice = true;
    for (unsigned t = 0; t < PAGES + (WRITERS - 1) * APART; t++)
        for (unsigned who = 0; who < WRITERS; who++)
            if (t >= who * APART && t - who * APART < PAGES)
                write_part(who, t - who * APART);
    flush();
    check_file();
    moved = (struct traffic){calls.written + calls.read, calls.writes + calls.reads + calls.merges};
    down();
    setup_counting();
    return moved;
}

/* When threads run has an effect, the more so under a sanitizer: half as much is within that.  The
 * cache may take more requests to move fewer bytes, or the opposite, by what it measures. */
static void not_worse(const struct traffic *now, const struct traffic *before, unsigned pages,
                      unsigned high)
{
    bool bytes = now->bytes > before->bytes + before->bytes / 2;
    bool requests = now->requests > before->requests + before->requests / 2 + 8;

    if ((bytes && now->requests >= before->requests) || (requests && now->bytes >= before->bytes))
        ck_abort_msg("%u pages, %u %%: %llu bytes, %u requests; with less %llu, %u", pages, high,
                     (unsigned long long)now->bytes, now->requests,
                     (unsigned long long)before->bytes, before->requests);
}

/* More cache never makes the store move more bytes or take more requests; and if the pages that
 * writers are filling fit into the cache, neither does a higher watermark, each byte is written
 * once and nothing is read.  If they do not fit, which pages have to leave early depends on when
 * threads run more than on the watermark. */
START_TEST(more_cache_is_never_worse)
{
    static const unsigned pages[] = {8, 16, 32, 48, 64}, high[] = {50, 75, 95};
    enum { SIZES = sizeof pages / sizeof *pages, MARKS = sizeof high / sizeof *high };
    struct traffic t[SIZES][MARKS];

    for (unsigned i = 0; i < SIZES; i++)
        for (unsigned h = 0; h < MARKS; h++) {
            t[i][h] = traffic(pages[i], high[h]);
            if (i > 0)
                not_worse(&t[i][h], &t[i - 1][h], pages[i], high[h]);
            if (h > 0 && pages[i] > WRITERS * APART)
                not_worse(&t[i][h], &t[i][h - 1], pages[i], high[h]);
            if (pages[i] > WRITERS * APART)
                ck_assert_uint_eq(t[i][h].bytes, (uint64_t)PAGES * LARGE);
        }
    up(0);
    down();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("merge");
    TCase *c = tcase_create("merge");

    zc_clock = zc_clock_sim(); /* a store call takes no longer on a busy machine, nor costs more */
    tcase_add_checked_fixture(c, setup_counting, NULL);
    tcase_set_timeout(c, stretched(120));
    tcase_add_loop_test(c, what_was_read_stays, 0, 2);
    tcase_add_test(c, a_failed_merge_makes_nothing_valid);
    tcase_add_loop_test(c, writes_meanwhile_win, 0, 2);
    tcase_add_test(c, a_refresh_meanwhile_is_not_undone);
    tcase_add_test(c, damaged_clean_bytes_are_found);
    tcase_add_test(c, whole_pages_leave_first);
    tcase_add_test(c, room_waits_for_those_behind);
    tcase_add_test(c, room_comes_without_others);
    tcase_add_test(c, a_whole_page_is_no_completed_one);
    tcase_add_test(c, more_cache_is_never_worse);
    suite_add_tcase(s, c);
    return run_suite(s);
}
