/* test_rendezvous_race.c - processes that open a file at the same time: one publishes its
 * record. */
#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>

#include "rendezvous_rig.h"

enum { RACERS = 4 };

/* Shared with children. */
struct course {
    pthread_barrier_t turn;
    uint64_t replaces; /* by all processes */
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

/* Each round: all at once; the judge checks; the winner withdraws its record. */
static void race(struct course *c, int me, unsigned rounds)
{
    struct zc_attr attr = {0};
    struct zc_sfile *f;
    struct zc_store *s;
    int rc = zc_store_posix_create(NULL, &s);

    if (rc == 0)
        rc = zc_store_open_file(s, in("f"), NEW, 0600, &f, &attr);
    for (unsigned i = 0; i < rounds; i++) {
        struct zc_publication *mine = NULL;
        struct zc_rendezvous_record theirs = {0};
        char record[32];

        pthread_barrier_wait(&c->turn);
        snprintf(record, sizeof record, "racer %d round %u", me, i);
        if (rc == 0)
            rc = zc_store_rendezvous(f, "job", record, sizeof record, c->replaces, &mine, &theirs);
        c->rc[me] = rc;
        c->won[me] = mine;
        if (rc == 0)
            memcpy(c->seen[me], mine ? record : theirs.bytes, sizeof record);
        free(theirs.bytes);
        pthread_barrier_wait(&c->turn);
        pthread_barrier_wait(&c->turn); /* the judge has checked */
        if (rc == 0)
            rc = zc_store_withdraw(mine);
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

START_TEST(one_of_many_wins_and_all_find_it)
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
    ck_assert_uint_eq(records_left(), 0);
    down();
}
END_TEST

/* The same with a record that all of them replace, of a process that lives, or that dies now. */
START_TEST(one_of_many_replacements_wins)
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

        /* The winner of the last round withdraws on its way to the next one. */
        do {
            struct zc_rendezvous_record theirs;
            struct zc_publication *mine = rendezvous(f, "job", "probe", 0, &theirs);

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
    ck_assert_uint_eq(records_left(), 0);
    close_it(f);
    down();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("meet at a time");

    CASE(s, "races", 120, one_of_many_wins_and_all_find_it, one_of_many_replacements_wins);
    return run_suite(s);
}
