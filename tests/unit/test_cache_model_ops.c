/* test_cache_model_ops.c - the operations of the model test, on the file and on the model. */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/uio.h>

#include "test_cache_model.h"
#include "zc_clock.h"
#include "zc_log.h"
#include "zc_store.h"
#include "zc_store_mem.h"

void model_expected_error(struct world *w, const char *what, long rc)
{
    atomic_fetch_add(&w->errors, 1);
    if (!w->faults)
        FAIL(w, "seed %llu: %s failed: %ld %s", (unsigned long long)w->seed, what, rc,
             zc_error_text((int)rc));
}

/* ---- operations ---- */

/* Draws a random range of the actor's own bytes. */
static void own_range(struct actor *a, uint64_t *off, uint64_t *len)
{
    struct world *w = a->w;
    uint64_t period = (uint64_t)w->grain * w->nthreads;

    if (w->nthreads == 1) {
        *off = below(&a->rng, SPAN);
        *len = 1 + below(&a->rng, below(&a->rng, 4) ? 600 : 3 * PAGE);
    } else {
        uint64_t in = below(&a->rng, w->grain);

        *off = below(&a->rng, SPAN / period) * period + a->id * w->grain + in;
        *len = 1 + below(&a->rng, w->grain - in);
    }
    if (*len > SPAN - *off)
        *len = SPAN - *off;
}

static void model_write(struct world *w, uint64_t off, const unsigned char *buf, uint64_t n)
{
    memcpy(w->data + off, buf, n);
    memset(w->known + off, 1, n);
    if (w->nthreads == 1 && off + n > w->size) {
        /* this makes a hole */
        w->size = off + n;
    }
}

static void fill(struct actor *a, unsigned char *buf, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        buf[i] = (unsigned char)splitmix(&a->rng);
}

static void op_write(struct actor *a)
{
    unsigned char buf[3 * PAGE + 1] = {0};
    uint64_t off, len;
    ssize_t n;

    own_range(a, &off, &len);
    fill(a, buf, len);
    if (!a->w->faults && splitmix(&a->rng) % 3 == 0)
        n = zc_cache_write_direct(a->h, buf, len, off);
    else
        n = zc_cache_write(a->h, buf, len, off);
    if (n < 0 || (uint64_t)n < len)
        model_expected_error(a->w, "write", n);
    if (n > 0)
        model_write(a->w, off, buf, (uint64_t)n);
}

struct latch {
    struct zc_access access;
    pthread_mutex_t lock;
    pthread_cond_t cond;
    bool done;
};

static void latch_ready(struct zc_access *acc)
{
    struct latch *l = zc_list_entry(acc, struct latch, access);

    pthread_mutex_lock(&l->lock);
    l->done = true;
    pthread_cond_signal(&l->cond);
    pthread_mutex_unlock(&l->lock);
}

/* A write that breaks off: the rest of its range is indeterminate. */
static void op_partial(struct actor *a)
{
    struct world *w = a->w;
    unsigned char buf[PAGE] = {0};
    struct latch l = {.access = {.handle = a->h, .dir = ZC_WRITE, .ready = latch_ready},
                      .lock = PTHREAD_MUTEX_INITIALIZER,
                      .cond = PTHREAD_COND_INITIALIZER};
    uint64_t off, len, moved, touched;
    int rc;

    own_range(a, &off, &len);
    if (len > PAGE - off % PAGE)
        len = PAGE - off % PAGE;
    l.access.off = off;
    l.access.len = (uint32_t)len;
    rc = zc_cache_begin(&l.access);
    if (rc == -EINPROGRESS) {
        pthread_mutex_lock(&l.lock);
        while (!l.done)
            pthread_cond_wait(&l.cond, &l.lock);
        pthread_mutex_unlock(&l.lock);
        rc = l.access.status;
    }
    if (rc < 0) {
        model_expected_error(w, "begin", rc);
        return;
    }
    moved = below(&a->rng, len + 1);
    touched = moved + below(&a->rng, len - moved + 1);
    fill(a, buf, touched);
    memcpy(l.access.data, buf, touched);
    if (moved < len)
        memset(w->known + off + moved, 0, len - moved);
    zc_cache_end(&l.access, (uint32_t)moved);
    if (moved > 0)
        model_write(w, off, buf, moved);
}

