/*
 * Datatypes in memory and in views: what lands in the file is what MPI_Pack makes of them. Among
 * them types without gaps whose blocks are not in order, and types made with large counts.
 */
#include "t_mpiio.h"

#define MAX (1 << 16)

/* The type that CALL stores in t. */
#define MADE(call) ((call) == MPI_SUCCESS ? t : MPI_DATATYPE_NULL)

static unsigned char buf[MAX], back[MAX], packed[MAX], raw[MAX];

/* Write COUNT elements from BUF, read the bytes, compare; read into memory again, compare. */
static void memory_type(MPI_File fh, MPI_Datatype type, int count, const char *what)
{
    MPI_Aint lb, extent;
    MPI_Status status;
    int size, pos = 0, bad = t_failures;

    OK(MPI_Type_commit(&type));
    OK(MPI_Type_size(type, &size));
    OK(MPI_Type_get_true_extent(type, &lb, &extent));
    OK(MPI_Pack(buf, count, type, packed, MAX, &pos, MPI_COMM_WORLD));
    CHECK(pos == size * count);
    OK(MPI_File_write_at_all(fh, (MPI_Offset)t_rank * MAX, buf, count, type, &status));
    OK(MPI_File_read_at(fh, (MPI_Offset)t_rank * MAX, raw, pos, MPI_BYTE, &status));
    CHECK(!memcmp(raw, packed, pos));
    memset(back, 0, MAX);
    OK(MPI_File_read_at(fh, (MPI_Offset)t_rank * MAX, back, count, type, &status));
    pos = 0;
    OK(MPI_Pack(back, count, type, raw, MAX, &pos, MPI_COMM_WORLD));
    CHECK(!memcmp(raw, packed, pos));
    OK(MPI_File_write_at(fh, (MPI_Offset)t_rank * MAX, buf, count, type, &status));
    OK(MPI_File_read_at(fh, (MPI_Offset)t_rank * MAX, raw, pos, MPI_BYTE, &status));
    CHECK(!memcmp(raw, packed, pos));
    if (t_failures != bad)
        fprintf(stderr, "memory type: %s\n", what);
    OK(MPI_Type_free(&type));
}

static void memory_types(MPI_File fh)
{
    MPI_Datatype t = MPI_DATATYPE_NULL, u;
    int lens[4] = {2, 0, 1, 3}, swapped[4] = {4, 9, 3, 0}, sorted[4] = {0, 9, 2, 3};
    MPI_Aint bytes[4] = {16, 99, 12, 0}, aligned[3] = {0, 4, 8};
    MPI_Datatype three[3] = {MPI_INT, MPI_FLOAT, MPI_DOUBLE};
    int sizes[2] = {8, 6}, sub[2] = {3, 2}, start[2] = {2, 1}, one[3] = {1, 1, 1};

    memory_type(fh, MADE(MPI_Type_contiguous(7, MPI_INT, &t)), 3, "contiguous");
    memory_type(fh, MADE(MPI_Type_indexed(4, lens, swapped, MPI_INT, &t)), 3, "swapped");
    memory_type(fh, MADE(MPI_Type_indexed(4, lens, sorted, MPI_INT, &t)), 3, "sorted");
    memory_type(fh, MADE(MPI_Type_create_hindexed(4, lens, bytes, MPI_INT, &t)), 3, "bytes");
    memory_type(fh, MADE(MPI_Type_create_hindexed_block(4, 1, bytes, MPI_INT, &t)), 3, "hblock");
    memory_type(fh, MADE(MPI_Type_create_indexed_block(4, 1, sorted, MPI_SHORT, &t)), 3, "block");
    memory_type(fh, MADE(MPI_Type_create_hvector(3, 2, 20, MPI_INT, &t)), 3, "hvector");
    memory_type(fh, MADE(MPI_Type_create_struct(3, one, aligned, three, &t)), 5, "struct");
    memory_type(fh, MADE(MPI_Type_vector(3, 2, 2, MPI_DOUBLE, &t)), 5, "dense vector");
    memory_type(fh, MADE(MPI_Type_vector(3, 2, 5, MPI_SHORT, &t)), 5, "vector");
    memory_type(fh, MADE(MPI_Type_create_subarray(2, sizes, sub, start, MPI_ORDER_C, MPI_INT, &t)),
                2, "subarray");
    memory_type(fh, MADE(MPI_Type_create_resized(MPI_SHORT, 0, 6, &t)), 9, "resized");
    OK(MPI_Type_indexed(4, lens, swapped, MPI_INT, &u));
    memory_type(fh, MADE(MPI_Type_contiguous(2, u, &t)), 2, "contiguous of swapped");
    OK(MPI_Type_free(&u));
}

