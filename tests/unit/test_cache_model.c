/* test_cache_model.c - random work on tiny caches, compared with plain memory.
 *
 * Every seed makes a configuration and a mix of reads, writes (some of which break off),
 * truncations, flushes, closes, unlinks and evictions by one to four threads, each through several
 * handles of the one file, and changes of the store's file by others.  Threads own disjoint bytes,
 * down to every other byte of a page, so that the model is exact.  Every read and in the end the
 * store's file are compared.
 *
 * Two kinds of faults: calls that fail at random, and the sweep that makes the Nth store call fail
 * for N = 1, 2, 3, ... until a run has no failure.  The invariant: right bytes, or a reported
 * error.
 *
 * The cases called "pauses" are the same on a simulated clock, with up to 100 s between operations:
 * what the cache does by itself is done, under way or not begun when the next operation comes.
 *
 * And deaths of a lossy store, which forgets unstable bytes: right bytes, or reported as lost by
 * range; with strict replay right bytes alone.
 *
 * ZC_SEED=n (or the first argument) runs one seed, CK_RUN_CASE=name one case; ZC_TEST_LONG=1 runs
 * thousands of seeds.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>

#include "test_cache_model.h"
#include "zc_clock_sim.h"
#include "zc_log.h"
#include "zc_store_fault.h"
#include "zc_store_mem.h"

static const char *only_seed;

/* ---- a run ---- */

static void *act(void *arg)
{
    struct actor *a = arg;

    for (unsigned i = 0; i < a->w->ops; i++)
        model_act(a);
    a->h = a->handles[0];
    return NULL;
}

static void make_cache(struct world *w, uint64_t *rng)
{
    struct zc_cache_config cfg = ZC_CACHE_CONFIG_DEFAULT;

    cfg.page_size = PAGE;
    cfg.capacity = (2 + (below(rng, 3) ? 0 : below(rng, 12))) * PAGE;
    cfg.reserve = below(rng, 2) ? 20 * PAGE : 0;
    cfg.prefetch = (unsigned[]){0, 1, 4, 64}[below(rng, 4)];
    if (cfg.prefetch && below(rng, 2))
        cfg.capacity += 8 * PAGE;
    cfg.max_read = PAGE << below(rng, 4);
    cfg.low_watermark = (unsigned)below(rng, 80);
    cfg.high_watermark = cfg.low_watermark + 1 + (unsigned)below(rng, 100 - cfg.low_watermark);
    cfg.idle_ms = model_idle_ms(w, rng);
    cfg.retry_ms = w->pauses ? 1 + (unsigned)below(rng, 200) : 1;
    cfg.flushers = 1 + (unsigned)below(rng, 3);
    cfg.readers = 1 + (unsigned)below(rng, 3);
    cfg.max_io = PAGE << below(rng, 4);
    cfg.max_extents = below(rng, 2) ? 2 + (unsigned)below(rng, 6) : 1024;
    cfg.flush_order = below(rng, 2) ? ZC_FLUSH_OLDEST : ZC_FLUSH_NEWEST;
    cfg.published = true;
    cfg.transient = w->lossy;
    cfg.replay = w->replay;
    ck_assert_int_eq(w->lossy ? zc_store_mem_create_lossy(&w->mem) : zc_store_mem_create(&w->mem),
                     0);
    ck_assert_int_eq(zc_store_fault_create(w->mem, &w->store), 0);
    ck_assert_int_eq(zc_cache_create(&cfg, w->store, &w->cache), 0);
}

