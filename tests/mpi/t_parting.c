/* t_parting.c - while a file is being closed, its ranks still have it open.
 *
 *     t_parting FILE HOLD
 *
 * Rank 0 alone owns the file, and its writing back is held as long as there is HOLD.  Meanwhile
 * rank 1 is in MPI_File_close, too, and another thread of it opens the file by itself: it finds
 * what rank 0 has not written yet.
 */
#include <pthread.h>
#include <unistd.h>

#include "t_file.h"

enum { LEN = 1000, TRIES = 20 };

static unsigned char image[LEN], got[LEN];
static const char *name, *hold;
static int owner; /* rank 0's process */

static void await_flush(void)
{
    char mark[4096];

    snprintf(mark, sizeof mark, "%s.%d", hold, owner);
    while (access(mark, F_OK))
        usleep(1000);
}

/* A close waits for what is held. */
static void *look(void *arg)
{
    MPI_File fh[TRIES];

    (void)arg;
    await_flush();
    for (int i = 0; i < TRIES; i++) {
        memset(got, 0, LEN);
        OK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh[i]));
        OK(MPI_File_read_at(fh[i], 0, got, LEN, MPI_BYTE, MPI_STATUS_IGNORE));
        t_equal(got, image, 0, LEN, "what rank 0 has written");
        usleep(1000);
    }
    unlink(hold);
    for (int i = 0; i < TRIES; i++)
        OK(MPI_File_close(&fh[i]));
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    MPI_Info info;
    MPI_File fh;

    name = t_begin(argc, argv, MPI_THREAD_MULTIPLE);
    hold = argv[argc - 1];
    owner = (int)getpid();
    MPI_Bcast(&owner, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Info_create(&info);
    MPI_Info_set(info, "zcache_write_back", "none");
    MPI_Info_set(info, "cb_nodes", "1");
    t_stamps(image, 0, LEN, 1);
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh));
    MPI_Info_free(&info);
    if (t_rank == 0)
        OK(MPI_File_write_at(fh, 0, image, LEN, MPI_BYTE, MPI_STATUS_IGNORE));
    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank == 1)
        CHECK(pthread_create(&thread, NULL, look, NULL) == 0);
    OK(MPI_File_close(&fh));
    if (t_rank == 1)
        pthread_join(thread, NULL);
    return t_end(argv[0]);
}
