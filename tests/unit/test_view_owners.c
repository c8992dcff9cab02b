/* test_view_owners.c - the owners of views at a server, and the memory of views, over the loop
 * transport. */
#include "config.h"

#include <errno.h>
#include <stdio.h>

#include "rig.h"
#include "zc_net_internal.h"
#include "zc_view.h"
#include "zc_vspan.h"

enum { PIECES = 30000, STEP = 24 };

static struct rig rig;
static struct zc_net *net;
static struct zc_client *one, *two;
static struct zc_handle *exported;
static uint64_t number;

static void up(size_t limit)
{
    struct zc_cache_config cfg = ZC_CACHE_CONFIG_DEFAULT;
    struct zc_attr attr = {0};

    cfg.capacity = 4 << 20;
    cfg.page_size = 65536;
    rig_views = limit;
    rig_up(&rig, &cfg, NULL);
    net = rig_net(60000);
    one = rig_connect(&rig, net);
    two = rig_connect(&rig, net);
    ck_assert_int_eq(zc_cache_open(rig.cache, "/exported",
                                   ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE, 0600, &exported,
                                   &attr),
                     0);
    number = zc_server_export(rig.server, exported, NULL);
}

static void down(void)
{
    zc_server_unexport(rig.server, number);
    ck_assert_int_eq(zc_cache_close(exported), 0);
    if (two)
        zc_client_disconnect(two);
    zc_client_disconnect(one);
    zc_net_destroy(net);
    rig_down(&rig);
    ck_assert_uint_eq(rig.views.used, 0);
}

static size_t used(void)
{
    return __atomic_load_n(&rig.views.used, __ATOMIC_RELAXED);
}

/* Pieces of 1 to 15 bytes, one in each step, so that nothing repeats.  ck_assert() writes to the
 * parent process each time, which takes a minute for all of them where that is slow. */
static struct zc_view *irregular(unsigned seed, unsigned n)
{
    struct zc_view_builder *b;
    struct zc_view *v;

    ck_assert_int_eq(zc_view_builder_create(&b), 0);
    for (unsigned i = 0; i < n; i++)
        if (zc_view_add(b, (int64_t)i * STEP + rand_r(&seed) % 8, 1 + rand_r(&seed) % 15))
            ck_abort_msg("piece %u is not added", i);
    ck_assert_int_eq(zc_view_finish(b, (int64_t)n * STEP, &v), 0);
    return v;
}

/* ---- messages made by hand ---- */

struct sent {
    struct zc_view *view;
    struct zc_msg m, reply;
    unsigned char *buf;
    struct zc_mr mr;
    struct zc_call *call;
};

/* Makes the message that installs a view, by RMA if it does not fit in. */
static void say(struct zc_client *c, struct zc_view *v, struct sent *s)
{
    struct zc_view_hash h = zc_view_hash(v);

    *s = (struct sent){.view = v,
                       .m = {.type = ZC_T_VIEW_INSTALL,
                             .handle = number,
                             .view_low = h.low,
                             .view_high = h.high,
                             .size = zc_view_encoded(v),
                             .memory = zc_view_decoding(v)}};
    s->buf = malloc(s->m.size);
    ck_assert_int_eq(zc_view_encode(v, s->buf, s->m.size), 0);
    if (s->m.size <= ZC_MAX_INLINE) {
        s->m.data = (struct zc_bytes){s->buf, (uint32_t)s->m.size};
        return;
    }
    ck_assert_int_eq(zc_tp_reg(c->net->tp, s->buf, s->m.size, &s->mr), 0);
    s->m.flags = ZC_F_RMA;
    s->m.raddr = s->mr.raddr;
    s->m.rkey = s->mr.rkey;
}

static void unsay(struct zc_client *c, struct sent *s)
{
    if (s->mr.priv)
        zc_tp_dereg(c->net->tp, &s->mr);
    free(s->buf);
}

