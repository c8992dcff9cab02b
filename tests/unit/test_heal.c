/* test_heal.c - the store behind daemons survives their death and return.
 *
 * Daemons are rigs, found by address files as real ones are.  A killed one sends nothing any more
 * and loses unwritten bytes; the file system, shared by all, stays.
 */
#include "config.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "rig.h"
#include "zc_clock_sim.h"
#include "zc_addrfile.h"
#include "zc_store_remote.h"
#include "zc_tp_fault.h"

enum {
    DAEMONS = 2,
    BLOCK = 32 << 10, /* more than a message carries */
    BLOCKS = 4,
    BYTES = BLOCKS * BLOCK,
    RW = ZC_OPEN_READ | ZC_OPEN_WRITE,
    NEW = RW | ZC_OPEN_CREATE,
};

static struct rig rigs[DAEMONS];
static struct zc_tp *endpoints[DAEMONS];
static bool runs[DAEMONS];
static struct zc_store *shared; /* the file system of all daemons */
static char dir[64];
static uint64_t starts;
static zc_tp_open_fn *job_transport =
    zc_tp_loop_open; /* the faulty endpoints opened last are the daemons' */

/* ---- daemons ---- */

static void path_of(unsigned i, char *path)
{
    sprintf(path, "%s/%u.addr", dir, i);
}

/* Writes the address file of the daemon. */
static void announce(unsigned i)
{
    char path[80];

    path_of(i, path);
    rig_announce(&rigs[i], path, "loop", getpid());
}

static void start_silence(unsigned i, unsigned silence_ms)
{
    rig_boot_id = 1000 * ++starts;
    rig_secret.bytes[31] = (unsigned char)starts; /* a new one each time, as with real daemons */
    rig_identity = 7 + i;
    rig_transport = zc_tp_fault_open;
    rig_up_silence(&rigs[i], NULL, borrow(shared), silence_ms);
    endpoints[i] = zc_tp_fault_last();
    runs[i] = true;
    announce(i);
}

static void start(unsigned i)
{
    start_silence(i, 0);
}

/* Like kill -9: sends and writes nothing any more. */
static void kill_daemon(unsigned i)
{
    zc_tp_fault_kill(endpoints[i]);
    zc_store_fault_set(rigs[i].store, ZC_FAULT_WRITE, 1, UINT64_MAX, EIO);
    rig_stop(&rigs[i]);
    rig_free(&rigs[i]);
    runs[i] = false;
}

static void up(void)
{
    strcpy(dir, "/tmp/zc-heal-XXXXXX");
    job_transport = zc_tp_loop_open;
    ck_assert(mkdtemp(dir) != NULL);
    ck_assert_int_eq(zc_store_mem_create(&shared), 0);
}

static void down(void)
{
    char path[80];

    for (unsigned i = 0; i < DAEMONS; i++) {
        path_of(i, path);
        unlink(path);
        if (runs[i])
            rig_down(&rigs[i]);
        runs[i] = false;
    }
    rmdir(dir);
    zc_store_destroy(shared);
}

/* ---- a job ---- */

struct job {
    struct zc_store *store;
    struct zc_sfile *file;
};

static void connect_to(struct job *j, unsigned daemons, uint64_t timeout_ms)
{
    struct zc_net_config cfg = {
        .open_transport = job_transport, .timeout_ms = timeout_ms, .name = "job"};
    char paths[200];
    int rc;

    path_of(0, paths);
    if (daemons > 1) {
        strcat(paths, ",");
        path_of(1, paths + strlen(paths));
    }
    rc = zc_store_remote_create(paths, &cfg, &j->store);
    ck_assert_msg(rc == 0, "connect: %s", zc_error_text(rc));
    j->store->lossy = false; /* nothing is kept here: the store reports losses */
    j->file = NULL;
}

static int open_with(struct job *j, unsigned flags)
{
    struct zc_attr attr = {.block_size = BLOCK};

    return zc_store_open_file(j->store, "/f", flags, 0600, &j->file, &attr);
}

