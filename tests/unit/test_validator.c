/* test_validator.c - stale cached bytes are detected: zc_validator.h. */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "cache_rig.h"
#include "zc_clock_sim.h"
#include "zc_lock.h"
#include "zc_store_posix.h"

static struct zc_handle *again(unsigned flags)
{
    file = open_flags("/f", flags);
    return file;
}

/* Its client was killed, unnoticed as yet: `file` is open, and stays so. */
static struct zc_handle *leave_open(void)
{
    struct zc_handle *left = file;

    file = NULL;
    return left;
}

/* ---- changes by others ---- */

/* A handle left behind by a dead client does not prevent the comparison. */
START_TEST(left_over_handles_do_not_hide_a_change)
{
    struct zc_handle *left;

    setup();
    store_put("/f", 0, PAGE, 'a');
    start();
    expect(0, PAGE, 'a');
    left = leave_open();
    store_put("/f", 10, 10, 'o');
    again(RW);
    ck_assert_uint_eq(stats().stale_drops, 1);
    expect(0, 10, 'a');
    expect(10, 10, 'o');
    zc_cache_close(left);
    expect(10, 10, 'o');
    stop();
}
END_TEST

/* Between our last write and the end of the session another process has written. */
START_TEST(the_end_of_a_dead_client_confirms_nothing)
{
    struct zc_handle *left;

    setup();
    start();
    put(0, PAGE, 'a');
    flush_ok();
    left = leave_open();
    store_put("/f", 10, 10, 'o');
    zc_cache_disown(left);
    ck_assert_int_eq(zc_cache_close(left), 0);
    again(RW);
    expect(0, 10, 'a');
    expect(10, 10, 'o');
    stop();
}
END_TEST

/* Changes of ours that left nothing in the cache, and then reads: later changes by others are not
 * taken for ours. */
START_TEST(read_after_changes_that_left_no_page)
{
    struct zc_handle *left;

    setup();
    store_put("/f", 0, PAGE, 'a');
    start();
    ck_assert_int_eq(zc_cache_truncate(file, 2 * PAGE), 0);
    usleep(100000); /* lets the flushers read the attributes */
    expect(0, PAGE, 'a');
    usleep(100000);
    left = leave_open();
    store_put("/f", 10, 10, 'o');
    again(RW);
    expect(0, 10, 'a');
    expect(10, 10, 'o');
    zc_cache_close(left);
    stop();
}
END_TEST

/* Unwritten bytes stay, clean ones do not. */
START_TEST(dirty_bytes_outlive_a_change)
{
    struct zc_handle *left;

    setup();
    start();
    put(0, 2 * PAGE, 'a');
    flush_ok();
    put(PAGE, 10, 'd');
    left = leave_open();
    store_put("/f", 0, 3 * PAGE, 'o');
    again(RW);
    ck_assert_uint_eq(zc_cache_size(file), 3 * PAGE);
    expect(0, PAGE, 'o');
    expect(PAGE, 10, 'd');
    expect(PAGE + 10, 2 * PAGE - 10, 'o');
    zc_cache_close(left);
    flush_ok();
    expect_stored("/f", PAGE, 10, 'd');
    stop();
}
END_TEST

/* After another process shortened the file, its size is the larger of the store's size and the end
 * of the unwritten bytes. */
START_TEST(size_after_others_shortened_the_file)
{
    struct iovec iov = {(void *)(uintptr_t) "x", 1};
    struct zc_attr attr = {0};
    struct zc_handle *left;
    struct zc_sfile *sf;

    setup();
    start();
    put(0, 3 * PAGE, 'a');
    flush_ok();
    put(PAGE, 10, 'd');
    left = leave_open();
    ck_assert_int_eq(zc_store_open_file(store, "/f", RW, 0, &sf, &attr), 0);
    ck_assert_int_eq(zc_store_truncate(sf, 0), 0);
    ck_assert_int_eq(zc_store_pwritev(sf, &iov, 1, 0), 1);
    zc_store_close_file(sf, ZC_LEVEL_VISIBLE);
    again(RW);
    ck_assert_uint_eq(zc_cache_size(file), PAGE + 10);
    expect(1, PAGE - 1, 0);
    zc_cache_close(left);
    stop();
}
END_TEST

