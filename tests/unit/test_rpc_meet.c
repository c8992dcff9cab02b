/* test_rpc_meet.c - cards at files behind daemons, over the loop transport. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "raw_peer.h"
#include "rig.h"
#include "zc_box.h"
#include "zc_store_remote.h"

static struct rig rig;

static struct zc_store *connect_to(struct rig *rigs, uint32_t n)
{
    struct zc_net *net = rig_net(60000);
    struct zc_client *clients[4];
    struct zc_store *s;

    for (uint32_t i = 0; i < n; i++)
        clients[i] = rig_connect(&rigs[i], net);
    ck_assert_int_eq(zc_store_remote_over(net, clients, n, &s), 0);
    return s;
}

static struct zc_sfile *open_in(struct zc_store *s, const char *name)
{
    struct zc_attr attr = {.block_size = 8192};
    struct zc_sfile *f;
    int rc =
        zc_store_open_file(s, name, ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE, 0600, &f, &attr);

    ck_assert_msg(rc == 0, "open: %s", zc_error_text(rc));
    return f;
}

static void close_it(struct zc_sfile *f)
{
    ck_assert_int_eq(zc_store_close_file(f, ZC_LEVEL_VISIBLE), 0);
}

/* Leaves `len` times the byte `c`, or finds what is there: *theirs. */
static struct zc_seat *meet(struct zc_sfile *f, int c, size_t len, uint64_t replaces,
                            struct zc_card *theirs)
{
    unsigned char *card = malloc(len);
    struct zc_seat *mine;
    int rc;

    memset(card, c, len);
    rc = zc_store_meet(f, "job", card, len, replaces, &mine, theirs);
    ck_assert_msg(rc == 0, "meet: %s", zc_error_text(rc));
    ck_assert_msg(!mine == !!theirs->bytes, "either ours or somebody's");
    free(card);
    return mine;
}

static struct zc_seat *leave(struct zc_sfile *f, int c, size_t len)
{
    struct zc_card theirs;
    struct zc_seat *mine = meet(f, c, len, 0, &theirs);

    ck_assert_msg(mine != NULL, "a card is there");
    return mine;
}

/* That card lies there; its number. */
static uint64_t find(struct zc_sfile *f, int c, size_t len)
{
    struct zc_card theirs;
    struct zc_seat *mine = meet(f, 'f', 1, 0, &theirs);

    ck_assert_msg(!mine, "no card is there");
    ck_assert_uint_eq(theirs.len, len);
    expect_all(theirs.bytes, len, c, "card");
    free(theirs.bytes);
    return theirs.number;
}

static void part(struct zc_seat *mine)
{
    int rc = zc_store_part(mine);

    ck_assert_msg(rc == 0, "part: %s", zc_error_text(rc));
}

/* Every length: one byte, around a piece, many pieces, all that is allowed. */
START_TEST(clients_find_each_other)
{
    static const size_t sizes[] = {1, ZC_MAX_CARD_PIECE, ZC_MAX_CARD_PIECE + 1, 100000,
                                   ZC_MAX_CARD};
    struct zc_store *one, *two;
    struct zc_sfile *a, *b;
    struct zc_seat *mine;

    rig_up(&rig, NULL, NULL);
    one = connect_to(&rig, 1);
    two = connect_to(&rig, 1);
    a = open_in(one, "/f");
    b = open_in(two, "/f");
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        mine = leave(a, 'a' + (int)i, sizes[i]);
        find(b, 'a' + (int)i, sizes[i]);
        find(a, 'a' + (int)i, sizes[i]);
        part(mine);
    }
    mine = leave(a, 'x', 10);
    close_it(a); /* the card stays */
    find(b, 'x', 10);
    part(mine);
    part(leave(b, 'y', 10));
    close_it(b);
    zc_store_destroy(one);
    zc_store_destroy(two);
    rig_down(&rig);
}
END_TEST

