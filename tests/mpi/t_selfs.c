/* t_selfs.c - opens of one file by ranks that never open it together: each by MPI_COMM_SELF.
 *
 * Usage as in t_opens.h.
 */
#include "t_opens.h"

enum { PIECE = 4099 };

/* A piece of each rank's own, another one in every turn. */
static long long piece_of(int rank, int turn)
{
    return (long long)(turn * t_size + rank) * PIECE;
}

/* All write a piece, concurrently; every rank notes all of them. */
static void put_pieces(MPI_File fh, int turn)
{
    long long first = piece_of(0, turn), mine = piece_of(t_rank, turn);

    t_stamps(image + first, first, (long long)t_size * PIECE, ++gen);
    if (fh != MPI_FILE_NULL)
        OK(MPI_File_write_at(fh, mine, image + mine, PIECE, MPI_BYTE, MPI_STATUS_IGNORE));
}

static void look_pieces(MPI_File fh, int turn, const char *when)
{
    look_together(fh, piece_of(0, turn), t_size * PIECE, when);
}

/* Writes its part, reads its neighbour's. */
static void parts(void)
{
    MPI_File fh = open_self();
    int neighbour = (t_rank + 1) % t_size;

    put_pieces(fh, 0);
    meet();
    look(fh, piece_of(neighbour, 0), PIECE, "the neighbour's part");
    size_is(fh, (long long)t_size * PIECE, "with all parts");
    look_pieces(fh, 0, "all parts");
    shut(&fh);
    stored(0, t_size * PIECE, "closed");
}

/* Parts that overlap, one rank after the other: the newest byte wins, whichever open is closed
 * last. */
static void overlapping(void)
{
    MPI_File fh = open_self();
    int len = 2 * PIECE;

    for (int turn = 0; turn < 3; turn++)
        for (int i = 0; i < t_size; i++) {
            int who = turn % 2 ? t_size - 1 - i : i;

            put(fh, who, (long long)who * PIECE, len);
            look_together(fh, (long long)who * PIECE, len, "what overlaps");
        }
    look_together(fh, 0, (t_size + 1) * PIECE, "in the end");
    shut(&fh);
    stored(0, (t_size + 1) * PIECE, "closed");
}

/* Rank n of the order closes n-th; the others go on writing and reading. */
static void close_in_order(const int *order)
{
    MPI_File fh = MPI_FILE_NULL;
    int open[8], turn = 0;

    for (int i = 0; i < t_size; i++) { /* opened in another order */
        if (t_rank == (order[i] + 1) % t_size)
            fh = open_self();
        meet();
        open[i] = 1;
    }
    put_pieces(fh, turn);
    look_pieces(fh, turn++, "all have it open");
    for (int i = 0; i < t_size; i++) {
        if (t_rank == order[i])
            shut(&fh);
        open[order[i]] = 0;
        meet();
        for (int rank = 0; rank < t_size; rank++)
            if (open[rank])
                put(fh, rank, piece_of(rank, turn), PIECE);
        meet();
        for (int rank = 0; rank < t_size; rank++)
            if (open[rank])
                look(fh, piece_of(rank, turn), PIECE, "one has closed it");
        look(fh, 0, t_size * PIECE, "what was written before it was closed");
        meet();
        turn++;
    }
    stored(0, t_size * PIECE, "all have closed it");
}

/* The orders of all ranks, or twenty-four of them. */
static void closed_in_all_orders(void)
{
    int order[8] = {0};

    if (t_size > 8)
        return;
    for (int n = 0; n < 24; n++) {
        int left[8], rest = n;

        for (int i = 0; i < t_size; i++)
            left[i] = i;
        for (int i = 0; i < t_size; i++) {
            int of = t_size - i, which = rest % of;

            rest /= of;
            order[i] = left[which];
            memmove(left + which, left + which + 1, (size_t)(of - which - 1) * sizeof left[0]);
        }
        if (rest == 0)
            close_in_order(order);
    }
}

/* The first one closes, others open, and never do all have it open. */
static void passed_on(void)
{
    MPI_File fh = MPI_FILE_NULL;
    int turns = 3 * t_size;

    if (t_rank == 0)
        fh = open_self();
    for (int turn = 0; turn < turns; turn++) {
        int has = turn % t_size, next = (turn + 1) % t_size;

        put(fh, has, (long long)turn * PIECE, PIECE);
        meet();
        if (t_rank == next && next != has)
            fh = open_self();
        meet();
        look(fh, 0, (turn + 1) * PIECE, "who had it, and who comes");
        meet();
        if (t_rank == has && next != has)
            shut(&fh);
        meet();
        look(fh, 0, (turn + 1) * PIECE, "who had it has closed it");
    }
    shut(&fh);
    stored(0, turns * PIECE, "closed by all");
}

