/* test_steps.c - steps of files: what readers in another job see of a writer's steps. */
#include "config.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>

#include "rig.h"
#include "zc_clock_sim.h"
#include "splitmix.h"
#include "zc_step_ranges.h"
#include "zc_steps.h"
#include "zc_store_remote.h"

enum {
    PAGE = 4096,
    BLOCK = 8192,
    BLOCKS = 4,
    ALL = BLOCKS * BLOCK,
    WRITER = ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE | ZC_OPEN_STEPS,
    READER = ZC_OPEN_READ | ZC_OPEN_STEP_READER,
    HOUR_MS = 3600000,
};

/* ---- ranges ---- */

START_TEST(ranges_join)
{
    struct zc_step_ranges s = {0};

    zc_step_ranges_add(&s, 10, 20);
    zc_step_ranges_add(&s, 30, 40);
    ck_assert(!zc_step_ranges_touch(&s, 20, 30) && zc_step_ranges_touch(&s, 19, 20));
    ck_assert(zc_step_ranges_touch(&s, 0, 11) && !zc_step_ranges_touch(&s, 0, 10));
    ck_assert(!zc_step_ranges_touch(&s, 15, 15));
    zc_step_ranges_add(&s, 20, 30);
    ck_assert_uint_eq(s.n, 1);
    ck_assert(s.r[0].lo == 10 && s.r[0].hi == 40);
    zc_step_ranges_add(&s, 50, UINT64_MAX);
    ck_assert(zc_step_ranges_touch(&s, 1ull << 60, (1ull << 60) + 1));
    zc_step_ranges_clear(&s);
}
END_TEST

/* With too many ranges, every byte that was added stays in the set. */
START_TEST(ranges_are_few)
{
    struct zc_step_ranges s = {0};
    const uint64_t n = ZC_STEP_RANGES_MOST + 500;

    for (uint64_t i = 0; i < n; i++)
        zc_step_ranges_add(&s, (i * 7919 % n) * 100, (i * 7919 % n) * 100 + 10);
    ck_assert_uint_eq(s.n, ZC_STEP_RANGES_MOST);
    for (uint64_t i = 0; i < n; i++)
        ck_assert(zc_step_ranges_touch(&s, i * 100 + 9, i * 100 + 10));
    zc_step_ranges_clear(&s);
}
END_TEST

/* ---- one daemon's knowledge ---- */

static const struct zc_attr attr = {.dev = 1, .ino = 2, .size = 100};
static int sessions[3];

/* Daemons publish one after the other: one that is ahead still serves the step before, but for what
 * has changed. */
START_TEST(the_step_before)
{
    struct zc_steps s;
    struct zc_steps_user *w, *r;
    uint64_t last;

    zc_steps_init(&s);
    w = zc_steps_join(&s, &attr, ZC_STEPS_WRITER, &sessions[0]);
    r = zc_steps_join(&s, &attr, ZC_STEPS_READER, &sessions[1]);
    ck_assert_int_eq(zc_steps_begin(w, 100, &last), 0);
    ck_assert_uint_eq(last, 0);
    ck_assert_int_eq(zc_steps_there(r, 1, &last), -EAGAIN);
    zc_steps_wrote(w, 0, 100);
    ck_assert_int_eq(zc_steps_publish(w, 1, 100), 0);
    zc_steps_wrote(w, 50, 150);
    ck_assert_int_eq(zc_steps_publish(w, 2, 150), 0);
    ck_assert_int_eq(zc_steps_publish(w, 2, 150), 0); /* repeated */
    ck_assert_int_eq(zc_steps_publish(w, 1, 150), -EINVAL);
    ck_assert_int_eq(zc_steps_read(r, 1), 0);
    ck_assert_int_eq(zc_steps_check(r, 0, 50), 0);
    ck_assert_int_eq(zc_steps_check(r, 49, 51), -EREMCHG);
    ck_assert_uint_eq(zc_steps_size(r, 777), 100);
    ck_assert_int_eq(zc_steps_read(r, 2), 0);
    ck_assert_int_eq(zc_steps_check(r, 0, 150), 0);
    ck_assert_uint_eq(zc_steps_size(r, 777), 150);
    ck_assert_int_eq(zc_steps_publish(w, 3, 150), 0);
    ck_assert_int_eq(zc_steps_read(r, 1), -EREMCHG);
    ck_assert_int_eq(zc_steps_read(r, 4), -EREMCHG);
    ck_assert_int_eq(zc_steps_check(r, 0, 150), 0); /* as of step 2, of which nothing has changed */
    zc_steps_wrote(w, 0, 10);
    ck_assert_int_eq(zc_steps_publish(w, 4, 200), 0);
    ck_assert_int_eq(zc_steps_read(r, 2), 0); /* still, but for what has changed */
    ck_assert_uint_eq(zc_steps_size(r, 777), 150);
    ck_assert_int_eq(zc_steps_check(r, 10, 150), 0);
    ck_assert_int_eq(zc_steps_check(r, 9, 10), -EREMCHG);
    zc_steps_leave(&s, r, true);
    zc_steps_leave(&s, w, true);
    zc_steps_free(&s);
}
END_TEST