void model_compare(struct world *w, const unsigned char *got, uint64_t off, uint64_t n,
                   const char *where)
{
    for (uint64_t i = 0; i < n; i++) {
        if (w->known[off + i] && got[i] != w->data[off + i])
            FAIL(w, "seed %llu: %s: byte %llu of %llu is %02x, should be %02x",
                 (unsigned long long)w->seed, where, (unsigned long long)(off + i),
                 (unsigned long long)w->size, got[i], w->data[off + i]);
    }
}

static void read_some(struct actor *a, uint64_t off, uint64_t len)
{
    struct world *w = a->w;
    unsigned char buf[3 * PAGE + 1];
    uint64_t want;
    ssize_t n;

    want = off >= w->size ? 0 : w->size - off < len ? w->size - off : len;
    n = zc_cache_read(a->h, buf, len, off);
    if (atomic_load(&w->lost))
        return;
    if (n < 0 || (uint64_t)n < want) {
        if (w->faults)
            model_expected_error(w, "read", n);
        else
            FAIL(w, "seed %llu: read %zd of %llu bytes at %llu (size %llu): %s",
                 (unsigned long long)w->seed, n, (unsigned long long)len, (unsigned long long)off,
                 (unsigned long long)w->size, n < 0 ? zc_error_text((int)n) : "short");
    }
    if (n > 0 && (uint64_t)n > want)
        FAIL(w, "seed %llu: read %zd bytes at %llu, should be %llu", (unsigned long long)w->seed, n,
             (unsigned long long)off, (unsigned long long)want);
    if (n > 0)
        model_compare(w, buf, off, (uint64_t)n, "read");
}

static void op_read(struct actor *a)
{
    uint64_t off, len;

    own_range(a, &off, &len);
    read_some(a, off, len);
}

/* Reads from a random position to the end, which triggers readahead. */
static void op_scan(struct actor *a)
{
    uint64_t at = below(&a->rng, SPAN), step = 1 + below(&a->rng, 2 * PAGE);

    for (; at < SPAN; at += step)
        read_some(a, at, step < SPAN - at ? step : SPAN - at);
}

static void op_refresh(struct actor *a)
{
    int rc = zc_cache_refresh(a->h);

    if (rc < 0)
        model_expected_error(a->w, "refresh", rc);
}

static void op_flush(struct actor *a)
{
    bool staged = a->w->lossy && below(&a->rng, 2);
    int rc = zc_cache_flush(a->h, staged              ? ZC_LEVEL_STAGED
                                  : below(&a->rng, 2) ? ZC_LEVEL_STORED
                                                      : ZC_LEVEL_DURABLE);

    if (rc < 0)
        model_expected_error(a->w, "flush", rc);
}

static void resize(struct world *w, uint64_t size)
{
    memset(w->data + size, 0, SPAN - size);
    memset(w->known + size, 1, SPAN - size);
    w->size = size;
}

void model_truncate(struct actor *a)
{
    struct world *w = a->w;
    uint64_t size = below(&a->rng, SPAN + 1);
    int rc = zc_cache_truncate(a->h, size);

    if (rc < 0) {
        model_expected_error(w, "truncate", rc);
        return;
    }
    resize(w, size);
}

/* ---- deaths ---- */

/* Bytes that the error of a flush reports as lost are undefined. */
static void take_losses(struct world *w, const char *text)
{
    unsigned long long bytes, lo, hi;
    const char *at = strstr(text, " bytes within ");

    while (at && at > text && at[-1] >= '0' && at[-1] <= '9')
        at--;
    if (!at || sscanf(at, "%llu bytes within %llu-%llu", &bytes, &lo, &hi) != 3 || hi < lo)
        FAIL(w, "seed %llu: a loss without a range: %s", (unsigned long long)w->seed, text);
    if (hi >= SPAN)
        hi = SPAN - 1;
    memset(w->known + lo, 0, hi - lo + 1);
}