START_TEST(only_the_card_that_was_found_is_replaced)
{
    struct zc_store *one, *two;
    struct zc_sfile *a, *b;
    struct zc_seat *first, *second;
    struct zc_card theirs;
    uint64_t number;

    rig_up(&rig, NULL, NULL);
    one = connect_to(&rig, 1);
    two = connect_to(&rig, 1);
    a = open_in(one, "/f");
    b = open_in(two, "/f");
    first = leave(a, '1', 20000);
    number = find(b, '1', 20000);
    second = meet(b, '2', 30000, number, &theirs);
    ck_assert_ptr_nonnull(second);
    ck_assert_ptr_null(meet(a, '3', 10, number, &theirs)); /* too late */
    ck_assert_uint_eq(theirs.len, 30000);
    free(theirs.bytes);
    part(first); /* not the second's */
    find(a, '2', 30000);
    part(second);
    close_it(a);
    close_it(b);
    zc_store_destroy(one);
    zc_store_destroy(two);
    rig_down(&rig);
}
END_TEST

START_TEST(a_card_goes_with_its_client)
{
    struct zc_store *one, *two;
    struct zc_sfile *a, *b;
    struct zc_seat *mine;

    rig_up(&rig, NULL, NULL);
    one = connect_to(&rig, 1);
    two = connect_to(&rig, 1);
    b = open_in(two, "/f");
    a = open_in(one, "/f");
    mine = leave(a, '1', 10);
    find(b, '1', 10);
    close_it(a);
    ck_assert(mine != NULL);
    zc_store_destroy(one); /* says BYE, and it is gone */
    part(leave(b, '2', 10));
    close_it(b);
    zc_store_destroy(two);
    rig_down(&rig);
}
END_TEST

START_TEST(one_of_two_daemons_has_it)
{
    struct rig rigs[2];
    struct zc_store *mem, *one, *two;
    struct zc_sfile *a, *b;
    struct zc_seat *mine;

    ck_assert_int_eq(zc_store_mem_create(&mem), 0);
    rig_up(&rigs[0], NULL, borrow(mem));
    rig_up(&rigs[1], NULL, borrow(mem));
    one = connect_to(rigs, 2);
    two = connect_to(rigs, 2);
    a = open_in(one, "/f");
    b = open_in(two, "/f");
    mine = leave(a, '1', 10);
    find(b, '1', 10);
    part(mine);
    part(leave(b, '2', 10));
    close_it(a);
    close_it(b);
    zc_store_destroy(one);
    zc_store_destroy(two);
    rig_down(&rigs[0]);
    rig_down(&rigs[1]);
    zc_store_destroy(mem);
}
END_TEST

/* ---- races ---- */

enum { RACERS = 4, LONG = 3 * ZC_MAX_CARD_PIECE };

struct racer {
    pthread_t thread;
    pthread_barrier_t *turn;
    struct zc_sfile *file;
    unsigned rounds;
    int me;
    int seen; /* byte of the card that lies there; negative: meet failed */
    bool won;
};

/* Each round: all at once; the judge looks; who has won takes his card back. */
static void *run(void *arg)
{
    struct racer *r = arg;
    unsigned char card[LONG];

    memset(card, 'a' + r->me, sizeof card);
    for (unsigned i = 0; i < r->rounds; i++) {
        struct zc_seat *mine;
        struct zc_card theirs;

        pthread_barrier_wait(r->turn);
        r->seen = zc_store_meet(r->file, "job", card, sizeof card, 0, &mine, &theirs);
        r->won = mine;
        if (r->seen == 0)
            r->seen = mine ? card[0] : *(unsigned char *)theirs.bytes;
        free(theirs.bytes);
        pthread_barrier_wait(r->turn);
        pthread_barrier_wait(r->turn);
        zc_store_part(mine);
    }
    return NULL;
}