/* After a restart the daemon knows no byte to be published. */
START_TEST(a_writer_that_comes_back)
{
    struct zc_steps s;
    struct zc_steps_user *w, *r;
    uint64_t last;

    zc_steps_init(&s);
    r = zc_steps_join(&s, &attr, ZC_STEPS_READER, &sessions[1]);
    w = zc_steps_join(&s, &attr, ZC_STEPS_WRITER, &sessions[0]);
    ck_assert_int_eq(zc_steps_read(r, 7), -EREMCHG);
    ck_assert_int_eq(zc_steps_there(r, 1, &last), -EAGAIN);
    ck_assert_int_eq(zc_steps_check(r, 0, 1), -EREMCHG);
    zc_steps_wrote(w, 10, 20);
    ck_assert_int_eq(zc_steps_publish(w, 8, 100), 0);
    ck_assert_int_eq(zc_steps_there(r, 8, &last), 0);
    ck_assert_int_eq(zc_steps_read(r, 8), 0);
    ck_assert_int_eq(zc_steps_check(r, 0, 100), 0);
    ck_assert_int_eq(zc_steps_publish(w, 9, 100), 0);
    ck_assert_int_eq(zc_steps_read(r, 8), 0);
    zc_steps_leave(&s, w, true);
    ck_assert_int_eq(zc_steps_there(r, 10, &last), -ENODATA);
    ck_assert_ptr_nonnull(strstr(zc_error_text(-ENODATA), "step 9 was the last one"));
    ck_assert_int_eq(zc_steps_there(r, 9, &last), 0);
    zc_steps_leave(&s, r, true);
    zc_steps_free(&s);
}
END_TEST

/* One job publishes at a time; the next one continues the numbers, unless the file was emptied or
 * replaced. */
START_TEST(the_next_writer)
{
    struct zc_steps s;
    struct zc_attr other = attr;
    struct zc_steps_user *w, *v;
    uint64_t last;

    zc_steps_init(&s);
    w = zc_steps_join(&s, &attr, ZC_STEPS_WRITER, &sessions[0]);
    v = zc_steps_join(&s, &attr, ZC_STEPS_WRITER, &sessions[1]);
    ck_assert_int_eq(zc_steps_begin(w, 100, &last), 0);
    ck_assert_int_eq(zc_steps_begin(v, 100, &last), -EBUSY);
    ck_assert_int_eq(zc_steps_publish(w, 5, 100), 0);
    zc_steps_leave(&s, w, true);
    ck_assert_int_eq(zc_steps_begin(v, 100, &last), 0);
    ck_assert_uint_eq(last, 5);
    zc_steps_leave(&s, v, true);
    v = zc_steps_join(&s, &attr, ZC_STEPS_WRITER, &sessions[1]);
    ck_assert_int_eq(zc_steps_begin(v, 0, &last), 0);
    ck_assert_uint_eq(last, 0);
    ck_assert_int_eq(zc_steps_publish(v, 3, 100), 0);
    zc_steps_leave(&s, v, true);
    other.born_ns = 1;
    v = zc_steps_join(&s, &other, ZC_STEPS_WRITER, &sessions[1]);
    ck_assert_int_eq(zc_steps_begin(v, 100, &last), 0);
    ck_assert_uint_eq(last, 3); /* the first one has no birth time */
    zc_steps_leave(&s, v, true);
    other.size = 0;
    v = zc_steps_join(&s, &other, ZC_STEPS_WRITER, &sessions[1]);
    ck_assert_int_eq(zc_steps_begin(v, 0, &last), 0);
    ck_assert_uint_eq(last, 0);
    zc_steps_leave(&s, v, true);
    zc_steps_free(&s);
}
END_TEST

/* A writer whose open fails has not been there: readers go on waiting, and plain readers read. */
START_TEST(an_open_that_fails)
{
    struct zc_steps s;
    struct zc_steps_user *w, *r, *b;
    uint64_t last;

    zc_steps_init(&s);
    r = zc_steps_join(&s, &attr, ZC_STEPS_READER, &sessions[1]);
    b = zc_steps_join(&s, &attr, ZC_STEPS_BYSTANDER, &sessions[2]);
    w = zc_steps_join(&s, &attr, ZC_STEPS_WRITER, &sessions[0]);
    ck_assert(zc_steps_matter(&s, &attr, &sessions[2]));
    ck_assert_int_eq(zc_steps_check(b, 0, 100), 0);
    ck_assert_uint_eq(zc_steps_size(b, 777), 777);
    zc_steps_leave(&s, w, true);
    ck_assert_int_eq(zc_steps_there(r, 1, &last), -EAGAIN);
    w = zc_steps_join(&s, &attr, ZC_STEPS_WRITER, &sessions[0]);
    zc_steps_wrote(w, 0, 10);
    ck_assert_int_eq(zc_steps_check(b, 0, 10), -EREMCHG);
    ck_assert_int_eq(zc_steps_publish(w, 1, 100), 0);
    zc_steps_leave(&s, w, true);
    ck_assert_int_eq(zc_steps_there(r, 2, &last), -ENODATA);
    w = zc_steps_join(&s, &attr, ZC_STEPS_WRITER, &sessions[0]); /* may write step 2 */
    ck_assert_int_eq(zc_steps_there(r, 2, &last), -EAGAIN);
    zc_steps_leave(&s, w, true); /* but did not */
    ck_assert_int_eq(zc_steps_there(r, 2, &last), -ENODATA);
    zc_steps_leave(&s, b, true);
    zc_steps_leave(&s, r, true);
    zc_steps_free(&s);
}
END_TEST