/* Another process truncates the file to `size`. */
static void store_cut(uint64_t size)
{
    struct zc_attr attr = {0};
    struct zc_sfile *sf;

    ck_assert_int_eq(zc_store_open_file(store, "/f", RW, 0, &sf, &attr), 0);
    ck_assert_int_eq(zc_store_truncate(sf, size), 0);
    zc_store_close_file(sf, ZC_LEVEL_VISIBLE);
}

/* Truncated by us, and by others after the flush of that: no byte is cached, but the size is. */
START_TEST(a_flush_of_nothing_but_a_size_ends_what_is_ours)
{
    struct zc_handle *left;

    setup();
    store_put("/f", 0, 3 * PAGE, 's');
    start();
    ck_assert_int_eq(zc_cache_truncate(file, 2 * PAGE), 0);
    flush_ok();
    left = leave_open();
    store_cut(PAGE);
    again(RW);
    ck_assert_uint_eq(zc_cache_size(file), PAGE);
    zc_cache_close(left);
    stop();
}
END_TEST

/* The same with a close by the process that truncated it, while a handle is left over. */
START_TEST(a_close_after_nothing_but_a_size_ends_what_is_ours)
{
    struct zc_handle *left;

    setup();
    store_put("/f", 0, 3 * PAGE, 's');
    start();
    left = leave_open();
    again(RW);
    ck_assert_int_eq(zc_cache_truncate(file, 2 * PAGE), 0);
    ck_assert_int_eq(zc_cache_close(file), 0);
    store_cut(PAGE);
    again(RW);
    ck_assert_uint_eq(zc_cache_size(file), PAGE);
    zc_cache_close(left);
    stop();
}
END_TEST

/* Flushers have written everything, and not read the attributes yet, when all is to be written
 * back: once it is said to be, a later change by others is not taken for ours. */
START_TEST(a_drain_of_clean_bytes_ends_what_is_ours)
{
    struct zc_handle *left;

    zc_clock = zc_clock_sim();
    setup();
    start();
    put(0, PAGE, 'a');
    flush_ok(); /* and the attributes are read; the next time is not at once */
    put(0, PAGE, 'b');
    zc_cache_hurry(cache, true);
    WAIT_FOR(st.dirty_bytes == 0);
    zc_cache_hurry(cache, false);
    ck_assert_int_eq(zc_cache_drain(cache), 0);
    left = leave_open();
    store_put("/f", 0, PAGE, 'o');
    again(RW);
    expect(0, PAGE, 'o');
    zc_cache_close(left);
    stop();
}
END_TEST

/* Late write-back finds a file that others have changed: its effect on the attributes does not hide
 * that change. */
START_TEST(write_back_confirms_no_earlier_change)
{
    struct zc_handle *left;

    setup();
    start();
    put(0, PAGE, 'a');
    flush_ok();
    put(PAGE, PAGE, 'd');
    left = leave_open();
    store_put("/f", 0, 10, 'o');
    ck_assert_int_eq(zc_cache_drain(cache), 0);
    expect_stored("/f", PAGE, PAGE, 'd');
    again(RW);
    ck_assert_uint_eq(stats().stale_drops, 1);
    expect(0, 10, 'o');
    expect(10, PAGE - 10, 'a');
    zc_cache_close(left);
    stop();
}
END_TEST

/* The same for a closed file of which only pages are left. */
START_TEST(write_back_after_the_close_confirms_no_earlier_change)
{
    setup();
    start();
    put(0, PAGE, 'a');
    flush_ok();
    put(PAGE, PAGE, 'd');
    zc_store_fault_hold(store, ZC_FAULT_ATTR);
    ck_assert_int_eq(zc_cache_flush_later(file, ZC_LEVEL_STORED), 0);
    wait_held(1); /* the flusher checks whether the file has changed */
    store_put("/f", 0, 10, 'o');
    zc_store_fault_release(store);
    zc_cache_disown(file);
    ck_assert_int_eq(zc_cache_close(file), 0);
    file = NULL;
    ck_assert_int_eq(zc_cache_drain(cache), 0);
    again(RW);
    expect(0, 10, 'o');
    stop();
}
END_TEST

static void *drain(void *unused)
{
    (void)unused;
    ck_assert_int_eq(zc_cache_drain(cache), 0);
    return NULL;
}

/* The last check before the store file is closed takes long: a drain meanwhile does not sync a file
 * about to be closed. */
