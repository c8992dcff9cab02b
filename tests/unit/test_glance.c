/* test_glance.c - pages that a server shows to processes of its host, which read them without
 * asking: what they get is what a read would bring, and what is nonsense is not believed.
 */
#include "config.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "rig.h"
#include "splitmix.h"
#include "zc_glance.h"
#include "zc_tp_local.h"

enum { PAGE = 4096, PAGES = 24, SIZE = PAGES * PAGE, LARGE_PAGE = 64 << 10 };

static struct rig rig;
static struct zc_net *net[2];
static struct zc_client *client[2];
static uint64_t handle[2];
static unsigned char image[SIZE], got[SIZE];

/* A server of so many pages, two clients that have the same file open. */
static void up_pages(unsigned pages, uint32_t page_size)
{
    struct zc_cache_config cfg = ZC_CACHE_CONFIG_DEFAULT;

    cfg.capacity = (size_t)pages * page_size;
    cfg.page_size = page_size;
    cfg.idle_ms = 1;
    cfg.shown = rig_shows;
    rig_up(&rig, &cfg, NULL);
    for (int i = 0; i < 2; i++) {
        net[i] = rig_net(30000);
        client[i] = rig_connect(&rig, net[i]);
        handle[i] = rig_open(client[i], "/f");
    }
}

static void up(unsigned pages)
{
    up_pages(pages, PAGE);
}

static void down(void)
{
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(zc_client_close(client[i], handle[i], ZC_LEVEL_STORED), 0);
        zc_client_disconnect(client[i]);
        zc_net_destroy(net[i]);
    }
    rig_down(&rig);
}

static void near(void)
{
    rig_transport = zc_tp_local_open;
    rig_shows = true;
}

static void put(int who, unsigned gen, size_t len, uint64_t off)
{
    fill(image + off, len, off, gen);
    ck_assert_int_eq(zc_client_write(client[who], handle[who], image + off, len, off), len);
}

/* Asks, and remembers where it need not the next time. */
static ssize_t ask(int who, size_t len, uint64_t off)
{
    struct zc_io io = {.handle = handle[who], .buf = got, .len = len, .off = off};
    ssize_t n;

    zc_io_start(client[who], &io);
    n = zc_io_wait(client[who], &io);
    if (n > 0)
        zc_client_saw(client[who], handle[who], off + (uint64_t)n - 1, &io);
    return n;
}

/* As a rank reads. */
static ssize_t look(int who, size_t len, uint64_t off)
{
    return zc_client_peek(client[who], handle[who], got, len, off) ? (ssize_t)len
                                                                   : ask(who, len, off);
}

static void check(int who, size_t len, uint64_t off)
{
    ck_assert_int_eq(look(who, len, off), len);
    ck_assert_msg(!memcmp(got, image + off, len), "%zu bytes at %llu", len,
                  (unsigned long long)off);
}

START_TEST(what_is_shown_is_read_without_asking)
{
    uint64_t before;

    near();
    up(8);
    put(0, 1, 2 * PAGE, 0);
    check(0, 100, 50);
    before = rig_stat(client[1], "requests");
    for (int i = 0; i < 100; i++)
        check(0, 16, (uint64_t)i * 40);
    ck_assert_uint_eq(zc_client_peeks(client[0]), 100);
    ck_assert_uint_le(rig_stat(client[1], "requests") - before, 2); /* those that ask for this */
    check(0, 200, PAGE - 100);                                      /* over the end of a page */
    ck_assert_uint_eq(zc_client_peeks(client[0]), 100);
    down();
}
END_TEST

START_TEST(what_another_one_writes_is_seen)
{
    near();
    up(8);
    put(0, 0, PAGE, 0);
    for (unsigned i = 1; i <= 300; i++) {
        check(0, 1000, 3);
        check(0, 1000, 1000); /* without asking */
        put(1, i, 500, i % 7 * 200);
        check(0, PAGE, 0);
    }
    ck_assert_uint_ge(zc_client_peeks(client[0]), 300);
    down();
}
END_TEST

/* Nobody sees bytes behind the end, nor old ones when the file grows again. */
START_TEST(a_truncation_is_seen)
{
    near();
    up(8);
    for (unsigned i = 1; i <= 20; i++) {
        put(0, i, 2 * PAGE, 0);
        check(0, 10, 3000);
        check(0, 10, PAGE + 10);
        ck_assert_int_eq(zc_client_truncate(client[1], handle[1], 2000), 0);
        memset(got, 'x', sizeof got);
        ck_assert_int_eq(look(0, 10, PAGE + 10), 0);
        ck_assert_int_eq(look(0, 10, 1995), 5);
        ck_assert(got[5] == 'x' && !memcmp(got + 5, got + 6, PAGE)); /* nothing else came */
        check(0, 10, 1990);
        put(1, i + 100, 10, PAGE);
        memset(image + 2000, 0, PAGE - 2000);
        check(0, PAGE, 0);
        check(0, 2000, 1500);
    }
    down();
}
END_TEST

