/*
 * A bit flips on the way between a rank and an aggregator, with zcache_checksum=on.
 *
 *     t_flipped FILE SWITCH [HINT=VALUE ...]
 *
 * SWITCH is FAULTSHIM_FLIP: once, and the bytes are right all the same; each time, and it is an
 * error that names them, and what was there before stays.  In one run of the file, and through a
 * view; rank 1 moves them, and rank 0 owns the blocks.
 */
#include "t_file.h"

enum { SIZE = 768 << 10, PIECE = 3000, STRIDE = 8192, TILES = SIZE / STRIDE };

static unsigned char image[SIZE], mine[SIZE], got[SIZE];
static const char *one, *all;
static MPI_File fh;

static void make(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0600);

    CHECK(fd >= 0);
    close(fd);
}

static int writes(const void *buf, int len)
{
    return MPI_File_write_at(fh, 0, buf, len, MPI_BYTE, MPI_STATUS_IGNORE);
}

static int reads(int len)
{
    memset(got, 0, sizeof got);
    return MPI_File_read_at(fh, 0, got, len, MPI_BYTE, MPI_STATUS_IGNORE);
}

static void once(int len)
{
    make(one);
    OK(writes(mine, len));
    CHECK(access(one, F_OK) != 0); /* it did flip */
    make(one);
    OK(reads(len));
    CHECK(access(one, F_OK) != 0);
    t_equal(got, mine, 0, len, "what was read");
}

static void names(int rc, const char *range)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int len;

    CHECK(rc != MPI_SUCCESS);
    if (rc == MPI_SUCCESS)
        return;
    CHECK(t_class(rc) == MPI_ERR_IO);
    MPI_Error_string(rc, text, &len);
    if (!strstr(text, range) || !strstr(text, "wrong checksum"))
        fprintf(stderr, "rank %d: %s\n", t_rank, text);
    CHECK(strstr(text, range) && strstr(text, "wrong checksum"));
}

static void each_time(int len, const char *range)
{
    static unsigned char other[SIZE];

    make(all);
    memset(other, 0x5a, sizeof other);
    names(writes(other, len), range);
    names(reads(len), range);
    CHECK(unlink(all) == 0);
    OK(reads(len));
    t_equal(got, mine, 0, len, "what was there before");
}

/* Bytes of this generation, as far as they are seen. */
static int fill(int gen, int piece, int stride)
{
    int len = 0;

    for (int at = 0; at < SIZE; at += stride, len += piece) {
        t_stamps(image + at, at, piece, gen);
        memcpy(mine + len, image + at, (size_t)piece);
    }
    return len;
}

static void both(int gen, int piece, int stride, const char *range)
{
    int len = fill(gen, piece, stride);

    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank == 1) {
        once(len);
        each_time(len, range);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void through_a_view(void)
{
    MPI_Datatype type;

    OK(MPI_Type_vector(TILES, PIECE, STRIDE, MPI_BYTE, &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_File_set_view(fh, 0, MPI_BYTE, type, "native", MPI_INFO_NULL));
    both(2, PIECE, STRIDE, "bytes within 0-");
    OK(MPI_Type_free(&type));
}

int main(int argc, char **argv)
{
    const char *name = t_begin(argc, argv, MPI_THREAD_SINGLE);
    static char each[4096];
    MPI_Info info;

    if (argc < 3 || t_size < 2)
        MPI_Abort(MPI_COMM_WORLD, 2);
    one = argv[2];
    snprintf(each, sizeof each, "%s.all", one);
    all = each;
    info = t_hints(argc, argv, 3);
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE, info, &fh));
    OK(MPI_Info_free(&info));
    both(1, SIZE, SIZE, "bytes 0-");
    through_a_view();
    OK(MPI_File_close(&fh));
    t_same(name, image, SIZE, "the file");
    return t_end("t_flipped");
}
