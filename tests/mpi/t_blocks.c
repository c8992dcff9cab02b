/* t_blocks.c - neighbouring blocks of several daemons do not disturb each other.
 *
 *     t_blocks FILE
 *
 * Blocks are small (4 KiB), pages of a daemon are not: a page covers blocks of others, too.
 * What a daemon knows of these is old by the time it writes the page back.
 */
#include <fcntl.h>
#include <unistd.h>

#include "t_mpiio.h"

enum { BLOCK = 4096, BLOCKS = 16, SIZE = BLOCK * BLOCKS };

static char buf[SIZE];

/* Every second byte of the blocks with number % 2 == odd: many ranges for one daemon. */
static void comb(MPI_File fh, int odd, char c)
{
    memset(buf, c, sizeof buf);
    for (int b = odd; b < BLOCKS; b += 2)
        for (int i = 0; i < BLOCK; i += 2)
            OK(MPI_File_write_at(fh, b * BLOCK + i, buf, 1, MPI_BYTE, MPI_STATUS_IGNORE));
}

/* No sync: that would drop what the daemons know of the file. */
static void wait_until_stored(const char *name)
{
    const char *path = strchr(name, ':') ? strchr(name, ':') + 1 : name;
    int fd = open(path, O_RDONLY);
    char last = 0;

    CHECK(fd >= 0);
    while (fd >= 0 && last != 'a')
        CHECK(pread(fd, &last, 1, SIZE - 1) >= 0);
    close(fd);
}

int main(int argc, char **argv)
{
    const char *name = t_begin(argc, argv, MPI_THREAD_SINGLE);
    int wrong = 0;
    MPI_Info info;
    MPI_File fh;

    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "zcache_block_size", "4K"));
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh));
    OK(MPI_Info_free(&info));
    OK(MPI_File_set_size(fh, SIZE));
    if (t_rank == 0) {
        /* Each daemon sees a page of zeros. */
        OK(MPI_File_read_at(fh, 0, buf, SIZE, MPI_BYTE, MPI_STATUS_IGNORE));
        memset(buf, 'a', sizeof buf);
        for (int b = 1; b < BLOCKS; b += 2)
            OK(MPI_File_write_at(fh, b * BLOCK, buf, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE));
        wait_until_stored(name);
        comb(fh, 0, 'b');
    }
    OK(MPI_File_close(&fh));
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh));
    OK(MPI_File_read_at(fh, 0, buf, SIZE, MPI_BYTE, MPI_STATUS_IGNORE));
    for (int i = 0; i < SIZE; i++)
        wrong += buf[i] != (i / BLOCK % 2 ? 'a' : (i % 2 ? 0 : 'b'));
    if (wrong)
        fprintf(stderr, "rank %d: %d bytes of %d are wrong\n", t_rank, wrong, SIZE);
    CHECK(wrong == 0);
    OK(MPI_File_close(&fh));
    return t_end("t_blocks");
}
