/* zc_posts.c - takes writes out of the rings that processes of this host have left them in.
 *
 * Order.  The write with the smallest stamp of all rings is next.  Rings are looked at one after
 * the other, so one that was left before it, in a ring looked at earlier, may have been missed: it
 * had been put there before the stamp of ours was given, and a second look, after ours was seen,
 * finds it.  When as many have been taken out as stamps were given before ours there is nothing to
 * miss.  A stamp whose write has not come yet is not waited for: the call of its writer has not
 * returned.  It may come when later ones have been taken out, so it is the number that counts, not
 * the last stamp.
 *
 * One at a time: who makes a write is `busy`, without the lock.  A write that has to wait for the
 * cache stays the one that is made, and our thread goes on with it when the cache has called.
 *
 * 1. While nobody is busy nothing of `box`, `making`, `kept` is in use.
 * 2. `tail` of a ring is behind a write when that is in the cache, or is told of as lost, and
 *    board.taken has counted it after that.  `seen` is as much, or one more when somebody is busy.
 * 3. Asleep, our thread has seen all rings empty after it had said so.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "zc_lock.h"
#include "zc_log.h"
#include "zc_memory.h"
#include "zc_post.h"
#include "zc_posts.h"
#include "zc_posts_making.h"
#include "zc_thread.h"

enum {
    NAP_US = 500,      /* our thread looks so often while there is something */
    SHARE = 8,         /* rings take one of so many bytes of the cache's at most, ... */
    RINGS_AT_LEAST = 8 /* ... but so many there may be however small that is */
};

struct zc_posts_box {
    struct zc_list link;
    struct zc_posts *posts;
    struct zc_posts_files files;
    struct zc_postbox *shared;
    int fd;
    uint64_t tail;               /* as we know it: who else could change it is not asked */
    bool closed;                 /* it goes when it is empty ... */
    uint64_t last;               /* ... up to here: its writer sees that nothing behind is taken */
    bool broken;                 /* what is in it makes no sense */
    struct zc_posts_known known; /* for who is busy with a write of it */
};

struct zc_posts {
    struct zc_cache *cache; /* fixed, as are these: */
    struct zc_board *board;
    int fd;
    pthread_t thread; /* fixed when `running` */

    struct zc_lock lock; /* guards all below, but what is busy's */
    zc_cond changed;     /* nobody is busy any more, a box is gone, the end */
    struct zc_list boxes;
    struct zc_list waits; /* struct zc_posts_wait */
    unsigned telling;     /* threads that call over() of some */
    bool running, stop;
    uint64_t seen;  /* so many have been taken out, or begun */
    uint64_t given; /* so many stamps, at least: the board's when it was looked at last */
    uint64_t writes, bytes;
    bool pointers[ZC_POINTERS]; /* which are in use */
    unsigned rings;             /* boxes there are */
    bool full;                  /* one was refused, which was said */

    bool busy;                /* somebody makes a write: */
    bool stuck, ready;        /* it waits for the cache; that has called */
    struct zc_posts_box *box; /* whose */
    struct zc_making making;
    void *kept; /* of the box's files */
};

/* ---- which is next ---- */

/* It is not read any more; what it says cannot be right. */
static void give_up(struct zc_posts_box *b)
{
    if (!b->broken)
        zc_error("a process of this host has left writes that are none");
    b->broken = true;
}

/* Whether it has been given: an honest one is, before its write is seen. */
static bool is_given(struct zc_posts *p, uint64_t stamp)
{
    if (stamp >= p->given)
        p->given = __atomic_load_n(&p->board->stamps, __ATOMIC_SEQ_CST);
    return stamp < p->given;
}

static uint64_t head_of(const struct zc_posts_box *b)
{
    return b->closed ? b->last : __atomic_load_n(&b->shared->head, __ATOMIC_SEQ_CST);
}

/* The first write of a ring; false: it is empty. */
static bool look(struct zc_posts_box *b, struct zc_letter *out)
{
    uint64_t head = head_of(b);
    unsigned char *ring = zc_postbox_ring(b->shared);

    while (!b->broken && head != b->tail) {
        uint32_t at = (uint32_t)(b->tail % ZC_POSTBOX);
        uint64_t there = head - b->tail;

        if (there > ZC_POSTBOX || head % ZC_POST_UNIT) {
            give_up(b);
            break;
        }
        memcpy(out, ring + at, sizeof *out);
        if (out->view == ZC_POST_GAP && there >= ZC_POSTBOX - at) {
            b->tail += ZC_POSTBOX - at;
            continue;
        }
        if (zc_posts_makes_sense(out, at, there) && is_given(b->posts, out->stamp))
            return true;
        give_up(b);
    }
    return false;
}

