/* t_around.c - a file that was written, closed and opened again for reading only.
 *
 *     t_around FILE same       is read as it was written
 *     t_around FILE replaced   the same after another file has got its name meanwhile; and that one
 *                              through the next open
 *     t_around FILE dropped    the same as `same`, but the kernel has not all of it in its page
 * cache t_around FILE            without MPI: exits 0 if the kernel tells what it has of a new FILE
 *
 * Hints may follow, KEY=VALUE.  Ranks read records of 4000 bytes of all ranks, and some larger
 * ones.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "t_file.h"

/* Bytes of a rank; a file of 16 MiB and more is asked about at many places. */
enum { EACH = 300000, EACH_DROPPED = 8 << 20, RECORD = 4000 };

static const char *name;
static unsigned char *image, *got;
static int each = EACH, size; /* of the file */
static MPI_Info hints;

static MPI_File open_file(int mode)
{
    MPI_File fh = MPI_FILE_NULL;

    OK(MPI_File_open(MPI_COMM_WORLD, name, mode, hints, &fh));
    return fh;
}

static void write_file(void)
{
    MPI_File fh = open_file(MPI_MODE_CREATE | MPI_MODE_WRONLY);

    OK(MPI_File_write_at_all(fh, (MPI_Offset)t_rank * each, image + t_rank * each, each, MPI_BYTE,
                             MPI_STATUS_IGNORE));
    OK(MPI_File_close(&fh));
}

static void look(MPI_File fh, int off, int len, const char *when)
{
    OK(MPI_File_read_at(fh, off, got, len, MPI_BYTE, MPI_STATUS_IGNORE));
    t_equal(got, image, off, len, when);
}

static void read_file(MPI_File fh, const char *when)
{
    MPI_Status status;
    int count;

    for (int off = 0; off < size; off += RECORD)
        look(fh, off, size - off < RECORD ? size - off : RECORD, when);
    look(fh, 1, size - 1, when);
    OK(MPI_File_read_at(fh, size - 10, got, RECORD, MPI_BYTE, &status)); /* past its end */
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK(count == 10);
}

/* Another file gets the name, of other content, written past the MPI library. */
static void replace(void)
{
    char other[4096];
    int fd;

    t_stamps(image, 0, size, 2);
    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank == 0) {
        snprintf(other, sizeof other, "%s.new", t_path(name));
        fd = open(other, O_CREAT | O_WRONLY, 0644);
        CHECK(fd >= 0 && write(fd, image, (size_t)size) == size);
        close(fd);
        CHECK(rename(other, t_path(name)) == 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void drop(void)
{
    int fd = t_rank == 0 ? open(t_path(name), O_RDONLY) : -1;

    if (t_rank == 0) {
        CHECK(fd >= 0 && fdatasync(fd) == 0);
        CHECK(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0);
        close(fd);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Whether the kernel tells that it has a file in memory that was written just now. */
static bool is_told(const char *path)
{
    enum { CACHESTAT = 451, LEN = 65536 };
    static const char bytes[LEN] = {1};
    uint64_t range[2] = {0, LEN}, pages[5] = {0};
    int fd = open(path, O_CREAT | O_RDWR, 0644);
    bool told = fd >= 0 && write(fd, bytes, LEN) == LEN &&
                syscall(CACHESTAT, fd, range, pages, 0) == 0 &&
                pages[0] >= LEN / (uint64_t)sysconf(_SC_PAGESIZE);

    if (fd >= 0)
        close(fd);
    unlink(path);
    return told;
}

int main(int argc, char **argv)
{
    MPI_File fh;

    if (argc == 2)
        return !is_told(argv[1]);
    name = t_begin(argc, argv, MPI_THREAD_SINGLE);
    each = strcmp(argv[2], "dropped") ? EACH : EACH_DROPPED;
    size = t_size * each;
    image = malloc((size_t)size);
    got = malloc((size_t)size);
    hints = t_hints(argc, argv, 3);
    t_stamps(image, 0, size, 1);
    write_file();
    if (!strcmp(argv[2], "dropped"))
        drop();
    fh = open_file(MPI_MODE_RDONLY);
    look(fh, 0, RECORD, "the first read"); /* before the reads of others bring it into memory */
    MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(argv[2], "replaced")) {
        replace();
        t_stamps(image, 0, size, 1);
    }
    read_file(fh, "opened again");
    OK(MPI_File_close(&fh));
    if (!strcmp(argv[2], "replaced")) {
        t_stamps(image, 0, size, 2);
        fh = open_file(MPI_MODE_RDONLY);
        read_file(fh, "the other file");
        OK(MPI_File_close(&fh));
    }
    OK(MPI_Info_free(&hints));
    free(image);
    free(got);
    return t_end(argv[0]);
}
