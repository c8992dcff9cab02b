/*
 * Every function of MPI-IO with a large count (..._c).
 *
 *     t_counts --list        the functions tried here, for comparison with mpi.h
 *     t_counts FILE          counts that an int holds; counts that it does not, of what takes no
 *                            memory: reads that end with the file, elements without bytes; counts
 *                            that are none
 *     t_counts FILE int      counts that an int holds
 *     t_counts FILE BYTES [HINT=VALUE ...]
 *                            so many bytes by each function, BYTES beyond int; one rank
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

#include "t_file.h"

enum { N = 5000 }; /* ints per rank */

static const MPI_Count huge = ((MPI_Count)1 << 31) + 17;

static MPI_File fh;
static MPI_Datatype type = MPI_INT;
static MPI_Offset place; /* where this rank's part begins, bytes */

/* ---- the functions ---- */

#define AT_STATUS(f)                                                                               \
    static int do_##f(void *buf, MPI_Count n, MPI_Status *s)                                       \
    {                                                                                              \
        return f(fh, place, buf, n, type, s);                                                      \
    }
#define STATUS(f)                                                                                  \
    static int do_##f(void *buf, MPI_Count n, MPI_Status *s)                                       \
    {                                                                                              \
        return f(fh, buf, n, type, s);                                                             \
    }
#define AT_REQUEST(f)                                                                              \
    static int do_##f(void *buf, MPI_Count n, MPI_Status *s)                                       \
    {                                                                                              \
        MPI_Request r;                                                                             \
        int rc = f(fh, place, buf, n, type, &r);                                                   \
                                                                                                   \
        return rc == MPI_SUCCESS ? MPI_Wait(&r, s) : rc;                                           \
    }
#define REQUEST(f)                                                                                 \
    static int do_##f(void *buf, MPI_Count n, MPI_Status *s)                                       \
    {                                                                                              \
        MPI_Request r;                                                                             \
        int rc = f(fh, buf, n, type, &r);                                                          \
                                                                                                   \
        return rc == MPI_SUCCESS ? MPI_Wait(&r, s) : rc;                                           \
    }
#define AT_BEGIN(f, end)                                                                           \
    static int do_##f(void *buf, MPI_Count n, MPI_Status *s)                                       \
    {                                                                                              \
        int rc = f(fh, place, buf, n, type);                                                       \
                                                                                                   \
        return rc == MPI_SUCCESS ? end(fh, buf, s) : rc;                                           \
    }
#define BEGIN(f, end)                                                                              \
    static int do_##f(void *buf, MPI_Count n, MPI_Status *s)                                       \
    {                                                                                              \
        int rc = f(fh, buf, n, type);                                                              \
                                                                                                   \
        return rc == MPI_SUCCESS ? end(fh, buf, s) : rc;                                           \
    }

AT_STATUS(MPI_File_read_at_c)
AT_STATUS(MPI_File_write_at_c)
AT_STATUS(MPI_File_read_at_all_c)
AT_STATUS(MPI_File_write_at_all_c)
AT_REQUEST(MPI_File_iread_at_c)
AT_REQUEST(MPI_File_iwrite_at_c)
AT_REQUEST(MPI_File_iread_at_all_c)
AT_REQUEST(MPI_File_iwrite_at_all_c)
AT_BEGIN(MPI_File_read_at_all_begin_c, MPI_File_read_at_all_end)
AT_BEGIN(MPI_File_write_at_all_begin_c, MPI_File_write_at_all_end)
STATUS(MPI_File_read_c)
STATUS(MPI_File_write_c)
STATUS(MPI_File_read_all_c)
STATUS(MPI_File_write_all_c)
REQUEST(MPI_File_iread_c)
REQUEST(MPI_File_iwrite_c)
REQUEST(MPI_File_iread_all_c)
REQUEST(MPI_File_iwrite_all_c)
BEGIN(MPI_File_read_all_begin_c, MPI_File_read_all_end)
BEGIN(MPI_File_write_all_begin_c, MPI_File_write_all_end)
STATUS(MPI_File_read_shared_c)
STATUS(MPI_File_write_shared_c)
REQUEST(MPI_File_iread_shared_c)
REQUEST(MPI_File_iwrite_shared_c)
STATUS(MPI_File_read_ordered_c)
STATUS(MPI_File_write_ordered_c)
BEGIN(MPI_File_read_ordered_begin_c, MPI_File_read_ordered_end)
BEGIN(MPI_File_write_ordered_begin_c, MPI_File_write_ordered_end)

