/* t_verdict.c - what ranks are told of bytes that cannot be kept.
 *
 *     t_verdict FILE rounds|deaf|killed ROOM [HINT=VALUE ...]
 *
 * rounds  the file system is full; rank 0 syncs, then removes the file ROOM, which makes room, and
 *         waits until all is written; then the others sync, one after the other.  All of them fail
 *         or none does, in that round and the next, and so with zcache_flush=wait; the close is
 *         good everywhere.
 * killed  the daemon, process ROOM, is killed before the close, which fails everywhere
 * deaf    40 MB onto a smaller file system by a program that ignores every error
 */
#include <signal.h>
#include <unistd.h>

#include "t_file.h"

enum { MINE = 4 << 20, DEAF = 10 << 20 };

static MPI_File fh;

/* One round of syncs, this rank after those before it; what it is told. */
static int round_of_syncs(const char *room)
{
    int rc = MPI_SUCCESS;

    for (int i = 0; i < t_size; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (i != t_rank)
            continue;
        rc = MPI_File_sync(fh);
        if (i == 0 && room)
            CHECK(unlink(room) == 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return rc;
}

static int flush_and_wait(void)
{
    MPI_Info info;
    int rc;

    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "zcache_flush", "wait"));
    rc = MPI_File_set_info(fh, info);
    OK(MPI_Info_free(&info));
    return rc;
}

static int same_on_all(int rc)
{
    int class = MPI_SUCCESS, least, most;

    if (rc != MPI_SUCCESS)
        MPI_Error_class(rc, &class);
    MPI_Allreduce(&class, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&class, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (least != most)
        fprintf(stderr, "rank %d: class %d, on others from %d to %d\n", t_rank, class, least, most);
    CHECK(least == most);
    return class;
}

static void rounds(const char *room)
{
    char *buf = malloc(MINE);

    memset(buf, 'a' + t_rank, MINE);
    /* the write itself may meet the full file system */
    MPI_File_write_at(fh, (MPI_Offset)t_rank * MINE, buf, MINE, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(same_on_all(flush_and_wait()) == MPI_ERR_NO_SPACE);
    CHECK(same_on_all(round_of_syncs(room)) == MPI_ERR_NO_SPACE);
    CHECK(same_on_all(round_of_syncs(NULL)) == MPI_SUCCESS);
    CHECK(same_on_all(flush_and_wait()) == MPI_SUCCESS);
    CHECK(same_on_all(MPI_File_close(&fh)) == MPI_SUCCESS);
    free(buf);
}

static void killed(const char *daemon)
{
    char *buf = malloc(MINE);

    memset(buf, 'a' + t_rank, MINE);
    OK(MPI_File_write_at(fh, (MPI_Offset)t_rank * MINE, buf, MINE, MPI_BYTE, MPI_STATUS_IGNORE));
    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank == 0)
        CHECK(kill(atoi(daemon), SIGKILL) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(same_on_all(MPI_File_close(&fh)) != MPI_SUCCESS);
    free(buf);
}

static void deaf(void)
{
    char *buf = malloc(DEAF);

    memset(buf, 'a' + t_rank, DEAF);
    MPI_File_write_at_all(fh, (MPI_Offset)t_rank * DEAF, buf, DEAF, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_sync(fh);
    MPI_File_close(&fh);
    free(buf);
}

int main(int argc, char **argv)
{
    const char *name = t_begin(argc, argv, MPI_THREAD_SINGLE), *what = argc > 2 ? argv[2] : "";
    MPI_Info info = t_hints(argc, argv, 4);

    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE, info, &fh));
    OK(MPI_Info_free(&info));
    if (!strcmp(what, "rounds") && argc > 3)
        rounds(argv[3]);
    else if (!strcmp(what, "killed") && argc > 3)
        killed(argv[3]);
    else
        deaf();
    return t_end("t_verdict");
}
