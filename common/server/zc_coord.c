/* zc_coord.c - the shared file pointer and range locks of an open file. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "zc_lock.h"
#include "zc_log.h"
#include "zc_coord.h"
#include "zc_ring.h"
#include "zc_shmring.h"

struct zc_coord {
    struct zc_lock lock;
    uint64_t epoch;  /* the highest that a rank has used */
    uint64_t *word;  /* the pointer, which clients may change without the lock ... */
    uint64_t wide;   /* ... or this is the pointer, if `word` says so */
    uint64_t before; /* of the previous epoch */
    uint64_t own;    /* target of `word` without shared memory; fixed, as are these: */
    struct zc_shmring *shmring;
    unsigned index;        /* of `word` there */
    uint64_t numbers;      /* lock numbers assigned so far */
    struct zc_list held;   /* struct zc_range_lock */
    struct zc_list queued; /* in order of arrival */
};

struct zc_coord *zc_coord_create(void)
{
    struct zc_coord *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    zc_lock_init(&s->lock, ZC_ORDER_COORD);
    zc_list_init(&s->held);
    zc_list_init(&s->queued);
    s->word = &s->own; /* epoch 0, at 0 */
    return s;
}

void zc_coord_use_ring(struct zc_coord *s, struct zc_shmring *p)
{
    uint64_t *word = p ? zc_shmring_pointer(p, &s->index) : NULL;

    if (!word)
        return;
    __atomic_store_n(word, zc_pointer_word(0, 0), __ATOMIC_SEQ_CST);
    s->word = word;
    s->shmring = p;
}

uint32_t zc_coord_shared(const struct zc_coord *s)
{
    return s->shmring ? s->index + 1 : 0;
}

void zc_coord_destroy(struct zc_coord *s)
{
    if (!s)
        return;
    if (s->shmring)
        zc_shmring_pointer_free(s->shmring, s->index);
    zc_lock_destroy(&s->lock);
    free(s);
}

/* ---- the pointer ---- */

/* Returns the pointer of an epoch according to its word. */
static uint64_t value_of(const struct zc_coord *s, uint64_t word)
{
    return zc_pointer_is_of(word, s->epoch) ? word & ZC_POINTER_MAX : s->wide;
}

/* Starts an epoch at the first request that names it. */
static void begin_epoch(struct zc_coord *s, uint64_t epoch)
{
    uint64_t word = __atomic_exchange_n(s->word, zc_pointer_word(epoch, 0), __ATOMIC_SEQ_CST);

    s->before = epoch == s->epoch + 1 ? value_of(s, word) : 0;
    s->epoch = epoch;
}

static int moved(enum zc_pointer what, uint64_t was, uint64_t value, uint64_t *now)
{
    if (value > INT64_MAX || (what == ZC_POINTER_ADD && value > INT64_MAX - was))
        return zc_errorf(EOVERFLOW, "the shared file pointer would lie beyond 2^63");
    *now = what == ZC_POINTER_ADD ? was + value : value;
    return 0;
}

/* Moves the pointer of the current epoch, which clients change concurrently. */
static int move_latest(struct zc_coord *s, enum zc_pointer what, uint64_t value, uint64_t *was)
{
    uint64_t word = __atomic_load_n(s->word, __ATOMIC_SEQ_CST), next, now = 0;
    int rc;

    do {
        *was = value_of(s, word);
        rc = moved(what, *was, value, &now);
        if (rc)
            return rc;
        next = now <= ZC_POINTER_MAX ? zc_pointer_word(s->epoch, now) : ZC_POINTER_ASK;
    } while (!__atomic_compare_exchange_n(s->word, &word, next, false, __ATOMIC_SEQ_CST,
                                          __ATOMIC_SEQ_CST));
    s->wide = now;
    return 0;
}

int zc_coord_pointer(struct zc_coord *s, enum zc_pointer what, uint64_t epoch, uint64_t value,
                     uint64_t *was)
{
    int rc;

    zc_lock_get(&s->lock);
    if (epoch > s->epoch)
        begin_epoch(s, epoch);
    if (epoch == s->epoch) {
        rc = move_latest(s, what, value, was);
    } else if (epoch + 1 == s->epoch) {
        *was = s->before;
        rc = moved(what, *was, value, &s->before);
    } else {
        rc = zc_errorf(ESTALE, "the view of the shared file pointer was set again");
    }
    zc_lock_put(&s->lock);
    return rc;
}