static struct zc_posts_box *smallest(struct zc_posts *p, struct zc_letter *out)
{
    struct zc_posts_box *best = NULL;
    struct zc_letter post;

    zc_assert_held(&p->lock);
    zc_list_each (&p->boxes, n) {
        struct zc_posts_box *b = zc_list_entry(n, struct zc_posts_box, link);

        if (look(b, &post) && (!best || post.stamp < out->stamp)) {
            best = b;
            *out = post;
        }
    }
    return best;
}

/* Which write is next; NULL: none is there.  See above. */
static struct zc_posts_box *first(struct zc_posts *p, struct zc_letter *out)
{
    struct zc_posts_box *b = smallest(p, out);

    return b && out->stamp != p->seen ? smallest(p, out) : b;
}

/* ---- one write ---- */

static void ready(struct zc_making *m)
{
    struct zc_posts *p = zc_list_entry(m, struct zc_posts, making);

    zc_lock_get(&p->lock);
    p->ready = true;
    zc_lock_put(&p->lock);
    sem_post(&p->board->bell);
}

static bool let_go(struct zc_posts *p, bool over)
{
    if (over && p->making.file)
        p->box->files.put(p->box->files.arg, p->kept);
    return over;
}

/* By who is busy; true: the write is over. */
static bool begin(struct zc_posts *p)
{
    struct zc_posts_box *b = p->box;
    struct zc_making *m = &p->making;

    m->file = b->files.get(b->files.arg, m->letter.handle, &p->kept);
    m->bed = zc_postbox_ring(b->shared) + b->tail % ZC_POSTBOX + sizeof m->letter;
    m->known = &b->known;
    return let_go(p, zc_making_begin(m));
}

/* The cache has called. */
static bool go_on(struct zc_posts *p)
{
    return let_go(p, zc_making_go_on(&p->making));
}

/* ---- one after the other ---- */

static void free_box(struct zc_posts_box *b)
{
    zc_list_del(&b->link);
    b->posts->rings--;
    zc_posts_forget(&b->known);
    zc_memory_free(b->shared, ZC_POSTBOX_HEAD + ZC_POSTBOX, b->fd);
    free(b);
}

/* Whether writers shall ask by message. */
static void say_refused(struct zc_posts *p)
{
    uint32_t now = zc_cache_refused(p->cache);

    if (__atomic_load_n(&p->board->refuses, __ATOMIC_RELAXED) != now)
        __atomic_store_n(&p->board->refuses, now, __ATOMIC_RELAXED);
}

/* Those that were closed, and have nothing in them. */
static void free_closed(struct zc_posts *p)
{
    struct zc_letter post;

    zc_list_each_safe (&p->boxes, n) {
        struct zc_posts_box *b = zc_list_entry(n, struct zc_posts_box, link);

        if (!b->closed || (p->busy && p->box == b) || look(b, &post))
            continue;
        free_box(b);
        pthread_cond_broadcast(&p->changed);
    }
}

/* The write that is under way came after all that is waited for, or there is none. */
static bool is_over(const struct zc_posts *p, uint64_t until)
{
    return !p->busy || p->making.letter.stamp >= until;
}

static struct zc_posts_wait *next_to_tell(struct zc_posts *p)
{
    zc_list_each (&p->waits, n) {
        struct zc_posts_wait *w = zc_list_entry(n, struct zc_posts_wait, link);

        if (is_over(p, w->until))
            return w;
    }
    return NULL;
}

