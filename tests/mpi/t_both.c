/*
 * Files of zcache and of the MPI library, open at the same time and handed to every function.
 *
 *     t_both FILE OTHER [info]
 *
 * does the same with FILE and OTHER, one call after the other, and compares what is read. Whose
 * they are is not asked: the script gives one with and one without the prefix, or two without. With
 * "info", rank 0 prints what MPI_File_get_info says of OTHER.
 */
#include <unistd.h>

#include "t_mpiio.h"

int PMPI_File_write_at(MPI_File fh, MPI_Offset offset, const void *buf, int count,
                       MPI_Datatype type, MPI_Status *status);

enum { FILES = 2, N = 500, BYTES = N * (int)sizeof(int) };

static MPI_File fh[FILES];
static int out[N], in[N];

/* Numbers that no other step of any rank writes. */
static void draw(int step, int file)
{
    for (int i = 0; i < N; i++)
        out[i] = ((step * FILES + file) * 64 + t_rank) * N + i;
    memset(in, -1, sizeof in);
}

static void same(int step, int file)
{
    if (memcmp(in, out, sizeof in) != 0 && t_failures++ < 10)
        fprintf(stderr, "rank %d step %d file %d: wrong bytes\n", t_rank, step, file);
}

static void counted(MPI_Status *status)
{
    int got;

    OK(MPI_Get_count(status, MPI_INT, &got));
    CHECK(got == N);
}

/* Explicit offsets: blocking, nonblocking, collective, split; each by a large count, too. */
static void offsets(int k)
{
    MPI_Offset at = (MPI_Offset)t_rank * BYTES;
    MPI_Request r;
    MPI_Status s;

    draw(1, k);
    OK(MPI_File_write_at(fh[k], at, out, N, MPI_INT, &s));
    counted(&s);
    OK(MPI_File_read_at_c(fh[k], at, in, N, MPI_INT, &s));
    counted(&s);
    same(1, k);
    draw(2, k);
    OK(PMPI_File_write_at(fh[k], at, out, N, MPI_INT, &s));
    OK(MPI_File_iread_at(fh[k], at, in, N, MPI_INT, &r));
    OK(MPI_Wait(&r, &s));
    counted(&s);
    same(2, k);
    draw(3, k);
    OK(MPI_File_iwrite_at_c(fh[k], at, out, N, MPI_INT, &r));
    OK(MPI_Wait(&r, &s));
    OK(MPI_File_read_at_all(fh[k], at, in, N, MPI_INT, &s));
    same(3, k);
    draw(4, k);
    OK(MPI_File_write_at_all_begin(fh[k], at, out, N, MPI_INT));
    OK(MPI_File_write_at_all_end(fh[k], out, &s));
    OK(MPI_File_iread_at_all(fh[k], at, in, N, MPI_INT, &r));
    OK(MPI_Wait(&r, &s));
    same(4, k);
}

/* The individual pointer, behind a view of every second block; the shared one, which views reset.
 */
