/* test_scattered.c - pages of many small pieces leave in one store write, byte-exact.
 *
 * Several caches write pieces of the same pages of one file, as several opens of a file do
 * that know nothing of each other: no cache may write back a byte it was not given.  Some are an
 * aggregator's, over the whole file system, and some a daemon's, below its root.
 */
#include "config.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check_main.h"
#include "zc_cache.h"
#include "zc_clock_sim.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_store_posix.h"
#include "zc_view.h"

enum { PAGE = 65536, PAGES = 4, CACHES = 3, PIECE = 7, STEP = PIECE * (CACHES + 1), ROUNDS = 50 };

static char path[] = "/tmp/zcache-scattered.XXXXXX";
static struct zc_store *stores[2]; /* all of the file system, and what is below a root */
static uint32_t max_extents;
static unsigned rounds;

static void setup(void)
{
    int fd = mkstemp(path);

    ck_assert_int_ge(fd, 0);
    close(fd);
    ck_assert_int_eq(zc_store_posix_create(NULL, &stores[0]), 0);
    ck_assert_int_eq(zc_store_posix_create("/tmp", &stores[1]), 0);
}

static void teardown(void)
{
    zc_store_destroy(stores[0]);
    zc_store_destroy(stores[1]);
    unlink(path);
}

struct writer {
    pthread_t thread;
    unsigned me;
    uint64_t store_writes;
};

static unsigned char value(unsigned who, uint64_t off)
{
    return (unsigned char)(1 + who * 83 + off * 13 % 77);
}

/* The pieces are in the file, though others write between them at the same time. */
static void check_mine(unsigned me, const unsigned char *buf, unsigned count)
{
    unsigned char *in = malloc(PAGES * PAGE);
    int fd = open(path, O_RDONLY);
    ssize_t got = pread(fd, in, PAGES * PAGE, 0);

    close(fd);
    ck_assert_int_ge(got, (ssize_t)(me * PIECE + (count - 1) * STEP + PIECE));
    for (unsigned i = 0; i < count; i++)
        if (memcmp(in + me * PIECE + i * STEP, buf + i * PIECE, PIECE))
            ck_abort_msg("piece %u of cache %u was lost", i, me);
    free(in);
}

/* Writes every (CACHES + 1)th piece of the file and flushes, over and over. */
static void *write_mine(void *arg)
{
    struct writer *w = arg;
    struct zc_cache_config cfg = ZC_CACHE_CONFIG_DEFAULT;
    struct zc_cache_stats st;
    struct zc_attr attr = {0};
    struct zc_cache *cache;
    struct zc_handle *h;
    enum { COUNT = PAGES * PAGE / STEP };
    unsigned char *buf = malloc(COUNT * PIECE);
    struct zc_view_builder *b;
    struct zc_view *v;

    ck_assert_int_eq(zc_view_builder_create(&b), 0);
    ck_assert_int_eq(zc_view_add_run(b, 0, PIECE, STEP, COUNT), 0);
    ck_assert_int_eq(zc_view_finish(b, PAGES * PAGE, &v), 0);
    cfg.page_size = PAGE;
    cfg.capacity = PAGES * PAGE;
    cfg.idle_ms = 0;
    cfg.max_extents = max_extents;
    cfg.transient = true;
    ck_assert_int_eq(zc_cache_create(&cfg, stores[w->me % 2], &cache), 0);
    ck_assert_int_eq(zc_cache_open(cache, path, ZC_OPEN_READ | ZC_OPEN_WRITE, 0, &h, &attr), 0);
    for (unsigned round = rounds; round-- > 0;) {
        for (unsigned i = 0; i < COUNT * PIECE; i++)
            buf[i] =
                (unsigned char)(round + value(w->me, w->me * PIECE + i / PIECE * STEP + i % PIECE));
        ck_assert_int_eq(zc_cache_vwrite(h, v, w->me * PIECE, buf, COUNT * PIECE, 0),
                         COUNT * PIECE);
        ck_assert_int_eq(zc_cache_flush(h, ZC_LEVEL_STORED), 0);
        check_mine(w->me, buf, COUNT);
    }
    zc_cache_stats(cache, &st);
    w->store_writes = st.store_writes;
    ck_assert_int_eq(zc_cache_close(h), 0);
    zc_cache_destroy(cache);
    zc_view_put(v);
    free(buf);
    return NULL;
}

