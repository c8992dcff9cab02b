/* t_leftover.c - bytes whose write-back failed at the close stay with their file.
 *
 *     t_leftover FILE SWITCH alone|both|elsewhere IMAGE
 *
 * While the file SWITCH says so no write to FILE's file system, or its daemon, succeeds.
 *
 * alone  rank 0 is the only owner of the file
 * both   ranks 0 and 1 are, and the bytes are rank 1's
 *
 * They write and close the file in vain.  The last rank opens it, with different pages and as if it
 * were the owner: it reads those bytes, and overwrites half of them.  When writes succeed again and
 * it has closed the file, the newer bytes are there, in whatever order the ranks end; so are the
 * others.  The expected contents are left in the file IMAGE.
 *
 * elsewhere  ranks 0 and 1 are, and only rank 1 cannot write.  Ranks 1 and 2 write a block of each
 *            and close: that of rank 0, which does not take part, is in the file then.
 */
#include <stdbool.h>

#include "t_file.h"

enum { BLOCK = 64 << 10, LEN = 2 * BLOCK, HALF = BLOCK + BLOCK / 2 };

static unsigned char image[LEN], got[LEN];
static const char *toggle;
static bool at_leisure; /* nothing is written back without a request */

static void refuse(void)
{
    FILE *f = t_rank == 0 ? fopen(toggle, "w") : NULL;

    CHECK(t_rank != 0 || (f && fputs("EIO", f) > 0 && fclose(f) == 0));
    MPI_Barrier(MPI_COMM_WORLD);
}

static MPI_File open_by(MPI_Comm comm, const char *name, const char *block)
{
    MPI_File fh = MPI_FILE_NULL;
    MPI_Info info;

    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "zcache_block_size", block));
    OK(MPI_Info_set(info, "cb_nodes", "2"));
    OK(MPI_Info_set(info, "cb_config_list", "*:2"));
    if (at_leisure) {
        OK(MPI_Info_set(info, "zcache_high_watermark", "100%"));
        OK(MPI_Info_set(info, "zcache_low_watermark", "99%"));
        OK(MPI_Info_set(info, "zcache_idle_time", "10m"));
    }
    if (comm != MPI_COMM_NULL)
        OK(MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh));
    OK(MPI_Info_free(&info));
    return fh;
}

/* Writes the second block, by the owners. */
static void write_in_vain(const char *name, int owners)
{
    MPI_Comm comm;
    MPI_File fh;

    OK(MPI_Comm_split(MPI_COMM_WORLD, t_rank < owners ? 0 : MPI_UNDEFINED, 0, &comm));
    fh = open_by(comm, name, "64K");
    if (t_rank == 0)
        OK(MPI_File_write_at(fh, BLOCK, image + BLOCK, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE));
    if (t_rank < owners)
        CHECK(MPI_File_close(&fh) != MPI_SUCCESS);
    if (comm != MPI_COMM_NULL)
        OK(MPI_Comm_free(&comm));
}

static void write_anew(const char *name, const char *copy)
{
    MPI_File fh = open_by(MPI_COMM_SELF, name, "4K");
    FILE *f = fopen(copy, "w");

    OK(MPI_File_read_at(fh, 0, got, LEN, MPI_BYTE, MPI_STATUS_IGNORE));
    t_equal(got, image, 0, LEN, "bytes that are not written yet");
    t_stamps(image + HALF, HALF, LEN - HALF, 2);
    OK(MPI_File_write_at(fh, HALF, image + HALF, LEN - HALF, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(unlink(toggle) == 0);
    OK(MPI_File_close(&fh));
    CHECK(f && fwrite(image, 1, LEN, f) == LEN && fclose(f) == 0);
}

/* Checks rank 0's block in the file. */
static void look(const char *name, ssize_t want)
{
    int fd = open(t_path(name), O_RDONLY);

    CHECK(fd >= 0 && pread(fd, got, BLOCK, 0) == want);
    t_equal(got, image, 0, want, "of the owner that can write");
    close(fd);
}

static void write_elsewhere(const char *name)
{
    MPI_File all, some;
    MPI_Comm comm;

    at_leisure = true;
    t_stamps(image, 0, BLOCK, 1);
    OK(MPI_Comm_split(MPI_COMM_WORLD, t_rank == 0 ? MPI_UNDEFINED : 0, 0, &comm));
    all = open_by(MPI_COMM_WORLD, name, "64K");
    some = open_by(comm, name, "64K");
    refuse();
    if (t_rank == 1) {
        OK(MPI_File_write_at(some, 0, image, LEN, MPI_BYTE, MPI_STATUS_IGNORE));
        look(name, 0);
    }
    if (t_rank != 0) {
        CHECK(MPI_File_close(&some) != MPI_SUCCESS);
        OK(MPI_Comm_free(&comm));
    }
    if (t_rank == 1) {
        look(name, BLOCK);
        CHECK(unlink(toggle) == 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    (void)MPI_File_close(&all); /* reports to those not told yet */
    t_same(name, image, LEN, "when writing works again");
}

int main(int argc, char **argv)
{
    const char *name = t_begin(argc, argv, MPI_THREAD_SINGLE);

    toggle = argv[2];
    t_stamps(image + BLOCK, BLOCK, BLOCK, 1);
    if (!strcmp(argv[3], "elsewhere")) {
        write_elsewhere(name);
        return t_end(argv[0]);
    }
    refuse();
    write_in_vain(name, !strcmp(argv[3], "both") ? 2 : 1);
    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank == t_size - 1)
        write_anew(name, argv[4]);
    MPI_Barrier(MPI_COMM_WORLD);
    return t_end(argv[0]);
}