static void pointers(int k)
{
    MPI_Datatype blocks;
    MPI_Offset at, byte;
    MPI_Status s;

    OK(MPI_Type_vector(2, N / 2, N / 2 * t_size, MPI_INT, &blocks));
    OK(MPI_Type_commit(&blocks));
    OK(MPI_File_set_view(fh[k], (MPI_Offset)t_rank * BYTES / 2, MPI_INT, blocks, "native",
                         MPI_INFO_NULL));
    draw(5, k);
    OK(MPI_File_write_all(fh[k], out, N, MPI_INT, &s));
    OK(MPI_File_get_position(fh[k], &at));
    CHECK(at == N);
    OK(MPI_File_get_byte_offset(fh[k], 1, &byte));
    CHECK(byte == (MPI_Offset)t_rank * BYTES / 2 + (MPI_Offset)sizeof(int));
    OK(MPI_File_seek(fh[k], 0, MPI_SEEK_SET));
    OK(MPI_File_read_all_c(fh[k], in, N, MPI_INT, &s));
    same(5, k);
    OK(MPI_Type_free(&blocks));

    OK(MPI_File_set_view(fh[k], 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    draw(6, k);
    OK(MPI_File_write_ordered(fh[k], out, N, MPI_INT, &s));
    OK(MPI_File_get_position_shared(fh[k], &at));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(at == (MPI_Offset)N * t_size);
    OK(MPI_File_seek_shared(fh[k], 0, MPI_SEEK_SET));
    OK(MPI_File_read_ordered_begin(fh[k], in, N, MPI_INT));
    OK(MPI_File_read_ordered_end(fh[k], in, &s));
    same(6, k);
}

static void properties(int k)
{
    MPI_Offset size;
    MPI_Group group;
    MPI_Aint extent;
    MPI_Info info;
    int value;

    OK(MPI_File_set_size(fh[k], (MPI_Offset)BYTES * t_size));
    OK(MPI_File_preallocate(fh[k], (MPI_Offset)BYTES * t_size));
    OK(MPI_File_get_size(fh[k], &size));
    CHECK(size == (MPI_Offset)BYTES * t_size);
    OK(MPI_File_get_amode(fh[k], &value));
    CHECK(value == (MPI_MODE_CREATE | MPI_MODE_RDWR));
    OK(MPI_File_get_group(fh[k], &group));
    OK(MPI_Group_size(group, &value));
    CHECK(value == t_size);
    OK(MPI_Group_free(&group));
    OK(MPI_File_get_type_extent(fh[k], MPI_INT, &extent));
    CHECK(extent == (MPI_Aint)sizeof(int));
    OK(MPI_File_set_atomicity(fh[k], 1));
    OK(MPI_File_get_atomicity(fh[k], &value));
    CHECK(value == 1);
    OK(MPI_File_set_atomicity(fh[k], 0));
    OK(MPI_File_get_info(fh[k], &info));
    OK(MPI_File_set_info(fh[k], info));
    OK(MPI_Info_free(&info));
    OK(MPI_File_sync(fh[k]));
}

/* ---- what is no call on one file ---------------------------------------------------- */

static int calls;
static MPI_File last;

static void handler(MPI_File *f, int *code, ...)
{
    (void)code;
    calls++;
    last = *f;
}

/* An access that is refused. What it returns when the handler comes back differs between MPI
 * libraries. */
static int refused(MPI_File f)
{
    return MPI_File_read_at(f, -1, in, 1, MPI_INT, MPI_STATUS_IGNORE);
}

/* One handler for both kinds, given back while they have it; then that of MPI_FILE_NULL. */
static void handlers(const char *const *names)
{
    MPI_Errhandler mine, got;
    MPI_File none;
    char missing[4200];

    OK(MPI_File_create_errhandler(handler, &mine));
    for (int k = 0; k < FILES; k++)
        OK(MPI_File_set_errhandler(fh[k], mine));
    OK(MPI_File_set_errhandler(MPI_FILE_NULL, mine));
    for (int k = 0; k < FILES; k++) {
        calls = 0;
        refused(fh[k]);
        CHECK(calls == 1 && last == fh[k]);
        OK(MPI_File_call_errhandler(fh[k], MPI_ERR_OTHER));
        CHECK(calls == 2 && last == fh[k]);
        OK(MPI_File_get_errhandler(fh[k], &got));
        CHECK(got == mine);
        OK(MPI_Errhandler_free(&got));
        snprintf(missing, sizeof missing, "%s.not/there", names[k]);
        MPI_File_open(MPI_COMM_SELF, missing, MPI_MODE_RDONLY, MPI_INFO_NULL, &none);
        CHECK(calls == 3 && last == MPI_FILE_NULL);
        MPI_File_delete(missing, MPI_INFO_NULL);
        CHECK(calls == 4 && last == MPI_FILE_NULL);
    }
    OK(MPI_File_get_errhandler(MPI_FILE_NULL, &got));
    CHECK(got == mine);
    OK(MPI_Errhandler_free(&got));
    MPI_File_get_size(MPI_FILE_NULL, &(MPI_Offset){0});
    CHECK(calls == 5 && last == MPI_FILE_NULL);
    OK(MPI_Errhandler_free(&mine));
    for (int k = 0; k < FILES; k++) {
        calls = 0;
        refused(fh[k]);
        CHECK(calls == 1 && last == fh[k]);
        OK(MPI_File_set_errhandler(fh[k], MPI_ERRORS_RETURN));
        CHECK(refused(fh[k]) != MPI_SUCCESS);
        CHECK(calls == 1);
    }
    OK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
}

/* All have numbers of their own, which lead back, however many are open. */
static void numbers(const char *const *names)
{
    enum { MANY = 12 };
    MPI_File file[MANY];
    MPI_Fint number[MANY];

    for (int i = 0; i < MANY; i++) {
        OK(MPI_File_open(MPI_COMM_SELF, names[i % FILES], MPI_MODE_RDONLY, MPI_INFO_NULL,
                         &file[i]));
        number[i] = MPI_File_c2f(file[i]);
        for (int j = 0; j < i; j++)
            CHECK(number[i] != number[j] && file[i] != file[j]);
    }
    for (int i = 0; i < MANY; i++) {
        CHECK(MPI_File_f2c(number[i]) == file[i]);
        OK(MPI_File_close(&file[i]));
        CHECK(file[i] == MPI_FILE_NULL);
    }
    CHECK(MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)) == MPI_FILE_NULL);
}

