/* model.c - see model.h.
 *
 * Invariant: `free_at` never goes back, and the busy times add up to no more than the time
 * for which the server was not idle.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "model.h"

struct counter {
    uint64_t requests;
    uint64_t bytes;
    int64_t busy_ns;
};

struct model {
    struct model_costs costs;
    pthread_mutex_t lock; /* guards all below */
    int64_t free_at;
    struct counter counters[MODEL_KINDS];
};

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

struct model *model_create(const struct model_costs *costs)
{
    struct model *m = calloc(1, sizeof(*m));

    if (!m)
        return NULL;
    m->costs = *costs;
    pthread_mutex_init(&m->lock, NULL);
    return m;
}

void model_destroy(struct model *m)
{
    if (!m)
        return;
    pthread_mutex_destroy(&m->lock);
    free(m);
}

static int64_t service_ns(const struct model_costs *c, enum model_kind kind, size_t bytes)
{
    double rate = kind == MODEL_WRITE ? c->write_rate : kind == MODEL_READ ? c->read_rate : 0;

    return (int64_t)(c->op_us * 1e3 + (rate > 0 ? (double)bytes * 1e9 / rate : 0));
}

int64_t model_book(struct model *m, enum model_kind kind, size_t bytes)
{
    struct counter *n = &m->counters[kind];
    int64_t service = service_ns(&m->costs, kind, bytes);
    int64_t t = now();

    pthread_mutex_lock(&m->lock);
    n->requests++;
    if (kind == MODEL_META) {
        t += (int64_t)(m->costs.meta_us * 1e3);
    } else {
        n->bytes += bytes;
        n->busy_ns += service;
        m->free_at = (m->free_at > t ? m->free_at : t) + service;
        t = m->free_at + (int64_t)(m->costs.latency_us * 1e3);
    }
    pthread_mutex_unlock(&m->lock);
    return t;
}

void model_wait(int64_t due)
{
    static __thread int exact;
    struct timespec t = {.tv_sec = due / 1000000000, .tv_nsec = due % 1000000000};

    if (!exact) { /* the kernel's default is to wake up 50 us late */
        prctl(PR_SET_TIMERSLACK, 1UL);
        exact = 1;
    }
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}

void model_spend(struct model *m, enum model_kind kind, size_t bytes)
{
    model_wait(model_book(m, kind, bytes));
}

int model_print(struct model *m, char *text, size_t size)
{
    struct counter n[MODEL_KINDS];

    pthread_mutex_lock(&m->lock);
    for (int i = 0; i < MODEL_KINDS; i++)
        n[i] = m->counters[i];
    pthread_mutex_unlock(&m->lock);
    const struct model_costs *c = &m->costs;
    const struct counter *w = &n[MODEL_WRITE], *r = &n[MODEL_READ], *s = &n[MODEL_SYNC];
    return snprintf(
        text, size,
        "{\"write_rate\": %.0f, \"read_rate\": %.0f, \"op_us\": %g, "
        "\"latency_us\": %g, \"meta_us\": %g,\n"
        " \"write\": {\"requests\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"busy_seconds\": %.6f},\n"
        " \"read\": {\"requests\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"busy_seconds\": %.6f},\n"
        " \"sync\": {\"requests\": %" PRIu64 ", \"busy_seconds\": %.6f},\n"
        " \"meta\": {\"requests\": %" PRIu64 "}}\n",
        c->write_rate, c->read_rate, c->op_us, c->latency_us, c->meta_us, w->requests, w->bytes,
        (double)w->busy_ns / 1e9, r->requests, r->bytes, (double)r->busy_ns / 1e9, s->requests,
        (double)s->busy_ns / 1e9, n[MODEL_META].requests);
}
