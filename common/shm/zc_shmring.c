/* zc_shmring.c - takes entries out of the rings that processes of this host write to.
 *
 * Order.  The entry with the smallest stamp of all rings is next.  Rings are checked one after the
 * other, so an earlier entry in a ring checked before may have been missed: it had been put there
 * before the stamp of the one found was given, so a second check, after that one was seen, finds
 * it.  When as many entries have been taken out as stamps were given before the one found, there is
 * nothing to miss.  A stamp whose entry is not there yet is not waited for: its writer's call has
 * not returned.  The entry may appear after later ones have been taken out, so the number counts,
 * not the last stamp.
 *
 * One at a time: a thread that applies an entry is `busy`, without the lock.  An entry that has to
 * wait for the cache stays the current one, and the ring's thread continues it when the cache has
 * called.
 *
 * 1.  While no thread is busy nothing of `ring_writer`, `sink`, `kept` is in use.
 * 2. `tail` of a ring passes an entry when that is in the cache, or reported as lost, and
 *    control.applied has counted it after that.  `seen` is equal, or one more while a thread is
 *    busy.
 * 3.  Before it sleeps, the ring's thread announces that, and then has seen all rings empty.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "zc_futex.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_memory.h"
#include "zc_ring.h"
#include "zc_shmring.h"
#include "zc_thread.h"

enum {
    NAP_US = 500,       /* polling interval while there are entries */
    SHARE = 8,          /* rings take at most 1/SHARE of the cache's size ... */
    RINGS_AT_LEAST = 8, /* ... but this many are always allowed */
    NEW_SHARE = 4,      /* those that grow leave 1/NEW_SHARE of that to new ones ... */
    PARTS_AT_LEAST = 4, /* ... and take a part of the rest each, one of so many at least */
};

/* Maximum sleep: another process may have overwritten the doorbell. */
#define ASLEEP_NS 1000000000ull

struct zc_ring_writer {
    struct zc_list link;
    struct zc_shmring *shmring;
    struct zc_shmring_files files;
    struct zc_ring_header *shared;
    int fd;
    uint64_t tail; /* our copies: the shared ones are not trusted */
    uint32_t end, full;
    bool closed;   /* freed when empty ... */
    uint64_t last; /* ... up to here: its writer sees that nothing behind is taken */
    bool broken;   /* its contents are invalid */
    void *known;   /* the sink's, for the busy thread and an entry of it */
};

struct zc_shmring {
    struct zc_ring_sink *sink; /* fixed, as are these; its entry is the busy thread's */
    struct zc_ring_control *control;
    int fd;
    pthread_t thread; /* fixed when `running` */

    struct zc_lock lock; /* guards all below, except what the busy thread owns */
    zc_cond changed;     /* not busy any more, a ring is gone, or the end */
    struct zc_list writers;
    struct zc_list waits; /* struct zc_shmring_wait */
    unsigned telling;     /* threads that call over() of some */
    bool running, stop;
    uint64_t seen;  /* entries taken out, or begun */
    uint64_t given; /* stamps given, at least: the control page's count when last read */
    uint64_t writes, bytes;
    bool pointers[ZC_POINTERS]; /* which are in use */
    unsigned rings;             /* number of rings */
    size_t room;                /* bytes of them, up to their ends */
    bool full;                  /* one was refused, which was logged */

    bool busy;                          /* a thread applies an entry: */
    bool stuck, ready;                  /* it waits for the cache; that has called */
    struct zc_ring_writer *ring_writer; /* of the entry */
    void *kept;                         /* private to the ring's files */
};

/* ---- the next entry ---- */

/* Stops reading the ring: its contents cannot be right. */
static void give_up(struct zc_ring_writer *b)
{
    if (!b->broken)
        zc_error("a process of this host has left writes that are none");
    b->broken = true;
}