/* How the writer that wrote steps ended is not decided by another one, which has never begun. */
START_TEST(another_open_that_fails)
{
    struct zc_steps s;
    struct zc_steps_user *w, *r, *other;
    uint64_t last;

    for (int closed = 0; closed < 2; closed++) {
        zc_steps_init(&s);
        r = zc_steps_join(&s, &attr, ZC_STEPS_READER, &sessions[1]);
        w = zc_steps_join(&s, &attr, ZC_STEPS_WRITER, &sessions[0]);
        ck_assert_int_eq(zc_steps_begin(w, 100, &last), 0);
        ck_assert_int_eq(zc_steps_publish(w, 1, 100), 0);
        other = zc_steps_join(&s, &attr, ZC_STEPS_WRITER, &sessions[2]);
        ck_assert_int_eq(zc_steps_begin(other, 100, &last), -EBUSY);
        zc_steps_leave(&s, w, closed);
        zc_steps_leave(&s, other, !closed);
        while (zc_steps_there(r, 2, &last) == -EAGAIN) /* for the time to come back */
            ;
        ck_assert_int_eq(zc_steps_there(r, 2, &last), closed ? -ENODATA : -EOWNERDEAD);
        zc_steps_leave(&s, r, true);
        zc_steps_free(&s);
    }
}
END_TEST

/* A daemon that is started again behind a writer knows no byte to be published. */
START_TEST(a_writer_that_had_begun)
{
    struct zc_steps s;
    struct zc_steps_user *w, *b;

    zc_steps_init(&s);
    b = zc_steps_join(&s, &attr, ZC_STEPS_BYSTANDER, &sessions[2]);
    w = zc_steps_join(&s, &attr, ZC_STEPS_WRITER, &sessions[0]);
    ck_assert_int_eq(zc_steps_check(b, 0, 100), 0);
    zc_steps_begun(w);
    ck_assert_int_eq(zc_steps_check(b, 0, 100), -EREMCHG);
    zc_steps_leave(&s, b, true);
    zc_steps_leave(&s, w, true);
    zc_steps_free(&s);
}
END_TEST

/* ---- daemons ---- */

static struct rig rigs[2];
static struct zc_store *shared;

struct job {
    struct zc_store *store;
    struct zc_sfile *file;
};

static void up(void)
{
    ck_assert_int_eq(zc_store_mem_create(&shared), 0);
    for (unsigned i = 0; i < 2; i++) {
        rig_boot_id = 100 + i;
        rig_up(&rigs[i], NULL, borrow(shared));
    }
}

static void down(void)
{
    rig_down(&rigs[0]);
    rig_down(&rigs[1]);
    zc_store_destroy(shared);
}

static void connect_job(struct job *j)
{
    struct zc_net *net = rig_net(10000);
    struct zc_client *clients[2] = {rig_connect(&rigs[0], net), rig_connect(&rigs[1], net)};

    ck_assert_int_eq(zc_store_remote_over(net, clients, 2, &j->store), 0);
}

static void begin_job(struct job *j, unsigned flags)
{
    struct zc_attr a = {.block_size = BLOCK};

    connect_job(j);
    ck_assert_int_eq(zc_store_open_file(j->store, "/f", flags, 0600, &j->file, &a), 0);
}

static void end_job(struct job *j)
{
    if (j->file)
        ck_assert_int_eq(zc_store_close_file(j->file, ZC_LEVEL_STORED), 0);
    zc_store_destroy(j->store);
}

static int step(struct job *j, enum zc_step_call call, uint64_t *number, uint64_t arg)
{
    struct zc_step_request q = {.call = call, .number = *number, .size = arg, .limit_ms = arg};
    int rc = zc_store_step(j->file, &q);

    *number = q.number;
    return rc;
}

static void begin_steps(struct job *w)
{
    uint64_t n = 0;

    begin_job(w, WRITER);
    ck_assert_int_eq(step(w, ZC_STEP_CALL_BEGIN, &n, 0), 0);
    ck_assert_uint_eq(n, 0);
}

static void publish(struct job *w, uint64_t n, uint64_t size)
{
    ck_assert_int_eq(step(w, ZC_STEP_CALL_PUBLISH, &n, size), 0);
}

static void write_at(struct job *w, uint64_t off, size_t len, unsigned gen)
{
    unsigned char buf[ALL];
    struct iovec iov = {buf, len};

    fill(buf, len, off, gen);
    ck_assert_int_eq(zc_store_pwritev(w->file, &iov, 1, off), (ssize_t)len);
}

static void read_step(struct job *r, uint64_t n)
{
    uint64_t last = n;

    ck_assert_int_eq(step(r, ZC_STEP_CALL_WAIT, &last, HOUR_MS), 0);
    ck_assert_uint_eq(last, n);
    ck_assert_int_eq(step(r, ZC_STEP_CALL_READ, &n, 0), 0);
}

static void reads(struct job *r, uint64_t off, size_t len, unsigned gen)
{
    unsigned char buf[ALL];
    struct iovec iov = {buf, len};

    ck_assert_int_eq(zc_store_preadv(r->file, &iov, 1, off), (ssize_t)len);
    expect(buf, len, off, gen);
}

