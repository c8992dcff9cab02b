/* test_shmring.c - small writes by a ring in a server's memory: later accesses see them, in order,
 * whether by message, ring or peek; and what happens if the cache has no room, the store
 * fails, a writer dies or writes invalid entries.
 */
#include "config.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rig.h"
#include "splitmix.h"
#include "zc_net_internal.h"
#include "zc_ring.h"
#include "zc_shmring.h"
#include "zc_tp_local.h"
#include "zc_view_test.h"

/* Called before a stamp is taken. */
static void before_stamp(void);

#define __atomic_fetch_add(at, n, order) (before_stamp(), __atomic_fetch_add(at, n, order))
#define put                              put_entry
#include "../../common/client/zc_client_ring.c"
#undef put
#undef __atomic_fetch_add

enum { PAGE = 4096, PAGES = 48, SIZE = PAGES * PAGE, CLIENTS = 4 };

static struct rig rig;
static struct zc_net *net[CLIENTS];
static struct zc_client *client[CLIENTS];
static uint64_t handle; /* for all clients */
static unsigned char image[SIZE], got[SIZE];
static uint64_t size; /* of the file */

static void connect_one(int i)
{
    net[i] = rig_net(30000);
    client[i] = rig_connect(&rig, net[i]);
    ck_assert_int_eq(zc_client_ring_open(client[i]), 0);
}

static void disconnect_one(int i)
{
    zc_client_disconnect(client[i]);
    zc_net_destroy(net[i]);
    client[i] = NULL;
}

/* The first client opens the file for all. */
static void up(unsigned pages)
{
    struct zc_cache_config cfg = ZC_CACHE_CONFIG_DEFAULT;
    struct zc_attr attr = {.block_size = PAGE};

    rig_transport = zc_tp_local_open;
    rig_shows = rig_shmring = true;
    rig_exports = ZC_EXPORTS_OF_OPENER;
    cfg.capacity = (size_t)pages * PAGE;
    cfg.page_size = PAGE;
    cfg.idle_ms = 1;
    cfg.retry_ms = 1;
    cfg.published = true;
    rig_up(&rig, &cfg, NULL);
    for (int i = 0; i < CLIENTS; i++)
        connect_one(i);
    ck_assert_int_eq(zc_client_open_exported(client[0], "/f",
                                             ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE, 0644, 0,
                                             &handle, &attr),
                     0);
    memset(image, 0, sizeof image);
    size = 0;
}

static void down(void)
{
    ck_assert_int_eq(zc_client_close(client[0], handle, ZC_LEVEL_STORED), 0);
    for (int i = CLIENTS - 1; i >= 0; i--)
        if (client[i])
            disconnect_one(i);
    rig_down(&rig);
}

static bool post(struct zc_client *c, uint64_t number, const void *buf, size_t len, uint64_t off)
{
    return zc_client_ring_write(
        c, &(struct zc_ring_write){.handle = number, .buf = buf, .len = len, .off = off});
}

static bool may_post(struct zc_client *c, size_t len)
{
    struct zc_ring_entry entry;

    return entry_of(c, &(struct zc_ring_write){.handle = handle, .len = len}, &entry);
}

static void wrote(unsigned gen, size_t len, uint64_t off)
{
    fill(image + off, len, off, gen);
    if (off + len > size)
        size = off + len;
}

/* Writes by ring; false: not possible. */
static bool leave(int who, unsigned gen, size_t len, uint64_t off)
{
    wrote(gen, len, off);
    return post(client[who], handle, image + off, len, off);
}

static void tell(int who, size_t len, uint64_t off)
{
    ck_assert_int_eq(zc_client_write(client[who], handle, image + off, len, off), len);
}

/* Writes as a rank does. */
static void put(int who, unsigned gen, size_t len, uint64_t off)
{
    if (!leave(who, gen, len, off))
        tell(who, len, off);
}

static size_t there(size_t len, uint64_t off)
{
    return off >= size ? 0 : len < size - off ? len : size - off;
}

static void ask(int who, size_t len, uint64_t off)
{
    struct zc_io io = {.handle = handle, .buf = got, .len = len, .off = off};
    size_t n = there(len, off);

    zc_io_start(client[who], &io);
    ck_assert_int_eq(zc_io_wait(client[who], &io), n);
    if (n)
        zc_client_learn_page(client[who], handle, off + n - 1, &io);
    ck_assert_msg(!memcmp(got, image + off, n), "%zu bytes at %llu", n, (unsigned long long)off);
}

/* Reads as a rank does, and compares. */
static void check(int who, size_t len, uint64_t off)
{
    if (zc_client_peek(client[who], handle, got, len, off))
        ck_assert_msg(!memcmp(got, image + off, len), "%zu bytes at %llu, seen", len,
                      (unsigned long long)off);
    else
        ask(who, len, off);
}

static bool watched, said; /* the second one's ring says that an entry is being put */

static void before_stamp(void)
{
    if (watched)
        said = __atomic_load_n(&client[1]->ring->putting, __ATOMIC_SEQ_CST);
}

/* Otherwise its stamp would be taken for one of a dead writer. */
START_TEST(a_writer_announces_its_entry)
{
    up(64);
    watched = true;
    ck_assert(leave(1, 1, 10, 0));
    watched = false;
    ck_assert(said);
    ck_assert(!__atomic_load_n(&client[1]->ring->putting, __ATOMIC_SEQ_CST));
    down();
}
END_TEST

START_TEST(what_is_left_is_read)
{
    up(64);
    for (unsigned i = 1; i <= 200; i++) {
        ck_assert(leave(i % CLIENTS, i, 100, i * 37));
        check((i + 1) % CLIENTS, 100, i * 37);
        check((i + 2) % CLIENTS, 200, i * 30);
    }
    ck_assert_uint_eq(zc_client_ring_writes(client[1]), 50);
    down();
}
END_TEST

