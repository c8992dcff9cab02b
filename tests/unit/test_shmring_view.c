/* test_shmring_view.c - ring entries with views: they arrive where the view has them, like writes
 * by message; and what happens if the cache has no room, an entry cannot be applied, or its view is
 * invalid.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "rig.h"
#include "splitmix.h"
#include "zc_net_internal.h"
#include "zc_ring.h"
#include "zc_shmring.h"
#include "zc_tp_local.h"
#include "zc_view.h"

enum { PAGE = 4096, SPACE = 400000, CLIENTS = 3 };

static struct rig rig;
static struct zc_net *net[CLIENTS];
static struct zc_client *client[CLIENTS];
static uint64_t handle; /* for all clients */
static unsigned char image[SPACE], got[SPACE];
static uint64_t size, state; /* of the file; of the generator */

static int64_t below(int64_t n)
{
    return (int64_t)(splitmix(&state) % (uint64_t)n);
}

/* `extents`: maximum ranges of a page; 0: the default. */
static void up(unsigned pages, unsigned extents)
{
    struct zc_cache_config cfg = ZC_CACHE_CONFIG_DEFAULT;
    struct zc_attr attr = {.block_size = PAGE};

    rig_transport = zc_tp_local_open;
    rig_shows = rig_shmring = true;
    rig_exports = ZC_EXPORTS_OF_OPENER;
    cfg.capacity = (size_t)pages * PAGE;
    cfg.page_size = PAGE;
    cfg.idle_ms = 1;
    cfg.published = true;
    if (extents)
        cfg.max_extents = extents;
    rig_up(&rig, &cfg, NULL);
    for (int i = 0; i < CLIENTS; i++) {
        net[i] = rig_net(30000);
        client[i] = rig_connect(&rig, net[i]);
        ck_assert_int_eq(zc_client_ring_open(client[i]), 0);
    }
    ck_assert_int_eq(zc_client_open_exported(client[0], "/f",
                                             ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE, 0644, 0,
                                             &handle, &attr),
                     0);
    memset(image, 0, sizeof image);
    size = 0;
}

static void end(void)
{
    for (int i = CLIENTS - 1; i >= 0; i--) {
        zc_client_disconnect(client[i]);
        zc_net_destroy(net[i]);
    }
}

static void down(void)
{
    ck_assert_int_eq(zc_client_close(client[0], handle, ZC_LEVEL_STORED), 0);
    end();
    rig_down(&rig);
}

/* ---- views ---- */

static struct zc_view *irregular(unsigned n)
{
    struct zc_view_builder *b;
    struct zc_view *v;
    int64_t at = 0;

    ck_assert_int_eq(zc_view_builder_create(&b), 0);
    for (unsigned i = 0; i < n; i++) {
        int64_t len = 1 + below(50);

        at += below(70);
        ck_assert_int_eq(zc_view_add(b, at, len), 0);
        at += len;
    }
    ck_assert_int_eq(zc_view_finish(b, at + below(40), &v), 0);
    return v;
}

static struct zc_view *some_view(void)
{
    int64_t len = 1 + below(64), stride = len + below(200);

    switch (below(4)) {
    case 0:
        return irregular(1 + (unsigned)below(900));
    case 1: /* tiles interleave, pieces do not overlap */
        return rig_vector(0, len, len * 7, 2, len * 2);
    default:
        return rig_vector(below(100), len, stride, 1 + below(300), stride * 301 + below(50));
    }
}

/* Computes the image after a write of at most `len` bytes, which are put into `out`; returns how
 * many end inside it. */
static size_t draw(const struct zc_view *v, int64_t disp, size_t len, int64_t off,
                   unsigned char *out)
{
    struct zc_view_iter it;
    int64_t at = 0;

    ck_assert_int_eq(zc_view_start(&it, v, disp, off), 0);
    while (at < (int64_t)len) {
        int64_t to, n;

        ck_assert_int_eq(zc_view_next(&it, (int64_t)len - at, &to, &n), 0);
        if (to + n > SPACE)
            break;
        for (int64_t i = 0; i < n; i++)
            image[to + i] = out[at + i] = (unsigned char)splitmix(&state);
        if ((uint64_t)(to + n) > size)
            size = (uint64_t)(to + n);
        at += n;
    }
    return (size_t)at;
}