static void begin(struct job *j, unsigned daemons, uint64_t timeout_ms, unsigned flags)
{
    int rc;

    connect_to(j, daemons, timeout_ms);
    rc = open_with(j, flags);
    ck_assert_msg(rc == 0, "open: %s", zc_error_text(rc));
}

static void end(struct job *j)
{
    if (j->file)
        ck_assert_int_eq(zc_store_close_file(j->file, ZC_LEVEL_STORED), 0);
    zc_store_destroy(j->store);
}

static int write_at(struct job *j, uint64_t off, size_t len, unsigned gen)
{
    static _Thread_local unsigned char buf[BYTES];
    struct iovec iov = {buf, len};
    ssize_t n;

    fill(buf, len, off, gen);
    n = zc_store_pwritev(j->file, &iov, 1, off);
    ck_assert(n < 0 || n == (ssize_t)len);
    return n < 0 ? (int)n : 0;
}

static int read_at(struct job *j, uint64_t off, size_t len, unsigned gen)
{
    static unsigned char buf[BYTES];
    struct iovec iov = {buf, len};
    ssize_t n = zc_store_preadv(j->file, &iov, 1, off);

    if (n < 0)
        return (int)n;
    ck_assert_int_eq(n, (ssize_t)len);
    expect(buf, len, off, gen);
    return 0;
}

/* Compares with the file system. */
static void is_stored(uint64_t off, size_t len, unsigned gen)
{
    struct job direct = {.store = shared};
    struct zc_attr attr = {0};

    ck_assert_int_eq(zc_store_open_file(shared, "/f", ZC_OPEN_READ, 0, &direct.file, &attr), 0);
    ck_assert_int_eq(read_at(&direct, off, len, gen), 0);
    zc_store_close_file(direct.file, ZC_LEVEL_VISIBLE);
}

static void works(int rc)
{
    ck_assert_msg(rc == 0, "%s", zc_error_text(rc));
}

static void says(int rc, const char *text)
{
    ck_assert_int_lt(rc, 0);
    ck_assert_msg(strstr(zc_error_text(rc), text) != NULL, "%s", zc_error_text(rc));
}

/* ---- */

/* At another address, under another boot id: stored bytes are there, calls succeed within two
 * seconds at the default time-out, and the file is the same. */
START_TEST(started_again_between_calls)
{
    struct zc_attr attr;
    uint64_t before;
    struct job j;

    up();
    start(0);
    begin(&j, 1, 0, NEW);
    works(write_at(&j, 0, BYTES, 1));
    works(zc_store_sync(j.file, ZC_LEVEL_STORED));
    kill_daemon(0);
    start(0);
    before = zc_now();
    works(read_at(&j, 0, BYTES, 1));
    ck_assert_uint_lt(zc_now() - before, 2000 * ZC_NS_PER_MS);
    works(write_at(&j, BLOCK, BYTES, 2));
    works(zc_store_getattr(j.file, &attr));
    ck_assert_uint_eq(attr.size, BYTES + BLOCK);
    works(zc_store_truncate(j.file, BYTES));
    works(zc_store_sync(j.file, ZC_LEVEL_STORED));
    is_stored(0, BLOCK, 1);
    is_stored(BLOCK, BYTES - BLOCK, 2);
    end(&j);
    down();
}
END_TEST

/* Without kept bytes, each sync and the close report what died with a daemon, but not for files
 * that had nothing there. */