/* Ring entries reach the file without any request. */
START_TEST(what_is_left_is_written_back)
{
    uint64_t writes, bytes;

    up(64);
    ck_assert(leave(0, 1, 100, 0));
    WAIT_FOR((zc_shmring_counts(rig.shmring, &writes, &bytes), writes) == 1);
    ck_assert_uint_eq(bytes, 100);
    WAIT_FOR(rig_stat(client[0], "dirty_bytes") + rig_stat(client[0], "flushing_bytes") == 0);
    ck_assert(leave(1, 2, 200, 50)); /* the thread may be asleep by now */
    WAIT_FOR((zc_shmring_counts(rig.shmring, &writes, &bytes), writes) == 2);
    down();
}
END_TEST

/* All operations of a program, in random order, by any client. */
START_TEST(a_model)
{
    uint64_t r = (uint64_t)_i + 1;
    unsigned left = 0;

    up(_i % 2 ? 16 : 64);
    for (unsigned i = 1; i <= 4000; i++) {
        int who = (int)(splitmix(&r) % CLIENTS);
        uint64_t off = splitmix(&r) % (SIZE - 1);
        size_t len = 1 + splitmix(&r) % (splitmix(&r) % 4 ? 300 : 3 * PAGE);
        struct zc_attr attr;

        if (len > SIZE - off)
            len = SIZE - off;
        switch (splitmix(&r) % 16) {
        case 0:
            wrote(i, len, off);
            tell(who, len, off);
            break;
        case 1:
            ck_assert_int_eq(zc_client_getattr(client[who], handle, &attr), 0);
            ck_assert_uint_eq(attr.size, size);
            break;
        case 2:
            if (splitmix(&r) % 8)
                break;
            ck_assert_int_eq(zc_client_truncate(client[who], handle, off), 0);
            if (off < size)
                memset(image + off, 0, size - off);
            size = off;
            break;
        case 3:
            if (splitmix(&r) % 8 == 0)
                ck_assert_int_eq(zc_client_flush(client[who], handle, ZC_LEVEL_STORED), 0);
            break;
        case 4:
        case 5:
        case 6:
            check(who, len, off);
            break;
        case 7: /* as the owner itself does */
            zc_shmring_drain(rig.shmring);
            check(who, len, off);
            break;
        case 8: /* a new client */
            if (who == 0 || splitmix(&r) % 16)
                break;
            disconnect_one(who);
            connect_one(who);
            break;
        default:
            left += leave(who, i, len, off);
            if (i && zc_client_ring_writes(client[who]) == 0)
                tell(who, len, off);
            tell(who, len, off); /* the same bytes: also if it was not by ring */
            if (splitmix(&r) % 2)
                left += leave(who, i + 5000, len, off);
            tell(who, len, off);
            break;
        }
    }
    ck_assert_uint_ge(left, 1000);
    check(0, SIZE, 0);
    down();
}
END_TEST

/* Of several overlapping entries the last one counts, whichever client wrote it. */
START_TEST(they_are_made_in_order)
{
    uint64_t r = (uint64_t)_i + 77;

    up(64);
    for (unsigned i = 1; i <= 3000; i++) {
        uint64_t off = splitmix(&r) % 2000;

        put((int)(splitmix(&r) % CLIENTS), i, 1 + splitmix(&r) % 1000, off);
        if (i % 100 == 0)
            check((int)(splitmix(&r) % CLIENTS), 3000, 0);
    }
    check(0, 3000, 0);
    down();
}
END_TEST

/* ---- rings that grow ---- */

/* A writer puts `n` entries that overlap at once, faster than the owner's thread takes them; the
 * next one goes by message, if the ring is full.  Returns whether one lies behind what a ring has
 * at first. */
static bool burst(int who, unsigned n, size_t len, uint64_t off)
{
    bool far = false;

    for (unsigned i = 0; i < n; i++) {
        if (!post(client[who], handle, image + off, len, off))
            tell(who, len, off);
        far = far || client[who]->head % ZC_RING_SIZE > ZC_RING_FIRST;
    }
    return far;
}

START_TEST(a_ring_grows_for_large_entries)
{
    enum { LARGE = SIZE / CLIENTS };
    unsigned far = 0;

    up(8192);
    for (unsigned i = 1; far != (1u << CLIENTS) - 1; i++) {
        ck_assert_uint_lt(i, 10000);
        for (int who = 0; who < CLIENTS; who++) {
            uint64_t off = (unsigned)who * LARGE;

            wrote(i, LARGE, off);
            far |= (unsigned)burst(who, 8, LARGE, off) << who;
            check((who + 1) % CLIENTS, LARGE, off);
        }
    }
    check(1, SIZE, 0);
    down();
}
END_TEST

/* Where an entry of `need` bytes goes in a ring that ends at `end`; -1: there is no room. */
static int64_t place(uint64_t tail, uint64_t head, uint32_t end, uint32_t need)
{
    struct zc_ring_header ring = {.tail = tail, .head = head, .end = end};
    struct zc_client c = {.ring = &ring, .head = head};
    uint32_t skip;

    if (!has_room(&c, need, &skip))
        return -1;
    return (int64_t)((head + skip) % ZC_RING_SIZE);
}

