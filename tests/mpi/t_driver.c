/* An open whose ranks have different drivers fails on all of them; one of ranks with the same does
 * not, and the mode is the program's own.
 *
 *     t_driver NAME NAME-OF-LAST WANT
 *
 * The last rank has the second name; WANT is "fails" or "opens". */
#include "t_mpiio.h"

int main(int argc, char **argv)
{
    const char *name = t_begin(argc, argv, MPI_THREAD_SINGLE);
    const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR;
    int opens = !strcmp(argv[3], "opens"), rc, amode;
    MPI_File f;

    rc = MPI_File_open(MPI_COMM_WORLD, t_rank == t_size - 1 ? argv[2] : name, mode, MPI_INFO_NULL,
                       &f);
    CHECK((rc == MPI_SUCCESS) == opens);
    if (rc == MPI_SUCCESS) {
        OK(MPI_File_get_amode(f, &amode));
        CHECK(amode == mode);
        OK(MPI_File_close(&f));
    } else {
        char text[MPI_MAX_ERROR_STRING] = "";
        int len;

        CHECK(t_class(rc) == MPI_ERR_NOT_SAME);
        MPI_Error_string(rc, text, &len);
        for (char *c = text; *c; c++)
            *c = *c == '\n' ? ' ' : *c;
        printf("rank %d: %s\n", t_rank, text);
        fflush(stdout);
    }
    return t_end("t_driver");
}
