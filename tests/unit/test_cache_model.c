/* test_cache_model.c - random work on tiny caches, compared with plain memory.
 *
 * Every seed makes a configuration and a mix of reads, writes (some of which break off),
 * truncations, flushes, closes, unlinks and evictions by one to four threads.  Threads own
 * disjoint bytes, down to every other byte of a page, so that the model is exact.  Every
 * read and in the end the store's file are compared.
 *
 * Two kinds of faults: calls that fail at random, and the sweep that fails the Nth store
 * call for N = 1, 2, 3, ... until a run passes untouched.  What must hold: right bytes, or
 * an error that somebody saw.
 *
 * ZC_SEED=n (or the first argument) runs one seed; ZC_TEST_LONG=1 runs thousands.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "check_main.h"
#include "splitmix.h"
#include "zc_cache.h"
#include "zc_log.h"
#include "zc_store_fault.h"
#include "zc_store_mem.h"

enum { PAGE = 4096, SPAN = 12 * PAGE, MAX_THREADS = 4 };

static const char *only_seed;

struct world {
    uint64_t seed;
    const char *what; /* which test, for the replay line */
    struct zc_store *store;
    struct zc_cache *cache;
    unsigned nthreads, ops, phases;
    uint32_t grain;   /* byte b belongs to thread (b / grain) % nthreads */
    bool faults;      /* errors are expected */
    atomic_bool lost; /* a failed truncation has left the size unknown */
    atomic_uint errors;
    /* the model */
    unsigned char data[SPAN];
    unsigned char known[SPAN]; /* 0: may hold anything */
    uint64_t size;
};

struct actor {
    struct world *w;
    unsigned id;
    uint64_t rng;
    struct zc_handle *h;
    pthread_t thread;
};

static uint64_t below(uint64_t *s, uint64_t n)
{
    return splitmix(s) % n;
}

#define FAIL(w, ...)                                                                               \
    do {                                                                                           \
        fprintf(stderr, "replay with: CK_RUN_CASE=%s ZC_SEED=%llu ./test_cache_model\n",           \
                (w)->what, (unsigned long long)(w)->seed);                                         \
        ck_abort_msg(__VA_ARGS__);                                                                 \
    } while (0)

static void expected_error(struct world *w, const char *what, long rc)
{
    atomic_fetch_add(&w->errors, 1);
    if (!w->faults)
        FAIL(w, "seed %llu: %s failed: %ld %s", (unsigned long long)w->seed, what, rc,
             zc_error_text((int)rc));
}

/* ---- operations ---- */

/* A random range of the actor's own bytes. */
static void own_range(struct actor *a, uint64_t *off, uint64_t *len)
{
    struct world *w = a->w;
    uint64_t period = (uint64_t)w->grain * w->nthreads;

    if (w->nthreads == 1) {
        *off = below(&a->rng, SPAN);
        *len = 1 + below(&a->rng, below(&a->rng, 4) ? 600 : 3 * PAGE);
    } else {
        uint64_t in = below(&a->rng, w->grain);

        *off = below(&a->rng, SPAN / period) * period + a->id * w->grain + in;
        *len = 1 + below(&a->rng, w->grain - in);
    }
    if (*len > SPAN - *off)
        *len = SPAN - *off;
}

static void model_write(struct world *w, uint64_t off, const unsigned char *buf, uint64_t n)
{
    memcpy(w->data + off, buf, n);
    memset(w->known + off, 1, n);
    if (w->nthreads == 1 && off + n > w->size) {
        /* a hole comes into being */
        w->size = off + n;
    }
}

static void fill(struct actor *a, unsigned char *buf, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        buf[i] = (unsigned char)splitmix(&a->rng);
}

static void op_write(struct actor *a)
{
    unsigned char buf[3 * PAGE + 1] = {0};
    uint64_t off, len;
    ssize_t n;

    own_range(a, &off, &len);
    fill(a, buf, len);
    if (!a->w->faults && splitmix(&a->rng) % 3 == 0)
        n = zc_cache_write_around(a->h, buf, len, off);
    else
        n = zc_cache_write(a->h, buf, len, off);
    if (n < 0 || (uint64_t)n < len)
        expected_error(a->w, "write", n);
    if (n > 0)
        model_write(a->w, off, buf, (uint64_t)n);
}

