/*
 * A bit flips in a cache with checksums: in that of a daemon, process PID, or of an aggregator, if
 * PID is "self".
 *
 *     t_rotten FILE PID dirty|clean|write|read [HINT=VALUE ...]
 *
 * dirty   cached bytes are damaged before they are written back: sync and close fail on every rank,
 *         by path and range, and the file has all but that KiB
 * clean   the same after write-back, in an aggregator: the right bytes are read
 * write   all of it is in the file, and stays in the daemon's cache
 * read    by another launch: that is damaged, and the right bytes are read
 *
 * The bytes are found in the process's memory by their stamps.  Ends with 77, and the reason, where
 * no process may change another one's memory.
 */
#define _GNU_SOURCE /* memmem */
#include <stdint.h>

#include "t_file.h"

enum {
    SIZE = 256 << 10,
    GRAIN = 1024, /* bytes per checksum */
    ROTTEN = 65 * GRAIN,
    CHUNK = 1 << 20,
    SKIP = 77,
};

static unsigned char image[SIZE], got[SIZE], buf[CHUNK + GRAIN];
static MPI_File fh;

/* ---- the memory of a process ---- */

/* Whether it is memory of this program outside a cache. */
static int is_ours(off_t at)
{
    return (at >= (off_t)(uintptr_t)image && at < (off_t)(uintptr_t)(image + SIZE)) ||
           (at >= (off_t)(uintptr_t)buf && at < (off_t)(uintptr_t)(buf + sizeof buf));
}

static void flip(int mem, off_t at, unsigned char byte)
{
    byte ^= 8;
    CHECK(pwrite(mem, &byte, 1, at) == 1);
}

/* Flips a bit of each copy of the KiB that begins in [lo, hi); returns how many there are. */
static int flip_between(int mem, off_t lo, off_t hi, int self)
{
    const unsigned char *what = image + ROTTEN;
    int n = 0;

    for (off_t from = lo; from < hi; from += CHUNK) {
        size_t most = (size_t)(hi - from) < sizeof buf ? (size_t)(hi - from) : sizeof buf;
        ssize_t len = pread(mem, buf, most, from);
        const unsigned char *p = buf;

        while (len > 0 && (p = memmem(p, (size_t)(buf + len - p), what, GRAIN)) != NULL) {
            off_t at = from + (p - buf);

            if (p - buf < CHUNK && !(self && is_ours(at))) {
                flip(mem, at + GRAIN / 2, p[GRAIN / 2]);
                n++;
            }
            p++;
        }
    }
    return n;
}

static int flip_in(const char *pid)
{
    unsigned long lo, hi;
    char path[64], line[4400], perms[8];
    FILE *maps;
    int mem, n = 0;

    snprintf(path, sizeof path, "/proc/%s/mem", pid);
    mem = open(path, O_RDWR);
    if (mem < 0 && (errno == EACCES || errno == EPERM)) {
        printf("skipped: %s may not be written to: %s\n", path, strerror(errno));
        fflush(stdout);
        MPI_Abort(MPI_COMM_WORLD, SKIP);
    }
    snprintf(path, sizeof path, "/proc/%s/maps", pid);
    maps = fopen(path, "r");
    CHECK(mem >= 0 && maps);
    while (maps && fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx %7s", &lo, &hi, perms) == 3 && !strncmp(perms, "rw", 2))
            n += flip_between(mem, (off_t)lo, (off_t)hi, !strcmp(pid, "self"));
    if (maps)
        fclose(maps);
    close(mem);
    return n;
}

/* Collective; done by rank 0, or the aggregators. */
static void rot(const char *pid)
{
    int n = 0, all;

    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank == 0 || !strcmp(pid, "self"))
        n = flip_in(pid);
    MPI_Allreduce(&n, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(all > 0);
}

/* ---- the ranks ---- */

static void open_file(const char *name, MPI_Info info)
{
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE, info, &fh));
}

static void write_share(void)
{
    int mine = SIZE / t_size, at = t_rank * mine;

    if (t_rank == t_size - 1)
        mine = SIZE - at;
    OK(MPI_File_write_at_all(fh, at, image + at, mine, MPI_BYTE, MPI_STATUS_IGNORE));
}

/* Sets the level of syncs from now on. */
static void sync_to(const char *level)
{
    MPI_Info info;

    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "zcache_sync_level", level));
    OK(MPI_File_set_info(fh, info));
    OK(MPI_Info_free(&info));
}

/* The error names the file, whose path may be shortened, and the KiB. */
static void names_it(int rc, const char *name)
{
    const char *file = strrchr(name, '/');
    char text[MPI_MAX_ERROR_STRING] = "", range[64];
    int len;

    snprintf(range, sizeof range, "%d bytes within %d-%d", GRAIN, ROTTEN, ROTTEN + GRAIN - 1);
    CHECK(rc != MPI_SUCCESS);
    if (rc == MPI_SUCCESS)
        return;
    CHECK(t_class(rc) == MPI_ERR_IO);
    MPI_Error_string(rc, text, &len);
    if (!strstr(text, file) || !strstr(text, range) || !strstr(text, "damaged in memory"))
        fprintf(stderr, "rank %d: %s\n", t_rank, text);
    CHECK(strstr(text, file) && strstr(text, range) && strstr(text, "damaged in memory"));
}

static void dirty(const char *name, const char *pid)
{
    sync_to("staged");
    write_share();
    if (strcmp(pid, "self"))
        OK(MPI_File_sync(fh));
    rot(pid);
    sync_to("stored");
    names_it(MPI_File_sync(fh), name);
    names_it(MPI_File_close(&fh), name);
    memset(image + ROTTEN, 0, GRAIN);
    t_same(name, image, SIZE, "what is left");
}

static void read_it(const char *when)
{
    OK(MPI_File_read_at_all(fh, 0, got, SIZE, MPI_BYTE, MPI_STATUS_IGNORE));
    t_equal(got, image, 0, SIZE, when);
}

static void read_all(const char *pid)
{
    rot(pid);
    read_it("what was read");
    OK(MPI_File_close(&fh));
}

/* The sync drops an aggregator's clean bytes: the first read caches them again. */
static void clean(const char *pid)
{
    write_share();
    OK(MPI_File_sync(fh));
    read_it("what was read first");
    memset(got, 0, SIZE);
    read_all(pid);
}

static void write_all(const char *name)
{
    write_share();
    OK(MPI_File_close(&fh));
    t_same(name, image, SIZE, "what was written");
}

int main(int argc, char **argv)
{
    const char *name = t_begin(argc, argv, MPI_THREAD_SINGLE);
    MPI_Info info;

    if (argc < 4)
        MPI_Abort(MPI_COMM_WORLD, 2);
    info = t_hints(argc, argv, 4);
    OK(MPI_Info_set(info, "zcache_checksum", "on"));
    t_stamps(image, 0, SIZE, 1);
    open_file(name, info);
    OK(MPI_Info_free(&info));
    if (!strcmp(argv[3], "dirty"))
        dirty(name, argv[2]);
    else if (!strcmp(argv[3], "clean"))
        clean(argv[2]);
    else if (!strcmp(argv[3], "write"))
        write_all(name);
    else
        read_all(argv[2]);
    return t_end("t_rotten");
}