/* The same of what is not copied twice. */
START_TEST(a_long_read_leaves_what_it_does_not_bring)
{
    enum { LEN = 40000, CUT = 20000 };

    near();
    up_pages(4, LARGE_PAGE);
    for (unsigned i = 1; i <= 20; i++) {
        put(0, i, LEN, 0);
        check(0, LEN, 0);
        check(0, LEN - 10, 5);
        ck_assert_uint_eq(zc_client_peeks(client[0]), i > 1 ? 2 * i - 1 : 1);
        ck_assert_int_eq(zc_client_truncate(client[1], handle[1], CUT), 0);
        memset(got, 'x', sizeof got);
        ck_assert_int_eq(look(0, LEN, 0), CUT);
        ck_assert(got[CUT] == 'x' && !memcmp(got + CUT, got + CUT + 1, LEN - CUT));
    }
    down();
}
END_TEST

/* Frames get other pages, of this file and of another one. */
START_TEST(a_frame_that_changes_hands_is_noticed)
{
    uint64_t r = 1;
    uint64_t other;

    near();
    up(4);
    other = rig_open(client[1], "/g");
    put(0, 1, SIZE, 0);
    for (unsigned i = 0; i < 3000; i++) {
        uint64_t off = splitmix(&r) % SIZE;
        size_t len = 1 + splitmix(&r) % 600;

        if (len > SIZE - off)
            len = SIZE - off;
        if (i % 5 == 0)
            put(i / 5 % 2, i, len, off);
        else if (i % 11 == 0)
            ck_assert_int_eq(zc_client_write(client[1], other, got, len, off), len);
        check(i % 2, len, off);
        check(i % 2, len, off); /* most of these without asking */
    }
    ck_assert_uint_ge(zc_client_peeks(client[0]) + zc_client_peeks(client[1]), 500);
    ck_assert_int_eq(zc_client_close(client[1], other, ZC_LEVEL_STORED), 0);
    down();
}
END_TEST

/* What is left in a frame that nobody uses is not shown, when the page has come to another one:
 * one of these two at least, whichever of them went first. */
START_TEST(a_frame_that_is_free_shows_nothing)
{
    static const uint64_t two[] = {3 * PAGE, 0};

    near();
    up(8);
    for (unsigned i = 1; i < 20; i++) {
        put(0, i, 4 * PAGE, 0);
        for (int n = 0; n < 2; n++) {
            check(0, 10, two[n]);
            check(0, 10, two[n] + 20);
        }
        ck_assert_int_eq(zc_client_flush(client[0], handle[0], ZC_LEVEL_STORED), 0);
        ck_assert_uint_eq(zc_cache_evict(rig.cache), 4 * PAGE);
        put(1, i, PAGE, PAGE);
        for (int n = 0; n < 2; n++) {
            put(1, i + 100, PAGE, two[n]);
            check(0, 10, two[n] + 40);
        }
    }
    down();
}
END_TEST

static void never(struct zc_access *a)
{
    (void)a;
    ck_abort_msg("it was not to wait");
}

/* From before the first byte changes until after the last one. */
START_TEST(a_page_that_is_written_to_is_hidden)
{
    struct zc_attr attr = {.block_size = 8192};
    struct zc_access a = {.dir = ZC_WRITE, .off = 100, .len = 50, .ready = never};

    near();
    up(8);
    put(0, 1, PAGE, 0);
    check(0, 10, 0);
    ck_assert(zc_client_peek(client[0], handle[0], got, 200, 0));
    ck_assert_int_eq(
        zc_cache_open(rig.cache, "/f", ZC_OPEN_READ | ZC_OPEN_WRITE, 0644, &a.handle, &attr), 0);
    for (unsigned i = 2; i < 20; i++) {
        ck_assert_int_eq(zc_cache_begin(&a), 0);
        ck_assert(!zc_client_peek(client[0], handle[0], got, 200, 0));
        fill(image + 100, 50, 100, i);
        memcpy(a.data, image + 100, 50);
        ck_assert(!zc_client_peek(client[0], handle[0], got, 10, 120));
        zc_cache_end(&a, 50);
        ck_assert(zc_client_peek(client[0], handle[0], got, 200, 0));
        ck_assert(!memcmp(got, image, 200));
    }
    ck_assert_int_eq(zc_cache_close(a.handle), 0);
    down();
}
END_TEST

static atomic_bool enough;

/* Pages of one value each, over and over. */
static void *scribble(void *arg)
{
    unsigned char page[PAGE];

    (void)arg;
    for (unsigned i = 0; !atomic_load(&enough); i++) {
        memset(page, (int)(i % 251), PAGE);
        ck_assert_int_eq(zc_client_write(client[1], handle[1], page, PAGE, 0), PAGE);
    }
    return NULL;
}