START_TEST(what_it_had_taken_is_told)
{
    struct zc_attr attr = {.block_size = BLOCK};
    struct zc_sfile *other;
    struct job j;

    up();
    start(0);
    begin(&j, 1, 0, NEW);
    ck_assert_int_eq(zc_store_open_file(j.store, "/g", NEW, 0600, &other, &attr), 0);
    zc_store_fault_set(rigs[0].store, ZC_FAULT_WRITE, 1, UINT64_MAX, EIO);
    works(write_at(&j, 0, BLOCK, 1));
    kill_daemon(0);
    start(0);
    says(zc_store_sync(j.file, ZC_LEVEL_STORED), "/f: up to 32768 bytes are lost");
    works(write_at(&j, 0, BLOCK, 2));
    says(zc_store_sync(j.file, ZC_LEVEL_STORED), "/f: up to 32768 bytes are lost");
    works(zc_store_sync(other, ZC_LEVEL_STORED));
    works(zc_store_close_file(other, ZC_LEVEL_STORED));
    says(zc_store_close_file(j.file, ZC_LEVEL_STORED), "died before it wrote them");
    works(open_with(&j, RW)); /* already reported */
    works(read_at(&j, 0, BLOCK, 2));
    end(&j);
    down();
}
END_TEST

struct writer {
    struct job job;
    atomic_uint rounds;
    atomic_bool stop;
    unsigned last;
};

static void *write_on(void *arg)
{
    struct writer *w = arg;

    for (unsigned gen = 1; !w->stop; gen++) {
        works(write_at(&w->job, 0, BYTES, gen));
        works(read_at(&w->job, BLOCK / 2, BYTES - BLOCK, gen));
        w->last = gen;
        w->rounds++;
    }
    return NULL;
}

static void *write_once(void *arg)
{
    struct writer *w = arg;

    works(write_at(&w->job, 0, BLOCK, 1));
    return NULL;
}

/* A daemon that dies while it fetches the bytes of a write is noticed at once, and the write is
 * made again as soon as it is back. */
START_TEST(killed_in_a_transfer)
{
    struct writer w = {.stop = false};
    uint64_t before;
    pthread_t thread;

    up();
    start(0);
    begin(&w.job, 1, 0, NEW | ZC_OPEN_THROUGH);
    zc_tp_fault_set(endpoints[0], ZC_TP_FAULT_PULL, ZC_TP_FAULT_DROP, 1, UINT64_MAX);
    ck_assert_int_eq(pthread_create(&thread, NULL, write_once, &w), 0);
    WAIT_FOR(zc_tp_fault_raised(endpoints[0]) > 0);
    before = zc_now();
    kill_daemon(0);
    start(0);
    pthread_join(thread, NULL);
    ck_assert_uint_lt(zc_now() - before, 10000 * ZC_NS_PER_MS);
    is_stored(0, BLOCK, 1);
    end(&w.job);
    down();
}
END_TEST

/* Requests under way are made again; a write that has returned is in the file. */
START_TEST(started_again_during_calls)
{
    struct writer w = {.stop = false};
    pthread_t thread;

    up();
    start(0);
    start(1);
    begin(&w.job, 2, 0, NEW | ZC_OPEN_THROUGH);
    ck_assert_int_eq(pthread_create(&thread, NULL, write_on, &w), 0);
    for (unsigned i = 0; i < 4; i++) {
        unsigned before = w.rounds;

        WAIT_FOR(w.rounds >= before + 2);
        kill_daemon(i % 2);
        if (i >= 2) /* it is down for a while */
            zc_clock_sleep(300 * ZC_NS_PER_MS);
        start(i % 2);
    }
    WAIT_FOR(w.rounds >= 3);
    w.stop = true;
    pthread_join(thread, NULL);
    is_stored(0, BYTES, w.last);
    works(zc_store_sync(w.job.file, ZC_LEVEL_DURABLE)); /* nothing was lost */
    end(&w.job);
    down();
}
END_TEST

/* Calls to a dead daemon's blocks wait and fail; the other's blocks are unaffected.  The second
 * failure comes at once, and calls succeed when it is back. */