static void several_caches(void)
{
    struct writer w[CACHES];
    unsigned char *in = calloc(1, PAGES * PAGE);
    int fd;

    for (unsigned i = 0; i < CACHES; i++) {
        w[i].me = i;
        ck_assert_int_eq(pthread_create(&w[i].thread, NULL, write_mine, &w[i]), 0);
    }
    for (unsigned i = 0; i < CACHES; i++) {
        pthread_join(w[i].thread, NULL);
        if (max_extents == PAGE && rounds == ROUNDS)
            ck_assert_uint_eq(w[i].store_writes, ROUNDS * PAGES);
    }
    fd = open(path, O_RDONLY);
    ck_assert_int_gt(pread(fd, in, PAGES * PAGE, 0), PAGES * PAGE - STEP);
    close(fd);
    for (uint64_t at = 0; at < PAGES * PAGE / STEP * STEP; at++) {
        unsigned who = (unsigned)(at / PIECE % (CACHES + 1));
        unsigned want = who < CACHES ? value(who, at) : 0;

        if (in[at] != want)
            ck_abort_msg("byte %llu is %u, should be %u", (unsigned long long)at, in[at], want);
    }
    free(in);
}

START_TEST(several_caches_one_file)
{
    zc_clock = NULL; /* simulated time would make them write one after another */
    max_extents = PAGE;
    rounds = ROUNDS;
    several_caches();
}
END_TEST

/* More pieces than a page may have: bytes between them must not be written for that. */
START_TEST(more_than_a_page_may_have)
{
    zc_clock = NULL;
    max_extents = 100;
    rounds = 8;
    several_caches();
}
END_TEST

static void lock_bytes(int fd, int cmd, short type, off_t off, off_t len)
{
    struct flock l = {.l_type = type, .l_whence = SEEK_SET, .l_start = off, .l_len = len};

    ck_assert_int_eq(fcntl(fd, cmd, &l), 0);
}

/* A program that has locked bytes [off, off + len) of the file, 0: to the end; a process of its
 * own, for this one loses its locks with each descriptor of the file that it closes. */
static pid_t program_locks(off_t off, off_t len)
{
    int ready[2];
    char byte;
    pid_t pid;

    ck_assert_int_eq(pipe(ready), 0);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = off, .l_len = len};
        int fd = open(path, O_RDWR);

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (fcntl(fd, F_SETLK, &l) == 0 && write(ready[1], "", 1) == 1)
            for (;;)
                pause();
        _exit(1);
    }
    close(ready[1]);
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