enum pointer { EXPLICIT, INDIVIDUAL, SHARED, ORDERED };

#define WAY(f, pointer)                                                                            \
    {                                                                                              \
#f, do_##f, pointer                                                                        \
    }

static const struct way {
    const char *name;
    int (*access)(void *buf, MPI_Count n, MPI_Status *s);
    enum pointer pointer;
} ways[] = {
    WAY(MPI_File_write_at_c, EXPLICIT),
    WAY(MPI_File_write_at_all_c, EXPLICIT),
    WAY(MPI_File_iwrite_at_c, EXPLICIT),
    WAY(MPI_File_iwrite_at_all_c, EXPLICIT),
    WAY(MPI_File_write_at_all_begin_c, EXPLICIT),
    WAY(MPI_File_write_c, INDIVIDUAL),
    WAY(MPI_File_write_all_c, INDIVIDUAL),
    WAY(MPI_File_iwrite_c, INDIVIDUAL),
    WAY(MPI_File_iwrite_all_c, INDIVIDUAL),
    WAY(MPI_File_write_all_begin_c, INDIVIDUAL),
    WAY(MPI_File_write_shared_c, SHARED),
    WAY(MPI_File_iwrite_shared_c, SHARED),
    WAY(MPI_File_write_ordered_c, ORDERED),
    WAY(MPI_File_write_ordered_begin_c, ORDERED),
    WAY(MPI_File_read_at_c, EXPLICIT),
    WAY(MPI_File_read_at_all_c, EXPLICIT),
    WAY(MPI_File_iread_at_c, EXPLICIT),
    WAY(MPI_File_iread_at_all_c, EXPLICIT),
    WAY(MPI_File_read_at_all_begin_c, EXPLICIT),
    WAY(MPI_File_read_c, INDIVIDUAL),
    WAY(MPI_File_read_all_c, INDIVIDUAL),
    WAY(MPI_File_iread_c, INDIVIDUAL),
    WAY(MPI_File_iread_all_c, INDIVIDUAL),
    WAY(MPI_File_read_all_begin_c, INDIVIDUAL),
    WAY(MPI_File_read_shared_c, SHARED),
    WAY(MPI_File_iread_shared_c, SHARED),
    WAY(MPI_File_read_ordered_c, ORDERED),
    WAY(MPI_File_read_ordered_begin_c, ORDERED),
};

enum { WAYS = sizeof ways / sizeof *ways, WRITES = WAYS / 2 }; /* those, then their counterparts */

static bool writes(const struct way *w)
{
    return strstr(w->name, "write") != NULL;
}

/* ---- one access ---- */

/* Says of what function the checks since `before` speak. */
static void say_which(const struct way *w, const char *what, int before)
{
    if (t_failures > before)
        fprintf(stderr, "rank %d: %s, %s\n", t_rank, w->name, what);
}

static MPI_Count moved(const MPI_Status *s)
{
    MPI_Count n = -1;

    OK(MPI_Get_elements_x(s, MPI_BYTE, &n));
    return n;
}

