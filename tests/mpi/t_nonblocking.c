/*
 * Nonblocking and split collective accesses.
 *
 *     t_nonblocking FILE             hundreds under way on several files, of every kind
 *     t_nonblocking FILE PID         the same while nothing moves: the daemon, process PID, is
 *                                    stopped, then goes on; in the end it is killed
 *
 * A request makes progress while its program makes no MPI call, and MPI_Test never waits.
 */
#include <sched.h>
#include <signal.h>

#include "t_mpiio.h"

enum { FILES = 3, EACH = 100, INTS = 256, BYTES = INTS * (int)sizeof(int) };

static int out[FILES][EACH][INTS], in[FILES][EACH][2 * INTS];
static MPI_File fh[FILES];
static MPI_Request requests[FILES * EACH];

static int stamp(int rank, int file, int i, int k)
{
    return rank << 24 ^ file << 20 ^ i << 10 ^ k;
}

static MPI_Offset place(int rank, int i)
{
    return ((MPI_Offset)i * t_size + rank) * BYTES;
}

static void open_files(const char *name, int more)
{
    char one[2000];

    for (int f = 0; f < FILES; f++) {
        snprintf(one, sizeof one, "%s.%d", name, f);
        OK(MPI_File_open(MPI_COMM_WORLD, one, MPI_MODE_CREATE | MPI_MODE_RDWR | more, MPI_INFO_NULL,
                         &fh[f]));
    }
}

static void close_files(void)
{
    for (int f = 0; f < FILES; f++)
        OK(MPI_File_close(&fh[f]));
}

/* Starts an access; every third through a type that is freed at once. */
static void start(int f, int i, int write)
{
    MPI_Request *r = &requests[f * EACH + i];
    MPI_Offset at = place(t_rank, i);
    MPI_Datatype spread;

    if (write && i % 3 == 1) {
        OK(MPI_File_seek(fh[f], at, MPI_SEEK_SET));
        OK(MPI_File_iwrite(fh[f], out[f][i], BYTES, MPI_BYTE, r));
    } else if (write && i % 3 == 2) {
        OK(MPI_File_iwrite_at_all(fh[f], at, out[f][i], INTS, MPI_INT, r));
    } else if (write) {
        OK(MPI_File_iwrite_at(fh[f], at, out[f][i], INTS, MPI_INT, r));
    } else if (i % 3 == 1) {
        OK(MPI_Type_vector(INTS, 1, 2, MPI_INT, &spread));
        OK(MPI_Type_commit(&spread));
        OK(MPI_File_iread_at(fh[f], at, in[f][i], 1, spread, r));
        OK(MPI_Type_free(&spread));
    } else if (i % 3 == 2) {
        OK(MPI_File_iread_at_all(fh[f], at, in[f][i], INTS, MPI_INT, r));
    } else {
        OK(MPI_File_iread_at(fh[f], at, in[f][i], BYTES, MPI_BYTE, r));
    }
}

static void start_all(int write)
{
    for (int i = 0; i < EACH; i++)
        for (int f = 0; f < FILES; f++)
            start(f, i, write);
}

static void check_count(MPI_Status *status)
{
    int n;

    OK(MPI_Get_count(status, MPI_BYTE, &n));
    CHECK(n == BYTES);
    OK(MPI_Test_cancelled(status, &n));
    CHECK(!n);
}

/* Completes everything, in one of the ways there are. */
static void finish_all(int how)
{
    static MPI_Status status[FILES * EACH];
    static int which[FILES * EACH];
    int n = FILES * EACH, left = n, done, one;

    switch (how) {
    case 0:
        OK(MPI_Waitall(n, requests, status));
        for (int i = 0; i < n; i++)
            check_count(&status[i]);
        return;
    case 1:
        for (done = 0; !done;)
            OK(MPI_Testall(n, requests, &done, status));
        for (int i = 0; i < n; i++)
            check_count(&status[i]);
        return;
    case 2:
        for (; left; left -= done) {
            OK(MPI_Testsome(n, requests, &done, which, status));
            for (int i = 0; i < done; i++)
                check_count(&status[i]);
        }
        return;
    case 3:
        for (; left; left--) {
            OK(MPI_Waitany(n, requests, &one, status));
            check_count(status);
        }
        return;
    default:
        while (left--) /* the last one first */
            for (done = 0; !done;) {
                OK(MPI_Test(&requests[left], &done, status));
                if (done)
                    check_count(status);
            }
    }
}

static void compare(void)
{
    int bad = 0;

    for (int f = 0; f < FILES; f++)
        for (int i = 0; i < EACH; i++)
            for (int k = 0; k < INTS; k++) {
                bad += in[f][i][i % 3 == 1 ? 2 * k : k] != out[f][i][k];
                bad += i % 3 == 1 && in[f][i][2 * k + 1] != -1;
            }
    CHECK(bad == 0);
}