START_TEST(where_the_next_entry_goes)
{
    const uint32_t first = ZC_RING_FIRST, end = 3 << 20, large = 65600;
    const uint64_t lap = 7ull * ZC_RING_SIZE;

    up(64);
    ck_assert_int_eq(place(lap, lap + 1024, first, large), 1024);
    ck_assert_int_eq(place(lap, lap + first - 64, first, 64), first - 64);
    ck_assert_int_eq(place(lap, lap + first - 64, first, 128), -1);
    ck_assert_int_eq(place(lap + 64, lap + first - 64, first, 128), -1);
    ck_assert_int_eq(place(lap + 128, lap + first - 64, first, 128), 0);
    ck_assert_int_eq(place(lap, lap + first, end, large), first); /* it has grown */
    ck_assert_int_eq(place(lap, lap + end - 64, end, large), -1);
    ck_assert_int_eq(place(lap + end - large, lap + ZC_RING_SIZE, end, large), 0);
    ck_assert_int_eq(place(lap + end - large, lap + ZC_RING_SIZE + end - large, end, 64), -1);
    /* an empty one */
    ck_assert_int_eq(place(lap + first - 64, lap + first - 64, first, 64), first - 64);
    ck_assert_int_eq(place(lap + 4 * large, lap + 4 * large, end, large), 4 * large);
    ck_assert_int_eq(place(lap + end / 2, lap + end / 2, end, large), 0);
    /* the memory ends, too; and an owner lies */
    ck_assert_int_eq(place(lap, lap + ZC_RING_SIZE - 64, ZC_RING_SIZE, 64), ZC_RING_SIZE - 64);
    ck_assert_int_eq(place(lap + 64, lap + ZC_RING_SIZE - 64, UINT32_MAX, 128), -1);
    ck_assert_int_eq(place(lap + 128, lap + ZC_RING_SIZE - 64, UINT32_MAX, 128), 0);
    ck_assert_int_eq(place(lap + 128, lap + 4096, 0, 128), 0);
    ck_assert_int_eq(place(lap + 8192, lap + 4096, end, 64), -1);
    down();
}
END_TEST

/* ---- at the same time ---- */

static void *write_mine(void *arg)
{
    int who = (int)(intptr_t)arg;
    unsigned char mine[64], seen[64];
    uint64_t r = (uint64_t)who + 5;

    for (unsigned i = 0; i < 6000; i++) {
        uint64_t off = (splitmix(&r) % 400 * CLIENTS + (unsigned)who) * sizeof mine;

        memset(mine, (int)(i % 251 + 1), sizeof mine);
        if (!post(client[who], handle, mine, sizeof mine, off))
            ck_assert_int_eq(zc_client_write(client[who], handle, mine, sizeof mine, off),
                             sizeof mine);
        if (splitmix(&r) % 3)
            continue;
        if (!zc_client_peek(client[who], handle, seen, sizeof seen, off)) {
            struct zc_io io = {.handle = handle, .buf = seen, .len = sizeof seen, .off = off};

            zc_io_start(client[who], &io);
            ck_assert_int_eq(zc_io_wait(client[who], &io), sizeof seen);
            zc_client_learn_page(client[who], handle, off, &io);
        }
        ck_assert_msg(!memcmp(mine, seen, sizeof mine), "client %d, write %u", who, i);
    }
    return NULL;
}

START_TEST(many_at_the_same_time)
{
    pthread_t threads[CLIENTS];

    up(_i ? 8 : 64);
    for (int i = 0; i < CLIENTS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, write_mine, (void *)(intptr_t)i), 0);
    for (int i = 0; i < 2000; i++)
        zc_shmring_drain(rig.shmring);
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(threads[i], NULL);
    down();
}
END_TEST

/* ---- the shared file pointer ---- */

static uint64_t add(int who, uint64_t epoch, uint64_t value)
{
    uint64_t was;
    int rc = zc_client_pointer(client[who], handle, ZC_POINTER_ADD, epoch, value, &was);

    ck_assert_msg(rc == 0, "%s", zc_error_text(rc));
    return was;
}

START_TEST(a_shared_pointer_is_moved_without_asking)
{
    const uint64_t far = 1ull << 48;
    uint64_t was, asked;

    up(8);
    for (int i = 0; i < CLIENTS; i++)
        ck_assert_uint_eq(add(i, 0, 10), (uint64_t)i * 10);
    asked = rig_stat(client[0], "requests");
    for (uint64_t i = 4; i < 1000; i++)
        ck_assert_uint_eq(add((int)(i % CLIENTS), 0, 10), i * 10);
    ck_assert_uint_le(rig_stat(client[0], "requests") - asked, 2);
    ck_assert_uint_eq(add(0, 1, 3), 0); /* all have set a new view, and some are late */
    ck_assert_uint_eq(add(1, 1, 3), 3);
    ck_assert_uint_eq(add(2, 0, 10), 10000);
    ck_assert_uint_eq(add(3, 1, 3), 6);
    ck_assert_uint_eq(add(3, 0, 10), 10010);
    ck_assert_int_eq(zc_client_pointer(client[0], handle, ZC_POINTER_SET, 1, far, &was), 0);
    ck_assert_uint_eq(was, 9);
    for (uint64_t i = 0; i < 20; i++) /* too large for a word */
        ck_assert_uint_eq(add((int)(i % CLIENTS), 1, 1), far + i);
    ck_assert_int_eq(zc_client_pointer(client[1], handle, ZC_POINTER_SET, 1, 5, &was), 0);
    ck_assert_uint_eq(was, far + 20);
    asked = rig_stat(client[0], "requests");
    for (uint64_t i = 0; i < 100; i++)
        ck_assert_uint_eq(add((int)(i % CLIENTS), 1, 2), 5 + 2 * i);
    ck_assert_uint_le(rig_stat(client[0], "requests") - asked, 2);
    ck_assert_uint_eq(add(0, 1, far - 300), 205); /* across the limit of the word */
    ck_assert_uint_eq(add(1, 1, 1), far - 95);
    ck_assert_uint_eq(add(2, 1, 200), far - 94);
    ck_assert_uint_eq(add(3, 1, 1), far + 106);
    ck_assert_int_eq(zc_client_pointer(client[0], handle, ZC_POINTER_ADD, 1, INT64_MAX, &was),
                     -EOVERFLOW);
    ck_assert_uint_eq(add(0, 2, 0), 0);
    ck_assert_uint_eq(add(1, 1, 1), far + 107); /* late */
    ck_assert_int_eq(zc_client_pointer(client[0], handle, ZC_POINTER_ADD, 0, 1, &was), -ESTALE);
    down();
}
END_TEST

static void *add_ones(void *arg)
{
    for (int i = 0; i < 20000; i++)
        add((int)(intptr_t)arg, 0, 1);
    return NULL;
}