START_TEST(nothing_is_synced_while_it_is_closed)
{
    uint64_t deadline;
    pthread_t thread;

    setup();
    cfg.flushers = 2;
    start();
    put(0, PAGE, 'a');
    zc_store_fault_hold(store, ZC_FAULT_WRITE);
    zc_cache_disown(file);
    ck_assert_int_eq(zc_cache_close(file), 0);
    file = NULL;
    wait_held(1);
    zc_store_fault_hold(store, ZC_FAULT_ATTR | ZC_FAULT_SYNC); /* and the write goes on */
    WAIT_FOR(st.dirty_bytes == 0);
    wait_held(1); /* the last check */
    pthread_create(&thread, NULL, drain, NULL);
    WAIT_FOR(st.waiting_flush == 1);
    deadline = zc_now() + 200 * ZC_NS_PER_MS;
    while (zc_now() < deadline)
        ck_assert_uint_le(zc_store_fault_held(store), 1);
    zc_store_fault_release(store);
    pthread_join(thread, NULL);
    expect_stored("/f", 0, PAGE, 'a');
    stop();
}
END_TEST

/* ---- our own changes ---- */

/* Written, closed in order, opened: cached bytes are used, also if write-back came last. */
START_TEST(our_own_changes_are_ours)
{
    uint64_t reads;

    setup();
    start();
    put(0, 2 * PAGE, 'a');
    flush_ok();
    ck_assert_int_eq(zc_cache_truncate(file, PAGE + 10), 0);
    ck_assert_int_eq(zc_cache_allocate(file, 0, 2 * PAGE), 0);
    put(0, PAGE, 'b');
    ck_assert_int_eq(zc_cache_close(file), 0); /* and is written back */
    file = NULL;
    ck_assert_int_eq(zc_cache_drain(cache), 0);
    again(RW);
    reads = stats().store_reads;
    expect(0, PAGE, 'b');
    ck_assert_uint_eq(stats().store_reads, reads);
    ck_assert_uint_eq(stats().stale_drops, 0);
    stop();
}
END_TEST

/* A client is killed after its write, and no other process has changed the file: its bytes are
 * valid. */
START_TEST(what_the_dead_have_written_is_good)
{
    struct zc_handle *left;
    uint64_t reads;

    setup();
    start();
    put(0, PAGE, 'a');
    flush_ok();
    left = leave_open();
    again(RW);
    reads = stats().store_reads;
    expect(0, PAGE, 'a');
    zc_cache_disown(left);
    zc_cache_close(left);
    zc_cache_close(file);
    again(RW);
    expect(0, PAGE, 'a');
    ck_assert_uint_eq(stats().store_reads, reads);
    ck_assert_uint_eq(stats().stale_drops, 0);
    stop();
}
END_TEST

static atomic_bool enough;

static void *write_on(void *arg)
{
    struct zc_handle *h = arg;
    char buf[PAGE] = {1};

    while (!atomic_load(&enough)) {
        for (unsigned i = 0; i < 3; i++)
            ck_assert_int_eq(zc_cache_write(h, buf, sizeof buf, i * PAGE), PAGE);
        ck_assert_int_eq(zc_cache_flush(h, ZC_LEVEL_STORED), 0);
    }
    return NULL;
}

/* Others open it during a job's writes and write-back: no clean bytes are dropped. */
START_TEST(opens_while_it_is_written)
{
    struct zc_handle *writer;
    uint64_t reads;
    pthread_t t;

    setup();
    cfg.flushers = 4;
    cfg.max_io = PAGE;
    start();
    put(3 * PAGE, PAGE, 'c');
    flush_ok();
    writer = leave_open();
    reads = stats().store_reads;
    zc_store_fault_delay(store, ZC_FAULT_WRITE, 200);
    pthread_create(&t, NULL, write_on, writer);
    for (int i = 0; i < 200; i++) {
        again(RW);
        expect(3 * PAGE, PAGE, 'c');
        zc_cache_disown(file);
        ck_assert_int_eq(zc_cache_close(file), 0);
    }
    atomic_store(&enough, true);
    pthread_join(t, NULL);
    ck_assert_uint_eq(stats().stale_drops, 0);
    ck_assert_uint_eq(stats().store_reads, reads);
    file = writer;
    stop();
}
END_TEST

/* A job over two daemons: each sees the other's writes as foreign.  An orderly close confirms
 * both. */
