/* checkpoint.c - a checkpoint that is overwritten again and again, and is always there.
 *
 *     mpicc -o checkpoint checkpoint.c
 *     mpiexec -n 4 ./checkpoint zcache:/scratch/state write 10 8M
 *     mpiexec -n 3 ./checkpoint zcache:/scratch/state read
 *
 * The file has two slots, used in turn, and a record for each that says which checkpoint the slot
 * holds.  While the program computes, a checkpoint is on its way to the store; the next one begins
 * by waiting for it, and only then its record is written.  So at any moment one slot holds a whole
 * checkpoint and a record that is in the file, whatever is killed: ranks, daemons or all of them.
 *
 *     write slot k % 2 | flush=start | compute | sync | barrier | record k | sync | barrier
 *     write slot (k + 1) % 2 | ...
 *
 * Another run goes on with the numbers of the last one.
 *
 * "read" finds the newest whole checkpoint, on any number of ranks, and compares each byte with
 * what was written.  It ends with 0 when there is one, and with 3 when there is none.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECORD_AT = 4096 }; /* bytes between the two records, which are before the slots */

static int rank, ranks;

/* Of the checkpoint in a slot.  `check` is the exclusive or of the rest: a record that is written
 * in part is none. */
struct record {
    uint64_t number, bytes, check;
};