/* Threads of two processes, two each. */
START_TEST(of_many_one_wins_and_all_know_him)
{
    unsigned rounds = cases(200);
    pthread_barrier_t turn;
    struct racer r[RACERS];
    struct zc_store *stores[2];

    rig_up(&rig, NULL, NULL);
    pthread_barrier_init(&turn, NULL, RACERS + 1);
    for (int i = 0; i < 2; i++)
        stores[i] = connect_to(&rig, 1);
    for (int i = 0; i < RACERS; i++) {
        r[i] = (struct racer){
            .turn = &turn, .file = open_in(stores[i / 2], "/f"), .rounds = rounds, .me = i};
        ck_assert_int_eq(pthread_create(&r[i].thread, NULL, run, &r[i]), 0);
    }
    for (unsigned round = 0; round < rounds; round++) {
        unsigned winners = 0;

        pthread_barrier_wait(&turn);
        pthread_barrier_wait(&turn);
        for (int i = 0; i < RACERS; i++) {
            winners += r[i].won;
            if (r[i].seen < 0 || r[i].seen != r[0].seen)
                ck_abort_msg("one sees %d, another %d", r[i].seen, r[0].seen);
        }
        if (winners != 1)
            ck_abort_msg("%u winners", winners);
        pthread_barrier_wait(&turn);
    }
    for (int i = 0; i < RACERS; i++) {
        pthread_join(r[i].thread, NULL);
        close_it(r[i].file);
    }
    zc_store_destroy(stores[0]);
    zc_store_destroy(stores[1]);
    pthread_barrier_destroy(&turn);
    rig_down(&rig);
}
END_TEST

/* ---- limits, and who does not keep to the rules ---- */

START_TEST(a_client_leaves_so_many_bytes)
{
    struct zc_store *s;
    struct zc_sfile *f[20];
    struct zc_seat *mine[20] = {0}, *none;
    struct zc_card theirs;
    unsigned char *card = calloc(1, ZC_MAX_CARD);
    int n = 0, rc = 0;

    rig_up(&rig, NULL, NULL);
    s = connect_to(&rig, 1);
    for (; n < 20 && rc == 0; n++) {
        char name[8];

        snprintf(name, sizeof name, "/f%d", n);
        f[n] = open_in(s, name);
        rc = zc_store_meet(f[n], "job", card, ZC_MAX_CARD, 0, &mine[n], &theirs);
    }
    ck_assert_int_eq(rc, -EDQUOT);
    ck_assert_int_gt(n, 15);
    ck_assert_int_lt(n, 18);
    part(mine[0]);
    mine[0] = NULL;
    ck_assert_int_eq(zc_store_meet(f[n - 1], "job", card, ZC_MAX_CARD, 0, &none, &theirs), 0);
    part(none);
    for (int i = 0; i < n; i++) {
        part(mine[i]);
        close_it(f[i]);
    }
    free(card);
    zc_store_destroy(s);
    rig_down(&rig);
}
END_TEST

static struct raw raw;

static void raw_begin(uint32_t silence_ms, uint64_t *session, uint64_t *handle)
{
    struct zc_msg m = {.type = ZC_T_OPEN,
                       .open_flags = ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE,
                       .mode = 0600,
                       .path = {"/f", 2}};

    raw_up(&raw, &rig);
    *session = m.session = raw_hello(&raw, silence_ms, ZC_PROTOCOL);
    raw_call(&raw, &m);
    ck_assert_int_eq(raw.last.status, 0);
    *handle = raw.last.handle;
}

static struct zc_msg piece(uint64_t session, uint64_t handle, uint64_t size, uint64_t off,
                           uint32_t n)
{
    static const unsigned char bytes[ZC_MAX_CARD_PIECE];

    return (struct zc_msg){.type = ZC_T_MEET,
                           .session = session,
                           .what = ZC_MEET_LEAVE,
                           .handle = handle,
                           .size = size,
                           .off = off,
                           .job = {"job", 3},
                           .data = {bytes, n}};
}

static void answered(struct zc_msg m, int status)
{
    raw_call(&raw, &m);
    ck_assert_msg(raw.last.status == status, "status %d: %s", raw.last.status, raw.text);
}