static bool leave(int who, const struct zc_view *v, int64_t disp, const void *buf, size_t len,
                  int64_t off)
{
    return zc_client_ring_write(client[who], &(struct zc_ring_write){.handle = handle,
                                                                     .buf = buf,
                                                                     .len = len,
                                                                     .off = (uint64_t)off,
                                                                     .view = v,
                                                                     .disp = disp});
}

static void check(int who)
{
    memset(got, 0x55, sizeof got);
    ck_assert_int_eq(zc_client_read(client[who], handle, got, SPACE, 0), (ssize_t)size);
    ck_assert_mem_eq(got, image, size);
}

/* ---- where they arrive ---- */

static void random_writes(unsigned pages, unsigned extents)
{
    static unsigned char out[ZC_RING_ENTRY_MAX];
    unsigned left = 0, told = 0;

    state = 7 * pages + extents;
    up(pages, extents);
    for (unsigned i = 0; i < cases(600); i++) {
        int who = (int)below(CLIENTS);
        int64_t disp = below(20000), off = below(5000);
        struct zc_view *v = some_view();
        size_t len =
            draw(v, disp, 1 + (size_t)below(i % 3 ? 3000 : ZC_RING_ENTRY_MAX - 1), off, out);

        if (leave(who, v, disp, out, len, off)) {
            left++;
        } else if (len) {
            ck_assert_int_eq(rig_through_view(client[who], handle, true, v, disp, out, len, off),
                             (ssize_t)len);
            told++;
        }
        zc_view_put(v);
        if (i % 20 == 0)
            check((int)below(CLIENTS));
    }
    check(0);
    ck_assert_uint_gt(left, cases(600) / 4);
    ck_assert_uint_gt(told, 0);
    down();
}

START_TEST(views_against_a_model)
{
    random_writes(200, 0);
}
END_TEST

/* Each write waits for room in its middle. */
START_TEST(views_in_two_pages)
{
    random_writes(2, 0);
}
END_TEST

START_TEST(views_of_pages_with_few_ranges)
{
    random_writes(3, 20);
}
END_TEST

static int pack_those(void *arg, void *to)
{
    memcpy(to, arg, 1000);
    return 0;
}

static int pack_none(void *arg, void *to)
{
    memset(to, 0x66, 10);
    ++*(int *)arg;
    return -EFAULT;
}

/* Packed directly into the ring; if that fails, nothing has happened. */
START_TEST(bytes_are_packed_there)
{
    unsigned char bytes[1000];
    struct zc_view *v = rig_vector(0, 10, 30, 50, 1500);
    struct zc_ring_write post = {.handle = handle, .len = 1000, .view = v, .pack = pack_those};
    int asked = 0;

    state = 1;
    up(64, 0);
    post.handle = handle;
    ck_assert_uint_eq(draw(v, 0, 1000, 0, bytes), 1000);
    post.arg = bytes;
    ck_assert(zc_client_ring_write(client[1], &post));
    check(2);
    post.pack = pack_none;
    post.arg = &asked;
    ck_assert(!zc_client_ring_write(client[1], &post));
    ck_assert_int_eq(asked, 1);
    check(0);
    ck_assert(zc_ring_drained(client[1]->control));
    zc_view_put(v);
    down();
}
END_TEST

START_TEST(a_large_view_is_not_left)
{
    unsigned char bytes[1000];
    struct zc_view *v;

    state = 2;
    up(64, 0);
    v = irregular(2000);
    ck_assert_uint_gt(zc_view_encoded(v), ZC_RING_VIEW_MAX);
    ck_assert(!leave(1, v, 0, bytes, sizeof bytes, 0));
    ck_assert_uint_eq(client[1]->head, 0);
    zc_view_put(v);
    down();
}
END_TEST

