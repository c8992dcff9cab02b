/* test_posts_order.c - in which order writes that were left are taken out, whatever happens while
 * the owner looks for them: they come at moments of the owner's own that the test chooses.
 */
#include "config.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check_main.h"
#include "zc_post.h"
#include "zc_store_mem.h"

/* A while, and no longer: the test has its time. */
#define WAIT_FOR(cond)                                                                             \
    do {                                                                                           \
        while (!(cond))                                                                            \
            usleep(500);                                                                           \
    } while (0)

/* Called before anything of the shared memory is looked at. */
static void before_look(const void *at);

#define __atomic_load_n(at, order) (before_look(at), __atomic_load_n(at, order))
#include "../../common/server/zc_posts.c"
#undef __atomic_load_n

enum { WRITERS = 2, PAGE = 4096 };

static struct zc_store *store;
static struct zc_cache *cache;
static struct zc_handle *file;
static struct zc_posts *posts;
static struct zc_posts_box *boxes[WRITERS];
static const void *moment; /* then ... */
static void (*then)(void); /* ... this happens, once */

static void before_look(const void *at)
{
    void (*now)(void) = then;

    if (!now || at != moment)
        return;
    then = NULL;
    now();
}

static struct zc_handle *get_file(void *arg, uint64_t number, void **kept)
{
    (void)arg;
    (void)number;
    *kept = NULL;
    return file;
}

static void put_file(void *arg, void *kept)
{
    (void)arg;
    (void)kept;
}

/* Nobody looks but the test. */
static void up(void)
{
    static const struct zc_posts_files files = {get_file, put_file, NULL};
    struct zc_cache_config cfg = ZC_CACHE_CONFIG_DEFAULT;
    struct zc_attr attr = {.block_size = PAGE};

    cfg.capacity = 64 * PAGE;
    cfg.reserve = 32 << 20; /* addresses */
    cfg.page_size = PAGE;
    ck_assert_int_eq(zc_store_mem_create(&store), 0);
    ck_assert_int_eq(zc_cache_create(&cfg, store, &cache), 0);
    ck_assert_int_eq(zc_cache_open(cache, "/f", ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE, 0644,
                                   &file, &attr),
                     0);
    ck_assert_int_eq(zc_posts_create(cache, &posts), 0);
    posts->running = true;
    for (int i = 0; i < WRITERS; i++)
        ck_assert_int_eq(zc_posts_open(posts, &files, &boxes[i]), 0);
    posts->running = false;
}

static void down(void)
{
    for (int i = 0; i < WRITERS; i++)
        if (boxes[i])
            zc_posts_close(boxes[i]);
    zc_posts_destroy(posts);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_STORED), 0);
    ck_assert_int_eq(zc_cache_close(file), 0);
    zc_cache_destroy(cache);
    zc_store_destroy(store);
}

static uint64_t stamp(void)
{
    return __atomic_fetch_add(&posts->board->stamps, 1, __ATOMIC_SEQ_CST);
}

/* One byte at the beginning of the file. */
static void leave(int who, uint64_t of, char byte)
{
    struct zc_postbox *b = boxes[who]->shared;
    struct zc_letter post = {.stamp = of, .len = 1};
    unsigned char *at = zc_postbox_ring(b) + b->head;

    memcpy(at, &post, sizeof post);
    at[sizeof post] = (unsigned char)byte;
    __atomic_store_n(&b->head, b->head + zc_post_room(1, 0), __ATOMIC_SEQ_CST);
}

static void expect(char byte)
{
    char is = 0;

    zc_lock_get(&posts->lock);
    take(posts); /* as the owner's thread does */
    zc_lock_put(&posts->lock);
    zc_posts_settle(posts);
    ck_assert_int_eq(zc_cache_read(file, &is, 1, 0), 1);
    ck_assert_msg(is == byte, "'%c', not '%c'", is, byte);
}

static uint64_t early;

/* The first one's call returns, and then the second one begins. */
static void one_after_the_other(void)
{
    leave(0, early, 'a');
    leave(1, stamp(), 'b');
}

