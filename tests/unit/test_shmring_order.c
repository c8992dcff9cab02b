/* test_shmring_order.c - the order in which ring entries are taken out, whatever happens during the
 * owner's search: entries arrive at chosen moments of the owner.
 */
#include "config.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check_main.h"
#include "zc_ring.h"
#include "zc_ring_apply.h"
#include "zc_store_mem.h"

/* Waits for a condition; Check's time-out limits it. */
#define WAIT_FOR(cond)                                                                             \
    do {                                                                                           \
        while (!(cond))                                                                            \
            usleep(500);                                                                           \
    } while (0)

/* Called before each read of the shared memory. */
static void before_look(const void *at);

#define __atomic_load_n(at, order) (before_look(at), __atomic_load_n(at, order))
#include "../../common/shm/zc_shmring.c"
#undef __atomic_load_n

enum { WRITERS = 2, PAGE = 4096 };

static struct zc_store *store;
static struct zc_cache *cache;
static struct zc_handle *file;
static struct zc_shmring *shmring;
static struct zc_ring_writer *writers[WRITERS];
static bool is_closed;     /* the file, for entries */
static const void *moment; /* at this address ... */
static void (*then)(void); /* ... this function is called, once */

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
    return is_closed ? NULL : file;
}

static void put_file(void *arg, void *kept)
{
    (void)arg;
    (void)kept;
}

/* Only the test takes entries. */
static void up(void)
{
    static const struct zc_shmring_files files = {get_file, put_file, NULL};
    struct zc_cache_config cfg = ZC_CACHE_CONFIG_DEFAULT;
    struct zc_attr attr = {.block_size = PAGE};

    cfg.capacity = 64 * PAGE;
    cfg.reserve = 32 << 20; /* address space */
    cfg.page_size = PAGE;
    ck_assert_int_eq(zc_store_mem_create(&store), 0);
    ck_assert_int_eq(zc_cache_create(&cfg, store, &cache), 0);
    ck_assert_int_eq(zc_cache_open(cache, "/f", ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE, 0644,
                                   &file, &attr),
                     0);
    ck_assert_int_eq(zc_ring_apply_create(cache, &shmring), 0);
    shmring->running = true;
    for (int i = 0; i < WRITERS; i++)
        ck_assert_int_eq(zc_shmring_open(shmring, &files, &writers[i]), 0);
    shmring->running = false;
}

static void down(void)
{
    for (int i = 0; i < WRITERS; i++)
        if (writers[i])
            zc_shmring_close(writers[i]);
    zc_shmring_destroy(shmring);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_STORED), 0);
    ck_assert_int_eq(zc_cache_close(file), 0);
    zc_cache_destroy(cache);
    zc_store_destroy(store);
}

static uint64_t stamp(void)
{
    return __atomic_fetch_add(&shmring->control->stamps, 1, __ATOMIC_SEQ_CST);
}

/* Writes one byte to the beginning of the file. */
static void leave_in(struct zc_ring_header *b, uint64_t of, char byte)
{
    struct zc_ring_entry post = {.stamp = of, .len = 1};
    unsigned char *at = zc_ring_data(b) + b->head;

    memcpy(at, &post, sizeof post);
    at[sizeof post] = (unsigned char)byte;
    __atomic_store_n(&b->head, b->head + zc_ring_entry_size(1, 0), __ATOMIC_SEQ_CST);
}

static void leave(int who, uint64_t of, char byte)
{
    leave_in(writers[who]->shared, of, byte);
}

static void expect(char byte)
{
    char is = 0;

    zc_lock_get(&shmring->lock);
    take(shmring); /* as the owner's thread does */
    zc_lock_put(&shmring->lock);
    zc_shmring_drain(shmring);
    ck_assert_int_eq(zc_cache_read(file, &is, 1, 0), 1);
    ck_assert_msg(is == byte, "'%c', not '%c'", is, byte);
}

static uint64_t early;

