/* test_events.c - what a process records, while tracing is off and on. */
#include "config.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check_main.h"
#include "zc_events.h"
#include "zc_log.h"
#include "zc_thread.h"

enum { THREADS = 4, EACH = ZC_EVENTS_MAX / 2 };

static char dir[] = "/tmp/zcache-events.XXXXXX";

static void path_of(pid_t pid, char *path, size_t len)
{
    char host[64] = "";

    gethostname(host, sizeof host - 1);
    snprintf(path, len, "%s/%s-%ld.events", dir, host, (long)pid);
}

/* Reads and removes the event file of that process. */
static const struct zc_event_file *events_of(pid_t pid)
{
    char path[256];
    void *at;
    int fd;

    path_of(pid, path, sizeof path);
    fd = open(path, O_RDONLY);
    ck_assert_int_ge(fd, 0);
    at = mmap(NULL, sizeof(struct zc_event_file), PROT_READ, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(at, MAP_FAILED);
    close(fd);
    unlink(path);
    return at;
}

/* Runs fn in a child, as a process starts once, and kills it; returns its events. */
static const struct zc_event_file *killed_after(void (*fn)(void))
{
    pid_t pid = fork();
    int status;

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        zc_events_start(dir, "test", 7);
        fn();
        kill(getpid(), SIGKILL);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status));
    return events_of(pid);
}

START_TEST(nothing_is_recorded_unless_it_is_wanted)
{
    ck_assert_uint_eq(zc_event_begin(), 0);
    zc_event_end(ZC_EVENT_READ, zc_event_begin(), 1);
    zc_event_was(ZC_EVENT_READ, 1, 2, 3);
    zc_event_add(ZC_EVENT_READ, 1, 2, 3);
}
END_TEST

static void record_one(void)
{
    uint64_t began = zc_event_begin();

    zc_event_end(ZC_EVENT_WIRE, began, 42);
}

START_TEST(what_was_recorded_outlives_the_process)
{
    const struct zc_event_file *f = killed_after(record_one);
    const struct zc_event_record *r = &f->events[0];

    ck_assert_int_eq(memcmp(f->magic, ZC_EVENTS_MAGIC, sizeof f->magic), 0);
    ck_assert_uint_eq(f->size, sizeof *f);
    ck_assert_int_eq(f->rank, 7);
    ck_assert_str_eq(f->who, "test");
    ck_assert_uint_eq(f->count, 1);
    ck_assert_uint_eq(r->number, 1);
    ck_assert_uint_eq(r->kind, ZC_EVENT_WIRE);
    ck_assert_uint_eq(r->bytes, 42);
    ck_assert_uint_ge(r->began, f->monotonic);
    ck_assert_uint_ge(r->ended, r->began);
    ck_assert_uint_eq(f->nthreads, 1);
}
END_TEST

static void *record_many(void *arg)
{
    for (uint64_t i = 0; i < EACH; i++)
        zc_event_was(ZC_EVENT_STORE_WRITE, i + 1, i + 2, (uintptr_t)arg);
    return NULL;
}

static void record_in_threads(void)
{
    pthread_t t[THREADS];

    for (uintptr_t i = 0; i < THREADS; i++)
        ck_assert_int_eq(zc_thread_start(&t[i], "zc-test", record_many, (void *)(i + 1)), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
}

START_TEST(the_latest_of_many_are_kept)
{
    const struct zc_event_file *f = killed_after(record_in_threads);
    uint64_t whole = 0;

    ck_assert_uint_eq(f->count, (uint64_t)THREADS * EACH);
    ck_assert_uint_eq(f->nthreads, THREADS);
    for (uint64_t n = f->count - ZC_EVENTS_MAX; n < f->count; n++) {
        const struct zc_event_record *r = &f->events[n % ZC_EVENTS_MAX];

        ck_assert_uint_lt(r->thread, THREADS);
        ck_assert_str_eq(f->threads[r->thread], "zc-test");
        whole += r->number == n + 1;
    }
    ck_assert_uint_ge(whole, ZC_EVENTS_MAX - THREADS); /* see the head of zc_events.c */
}
END_TEST

START_TEST(a_directory_that_is_not_there_is_no_harm)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        zc_log_to_fd(open("/dev/null", O_WRONLY));
        zc_events_start("/nonexistent", "test", -1);
        _exit(zc_event_begin() == 0 ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}
END_TEST

/* Not a test of speed: the figure is for the documents. */
START_TEST(what_it_costs_while_it_is_off)
{
    enum { N = 100 * 1000 * 1000 };
    uint64_t began = zc_now(), took;

    for (int i = 0; i < N; i++) {
        uint64_t b = zc_event_begin();

        __asm__ volatile("" ::: "memory");
        zc_event_end(ZC_EVENT_READ, b, 1);
    }
    took = zc_now() - began;
    printf("a span while tracing is off: %.2f ns\n", (double)took / N);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("events");
    int rc;

    zc_log_init(NULL);
    if (!mkdtemp(dir))
        return 99;
    CASE(s, "events", 30, nothing_is_recorded_unless_it_is_wanted,
         what_was_recorded_outlives_the_process, the_latest_of_many_are_kept,
         a_directory_that_is_not_there_is_no_harm, what_it_costs_while_it_is_off);
    rc = run_suite(s);
    rmdir(dir);
    return rc;
}