static void is_refused(struct job *r, uint64_t off, size_t len)
{
    unsigned char buf[ALL];
    struct iovec iov = {buf, len};

    ck_assert_int_eq(zc_store_preadv(r->file, &iov, 1, off), -EREMCHG);
}

static uint64_t size_of(struct job *r)
{
    struct zc_attr a;

    ck_assert_int_eq(zc_store_getattr(r->file, &a), 0);
    return a.size;
}

/* Overwritten in place: a reader has the bytes of its step, or an error, at both daemons. */
START_TEST(in_place)
{
    struct job w, r;

    up();
    begin_steps(&w);
    begin_job(&r, READER);
    ck_assert_uint_eq(size_of(&r), 0);
    write_at(&w, 0, ALL, 1);
    is_refused(&r, 0, 1);
    is_refused(&r, 2 * ALL, 1);
    publish(&w, 1, ALL);
    is_refused(&r, 0, 1); /* no step was asked for */
    read_step(&r, 1);
    ck_assert_uint_eq(size_of(&r), ALL);
    reads(&r, 0, ALL, 1);
    write_at(&w, BLOCK + 100, PAGE, 2);
    reads(&r, 0, BLOCK + 100, 1);
    reads(&r, BLOCK + 100 + PAGE, ALL - BLOCK - 100 - PAGE, 1);
    is_refused(&r, BLOCK + 100 + PAGE - 1, 1);
    publish(&w, 2, ALL);
    is_refused(&r, BLOCK, 101);
    ck_assert_ptr_nonnull(strstr(zc_error_text(-EREMCHG), "step 1"));
    ck_assert_ptr_nonnull(strstr(zc_error_text(-EREMCHG), "which is finished"));
    reads(&r, BLOCK, 100, 1);
    read_step(&r, 2);
    reads(&r, BLOCK + 100, PAGE, 2);
    reads(&r, 0, BLOCK, 1);
    end_job(&r);
    end_job(&w);
    down();
}
END_TEST

/* New records: the file ends where its last step ends, and earlier records are read meanwhile. */
START_TEST(appended)
{
    struct job w, r;
    unsigned char buf[ALL];
    struct iovec iov = {buf, ALL};

    up();
    begin_steps(&w);
    write_at(&w, 0, BLOCK, 1);
    publish(&w, 1, BLOCK);
    begin_job(&r, READER);
    read_step(&r, 1);
    write_at(&w, BLOCK, BLOCK + 10, 2);
    ck_assert_uint_eq(size_of(&r), BLOCK);
    ck_assert_int_eq(zc_store_preadv(r.file, &iov, 1, 0), BLOCK);
    expect(buf, BLOCK, 0, 1);
    publish(&w, 2, 2 * BLOCK + 10);
    ck_assert_int_eq(zc_store_preadv(r.file, &iov, 1, 0), BLOCK);
    read_step(&r, 2);
    ck_assert_int_eq(zc_store_preadv(r.file, &iov, 1, 0), 2 * BLOCK + 10);
    expect(buf + BLOCK, BLOCK + 10, BLOCK, 2);
    end_job(&r);
    end_job(&w);
    down();
}
END_TEST

static void pieces(struct job *w, unsigned gen)
{
    const struct zc_range r[] = {{100, 200}, {1000, 1010}};
    unsigned char page[PAGE];

    fill(page, sizeof page, 0, gen);
    ck_assert_int_eq(zc_store_write_ranges(w->file, (char *)page, r, 2, 0, NULL), 110);
}

/* Writes of ranges of a page as a list, and truncation. */
START_TEST(pieces_and_cuts)
{
    struct job w, r;

    up();
    begin_steps(&w);
    write_at(&w, 0, ALL, 1);
    publish(&w, 1, ALL);
    begin_job(&r, READER);
    read_step(&r, 1);
    pieces(&w, 2);
    reads(&r, 0, 100, 1);
    reads(&r, 200, 800, 1);
    is_refused(&r, 199, 1);
    is_refused(&r, 1005, 1);
    reads(&r, 1010, PAGE, 1);
    ck_assert_int_eq(zc_store_truncate(w.file, BLOCK), 0);
    ck_assert_uint_eq(size_of(&r), ALL);
    is_refused(&r, BLOCK, 1);
    is_refused(&r, 2 * BLOCK, 1);
    publish(&w, 2, BLOCK);
    read_step(&r, 2);
    ck_assert_uint_eq(size_of(&r), BLOCK);
    reads(&r, 100, 100, 2);
    end_job(&r);
    end_job(&w);
    down();
}
END_TEST