/* The first call returns before the second one begins. */
static void one_after_the_other(void)
{
    leave(0, early, 'a');
    leave(1, stamp(), 'b');
}

/* The first ring was found empty: an entry found in the second one came later. */
START_TEST(an_entry_in_a_ring_already_checked_comes_first)
{
    up();
    early = stamp();
    moment = &writers[1]->shared->head;
    stamp(); /* of a client that has not put its entry yet */
    then = one_after_the_other;
    expect('b');
    down();
}
END_TEST

/* The same after an entry with a later stamp than the first one's was taken. */
START_TEST(a_stamp_that_was_passed_over_is_first_all_the_same)
{
    up();
    early = stamp();
    leave(1, stamp(), 'x');
    expect('x');
    moment = &writers[1]->shared->head;
    then = one_after_the_other;
    expect('b');
    down();
}
END_TEST

/* By a writer that checks whether it has to ring the doorbell. */
static void one_without_doorbell(void)
{
    leave(0, stamp(), 'c');
    if (__atomic_exchange_n(&shmring->control->asleep, 0, __ATOMIC_SEQ_CST))
        zc_futex_set(&shmring->control->doorbell);
}

/* The owner's thread has found nothing, and has not announced yet that it sleeps. */
START_TEST(an_entry_before_the_sleep_is_seen)
{
    uint64_t writes = 0, bytes;

    up();
    moment = &writers[1]->shared->head;
    then = one_without_doorbell;
    ck_assert_int_eq(zc_thread_start(&shmring->thread, "zc-ring", run, shmring), 0);
    shmring->running = true;
    for (int i = 0; writes == 0 && i < 5000; i++) {
        nap();
        zc_shmring_counts(shmring, &writes, &bytes);
    }
    ck_assert_uint_eq(writes, 1);
    down();
}
END_TEST

/* `busy`: as if another thread were applying entries: those in the ring stay. */
static void close_first(bool busy)
{
    shmring->busy = busy;
    zc_shmring_close(writers[0]);
    shmring->busy = false;
    writers[0] = NULL;
}

/* ---- stamps without an entry ---- */

static void first_is_putting(bool is)
{
    __atomic_store_n(&writers[0]->shared->putting, is, __ATOMIC_SEQ_CST);
}

/* As the owner's thread does when it finds nothing. */
static bool all_clear(void)
{
    zc_lock_get(&shmring->lock);
    while (take(shmring))
        ;
    zc_lock_put(&shmring->lock);
    return zc_ring_drained(shmring->control);
}

/* Its writer dies before it has put the entry. */
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
    ck_assert(!zc_ring_drained(shmring->control));
    expect('c');
    ck_assert(all_clear());
    ck_assert_uint_eq(shmring->control->applied, 4);
    ck_assert_uint_eq(shmring->seen, 4);
    down();
}
END_TEST