START_TEST(two_caches_of_one_job)
{
    struct zc_handle *h[2];
    struct zc_cache *c[2];

    setup();
    for (int i = 0; i < 2; i++) {
        make_cache();
        c[i] = cache;
        h[i] = open_flags("/f", NEW);
    }
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 2; i++) {
            file = h[i];
            put((uint64_t)i * PAGE, PAGE, 'a' + i + round);
            flush_ok();
        }
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(zc_cache_close(h[i]), 0);
    for (int i = 0; i < 2; i++) {
        uint64_t reads;

        cache = c[i];
        again(RW);
        reads = stats().store_reads;
        expect((uint64_t)i * PAGE, PAGE, 'c' + i);
        ck_assert_uint_eq(stats().store_reads, reads);
        ck_assert_uint_eq(stats().stale_drops, 0);
        ck_assert_int_eq(zc_cache_close(file), 0);
    }
    zc_cache_destroy(c[0]);
    file = NULL;
    stop();
}
END_TEST

/* Too many pieces in a page: the bytes between are read, and not written back. */
START_TEST(what_lies_between_pieces_is_not_written)
{
    setup();
    cfg.max_extents = 8;
    store_put("/f", 0, PAGE, 's');
    start();
    expect(0, PAGE, 's');
    for (unsigned i = 0; i < 64; i++) {
        put(64 * i, 1, 'a');
        if (i == 20)
            store_put("/f", 1, 1, 'o'); /* another daemon of the job, or a program */
    }
    flush_ok();
    for (unsigned i = 0; i < 64; i++)
        expect_stored("/f", 64 * i, 1, 'a');
    expect_stored("/f", 1, 1, 'o');
    expect_stored("/f", 2, 62, 's');
    stop();
}
END_TEST

/* ---- a store with coarse times, which may get stuck ---- */

static struct zc_store_ops plain, bent;
static _Atomic(int64_t) coarse_ns; /* 0: the store's own times */
static atomic_bool stuck, reached;

static void bend(struct zc_attr *attr)
{
    if (atomic_load(&coarse_ns)) {
        attr->mtime_ns = attr->ctime_ns = atomic_load(&coarse_ns);
        attr->exact = false;
    }
}

static int bent_open(struct zc_store *s, const char *path, unsigned flags, mode_t mode,
                     struct zc_sfile **out, struct zc_attr *attr)
{
    int rc = plain.open(s, path, flags, mode, out, attr);

    bend(attr);
    return rc;
}

static int bent_getattr(struct zc_sfile *f, struct zc_attr *attr)
{
    int rc = plain.getattr(f, attr);

    bend(attr);
    return rc;
}

static int bent_stat(struct zc_store *s, const char *path, struct zc_attr *attr)
{
    int rc = plain.stat(s, path, attr);

    bend(attr);
    return rc;
}

static ssize_t bent_pwritev(struct zc_sfile *f, const struct iovec *iov, int n, uint64_t off)
{
    ssize_t rc = plain.pwritev(f, iov, n, off);

    if (atomic_load(&stuck))
        atomic_store(&reached, true);
    while (atomic_load(&stuck))
        zc_clock_sleep(ZC_NS_PER_MS);
    return rc;
}

static void setup_bent(void)
{
    struct zc_store *mem;

    setup();
    zc_store_destroy(store);
    ck_assert_int_eq(zc_store_mem_create(&mem), 0);
    plain = bent = *mem->ops;
    bent.open = bent_open;
    bent.getattr = bent_getattr;
    bent.stat = bent_stat;
    bent.pwritev = bent_pwritev;
    mem->ops = &bent;
    ck_assert_int_eq(zc_store_fault_create(mem, &store), 0);
}

/* A store write that does not return: an open does not wait for it, but drops clean bytes. */
START_TEST(a_stuck_write_does_not_prevent_opens)
{
    struct zc_handle *left;
    uint64_t reads;

    zc_clock = zc_clock_sim();
    setup_bent();
    start();
    put(0, PAGE, 'a');
    flush_ok();
    put(PAGE, PAGE, 'b');
    atomic_store(&stuck, true);
    ck_assert_int_eq(zc_cache_flush_later(file, ZC_LEVEL_STORED), 0);
    while (!atomic_load(&reached))
        sched_yield();
    left = leave_open();
    again(RW);
    ck_assert_uint_eq(stats().stale_drops, 1);
    reads = stats().store_reads;
    expect(0, PAGE, 'a');
    expect(PAGE, PAGE, 'b');
    ck_assert_uint_eq(stats().store_reads, reads + 1);
    atomic_store(&stuck, false);
    zc_cache_close(left);
    stop();
}
END_TEST