/* The store loses its unstable bytes.  A flush reports which are lost, and all others have to be
 * right. */
static void op_die(struct actor *a)
{
    struct world *w = a->w;
    struct zc_cache_stats before, after;
    int rc;

    zc_cache_stats(w->cache, &before);
    zc_store_mem_die(w->mem);
    if (w->nthreads > 1)
        return; /* strict: nothing may be lost */
    rc = zc_cache_flush(a->handles[0], ZC_LEVEL_STORED);
    zc_cache_stats(w->cache, &after);
    if ((after.lost_bytes > before.lost_bytes) != (rc < 0))
        FAIL(w, "seed %llu: %llu bytes are lost, and a flush says %d", (unsigned long long)w->seed,
             (unsigned long long)(after.lost_bytes - before.lost_bytes), rc);
    if (rc == 0)
        return;
    if (w->replay == ZC_REPLAY_STRICT)
        FAIL(w, "seed %llu: strict, and lost: %s", (unsigned long long)w->seed, zc_error_text(rc));
    take_losses(w, zc_error_text(rc));
    zc_cache_discard(a->handles[0], 0, UINT64_MAX);
    rc = zc_cache_truncate(a->handles[0], w->size); /* the last bytes of the file may be lost */
    if (rc < 0)
        FAIL(w, "seed %llu: truncate: %s", (unsigned long long)w->seed, zc_error_text(rc));
}

/* Stores, as daemons do in the background, or dies. */
static void op_store_or_die(struct actor *a)
{
    uint64_t dice = below(&a->rng, 8);

    if (dice < 2)
        op_die(a);
    else
        zc_store_mem_store(a->w->mem,
                           dice < 4 ? UINT64_MAX : below(&a->rng, 1u << below(&a->rng, 8)));
}

/* ---- handles ---- */

/* Assigns handles to three tenants and to none; with every other seed, all to none. */
static void take_share(struct actor *a, unsigned i)
{
    uint64_t id = (a->w->seed / 2 + a->id + i) % 4;
    struct zc_cache_tenant *s;

    if (a->w->seed % 2 == 0 || id == 0)
        return;
    s = zc_cache_tenant_get(a->w->cache, id);
    zc_cache_charge(a->handles[i], s);
    zc_cache_tenant_put(a->w->cache, s);
}

/* Opens handle number `i`. */
static void open_one(struct actor *a, unsigned i, bool reader)
{
    unsigned flags = reader ? ZC_OPEN_READ : ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE;
    struct world *w = a->w;
    struct zc_attr attr;
    int rc;

    if (w->seed % 3 == 0)
        flags |= ZC_OPEN_CHECKSUM;
    do {
        memset(&attr, 0, sizeof(attr));
        rc = zc_cache_open(w->cache, "/file", flags, 0644, &a->handles[i], &attr);
        if (rc < 0)
            model_expected_error(w, "open", rc);
    } while (rc < 0);
    take_share(a, i);
    a->reader[i] = reader;
    if (!atomic_load(&w->lost) && attr.size != w->size)
        FAIL(w, "seed %llu: size %llu at open, should be %llu", (unsigned long long)w->seed,
             (unsigned long long)attr.size, (unsigned long long)w->size);
}

void model_open(struct actor *a)
{
    open_one(a, 0, false);
    a->nhandles = 1;
    a->h = a->handles[0];
}

/* Only the last close of a file may report its bytes as lost, and which of several threads makes it
 * is not known. */
static void close_one(struct actor *a, unsigned i)
{
    struct world *w = a->w;
    int rc = zc_cache_close(a->handles[i]);

    a->handles[i] = a->handles[--a->nhandles];
    a->reader[i] = a->reader[a->nhandles];
    a->h = a->handles[0];
    if (rc < 0)
        model_expected_error(w, "close", rc);
}