/* The writer may be slow: its entry is still to come. */
START_TEST(a_stamp_of_a_slow_writer_is_not_void)
{
    up();
    first_is_putting(true);
    early = stamp();
    leave(1, stamp(), 'b');
    ck_assert(!all_clear());
    leave(0, early, 'a');
    first_is_putting(false);
    ck_assert(!zc_ring_drained(shmring->control));
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

/* It puts the entry while the owner checks which writers are about to. */
START_TEST(what_is_put_as_the_owner_looks_is_not_void)
{
    up();
    stamp(); /* a void one */
    first_is_putting(true);
    early = stamp();
    moment = &writers[0]->shared->putting;
    then = first_puts_it;
    zc_lock_get(&shmring->lock);
    take(shmring);
    zc_lock_put(&shmring->lock);
    ck_assert(!then);
    ck_assert(!zc_ring_drained(shmring->control));
    ck_assert(all_clear());
    expect('a');
    down();
}
END_TEST

/* A stamp taken after the check counts as pending. */
START_TEST(a_stamp_that_is_taken_later_is_not_void)
{
    up();
    stamp(); /* a void one */
    moment = &writers[1]->shared->putting;
    then = second_takes_one;
    zc_lock_get(&shmring->lock);
    take(shmring);
    zc_lock_put(&shmring->lock);
    ck_assert(!then);
    ck_assert(!zc_ring_drained(shmring->control));
    leave(1, early, 'b');
    expect('b');
    ck_assert(zc_ring_drained(shmring->control));
    down();
}
END_TEST

/* An entry being applied counts by itself, even if its writer has overwritten it meanwhile. */
START_TEST(what_is_being_made_is_not_void)
{
    up();
    leave(0, stamp(), 'a');
    shmring->busy = true;
    shmring->ring_writer = writers[0];
    memset(zc_ring_data(writers[0]->shared), 0, sizeof(struct zc_ring_entry));
    zc_lock_get(&shmring->lock);
    take(shmring);
    zc_lock_put(&shmring->lock);
    ck_assert(!zc_ring_drained(shmring->control));
    shmring->busy = false;
    ck_assert(all_clear());
    ck_assert_int_eq(zc_cache_write(file, "b", 1, 0), 1);
    expect('b');
    down();
}
END_TEST

/* ---- closing a ring does not wait for ever ---- */

enum { MANY = 1000 };

static int more;

/* The second client writes at each check. */
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
    moment = &writers[1]->shared->head;
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
    zc_shmring_end(shmring, NULL);
    then = NULL;
    ck_assert_int_lt(more, 20);
    expect('m');
    down();
}
END_TEST

/* Its writer has seen that the ring is closed, and writes by message. */
START_TEST(an_entry_in_a_closed_ring_is_not_taken)
{
    struct zc_ring_header *first;

    up();
    first = mmap(NULL, ZC_RING_HEADER + ZC_RING_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
                 writers[0]->fd, 0);
    ck_assert(first != MAP_FAILED);
    leave(0, stamp(), 'a');
    shmring->busy = true;
    zc_shmring_close(writers[0]);
    shmring->busy = false;
    leave(0, stamp(), 'b');
    writers[0] = NULL;
    expect('a');
    ck_assert_uint_eq(first->tail, zc_ring_entry_size(1, 0));
    zc_shmring_end(shmring, NULL); /* it is gone */
    munmap(first, ZC_RING_HEADER + ZC_RING_SIZE);
    down();
}
END_TEST

/* ---- memory ---- */

static void set_capacity(size_t bytes)
{
    struct zc_cache_limits l;

    zc_cache_limits(cache, &l);
    l.capacity = bytes;
    ck_assert_int_eq(zc_cache_extend(cache, l.capacity), 0);
    zc_cache_limit(cache, &l);
}

/* The cache has 256 KiB; rings take an eighth of that, or the size of eight rings. */
START_TEST(rings_take_a_share_of_the_cache)
{
    static const struct zc_shmring_files files = {get_file, put_file, NULL};
    struct zc_ring_writer *more_boxes[20];
    unsigned n = 0;

    up();
    shmring->running = true;
    while (n < 20 && zc_shmring_open(shmring, &files, &more_boxes[n]) == 0)
        n++;
    ck_assert_uint_eq(n, RINGS_AT_LEAST - WRITERS);
    zc_shmring_close(writers[0]);
    ck_assert_int_eq(zc_shmring_open(shmring, &files, &writers[0]), 0);
    ck_assert_int_eq(zc_shmring_open(shmring, &files, &more_boxes[n]), -EOPNOTSUPP);
    set_capacity((RINGS_AT_LEAST + 1) * SHARE * ZC_RING_FIRST);
    ck_assert_int_eq(zc_shmring_open(shmring, &files, &more_boxes[n++]), 0);
    ck_assert_int_eq(zc_shmring_open(shmring, &files, &more_boxes[n]), -EOPNOTSUPP);
    shmring->running = false;
    while (n > 0)
        zc_shmring_close(more_boxes[--n]);
    down();
}
END_TEST