/* Whether the stamp has been given: a correct one is, before its entry is visible. */
static bool is_given(struct zc_shmring *p, uint64_t stamp)
{
    if (stamp >= p->given)
        p->given = __atomic_load_n(&p->control->stamps, __ATOMIC_SEQ_CST);
    return stamp < p->given;
}

static uint64_t head_of(const struct zc_ring_writer *b)
{
    return b->closed ? b->last : __atomic_load_n(&b->shared->head, __ATOMIC_SEQ_CST);
}

/* Whether this can be an entry that begins `at` bytes into a ring that ends at `end`, with `there`
 * bytes filled from it on. */
static bool is_valid(const struct zc_ring_entry *l, uint32_t at, uint32_t end, uint64_t there)
{
    uint32_t room;

    if (!l->len || l->len > ZC_RING_ENTRY_MAX || l->view > ZC_RING_VIEW_MAX ||
        l->off > (uint64_t)INT64_MAX - l->len)
        return false;
    room = zc_ring_entry_size(l->len, l->view);
    return room <= there && (uint64_t)at + room <= end;
}

/* Reads the first entry of a ring; false: it is empty. */
static bool look(struct zc_ring_writer *b, struct zc_ring_entry *out)
{
    uint64_t head = head_of(b);
    unsigned char *ring = zc_ring_data(b->shared);

    while (!b->broken && head != b->tail) {
        uint32_t at = (uint32_t)(b->tail % ZC_RING_SIZE);
        uint64_t there = head - b->tail;

        if (there > ZC_RING_SIZE || head % ZC_RING_UNIT) {
            give_up(b);
            break;
        }
        memcpy(out, ring + at, sizeof *out);
        if (out->view == ZC_RING_WRAP && there >= ZC_RING_SIZE - at) {
            b->tail += ZC_RING_SIZE - at;
            continue;
        }
        if (is_valid(out, at, b->end, there) && is_given(b->shmring, out->stamp))
            return true;
        give_up(b);
    }
    return false;
}

static struct zc_ring_writer *smallest(struct zc_shmring *p, struct zc_ring_entry *out)
{
    struct zc_ring_writer *best = NULL;
    struct zc_ring_entry post;

    zc_assert_held(&p->lock);
    zc_list_each (&p->writers, n) {
        struct zc_ring_writer *b = zc_list_entry(n, struct zc_ring_writer, link);

        if (look(b, &post) && (!best || post.stamp < out->stamp)) {
            best = b;
            *out = post;
        }
    }
    return best;
}

/* Returns the ring with the next entry; NULL: none.  See above. */
static struct zc_ring_writer *first(struct zc_shmring *p, struct zc_ring_entry *out)
{
    struct zc_ring_writer *b = smallest(p, out);

    return b && out->stamp != p->seen ? smallest(p, out) : b;
}

/* ---- one entry ---- */

static void ready(struct zc_ring_sink *s)
{
    struct zc_shmring *p = s->ring;

    zc_lock_get(&p->lock);
    p->ready = true;
    zc_lock_put(&p->lock);
    zc_futex_set(&p->control->doorbell);
}

static bool let_go(struct zc_shmring *p, bool over)
{
    if (over && p->sink->file)
        p->ring_writer->files.put(p->ring_writer->files.arg, p->kept);
    return over;
}

/* By the busy thread; true: the entry is done. */
static bool begin(struct zc_shmring *p)
{
    struct zc_ring_writer *b = p->ring_writer;
    struct zc_ring_sink *m = p->sink;

    m->file = b->files.get(b->files.arg, m->entry.handle, &p->kept);
    m->payload = zc_ring_data(b->shared) + b->tail % ZC_RING_SIZE + sizeof m->entry;
    m->known = &b->known;
    return let_go(p, m->ops->begin(m));
}

/* Continues an entry after the cache has called. */
static bool go_on(struct zc_shmring *p)
{
    return let_go(p, p->sink->ops->resume(p->sink));
}