/* A value and an index, with gaps where C has them; and one of these in a gap of another. */
static void pairs(MPI_File fh)
{
    static const MPI_Datatype all[] = {MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT,
                                       MPI_SHORT_INT, MPI_2INT,       MPI_LONG_DOUBLE_INT};
    MPI_Datatype t = MPI_DATATYPE_NULL;

    for (int i = 0; i < (int)(sizeof(all) / sizeof(all[0])); i++) {
        memory_type(fh, MADE(MPI_Type_dup(all[i], &t)), 5, "a pair");
        memory_type(fh, MADE(MPI_Type_vector(3, 2, 3, all[i], &t)), 2, "a vector of pairs");
    }
}

/* What Fortran asks for by precision; an MPICH without Fortran does not have it. */
#pragma weak MPI_Type_create_f90_real
#pragma weak MPI_Type_create_f90_complex
#pragma weak MPI_Type_create_f90_integer
static void by_precision(MPI_File fh)
{
    MPI_Datatype real, complex, integer, t = MPI_DATATYPE_NULL;

    if (!MPI_Type_create_f90_real) {
        if (t_rank == 0)
            printf("skipped: types by precision: this MPI library has no Fortran\n");
        return;
    }
    if (MPI_Type_create_f90_real(15, MPI_UNDEFINED, &real) != MPI_SUCCESS)
        return;
    OK(MPI_Type_create_f90_complex(6, MPI_UNDEFINED, &complex));
    OK(MPI_Type_create_f90_integer(9, &integer));
    memory_type(fh, MADE(MPI_Type_vector(3, 2, 3, real, &t)), 2, "f90_real");
    memory_type(fh, MADE(MPI_Type_vector(3, 2, 3, complex, &t)), 2, "f90_complex");
    memory_type(fh, MADE(MPI_Type_vector(3, 2, 3, integer, &t)), 2, "f90_integer");
}

/*
 * One process's part of a distributed array as a view: blocks in turn, the last of them cut off or
 * missing, which makes types with empty parts.
 */