/* Those who wait for what is done now; the lock is dropped meanwhile. */
static void tell(struct zc_posts *p)
{
    struct zc_posts_wait *w;

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

/* `over`: the write that somebody was busy with is. */
static void moved(struct zc_posts *p, bool over)
{
    struct zc_posts_box *b = p->box;

    if (!over) {
        p->stuck = true;
        return;
    }
    b->tail += zc_post_room(p->making.letter.len, p->making.letter.view);
    __atomic_store_n(&b->shared->tail, b->tail, __ATOMIC_RELEASE);
    say_refused(p);
    __atomic_add_fetch(&p->board->taken, 1, __ATOMIC_RELEASE);
    p->writes++;
    p->bytes += p->making.letter.len;
    p->busy = false;
    pthread_cond_broadcast(&p->changed);
}

/* The next one with a stamp before `until` is made, or begun; nobody is busy.  False: there is
 * none. The lock is dropped meanwhile. */
static bool step(struct zc_posts *p, uint64_t until)
{
    struct zc_letter post;
    struct zc_posts_box *b = first(p, &post);
    bool over;

    if (!b || post.stamp >= until)
        return false;
    p->busy = true;
    p->stuck = p->ready = false;
    p->box = b;
    p->making.letter = post;
    p->seen++;
    zc_lock_put(&p->lock);
    over = begin(p);
    zc_lock_get(&p->lock);
    moved(p, over);
    return true;
}

/* Whether what was given before this, and is not over, never comes: its writer has died before he
 * had put it, or has found his box closed. */
static bool all_void(struct zc_posts *p)
{
    struct zc_letter post;

    zc_list_each (&p->boxes, n) {
        struct zc_posts_box *b = zc_list_entry(n, struct zc_posts_box, link);

        if (__atomic_load_n(&b->shared->putting, __ATOMIC_ACQUIRE))
            return false;
        if (look(b, &post)) /* after `putting`: or it might be put in between */
            return false;
    }
    return true;
}

/* They are over: else everybody would look for them with every call, for ever. */
static void count_void(struct zc_posts *p)
{
    uint64_t given = __atomic_load_n(&p->board->stamps, __ATOMIC_SEQ_CST);

    if (p->busy || p->board->taken >= given || !all_void(p))
        return;
    p->seen = given;
    __atomic_store_n(&p->board->taken, given, __ATOMIC_RELEASE);
}

/* ---- our thread ---- */

static void nap(void)
{
    struct timespec t = {0, NAP_US * 1000};

    clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

/* What was left, and what waited for the cache; false: nothing, and nobody is busy. */
static bool take(struct zc_posts *p)
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
    struct zc_posts *p = arg;
    struct zc_board *b = p->board;
    struct zc_letter post;

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
            while (sem_wait(&b->bell) && errno == EINTR)
                ;
            if (!waits)
                nap(); /* more may come */
        }
        __atomic_store_n(&b->asleep, 0, __ATOMIC_SEQ_CST);
        zc_lock_get(&p->lock);
    }
    zc_lock_put(&p->lock);
    return NULL;
}

/* ---- for others ---- */

uint64_t zc_posts_now(struct zc_posts *p)
{
    say_refused(p);
    return __atomic_load_n(&p->board->stamps, __ATOMIC_SEQ_CST);
}

/* What was given before, and is it not yet? */
static bool anything_left(const struct zc_posts *p, uint64_t until)
{
    return __atomic_load_n(&p->board->taken, __ATOMIC_ACQUIRE) < until;
}