/* What is taken for good was not being changed: it has one value. */
START_TEST(bytes_that_change_are_not_taken)
{
    uint64_t until = zc_now() + 20000 * ZC_NS_PER_MS;
    pthread_t thread;
    unsigned good = 0;

    near();
    up(4);
    put(0, 1, PAGE, 0);
    ck_assert_int_eq(ask(0, PAGE, 0), PAGE);
    ck_assert_int_eq(pthread_create(&thread, NULL, scribble, NULL), 0);
    while (good < 2000 && zc_now() < until) {
        if (!zc_client_peek(client[0], handle[0], got, PAGE, 0) || got[0] == image[0])
            continue;
        ck_assert_msg(!memcmp(got, got + 1, PAGE - 1), "a page of several values");
        good++;
    }
    atomic_store(&enough, true);
    pthread_join(thread, NULL);
    ck_assert_uint_gt(good, 0);
    down();
}
END_TEST

/* Whatever is said to be shown, and wherever. */
START_TEST(nonsense_is_not_believed)
{
    struct zc_glance fake = {.turn = 2, .file = 7, .no = 0, .data = 8, .lo = 0, .hi = UINT32_MAX};
    struct zc_io io = {.glance = 8, .file = 7};

    near();
    up(4);
    put(0, 1, PAGE, 0);
    zc_client_saw(client[0], handle[0], 0, &io); /* nothing is there */
    ck_assert(!zc_client_peek(client[0], handle[0], got, 10, 0));
    io.glance = (uintptr_t)&fake;
    zc_client_saw(client[0], handle[0], 0, &io);
    ck_assert(!zc_client_peek(client[0], handle[0], got, 10, 0)); /* its bytes are nowhere */
    fake.data = (uintptr_t)image;
    for (int i = 0; i < 5; i++) {
        struct zc_glance wrong[] = {fake, fake, fake, fake, fake};

        wrong[0].turn = 3;
        wrong[1].file = 8;
        wrong[2].no = 1;
        wrong[3].lo = 5;
        wrong[4].hi = 9;
        io.glance = (uintptr_t)&wrong[i];
        zc_client_saw(client[0], handle[0], 0, &io);
        ck_assert(!zc_client_peek(client[0], handle[0], got, 10, 0));
    }
    io.glance = (uintptr_t)&fake;
    zc_client_saw(client[0], handle[0], 0, &io);
    ck_assert(zc_client_peek(client[0], handle[0], got, 10, 0)); /* all else was right */
    check(1, 10, 0);
    down();
}
END_TEST

/* Checksums are looked at by the owner alone: what has them is not shown. */
static void reopen_with_checksums(void)
{
    struct zc_attr attr = {.block_size = 8192};
    unsigned flags = ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CHECKSUM;

    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(zc_client_close(client[i], handle[i], ZC_LEVEL_STORED), 0);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(zc_client_open(client[i], "/f", flags, 0644, &handle[i], &attr), 0);
}

/* By another transport, by a server that does not show, and of a file with checksums: nobody
 * looks. */
START_TEST(who_is_not_shown_anything_asks)
{
    rig_transport = _i ? zc_tp_local_open : zc_tp_loop_open;
    rig_shows = _i != 1;
    up(8);
    if (_i == 2)
        reopen_with_checksums();
    put(0, 1, PAGE, 0);
    for (int i = 0; i < 20; i++)
        check(1, 100, 0);
    ck_assert_uint_eq(zc_client_peeks(client[1]), 0);
    down();
}
END_TEST

/* The kernel refuses this thread to look, as it does in some containers; false: it does not. */
static bool refuse(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog all = {.len = sizeof code / sizeof code[0], .filter = code};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all, 0, 0) == 0;
}

/* Of pages that it knows, too: nothing is said, and reads are what they were. */
START_TEST(who_may_not_look_any_more_asks)
{
    uint64_t peeks, asked;

    near();
    up(8);
    put(0, 1, 2 * PAGE, 0);
    check(0, 100, 0);
    check(0, 100, 10);
    peeks = zc_client_peeks(client[0]);
    ck_assert_uint_eq(peeks, 1);
    if (refuse()) {
        asked = rig_stat(client[1], "requests");
        for (unsigned i = 2; i < 20; i++) {
            put(1, i, 500, 100);
            check(0, 1000, 0);
            check(0, 100, PAGE);
        }
        ck_assert_uint_ge(rig_stat(client[1], "requests") - asked, 18 * 3);
        ck_assert_uint_eq(zc_client_peeks(client[0]), peeks);
    } else {
        printf("skipped: no filter of system calls: %s\n", zc_error_text(errno));
    }
    down();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("glance");
    TCase *others = tcase_create("others");

    CASE(s, "shown", 120, what_is_shown_is_read_without_asking, what_another_one_writes_is_seen,
         a_truncation_is_seen, a_long_read_leaves_what_it_does_not_bring,
         a_frame_that_changes_hands_is_noticed, a_frame_that_is_free_shows_nothing,
         a_page_that_is_written_to_is_hidden, bytes_that_change_are_not_taken,
         nonsense_is_not_believed);
    tcase_add_loop_test(others, who_is_not_shown_anything_asks, 0, 3);
    tcase_add_test(others, who_may_not_look_any_more_asks); /* the last one: it stays refused */
    suite_add_tcase(s, others);
    return run_suite(s);
}