/* Installs a view; *id: its number. */
static int install(struct zc_client *c, struct zc_view *v, uint64_t *id)
{
    struct sent s;
    int rc;

    say(c, v, &s);
    rc = zc_call(c, &s.m, &s.reply);
    *id = s.reply.view;
    unsay(c, &s);
    return rc;
}

static int drop(struct zc_client *c, uint64_t id)
{
    struct zc_msg m = {.type = ZC_T_VIEW_DROP, .view = id};

    return zc_call(c, &m, NULL);
}

static int write_a_byte(struct zc_client *c, uint64_t handle, uint64_t id)
{
    struct zc_msg m = {
        .type = ZC_T_VWRITE, .handle = handle, .view = id, .len = 1, .data = {"x", 1}};

    return zc_call(c, &m, NULL);
}

/* ---- owners ---- */

START_TEST(a_view_has_an_owner)
{
    struct zc_view *v = irregular(1, 100);
    uint64_t mine, again;

    up(1 << 20);
    ck_assert_int_eq(install(one, v, &mine), 0);
    ck_assert_int_eq(write_a_byte(one, number, mine), 0);
    ck_assert_int_eq(write_a_byte(two, number, mine), -ENOKEY);
    ck_assert_int_eq(drop(two, mine), -ENOKEY);
    ck_assert_int_eq(write_a_byte(one, number, mine + 1), -ENOKEY);
    ck_assert_int_eq(write_a_byte(one, number, 0), -ENOKEY);
    ck_assert_int_eq(drop(one, mine), 0);
    ck_assert_int_eq(drop(one, mine), -ENOKEY);
    ck_assert_int_eq(write_a_byte(one, number, mine), -ENOKEY);
    ck_assert_int_eq(install(one, v, &again), 0);
    ck_assert_uint_ne(again, mine); /* an old number is invalid */
    ck_assert_int_eq(write_a_byte(one, number, mine), -ENOKEY);
    ck_assert_int_eq(drop(one, again), 0);
    ck_assert_uint_eq(used(), 0);
    zc_view_put(v);
    down();
}
END_TEST

START_TEST(equal_views_are_one)
{
    struct zc_view *v = irregular(1, PIECES), *same = irregular(1, PIECES);
    uint64_t a, b, c;
    size_t bytes;

    up(16 << 20);
    ck_assert_int_eq(install(one, v, &a), 0);
    bytes = used();
    ck_assert_uint_le(bytes, 16 * PIECES + 4096);
    ck_assert_uint_ge(bytes, 8 * PIECES);
    ck_assert_int_eq(install(two, same, &b), 0);
    ck_assert_int_eq(install(two, same, &c), 0);
    ck_assert_uint_eq(used(), bytes);
    ck_assert_uint_eq(rig_stat(one, "views"), 1);
    ck_assert_uint_eq(rig_stat(one, "view_bytes"), bytes);
    ck_assert_int_eq(drop(one, a), 0);
    ck_assert_int_eq(drop(two, c), 0);
    ck_assert_int_eq(write_a_byte(two, number, b), 0);
    ck_assert_uint_eq(used(), bytes);
    ck_assert_int_eq(drop(two, b), 0);
    ck_assert_uint_eq(used(), 0);
    ck_assert_uint_eq(rig_stat(one, "views"), 0);
    zc_view_put(v);
    zc_view_put(same);
    down();
}
END_TEST

