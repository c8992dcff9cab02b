/*
 * A small program to run under other tools: t_tools FILE. Each rank writes its part, and reads and
 * compares that of another one, which that, the owner or a daemon has put into its memory:
 * collectively, independently, in small pieces and in one.
 *
 * t_tools FILE undefined: then depends on a byte that it has not set, which valgrind reports.
 * t_tools FILE overflow: then writes behind its buffer, which address sanitizer reports.
 */
#include "t_mpiio.h"

enum { PART = 1 << 18, PIECE = 100 };

static unsigned char value(int rank, int i)
{
    return (unsigned char)(i * 7 + (i >> 8) + rank * 31);
}

/* Byte by byte: memcmp() may be another tool's, and tell of itself. */
static int count_wrong(const unsigned char *p, int rank, int from, int len)
{
    int wrong = 0;

    for (int i = 0; i < len; i++)
        if (p[i] != value(rank, from + i))
            wrong++;
    return wrong;
}

static void read_of(MPI_File fh, int rank)
{
    const MPI_Offset at = (MPI_Offset)rank * PART;
    unsigned char *p = malloc(PART), *piece = malloc(PIECE);
    MPI_Status status;

    OK(MPI_File_read_at_all(fh, at, p, PART, MPI_BYTE, &status));
    CHECK(count_wrong(p, rank, 0, PART) == 0);
    free(p);
    p = malloc(PART);
    OK(MPI_File_read_at(fh, at, p, PART, MPI_BYTE, &status));
    CHECK(count_wrong(p, rank, 0, PART) == 0);
    free(p);
    for (int i = 0; i + PIECE <= PART; i += PART / 8) {
        OK(MPI_File_read_at(fh, at + i, piece, PIECE, MPI_BYTE, &status));
        CHECK(count_wrong(piece, rank, i, PIECE) == 0);
    }
    free(piece);
}

static void write_mine(MPI_File fh)
{
    unsigned char *p = malloc(PART);
    MPI_Status status;

    for (int i = 0; i < PART; i++)
        p[i] = value(t_rank, i);
    OK(MPI_File_write_at_all(fh, (MPI_Offset)t_rank * PART, p, PART, MPI_BYTE, &status));
    for (int i = 0; i + PIECE <= PART; i += PART / 8)
        OK(MPI_File_write_at(fh, (MPI_Offset)t_rank * PART + i, p + i, PIECE, MPI_BYTE, &status));
    free(p);
}

static void break_something(const char *how)
{
    volatile unsigned char *p = malloc(PIECE);
    volatile int behind = PIECE + 1; /* not seen by the compiler */

    if (!strcmp(how, "overflow"))
        p[behind] = 0;
    else if (p[PIECE / 2] == 17)
        printf("a byte that was not set is 17\n");
    free((void *)p);
}

int main(int argc, char **argv)
{
    const char *name = t_begin(argc, argv, MPI_THREAD_SINGLE);
    MPI_File fh;

    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
    write_mine(fh);
    OK(MPI_File_sync(fh));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_sync(fh));
    read_of(fh, (t_rank + 1) % t_size);
    OK(MPI_File_close(&fh));
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh));
    read_of(fh, (t_rank + t_size - 1) % t_size);
    OK(MPI_File_close(&fh));
    if (argc > 2)
        break_something(argv[2]);
    return t_end("tools");
}
