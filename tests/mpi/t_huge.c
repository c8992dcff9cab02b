/*
 * One access of more bytes than an int counts: rank 0's 5 GiB and a bit, the others' 3 MiB and a
 * bit, together: through ..._c functions, as one element of a large datatype, and through a view in
 * which the ranks take turns every MiB.  Read back, and looked at with pread(), too.
 *
 *     t_huge FILE [GIB]
 */
#include <stdbool.h>
#include <stdint.h>

#include "t_file.h"

#define MIB ((size_t)1 << 20)

static MPI_File fh;
static uint64_t *buf;
static size_t bytes; /* of this rank; a multiple of 8 */
static MPI_Status status;

/* Of the 8 bytes at byte `at` of rank `rank`'s data. */
static uint64_t word(int rank, size_t at, int gen)
{
    return (at + 1) * 0x9e3779b97f4a7c15ull + (unsigned)(gen * 100 + rank) * 0xc2b2ae3d27d4eb4full;
}

static void fill(int gen)
{
    for (size_t at = 0; at < bytes; at += 8)
        buf[at / 8] = word(t_rank, at, gen);
}

static void moved(const char *what)
{
    MPI_Count n = -1;

    OK(MPI_Get_elements_x(&status, MPI_BYTE, &n));
    if (n != (MPI_Count)bytes)
        fprintf(stderr, "rank %d: %s: %lld of %zu bytes\n", t_rank, what, (long long)n, bytes);
    CHECK(n == (MPI_Count)bytes);
}

static void compare(int gen, const char *what)
{
    size_t bad = 0;

    moved(what);
    for (size_t at = 0; at < bytes; at += 8) {
        if (buf[at / 8] != word(t_rank, at, gen) && bad++ == 0)
            fprintf(stderr, "rank %d: %s: wrong from byte %zu on\n", t_rank, what, at);
    }
    CHECK(bad == 0);
}

/* A type of all of this rank's bytes: GiBs, then MiBs, then the rest. */
static MPI_Datatype all_of_it(void)
{
    MPI_Datatype mib, gib, part[3], whole;
    size_t g = bytes / (1024 * MIB), m = bytes / MIB % 1024, rest = bytes % MIB;
    MPI_Aint at[3] = {0, (MPI_Aint)(g * 1024 * MIB), (MPI_Aint)((g * 1024 + m) * MIB)};
    int n[3] = {(int)g, (int)m, (int)rest};

    OK(MPI_Type_contiguous((int)MIB, MPI_BYTE, &mib));
    OK(MPI_Type_contiguous(1024, mib, &gib));
    part[0] = gib;
    part[1] = mib;
    part[2] = MPI_BYTE;
    OK(MPI_Type_create_struct(3, n, at, part, &whole));
    OK(MPI_Type_commit(&whole));
    OK(MPI_Type_free(&mib));
    OK(MPI_Type_free(&gib));
    return whole;
}

/* Rank 0's bytes, then those of the others. */
static MPI_Offset place(size_t first)
{
    return t_rank ? (MPI_Offset)(first + (size_t)(t_rank - 1) * bytes) : 0;
}

/* Every MiB of the file belongs to the next rank. */
static void take_turns(void)
{
    MPI_Datatype mib, turns;

    OK(MPI_Type_contiguous((int)MIB, MPI_BYTE, &mib));
    OK(MPI_Type_create_resized(mib, 0, (MPI_Aint)((size_t)t_size * MIB), &turns));
    OK(MPI_Type_commit(&turns));
    OK(MPI_File_set_view(fh, (MPI_Offset)((size_t)t_rank * MIB), MPI_BYTE, turns, "native",
                         MPI_INFO_NULL));
    OK(MPI_Type_free(&turns));
    OK(MPI_Type_free(&mib));
}

/* Where byte `at` of rank 0's data lies in the file of take_turns(). */
static off_t turn(size_t at)
{
    return (off_t)(at / MIB * MIB * (size_t)t_size + at % MIB);
}

/* The file system has them, around the places where counts overflow. */
static void look(const char *name, int gen)
{
    static const size_t edges[] = {0, (size_t)1 << 31, (size_t)1 << 32};
    int fd = open(t_path(name), O_RDONLY);

    CHECK(fd >= 0);
    for (unsigned i = 0; i < 3; i++)
        for (size_t at = edges[i] ? edges[i] - 32 : 0; at < edges[i] + 32 && at < bytes; at += 8) {
            uint64_t got = 0;

            CHECK(pread(fd, &got, 8, turn(at)) == 8 && got == word(0, at, gen));
        }
    close(fd);
}

int main(int argc, char **argv)
{
    const char *name = t_begin(argc, argv, MPI_THREAD_SINGLE);
    size_t first = (size_t)((argc > 2 ? atof(argv[2]) : 5) * 1024) * MIB + 4104;
    MPI_Datatype whole;
    MPI_Offset at;

    bytes = t_rank ? 3 * MIB + 4104 : first;
    buf = malloc(bytes);
    if (!buf)
        MPI_Abort(MPI_COMM_WORLD, 77);
    at = place(first);
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));

    whole = all_of_it();
    fill(1);
    OK(MPI_File_write_at_all_c(fh, at, buf, (MPI_Count)bytes, MPI_BYTE, &status));
    moved("write_at_all_c");
    memset(buf, 0, bytes);
    OK(MPI_File_read_at_all(fh, at, buf, 1, whole, &status));
    compare(1, "read_at_all of one large element");

    OK(MPI_File_set_size(fh, 0));
    take_turns();
    fill(2);
    OK(MPI_File_write_all(fh, buf, 1, whole, &status));
    moved("write_all of one large element through a view");
    OK(MPI_File_seek(fh, 0, MPI_SEEK_SET));
    memset(buf, 0, bytes);
    OK(MPI_File_read_all_c(fh, buf, (MPI_Count)bytes, MPI_BYTE, &status));
    compare(2, "read_all_c through a view");
    OK(MPI_Type_free(&whole));
    OK(MPI_File_close(&fh));
    if (t_rank == 0) {
        look(name, 2);
        OK(MPI_File_delete(name, MPI_INFO_NULL));
    }
    free(buf);
    return t_end("t_huge");
}