/* Views of a session that ends, of a file it closes, and of a withdrawn export are dropped. */
START_TEST(views_go_with_what_they_are_for)
{
    struct zc_view *v = irregular(1, PIECES), *w = irregular(2, PIECES);
    uint64_t h, id, old = 0;

    up(800000);
    ck_assert_int_eq(install(two, v, &id), 0);
    zc_client_disconnect(two);
    two = NULL;
    WAIT_FOR(used() == 0);
    h = rig_open(one, "/own");
    old = number;
    number = h;
    ck_assert_int_eq(install(one, v, &id), 0);
    ck_assert_int_eq(write_a_byte(one, old, id), -ENOKEY);
    ck_assert_int_eq(write_a_byte(one, h, id), 0);
    ck_assert_int_eq(zc_client_close(one, h, ZC_LEVEL_VISIBLE), 0);
    ck_assert_uint_eq(used(), 0);
    number = old;
    ck_assert_int_eq(install(one, v, &id), 0);
    zc_server_unexport(rig.server, number);
    number = zc_server_export(rig.server, exported, NULL);
    ck_assert_int_eq(install(one, w, &id), 0); /* there would be no room beside the other */
    ck_assert_uint_eq(rig_stat(one, "views"), 1);
    zc_view_put(v);
    zc_view_put(w);
    down();
}
END_TEST

/* ---- memory ---- */

struct sender {
    struct zc_client *client;
    unsigned seed;
    int wrong;
};

/* Writes and reads through one view again and again: this soon pays off compared with lists. */
static void *use_a_view(void *arg)
{
    enum { LEN = 100000, ROUNDS = 8 };
    struct sender *w = arg;
    struct zc_view *v = irregular(w->seed, PIECES);
    int64_t disp = (int64_t)w->seed * PIECES * STEP;
    unsigned char *out = malloc(LEN), *in = malloc(LEN);

    for (unsigned i = 0; i < (rig_views ? ROUNDS : 1); i++) { /* lists cost the same each time */
        fill(out, LEN, (uint64_t)disp, i);
        w->wrong += rig_through_view(w->client, number, true, v, disp, out, LEN, 0) != LEN;
        w->wrong += rig_through_view(w->client, number, false, v, disp, in, LEN, 0) != LEN;
        w->wrong += memcmp(in, out, LEN) != 0;
        w->wrong += used() > rig_views;
    }
    free(out);
    free(in);
    zc_view_put(v);
    return NULL;
}

/* Two sessions with a view each, of which only one fits into the memory. */
START_TEST(two_views_of_more_than_half)
{
    struct sender w[2];
    pthread_t t[2];

    up(16 * PIECES * 3 / 2 + 100000);
    for (unsigned i = 0; i < 2; i++) {
        w[i] = (struct sender){i ? two : one, i + 1, 0};
        pthread_create(&t[i], NULL, use_a_view, &w[i]);
    }
    for (unsigned i = 0; i < 2; i++) {
        pthread_join(t[i], NULL);
        ck_assert_int_eq(w[i].wrong, 0);
    }
    ck_assert_uint_eq(rig_stat(one, "views"), 1);
    ck_assert_uint_gt(rig_stat(one, "lists"), 0);
    down();
}
END_TEST

/* Memory used to decode is released, and an installation that waits for it gets it. */
START_TEST(installations_wait_for_each_other)
{
    struct zc_view *v[2] = {irregular(1, PIECES), irregular(2, PIECES)};
    struct sent s[2];

    up(2 * zc_view_memory(v[0]) + zc_view_encoded(v[0]) * 3 / 2);
    for (int i = 0; i < 2; i++) {
        struct zc_client *c = i ? two : one;

        say(c, v[i], &s[i]);
        ck_assert_int_eq(zc_call_start(c, &s[i].m, NULL, 0, &s[i].call), 0);
    }
    for (int i = 0; i < 2; i++) {
        struct zc_client *c = i ? two : one;

        ck_assert_int_eq(zc_call_wait(c, s[i].call, NULL), 0);
        unsay(c, &s[i]);
        zc_view_put(v[i]);
    }
    ck_assert_uint_eq(rig_stat(one, "views"), 2);
    down();
}
END_TEST

START_TEST(too_large_is_told_at_once)
{
    struct zc_view *v = irregular(1, PIECES);
    uint64_t id;

    up(1000);
    ck_assert_int_eq(install(one, v, &id), -ENOSPC);
    ck_assert_uint_eq(used(), 0);
    zc_view_put(v);
    down();
}
END_TEST

