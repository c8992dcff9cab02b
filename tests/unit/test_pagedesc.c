/* test_pagedesc.c - pages that a server publishes to processes of its host, which read them without
 * a message: the result is that of a read, and invalid descriptors are rejected.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rig.h"
#include "splitmix.h"
#include "zc_net_internal.h"
#include "zc_pagedesc.h"
#include "zc_tp_local.h"

enum { PAGE = 4096, PAGES = 24, SIZE = PAGES * PAGE, LARGE_PAGE = 64 << 10 };

static struct rig rig;
static struct zc_net *net[2];
static struct zc_client *client[2];
static uint64_t handle[2];
static unsigned char image[SIZE], got[SIZE];

/* A server of so many pages, and two clients with the same file open. */
static void up_pages(unsigned pages, uint32_t page_size)
{
    struct zc_cache_config cfg = ZC_CACHE_CONFIG_DEFAULT;

    cfg.capacity = (size_t)pages * page_size;
    cfg.page_size = page_size;
    cfg.idle_ms = 1;
    cfg.published = rig_shows;
    rig_up(&rig, &cfg, NULL);
    for (int i = 0; i < 2; i++) {
        net[i] = rig_net(30000);
        client[i] = rig_connect(&rig, net[i]);
        if (rig_shmring)
            ck_assert_int_eq(zc_client_ring_open(client[i]), 0);
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
    rig_shows = rig_shmring = true;
}

static void put(int who, unsigned gen, size_t len, uint64_t off)
{
    fill(image + off, len, off, gen);
    ck_assert_int_eq(zc_client_write(client[who], handle[who], image + off, len, off), len);
}

/* Reads by message, and learns the page for peeks. */
static ssize_t ask(int who, size_t len, uint64_t off)
{
    struct zc_io io = {.handle = handle[who], .buf = got, .len = len, .off = off};
    ssize_t n;

    zc_io_start(client[who], &io);
    n = zc_io_wait(client[who], &io);
    if (n > 0)
        zc_client_learn_page(client[who], handle[who], off + (uint64_t)n - 1, &io);
    return n;
}

/* Reads as a rank does. */
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
    ck_assert_uint_le(rig_stat(client[1], "requests") - before, 2); /* of rig_stat() */
    check(0, 200, PAGE - 100);                                      /* across the end of a page */
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
        check(0, 1000, 1000); /* directly */
        put(1, i, 500, i % 7 * 200);
        check(0, PAGE, 0);
    }
    ck_assert_uint_ge(zc_client_peeks(client[0]), 300);
    down();
}
END_TEST

/* Bytes behind the end are never seen, nor old ones after the file grows again. */
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
        ck_assert(got[5] == 'x' && !memcmp(got + 5, got + 6, PAGE)); /* nothing else was written */
        check(0, 10, 1990);
        put(1, i + 100, 10, PAGE);
        memset(image + 2000, 0, PAGE - 2000);
        check(0, PAGE, 0);
        check(0, 2000, 1500);
    }
    down();
}
END_TEST

/* The same for reads that are too large for a piece. */
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
        check(i % 2, len, off); /* most of these directly */
    }
    ck_assert_uint_ge(zc_client_peeks(client[0]) + zc_client_peeks(client[1]), 500);
    ck_assert_int_eq(zc_client_close(client[1], other, ZC_LEVEL_STORED), 0);
    down();
}
END_TEST

/* The contents of a free frame are not published after the page has moved to another one: of these
 * two at least one, whichever was evicted first. */
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

/* Fills pages with one value each, again and again. */
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

