/* test_levels_model.c - random pieces through both levels at once, compared with plain memory.
 *
 * A job and a daemon in one process: threads share one open in an aggregator's cache of few large
 * pages, whose store is a daemon with few small pages over a real file that grows.  Each thread
 * writes and reads its own bytes, down to every second one, mostly through a view, so that pages of
 * both levels are collapsed, dropped after a write, read in pieces and evicted during writes by
 * others, and the model is exact.
 *
 * ZC_SEED=n (or the first argument) runs one seed; ZC_TEST_LONG=1 runs many.
 */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "rig.h"
#include "splitmix.h"
#include "zc_store_posix.h"
#include "zc_store_remote.h"
#include "zc_view_test.h"

enum { PAGE = 4096, SPAN = 40 * PAGE, MAX_THREADS = 4, OPS = 40, PHASES = 3 };

static const char *only_seed;
static char path[] = "/tmp/zcache-levels.XXXXXX";

struct world {
    uint64_t seed, rng;
    struct rig rig;         /* the daemon */
    struct zc_store *store; /* the daemon as the aggregator's store; may be slow */
    struct zc_cache *cache; /* the aggregator's */
    struct zc_handle *h;
    unsigned nthreads;
    uint32_t grain; /* byte b belongs to thread b / grain % nlots, if that exists */
    uint32_t nlots;
    unsigned char data[SPAN];
};

struct actor {
    struct world *w;
    unsigned id;
    uint64_t rng;
    struct zc_view *view; /* its bytes */
    pthread_t thread;
};

static uint64_t below(uint64_t *s, uint64_t n)
{
    return splitmix(s) % n;
}

#define FAIL(w, ...)                                                                               \
    do {                                                                                           \
        fprintf(stderr, "replay with: ZC_SEED=%llu ./test_levels_model\n",                         \
                (unsigned long long)(w)->seed);                                                    \
        ck_abort_msg(__VA_ARGS__);                                                                 \
    } while (0)

static void ok(struct world *w, const char *what, long rc)
{
    if (rc < 0)
        FAIL(w, "seed %llu: %s: %s", (unsigned long long)w->seed, what, zc_error_text((int)rc));
}

/* ---- accesses ---- */

/* File offset of an actor's i-th byte. */
static uint64_t place(const struct actor *a, uint64_t i)
{
    const struct world *w = a->w;

    return (i / w->grain * w->nlots + a->id) * w->grain + i % w->grain;
}

/* Draws some of the actor's bytes, by index. */
static void draw(struct actor *a, uint64_t *first, uint64_t *n)
{
    uint64_t all = SPAN / (a->w->grain * a->w->nlots) * a->w->grain;

    *first = below(&a->rng, all);
    *n = 1 + below(&a->rng, below(&a->rng, 3) ? 300 : all);
    if (*n > all - *first)
        *n = all - *first;
}

static void op_write(struct actor *a)
{
    static _Thread_local unsigned char buf[SPAN];
    struct world *w = a->w;
    uint64_t first, n;

    draw(a, &first, &n);
    for (uint64_t i = 0; i < n; i++)
        buf[i] = (unsigned char)(1 + below(&a->rng, 255));
    ok(w, "write", zc_cache_vwrite(w->h, a->view, a->id * w->grain, buf, n, (int64_t)first));
    for (uint64_t i = 0; i < n; i++)
        w->data[place(a, first + i)] = buf[i];
}

static void op_read(struct actor *a)
{
    static _Thread_local unsigned char buf[SPAN];
    struct world *w = a->w;
    uint64_t first, n;
    ssize_t got;

    draw(a, &first, &n);
    got = zc_cache_vread(w->h, a->view, a->id * w->grain, buf, n, (int64_t)first);
    ok(w, "read", got);
    memset(buf + got, 0, n - (uint64_t)got); /* beyond the end of the file */
    for (uint64_t i = 0; i < n; i++)
        if (buf[i] != w->data[place(a, first + i)])
            FAIL(w, "seed %llu: byte %llu is %02x, should be %02x (%zd of %llu bytes read)",
                 (unsigned long long)w->seed, (unsigned long long)place(a, first + i), buf[i],
                 w->data[place(a, first + i)], got, (unsigned long long)n);
}

static void *act(void *arg)
{
    struct actor *a = arg;

    for (unsigned i = 0; i < OPS; i++) {
        unsigned dice = (unsigned)below(&a->rng, 100);

        if (dice < 45)
            op_write(a);
        else if (dice < 95)
            op_read(a);
        else if (dice < 97)
            ok(a->w, "flush", zc_cache_flush(a->w->h, ZC_LEVEL_STAGED));
        else
            zc_cache_evict(a->w->cache);
    }
    return NULL;
}

/* ---- a run ---- */

/* Makes two kinds of calls slow. */
static void slow(struct world *w, struct zc_store *s)
{
    unsigned us = (unsigned[]){0, 0, 50, 300}[below(&w->rng, 4)];

    zc_store_fault_delay(s, 1u << below(&w->rng, 9) | 1u << below(&w->rng, 9), us);
}