struct latch {
    struct zc_access access;
    pthread_mutex_t lock;
    pthread_cond_t cond;
    bool done;
};

static void latch_ready(struct zc_access *acc)
{
    struct latch *l = zc_list_entry(acc, struct latch, access);

    pthread_mutex_lock(&l->lock);
    l->done = true;
    pthread_cond_signal(&l->cond);
    pthread_mutex_unlock(&l->lock);
}

/* A write that breaks off: the rest of its range is indeterminate. */
static void op_partial(struct actor *a)
{
    struct world *w = a->w;
    unsigned char buf[PAGE] = {0};
    struct latch l = {.access = {.handle = a->h, .dir = ZC_WRITE, .ready = latch_ready},
                      .lock = PTHREAD_MUTEX_INITIALIZER,
                      .cond = PTHREAD_COND_INITIALIZER};
    uint64_t off, len, moved, touched;
    int rc;

    own_range(a, &off, &len);
    if (len > PAGE - off % PAGE)
        len = PAGE - off % PAGE;
    l.access.off = off;
    l.access.len = (uint32_t)len;
    rc = zc_cache_begin(&l.access);
    if (rc == -EINPROGRESS) {
        pthread_mutex_lock(&l.lock);
        while (!l.done)
            pthread_cond_wait(&l.cond, &l.lock);
        pthread_mutex_unlock(&l.lock);
        rc = l.access.status;
    }
    if (rc < 0) {
        expected_error(w, "begin", rc);
        return;
    }
    moved = below(&a->rng, len + 1);
    touched = moved + below(&a->rng, len - moved + 1);
    fill(a, buf, touched);
    memcpy(l.access.data, buf, touched);
    if (moved < len)
        memset(w->known + off + moved, 0, len - moved);
    zc_cache_end(&l.access, (uint32_t)moved);
    if (moved > 0)
        model_write(w, off, buf, moved);
}

static void compare(struct world *w, const unsigned char *got, uint64_t off, uint64_t n,
                    const char *where)
{
    for (uint64_t i = 0; i < n; i++) {
        if (w->known[off + i] && got[i] != w->data[off + i])
            FAIL(w, "seed %llu: %s: byte %llu of %llu is %02x, should be %02x",
                 (unsigned long long)w->seed, where, (unsigned long long)(off + i),
                 (unsigned long long)w->size, got[i], w->data[off + i]);
    }
}

static void read_some(struct actor *a, uint64_t off, uint64_t len)
{
    struct world *w = a->w;
    unsigned char buf[3 * PAGE + 1];
    uint64_t want;
    ssize_t n;

    want = off >= w->size ? 0 : w->size - off < len ? w->size - off : len;
    n = zc_cache_read(a->h, buf, len, off);
    if (atomic_load(&w->lost))
        return;
    if (n < 0 || (uint64_t)n < want) {
        if (w->faults)
            expected_error(w, "read", n);
        else
            FAIL(w, "seed %llu: read %zd of %llu bytes at %llu (size %llu): %s",
                 (unsigned long long)w->seed, n, (unsigned long long)len, (unsigned long long)off,
                 (unsigned long long)w->size, n < 0 ? zc_error_text((int)n) : "short");
    }
    if (n > 0 && (uint64_t)n > want)
        FAIL(w, "seed %llu: read %zd bytes at %llu, should be %llu", (unsigned long long)w->seed, n,
             (unsigned long long)off, (unsigned long long)want);
    if (n > 0)
        compare(w, buf, off, (uint64_t)n, "read");
}

static void op_read(struct actor *a)
{
    uint64_t off, len;

    own_range(a, &off, &len);
    read_some(a, off, len);
}

/* From somewhere to the end, as programs read that shall be read ahead of. */
static void op_scan(struct actor *a)
{
    uint64_t at = below(&a->rng, SPAN), step = 1 + below(&a->rng, 2 * PAGE);

    for (; at < SPAN; at += step)
        read_some(a, at, step < SPAN - at ? step : SPAN - at);
}

static void op_refresh(struct actor *a)
{
    int rc = zc_cache_refresh(a->h);

    if (rc < 0)
        expected_error(a->w, "refresh", rc);
}