START_TEST(many_move_a_shared_pointer)
{
    pthread_t threads[CLIENTS];

    up(8);
    for (int i = 0; i < CLIENTS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, add_ones, (void *)(intptr_t)i), 0);
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(add(0, 0, 0), CLIENTS * 20000);
    down();
}
END_TEST

/* As many words as there may be files at a time, and a few more files. */
START_TEST(pointers_come_and_go)
{
    struct zc_attr attr = {.block_size = PAGE};
    uint64_t first = handle, handles[ZC_POINTERS + 3];
    char path[20];

    up(8);
    first = handle;
    for (int round = 0; round < 2; round++) {
        for (unsigned i = 0; i < ZC_POINTERS + 3; i++) {
            snprintf(path, sizeof path, "/%u", i);
            ck_assert_int_eq(zc_client_open_exported(client[0], path,
                                                     ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE,
                                                     0644, 0, &handles[i], &attr),
                             0);
        }
        for (unsigned n = 0; n < 20; n++)
            for (unsigned i = 0; i < ZC_POINTERS + 3; i++) {
                handle = handles[i];
                ck_assert_uint_eq(add((int)(n % CLIENTS), 0, i), n * i);
            }
        for (unsigned i = 0; i < ZC_POINTERS + 3; i++)
            ck_assert_int_eq(zc_client_close(client[0], handles[i], ZC_LEVEL_STORED), 0);
    }
    handle = first;
    down();
}
END_TEST

/* ---- no room, or a failing store ---- */

/* A read waits for earlier entries, which wait for room; and the ring becomes full. */
START_TEST(room_is_waited_for)
{
    unsigned n = 0;

    up(4);
    zc_store_fault_hold(rig.store, ZC_FAULT_WRITE);
    while (leave(0, n + 1, PAGE, n % PAGES * PAGE))
        ck_assert_uint_lt(++n, 1000);
    ck_assert_uint_ge(n, ZC_RING_FIRST / (PAGE + 64) - 1);
    ck_assert_uint_eq(client[0]->ring->full, 0); /* for small entries it does not grow */
    zc_store_fault_release(rig.store);
    tell(0, PAGE, n % PAGES * PAGE);
    for (uint64_t off = 0; off < SIZE; off += PAGE)
        check(1, PAGE, off);
    down();
}
END_TEST

/* An entry that does not fit before the ring's end goes to its beginning; the unused tail is not
 * room. */
START_TEST(a_ring_tail_too_short_for_an_entry)
{
    uint64_t tail;
    unsigned n = 0;

    up(4);
    zc_store_fault_hold(rig.store, ZC_FAULT_WRITE);
    while (client[0]->head + zc_ring_entry_size(PAGE, 0) <= ZC_RING_FIRST) {
        ck_assert(leave(0, n + 1, PAGE, n % PAGES * PAGE));
        n++;
    }
    ck_assert_uint_ge(ZC_RING_FIRST - client[0]->head, ZC_RING_UNIT);
    usleep(50000); /* those with room are applied */
    tail = __atomic_load_n(&client[0]->ring->tail, __ATOMIC_ACQUIRE);
    ck_assert_uint_ge(tail, ZC_RING_UNIT);
    ck_assert(
        !post(client[0], handle, image, tail + ZC_RING_UNIT - sizeof(struct zc_ring_entry), 0));
    zc_store_fault_release(rig.store);
    check(1, SIZE, 0);
    down();
}
END_TEST

/* ---- requests behind entries ---- */

enum { BEFORE = 12 }; /* pages of entries, more than the cache has */

static struct zc_view *whole; /* a page, and every second one after it */

static void see_read(void)
{
    check(1, PAGE, (BEFORE - 1) * PAGE);
}

static void see_write(void)
{
    wrote(99, PAGE, (BEFORE - 1) * PAGE);
    tell(1, PAGE, (BEFORE - 1) * PAGE);
}

static void see_size(void)
{
    struct zc_attr attr;

    ck_assert_int_eq(zc_client_getattr(client[1], handle, &attr), 0);
    ck_assert_uint_eq(attr.size, size);
}

static void see_truncate(void)
{
    size = 100;
    memset(image + size, 0, SIZE - size);
    ck_assert_int_eq(zc_client_truncate(client[1], handle, size), 0);
}

static void see_flush(void)
{
    ck_assert_int_eq(zc_client_flush(client[1], handle, ZC_LEVEL_STORED), 0);
    ck_assert_uint_eq(rig_stat(client[1], "dirty_bytes"), 0);
}

static void see_stat(void)
{
    struct zc_attr attr;

    ck_assert_int_eq(zc_client_stat(client[1], "/f", &attr), 0);
    ck_assert_uint_eq(attr.size, size);
}

static void see_open(void)
{
    struct zc_attr attr = {.block_size = PAGE};
    uint64_t h;

    ck_assert_int_eq(zc_client_open_exported(client[1], "/f", ZC_OPEN_READ, 0, 0, &h, &attr), 0);
    ck_assert_uint_eq(attr.size, size);
    ck_assert_int_eq(zc_client_close(client[1], h, ZC_LEVEL_VISIBLE), 0);
}

static void see_close(void)
{
    struct zc_attr attr = {.block_size = PAGE};

    ck_assert_int_eq(zc_client_close(client[0], handle, ZC_LEVEL_VISIBLE), 0);
    ck_assert_int_eq(zc_client_open_exported(client[0], "/f", ZC_OPEN_READ | ZC_OPEN_WRITE, 0, 0,
                                             &handle, &attr),
                     0);
}

static void see_evict(void)
{
    uint64_t count;

    ck_assert_int_eq(zc_client_control(client[1], ZC_CONTROL_EVICT, &count), 0);
    ck_assert_uint_eq(rig_stat(client[1], "dirty_bytes"), 0);
    ck_assert_int_eq(zc_client_control(client[1], ZC_CONTROL_RESUME, &count), 0);
}

static void see_view_read(void)
{
    uint64_t off = (BEFORE - 1) * PAGE;

    ck_assert_int_eq(rig_through_view(client[1], handle, false, whole, (int64_t)off, got, 100, 0),
                     100);
    ck_assert(!memcmp(got, image + off, 100));
}