/* The first ring has been looked at and was empty: what is found in the second one came later. */
START_TEST(what_came_to_a_ring_already_looked_at_is_first)
{
    up();
    early = stamp();
    moment = &boxes[1]->shared->head;
    stamp(); /* of somebody who has not left it yet */
    then = one_after_the_other;
    expect('b');
    down();
}
END_TEST

/* The same, when one with a later stamp than the first one's has been taken out before. */
START_TEST(a_stamp_that_was_passed_over_is_first_all_the_same)
{
    up();
    early = stamp();
    leave(1, stamp(), 'x');
    expect('x');
    moment = &boxes[1]->shared->head;
    then = one_after_the_other;
    expect('b');
    down();
}
END_TEST

/* By one who looks whether he has to ring. */
static void one_without_bell(void)
{
    leave(0, stamp(), 'c');
    if (__atomic_exchange_n(&posts->board->asleep, 0, __ATOMIC_SEQ_CST))
        sem_post(&posts->board->bell);
}

/* The owner's thread has seen that there is nothing, and has not said yet that it sleeps. */
START_TEST(what_comes_as_the_thread_falls_asleep_is_seen)
{
    uint64_t writes = 0, bytes;

    up();
    moment = &boxes[1]->shared->head;
    then = one_without_bell;
    ck_assert_int_eq(zc_thread_start(&posts->thread, "zc-posts", run, posts), 0);
    posts->running = true;
    for (int i = 0; writes == 0 && i < 5000; i++) {
        nap();
        zc_posts_counts(posts, &writes, &bytes);
    }
    ck_assert_uint_eq(writes, 1);
    down();
}
END_TEST

/* `busy`: as if somebody were busy meanwhile: what is in the box stays. */
static void close_first(bool busy)
{
    posts->busy = busy;
    zc_posts_close(boxes[0]);
    posts->busy = false;
    boxes[0] = NULL;
}

/* ---- stamps whose writes never come ---- */

static void first_is_putting(bool is)
{
    __atomic_store_n(&boxes[0]->shared->putting, is, __ATOMIC_SEQ_CST);
}

/* As the owner's thread does when it finds nothing. */
static bool all_clear(void)
{
    zc_lock_get(&posts->lock);
    while (take(posts))
        ;
    zc_lock_put(&posts->lock);
    return zc_board_clear(posts->board);
}

/* Its writer dies before he has put it. */
START_TEST(a_stamp_of_a_writer_that_died_is_void)
{
    up();
    leave(0, stamp(), 'a');
    first_is_putting(true);
    stamp();
    leave(1, stamp(), 'b');
    ck_assert(!all_clear());
    close_first(false);
    ck_assert(all_clear());
    leave(1, stamp(), 'c');
    ck_assert(!zc_board_clear(posts->board));
    expect('c');
    ck_assert(all_clear());
    ck_assert_uint_eq(posts->board->taken, 4);
    ck_assert_uint_eq(posts->seen, 4);
    down();
}
END_TEST

/* He may be slow: what he has not put yet is to come. */
START_TEST(a_stamp_of_one_who_is_slow_is_not_void)
{
    up();
    first_is_putting(true);
    early = stamp();
    leave(1, stamp(), 'b');
    ck_assert(!all_clear());
    leave(0, early, 'a');
    first_is_putting(false);
    ck_assert(!zc_board_clear(posts->board));
    ck_assert(all_clear());
    expect('a');
    down();
}
END_TEST

static void first_puts_it(void)
{
    leave(0, early, 'a');
    first_is_putting(false);
}

static void second_takes_one(void)
{
    early = stamp();
}

/* He puts it while the owner looks who is about to. */
START_TEST(what_is_put_as_the_owner_looks_is_not_void)
{
    up();
    stamp(); /* a void one */
    first_is_putting(true);
    early = stamp();
    moment = &boxes[0]->shared->putting;
    then = first_puts_it;
    zc_lock_get(&posts->lock);
    take(posts);
    zc_lock_put(&posts->lock);
    ck_assert(!then);
    ck_assert(!zc_board_clear(posts->board));
    ck_assert(all_clear());
    expect('a');
    down();
}
END_TEST

