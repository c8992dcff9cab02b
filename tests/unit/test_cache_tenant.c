/* test_cache_tenant.c - two jobs in one cache, a greedy and a modest one: counts what each gets of
 * pages, of the dirty limit and of the store.
 *
 * Each test runs twice: with a tenant for each job, and without, where the greedy job impedes the
 * other as in any cache.  A page's bytes name its job, 'g' or 'm', so the store below sees the
 * order in which it serves them.
 */
#include "config.h"

#include "cache_rig.h"
#include "zc_lock.h"

enum { GREEDY, MODEST, JOBS, MOST = 64 };

static const char letter[JOBS] = {'g', 'm'};
static struct zc_cache_tenant *share[JOBS];
static bool shared;

/* ---- what the store serves ---- */

static struct zc_store_ops spied;
static const struct zc_store_ops *real;
static char served[1024]; /* by atomic `nserved` */
static atomic_uint nserved;

static void note(const struct iovec *iov)
{
    served[atomic_fetch_add(&nserved, 1)] = *(const char *)iov->iov_base;
}

static ssize_t spy_write(struct zc_sfile *f, const struct iovec *iov, int n, uint64_t off)
{
    note(iov);
    return real->pwritev(f, iov, n, off);
}

static ssize_t spy_read(struct zc_sfile *f, const struct iovec *iov, int n, uint64_t off)
{
    ssize_t got = real->preadv(f, iov, n, off);

    note(iov);
    return got;
}

static void spy(void)
{
    real = memory->ops;
    spied = *real;
    spied.pwritev = spy_write;
    spied.preadv = spy_read;
    spied.write_ranges = NULL;
    memory->ops = &spied;
    memset(served, 0, sizeof served);
    atomic_store(&nserved, 0);
}

/* Position of the last write of a job that was served, from 1. */
static unsigned last_of(int job)
{
    unsigned last = 0;

    for (unsigned i = 0; i < atomic_load(&nserved); i++)
        if (served[i] == letter[job])
            last = i + 1;
    return last;
}

static unsigned count_of(int job, unsigned before)
{
    unsigned n = 0;

    for (unsigned i = 0; i < before; i++)
        n += served[i] == letter[job];
    return n;
}

/* ---- jobs ---- */

static void begin_test(bool with_shares)
{
    shared = with_shares;
    make_cache();
    for (int job = 0; job < JOBS; job++)
        share[job] = shared ? zc_cache_tenant_get(cache, 10 + (uint64_t)job) : NULL;
    ck_assert(!shared || (share[GREEDY] && share[MODEST] && share[GREEDY] != share[MODEST]));
}

static struct zc_handle *open_for(int job, const char *path)
{
    struct zc_handle *h = open_flags(path, NEW);

    zc_cache_charge(h, share[job]);
    return h;
}

static void leave(int job)
{
    zc_cache_tenant_put(cache, share[job]);
    share[job] = NULL;
}

static void end_test(void)
{
    for (int job = 0; job < JOBS; job++)
        leave(job);
    file = NULL;
    stop();
}

static void write_pages(struct zc_handle *h, int job, unsigned from, unsigned n)
{
    file = h;
    put((uint64_t)from * PAGE, (size_t)n * PAGE, letter[job]);
}

static void read_pages(struct zc_handle *h, int job, unsigned from, unsigned n)
{
    file = h;
    expect((uint64_t)from * PAGE, (size_t)n * PAGE, letter[job]);
}

/* Begins an access to one page each; returns how many may proceed at once. */
static unsigned begin_pages(struct zc_handle *h, struct acc *a, enum zc_dir dir, unsigned from,
                            unsigned n)
{
    unsigned done = 0;

    file = h;
    for (unsigned i = 0; i < n; i++) {
        int rc = begin(&a[i], dir, (uint64_t)(from + i) * PAGE, PAGE);

        ck_assert(rc == 0 || rc == -EINPROGRESS);
        if (rc == 0)
            atomic_store(&a[i].order, -1);
        done += rc == 0;
    }
    return done;
}

static void end_pages(struct acc *a, unsigned n, int job)
{
    for (unsigned i = 0; i < n; i++) {
        await(&a[i]);
        ck_assert_int_eq(a[i].a.status, 0);
        if (a[i].a.dir == ZC_WRITE)
            end_write(&a[i], letter[job]);
        else
            zc_cache_end(&a[i].a, 0);
    }
}

/* ---- the store ---- */

/* Eight files of one job and one of another are synced: with turns by file the modest job would get
 * a ninth of the store, in order of arrival nothing until the end. */