START_TEST(one_of_two_dies)
{
    uint64_t before, took;
    struct job j;

    up();
    start(0);
    start(1);
    begin(&j, 2, 3000, NEW);
    works(write_at(&j, 0, BYTES, 1));
    works(zc_store_sync(j.file, ZC_LEVEL_STORED));
    kill_daemon(1);
    before = zc_now();
    says(write_at(&j, 0, BYTES, 2), "no sign of life");
    took = (zc_now() - before) / ZC_NS_PER_MS;
    ck_assert_msg(took >= 2500 && took < 8000, "%u ms", (unsigned)took);
    before = zc_now();
    works(write_at(&j, 0, BLOCK, 3));
    works(read_at(&j, 0, BLOCK, 3));
    works(write_at(&j, 2 * BLOCK, BLOCK, 3));
    for (int i = 0; i < 20; i++)
        says(write_at(&j, BLOCK, BLOCK, 2), "no sign of life");
    ck_assert_uint_lt(zc_now() - before, 1000 * ZC_NS_PER_MS);
    says(zc_store_sync(j.file, ZC_LEVEL_STORED), "no sign of life");
    start(1);
    WAIT_FOR(write_at(&j, BLOCK, BLOCK, 4) == 0);
    works(zc_store_sync(j.file, ZC_LEVEL_STORED));
    is_stored(0, BLOCK, 3);
    is_stored(BLOCK, BLOCK, 4);
    end(&j);
    down();
}
END_TEST

/* The same daemon has evicted the client for its silence: nothing is lost or reported. */
START_TEST(dropped_by_the_same_one)
{
    struct zc_net *net;
    struct zc_client *watch;
    struct zc_tp *tp;
    struct job j;

    up();
    start_silence(0, 800);
    job_transport = zc_tp_fault_open;
    begin(&j, 1, 0, NEW);
    tp = zc_tp_fault_last();
    zc_store_fault_hold(rigs[0].store, ZC_FAULT_WRITE);
    works(write_at(&j, 0, BLOCK, 1));
    zc_tp_fault_set(tp, ZC_TP_FAULT_SEND, ZC_TP_FAULT_DROP, 1, UINT64_MAX);
    rig_transport = zc_tp_loop_open;
    net = rig_net(10000);
    watch = rig_connect(&rigs[0], net);
    WAIT_FOR(rig_stat(watch, "sessions_lost") == 1);
    zc_store_fault_release(rigs[0].store);
    works(read_at(&j, 0, BLOCK, 1));
    works(write_at(&j, BLOCK, BLOCK, 1));
    works(zc_store_sync(j.file, ZC_LEVEL_STORED));
    is_stored(0, 2 * BLOCK, 1);
    zc_client_disconnect(watch);
    zc_net_destroy(net);
    end(&j);
    down();
}
END_TEST

/* The file was replaced: the old file's bytes are not written to the new one. */
static void replaced(bool by_one_of_its_number)
{
    struct zc_attr attr = {.block_size = BLOCK};
    struct zc_sfile *another;
    struct job j;

    up();
    start(0);
    begin(&j, 1, 0, NEW);
    works(write_at(&j, 0, BLOCK, 1));
    works(zc_store_sync(j.file, ZC_LEVEL_STORED));
    kill_daemon(0);
    works(zc_store_unlink(shared, "/f"));
    if (by_one_of_its_number)
        zc_store_mem_reuse_number(shared);
    works(zc_store_open_file(shared, "/f", NEW, 0600, &another, &attr));
    zc_store_close_file(another, ZC_LEVEL_VISIBLE);
    start(0);
    says(write_at(&j, 0, BLOCK, 2), "/f was replaced while its daemon was away");
    says(zc_store_sync(j.file, ZC_LEVEL_STORED), "/f was replaced");
    works(zc_store_close_file(j.file, ZC_LEVEL_STORED)); /* its bytes are all in the old file */
    j.file = NULL;
    works(zc_store_stat(shared, "/f", &attr));
    ck_assert_uint_eq(attr.size, 0);
    end(&j);
    down();
}

START_TEST(a_file_that_was_replaced)
{
    replaced(false);
}
END_TEST

