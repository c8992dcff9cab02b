/* cache_rig.h - a small cache over the faulty store, for tests of what zc_cache.h promises.
 *
 * Store calls are held or failed by the faulty store, and tests wait on counters, never on
 * time.  Four pages of 4 KiB unless a test says otherwise:
 *
 *     setup();            cfg may be changed now
 *     start();            `cache`, with `file` open
 *     ...
 *     stop();
 */
#ifndef CACHE_RIG_H
#define CACHE_RIG_H

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check_main.h"
#include "zc_cache.h"
#include "zc_clock.h"
#include "zc_log.h"
#include "zc_store_fault.h"
#include "zc_store_mem.h"

enum { PAGE = 4096, RW = ZC_OPEN_READ | ZC_OPEN_WRITE, NEW = RW | ZC_OPEN_CREATE };

static struct zc_cache_config cfg;
static struct zc_store *memory, *store; /* `store` fails calls of the other one when it is told */
static struct zc_cache *cache;
static struct zc_handle *file;

static inline void make_cache(void)
{
    ck_assert_int_eq(zc_cache_create(&cfg, store, &cache), 0);
}

static inline struct zc_handle *open_flags(const char *path, unsigned flags)
{
    struct zc_attr attr = {0};
    struct zc_handle *h;
    int rc = zc_cache_open(cache, path, flags, 0644, &h, &attr);

    ck_assert_msg(rc == 0, "open: %s", rc ? zc_error_text(rc) : "");
    ck_assert_uint_eq(attr.size, zc_cache_size(h));
    return h;
}

/* Before start(): four pages, nothing is written back by itself. */
static inline void setup(void)
{
    cfg = (struct zc_cache_config)ZC_CACHE_CONFIG_DEFAULT;
    cfg.page_size = PAGE;
    cfg.capacity = 4 * PAGE;
    cfg.high_watermark = 100;
    cfg.low_watermark = 50;
    cfg.idle_ms = 0;
    cfg.retry_ms = 1;
    cfg.published = true;
    ck_assert_int_eq(zc_store_mem_create(&memory), 0);
    ck_assert_int_eq(zc_store_fault_create(memory, &store), 0);
}

static inline void start(void)
{
    make_cache();
    file = open_flags("/f", NEW);
}

static inline void stop(void)
{
    zc_store_fault_set(store, 0, 0, 0, 0);
    zc_store_fault_release(store);
    if (file)
        zc_cache_close(file);
    file = NULL;
    zc_cache_drain(cache);
    zc_cache_destroy(cache);
    zc_store_destroy(store);
}

static inline struct zc_cache_stats stats(void)
{
    struct zc_cache_stats st;

    zc_cache_stats(cache, &st);
    return st;
}

/* Waits until the statistics fulfil a condition; Check's time-out ends a wait in vain. */
#define WAIT_FOR(cond)                                                                             \
    do {                                                                                           \
        struct zc_cache_stats st = stats();                                                        \
        if (cond)                                                                                  \
            break;                                                                                 \
        zc_clock_sleep(50000);                                                                     \
    } while (1)

static inline void wait_held(unsigned n)
{
    while (zc_store_fault_held(store) != n)
        zc_clock_sleep(50000);
}

static inline void put(uint64_t off, size_t len, int c)
{
    char *buf = malloc(len);

    memset(buf, c, len);
    ck_assert_int_eq(zc_cache_write(file, buf, len, off), (ssize_t)len);
    free(buf);
}

static inline void all_are(const char *buf, size_t len, int c, uint64_t off, const char *where)
{
    for (size_t i = 0; i < len; i++)
        if (buf[i] != (char)c)
            ck_abort_msg("%s: byte %llu is %02x, should be %02x", where,
                         (unsigned long long)(off + i), buf[i] & 0xff, c);
}

