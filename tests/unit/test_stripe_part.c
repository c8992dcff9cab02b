/* test_stripe_part.c - data transfers of a striped file, part by part.
 *
 * Two servers, each a rig with its own memory store, which shows the bytes that it received; the
 * second one may have no client, and is a piece of memory then.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "rig.h"
#include "zc_pipeline.h"
#include "zc_stripe_part.h"

enum { SERVERS = 2, BLOCK = 8192, BLOCKS = 4, BYTES = BLOCKS * BLOCK, BAD_HANDLE = 4711 };

static struct rig rigs[SERVERS];
static struct zc_net *net;
static struct zc_client *clients[SERVERS];
static uint64_t handles[SERVERS];
static unsigned char data[BYTES], is[BYTES];

static bool without_client; /* the second server */
static unsigned char memory[BYTES];
static uint64_t memory_size;
static size_t moves_at_most; /* maximum bytes per call of move(); 0: all */
static int move_fails;       /* with this errno, after one call */
static unsigned in_vain;     /* number of calls to the first server that fail and are repeated */
static unsigned gets, returns, moves;
static uint64_t took;

static int get(const struct zc_stripe_file *f, uint32_t i, struct zc_stripe_use *use)
{
    ck_assert_uint_lt(i, f->n);
    gets++;
    *use = (struct zc_stripe_use){.index = i, .handle = handles[i]};
    if (i == 0 || !without_client)
        use->client = clients[i];
    if (i == 0 && in_vain)
        use->handle = BAD_HANDLE;
    return 0;
}

static bool put(struct zc_stripe_use *use, int rc)
{
    returns++;
    if (!rc || use->index || !in_vain)
        return false;
    in_vain--;
    return true;
}

static int getattr_here(const struct zc_stripe_file *f, const struct zc_stripe_use *use,
                        struct zc_attr *attr)
{
    (void)f;
    (void)use;
    attr->size = memory_size;
    return 0;
}

static int64_t move_here(const struct zc_stripe_file *f, const struct zc_stripe_part *p)
{
    size_t len = (size_t)p->len;

    (void)f;
    ck_assert_ptr_eq(p->access, data);
    if (moves++ && move_fails)
        return zc_errorf(move_fails, "memory is full");
    if (moves_at_most && len > moves_at_most)
        len = moves_at_most;
    if (p->write) {
        memcpy(memory + p->off, p->buf, len);
        if (p->off + len > memory_size)
            memory_size = p->off + len;
    } else {
        if (p->off + len > memory_size)
            len = p->off < memory_size ? memory_size - p->off : 0;
        memcpy(p->buf, memory + p->off, len);
    }
    return (int64_t)len;
}

static void note_took(const struct zc_stripe_file *f, const struct zc_stripe_use *use,
                      uint64_t bytes, uint64_t unstable_seq, uint64_t committed_seq)
{
    (void)f;
    (void)use;
    (void)committed_seq;
    ck_assert_uint_gt(unstable_seq, 0);
    took += bytes;
}

static const struct zc_stripe_ops ops = {
    .servers = "server",
    .server = zc_stripe_aggregator,
    .get = get,
    .put = put,
    .getattr = getattr_here,
    .took = note_took,
};
static const struct zc_stripe place = {BLOCK, SERVERS, SERVERS, 0, 0};
static const struct zc_stripe_file file = {&ops, NULL, &place, SERVERS};

static void up(void)
{
    net = rig_net(60000);
    for (int i = 0; i < SERVERS; i++) {
        rig_up(&rigs[i], NULL, NULL);
        clients[i] = rig_connect(&rigs[i], net);
        handles[i] = rig_open(clients[i], "/f");
    }
    fill(data, BYTES, 0, 1);
    memset(memory, 0, sizeof memory);
    without_client = false;
    memory_size = moves_at_most = 0;
    move_fails = 0;
    in_vain = gets = returns = moves = 0;
    took = 0;
}