static void make_daemon(struct world *w)
{
    struct zc_cache_config cfg = ZC_CACHE_CONFIG_DEFAULT;
    struct zc_store *posix;

    cfg.page_size = PAGE;
    cfg.capacity = (2 + (below(&w->rng, 3) ? 0 : below(&w->rng, 12))) * PAGE;
    cfg.idle_ms = (unsigned)below(&w->rng, 3);
    cfg.prefetch = (unsigned[]){0, 0, 1, 8}[below(&w->rng, 4)];
    cfg.level = ZC_LEVEL_STAGED;
    if (below(&w->rng, 2))
        cfg.max_extents = 2 + (unsigned)below(&w->rng, 100);
    ck_assert_int_eq(zc_store_posix_create(NULL, &posix), 0);
    rig_up(&w->rig, &cfg, posix);
    slow(w, w->rig.store);
}

static void make_aggregator(struct world *w)
{
    struct zc_cache_config cfg = ZC_CACHE_CONFIG_DEFAULT;
    struct zc_net *net = rig_net(60000);
    struct zc_client *client = rig_connect(&w->rig, net);
    struct zc_store *remote;

    ck_assert_int_eq(zc_store_remote_over(net, &client, 1, &remote), 0);
    ck_assert_int_eq(zc_store_fault_create(remote, &w->store), 0);
    slow(w, w->store);
    cfg.page_size = PAGE << below(&w->rng, 5);
    cfg.capacity = (2 + below(&w->rng, 3)) * cfg.page_size;
    cfg.idle_ms = (unsigned)below(&w->rng, 3);
    cfg.prefetch = (unsigned[]){0, 0, 1, 8}[below(&w->rng, 4)];
    cfg.max_extents = below(&w->rng, 3) ? cfg.page_size / 16 : 2 + (unsigned)below(&w->rng, 100);
    cfg.transient = true;
    ck_assert_int_eq(zc_cache_create(&cfg, w->store, &w->cache), 0);
}

static void open_file(struct world *w)
{
    struct zc_attr attr = {.block_size = 64 << 10};

    ok(w, "open",
       zc_cache_open(w->cache, path, ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE, 0600, &w->h,
                     &attr));
}

/* Compares the file itself. */
static void check_file(struct world *w)
{
    static unsigned char buf[SPAN];
    int fd = open(path, O_RDONLY);
    ssize_t got;

    memset(buf, 0, sizeof buf);
    got = pread(fd, buf, SPAN, 0);
    close(fd);
    for (uint64_t i = 0; i < SPAN; i++)
        if (buf[i] != w->data[i])
            FAIL(w, "seed %llu: in the file (%zd bytes), byte %llu is %02x, should be %02x",
                 (unsigned long long)w->seed, got, (unsigned long long)i, buf[i], w->data[i]);
}

static void run_phase(struct world *w, struct actor *actors)
{
    open_file(w);
    for (unsigned i = 0; i < w->nthreads; i++)
        pthread_create(&actors[i].thread, NULL, act, &actors[i]);
    for (unsigned i = 0; i < w->nthreads; i++)
        pthread_join(actors[i].thread, NULL);
    if (below(&w->rng, 2)) {
        ok(w, "flush", zc_cache_flush(w->h, ZC_LEVEL_STORED));
        check_file(w);
    }
    if (below(&w->rng, 2)) {
        uint64_t size = below(&w->rng, SPAN);

        ok(w, "truncate", zc_cache_truncate(w->h, size));
        memset(w->data + size, 0, SPAN - size);
    }
    ok(w, "flush", zc_cache_flush(w->h, ZC_LEVEL_STAGED));
    ok(w, "close", zc_cache_close(w->h));
}

static void run_seed(uint64_t seed)
{
    static const uint32_t grains[] = {1, 1, 2, 4, 20, 500};
    struct world *w = calloc(1, sizeof *w);
    struct actor actors[MAX_THREADS];

    w->seed = w->rng = seed;
    w->nthreads = 2 + (unsigned)below(&w->rng, MAX_THREADS - 1);
    w->grain = grains[below(&w->rng, 6)];
    w->nlots =
        w->nthreads * (below(&w->rng, 2) ? 1 : 1 + (uint32_t)below(&w->rng, w->grain > 4 ? 4 : 60));
    make_daemon(w);
    make_aggregator(w);
    for (unsigned i = 0; i < w->nthreads; i++) {
        actors[i] = (struct actor){.w = w, .id = i, .rng = splitmix(&w->rng)};
        ck_assert_int_eq(zc_view_create(&(int64_t){0}, &(int64_t){w->grain}, 1,
                                        (int64_t)w->grain * w->nlots, &actors[i].view),
                         0);
    }
    for (unsigned i = 0; i < PHASES; i++)
        run_phase(w, actors);
    for (unsigned i = 0; i < w->nthreads; i++)
        zc_view_put(actors[i].view);
    zc_cache_destroy(w->cache);
    zc_store_destroy(w->store);
    rig_down(&w->rig);
    check_file(w);
    unlink(path);
    free(w);
}

START_TEST(pieces_through_both_levels)
{
    uint64_t first = only_seed ? strtoull(only_seed, NULL, 0) : 1;
    uint64_t last = only_seed ? first : cases(12);

    for (uint64_t seed = first; seed <= last; seed++)
        run_seed(seed);
}
END_TEST

int main(int argc, char **argv)
{
    Suite *s = suite_create("levels model");

    only_seed = argc > 1 ? argv[1] : getenv("ZC_SEED");
    zc_log_init(NULL);
    close(mkstemp(path));
    unlink(path);
    CASE(s, "pieces", 1800, pieces_through_both_levels);
    return run_suite(s);
}
