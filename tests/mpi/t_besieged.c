/* t_besieged.c - a job that writes and reads all the time, until it is told to end.
 *
 *     t_besieged FILE
 *
 * Each rank writes its part anew in each round, and reads those of all the others from their
 * owners.  Prints "round N" after each STEP of them; ends when there is a file FILE.over, and
 * compares the file then.
 */
#include <time.h>

#include "t_file.h"

enum { PART = 40000, STEP = 10, MOST = 8, COMPUTE_NS = 3000000 };

static unsigned char image[MOST * PART], got[PART];

static void one_round(MPI_File fh, int gen)
{
    MPI_Status status;
    int n;

    t_stamps(image, 0, (long long)t_size * PART, gen);
    OK(MPI_File_write_at(fh, (MPI_Offset)t_rank * PART, &image[t_rank * PART], PART, MPI_BYTE,
                         MPI_STATUS_IGNORE));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int rank = 0; rank < t_size; rank++) {
        OK(MPI_File_read_at(fh, (MPI_Offset)rank * PART, got, PART, MPI_BYTE, &status));
        MPI_Get_count(&status, MPI_BYTE, &n);
        CHECK(n == PART);
        t_equal(got, image, (long long)rank * PART, n, "while strangers try");
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The same on all ranks. */
static int is_over(const char *name)
{
    char path[4096];
    int over;

    snprintf(path, sizeof path, "%s.over", t_path(name));
    over = t_rank == 0 && access(path, F_OK) == 0;
    MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return over;
}

int main(int argc, char **argv)
{
    const char *name = t_begin(argc, argv, MPI_THREAD_MULTIPLE); /* a rendezvous record is left */
    int gen = 0;
    MPI_Info info;
    MPI_File fh;

    if (t_size > MOST)
        return 2;
    OK(MPI_Info_create(&info)); /* every rank owns blocks, and each part has some of several */
    OK(MPI_Info_set(info, "cb_nodes", "2"));
    OK(MPI_Info_set(info, "cb_config_list", "*:2"));
    OK(MPI_Info_set(info, "zcache_block_size", "16K"));
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh));
    OK(MPI_Info_free(&info));
    do {
        one_round(fh, ++gen);
        nanosleep(&(struct timespec){0, COMPUTE_NS}, NULL); /* strangers need the processor, too */
        if (t_rank == 0 && gen % STEP == 0) {
            printf("round %d\n", gen);
            fflush(stdout);
        }
    } while (gen % STEP || !is_over(name));
    OK(MPI_File_close(&fh));
    t_same(name, image, (long long)t_size * PART, "in the end");
    return t_end("t_besieged");
}
