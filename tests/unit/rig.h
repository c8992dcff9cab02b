/* rig.h - a server in this process: store, cache, loop transport, one thread. */
#ifndef RIG_H
#define RIG_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_main.h"
#include "zc_addrfile.h"
#include "zc_cache.h"
#include "zc_client.h"
#include "zc_json.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_server.h"
#include "zc_ring_apply.h"
#include "zc_shmring.h"
#include "zc_store_fault.h"
#include "zc_store_mem.h"
#include "zc_tp_loop.h"
#include "zc_view.h"
#include "zc_wire.h"

/* Opens endpoints. */
static int (*rig_transport)(const struct zc_tp_config *cfg, struct zc_tp **out) = zc_tp_loop_open;

/* Bytes of memory for views. */
static size_t rig_views = 16 << 20;
/* Boot id of servers started from now on. */
static uint64_t rig_boot_id = 42;
/* Their identity in sets of daemons; 0: the boot id. */
static uint64_t rig_identity;
/* Calls that take longer count as stuck; 0: a default. */
static unsigned rig_stuck_ms;
/* Transfers through views have checksums. */
static bool rig_checked;
/* Secret of servers started from now on and of their clients. */
static struct zc_secret rig_secret = {"what is known to the rig only"};

/* Servers have many users, identified by munge; and the limits of a user. */
static bool rig_munge;
static struct zc_user_limits rig_user;
/* Jobs of clients are tenants. */
static bool rig_shares;
/* Clients' operations are logged, at level info. */
static bool rig_audit;

struct rig {
    struct zc_store *store; /* the faulty one, over memory */
    struct zc_cache *cache;
    struct zc_shmring *shmring; /* or NULL */
    struct zc_server *server;
    struct zc_view_budget views;
    pthread_t thread;
    int status; /* of zc_server_run() */
    char text[ZC_TEXT_MAX];
    unsigned char addr[ZC_MAX_ADDRESS];
    size_t addr_len;
};

/* A store that another owner destroys: destroying this one does nothing. */
struct borrowed {
    struct zc_store store;
    struct zc_store_ops ops;
    struct zc_store *below;
};

static inline int borrowed_open(struct zc_store *s, const char *path, unsigned flags, mode_t mode,
                                struct zc_sfile **out, struct zc_attr *attr)
{
    struct zc_store *below = ((struct borrowed *)s)->below;

    return zc_store_open_file(below, path, flags, mode, out, attr);
}

static inline int borrowed_unlink(struct zc_store *s, const char *path)
{
    struct zc_store *below = ((struct borrowed *)s)->below;

    return zc_store_unlink(below, path);
}

static inline int borrowed_stat(struct zc_store *s, const char *path, struct zc_attr *attr)
{
    struct zc_store *below = ((struct borrowed *)s)->below;

    return zc_store_stat(below, path, attr);
}

static inline void borrowed_destroy(struct zc_store *s)
{
    free(s);
}

static inline struct zc_store *borrow(struct zc_store *below)
{
    struct borrowed *b = calloc(1, sizeof *b);

    b->below = below;
    b->ops = *below->ops;
    b->ops.open = borrowed_open;
    b->ops.unlink = borrowed_unlink;
    b->ops.stat = borrowed_stat;
    b->ops.destroy = borrowed_destroy;
    b->store.ops = &b->ops;
    return &b->store;
}

static inline void *rig_main(void *arg)
{
    struct rig *r = arg;

    r->status = zc_server_run(r->server);
    snprintf(r->text, sizeof r->text, "%s", r->status ? zc_error_text(r->status) : "");
    return NULL;
}

/* zc_server_config.exports, as at an aggregator; set before rig_up(). */
static enum zc_server_exports rig_exports;
/* Processes of this host may read its pages in shared memory. */
static bool rig_shows;
/* Processes of this host write by rings in its memory. */
static bool rig_shmring;
/* zc_server_config.budget; set before rig_up(). */
static size_t rig_budget;

/* Serves `mem`, or a memory store of its own if that is NULL.  Clients are evicted after
 * `silence_ms`; 0: after the time they ask for. */
