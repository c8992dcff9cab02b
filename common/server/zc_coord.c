/* zc_coord.c - the shared file pointer and range locks of an open file. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "zc_lock.h"
#include "zc_log.h"
#include "zc_coord.h"

struct zc_coord {
    struct zc_lock lock;
    uint64_t epoch;        /* the latest any rank has used */
    uint64_t pointer[2];   /* of the epoch, and of the one before */
    uint64_t numbers;      /* of locks, given out */
    struct zc_list held;   /* struct zc_range_lock */
    struct zc_list queued; /* first come first */
};

struct zc_coord *zc_coord_create(void)
{
    struct zc_coord *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    zc_lock_init(&s->lock, ZC_ORDER_COORD);
    zc_list_init(&s->held);
    zc_list_init(&s->queued);
    return s;
}

void zc_coord_destroy(struct zc_coord *s)
{
    if (!s)
        return;
    zc_lock_destroy(&s->lock);
    free(s);
}

/* ---- the pointer ---- */

/* The pointer of an epoch, which may be the first anybody hears of it. */
static uint64_t *pointer_of(struct zc_coord *s, uint64_t epoch)
{
    zc_assert_held(&s->lock);
    if (epoch > s->epoch) {
        s->pointer[1] = epoch == s->epoch + 1 ? s->pointer[0] : 0;
        s->pointer[0] = 0;
        s->epoch = epoch;
    }
    if (epoch == s->epoch)
        return &s->pointer[0];
    return epoch + 1 == s->epoch ? &s->pointer[1] : NULL;
}

int zc_coord_pointer(struct zc_coord *s, enum zc_pointer what, uint64_t epoch, uint64_t value,
                     uint64_t *was)
{
    uint64_t *p;
    int rc = 0;

    zc_lock_get(&s->lock);
    p = pointer_of(s, epoch);
    if (!p)
        rc = zc_errorf(ESTALE, "the view of the shared file pointer was set again");
    else if (value > INT64_MAX || (what == ZC_POINTER_ADD && value > INT64_MAX - *p))
        rc = zc_errorf(EOVERFLOW, "the shared file pointer would lie beyond 2^63");
    if (rc == 0) {
        *was = *p;
        *p = what == ZC_POINTER_ADD ? *p + value : value;
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

/* Whether nothing that came before, held or queued, is in the way. */
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

/* The next that can go on, taken from the queue; NULL: none. */
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

/* `owner` NULL: anybody's. */
static struct zc_range_lock *find(struct zc_coord *s, const uint64_t *owner, uint64_t from)
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

struct zc_range_lock *zc_coord_find(struct zc_coord *s, uint64_t owner, uint64_t from)
{
    return find(s, &owner, from);
}

struct zc_range_lock *zc_coord_held(struct zc_coord *s, uint64_t from)
{
    return find(s, NULL, from);
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
    /* cppcheck-suppress autoVariables ; nobody has it when this returns */
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