static void ok(int code, const char *what)
{
    char text[MPI_MAX_ERROR_STRING];
    int len;

    if (code == MPI_SUCCESS)
        return;
    MPI_Error_string(code, text, &len);
    fprintf(stderr, "rank %d: %s: %s\n", rank, what, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void hint(MPI_File file, const char *key, const char *value)
{
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, key, value);
    ok(MPI_File_set_info(file, info), key);
    MPI_Info_free(&info);
}

static uint64_t check_of(const struct record *r)
{
    return r->number ^ r->bytes ^ UINT64_C(0x7a63616368650a);
}

/* The state of checkpoint `number` at byte 8 * i of a slot. */
static uint64_t state(uint64_t number, uint64_t i)
{
    return (number << 40) + i;
}

static MPI_Offset slot(uint64_t number, uint64_t bytes)
{
    return 2 * RECORD_AT + (MPI_Offset)(number % 2 * bytes);
}

/* ---- records ---- */

/* The newest checkpoint whose record is whole; number 0: there is none. */
static struct record newest(MPI_File file)
{
    struct record best = {0}, r;

    for (int i = 0; i < 2; i++) {
        memset(&r, 0, sizeof r);
        ok(MPI_File_read_at_all(file, i * RECORD_AT, &r, sizeof r, MPI_BYTE, MPI_STATUS_IGNORE),
           "the record");
        if (r.number > best.number && r.check == check_of(&r))
            best = r;
    }
    return best;
}

/* ---- writing ---- */

/* What all ranks have written is in the file.  MPI_File_sync is about what its own rank wrote, and
 * waits for no other rank; the barrier does. */
static void sync_all(MPI_File file, const char *what)
{
    ok(MPI_File_sync(file), what);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The data are in the file: now the record may say so.  When all ranks know that it does, the other
 * slot may be overwritten. */
static void complete(MPI_File file, uint64_t number, uint64_t bytes)
{
    struct record r = {.number = number, .bytes = bytes};

    sync_all(file, "sync of the data");
    r.check = check_of(&r);
    if (rank == 0)
        ok(MPI_File_write_at(file, (MPI_Offset)(number % 2 * RECORD_AT), &r, sizeof r, MPI_BYTE,
                             MPI_STATUS_IGNORE),
           "the record");
    sync_all(file, "sync of the record");
    if (rank == 0) {
        printf("checkpoint %llu is complete\n", (unsigned long long)number);
        fflush(stdout);
    }
}

/* A state that takes a moment to compute. */
static void compute(uint64_t *mine, uint64_t number, uint64_t first, uint64_t n)
{
    double since = MPI_Wtime();

    do
        for (uint64_t i = 0; i < n; i++)
            mine[i] = state(number, first + i);
    while (MPI_Wtime() - since < 0.01);
}

/* This rank's part of so many values, which begins with *first: as many as the others have, and for
 * the last rank what is left. */
static uint64_t part(uint64_t total, uint64_t *first)
{
    uint64_t n = total / (uint64_t)ranks;

    *first = n * (uint64_t)rank;
    return rank == ranks - 1 ? total - *first : n;
}

static void write_all(MPI_File file, uint64_t count, uint64_t bytes)
{
    uint64_t first, n = part(bytes / 8, &first);
    uint64_t *mine = calloc(n ? n : 1, 8);
    struct record last = newest(file);

    bytes -= bytes % 8;
    if (last.number && last.bytes != bytes) {
        fprintf(stderr, "the file has checkpoints of %llu bytes, not of %llu\n",
                (unsigned long long)last.bytes, (unsigned long long)bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (!mine) {
        fprintf(stderr, "no memory for %llu bytes\n", (unsigned long long)(n * 8));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (uint64_t number = last.number + 1; number <= last.number + count; number++) {
        compute(mine, number, first, n); /* the checkpoint before this one is on its way */
        if (number > last.number + 1)
            complete(file, number - 1, bytes);
        ok(MPI_File_write_at_all(file, slot(number, bytes) + (MPI_Offset)(first * 8), mine, (int)n,
                                 MPI_UINT64_T, MPI_STATUS_IGNORE),
           "write");
        hint(file, "zcache_flush", "start");
    }
    if (count)
        complete(file, last.number + count, bytes);
    free(mine);
}

/* ---- reading ---- */

static uint64_t wrong_in(MPI_File file, const struct record *r)
{
    uint64_t first, n = part(r->bytes / 8, &first), bad = 0;
    uint64_t *mine = calloc(n ? n : 1, 8);

    if (!mine)
        MPI_Abort(MPI_COMM_WORLD, 1);
    ok(MPI_File_read_at_all(file, slot(r->number, r->bytes) + (MPI_Offset)(first * 8), mine, (int)n,
                            MPI_UINT64_T, MPI_STATUS_IGNORE),
       "read");
    for (uint64_t i = 0; i < n; i++) {
        if (mine[i] == state(r->number, first + i))
            continue;
        if (bad++ == 0)
            fprintf(stderr,
                    "rank %d: byte %llu of checkpoint %llu is %#llx, a byte of checkpoint %llu\n",
                    rank, (unsigned long long)(8 * (first + i)), (unsigned long long)r->number,
                    (unsigned long long)mine[i], (unsigned long long)(mine[i] >> 40));
    }
    free(mine);
    MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return bad;
}

static int read_newest(MPI_File file)
{
    struct record r = newest(file);
    uint64_t bad;

    if (r.number == 0) {
        if (rank == 0)
            printf("there is no checkpoint\n");
        return 3;
    }
    bad = wrong_in(file, &r);
    if (rank == 0)
        printf("checkpoint %llu: %llu bytes, %llu values are wrong\n", (unsigned long long)r.number,
               (unsigned long long)r.bytes, (unsigned long long)bad);
    return bad ? 1 : 0;
}

static uint64_t size_of(const char *text)
{
    char *end;
    uint64_t n = strtoull(text, &end, 10);

    return *end == 'M' ? n << 20 : *end == 'K' ? n << 10 : n;
}

static int usage(const char *me)
{
    fprintf(stderr, "usage: %s FILE write [COUNT [BYTES]] | %s FILE read\n", me, me);
    return 2;
}

int main(int argc, char **argv)
{
    int writes = argc > 2 && strcmp(argv[2], "write") == 0, status = 0;
    MPI_File file;

    if (argc < 3 || (!writes && strcmp(argv[2], "read") != 0))
        return usage(argv[0]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    ok(MPI_File_open(MPI_COMM_WORLD, argv[1],
                     writes ? MPI_MODE_CREATE | MPI_MODE_RDWR : MPI_MODE_RDONLY, MPI_INFO_NULL,
                     &file),
       argv[1]);
    if (writes)
        write_all(file, argc > 3 ? strtoull(argv[3], NULL, 10) : 5,
                  argc > 4 ? size_of(argv[4]) : 8 << 20);
    else
        status = read_newest(file);
    ok(MPI_File_close(&file), "close");
    MPI_Finalize();
    return status;
}
