/* Every way to move data, once: independent, collective, split, nonblocking, shared, ordered. */
#include "t_mpiio.h"

#define N 1000 /* ints per rank and access */

static int out[N], in[N];

static int stamp(int step, int rank, int i)
{
    return step * 1000003 + rank * 4099 + i;
}

static void fill(int step)
{
    for (int i = 0; i < N; i++) {
        out[i] = stamp(step, t_rank, i);
        in[i] = -1;
    }
}

static void verify(int step, int rank)
{
    int bad = 0;

    for (int i = 0; i < N; i++)
        bad += in[i] != stamp(step, rank, i);
    if (bad)
        fprintf(stderr, "rank %d step %d: %d of %d wrong\n", t_rank, step, bad, N);
    t_failures += bad != 0;
}

#define count_is(status, n)                                                                        \
    do {                                                                                           \
        int got_;                                                                                  \
        MPI_Get_count(status, MPI_INT, &got_);                                                     \
        CHECK(got_ == (n));                                                                        \
    } while (0)

static void barrier_sync(MPI_File fh)
{
    OK(MPI_File_sync(fh));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_sync(fh));
}

static void explicit_offsets(MPI_File fh)
{
    MPI_Offset mine = (MPI_Offset)t_rank * sizeof(out);
    int next = (t_rank + 1) % t_size;
    MPI_Status status;

    fill(1);
    OK(MPI_File_write_at(fh, mine, out, N, MPI_INT, &status));
    count_is(&status, N);
    barrier_sync(fh);
    OK(MPI_File_read_at(fh, next * (MPI_Offset)sizeof(in), in, N, MPI_INT, &status));
    count_is(&status, N);
    verify(1, next);
    MPI_Barrier(MPI_COMM_WORLD);

    fill(2);
    OK(MPI_File_write_at_all(fh, mine, out, N, MPI_INT, &status));
    count_is(&status, N);
    barrier_sync(fh);
    OK(MPI_File_read_at_all(fh, next * (MPI_Offset)sizeof(in), in, N, MPI_INT, &status));
    count_is(&status, N);
    verify(2, next);

    OK(MPI_File_read_at(fh, (MPI_Offset)t_size * sizeof(in) - 8, in, N, MPI_INT, &status));
    count_is(&status, 2); /* short at the end of the file */
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Ranks interleave, element by element. */
static void interleaved_view(MPI_File fh)
{
    MPI_Datatype filetype;
    MPI_Offset pos;
    MPI_Status status;

    OK(MPI_Type_vector(N, 1, t_size, MPI_INT, &filetype));
    OK(MPI_Type_commit(&filetype));
    OK(MPI_File_set_view(fh, 4 * (MPI_Offset)t_rank, MPI_INT, filetype, "native", MPI_INFO_NULL));
    fill(3);
    OK(MPI_File_write_all(fh, out, N, MPI_INT, &status));
    count_is(&status, N);
    OK(MPI_File_get_position(fh, &pos));
    CHECK(pos == N);
    OK(MPI_File_seek(fh, 0, MPI_SEEK_SET));
    OK(MPI_File_read_all(fh, in, N, MPI_INT, &status));
    count_is(&status, N);
    verify(3, t_rank);
    OK(MPI_File_seek(fh, 0, MPI_SEEK_SET));
    memset(in, 0, sizeof(in));
    OK(MPI_File_read(fh, in, N, MPI_INT, &status));
    verify(3, t_rank);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    OK(MPI_Type_free(&filetype));
    /* As plain bytes: element i is that of rank i % size. */
    OK(MPI_File_read_at(fh, 0, in, N, MPI_INT, &status));
    for (int i = 0; i < N; i++)
        CHECK(in[i] == stamp(3, i % t_size, i / t_size));
    MPI_Barrier(MPI_COMM_WORLD);
}

static void nonblocking(MPI_File fh)
{
    MPI_Offset mine = (MPI_Offset)t_rank * sizeof(out);
    MPI_Request req[2];
    MPI_Status status, both[2];
    int half = N / 2;

    fill(4);
    OK(MPI_File_iwrite_at(fh, mine, out, half, MPI_INT, &req[0]));
    OK(MPI_File_iwrite_at(fh, mine + 4 * half, out + half, N - half, MPI_INT, &req[1]));
    OK(MPI_Waitall(2, req, both));
    OK(MPI_File_iread_at(fh, mine, in, N, MPI_INT, &req[0]));
    OK(MPI_Wait(&req[0], &status));
    count_is(&status, N);
    verify(4, t_rank);

    fill(5);
    OK(MPI_File_iwrite_at_all(fh, mine, out, N, MPI_INT, &req[0]));
    OK(MPI_Wait(&req[0], &status));
    count_is(&status, N);
    OK(MPI_File_iread_at_all(fh, mine, in, N, MPI_INT, &req[0]));
    OK(MPI_Wait(&req[0], &status));
    count_is(&status, N);
    verify(5, t_rank);

    OK(MPI_File_seek(fh, mine, MPI_SEEK_SET));
    fill(6);
    OK(MPI_File_iwrite(fh, out, N, MPI_INT, &req[0]));
    OK(MPI_Wait(&req[0], &status));
    OK(MPI_File_seek(fh, mine, MPI_SEEK_SET));
    OK(MPI_File_iread(fh, in, N, MPI_INT, &req[0]));
    OK(MPI_Wait(&req[0], &status));
    verify(6, t_rank);
}

static void split(MPI_File fh)
{
    MPI_Offset mine = (MPI_Offset)t_rank * sizeof(out);
    MPI_Status status;

    fill(7);
    OK(MPI_File_write_at_all_begin(fh, mine, out, N, MPI_INT));
    OK(MPI_File_write_at_all_end(fh, out, &status));
    count_is(&status, N);
    OK(MPI_File_read_at_all_begin(fh, mine, in, N, MPI_INT));
    OK(MPI_File_read_at_all_end(fh, in, &status));
    count_is(&status, N);
    verify(7, t_rank);
}

static void shared_pointers(MPI_File fh)
{
    MPI_Status status;
    MPI_Offset pos;
    int seen[64] = {0};

    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
    fill(8);
    OK(MPI_File_write_ordered(fh, out, N, MPI_INT, &status));
    count_is(&status, N);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_get_position_shared(fh, &pos));
    CHECK(pos == (MPI_Offset)t_size * (MPI_Offset)sizeof(out));
    barrier_sync(fh);
    OK(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
    OK(MPI_File_read_ordered(fh, in, N, MPI_INT, &status));
    verify(8, t_rank);

    OK(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
    fill(9);
    OK(MPI_File_write_shared(fh, out, N, MPI_INT, &status));
    barrier_sync(fh);
    for (int r = 0; r < t_size; r++) { /* in any order, each once */
        OK(MPI_File_read_at(fh, r * (MPI_Offset)sizeof(in), in, N, MPI_INT, &status));
        for (int who = 0; who < t_size && who < 64; who++)
            seen[who] += in[0] == stamp(9, who, 0) && in[N - 1] == stamp(9, who, N - 1);
    }
    for (int who = 0; who < t_size && who < 64; who++)
        CHECK(seen[who] == 1);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void sizes_and_modes(MPI_File fh)
{
    MPI_Offset size;
    MPI_Group group;
    MPI_Request req;
    MPI_Status status;
    int amode, flag, n;

    OK(MPI_File_set_size(fh, 12345));
    OK(MPI_File_get_size(fh, &size));
    CHECK(size == 12345);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_preallocate(fh, 20000));
    OK(MPI_File_get_size(fh, &size));
    CHECK(size == 20000);
    OK(MPI_File_get_amode(fh, &amode));
    CHECK(amode == (MPI_MODE_CREATE | MPI_MODE_RDWR));
    OK(MPI_File_get_group(fh, &group));
    OK(MPI_Group_size(group, &n));
    CHECK(n == t_size);
    OK(MPI_Group_free(&group));
    OK(MPI_File_set_atomicity(fh, 1));
    OK(MPI_File_get_atomicity(fh, &flag));
    CHECK(flag);
    OK(MPI_File_set_size(fh, 0));
    MPI_Barrier(MPI_COMM_WORLD);
    explicit_offsets(fh);
    OK(MPI_File_iread_at(fh, (MPI_Offset)t_size * sizeof(in) - 12, in, N, MPI_INT, &req));
    OK(MPI_Wait(&req, &status));
    count_is(&status, 3);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_set_atomicity(fh, 0));
}

static void nonblocking_external32(MPI_File fh, MPI_Offset mine)
{
    MPI_Request req;
    MPI_Status status;

    fill(11);
    OK(MPI_File_iwrite_at_all(fh, mine, out, N, MPI_INT, &req));
    OK(MPI_Wait(&req, &status));
    count_is(&status, N);
    OK(MPI_File_iread_at(fh, mine, in, N, MPI_INT, &req));
    OK(MPI_Wait(&req, &status));
    count_is(&status, N);
    verify(11, t_rank);
    fill(12);
    OK(MPI_File_write_at_all_begin(fh, mine, out, N, MPI_INT));
    OK(MPI_File_write_at_all_end(fh, out, &status));
    OK(MPI_File_read_at_all_begin(fh, mine, in, N, MPI_INT));
    OK(MPI_File_read_at_all_end(fh, in, &status));
    verify(12, t_rank);
}

static void external32(MPI_File fh)
{
    MPI_Offset mine = (MPI_Offset)t_rank * N;
    unsigned char raw[4];
    MPI_Status status;

    OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL));
    fill(10);
    OK(MPI_File_write_at_all(fh, mine, out, N, MPI_INT, &status));
    barrier_sync(fh);
    OK(MPI_File_read_at_all(fh, mine, in, N, MPI_INT, &status));
    verify(10, t_rank);
    nonblocking_external32(fh, mine);
    OK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    OK(MPI_File_read_at(fh, 4 * mine, raw, 4, MPI_BYTE, &status));
    CHECK((raw[0] << 24 | raw[1] << 16 | raw[2] << 8 | raw[3]) == out[0]);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    const char *name = t_begin(argc, argv, MPI_THREAD_SINGLE);
    MPI_File fh;

    if (t_rank == 0)
        MPI_File_delete(name, MPI_INFO_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
    explicit_offsets(fh);
    interleaved_view(fh);
    nonblocking(fh);
    split(fh);
    shared_pointers(fh);
    sizes_and_modes(fh);
    external32(fh);
    OK(MPI_File_close(&fh));
    CHECK(fh == MPI_FILE_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank == 0)
        OK(MPI_File_delete(name, MPI_INFO_NULL));
    return t_end("t_io");
}
