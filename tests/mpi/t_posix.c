/* t_posix.c - what was written through MPI, read by plain POSIX calls.
 *
 *     t_posix FILE
 *
 * Contiguous, strided and collective writes; after close, and after sync, rank 0 reads the
 * whole file with read(2) and compares every byte.
 */
#include <fcntl.h>
#include <unistd.h>

#include "t_mpiio.h"

enum { PIECE = 5000, PIECES = 40, BLOCK = PIECE * PIECES };

static const char *name;

/* Byte number i of the file: what rank i / PIECE % size wrote in round `round`. */
static unsigned char byte_of(long long i, int round)
{
    return (unsigned char)(i * 31 + (i >> 9) + round * 77 + 1);
}

static void look(int round, long long size)
{
    const char *path = strchr(name, ':') ? strchr(name, ':') + 1 : name;
    unsigned char *all = malloc((size_t)size + 1);
    long long got = 0, bad = 0;
    ssize_t n;
    int fd;

    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank == 0) {
        fd = open(path, O_RDONLY);
        CHECK(fd >= 0);
        while ((n = read(fd, all + got, (size_t)(size + 1 - got))) > 0)
            got += n;
        CHECK(got == size);
        for (long long i = 0; i < got && i < size; i++)
            bad += all[i] != byte_of(i, round);
        if (bad)
            fprintf(stderr, "round %d: %lld of %lld bytes are wrong\n", round, bad, size);
        CHECK(bad == 0);
        close(fd);
    }
    free(all);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void fill(unsigned char *buf, long long from, long long n, int round)
{
    for (long long i = 0; i < n; i++)
        buf[i] = byte_of(from + i, round);
}

/* A block for each rank. */
static void contiguous(MPI_File fh, unsigned char *buf, int round, int all)
{
    long long at = (long long)t_rank * BLOCK;
    MPI_Status status;
    int n;

    fill(buf, at, BLOCK, round);
    if (all)
        OK(MPI_File_write_at_all(fh, at, buf, BLOCK, MPI_BYTE, &status));
    else
        OK(MPI_File_write_at(fh, at, buf, BLOCK, MPI_BYTE, &status));
    MPI_Get_count(&status, MPI_BYTE, &n);
    CHECK(n == BLOCK);
}

/* Ranks take turns, a piece each. */
static void strided(MPI_File fh, unsigned char *buf, int round, int all)
{
    MPI_Datatype view;
    MPI_Status status;
    int n;

    for (int i = 0; i < PIECES; i++)
        fill(buf + (size_t)i * PIECE, ((long long)i * t_size + t_rank) * PIECE, PIECE, round);
    OK(MPI_Type_vector(PIECES, PIECE, PIECE * t_size, MPI_BYTE, &view));
    OK(MPI_Type_commit(&view));
    OK(MPI_File_set_view(fh, (MPI_Offset)t_rank * PIECE, MPI_BYTE, view, "native", MPI_INFO_NULL));
    if (all)
        OK(MPI_File_write_all(fh, buf, BLOCK, MPI_BYTE, &status));
    else
        OK(MPI_File_write(fh, buf, BLOCK, MPI_BYTE, &status));
    MPI_Get_count(&status, MPI_BYTE, &n);
    CHECK(n == BLOCK);
    OK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    OK(MPI_Type_free(&view));
}

int main(int argc, char **argv)
{
    unsigned char *buf;
    MPI_File fh;

    name = t_begin(argc, argv, MPI_THREAD_SINGLE);
    buf = malloc(BLOCK);
    for (int round = 0; round < 8; round++) {
        OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                         &fh));
        if (round & 1)
            strided(fh, buf, round, round & 2);
        else
            contiguous(fh, buf, round, round & 2);
        if (round & 4) {
            OK(MPI_File_sync(fh));
            look(round, (long long)t_size * BLOCK);
        }
        OK(MPI_File_close(&fh));
        look(round, (long long)t_size * BLOCK);
    }
    free(buf);
    if (t_rank == 0)
        OK(MPI_File_delete(name, MPI_INFO_NULL));
    return t_end("t_posix");
}
