/*
 * Counts beyond int: one access of more than 2^31 elements, with each
 * of the ways through the file that can take one. Needs twice as much memory as it moves on rank
 * 0, and the space in the file; all ranks take part in the collective ones.
 */
#include "t_mpiio.h"

#include <stdint.h>

static size_t n; /* bytes, and elements */
static unsigned char *out, *in;

static unsigned char stamp(size_t i, int step)
{
    return (unsigned char)(i * 31 + (i >> 20) + step);
}

static void fill(int step)
{
    for (size_t i = 0; i < n; i++)
        out[i] = stamp(i, step);
    memset(in, 0, n);
}

static void verify(MPI_Status *status, const char *what)
{
    MPI_Count got = -1;

    MPI_Get_elements_x(status, MPI_BYTE, &got);
    if (got != (MPI_Count)n)
        fprintf(stderr, "%s: %lld of %lld elements\n", what, (long long)got, (long long)n);
    CHECK(got == (MPI_Count)n);
    CHECK(!memcmp(in, out, n));
}

int main(int argc, char **argv)
{
    const char *name = t_begin(argc, argv, MPI_THREAD_SINGLE);
    MPI_Request req;
    MPI_Status status;
    MPI_Offset pos;
    MPI_File fh;

    n = ((size_t)1 << 31) + 4099;
    if (t_rank == 0) {
        out = malloc(n);
        in = malloc(n);
        if (!out || !in)
            MPI_Abort(MPI_COMM_WORLD, 77);
    }
    OK(MPI_File_open(MPI_COMM_WORLD, name,
                     MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                     &fh));
    if (t_rank == 0) {
        fill(1);
        OK(MPI_File_write_at_c(fh, 3, out, n, MPI_BYTE, &status));
        OK(MPI_File_read_at_c(fh, 3, in, n, MPI_BYTE, &status));
        verify(&status, "write_at_c, read_at_c");
        fill(2);
        OK(MPI_File_iwrite_c(fh, out, n, MPI_BYTE, &req));
        OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
        OK(MPI_File_get_position(fh, &pos));
        CHECK(pos == (MPI_Offset)n);
        OK(MPI_File_seek(fh, 0, MPI_SEEK_SET));
        OK(MPI_File_iread_c(fh, in, n, MPI_BYTE, &req));
        OK(MPI_Wait(&req, &status));
        verify(&status, "iwrite_c, iread_c");
        fill(3);
    }
    OK(MPI_File_write_at_all_c(fh, 0, out, t_rank ? 0 : n, MPI_BYTE, &status));
    OK(MPI_File_read_at_all_c(fh, 0, in, t_rank ? 0 : n, MPI_BYTE, &status));
    if (t_rank == 0)
        verify(&status, "write_at_all_c, read_at_all_c");
    OK(MPI_File_close(&fh));
    free(out);
    free(in);
    return t_end("t_largecount");
}