/* A bystander reads the last step; a refresh takes it to the next one. */
START_TEST(bystanders)
{
    struct job w, before, after;

    up();
    begin_job(&w, ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE);
    write_at(&w, 0, ALL, 1);
    end_job(&w);
    begin_job(&before, ZC_OPEN_READ);
    begin_job(&w, WRITER);
    ck_assert_int_eq(step(&w, ZC_STEP_CALL_BEGIN, &(uint64_t){0}, ALL), 0);
    write_at(&w, 0, PAGE, 2);
    is_refused(&before, 0, PAGE);
    reads(&before, PAGE, ALL - PAGE, 1);
    publish(&w, 1, ALL);
    begin_job(&after, ZC_OPEN_READ);
    reads(&after, 0, PAGE, 2);
    is_refused(&before, 0, PAGE);
    ck_assert_int_eq(zc_store_refresh(before.file), 0);
    reads(&before, 0, PAGE, 2);
    write_at(&w, 0, PAGE, 3);
    reads(&w, 0, PAGE, 3); /* the writer's own bytes */
    end_job(&w);
    is_refused(&after, 0, PAGE);
    ck_assert_int_eq(zc_store_refresh(after.file), 0); /* no job writes steps now */
    reads(&after, 0, PAGE, 3);
    end_job(&after);
    end_job(&before);
    down();
}
END_TEST

/* Jobs that say nothing of steps see what such jobs have written, as ever: an open to append finds
 * the end. */
START_TEST(bystanders_write)
{
    struct job w, b;

    up();
    begin_steps(&w);
    write_at(&w, 0, PAGE, 1);
    publish(&w, 1, PAGE);
    begin_job(&b, ZC_OPEN_READ | ZC_OPEN_WRITE);
    ck_assert_uint_eq(size_of(&b), PAGE);
    write_at(&w, PAGE, PAGE, 2);
    write_at(&b, 2 * BLOCK, PAGE, 7);
    ck_assert_uint_eq(size_of(&b), 2 * BLOCK + PAGE);
    reads(&b, 2 * BLOCK, PAGE, 7);
    is_refused(&b, PAGE, PAGE);
    ck_assert_int_eq(zc_store_refresh(b.file), 0);
    ck_assert_uint_eq(size_of(&b), 2 * BLOCK + PAGE);
    end_job(&b);
    begin_job(&b, ZC_OPEN_READ | ZC_OPEN_WRITE);
    ck_assert_uint_eq(size_of(&b), 2 * BLOCK + PAGE);
    reads(&b, 2 * BLOCK, PAGE, 7);
    ck_assert_int_eq(zc_store_truncate(b.file, BLOCK), 0);
    ck_assert_uint_eq(size_of(&b), BLOCK);
    ck_assert_int_eq(zc_store_truncate(b.file, 10), 0);
    ck_assert_uint_eq(size_of(&b), 10);
    end_job(&b);
    end_job(&w);
    down();
}
END_TEST

/* ---- waiting ---- */

struct waiter {
    struct job *job;
    uint64_t number;
    int rc;
    pthread_t thread;
    char text[400];
};

static void *wait_main(void *arg)
{
    struct waiter *w = arg;

    w->rc = step(w->job, ZC_STEP_CALL_WAIT, &w->number, HOUR_MS);
    snprintf(w->text, sizeof w->text, "%s", w->rc ? zc_error_text(w->rc) : "");
    return NULL;
}

static uint64_t waits(void)
{
    struct zc_net *net = rig_net(10000);
    struct zc_client *c = rig_connect(&rigs[0], net);
    uint64_t v = rig_stat(c, "step_waits");

    zc_client_disconnect(c);
    zc_net_destroy(net);
    return v;
}

static void start_wait(struct waiter *w, struct job *j, uint64_t number)
{
    *w = (struct waiter){.job = j, .number = number};
    ck_assert_int_eq(pthread_create(&w->thread, NULL, wait_main, w), 0);
    while (waits() == 0)
        ;
}

START_TEST(waited_for)
{
    struct waiter wait;
    struct job w, r;
    uint64_t n = 3;

    up();
    begin_steps(&w);
    begin_job(&r, READER);
    ck_assert_int_eq(step(&r, ZC_STEP_CALL_WAIT, &n, 0), -ETIME);
    ck_assert_ptr_nonnull(strstr(zc_error_text(-ETIME), "zcache_wait_limit"));
    start_wait(&wait, &r, 2);
    publish(&w, 1, 0);
    ck_assert_uint_eq(waits(), 1);
    publish(&w, 2, 0);
    pthread_join(wait.thread, NULL);
    ck_assert_int_eq(wait.rc, 0);
    ck_assert_uint_eq(wait.number, 2);
    start_wait(&wait, &r, 3);
    ck_assert_int_eq(zc_store_close_file(w.file, ZC_LEVEL_STORED), 0);
    w.file = NULL;
    pthread_join(wait.thread, NULL);
    ck_assert_int_eq(wait.rc, -ENODATA);
    ck_assert_msg(strstr(wait.text, "step 2 was the last one") != NULL, "%s", wait.text);
    end_job(&w);
    end_job(&r);
    down();
}
END_TEST