/* Transfers `len` bytes from `off` on, of an access to a whole tile. */
static void part(struct zc_view *v, const char *buf, uint64_t off, size_t len,
                 struct zc_view_slice s)
{
    struct zc_vio io = {.write = true,
                        .handle = number,
                        .view = v,
                        .off = off,
                        .buf = (char *)(uintptr_t)buf,
                        .len = len,
                        .left = (uint64_t)zc_view_size(v) - off,
                        .slice = s};

    ck_assert_int_eq(zc_vio_aim(one, &io), 0);
    zc_vio_start(one, &io);
    ck_assert_int_eq(zc_vio_wait(one, &io), (ssize_t)len);
}

/* A list of all pieces of a tile is as long as the view: an access to a tile installs it with its
 * first part, and of two accesses to half a tile each, the second one does. */
START_TEST(what_lists_would_cost)
{
    struct zc_view *v = irregular(1, 4000), *halves = irregular(2, 4000);
    int64_t size = zc_view_size(halves), half = size / 2;
    char *buf = calloc(1, (size_t)zc_view_size(v) + (size_t)size);

    up(16 << 20);
    part(v, buf, 0, (size_t)zc_view_size(v) / 4, (struct zc_view_slice){0});
    ck_assert_uint_eq(rig_stat(one, "views"), 1);
    ck_assert_int_eq(rig_through_view(one, number, true, halves, 0, buf, (size_t)half, 0), half);
    ck_assert_uint_eq(rig_stat(one, "views"), 1);
    ck_assert_int_eq(
        rig_through_view(one, number, true, halves, 0, buf, (size_t)(size - half), half),
        size - half);
    ck_assert_uint_eq(rig_stat(one, "views"), 2);
    zc_client_views_end(one, number);
    ck_assert_uint_eq(used(), 0);
    zc_view_put(v);
    zc_view_put(halves);
    free(buf);
    down();
}
END_TEST

/* So it is at each of several servers, although the first part for one of them may come after parts
 * for the others. */
START_TEST(what_lists_would_cost_at_one_of_several)
{
    struct zc_view *v = irregular(1, 4000);
    char *buf = calloc(1, (size_t)zc_view_size(v));
    int64_t first, len;

    for (uint32_t count = 2; count <= 4; count++) {
        for (uint32_t blocks = count; blocks <= 12; blocks++) {
            struct zc_view_slice s = {.unit = 4000 * STEP / blocks, .count = count};
            int64_t off = 0;

            up(16 << 20);
            for (s.index = 0; s.index < count; s.index++, off += len) {
                ck_assert_int_eq(zc_vspan(v, 0, off, zc_view_size(v) - off, s.unit, &first, &len),
                                 0);
                part(v, buf, (uint64_t)off, (size_t)len, s);
                ck_assert_msg(rig_stat(one, "views") == 1, "server %u of %u, %u blocks", s.index,
                              count, blocks);
                zc_client_views_end(one, number);
            }
            down();
        }
    }
    zc_view_put(v);
    free(buf);
}
END_TEST

/* A program sets a series of views: the server keeps a few small ones and one large one. */
START_TEST(replaced_views_are_dropped)
{
    char buf[64] = "";

    up(16 << 20);
    for (unsigned i = 1; i <= 100; i++) {
        struct zc_view *v = irregular(i, 50);

        ck_assert_int_eq(rig_through_view(one, number, true, v, 0, buf, sizeof buf, 0), sizeof buf);
        zc_view_put(v);
        zc_client_view_replaced(one, number);
    }
    ck_assert_uint_ge(rig_stat(one, "views"), 2);
    ck_assert_uint_le(rig_stat(one, "views"), 40);
    for (unsigned i = 1; i <= 5; i++) {
        struct sender w = {one, i, 0};

        use_a_view(&w);
        ck_assert_int_eq(w.wrong, 0);
        ck_assert_uint_gt(used(), 8 * PIECES);
        ck_assert_uint_lt(used(), 2 * 16 * PIECES);
        zc_client_view_replaced(one, number);
        ck_assert_uint_lt(used(), 100000);
    }
    zc_client_views_end(one, number);
    ck_assert_uint_eq(used(), 0);
    down();
}
END_TEST