static inline void rig_up_silence(struct rig *r, const struct zc_cache_config *cfg,
                                  struct zc_store *mem, unsigned silence_ms)
{
    struct zc_cache_config small = ZC_CACHE_CONFIG_DEFAULT;
    struct zc_server_config s = {.boot_id = rig_boot_id,
                                 .identity = rig_identity,
                                 .secret = rig_secret,
                                 .munge = rig_munge,
                                 .user = rig_user,
                                 .tenants = rig_shares,
                                 .audit = rig_audit,
                                 .open_transport = rig_transport,
                                 .silence_ms = silence_ms,
                                 .stuck_ms = rig_stuck_ms,
                                 .exports = rig_exports,
                                 .publishes = rig_shows,
                                 .budget = rig_budget};

    memset(r, 0, sizeof *r);
    small.capacity = 64 * 4096;
    small.page_size = 4096;
    small.idle_ms = 20;
    if (!mem)
        ck_assert_int_eq(zc_store_mem_create(&mem), 0);
    ck_assert_int_eq(zc_store_fault_create(mem, &r->store), 0);
    ck_assert_int_eq(zc_cache_create(cfg ? cfg : &small, r->store, &r->cache), 0);
    s.cache = r->cache;
    if (rig_shmring)
        ck_assert_int_eq(zc_ring_apply_create(r->cache, &r->shmring), 0);
    s.shmring = r->shmring;
    r->views.limit = rig_views;
    s.views = &r->views;
    ck_assert_int_eq(zc_server_create(&s, &r->server), 0);
    zc_secret_forget(&s.secret);
    r->addr_len = sizeof r->addr;
    ck_assert_int_eq(zc_server_address(r->server, r->addr, &r->addr_len), 0);
    ck_assert_int_eq(pthread_create(&r->thread, NULL, rig_main, r), 0);
}

static inline void rig_up(struct rig *r, const struct zc_cache_config *cfg, struct zc_store *mem)
{
    rig_up_silence(r, cfg, mem, 0);
}

/* Writes the address file `path` of this rig, as a daemon of this host with process id `pid`. */
static inline void rig_announce(const struct rig *r, const char *path, const char *provider,
                                long pid)
{
    struct zc_addrfile a = {
        .protocol = ZC_PROTOCOL, .boot_id = rig_boot_id, .secret = rig_secret, .root = "/"};

    zc_addrfile_here(&a);
    a.pid = pid;
    snprintf(a.provider, sizeof a.provider, "%s", provider);
    memcpy(a.address, r->addr, r->addr_len);
    a.address_len = r->addr_len;
    ck_assert_int_eq(zc_addrfile_write(path, &a), 0);
}

/* Stops and drains; returns the result of zc_server_run(). */
static inline int rig_stop(struct rig *r)
{
    zc_server_stop(r->server);
    pthread_join(r->thread, NULL);
    return r->status;
}

static inline void rig_free(struct rig *r)
{
    zc_server_destroy(r->server);
    zc_shmring_destroy(r->shmring);
    zc_cache_destroy(r->cache);
    zc_store_destroy(r->store);
}

static inline void rig_down(struct rig *r)
{
    ck_assert_msg(rig_stop(r) == 0, "drain: %s", r->text);
    rig_free(r);
}

static inline struct zc_net *rig_net(uint64_t timeout_ms)
{
    struct zc_net_config cfg = {.open_transport = rig_transport,
                                .munge = rig_munge,
                                .timeout_ms = timeout_ms,
                                .name = "test"};
    struct zc_net *net;

    ck_assert_int_eq(zc_net_create(&cfg, &net), 0);
    return net;
}

static inline struct zc_client *rig_connect(struct rig *r, struct zc_net *net)
{
    struct zc_client *c;
    int rc = zc_client_connect(net, r->addr, r->addr_len, &rig_secret, "the server", &c);

    ck_assert_msg(rc == 0, "connect: %s", zc_error_text(rc));
    return c;
}

static inline uint64_t rig_open(struct zc_client *c, const char *path)
{
    struct zc_attr attr = {.block_size = 8192};
    uint64_t h;
    int rc =
        zc_client_open(c, path, ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE, 0644, &h, &attr);

    ck_assert_msg(rc == 0, "open: %s", zc_error_text(rc));
    return h;
}