static void see_view_write(void)
{
    uint64_t off = (BEFORE - 1) * PAGE;

    wrote(98, 100, off);
    ck_assert_int_eq(
        rig_through_view(client[1], handle, true, whole, (int64_t)off, image + off, 100, 0), 100);
}

static void (*const sees[])(void) = {see_read,      see_write,      see_size, see_truncate,
                                     see_flush,     see_stat,       see_open, see_close,
                                     see_view_read, see_view_write, see_evict};

static void *see(void *arg)
{
    sees[(intptr_t)arg]();
    return NULL;
}

/* Any request: most entries have no room yet when it arrives. */
START_TEST(what_comes_after_waits)
{
    static const int64_t zero = 0, page = PAGE;
    pthread_t thread;

    up(4);
    ck_assert_int_eq(zc_view_create(&zero, &page, 1, 2 * PAGE, &whole), 0);
    zc_store_fault_hold(rig.store, ZC_FAULT_WRITE);
    for (unsigned i = 0; i < BEFORE; i++)
        ck_assert(leave(i % CLIENTS, i + 1, PAGE, i * PAGE));
    ck_assert_int_eq(pthread_create(&thread, NULL, see, (void *)(intptr_t)_i), 0);
    usleep(50000); /* it has been sent */
    zc_store_fault_release(rig.store);
    pthread_join(thread, NULL);
    check(2, SIZE, 0);
    see_size();
    zc_view_put(whole);
    down();
}
END_TEST

/* Messages that see or change files; other messages do not wait. */
static const struct {
    uint8_t type;
    bool waits;
} kinds[] = {
    {ZC_T_OPEN, true},       {ZC_T_CLOSE, true},       {ZC_T_READ, true},
    {ZC_T_WRITE, true},      {ZC_T_GETATTR, true},     {ZC_T_TRUNCATE, true},
    {ZC_T_ALLOCATE, true},   {ZC_T_FLUSH, true},       {ZC_T_UNLINK, true},
    {ZC_T_STAT, true},       {ZC_T_VREAD, true},       {ZC_T_VWRITE, true},
    {ZC_T_BACKLOG, true},    {ZC_T_CONTROL, true},     {ZC_T_LIST_READ, true},
    {ZC_T_LIST_WRITE, true}, {ZC_T_POINTER, false},    {ZC_T_LOCK, false},
    {ZC_T_UNLOCK, false},    {ZC_T_RENDEZVOUS, false}, {ZC_T_VIEW_INSTALL, false},
    {ZC_T_VIEW_DROP, false}, {ZC_T_RING_OPEN, false},  {ZC_T_PING, false},
};

static bool answered(int who, const struct zc_call *call)
{
    bool yes;

    zc_lock_get(&net[who]->lock);
    yes = call->done;
    zc_lock_put(&net[who]->lock);
    return yes;
}

/* Entries that have no room in the cache until the store is released. */
static void fill_the_ring(void)
{
    zc_store_fault_hold(rig.store, ZC_FAULT_WRITE);
    for (unsigned i = 0; i < BEFORE; i++)
        ck_assert(leave(0, i + 1, PAGE, i * PAGE));
}

/* Requests that fail, which without waiting would be answered at once: before a PING sent later. */
START_TEST(each_kind_waits_that_has_to)
{
    struct zc_msg m = {.type = kinds[_i].type,
                       .handle = 1,
                       .what = 77,
                       .open_flags = ZC_OPEN_READ,
                       .path = {"/none", 5}};
    struct zc_call *call;

    up(4);
    fill_the_ring();
    ck_assert_int_eq(zc_call_start(client[1], &m, NULL, 0, &call), 0);
    ck_assert_int_eq(zc_client_ping(client[1]), 0);
    ck_assert_int_eq(answered(1, call), !kinds[_i].waits);
    zc_store_fault_release(rig.store);
    if (kinds[_i].waits)
        ck_assert_int_lt(zc_call_wait(client[1], call, NULL), 0);
    else
        zc_call_wait(client[1], call, NULL);
    check(2, SIZE, 0);
    down();
}
END_TEST

/* The session of a deferred request ends: nothing of it waits for the entries. */
START_TEST(a_deferred_request_ends_with_its_session)
{
    struct zc_msg m = {.type = ZC_T_GETATTR}, bye = {.type = ZC_T_BYE};
    struct zc_call *call;

    up(4);
    m.handle = handle;
    fill_the_ring();
    ck_assert_int_eq(zc_call_start(client[1], &m, NULL, 0, &call), 0);
    ck_assert_int_eq(zc_client_ping(client[1]), 0);
    ck_assert_uint_eq(rig_stat(client[2], "requests_active"), 2); /* and that for the counters */
    ck_assert_int_eq(zc_call(client[1], &bye, NULL), 0);
    WAIT_FOR(rig_stat(client[2], "requests_active") == 1);
    zc_store_fault_release(rig.store);
    zc_lock_get(&net[1]->lock);
    zc_error_set(&client[1]->failed, -ECONNRESET, "gone"); /* no reply will come */
    zc_net_check_now(net[1]);
    zc_lock_put(&net[1]->lock);
    ck_assert_int_lt(zc_call_wait(client[1], call, NULL), 0);
    check(2, SIZE, 0);
    down();
}
END_TEST

static bool asked;

static void *ask_size(void *arg)
{
    struct zc_attr attr;

    (void)arg;
    __atomic_store_n(&asked, true, __ATOMIC_RELEASE);
    ck_assert_int_eq(zc_client_getattr(client[1], handle, &attr), 0);
    return NULL;
}

