/* test_cache_model.h - the engine's model test: what a run knows, and its parts.
 *
 * test_cache_model_ops.c does things to the file, test_cache_model.c runs them and has the tests.
 */
#ifndef TEST_CACHE_MODEL_H
#define TEST_CACHE_MODEL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "check_main.h"
#include "splitmix.h"
#include "zc_cache.h"

enum { PAGE = 4096, SPAN = 12 * PAGE, MAX_THREADS = 4, HANDLES = 4 };

struct world {
    uint64_t seed;
    const char *what;             /* which test, for the replay line */
    struct zc_store *store, *mem; /* mem: below, without faults */
    struct zc_cache *cache;
    unsigned nthreads, ops, phases;
    uint32_t grain; /* byte b belongs to thread (b / grain) % nthreads */
    bool faults;    /* errors are expected */
    bool lossy;     /* the store may die with what it has not stored; without faults */
    bool pauses;    /* time passes between operations, on a simulated clock */
    enum zc_replay replay;
    atomic_bool lost; /* a close has reported lost bytes */
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
    struct zc_handle *handles[HANDLES]; /* of the one file; [0] is always there, and may write */
    bool reader[HANDLES];
    unsigned nhandles;
    struct zc_handle *h; /* the one the operation is through */
    pthread_t thread;
};

static inline uint64_t below(uint64_t *s, uint64_t n)
{
    return splitmix(s) % n;
}

#define FAIL(w, ...)                                                                               \
    do {                                                                                           \
        fprintf(stderr, "replay with: CK_RUN_CASE=%s ZC_SEED=%llu ./test_cache_model\n",           \
                (w)->what, (unsigned long long)(w)->seed);                                         \
        ck_abort_msg(__VA_ARGS__);                                                                 \
    } while (0)

/* Fails but where errors are to be expected. */
void model_expected_error(struct world *w, const char *what, long rc);
/* `got` is what `where` has of [off, off + n). */
void model_compare(struct world *w, const unsigned char *got, uint64_t off, uint64_t n,
                   const char *where);
/* Draws how long a page is idle before it is written back. */
unsigned model_idle_ms(const struct world *w, uint64_t *rng);
void model_open(struct actor *a); /* the first handle */
void model_close_all(struct actor *a);
void model_truncate(struct actor *a);
/* Any operation. */
void model_act(struct actor *a);

#endif
