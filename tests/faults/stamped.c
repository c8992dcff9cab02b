/*
 * stamped.c - a program whose file records for each byte when it was written, and which logs every
 * result it gets.  Faults are injected around it; a verifier uses the file and the logs.
 *
 *     stamped phases FILE DIR MOMENT HOLD [HINT=VALUE ...]
 *     stamped soak   FILE DIR SECONDS SEED [HINT=VALUE ...]
 *
 * A word of the file is its generation (8 bits) and its number (56 bits).  All accesses are of
 * whole pieces.  DIR/rank.N is the log of a rank, a line for each event, written at once; it
 * survives the rank:
 *
 *     pid N
 *     phase NAME
 *     begin OFF LEN GEN        of a write; "end OFF LEN GEN CLASS TEXT" when it has returned
 *     end ...
 *     read OFF LEN CLASS GENS  what was found there: generations and "bad", by commas
 *     wrong OFF LEN: GENS, not GEN   the same in a soak, which logs no other reads
 *     stored OFF LEN GEN       at the end of a soak: a write as old as this one, or newer, was good
 *                              when the file was said to be stored
 *     told WHAT CLASS TEXT     the result of open, start, wait, sync or close; "staged": the
 *                              daemons have all of the file
 *
 * "phases": the phases are those of the list below.  If the store is written to in MOMENT, the file
 * HOLD is made first, which makes faultshim.so wait.  At the end of "handshake" and "first-write"
 * of that name, and in "drain", ranks wait for DIR/go.  No error ends the program; it exits with 1
 * if there was one.
 *
 * "soak": in each turn ranks write some pieces each, half the time have the file stored, and read
 * what another rank wrote; DIR/turns has a line for each, "TURN COMMITTED WRITTEN VERIFIED WRONG":
 * whether it was stored (0 or 1), and the bytes so far.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../mpi/t_mpiio.h"

enum { PIECE = 64 << 10, WORDS = PIECE / 8, PIECES = 16, NAP_US = 10000 };

static uint64_t words[WORDS];
static int record = -1;
static int errors; /* reported to this rank */
static bool brief; /* good accesses are not logged */

static const char *dir, *moment, *hold_file;

static void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void note(const char *fmt, ...)
{
    char line[1500];
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(line, sizeof line - 1, fmt, ap);
    va_end(ap);
    n = n < (int)sizeof line - 1 ? n : (int)sizeof line - 2;
    line[n++] = '\n';
    if (write(record, line, (size_t)n) != n)
        MPI_Abort(MPI_COMM_WORLD, 3);
}

static const char *text_of(int rc)
{
    static char text[MPI_MAX_ERROR_STRING];
    int len;

    MPI_Error_string(rc, text, &len);
    for (char *p = text; *p; p++)
        if (*p == '\n')
            *p = ' ';
    return rc == MPI_SUCCESS ? "" : text;
}

static int class_of(int rc)
{
    errors += rc != MPI_SUCCESS;
    return rc == MPI_SUCCESS ? 0 : t_class(rc);
}

static void told(const char *what, int rc)
{
    if (!brief || rc != MPI_SUCCESS)
        note("told %s %d %s", what, class_of(rc), text_of(rc));
}

static void wait_for_file(const char *name)
{
    char path[4096];
    struct stat st;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    while (stat(path, &st))
        usleep(NAP_US);
}

/* ---- pieces ---- */

static MPI_Offset place(int i, int rank)
{
    return ((MPI_Offset)i * t_size + rank) * PIECE;
}

static bool write_piece(MPI_File fh, int i, int gen)
{
    MPI_Offset at = place(i, t_rank);
    int rc;

    for (int w = 0; w < WORDS; w++)
        words[w] = (uint64_t)gen << 56 | ((uint64_t)at / 8 + (uint64_t)w);
    if (!brief)
        note("begin %lld %d %d", (long long)at, PIECE, gen);
    rc = MPI_File_write_at(fh, at, words, PIECE, MPI_BYTE, MPI_STATUS_IGNORE);
    if (!brief || rc != MPI_SUCCESS)
        note("end %lld %d %d %d %s", (long long)at, PIECE, gen, class_of(rc), text_of(rc));
    return rc == MPI_SUCCESS;
}

/* Writes the generations in `words` into `gens`; a word of a different place is "bad". */
static void generations(MPI_Offset at, char *gens, size_t size)
{
    uint64_t last = UINT64_MAX;
    size_t n = 0;

    *gens = 0;
    for (int w = 0; w < WORDS && n + 8 < size; w++) {
        uint64_t mine = words[w] - ((uint64_t)at / 8 + (uint64_t)w);
        uint64_t gen = words[w] == 0 ? 0 : mine << 8 ? 256 : mine >> 56;

        if (gen == last)
            continue;
        last = gen;
        n += gen == 256 ? (size_t)snprintf(gens + n, size - n, "%sbad", n ? "," : "")
                        : (size_t)snprintf(gens + n, size - n, "%s%d", n ? "," : "", (int)gen);
    }
}