void model_close_all(struct actor *a)
{
    if (a->w->lossy) /* the store may lose staged bytes once the file is closed */
        ck_assert_int_eq(zc_cache_flush(a->handles[0], ZC_LEVEL_STORED), 0);
    while (a->nhandles > 0)
        close_one(a, a->nhandles - 1);
}

/* Opens one more handle, or closes one, but not the first. */
static void op_handles(struct actor *a)
{
    if (a->nhandles < HANDLES && below(&a->rng, 2))
        open_one(a, a->nhandles++, below(&a->rng, 2));
    else if (a->nhandles > 1)
        close_one(a, 1 + (unsigned)below(&a->rng, a->nhandles - 1));
}

static void op_reopen(struct actor *a)
{
    model_close_all(a);
    if (below(&a->rng, 2))
        zc_cache_evict(a->w->cache);
    model_open(a);
}

static void forget(struct world *w)
{
    memset(w->data, 0, SPAN);
    memset(w->known, 1, SPAN);
    w->size = 0;
}

static void op_unlink(struct actor *a)
{
    struct world *w = a->w;
    int rc;

    while (a->nhandles > 1)
        close_one(a, 1);
    rc = zc_cache_unlink(w->cache, "/file");
    if (rc < 0) {
        model_expected_error(w, "unlink", rc);
        return;
    }
    for (int i = 0; i < 3; i++) { /* it still exists for the open handles */
        op_write(a);
        op_read(a);
    }
    model_close_all(a);
    atomic_store(&w->lost, false);
    forget(w);
    model_open(a);
}

/* ---- others ---- */

static void others_write(struct actor *a, struct zc_sfile *sf)
{
    unsigned char buf[3 * PAGE + 1];
    struct iovec iov = {buf, 0};
    uint64_t off;

    own_range(a, &off, &iov.iov_len);
    fill(a, buf, iov.iov_len);
    ck_assert_int_eq(zc_store_pwritev(sf, &iov, 1, off), (ssize_t)iov.iov_len);
    model_write(a->w, off, buf, iov.iov_len);
}

/* Another program writes, truncates, and may replace the file. */
static void others_change(struct actor *a, bool replace)
{
    struct world *w = a->w;
    struct zc_attr attr = {0};
    struct zc_sfile *sf;
    uint64_t size;

    if (replace) {
        ck_assert_int_eq(zc_store_unlink(w->mem, "/file"), 0);
        forget(w);
    }
    ck_assert_int_eq(zc_store_open_file(w->mem, "/file",
                                        ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE, 0644, &sf,
                                        &attr),
                     0);
    for (uint64_t n = 1 + below(&a->rng, 3); n > 0; n--) {
        if (below(&a->rng, 3)) {
            others_write(a, sf);
            continue;
        }
        size = below(&a->rng, SPAN + 1);
        ck_assert_int_eq(zc_store_truncate(sf, size), 0);
        resize(w, size);
    }
    ck_assert_int_eq(zc_store_close_file(sf, ZC_LEVEL_VISIBLE), 0);
    if (w->lossy)
        zc_store_mem_store(w->mem, UINT64_MAX);
}

/* Whether all is stored: others must not overwrite bytes whose write-back failed. */
static bool all_stored(struct actor *a)
{
    int rc = zc_cache_flush(a->h, ZC_LEVEL_STORED);

    if (rc < 0)
        model_expected_error(a->w, "flush", rc);
    return rc == 0 && !atomic_load(&a->w->lost);
}

/* A change between two opens of the file. */
static void op_others(struct actor *a)
{
    if (!all_stored(a))
        return;
    model_close_all(a);
    if (!atomic_load(&a->w->lost))
        others_change(a, below(&a->rng, 3) == 0);
    model_open(a);
    op_scan(a);
}

