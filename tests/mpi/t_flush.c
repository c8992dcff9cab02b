/* t_flush.c - write-back as the program asks for it: started, awaited, counted.
 *
 *     t_flush FILE counts|start|error|through [HINT=VALUE ...]
 *
 * counts  nothing may be written back by itself: what MPI_File_get_info counts, on one rank
 *         alone, before and after sync at level staged, and after zcache_flush=wait
 * start   zcache_flush=start, until nothing is unstored any more
 * error   the file system is too small: zcache_flush=wait says so on every rank, and so do
 *         sync and close
 * through what was synced, and closed, at level staged is in the file at once
 */
#include "t_file.h"

enum { PIECE = 30000, PIECES = 20, BIG = 12 << 20 };

static MPI_File fh;

static int flush(const char *how)
{
    MPI_Info info;
    int rc;

    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "zcache_flush", how));
    rc = MPI_File_set_info(fh, info);
    OK(MPI_Info_free(&info));
    return rc;
}

static long long counted(const char *key)
{
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int found = 0;
    MPI_Info info;

    OK(MPI_File_get_info(fh, &info));
    OK(MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found));
    OK(MPI_Info_free(&info));
    CHECK(found);
    return found ? atoll(value) : -1;
}

/* Seen by one rank after the other, while the rest wait in a barrier. */
static void expect(long long dirty, long long unstored, const char *when)
{
    for (int i = 0; i < t_size; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (i == t_rank) {
            long long d = counted("zcache_dirty_bytes"), u = counted("zcache_unstored_bytes");

            if (d != dirty || u != unstored)
                fprintf(stderr, "rank %d: %s: %lld dirty, %lld unstored, not %lld and %lld\n",
                        t_rank, when, d, u, dirty, unstored);
            CHECK(d == dirty && u == unstored);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Ranks take turns, piece by piece. */
static long long write_pieces(unsigned char *image, int gen)
{
    long long size = (long long)t_size * PIECES * PIECE;

    t_stamps(image, 0, size, gen);
    for (int i = 0; i < PIECES; i++) {
        long long at = ((long long)i * t_size + t_rank) * PIECE;

        OK(MPI_File_write_at(fh, at, image + at, PIECE, MPI_BYTE, MPI_STATUS_IGNORE));
    }
    return size;
}

static void counts(const char *name, unsigned char *image, int daemons)
{
    long long size = write_pieces(image, 1);

    expect(size, size, "written");
    OK(MPI_File_sync(fh)); /* to level staged */
    expect(0, daemons ? size : 0, "staged");
    OK(MPI_File_write_at(fh, (MPI_Offset)t_rank * 100, image + t_rank * 100, 10, MPI_BYTE,
                         MPI_STATUS_IGNORE));
    expect(10 * t_size, 10 * t_size + (daemons ? size : 0), "written to again");
    OK(flush("wait")); /* no barrier before: the call is one */
    t_same(name, image, size, "after zcache_flush=wait");
    expect(0, 0, "after zcache_flush=wait");
    OK(flush("none"));
    OK(MPI_File_set_info(fh, MPI_INFO_NULL));
}

static void start(const char *name, unsigned char *image)
{
    long long size = write_pieces(image, 1);

    for (int gen = 2; gen < 5; gen++) {
        OK(flush("start"));
        while (counted("zcache_unstored_bytes"))
            ;
        CHECK(counted("zcache_dirty_bytes") == 0);
        t_same(name, image, size, "after zcache_flush=start");
        write_pieces(image, gen);
    }
    OK(flush("start")); /* and closed while it is under way */
}

static void through(const char *name, unsigned char *image)
{
    long long size = write_pieces(image, 1);

    OK(MPI_File_sync(fh));
    t_same(name, image, size, "after sync at level staged");
    CHECK(counted("zcache_unstored_bytes") == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    write_pieces(image, 2);
}

static void fails(int rc, const char *name, const char *what)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int len;

    MPI_Error_string(rc, text, &len);
    if (t_class(rc) != MPI_ERR_NO_SPACE || !strstr(text, t_path(name)))
        fprintf(stderr, "rank %d: %s: class %d: %s\n", t_rank, what, t_class(rc), text);
    CHECK(t_class(rc) == MPI_ERR_NO_SPACE && strstr(text, t_path(name)));
}

static void error(const char *name)
{
    char *buf = calloc(1, BIG);

    OK(MPI_File_write_at(fh, (MPI_Offset)t_rank * BIG, buf, BIG, MPI_BYTE, MPI_STATUS_IGNORE));
    free(buf);
    OK(flush("start"));
    fails(flush("wait"), name, "zcache_flush=wait");
    fails(flush("wait"), name, "zcache_flush=wait again");
    fails(MPI_File_sync(fh), name, "sync");
    fails(MPI_File_close(&fh), name, "close");
}

int main(int argc, char **argv)
{
    const char *name = t_begin(argc, argv, MPI_THREAD_SINGLE), *what = argc > 2 ? argv[2] : "";
    unsigned char *image = malloc((size_t)t_size * PIECES * PIECE);
    MPI_Info info = t_hints(argc, argv, 3);
    long long size = (long long)t_size * PIECES * PIECE;

    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh));
    OK(MPI_Info_free(&info));
    if (!strcmp(what, "counts"))
        counts(name, image, getenv("ZCACHE_DAEMONS") != NULL);
    else if (!strcmp(what, "start"))
        start(name, image);
    else if (!strcmp(what, "through"))
        through(name, image);
    else
        error(name);
    if (fh != MPI_FILE_NULL)
        OK(MPI_File_close(&fh));
    if (strcmp(what, "error"))
        t_same(name, image, size, "after close");
    free(image);
    return t_end("t_flush");
}