/* The session of the writer ends without a CLOSE, in the middle of a step. */
START_TEST(the_writer_dies)
{
    struct zc_net *net;
    struct zc_client *c;
    struct zc_attr a = {.block_size = BLOCK, .set = {0}};
    struct waiter wait;
    struct job w, r;
    uint64_t handle, n = 0;
    unsigned char buf[ALL];

    up();
    begin_job(&w, ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE);
    end_job(&w);
    net = rig_net(10000);
    c = rig_connect(&rigs[0], net);
    ck_assert_int_eq(zc_client_open(c, "/f", WRITER, 0600, &handle, &a), 0);
    ck_assert_int_eq(zc_client_step(c, handle, ZC_STEP_BEGIN, &n, 0, 0), 0);
    fill(buf, BLOCK, 0, 1);
    ck_assert_int_eq(zc_client_write(c, handle, buf, BLOCK, 0), BLOCK);
    n = 1;
    ck_assert_int_eq(zc_client_step(c, handle, ZC_STEP_PUBLISH, &n, BLOCK, 0), 0);
    begin_job(&r, READER);
    start_wait(&wait, &r, 2);
    ck_assert_int_eq(zc_client_write(c, handle, buf, 10, 0), 10);
    zc_client_disconnect(c);
    zc_net_destroy(net);
    pthread_join(wait.thread, NULL);
    ck_assert_int_eq(wait.rc, -EOWNERDEAD);
    ck_assert_msg(strstr(wait.text, "died in step 2; step 1 is the last one that is whole") != NULL,
                  "%s", wait.text);
    n = 1;
    c = rig_connect(&rigs[0], net = rig_net(10000));
    ck_assert_int_eq(zc_client_open(c, "/f", READER, 0, &handle, &a), 0);
    ck_assert_int_eq(zc_client_step(c, handle, ZC_STEP_READ, &n, 0, 0), 0);
    ck_assert_int_eq(zc_client_read(c, handle, buf, 10, 5), -EREMCHG);
    ck_assert_int_eq(zc_client_read(c, handle, buf, BLOCK - 10, 10), BLOCK - 10);
    expect(buf, BLOCK - 10, 10, 1);
    zc_client_disconnect(c);
    zc_net_destroy(net);
    end_job(&r);
    down();
}
END_TEST

/* A reader that dies while it waits leaves nothing behind. */
START_TEST(the_reader_dies)
{
    struct zc_attr a = {.block_size = BLOCK};
    struct zc_later l;
    struct zc_net *net;
    struct zc_client *c;
    uint64_t handle;
    struct job w;

    up();
    begin_steps(&w);
    c = rig_connect(&rigs[0], net = rig_net(10000));
    ck_assert_int_eq(zc_client_open(c, "/f", READER, 0, &handle, &a), 0);
    zc_client_step_start(c, handle, ZC_STEP_WAIT, 1, 0, HOUR_MS, &l);
    while (waits() == 0)
        ;
    zc_client_give_up(c, "it is tired");
    ck_assert_int_lt(zc_client_wait(c, &l), 0);
    zc_client_disconnect(c);
    zc_net_destroy(net);
    publish(&w, 1, 0);
    while (waits())
        zc_clock_sleep(ZC_NS_PER_MS);
    end_job(&w);
    down();
}
END_TEST

/* Readers that wait, and die together: as the wait of one of them ends, its session does, too. */
START_TEST(readers_die_together)
{
    enum { READERS = 4, SILENCE_MS = 400 };
    struct zc_client *c[READERS];
    struct zc_later l[READERS];
    struct zc_net *net;
    uint64_t handle;

    ck_assert_int_eq(zc_store_mem_create(&shared), 0);
    rig_up_silence(&rigs[0], NULL, borrow(shared), SILENCE_MS);
    net = rig_net(10000);
    for (unsigned i = 0; i < READERS; i++) {
        struct zc_attr a = {.block_size = BLOCK};

        c[i] = rig_connect(&rigs[0], net);
        ck_assert_int_eq(zc_client_open(c[i], "/f", READER | ZC_OPEN_CREATE, 0600, &handle, &a), 0);
        zc_client_step_start(c[i], handle, ZC_STEP_WAIT, 1, 0, HOUR_MS, &l[i]);
    }
    while (waits() < READERS)
        zc_clock_sleep(ZC_NS_PER_MS);
    for (unsigned i = 0; i < READERS; i++)
        zc_client_give_up(c[i], "it is tired");
    for (unsigned i = 0; i < READERS; i++)
        ck_assert_int_lt(zc_client_wait(c[i], &l[i]), 0);
    while (waits())
        zc_clock_sleep(ZC_NS_PER_MS);
    for (unsigned i = 0; i < READERS; i++)
        zc_client_disconnect(c[i]);
    zc_net_destroy(net);
    rig_down(&rigs[0]);
    zc_store_destroy(shared);
}
END_TEST

/* ---- both at once ---- */

enum { RACED_STEPS = 60, RACED_READS = 40 };

struct race {
    struct job *writer;
    atomic_uint reads; /* last step that the reader has begun to read */
};

/* Rewrites the whole file in each step, in pieces; begins a step when the reader has begun to read
 * the previous one. */
static void *race_main(void *arg)
{
    struct race *x = arg;
    uint64_t seed = 1;

    for (unsigned n = 1; n <= cases(RACED_STEPS); n++) {
        unsigned first = (unsigned)(splitmix(&seed) % BLOCKS);

        for (unsigned i = 0; i < BLOCKS; i++)
            write_at(x->writer, (uint64_t)(first + i) % BLOCKS * BLOCK, BLOCK, n);
        publish(x->writer, n, ALL);
        while (atomic_load(&x->reads) < n)
            sched_yield();
    }
    return NULL;
}

