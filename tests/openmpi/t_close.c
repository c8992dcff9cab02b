/*
 * t_close FILE SWITCH: write-back fails when the file is closed (SWITCH is that of faultshim.c):
 * the file's error handler is called, whatever MPI_File_close returns.
 */
#include "../mpi/t_mpiio.h"

static int calls, its_class;

static void handler(MPI_File *fh, int *code, ...)
{
    (void)fh;
    calls++;
    MPI_Error_class(*code, &its_class);
}

int main(int argc, char **argv)
{
    const char *name = t_begin(argc, argv, MPI_THREAD_SINGLE);
    MPI_Errhandler mine;
    MPI_File fh;
    FILE *f;

    OK(MPI_File_create_errhandler(handler, &mine));
    OK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
    OK(MPI_File_set_errhandler(fh, mine));
    OK(MPI_File_write_at(fh, 0, "bytes", 5, MPI_BYTE, MPI_STATUS_IGNORE));
    f = fopen(argv[2], "w");
    CHECK(f && fputs("ENOSPC", f) >= 0 && fclose(f) == 0);
    MPI_File_close(&fh);
    CHECK(fh == MPI_FILE_NULL);
    CHECK(calls == 1 && its_class == MPI_ERR_NO_SPACE);
    OK(MPI_Errhandler_free(&mine));
    return t_end("t_close");
}
