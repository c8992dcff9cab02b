/* t_apart.c - a file that is open where it cannot be attached to.
 *
 *     t_apart FILE
 *
 * Run so that processes of one host cannot use its memory with each other: the network of rank 1 is
 * not that of rank 0.  Rank 0 has the file open by itself; rank 1's open fails, says what to do,
 * and changes nothing: when rank 0 has closed the file, rank 1 has it for itself.
 */
#include "t_file.h"

enum { LEN = 10000 };

static unsigned char image[LEN], got[LEN];

static int open_self(const char *name, MPI_File *fh)
{
    return MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, fh);
}

static void refused(const char *name)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    MPI_File fh = MPI_FILE_NULL;
    int rc, len;

    for (int i = 0; i < 2; i++) {
        rc = open_self(name, &fh);
        CHECK(rc != MPI_SUCCESS && fh == MPI_FILE_NULL);
        if (rc == MPI_SUCCESS)
            OK(MPI_File_close(&fh));
        else
            MPI_Error_string(rc, text, &len);
        if (!strstr(text, "zcache_local"))
            fprintf(stderr, "rank %d: %s\n", t_rank, text);
        CHECK(strstr(text, "rank 0") && strstr(text, "zcache_local"));
    }
}

int main(int argc, char **argv)
{
    const char *name = t_begin(argc, argv, MPI_THREAD_SINGLE);
    MPI_File fh = MPI_FILE_NULL;

    t_stamps(image, 0, LEN, 1);
    if (t_rank == 0) {
        OK(open_self(name, &fh));
        OK(MPI_File_write_at(fh, 0, image, LEN, MPI_BYTE, MPI_STATUS_IGNORE));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank == 1)
        refused(name);
    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank == 0)
        OK(MPI_File_close(&fh));
    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank == 1) {
        OK(open_self(name, &fh));
        OK(MPI_File_read_at(fh, 0, got, LEN, MPI_BYTE, MPI_STATUS_IGNORE));
        t_equal(got, image, 0, LEN, "what rank 0 has written");
        OK(MPI_File_close(&fh));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return t_end(argv[0]);
}