/* A stamp that is taken after they were counted is none of them. */
START_TEST(a_stamp_that_is_taken_later_is_not_void)
{
    up();
    stamp(); /* a void one */
    moment = &boxes[1]->shared->putting;
    then = second_takes_one;
    zc_lock_get(&posts->lock);
    take(posts);
    zc_lock_put(&posts->lock);
    ck_assert(!then);
    ck_assert(!zc_board_clear(posts->board));
    leave(1, early, 'b');
    expect('b');
    ck_assert(zc_board_clear(posts->board));
    down();
}
END_TEST

/* What is being made counts by itself, also when its writer has spoiled it meanwhile. */
START_TEST(what_is_being_made_is_not_void)
{
    up();
    leave(0, stamp(), 'a');
    posts->busy = true;
    posts->box = boxes[0];
    memset(zc_postbox_ring(boxes[0]->shared), 0, sizeof(struct zc_letter));
    zc_lock_get(&posts->lock);
    take(posts);
    zc_lock_put(&posts->lock);
    ck_assert(!zc_board_clear(posts->board));
    posts->busy = false;
    ck_assert(all_clear());
    ck_assert_int_eq(zc_cache_write(file, "b", 1, 0), 1);
    expect('b');
    down();
}
END_TEST

/* ---- who closes a box does not wait for ever ---- */

enum { MANY = 1000 };

static int more;

/* The second one writes whenever it is looked at. */
static void one_more(void)
{
    if (more == MANY)
        return;
    more++;
    leave(1, stamp(), 'm');
    then = one_more;
}

static void write_all_the_time(void)
{
    more = 0;
    moment = &boxes[1]->shared->head;
    then = one_more;
}

START_TEST(closing_takes_what_was_left_until_then)
{
    up();
    leave(0, stamp(), 'a');
    write_all_the_time();
    close_first(false);
    then = NULL;
    ck_assert_int_lt(more, 20);
    expect('m');
    down();
}
END_TEST

START_TEST(the_end_takes_what_was_left_until_then)
{
    up();
    leave(0, stamp(), 'a');
    close_first(true);
    write_all_the_time();
    zc_posts_end(posts, NULL);
    then = NULL;
    ck_assert_int_lt(more, 20);
    expect('m');
    down();
}
END_TEST

/* Its writer has seen that the box is closed, and asks by message. */
START_TEST(what_is_put_into_a_closed_box_is_not_taken)
{
    struct zc_postbox *first;

    up();
    first = mmap(NULL, ZC_POSTBOX_HEAD + ZC_POSTBOX, PROT_READ | PROT_WRITE, MAP_SHARED,
                 boxes[0]->fd, 0);
    ck_assert(first != MAP_FAILED);
    leave(0, stamp(), 'a');
    posts->busy = true;
    zc_posts_close(boxes[0]);
    posts->busy = false;
    leave(0, stamp(), 'b');
    boxes[0] = NULL;
    expect('a');
    ck_assert_uint_eq(first->tail, zc_post_room(1, 0));
    zc_posts_end(posts, NULL); /* it is gone */
    munmap(first, ZC_POSTBOX_HEAD + ZC_POSTBOX);
    down();
}
END_TEST

/* ---- how much memory ---- */

