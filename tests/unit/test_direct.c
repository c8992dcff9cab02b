/* test_direct.c - data that goes past the page cache: it is right, and it does. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check_main.h"
#include "zc_log.h"
#include "zc_store_posix_internal.h"

enum { SIZE = 2 << 20, PAGE = 4096, FEW = 16, ROUNDS = 1500 };

static char dir[] = "direct-XXXXXX", path[4096];
static struct zc_store *store;
static struct zc_sfile *file;
static unsigned char *memory, *model; /* SIZE bytes, on a page's border */

static void setup(void)
{
    struct zc_attr attr = {0};

    strcpy(dir + strlen(dir) - 6, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir)); /* where the build is: in memory there is nothing else */
    ck_assert_ptr_nonnull(realpath(dir, path));
    strcat(path, "/file");
    ck_assert_int_eq(zc_store_posix_create(NULL, &store), 0);
    zc_store_posix_direct(store);
    ck_assert_int_eq(zc_store_open_file(store, path, ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE,
                                        0644, &file, &attr),
                     0);
    memory = aligned_alloc(PAGE, SIZE);
    model = calloc(1, SIZE);
    ck_assert(memory && model);
}

static void teardown(void)
{
    ck_assert_int_eq(zc_store_close_file(file, ZC_LEVEL_STORED), 0);
    zc_store_destroy(store);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(rmdir(dir), 0);
    free(memory);
    free(model);
}

static bool is_possible(void)
{
    if (posix_file(file)->direct_fd >= 0)
        return true;
    printf("not tested: the build's file system does no direct I/O\n");
    return false;
}

static uint32_t below(uint32_t n)
{
    return (uint32_t)random() % n;
}

/* Of the memory at `at`, as the cache has it: a page's bytes lie as far from a border as in the
 * file, or, seldom, anywhere; in a few entries. */
static int entries(struct iovec *iov, unsigned char *at, size_t len)
{
    int n = 0;

    while (len && n < FEW - 1) {
        size_t part = below(3) ? (1 + below(64)) * PAGE : 1 + below(3 * PAGE);

        part = part < len ? part : len;
        iov[n++] = (struct iovec){at, part};
        at += part;
        len -= part;
    }
    if (len)
        iov[n++] = (struct iovec){at, len};
    return n;
}

static void write_some(void)
{
    uint32_t off = below(2) ? below(SIZE / PAGE) * PAGE : below(SIZE), len = 1 + below(SIZE - off);
    uint32_t from = below(8) ? off : below(SIZE - len + 1);
    struct iovec iov[FEW];
    int n;

    for (uint32_t i = 0; i < len; i++)
        memory[from + i] = (unsigned char)random();
    n = entries(iov, memory + from, len);
    ck_assert_int_eq(zc_store_pwritev(file, iov, n, off), len);
    memcpy(model + off, memory + from, len);
}

static void read_some(uint64_t size)
{
    uint32_t off = below(2) ? below(SIZE / PAGE) * PAGE : below(SIZE), len = 1 + below(SIZE - off);
    int64_t there = (int64_t)size - off;
    struct iovec iov[FEW];
    int n = entries(iov, memory + off, len);

    there = there < 0 ? 0 : there > len ? len : there;
    ck_assert_int_eq(zc_store_preadv(file, iov, n, off), there);
    ck_assert_mem_eq(memory + off, model + off, (size_t)there);
}

START_TEST(the_model_agrees)
{
    struct zc_attr attr;

    srandom(_i + 1);
    for (int i = 0; i < ROUNDS / 10; i++) {
        ck_assert_int_eq(zc_store_getattr(file, &attr), 0);
        if (below(2))
            write_some();
        else
            read_some(attr.size);
        if (below(16) == 0) {
            uint32_t cut = below(SIZE);

            ck_assert_int_eq(zc_store_truncate(file, cut), 0);
            memset(model + cut, 0, SIZE - cut);
        }
    }
}
END_TEST

/* Bytes of the file that are in the page cache. */
static size_t resident(void)
{
    static unsigned char there[SIZE / PAGE];
    int fd = open(path, O_RDONLY);
    void *map = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0);
    size_t n = 0;

    ck_assert_ptr_ne(map, MAP_FAILED);
    ck_assert_int_eq(mincore(map, SIZE, there), 0);
    for (size_t i = 0; i < SIZE / PAGE; i++)
        n += there[i] & 1;
    munmap(map, SIZE);
    close(fd);
    return n * PAGE;
}

START_TEST(long_runs_go_past_the_page_cache)
{
    struct iovec iov = {memory, SIZE}, inner = {memory + 100, SIZE - 1000};

    if (!is_possible())
        return;
    memset(memory, 1, SIZE);
    ck_assert_int_eq(zc_store_pwritev(file, &iov, 1, 0), SIZE);
    ck_assert_uint_eq(resident(), 0);
    ck_assert_int_eq(zc_store_preadv(file, &iov, 1, 0), SIZE);
    ck_assert_uint_eq(resident(), 0);
    ck_assert_int_eq(zc_store_pwritev(file, &inner, 1, 100), SIZE - 1000);
    ck_assert_uint_le(resident(), 2 * 16 * PAGE); /* either end, in what the kernel takes at once */
}
END_TEST

/* As of a file system that asks for more than it says. */
START_TEST(what_is_refused_goes_the_other_way)
{
    struct iovec iov = {memory + 1, SIZE - 1};

    if (!is_possible())
        return;
    posix_file(file)->align = 1;
    memset(memory, 7, SIZE);
    ck_assert_int_eq(zc_store_pwritev(file, &iov, 1, 1), SIZE - 1);
    memset(memory, 0, SIZE);
    ck_assert_int_eq(zc_store_preadv(file, &iov, 1, 1), SIZE - 1);
    ck_assert_int_eq(memory[1], 7);
    ck_assert_int_eq(memory[SIZE - 1], 7);
    ck_assert(posix_file(file)->undirect);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("direct");
    TCase *c = tcase_create("direct");

    zc_log_init(NULL);
    tcase_set_timeout(c, stretched(60));
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, the_model_agrees, 0, 10);
    tcase_add_test(c, long_runs_go_past_the_page_cache);
    tcase_add_test(c, what_is_refused_goes_the_other_way);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
