/*
 * Writes on and on while daemons die and are replaced, and never says a word of it.
 *
 *     t_replay FILE TURNS DIR REPLAY CACHE [again]
 *
 * In each turn every rank writes its pieces, further on in the file, makes the file DIR/turn.N (the
 * first rank does), and reads what it wrote some turns before.  Nothing is synchronised with the
 * file until it is closed; then what lies below the prefix of FILE is compared with what was
 * written.  REPLAY and CACHE are the hints zcache_replay and zcache_cache_size.  With `again` it
 * waits for DIR/back after the last turn, opens the file once more, and reads from it.
 */
#include <unistd.h>

#include "t_mpiio.h"

enum { PIECE = 256 << 10, PIECES = 4, BEHIND = 3, TURN_US = 100000 };

static unsigned char buf[PIECE], want[PIECE];

static void pattern(unsigned char *to, int turn, int piece, int rank)
{
    for (int i = 0; i < PIECE; i++)
        to[i] = (unsigned char)(i + 7 * turn + 31 * piece + 101 * rank + (i >> 8));
}

static MPI_Offset place(int turn, int piece, int rank)
{
    return (((MPI_Offset)turn * PIECES + piece) * t_size + rank) * PIECE;
}

static void write_turn(MPI_File fh, int turn)
{
    for (int i = 0; i < PIECES; i++) {
        pattern(buf, turn, i, t_rank);
        OK(MPI_File_write_at(fh, place(turn, i, t_rank), buf, PIECE, MPI_BYTE, MPI_STATUS_IGNORE));
    }
}

static void read_turn(MPI_File fh, int turn)
{
    for (int i = 0; i < PIECES; i++) {
        pattern(want, turn, i, t_rank);
        OK(MPI_File_read_at(fh, place(turn, i, t_rank), buf, PIECE, MPI_BYTE, MPI_STATUS_IGNORE));
        CHECK(!memcmp(buf, want, PIECE));
    }
}

static void announce(const char *dir, int turn)
{
    char path[1000];
    FILE *f;

    snprintf(path, sizeof path, "%s/turn.%d", dir, turn);
    f = fopen(path, "w");
    CHECK(f);
    if (f)
        fclose(f);
}

/* The file itself, by the first rank. */
static void compare(const char *path, int turns)
{
    FILE *f = fopen(path, "rb");

    CHECK(f);
    for (int turn = 0; f && turn < turns; turn++)
        for (int i = 0; i < PIECES; i++)
            for (int rank = 0; rank < t_size; rank++) {
                pattern(want, turn, i, rank);
                CHECK(fread(buf, 1, PIECE, f) == PIECE && !memcmp(buf, want, PIECE));
            }
    if (f)
        fclose(f);
}

static void open_again(const char *name, const char *dir, MPI_Info info, int turns)
{
    char path[1000];
    MPI_File fh;

    snprintf(path, sizeof path, "%s/back", dir);
    while (access(path, F_OK) != 0)
        usleep(10000);
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR, info, &fh));
    read_turn(fh, turns - 1);
    OK(MPI_File_close(&fh));
}

int main(int argc, char **argv)
{
    const char *name = t_begin(argc, argv, MPI_THREAD_SINGLE);
    MPI_Info info;
    MPI_File fh;
    int turns;

    if (argc != 6 && argc != 7)
        MPI_Abort(MPI_COMM_WORLD, 2);
    turns = atoi(argv[2]);
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "zcache_block_size", "1M"));
    OK(MPI_Info_set(info, "zcache_replay", argv[4]));
    OK(MPI_Info_set(info, "zcache_cache_size", argv[5]));
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh));
    for (int turn = 0; turn < turns; turn++) {
        write_turn(fh, turn);
        if (t_rank == 0)
            announce(argv[3], turn);
        usleep(TURN_US);
        if (turn >= BEHIND)
            read_turn(fh, turn - BEHIND);
    }
    if (argc == 7)
        open_again(name, argv[3], info, turns);
    OK(MPI_Info_free(&info));
    OK(MPI_File_close(&fh));
    if (t_rank == 0)
        compare(strchr(name, ':') + 1, turns);
    return t_end("t_replay");
}