static void writes(bool with_shares)
{
    struct flush_note notes[9];
    struct zc_handle *h[9];
    char path[16];

    setup();
    cfg.capacity = 128 * PAGE;
    cfg.max_io = PAGE;
    cfg.flushers = 1;
    spy();
    begin_test(with_shares);
    for (int i = 0; i < 9; i++) {
        snprintf(path, sizeof path, "/f%d", i);
        h[i] = open_for(i < 8 ? GREEDY : MODEST, path);
        write_pages(h[i], i < 8 ? GREEDY : MODEST, 0, 6);
    }
    zc_store_fault_hold(store, ZC_FAULT_WRITE);
    for (int i = 0; i < 9; i++) {
        file = h[i];
        start_flush(&notes[i], ZC_LEVEL_STORED);
    }
    wait_held(1);
    zc_store_fault_release(store);
    for (int i = 0; i < 9; i++)
        await_flush(&notes[i]);
    ck_assert_uint_eq(atomic_load(&nserved), 54);
    ck_assert_uint_eq(count_of(MODEST, 54), 6);
    /* 6 of its own, as many of the other, the one that was under way; and a sync of each file */
    if (shared)
        ck_assert_msg(last_of(MODEST) <= 13, "served %s", served);
    else
        ck_assert_msg(last_of(MODEST) > 40, "served %s", served);
    for (int i = 0; i < 9; i++)
        zc_cache_close(h[i]);
    end_test();
}

START_TEST(writes_take_turns)
{
    writes(false);
    writes(true);
}
END_TEST

/* Idle pages get their turn while another job syncs without end. */
START_TEST(what_is_left_alone_is_written_beside_syncs)
{
    struct flush_note notes[8];
    struct zc_handle *h[8], *m;
    char path[16];

    setup();
    cfg.capacity = 128 * PAGE;
    cfg.max_io = PAGE;
    cfg.flushers = 1;
    cfg.idle_ms = 1;
    spy();
    begin_test(true);
    zc_store_fault_hold(store, ZC_FAULT_WRITE);
    m = open_for(MODEST, "/m");
    for (int i = 0; i < 8; i++) {
        snprintf(path, sizeof path, "/f%d", i);
        h[i] = open_for(GREEDY, path);
        write_pages(h[i], GREEDY, 0, 8);
        start_flush(&notes[i], ZC_LEVEL_STORED);
    }
    wait_held(1);
    write_pages(m, MODEST, 0, 4);
    usleep(2000); /* until it is idle; later does not matter */
    zc_store_fault_release(store);
    for (int i = 0; i < 8; i++)
        await_flush(&notes[i]);
    WAIT_FOR(st.dirty_bytes == 0);
    ck_assert_uint_eq(atomic_load(&nserved), 68);
    ck_assert_msg(last_of(MODEST) <= 12, "served %s", served);
    for (int i = 0; i < 8; i++)
        zc_cache_close(h[i]);
    zc_cache_close(m);
    end_test();
}
END_TEST

static void reads(bool with_shares)
{
    struct acc g[8], m[2];
    struct zc_handle *hg, *hm;

    setup();
    cfg.capacity = 32 * PAGE;
    cfg.readers = 1;
    cfg.max_read = PAGE;
    store_put("/g", 0, 8 * PAGE, 'g');
    store_put("/m", 0, 2 * PAGE, 'm');
    spy();
    begin_test(with_shares);
    hg = open_for(GREEDY, "/g");
    hm = open_for(MODEST, "/m");
    zc_store_fault_hold(store, ZC_FAULT_READ);
    ck_assert_uint_eq(begin_pages(hg, g, ZC_READ, 0, 8), 0);
    ck_assert_uint_eq(begin_pages(hm, m, ZC_READ, 0, 2), 0);
    wait_held(1);
    zc_store_fault_release(store);
    end_pages(m, 2, MODEST);
    end_pages(g, 8, GREEDY);
    ck_assert_uint_eq(atomic_load(&nserved), 10);
    if (shared)
        ck_assert_msg(last_of(MODEST) <= 5, "served %s", served);
    else
        ck_assert_msg(last_of(MODEST) == 10, "served %s", served);
    zc_cache_close(hg);
    zc_cache_close(hm);
    end_test();
}

START_TEST(reads_take_turns)
{
    reads(false);
    reads(true);
}
END_TEST

/* ---- room ---- */