/* ---- one after the other ---- */

static void free_writer(struct zc_ring_writer *b)
{
    zc_list_del(&b->link);
    b->shmring->rings--;
    b->shmring->room -= b->end;
    b->shmring->sink->ops->forget(b->known);
    zc_memory_free(b->shared, ZC_RING_HEADER + ZC_RING_SIZE, b->fd);
    free(b);
}

/* Sets whether writers have to use messages. */
static void say_refused(struct zc_shmring *p)
{
    uint32_t now = p->sink->ops->refuses(p->sink);

    if (__atomic_load_n(&p->control->refuses, __ATOMIC_RELAXED) != now)
        __atomic_store_n(&p->control->refuses, now, __ATOMIC_RELAXED);
}

/* What all rings may take together, bytes. */
static size_t most(const struct zc_shmring *p)
{
    size_t share = p->sink->ops->capacity(p->sink) / SHARE;

    return share > RINGS_AT_LEAST * ZC_RING_FIRST ? share : RINGS_AT_LEAST * ZC_RING_FIRST;
}

/* What rings that grow leave to new ones, bytes. */
static size_t left_to_new(size_t all)
{
    const size_t least = (RINGS_AT_LEAST - PARTS_AT_LEAST) * ZC_RING_FIRST;

    return all / NEW_SHARE > least ? all / NEW_SHARE : least;
}

/* Moves the end of a ring that was full to where it has an equal part of the memory, as far as the
 * others leave that much: they may have grown when they were fewer. */
static void grow_if_full(struct zc_shmring *p, struct zc_ring_writer *b)
{
    uint32_t full = __atomic_load_n(&b->shared->full, __ATOMIC_RELAXED);
    size_t share, all, others, end;

    if (full == b->full)
        return;
    b->full = full;
    share = most(p);
    all = share - left_to_new(share);
    others = p->room - b->end;
    if (others > all)
        return;
    end = all / (p->rings > PARTS_AT_LEAST ? p->rings : PARTS_AT_LEAST);
    end = end < all - others ? end : all - others;
    end = end < ZC_RING_SIZE ? end / ZC_RING_UNIT * ZC_RING_UNIT : ZC_RING_SIZE;
    if (end <= b->end)
        return;
    p->room += end - b->end;
    b->end = (uint32_t)end;
    __atomic_store_n(&b->shared->end, b->end, __ATOMIC_RELAXED);
}

/* Frees closed rings that are empty. */
static void free_closed(struct zc_shmring *p)
{
    struct zc_ring_entry post;

    zc_list_each_safe (&p->writers, n) {
        struct zc_ring_writer *b = zc_list_entry(n, struct zc_ring_writer, link);

        if (!b->closed || (p->busy && p->ring_writer == b) || look(b, &post))
            continue;
        free_writer(b);
        pthread_cond_broadcast(&p->changed);
    }
}

/* Whether the entry under way comes after all that is waited for, or there is none. */
static bool is_over(const struct zc_shmring *p, uint64_t until)
{
    return !p->busy || p->sink->entry.stamp >= until;
}

static struct zc_shmring_wait *next_to_tell(struct zc_shmring *p)
{
    zc_list_each (&p->waits, n) {
        struct zc_shmring_wait *w = zc_list_entry(n, struct zc_shmring_wait, link);

        if (is_over(p, w->until))
            return w;
    }
    return NULL;
}

/* Calls over() of the waits that are over now, without the lock. */
static void tell(struct zc_shmring *p)
{
    struct zc_shmring_wait *w;

    while ((w = next_to_tell(p))) {
        zc_list_del(&w->link);
        p->telling++;
        zc_lock_put(&p->lock);
        w->over(w);
        zc_lock_get(&p->lock);
        p->telling--;
        pthread_cond_broadcast(&p->changed);
    }
}