/* Small unused views do not keep others out. */
START_TEST(old_views_make_room)
{
    struct zc_view *v = irregular(100, 2000);
    char buf[64] = "";

    up(zc_view_decoding(v) + zc_view_encoded(v) + 2000);
    for (unsigned i = 1; i <= 6; i++) {
        struct zc_view *small = irregular(i, 50);

        ck_assert_int_eq(rig_through_view(one, number, true, small, 0, buf, sizeof buf, 0),
                         sizeof buf);
        zc_view_put(small);
        zc_client_view_replaced(one, number);
    }
    ck_assert_uint_gt(used(), 2000);
    for (unsigned i = 0; i < 4; i++) {
        char all[16000] = "";

        ck_assert_int_eq(rig_through_view(one, number, true, v, 0, all, sizeof all, 0), sizeof all);
    }
    ck_assert_uint_eq(rig_stat(one, "views"), 1);
    zc_view_put(v);
    down();
}
END_TEST

/* ---- lists ---- */

enum { FULL_PAGE = 65536, FULL_PAGES = 8 };

/* A cache with as many dirty pages as there may be, and a store that does not write them. */
static void up_full(void)
{
    struct zc_cache_config cfg = ZC_CACHE_CONFIG_DEFAULT;
    struct zc_attr attr = {0};
    char buf[100] = "";

    cfg.page_size = FULL_PAGE;
    cfg.capacity = FULL_PAGES * FULL_PAGE;
    rig_views = 0;
    rig_up(&rig, &cfg, NULL);
    net = rig_net(60000);
    one = rig_connect(&rig, net);
    two = NULL;
    ck_assert_int_eq(zc_cache_open(rig.cache, "/exported",
                                   ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE, 0600, &exported,
                                   &attr),
                     0);
    number = zc_server_export(rig.server, exported, NULL);
    zc_store_fault_hold(rig.store, ZC_FAULT_WRITE);
    for (int i = 0; i < FULL_PAGES - 1; i++)
        ck_assert_int_eq(zc_cache_write(exported, buf, sizeof buf, (uint64_t)i * FULL_PAGE),
                         sizeof buf);
}

/* Starts a list write to a page. */
static void start_list(struct zc_client *c, struct zc_vio *io, struct zc_view *v, void *buf,
                       int64_t page)
{
    *io = (struct zc_vio){.write = true,
                          .handle = number,
                          .view = v,
                          .disp = page * FULL_PAGE,
                          .buf = buf,
                          .len = (size_t)zc_view_size(v)};
    ck_assert_int_eq(zc_vio_aim(c, io), 0);
    zc_vio_start(c, io);
}

/* Of many list writes that wait for cache space, few hold what a list needs: so one that completes
 * a page is served, however many are ahead of it. */
static void lists_lack_room(unsigned pieces)
{
    enum { CLIENTS = 3, EACH = 8, WAITING = CLIENTS * EACH };
    struct zc_view *v = irregular(1, pieces);
    ssize_t size = (ssize_t)zc_view_size(v);
    struct zc_client *ahead[CLIENTS];
    struct zc_vio io[WAITING];
    char *buf = calloc(1, FULL_PAGE);

    up_full();
    for (int i = 0; i < WAITING; i++) {
        if (i % EACH == 0)
            ahead[i / EACH] = rig_connect(&rig, net);
        start_list(ahead[i / EACH], &io[i], v, buf, FULL_PAGES + i);
    }
    ck_assert_int_eq(rig_through_view(one, number, true, v, 0, buf, (size_t)size, 0), size);
    ck_assert_uint_eq(rig_stat(one, "lists"), 3); /* that one, and an eighth of 16 */
    zc_store_fault_release(rig.store);
    for (int i = 0; i < WAITING; i++)
        ck_assert_int_eq(zc_vio_wait(ahead[i / EACH], &io[i]), size);
    for (int i = 0; i < CLIENTS; i++)
        zc_client_disconnect(ahead[i]);
    zc_view_put(v);
    free(buf);
    down();
}