static void op_flush(struct actor *a)
{
    int rc = zc_cache_flush(a->h, below(&a->rng, 2) ? ZC_LEVEL_STORED : ZC_LEVEL_DURABLE);

    if (rc < 0)
        expected_error(a->w, "flush", rc);
}

static void op_truncate(struct actor *a)
{
    struct world *w = a->w;
    uint64_t size = below(&a->rng, SPAN + 1);
    int rc = zc_cache_truncate(a->h, size);

    if (rc < 0) {
        expected_error(w, "truncate", rc);
        return;
    }
    memset(w->data + size, 0, SPAN - size);
    memset(w->known + size, 1, SPAN - size);
    w->size = size;
}

static void open_file(struct actor *a)
{
    unsigned flags = ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE;
    struct world *w = a->w;
    struct zc_attr attr;
    int rc;

    do {
        memset(&attr, 0, sizeof(attr));
        rc = zc_cache_open(w->cache, "/file", flags, 0644, &a->h, &attr);
        if (rc < 0)
            expected_error(w, "open", rc);
    } while (rc < 0);
    if (!atomic_load(&w->lost) && attr.size != w->size)
        FAIL(w, "seed %llu: size %llu at open, should be %llu", (unsigned long long)w->seed,
             (unsigned long long)attr.size, (unsigned long long)w->size);
}

static void close_file(struct actor *a)
{
    struct world *w = a->w;
    int rc = zc_cache_close(a->h);

    a->h = NULL;
    if (rc < 0)
        expected_error(w, "close", rc); /* which gives nothing up */
}

static void op_reopen(struct actor *a)
{
    close_file(a);
    if (below(&a->rng, 2))
        zc_cache_evict(a->w->cache);
    open_file(a);
}

static void op_unlink(struct actor *a)
{
    struct world *w = a->w;
    int rc = zc_cache_unlink(w->cache, "/file");

    if (rc < 0) {
        expected_error(w, "unlink", rc);
        return;
    }
    for (int i = 0; i < 3; i++) { /* it is still there for who has it open */
        op_write(a);
        op_read(a);
    }
    close_file(a);
    atomic_store(&w->lost, false);
    memset(w->data, 0, SPAN);
    memset(w->known, 1, SPAN);
    w->size = 0;
    open_file(a);
}

static void *act(void *arg)
{
    struct actor *a = arg;
    struct world *w = a->w;

    for (unsigned i = 0; i < w->ops; i++) {
        unsigned dice = (unsigned)below(&a->rng, 100);

        if (dice < 45)
            op_write(a);
        else if (dice < 80)
            op_read(a);
        else if (dice < 86)
            op_partial(a);
        else if (dice < 90)
            op_flush(a);
        else if (dice < 93)
            op_reopen(a);
        else if (dice < 94)
            zc_cache_evict(w->cache);
        else if (dice < 95)
            op_refresh(a);
        else if (dice < 96 && w->nthreads == 1)
            op_scan(a); /* bytes of others are not compared while they write */
        else if (w->nthreads > 1)
            op_read(a);
        else if (dice < 99)
            op_truncate(a);
        else
            op_unlink(a);
    }
    return NULL;
}

/* ---- a run ---- */

static void make_cache(struct world *w, uint64_t *rng)
{
    struct zc_cache_config cfg = ZC_CACHE_CONFIG_DEFAULT;
    struct zc_store *mem;

    cfg.page_size = PAGE;
    cfg.capacity = (2 + (below(rng, 3) ? 0 : below(rng, 12))) * PAGE;
    cfg.prefetch = (unsigned[]){0, 1, 4, 64}[below(rng, 4)];
    if (cfg.prefetch && below(rng, 2))
        cfg.capacity += 8 * PAGE;
    cfg.max_read = PAGE << below(rng, 4);
    cfg.low_watermark = (unsigned)below(rng, 80);
    cfg.high_watermark = cfg.low_watermark + 1 + (unsigned)below(rng, 100 - cfg.low_watermark);
    cfg.idle_ms = (unsigned)below(rng, 3);
    cfg.retry_ms = 1;
    cfg.flushers = 1 + (unsigned)below(rng, 3);
    cfg.readers = 1 + (unsigned)below(rng, 3);
    cfg.max_io = PAGE << below(rng, 4);
    cfg.max_extents = below(rng, 2) ? 2 + (unsigned)below(rng, 6) : 1024;
    cfg.flush_order = below(rng, 2) ? ZC_FLUSH_OLDEST : ZC_FLUSH_NEWEST;
    ck_assert_int_eq(zc_store_mem_create(&mem), 0);
    ck_assert_int_eq(zc_store_fault_create(mem, &w->store), 0);
    ck_assert_int_eq(zc_cache_create(&cfg, w->store, &w->cache), 0);
}