/* An accepted read was not torn: it has one value. */
START_TEST(bytes_that_change_are_not_taken)
{
    uint64_t until = zc_now() + 1000 * ZC_NS_PER_MS;
    pthread_t thread;
    unsigned good = 0;

    near();
    up(4);
    put(0, 1, PAGE, 0);
    ck_assert_int_eq(ask(0, PAGE, 0), PAGE);
    ck_assert_int_eq(pthread_create(&thread, NULL, scribble, NULL), 0);
    while (good == 0 || (good < 2000 && zc_now() < until)) {
        if (!zc_client_peek(client[0], handle[0], got, PAGE, 0) || got[0] == image[0])
            continue;
        ck_assert_msg(!memcmp(got, got + 1, PAGE - 1), "a page of several values");
        good++;
    }
    atomic_store(&enough, true);
    pthread_join(thread, NULL);
    down();
}
END_TEST

/* Small consecutive records of a page that others write to meanwhile. */
START_TEST(reads_that_go_on_see_what_is_written)
{
    enum { RECORD = 200, PER_PAGE = LARGE_PAGE / RECORD };
    uint64_t r = 7;

    near();
    up_pages(4, LARGE_PAGE);
    put(0, 0, LARGE_PAGE, 0);
    for (unsigned round = 1; round < 30; round++)
        for (unsigned i = 0; i < PER_PAGE; i++) {
            uint64_t off = splitmix(&r) % (LARGE_PAGE - RECORD);

            if (splitmix(&r) % 8 == 0)
                put(1, round, RECORD, off);
            else if (splitmix(&r) % 8 == 0)
                put(1, round + 100, 1, (uint64_t)(i + 1) % PER_PAGE * RECORD);
            check(0, RECORD, (uint64_t)i * RECORD);
        }
    ck_assert_uint_ge(zc_client_peeks(client[0]), 20 * PER_PAGE);
    down();
}
END_TEST

/* The client maps these descriptors instead of the server's. */
static const unsigned char *mapped_instead(const void *at, size_t len)
{
    const unsigned char *was = client[0]->pagedescs;

    client[0]->pagedescs = at;
    client[0]->pagedescs_at = (uintptr_t)at;
    client[0]->pagedescs_len = len;
    return was;
}

static bool believed(const struct zc_pagedesc *at)
{
    struct zc_io io = {.pagedesc = (uintptr_t)at, .file = 7};

    zc_client_learn_page(client[0], handle[0], 0, &io);
    return zc_client_peek(client[0], handle[0], got, 10, 0);
}

/* Descriptors with any contents, at any address. */
START_TEST(nonsense_is_not_believed)
{
    struct zc_pagedesc fake = {.seq = 2, .file = 7, .no = 0, .data = 8, .lo = 0, .hi = UINT32_MAX};
    struct zc_pagedesc all[] = {fake, fake, fake, fake, fake, fake, fake};
    const unsigned char *real;
    uint64_t at, len;

    near();
    up(4);
    put(0, 1, PAGE, 0);
    at = client[0]->pagedescs_at;
    len = client[0]->pagedescs_len;
    ck_assert(!believed((void *)8)); /* nothing is there */
    real = mapped_instead(all, sizeof all);
    ck_assert(!believed(all)); /* not readable */
    for (int i = 1; i < 7; i++)
        all[i].data = (uintptr_t)image;
    all[1].seq = 3;
    all[2].file = 8;
    all[3].no = 1;
    all[4].lo = 5;
    all[5].hi = 9;
    for (int i = 1; i < 6; i++)
        ck_assert(!believed(&all[i]));
    ck_assert(!believed((const void *)((const char *)&all[6] + 8)));
    ck_assert(!believed(&all[7])); /* behind the last one */
    ck_assert(believed(&all[6]));  /* the rest was right */
    client[0]->pagedescs = real;
    client[0]->pagedescs_at = at;
    client[0]->pagedescs_len = len;
    check(1, 10, 0);
    down();
}
END_TEST

static struct zc_handle *open_here(unsigned flags)
{
    struct zc_attr attr = {.block_size = 8192};
    struct zc_handle *h;

    ck_assert_int_eq(zc_cache_open(rig.cache, "/f", flags, 0644, &h, &attr), 0);
    return h;
}