/* Compares the whole file, through a handle and in the store. */
static void verify(struct world *w, struct actor *a)
{
    unsigned char *buf = malloc(SPAN + 1);
    struct zc_attr attr = {0};
    struct zc_sfile *sf;
    struct iovec iov = {buf, SPAN + 1};
    ssize_t n;
    int rc;

    rc = zc_cache_flush(a->h, ZC_LEVEL_DURABLE);
    if (rc < 0) /* an earlier error still has to be reported once */
        rc = zc_cache_flush(a->h, ZC_LEVEL_DURABLE);
    if (rc < 0 && w->faults) { /* a failed sync or close is reported until a client has seen it */
        zc_cache_discard(a->h, 0, UINT64_MAX);
        rc = zc_cache_flush(a->h, ZC_LEVEL_DURABLE);
    }
    if (rc < 0)
        FAIL(w, "seed %llu: last flush: %s", (unsigned long long)w->seed, zc_error_text(rc));
    n = zc_cache_read(a->h, buf, SPAN + 1, 0);
    if (!atomic_load(&w->lost)) {
        if (n != (ssize_t)w->size)
            FAIL(w, "seed %llu: %zd bytes in the cache, should be %llu",
                 (unsigned long long)w->seed, n, (unsigned long long)w->size);
        model_compare(w, buf, 0, w->size, "cache");
    }
    ck_assert_int_eq(zc_store_open_file(w->store, "/file", ZC_OPEN_READ, 0, &sf, &attr), 0);
    n = zc_store_preadv(sf, &iov, 1, 0);
    zc_store_close_file(sf, ZC_LEVEL_VISIBLE);
    if (!atomic_load(&w->lost)) {
        if (n != (ssize_t)w->size)
            FAIL(w, "seed %llu: %zd bytes in the store, should be %llu",
                 (unsigned long long)w->seed, n, (unsigned long long)w->size);
        model_compare(w, buf, 0, w->size, "store");
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
    if (st.damaged_bytes)
        FAIL(w, "seed %llu: %llu bytes are taken for damaged", (unsigned long long)w->seed,
             (unsigned long long)st.damaged_bytes);
    zc_cache_destroy(w->cache);
    zc_store_destroy(w->store);
}

/* Phases of concurrent work, with a quiet moment between them. */
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
        /* truncate and extend again, so that the size stays what the threads expect */
        model_truncate(&actors[0]);
        if (zc_cache_truncate(actors[0].h, SPAN) < 0) {
            model_expected_error(w, "truncate", -EIO);
            atomic_store(&w->lost, true); /* size unknown: no more comparisons of content */
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
        model_open(&actors[i]);
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
        model_close_all(&actors[i]);
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

    w->pauses = zc_clock;
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

static void run_deaths(uint64_t seed, const char *what, unsigned nthreads)
{
    struct world *w = new_world(seed, what, nthreads, nthreads > 1 ? 120 : 300);
    struct actor actors[MAX_THREADS];
    uint64_t rng = seed;

    w->lossy = true;
    w->pauses = zc_clock;
    w->replay = nthreads > 1 ? ZC_REPLAY_STRICT : (enum zc_replay)below(&rng, 3);
    start_world(w, actors, &rng);
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

/* Of `n` seeds; nthreads 0: two to four, by the seed. */
static void run_deaths_of(const char *what, unsigned nthreads, unsigned n)
{
    uint64_t first = only_seed ? strtoull(only_seed, NULL, 0) : 1;

    for (uint64_t seed = first; seed <= (only_seed ? first : cases(n)); seed++)
        run_deaths(seed, what, nthreads ? nthreads : 2 + seed % (MAX_THREADS - 1));
}

START_TEST(deaths)
{
    run_deaths_of("deaths", 1, 150);
}
END_TEST

START_TEST(deaths_together)
{
    run_deaths_of("deaths_together", 0, 30);
}
END_TEST

/* One short run in which the nth store call fails; returns whether any did. */
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
    uint64_t last = only_seed ? first : cases(2);

    for (uint64_t seed = first; seed <= last; seed++) {
        for (uint64_t nth = 1; sweep_once(seed, nth, 1); nth++)
            continue;
        for (uint64_t nth = 1; sweep_once(seed, nth, 6); nth += 3)
            continue;
    }
}
END_TEST

START_TEST(pauses)
{
    zc_clock = zc_clock_sim();
    run_seeds("pauses", 1, false, 100);
}
END_TEST

START_TEST(pauses_together)
{
    zc_clock = zc_clock_sim();
    for (unsigned n = 2; n <= MAX_THREADS; n++)
        run_seeds("pauses_together", n, false, 10);
}
END_TEST

START_TEST(pauses_faulty)
{
    zc_clock = zc_clock_sim();
    for (unsigned n = 1; n <= 3; n += 2)
        run_seeds("pauses_faulty", n, true, 30);
}
END_TEST

START_TEST(pauses_deaths)
{
    zc_clock = zc_clock_sim();
    run_deaths_of("pauses_deaths", 1, 30);
    run_deaths_of("pauses_deaths", 0, 10);
}
END_TEST

int main(int argc, char **argv)
{
    Suite *s = suite_create("cache model");

    only_seed = argc > 1 ? argv[1] : getenv("ZC_SEED");
    zc_log_init(NULL);
    if (!getenv("ZCACHE_LOG")) /* faults are frequent and expected */
        zc_log_to_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    CASE(s, "alone", 1800, alone);
    CASE(s, "together", 1800, together);
    CASE(s, "faulty", 1800, faulty);
    CASE(s, "faulty_together", 1800, faulty_together);
    CASE(s, "deaths", 1800, deaths);
    CASE(s, "deaths_together", 1800, deaths_together);
    CASE(s, "sweep", 1800, sweep);
    CASE(s, "pauses", 1800, pauses);
    CASE(s, "pauses_together", 1800, pauses_together);
    CASE(s, "pauses_faulty", 1800, pauses_faulty);
    CASE(s, "pauses_deaths", 1800, pauses_deaths);
    return run_suite(s);
}