/* All open and close as fast as they can, each with its own bytes. */
static void at_any_time(void)
{
    enum { TIMES = 20 };
    static unsigned char got[TIMES * 64];

    for (int i = 0; i < TIMES; i++) {
        MPI_File fh = open_self();
        long long at = t_rank * (long long)sizeof got;

        t_stamps(image + at + i * 64, at + i * 64, 64, gen);
        OK(MPI_File_write_at(fh, at + i * 64, image + at + i * 64, 64, MPI_BYTE,
                             MPI_STATUS_IGNORE));
        OK(MPI_File_read_at(fh, at, got, (i + 1) * 64, MPI_BYTE, MPI_STATUS_IGNORE));
        t_equal(got, image, at, (i + 1) * 64, "what this rank has written");
        shut(&fh);
    }
    t_stamps(image, 0, t_size * (long long)sizeof got, gen);
    stored(0, t_size * (int)sizeof got, "closed");
}

/* A rank opens while another one writes and closes: its bytes are there, and all of them count,
 * when both are done. */
static void opened_meanwhile(void)
{
    for (int turn = 0; turn < 3 * t_size; turn++) {
        int who = turn % t_size;
        MPI_File fh = open_by(who);

        meet();
        for (int i = 0; i < turn && t_rank == who; i++) /* they are at different points by then */
            OK(MPI_File_sync(fh));
        put(fh, who, (long long)turn * PIECE, PIECE);
        if (t_rank == who)
            shut(&fh);
        else
            fh = open_self();
        meet();
        size_is(fh, (turn + 1LL) * PIECE, "opened while another one wrote");
        look(fh, 0, (turn + 1) * PIECE, "opened while another one wrote");
        meet();
        shut(&fh);
        meet();
    }
    stored(0, 3 * t_size * PIECE, "closed by all");
}

/* Two halves of the ranks, each with a common open. */
static void halves(void)
{
    MPI_Comm half;
    MPI_File fh;

    OK(MPI_Comm_split(MPI_COMM_WORLD, t_rank % 2, 0, &half));
    fh = open_with(half, name, RW, info);
    put_pieces(fh, 0);
    look_pieces(fh, 0, "both halves' bytes");
    if (t_rank % 2 == 0)
        shut(&fh);
    meet();
    for (int rank = 1; rank < t_size; rank += 2)
        put(fh, rank, piece_of(rank, 1), PIECE);
    meet();
    look(fh, 0, t_size * PIECE, "one half has closed it");
    for (int rank = 1; rank < t_size; rank += 2)
        look(fh, piece_of(rank, 1), PIECE, "one half writes on");
    shut(&fh);
    stored(0, t_size * PIECE, "closed");
    OK(MPI_Comm_free(&half));
}

/* All opens share the size. */
static void sizes(void)
{
    MPI_File fh = open_self();

    put_pieces(fh, 0);
    meet();
    for (int rank = 0; rank < t_size; rank++) {
        long long size = 100000 - 7 * rank;

        if (t_rank == rank)
            OK(MPI_File_set_size(fh, size));
        meet();
        size_is(fh, size, "set by another");
        meet();
    }
    shut(&fh);
    meet();
}

/* Several files, opened by each rank in another order. */
static void many(void)
{
    enum { FILES = 6 };
    MPI_File fh[FILES];
    char path[FILES][1000];

    for (int i = 0; i < FILES; i++) {
        int which = (i + t_rank) % FILES;

        snprintf(path[which], sizeof path[0], "%s.%d", name, which);
        fh[which] = open_with(MPI_COMM_SELF, path[which], RW, info);
    }
    for (int i = 0; i < FILES; i++) {
        put_pieces(fh[i], 0);
        look_pieces(fh[i], 0, path[i]);
    }
    for (int i = 0; i < FILES; i++)
        shut(&fh[i]);
    meet();
    for (int i = 0; t_rank == 0 && i < FILES; i++)
        unlink(t_path(path[i]));
}

int main(int argc, char **argv)
{
    static const struct t_case cases[] = {{"parts", parts},
                                          {"overlapping", overlapping},
                                          {"closed_in_all_orders", closed_in_all_orders},
                                          {"passed_on", passed_on},
                                          {"at_any_time", at_any_time},
                                          {"opened_meanwhile", opened_meanwhile},
                                          {"halves", halves},
                                          {"sizes", sizes},
                                          {"many", many},
                                          {NULL, NULL}};

    return run_cases(argc, argv, cases);
}