static bool is_quiescent(struct zc_handle *h, const struct zc_quiescence *q)
{
    bool here = zc_cache_is_quiescent(h, q);

    ck_assert(zc_client_is_quiescent(client[0], q) == here);
    return here;
}

/* A file is quiescent while no open can write to it and all of it is in the store; clients see that
 * too, and when it ends. */
START_TEST(a_file_without_writers_is_quiescent)
{
    struct zc_quiescence q, later, elsewhere;
    struct zc_handle *h;

    near();
    up(4);
    put(0, 1, PAGE, 0);
    h = open_here(ZC_OPEN_READ);
    zc_cache_quiescence(h, &q); /* dirty, and open for writing */
    ck_assert(!is_quiescent(h, &q));
    ck_assert_int_eq(zc_cache_close(h), 0);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(zc_client_close(client[i], handle[i], ZC_LEVEL_STORED), 0);

    h = open_here(ZC_OPEN_READ);
    zc_cache_quiescence(h, &q);
    ck_assert(is_quiescent(h, &q));
    zc_cache_close(open_here(ZC_OPEN_READ));
    ck_assert(is_quiescent(h, &q)); /* another reader */
    elsewhere = q;
    elsewhere.pagedesc += 1 << 20;
    ck_assert(!zc_client_is_quiescent(client[0], &elsewhere));
    handle[0] = rig_open(client[0], "/g"); /* a writer of another file, */
    ck_assert(is_quiescent(h, &q));
    ck_assert_int_eq(zc_client_close(client[0], handle[0], ZC_LEVEL_STORED), 0);

    for (int i = 0; i < 2; i++)
        handle[i] = rig_open(client[i], "/f"); /* and of this one */
    ck_assert(!is_quiescent(h, &q));
    zc_cache_quiescence(h, &later);
    ck_assert(!is_quiescent(h, &later));
    put(0, 2, PAGE, 0);
    zc_cache_quiescence(h, &later);
    ck_assert(!is_quiescent(h, &later));
    ck_assert_int_eq(zc_cache_close(h), 0);
    down();
}
END_TEST

/* Checksums are checked by the owner only: pages with checksums are not published. */
static void reopen_with_checksums(void)
{
    struct zc_attr attr = {.block_size = 8192};
    unsigned flags = ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CHECKSUM;

    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(zc_client_close(client[i], handle[i], ZC_LEVEL_STORED), 0);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(zc_client_open(client[i], "/f", flags, 0644, &handle[i], &attr), 0);
}

/* No peek by another transport, from a server that does not publish, or of a file with
 * checksums. */
START_TEST(unpublished_pages_are_read_by_message)
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

/* Makes the kernel refuse such reads by this thread, as in some containers; false: it cannot. */
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

/* Also of known pages: silently, and reads work as before. */
START_TEST(refused_peeks_become_messages)
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

/* Of pages written one after the other only the first is read by message. */
START_TEST(what_was_written_is_found)
{
    uint64_t before;

    near();
    up(32);
    for (int i = 0; i < PAGES; i++) /* two parts at the same time */
        put(i % 2, 1, PAGE, (uint64_t)(i % 2 * PAGES / 2 + i / 2) * PAGE);
    check(0, 100, 0);
    before = rig_stat(client[1], "requests");
    for (int i = 0; i < PAGES; i++)
        check(0, 100, (uint64_t)i * PAGE + 200);
    ck_assert_uint_le(rig_stat(client[1], "requests") - before, 2);
    ck_assert_int_eq(zc_client_truncate(client[1], handle[1], 5 * PAGE), 0);
    ck_assert_int_eq(look(0, 100, 5 * PAGE), 0);
    down();
}
END_TEST