/* The whole file, through a handle and from the store below. */
static void verify(struct world *w, struct actor *a)
{
    unsigned char *buf = malloc(SPAN + 1);
    struct zc_attr attr = {0};
    struct zc_sfile *sf;
    struct iovec iov = {buf, SPAN + 1};
    ssize_t n;
    int rc;

    rc = zc_cache_flush(a->h, ZC_LEVEL_DURABLE);
    if (rc < 0) /* an old error is still to be told, once */
        rc = zc_cache_flush(a->h, ZC_LEVEL_DURABLE);
    if (rc < 0 && w->faults) { /* a sync or close that failed is told until somebody has had it */
        zc_cache_give_up(a->h, 0, UINT64_MAX);
        rc = zc_cache_flush(a->h, ZC_LEVEL_DURABLE);
    }
    if (rc < 0)
        FAIL(w, "seed %llu: last flush: %s", (unsigned long long)w->seed, zc_error_text(rc));
    n = zc_cache_read(a->h, buf, SPAN + 1, 0);
    if (!atomic_load(&w->lost)) {
        if (n != (ssize_t)w->size)
            FAIL(w, "seed %llu: %zd bytes in the cache, should be %llu",
                 (unsigned long long)w->seed, n, (unsigned long long)w->size);
        compare(w, buf, 0, w->size, "cache");
    }
    ck_assert_int_eq(zc_store_open_file(w->store, "/file", ZC_OPEN_READ, 0, &sf, &attr), 0);
    n = zc_store_preadv(sf, &iov, 1, 0);
    zc_store_close_file(sf, ZC_LEVEL_VISIBLE);
    if (!atomic_load(&w->lost)) {
        if (n != (ssize_t)w->size)
            FAIL(w, "seed %llu: %zd bytes in the store, should be %llu",
                 (unsigned long long)w->seed, n, (unsigned long long)w->size);
        compare(w, buf, 0, w->size, "store");
    }
    free(buf);
}

static void end_world(struct world *w)
{
    struct zc_cache_stats st;

    zc_cache_drain(w->cache);
    zc_cache_stats(w->cache, &st);
    if (st.dirty_bytes || st.pinned_pages || st.handles || st.waiting_room || st.waiting_read)
        FAIL(w, "seed %llu: something is left behind", (unsigned long long)w->seed);
    zc_cache_destroy(w->cache);
    zc_store_destroy(w->store);
}

/* Phases of concurrent work with a quiet moment between them. */
static void run_phases(struct world *w, struct actor *actors)
{
    for (unsigned phase = 0; phase < w->phases; phase++) {
        if (w->nthreads == 1) {
            act(&actors[0]);
            continue;
        }
        for (unsigned i = 0; i < w->nthreads; i++)
            pthread_create(&actors[i].thread, NULL, act, &actors[i]);
        for (unsigned i = 0; i < w->nthreads; i++)
            pthread_join(actors[i].thread, NULL);
        /* shrink, and grow again so that the size stays what the threads expect */
        op_truncate(&actors[0]);
        if (zc_cache_truncate(actors[0].h, SPAN) < 0) {
            expected_error(w, "truncate", -EIO);
            atomic_store(&w->lost, true); /* size is off: content is not compared any more */
        }
        w->size = SPAN;
    }
}

static void start_world(struct world *w, struct actor *actors, uint64_t *rng)
{
    static const uint32_t grains[] = {1, 3, 64, 1000, PAGE, PAGE + 5};

    w->grain = grains[below(rng, 6)];
    memset(w->known, 1, SPAN);
    make_cache(w, rng);
    for (unsigned i = 0; i < w->nthreads; i++) {
        actors[i] = (struct actor){.w = w, .id = i, .rng = splitmix(rng)};
        open_file(&actors[i]);
    }
    if (w->nthreads > 1) {
        ck_assert_int_eq(zc_cache_truncate(actors[0].h, SPAN), 0);
        w->size = SPAN;
    }
}

