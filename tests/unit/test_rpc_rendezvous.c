/* test_rpc_rendezvous.c - rendezvous records behind daemons, over the loop transport. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "raw_peer.h"
#include "rig.h"
#include "zc_clock_sim.h"
#include "zc_secretbox.h"
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

/* Publishes `len` times the byte `c`, or finds what is there: *theirs. */
static struct zc_publication *rendezvous(struct zc_sfile *f, int c, size_t len, uint64_t replaces,
                                         struct zc_rendezvous_record *theirs)
{
    unsigned char *record = malloc(len);
    struct zc_publication *mine;
    int rc;

    memset(record, c, len);
    rc = zc_store_rendezvous(f, "job", record, len, replaces, &mine, theirs);
    ck_assert_msg(rc == 0, "meet: %s", zc_error_text(rc));
    ck_assert_msg(!mine == !!theirs->bytes, "either ours or another one's");
    free(record);
    return mine;
}

static struct zc_publication *leave(struct zc_sfile *f, int c, size_t len)
{
    struct zc_rendezvous_record theirs;
    struct zc_publication *mine = rendezvous(f, c, len, 0, &theirs);

    ck_assert_msg(mine != NULL, "a card is there");
    return mine;
}

/* Checks that this record is there; returns its number. */
static uint64_t find(struct zc_sfile *f, int c, size_t len)
{
    struct zc_rendezvous_record theirs;
    struct zc_publication *mine = rendezvous(f, 'f', 1, 0, &theirs);

    ck_assert_msg(!mine, "no card is there");
    ck_assert_uint_eq(theirs.len, len);
    expect_all(theirs.bytes, len, c, "card");
    free(theirs.bytes);
    return theirs.number;
}

static void part(struct zc_publication *mine)
{
    int rc = zc_store_withdraw(mine);

    ck_assert_msg(rc == 0, "part: %s", zc_error_text(rc));
}

/* Every length: one byte, around a piece, many pieces, the maximum. */
START_TEST(clients_find_each_other)
{
    static const size_t sizes[] = {1, ZC_MAX_RECORD_PIECE, ZC_MAX_RECORD_PIECE + 1, 100000,
                                   ZC_MAX_RECORD};
    struct zc_store *one, *two;
    struct zc_sfile *a, *b;
    struct zc_publication *mine;

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
    close_it(a); /* the record stays */
    find(b, 'x', 10);
    part(mine);
    part(leave(b, 'y', 10));
    close_it(b);
    zc_store_destroy(one);
    zc_store_destroy(two);
    rig_down(&rig);
}
END_TEST

START_TEST(a_look_leaves_nothing)
{
    struct zc_rendezvous_record theirs;
    struct zc_publication *mine, *none;
    struct zc_store *one, *two;
    struct zc_sfile *a, *b;

    rig_up(&rig, NULL, NULL);
    one = connect_to(&rig, 1);
    two = connect_to(&rig, 1);
    a = open_in(one, "/f");
    b = open_in(two, "/f");
    ck_assert_int_eq(zc_store_rendezvous(b, "job", NULL, 0, 0, &none, &theirs), 0);
    ck_assert(!none && !theirs.bytes);
    mine = leave(a, 'x', ZC_MAX_RECORD_PIECE + 1); /* which finds none */
    ck_assert_int_eq(zc_store_rendezvous(b, "job", NULL, 0, 0, &none, &theirs), 0);
    ck_assert(!none && theirs.bytes);
    ck_assert_uint_eq(theirs.len, ZC_MAX_RECORD_PIECE + 1);
    expect_all(theirs.bytes, theirs.len, 'x', "card");
    free(theirs.bytes);
    ck_assert_int_eq(zc_store_rendezvous(b, "job", NULL, 0, theirs.number, &none, &theirs), 0);
    ck_assert(!none && !theirs.bytes);
    find(b, 'x', ZC_MAX_RECORD_PIECE + 1); /* it was not replaced */
    part(mine);
    close_it(a);
    close_it(b);
    zc_store_destroy(one);
    zc_store_destroy(two);
    rig_down(&rig);
}
END_TEST