static int64_t real_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* A change in the tick of our last write and check shows in no attribute. */
START_TEST(attributes_of_this_very_tick_prove_nothing)
{
    setup_bent();
    start();
    put(0, PAGE, 'a');
    atomic_store(&coarse_ns, real_now() + 3600 * INT64_C(1000000000)); /* a long tick */
    flush_ok();
    ck_assert_int_eq(zc_cache_close(file), 0);
    store_put("/f", 0, 10, 'o');
    again(RW);
    expect(0, 10, 'o');
    stop();
}
END_TEST

/* After the tick they are read again, and valid. */
START_TEST(attributes_are_read_again_after_the_tick)
{
    uint64_t reads;

    setup_bent();
    start();
    put(0, PAGE, 'a');
    atomic_store(&coarse_ns, real_now());
    flush_ok();
    ck_assert_int_eq(zc_cache_close(file), 0);
    file = NULL;
    WAIT_FOR(st.racy_files == 0);
    again(RW);
    reads = stats().store_reads;
    expect(0, PAGE, 'a');
    ck_assert_uint_eq(stats().store_reads, reads);
    ck_assert_uint_eq(stats().stale_drops, 0);
    stop();
}
END_TEST

/* ---- changes without a time ---- */

static char mapped_path[] = "/tmp/zc-mapped-XXXXXX";

static int first_byte(struct zc_cache *c, unsigned flags)
{
    struct zc_attr attr = {0};
    struct zc_handle *h;
    unsigned char byte = 0;

    ck_assert_int_eq(zc_cache_open(c, mapped_path, ZC_OPEN_READ | flags, 0, &h, &attr), 0);
    ck_assert_int_eq(zc_cache_read(h, &byte, 1, 0), 1);
    ck_assert_int_eq(zc_cache_close(h), 0);
    return byte;
}

/* A page mapped by another program, which writes to it, changes without a new time.  Whether an
 * open without the flag sees it is undefined. */
START_TEST(another_mapping)
{
    struct zc_cache_config mapped = ZC_CACHE_CONFIG_DEFAULT;
    struct zc_store *posix;
    struct zc_cache *c;
    char *map;
    int fd;

    strcpy(mapped_path + strlen(mapped_path) - 6, "XXXXXX");
    fd = mkstemp(mapped_path);
    ck_assert_int_eq(ftruncate(fd, PAGE), 0);
    map = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(map, MAP_FAILED);
    close(fd);
    mapped.capacity = 64 * PAGE;
    mapped.page_size = PAGE;
    ck_assert_int_eq(zc_store_posix_create(NULL, &posix), 0);
    ck_assert_int_eq(zc_cache_create(&mapped, posix, &c), 0);
    for (char byte = 'a'; byte <= 'z'; byte++) {
        map[0] = byte;
        first_byte(c, 0);
        map[0] = (char)(byte - 'a' + 'A');
        ck_assert_int_eq(first_byte(c, ZC_OPEN_FRESH), byte - 'a' + 'A');
    }
    zc_cache_destroy(c);
    zc_store_destroy(posix);
    munmap(map, PAGE);
    unlink(mapped_path);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("token");

    quiet_log();
    CASE(s, "others", 30, left_over_handles_do_not_hide_a_change,
         read_after_changes_that_left_no_page, the_end_of_a_dead_client_confirms_nothing,
         dirty_bytes_outlive_a_change, size_after_others_shortened_the_file,
         a_flush_of_nothing_but_a_size_ends_what_is_ours,
         a_close_after_nothing_but_a_size_ends_what_is_ours,
         a_drain_of_clean_bytes_ends_what_is_ours, write_back_confirms_no_earlier_change,
         write_back_after_the_close_confirms_no_earlier_change,
         nothing_is_synced_while_it_is_closed);
    CASE(s, "ours", 60, our_own_changes_are_ours, what_the_dead_have_written_is_good,
         opens_while_it_is_written, what_lies_between_pieces_is_not_written, two_caches_of_one_job,
         a_stuck_write_does_not_prevent_opens);
    CASE(s, "mappings", 30, another_mapping);
    CASE(s, "ticks", 30, attributes_of_this_very_tick_prove_nothing,
         attributes_are_read_again_after_the_tick);
    return run_suite(s);
}