static void finish_world(struct world *w, struct actor *actors)
{
    zc_store_fault_set(w->store, 0, 0, 0, 0);
    verify(w, &actors[0]);
    for (unsigned i = 0; i < w->nthreads; i++)
        close_file(&actors[i]);
    end_world(w);
}

static struct world *new_world(uint64_t seed, const char *what, unsigned nthreads, unsigned ops)
{
    struct world *w = calloc(1, sizeof(*w));

    w->seed = seed;
    w->what = what;
    w->nthreads = nthreads;
    w->ops = ops;
    w->phases = nthreads > 1 ? 3 : 1;
    return w;
}

static void run_seed(uint64_t seed, const char *what, unsigned nthreads, bool faults)
{
    struct world *w = new_world(seed, what, nthreads, nthreads > 1 ? 120 : 300);
    struct actor actors[MAX_THREADS];
    uint64_t rng = seed;

    start_world(w, actors, &rng);
    if (faults) {
        w->faults = true;
        zc_store_fault_set(w->store, 1u << below(&rng, 8) | 1u << below(&rng, 8),
                           1 + below(&rng, 30), 1 + below(&rng, 20), below(&rng, 2) ? EIO : ENOSPC);
    }
    run_phases(w, actors);
    finish_world(w, actors);
    free(w);
}

static void run_seeds(const char *what, unsigned nthreads, bool faults, unsigned n)
{
    if (only_seed) {
        run_seed(strtoull(only_seed, NULL, 0), what, nthreads, faults);
        return;
    }
    for (uint64_t seed = 1; seed <= cases(n); seed++)
        run_seed(seed, what, nthreads, faults);
}

/* ---- the tests ---- */

START_TEST(alone)
{
    run_seeds("alone", 1, false, 300);
}
END_TEST

START_TEST(together)
{
    for (unsigned n = 2; n <= MAX_THREADS; n++)
        run_seeds("together", n, false, 40);
}
END_TEST

START_TEST(faulty)
{
    run_seeds("faulty", 1, true, 300);
}
END_TEST

START_TEST(faulty_together)
{
    run_seeds("faulty_together", 3, true, 40);
}
END_TEST

/* One short run with the nth store call failing; returns whether any did. */
static bool sweep_once(uint64_t seed, uint64_t nth, uint64_t count)
{
    struct world *w = new_world(seed, "sweep", 1, 60);
    struct actor a;
    uint64_t rng = seed;
    bool raised;
    unsigned errors;

    start_world(w, &a, &rng);
    w->faults = true;
    zc_store_fault_set(w->store, ZC_FAULT_ALL, nth, count, EIO);
    run_phases(w, &a);
    raised = zc_store_fault_raised(w->store) > 0;
    errors = atomic_load(&w->errors);
    finish_world(w, &a);
    if (!raised && errors > 0)
        FAIL(w, "seed %llu: errors without a fault", (unsigned long long)seed);
    free(w);
    return raised;
}

START_TEST(sweep)
{
    uint64_t first = only_seed ? strtoull(only_seed, NULL, 0) : 1;
    uint64_t last = only_seed ? first : cases(4);

    for (uint64_t seed = first; seed <= last; seed++) {
        for (uint64_t nth = 1; sweep_once(seed, nth, 1); nth++)
            continue;
        for (uint64_t nth = 1; sweep_once(seed, nth, 6); nth += 3)
            continue;
    }
}
END_TEST

int main(int argc, char **argv)
{
    Suite *s = suite_create("cache model");

    only_seed = argc > 1 ? argv[1] : getenv("ZC_SEED");
    zc_log_init(NULL);
    if (!getenv("ZCACHE_LOG")) /* faults are many, and expected */
        zc_log_to_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    CASE(s, "alone", 1800, alone);
    CASE(s, "together", 1800, together);
    CASE(s, "faulty", 1800, faulty);
    CASE(s, "faulty_together", 1800, faulty_together);
    CASE(s, "sweep", 1800, sweep);
    return run_suite(s);
}
