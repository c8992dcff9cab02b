/* t_opens.h - what t_opens and t_opens_file share: several opens of one file in one job.
 *
 *     t_opens FILE ROUNDS CASE     that case, so many times; "all": every one
 *     t_opens FILE 0 list          their names
 *
 * The image is the expected contents, the same on every rank: all ranks call put(), and one of them
 * writes.  Each round has a new file and other hints.  A line on stdout for every case that failed
 * says in how many rounds.
 */
#ifndef T_OPENS_H
#define T_OPENS_H

#include "t_file.h"

enum { RW = MPI_MODE_CREATE | MPI_MODE_RDWR, SIZE = 256 << 10 };

static const char *name;     /* with prefix */
static unsigned char *image; /* SIZE bytes */
static MPI_Info info;        /* hints of this round */
static int round_, gen;      /* put() counts generations */
static int reference;        /* not zcache: ROMIO also writes bytes that were not requested */

struct t_case {
    const char *name;
    void (*run)(void);
};

static inline void meet(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static inline MPI_File open_with(MPI_Comm comm, const char *path, int amode, MPI_Info hints)
{
    MPI_File fh = MPI_FILE_NULL;

    if (comm != MPI_COMM_NULL)
        OK(MPI_File_open(comm, path, amode, hints, &fh));
    return fh;
}

static inline MPI_File open_world(void)
{
    return open_with(MPI_COMM_WORLD, name, RW, info);
}

static inline MPI_File open_self(void)
{
    return open_with(MPI_COMM_SELF, name, RW, info);
}

/* By one rank only: MPI_FILE_NULL on the others. */
static inline MPI_File open_by(int rank)
{
    return open_with(t_rank == rank ? MPI_COMM_SELF : MPI_COMM_NULL, name, RW, info);
}

static inline void shut(MPI_File *fh)
{
    if (*fh != MPI_FILE_NULL)
        OK(MPI_File_close(fh));
}

/* One rank writes new bytes; all note them. */
static inline void put(MPI_File fh, int rank, long long off, int len)
{
    t_stamps(image + off, off, len, ++gen);
    if (t_rank == rank)
        OK(MPI_File_write_at(fh, off, image + off, len, MPI_BYTE, MPI_STATUS_IGNORE));
}

/* All write the first `size` bytes, each a part, collectively. */
static inline void put_all(MPI_File fh, long long size)
{
    long long part = size / t_size, at = t_rank * part;

    t_stamps(image, 0, size, ++gen);
    if (t_rank == t_size - 1)
        part = size - at;
    OK(MPI_File_write_at_all(fh, at, image + at, (int)part, MPI_BYTE, MPI_STATUS_IGNORE));
}

/* Compares a read by the ranks of this open with the image. */
static inline void look(MPI_File fh, long long off, int len, const char *when)
{
    unsigned char *got;
    MPI_Status status;
    int n;

    if (fh == MPI_FILE_NULL)
        return;
    got = calloc(1, (size_t)len + 1);
    OK(MPI_File_read_at(fh, off, got, len, MPI_BYTE, &status));
    OK(MPI_Get_count(&status, MPI_BYTE, &n));
    if (n != len)
        fprintf(stderr, "rank %d: %s: %d bytes at %lld, not %d\n", t_rank, when, n, off, len);
    CHECK(n == len);
    t_equal(got, image, off, n < len ? n : len, when);
    free(got);
}

/* The same, ordered after all earlier writes and before all later ones. */
static inline void look_together(MPI_File fh, long long off, int len, const char *when)
{
    meet();
    look(fh, off, len, when);
    meet();
}

static inline void size_is(MPI_File fh, long long size, const char *when)
{
    MPI_Offset is = -1;

    if (fh == MPI_FILE_NULL)
        return;
    OK(MPI_File_get_size(fh, &is));
    if (is != size)
        fprintf(stderr, "rank %d: %s: the size is %lld, not %lld\n", t_rank, when, (long long)is,
                size);
    CHECK(is == size);
}

/* Checks that the bytes are in the file; bytes around them may still be cached. */
static inline void file_has(long long off, int len, const char *when)
{
    unsigned char *got = calloc(1, (size_t)len);
    int fd = open(t_path(name), O_RDONLY);
    ssize_t n = pread(fd, got, (size_t)len, off);

    if (n != len)
        fprintf(stderr, "%s: %lld bytes of the file at %lld, not %d\n", when, (long long)n, off,
                len);
    CHECK(n == len);
    t_equal(got, image, off, n < 0 ? 0 : n, when);
    close(fd);
    free(got);
}

/* The same; collective, rank 0 checks. */
static inline void stored(long long off, int len, const char *when)
{
    meet();
    if (t_rank == 0)
        file_has(off, len, when);
    meet();
}

static inline int there(void)
{
    struct stat st;

    return lstat(t_path(name), &st) == 0;
}

/* ---- running ---- */

static inline void begin_round(void)
{
    static const char *const hints[3][5] = {
        {NULL},
        {"zcache_block_size=64K", "cb_nodes=2", "cb_config_list=*:2", NULL},
        {"zcache_block_size=4K", "cb_nodes=3", "cb_config_list=*:3", "zcache_cache_size=64K", NULL},
    };

    OK(MPI_Info_create(&info));
    for (const char *const *h = hints[round_ % 3]; *h; h++) {
        const char *eq = strchr(*h, '=');
        char key[MPI_MAX_INFO_KEY];

        snprintf(key, sizeof key, "%.*s", (int)(eq - *h), *h);
        OK(MPI_Info_set(info, key, eq + 1));
    }
    memset(image, 0, SIZE);
    gen = round_ * 100;
    t_failures = 0;
    meet();
}

/* Whether it failed on any rank. */
static inline int end_round(void)
{
    int all = 0;

    OK(MPI_Allreduce(&t_failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    if (t_rank == 0)
        unlink(t_path(name));
    OK(MPI_Info_free(&info));
    meet();
    return all > 0;
}

static inline int run_case(const struct t_case *c, int rounds)
{
    int bad = 0;

    for (round_ = 0; round_ < rounds; round_++) {
        begin_round();
        c->run();
        bad += end_round();
    }
    if (bad && t_rank == 0)
        printf("%s: %d of %d rounds failed\n", c->name, bad, rounds);
    return bad;
}

static inline int run_cases(int argc, char **argv, const struct t_case *cases)
{
    int rounds = argc > 2 ? atoi(argv[2]) : 1, found = 0, bad = 0;
    const char *what = argc > 3 ? argv[3] : "all";

    name = t_begin(argc, argv, MPI_THREAD_SINGLE);
    reference = strncmp(name, "zcache:", 7) != 0;
    image = calloc(1, SIZE);
    for (const struct t_case *c = cases; c->name; c++) {
        if (!strcmp(what, "list"))
            found += t_rank || printf("%s\n", c->name);
        else if (!strcmp(what, "all") || !strcmp(what, c->name))
            found++, bad += run_case(c, rounds);
    }
    t_failures = bad > 0;
    CHECK(found);
    free(image);
    if (!strcmp(what, "list")) {
        MPI_Finalize();
        return 0;
    }
    return t_end(argv[0]);
}

#endif