/* A change while it is open, made visible by a refresh. */
static void op_others_refresh(struct actor *a)
{
    int rc;

    if (!all_stored(a))
        return;
    others_change(a, false);
    do {
        rc = zc_cache_refresh(a->h);
        if (rc < 0)
            model_expected_error(a->w, "refresh", rc);
    } while (rc < 0);
    op_scan(a);
}

/* A change after the client has died unnoticed: its handles stay open meanwhile. */
static void op_left_over(struct actor *a)
{
    struct zc_handle *left[HANDLES];
    unsigned n = a->nhandles;
    int rc;

    if (!all_stored(a))
        return;
    memcpy(left, a->handles, sizeof(left));
    others_change(a, below(&a->rng, 3) == 0);
    model_open(a);
    op_scan(a);
    while (n > 0) {
        rc = zc_cache_close(left[--n]);
        if (rc < 0)
            model_expected_error(a->w, "close", rc);
    }
    op_scan(a);
}

/* ---- any ---- */

static void alone(struct actor *a, unsigned dice)
{
    if (dice < 12)
        op_scan(a); /* other threads' bytes are not compared during their writes */
    else if (dice < 48)
        model_truncate(a);
    else if (dice < 60)
        op_unlink(a);
    else if (dice < 75)
        op_others(a);
    else if (dice < 90)
        op_others_refresh(a);
    else if (!a->w->lossy) /* with servers below, the cache relies on its client to exclude other
                              writers */
        op_left_over(a);
}

unsigned model_idle_ms(const struct world *w, uint64_t *rng)
{
    static const unsigned ms[] = {0, 1, 20, 1000};

    return w->pauses ? ms[below(rng, 4)] : (unsigned)below(rng, 3);
}

/* Changes the limits, as a process with several caches does. */
static void op_limit(struct actor *a)
{
    unsigned low = (unsigned)below(&a->rng, 80);
    struct zc_cache_limits l = {.capacity = (2 + below(&a->rng, 24)) * PAGE,
                                .high_watermark = low + 1 + (unsigned)below(&a->rng, 100 - low),
                                .low_watermark = low,
                                .idle_ms = model_idle_ms(a->w, &a->rng)};

    if (zc_cache_extend(a->w->cache, l.capacity) == 0) /* else at its maximum already */
        zc_cache_limit(a->w->cache, &l);
}

/* Time passes: some of what the cache does by itself comes due (write-back of idle pages, retries,
 * questions of age), and some does not. */
static void op_pause(struct actor *a)
{
    static const unsigned ms[] = {1, 10, 30, 200, 3000, 100000};

    zc_clock_sleep((1 + below(&a->rng, ms[below(&a->rng, 6)])) * ZC_NS_PER_MS);
}

static bool writes(struct actor *a)
{
    for (unsigned i = 0; i < a->nhandles; i++)
        if (a->handles[i] == a->h)
            return !a->reader[i];
    return false;
}

void model_act(struct actor *a)
{
    unsigned dice = (unsigned)below(&a->rng, 100);

    a->h = a->handles[below(&a->rng, a->nhandles)];
    if (dice >= 35 && !writes(a))
        a->h = a->handles[0];
    if (a->w->lossy && below(&a->rng, 8) == 0)
        op_store_or_die(a);
    if (a->w->pauses && below(&a->rng, 6) == 0)
        op_pause(a);
    if (dice < 35)
        op_read(a);
    else if (dice < 78)
        op_write(a);
    else if (dice < 84)
        op_partial(a);
    else if (dice < 88)
        op_flush(a);
    else if (dice < 91)
        op_handles(a);
    else if (dice < 93)
        op_reopen(a);
    else if (dice < 94 && below(&a->rng, 2))
        op_limit(a);
    else if (dice < 94)
        zc_cache_evict(a->w->cache);
    else if (dice < 95)
        op_refresh(a);
    else if (a->w->nthreads == 1)
        alone(a, (unsigned)below(&a->rng, 100));
    else
        op_read(a);
}
