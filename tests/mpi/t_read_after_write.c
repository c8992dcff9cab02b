/* t_read_after_write.c - a collective read waits for what ranks of the same open wrote before it.
 *
 *     t_read_after_write FILE ROUNDS [WRITE [READ]]     names of ways, or -BEGINNING: all others
 *
 * Each rank writes the part of a neighbour, in one way or another, and reads its own, or all,
 * collectively: nothing else is between them.  Ranks compute before either, each as long as it
 * likes, so that some read long before others have written.  All ways with all ways, in a plain
 * view and in one with gaps; a line for each pair that has seen a byte too old.
 */
#include <stdint.h>

#include "t_file.h"

enum { MOST = 20000, ROOM = 1 << 20, GAP = 300 };

static const char *name;
static MPI_File fh;
static unsigned char *in, *image; /* the view's bytes, without its gaps */
static uint64_t state;

static unsigned draw(unsigned n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % n;
}

/* Computes, mostly for no time, sometimes for milliseconds. */
static void compute(void)
{
    double end = MPI_Wtime() + (draw(4) ? draw(50) : draw(4000)) * 1e-6;
    volatile double x = 1;

    while (MPI_Wtime() < end)
        x = x * 1.0000001;
}

/* ---- ways to write, ways to read: `len` bytes at `at` ---- */

struct part {
    long long at;
    int len;
};
typedef void (*move_fn)(struct part p);

static void write_at_all(struct part p)
{
    OK(MPI_File_write_at_all(fh, p.at, image + p.at, p.len, MPI_BYTE, MPI_STATUS_IGNORE));
}

static void write_all(struct part p)
{
    OK(MPI_File_seek(fh, p.at, MPI_SEEK_SET));
    OK(MPI_File_write_all(fh, image + p.at, p.len, MPI_BYTE, MPI_STATUS_IGNORE));
}

static void write_at(struct part p)
{
    OK(MPI_File_write_at(fh, p.at, image + p.at, p.len, MPI_BYTE, MPI_STATUS_IGNORE));
}

/* In halves, the second one first. */
static void iwrite_at(struct part p)
{
    int half = p.len / 2;
    MPI_Request r[2];
    MPI_Status statuses[2];

    OK(MPI_File_iwrite_at(fh, p.at + half, image + p.at + half, p.len - half, MPI_BYTE, &r[1]));
    OK(MPI_File_iwrite_at(fh, p.at, image + p.at, half, MPI_BYTE, &r[0]));
    compute();
    OK(MPI_Waitall(2, r, statuses));
}

static void iwrite_at_all(struct part p)
{
    MPI_Request r;

    OK(MPI_File_iwrite_at_all(fh, p.at, image + p.at, p.len, MPI_BYTE, &r));
    compute();
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
}

static void write_split(struct part p)
{
    OK(MPI_File_write_at_all_begin(fh, p.at, image + p.at, p.len, MPI_BYTE));
    compute();
    OK(MPI_File_write_at_all_end(fh, image + p.at, MPI_STATUS_IGNORE));
}

static void read_at_all(struct part p)
{
    OK(MPI_File_read_at_all(fh, p.at, in, p.len, MPI_BYTE, MPI_STATUS_IGNORE));
}

static void read_all(struct part p)
{
    OK(MPI_File_seek(fh, p.at, MPI_SEEK_SET));
    OK(MPI_File_read_all(fh, in, p.len, MPI_BYTE, MPI_STATUS_IGNORE));
}

static void read_ordered(struct part p)
{
    OK(MPI_File_read_ordered(fh, in, p.len, MPI_BYTE, MPI_STATUS_IGNORE));
}

static void iread_at_all(struct part p)
{
    MPI_Request r;

    OK(MPI_File_iread_at_all(fh, p.at, in, p.len, MPI_BYTE, &r));
    compute();
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
}

static void iread_all(struct part p)
{
    MPI_Request r;

    OK(MPI_File_seek(fh, p.at, MPI_SEEK_SET));
    OK(MPI_File_iread_all(fh, in, p.len, MPI_BYTE, &r));
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
}

static void read_split(struct part p)
{
    OK(MPI_File_read_at_all_begin(fh, p.at, in, p.len, MPI_BYTE));
    compute();
    OK(MPI_File_read_at_all_end(fh, in, MPI_STATUS_IGNORE));
}

static void read_ordered_split(struct part p)
{
    OK(MPI_File_read_ordered_begin(fh, in, p.len, MPI_BYTE));
    compute();
    OK(MPI_File_read_ordered_end(fh, in, MPI_STATUS_IGNORE));
}