/* `over`: the busy thread's entry is done. */
static void moved(struct zc_shmring *p, bool over)
{
    struct zc_ring_writer *b = p->ring_writer;

    if (!over) {
        p->stuck = true;
        return;
    }
    grow_if_full(p, b);
    b->tail += zc_ring_entry_size(p->sink->entry.len, p->sink->entry.view);
    __atomic_store_n(&b->shared->tail, b->tail, __ATOMIC_RELEASE);
    say_refused(p);
    __atomic_add_fetch(&p->control->applied, 1, __ATOMIC_RELEASE);
    p->writes++;
    p->bytes += p->sink->entry.len;
    p->busy = false;
    pthread_cond_broadcast(&p->changed);
}

/* Applies, or begins, the next entry with a stamp before `until`, while no thread is busy.  False:
 * there is no such entry.  Drops the lock while the entry is applied. */
static bool step(struct zc_shmring *p, uint64_t until)
{
    struct zc_ring_entry post;
    struct zc_ring_writer *b = first(p, &post);
    bool over;

    if (!b || post.stamp >= until)
        return false;
    p->busy = true;
    p->stuck = p->ready = false;
    p->ring_writer = b;
    p->sink->entry = post;
    p->seen++;
    zc_lock_put(&p->lock);
    over = begin(p);
    zc_lock_get(&p->lock);
    moved(p, over);
    return true;
}

/* Whether the stamps given before this, and not used, are void: their writers died before they put
 * the entry, or found their ring closed. */
static bool all_void(struct zc_shmring *p)
{
    struct zc_ring_entry post;

    zc_list_each (&p->writers, n) {
        struct zc_ring_writer *b = zc_list_entry(n, struct zc_ring_writer, link);

        if (__atomic_load_n(&b->shared->putting, __ATOMIC_ACQUIRE))
            return false;
        if (look(b, &post)) /* after reading `putting`: else it might be put in between */
            return false;
    }
    return true;
}

/* Counts void stamps as done: else every call would search for them, for ever. */
static void count_void(struct zc_shmring *p)
{
    uint64_t given = __atomic_load_n(&p->control->stamps, __ATOMIC_SEQ_CST);

    if (p->busy || p->control->applied >= given || !all_void(p))
        return;
    p->seen = given;
    __atomic_store_n(&p->control->applied, given, __ATOMIC_RELEASE);
}

/* ---- the ring's thread ---- */

static void nap(void)
{
    zc_clock_sleep(NAP_US * 1000);
}

/* Applies entries, and continues the one that waited for the cache; false: there was nothing to
 * do. */
static bool take(struct zc_shmring *p)
{
    bool any = false;

    if (p->busy && p->stuck && p->ready) {
        bool over;

        p->stuck = p->ready = false;
        zc_lock_put(&p->lock);
        over = go_on(p);
        zc_lock_get(&p->lock);
        moved(p, over);
        any = true;
    }
    while (!p->busy && step(p, UINT64_MAX))
        any = true;
    tell(p);
    free_closed(p);
    if (!any)
        count_void(p);
    return any || p->busy;
}

static void *run(void *arg)
{
    struct zc_shmring *p = arg;
    struct zc_ring_control *b = p->control;
    struct zc_ring_entry post;

    zc_lock_get(&p->lock);
    while (!p->stop) {
        bool any = take(p), waits = p->busy && p->stuck && !p->ready; /* it may have become so */

        if (!any) {
            __atomic_store_n(&b->asleep, 1, __ATOMIC_SEQ_CST);
            any = first(p, &post) != NULL;
        }
        if (any && !waits) {
            zc_lock_put(&p->lock);
            nap();
        } else {
            zc_lock_put(&p->lock);
            zc_futex_wait(&b->doorbell, ASLEEP_NS);
            if (!waits)
                nap(); /* more may come */
        }
        __atomic_store_n(&b->asleep, 0, __ATOMIC_SEQ_CST);
        zc_lock_get(&p->lock);
    }
    zc_lock_put(&p->lock);
    return NULL;
}