/* Transfers through a view, in as many calls as it takes, until all is moved or the file ends; all
 * of it lies in the slice of the file. */
static inline ssize_t rig_through_slice(struct zc_client *c, uint64_t handle, bool write,
                                        struct zc_view *v, int64_t disp, const void *buf,
                                        size_t len, int64_t off, struct zc_view_slice slice)
{
    size_t done = 0;

    while (done < len) {
        struct zc_vio io = {.write = write,
                            .handle = handle,
                            .view = v,
                            .disp = disp,
                            .buf = (char *)(uintptr_t)buf + done,
                            .len = len - done,
                            .left = len - done,
                            .off = (uint64_t)off + done,
                            .checked = rig_checked,
                            .slice = slice};
        ssize_t n = zc_vio_aim(c, &io);

        if (n == 0) {
            zc_vio_start(c, &io);
            n = zc_vio_wait(c, &io);
        }
        if (n < 0)
            return n;
        done += (size_t)n;
        if ((size_t)n < io.len)
            break;
    }
    return (ssize_t)done;
}

/* A view of `count` pieces of `len` bytes, `stride` apart, the first of them at `first`. */
static inline struct zc_view *rig_vector(int64_t first, int64_t len, int64_t stride, int64_t count,
                                         int64_t extent)
{
    struct zc_view_builder *b;
    struct zc_view *v;

    ck_assert_int_eq(zc_view_builder_create(&b), 0);
    ck_assert_int_eq(zc_view_add_run(b, first, len, stride, count), 0);
    ck_assert_int_eq(zc_view_finish(b, extent, &v), 0);
    return v;
}

static inline ssize_t rig_through_view(struct zc_client *c, uint64_t handle, bool write,
                                       struct zc_view *v, int64_t disp, const void *buf, size_t len,
                                       int64_t off)
{
    return rig_through_slice(c, handle, write, v, disp, buf, len, off, (struct zc_view_slice){0});
}

/* Returns a counter of the server by name. */
static inline uint64_t rig_stat(struct zc_client *c, const char *name)
{
    const char *at;
    char *text;
    uint64_t v;

    ck_assert_int_eq(zc_client_info(c, ZC_INFO_STATS, &text), 0);
    at = zc_json_find(zc_json_find(text, "stats"), name);
    ck_assert_msg(at != NULL, "no counter %s", name);
    v = zc_json_to_number(at);
    free(text);
    return v;
}

/* Sleeps for a moment that grows with the time a condition has been polled, ns. */
static inline void pause_after(uint64_t polled)
{
    uint64_t ns = polled / 16;

    zc_clock_sleep(ns < ZC_NS_PER_MS        ? ZC_NS_PER_MS
                   : ns > 50 * ZC_NS_PER_MS ? 50 * ZC_NS_PER_MS
                                            : ns);
}

/* Polls until `cond` holds, for at most 20 s, or longer on a busy machine. */
#define WAIT_FOR(cond)                                                                             \
    do {                                                                                           \
        uint64_t begun_ = zc_now(), limit_ = 20000 * ZC_NS_PER_MS;                                 \
        while (!(cond)) {                                                                          \
            ck_assert_msg(zc_now() - begun_ < limit_ ||                                            \
                              (double)(zc_now() - begun_) < (double)limit_ * slowness(),           \
                          "waited in vain for " #cond);                                            \
            pause_after(zc_now() - begun_);                                                        \
        }                                                                                          \
    } while (0)

/* A byte that depends on file offset and generation. */
static inline unsigned char stamp(uint64_t off, unsigned gen)
{
    uint64_t x = (off + 1) * 0x9e3779b97f4a7c15ull + gen * 0xc2b2ae3d27d4eb4full;

    return (unsigned char)(x >> 56);
}

static inline void fill(unsigned char *buf, size_t len, uint64_t off, unsigned gen)
{
    for (size_t i = 0; i < len; i++)
        buf[i] = stamp(off + i, gen);
}

static inline void expect(const unsigned char *buf, size_t len, uint64_t off, unsigned gen)
{
    for (size_t i = 0; i < len; i++)
        if (buf[i] != stamp(off + i, gen))
            ck_abort_msg("wrong byte at offset %llu", (unsigned long long)(off + i));
}

#endif
