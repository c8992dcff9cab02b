/*
 * Collective calls in which one rank fails.
 *
 *     t_one_rank FILE [plugin]    also collective reads, and what a failed open leaves
 *
 * No rank waits for one that has left the call: that one gets its own error, the others one that
 * names it, and the file is unchanged.
 */
#include "t_mpiio.h"

enum { RW = MPI_MODE_CREATE | MPI_MODE_RDWR, SIZE = 4000 };

static const char *name;
static MPI_File fh;
static int bad;    /* the failing rank */
static int wrong;  /* this rank is the failing one */
static int plugin; /* with stricter checks than for a driver built into MPICH */

/* RC is of class `own` on the failing rank, and of the same class elsewhere, with that rank in the
 * text.
 */
static void check(int rc, int own, int line)
{
    char text[MPI_MAX_ERROR_STRING] = "", who[32];
    int len, fine;

    MPI_Error_string(rc, text, &len);
    snprintf(who, sizeof who, "rank %d", bad);
    fine = t_class(rc) == own && (wrong || strstr(text, who));
    if (!fine)
        fprintf(stderr, "line %d: rank %d of %d, %d is wrong: class %d: %s\n", line, t_rank, t_size,
                bad, t_class(rc), text);
    CHECK(fine);
}
#define FAILS(call, own) check(call, own, __LINE__)

/* Arguments that have to be equal: every rank gets the error. */
#define DIFFERS(call)                                                                              \
    do {                                                                                           \
        int differs_rc = (call);                                                                   \
        CHECK(t_class(differs_rc) == MPI_ERR_ARG);                                                 \
    } while (0)

static void still_the_view(void)
{
    MPI_Datatype etype, filetype;
    char datarep[MPI_MAX_DATAREP_STRING];
    MPI_Offset disp, at, shared;

    OK(MPI_File_get_view(fh, &disp, &etype, &filetype, datarep));
    CHECK(disp == 8 && etype == MPI_INT && filetype == MPI_INT && !strcmp(datarep, "native"));
    OK(MPI_File_get_position(fh, &at));
    OK(MPI_File_get_position_shared(fh, &shared));
    CHECK(at == 3 && shared == 5);
}

static int view(MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype, const char *datarep)
{
    return MPI_File_set_view(fh, disp, etype, filetype, datarep, MPI_INFO_NULL);
}

static void views(void)
{
    int lens[2] = {1, 1}, falling[2] = {4, 0};
    MPI_Datatype down, half;

    OK(MPI_Type_indexed(2, lens, falling, MPI_INT, &down));
    OK(MPI_Type_commit(&down));
    OK(MPI_Type_contiguous(6, MPI_BYTE, &half));
    OK(MPI_Type_commit(&half));
    OK(view(8, MPI_INT, MPI_INT, "native"));
    OK(MPI_File_seek(fh, 3, MPI_SEEK_SET));
    OK(MPI_File_seek_shared(fh, 5, MPI_SEEK_SET));
    FAILS(view(wrong ? -1 : 0, MPI_INT, MPI_INT, "native"), MPI_ERR_ARG);
    FAILS(view(0, wrong ? MPI_DATATYPE_NULL : MPI_INT, MPI_INT, "native"), MPI_ERR_ARG);
    FAILS(view(0, MPI_INT, wrong ? MPI_DATATYPE_NULL : MPI_INT, "native"), MPI_ERR_ARG);
    FAILS(view(0, MPI_INT, wrong ? half : MPI_INT, "native"), MPI_ERR_ARG);
    FAILS(view(0, MPI_INT, MPI_INT, wrong ? "native2" : "native"), MPI_ERR_UNSUPPORTED_DATAREP);
    FAILS(view(0, MPI_INT, MPI_INT, wrong ? NULL : "native"), MPI_ERR_UNSUPPORTED_DATAREP);
    FAILS(view(wrong ? MPI_DISPLACEMENT_CURRENT : 0, MPI_INT, MPI_INT, "native"), MPI_ERR_ARG);
    FAILS(view(0, MPI_INT, wrong ? down : MPI_INT, "native"), MPI_ERR_IO);
    FAILS(view(0, wrong ? down : MPI_INT, wrong ? down : MPI_INT, "native"), MPI_ERR_IO);
    DIFFERS(view(0, MPI_INT, MPI_INT, wrong ? "external32" : "native"));
    MPI_Barrier(MPI_COMM_WORLD);
    still_the_view();
    MPI_Barrier(MPI_COMM_WORLD);
    OK(view(0, MPI_BYTE, MPI_BYTE, "native"));
    OK(MPI_Type_free(&down));
    OK(MPI_Type_free(&half));
}