START_TEST(a_file_that_was_replaced_by_one_of_its_number)
{
    replaced(true);
}
END_TEST

/* The set of daemons is the same after a death: old and new clients share a file. */
START_TEST(the_set_stays)
{
    struct job j, k;

    up();
    start(0);
    start(1);
    begin(&j, 2, 0, NEW);
    works(write_at(&j, 0, BYTES, 1));
    works(zc_store_sync(j.file, ZC_LEVEL_STORED));
    kill_daemon(0);
    start(0);
    begin(&k, 2, 0, RW);
    works(read_at(&k, 0, BYTES, 1));
    works(read_at(&j, 0, BYTES, 1));
    end(&j);
    end(&k);
    down();
}
END_TEST

/* The rendezvous record of an owner set is published again. */
START_TEST(records_are_left_again)
{
    struct zc_publication *mine, *other = NULL;
    struct zc_rendezvous_record theirs = {0};
    struct zc_net *net;
    struct zc_client *watch;
    struct zc_attr attr;
    unsigned asked = 0;
    struct job j, k;

    up();
    start(0);
    begin(&j, 1, 0, NEW);
    works(zc_store_rendezvous(j.file, "job", "card", 5, 0, &mine, &theirs));
    ck_assert(mine != NULL);
    kill_daemon(0);
    start(0);
    works(zc_store_getattr(j.file, &attr));
    rig_transport = zc_tp_loop_open;
    net = rig_net(10000);
    watch = rig_connect(&rigs[0], net);
    /* GETATTR, and OPEN before it; OPEN, RENDEZVOUS, CLOSE */
    WAIT_FOR((asked++, rig_stat(watch, "requests") - asked >= 5));
    zc_client_disconnect(watch);
    zc_net_destroy(net);
    begin(&k, 1, 0, RW);
    works(zc_store_rendezvous(k.file, "job", "other", 6, 0, &other, &theirs));
    ck_assert(other == NULL);
    ck_assert_str_eq(theirs.bytes, "card");
    free(theirs.bytes);
    works(zc_store_withdraw(mine));
    works(zc_store_rendezvous(k.file, "job", "other", 6, 0, &other, &theirs));
    ck_assert(other != NULL);
    works(zc_store_withdraw(other));
    end(&j);
    end(&k);
    down();
}
END_TEST

/* An open and the calls by name wait as well; an exclusive creation without a reply is not
 * repeated. */
START_TEST(calls_by_name)
{
    struct zc_attr attr;
    struct job j;

    up();
    start(0);
    begin(&j, 1, 0, NEW);
    kill_daemon(0);
    start(0);
    works(zc_store_stat(j.store, "/f", &attr));
    kill_daemon(0);
    start(0);
    works(zc_store_ping(j.store));
    kill_daemon(0);
    start(0);
    says(zc_store_unlink(j.store, "/f"), "/f may be deleted or not");
    works(zc_store_close_file(j.file, ZC_LEVEL_STORED));
    kill_daemon(0);
    start(0);
    works(open_with(&j, RW));
    works(zc_store_close_file(j.file, ZC_LEVEL_STORED));
    works(zc_store_unlink(j.store, "/f"));
    kill_daemon(0);
    start(0);
    says(open_with(&j, NEW | ZC_OPEN_EXCL), "may have been created or not");
    works(open_with(&j, NEW));
    end(&j);
    down();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("heal");

    zc_log_init(NULL);
    zc_clock = zc_clock_sim();
    CASE(s, "again", 60, started_again_between_calls, what_it_had_taken_is_told,
         killed_in_a_transfer, started_again_during_calls, one_of_two_dies,
         dropped_by_the_same_one);
    CASE(s, "files", 60, a_file_that_was_replaced, a_file_that_was_replaced_by_one_of_its_number,
         the_set_stays, records_are_left_again, calls_by_name);
    return run_suite(s);
}
