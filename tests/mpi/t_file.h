/*
 * The expected content of a file: an image in memory, the same on every rank, and comparisons with
 * the file as read by POSIX calls.
 */
#ifndef T_FILE_H
#define T_FILE_H

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "t_mpiio.h"

/* Returns the name without its prefix. */
static inline const char *t_path(const char *name)
{
    const char *colon = strchr(name, ':');

    return colon ? colon + 1 : name;
}

/* Returns a byte, never 0, that depends on offset and generation. */
static inline unsigned char t_stamp(long long off, int gen)
{
    unsigned long long x = (unsigned long long)(off + 1) * 0x9e3779b97f4a7c15ull +
                           (unsigned)gen * 0xc2b2ae3d27d4eb4full;

    return (unsigned char)(1 + (x >> 40) % 255);
}

static inline void t_stamps(unsigned char *buf, long long off, long long len, int gen)
{
    for (long long i = 0; i < len; i++)
        buf[i] = t_stamp(off + i, gen);
}

/* Checks that these `len` bytes are those of the image from `off` on. */
static inline void t_equal(const unsigned char *got, const unsigned char *image, long long off,
                           long long len, const char *where)
{
    long long bad = 0, first = -1;

    for (long long i = 0; i < len; i++) {
        if (got[i] != image[off + i] && bad++ == 0)
            first = off + i;
    }
    if (bad)
        fprintf(stderr,
                "rank %d: %s: %lld of %lld bytes are wrong, "
                "the first at %lld: %02x, not %02x\n",
                t_rank, where, bad, len, first, got[first - off], image[first]);
    CHECK(bad == 0);
}

/* Checks on rank 0 that the file equals the image.  Collective. */
static inline void t_same(const char *name, const unsigned char *image, long long size,
                          const char *when)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank == 0) {
        unsigned char *all = malloc((size_t)size + 1);
        int fd = open(t_path(name), O_RDONLY);
        long long got = 0;
        ssize_t n = 0;

        CHECK(fd >= 0);
        while (fd >= 0 && (n = pread(fd, all + got, (size_t)(size + 1 - got), got)) > 0)
            got += n;
        CHECK(n == 0);
        if (got != size)
            fprintf(stderr, "%s: %lld bytes%s, not %lld\n", when, got,
                    got > size ? " and more" : "", size);
        CHECK(got == size);
        t_equal(all, image, 0, got < size ? got : size, when);
        if (fd >= 0)
            close(fd);
        free(all);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Returns an info of the "key=value" arguments from argv[first] on. */
static inline MPI_Info t_hints(int argc, char **argv, int first)
{
    MPI_Info info;

    OK(MPI_Info_create(&info));
    for (int i = first; i < argc; i++) {
        char *value = strchr(argv[i], '=');

        CHECK(value);
        if (!value)
            continue;
        *value = '\0';
        OK(MPI_Info_set(info, argv[i], value + 1));
        *value = '=';
    }
    return info;
}

#endif