void zc_posts_settle(struct zc_posts *p)
{
    uint64_t until;

    if (!p)
        return;
    until = zc_posts_now(p);
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

bool zc_posts_settled(struct zc_posts *p, struct zc_posts_wait *w)
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

void zc_posts_unwait(struct zc_posts *p, struct zc_posts_wait *w)
{
    zc_lock_get(&p->lock);
    if (zc_list_linked(&w->link))
        zc_list_del(&w->link);
    while (p->telling)
        zc_cond_wait(&p->changed, &p->lock);
    zc_lock_put(&p->lock);
}

uint64_t *zc_posts_pointer(struct zc_posts *p, unsigned *index)
{
    uint64_t *word = NULL;

    zc_lock_get(&p->lock);
    for (unsigned i = 0; i < ZC_POINTERS && !word; i++)
        if (!p->pointers[i]) {
            p->pointers[i] = true;
            *index = i;
            word = &p->board->pointers[i];
        }
    zc_lock_put(&p->lock);
    return word;
}

void zc_posts_pointer_free(struct zc_posts *p, unsigned index)
{
    zc_lock_get(&p->lock);
    __atomic_store_n(&p->board->pointers[index], ZC_POINTER_ASK, __ATOMIC_SEQ_CST);
    p->pointers[index] = false;
    zc_lock_put(&p->lock);
}

void zc_posts_counts(struct zc_posts *p, uint64_t *writes, uint64_t *bytes)
{
    zc_lock_get(&p->lock);
    *writes = p->writes;
    *bytes = p->bytes;
    zc_lock_put(&p->lock);
}

/* One more ring, if there is memory for it. */
static int take_ring(struct zc_posts *p)
{
    struct zc_cache_limits l;
    size_t most;
    bool yes, say;

    zc_cache_limits(p->cache, &l);
    most = l.capacity / SHARE / ZC_POSTBOX;
    if (most < RINGS_AT_LEAST)
        most = RINGS_AT_LEAST;
    zc_lock_get(&p->lock);
    yes = p->rings < most;
    p->rings += yes;
    say = !yes && !p->full;
    p->full = p->full || !yes;
    zc_lock_put(&p->lock);
    if (say)
        zc_info("%zu processes of this host read and write in memory that they share, which is as "
                "many as an eighth of the cache is enough for: others do it by message",
                most);
    return yes ? 0 : zc_errorf(EOPNOTSUPP, "no memory to share with more processes");
}

static void give_ring(struct zc_posts *p)
{
    zc_lock_get(&p->lock);
    p->rings--;
    zc_lock_put(&p->lock);
}

int zc_posts_open(struct zc_posts *p, const struct zc_posts_files *files, struct zc_posts_box **out)
{
    struct zc_posts_box *b = calloc(1, sizeof *b);
    void *at;
    int rc = b ? take_ring(p) : zc_errorf(ENOMEM, "no memory to share");

    if (rc == 0) {
        rc = zc_memory_share("zcache-postbox", ZC_POSTBOX_HEAD + ZC_POSTBOX, true, &b->fd, &at);
        if (rc)
            give_ring(p);
    }
    if (rc) {
        free(b);
        return rc;
    }
    b->posts = p;
    b->files = *files;
    b->shared = at;
    b->shared->views = 1;
    zc_lock_get(&p->lock);
    if (!p->running) {
        rc = zc_thread_start(&p->thread, "zc-posts", run, p);
        p->running = rc == 0;
    }
    zc_list_add_tail(&p->boxes, &b->link);
    if (rc)
        free_box(b);
    zc_lock_put(&p->lock);
    if (rc == 0)
        *out = b;
    return rc;
}

void zc_posts_descriptors(const struct zc_posts_box *b, int *board, int *box)
{
    *board = b->posts->fd;
    *box = b->fd;
}

void zc_posts_close(struct zc_posts_box *b)
{
    struct zc_posts *p = b->posts;
    uint64_t until;

    zc_lock_get(&p->lock);
    __atomic_store_n(&b->shared->closed, 1, __ATOMIC_SEQ_CST);
    b->last = head_of(b);
    b->closed = true;
    until = zc_posts_now(p); /* others go on meanwhile */
    while (!p->busy && step(p, until))
        ;
    tell(p);
    free_closed(p);
    zc_lock_put(&p->lock);
    sem_post(&p->board->bell);
}

void zc_posts_end(struct zc_posts *p, const void *files_arg)
{
    bool any = true;

    zc_lock_get(&p->lock);
    while (any) {
        any = false;
        free_closed(p);
        zc_list_each (&p->boxes, n) {
            const struct zc_posts_box *b = zc_list_entry(n, struct zc_posts_box, link);

            any = any || (b->closed && b->files.arg == files_arg);
        }
        if (any && (p->busy || !step(p, UINT64_MAX))) /* theirs are before what comes from now on */
            zc_cond_wait(&p->changed, &p->lock);
    }
    tell(p);
    zc_lock_put(&p->lock);
}

int zc_posts_create(struct zc_cache *c, struct zc_posts **out)
{
    struct zc_posts *p = calloc(1, sizeof *p);
    void *at;
    int rc;

    if (!p)
        return zc_errorf(ENOMEM, "no memory to share");
    rc = zc_memory_share("zcache-board", ZC_BOARD, true, &p->fd, &at);
    if (rc) {
        free(p);
        return rc;
    }
    p->board = at;
    p->cache = c;
    p->making.page_size = zc_cache_page_size(c);
    p->making.ready = ready;
    sem_init(&p->board->bell, 1, 0);
    zc_lock_init(&p->lock, ZC_ORDER_POSTS);
    zc_cond_init(&p->changed);
    zc_list_init(&p->boxes);
    zc_list_init(&p->waits);
    *out = p;
    return 0;
}

void zc_posts_destroy(struct zc_posts *p)
{
    if (!p)
        return;
    zc_lock_get(&p->lock);
    p->stop = true;
    zc_lock_put(&p->lock);
    sem_post(&p->board->bell);
    if (p->running)
        pthread_join(p->thread, NULL);
    zc_making_free(&p->making);
    pthread_cond_destroy(&p->changed);
    zc_lock_destroy(&p->lock);
    sem_destroy(&p->board->bell);
    zc_memory_free(p->board, ZC_BOARD, p->fd);
    free(p);
}
