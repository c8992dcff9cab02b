/*
 * MPI_THREAD_MULTIPLE: threads of a rank open and use files at the same time, the first opens
 * included; each with its own communicator, in collective calls; and all on one file with
 * independent calls, where each access through the individual pointer gets its own place.
 */
#include "t_mpiio.h"

#include <pthread.h>

#define THREADS 4
#define ROUNDS  20
#define N       256

static const char *base;
static MPI_File common;
static MPI_Datatype strided;
static int failures[THREADS];
static MPI_Comm comms[THREADS];
static pthread_barrier_t threads;

#define MUST(cond)                                                                                 \
    do {                                                                                           \
        if (!(cond) && failures[me]++ < 3)                                                         \
            fprintf(stderr, "%s:%d: rank %d thread %d: %s\n", __FILE__, __LINE__, t_rank, me,      \
                    #cond);                                                                        \
    } while (0)

/* Own file, own communicator over all ranks, one type for the view of all threads. */
static void *own_file(void *arg)
{
    int me = *(int *)arg, out[N], in[N], got;
    char name[4096];
    MPI_Status status;
    MPI_File fh;

    snprintf(name, sizeof(name), "%s.%d", base, me);
    for (int round = 0; round < ROUNDS; round++) {
        MUST(!MPI_File_open(comms[me], name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
        if (fh == MPI_FILE_NULL)
            break;
        MUST(!MPI_File_set_view(fh, 4 * (MPI_Offset)t_rank, MPI_INT, strided, "native",
                                MPI_INFO_NULL));
        for (int i = 0; i < N; i++)
            out[i] = round << 20 | me << 16 | t_rank << 12 | i;
        memset(in, 0, sizeof(in));
        MUST(!MPI_File_write_at_all(fh, 0, out, N, MPI_INT, &status));
        MUST(!MPI_File_read_at_all(fh, 0, in, N, MPI_INT, &status));
        MPI_Get_count(&status, MPI_INT, &got);
        MUST(got == N);
        MUST(!memcmp(in, out, sizeof(in)));
        MUST(MPI_File_read_at(fh, -1, in, 1, MPI_INT, &status) != MPI_SUCCESS);
        MUST(!MPI_File_close(&fh));
    }
    MPI_Barrier(comms[me]);
    if (t_rank == 0)
        MUST(!MPI_File_delete(name, MPI_INFO_NULL));
    return NULL;
}

/* All threads append to one file of this rank through its individual pointer. */
static void *same_file(void *arg)
{
    int me = *(int *)arg, out[N];

    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < N; i++)
            out[i] = me * ROUNDS + round;
        MUST(!MPI_File_write(common, out, N, MPI_INT, MPI_STATUS_IGNORE));
    }
    return NULL;
}

/* All threads have accesses under way on one file, each waits for its own. */
static void *under_way(void *arg)
{
    enum { MANY = 16 };
    int me = *(int *)arg, out[MANY][N], in[MANY][N], done;
    MPI_Request r[MANY];
    MPI_Status statuses[MANY];

    for (int round = 0; round < ROUNDS; round++) {
        for (int k = 0; k < MANY; k++) {
            for (int i = 0; i < N; i++)
                out[k][i] = round << 20 ^ me << 16 ^ k << 10 ^ i;
            MUST(!MPI_File_iwrite_at(common, (MPI_Offset)sizeof(out[k]) * (me * MANY + k), out[k],
                                     N, MPI_INT, &r[k]));
        }
        MUST(!MPI_Waitall(MANY, r, statuses));
        for (int k = 0; k < MANY; k++)
            MUST(!MPI_File_iread_at(common, (MPI_Offset)sizeof(out[k]) * (me * MANY + k), in[k], N,
                                    MPI_INT, &r[k]));
        for (int k = 0; k < MANY; k++)
            for (done = 0; !done;)
                MUST(!MPI_Test(&r[k], &done, MPI_STATUS_IGNORE));
        MUST(!memcmp(in, out, sizeof(in)));
    }
    return NULL;
}

/* All threads of all ranks have come. */
static void meet(int me)
{
    pthread_barrier_wait(&threads);
    if (me == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    pthread_barrier_wait(&threads);
}

/* One file, opened by all threads at the same time, by all ranks or alone: what each has written
 * is there for all of them, before it is closed. */
static void *one_file(void *arg)
{
    enum { ALL = 64 };
    int me = *(int *)arg, mine = t_rank * THREADS + me, in[ALL], out;
    char name[4096];
    MPI_File fh;

    snprintf(name, sizeof(name), "%s.one", base);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Comm comm = (round + me) % 3 ? comms[me] : MPI_COMM_SELF;

        meet(me);
        OK(MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
        out = round << 16 | mine;
        MUST(!MPI_File_write_at(fh, 4 * (MPI_Offset)mine, &out, 1, MPI_INT, MPI_STATUS_IGNORE));
        meet(me);
        memset(in, 0, sizeof(in));
        MUST(!MPI_File_read_at(fh, 0, in, t_size * THREADS, MPI_INT, MPI_STATUS_IGNORE));
        for (int i = 0; i < t_size * THREADS && i < ALL; i++)
            MUST(in[i] == (round << 16 | i));
        meet(me);
        MUST(!MPI_File_close(&fh));
    }
    meet(me);
    if (t_rank == 0 && me == 0)
        MUST(!MPI_File_delete(name, MPI_INFO_NULL));
    return NULL;
}

static void run(void *(*fn)(void *))
{
    pthread_t thread[THREADS];
    int number[THREADS];

    for (int i = 0; i < THREADS; i++) {
        number[i] = i;
        pthread_create(&thread[i], NULL, fn, &number[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
}

static void check_same_file(void)
{
    int seen[THREADS * ROUNDS] = {0}, in[N];
    MPI_Offset size;

    OK(MPI_File_get_size(common, &size));
    CHECK(size == (MPI_Offset)sizeof(in) * THREADS * ROUNDS);
    for (int k = 0; k < THREADS * ROUNDS; k++) {
        OK(MPI_File_read_at(common, k * (MPI_Offset)sizeof(in), in, N, MPI_INT, MPI_STATUS_IGNORE));
        CHECK(in[0] == in[N - 1]);
        if (in[0] >= 0 && in[0] < THREADS * ROUNDS)
            seen[in[0]]++;
    }
    for (int k = 0; k < THREADS * ROUNDS; k++)
        CHECK(seen[k] == 1);
}

int main(int argc, char **argv)
{
    char name[4096];

    base = t_begin(argc, argv, MPI_THREAD_MULTIPLE);
    for (int i = 0; i < THREADS; i++)
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
    OK(MPI_Type_vector(N, 1, t_size, MPI_INT, &strided));
    OK(MPI_Type_commit(&strided));
    run(own_file);
    pthread_barrier_init(&threads, NULL, THREADS);
    if (!strncmp(base, "zcache:", 7)) /* ROMIO's own drivers keep no order here */
        run(one_file);
    pthread_barrier_destroy(&threads);

    snprintf(name, sizeof(name), "%s.rank%d", base, t_rank);
    OK(MPI_File_open(MPI_COMM_SELF, name,
                     MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                     &common));
    run(same_file);
    check_same_file();
    if (!strncmp(base, "zcache:", 7)) /* MPICH does not survive ROMIO's own requests */
        run(under_way);
    OK(MPI_File_close(&common));

    for (int i = 0; i < THREADS; i++) {
        t_failures += failures[i];
        OK(MPI_Comm_free(&comms[i]));
    }
    OK(MPI_Type_free(&strided));
    return t_end("t_threads");
}
