/* test_meet.c - cards at files: of a store in memory, and of processes of one host. */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check_main.h"
#include "zc_log.h"
#include "zc_store_fault.h"
#include "zc_store_mem.h"
#include "zc_store_posix.h"

enum { NEW = ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE };

static char dir[64]; /* for files, and the user's runtime directory */
static struct zc_store *store;

static const char *in(const char *name)
{
    static char buf[4][PATH_MAX];
    static unsigned n;
    char *p = buf[n++ % 4];

    snprintf(p, PATH_MAX, "%s/%s", dir, name);
    return p;
}

static void up(bool posix)
{
    strcpy(dir, "/tmp/zc-test-meet-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    ck_assert_int_eq(setenv("XDG_RUNTIME_DIR", dir, 1), 0);
    ck_assert_int_eq(posix ? zc_store_posix_create(NULL, &store) : zc_store_mem_create(&store), 0);
}

static void up_posix(void)
{
    up(true);
}

static void down(void)
{
    char cmd[128];

    zc_store_destroy(store);
    snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
    ck_assert_int_eq(system(cmd), 0);
}

static struct zc_sfile *open_in(struct zc_store *s, const char *name)
{
    struct zc_attr attr = {0};
    struct zc_sfile *f;
    int rc = zc_store_open_file(s, in(name), NEW, 0600, &f, &attr);

    ck_assert_msg(rc == 0, "open: %s", zc_error_text(rc));
    return f;
}

static void close_it(struct zc_sfile *f)
{
    ck_assert_int_eq(zc_store_close_file(f, ZC_LEVEL_VISIBLE), 0);
}

/* Leaves a card; NULL: another one is there, *theirs. */
static struct zc_seat *meet(struct zc_sfile *f, const char *job, const char *card,
                            uint64_t replaces, struct zc_card *theirs)
{
    struct zc_seat *mine;
    int rc = zc_store_meet(f, job, card, strlen(card) + 1, replaces, &mine, theirs);

    ck_assert_msg(rc == 0, "meet: %s", zc_error_text(rc));
    ck_assert_msg(!mine == !!theirs->bytes, "either ours or somebody's");
    return mine;
}

static void leave(struct zc_sfile *f, const char *job, const char *card, struct zc_seat **mine)
{
    struct zc_card theirs;

    *mine = meet(f, job, card, 0, &theirs);
    ck_assert_msg(*mine != NULL, "%s's card is there", (char *)theirs.bytes);
}

/* The card `expected` lies there; its number. */
static uint64_t find(struct zc_sfile *f, const char *job, const char *expected)
{
    struct zc_card theirs;
    struct zc_seat *mine = meet(f, job, "finder", 0, &theirs);
    uint64_t number = theirs.number;

    ck_assert_msg(!mine, "nobody's card is there");
    ck_assert_str_eq(theirs.bytes, expected);
    ck_assert_uint_eq(theirs.len, strlen(expected) + 1);
    ck_assert_uint_ne(number, 0);
    free(theirs.bytes);
    return number;
}

static void part(struct zc_seat *mine)
{
    int rc = zc_store_part(mine);

    ck_assert_msg(rc == 0, "part: %s", zc_error_text(rc));
}

/* Files in the directory for cards but the guard. */
static unsigned cards_left(void)
{
    DIR *d = opendir(in("zcache"));
    struct dirent *e;
    unsigned n = 0;

    ck_assert_ptr_nonnull(d);
    while ((e = readdir(d)))
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

/* ---- what every store promises ---- */

START_TEST(the_second_finds_the_first)
{
    struct zc_sfile *a, *b;
    struct zc_seat *mine, *other;

    up(_i);
    a = open_in(store, "f");
    b = open_in(store, "f");
    leave(a, "job", "first", &mine);
    find(b, "job", "first");
    find(a, "job", "first");        /* its own process, too */
    leave(b, "job 2", "x", &other); /* another job does not */
    find(a, "job 2", "x");
    part(other);
    close_it(a); /* the card stays */
    find(b, "job", "first");
    part(mine);
    leave(b, "job", "second", &mine);
    part(mine);
    close_it(b);
    down();
}
END_TEST

START_TEST(only_the_card_that_was_found_is_replaced)
{
    struct zc_sfile *f;
    struct zc_seat *first, *second, *third;
    struct zc_card theirs;
    uint64_t number;

    up(_i);
    f = open_in(store, "f");
    leave(f, "job", "first", &first);
    number = find(f, "job", "first");
    second = meet(f, "job", "second", number, &theirs);
    ck_assert_ptr_nonnull(second);
    third = meet(f, "job", "third", number, &theirs); /* too late */
    ck_assert_ptr_null(third);
    ck_assert_str_eq(theirs.bytes, "second");
    ck_assert_uint_ne(theirs.number, number);
    free(theirs.bytes);
    part(first); /* not the second's */
    find(f, "job", "second");
    part(second);
    third = meet(f, "job", "third", number, &theirs); /* nobody's: no number is needed */
    ck_assert_ptr_nonnull(third);
    part(third);
    close_it(f);
    down();
}
END_TEST

START_TEST(cards_of_every_length)
{
    static const size_t sizes[] = {1, 7, 4096, 100001, ZC_MAX_CARD};
    unsigned char *card = malloc(ZC_MAX_CARD + 1);
    char job[ZC_MAX_JOB + 2];
    struct zc_sfile *f;
    struct zc_seat *mine, *none;
    struct zc_card theirs;

    up(_i);
    f = open_in(store, "f");
    memset(job, 'j', sizeof job);
    job[ZC_MAX_JOB] = 0;
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        memset(card, 'a' + (int)i, ZC_MAX_CARD + 1);
        ck_assert_int_eq(zc_store_meet(f, job, card, sizes[i], 0, &mine, &theirs), 0);
        ck_assert_ptr_nonnull(mine);
        ck_assert_int_eq(zc_store_meet(f, job, "x", 1, 0, &none, &theirs), 0);
        ck_assert_ptr_null(none);
        ck_assert_uint_eq(theirs.len, sizes[i]);
        expect_all(theirs.bytes, sizes[i], 'a' + (int)i, "card");
        free(theirs.bytes);
        part(mine);
    }
    ck_assert_int_eq(zc_store_meet(f, job, card, ZC_MAX_CARD + 1, 0, &mine, &theirs), -EMSGSIZE);
    ck_assert_int_eq(zc_store_meet(f, job, card, 0, 0, &mine, &theirs), -EMSGSIZE);
    ck_assert_int_eq(zc_store_meet(f, "", card, 1, 0, &mine, &theirs), -EINVAL);
    job[ZC_MAX_JOB] = 'j';
    job[ZC_MAX_JOB + 1] = 0;
    ck_assert_int_eq(zc_store_meet(f, job, card, 1, 0, &mine, &theirs), -EINVAL);
    free(card);
    close_it(f);
    down();
}
END_TEST

START_TEST(a_store_can_fail_to_meet)
{
    struct zc_store *fault;
    struct zc_seat *mine;
    struct zc_card theirs;
    struct zc_sfile *f;

    up(false);
    ck_assert_int_eq(zc_store_fault_create(store, &fault), 0);
    store = fault;
    f = open_in(fault, "f");
    zc_store_fault_set(fault, ZC_FAULT_MEET, 1, 1, EIO);
    ck_assert_int_eq(zc_store_meet(f, "job", "x", 1, 0, &mine, &theirs), -EIO);
    ck_assert_ptr_null(mine);
    leave(f, "job", "first", &mine);
    close_it(f);
    part(mine);
    down();
}
END_TEST

/* ---- files of a directory tree ---- */

START_TEST(a_card_is_the_files_and_not_its_names)
{
    struct zc_sfile *a, *b, *c;
    struct zc_seat *mine, *other;

    up_posix();
    a = open_in(store, "f");
    leave(a, "job", "first", &mine);
    ck_assert_int_eq(link(in("f"), in("g")), 0);
    b = open_in(store, "g");
    find(b, "job", "first");
    ck_assert_int_eq(unlink(in("f")), 0);
    c = open_in(store, "f"); /* a new one of this name */
    leave(c, "job", "other", &other);
    part(other);
    part(mine);
    ck_assert_uint_eq(cards_left(), 0);
    close_it(a);
    close_it(b);
    close_it(c);
    down();
}
END_TEST

/* In a child: opens a store of its own, leaves a card, says so, and waits to be killed. */
static pid_t start_holder(const char *name)
{
    int said[2];
    char c;
    pid_t pid;

    ck_assert_int_eq(pipe(said), 0);
    pid = fork();
    if (pid == 0) {
        struct zc_attr attr = {0};
        struct zc_sfile *f;
        struct zc_store *s;
        struct zc_seat *mine;
        struct zc_card theirs;

        if (zc_store_posix_create(NULL, &s) || zc_store_open_file(s, name, NEW, 0600, &f, &attr) ||
            zc_store_meet(f, "job", "holder", 7, 0, &mine, &theirs) || !mine ||
            write(said[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    close(said[1]);
    ck_assert_int_eq(read(said[0], &c, 1), 1);
    close(said[0]);
    return pid;
}

static void end(pid_t pid, int sig)
{
    int status;

    ck_assert_int_eq(kill(pid, sig), 0);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
}

START_TEST(a_dead_process_holds_nothing)
{
    struct zc_sfile *f;
    struct zc_seat *mine;
    pid_t pid;

    up_posix();
    f = open_in(store, "f");
    pid = start_holder(in("f"));
    find(f, "job", "holder");
    end(pid, SIGKILL);
    ck_assert_uint_eq(cards_left(), 1);
    leave(f, "job", "second", &mine);
    find(f, "job", "second");
    part(mine);
    ck_assert_uint_eq(cards_left(), 0);
    close_it(f);
    down();
}
END_TEST

START_TEST(a_process_that_does_not_answer_is_replaced)
{
    struct zc_sfile *f;
    struct zc_seat *mine;
    struct zc_card theirs;
    uint64_t number;
    pid_t pid;

    up_posix();
    f = open_in(store, "f");
    pid = start_holder(in("f"));
    number = find(f, "job", "holder");
    ck_assert_int_eq(kill(pid, SIGSTOP), 0);
    mine = meet(f, "job", "second", number, &theirs);
    ck_assert_ptr_nonnull(mine);
    end(pid, SIGKILL);
    find(f, "job", "second");
    part(mine);
    close_it(f);
    down();
}
END_TEST

/* Cards of dead processes at files that nobody opens any more go when another is left. */
START_TEST(what_the_dead_have_left_is_removed)
{
    struct zc_sfile *f;
    struct zc_seat *mine;
    pid_t alive;

    up_posix();
    end(start_holder(in("a")), SIGKILL);
    end(start_holder(in("b")), SIGKILL);
    alive = start_holder(in("c"));
    f = open_in(store, "f");
    leave(f, "job", "first", &mine);
    ck_assert_uint_eq(cards_left(), 2);
    part(mine);
    close_it(f);
    f = open_in(store, "c");
    find(f, "job", "holder");
    close_it(f);
    end(alive, SIGKILL);
    down();
}
END_TEST

/* ---- races of processes ---- */

enum { RACERS = 4 };

/* Shared with children. */
struct course {
    pthread_barrier_t turn;
    uint64_t replaces; /* by all of them */
    bool won[RACERS];
    int rc[RACERS];
    char seen[RACERS][32];
};

static struct course *course_new(void)
{
    struct course *c =
        mmap(NULL, sizeof *c, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_barrierattr_t a;

    ck_assert_ptr_ne(c, MAP_FAILED);
    pthread_barrierattr_init(&a);
    pthread_barrierattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
    ck_assert_int_eq(pthread_barrier_init(&c->turn, &a, RACERS + 1), 0);
    return c;
}

/* Each round: all at once; the judge looks; who has won takes his card back. */
static void race(struct course *c, int me, unsigned rounds)
{
    struct zc_attr attr = {0};
    struct zc_sfile *f;
    struct zc_store *s;
    int rc = zc_store_posix_create(NULL, &s);

    if (rc == 0)
        rc = zc_store_open_file(s, in("f"), NEW, 0600, &f, &attr);
    for (unsigned i = 0; i < rounds; i++) {
        struct zc_seat *mine = NULL;
        struct zc_card theirs = {0};
        char card[32];

        pthread_barrier_wait(&c->turn);
        snprintf(card, sizeof card, "racer %d round %u", me, i);
        if (rc == 0)
            rc = zc_store_meet(f, "job", card, sizeof card, c->replaces, &mine, &theirs);
        c->rc[me] = rc;
        c->won[me] = mine;
        if (rc == 0)
            memcpy(c->seen[me], mine ? card : theirs.bytes, sizeof card);
        free(theirs.bytes);
        pthread_barrier_wait(&c->turn);
        pthread_barrier_wait(&c->turn); /* the judge has looked */
        if (rc == 0)
            rc = zc_store_part(mine);
    }
    _exit(rc ? 1 : 0);
}

static void judge(const struct course *c)
{
    unsigned winners = 0;

    for (int i = 0; i < RACERS; i++) {
        ck_assert_int_eq(c->rc[i], 0);
        winners += c->won[i];
        if (strcmp(c->seen[i], c->seen[0]))
            ck_abort_msg("one sees %s, another %s", c->seen[i], c->seen[0]);
    }
    if (winners != 1)
        ck_abort_msg("%u winners", winners);
}

static void start_racers(struct course *c, pid_t *pids, unsigned rounds)
{
    for (int i = 0; i < RACERS; i++) {
        pids[i] = fork();
        if (pids[i] == 0)
            race(c, i, rounds);
    }
}

static void end_racers(const pid_t *pids)
{
    for (int i = 0; i < RACERS; i++) {
        int status;

        ck_assert_int_eq(waitpid(pids[i], &status, 0), pids[i]);
        ck_assert_int_eq(status, 0);
    }
}

START_TEST(of_many_one_wins_and_all_know_him)
{
    unsigned rounds = cases(1000);
    struct course *c;
    pid_t pids[RACERS];

    up_posix();
    c = course_new();
    start_racers(c, pids, rounds);
    for (unsigned i = 0; i < rounds; i++) {
        pthread_barrier_wait(&c->turn);
        pthread_barrier_wait(&c->turn);
        judge(c);
        pthread_barrier_wait(&c->turn);
    }
    end_racers(pids);
    ck_assert_uint_eq(cards_left(), 0);
    down();
}
END_TEST

/* The same, where a card lies that all of them replace: of one that lives, or that dies now. */
START_TEST(of_many_who_replace_one_wins)
{
    unsigned rounds = cases(100);
    struct course *c;
    struct zc_sfile *f;
    pid_t pids[RACERS];

    up_posix();
    f = open_in(store, "f");
    c = course_new();
    start_racers(c, pids, rounds);
    for (unsigned i = 0; i < rounds; i++) {
        pid_t holder;
        bool first;

        /* Those of the last round take theirs back on their way to the next turn. */
        do {
            struct zc_card theirs;
            struct zc_seat *mine = meet(f, "job", "probe", 0, &theirs);

            first = mine;
            free(theirs.bytes);
            part(mine);
        } while (!first);
        holder = start_holder(in("f"));
        c->replaces = find(f, "job", "holder");
        pthread_barrier_wait(&c->turn);
        if (i % 2)
            end(holder, SIGKILL);
        pthread_barrier_wait(&c->turn);
        judge(c);
        pthread_barrier_wait(&c->turn);
        if (i % 2 == 0)
            end(holder, SIGKILL);
    }
    end_racers(pids);
    ck_assert_uint_eq(cards_left(), 0);
    close_it(f);
    down();
}
END_TEST

/* ---- what is not trusted ---- */

static void refused(int err, const char *word)
{
    struct zc_sfile *f = open_in(store, "f");
    struct zc_seat *mine;
    struct zc_card theirs;
    int rc = zc_store_meet(f, "job", "x", 1, 0, &mine, &theirs);

    ck_assert_int_eq(rc, -err);
    ck_assert_ptr_null(mine);
    ck_assert_ptr_null(theirs.bytes);
    ck_assert_msg(strstr(zc_error_text(rc), word), "%s", zc_error_text(rc));
    close_it(f);
}

START_TEST(a_directory_that_others_may_use_is_refused)
{
    up_posix();
    ck_assert_int_eq(mkdir(in("zcache"), 0700), 0);
    ck_assert_int_eq(chmod(in("zcache"), 0750), 0);
    refused(EPERM, "mode 0700");
    ck_assert_int_eq(chmod(in("zcache"), 0777), 0);
    refused(EPERM, "mode 0700");
    ck_assert_int_eq(chmod(in("zcache"), 0700), 0);
    if (geteuid() == 0) {
        ck_assert_int_eq(chown(in("zcache"), 1, 1), 0);
        refused(EPERM, "another user");
    } else {
        puts("a directory of another user: not tried, which only root can");
    }
    down();
}
END_TEST

START_TEST(links_are_not_followed)
{
    char *name = NULL;
    struct zc_sfile *f;
    struct zc_seat *mine;
    struct dirent *e;
    struct stat st;
    DIR *d;

    up_posix();
    ck_assert_int_eq(mkdir(in("elsewhere"), 0700), 0);
    ck_assert_int_eq(symlink(in("elsewhere"), in("zcache")), 0);
    refused(ENOTDIR, "zcache");
    ck_assert_int_eq(unlink(in("zcache")), 0);

    f = open_in(store, "f");
    leave(f, "job", "first", &mine); /* to learn the card's name */
    d = opendir(in("zcache"));
    while ((e = readdir(d)))
        if (e->d_name[0] != '.')
            ck_assert_int_gt(asprintf(&name, "zcache/%s", e->d_name), 0);
    closedir(d);
    part(mine);
    ck_assert_int_eq(symlink(in("elsewhere/victim"), in(name)), 0);
    refused(ELOOP, "card");
    ck_assert_int_eq(stat(in("elsewhere/victim"), &st), -1);
    ck_assert_int_eq(unlink(in(name)), 0);

    ck_assert_int_eq(unlink(in("zcache/.guard")), 0);
    ck_assert_int_eq(symlink(in("elsewhere/victim"), in("zcache/.guard")), 0);
    refused(ELOOP, "guard");
    ck_assert_int_eq(stat(in("elsewhere/victim"), &st), -1);
    free(name);
    close_it(f);
    down();
}
END_TEST

/* Left over from another user's environment: then the other place is taken. */
START_TEST(the_runtime_directory_of_others_is_not_used)
{
    struct zc_sfile *f;
    struct zc_seat *mine;
    struct stat st;

    up_posix();
    ck_assert_int_eq(mkdir(in("run"), 0777), 0);
    ck_assert_int_eq(chmod(in("run"), 0777), 0);
    ck_assert_int_eq(setenv("XDG_RUNTIME_DIR", in("run"), 1), 0);
    f = open_in(store, "f");
    leave(f, "job", "first", &mine);
    find(f, "job", "first");
    ck_assert_int_eq(stat(in("run/zcache"), &st), -1);
    part(mine);
    ck_assert_int_eq(unsetenv("XDG_RUNTIME_DIR"), 0);
    leave(f, "job", "first", &mine);
    part(mine);
    close_it(f);
    down();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("meet");
    TCase *both = tcase_create("every store");

    tcase_set_timeout(both, 60);
    tcase_add_loop_test(both, the_second_finds_the_first, 0, 2);
    tcase_add_loop_test(both, only_the_card_that_was_found_is_replaced, 0, 2);
    tcase_add_loop_test(both, cards_of_every_length, 0, 2);
    tcase_add_test(both, a_store_can_fail_to_meet);
    suite_add_tcase(s, both);
    CASE(s, "processes", 60, a_card_is_the_files_and_not_its_names, a_dead_process_holds_nothing,
         a_process_that_does_not_answer_is_replaced, what_the_dead_have_left_is_removed);
    CASE(s, "races", 120, of_many_one_wins_and_all_know_him, of_many_who_replace_one_wins);
    CASE(s, "trust", 60, a_directory_that_others_may_use_is_refused, links_are_not_followed,
         the_runtime_directory_of_others_is_not_used);
    return run_suite(s);
}