static void darray_view(MPI_File fh, int part, int block)
{
    enum { SIDE = 5 };
    int sizes[2] = {SIDE, SIDE}, grid[2] = {2, 2}, blocks[2] = {block, block}, size, pos = 0;
    int cyclic[2] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC};
    int in[SIDE * SIDE] = {0}, want[SIDE * SIDE] = {0}, none[SIDE * SIDE] = {0};
    MPI_Offset disp = (MPI_Offset)t_rank * MAX;
    MPI_Datatype view;
    MPI_Status status;

    OK(MPI_Type_create_darray(4, part, 2, sizes, cyclic, blocks, grid, MPI_ORDER_FORTRAN, MPI_INT,
                              &view));
    OK(MPI_Type_commit(&view));
    OK(MPI_Type_size(view, &size));
    OK(MPI_Unpack(buf, size, &pos, want, 1, view, MPI_COMM_WORLD));
    OK(MPI_File_set_view(fh, disp, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    OK(MPI_File_write_at_all(fh, 0, none, SIDE * SIDE, MPI_INT, &status));
    OK(MPI_File_set_view(fh, disp, MPI_INT, view, "native", MPI_INFO_NULL));
    OK(MPI_File_write_at_all(fh, 0, buf, size, MPI_BYTE, &status));
    OK(MPI_File_set_view(fh, disp, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    OK(MPI_File_read_at_all(fh, 0, in, SIDE * SIDE, MPI_INT, &status));
    CHECK(!memcmp(in, want, sizeof(in)));
    OK(MPI_Type_free(&view));
}

static void darray_views(MPI_File fh)
{
    for (int part = 0; part < 4; part++) {
        for (int block = 1; block <= 4; block++)
            darray_view(fh, part, block);
    }
    OK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
}

/* One handle after the other, which the library reuses: each time another type. */
static void handles(MPI_File fh)
{
    MPI_Datatype t = MPI_DATATYPE_NULL;

    for (int i = 1; i < 20; i++)
        memory_type(fh, MADE(MPI_Type_vector(2, i, i + i % 3, MPI_INT, &t)), 2, "a reused handle");
}

#if MPI_VERSION >= 4
static void large_types(MPI_File fh)
{
    MPI_Datatype t = MPI_DATATYPE_NULL;
    MPI_Count lens[3] = {2, 1, 3}, swapped[3] = {4, 3, 0}, one[2] = {1, 2}, at[2] = {8, 0};
    MPI_Count sizes[2] = {8, 6}, sub[2] = {3, 2}, start[2] = {2, 1};
    MPI_Datatype two[2] = {MPI_DOUBLE, MPI_INT};

    memory_type(fh, MADE(MPI_Type_contiguous_c(7, MPI_INT, &t)), 3, "contiguous_c");
    memory_type(fh, MADE(MPI_Type_vector_c(3, 2, 5, MPI_INT, &t)), 3, "vector_c");
    memory_type(fh, MADE(MPI_Type_create_hvector_c(3, 2, 20, MPI_INT, &t)), 3, "hvector_c");
    memory_type(fh, MADE(MPI_Type_indexed_c(3, lens, swapped, MPI_INT, &t)), 3, "indexed_c");
    memory_type(fh, MADE(MPI_Type_create_struct_c(2, one, at, two, &t)), 3, "struct_c");
    memory_type(fh, MADE(MPI_Type_create_indexed_block_c(3, 1, swapped, MPI_INT, &t)), 3,
                "block_c");
    memory_type(fh, MADE(MPI_Type_create_resized_c(MPI_INT, 0, 12, &t)), 3, "resized_c");
    memory_type(fh,
                MADE(MPI_Type_create_subarray_c(2, sizes, sub, start, MPI_ORDER_C, MPI_INT, &t)), 2,
                "subarray_c");
}

/* A view made of large counts, one of them beyond int. */
static void large_view(MPI_File fh)
{
    MPI_Datatype hole, view;
    MPI_Count lens[2] = {1, 1}, at[2] = {0, 4 * (MPI_Count)t_size};
    MPI_Status status;
    int out[50], in[50];

    OK(MPI_Type_create_hindexed_c(2, lens, at, MPI_INT, &hole));
    OK(MPI_Type_create_resized_c(hole, 0, 8 * (MPI_Count)t_size, &view));
    OK(MPI_Type_commit(&view));
    OK(MPI_File_set_view(fh, 4 * t_rank, MPI_INT, view, "native", MPI_INFO_NULL));
    for (int i = 0; i < 50; i++)
        out[i] = t_rank << 16 | i;
    OK(MPI_File_write_all(fh, out, 50, MPI_INT, &status));
    OK(MPI_File_read_at_all(fh, 0, in, 50, MPI_INT, &status));
    CHECK(!memcmp(in, out, sizeof(in)));
    OK(MPI_Type_free(&hole));
    OK(MPI_Type_free(&view));

    OK(MPI_Type_contiguous_c(((MPI_Count)1 << 31) + 5, MPI_INT, &view));
    OK(MPI_Type_commit(&view));
    OK(MPI_File_set_view(fh, 4 * 50 * t_rank, MPI_INT, view, "native", MPI_INFO_NULL));
    OK(MPI_File_write_all(fh, out, 50, MPI_INT, &status));
    OK(MPI_File_read_at(fh, 0, in, 50, MPI_INT, &status));
    CHECK(!memcmp(in, out, sizeof(in)));
    OK(MPI_Type_free(&view));
}
#endif

int main(int argc, char **argv)
{
    const char *name = t_begin(argc, argv, MPI_THREAD_SINGLE);
    MPI_File fh;

    for (int i = 0; i < MAX; i++)
        buf[i] = (unsigned char)(i * 7 + (i >> 8) + t_rank);
    OK(MPI_File_open(MPI_COMM_WORLD, name,
                     MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                     &fh));
    memory_types(fh);
    if (!strncmp(name, "zcache:", 7)) /* ROMIO's own drivers take most pairs for dense */
        pairs(fh);
    by_precision(fh);
    handles(fh);
    darray_views(fh);
#if MPI_VERSION >= 4
    large_types(fh);
    large_view(fh);
#endif
    OK(MPI_File_close(&fh));
    return t_end("t_types");
}
