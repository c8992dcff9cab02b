/*
 * Sizes that cannot be set, in the file or in some of the caches only.
 *
 *     t_resize FILE same|cut [DAEMON]
 *
 * "same": nothing has changed then; "cut": the file has the new size, as the error says. Every rank
 * gets the error, and all see the same file. DAEMON is a process that is killed before, when
 * everything is stored.
 */
#include <signal.h>

#include "t_mpiio.h"

enum { BLOCK = 1 << 16, BLOCKS = 8, SIZE = BLOCK * BLOCKS, CUT = 100000 };

static unsigned char out[BLOCK], in[SIZE];

static unsigned char stamp(int block)
{
    return (unsigned char)(block + 1);
}

static MPI_File open_file(const char *name)
{
    MPI_Info info;
    MPI_File fh;

    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "cb_nodes", "2"));
    OK(MPI_Info_set(info, "cb_config_list", "*:2"));
    OK(MPI_Info_set(info, "zcache_block_size", "64K"));
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh));
    OK(MPI_Info_free(&info));
    return fh;
}

static void write_all(MPI_File fh)
{
    for (int b = t_rank; b < BLOCKS; b += t_size) {
        memset(out, stamp(b), sizeof out);
        OK(MPI_File_write_at(fh, (MPI_Offset)b * BLOCK, out, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE));
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void fails(MPI_File fh, int cut)
{
    char text[MPI_MAX_ERROR_STRING] = "", bytes[32];
    int rc = MPI_File_set_size(fh, CUT), len, told;

    MPI_Error_string(rc, text, &len);
    snprintf(bytes, sizeof bytes, "%d bytes", CUT);
    told = rc != MPI_SUCCESS && !strstr(text, bytes) == !cut;
    if (!told)
        fprintf(stderr, "rank %d: class %d: %s\n", t_rank, t_class(rc), text);
    CHECK(told);
}

static void has(MPI_File fh, int size)
{
    MPI_Offset now;
    MPI_Status status;
    int got, bad = 0;

    OK(MPI_File_get_size(fh, &now));
    CHECK(now == size);
    OK(MPI_File_read_at(fh, 0, in, SIZE, MPI_BYTE, &status));
    OK(MPI_Get_count(&status, MPI_BYTE, &got));
    CHECK(got == size);
    for (int i = 0; i < size; i++)
        bad += in[i] != stamp(i / BLOCK);
    CHECK(!bad);
}

int main(int argc, char **argv)
{
    const char *name = t_begin(argc, argv, MPI_THREAD_SINGLE);
    int cut = argc > 2 && !strcmp(argv[2], "cut");
    MPI_File fh = open_file(name);

    write_all(fh);
    if (argc > 3) {
        OK(MPI_File_sync(fh));
        MPI_Barrier(MPI_COMM_WORLD);
        if (t_rank == 0)
            kill(atoi(argv[3]), SIGKILL);
        MPI_Barrier(MPI_COMM_WORLD);
        fails(fh, 0);
        MPI_File_close(&fh); /* not to be reached */
        return t_end("t_resize");
    }
    fails(fh, cut);
    has(fh, cut ? CUT : SIZE);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_sync(fh));
    MPI_Barrier(MPI_COMM_WORLD);
    has(fh, cut ? CUT : SIZE);
    OK(MPI_File_close(&fh));
    return t_end("t_resize");
}