static int extent_of(MPI_Datatype type, MPI_Aint *extent, void *state)
{
    (void)state;
    MPI_Aint lb;

    return MPI_Type_get_extent(type, &lb, extent);
}

/* Whether a name can be registered, on both sides or on none. */
static void representations(void)
{
    /* Some MPI libraries raise it on one of these. */
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    OK(MPI_Register_datarep("t_both", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, extent_of,
                            NULL));
    CHECK(t_class(MPI_Register_datarep("t_both", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL,
                                       extent_of, NULL)) == MPI_ERR_DUP_DATAREP);
}

static void show_info(MPI_File f)
{
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
    MPI_Info info;
    int n, found;

    OK(MPI_File_get_info(f, &info));
    OK(MPI_Info_get_nkeys(info, &n));
    for (int i = 0; t_rank == 0 && i < n; i++) {
        OK(MPI_Info_get_nthkey(info, i, key));
        OK(MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found));
        printf("info %s=%s\n", key, value);
    }
    OK(MPI_Info_free(&info));
}

int main(int argc, char **argv)
{
    const char *names[FILES] = {t_begin(argc, argv, MPI_THREAD_SINGLE), argc > 2 ? argv[2] : ""};

    for (int k = 0; k < FILES; k++)
        OK(MPI_File_open(MPI_COMM_WORLD, names[k], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                         &fh[k]));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    /* PnetCDF looks for a file before it opens it again. */
    for (int k = 0; k < FILES; k++)
        CHECK(strchr(names[k], ':') || access(names[k], R_OK | W_OK) == 0);
    if (argc > 3)
        show_info(fh[1]);
    for (int k = 0; k < FILES; k++)
        offsets(k);
    for (int k = 0; k < FILES; k++)
        pointers(k);
    for (int k = 0; k < FILES; k++)
        properties(k);
    handlers(names);
    representations();
    numbers(names);
    for (int k = 0; k < FILES; k++)
        OK(MPI_File_close(&fh[k]));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int k = 0; t_rank == 0 && k < FILES; k++)
        OK(MPI_File_delete(names[k], MPI_INFO_NULL));
    return t_end("t_both");
}