/* A large entry finds the ring full, and the owner then takes another out of it.  Returns where the
 * ring ends, KiB. */
static unsigned grown(struct zc_ring_writer *b)
{
    __atomic_add_fetch(&b->shared->full, 1, __ATOMIC_RELAXED);
    leave_in(b->shared, stamp(), 'a');
    expect('a');
    return b->shared->end >> 10;
}

static unsigned open_rings(struct zc_ring_writer **b, unsigned n)
{
    static const struct zc_shmring_files files = {get_file, put_file, NULL};
    unsigned done = 0;

    while (done < n && zc_shmring_open(shmring, &files, &b[done]) == 0)
        done++;
    return done;
}

/* Of 4 MiB, which are an eighth of the cache, 3 are for those that grow. */
START_TEST(rings_grow_to_equal_parts)
{
    struct zc_ring_writer *added[16];
    unsigned n;

    up();
    shmring->running = true;
    ck_assert_uint_eq(grown(writers[0]), 256); /* the cache is too small */
    set_capacity(32 << 20);
    ck_assert_uint_eq(grown(writers[0]), 768);
    ck_assert_uint_eq(writers[1]->shared->end, ZC_RING_FIRST);
    ck_assert_uint_eq(open_rings(added, 4), 4);
    ck_assert_uint_eq(grown(writers[0]), 768); /* what it has it keeps */
    ck_assert_uint_eq(grown(writers[1]), 512);
    ck_assert_uint_eq(open_rings(added + 4, 8), 7); /* (4096 - 768 - 512 - 4 * 256) / 256 */
    for (n = 0; n < 11; n++)
        zc_shmring_close(added[n]);
    ck_assert_uint_eq(open_rings(added, 3), 3);
    ck_assert_uint_eq(grown(writers[1]), 3072 / 5);
    ck_assert_uint_eq(grown(added[0]), 3072 / 5);
    ck_assert_uint_eq(grown(added[1]), 3072 / 5);
    ck_assert_uint_eq(grown(added[2]), 460); /* what the others leave */
    ck_assert_uint_eq(open_rings(added + 3, 13), 4);
    ck_assert_uint_eq(grown(added[3]), 256); /* they leave nothing */
    for (n = 0; n < 7; n++)
        zc_shmring_close(added[n]);
    ck_assert_uint_eq(open_rings(added, 16), (4096 - 768 - 3072 / 5) / 256);
    for (n = 0; n < 10; n++)
        zc_shmring_close(added[n]);
    set_capacity(64 * PAGE);
    ck_assert_uint_eq(open_rings(added, 16), RINGS_AT_LEAST - WRITERS);
    for (n = 0; n < RINGS_AT_LEAST - WRITERS; n++)
        zc_shmring_close(added[n]);
    shmring->running = false;
    down();
}
END_TEST

/* The writer's ring goes on at `at`. */
static void goes_on(int who, uint32_t at)
{
    writers[who]->tail = writers[who]->shared->tail = writers[who]->shared->head = at;
}

/* A writer that uses more of the memory than it got is not believed. */
START_TEST(an_entry_behind_the_end_is_none)
{
    const uint32_t need = zc_ring_entry_size(1, 0);

    up();
    goes_on(0, ZC_RING_FIRST - need);
    leave(0, stamp(), 'a');
    expect('a');
    goes_on(1, ZC_RING_FIRST - need + ZC_RING_UNIT);
    leave(1, stamp(), 'b');
    expect('a');
    ck_assert(writers[1]->broken);
    ck_assert(!writers[0]->broken);
    down();
}
END_TEST

/* ---- the ring's thread ---- */

static void let_it_run(void)
{
    shmring->running = true;
    ck_assert_int_eq(zc_thread_start(&shmring->thread, "zc-ring", run, shmring), 0);
    WAIT_FOR(__atomic_load_n(&shmring->control->asleep, __ATOMIC_SEQ_CST));
}

static void ring(void)
{
    if (__atomic_exchange_n(&shmring->control->asleep, 0, __ATOMIC_SEQ_CST))
        zc_futex_set(&shmring->control->doorbell);
}

