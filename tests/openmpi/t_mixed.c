/*
 * t_mixed ZCACHE_FILE OTHER_FILE [datarep]: uses a file of zcache's and one of Open MPI's own in
 * the same calls: collective writes, requests of both in one wait, Fortran handles, hints, and a
 * data representation, which OMPIO lacks.
 */
#include "../mpi/t_mpiio.h"

enum { FILES = 2, N = 5000 };

static MPI_File fh[FILES];
static int out[FILES][N], in[FILES][N];

static void draw(int step)
{
    for (int k = 0; k < FILES; k++) {
        for (int i = 0; i < N; i++)
            out[k][i] = step * 1000003 + k * 101 + t_rank * 7 + i;
        memset(in[k], 0, sizeof in[k]);
    }
}

static void same(void)
{
    CHECK(!memcmp(in[0], out[0], sizeof in[0]));
    CHECK(!memcmp(in[1], out[1], sizeof in[1]));
}

static MPI_Offset place(void)
{
    return (MPI_Offset)t_rank * (MPI_Offset)sizeof in[0];
}

static void collective(void)
{
    MPI_Offset size;

    draw(1);
    for (int k = 0; k < FILES; k++) {
        OK(MPI_File_write_at_all(fh[k], place(), out[k], N, MPI_INT, MPI_STATUS_IGNORE));
        OK(MPI_File_read_at_all(fh[k], place(), in[k], N, MPI_INT, MPI_STATUS_IGNORE));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_File_get_size(fh[k], &size));
        CHECK(size == (MPI_Offset)sizeof in[0] * t_size);
    }
    same();
}

/* MPI_Waitall, Waitany and Test, on requests of both kinds and a message. */
static void requests(void)
{
    MPI_Request r[FILES + 1];
    MPI_Status s[FILES + 1];
    int sent = t_rank, received = -1, which, done = 0, next = (t_rank + 1) % t_size, n;

    draw(2);
    for (int k = 0; k < FILES; k++)
        OK(MPI_File_iwrite_at(fh[k], place(), out[k], N, MPI_INT, &r[k]));
    OK(MPI_Irecv(&received, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &r[FILES]));
    OK(MPI_Send(&sent, 1, MPI_INT, next, 0, MPI_COMM_WORLD));
    OK(MPI_Waitall(FILES + 1, r, s));
    CHECK(received == (t_rank + t_size - 1) % t_size);
    for (int k = 0; k < FILES; k++) {
        OK(MPI_Get_count(&s[k], MPI_INT, &n));
        CHECK(n == N);
        OK(MPI_File_iread_at(fh[k], place(), in[k], N, MPI_INT, &r[k]));
    }
    OK(MPI_Waitany(FILES, r, &which, &s[0]));
    CHECK(which == 0 || which == 1);
    while (!done)
        OK(MPI_Test(&r[1 - which], &done, &s[0]));
    CHECK(r[0] == MPI_REQUEST_NULL && r[1] == MPI_REQUEST_NULL);
    same();
}

static void numbers(void)
{
    MPI_Fint number[FILES];

    for (int k = 0; k < FILES; k++)
        number[k] = MPI_File_c2f(fh[k]);
    CHECK(number[0] != number[1]);
    for (int k = 0; k < FILES; k++)
        CHECK(MPI_File_f2c(number[k]) == fh[k]);
    CHECK(MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)) == MPI_FILE_NULL);
}

/* Whether zcache has the file is seen by its hints. */
static int is_ours(MPI_File f)
{
    char value[64];
    MPI_Info info;
    int found = 0;

    OK(MPI_File_get_info(f, &info));
    OK(MPI_Info_get(info, "zcache_block_size", sizeof value - 1, value, &found));
    OK(MPI_Info_free(&info));
    return found;
}

static int extent_of(MPI_Datatype type, MPI_Aint *extent, void *state)
{
    MPI_Aint lb;

    (void)state;
    return MPI_Type_get_extent(type, &lb, extent);
}

static void representation(void)
{
    MPI_Aint extent;

    OK(MPI_Register_datarep("t_mixed", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, extent_of,
                            NULL));
    OK(MPI_File_get_type_extent(fh[0], MPI_DOUBLE, &extent));
    CHECK(extent == (MPI_Aint)sizeof(double));
}

int main(int argc, char **argv)
{
    t_begin(argc, argv, MPI_THREAD_SINGLE);
    for (int k = 0; k < FILES; k++)
        OK(MPI_File_open(MPI_COMM_WORLD, argv[1 + k],
                         MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                         &fh[k]));
    CHECK(is_ours(fh[0]) && !is_ours(fh[1]));
    collective();
    requests();
    numbers();
    if (argc > 3)
        representation();
    for (int k = 0; k < FILES; k++) {
        OK(MPI_File_close(&fh[k]));
        CHECK(fh[k] == MPI_FILE_NULL);
    }
    return t_end("t_mixed");
}
