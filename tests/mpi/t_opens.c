/* t_opens.c - bytes written through one open of a file are visible through all others of the job.
 *
 * Opens overlap in time, on the same ranks, on some of them, on others.  A blocking write is
 * visible to reads that MPI orders after it, through whatever open, without MPI_File_sync; the
 * newer byte wins, whichever open is closed last.  In the end the file is compared by plain reads.
 */
#include "t_opens.h"

enum { LAST = SIZE - 1000 };

/* Bytes of a rank in the pages of all: a place for each of 16 by 500 bytes. */
static long long place(int k)
{
    return 4096ll * 3 * k + 100 * (k % 7);
}

/* Returns the communicator of all ranks but 0, which own all blocks then; with one rank: itself. */
static MPI_Comm others(void)
{
    MPI_Comm comm;

    OK(MPI_Comm_split(MPI_COMM_WORLD, t_rank || t_size == 1 ? 0 : MPI_UNDEFINED, -t_rank, &comm));
    return comm;
}

static void drop(MPI_Comm *comm)
{
    if (*comm != MPI_COMM_NULL)
        OK(MPI_Comm_free(comm));
}

/* ---- a common open, and a separate one ---- */

static void self_reads(void)
{
    MPI_File all = open_world(), own;

    put_all(all, SIZE);
    meet();
    own = open_self();
    look_together(own, 0, SIZE, "read through an open of one's own");
    for (int r = 0; r < t_size; r++)
        put(all, r, place(r), 500);
    look_together(own, 0, SIZE, "written through the common open meanwhile");
    shut(&own);
    own = open_self();
    look_together(own, 0, SIZE, "opened once more");
    shut(&all);
    look_together(own, 0, SIZE, "the common open is closed");
    shut(&own);
    t_same(name, image, SIZE, "closed");
}

static void self_writes(void)
{
    MPI_File all = open_world(), own;

    put_all(all, SIZE);
    meet();
    own = open_self();
    for (int r = 0; r < t_size; r++)
        put(own, r, place(r), 500);
    look_together(all, 0, SIZE, "written through opens of their own");
    look_together(own, 0, SIZE, "written through opens of others");
    shut(&own);
    for (int r = 0; r < t_size; r++)
        stored(place(r), 500, "an open of its own is closed");
    look_together(all, 0, SIZE, "these are closed");
    shut(&all);
    t_same(name, image, SIZE, "closed");
}

static void world_closed_first(void)
{
    MPI_File all = open_world(), own = open_by(t_size - 1);

    put_all(all, SIZE);
    look_together(own, 0, SIZE, "before");
    put(own, t_size - 1, 777, 9000);
    shut(&all);
    look_together(own, 0, SIZE, "after");
    put(own, t_size - 1, 70000, 9000);
    look(own, 0, SIZE, "its own");
    shut(&own);
    t_same(name, image, SIZE, "closed");
}

/* The common open ends while one rank has an open of its own: a rank that opens the file then, by
 * itself, finds the same owners. */
static void handed_on(void)
{
    int one = round_ % t_size, two = (one + 1) % t_size;
    MPI_File all = open_world(), own = open_by(one), other;

    put_all(all, SIZE);
    meet();
    shut(&all);
    put(own, one, 3000, 70000);
    meet();
    other = open_by(two);
    look_together(other, 0, SIZE, "the second rank reads");
    put(other, two, 60000, 30000);
    look_together(own, 0, SIZE, "the first rank reads");
    shut(round_ & 1 ? &own : &other);
    meet();
    shut(round_ & 1 ? &other : &own);
    t_same(name, image, SIZE, "closed");
}

/* Both orders of writing, both of closing; the older bytes may be in flight. */
static void newer_wins(void)
{
    for (int way = 0; way < 4; way++) {
        MPI_File all = open_world(), own = open_by(t_size / 2);

        for (int half = 0; half < 2; half++) {
            if ((way & 1) == half)
                put_all(all, SIZE);
            else
                put(own, t_size / 2, 3000, 100000);
            meet();
        }
        look(all, 0, SIZE, "common");
        look(own, 0, SIZE, "its own");
        meet();
        shut(way & 2 ? &all : &own);
        meet();
        shut(way & 2 ? &own : &all);
        t_same(name, image, SIZE, "the newer bytes");
    }
}