static void many(const char *name)
{
    for (int f = 0; f < FILES; f++)
        for (int i = 0; i < EACH; i++)
            for (int k = 0; k < INTS; k++)
                out[f][i][k] = stamp(t_rank, f, i, k);
    open_files(name, MPI_MODE_DELETE_ON_CLOSE);
    for (int how = 0; how < 5; how++) {
        start_all(1);
        finish_all(how);
        memset(in, -1, sizeof in);
        start_all(0);
        finish_all((how + 1) % 5);
        compare();
        for (int f = 0; f < FILES; f++)
            OK(MPI_File_set_size(fh[f], 0));
    }
    close_files();
}

/* The bytes arrive though no MPI call is made; then the request is done at once. */
static void on_its_own(const char *name)
{
    MPI_Status status;
    MPI_Request r;
    volatile int *last = &in[0][0][INTS - 1];
    int done = 0;

    open_files(name, MPI_MODE_DELETE_ON_CLOSE);
    OK(MPI_File_write_at(fh[0], place(t_rank, 0), out[0][0], INTS, MPI_INT, &status));
    memset(in[0][0], -1, BYTES);
    OK(MPI_File_iread_at(fh[0], place(t_rank, 0), in[0][0], INTS, MPI_INT, &r));
    while (*last == -1)
        sched_yield();
    while (!done)
        OK(MPI_Test(&r, &done, &status));
    check_count(&status);
    CHECK(!memcmp(in[0][0], out[0][0], BYTES));
    close_files();
}

/* Cancelling has no effect, a request may be freed without being waited for, and it does not need
 * the file once that is closed, though a program should not do so. */
static void abandoned(const char *name)
{
    MPI_Status status;
    MPI_Request r, late;

    open_files(name, 0);
    OK(MPI_File_iwrite_at(fh[0], place(t_rank, 0), out[0][0], INTS, MPI_INT, &r));
    OK(MPI_Cancel(&r));
    OK(MPI_Wait(&r, &status));
    check_count(&status);
    OK(MPI_File_iwrite_at(fh[0], place(t_rank, 1), out[0][1], INTS, MPI_INT, &r));
    OK(MPI_Request_free(&r));
    OK(MPI_File_iwrite_at(fh[1], place(t_rank, 2), out[0][2], INTS, MPI_INT, &late));
    close_files(); /* of what is under way, close waits for the end */
    OK(MPI_Wait(&late, &status));
    check_count(&status);
    open_files(name, MPI_MODE_DELETE_ON_CLOSE);
    memset(in[0][0], -1, BYTES);
    OK(MPI_File_read_at(fh[0], place(t_rank, 0), in[0][0], INTS, MPI_INT, &status));
    CHECK(!memcmp(in[0][0], out[0][0], BYTES));
    OK(MPI_File_read_at(fh[0], place(t_rank, 1), in[0][0], INTS, MPI_INT, &status));
    CHECK(!memcmp(in[0][0], out[0][1], BYTES));
    close_files();
}