/* A list of pieces has no encoding as a view. */
START_TEST(a_list_is_not_left)
{
    unsigned char bytes[10] = "", buf[200];
    struct zc_view_list l;
    struct zc_view *v;

    up(64, 0);
    zc_view_list_begin(&l, buf, sizeof buf);
    ck_assert(zc_view_list_add(&l, 100, 10));
    ck_assert_int_eq(zc_view_decode_list(buf, zc_view_list_end(&l), &v), 0);
    ck_assert(!leave(1, v, 100, bytes, sizeof bytes, 0));
    zc_view_put(v);
    down();
}
END_TEST

/* An owner older than these entries. */
START_TEST(an_owner_has_to_take_views)
{
    unsigned char bytes[100] = "";
    struct zc_view *v = rig_vector(0, 10, 30, 50, 1500);

    up(64, 0);
    ck_assert_uint_eq(client[1]->ring->views, 1);
    client[1]->ring->views = 0;
    ck_assert(!leave(1, v, 0, bytes, sizeof bytes, 0));
    ck_assert(zc_client_ring_write(
        client[1], &(struct zc_ring_write){.handle = handle, .buf = bytes, .len = 10}));
    size = 10;
    check(2);
    zc_view_put(v);
    down();
}
END_TEST

/* ---- what does not arrive ---- */

/* Every flush reports it, with the range. */
static void lost(const char *what, int err)
{
    int rc;

    for (int i = 0; i < 2 * CLIENTS; i++) {
        rc = zc_client_flush(client[i % CLIENTS], handle, ZC_LEVEL_STORED);
        ck_assert_int_eq(rc, err);
        ck_assert_msg(strstr(zc_error_text(rc), what), "%s", zc_error_text(rc));
    }
    ck_assert_int_eq(zc_client_close(client[0], handle, ZC_LEVEL_STORED), err);
    end();
    rig_stop(&rig);
    rig_free(&rig);
}

static void lose_35_bytes(struct zc_view *v, const char *what)
{
    struct zc_attr attr = {.block_size = PAGE};
    unsigned char bytes[100] = "";
    uint64_t own = 0;

    up(8, 0);
    ck_assert_int_eq(zc_client_open_exported(client[0], "/f", ZC_OPEN_READ, 0, 0, &own, &attr), 0);
    ck_assert(
        zc_client_ring_write(client[1], &(struct zc_ring_write){.handle = own, /* for reading */
                                                                .buf = bytes,
                                                                .len = 35,
                                                                .off = 5,
                                                                .view = v,
                                                                .disp = 1000}));
    zc_view_put(v);
    lost(what, -EBADF);
}

START_TEST(what_cannot_be_made_is_lost_and_told)
{
    lose_35_bytes(rig_vector(0, 10, 30, 50, 1500), "35 bytes within 1005-1099");
}
END_TEST

/* Lost bytes are not between the first and the last piece. */
START_TEST(what_is_lost_may_lie_anywhere)
{
    lose_35_bytes(rig_vector(0, 10, 1000, 3, 20), "35 bytes within 1000-9223372036854775806");
}
END_TEST

/* Entries as no correct writer puts them: each is followed by `fill`, but for the displacement. */
static const struct {
    struct zc_ring_entry entry;
    int64_t disp;
    unsigned char fill;
} nonsense[] = {
    {{.len = 10, .view = 20}, 0, 0xff},
    {{.len = 10, .view = 20}, 0, 0},
    {{.len = 10, .view = 1}, 77, 0x80},
    {{.len = 10, .view = ZC_RING_VIEW_MAX}, 0, 1},
    {{.len = 10, .view = ZC_RING_VIEW_MAX}, 0, 2},
    {{.len = 10, .view = 9}, -1, 3},
};

/* Its bytes are lost at an unknown place: the file reports that.  Other clients go on, and so does
 * the server. */