/* Returns 1 if the read was refused. */
static unsigned raced_read(struct job *r, uint64_t n, uint64_t *seed)
{
    unsigned char buf[ALL];
    uint64_t off = splitmix(seed) % ALL, len = 1 + splitmix(seed) % (ALL - off);
    struct iovec iov = {buf, len};
    ssize_t got = zc_store_preadv(r->file, &iov, 1, off);

    if (got == -EREMCHG)
        return 1;
    ck_assert_int_eq(got, (ssize_t)len);
    expect(buf, len, off, (unsigned)n);
    return 0;
}

/* Every byte read belongs to the reader's step, whatever the writer does meanwhile. */
START_TEST(read_while_it_is_overwritten)
{
    unsigned refused = 0, all = 0;
    struct job w, r;
    struct race x = {.writer = &w};
    uint64_t seed = 2;
    pthread_t thread;

    zc_clock = NULL; /* they are to meet at any moment */
    up();
    begin_steps(&w);
    begin_job(&r, READER);
    ck_assert_int_eq(pthread_create(&thread, NULL, race_main, &x), 0);
    for (uint64_t n = 1; n <= cases(RACED_STEPS); n++) {
        read_step(&r, n);
        reads(&r, 0, ALL, (unsigned)n);
        atomic_store(&x.reads, (unsigned)n);
        for (unsigned i = 0; i < RACED_READS; i++, all++)
            refused += raced_read(&r, n, &seed);
    }
    pthread_join(thread, NULL);
    ck_assert_msg(refused > 0 && refused < all, "%u of %u reads are refused", refused, all);
    end_job(&r);
    end_job(&w);
    down();
}
END_TEST

/* ---- through an aggregator's cache ---- */

static struct zc_cache *cache_over(struct job *j)
{
    struct zc_cache_config cfg = ZC_CACHE_CONFIG_DEFAULT;
    struct zc_cache *c;

    cfg.capacity = 64 * PAGE;
    cfg.page_size = BLOCK;
    cfg.level = ZC_LEVEL_VISIBLE;
    cfg.transient = true;
    ck_assert_int_eq(zc_cache_create(&cfg, j->store, &c), 0);
    return c;
}

/* If a page has bytes of an unpublished step, its other bytes can be read; and a cached page shows
 * its step until the next step is read. */
START_TEST(pages_of_two_steps)
{
    struct zc_attr a = {.block_size = BLOCK};
    unsigned char buf[BLOCK];
    struct zc_handle *h;
    struct zc_cache *c;
    struct job w, r;

    up();
    begin_steps(&w);
    write_at(&w, 0, ALL, 1);
    publish(&w, 1, ALL);
    connect_job(&r);
    c = cache_over(&r);
    ck_assert_int_eq(zc_cache_open(c, "/f", READER, 0, &h, &a), 0);
    ck_assert_int_eq(zc_cache_read_step(h, 2), -EREMCHG);
    ck_assert_int_eq(zc_cache_read_step(h, 1), 0);
    ck_assert_uint_eq(zc_cache_size(h), ALL);
    ck_assert_int_eq(zc_cache_read(h, buf, BLOCK, 0), BLOCK);
    write_at(&w, 1000, 1000, 2);
    write_at(&w, BLOCK + 1000, 1000, 2);
    ck_assert_int_eq(zc_cache_read(h, buf, BLOCK, 0), BLOCK); /* from the cache */
    expect(buf, BLOCK, 0, 1);
    ck_assert_int_eq(zc_cache_read(h, buf, 1000, BLOCK), 1000);
    expect(buf, 1000, BLOCK, 1);
    ck_assert_int_eq(zc_cache_read(h, buf, 10, BLOCK + 1500), -EREMCHG);
    ck_assert_int_eq(zc_cache_read(h, buf, 1000, BLOCK + 2000), 1000);
    expect(buf, 1000, BLOCK + 2000, 1);
    publish(&w, 2, ALL);
    ck_assert_int_eq(zc_cache_read_step(h, 2), 0);
    ck_assert_int_eq(zc_cache_read(h, buf, BLOCK, 0), BLOCK);
    expect(buf, 1000, 0, 1);
    expect(buf + 1000, 1000, 1000, 2);
    ck_assert_int_eq(zc_cache_read(h, buf, 1000, BLOCK + 1000), 1000);
    expect(buf, 1000, BLOCK + 1000, 2);
    ck_assert_int_eq(zc_cache_close(h), 0);
    zc_cache_destroy(c);
    zc_store_destroy(r.store);
    end_job(&w);
    down();
}
END_TEST

/* All opens of a job share the pages of the file. */
START_TEST(the_first_open_decides)
{
    struct zc_attr a = {.block_size = BLOCK};
    struct zc_handle *h, *k;
    struct zc_cache *c;
    struct job w, r;

    up();
    begin_steps(&w);
    connect_job(&r);
    c = cache_over(&r);
    ck_assert_int_eq(zc_cache_open(c, "/f", ZC_OPEN_READ, 0, &h, &a), 0);
    ck_assert_int_eq(zc_cache_open(c, "/f", READER, 0, &k, &a), -EBUSY);
    ck_assert_ptr_nonnull(strstr(zc_error_text(-EBUSY), "zcache_wait_step"));
    ck_assert_int_eq(zc_cache_close(h), 0);
    ck_assert_int_eq(zc_cache_open(c, "/f", READER, 0, &k, &a), 0);
    ck_assert_int_eq(zc_cache_open(c, "/f", ZC_OPEN_READ, 0, &h, &a), 0);
    ck_assert_int_eq(zc_cache_close(k), 0);
    ck_assert_int_eq(zc_cache_close(h), 0);
    zc_cache_destroy(c);
    zc_store_destroy(r.store);
    end_job(&w);
    down();
}
END_TEST