START_TEST(rubbish_is_refused)
{
    struct zc_store *s;
    struct zc_sfile *f;
    struct zc_seat *mine;
    struct zc_msg m;
    uint64_t session, handle, number;

    rig_up(&rig, NULL, NULL);
    raw_begin(60000, &session, &handle);
    answered(piece(session, handle + 1, 10, 0, 10), -EBADF);
    answered(piece(session, handle, 0, 0, 0), -EINVAL);
    answered(piece(session, handle, ZC_MAX_CARD + ZC_BOX_EXTRA + 1, 0, 10), -EINVAL);
    answered(piece(session, handle, 10, 0, 0), -EINVAL);
    answered(piece(session, handle, 10, 0, 11), -EINVAL);
    answered(piece(session, handle, 20, 10, 10), -EINVAL); /* no first piece */
    answered(piece(session, handle, 20, 0, 10), 0);
    answered(piece(session, handle, 20, 11, 9), -EINVAL);  /* a gap */
    answered(piece(session, handle, 20, 10, 10), -EINVAL); /* what was begun is dropped */
    answered(piece(session, handle, 20, 0, 10), 0);
    answered(piece(session, handle, 21, 10, 11), -EINVAL); /* another length */
    m = piece(session, handle, 10, 0, 10);
    m.job.n = 0;
    answered(m, -EINVAL);
    m = piece(session, handle, 10, 0, 10);
    m.what = 9;
    answered(m, -EINVAL);
    m.what = ZC_MEET_READ; /* it has found none */
    answered(m, -EINVAL);

    s = connect_to(&rig, 1);
    f = open_in(s, "/f");
    mine = leave(f, 'x', 20000);
    number = find(f, 'x', 20000);
    m.what = ZC_MEET_PART; /* not its own */
    m.count = number;
    answered(m, 0);
    find(f, 'x', 20000);
    answered(piece(session, handle, 10, 0, 10), 0);
    ck_assert_uint_eq(raw.last.count, number);
    ck_assert_uint_eq(raw.last.size, 20000 + ZC_BOX_EXTRA);
    ck_assert_uint_eq(raw.last.data.n, ZC_MAX_CARD_PIECE);
    part(mine); /* who has found it reads all of it */
    m.what = ZC_MEET_READ;
    m.off = 19000;
    answered(m, 0);
    ck_assert_uint_eq(raw.last.data.n, 1000 + ZC_BOX_EXTRA);
    m.off = 20000 + ZC_BOX_EXTRA + 1;
    answered(m, -EINVAL);
    m.off = 0;
    m.count = number + 1;
    answered(m, -EINVAL);

    close_it(f);
    zc_store_destroy(s);
    zc_tp_close(raw.tp);
    rig_down(&rig);
}
END_TEST

/* A client falls silent that has left a card and has not read all of the one it found. */
START_TEST(a_dead_client_leaves_nothing)
{
    struct zc_store *s;
    struct zc_sfile *f;
    struct zc_seat *mine = NULL;
    static const unsigned char card[10];
    unsigned char box[sizeof card + ZC_BOX_EXTRA];
    uint64_t session, handle;
    struct zc_msg m;

    rig_up(&rig, NULL, NULL);
    raw_begin(1000, &session, &handle);
    s = connect_to(&rig, 1);
    f = open_in(s, "/f");
    ck_assert_int_eq(zc_box_close(&rig_secret, card, sizeof card, box), 0);
    m = piece(session, handle, sizeof box, 0, sizeof box);
    m.data.p = box;
    mine = leave(f, 'x', 20000);
    answered(m, 0); /* reads that one */
    part(mine);
    answered(m, 0); /* has one */
    ck_assert_uint_eq(raw.last.size, 0);
    answered(m, 0); /* finds its own */
    ck_assert_uint_eq(raw.last.size, sizeof box);
    find(f, 0, sizeof card);
    do { /* the server drops it when a second has passed */
        struct zc_card theirs;

        mine = meet(f, 'y', 10, 0, &theirs);
        free(theirs.bytes);
    } while (!mine && usleep(10000) == 0);
    part(mine);
    close_it(f);
    zc_store_destroy(s);
    zc_tp_close(raw.tp);
    rig_down(&rig);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("rpc meet");

    CASE(s, "cards", 60, clients_find_each_other, only_the_card_that_was_found_is_replaced,
         a_card_goes_with_its_client, one_of_two_daemons_has_it);
    CASE(s, "races", 120, of_many_one_wins_and_all_know_him);
    CASE(s, "limits", 60, a_client_leaves_so_many_bytes, rubbish_is_refused,
         a_dead_client_leaves_nothing);
    return run_suite(s);
}