/* ---- for other files ---- */

uint64_t zc_shmring_stamp(struct zc_shmring *p)
{
    say_refused(p);
    return __atomic_load_n(&p->control->stamps, __ATOMIC_SEQ_CST);
}

/* Whether an entry with an earlier stamp is not applied yet. */
static bool anything_left(const struct zc_shmring *p, uint64_t until)
{
    return __atomic_load_n(&p->control->applied, __ATOMIC_ACQUIRE) < until;
}

void zc_shmring_drain(struct zc_shmring *p)
{
    uint64_t until;

    if (!p)
        return;
    until = zc_shmring_stamp(p);
    if (!anything_left(p, until))
        return;
    zc_lock_get(&p->lock);
    for (;;) {
        tell(p);
        if (!is_over(p, until))
            zc_cond_wait(&p->changed, &p->lock);
        else if (p->busy || !step(p, until))
            break;
    }
    zc_lock_put(&p->lock);
}

bool zc_shmring_drained(struct zc_shmring *p, struct zc_shmring_wait *w)
{
    bool yes;

    if (!anything_left(p, w->until))
        return true;
    zc_lock_get(&p->lock);
    while (!p->busy && step(p, w->until))
        ;
    yes = is_over(p, w->until);
    if (!yes && !zc_list_linked(&w->link))
        zc_list_add_tail(&p->waits, &w->link);
    tell(p);
    zc_lock_put(&p->lock);
    return yes;
}

void zc_shmring_unwait(struct zc_shmring *p, struct zc_shmring_wait *w)
{
    zc_lock_get(&p->lock);
    if (zc_list_linked(&w->link))
        zc_list_del(&w->link);
    while (p->telling)
        zc_cond_wait(&p->changed, &p->lock);
    zc_lock_put(&p->lock);
}

uint64_t *zc_shmring_pointer(struct zc_shmring *p, unsigned *index)
{
    uint64_t *word = NULL;

    zc_lock_get(&p->lock);
    for (unsigned i = 0; i < ZC_POINTERS && !word; i++)
        if (!p->pointers[i]) {
            p->pointers[i] = true;
            *index = i;
            word = &p->control->pointers[i];
        }
    zc_lock_put(&p->lock);
    return word;
}

void zc_shmring_pointer_free(struct zc_shmring *p, unsigned index)
{
    zc_lock_get(&p->lock);
    __atomic_store_n(&p->control->pointers[index], ZC_POINTER_ASK, __ATOMIC_SEQ_CST);
    p->pointers[index] = false;
    zc_lock_put(&p->lock);
}

void zc_shmring_counts(struct zc_shmring *p, uint64_t *writes, uint64_t *bytes)
{
    zc_lock_get(&p->lock);
    *writes = p->writes;
    *bytes = p->bytes;
    zc_lock_put(&p->lock);
}

/* Adds a ring, if there is memory for it. */
static int take_ring(struct zc_shmring *p)
{
    size_t all = most(p);
    unsigned n;
    bool yes, say;

    zc_lock_get(&p->lock);
    yes = p->rings < RINGS_AT_LEAST || p->room + ZC_RING_FIRST <= all;
    p->rings += yes;
    p->room += yes ? ZC_RING_FIRST : 0;
    n = p->rings;
    say = !yes && !p->full;
    p->full = p->full || !yes;
    zc_lock_put(&p->lock);
    if (say)
        zc_info("%u processes of this host write into memory that they share, and that has the "
                "eighth of the cache it may have: others read and write by message",
                n);
    return yes ? 0 : zc_errorf(EOPNOTSUPP, "no memory to share with more processes");
}

static void give_ring(struct zc_shmring *p)
{
    zc_lock_get(&p->lock);
    p->rings--;
    p->room -= ZC_RING_FIRST;
    zc_lock_put(&p->lock);
}