START_TEST(only_the_record_that_was_found_is_replaced)
{
    struct zc_store *one, *two;
    struct zc_sfile *a, *b;
    struct zc_publication *first, *second;
    struct zc_rendezvous_record theirs;
    uint64_t number;

    rig_up(&rig, NULL, NULL);
    one = connect_to(&rig, 1);
    two = connect_to(&rig, 1);
    a = open_in(one, "/f");
    b = open_in(two, "/f");
    first = leave(a, '1', 20000);
    number = find(b, '1', 20000);
    second = rendezvous(b, '2', 30000, number, &theirs);
    ck_assert_ptr_nonnull(second);
    ck_assert_ptr_null(rendezvous(a, '3', 10, number, &theirs)); /* too late */
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

START_TEST(a_record_goes_with_its_client)
{
    struct zc_store *one, *two;
    struct zc_sfile *a, *b;
    struct zc_publication *mine;

    rig_up(&rig, NULL, NULL);
    one = connect_to(&rig, 1);
    two = connect_to(&rig, 1);
    b = open_in(two, "/f");
    a = open_in(one, "/f");
    mine = leave(a, '1', 10);
    find(b, '1', 10);
    close_it(a);
    ck_assert(mine != NULL);
    zc_store_destroy(one); /* says BYE, and its record is gone */
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
    struct zc_publication *mine;

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

enum { RACERS = 4, LONG = 3 * ZC_MAX_RECORD_PIECE };

struct racer {
    pthread_t thread;
    pthread_barrier_t *turn;
    struct zc_sfile *file;
    unsigned rounds;
    int me;
    int seen; /* first byte of the record there; negative: rendezvous failed */
    bool won;
};

/* Each round: all at once; the judge checks; the winner withdraws its record. */
static void *run(void *arg)
{
    struct racer *r = arg;
    unsigned char record[LONG];

    memset(record, 'a' + r->me, sizeof record);
    for (unsigned i = 0; i < r->rounds; i++) {
        struct zc_publication *mine;
        struct zc_rendezvous_record theirs;

        pthread_barrier_wait(r->turn);
        r->seen = zc_store_rendezvous(r->file, "job", record, sizeof record, 0, &mine, &theirs);
        r->won = mine;
        if (r->seen == 0)
            r->seen = mine ? record[0] : *(unsigned char *)theirs.bytes;
        free(theirs.bytes);
        pthread_barrier_wait(r->turn);
        pthread_barrier_wait(r->turn);
        zc_store_withdraw(mine);
    }
    return NULL;
}

/* Threads of two processes, two each. */
START_TEST(one_of_many_wins_and_all_find_it)
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

/* ---- limits, and violations of the protocol ---- */

START_TEST(a_client_leaves_so_many_bytes)
{
    struct zc_store *s;
    struct zc_sfile *f[20];
    struct zc_publication *mine[20] = {0}, *none;
    struct zc_rendezvous_record theirs;
    unsigned char *record = calloc(1, ZC_MAX_RECORD);
    int n = 0, rc = 0;

    rig_up(&rig, NULL, NULL);
    s = connect_to(&rig, 1);
    for (; n < 20 && rc == 0; n++) {
        char name[8];

        snprintf(name, sizeof name, "/f%d", n);
        f[n] = open_in(s, name);
        rc = zc_store_rendezvous(f[n], "job", record, ZC_MAX_RECORD, 0, &mine[n], &theirs);
    }
    ck_assert_int_eq(rc, -EDQUOT);
    ck_assert_int_gt(n, 15);
    ck_assert_int_lt(n, 18);
    part(mine[0]);
    mine[0] = NULL;
    ck_assert_int_eq(zc_store_rendezvous(f[n - 1], "job", record, ZC_MAX_RECORD, 0, &none, &theirs),
                     0);
    part(none);
    for (int i = 0; i < n; i++) {
        part(mine[i]);
        close_it(f[i]);
    }
    free(record);
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
    static const unsigned char bytes[ZC_MAX_RECORD_PIECE];

    return (struct zc_msg){.type = ZC_T_RENDEZVOUS,
                           .session = session,
                           .what = ZC_RENDEZVOUS_PUBLISH,
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
    struct zc_publication *mine;
    struct zc_msg m;
    uint64_t session, handle, number;

    rig_up(&rig, NULL, NULL);
    raw_begin(60000, &session, &handle);
    answered(piece(session, handle + 1, 10, 0, 10), -EBADF);
    answered(piece(session, handle, 0, 0, 0), -EINVAL);
    answered(piece(session, handle, ZC_MAX_RECORD + ZC_SECRETBOX_EXTRA + 1, 0, 10), -EINVAL);
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
    m.what = ZC_RENDEZVOUS_READ; /* it has found none */
    answered(m, -EINVAL);

    s = connect_to(&rig, 1);
    f = open_in(s, "/f");
    mine = leave(f, 'x', 20000);
    number = find(f, 'x', 20000);
    m.what = ZC_RENDEZVOUS_WITHDRAW; /* not its own */
    m.count = number;
    answered(m, 0);
    find(f, 'x', 20000);
    answered(piece(session, handle, 10, 0, 10), 0);
    ck_assert_uint_eq(raw.last.count, number);
    ck_assert_uint_eq(raw.last.size, 20000 + ZC_SECRETBOX_EXTRA);
    ck_assert_uint_eq(raw.last.data.n, ZC_MAX_RECORD_PIECE);
    part(mine); /* the finder reads all of it */
    m.what = ZC_RENDEZVOUS_READ;
    m.off = 19000;
    answered(m, 0);
    ck_assert_uint_eq(raw.last.data.n, 1000 + ZC_SECRETBOX_EXTRA);
    m.off = 20000 + ZC_SECRETBOX_EXTRA + 1;
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

/* A client that has published a record, and has not read all of the one it found, falls silent. */
START_TEST(a_dead_client_leaves_nothing)
{
    struct zc_store *s;
    struct zc_sfile *f;
    struct zc_publication *mine = NULL;
    static const unsigned char record[10];
    unsigned char box[sizeof record + ZC_SECRETBOX_EXTRA];
    uint64_t session, handle;
    struct zc_msg m;

    rig_up(&rig, NULL, NULL);
    raw_begin(1000, &session, &handle);
    s = connect_to(&rig, 1);
    f = open_in(s, "/f");
    ck_assert_int_eq(zc_secretbox_close(&rig_secret, record, sizeof record, box), 0);
    m = piece(session, handle, sizeof box, 0, sizeof box);
    m.data.p = box;
    mine = leave(f, 'x', 20000);
    answered(m, 0); /* reads that one */
    part(mine);
    answered(m, 0); /* has published one */
    ck_assert_uint_eq(raw.last.size, 0);
    answered(m, 0); /* finds its own */
    ck_assert_uint_eq(raw.last.size, sizeof box);
    find(f, 0, sizeof record);
    do { /* the server evicts it after a second */
        struct zc_rendezvous_record theirs;

        mine = rendezvous(f, 'y', 10, 0, &theirs);
        free(theirs.bytes);
    } while (!mine && (zc_clock_sleep(10 * ZC_NS_PER_MS), true));
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

    CASE(s, "cards", 60, clients_find_each_other, a_look_leaves_nothing,
         only_the_record_that_was_found_is_replaced, a_record_goes_with_its_client,
         one_of_two_daemons_has_it);
    CASE(s, "races", 120, one_of_many_wins_and_all_find_it);
    CASE(s, "limits", 60, a_client_leaves_so_many_bytes, rubbish_is_refused,
         a_dead_client_leaves_nothing);
    zc_clock = zc_clock_sim();
    return run_suite(s);
}
