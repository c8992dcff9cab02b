/* t_memory.c - how much memory zcache takes in the processes of a program.
 *
 *     t_memory FILE CACHE-MIB LIMIT-MIB ROUNDS [hint=value ...]
 *
 * Every rank writes and reads more than the aggregators' caches hold: large pieces, many small
 * ones at a time, through irregular views of its own, collectively and alone.  What counts is
 * the growth of the process: its peak (VmHWM) at the end of all that, less what was resident
 * (VmRSS) before the first open, when MPI has talked to everybody and all buffers and
 * datatypes of the program have been used.  So it is page memory, everything the caches keep
 * about pages, views, requests, packed data, threads, ROMIO, libfabric and its buffers, and
 * the pages of code that were read.  Fails where it is more than LIMIT MiB.
 */
#include <stdint.h>
#include <unistd.h>

#include "t_mpiio.h"

enum {
    LARGE = 4 << 20,  /* bytes of a large access */
    SMALL = 1000,     /* ... of a small one */
    FLYING = 32,      /* small ones under way */
    PIECES = 30000,   /* of an irregular view */
    VIEWS = 3,        /* of each rank */
    REACH = 32 << 20, /* bytes of the file a rank writes to */
};

static char *large, small[FLYING][SMALL];
static MPI_Datatype views[VIEWS];
static int bytes[VIEWS]; /* visible in one tile */

static long field(const char *name)
{
    char line[200];
    long kib = -1;
    FILE *f = fopen("/proc/self/status", "r");

    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, name, strlen(name)))
            kib = strtol(line + strlen(name) + 1, NULL, 10);
    if (f)
        fclose(f);
    return kib;
}

/* From now on VmHWM is the peak of what comes. */
static void forget_peak(void)
{
    FILE *f = fopen("/proc/self/clear_refs", "w");

    CHECK(f && fputs("5", f) >= 0 && fclose(f) == 0);
}

/* Elements of 8 bytes at rising places without any order, as in a climate model's map. */
static void make_views(void)
{
    int *at = malloc(PIECES * sizeof *at);
    unsigned seed = (unsigned)t_rank + 1;

    CHECK(at);
    for (int v = 0; v < VIEWS && at; v++) {
        int place = 0;

        for (int i = 0; i < PIECES; i++) {
            place += 1 + rand_r(&seed) % 10;
            at[i] = place;
        }
        OK(MPI_Type_create_indexed_block(PIECES, 1, at, MPI_DOUBLE, &views[v]));
        OK(MPI_Type_commit(&views[v]));
        bytes[v] = PIECES * 8;
    }
    free(at);
}

static void talk_to_all(void)
{
    for (int i = 0; i < 20; i++)
        MPI_Alltoall(MPI_IN_PLACE, 0, MPI_BYTE, large, LARGE / 64 / t_size, MPI_BYTE,
                     MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void small_ones(MPI_File fh, MPI_Offset base, int round)
{
    MPI_Request r[FLYING];
    MPI_Status statuses[FLYING];

    for (int i = 0; i < FLYING; i++)
        OK(MPI_File_iwrite_at(fh, base + (round * 977 + i * 1300003) % (REACH - SMALL), small[i],
                              SMALL, MPI_BYTE, &r[i]));
    OK(MPI_Waitall(FLYING, r, statuses));
}

static void one_round(MPI_File fh, int round)
{
    MPI_Offset base = (MPI_Offset)t_rank * REACH;
    int v = round % VIEWS;

    OK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    for (MPI_Offset at = 0; at + LARGE <= REACH; at += 2 * LARGE)
        OK(MPI_File_write_at(fh, base + at, large, LARGE, MPI_BYTE, MPI_STATUS_IGNORE));
    small_ones(fh, base, round);
    OK(MPI_File_write_at_all(fh, base, large, LARGE, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_read_at_all(fh, (base + REACH / 2) % ((MPI_Offset)t_size * REACH), large, LARGE,
                            MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_set_view(fh, base, MPI_DOUBLE, views[v], "native", MPI_INFO_NULL));
    for (int i = 0; i < 2; i++)
        OK(MPI_File_write_at_all(fh, (MPI_Offset)i * PIECES, large, PIECES, MPI_DOUBLE,
                                 MPI_STATUS_IGNORE));
    OK(MPI_File_read_at(fh, PIECES, large, PIECES, MPI_DOUBLE, MPI_STATUS_IGNORE));
    OK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    for (MPI_Offset at = 0; at + LARGE <= REACH; at += 4 * LARGE)
        OK(MPI_File_read_at(fh, base + at, large, LARGE, MPI_BYTE, MPI_STATUS_IGNORE));
}

static void say(long growth, long limit)
{
    long *all = calloc((size_t)t_size, sizeof *all);

    MPI_Gather(&growth, 1, MPI_LONG, all, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    if (t_rank == 0) {
        printf("t_memory: MiB by which each rank grew (allowed %ld):", limit);
        for (int i = 0; i < t_size; i++)
            printf(" %ld", all[i] >> 10);
        printf("\n");
    }
    free(all);
}

int main(int argc, char **argv)
{
    const char *name = t_begin(argc, argv, MPI_THREAD_SINGLE);
    long before, growth, cache, limit;
    MPI_Info info;
    MPI_File fh;

    (void)name;
    if (argc < 5) {
        MPI_Finalize();
        return 2;
    }
    cache = atol(argv[2]);
    limit = atol(argv[3]);
    large = malloc(LARGE);
    CHECK(large);
    memset(large, 'l', LARGE);
    memset(small, 's', sizeof small);
    make_views();
    talk_to_all();
    MPI_Info_create(&info);
    for (int i = 5; i < argc; i++) {
        char *eq = strchr(argv[i], '=');

        if (eq) {
            *eq = 0;
            MPI_Info_set(info, argv[i], eq + 1);
        }
    }
    forget_peak();
    before = field("VmRSS");
    OK(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh));
    for (int i = 0; i < atoi(argv[4]); i++)
        one_round(fh, i);
    OK(MPI_File_close(&fh));
    growth = field("VmHWM") - before;
    say(growth, limit);
    CHECK(before > 0 && growth <= limit << 10);
    CHECK(t_rank != 0 || growth > cache << 10); /* or it was no test */
    for (int v = 0; v < VIEWS; v++)
        MPI_Type_free(&views[v]);
    MPI_Info_free(&info);
    free(large);
    return t_end("t_memory");
}