START_TEST(lists_that_lack_room)
{
    lists_lack_room(100);
    lists_lack_room(2000); /* by RMA */
}
END_TEST

/* A page that a client skips, as there is no room for it, could find none later: the pages after it
 * wait for clients that wait for that page. */
START_TEST(a_list_does_not_pass_its_clients)
{
    enum { WAITING = 3 };
    struct zc_view *v = irregular(1, 100);
    struct zc_vio io[WAITING + 1];
    ssize_t size = (ssize_t)zc_view_size(v);
    char *buf = calloc(1, FULL_PAGE);

    up_full();
    for (int i = 0; i < WAITING; i++)
        start_list(one, &io[i], v, buf, FULL_PAGES + i);
    start_list(one, &io[WAITING], v, buf, 0);
    ck_assert_uint_eq(rig_stat(one, "lists"), 2);
    two = rig_connect(&rig, net);
    ck_assert_int_eq(rig_through_view(two, number, true, v, 0, buf, (size_t)size, 0), size);
    ck_assert_int_eq(rig_through_view(one, number, false, v, 0, buf, (size_t)size, 0), size);
    ck_assert_uint_eq(rig_stat(one, "lists"), 4);
    zc_store_fault_release(rig.store);
    for (int i = 0; i <= WAITING; i++)
        ck_assert_int_eq(zc_vio_wait(one, &io[i]), size);
    zc_view_put(v);
    free(buf);
    down();
}
END_TEST

/* ---- slices ---- */

/* Transfers what tiles of `v` show of a slice at `disp`, block by block, in both directions. */
static void through_slice(struct zc_view *v, int64_t disp, unsigned tiles, struct zc_view_slice s)
{
    static unsigned char out[65536], in[sizeof out];
    int64_t size = zc_view_size(v), first, len;

    for (int64_t x = 0; x < tiles * size; x += len) {
        ck_assert_int_eq(zc_vspan(v, disp, x, size - x % size, s.unit, &first, &len), 0);
        if ((uint64_t)first / s.unit % s.count != s.index)
            continue;
        fill(out, (size_t)len, (uint64_t)x, s.index);
        ck_assert_int_eq(rig_through_slice(one, number, true, v, disp, out, (size_t)len, x, s),
                         len);
        ck_assert_int_eq(rig_through_slice(one, number, false, v, disp, in, (size_t)len, x, s),
                         len);
        ck_assert_mem_eq(in, out, (size_t)len);
        ck_assert_int_eq(zc_cache_vread(exported, v, disp, in, (size_t)len, x), len);
        ck_assert_mem_eq(in, out, (size_t)len);
    }
}

/* A server that owns a quarter of the blocks needs a quarter of the view; for all tiles if they are
 * cut alike, else for the first one, and all of the view from the second tile on. */
