/* t_fault.c - what ranks see when a daemon dies during their accesses.
 *
 *     t_fault write|read|all FILE SECONDS DIR [TEXT ...]
 *     t_fault between FILE SECONDS DIR
 *
 * Every rank writes (or reads, or writes collectively) until a call fails, which it has to do
 * within SECONDS of its beginning, with class MPI_ERR_IO and all TEXTs in its message.  Then it
 * makes the file DIR/failed.RANK, fills its buffer with a pattern, waits for the file DIR/go, and
 * checks that the buffer was not written to since.
 *
 * "between": the daemon is restarted while no file is open, which must have no effect.
 */
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "t_mpiio.h"

enum { CHUNK = 1 << 20, CHUNKS = 32, PATTERN = 0x5a, TURNS = 1000000 };

static unsigned char buf[CHUNK];

static int one(MPI_File fh, const char *how, int i)
{
    MPI_Offset at = ((MPI_Offset)(i % CHUNKS) * t_size + t_rank) * CHUNK;

    if (!strcmp(how, "read"))
        return MPI_File_read_at(fh, at, buf, CHUNK, MPI_BYTE, MPI_STATUS_IGNORE);
    if (!strcmp(how, "all"))
        return MPI_File_write_at_all(fh, at, buf, CHUNK, MPI_BYTE, MPI_STATUS_IGNORE);
    return MPI_File_write_at(fh, at, buf, CHUNK, MPI_BYTE, MPI_STATUS_IGNORE);
}

static void fill_file(MPI_File fh)
{
    for (int i = 0; i < CHUNKS; i++)
        OK(one(fh, "write", i));
    OK(MPI_File_sync(fh));
    MPI_Barrier(MPI_COMM_WORLD);
}

static void make(const char *dir, const char *name)
{
    char path[1000];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    f = fopen(path, "w");
    CHECK(f);
    if (f)
        fclose(f);
}

static void wait_for(const char *dir, const char *name)
{
    struct timespec nap = {0, 10000000};
    char path[1000];
    struct stat st;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    while (stat(path, &st))
        nanosleep(&nap, NULL);
}

static void untouched(const char *dir)
{
    char name[40];
    int bad = 0;

    memset(buf, PATTERN, sizeof buf);
    snprintf(name, sizeof name, "failed.%d", t_rank);
    make(dir, name);
    wait_for(dir, "go");
    for (int i = 0; i < CHUNK; i++)
        bad += buf[i] != PATTERN;
    if (bad)
        fprintf(stderr, "rank %d: %d bytes of the buffer were written after the error\n", t_rank,
                bad);
    CHECK(bad == 0);
}

static void touch(const char *dir, const char *name)
{
    char mine[40];

    snprintf(mine, sizeof mine, "%s.%d", name, t_rank);
    make(dir, mine);
}

/* Written before the restart, read and written again after it; the second file is one that a job
 * opens first, the third one that it creates. */
static void between(const char *path, const char *dir)
{
    char other[1000];
    MPI_File fh;

    for (int turn = 0; turn < 3; turn++) {
        snprintf(other, sizeof other, "%s.%d", path, turn);
        if (turn == 1)
            snprintf(other, sizeof other, "%s.0", path);
        OK(MPI_File_open(MPI_COMM_WORLD, other, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                         &fh));
        memset(buf, turn == 1 ? 0 : 1 + t_rank, sizeof buf);
        if (turn == 1)
            OK(one(fh, "read", 0));
        CHECK(buf[0] == 1 + t_rank && !memcmp(buf, buf + 1, sizeof buf - 1));
        OK(one(fh, "all", 0));
        OK(MPI_File_close(&fh));
        touch(dir, turn == 0 ? "begun" : turn == 1 ? "again" : "done");
        if (turn < 2)
            wait_for(dir, turn == 0 ? "go" : "go.on");
    }
}

int main(int argc, char **argv)
{
    double began = 0, took;
    char text[MPI_MAX_ERROR_STRING] = "", name[40];
    const char *how, *dir;
    int rc = MPI_SUCCESS, len;
    MPI_File fh;
    MPI_Info info;

    how = t_begin(argc, argv, MPI_THREAD_SINGLE);
    if (argc < 5) {
        MPI_Finalize();
        return 2;
    }
    dir = argv[4];
    if (!strcmp(how, "between")) {
        between(argv[2], dir);
        return t_end("t_fault");
    }
    /* too small for the accesses: the daemon is needed all the time */
    MPI_Info_create(&info);
    MPI_Info_set(info, "zcache_cache_size", "8M");
    OK(MPI_File_open(MPI_COMM_WORLD, argv[2], MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh));
    MPI_Info_free(&info);
    fill_file(fh);
    snprintf(name, sizeof name, "begun.%d", t_rank);
    make(dir, name);
    for (int i = 0; i < TURNS && rc == MPI_SUCCESS; i++) {
        began = MPI_Wtime();
        rc = one(fh, how, i);
    }
    took = MPI_Wtime() - began;
    MPI_Error_string(rc, text, &len);
    CHECK(t_class(rc) == MPI_ERR_IO);
    CHECK(took < atof(argv[3]));
    for (int i = 5; i < argc; i++)
        CHECK(strstr(text, argv[i]));
    if (t_failures)
        fprintf(stderr, "rank %d: after %.1f s class %d: %s\n", t_rank, took, t_class(rc), text);
    untouched(dir);
    began = MPI_Wtime();
    rc = MPI_File_close(&fh); /* reports a loss, or that the daemon is unreachable */
    CHECK(MPI_Wtime() - began < 2 * atof(argv[3]));
    return t_end("t_fault");
}