/* A request does not wait for entries put after it, which might never end. */
START_TEST(what_is_left_later_is_not_waited_for)
{
    uint64_t writes, bytes, before;
    pthread_t thread;
    unsigned n = 0;

    up(4);
    zc_store_fault_hold(rig.store, ZC_FAULT_WRITE);
    for (; n < 10; n++)
        ck_assert(leave(0, n + 1, PAGE, n * PAGE));
    ck_assert_int_eq(pthread_create(&thread, NULL, ask_size, NULL), 0);
    WAIT_FOR(__atomic_load_n(&asked, __ATOMIC_ACQUIRE));
    usleep(50000); /* it has been sent */
    for (before = n; n < 100; n++)
        ck_assert(leave(n % 2 * 2, n + 1, PAGE, n % PAGES * PAGE));
    zc_store_fault_delay(rig.store, ZC_FAULT_WRITE, 20000);
    zc_store_fault_release(rig.store);
    pthread_join(thread, NULL);
    zc_shmring_counts(rig.shmring, &writes, &bytes);
    ck_assert_uint_ge(writes, before);
    ck_assert_msg(writes < 60, "%llu writes", (unsigned long long)writes);
    zc_store_fault_delay(rig.store, 0, 0);
    check(1, PAGE, 0);
    down();
}
END_TEST

/* Once the store refuses anything the ring is not used any more, and the writer gets the error. */
START_TEST(a_full_disk_is_told)
{
    up(8);
    put(0, 1, 100, 0);
    zc_store_fault_set(rig.store, ZC_FAULT_WRITE, 1, 1000000, ENOSPC);
    put(0, 2, 100, 100);
    ck_assert_int_eq(zc_client_flush(client[0], handle, ZC_LEVEL_STORED), -ENOSPC);
    WAIT_FOR(!leave(1, 4, 100, 300)); /* the entries before are cached, to be written eventually */
    for (unsigned i = 0; i < 100; i++)
        ck_assert(!leave(1, 4, 100, 300));
    tell(1, 100, 300);
    zc_store_fault_set(rig.store, 0, 0, 0, 0);
    WAIT_FOR(zc_client_flush(client[1], handle, ZC_LEVEL_STORED) == 0);
    ck_assert_int_eq(zc_client_flush(client[1], handle, ZC_LEVEL_STORED), 0);
    ck_assert(leave(1, 5, 10, 0)); /* as before */
    check(2, 400, 0);
    for (int i = 0; i < CLIENTS; i++) /* all of them are told */
        zc_client_flush(client[i], handle, ZC_LEVEL_STORED);
    down();
}
END_TEST

/* Entries that their writers left before the store refused anything, with more refused by then than
 * a file that fails may keep: nothing is lost while there is room. */
START_TEST(a_full_disk_keeps_what_was_left)
{
    enum { KEPT = 4 }; /* pages: the quota of a file that fails */

    up(16);
    zc_store_fault_set(rig.store, ZC_FAULT_WRITE, 1, 1000000, ENOSPC);
    for (unsigned i = 0; i < KEPT; i++)
        put(0, 1, 100, (uint64_t)i * PAGE);
    ck_assert_int_eq(zc_client_flush(client[0], handle, ZC_LEVEL_STORED), -ENOSPC);
    ck_assert_int_eq(zc_client_write(client[0], handle, image, 10, (uint64_t)KEPT * PAGE), -ENOSPC);
    for (unsigned i = 1; i <= 2 * KEPT; i++) {
        size_t at = (size_t)(KEPT + i) * PAGE;

        do
            __atomic_store_n(&client[1]->control->refuses, 0, __ATOMIC_SEQ_CST);
        while (!leave(1, 2, 100, at));
    }
    ck_assert_int_eq(zc_client_flush(client[1], handle, ZC_LEVEL_STORED), -ENOSPC);
    zc_store_fault_set(rig.store, 0, 0, 0, 0);
    WAIT_FOR(zc_client_flush(client[1], handle, ZC_LEVEL_STORED) == 0);
    for (int i = 0; i < CLIENTS; i++) /* all of them are told what has failed */
        zc_client_flush(client[i], handle, ZC_LEVEL_STORED);
    for (int i = 0; i < CLIENTS; i++)
        ck_assert_int_eq(zc_client_flush(client[i], handle, ZC_LEVEL_STORED), 0);
    for (unsigned i = 1; i <= 2 * KEPT; i++)
        check(2, 100, (uint64_t)(KEPT + i) * PAGE);
    down();
}
END_TEST

/* Its writer believes it written: every flush reports the loss. */
START_TEST(what_cannot_be_made_is_lost_and_told)
{
    struct zc_attr attr = {.block_size = PAGE};
    uint64_t only; /* read-only */
    int rc;

    up(8);
    rc = zc_client_open_exported(client[0], "/f", ZC_OPEN_READ, 0, 0, &only, &attr);
    ck_assert_int_eq(rc, 0);
    ck_assert(post(client[1], only, image, 10, 20));
    for (int i = 0; i < 2 * CLIENTS; i++) {
        rc = zc_client_flush(client[i % CLIENTS], handle, ZC_LEVEL_STORED);
        ck_assert_int_eq(rc, -EBADF);
        ck_assert_msg(strstr(zc_error_text(rc), "10 bytes within 20-29"), "%s", zc_error_text(rc));
    }
    ck_assert_int_eq(zc_client_close(client[0], handle, ZC_LEVEL_STORED), -EBADF);
    for (int i = CLIENTS - 1; i >= 0; i--)
        disconnect_one(i);
    rig_stop(&rig);
    rig_free(&rig);
}
END_TEST

/* ---- clients that leave, and malicious ones ---- */

START_TEST(a_leaving_writer_leaves_its_entries)
{
    up(64);
    for (unsigned i = 1; i < 50; i++) {
        ck_assert(leave(1, i, 500, i * 400));
        ck_assert(leave(1, i, 10, 0));
        disconnect_one(1);
        connect_one(1);
        check(2, 500, i * 400);
        check(2, 10, 0);
    }
    down();
}
END_TEST

/* The client that opened the file for all leaves while entries of others wait for room: these count
 * as made. */