/* Bytes [off, off + len) read as `c` through the cache. */
static inline void expect(uint64_t off, size_t len, int c)
{
    char *buf = malloc(len);

    ck_assert_int_eq(zc_cache_read(file, buf, len, off), (ssize_t)len);
    all_are(buf, len, c, off, "cache");
    free(buf);
}

/* The same in the store, behind the cache's back. */
static inline void expect_stored(const char *path, uint64_t off, size_t len, int c)
{
    char *buf = malloc(len);
    struct iovec iov = {buf, len};
    struct zc_attr attr = {0};
    struct zc_sfile *sf;

    ck_assert_int_eq(zc_store_open_file(store, path, ZC_OPEN_READ, 0, &sf, &attr), 0);
    ck_assert_int_eq(zc_store_preadv(sf, &iov, 1, off), (ssize_t)len);
    zc_store_close_file(sf, ZC_LEVEL_VISIBLE);
    all_are(buf, len, c, off, "store");
    free(buf);
}

static inline void store_put(const char *path, uint64_t off, size_t len, int c)
{
    char *buf = malloc(len);
    struct iovec iov = {buf, len};
    struct zc_attr attr = {0};
    struct zc_sfile *sf;

    memset(buf, c, len);
    ck_assert_int_eq(zc_store_open_file(store, path, NEW, 0, &sf, &attr), 0);
    ck_assert_int_eq(zc_store_pwritev(sf, &iov, 1, off), (ssize_t)len);
    zc_store_close_file(sf, ZC_LEVEL_VISIBLE);
    free(buf);
}

static inline uint64_t stored_size(const char *path)
{
    struct zc_attr attr;

    ck_assert_int_eq(zc_store_stat(store, path, &attr), 0);
    return attr.size;
}

static inline void flush_ok(void)
{
    int rc = zc_cache_flush(file, ZC_LEVEL_STORED);

    ck_assert_msg(rc == 0, "flush: %s", rc ? zc_error_text(rc) : "");
}

/* An access that notes when and in which order it became ready. */
struct acc {
    struct zc_access a;
    atomic_int order; /* 0: not ready */
};

static atomic_int ready_count;

static inline void note_ready(struct zc_access *a)
{
    struct acc *x = zc_list_entry(a, struct acc, a);

    atomic_store(&x->order, atomic_fetch_add(&ready_count, 1) + 1);
}

static inline int begin(struct acc *x, enum zc_dir dir, uint64_t off, uint32_t len)
{
    memset(&x->a, 0, sizeof(x->a));
    atomic_store(&x->order, 0);
    x->a.handle = file;
    x->a.dir = dir;
    x->a.off = off;
    x->a.len = len;
    x->a.ready = note_ready;
    return zc_cache_begin(&x->a);
}

static inline bool is_ready(struct acc *x)
{
    return atomic_load(&x->order) != 0;
}

static inline void await(struct acc *x)
{
    while (!is_ready(x))
        zc_clock_sleep(50000);
}

static inline void end_write(struct acc *x, int c)
{
    memset(x->a.data, c, x->a.len);
    zc_cache_end(&x->a, x->a.len);
}

/* A flush that notes how often it was said to be over. */
struct flush_note {
    struct zc_flush f;
    atomic_int calls;
};

static inline void flushed(struct zc_flush *f)
{
    atomic_fetch_add(&zc_list_entry(f, struct flush_note, f)->calls, 1);
}

static inline void start_flush(struct flush_note *n, enum zc_level level)
{
    memset(&n->f, 0, sizeof(n->f));
    atomic_store(&n->calls, 0);
    n->f.handle = file;
    n->f.level = level;
    n->f.done = flushed;
    zc_cache_flush_start(&n->f);
}

static inline void await_flush(struct flush_note *n)
{
    while (atomic_load(&n->calls) == 0)
        zc_clock_sleep(50000);
}

/* Failures are expected in these tests: the log says them when ZCACHE_LOG asks for it. */
static inline void quiet_log(void)
{
    zc_log_init(NULL);
    if (!getenv("ZCACHE_LOG"))
        zc_log_to_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
}

#endif