static void split(const char *name)
{
    MPI_Status status;
    MPI_Datatype spread;

    open_files(name, MPI_MODE_DELETE_ON_CLOSE);
    for (int f = 0; f < FILES; f++) /* one on each file at a time, all under way together */
        OK(MPI_File_write_at_all_begin(fh[f], place(t_rank, f), out[f][0], INTS, MPI_INT));
    for (int f = 0; f < FILES; f++) {
        OK(MPI_File_write_at_all_end(fh[f], out[f][0], &status));
        check_count(&status);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    memset(in, -1, sizeof in);
    OK(MPI_Type_vector(INTS, 1, 2, MPI_INT, &spread));
    OK(MPI_Type_commit(&spread));
    for (int f = 0; f < FILES; f++) {
        OK(MPI_File_seek(fh[f], place(t_rank, f), MPI_SEEK_SET));
        OK(MPI_File_read_all_begin(fh[f], in[f][1], 1, spread));
        CHECK(t_class(MPI_File_read_all_begin(fh[f], in[f][1], 1, spread)) == MPI_ERR_IO);
    }
    OK(MPI_Type_free(&spread));
    for (int f = 0; f < FILES; f++) {
        OK(MPI_File_read_all_end(fh[f], in[f][1], &status));
        check_count(&status);
        for (int k = 0; k < INTS; k++)
            CHECK(in[f][1][2 * k] == out[f][0][k] && in[f][1][2 * k + 1] == -1);
    }
    close_files();
}

/* ---- while the daemon stands still ---- */

static int calls, last_class;
static MPI_File last_file;

static void handler(MPI_File *file, int *rc, ...)
{
    last_file = *file;
    calls++;
    MPI_Error_class(*rc, &last_class);
}

static void hear_errors(void)
{
    MPI_Errhandler e;

    OK(MPI_File_create_errhandler(handler, &e));
    OK(MPI_File_set_errhandler(fh[0], e));
    OK(MPI_File_set_errhandler(fh[1], e));
    OK(MPI_Errhandler_free(&e));
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
}

static int query_nothing(void *state, MPI_Status *status)
{
    (void)state;
    MPI_Status_set_elements(status, MPI_BYTE, 0);
    return MPI_Status_set_cancelled(status, 0);
}

static int free_nothing(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int cancel_nothing(void *state, int complete)
{
    (void)state;
    (void)complete;
    return MPI_SUCCESS;
}

/* MPI_Request_get_status of Open MPI does not say that a request has failed: MPI_Wait does. */
static int ask(MPI_Request request, int *done, MPI_Status *status)
{
    int rc = MPI_Request_get_status(request, done, status);

#ifdef OPEN_MPI
    if (rc == MPI_SUCCESS && *done)
        rc = MPI_ERR_OTHER;
#endif
    return rc;
}

/* However often a request that failed is asked, the handler is called once.  MPI_Request_get_status
 * of MPICH 4.0 does not ask those that want to be polled: a test together with one that is never
 * done does, and may, or may not, leave the request. */
static void lost_once(MPI_Request *lost)
{
    MPI_Request two[2] = {*lost};
    MPI_Status status, both[2];
    int done = 0, rc = MPI_SUCCESS;

    OK(MPI_Grequest_start(query_nothing, free_nothing, cancel_nothing, NULL, &two[1]));
    while (rc == MPI_SUCCESS && !done) {
        rc = MPI_Testall(2, two, &done, both);
        if (rc == MPI_SUCCESS)
            rc = ask(two[0], &done, &status);
    }
    CHECK(rc != MPI_SUCCESS);
    for (int i = 0; i < 3 && two[0] != MPI_REQUEST_NULL; i++) {
        CHECK(ask(two[0], &done, &status) != MPI_SUCCESS);
        CHECK(done);
    }
    if (two[0] != MPI_REQUEST_NULL)
        CHECK(MPI_Wait(&two[0], &status) != MPI_SUCCESS);
    *lost = two[0];
    OK(MPI_Grequest_complete(two[1]));
    OK(MPI_Wait(&two[1], &status));
    CHECK(calls == 1 && last_class == MPI_ERR_IO && last_file == fh[0]);
}

/* The file is gone; the handler that it had is called all the same. */
static void lost_late(MPI_Request *lost)
{
    MPI_Status status;

    MPI_File_close(&fh[1]);
    calls = 0;
    CHECK(MPI_Wait(lost, &status) != MPI_SUCCESS);
    CHECK(calls == 1 && last_class == MPI_ERR_IO && last_file == MPI_FILE_NULL);
}

/* Needs the daemon: nothing of the files has been read yet. */
static void without_daemon(const char *name, pid_t daemon)
{
    MPI_Status status;
    MPI_Request r, lost, late;
    double begun;
    int done = 0;

    open_files(name, 0);
    OK(MPI_File_write_at(fh[0], 0, out[0][0], INTS, MPI_INT, &status));
    OK(MPI_File_set_size(fh[0], 64 << 20));
    OK(MPI_File_set_size(fh[1], 64 << 20));
    close_files();
    open_files(name, 0);
    hear_errors();
    kill(daemon, SIGSTOP);
    OK(MPI_File_iread_at(fh[0], 0, in[0][0], INTS, MPI_INT, &r));
    /* Often, but not for as long as a daemon may be silent: where processors are few, each test may
     * wait for one. */
    begun = MPI_Wtime();
    for (int i = 0; i < 1000 && MPI_Wtime() - begun < 1; i++) {
        OK(MPI_Test(&r, &done, &status));
        CHECK(!done);
    }
    kill(daemon, SIGCONT);
    while (!done)
        OK(MPI_Test(&r, &done, &status));
    check_count(&status);
    CHECK(!memcmp(in[0][0], out[0][0], BYTES));

    kill(daemon, SIGKILL);
    OK(MPI_File_iread_at(fh[0], 40 << 20, in[0][0], INTS, MPI_INT, &lost));
    OK(MPI_File_iread_at(fh[1], 40 << 20, in[0][1], INTS, MPI_INT, &late));
    lost_once(&lost);
    lost_late(&late);
    MPI_File_close(&fh[0]);
    MPI_File_close(&fh[2]);
}

int main(int argc, char **argv)
{
    const char *name = t_begin(argc, argv, MPI_THREAD_SINGLE);

    if (argc > 2) {
        without_daemon(name, (pid_t)atoi(argv[2]));
        return t_end("t_nonblocking");
    }
    many(name);
    on_its_own(name);
    abandoned(name);
    split(name);
    return t_end("t_nonblocking");
}