static void down(void)
{
    ck_assert_uint_eq(gets, returns); /* each get() has its put() */
    for (int i = 0; i < SERVERS; i++)
        zc_client_disconnect(clients[i]);
    zc_net_destroy(net);
    for (int i = 0; i < SERVERS; i++)
        rig_down(&rigs[i]);
}

/* Moves one part from start to end. */
static int64_t one(bool write, uint64_t off, size_t len, void *buf)
{
    struct zc_stripe_part p = {.write = write,
                               .plain = true,
                               .off = off,
                               .buf = buf,
                               .len = (int64_t)len,
                               .access = data,
                               .move = move_here};

    ck_assert_int_eq(zc_stripe_part_get(&file, &p), 0);
    ck_assert_int_eq(zc_stripe_part_aim(&file, &p), 0);
    zc_stripe_part_start(&file, &p);
    return zc_stripe_part_finish(&file, &p, true);
}

/* Moves an access, cut along blocks. */
static void all(bool write, size_t len, unsigned char *buf)
{
    for (size_t at = 0; at < len; at += BLOCK)
        ck_assert_int_eq(one(write, at, BLOCK, buf + at), BLOCK);
}

/* Writes and reads through a view, as one part. */
static int64_t viewed(bool write, struct zc_view *v, int64_t view_off, size_t len, uint64_t first,
                      void *buf)
{
    struct zc_stripe_part p = {.write = write,
                               .viewed = true,
                               .off = first,
                               .view = v,
                               .view_off = view_off,
                               .buf = buf,
                               .len = (int64_t)len,
                               .access = data,
                               .move = move_here};

    ck_assert_int_eq(zc_stripe_part_get(&file, &p), 0);
    ck_assert_int_eq(zc_stripe_part_aim(&file, &p), 0);
    zc_stripe_part_start(&file, &p);
    return zc_stripe_part_finish(&file, &p, true);
}

/* ---- */

START_TEST(each_block_at_its_server)
{
    up();
    all(true, BYTES, data);
    ck_assert_uint_eq(took, BYTES);
    all(false, BYTES, is);
    ck_assert(!memcmp(is, data, BYTES));
    for (uint64_t block = 0; block < BLOCKS; block++) { /* the other server has a hole there */
        unsigned other = 1 - block % SERVERS;
        ssize_t got = zc_client_read(clients[other], handles[other], is, BLOCK, block * BLOCK);

        ck_assert_int_ge(got, 0);
        for (ssize_t i = 0; i < got; i++)
            ck_assert_uint_eq(is[i], 0);
    }
    down();
}
END_TEST

START_TEST(holes_end_where_any_server_knows)
{
    up();
    ck_assert_int_eq(one(true, BLOCK + 100, 10, data), 10); /* owned by the second server */
    memset(is, 'x', sizeof is);
    ck_assert_int_eq(one(false, 0, BLOCK, is), BLOCK);
    ck_assert(is[0] == 0 && is[BLOCK - 1] == 0 && is[BLOCK] == 'x');
    ck_assert_int_eq(one(false, BLOCK, BLOCK, is), 110);
    ck_assert(!memcmp(is + 100, data, 10) && is[110] == 0);
    ck_assert_int_eq(one(false, 2 * BLOCK, BLOCK, is), 0);
    down();
}
END_TEST

/* A part behind the end of an access is not completed, and causes no further request. */
START_TEST(what_is_not_wanted_is_left)
{
    struct zc_stripe_part p = {
        .plain = true, .buf = (char *)is, .len = BLOCK, .access = data, .move = move_here};

    up();
    without_client = true;
    ck_assert_int_eq(zc_stripe_part_get(&file, &p), 0);
    zc_stripe_part_start(&file, &p);
    ck_assert_int_eq(zc_stripe_part_finish(&file, &p, false), 0);
    p.write = true;
    p.off = BLOCK;
    moves_at_most = 1000;
    ck_assert_int_eq(zc_stripe_part_get(&file, &p), 0);
    zc_stripe_part_start(&file, &p);
    ck_assert_int_eq(zc_stripe_part_finish(&file, &p, false), 1000);
    ck_assert_uint_eq(moves, 1);
    ck_assert_uint_eq(gets, 2);
    down();
}
END_TEST