static bool read_piece(MPI_File fh, int i, int rank, char *gens, size_t size)
{
    MPI_Offset at = place(i, rank);
    int rc;

    memset(words, 0xee, sizeof words);
    rc = MPI_File_read_at(fh, at, words, PIECE, MPI_BYTE, MPI_STATUS_IGNORE);
    generations(at, gens, size);
    if (!brief || rc != MPI_SUCCESS)
        note("read %lld %d %d %s", (long long)at, PIECE, class_of(rc), gens);
    return rc == MPI_SUCCESS;
}

static void set_info(MPI_File fh, const char *hint, const char *value, const char *what)
{
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, hint, value);
    told(what, MPI_File_set_info(fh, info));
    MPI_Info_free(&info);
}

/* ---- phases ---- */

static bool is_now(const char *name)
{
    return !strcmp(moment, name);
}

/* Begins a phase; in the disturbed one, the store waits from now on. */
static void phase(const char *name, bool hold)
{
    MPI_Barrier(MPI_COMM_WORLD);
    note("phase %s", name);
    if (t_rank == 0 && hold && is_now(name)) {
        int fd = open(hold_file, O_WRONLY | O_CREAT, 0644);

        if (fd < 0)
            MPI_Abort(MPI_COMM_WORLD, 3);
        close(fd);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void write_every(MPI_File fh, int step, int gen)
{
    for (int i = 0; i < PIECES; i += step)
        write_piece(fh, i, gen);
}

static void read_back(MPI_File fh)
{
    char gens[200];

    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < PIECES; i++)
        read_piece(fh, i, (t_rank + 1) % t_size, gens, sizeof gens);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void write_back(MPI_File fh)
{
    phase("write-back", true);
    write_every(fh, 2, 2);
    set_info(fh, "zcache_flush", "start", "start");
    write_every(fh, 4, 3);
    set_info(fh, "zcache_flush", "wait", "wait");
    read_back(fh);
}

/* Dirty bytes of the file in the aggregators, which no daemon has. */
static long long dirty_bytes(MPI_File fh)
{
    char value[40] = "0";
    int flag = 0, rc;
    MPI_Info info;

    rc = MPI_File_get_info(fh, &info);
    if (rc != MPI_SUCCESS) {
        told("info", rc);
        return 0;
    }
    MPI_Info_get(info, "zcache_dirty_bytes", (int)sizeof value - 1, value, &flag);
    MPI_Info_free(&info);
    return flag ? atoll(value) : 0;
}

/* With daemons: waits until they have all of the file, while the file system lacks a part. */
static void drain(MPI_File fh)
{
    phase("drain", false);
    write_every(fh, 2, 5);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!getenv("ZCACHE_DAEMONS"))
        return;
    while (dirty_bytes(fh) > 0)
        usleep(NAP_US);
    told("staged", MPI_SUCCESS);
    phase("drain", true);
    if (is_now("drain")) {
        note("phase drained");
        wait_for_file("go");
    }
}

static void run_phases(MPI_File fh)
{
    if (is_now("handshake"))
        wait_for_file("go");
    phase("first-write", false);
    write_piece(fh, 0, 1);
    if (is_now("first-write"))
        wait_for_file("go");
    for (int i = 1; i < PIECES; i++)
        write_piece(fh, i, 1);
    write_back(fh);
    phase("sync", true);
    write_every(fh, 3, 4);
    told("sync", MPI_File_sync(fh));
    drain(fh);
    phase("close", true);
    write_every(fh, 5, 6);
    read_back(fh);
    told("close", MPI_File_close(&fh));
}

/* ---- soak ---- */

static unsigned draw(uint64_t *rng, unsigned n)
{
    uint64_t z = *rng += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (unsigned)((z ^ (z >> 31)) % n);
}

static void tell_turn(long turn, int stored, long written, long verified, long bad)
{
    long mine[3] = {written, verified, bad}, all[3];
    char path[4096], line[200];
    int fd, n;

    MPI_Reduce(mine, all, 3, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (t_rank)
        return;
    n = snprintf(line, sizeof line, "%ld %d %ld %ld %ld\n", turn, stored, all[0] * PIECE,
                 all[1] * PIECE, all[2] * PIECE);
    snprintf(path, sizeof path, "%s/turns", dir);
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (fd < 0 || write(fd, line, (size_t)n) != n || close(fd))
        MPI_Abort(MPI_COMM_WORLD, 3);
}

/* `theirs`: generations of the other rank's pieces, 0 where it is not sure. */
static long verify(MPI_File fh, const unsigned char *theirs, long *bad)
{
    char gens[200], want[8];
    long seen = 0;

    for (int i = 0; i < PIECES; i++) {
        if (!theirs[i])
            continue;
        if (!read_piece(fh, i, (t_rank + 1) % t_size, gens, sizeof gens))
            continue;
        snprintf(want, sizeof want, "%d", theirs[i]);
        seen++;
        if (strcmp(gens, want)) {
            ++*bad;
            note("wrong %lld %d: %s, not %s", (long long)place(i, (t_rank + 1) % t_size), PIECE,
                 gens, want);
        }
    }
    return seen;
}

/* Has the file stored in half the turns; true: it was, or an error was reported.  The same on all
 * ranks. */
static bool store_now_and_then(MPI_File fh, uint64_t *all)
{
    unsigned dice = draw(all, 4);

    if (dice == 0)
        told("sync", MPI_File_sync(fh));
    else if (dice == 1)
        set_info(fh, "zcache_flush", "wait", "wait");
    return dice < 2;
}

/* A rank's pieces: the generation last written, the last one written without an error, and the last
 * one that is known to be stored. */
struct own {
    uint64_t rng;
    long written;
    unsigned char last[PIECES], good[PIECES], stored[PIECES];
    bool since[PIECES]; /* `good` was written after the last error */
};

static void write_some(MPI_File fh, struct own *o)
{
    for (unsigned n = 1 + draw(&o->rng, PIECES); n; n--, o->written++) {
        unsigned i = draw(&o->rng, PIECES);

        o->last[i] = (unsigned char)(o->last[i] % 255 + 1);
        o->since[i] = write_piece(fh, (int)i, o->last[i]);
        if (o->since[i])
            o->good[i] = o->last[i];
    }
}

/* Ends a turn, without an error or with one.  What is lost is in the next error: a later success
 * is about later writes. */
static void note_stored(struct own *o, bool error, bool stored)
{
    for (int i = 0; i < PIECES; i++) {
        o->since[i] = o->since[i] && !error;
        if (stored && o->since[i])
            o->stored[i] = o->good[i];
    }
}

/* Exchanges the generations that the ranks are sure of. */
static void exchange(const struct own *o, unsigned char *theirs)
{
    unsigned char sure[PIECES];

    for (int i = 0; i < PIECES; i++)
        sure[i] = o->last[i] == o->good[i] ? o->good[i] : 0;
    MPI_Sendrecv(sure, PIECES, MPI_BYTE, (t_rank + t_size - 1) % t_size, 0, theirs, PIECES,
                 MPI_BYTE, (t_rank + 1) % t_size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void note_last(const struct own *o)
{
    for (int i = 0; i < PIECES; i++) {
        long long at = (long long)place(i, t_rank);

        if (o->good[i]) {
            note("begin %lld %d %d", at, PIECE, o->good[i]);
            note("end %lld %d %d 0 ", at, PIECE, o->good[i]);
        }
        if (o->last[i] != o->good[i])
            note("begin %lld %d %d", at, PIECE, o->last[i]);
        if (o->stored[i])
            note("stored %lld %d %d", at, PIECE, o->stored[i]);
    }
}

static int goes_on(double end)
{
    char path[4096];
    struct stat st;
    int on;

    snprintf(path, sizeof path, "%s/stop", dir);
    on = MPI_Wtime() < end && stat(path, &st);
    MPI_Bcast(&on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return on;
}

static void run_soak(MPI_File fh, int seconds, uint64_t seed)
{
    struct own o = {.rng = (seed + 1) * 1000003 + (uint64_t)t_rank};
    double end = MPI_Wtime() + seconds;
    unsigned char theirs[PIECES];
    long verified = 0, bad = 0;
    uint64_t all = seed;

    brief = true;
    for (long turn = 1; goes_on(end); turn++) {
        int had = errors;
        bool stored;

        write_some(fh, &o);
        stored = store_now_and_then(fh, &all);
        note_stored(&o, errors > had, stored);
        exchange(&o, theirs);
        verified += verify(fh, theirs, &bad);
        tell_turn(turn, stored, o.written, verified, bad);
    }
    brief = false;
    note_last(&o);
    told("close", MPI_File_close(&fh));
    errors += bad > 0;
}

int main(int argc, char **argv)
{
    const char *what = t_begin(argc, argv, MPI_THREAD_SINGLE);
    char path[4096];
    MPI_Info info;
    MPI_File fh;
    int rc;

    if (argc < 6 || (strcmp(what, "phases") && strcmp(what, "soak")))
        MPI_Abort(MPI_COMM_WORLD, 2);
    dir = argv[3];
    moment = argv[4];
    hold_file = argv[5];
    snprintf(path, sizeof path, "%s/rank.%d", dir, t_rank);
    record = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
    note("pid %d", (int)getpid());
    MPI_Info_create(&info);
    for (int i = 6; i < argc; i++) {
        char *value = strchr(argv[i], '=');

        if (!value)
            MPI_Abort(MPI_COMM_WORLD, 2);
        *value++ = 0;
        MPI_Info_set(info, argv[i], value);
    }
    note("phase handshake");
    rc = MPI_File_open(MPI_COMM_WORLD, argv[2], MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh);
    MPI_Info_free(&info);
    told("open", rc);
    if (rc == MPI_SUCCESS && !strcmp(what, "soak"))
        run_soak(fh, atoi(argv[4]), strtoull(argv[5], NULL, 10));
    else if (rc == MPI_SUCCESS)
        run_phases(fh);
    note("phase end");
    MPI_Allreduce(&errors, &rc, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    return rc ? 1 : 0;
}