int zc_shmring_open(struct zc_shmring *p, const struct zc_shmring_files *files,
                    struct zc_ring_writer **out)
{
    struct zc_ring_writer *b = calloc(1, sizeof *b);
    void *at;
    int rc = b ? take_ring(p) : zc_errorf(ENOMEM, "no memory to share");

    if (rc == 0) {
        rc = zc_memory_share("zcache-postbox", ZC_RING_HEADER + ZC_RING_SIZE, true, &b->fd, &at);
        if (rc)
            give_ring(p);
    }
    if (rc) {
        free(b);
        return rc;
    }
    b->shmring = p;
    b->files = *files;
    b->shared = at;
    b->shared->views = 1;
    b->shared->end = b->end = ZC_RING_FIRST;
    zc_lock_get(&p->lock);
    if (!p->running) {
        rc = zc_thread_start(&p->thread, "zc-ring", run, p);
        p->running = rc == 0;
    }
    zc_list_add_tail(&p->writers, &b->link);
    if (rc)
        free_writer(b);
    zc_lock_put(&p->lock);
    if (rc == 0)
        *out = b;
    return rc;
}

void zc_shmring_descriptors(const struct zc_ring_writer *b, int *control, int *writer)
{
    *control = b->shmring->fd;
    *writer = b->fd;
}

void zc_shmring_close(struct zc_ring_writer *b)
{
    struct zc_shmring *p = b->shmring;
    uint64_t until;

    zc_lock_get(&p->lock);
    __atomic_store_n(&b->shared->closed, 1, __ATOMIC_SEQ_CST);
    b->last = head_of(b);
    b->closed = true;
    until = zc_shmring_stamp(p); /* others go on meanwhile */
    while (!p->busy && step(p, until))
        ;
    tell(p);
    free_closed(p);
    zc_lock_put(&p->lock);
    zc_futex_set(&p->control->doorbell);
}

void zc_shmring_end(struct zc_shmring *p, const void *files_arg)
{
    bool any = true;

    zc_lock_get(&p->lock);
    while (any) {
        any = false;
        free_closed(p);
        zc_list_each (&p->writers, n) {
            const struct zc_ring_writer *b = zc_list_entry(n, struct zc_ring_writer, link);

            any = any || (b->closed && b->files.arg == files_arg);
        }
        if (any && (p->busy || !step(p, UINT64_MAX))) /* theirs are before later ones */
            zc_cond_wait(&p->changed, &p->lock);
    }
    tell(p);
    zc_lock_put(&p->lock);
}

int zc_shmring_create(struct zc_ring_sink *sink, struct zc_shmring **out)
{
    struct zc_shmring *p = calloc(1, sizeof *p);
    int rc = p ? 0 : zc_errorf(ENOMEM, "no memory to share");
    void *at;

    if (rc == 0)
        rc = zc_memory_share("zcache-ring-control", ZC_RING_CONTROL, true, &p->fd, &at);
    if (rc) {
        sink->ops->free(sink);
        free(p);
        return rc;
    }
    p->control = at;
    p->sink = sink;
    sink->ring = p;
    sink->ready = ready;
    zc_lock_init(&p->lock, ZC_ORDER_SHMRING);
    zc_cond_init(&p->changed);
    zc_list_init(&p->writers);
    zc_list_init(&p->waits);
    *out = p;
    return 0;
}

void zc_shmring_destroy(struct zc_shmring *p)
{
    if (!p)
        return;
    zc_lock_get(&p->lock);
    p->stop = true;
    zc_lock_put(&p->lock);
    zc_futex_set(&p->control->doorbell);
    if (p->running)
        pthread_join(p->thread, NULL);
    p->sink->ops->free(p->sink);
    pthread_cond_destroy(&p->changed);
    zc_lock_destroy(&p->lock);
    zc_memory_free(p->control, ZC_RING_CONTROL, p->fd);
    free(p);
}
