/*
 * Error handlers and error codes of files. "t_errhandler FILE fatal" and "... abort" must not come
 * back from their error, by MPI_ERRORS_ARE_FATAL and MPI_ERRORS_ABORT, which MPI libraries before
 * MPI-4 have not: the caller checks that they fail and say why.
 */
#include "t_mpiio.h"

#ifndef MPI_ERRORS_ABORT
#define MPI_ERRORS_ABORT MPI_ERRORS_ARE_FATAL
#endif

static int calls, last_code;
static MPI_File last_fh;

static void handler(MPI_File *fh, int *code, ...)
{
    calls++;
    last_fh = *fh;
    last_code = *code;
}

static void other_handler(MPI_File *fh, int *code, ...)
{
    MPI_Offset size;

    (void)code;
    calls += 100;
    /* A handler may use the file. */
    if (*fh != MPI_FILE_NULL)
        CHECK(MPI_File_get_size(*fh, &size) == MPI_SUCCESS);
}

/* What it makes of the code is what the function returns. */
static void forgiving(MPI_File *fh, int *code, ...)
{
    (void)fh;
    calls++;
    last_code = *code;
    *code = MPI_SUCCESS;
}

static int text_has(int code, const char *what)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int len;

    MPI_Error_string(code, text, &len);
    if (strstr(text, what))
        return 1;
    fprintf(stderr, "rank %d: \"%s\" lacks \"%s\"\n", t_rank, text, what);
    return 0;
}

/* The default of MPI_FILE_NULL is to return; codes have a class and say what went wrong. */
static void codes(const char *prefix)
{
    char name[4096];
    MPI_File fh = (MPI_File)1;
    int rc, again;

    snprintf(name, sizeof(name), "%s.does/not/exist", prefix);
    rc = MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh);
    CHECK(t_class(rc) == MPI_ERR_NO_SUCH_FILE);
    CHECK(fh == MPI_FILE_NULL);
    CHECK(text_has(rc, "does/not/exist"));
    for (int i = 0; i < 20000; i++)
        again = MPI_File_delete(name, MPI_INFO_NULL);
    CHECK(t_class(again) == MPI_ERR_NO_SUCH_FILE);
    CHECK(text_has(again, "does/not/exist"));
    for (int i = 0; i < 300; i++) { /* more texts than any table of them holds */
        snprintf(name, sizeof(name), "%s.does/not/exist%d", prefix, i);
        rc = MPI_File_delete(name, MPI_INFO_NULL);
        CHECK(t_class(rc) == MPI_ERR_NO_SUCH_FILE);
        CHECK(text_has(rc, strrchr(name, '/')));
    }
    rc = MPI_File_open(MPI_COMM_WORLD, "nosuchfs:/tmp/x", MPI_MODE_RDONLY, MPI_INFO_NULL, &fh);
    CHECK(rc != MPI_SUCCESS);
    rc = MPI_File_open(MPI_COMM_WORLD, prefix, MPI_MODE_RDONLY | MPI_MODE_RDWR, MPI_INFO_NULL, &fh);
    CHECK(t_class(rc) == MPI_ERR_AMODE);
}

static void null_handler(const char *prefix)
{
    MPI_Errhandler mine, got;
    MPI_File fh;
    char name[4096];

    snprintf(name, sizeof(name), "%s.does/not/exist", prefix);
    OK(MPI_File_get_errhandler(MPI_FILE_NULL, &got));
    CHECK(got == MPI_ERRORS_RETURN);
    OK(MPI_File_create_errhandler(handler, &mine));
    OK(MPI_File_set_errhandler(MPI_FILE_NULL, mine));
    calls = 0;
    CHECK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh) != MPI_SUCCESS);
    CHECK(calls == 1 && last_fh == MPI_FILE_NULL && t_class(last_code) == MPI_ERR_NO_SUCH_FILE);
    OK(MPI_File_get_errhandler(MPI_FILE_NULL, &got));
    CHECK(got == mine);
    OK(MPI_Errhandler_free(&got));
    OK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
    OK(MPI_Errhandler_free(&mine));
    CHECK(mine == MPI_ERRHANDLER_NULL);
}

