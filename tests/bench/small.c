/* small.c - for benchmarks: small independent accesses to one file, by all ranks at once.
 *
 *     small records FILE SIZE COUNT   each rank writes COUNT records of SIZE bytes, one after
 *                                     another, into a part of its own; then reads another rank's
 *     small shared FILE SIZE COUNT    records of SIZE through the shared file pointer, COUNT a rank
 *     small opens FILE 1 COUNT        open, close, COUNT times
 *     small files FILE SIZE COUNT     create a file, write a record a rank, close: COUNT files
 *     small held FILE 1 COUNT         create COUNT files, have all of them open, close them
 *     small reopen FILE SIZE COUNT    write COUNT records a rank, close, open for reading, read
 *     small syncs FILE SIZE COUNT     all write a record together, and sync, COUNT times
 *     small once FILE SIZE 1          open, one record a rank, close: no more than that
 *
 * Prints a JSON object with microseconds an access: as the slowest rank sees it, and the processor
 * time of all ranks, with that of their threads.  Ranks that wait for others sleep.  Every byte
 * that is read is compared.  As hints it takes SMALL_HINTS, "key=value key=value".
 */
#include "config.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static int rank, ranks, size, count;
static const char *path;
static MPI_Info hints = MPI_INFO_NULL;
static unsigned char *buf;     /* what is read */
static unsigned char *pattern; /* 0 1 2 ... 255 0 1 ..., long enough for record() */