/* ---- locks ---- */

static bool conflict(const struct zc_range_lock *a, const struct zc_range_lock *b)
{
    if (!a->exclusive && !b->exclusive)
        return false;
    return a->off < b->off ? b->off - a->off < a->len : a->off - b->off < b->len;
}

/* Whether no earlier lock, held or queued, conflicts. */
static bool is_free(struct zc_coord *s, const struct zc_range_lock *l)
{
    zc_assert_held(&s->lock);
    zc_list_each (&s->held, n)
        if (conflict(l, zc_list_entry(n, struct zc_range_lock, link)))
            return false;
    zc_list_each (&s->queued, n) {
        struct zc_range_lock *q = zc_list_entry(n, struct zc_range_lock, link);

        if (q == l)
            break;
        if (conflict(l, q))
            return false;
    }
    return true;
}

static void hold(struct zc_coord *s, struct zc_range_lock *l)
{
    l->held = true;
    zc_list_add_tail(&s->held, &l->link);
}

bool zc_coord_lock(struct zc_coord *s, struct zc_range_lock *l)
{
    bool granted;

    zc_lock_get(&s->lock);
    l->number = ++s->numbers;
    granted = is_free(s, l);
    if (granted) {
        hold(s, l);
    } else {
        l->held = false;
        zc_list_add_tail(&s->queued, &l->link);
    }
    zc_lock_put(&s->lock);
    return granted;
}

/* Takes the next lock that can be granted from the queue; NULL: none. */
static struct zc_range_lock *grant_one(struct zc_coord *s)
{
    struct zc_range_lock *l = NULL;

    zc_lock_get(&s->lock);
    zc_list_each (&s->queued, n) {
        l = zc_list_entry(n, struct zc_range_lock, link);
        if (is_free(s, l))
            break;
        l = NULL;
    }
    if (l) {
        zc_list_del(&l->link);
        hold(s, l);
    }
    zc_lock_put(&s->lock);
    return l;
}

void zc_coord_unlock(struct zc_coord *s, struct zc_range_lock *l)
{
    struct zc_range_lock *next;

    zc_lock_get(&s->lock);
    zc_list_del(&l->link);
    l->held = false;
    zc_lock_put(&s->lock);
    while ((next = grant_one(s)))
        next->granted(next);
}

struct zc_range_lock *zc_coord_find(struct zc_coord *s, const uint64_t *owner, uint64_t from)
{
    struct zc_range_lock *found = NULL;

    zc_lock_get(&s->lock);
    zc_list_each (&s->held, n) {
        struct zc_range_lock *l = zc_list_entry(n, struct zc_range_lock, link);

        if ((!owner || l->owner == *owner) && l->number >= from &&
            (!found || l->number < found->number))
            found = l;
    }
    zc_lock_put(&s->lock);
    return found;
}

/* ---- waiting ---- */

struct waiter {
    struct zc_lock mutex;
    zc_cond cond;
    bool granted;
};

static void wake(struct zc_range_lock *l)
{
    struct waiter *w = l->waiter;

    zc_lock_get(&w->mutex);
    w->granted = true;
    pthread_cond_signal(&w->cond);
    zc_lock_put(&w->mutex);
}

void zc_coord_lock_wait(struct zc_coord *s, struct zc_range_lock *l)
{
    struct waiter w = {.granted = false};

    zc_lock_init(&w.mutex, ZC_ORDER_WAITER);
    zc_cond_init(&w.cond);
    /* cppcheck-suppress autoVariables ; not referenced any more when this returns */
    l->waiter = &w;
    l->granted = wake;
    if (!zc_coord_lock(s, l)) {
        zc_lock_get(&w.mutex);
        while (!w.granted)
            zc_cond_wait(&w.cond, &w.mutex);
        zc_lock_put(&w.mutex);
    }
    pthread_cond_destroy(&w.cond);
    zc_lock_destroy(&w.mutex);
}