START_TEST(a_server_gets_its_slice)
{
    struct zc_view_slice s = {.unit = 6000, .count = 4, .index = 2};
    struct zc_view *alike = irregular(1, PIECES), *others = irregular(2, PIECES + 100);

    up(16 << 20);
    ck_assert(zc_view_slices_alike(alike, &s));
    ck_assert(!zc_view_slices_alike(others, &s));
    through_slice(alike, 77, 2, s);
    ck_assert_uint_eq(rig_stat(one, "views"), 1);
    ck_assert_uint_le(used(), zc_view_memory(alike) / 4 + 20000);
    through_slice(alike, 6077, 2, s); /* another displacement is another slice */
    ck_assert_uint_eq(rig_stat(one, "views"), 2);
    ck_assert_uint_le(used(), zc_view_memory(alike) / 2 + 40000);
    zc_client_view_replaced(one, number);
    ck_assert_uint_eq(used(), 0);
    through_slice(others, 77, 1, s);
    ck_assert_uint_eq(rig_stat(one, "views"), 1);
    ck_assert_uint_le(used(), zc_view_memory(others) / 4 + 20000);
    through_slice(others, 77, 6, s);
    ck_assert_uint_eq(rig_stat(one, "views"), 2);
    ck_assert_uint_ge(used(), zc_view_memory(others) * 5 / 4 - 20000);
    zc_view_put(alike);
    zc_view_put(others);
    down();
}
END_TEST

/* ---- invalid messages ---- */

START_TEST(lies_about_views)
{
    struct zc_view *v = irregular(1, 500), *large = irregular(2, PIECES);
    struct sent s;

    up(16 << 20);
    say(one, v, &s);
    s.m.view_low ^= 1;
    ck_assert_int_eq(zc_call(one, &s.m, NULL), -EPROTO);
    s.m.view_low ^= 1;
    s.m.size++;
    ck_assert_int_eq(zc_call(one, &s.m, NULL), -EPROTO);
    s.m.size = 0;
    ck_assert_int_eq(zc_call(one, &s.m, NULL), -EPROTO);
    s.m.size = INT64_MAX;
    s.m.data.n = 0;
    s.m.flags = ZC_F_RMA;
    ck_assert_int_eq(zc_call(one, &s.m, NULL), -EPROTO);
    s.m.size = UINT32_MAX;
    s.m.memory = INT64_MAX;
    ck_assert_int_eq(zc_call(one, &s.m, NULL), -ENOSPC);
    s.m.memory = UINT64_MAX;
    ck_assert_int_eq(zc_call(one, &s.m, NULL), -EPROTO);
    unsay(one, &s);
    say(one, large, &s);
    s.m.memory = 1000; /* and it would take half a megabyte */
    ck_assert_int_eq(zc_call(one, &s.m, NULL), -EPROTO);
    s.m.memory = zc_view_decoding(large);
    s.m.handle++;
    ck_assert_int_eq(zc_call(one, &s.m, NULL), -EBADF);
    s.m.handle = number;
    s.buf[7] ^= 0x55;
    ck_assert_int_eq(zc_call(one, &s.m, NULL), -EPROTO);
    s.buf[7] ^= 0x55;
    s.m.rkey ^= 1; /* unregistered memory */
    ck_assert_int_lt(zc_call(one, &s.m, NULL), 0);
    s.m.rkey ^= 1;
    ck_assert_uint_eq(used(), 0);
    ck_assert_int_eq(zc_call(one, &s.m, NULL), 0);
    unsay(one, &s);
    zc_view_put(v);
    zc_view_put(large);
    down();
}
END_TEST

/* Two at a time in one session: the second is refused, and the first is not harmed. */
START_TEST(one_installation_a_session)
{
    struct zc_view *v[2] = {irregular(1, PIECES), irregular(2, PIECES)};
    struct sent s[2];
    int rc;

    up(16 << 20);
    for (int i = 0; i < 2; i++) {
        say(one, v[i], &s[i]);
        ck_assert_int_eq(zc_call_start(one, &s[i].m, NULL, 0, &s[i].call), 0);
    }
    ck_assert_int_eq(zc_call_wait(one, s[0].call, NULL), 0);
    rc = zc_call_wait(one, s[1].call, NULL);
    ck_assert(rc == 0 || rc == -EBUSY); /* the first may have been faster */
    ck_assert_uint_eq(rig_stat(one, "views"), rc ? 1 : 2);
    for (int i = 0; i < 2; i++) {
        unsay(one, &s[i]);
        zc_view_put(v[i]);
    }
    down();
}
END_TEST