static void check(int rc, const char *what)
{
    char text[MPI_MAX_ERROR_STRING];
    int len;

    if (rc == MPI_SUCCESS)
        return;
    MPI_Error_string(rc, text, &len);
    fprintf(stderr, "small: rank %d: %s: %s\n", rank, what, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

#define OK(call) check(call, #call)

static void make_hints(void)
{
    char *words = getenv("SMALL_HINTS");

    if (!words)
        return;
    MPI_Info_create(&hints);
    for (char *w = strtok(words, " "); w; w = strtok(NULL, " ")) {
        char *value = strchr(w, '=');

        if (!value)
            continue;
        *value++ = 0;
        MPI_Info_set(hints, w, value);
    }
}

/* Bytes that tell whose they are and which; they are there already, so that the time is that of
 * the accesses alone. */
static const unsigned char *record(int who, int which)
{
    return pattern + (unsigned char)(who * 59 + which * 7 + (which >> 8));
}

static bool make_buffers(void)
{
    buf = malloc((size_t)size);
    pattern = malloc((size_t)size + 256);
    for (int i = 0; pattern && i < size + 256; i++)
        pattern[i] = (unsigned char)i;
    return buf && pattern;
}

/* ---- time ---- */

static double processor(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_utime.tv_sec + (double)u.ru_utime.tv_usec * 1e-6 +
           (double)u.ru_stime.tv_sec + (double)u.ru_stime.tv_usec * 1e-6;
}

/* A rank that waits in MPI_Barrier would use up a core, which is not the accesses' time. */
static void meet(void)
{
    MPI_Request r;
    int done = 0;

    MPI_Ibarrier(MPI_COMM_WORLD, &r);
    for (;;) {
        struct timespec nap = {0, 200000};

        MPI_Test(&r, &done, MPI_STATUS_IGNORE);
        if (done)
            return;
        nanosleep(&nap, NULL);
    }
}

struct watch {
    double began, used;
};

static void start(struct watch *w)
{
    meet();
    MPI_Barrier(MPI_COMM_WORLD);
    w->used = processor();
    w->began = MPI_Wtime();
}

/* Microseconds an access: elapsed, processor. */
static void stop(const struct watch *w, double out[2])
{
    double took = MPI_Wtime() - w->began, used;

    meet();
    used = processor() - w->used;
    MPI_Reduce(&took, &out[0], 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&used, &out[1], 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    out[0] *= 1e6 / count;
    out[1] *= 1e6 / count / ranks;
}

static void say(const char *what, const double v[2], const char *end)
{
    if (rank == 0)
        printf("\"%s_us\": %.3f, \"%s_cpu_us\": %.3f%s", what, v[0], what, v[1], end);
}

static MPI_File open_name(const char *name, int amode)
{
    MPI_File fh;

    OK(MPI_File_open(MPI_COMM_WORLD, name, amode, hints, &fh));
    MPI_File_set_errhandler(fh, MPI_ERRORS_RETURN);
    return fh;
}

static MPI_File open_file(void)
{
    return open_name(path, MPI_MODE_CREATE | MPI_MODE_RDWR);
}

/* The file of number `i`. */
static MPI_File open_one_of_many(int i)
{
    char name[4096];

    snprintf(name, sizeof name, "%s.%d", path, i);
    return open_name(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
}

/* ---- the modes ---- */

static void write_records(MPI_File fh)
{
    MPI_Offset base = (MPI_Offset)rank * count * size;

    for (int i = 0; i < count; i++)
        OK(MPI_File_write_at(fh, base + (MPI_Offset)i * size, record(rank, i), size, MPI_BYTE,
                             MPI_STATUS_IGNORE));
}

static void compare(int who, int which)
{
    if (memcmp(buf, record(who, which), (size_t)size) == 0)
        return;
    fprintf(stderr, "small: rank %d: record %d of rank %d is wrong\n", rank, which, who);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void read_records(MPI_File fh)
{
    int who = (rank + 1) % ranks;
    MPI_Offset base = (MPI_Offset)who * count * size;

    for (int i = 0; i < count; i++) {
        memset(buf, 0, (size_t)size);
        OK(MPI_File_read_at(fh, base + (MPI_Offset)i * size, buf, size, MPI_BYTE,
                            MPI_STATUS_IGNORE));
        compare(who, i);
    }
}

static void records(void)
{
    MPI_File fh = open_file();
    double written[2], read[2], closed[2];
    struct watch w;

    start(&w);
    write_records(fh);
    stop(&w, written);
    start(&w);
    read_records(fh);
    stop(&w, read);
    start(&w);
    OK(MPI_File_close(&fh));
    stop(&w, closed);
    say("write", written, ", ");
    say("read", read, ", ");
    say("close", closed, "");
}

static void shared(void)
{
    MPI_File fh = open_file();
    double written[2];
    struct watch w;
    MPI_Offset bytes;

    start(&w);
    for (int i = 0; i < count; i++)
        OK(MPI_File_write_shared(fh, record(rank, i), size, MPI_BYTE, MPI_STATUS_IGNORE));
    stop(&w, written);
    OK(MPI_File_get_size(fh, &bytes));
    if (bytes != (MPI_Offset)ranks * count * size) {
        fprintf(stderr, "small: %lld bytes in the file\n", (long long)bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    OK(MPI_File_close(&fh));
    say("write", written, "");
}

static void opens(void)
{
    double took[2];
    struct watch w;

    start(&w);
    for (int i = 0; i < count; i++) {
        MPI_File fh = open_file();

        OK(MPI_File_close(&fh));
    }
    stop(&w, took);
    say("open", took, "");
}

static void files(void)
{
    double took[2];
    struct watch w;

    start(&w);
    for (int i = 0; i < count; i++) {
        MPI_File fh = open_one_of_many(i);

        OK(MPI_File_write_at(fh, (MPI_Offset)rank * size, record(rank, i), size, MPI_BYTE,
                             MPI_STATUS_IGNORE));
        OK(MPI_File_close(&fh));
    }
    stop(&w, took);
    say("open", took, "");
}

static void held(void)
{
    MPI_File *fhs = malloc((size_t)count * sizeof *fhs);
    double took[2];
    struct watch w;

    if (!fhs)
        MPI_Abort(MPI_COMM_WORLD, 1);
    start(&w);
    for (int i = 0; i < count; i++)
        fhs[i] = open_one_of_many(i);
    for (int i = 0; i < count; i++)
        OK(MPI_File_close(&fhs[i]));
    stop(&w, took);
    free(fhs);
    say("open", took, "");
}

/* The reads are of a file that was just closed: nothing is left in the caches of the ranks. */
static void reopen(void)
{
    MPI_File fh = open_file();
    double read[2];
    struct watch w;

    write_records(fh);
    OK(MPI_File_close(&fh));
    fh = open_name(path, MPI_MODE_RDONLY);
    start(&w);
    read_records(fh);
    stop(&w, read);
    OK(MPI_File_close(&fh));
    say("read", read, "");
}

/* As `records` places them: each round is a collective write of all ranks. */
static void syncs(void)
{
    MPI_File fh = open_file();
    MPI_Offset base = (MPI_Offset)rank * count * size;
    double took[2];
    struct watch w;

    start(&w);
    for (int i = 0; i < count; i++) {
        OK(MPI_File_write_at_all(fh, base + (MPI_Offset)i * size, record(rank, i), size, MPI_BYTE,
                                 MPI_STATUS_IGNORE));
        OK(MPI_File_sync(fh));
    }
    stop(&w, took);
    meet();
    read_records(fh);
    OK(MPI_File_close(&fh));
    say("sync", took, "");
}

/* What the caller times, from the launcher's start to its end; parts of it to see where it goes. */
static void once(void)
{
    double began = MPI_Wtime(), opened, written;
    MPI_File fh = open_file();

    opened = MPI_Wtime();
    OK(MPI_File_write_at(fh, (MPI_Offset)rank * size, record(rank, 0), size, MPI_BYTE,
                         MPI_STATUS_IGNORE));
    written = MPI_Wtime();
    OK(MPI_File_close(&fh));
    if (rank == 0)
        printf("\"open_ms\": %.3f, \"write_ms\": %.3f, \"close_ms\": %.3f", (opened - began) * 1e3,
               (written - opened) * 1e3, (MPI_Wtime() - written) * 1e3);
}

static const struct mode {
    const char *name;
    void (*run)(void);
} modes[] = {
    {"records", records}, {"shared", shared}, {"opens", opens}, {"files", files},
    {"held", held},       {"reopen", reopen}, {"syncs", syncs}, {"once", once},
};

/* NULL: there is none of that name. */
static const struct mode *find_mode(const char *name)
{
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (!strcmp(modes[i].name, name))
            return &modes[i];
    return NULL;
}

int main(int argc, char **argv)
{
    const struct mode *mode = argc > 1 ? find_mode(argv[1]) : NULL;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 5 || !mode || (size = atoi(argv[3])) < 1 || (count = atoi(argv[4])) < 1) {
        fprintf(stderr,
                "usage: small records|shared|opens|files|held|reopen|syncs|once FILE SIZE COUNT\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    path = argv[2];
    if (!make_buffers())
        MPI_Abort(MPI_COMM_WORLD, 1);
    make_hints();
    if (rank == 0)
        printf("{");
    mode->run();
    if (rank == 0)
        printf("}\n");
    free(buf);
    free(pattern);
    MPI_Finalize();
    return 0;
}
