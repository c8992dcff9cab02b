/*
 * t_f08 FILE: the functions behind "use mpi_f08" of libmpifort_abi.so.1, which comes without
 * modules that gfortran reads, called as Fortran calls them.
 *
 * Handles are as wide as a pointer there: those of communicators and infos are the ones of C, that
 * of a file is a Fortran number. Functions with a buffer take descriptors of Intel's compiler and
 * are not called.
 */
#include <mpi_abi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    intptr_t value;
} handle;

void mpi_file_open_f08_(handle *comm, const char *name, int *amode, handle *info, handle *fh,
                        int *error, size_t length);
void mpi_file_set_size_f08_(handle *fh, MPI_Offset *size, int *error);
void mpi_file_get_size_f08_(handle *fh, MPI_Offset *size, int *error);
void mpi_file_get_amode_f08_(handle *fh, int *amode, int *error);
void mpi_file_seek_f08_(handle *fh, MPI_Offset *offset, int *whence, int *error);
void mpi_file_get_position_f08_(handle *fh, MPI_Offset *offset, int *error);
void mpi_file_close_f08_(handle *fh, int *error);

static int bad;

static void check(int ok, const char *what)
{
    if (!ok)
        fprintf(stderr, "t_f08: %s\n", what);
    bad |= !ok;
}

/* Seeks, and returns the position. */
static MPI_Offset position(handle *fh, MPI_Offset offset, int whence)
{
    MPI_Offset at = -1;
    int error = -1;

    mpi_file_seek_f08_(fh, &offset, &whence, &error);
    check(error == MPI_SUCCESS, "MPI_File_seek");
    mpi_file_get_position_f08_(fh, &at, &error);
    check(error == MPI_SUCCESS, "MPI_File_get_position");
    return at;
}

static void use(handle *fh, int amode)
{
    MPI_Offset size = 1000, offset = -1;
    int error, got = 0, none = 12345;

    mpi_file_set_size_f08_(fh, &size, &error);
    size = 0;
    mpi_file_get_size_f08_(fh, &size, &error);
    check(size == 1000, "MPI_File_get_size");
    mpi_file_get_amode_f08_(fh, &got, &error);
    check(got == amode, "MPI_File_get_amode");
    check(position(fh, 10, MPI_SEEK_SET) == 10, "MPI_SEEK_SET");
    check(position(fh, 7, MPI_SEEK_CUR) == 17, "MPI_SEEK_CUR");
    check(position(fh, -10, MPI_SEEK_END) == 990, "MPI_SEEK_END");
    mpi_file_seek_f08_(fh, &offset, &none, &error);
    check(error != MPI_SUCCESS, "a seek from nowhere is an error that is returned");
}

int main(int argc, char **argv)
{
    handle comm = {(intptr_t)MPI_COMM_WORLD}, info = {(intptr_t)MPI_INFO_NULL}, fh = {0};
    int amode = MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, error = -1;

    MPI_Init(&argc, &argv);
    mpi_file_open_f08_(&comm, argv[1], &amode, &info, &fh, &error, strlen(argv[1]));
    check(error == MPI_SUCCESS, "MPI_File_open");
    if (!bad) {
        use(&fh, amode);
        mpi_file_close_f08_(&fh, &error);
        check(error == MPI_SUCCESS, "MPI_File_close");
    }
    MPI_Finalize();
    return bad;
}