static void program_ends(pid_t pid)
{
    kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

/* A program that locks the file for itself holds nothing up for long. */
START_TEST(a_lock_of_the_program)
{
    pid_t program = program_locks(0, 0);

    max_extents = PAGE;
    rounds = 1;
    several_caches();
    program_ends(program);
}
END_TEST

/* One that ends meanwhile: the caches that have given up its lock write beside those that get
 * theirs, and merge. */
START_TEST(a_lock_of_a_program_that_ends)
{
    int fd = open(path, O_RDWR);

    zc_clock = NULL;
    lock_bytes(fd, F_SETLK, F_WRLCK, 0, 0); /* until the first cache closes the file */
    max_extents = PAGE;
    rounds = 8;
    several_caches();
    close(fd);
}
END_TEST

/* ---- two writers of the same page, one of them slow ---- */

struct slow_write {
    pthread_t thread;
    struct zc_sfile *file;
    uint64_t off;
    bool whole; /* see write_pieces() */
    int done;
};

static void *write_word(void *arg)
{
    struct slow_write *w = arg;
    struct iovec iov = {"word", 4};

    ck_assert_int_eq(zc_store_pwritev(w->file, &iov, 1, w->off), 4);
    __atomic_store_n(&w->done, 1, __ATOMIC_RELEASE);
    return NULL;
}

/* Another process puts its pieces between ours and is slow: longer than we would wait for a
 * program's lock.  What we write must not get under what it has read before.  That a program has
 * kept us waiting elsewhere is no reason not to. */
START_TEST(a_slow_writer_is_waited_for)
{
    uint64_t until;
    struct zc_attr attr = {0};
    struct slow_write w = {0};
    char page[100] = "";
    int fd = open(path, O_RDWR);

    ck_assert_int_eq(
        zc_store_open_file(stores[_i], path, ZC_OPEN_READ | ZC_OPEN_WRITE, 0, &w.file, &attr), 0);
    lock_bytes(fd, F_SETLK, F_WRLCK, 1000, 10); /* by the program */
    w.off = 1000;
    write_word(&w);
    w.off = 50;
    w.done = 0;
    lock_bytes(fd, F_OFD_SETLK, F_WRLCK, 0, sizeof page); /* as the other process does */
    ck_assert_int_eq(pread(fd, page, sizeof page, 0), sizeof page);
    pthread_create(&w.thread, NULL, write_word, &w);
    until = zc_now() + 3000 * ZC_NS_PER_MS;
    while (!__atomic_load_n(&w.done, __ATOMIC_ACQUIRE) && zc_now() < until)
        zc_clock_sleep(ZC_NS_PER_MS);
    page[10] = 'p';
    ck_assert_int_eq(pwrite(fd, page, sizeof page, 0), sizeof page);
    lock_bytes(fd, F_OFD_SETLK, F_UNLCK, 0, sizeof page);
    pthread_join(w.thread, NULL);
    ck_assert_int_eq(pread(fd, page, sizeof page, 0), sizeof page);
    ck_assert_int_eq(page[10], 'p');
    ck_assert_mem_eq(page + 50, "word", 4);
    ck_assert_int_eq(zc_store_close_file(w.file, ZC_LEVEL_STORED), 0);
    close(fd);
}
END_TEST

static void *write_pieces(void *arg)
{
    static const struct zc_range pieces[] = {{0, 4}, {60, 64}, {90, 94}};
    struct slow_write *w = arg;
    char data[100];
    struct iovec iov = {data, sizeof data};
    struct zc_merge m = {0};

    memset(data, 'w', sizeof data);
    if (w->whole)
        ck_assert_int_eq(zc_store_pwritev(w->file, &iov, 1, 0), sizeof data);
    else
        ck_assert_int_eq(zc_store_write_ranges(w->file, data, pieces, 3, 0, &m), 12);
    free(m.data);
    __atomic_store_n(&w->done, 1, __ATOMIC_RELEASE);
    return NULL;
}

/* A program has locked some of the bytes, and another process of zcache merges on others: what it
 * has read before the write without a lock must not be in the file after it. */
START_TEST(a_merge_beside_a_program)
{
    uint64_t until = zc_now() + 4000 * ZC_NS_PER_MS;
    struct slow_write w = {.whole = _i / 2};
    struct zc_attr attr = {0};
    char page[100] = "", byte = 0;
    int fd = open(path, O_RDWR);
    pid_t program;

    ck_assert_int_eq(pwrite(fd, page, sizeof page, 0), sizeof page);
    program = program_locks(0, 10);
    ck_assert_int_eq(
        zc_store_open_file(stores[_i % 2], path, ZC_OPEN_READ | ZC_OPEN_WRITE, 0, &w.file, &attr),
        0);
    lock_bytes(fd, F_OFD_SETLK, F_WRLCK, 50, 50); /* as the other process does */
    ck_assert_int_eq(pread(fd, page, sizeof page, 0), sizeof page);
    pthread_create(&w.thread, NULL, write_pieces, &w);
    while (byte != 'w' && zc_now() < until) {
        ck_assert_int_eq(pread(fd, &byte, 1, 60), 1);
        zc_clock_sleep(ZC_NS_PER_MS);
    }
    ck_assert_int_eq(pwrite(fd, page + 50, 50, 50), 50);
    lock_bytes(fd, F_OFD_SETLK, F_UNLCK, 50, 50);
    pthread_join(w.thread, NULL);
    ck_assert_int_eq(pread(fd, page, sizeof page, 0), sizeof page);
    ck_assert_int_eq(page[0], 'w');
    ck_assert_mem_eq(page + 60, "wwww", 4);
    ck_assert_mem_eq(page + 90, "wwww", 4);
    ck_assert_int_eq(page[80], w.whole ? 'w' : 0);
    ck_assert_int_eq(zc_store_close_file(w.file, ZC_LEVEL_STORED), 0);
    close(fd);
    program_ends(program);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("scattered");
    TCase *c = tcase_create("scattered");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, stretched(120));
    tcase_add_test(c, several_caches_one_file);
    tcase_add_test(c, more_than_a_page_may_have);
    tcase_add_test(c, a_lock_of_the_program);
    tcase_add_test(c, a_lock_of_a_program_that_ends);
    tcase_add_loop_test(c, a_slow_writer_is_waited_for, 0, 2);
    tcase_add_loop_test(c, a_merge_beside_a_program, 0, 4);
    suite_add_tcase(s, c);
    zc_clock = zc_clock_sim();
    return run_suite(s);
}
