/* t_delete.c - a file is deleted while it is dirty: nothing brings it back.
 *
 *     t_delete FILE here [HINT=VALUE ...]    deletes it itself, while a handle has it dirty
 *     t_delete FILE hold DIR                 writes, makes DIR/held, waits for DIR/go, closes
 *     t_delete FILE replace                  deletes it and makes another one of that name
 *     t_delete FILE look                     checks that it is the one of `replace`
 */
#include <time.h>

#include "t_file.h"

enum { SIZE = 2 << 20, OLD = 1, NEW = 2, SMALL = 70000 };

static const char *name;
static unsigned char *image;

static MPI_File open_file(MPI_Info info)
{
    MPI_File fh;

    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh));
    return fh;
}

static void write_part(MPI_File fh, long long size, int gen)
{
    long long part = size / t_size, at = t_rank * part;

    if (t_rank == t_size - 1)
        part = size - at;
    t_stamps(image, 0, size, gen);
    OK(MPI_File_write_at(fh, at, image + at, (int)part, MPI_BYTE, MPI_STATUS_IGNORE));
}

static void delete (void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank == 0)
        OK(MPI_File_delete(name, MPI_INFO_NULL));
    MPI_Barrier(MPI_COMM_WORLD);
}

static void gone(const char *when)
{
    struct stat st;

    MPI_Barrier(MPI_COMM_WORLD);
    if (stat(t_path(name), &st) == 0) {
        fprintf(stderr, "%s: the file is there again, with %lld bytes\n", when,
                (long long)st.st_size);
        CHECK(!"gone");
    }
    CHECK(errno == ENOENT);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void replace(MPI_Info info)
{
    MPI_File fh = open_file(info);

    write_part(fh, SMALL, NEW);
    OK(MPI_File_close(&fh));
    t_same(name, image, SMALL, "the new file");
}

static void here(MPI_Info info)
{
    unsigned char *got = malloc(SIZE);
    MPI_File fh = open_file(info);

    write_part(fh, SIZE, OLD);
    delete ();
    gone("deleted");
    OK(MPI_File_read_at(fh, 0, got, SIZE, MPI_BYTE, MPI_STATUS_IGNORE)); /* the handle keeps it */
    t_equal(got, image, 0, SIZE, "the deleted file");
    write_part(fh, SIZE, OLD);
    OK(MPI_File_sync(fh));
    gone("synced");
    write_part(fh, SIZE, OLD);
    OK(MPI_File_close(&fh));
    gone("closed");

    fh = open_file(info);
    write_part(fh, SIZE, OLD);
    delete ();
    replace(info);
    OK(MPI_File_set_size(fh, SIZE + 1));
    write_part(fh, SIZE, OLD);
    OK(MPI_File_close(&fh));
    t_stamps(image, 0, SMALL, NEW);
    t_same(name, image, SMALL, "the new file, when the old one is closed");
    delete ();
    gone("in the end");
    free(got);
}

static void hold(const char *dir)
{
    struct timespec nap = {0, 10000000};
    MPI_File fh = open_file(MPI_INFO_NULL);
    char path[1000];
    struct stat st;
    int fd;

    write_part(fh, SIZE, OLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank == 0) {
        snprintf(path, sizeof path, "%s/held", dir);
        fd = open(path, O_WRONLY | O_CREAT, 0644);
        CHECK(fd >= 0);
        close(fd);
    }
    snprintf(path, sizeof path, "%s/go", dir);
    while (stat(path, &st))
        nanosleep(&nap, NULL);
    write_part(fh, SIZE, OLD);
    OK(MPI_File_close(&fh));
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[2] : "";
    MPI_Info info;

    name = t_begin(argc, argv, MPI_THREAD_SINGLE);
    info = t_hints(argc, argv, !strcmp(what, "here") ? 3 : argc);
    image = malloc(SIZE);
    if (!strcmp(what, "here")) {
        here(info);
    } else if (!strcmp(what, "hold") && argc > 3) {
        hold(argv[3]);
    } else if (!strcmp(what, "replace")) {
        delete ();
        gone("deleted");
        replace(info);
    } else {
        t_stamps(image, 0, SMALL, NEW);
        t_same(name, image, SMALL, "the new file, in the end");
    }
    OK(MPI_Info_free(&info));
    free(image);
    return t_end("t_delete");
}