/* The cache is of 256 KiB, and rings take an eighth of that, or what eight of them take. */
START_TEST(rings_take_a_share_of_the_cache)
{
    static const struct zc_posts_files files = {get_file, put_file, NULL};
    struct zc_cache_limits l;
    struct zc_posts_box *more_boxes[20];
    unsigned n = 0;

    up();
    posts->running = true;
    while (n < 20 && zc_posts_open(posts, &files, &more_boxes[n]) == 0)
        n++;
    ck_assert_uint_eq(n, RINGS_AT_LEAST - WRITERS);
    zc_posts_close(boxes[0]);
    ck_assert_int_eq(zc_posts_open(posts, &files, &boxes[0]), 0);
    ck_assert_int_eq(zc_posts_open(posts, &files, &more_boxes[n]), -EOPNOTSUPP);
    zc_cache_limits(cache, &l);
    l.capacity = (RINGS_AT_LEAST + 1) * SHARE * ZC_POSTBOX;
    ck_assert_int_eq(zc_cache_extend(cache, l.capacity), 0);
    zc_cache_limit(cache, &l);
    ck_assert_int_eq(zc_posts_open(posts, &files, &more_boxes[n++]), 0);
    ck_assert_int_eq(zc_posts_open(posts, &files, &more_boxes[n]), -EOPNOTSUPP);
    posts->running = false;
    while (n > 0)
        zc_posts_close(more_boxes[--n]);
    down();
}
END_TEST

/* ---- its thread ---- */

static void let_it_run(void)
{
    posts->running = true;
    ck_assert_int_eq(zc_thread_start(&posts->thread, "zc-posts", run, posts), 0);
    WAIT_FOR(__atomic_load_n(&posts->board->asleep, __ATOMIC_SEQ_CST));
}

static void ring(void)
{
    if (__atomic_exchange_n(&posts->board->asleep, 0, __ATOMIC_SEQ_CST))
        sem_post(&posts->board->bell);
}

static bool is_idle(void)
{
    bool busy;

    zc_lock_get(&posts->lock);
    busy = posts->busy;
    zc_lock_put(&posts->lock);
    return !busy;
}

/* Somebody who has begun a write comes back, while the thread has no lock, and says that it waits
 * for the cache. */
static void comes_back(struct zc_posts_wait *w)
{
    (void)w;
    zc_lock_get(&posts->lock);
    moved(posts, false);
    zc_lock_put(&posts->lock);
}

START_TEST(the_cache_may_call_before_it_is_waited_for)
{
    struct zc_posts_wait w = {.until = 3, .over = comes_back};

    up();
    let_it_run();
    zc_list_init(&w.link);
    zc_lock_get(&posts->lock);
    zc_list_add_tail(&posts->waits, &w.link);
    posts->busy = true;
    posts->stuck = posts->ready = false;
    posts->box = boxes[0];
    posts->making.letter = (struct zc_letter){.stamp = 5, .len = 1};
    while (stamp() < 5)
        ;
    leave(0, 5, 'a');
    posts->making.done = 0;
    posts->making.file = NULL;
    posts->making.status = -EIO;
    zc_lock_put(&posts->lock);
    ready(&posts->making);
    WAIT_FOR(is_idle());
    down();
}
END_TEST

/* Its writer goes on after his box is gone, and rings. */
START_TEST(a_stamp_that_is_taken_after_the_end_is_void)
{
    up();
    let_it_run();
    zc_posts_close(boxes[0]);
    boxes[0] = NULL;
    WAIT_FOR(zc_board_clear(posts->board) &&
             __atomic_load_n(&posts->board->asleep, __ATOMIC_SEQ_CST));
    stamp();
    ring();
    WAIT_FOR(zc_board_clear(posts->board));
    down();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("posts_order");

    CASE(s, "order", 30, what_came_to_a_ring_already_looked_at_is_first,
         a_stamp_that_was_passed_over_is_first_all_the_same,
         what_comes_as_the_thread_falls_asleep_is_seen, closing_takes_what_was_left_until_then,
         the_end_takes_what_was_left_until_then, what_is_put_into_a_closed_box_is_not_taken,
         a_stamp_of_a_writer_that_died_is_void, a_stamp_of_one_who_is_slow_is_not_void,
         what_is_being_made_is_not_void, what_is_put_as_the_owner_looks_is_not_void,
         a_stamp_that_is_taken_later_is_not_void, rings_take_a_share_of_the_cache,
         the_cache_may_call_before_it_is_waited_for, a_stamp_that_is_taken_after_the_end_is_void);
    return run_suite(s);
}