static void forgiven(const char *prefix, MPI_File fh)
{
    char name[4096], buf[8];
    MPI_Errhandler mine;
    MPI_File none = fh;

    snprintf(name, sizeof(name), "%s.does/not/exist", prefix);
    OK(MPI_File_create_errhandler(forgiving, &mine));
    OK(MPI_File_set_errhandler(MPI_FILE_NULL, mine));
    OK(MPI_File_set_errhandler(fh, mine));
    OK(MPI_Errhandler_free(&mine));
    calls = 0;
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &none));
    CHECK(calls == 1 && none == MPI_FILE_NULL && t_class(last_code) == MPI_ERR_NO_SUCH_FILE);
    OK(MPI_File_delete(name, MPI_INFO_NULL));
    CHECK(calls == 2 && t_class(last_code) == MPI_ERR_NO_SUCH_FILE);
    OK(MPI_File_read_at(fh, -1, buf, 1, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(calls == 3 && t_class(last_code) == MPI_ERR_ARG);
    OK(MPI_File_set_errhandler(fh, MPI_ERRORS_RETURN));
    OK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
}

/* A file has the handler that MPI_FILE_NULL had when it was opened, whatever that has later. */
static void inherited(const char *name)
{
    MPI_Errhandler mine, got;
    MPI_File fh;
    char buf[8];

    OK(MPI_File_create_errhandler(handler, &mine));
    OK(MPI_File_set_errhandler(MPI_FILE_NULL, mine));
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
    OK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
    OK(MPI_File_get_errhandler(fh, &got));
    CHECK(got == mine);
    OK(MPI_Errhandler_free(&got));
    OK(MPI_Errhandler_free(&mine));
    calls = 0;
    CHECK(MPI_File_read_at(fh, -1, buf, 1, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    CHECK(calls == 1 && last_fh == fh && t_class(last_code) == MPI_ERR_ARG);
    OK(MPI_File_close(&fh));
}

static void file_handler(MPI_File fh)
{
    MPI_Errhandler mine, other, got;
    char buf[8];
    int rc;

    /* Files get the handler that MPI_FILE_NULL has when they are opened. */
    OK(MPI_File_get_errhandler(fh, &got));
    CHECK(got == MPI_ERRORS_RETURN);
    rc = MPI_File_read_at(fh, -1, buf, 1, MPI_BYTE, MPI_STATUS_IGNORE);
    CHECK(t_class(rc) == MPI_ERR_ARG);

    OK(MPI_File_create_errhandler(handler, &mine));
    OK(MPI_File_create_errhandler(other_handler, &other));
    CHECK(mine != other);
    OK(MPI_File_set_errhandler(fh, mine));
    OK(MPI_Errhandler_free(&mine)); /* the file keeps it */
    calls = 0;
    rc = MPI_File_read_at(fh, -1, buf, 1, MPI_BYTE, MPI_STATUS_IGNORE);
    CHECK(calls == 1 && last_fh == fh && last_code == rc && t_class(rc) == MPI_ERR_ARG);
    OK(MPI_File_call_errhandler(fh, MPI_ERR_OTHER));
    CHECK(calls == 2 && last_fh == fh && last_code == MPI_ERR_OTHER);

    OK(MPI_File_set_errhandler(fh, other));
    calls = 0;
    rc = MPI_File_read_at_c(fh, 0, buf, -1, MPI_BYTE, MPI_STATUS_IGNORE);
    CHECK(calls == 100 && t_class(rc) == MPI_ERR_COUNT);
    OK(MPI_File_get_errhandler(fh, &got));
    CHECK(got == other);
    OK(MPI_Errhandler_free(&got));
    OK(MPI_Errhandler_free(&other));
    rc = MPI_File_read_at(fh, -1, buf, 1, MPI_BYTE, MPI_STATUS_IGNORE);
    CHECK(calls == 200);

    /* Handlers come and go. */
    for (int i = 0; i < 3000; i++) {
        OK(MPI_File_create_errhandler(handler, &mine));
        OK(MPI_File_set_errhandler(fh, mine));
        OK(MPI_Errhandler_free(&mine));
    }
    calls = 0;
    MPI_File_call_errhandler(fh, MPI_ERR_IO);
    CHECK(calls == 1);
}

static void comm_function(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
}

/* COMM_HANDLER was made before any handler for files, so it cannot have the number of one. */
static void wrong_handler(MPI_File fh, MPI_Errhandler comm_handler)
{
    OK(MPI_File_set_errhandler(fh, MPI_ERRORS_RETURN));
    CHECK(MPI_File_set_errhandler(fh, comm_handler) != MPI_SUCCESS);
    OK(MPI_Errhandler_free(&comm_handler));
}

static void two_files(MPI_File fh, const char *name)
{
    MPI_Errhandler mine;
    MPI_File two;
    char buf[1];

    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &two));
    OK(MPI_File_create_errhandler(handler, &mine));
    OK(MPI_File_set_errhandler(two, mine));
    OK(MPI_File_set_errhandler(fh, MPI_ERRORS_RETURN));
    OK(MPI_Errhandler_free(&mine));
    calls = 0;
    MPI_File_read_at(fh, -1, buf, 1, MPI_BYTE, MPI_STATUS_IGNORE);
    CHECK(calls == 0);
    MPI_File_read_at(two, -1, buf, 1, MPI_BYTE, MPI_STATUS_IGNORE);
    CHECK(calls == 1 && last_fh == two);
    CHECK(t_class(MPI_File_write_at(two, 0, buf, 1, MPI_BYTE, MPI_STATUS_IGNORE)) ==
          MPI_ERR_READ_ONLY);
    OK(MPI_File_close(&two));
}

int main(int argc, char **argv)
{
    const char *name = t_begin(argc, argv, MPI_THREAD_SINGLE);
    MPI_Errhandler comm_handler;
    MPI_File fh;

    OK(MPI_Comm_create_errhandler(comm_function, &comm_handler));
    codes(name);
    null_handler(name);
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
    file_handler(fh);
    forgiven(name, fh);
    wrong_handler(fh, comm_handler);
    two_files(fh, name);
    inherited(name);
    CHECK(MPI_File_close(&(MPI_File){MPI_FILE_NULL}) != MPI_SUCCESS);
    if (argc > 2) {
        OK(MPI_File_set_errhandler(fh, strcmp(argv[2], "abort") ? MPI_ERRORS_ARE_FATAL
                                                                : MPI_ERRORS_ABORT));
        MPI_File_read_at(fh, -1, NULL, 1, MPI_BYTE, MPI_STATUS_IGNORE);
        fprintf(stderr, "a fatal error came back\n");
    }
    OK(MPI_File_close(&fh));
    if (t_rank == 0)
        OK(MPI_File_delete(name, MPI_INFO_NULL));
    return t_end("t_errhandler");
}