static bool is_idle(void)
{
    bool busy;

    zc_lock_get(&shmring->lock);
    busy = shmring->busy;
    zc_lock_put(&shmring->lock);
    return !busy;
}

/* A client that has begun a write comes back, while the thread has no lock, and waits for the
 * cache. */
static void comes_back(struct zc_shmring_wait *w)
{
    (void)w;
    zc_lock_get(&shmring->lock);
    moved(shmring, false);
    zc_lock_put(&shmring->lock);
}

static bool is_done(struct zc_ring_sink *s)
{
    (void)s;
    return true;
}

START_TEST(the_cache_may_call_before_it_is_waited_for)
{
    const struct zc_ring_sink_ops *real;
    struct zc_ring_sink_ops done_ops;
    struct zc_shmring_wait w = {.until = 3, .over = comes_back};

    up();
    real = shmring->sink->ops;
    done_ops = *real;
    done_ops.resume = is_done;
    let_it_run();
    zc_list_init(&w.link);
    zc_lock_get(&shmring->lock);
    zc_list_add_tail(&shmring->waits, &w.link);
    shmring->busy = true;
    shmring->stuck = shmring->ready = false;
    shmring->ring_writer = writers[0];
    shmring->sink->entry = (struct zc_ring_entry){.stamp = 5, .len = 1};
    while (stamp() < 5)
        ;
    leave(0, 5, 'a');
    shmring->sink->ops = &done_ops;
    shmring->sink->file = NULL;
    zc_lock_put(&shmring->lock);
    ready(shmring->sink);
    WAIT_FOR(is_idle());
    zc_lock_get(&shmring->lock);
    shmring->sink->ops = real;
    zc_lock_put(&shmring->lock);
    down();
}
END_TEST

/* Its writer goes on after the ring is gone, and rings. */
START_TEST(a_stamp_that_is_taken_after_the_end_is_void)
{
    up();
    let_it_run();
    zc_shmring_close(writers[0]);
    writers[0] = NULL;
    WAIT_FOR(zc_ring_drained(shmring->control) &&
             __atomic_load_n(&shmring->control->asleep, __ATOMIC_SEQ_CST));
    stamp();
    ring();
    WAIT_FOR(zc_ring_drained(shmring->control));
    down();
}
END_TEST

/* No file's sync can report it: so the end of the process has to, by what zc_cache_abandon() says.
 */
START_TEST(an_entry_without_its_file_counts_as_lost)
{
    struct zc_cache_stats st;

    up();
    leave(0, stamp(), 'a');
    expect('a');
    is_closed = true;
    leave(0, stamp(), 'b');
    leave(1, stamp(), 'c');
    expect('a');
    is_closed = false;
    zc_cache_stats(cache, &st);
    ck_assert_uint_eq(st.lost_bytes, 2);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_STORED), 0);
    ck_assert_uint_eq(zc_cache_abandon(cache), 2);
    down();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("shmring_order");

    CASE(s, "order", 30, an_entry_in_a_ring_already_checked_comes_first,
         a_stamp_that_was_passed_over_is_first_all_the_same, an_entry_before_the_sleep_is_seen,
         closing_takes_what_was_left_until_then, the_end_takes_what_was_left_until_then,
         an_entry_in_a_closed_ring_is_not_taken, a_stamp_of_a_writer_that_died_is_void,
         a_stamp_of_a_slow_writer_is_not_void, what_is_being_made_is_not_void,
         what_is_put_as_the_owner_looks_is_not_void, a_stamp_that_is_taken_later_is_not_void,
         rings_take_a_share_of_the_cache, rings_grow_to_equal_parts,
         an_entry_behind_the_end_is_none, the_cache_may_call_before_it_is_waited_for,
         a_stamp_that_is_taken_after_the_end_is_void, an_entry_without_its_file_counts_as_lost);
    return run_suite(s);
}