START_TEST(the_opener_leaves_first)
{
    struct zc_attr attr = {.block_size = PAGE};
    unsigned n;

    up(4);
    zc_store_fault_hold(rig.store, ZC_FAULT_WRITE);
    for (n = 0; n < 32; n++)
        ck_assert(leave(1, n + 1, PAGE, n * PAGE));
    disconnect_one(0);
    WAIT_FOR(rig_stat(client[1], "sessions") == CLIENTS - 1);
    zc_store_fault_release(rig.store);
    connect_one(0);
    ck_assert_int_eq(zc_client_open_exported(client[0], "/f", ZC_OPEN_READ | ZC_OPEN_WRITE, 0, 0,
                                             &handle, &attr),
                     0);
    ck_assert_uint_eq(attr.size, size);
    for (uint64_t off = 0; off < size; off += PAGE)
        check(2, PAGE, off);
    down();
}
END_TEST

/* The server has ended the session: an entry after that would never be applied. */
START_TEST(an_evicted_client_leaves_no_entry)
{
    up(64);
    ck_assert(leave(1, 1, 10, 0));
    __atomic_store_n(&client[1]->ring->closed, 1, __ATOMIC_SEQ_CST);
    ck_assert(!leave(1, 2, 10, 0));
    tell(1, 10, 0);
    check(2, 10, 0);
    down();
}
END_TEST

/* The client does not try: no stamp is taken in vain. */
START_TEST(an_evicted_client_takes_no_stamp)
{
    uint64_t stamps;

    up(64);
    ck_assert(leave(1, 1, 10, 0));
    stamps = __atomic_load_n(&client[1]->control->stamps, __ATOMIC_SEQ_CST);
    __atomic_store_n(&client[1]->ring->closed, 1, __ATOMIC_SEQ_CST);
    ck_assert(!may_post(client[1], 10));
    ck_assert(!leave(1, 1, 10, 0));
    ck_assert_uint_eq(__atomic_load_n(&client[1]->control->stamps, __ATOMIC_SEQ_CST), stamps);
    down();
}
END_TEST

static bool begun, was_left;

static void *leave_one(void *arg)
{
    (void)arg;
    __atomic_store_n(&begun, true, __ATOMIC_RELEASE);
    was_left = post(client[1], handle, image, 10, 0);
    return NULL;
}

/* The client notices after putting the entry, which may have been missed: it writes by message. */
START_TEST(a_client_evicted_during_a_write_uses_a_message)
{
    pthread_t thread;

    up(64);
    zc_lock_get(&client[1]->ring_lock);
    ck_assert_int_eq(pthread_create(&thread, NULL, leave_one, NULL), 0);
    WAIT_FOR(__atomic_load_n(&begun, __ATOMIC_ACQUIRE));
    usleep(50000); /* it has seen the ring open; if not, this test shows nothing */
    WAIT_FOR(__atomic_load_n(&client[1]->control->asleep, __ATOMIC_SEQ_CST));
    __atomic_store_n(&client[1]->ring->closed, 1, __ATOMIC_SEQ_CST);
    zc_lock_put(&client[1]->ring_lock);
    pthread_join(thread, NULL);
    ck_assert(!was_left);
    WAIT_FOR(zc_ring_drained(client[1]->control)); /* its doorbell rang: its stamp has ended */
    down();
}
END_TEST

/* Sets the state of the last client's session for a moment. */
static void set_state(int failed, int broken, bool bye)
{
    struct zc_client *c = client[CLIENTS - 1];

    zc_lock_get(&c->net->lock);
    c->failed.rc = failed;
    c->broken.rc = broken;
    c->bye = bye;
    zc_lock_put(&c->net->lock);
}

static bool may_leave(int failed, int broken, bool bye)
{
    struct zc_client *c = client[CLIENTS - 1];
    bool may, left;

    set_state(failed, broken, bye);
    may = may_post(c, 10);
    left = post(c, handle, image, 10, 0);
    set_state(0, 0, false);
    ck_assert_int_eq(may, left);
    return may;
}

/* The server may have ended it, or be about to. */
START_TEST(nothing_is_left_when_the_session_is_over)
{
    up(64);
    ck_assert(may_leave(0, 0, false));
    ck_assert(!may_leave(-EIO, 0, false));
    ck_assert(!may_leave(0, -EIO, false));
    ck_assert(!may_leave(0, 0, true));
    down();
}
END_TEST

/* The server would reject it, and everything after it. */
START_TEST(invalid_entries_are_not_put)
{
    static unsigned char much[ZC_RING_ENTRY_MAX + 1];

    up(64);
    ck_assert(!may_post(client[1], 0));
    ck_assert(may_post(client[1], ZC_RING_ENTRY_MAX));
    ck_assert(!may_post(client[1], ZC_RING_ENTRY_MAX + 1));
    ck_assert(!post(client[1], handle, much, 0, 0));
    ck_assert(!post(client[1], handle, much, ZC_RING_ENTRY_MAX + 1, 0));
    ck_assert(!post(client[1], handle, much, ((size_t)1 << 32) + 10, 0));
    ck_assert(!post(client[1], handle, much, 10, (uint64_t)INT64_MAX - 9));
    ck_assert(!post(client[1], handle, much, 10, UINT64_MAX - 5));
    ck_assert(leave(1, 1, ZC_RING_ENTRY_MAX, 10));
    check(2, ZC_RING_ENTRY_MAX, 10);
    down();
}
END_TEST

/* Other clients go on, and so does the server. */
START_TEST(nonsense_is_not_believed)
{
    static const struct zc_ring_entry entries[] = {
        {.len = 0},
        {.len = UINT32_MAX},
        {.len = ZC_RING_ENTRY_MAX + 1},
        {.len = 10, .off = UINT64_MAX},
        {.len = 10, .off = INT64_MAX},
        {.len = 10, .stamp = UINT64_MAX},
        {.len = 1000},
        {.view = ZC_RING_WRAP},
        {.len = 10, .handle = 77},
    };
    struct zc_ring_header *b;

    up(64);
    b = client[1]->ring;
    if (_i < (int)(sizeof entries / sizeof *entries)) {
        memcpy(zc_ring_data(b), &entries[_i], sizeof *entries);
        __atomic_store_n(&b->head, 128, __ATOMIC_SEQ_CST);
    } else {
        __atomic_store_n(&b->head, _i % 2 ? UINT64_MAX : 12345, __ATOMIC_SEQ_CST);
    }
    __atomic_add_fetch(&client[1]->control->stamps, 1, __ATOMIC_SEQ_CST);
    for (unsigned i = 1; i < 20; i++) {
        put(2, i, 100, i * 50);
        check(3, 100, i * 50);
        check(0, 100, i * 50);
    }
    disconnect_one(1);
    down();
}
END_TEST

