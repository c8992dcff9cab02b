/* test_coord.c - the shared file pointer and range locks, by themselves and over the loop. */
#include "config.h"

#include <errno.h>
#include <stdio.h>

#include "rig.h"
#include "zc_coord.h"

/* ---- by themselves ---- */

START_TEST(pointer_and_epochs)
{
    struct zc_coord *s = zc_coord_create();
    uint64_t was;

    ck_assert_int_eq(zc_coord_pointer(s, ZC_POINTER_ADD, 0, 5, &was), 0);
    ck_assert_uint_eq(was, 0);
    ck_assert_int_eq(zc_coord_pointer(s, ZC_POINTER_ADD, 0, 3, &was), 0);
    ck_assert_uint_eq(was, 5);
    ck_assert_int_eq(zc_coord_pointer(s, ZC_POINTER_ADD, 1, 7, &was), 0); /* a new view */
    ck_assert_uint_eq(was, 0);
    ck_assert_int_eq(zc_coord_pointer(s, ZC_POINTER_ADD, 0, 1, &was), 0); /* a late rank */
    ck_assert_uint_eq(was, 8);
    ck_assert_int_eq(zc_coord_pointer(s, ZC_POINTER_SET, 1, 100, &was), 0);
    ck_assert_uint_eq(was, 7);
    ck_assert_int_eq(zc_coord_pointer(s, ZC_POINTER_ADD, 1, INT64_MAX, &was), -EOVERFLOW);
    ck_assert_int_eq(zc_coord_pointer(s, ZC_POINTER_ADD, 1, 0, &was), 0);
    ck_assert_uint_eq(was, 100);
    ck_assert_int_eq(zc_coord_pointer(s, ZC_POINTER_ADD, 9, 0, &was), 0); /* unused ones pass */
    ck_assert_uint_eq(was, 0);
    ck_assert_int_eq(zc_coord_pointer(s, ZC_POINTER_ADD, 1, 1, &was), -ESTALE);
    zc_coord_destroy(s);
}
END_TEST

static void note(struct zc_range_lock *l)
{
    l->waiter = l; /* granted by an unlock */
}

static struct zc_range_lock range(uint64_t off, uint64_t len, bool exclusive)
{
    return (struct zc_range_lock){.off = off, .len = len, .exclusive = exclusive, .granted = note};
}

START_TEST(first_come_first)
{
    struct zc_coord *s = zc_coord_create();
    struct zc_range_lock a = range(0, 10, false), b = range(5, 10, false), c = range(8, 1, true),
                         d = range(0, 10, false), e = range(20, 10, true),
                         f = range(29, UINT64_MAX - 29, true);

    ck_assert(zc_coord_lock(s, &a));
    ck_assert(zc_coord_lock(s, &b));  /* readers together */
    ck_assert(!zc_coord_lock(s, &c)); /* a writer waits for both */
    ck_assert(!zc_coord_lock(s, &d)); /* and no reader overtakes it */
    ck_assert(zc_coord_lock(s, &e));  /* other ranges do not conflict */
    ck_assert(!zc_coord_lock(s, &f));
    zc_coord_unlock(s, &a);
    ck_assert(!c.waiter);
    zc_coord_unlock(s, &b);
    ck_assert(c.waiter && !d.waiter);
    zc_coord_unlock(s, &c);
    ck_assert(d.waiter && !f.waiter);
    zc_coord_unlock(s, &e);
    ck_assert(f.waiter);
    zc_coord_unlock(s, &d);
    zc_coord_unlock(s, &f);
    zc_coord_destroy(s);
}
END_TEST

/* ---- through a server ---- */

static struct rig rig;
static struct zc_coord *coord;
static struct zc_handle *exported;
static uint64_t number;

static void up(void)
{
    struct zc_attr attr = {0};

    rig_up(&rig, NULL, NULL);
    ck_assert_int_eq(zc_cache_open(rig.cache, "/exported",
                                   ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE, 0600, &exported,
                                   &attr),
                     0);
    coord = zc_coord_create();
    number = zc_server_export(rig.server, exported, coord);
    ck_assert_uint_ne(number, 0);
}

static void down(void)
{
    zc_server_unexport(rig.server, number);
    zc_coord_destroy(coord);
    ck_assert_int_eq(zc_cache_close(exported), 0);
    rig_down(&rig);
}