/* Collective: pointers to the beginning of this rank's part and of the file. */
static void rewind_to(MPI_Offset at)
{
    place = at;
    OK(MPI_File_seek(fh, at, MPI_SEEK_SET));
    OK(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
}

/* Collective; where the shared pointer is used, one rank after the other. */
static int in_turn(const struct way *w, void *buf, MPI_Count n, MPI_Status *s)
{
    int rc = MPI_SUCCESS;

    memset(s, 0, sizeof *s);
    if (w->pointer != SHARED)
        return w->access(buf, n, s);
    for (int r = 0; r < t_size; r++) {
        if (r == t_rank)
            rc = w->access(buf, n, s);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return rc;
}

/* Collective: pointers are where `bytes` of every rank lead, from this rank's `place` on. */
static void check_pointers(const struct way *w, MPI_Count bytes)
{
    MPI_Offset mine, shared;

    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_get_position(fh, &mine));
    OK(MPI_File_get_position_shared(fh, &shared));
    CHECK(mine == place + (w->pointer == INDIVIDUAL ? bytes : 0));
    CHECK(shared == (w->pointer == SHARED || w->pointer == ORDERED ? t_size * bytes : 0));
    MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- small counts ---- */

static void small(const struct way *w, int gen)
{
    static unsigned char out[4 * N], in[4 * N];
    unsigned char *theirs = writes(w) ? out : in;
    int before = t_failures;
    MPI_Status s;

    t_stamps(out, t_rank * 4 * N, 4 * N, gen);
    memset(in, 0, sizeof in);
    OK(MPI_File_set_size(fh, 0));
    rewind_to(t_rank * 4 * N);
    if (!writes(w))
        OK(MPI_File_write_at_all(fh, place, out, N, MPI_INT, &s));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(in_turn(w, theirs, N, &s));
    CHECK(moved(&s) == 4 * N);
    check_pointers(w, 4 * N);
    if (writes(w))
        OK(MPI_File_read_at(fh, place, in, N, MPI_INT, &s));
    CHECK(!memcmp(in, out, sizeof in));
    say_which(w, "a small count", before);
}

/* ---- counts beyond int ---- */

/* The file holds N ints: every rank asks for more than 2^31 bytes and gets them, or, behind
 * others, nothing. */
static void to_the_end(const struct way *w, unsigned char *in, int gen)
{
    static unsigned char out[4 * N];
    bool first = t_rank == 0 || w->pointer == EXPLICIT || w->pointer == INDIVIDUAL;
    int before = t_failures;
    MPI_Status s;

    t_stamps(out, 0, 4 * N, gen);
    memset(in, 0, 4 * N + 1);
    OK(MPI_File_set_size(fh, 0));
    rewind_to(0);
    if (t_rank == 0)
        OK(MPI_File_write_at(fh, 0, out, N, MPI_INT, &s));
    MPI_Barrier(MPI_COMM_WORLD);
    type = MPI_BYTE;
    OK(in_turn(w, in, huge, &s));
    type = MPI_INT;
    CHECK(moved(&s) == (first ? 4 * N : 0));
    CHECK(!first || !memcmp(in, out, sizeof out));
    CHECK(in[4 * N] == 0);
    check_pointers(w, huge);
    say_which(w, "more than the file has", before);
}

static void without_bytes(const struct way *w)
{
    int before = t_failures;
    MPI_Offset size;
    MPI_Status s;

    OK(MPI_File_set_size(fh, 77));
    rewind_to(0);
    OK(MPI_Type_contiguous(0, MPI_BYTE, &type));
    OK(MPI_Type_commit(&type));
    OK(in_turn(w, &size, huge, &s));
    OK(MPI_Type_free(&type));
    type = MPI_INT;
    CHECK(moved(&s) == 0);
    check_pointers(w, 0);
    OK(MPI_File_get_size(fh, &size));
    CHECK(size == 77);
    say_which(w, "elements without bytes", before);
}

/* Also those whose low half is a fine int. */
static void refused(const struct way *w)
{
    static const MPI_Count none[] = {-1, -((MPI_Count)1 << 32) + 5, INT64_MIN};
    int before = t_failures, buf[10];
    MPI_Status s;

    rewind_to(0);
    for (unsigned i = 0; i < sizeof none / sizeof *none; i++)
        CHECK(t_class(in_turn(w, buf, none[i], &s)) == MPI_ERR_COUNT);
    check_pointers(w, 0);
    say_which(w, "a count that is none", before);
}

/* ---- really many bytes ---- */

enum { EVERY = 512 }; /* words; one of so many is looked at, and the last one */

static uint64_t word(size_t i, int gen)
{
    return (i + 1) * 0x9e3779b97f4a7c15ull + (unsigned)gen * 0xc2b2ae3d27d4eb4full;
}

static size_t next_word(size_t i, size_t n)
{
    return i + EVERY < n || i + 1 == n ? i + EVERY : n - 1;
}

static void stamp_words(uint64_t *buf, size_t n, int gen)
{
    for (size_t i = 0; i < n; i = next_word(i, n))
        buf[i] = word(i, gen);
}

static void clear_words(uint64_t *buf, size_t n)
{
    for (size_t i = 0; i < n; i = next_word(i, n))
        buf[i] = 0;
}

static bool are_words(const uint64_t *buf, size_t n, int gen)
{
    for (size_t i = 0; i < n; i = next_word(i, n))
        if (buf[i] != word(i, gen)) {
            fprintf(stderr, "the first wrong byte is in word %zu of %zu\n", i, n);
            return false;
        }
    return true;
}

/* By one function there, by its counterpart back. */
static void large(const struct way *there, const struct way *back, void *buf, MPI_Count bytes,
                  int gen)
{
    size_t n = (size_t)bytes / 8;
    int before = t_failures;
    MPI_Status s;

    CHECK(writes(there) && !writes(back));
    type = MPI_BYTE;
    stamp_words(buf, n, gen);
    rewind_to(0);
    OK(in_turn(there, buf, bytes, &s));
    CHECK(moved(&s) == bytes);
    check_pointers(there, bytes);
    clear_words(buf, n);
    rewind_to(0);
    OK(in_turn(back, buf, bytes, &s));
    CHECK(moved(&s) == bytes);
    check_pointers(back, bytes);
    CHECK(are_words(buf, n, gen));
    say_which(there, "a large count", before);
    say_which(back, "a large count", before);
}

/* ---- those that move nothing ---- */

static int no_extent(MPI_Datatype t, MPI_Aint *extent, void *state)
{
    (void)t;
    (void)state;
    *extent = 1;
    return MPI_SUCCESS;
}

static void the_others(void)
{
    MPI_Count extent = 0;

    OK(MPI_File_get_type_extent_c(fh, MPI_DOUBLE, &extent));
    CHECK(extent == sizeof(double));
    CHECK(MPI_Register_datarep_c("t_counts", MPI_CONVERSION_FN_NULL_C, MPI_CONVERSION_FN_NULL_C,
                                 no_extent, NULL) == MPI_SUCCESS);
    CHECK(t_class(MPI_Register_datarep_c("t_counts", MPI_CONVERSION_FN_NULL_C,
                                         MPI_CONVERSION_FN_NULL_C, no_extent, NULL)) ==
          MPI_ERR_DUP_DATAREP);
}

static int list(void)
{
    for (int i = 0; i < WAYS; i++)
        puts(ways[i].name);
    puts("MPI_File_get_type_extent_c\nMPI_Register_datarep_c");
    return 0;
}

static void *memory(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);

    if (p == MAP_FAILED) {
        perror("mmap");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return p;
}

int main(int argc, char **argv)
{
    MPI_Count bytes = argc > 2 ? strtoll(argv[2], NULL, 0) / 8 * 8 : 0;
    bool only_int = argc > 2 && !strcmp(argv[2], "int");
    const char *name;
    MPI_Info info;
    void *buf;

    if (argc > 1 && !strcmp(argv[1], "--list"))
        return list();
    name = t_begin(argc, argv, MPI_THREAD_SINGLE);
    buf = memory((size_t)(bytes ? bytes : huge));
    info = t_hints(argc, argv, 3);
    OK(MPI_File_open(MPI_COMM_WORLD, name,
                     MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, info, &fh));
    OK(MPI_Info_free(&info));
    for (int i = 0; bytes && i < WRITES; i++)
        large(&ways[i], &ways[i + WRITES], buf, bytes, i);
    for (int i = 0; !bytes && i < WAYS; i++) {
        small(&ways[i], i);
        if (only_int)
            continue;
        if (!writes(&ways[i]))
            to_the_end(&ways[i], buf, i);
        without_bytes(&ways[i]);
        refused(&ways[i]);
    }
    the_others();
    OK(MPI_File_close(&fh));
    return t_end("t_counts");
}