/* A stray pointer of a rank overwrites the control page again and again: entries of others may be
 * lost, as the stamps are gone, but the owner neither aborts nor waits for ever. */
/* Clients may not see each other's writes any more, so none writes where another one did. */
START_TEST(an_overwritten_control_page_ends_no_process)
{
    uint64_t random = (uint64_t)_i;
    unsigned char *control;

    up(64);
    control = (unsigned char *)client[1]->control;
    for (unsigned round = 0; round < 12; round++) {
        put(2, round, 100, round * 100);
        if (round % 4 == 3)
            WAIT_FOR(__atomic_load_n(&client[1]->control->asleep, __ATOMIC_SEQ_CST) != 0);
        for (unsigned i = 0; i < ZC_RING_CONTROL; i++)
            control[i] = _i == 0 ? 0xff : _i == 1 ? 0 : (unsigned char)splitmix(&random);
        zc_client_write(client[3], handle, image, 100, PAGE / 2 + round * 100);
    }
    disconnect_one(1);
    down();
}
END_TEST

/* Checks that this client reads by messages only, even if it is told where the page is. */
static void ask_only(struct zc_client *blind, bool shown)
{
    for (int i = 0; i < 3; i++) {
        struct zc_io io = {.handle = handle, .buf = got, .len = 100};

        zc_io_start(blind, &io);
        ck_assert_int_eq(zc_io_wait(blind, &io), 100);
        ck_assert_int_eq(io.pagedesc != 0, shown);
        zc_client_learn_page(blind, handle, 0, &io);
        ck_assert(!zc_client_peek(blind, handle, got, 100, 0));
    }
}

/* It could read bytes older than others' entries. */
START_TEST(no_direct_reads_without_seeing_the_control_page)
{
    struct zc_client *blind;
    struct zc_net *n;

    up(64);
    put(0, 1, 100, 0);
    n = rig_net(30000);
    blind = rig_connect(&rig, n);
    ask_only(blind, false);
    zc_client_disconnect(blind);
    zc_net_destroy(n);
    down();
}
END_TEST

static struct zc_tp_ops without_box;

static int map_no_box(struct zc_tp *tp, zc_peer peer, int fd, size_t len, bool write, void **out)
{
    (void)tp, (void)peer, (void)fd, (void)write;
    if (len != ZC_RING_CONTROL)
        return zc_errorf(EMFILE, "this test maps no box");
    *out = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return *out == MAP_FAILED ? -ENOMEM : 0;
}

static int open_without_box(const struct zc_tp_config *cfg, struct zc_tp **out)
{
    int rc = zc_tp_local_open(cfg, out);

    if (rc)
        return rc;
    without_box = *(*out)->ops;
    without_box.map = map_no_box;
    (*out)->ops = &without_box;
    return 0;
}

/* The server publishes its pages to it, as it shares memory with it; but it cannot map the control
 * page. */
START_TEST(no_direct_reads_without_the_control_page)
{
    struct zc_client *blind;
    struct zc_net *n;

    up(64);
    put(0, 1, 100, 0);
    rig_transport = open_without_box;
    n = rig_net(30000);
    blind = rig_connect(&rig, n);
    ck_assert_int_eq(zc_client_ring_open(blind), -EMFILE);
    ck_assert(!post(blind, handle, image, 10, 0));
    ask_only(blind, true);
    zc_client_disconnect(blind);
    zc_net_destroy(n);
    down();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("shmring");
    TCase *rounds = tcase_create("rounds"), *messages = tcase_create("messages");

    tcase_set_timeout(rounds, stretched(120));
    tcase_add_loop_test(rounds, a_model, 0, 6);
    tcase_add_loop_test(rounds, they_are_made_in_order, 0, 3);
    tcase_add_loop_test(rounds, many_at_the_same_time, 0, 2);
    tcase_add_loop_test(rounds, nonsense_is_not_believed, 0, 11);
    tcase_add_loop_test(rounds, an_overwritten_control_page_ends_no_process, 0, 4);
    tcase_add_loop_test(rounds, what_comes_after_waits, 0, (int)(sizeof sees / sizeof *sees));
    suite_add_tcase(s, rounds);
    tcase_set_timeout(messages, stretched(120));
    tcase_add_test(messages, a_deferred_request_ends_with_its_session);
    tcase_add_loop_test(messages, each_kind_waits_that_has_to, 0,
                        (int)(sizeof kinds / sizeof *kinds));
    suite_add_tcase(s, messages);
    CASE(s, "pointers", 120, a_shared_pointer_is_moved_without_asking, many_move_a_shared_pointer,
         pointers_come_and_go);
    CASE(s, "left", 120, a_ring_grows_for_large_entries, where_the_next_entry_goes,
         what_is_left_is_read, what_is_left_is_written_back, room_is_waited_for,
         a_ring_tail_too_short_for_an_entry, what_is_left_later_is_not_waited_for,
         a_full_disk_is_told, a_full_disk_keeps_what_was_left, what_cannot_be_made_is_lost_and_told,
         a_leaving_writer_leaves_its_entries, the_opener_leaves_first,
         an_evicted_client_leaves_no_entry, no_direct_reads_without_seeing_the_control_page,
         an_evicted_client_takes_no_stamp, a_client_evicted_during_a_write_uses_a_message,
         nothing_is_left_when_the_session_is_over, invalid_entries_are_not_put,
         no_direct_reads_without_the_control_page, a_writer_announces_its_entry);
    return run_suite(s);
}