/* Its owner reads ahead, and keeps pages, according to the messages. */
START_TEST(what_is_read_from_the_store_is_asked_for)
{
    uint64_t before;

    near();
    up(32);
    put(0, 1, SIZE, 0);
    ck_assert_int_eq(zc_client_flush(client[0], handle[0], ZC_LEVEL_STORED), 0);
    ck_assert_uint_eq(zc_cache_evict(rig.cache), SIZE);
    for (int i = 0; i < PAGES; i++)
        check(1, 100, (uint64_t)i * PAGE);
    before = rig_stat(client[1], "requests");
    for (int i = 0; i < PAGES; i++)
        check(0, 100, (uint64_t)i * PAGE);
    ck_assert_uint_ge(rig_stat(client[1], "requests") - before, PAGES);
    down();
}
END_TEST

START_TEST(a_pagedesc_is_read_only_for_others)
{
    void *at = NULL;
    uint64_t where;
    size_t len;
    int fd;

    near();
    up(8);
    ck_assert(zc_cache_pagedescs(rig.cache, &fd, &where, &len));
    ck_assert_int_lt(zc_tp_map(net[0]->tp, client[0]->peer, fd, len, true, &at), 0);
    ck_assert_int_eq(zc_tp_map(net[0]->tp, client[0]->peer, fd, len, false, &at), 0);
    ck_assert_int_ne(mprotect(at, len, PROT_READ | PROT_WRITE), 0);
    munmap(at, len);
    down();
}
END_TEST

/* Up to the end of the published range, and from the beginning again when the page has changed. */
START_TEST(a_piece_grows)
{
    enum { RECORD = 50, END = 3000 };
    const struct zc_piece *p;
    uint64_t off = 0;

    near();
    up(8);
    put(0, 1, END, 0);
    p = &client[0]->piece;
    for (; off < END - 2 * RECORD; off += RECORD)
        check(0, RECORD, off);
    ck_assert_uint_ge(p->want, 16 * RECORD);
    ck_assert_uint_eq(p->hi, END);
    put(1, 2, 10, 0);
    check(0, RECORD, off);
    ck_assert_uint_eq(p->want, RECORD);
    down();
}
END_TEST

/* Reads far apart would copy mostly unused bytes. */
START_TEST(no_piece_is_copied_for_far_reads)
{
    enum { RECORD = 50, STRIDE = 9000 };

    near();
    up_pages(4, LARGE_PAGE);
    put(0, 1, SIZE, 0);
    for (uint64_t off = 0; off + RECORD < SIZE; off += STRIDE)
        check(0, RECORD, off);
    ck_assert_uint_eq(client[0]->piece.want, RECORD);
    down();
}
END_TEST

/* A pipe without a reader. */
START_TEST(a_pipe_is_no_memory)
{
    char name[] = "/tmp/zcache-test.XXXXXX", path[64];
    void *at;
    int fd;

    near();
    up(8);
    ck_assert_ptr_nonnull(mkdtemp(name));
    snprintf(path, sizeof path, "%s/pipe", name);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    fd = open(path, O_RDONLY | O_NONBLOCK);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_lt(zc_tp_map(net[0]->tp, client[0]->peer, fd, 4096, false, &at), 0);
    close(fd);
    unlink(path);
    rmdir(name);
    down();
}
END_TEST

START_TEST(a_piece_is_of_one_file)
{
    enum { RECORD = 50 };
    uint64_t other;

    near();
    up(8);
    other = rig_open(client[0], "/g");
    put(0, 1, PAGE, 0);
    memset(got, 'g', PAGE);
    ck_assert_int_eq(zc_client_write(client[0], other, got, PAGE, 0), PAGE);
    for (uint64_t off = 0; off < PAGE / 2; off += RECORD)
        check(0, RECORD, off);
    ck_assert_uint_gt(client[0]->piece.hi, PAGE / 2 + RECORD);
    if (zc_client_peek(client[0], other, got, RECORD, PAGE / 2))
        expect_all(got, RECORD, 'g', "the other file");
    ck_assert_int_eq(zc_client_close(client[0], other, ZC_LEVEL_STORED), 0);
    down();
}
END_TEST