/* 16 pages, of which 14 may be unwritten, and a store that does not return. */
static void dirty_room(bool with_shares)
{
    struct acc g[16], m[4];
    struct zc_handle *hg, *hm;
    unsigned got;

    setup();
    cfg.capacity = 16 * PAGE;
    spy();
    begin_test(with_shares);
    hg = open_for(GREEDY, "/g");
    hm = open_for(MODEST, "/m");
    zc_store_fault_hold(store, ZC_FAULT_WRITE);
    got = begin_pages(hg, g, ZC_WRITE, 0, 16);
    ck_assert_uint_eq(got, shared ? 10 : 14); /* half of the other's half is left to it */
    ck_assert_uint_eq(begin_pages(hm, m, ZC_WRITE, 0, 4), shared ? 4 : 0);
    ck_assert_uint_le(stats().used_bytes, cfg.capacity);
    end_pages(g, got, GREEDY);
    zc_store_fault_release(store);
    end_pages(m, 4, MODEST);
    end_pages(g + got, 16 - got, GREEDY);
    file = hg;
    flush_ok();
    file = hm;
    flush_ok();
    expect_stored("/g", 0, 16 * PAGE, 'g');
    expect_stored("/m", 0, 4 * PAGE, 'm');
    zc_cache_close(hg);
    zc_cache_close(hm);
    end_test();
}

START_TEST(dirty_room_is_left_to_others)
{
    dirty_room(false);
    dirty_room(true);
}
END_TEST

/* A job alone may make dirty as many pages as all jobs may. */
START_TEST(one_job_has_it_all)
{
    struct acc g[16];
    struct zc_handle *h;

    setup();
    cfg.capacity = 16 * PAGE;
    spy();
    begin_test(true);
    h = open_for(GREEDY, "/g");
    zc_store_fault_hold(store, ZC_FAULT_WRITE);
    ck_assert_uint_eq(begin_pages(h, g, ZC_WRITE, 0, 16), 14);
    end_pages(g, 14, GREEDY);
    zc_store_fault_release(store);
    end_pages(g + 14, 2, GREEDY);
    zc_cache_close(h);
    end_test();
}
END_TEST

/* A job reads a few pages again and again while another one reads a long file once. */
static void kept(bool with_shares)
{
    struct zc_handle *hg, *hm;
    uint64_t before;

    setup();
    cfg.capacity = 16 * PAGE;
    store_put("/g", 0, MOST * PAGE, 'g');
    store_put("/m", 0, 4 * PAGE, 'm');
    spy();
    begin_test(with_shares);
    hg = open_for(GREEDY, "/g");
    hm = open_for(MODEST, "/m");
    read_pages(hm, MODEST, 0, 4);
    before = stats().store_reads;
    for (unsigned i = 0; i < MOST; i += 16) {
        read_pages(hg, GREEDY, i, 16);
        read_pages(hm, MODEST, 0, 4);
    }
    ck_assert_uint_eq(count_of(MODEST, atomic_load(&nserved)), shared ? 4 : 4 + 4 * 4);
    ck_assert_uint_ge(stats().store_reads, before + MOST);
    zc_cache_close(hg);
    zc_cache_close(hm);
    end_test();
}

START_TEST(pages_in_use_are_kept)
{
    kept(false);
    kept(true);
}
END_TEST

/* Pages of a job that is gone are evicted before those of any other. */
START_TEST(a_gone_job_gives_first)
{
    struct zc_handle *hg, *hm;

    setup();
    cfg.capacity = 16 * PAGE;
    store_put("/g", 0, 20 * PAGE, 'g');
    store_put("/m", 0, 4 * PAGE, 'm');
    spy();
    begin_test(true);
    hg = open_for(GREEDY, "/g");
    read_pages(hg, GREEDY, 0, 12);
    hm = open_for(MODEST, "/m"); /* later, and fewer */
    read_pages(hm, MODEST, 0, 4);
    zc_cache_close(hm);
    leave(MODEST);
    read_pages(hg, GREEDY, 12, 4);
    read_pages(hg, GREEDY, 0, 16);
    ck_assert_uint_eq(count_of(GREEDY, atomic_load(&nserved)), 16);
    hm = open_for(MODEST, "/m");
    read_pages(hm, MODEST, 0, 4);
    ck_assert_uint_eq(count_of(MODEST, atomic_load(&nserved)), 8);
    zc_cache_close(hg);
    zc_cache_close(hm);
    end_test();
}
END_TEST

/* Eight accesses wait for a page, and then two of another job: the first of these waits for one
 * only. */