START_TEST(what_was_in_vain_is_made_again)
{
    up();
    in_vain = 3;
    ck_assert_int_eq(one(true, 0, BLOCK, data), BLOCK);
    ck_assert_uint_eq(gets, 4);
    ck_assert_uint_eq(took, BLOCK);
    in_vain = 1;
    ck_assert_int_eq(one(false, 0, BLOCK, is), BLOCK);
    ck_assert(!memcmp(is, data, BLOCK));
    down();
}
END_TEST

START_TEST(short_writes_are_completed)
{
    up();
    without_client = true;
    moves_at_most = 1000;
    ck_assert_int_eq(one(true, BLOCK, BLOCK, data), BLOCK);
    ck_assert_uint_eq(moves, (BLOCK + 999) / 1000);
    ck_assert(!memcmp(memory + BLOCK, data, BLOCK));
    moves = 0;
    move_fails = ENOSPC;
    ck_assert_int_eq(one(true, BLOCK, BLOCK, data), -ENOSPC);
    ck_assert_str_eq(zc_error_text(ENOSPC), "memory is full");
    down();
}
END_TEST

/* Moves every other KiB of a block through a view that the server has to get first; the second time
 * the first attempt fails and is repeated. */
START_TEST(through_views)
{
    struct zc_view *v = rig_vector(0, 1024, 2048, BLOCK / 2048, BLOCK);

    up();
    ck_assert_int_eq(viewed(true, v, 0, BLOCK / 2, 0, data), BLOCK / 2);
    in_vain = 1;
    ck_assert_int_eq(viewed(true, v, 1024, 2048, 0, data + 1024), 2048);
    ck_assert_uint_eq(in_vain, 0);
    memset(is, 'x', sizeof is);
    ck_assert_int_eq(viewed(false, v, 0, BLOCK / 2, 0, is), BLOCK / 2);
    ck_assert(!memcmp(is, data, BLOCK / 2));
    ck_assert_int_eq(one(false, 0, BLOCK, is), BLOCK - 1024);
    for (size_t k = 0; k < BLOCK; k += 2048)
        ck_assert(!memcmp(is + k, data + k / 2, 1024));
    /* another server knows a later byte: what the view shows before that is a hole */
    ck_assert_int_eq(viewed(false, v, BLOCK, 2048, (uint64_t)2 * BLOCK, is), 0);
    ck_assert_int_eq(one(true, 3 * BLOCK, 1, data), 1);
    memset(is, 'x', sizeof is);
    ck_assert_int_eq(viewed(false, v, BLOCK, 2048, (uint64_t)2 * BLOCK, is), 2048);
    ck_assert(is[0] == 0 && is[2047] == 0 && is[2048] == 'x');
    zc_view_put(v);
    down();
}
END_TEST

START_TEST(forgotten_before_the_start)
{
    struct zc_view *v = rig_vector(0, 1024, 2048, BLOCK / 2048, BLOCK);
    struct zc_stripe_part p = {.write = true,
                               .viewed = true,
                               .view = v,
                               .buf = (char *)data,
                               .len = 2048,
                               .move = move_here};

    up();
    ck_assert_int_eq(zc_stripe_part_get(&file, &p), 0);
    zc_stripe_part_forget(&file, &p, false);
    ck_assert_int_eq(zc_stripe_part_get(&file, &p), 0);
    ck_assert_int_eq(zc_stripe_part_aim(&file, &p), 0);
    zc_stripe_part_forget(&file, &p, true);
    zc_view_put(v);
    down();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("stripe_part");

    CASE(s, "part", 60, each_block_at_its_server, holes_end_where_any_server_knows,
         what_is_not_wanted_is_left, what_was_in_vain_is_made_again, short_writes_are_completed,
         through_views, forgotten_before_the_start);
    return run_suite(s);
}