/* No barrier: ordered by the program, and by a message. */
static void ordered_by_less(void)
{
    MPI_File all = open_world(), own = open_self();
    int from = (t_rank + t_size - 1) % t_size, to = (t_rank + 1) % t_size;

    for (int turn = 0; turn < 10; turn++) {
        for (int r = 0; r < t_size; r++)
            put(turn % 2 ? all : own, r, place(r), 500);
        look(turn % 2 ? own : all, place(t_rank), 500, "of the same rank");
        MPI_Sendrecv(NULL, 0, MPI_INT, to, 0, NULL, 0, MPI_INT, from, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        look(turn % 2 ? own : all, place(from), 500, "told by a message");
        meet();
    }
    put(all, 0, LAST, 1000);
    shut(&own);
    shut(&all);
    t_same(name, image, SIZE, "closed");
}

/* Blocks of all owners, by collective calls. */
static void collectively(void)
{
    unsigned char *got = malloc(SIZE);
    MPI_File all = open_world(), own = open_self();

    for (int turn = 0; turn < 4; turn++) {
        put_all(all, SIZE);
        look_together(own, 0, SIZE, "written collectively");
        for (int r = 0; r < t_size; r++)
            put(own, r, place(r + turn), 600);
        meet();
        OK(MPI_File_read_at_all(all, 0, got, SIZE, MPI_BYTE, MPI_STATUS_IGNORE));
        t_equal(got, image, 0, SIZE, "read collectively");
        meet();
    }
    shut(&all);
    shut(&own);
    t_same(name, image, SIZE, "closed");
    free(got);
}

/* ---- other communicators ---- */

/* `all` opens the file first, or `some` of the ranks, which do not own what they open. */
static void with_others(int some_first, int some_close_first)
{
    MPI_Comm comm = others();
    MPI_File all = MPI_FILE_NULL, some = MPI_FILE_NULL;
    int writer = t_size - 1;

    if (some_first) {
        some = open_with(comm, name, RW, info);
        put(some, writer, 5000, 50000);
        meet();
        all = open_world();
    } else {
        all = open_world();
        put(all, 0, 5000, 50000);
        meet();
        some = open_with(comm, name, RW, info);
    }
    look(some, 5000, 50000, "through some ranks' open");
    look(all, 5000, 50000, "through all ranks'");
    meet();
    put_all(all, SIZE);
    look_together(some, 0, SIZE, "written by all");
    put(some, writer, 10000, 100000);
    look_together(all, 0, SIZE, "written by some");
    shut(some_close_first ? &some : &all);
    meet();
    look(some_close_first ? all : some, 0, SIZE, "the other is closed");
    meet();
    put(some_close_first ? all : some, writer, 20000, 3000);
    shut(some_close_first ? &all : &some);
    t_same(name, image, SIZE, "closed");
    drop(&comm);
}

static void subset(void)
{
    for (int way = 0; way < 4; way++)
        with_others(way & 1, way >> 1);
}

static void same_ranks(void)
{
    MPI_Comm dup;
    MPI_File a = open_world(), b;

    OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    put_all(a, SIZE);
    meet();
    b = open_with(dup, name, MPI_MODE_RDWR, info);
    look_together(b, 0, SIZE, "through the second");
    put(b, t_size - 1, 1000, 100000);
    look_together(a, 0, SIZE, "through the first");
    shut(&a);
    put(b, 0, 2000, 1000);
    look_together(b, 0, SIZE, "the first is closed");
    shut(&b);
    t_same(name, image, SIZE, "closed");
    drop(&dup);
}

/* Hints of a second open; blocks and owners are fixed already. */
static void other_hints(void)
{
    static const char *const sizes[] = {"4K", "64K", "1M"};
    MPI_Info other;
    MPI_File a = open_world(), b;

    OK(MPI_Info_create(&other));
    OK(MPI_Info_set(other, "zcache_block_size", sizes[(round_ + 1) % 3]));
    OK(MPI_Info_set(other, "zcache_cache_size", "32K"));
    OK(MPI_Info_set(other, "cb_nodes", round_ % 2 ? "1" : "4"));
    OK(MPI_Info_set(other, "cb_config_list", "*:4"));
    put_all(a, SIZE);
    meet();
    b = open_with(MPI_COMM_WORLD, name, RW, other);
    look_together(b, 0, SIZE, "with other hints");
    for (int r = 0; r < t_size; r++)
        put(b, r, place(r), 4000);
    look_together(a, 0, SIZE, "written with other hints");
    shut(round_ & 1 ? &a : &b);
    look_together(round_ & 1 ? b : a, 0, SIZE, "one is closed");
    shut(round_ & 1 ? &b : &a);
    t_same(name, image, SIZE, "closed");
    OK(MPI_Info_free(&other));
}

static void three(void)
{
    MPI_Comm comm = others();
    MPI_File a = open_world(), b, c;
    int last = t_size - 1;

    put_all(a, SIZE);
    meet();
    b = open_self();
    put(b, last, 30000, 30000);
    meet();
    c = open_with(comm, name, RW, info);
    look(c, 0, SIZE, "the third");
    meet();
    put(a, 0, 40000, 40000);
    put(c, last, 90000, 10000);
    look_together(b, 0, SIZE, "the second");
    shut(&a);
    put(b, 0, 50000, 20000);
    look_together(c, 0, SIZE, "the first is closed");
    shut(&b);
    a = open_world();
    look_together(a, 0, SIZE, "a fourth");
    put(c, last, 100, 200);
    meet();
    shut(&c);
    look_together(a, 0, SIZE, "it alone is left");
    shut(&a);
    t_same(name, image, SIZE, "closed");
    drop(&comm);
}

/* ---- no common open, or not yet ---- */

static void selves_first(void)
{
    MPI_File own = open_self(), all;

    for (int r = 0; r < t_size; r++)
        put(own, r, place(r), 500);
    put(own, t_size - 1, LAST, 1000);
    look_together(own, 0, SIZE, "of others");
    all = open_world();
    look_together(all, 0, SIZE, "through an open in common");
    put_all(all, SIZE);
    look_together(own, 0, SIZE, "written in common");
    for (int r = 0; r < t_size; r++)
        put(own, r, place(r), 700);
    meet();
    shut(round_ & 1 ? &all : &own);
    look_together(round_ & 1 ? own : all, 0, SIZE, "one is closed");
    shut(round_ & 1 ? &own : &all);
    t_same(name, image, SIZE, "closed");
}

/* Opens that may not have found each other: their bytes do not replace what is written later in
 * common, whichever is closed last. */
static void apart_first(void)
{
    MPI_File own, all;
    MPI_Info hints;

    MPI_Info_dup(info, &hints);
    MPI_Info_set(hints, "zcache_idle_time", "0"); /* no background write-back */
    own = open_with(MPI_COMM_SELF, name, RW, hints);
    MPI_Info_free(&hints);
    for (int r = 0; r < t_size; r++)
        put(own, r, place(r), 500);
    meet();
    all = open_world();
    put_all(all, SIZE);
    meet();
    shut(round_ & 1 ? &own : &all);
    meet();
    shut(round_ & 1 ? &all : &own);
    meet();
    t_same(name, image, SIZE, "closed");
}

/* The same, each with its own pieces of every page, written back at the same time: no piece
 * replaces another rank's. */
static void apart_scattered(void)
{
    enum { BYTES = 16, ALL = 16 << 10, TURNS = 20 };
    MPI_File own = MPI_FILE_NULL;

    if (!getenv("FAULTSHIM_FS"))
        return;
    if (t_rank == 0)
        own = open_self(); /* creates it */
    meet();
    if (t_rank > 0)
        own = open_self();
    for (int turn = 0; turn < TURNS; turn++) {
        t_stamps(image, 0, ALL, ++gen);
        for (long long at = t_rank * BYTES; at < ALL; at += (long long)t_size * BYTES)
            OK(MPI_File_write_at(own, at, image + at, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
        meet();
        OK(MPI_File_sync(own));
        stored(0, ALL, "synced");
    }
    shut(&own);
    stored(0, ALL, "closed");
}

/* Two ranks, or one twice, that have nothing in common but the file. */
static void strangers(void)
{
    int one = 0, two = t_size - 1;
    MPI_File a = open_by(one), b = MPI_FILE_NULL;

    put(a, one, 0, SIZE);
    meet();
    b = open_by(two);
    look_together(b, 0, SIZE, "the second rank reads");
    put(b, two, 3000, 70000);
    look_together(a, 0, SIZE, "the first rank reads");
    put(a, one, 60000, 30000);
    look_together(b, 0, SIZE, "the second rank reads again");
    shut(round_ & 1 ? &a : &b);
    meet();
    look(round_ & 1 ? b : a, 0, SIZE, "the other is closed");
    meet();
    put(round_ & 1 ? b : a, round_ & 1 ? two : one, 80000, 10);
    shut(round_ & 1 ? &b : &a);
    t_same(name, image, SIZE, "closed");
}

/* ---- at the same time ---- */

/* Accesses under way through one open while the other is closed. */
static void nonblocking(void)
{
    enum { MANY = 30, LEN = 1500 };
    unsigned char *mine = malloc(MANY * LEN);
    MPI_Request r[MANY];
    MPI_Status statuses[MANY];

    for (int way = 0; way < 2; way++) {
        MPI_File all = open_world(), own = open_self();
        MPI_File busy = way ? all : own;

        put_all(way ? own : all, 0); /* an access of nothing */
        t_stamps(image, 0, (long long)MANY * LEN * t_size, ++gen);
        for (int i = 0; i < MANY; i++) {
            long long off = (long long)(i * t_size + t_rank) * LEN;

            memcpy(mine + (size_t)i * LEN, image + off, LEN);
            OK(MPI_File_iwrite_at(busy, off, mine + (size_t)i * LEN, LEN, MPI_BYTE, &r[i]));
        }
        shut(way ? &own : &all);
        OK(MPI_Waitall(MANY, r, statuses));
        look_together(busy, 0, MANY * LEN * t_size, "written while another open was closed");
        shut(way ? &all : &own);
        t_same(name, image, (long long)MANY * LEN * t_size, "closed");
    }
    free(mine);
}

/* As parallel netCDF does: variables together through one open, record counts and the like by
 * single ranks through another; both in the same pages. */
static void netcdf(void)
{
    enum { RECORD = 1000, RECORDS = 20 };
    MPI_File all = open_world(), own = open_self();
    long long part = RECORD / t_size / 2, at = t_rank * part, head = RECORD / 2;

    for (int i = 0; i < RECORDS; i++) {
        long long base = (long long)i * RECORD;

        t_stamps(image + base, base, part * t_size, ++gen);
        OK(MPI_File_write_at_all(all, base + at, image + base + at, (int)part, MPI_BYTE,
                                 MPI_STATUS_IGNORE));
        if (reference)
            meet();
        for (int r = 0; r < t_size; r++)
            put(own, r, base + head + 20 * r, 20); /* the same page, other bytes */
        put(own, i % t_size, base + RECORD - 100, 100);
        if (i % 4 == 3)
            look_together(all, 0, (int)(base + head + 20), "so far");
        if (reference)
            meet();
    }
    meet();
    put(own, 0, 0, 8); /* the head */
    meet();
    shut(&all);
    meet();
    put(own, 0, 4, 4);
    shut(&own);
    t_same(name, image, RECORDS * RECORD, "closed");
}

static void loops(void)
{
    MPI_File all = open_world();

    put_all(all, SIZE);
    meet();
    for (int i = 0; i < 50; i++) {
        MPI_File own = open_self();

        for (int r = 0; r < t_size; r++)
            put(all, r, place(r), 500);
        look(own, place(t_rank), 500, "through the common open");
        for (int r = 0; r < t_size; r++)
            put(own, r, place(r) + 250, 500);
        look(all, place(t_rank), 750, "through its own");
        shut(&own);
        look(all, place(t_rank), 750, "that one is closed");
    }
    meet();
    shut(&all);
    t_same(name, image, SIZE, "closed");
}

static void atomic(void)
{
    MPI_File all = open_world(), own = open_self();

    OK(MPI_File_set_atomicity(all, 1));
    for (int turn = 0; turn < 6; turn++) {
        put_all(all, SIZE);
        look_together(own, 0, SIZE, "written in atomic mode");
        for (int r = 0; r < t_size; r++)
            put(own, r, place(r), 900);
        look_together(all, 0, SIZE, "read in atomic mode");
    }
    OK(MPI_File_set_atomicity(all, 0));
    shut(&all);
    shut(&own);
    t_same(name, image, SIZE, "closed");
}

/* ---- the end ---- */

/* The file's owner is used by other ranks only: when they have closed it, it has no user. */
static void nobody_left(void)
{
    char value[MPI_MAX_INFO_VAL + 1] = "";
    MPI_File first, last;
    MPI_Info own, now;
    int there;

    OK(MPI_Info_dup(info, &own));
    OK(MPI_Info_set(own, "zcache_write_back", "none"));
    first = open_with(t_rank ? MPI_COMM_NULL : MPI_COMM_SELF, name, RW, own);
    meet();
    last = open_by(t_size - 1);
    put(last, t_size - 1, 100, 50000);
    meet();
    shut(&first);
    meet();
    shut(&last);
    OK(MPI_Info_set(own, "zcache_write_back", "both"));
    last = open_with(t_rank < t_size - 1 ? MPI_COMM_NULL : MPI_COMM_SELF, name, RW, own);
    if (last != MPI_FILE_NULL && !reference) {
        OK(MPI_File_get_info(last, &now));
        OK(MPI_Info_get(now, "zcache_write_back", MPI_MAX_INFO_VAL, value, &there));
        OK(MPI_Info_free(&now));
        CHECK(!strcmp(value, "both"));
    }
    put(last, t_size - 1, 70000, 50000);
    look(last, 0, 120000, "all of it");
    shut(&last);
    OK(MPI_Info_free(&own));
    t_same(name, image, 120000, "closed");
}

/* The others have closed the file, and do something else. */
static void late_close(void)
{
    char path[2000];
    MPI_File all = open_world(), own = open_by(t_size - 1), elsewhere;

    snprintf(path, sizeof path, "%s.elsewhere", name);
    put_all(all, SIZE);
    meet();
    put(own, t_size - 1, 100, 50000);
    shut(&all);
    elsewhere = open_with(MPI_COMM_WORLD, path, RW | MPI_MODE_DELETE_ON_CLOSE, info);
    OK(MPI_File_write_at_all(elsewhere, 0, image, SIZE, MPI_BYTE, MPI_STATUS_IGNORE));
    put(own, t_size - 1, 40000, 50000);
    look(own, 0, SIZE, "all to itself");
    meet();
    shut(&elsewhere);
    put(own, t_size - 1, 60000, 50000);
    shut(&own);
    t_same(name, image, SIZE, "closed");
}

/* ... or are in MPI_Finalize.  The last case: the program ends in it. */
static void in_finalize(void)
{
    MPI_File all = open_world(), own = open_by(0);
    int bad;

    put_all(all, SIZE);
    meet();
    shut(&all);
    if (t_rank == 0) {
        for (int i = 0; i < 20; i++)
            put(own, 0, 3000 * i, 9000);
        look(own, 0, SIZE, "while the others end");
        shut(&own);
        file_has(0, SIZE, "while the others end");
        unlink(t_path(name));
    }
    bad = t_failures;
    if (t_rank == 0 && bad)
        printf("in_finalize: 1 of 1 rounds failed\n");
    MPI_Finalize();
    exit(bad > 0);
}

int main(int argc, char **argv)
{
    static const struct t_case cases[] = {{"self_reads", self_reads},
                                          {"self_writes", self_writes},
                                          {"world_closed_first", world_closed_first},
                                          {"handed_on", handed_on},
                                          {"newer_wins", newer_wins},
                                          {"ordered_by_less", ordered_by_less},
                                          {"collectively", collectively},
                                          {"subset", subset},
                                          {"same_ranks", same_ranks},
                                          {"other_hints", other_hints},
                                          {"three", three},
                                          {"selves_first", selves_first},
                                          {"apart_first", apart_first},
                                          {"apart_scattered", apart_scattered},
                                          {"strangers", strangers},
                                          {"nonblocking", nonblocking},
                                          {"netcdf", netcdf},
                                          {"loops", loops},
                                          {"atomic", atomic},
                                          {"nobody_left", nobody_left},
                                          {"late_close", late_close},
                                          {NULL, NULL}};

    if (argc > 3 && !strcmp(argv[3], "in_finalize")) {
        name = t_begin(argc, argv, MPI_THREAD_SINGLE);
        image = calloc(1, SIZE);
        begin_round();
        in_finalize();
    }
    return run_cases(argc, argv, cases);
}