START_TEST(asked_by_clients)
{
    struct zc_net *net = rig_net(60000);
    struct zc_client *c;
    uint64_t was, lock, own;

    up();
    c = rig_connect(&rig, net);
    ck_assert_int_eq(zc_client_pointer(c, number, ZC_POINTER_ADD, 0, 11, &was), 0);
    ck_assert_int_eq(zc_client_pointer(c, number, ZC_POINTER_ADD, 0, 0, &was), 0);
    ck_assert_uint_eq(was, 11);
    ck_assert_int_eq(zc_client_pointer(c, number, 7, 0, 0, &was), -EINVAL);
    ck_assert_int_eq(zc_client_lock(c, number, true, 0, 10, &lock), 0);
    ck_assert_int_eq(zc_client_lock(c, number, true, 10, 0, &was), -EINVAL);
    ck_assert_int_eq(zc_client_unlock(c, number, lock + 1), -EINVAL);
    ck_assert_int_eq(zc_client_unlock(c, number, lock), 0);
    ck_assert_int_eq(zc_client_unlock(c, number, lock), -EINVAL);
    own = rig_open(c, "/own"); /* not exported, so not shared */
    ck_assert_int_eq(zc_client_lock(c, own, true, 0, 10, &lock), -EOPNOTSUPP);
    ck_assert_int_eq(zc_client_close(c, own, ZC_LEVEL_VISIBLE), 0);
    zc_client_disconnect(c);
    zc_net_destroy(net);
    down();
}
END_TEST

/* The locks of a client that ends are released, held or waiting. */
START_TEST(client_gone)
{
    struct zc_net *net = rig_net(60000);
    struct zc_client *a, *b;
    uint64_t lock;

    up();
    a = rig_connect(&rig, net);
    b = rig_connect(&rig, net);
    ck_assert_int_eq(zc_client_lock(a, number, true, 0, 10, &lock), 0);
    ck_assert_int_eq(zc_client_lock(a, number, false, 20, 10, &lock), 0);
    zc_client_disconnect(a);
    ck_assert_int_eq(zc_client_lock(b, number, true, 0, 100, &lock), 0);
    ck_assert_int_eq(zc_client_unlock(b, number, lock), 0);
    zc_client_disconnect(b);
    zc_net_destroy(net);
    down();
}
END_TEST

/* ---- all at once ---- */

enum { CELLS = 8, THREADS = 4, TURNS = 300 };

static int inside[CELLS]; /* readers, or -1: a writer; atomic */
static struct zc_client *clients[THREADS];

static void enter(unsigned from, unsigned to, bool exclusive)
{
    for (unsigned i = from; i < to; i++) {
        int was = __atomic_fetch_add(&inside[i], exclusive ? -1 : 1, __ATOMIC_SEQ_CST);

        ck_assert_msg(exclusive ? was == 0 : was >= 0, "%d inside", was);
    }
}

static void leave(unsigned from, unsigned to, bool exclusive)
{
    for (unsigned i = from; i < to; i++)
        __atomic_fetch_sub(&inside[i], exclusive ? -1 : 1, __ATOMIC_SEQ_CST);
}

static void *fight(void *arg)
{
    struct zc_client *c = *(struct zc_client **)arg;
    unsigned seed = (unsigned)((struct zc_client **)arg - clients) + 1;

    for (int i = 0; i < TURNS; i++) {
        unsigned from = (unsigned)rand_r(&seed) % CELLS;
        unsigned to = from + 1 + (unsigned)rand_r(&seed) % (CELLS - from);
        bool exclusive = rand_r(&seed) % 3 == 0;
        struct zc_range_lock l = {.off = from, .len = to - from, .exclusive = exclusive};
        uint64_t n;

        if (c)
            ck_assert_int_eq(zc_client_lock(c, number, exclusive, from, to - from, &n), 0);
        else
            zc_coord_lock_wait(coord, &l);
        enter(from, to, exclusive);
        leave(from, to, exclusive);
        if (c)
            ck_assert_int_eq(zc_client_unlock(c, number, n), 0);
        else
            zc_coord_unlock(coord, &l);
    }
    return NULL;
}

/* Two threads of the server's own process, two clients. */
START_TEST(without_conflicts)
{
    struct zc_net *net = rig_net(60000);
    pthread_t t[THREADS];

    up();
    for (int i = 0; i < THREADS; i++) {
        clients[i] = i < 2 ? NULL : rig_connect(&rig, net);
        ck_assert_int_eq(pthread_create(&t[i], NULL, fight, &clients[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    for (int i = 2; i < THREADS; i++)
        zc_client_disconnect(clients[i]);
    zc_net_destroy(net);
    down();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("coord");

    zc_log_init(NULL);
    CASE(s, "alone", 10, pointer_and_epochs, first_come_first);
    CASE(s, "clients", 60, asked_by_clients, client_gone, without_conflicts);
    return run_suite(s);
}
