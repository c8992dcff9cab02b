/* bench_view.c - how fast views are: building, mappings, copying, against memcpy().
 *
 * One thread, visible bytes per second, the best of several rounds over blocks of 4 MiB of
 * file; whole file is 64 MiB, so that it does not stay in the caches.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_lock.h"
#include "zc_view.h"

enum { BLOCK = 4 << 20, FILE_LEN = 64 << 20, LOOKUPS = 1000000, ROUNDS = 5 };

static uint64_t state = 1;
static unsigned char *file, *data;

static uint64_t rng(void)
{
    uint64_t z = (state += 0x9e3779b97f4a7c15ull);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    return z ^ (z >> 31);
}

static void must(int64_t rc)
{
    if (rc < 0) {
        fprintf(stderr, "bench_view: %s\n", strerror((int)-rc));
        exit(1);
    }
}

/* Pieces of len (or 1..2 len) bytes, gap (or 1..2 gap) bytes apart, through the whole file;
 * in rows of `row`, after which there is one more gap. */
struct shape {
    const char *name;
    int64_t len, gap, row;
    bool any_len, any_gap;
};

static struct zc_view *build(const struct shape *s)
{
    struct zc_view_builder *b;
    struct zc_view *v;
    int64_t at = 0, n = 0;
    uint64_t t0;

    must(zc_view_builder_create(&b));
    t0 = zc_now();
    while (at + 2 * s->len <= FILE_LEN) {
        int64_t len = s->any_len ? 1 + (int64_t)(rng() % (uint64_t)(2 * s->len)) : s->len;

        must(zc_view_add(b, at, len));
        at += len + (s->any_gap ? 8 * (1 + (int64_t)(rng() % (uint64_t)(s->gap / 4))) : s->gap);
        if (s->row > 0 && ++n % s->row == 0)
            at += s->gap;
        n += s->row == 0;
    }
    must(zc_view_finish(b, at, &v));
    printf("%-22s %8" PRId64 " %6.1f %9zu %9zu", s->name, n, (double)(zc_now() - t0) / (double)n,
           zc_view_memory(v), zc_view_encoded(v));
    return v;
}

static double lookups(const struct zc_view *v, bool before)
{
    int64_t x, sum = 0;
    uint64_t t0 = zc_now();

    for (int i = 0; i < LOOKUPS; i++) {
        int64_t at = (int64_t)(rng() % (1ull << 40));

        if (before)
            must(zc_view_before(v, 4096, at, &x));
        else
            must(zc_view_to_file(v, 4096, at, &x));
        sum += x;
    }
    return LOOKUPS * 1e3 / (double)(zc_now() - t0) + (sum == 1);
}

static struct zc_view_ranges ranges;

enum what { SCATTER, GATHER, TOUCHED };

/* Every block of the file once; the visible bytes. */
static int64_t pass(const struct zc_view *v, enum what what)
{
    int64_t done = 0;

    for (int64_t block = 0; block < FILE_LEN; block += BLOCK) {
        int64_t end;

        must(zc_view_before(v, 0, block + BLOCK, &end));
        ranges.n = 0;
        if (what == SCATTER)
            must(zc_view_scatter(v, 0, done, data + done, end - done, file + block, block, BLOCK));
        else if (what == GATHER)
            must(zc_view_gather(v, 0, done, data + done, end - done, file + block, block, BLOCK));
        else
            must(zc_view_touched(v, 0, done, end - done, block, BLOCK, &ranges));
        done = end;
    }
    return done;
}

static double rate(const struct zc_view *v, enum what what)
{
    double best = 0;

    for (int i = 0; i < ROUNDS; i++) {
        uint64_t t0 = zc_now();
        double r = (double)pass(v, what) / (double)(zc_now() - t0);

        best = r > best ? r : best;
    }
    return best;
}

/* What any program would do with a list of pieces in memory, one memcpy() each. */
static double list_rate(const struct zc_view *v)
{
    struct zc_view_iter it;
    int64_t(*list)[2] = malloc(FILE_LEN / 9 * sizeof(*list)), total = zc_view_size(v), n = 0;
    double best = 0;

    must(zc_view_start(&it, v, 0, 0));
    for (int64_t done = 0; done < total; n++) {
        must(zc_view_next(&it, total - done, &list[n][0], &list[n][1]));
        done += list[n][1];
    }
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t t0 = zc_now();
        unsigned char *from = data;
        double r;

        for (int64_t i = 0; i < n; i++) {
            memcpy(file + list[i][0], from, (size_t)list[i][1]);
            from += list[i][1];
        }
        r = (double)total / (double)(zc_now() - t0);
        best = r > best ? r : best;
    }
    free(list);
    return best;
}

static double memcpy_rate(void)
{
    double best = 0;

    for (int i = 0; i < ROUNDS; i++) {
        uint64_t t0 = zc_now();
        double r;

        for (int64_t at = 0; at < FILE_LEN; at += BLOCK)
            memcpy(file + at, data + at, BLOCK);
        r = FILE_LEN / (double)(zc_now() - t0);
        best = r > best ? r : best;
    }
    return best;
}

int main(void)
{
    static const struct shape shapes[] = {
        {"8 every 16", 8, 8, 0, false, false},
        {"8 every 64", 8, 56, 0, false, false},
        {"8, rows of 5", 8, 8, 5, false, false},
        {"8, rows of 16", 8, 8, 16, false, false},
        {"8, irregular", 8, 32, 0, false, true},
        {"1-16, irregular", 8, 32, 0, true, true},
        {"64 every 128", 64, 64, 0, false, false},
        {"64, irregular", 64, 128, 0, false, true},
        {"100 every 200", 100, 100, 0, false, false},
        {"4 KiB every 8 KiB", 4096, 4096, 0, false, false},
        {"4 KiB, irregular", 4096, 8192, 0, false, true},
    };

    file = malloc(FILE_LEN);
    data = malloc(FILE_LEN);
    if (!file || !data)
        return 1;
    memset(file, 1, FILE_LEN);
    memset(data, 2, FILE_LEN);
    printf("memcpy of 4 MiB blocks: %.2f GB/s of data\n\n", memcpy_rate());
    printf("%-22s %8s %6s %9s %9s %8s %8s %8s %8s %8s %8s\n", "", "", "build", "memory", "wire",
           "to_file", "before", "scatter", "gather", "by list", "touched");
    printf("%-22s %8s %6s %9s %9s %8s %8s %8s %8s %8s %8s\n", "pieces", "number", "ns/pc", "bytes",
           "bytes", "M/s", "M/s", "GB/s", "GB/s", "GB/s", "GB/s");
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        struct zc_view *v = build(&shapes[i]);

        printf(" %8.1f %8.1f", lookups(v, false), lookups(v, true));
        printf(" %8.2f %8.2f %8.2f", rate(v, SCATTER), rate(v, GATHER), list_rate(v));
        printf(" %8.2f\n", rate(v, TOUCHED));
        zc_view_put(v);
    }
    free(ranges.r);
    free(file);
    free(data);
    return 0;
}