/* A piece that could not be copied, since its page was written to, is not mistaken for the previous
 * one. */
START_TEST(a_piece_that_fails_is_none)
{
    enum { RECORD = 512, TAIL = 60 * RECORD }; /* larger than a small read */
    uint64_t began = zc_now(), fails = 0;
    pthread_t thread;

    near();
    up_pages(4, LARGE_PAGE);
    put(0, 1, SIZE, 0);
    check(0, 10, 0);
    check(0, 10, LARGE_PAGE);
    ck_assert_int_eq(pthread_create(&thread, NULL, scribble, NULL), 0); /* page 0 */
    while (fails < 200 && zc_now() < began + (fails ? 1000 : 3000) * ZC_NS_PER_MS) {
        for (uint64_t off = SIZE - TAIL; off < SIZE; off += RECORD)
            check(0, RECORD, off);
        client[0]->piece.next = 0; /* as if page 0 came after it */
        zc_client_peek(client[0], handle[0], got, RECORD, 0);
        fails += client[0]->piece.hi == 0;
        check(0, RECORD, SIZE - RECORD);
    }
    atomic_store(&enough, true);
    pthread_join(thread, NULL);
    printf("%llu pieces could not be copied\n", (unsigned long long)fails);
    down();
}
END_TEST

/* A peek from a kept piece makes no system call (which would be refused), but checks that it
 * is current. */
START_TEST(a_piece_is_taken_while_it_is_good)
{
    enum { RECORD = 64, SOME = PAGE / 4 + RECORD }; /* the last piece: from PAGE / 4 on, as long */
    uint64_t peeks, off = 0;

    near();
    up(8);
    put(0, 1, PAGE, 0);
    for (; off < SOME; off += RECORD)
        check(0, RECORD, off);
    if (refuse()) {
        peeks = zc_client_peeks(client[0]);
        ck_assert_uint_gt(peeks, 0);
        for (; off < SOME + 4 * RECORD; off += RECORD)
            check(0, RECORD, off);
        ck_assert_uint_eq(zc_client_peeks(client[0]), peeks + 4);
        put(1, 2, 10, 0);
        check(0, RECORD, off);
        check(0, RECORD, 0);
        ck_assert_uint_eq(zc_client_peeks(client[0]), peeks + 4);
    } else {
        printf("skipped: no filter of system calls: %s\n", zc_error_text(errno));
    }
    down();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("glance");
    TCase *shown = tcase_create("shown"), *others = tcase_create("others");

    const TTest *const ways[] = {
        what_is_shown_is_read_without_asking,
        what_another_one_writes_is_seen,
        a_truncation_is_seen,
        a_long_read_leaves_what_it_does_not_bring,
        a_frame_that_changes_hands_is_noticed,
        a_frame_that_is_free_shows_nothing,
        a_page_that_is_written_to_is_hidden,
        bytes_that_change_are_not_taken,
        nonsense_is_not_believed,
        reads_that_go_on_see_what_is_written,
    };

    tcase_set_timeout(shown, stretched(120));
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        tcase_add_test(shown, ways[i]);
    suite_add_tcase(s, shown);
    CASE(s, "mapped", 60, what_was_written_is_found, what_is_read_from_the_store_is_asked_for,
         a_pagedesc_is_read_only_for_others, a_piece_grows, no_piece_is_copied_for_far_reads,
         a_pipe_is_no_memory, a_piece_is_of_one_file, a_piece_that_fails_is_none,
         a_piece_is_taken_while_it_is_good, a_file_without_writers_is_quiescent);
    tcase_add_loop_test(others, unpublished_pages_are_read_by_message, 0, 3);
    tcase_add_test(others, refused_peeks_become_messages); /* the last one: it stays refused */
    suite_add_tcase(s, others);
    return run_suite(s);
}