/* An open without write access cannot publish steps, and one with it cannot read them. */
START_TEST(roles)
{
    struct zc_attr a = {.block_size = BLOCK};
    struct job w;

    up();
    begin_steps(&w);
    end_job(&w);
    connect_job(&w);
    w.file = NULL;
    ck_assert_int_eq(
        zc_store_open_file(w.store, "/f", ZC_OPEN_READ | ZC_OPEN_STEPS, 0, &w.file, &a), -EINVAL);
    ck_assert_int_eq(zc_store_open_file(w.store, "/f", READER | ZC_OPEN_WRITE, 0, &w.file, &a),
                     -EINVAL);
    w.file = NULL;
    end_job(&w);
    down();
}
END_TEST

/* A file system without daemons has no steps. */
START_TEST(no_daemon)
{
    struct zc_attr a = {.block_size = BLOCK};
    struct zc_step_request q = {.call = ZC_STEP_CALL_WAIT, .number = 1};
    struct zc_sfile *f;

    ck_assert_int_eq(zc_store_mem_create(&shared), 0);
    ck_assert_int_eq(zc_store_open_file(shared, "/f", WRITER, 0600, &f, &a), 0);
    ck_assert_int_eq(zc_store_step(f, &q), -EOPNOTSUPP);
    ck_assert_int_eq(zc_store_close_file(f, ZC_LEVEL_STORED), 0);
    zc_store_destroy(shared);
}
END_TEST

/* Many readers of one page, parts of which a later step has overwritten: each gets the bytes of its
 * step, or the error, as if it were alone. */
enum { CROWD = 6, CROWD_READS = 40, OLD_LO = 1000, OLD_HI = 2000 };

struct crowd {
    struct zc_handle *handle;
    uint64_t seed;
    unsigned wrong;
    pthread_t thread;
};

static void *crowd_main(void *arg)
{
    struct crowd *w = arg;

    for (int i = 0; i < CROWD_READS; i++) {
        uint64_t off = splitmix(&w->seed) % (BLOCK - 1);
        size_t len = 1 + splitmix(&w->seed) % (i % 2 ? 100 : BLOCK - off);
        unsigned char is[BLOCK], want[BLOCK];
        bool changed;
        ssize_t got;

        len = len > BLOCK - off ? BLOCK - off : len;
        changed = off < OLD_HI && off + len > OLD_LO;
        got = zc_cache_read(w->handle, is, len, off);
        fill(want, len, off, 1);
        if (changed ? got != -EREMCHG : got != (ssize_t)len || memcmp(is, want, len))
            w->wrong++;
    }
    return NULL;
}

START_TEST(a_page_is_read_by_many)
{
    struct zc_attr a = {.block_size = BLOCK};
    struct crowd crowd[CROWD];
    struct zc_handle *h;
    struct zc_cache *c;
    struct job w, r;

    up();
    begin_steps(&w);
    write_at(&w, 0, BLOCK, 1);
    publish(&w, 1, BLOCK);
    connect_job(&r);
    c = cache_over(&r);
    ck_assert_int_eq(zc_cache_open(c, "/f", READER, 0, &h, &a), 0);
    ck_assert_int_eq(zc_cache_read_step(h, 1), 0);
    write_at(&w, OLD_LO, OLD_HI - OLD_LO, 2);
    for (unsigned round = 0; round < 20; round++) {
        ck_assert_int_eq(zc_cache_read_step(h, 1), 0);
        for (unsigned i = 0; i < CROWD; i++) {
            crowd[i] = (struct crowd){.handle = h, .seed = round * CROWD + i};
            ck_assert_int_eq(pthread_create(&crowd[i].thread, NULL, crowd_main, &crowd[i]), 0);
        }
        for (unsigned i = 0; i < CROWD; i++) {
            pthread_join(crowd[i].thread, NULL);
            ck_assert_uint_eq(crowd[i].wrong, 0);
        }
    }
    ck_assert_int_eq(zc_cache_close(h), 0);
    zc_cache_destroy(c);
    zc_store_destroy(r.store);
    end_job(&w);
    down();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("steps of files");

    zc_log_init(NULL);
    CASE(s, "ranges", 30, ranges_join, ranges_are_few);
    CASE(s, "known", 30, the_step_before, a_writer_that_comes_back, the_next_writer,
         an_open_that_fails, another_open_that_fails, a_writer_that_had_begun);
    CASE(s, "daemons", 30, in_place, appended, pieces_and_cuts, roles, bystanders, bystanders_write,
         no_daemon);
    CASE(s, "race", 60, read_while_it_is_overwritten);
    CASE(s, "waits", 30, waited_for, the_writer_dies, the_reader_dies, readers_die_together);
    CASE(s, "cache", 30, pages_of_two_steps, the_first_open_decides, a_page_is_read_by_many);
    zc_clock = zc_clock_sim();
    return run_suite(s);
}