static void room(bool with_shares)
{
    struct acc held[8], g[8], m[2];
    struct zc_handle *hg, *hm;

    setup();
    cfg.capacity = 8 * PAGE;
    cfg.readers = 1;
    cfg.max_read = PAGE;
    store_put("/g", 0, 16 * PAGE, 'g');
    store_put("/m", 0, 2 * PAGE, 'm');
    begin_test(with_shares);
    hg = open_for(GREEDY, "/g");
    hm = open_for(MODEST, "/m");
    begin_pages(hg, held, ZC_READ, 0, 8);
    for (unsigned i = 0; i < 8; i++)
        await(&held[i]);
    atomic_store(&ready_count, 0);
    ck_assert_uint_eq(begin_pages(hg, g, ZC_READ, 8, 8), 0);
    ck_assert_uint_eq(begin_pages(hm, m, ZC_READ, 0, 2), 0);
    ck_assert_uint_eq(stats().waiting_room, 10);
    for (unsigned i = 0; i < 4; i++) /* four pages: two for each */
        zc_cache_end(&held[i].a, 0);
    WAIT_FOR(st.waiting_room == 6 && atomic_load(&ready_count) == 4);
    ck_assert_int_eq(is_ready(&m[0]) + is_ready(&m[1]), shared ? 2 : 0);
    for (unsigned i = 4; i < 8; i++)
        zc_cache_end(&held[i].a, 0);
    for (unsigned i = 0; i < 8; i++)
        end_pages(&g[i], 1, GREEDY);
    end_pages(m, 2, MODEST);
    zc_cache_close(hg);
    zc_cache_close(hm);
    end_test();
}

START_TEST(page_waiters_are_woken_in_turns)
{
    room(false);
    room(true);
}
END_TEST

/* ---- one file ---- */

/* Unwritten bytes belong to the job that wrote them, clean ones to the job that read them last. */
START_TEST(pages_belong_to_the_tenant_that_uses_them)
{
    struct acc g[16];
    struct zc_handle *hg, *hm;

    setup();
    cfg.capacity = 16 * PAGE;
    spy();
    begin_test(true);
    hg = open_for(GREEDY, "/f");
    hm = open_for(MODEST, "/f");
    zc_store_fault_hold(store, ZC_FAULT_WRITE);
    write_pages(hm, MODEST, 0, 4);
    read_pages(hg, MODEST, 0, 4);
    ck_assert_uint_eq(begin_pages(hg, g, ZC_WRITE, 4, 10), 7); /* half of 14 */
    end_pages(g, 7, GREEDY);
    write_pages(hg, GREEDY, 0, 4); /* they are reserved: for the other job now */
    zc_store_fault_release(store);
    end_pages(g + 7, 3, GREEDY);
    file = hm;
    flush_ok();
    expect_stored("/f", 0, 14 * PAGE, 'g');
    leave(MODEST); /* with its handle open, which keeps the tenant */
    read_pages(hm, GREEDY, 0, 14);
    zc_cache_close(hm);
    read_pages(hg, GREEDY, 0, 14);
    zc_cache_close(hg);
    end_test();
}
END_TEST

/* A file whose write-back fails does not count against the jobs' parts: other jobs go on. */
START_TEST(refused_bytes_delay_no_other_file)
{
    struct zc_handle *bad, *hg, *hm;

    setup();
    cfg.capacity = 16 * PAGE;
    cfg.idle_ms = 1;
    quiet_log();
    begin_test(true);
    bad = open_for(GREEDY, "/bad");
    hg = open_for(GREEDY, "/g");
    hm = open_for(MODEST, "/m");
    zc_store_fault_set(store, ZC_FAULT_WRITE, 1, UINT64_MAX, EIO);
    write_pages(bad, GREEDY, 0, 4);
    file = bad;
    ck_assert_int_eq(zc_cache_flush(bad, ZC_LEVEL_STORED), -EIO);
    zc_store_fault_set(store, 0, 0, 0, 0);
    zc_store_fault_hold_path(store, ZC_FAULT_WRITE, "/bad");
    write_pages(hg, GREEDY, 0, 40); /* more than the limit: waits for its own write-back */
    write_pages(hm, MODEST, 0, 40);
    zc_store_fault_release(store);
    zc_cache_close(hm);
    zc_cache_close(hg);
    zc_cache_close(bad);
    end_test();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("share");

    CASE(s, "store", 60, writes_take_turns, what_is_left_alone_is_written_beside_syncs,
         reads_take_turns);
    CASE(s, "room", 60, dirty_room_is_left_to_others, one_job_has_it_all, pages_in_use_are_kept,
         a_gone_job_gives_first, page_waiters_are_woken_in_turns);
    CASE(s, "one file", 60, pages_belong_to_the_tenant_that_uses_them,
         refused_bytes_delay_no_other_file);
    return run_suite(s);
}
