/* t_jobs.c - one of several jobs that work on a file one after the other.
 *
 *     t_jobs FILE NUMBER [HINT=VALUE ...]
 *
 * Job NUMBER = 1, 2, 3, ... reads what those before it have left, reads it all, writes every third
 * piece anew, and closes.  Which rank does what depends on how many there are, the outcome
 * does not.  Job 0 only looks, with plain reads.  Prints how many bytes were not stored when
 * it began.
 */
#include "t_file.h"

enum { PIECE = 50021, PIECES = 60, SIZE = PIECE * PIECES, JOBS = 30 };

static unsigned char image[SIZE];

/* The image after job `n`. */
static void after(int n)
{
    for (int job = 1; job <= n; job++)
        for (int i = 0; i < PIECES; i++)
            if (job == 1 || i % 3 == job % 3)
                t_stamps(image + i * PIECE, (long long)i * PIECE, PIECE, job);
}

static void print_unstored(MPI_File fh)
{
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int found = 0;
    MPI_Info info;

    OK(MPI_File_get_info(fh, &info));
    OK(MPI_Info_get(info, "zcache_unstored_bytes", MPI_MAX_INFO_VAL, value, &found));
    OK(MPI_Info_free(&info));
    CHECK(found);
    if (t_rank == 0)
        printf("unstored %s\n", value);
}

static void read_all(MPI_File fh)
{
    static unsigned char got[SIZE];
    MPI_Status status;
    MPI_Offset size;
    int n;

    OK(MPI_File_get_size(fh, &size));
    CHECK(size == SIZE);
    OK(MPI_File_read_at(fh, 0, got, SIZE, MPI_BYTE, &status));
    MPI_Get_count(&status, MPI_BYTE, &n);
    CHECK(n == SIZE);
    t_equal(got, image, 0, n, "what the job before left");
}

int main(int argc, char **argv)
{
    const char *name = t_begin(argc, argv, MPI_THREAD_SINGLE);
    int job = argc > 2 ? atoi(argv[2]) : 0;
    MPI_Info info = t_hints(argc, argv, 3);
    MPI_File fh;

    if (job == 0 || job > JOBS) {
        after(argc > 3 ? atoi(argv[3] + strlen("last=")) : 0);
        t_same(name, image, SIZE, "in the end");
        OK(MPI_Info_free(&info));
        return t_end("t_jobs");
    }
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh));
    OK(MPI_Info_free(&info));
    print_unstored(fh);
    after(job - 1);
    if (job > 1)
        read_all(fh);
    MPI_Barrier(MPI_COMM_WORLD);
    after(job);
    for (int i = t_rank; i < PIECES; i += t_size)
        if (job == 1 || i % 3 == job % 3)
            OK(MPI_File_write_at(fh, (MPI_Offset)i * PIECE, image + i * PIECE, PIECE, MPI_BYTE,
                                 MPI_STATUS_IGNORE));
    MPI_Barrier(MPI_COMM_WORLD);
    read_all(fh);
    OK(MPI_File_close(&fh));
    return t_end("t_jobs");
}