static void sizes(void)
{
    MPI_Offset size;
    int flag;

    OK(MPI_File_set_size(fh, SIZE));
    FAILS(MPI_File_set_size(fh, wrong ? -1 : 10), MPI_ERR_ARG);
    DIFFERS(MPI_File_set_size(fh, wrong ? 20 : 10));
    FAILS(MPI_File_preallocate(fh, wrong ? -1 : 10 * SIZE), MPI_ERR_ARG);
    DIFFERS(MPI_File_preallocate(fh, wrong ? 20 * SIZE : 10 * SIZE));
    DIFFERS(MPI_File_preallocate(fh, wrong ? 0 : 10 * SIZE));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_get_size(fh, &size));
    CHECK(size == SIZE);
    DIFFERS(MPI_File_set_atomicity(fh, wrong));
    OK(MPI_File_get_atomicity(fh, &flag));
    CHECK(!flag);
    OK(MPI_File_set_atomicity(fh, 1 + wrong)); /* both are true */
    OK(MPI_File_get_atomicity(fh, &flag));
    CHECK(flag == 1);
    DIFFERS(MPI_File_set_atomicity(fh, !wrong));
    OK(MPI_File_get_atomicity(fh, &flag));
    CHECK(flag == 1);
    OK(MPI_File_set_atomicity(fh, 0));
    DIFFERS(MPI_File_seek_shared(fh, wrong ? -1 : 0, MPI_SEEK_SET));
    DIFFERS(MPI_File_seek_shared(fh, 0, wrong ? 77 : MPI_SEEK_SET));
}

static void only_read(void)
{
    MPI_File r;

    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &r));
    CHECK(t_class(MPI_File_set_size(r, wrong ? -1 : 0)) ==
          (wrong ? MPI_ERR_ARG : MPI_ERR_READ_ONLY));
    CHECK(t_class(MPI_File_preallocate(r, wrong ? -1 : SIZE)) ==
          (wrong ? MPI_ERR_ARG : MPI_ERR_READ_ONLY));
    OK(MPI_File_close(&r));
}

/* Errors that ROMIO detects before it communicates. */
static void opens(void)
{
    static const int modes[] = {0, MPI_MODE_RDONLY | MPI_MODE_RDWR,
                                MPI_MODE_RDONLY | MPI_MODE_CREATE,
                                MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL};
    MPI_File f;

    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        FAILS(MPI_File_open(MPI_COMM_WORLD, name, wrong ? modes[i] : RW, MPI_INFO_NULL, &f),
              MPI_ERR_AMODE);
        if (plugin) /* ROMIO in MPICH leaves the handle unchanged */
            CHECK(f == MPI_FILE_NULL);
    }
    CHECK(t_class(MPI_File_open(MPI_COMM_WORLD, name, wrong ? MPI_MODE_RDONLY : RW, MPI_INFO_NULL,
                                &f)) == MPI_ERR_NOT_SAME);
#ifdef MPICH /* where an invalid info is not fatal */
    MPI_Info none, info;

    MPI_Info_create(&info);
    none = info;
    MPI_Info_free(&info);
    CHECK(MPI_File_open(MPI_COMM_WORLD, name, wrong ? 0 : RW, wrong ? MPI_INFO_NULL : none, &f) !=
          MPI_SUCCESS);
#endif
}

/* Collective accesses; a read waits for the others when something was written. */
static void accesses(void)
{
    static int in[4], out[4];
    MPI_Status status;
    MPI_Request r;
    int rc;

    OK(MPI_File_write_at_all(fh, 16 * t_rank, out, 4, MPI_INT, &status));
    rc = MPI_File_read_at_all(fh, wrong ? -1 : 16 * t_rank, in, 4, MPI_INT, &status);
    CHECK(wrong == (rc != MPI_SUCCESS));
    rc = MPI_File_read_at_all(fh, 16 * t_rank, in, wrong ? -1 : 4, MPI_INT, &status);
    CHECK(wrong == (rc != MPI_SUCCESS));
    rc = MPI_File_read_all(fh, in, wrong ? -1 : 4, MPI_INT, &status);
    CHECK(wrong == (rc != MPI_SUCCESS));
    rc = MPI_File_read_at_all_begin(fh, wrong ? -1 : 16 * t_rank, in, 4, MPI_INT);
    CHECK(wrong == (rc != MPI_SUCCESS));
    if (rc == MPI_SUCCESS)
        OK(MPI_File_read_at_all_end(fh, in, &status));
    rc = MPI_File_iread_at_all(fh, wrong ? -1 : 16 * t_rank, in, 4, MPI_INT, &r);
    CHECK(wrong == (rc != MPI_SUCCESS));
    OK(MPI_Wait(&r, &status));
    rc = MPI_File_read_ordered(fh, in, wrong ? -1 : 4, MPI_INT, &status);
    CHECK(rc != MPI_SUCCESS || !wrong);
    rc = MPI_File_write_ordered(fh, out, wrong ? -1 : 4, MPI_INT, &status);
    CHECK(rc != MPI_SUCCESS || !wrong);
}

int main(int argc, char **argv)
{
    name = t_begin(argc, argv, MPI_THREAD_SINGLE);
    plugin = argc > 2;
    OK(MPI_File_open(MPI_COMM_WORLD, name, RW, MPI_INFO_NULL, &fh));
    for (bad = 0; bad<t_size; bad += t_size> 2 ? t_size - 1 : 1) {
        wrong = t_rank == bad;
        views();
        sizes();
        only_read();
        opens();
        if (plugin)
            accesses();
    }
    OK(MPI_File_close(&fh));
    return t_end("t_one_rank");
}
