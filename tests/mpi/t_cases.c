/* t_cases.c - the classic ways to corrupt a file that several ranks write.
 *
 *     t_cases FILE collective|sharing|truncate|outside|mapped [HINT=VALUE ...]
 *
 * collective  filled by all together, then some ranks write into it on their own; closed
 * sharing     ranks write bytes of their own in the same pages, singly and through views
 * truncate    written, cut, written behind the new end: the hole reads as zeros
 * outside     changed between two opens by calls that are not MPI's
 * mapped      the same, by a mapping; needs zcache_drop_clean=true
 *
 * Each is done several times over the same file, so that earlier content is in every cache
 * on the way, and each time the whole file is compared by plain reads.
 */
#include <sys/mman.h>
#include <time.h>

#include "t_file.h"

enum { SIZE = 1 << 20, ROUNDS = 4 };

static const char *name;
static unsigned char *image; /* what the file should hold; the same on every rank */
static MPI_Info info;

static MPI_File open_file(void)
{
    MPI_File fh;

    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh));
    return fh;
}

/* Through MPI, on every rank. */
static void same_by_mpi(MPI_File fh, long long size, const char *when)
{
    unsigned char *got = malloc((size_t)size + 1);
    MPI_Offset end = -1;
    MPI_Status status;
    int n;

    OK(MPI_File_get_size(fh, &end));
    CHECK(end == size);
    OK(MPI_File_read_at(fh, 0, got, (int)size + 1, MPI_BYTE, &status));
    MPI_Get_count(&status, MPI_BYTE, &n);
    CHECK(n == size);
    t_equal(got, image, 0, n < size ? n : size, when);
    free(got);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Piece i of `piece` bytes belongs to rank i % size; the last one may be shorter. */
static void fill_together(MPI_File fh, int piece, int gen)
{
    int count = (SIZE / piece + t_size - 1 - t_rank) / t_size;
    unsigned char *buf = malloc((size_t)count * (size_t)piece);
    MPI_Datatype type;

    for (int i = 0; i < count; i++)
        t_stamps(buf + (size_t)i * (size_t)piece, ((long long)i * t_size + t_rank) * piece, piece,
                 gen);
    OK(MPI_Type_vector(count, piece, piece * t_size, MPI_BYTE, &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_File_set_view(fh, (MPI_Offset)t_rank * piece, MPI_BYTE, type, "native", MPI_INFO_NULL));
    OK(MPI_File_write_all(fh, buf, count * piece, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    OK(MPI_Type_free(&type));
    free(buf);
    t_stamps(image, 0, SIZE / piece * piece, gen);
}

/* One rank alone; all note it. */
static void write_alone(MPI_File fh, int rank, long long off, int len, int gen)
{
    t_stamps(image + off, off, len, gen);
    if (t_rank == rank)
        OK(MPI_File_write_at(fh, off, image + off, len, MPI_BYTE, MPI_STATUS_IGNORE));
}

static void collective(void)
{
    static const int pieces[ROUNDS] = {4096, 1000, 65536, 61};

    for (int round = 0; round < ROUNDS; round++) {
        int piece = pieces[round], gen = 10 * round;
        long long size = SIZE / piece * piece;
        MPI_File fh = open_file();

        OK(MPI_File_set_size(fh, 0));
        fill_together(fh, piece, gen);
        MPI_Barrier(MPI_COMM_WORLD);
        /* into pieces of others, and of their own, over the ends of blocks and pages */
        for (int i = 0; i < 4 * t_size; i++)
            write_alone(fh, (i + 1) % t_size, SIZE / (4 * t_size) * i + 3 * i, 1 + 5001 * (i % 5),
                        gen + 1);
        OK(MPI_File_close(&fh));
        t_same(name, image, size, "filled together, then written to alone");
    }
}

/* Bytes with the number of this rank, modulo all. */
static void share(MPI_File fh, long long off, int count, int gen, int singly)
{
    unsigned char *buf = malloc((size_t)count);
    MPI_Datatype type;

    for (int i = 0; i < count; i++)
        buf[i] = t_stamp(off + (long long)i * t_size + t_rank, gen);
    for (int i = 0; singly && i < count; i++)
        OK(MPI_File_write_at(fh, off + (long long)i * t_size + t_rank, buf + i, 1, MPI_BYTE,
                             MPI_STATUS_IGNORE));
    if (!singly) {
        OK(MPI_Type_vector(count, 1, t_size, MPI_BYTE, &type));
        OK(MPI_Type_commit(&type));
        OK(MPI_File_set_view(fh, off + t_rank, MPI_BYTE, type, "native", MPI_INFO_NULL));
        OK(MPI_File_write(fh, buf, count, MPI_BYTE, MPI_STATUS_IGNORE));
        OK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
        OK(MPI_Type_free(&type));
    }
    free(buf);
    t_stamps(image + off, off, (long long)count * t_size, gen);
}

static void sharing(void)
{
    enum { SINGLE = 40, MANY = 2000 };

    for (int round = 0; round < ROUNDS; round++) {
        MPI_File fh = open_file();

        share(fh, 4096 * t_size - 77, MANY, round, 0);
        share(fh, 0, SINGLE, round, 1);
        share(fh, 4096 * t_size - 77, SINGLE, round + 50, 1); /* over one's own */
        OK(MPI_File_close(&fh));
        /* between them lies a hole */
        t_same(name, image, 4096 * t_size - 77 + (long long)MANY * t_size, "bytes by turns");
    }
}

static void truncation(void)
{
    static const long long ends[ROUNDS] = {SIZE / 3 + 1, 4096, 0, SIZE - 1};

    for (int round = 0; round < ROUNDS; round++) {
        long long end = ends[round], far = SIZE - 5000;
        MPI_File fh = open_file();

        fill_together(fh, 512, 10 * round + 100);
        OK(MPI_File_set_size(fh, end)); /* while that is being written back */
        memset(image + end, 0, (size_t)(SIZE - end));
        same_by_mpi(fh, end, "cut");
        if (end < far)
            write_alone(fh, t_size - 1, far, 1000, 10 * round + 101);
        else
            far = end - 1000;
        MPI_Barrier(MPI_COMM_WORLD);
        same_by_mpi(fh, far + 1000, "written behind the end");
        OK(MPI_File_set_size(fh, SIZE));
        same_by_mpi(fh, SIZE, "grown");
        OK(MPI_File_close(&fh));
        t_same(name, image, SIZE, "cut and written to");
    }
}

/* ---- changed from outside ---- */

static void write_out(const char *path, int flags)
{
    int fd = open(path, flags | O_WRONLY, 0644);

    CHECK(fd >= 0 && pwrite(fd, image, SIZE, 0) == SIZE);
    CHECK(close(fd) == 0);
}

static void keep_times(const char *path, const struct stat *was)
{
    struct timespec times[2] = {was->st_atim, was->st_mtim};

    CHECK(utimensat(AT_FDCWD, path, times, 0) == 0);
}

/* Returns what it did; the size becomes *size. */
static const char *change(int how, const char *path, long long *size)
{
    struct stat was;
    char other[4200];
    int fd;

    snprintf(other, sizeof other, "%s.new", path);
    CHECK(stat(path, &was) == 0);
    *size = SIZE;
    switch (how) {
    case 0:
        write_out(path, 0);
        return "written over";
    case 1:
        write_out(path, 0);
        keep_times(path, &was);
        return "written over, with the old time of modification";
    case 2:
        write_out(other, O_CREAT | O_EXCL);
        CHECK(rename(other, path) == 0);
        return "replaced by rename";
    case 3:
        write_out(other, O_CREAT | O_EXCL);
        keep_times(other, &was);
        CHECK(rename(other, path) == 0);
        return "replaced, with the old time of modification";
    case 4:
        CHECK(unlink(path) == 0);
        write_out(path, O_CREAT | O_EXCL);
        return "deleted and made again";
    case 5:
        CHECK(truncate(path, 0) == 0);
        write_out(path, 0);
        return "emptied and written again";
    case 6:
        CHECK(truncate(path, SIZE / 2 + 1) == 0);
        *size = SIZE / 2 + 1;
        return "cut";
    default:
        fd = open(path, O_WRONLY | O_APPEND);
        CHECK(fd >= 0 && write(fd, image + SIZE, 1000) == 1000);
        close(fd);
        *size = SIZE + 1000;
        return "appended to";
    }
}

static void outside(void)
{
    for (int how = 0; how < 8; how++) {
        const char *what = "changed";
        long long size;
        MPI_File fh;

        fh = open_file();
        OK(MPI_File_set_size(fh, 0));
        fill_together(fh, 4096, how);
        OK(MPI_File_close(&fh));
        fh = open_file(); /* so that every cache has read it */
        same_by_mpi(fh, SIZE, "before");
        OK(MPI_File_close(&fh));
        t_stamps(image, 0, SIZE + 1000, how < 6 ? 100 + how : how);
        if (t_rank == 0)
            what = change(how, t_path(name), &size);
        MPI_Bcast(&size, 1, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
        fh = open_file();
        same_by_mpi(fh, size, what);
        write_alone(fh, 0, 100, 10, 77);
        OK(MPI_File_close(&fh));
        t_same(name, image, size, what);
    }
}

static void mapped(void)
{
    char *map = MAP_FAILED;
    MPI_File fh = open_file();
    int fd;

    OK(MPI_File_set_size(fh, 0));
    fill_together(fh, 4096, 0);
    OK(MPI_File_close(&fh));
    if (t_rank == 0) {
        fd = open(t_path(name), O_RDWR);
        map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        CHECK(fd >= 0 && map != MAP_FAILED && close(fd) == 0);
    }
    for (int round = 0; round < ROUNDS; round++) {
        t_stamps(image, 0, SIZE, 100 + round);
        if (t_rank == 0)
            memcpy(map, image, SIZE);
        MPI_Barrier(MPI_COMM_WORLD);
        fh = open_file();
        same_by_mpi(fh, SIZE, "by a mapping");
        OK(MPI_File_close(&fh));
    }
    if (t_rank == 0)
        munmap(map, SIZE);
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[2] : "";

    name = t_begin(argc, argv, MPI_THREAD_SINGLE);
    image = calloc(1, SIZE + 1000);
    info = t_hints(argc, argv, 3);
    if (!strcmp(what, "collective"))
        collective();
    else if (!strcmp(what, "sharing"))
        sharing();
    else if (!strcmp(what, "truncate"))
        truncation();
    else if (!strcmp(what, "outside"))
        outside();
    else if (!strcmp(what, "mapped"))
        mapped();
    else
        CHECK(!"no such case");
    OK(MPI_Info_free(&info));
    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank == 0)
        OK(MPI_File_delete(name, MPI_INFO_NULL));
    free(image);
    return t_end("t_cases");
}