static const struct way {
    const char *name;
    move_fn move;
    int ordered; /* reads its own part, no other */
} writes[] = {{"write_at_all", write_at_all, 0},
              {"write_all", write_all, 0},
              {"write_at", write_at, 0},
              {"iwrite_at", iwrite_at, 0},
              {"iwrite_at_all", iwrite_at_all, 0},
              {"write_split", write_split, 0},
              {NULL, NULL, 0}},
  reads[] = {{"read_at_all", read_at_all, 0},
             {"read_all", read_all, 0},
             {"iread_at_all", iread_at_all, 0},
             {"iread_all", iread_all, 0},
             {"read_split", read_split, 0},
             {"read_ordered", read_ordered, 1},
             {"read_ordered_split", read_ordered_split, 1},
             {NULL, NULL, 0}};

/* ---- one pair of them ---- */

/* Whether this rank has read a byte that is wrong. */
static int one_round(const struct way *w, const struct way *r, int round)
{
    static const int lengths[] = {1, 700, 4096, MOST};
    int len = lengths[round % 4], bad;
    long long base = (long long)(round % 3) * 5000;
    int neighbour = (t_rank + (round & 1 ? 1 : t_size - 1)) % t_size;
    struct part to = {base + (long long)neighbour * len, len};
    struct part from = {base + (long long)t_rank * len, len};

    if (!r->ordered && round % 5 == 4)
        from = (struct part){base, len * t_size};
    for (long long i = base; i < base + (long long)len * t_size; i++)
        image[i] = t_stamp(i, round + 1000 * (int)(w - writes) + 10000 * (int)(r - reads));
    if (r->ordered)
        OK(MPI_File_seek_shared(fh, base, MPI_SEEK_SET));
    MPI_Barrier(MPI_COMM_WORLD);
    compute();
    w->move(to);
    compute();
    r->move(from);
    bad = memcmp(in, image + from.at, (size_t)from.len) != 0;
    MPI_Barrier(MPI_COMM_WORLD); /* before anybody writes again */
    return bad;
}

static void pair(const struct way *w, const struct way *r, int rounds, const char *view)
{
    int bad = 0, all = 0;

    for (int round = 0; round < rounds; round++)
        bad += one_round(w, r, round);
    OK(MPI_Allreduce(&bad, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    if (all && t_rank == 0)
        printf("%s, %s, %s: %d of %d reads wrong\n", w->name, r->name, view, all, rounds * t_size);
    t_failures += bad;
}

/* Whether that is the one that was asked for, or, after a "-", begins otherwise. */
static int wanted(const char *asked, const char *way)
{
    if (!asked || !*asked)
        return 1;
    return *asked == '-' ? strncmp(way, asked + 1, strlen(asked + 1)) != 0 : !strcmp(asked, way);
}

static void pairs(int rounds, const char *write, const char *read, const char *view)
{
    for (const struct way *w = writes; w->name; w++)
        for (const struct way *r = reads; r->name; r++)
            if (wanted(write, w->name) && wanted(read, r->name))
                pair(w, r, rounds, view);
}

static MPI_Info small_blocks(void)
{
    MPI_Info info;

    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "zcache_block_size", "16K"));
    OK(MPI_Info_set(info, "cb_nodes", "2"));
    OK(MPI_Info_set(info, "cb_config_list", "*:2"));
    return info;
}

int main(int argc, char **argv)
{
    int rounds = argc > 2 ? atoi(argv[2]) : 10;
    const char *write = argc > 3 ? argv[3] : NULL, *read = argc > 4 ? argv[4] : NULL;
    MPI_Datatype gaps;
    MPI_Info info;

    name = t_begin(argc, argv, MPI_THREAD_SINGLE);
    state = (unsigned)t_rank * 977u + 5;
    in = calloc(1, ROOM);
    image = calloc(1, ROOM);
    info = small_blocks();
    OK(MPI_File_open(MPI_COMM_WORLD, name,
                     MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, info, &fh));
    pairs(rounds, write, read, "plain");
    OK(MPI_Type_vector(4, GAP, 2 * GAP, MPI_BYTE, &gaps));
    OK(MPI_Type_commit(&gaps));
    OK(MPI_File_set_view(fh, 50, MPI_BYTE, gaps, "native", MPI_INFO_NULL));
    pairs(rounds, write, read, "gaps");
    OK(MPI_Type_free(&gaps));
    OK(MPI_File_close(&fh));
    OK(MPI_Info_free(&info));
    free(in);
    free(image);
    return t_end("t_read_after_write");
}