START_TEST(a_view_that_is_none)
{
    struct zc_ring_entry entry = nonsense[_i].entry;
    struct zc_ring_header *b;
    unsigned char *at;

    up(64, 0);
    b = client[1]->ring;
    at = zc_ring_data(b);
    entry.handle = handle;
    entry.stamp = __atomic_fetch_add(&client[1]->control->stamps, 1, __ATOMIC_SEQ_CST);
    memset(at, nonsense[_i].fill, 4 * ZC_RING_VIEW_MAX);
    memcpy(at, &entry, sizeof entry);
    memcpy(at + sizeof entry, &nonsense[_i].disp, 8);
    __atomic_store_n(&b->head, zc_ring_entry_size(entry.len, entry.view), __ATOMIC_SEQ_CST);
    ck_assert_int_eq(zc_client_write(client[2], handle, "abc", 3, 0), 3);
    ck_assert_int_eq(zc_client_read(client[0], handle, got, 10, 0), 3);
    ck_assert_mem_eq(got, "abc", 3);
    lost("10 bytes within", -EPROTO);
}
END_TEST

/* Valid views, but of offsets where no file has bytes, and one that shows none. */
static const struct nowhere {
    int64_t first, len, stride, count, extent; /* of the view */
    int64_t disp, off;
} places[] = {
    {0, 10, 30, 50, 1500, -1, 0},
    {0, 10, 30, 50, 1500, INT64_MIN, 0},
    {0, 10, 30, 50, 1500, INT64_MAX - 20, 0},
    {0, 100, 100, 1, 1000, INT64_MAX - 99, 0}, /* its last byte is at INT64_MAX */
    {0, 10, 30, 50, 1500, 0, (INT64_MAX >> 1) + 7},
    {0, 0, 0, 0, 10, 0, 0},
    {-5000, 10, 30, 50, 1500, 0, 0},
    {-5000, 10, 30, 50, 1500, 4000, 0},
    {-5000, 10, 1000, 3, 20, 0, 0}, /* tiles interleave */
};

START_TEST(a_view_of_no_place)
{
    const struct nowhere *w = &places[_i];
    struct zc_view *v = rig_vector(w->first, w->len, w->stride, w->count, w->extent);
    unsigned char bytes[100] = "";
    int rc;

    up(64, 0);
    ck_assert(leave(1, v, w->disp, bytes, sizeof bytes, w->off));
    ck_assert_int_eq(zc_client_write(client[2], handle, "abc", 3, 0), 3);
    ck_assert_int_eq(zc_client_read(client[0], handle, got, 3, 0), 3);
    ck_assert_mem_eq(got, "abc", 3);
    zc_view_put(v);
    rc = zc_client_flush(client[2], handle, ZC_LEVEL_STORED);
    ck_assert_int_lt(rc, 0);
    ck_assert_msg(strstr(zc_error_text(rc), "100 bytes within ") &&
                      !strstr(zc_error_text(rc), "within 18446"),
                  "%s", zc_error_text(rc));
    ck_assert_int_lt(zc_client_close(client[0], handle, ZC_LEVEL_STORED), 0);
    end();
    rig_stop(&rig);
    rig_free(&rig);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("shmring_view");
    TCase *made_up = tcase_create("made_up");

    suite_add_tcase(s, made_up);
    tcase_add_loop_test(made_up, a_view_that_is_none, 0, (int)(sizeof nonsense / sizeof *nonsense));
    tcase_add_loop_test(made_up, a_view_of_no_place, 0, (int)(sizeof places / sizeof *places));
    CASE(s, "model", 120, views_against_a_model, views_in_two_pages,
         views_of_pages_with_few_ranges);
    CASE(s, "left", 30, bytes_are_packed_there, a_large_view_is_not_left, a_list_is_not_left,
         an_owner_has_to_take_views, what_cannot_be_made_is_lost_and_told,
         what_is_lost_may_lie_anywhere);
    return run_suite(s);
}