START_TEST(lies_about_lists)
{
    static const unsigned char overlapping[] = {1, 0, 16, 0, 4, 16, 4}; /* 8 bytes at 0 and at 4 */
    unsigned char list[200], data[64] = "abcdefgh01234567";
    struct zc_view_list l;
    struct zc_msg reply, m = {.type = ZC_T_LIST_WRITE, .handle = number, .data = {data, 16}};
    size_t n;

    up(1 << 20);
    m.handle = number;
    zc_view_list_begin(&l, list, sizeof list);
    ck_assert(zc_view_list_add(&l, 100, 8) && zc_view_list_add(&l, 200, 8));
    n = zc_view_list_end(&l);
    m.disp = (uint64_t)l.first;
    m.len = 16;
    m.list = (struct zc_bytes){list, (uint32_t)n};
    ck_assert_int_eq(zc_call(one, &m, NULL), 0);
    ck_assert_uint_eq(zc_cache_size(exported), 208);
    m.list.n--;
    ck_assert_int_eq(zc_call(one, &m, NULL), -EPROTO);
    m.list.n = 0;
    ck_assert_int_eq(zc_call(one, &m, NULL), -EPROTO);
    m.list.n = (uint32_t)n;
    m.len = m.data.n = 17; /* more than it lists */
    ck_assert_int_eq(zc_call(one, &m, NULL), -EPROTO);
    m.len = 16;
    ck_assert_int_eq(zc_call(one, &m, NULL), -EPROTO);
    m.data.n = 16;
    m.disp = UINT64_MAX;
    ck_assert_int_eq(zc_call(one, &m, NULL), -EINVAL);
    m.disp = INT64_MAX - 50; /* the second piece is too far */
    ck_assert_int_lt(zc_call(one, &m, NULL), 0);
    ck_assert_uint_eq(zc_cache_size(exported), 208);
    m.disp = 0;
    m.list = (struct zc_bytes){overlapping, sizeof overlapping};
    ck_assert_int_eq(zc_call(one, &m, NULL), 0); /* an overlap is the client's responsibility */
    m.type = ZC_T_LIST_READ;
    m.data.n = 0;
    m.len = ZC_MAX_INLINE + 1;
    ck_assert_int_eq(zc_call(one, &m, &reply), -EPROTO);
    down();
}
END_TEST

/* More lists at a time than the server holds: they wait with their data. */
START_TEST(many_lists)
{
    enum { N = 8, THREADS = 4 };
    struct sender w[THREADS];
    struct zc_client *c[THREADS];
    pthread_t t[THREADS];

    up(0);
    for (unsigned i = 0; i < THREADS; i++) {
        c[i] = rig_connect(&rig, net);
        w[i] = (struct sender){c[i], i + 1, 0};
        pthread_create(&t[i], NULL, use_a_view, &w[i]);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(t[i], NULL);
        ck_assert_int_eq(w[i].wrong, 0);
        zc_client_disconnect(c[i]);
    }
    ck_assert_uint_eq(rig_stat(one, "views"), 0);
    down();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("view owners");

    zc_log_init(NULL);
    CASE(s, "owners", 60, a_view_has_an_owner, equal_views_are_one,
         views_go_with_what_they_are_for);
    CASE(s, "memory", 300, two_views_of_more_than_half, installations_wait_for_each_other,
         too_large_is_told_at_once, what_lists_would_cost, what_lists_would_cost_at_one_of_several,
         lists_that_lack_room, a_list_does_not_pass_its_clients, replaced_views_are_dropped,
         old_views_make_room);
    CASE(s, "slices", 60, a_server_gets_its_slice);
    CASE(s, "lies", 300, lies_about_views, one_installation_a_session, lies_about_lists,
         many_lists);
    return run_suite(s);
}
