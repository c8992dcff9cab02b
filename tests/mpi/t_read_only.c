/*
 * Input without write permission.
 *
 *     t_read_only FILE write     makes it
 *     t_read_only FILE           reads all of it, in order and in pieces
 */
#include "t_mpiio.h"

enum { PIECE = 1 << 14, PIECES = 300, SIZE = PIECE * PIECES };

static unsigned char buf[PIECE];
static MPI_File fh;

static unsigned char stamp(int piece, int i)
{
    return (unsigned char)(piece * 7 + i % 251);
}

static void write_it(void)
{
    for (int p = t_rank; p < PIECES; p += t_size) {
        for (int i = 0; i < PIECE; i++)
            buf[i] = stamp(p, i);
        OK(MPI_File_write_at(fh, (MPI_Offset)p * PIECE, buf, PIECE, MPI_BYTE, MPI_STATUS_IGNORE));
    }
}

static void compare(int piece)
{
    int bad = 0;

    for (int i = 0; i < PIECE; i++)
        bad += buf[i] != stamp(piece, i);
    CHECK(!bad);
}

static void read_it(void)
{
    MPI_Status status;
    MPI_Offset size;
    int got;

    OK(MPI_File_get_size(fh, &size));
    CHECK(size == SIZE);
    for (int p = 0; p < PIECES; p++) {
        if (p % 2)
            OK(MPI_File_read_at(fh, (MPI_Offset)p * PIECE, buf, PIECE, MPI_BYTE, &status));
        else
            OK(MPI_File_read_at_all(fh, (MPI_Offset)p * PIECE, buf, PIECE, MPI_BYTE, &status));
        compare(p);
    }
    OK(MPI_File_read_at(fh, SIZE - 10, buf, PIECE, MPI_BYTE, &status));
    OK(MPI_Get_count(&status, MPI_BYTE, &got));
    CHECK(got == 10);
}

static void refuses(void)
{
    MPI_Status status;

    CHECK(t_class(MPI_File_write_at(fh, 0, buf, 1, MPI_BYTE, &status)) == MPI_ERR_READ_ONLY);
    CHECK(t_class(MPI_File_set_size(fh, 0)) == MPI_ERR_READ_ONLY);
    OK(MPI_File_sync(fh));
}

int main(int argc, char **argv)
{
    const char *name = t_begin(argc, argv, MPI_THREAD_SINGLE);
    int writes = argc > 2;

    OK(MPI_File_open(MPI_COMM_WORLD, name,
                     writes ? MPI_MODE_CREATE | MPI_MODE_RDWR : MPI_MODE_RDONLY, MPI_INFO_NULL,
                     &fh));
    if (writes) {
        write_it();
    } else {
        read_it();
        refuses();
    }
    OK(MPI_File_close(&fh));
    return t_end("t_read_only");
}
