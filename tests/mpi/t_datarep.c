/*
 * Data representations that convert: every function that moves data, types of one item and of
 * several, counts at the end of the file, and what is refused.
 *
 *     t_datarep FILE
 *
 * In the program's own an int is eight bytes in the file, its negative first; a double has its
 * bytes reversed; a char has other bits.  In external32 the int is a long, which gets shorter. What
 * is expected in the file is made by encode(), and compared by POSIX calls.
 */
#include <stdbool.h>
#include <stddef.h>

#include "t_file.h"

enum { N = 300, MOST = 5, CALLS_MOST = 1 << 20 };

static MPI_File fh;
static MPI_Datatype type; /* of memory, in a call */
static MPI_Offset place;  /* of an explicit offset, etypes */
static int fails;         /* conversion functions return an error */
static int calls;
static bool external; /* it is external32 */

/* ---- types of which the signature is known ---- */

enum kind { INT, DOUBLE, CHAR };

struct item {
    enum kind kind;
    size_t at; /* in memory */
};

static struct signature {
    MPI_Datatype type, etype; /* in memory, and of a view: with displacements that fit the file */
    int n;
    struct item items[MOST];
    size_t extent;
} signatures[3];

struct record {
    union {
        int i;
        long l;
    };
    char c[3];
    double d;
};

static size_t in_file(enum kind kind)
{
    if (kind == INT)
        return external ? 4 : 8;
    return kind == CHAR ? 1 : 8;
}

static size_t in_memory(enum kind kind)
{
    if (kind == INT)
        return external ? sizeof(long) : sizeof(int);
    return kind == DOUBLE ? sizeof(double) : 1;
}

static size_t element_in_file(const struct signature *s)
{
    size_t all = 0;

    for (int i = 0; i < s->n; i++)
        all += in_file(s->items[i].kind);
    return all;
}

static void encode(enum kind kind, const void *from, void *to)
{
    const unsigned char *f = from;
    unsigned char *t = to;
    int i[2];

    for (int b = 0; kind == INT && external && b < 4; b++)
        t[b] = f[3 - b];
    if (kind == INT && !external) {
        memcpy(&i[1], from, sizeof i[1]);
        i[0] = -i[1];
        memcpy(to, i, sizeof i);
    }
    for (int b = 0; kind == DOUBLE && b < 8; b++)
        t[b] = f[7 - b];
    if (kind == CHAR)
        t[0] = external ? f[0] : f[0] ^ 0x5a;
}

static void decode(enum kind kind, const void *from, void *to)
{
    const unsigned char *f = from;
    unsigned char *t = to;

    if (kind == INT)
        memcpy(to, f + sizeof(int), sizeof(int));
    for (int b = 0; kind == DOUBLE && b < 8; b++)
        t[b] = f[7 - b];
    if (kind == CHAR)
        t[0] = f[0] ^ 0x5a;
}

static void make_types(void)
{
    struct signature *s = signatures;
    int lengths[] = {1, 3, 1};
    MPI_Aint places[] = {offsetof(struct record, i), offsetof(struct record, c),
                         offsetof(struct record, d)};
    MPI_Aint in_file_places[] = {0, (MPI_Aint)in_file(INT), (MPI_Aint)in_file(INT) + 3};
    MPI_Datatype integer = external ? MPI_LONG : MPI_INT;
    MPI_Datatype parts[] = {integer, MPI_CHAR, MPI_DOUBLE}, t;

    *s++ = (struct signature){integer, integer, 1, {{INT, 0}}, in_memory(INT)};
    OK(MPI_Type_create_struct(3, lengths, places, parts, &t));
    OK(MPI_Type_create_resized(t, 0, sizeof(struct record), &s->type));
    OK(MPI_Type_free(&t));
    OK(MPI_Type_create_struct(3, lengths, in_file_places, parts, &s->etype));
    OK(MPI_Type_commit(&s->etype));
    s->n = 5;
    s->items[0] = (struct item){INT, offsetof(struct record, i)};
    for (int i = 0; i < 3; i++)
        s->items[1 + i] = (struct item){CHAR, offsetof(struct record, c) + (size_t)i};
    s->items[4] = (struct item){DOUBLE, offsetof(struct record, d)};
    s->extent = sizeof(struct record);
    OK(MPI_Type_commit(&s->type));
    s++;
    OK(MPI_Type_vector(2, 1, 3, integer, &s->type)); /* an int, and the fourth */
    OK(MPI_Type_commit(&s->type));
    OK(MPI_Type_contiguous(2, integer, &s->etype));
    OK(MPI_Type_commit(&s->etype));
    s->n = 2;
    s->items[0] = (struct item){INT, 0};
    s->items[1] = (struct item){INT, 3 * in_memory(INT)};
    s->extent = 4 * in_memory(INT);
}

static const struct signature *signature_of(MPI_Datatype t)
{
    for (int i = 0; i < 3; i++)
        if (signatures[i].type == t)
            return &signatures[i];
    CHECK(!"a conversion function gets the datatype of the call");
    return &signatures[0];
}

/* ---- the representation ---- */

static int extent_of(MPI_Datatype t, MPI_Aint *extent, void *state)
{
    int size = 0;

    CHECK(state == &calls);
    MPI_Type_size(t, &size);
    *extent = t == MPI_INT ? 8 : size;
    return MPI_SUCCESS;
}

static int convert(bool read, void *user, MPI_Datatype t, MPI_Count n, void *file, MPI_Offset at,
                   void *state)
{
    const struct signature *s = signature_of(t);
    char *f = file;

    CHECK(state == &calls);
    calls++;
    if (fails)
        return MPI_ERR_OTHER;
    for (MPI_Offset k = at; k < at + n; k++) {
        const struct item *item = &s->items[k % s->n];
        char *u = (char *)user + (size_t)(k / s->n) * s->extent + item->at;

        if (read)
            decode(item->kind, f, u);
        else
            encode(item->kind, u, f);
        f += in_file(item->kind);
    }
    return MPI_SUCCESS;
}

static int from_file(void *user, MPI_Datatype t, int n, void *file, MPI_Offset at, void *state)
{
    return convert(true, user, t, n, file, at, state);
}

static int to_file(void *user, MPI_Datatype t, int n, void *file, MPI_Offset at, void *state)
{
    return convert(false, user, t, n, file, at, state);
}

/* ---- the functions ---- */

#define AT_STATUS(f)                                                                               \
    static int do_##f(void *buf, int n, MPI_Status *s)                                             \
    {                                                                                              \
        return f(fh, place, buf, n, type, s);                                                      \
    }
#define STATUS(f)                                                                                  \
    static int do_##f(void *buf, int n, MPI_Status *s)                                             \
    {                                                                                              \
        return f(fh, buf, n, type, s);                                                             \
    }
#define AT_REQUEST(f)                                                                              \
    static int do_##f(void *buf, int n, MPI_Status *s)                                             \
    {                                                                                              \
        MPI_Request r;                                                                             \
        int rc = f(fh, place, buf, n, type, &r);                                                   \
                                                                                                   \
        return rc == MPI_SUCCESS ? MPI_Wait(&r, s) : rc;                                           \
    }
#define REQUEST(f)                                                                                 \
    static int do_##f(void *buf, int n, MPI_Status *s)                                             \
    {                                                                                              \
        MPI_Request r;                                                                             \
        int rc = f(fh, buf, n, type, &r);                                                          \
                                                                                                   \
        return rc == MPI_SUCCESS ? MPI_Wait(&r, s) : rc;                                           \
    }
#define BEGIN(f)                                                                                   \
    static int do_##f##_begin(void *buf, int n, MPI_Status *s)                                     \
    {                                                                                              \
        int rc = f##_begin(fh, buf, n, type);                                                      \
                                                                                                   \
        return rc == MPI_SUCCESS ? f##_end(fh, buf, s) : rc;                                       \
    }

AT_STATUS(MPI_File_read_at)
AT_STATUS(MPI_File_write_at)
AT_STATUS(MPI_File_read_at_all)
AT_STATUS(MPI_File_write_at_all)
AT_REQUEST(MPI_File_iread_at)
AT_REQUEST(MPI_File_iwrite_at)
AT_REQUEST(MPI_File_iread_at_all)
AT_REQUEST(MPI_File_iwrite_at_all)
STATUS(MPI_File_read)
STATUS(MPI_File_write)
STATUS(MPI_File_read_all)
STATUS(MPI_File_write_all)
REQUEST(MPI_File_iread)
REQUEST(MPI_File_iwrite)
REQUEST(MPI_File_iread_all)
REQUEST(MPI_File_iwrite_all)
BEGIN(MPI_File_read_all)
BEGIN(MPI_File_write_all)
STATUS(MPI_File_read_shared)
STATUS(MPI_File_write_shared)
REQUEST(MPI_File_iread_shared)
REQUEST(MPI_File_iwrite_shared)
STATUS(MPI_File_read_ordered)
STATUS(MPI_File_write_ordered)
BEGIN(MPI_File_read_ordered)
BEGIN(MPI_File_write_ordered)

static int do_read_at_all_begin(void *buf, int n, MPI_Status *s)
{
    int rc = MPI_File_read_at_all_begin(fh, place, buf, n, type);

    return rc == MPI_SUCCESS ? MPI_File_read_at_all_end(fh, buf, s) : rc;
}

static int do_write_at_all_begin(void *buf, int n, MPI_Status *s)
{
    int rc = MPI_File_write_at_all_begin(fh, place, buf, n, type);

    return rc == MPI_SUCCESS ? MPI_File_write_at_all_end(fh, buf, s) : rc;
}

enum pointer { OWN, SHARED, ORDERED };

static const struct way {
    const char *name;
    int (*write)(void *buf, int n, MPI_Status *s);
    int (*read)(void *buf, int n, MPI_Status *s);
    enum pointer pointer;
} ways[] = {
    {"at", do_MPI_File_write_at, do_MPI_File_read_at, OWN},
    {"at_all", do_MPI_File_write_at_all, do_MPI_File_read_at_all, OWN},
    {"i_at", do_MPI_File_iwrite_at, do_MPI_File_iread_at, OWN},
    {"i_at_all", do_MPI_File_iwrite_at_all, do_MPI_File_iread_at_all, OWN},
    {"at_all_begin", do_write_at_all_begin, do_read_at_all_begin, OWN},
    {"plain", do_MPI_File_write, do_MPI_File_read, OWN},
    {"all", do_MPI_File_write_all, do_MPI_File_read_all, OWN},
    {"i", do_MPI_File_iwrite, do_MPI_File_iread, OWN},
    {"i_all", do_MPI_File_iwrite_all, do_MPI_File_iread_all, OWN},
    {"all_begin", do_MPI_File_write_all_begin, do_MPI_File_read_all_begin, OWN},
    {"shared", do_MPI_File_write_shared, do_MPI_File_read_shared, SHARED},
    {"i_shared", do_MPI_File_iwrite_shared, do_MPI_File_iread_shared, SHARED},
    {"ordered", do_MPI_File_write_ordered, do_MPI_File_read_ordered, ORDERED},
    {"ordered_begin", do_MPI_File_write_ordered_begin, do_MPI_File_read_ordered_begin, ORDERED},
};

/* ---- data ---- */

static char data[N * 4 * sizeof(long)], back[sizeof data]; /* of the largest extent */

/* Fills in what `rank` writes, n elements. */
static void draw(const struct signature *s, int rank, int n, int seed)
{
    memset(data, 0, sizeof data);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < s->n; k++) {
            char *at = data + (size_t)i * s->extent + s->items[k].at;
            int v = 1 + rank + t_size * (k + s->n * i) + 1000 * seed;
            long l = -v;
            double d = v;

            if (s->items[k].kind == INT && external)
                memcpy(at, &l, sizeof l);
            else if (s->items[k].kind == INT)
                memcpy(at, &v, sizeof v);
            else if (s->items[k].kind == DOUBLE)
                memcpy(at, &d, sizeof d);
            else
                *at = (char)v;
        }
}

static size_t encode_element(const struct signature *s, int i, char *to)
{
    char *at = to;

    for (int k = 0; k < s->n; k++) {
        encode(s->items[k].kind, data + (size_t)i * s->extent + s->items[k].at, at);
        at += in_file(s->items[k].kind);
    }
    return (size_t)(at - to);
}

/* Compares the file with what all ranks wrote: rank r's element i in place i * t_size + r, or all
 * of a rank's after those of the ranks before it. */
static void compare_file(const char *path, const struct signature *s, int n, bool dealt, int seed,
                         const char *what)
{
    size_t one = element_in_file(s), all = one * (size_t)(n * t_size);
    char *got = calloc(1, all), *want = calloc(1, all);
    int fd = open(path, O_RDONLY);

    CHECK(fd >= 0);
    CHECK(pread(fd, got, all, 0) == (ssize_t)all);
    CHECK(lseek(fd, 0, SEEK_END) == (off_t)all);
    close(fd);
    for (int r = 0; r < t_size; r++) {
        draw(s, r, n, seed);
        for (int i = 0; i < n; i++)
            encode_element(s, i, want + one * (size_t)(dealt ? i * t_size + r : r * n + i));
    }
    if (memcmp(got, want, all) != 0) {
        CHECK(!"the file is what was written");
        fprintf(stderr, "by %s\n", what);
    }
    free(got);
    free(want);
}

static void open_file(const char *name)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank == 0)
        MPI_File_delete(name, MPI_INFO_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
}

static void settle(void)
{
    OK(MPI_File_sync(fh));
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A view in which each rank has every t_size-th element, or all. */
static void set_view(const struct signature *s, bool dealt)
{
    int size = t_size, one = 1;
    MPI_Datatype filetype = s->etype;

    if (dealt) {
        OK(MPI_Type_create_subarray(1, &size, &one, &t_rank, MPI_ORDER_C, s->etype, &filetype));
        OK(MPI_Type_commit(&filetype));
    }
    OK(MPI_File_set_view(fh, 0, s->etype, filetype, external ? "external32" : "t_datarep",
                         MPI_INFO_NULL));
    if (dealt)
        OK(MPI_Type_free(&filetype));
}

static void count_is(const MPI_Status *status, int n)
{
    int got = -1;

    MPI_Get_count(status, type, &got);
    CHECK(got == n);
}

/* Ranks one after the other, where the order of accesses is theirs. */
static void turn(const struct way *w, int (*access)(void *, int, MPI_Status *), void *buf, int n)
{
    MPI_Status status;

    for (int r = 0; r < (w->pointer == SHARED ? t_size : 1); r++) {
        if (w->pointer != SHARED || r == t_rank) {
            OK(access(buf, n, &status));
            count_is(&status, n);
        }
        if (w->pointer == SHARED)
            MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void by_way(const char *name, const struct way *w, const struct signature *s, int seed)
{
    bool dealt = w->pointer == OWN;

    open_file(name);
    set_view(s, dealt);
    type = s->type;
    place = 0;
    draw(s, t_rank, N, seed);
    turn(w, w->write, data, N);
    settle();
    if (t_rank == 0)
        compare_file(t_path(name), s, N, dealt, seed, w->name);
    MPI_Barrier(MPI_COMM_WORLD);
    memset(back, 0, sizeof back);
    OK(MPI_File_seek(fh, 0, MPI_SEEK_SET));
    OK(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
    turn(w, w->read, back, N);
    draw(s, t_rank, N, seed);
    CHECK(memcmp(back, data,
                 s->extent * N - (s->extent - s->items[s->n - 1].at -
                                  in_memory(s->items[s->n - 1].kind))) == 0);
    OK(MPI_File_close(&fh));
}

/* ---- places and ends ---- */

/* Reads that meet the end of the file, in an element, too. */
static void at_the_end(const char *name)
{
    const struct signature *s = &signatures[1];
    size_t one = element_in_file(s);
    MPI_Status status;
    MPI_Offset end;
    int n;

    open_file(name);
    set_view(s, false);
    type = s->type;
    draw(s, 0, N, 3);
    if (t_rank == 0)
        OK(MPI_File_write_at(fh, 0, data, N, s->type, MPI_STATUS_IGNORE));
    settle();
    memset(back, 0, sizeof back);
    OK(MPI_File_read_at_all(fh, N - 10, back, N, s->type, &status));
    count_is(&status, 10);
    CHECK(memcmp(back, data + (N - 10) * s->extent, 10 * s->extent) == 0);
    OK(MPI_File_seek(fh, 0, MPI_SEEK_END));
    OK(MPI_File_get_position(fh, &end));
    CHECK(end == N);
    OK(MPI_File_get_byte_offset(fh, 7, &end));
    CHECK(end == (MPI_Offset)(7 * one));
    settle();
    OK(MPI_File_set_size(fh, (MPI_Offset)(one * N - 9))); /* int and two chars */
    memset(back, 0, sizeof back);
    OK(MPI_File_read_at(fh, N - 1, back, 1, s->type, &status));
    MPI_Get_elements(&status, s->type, &n);
    CHECK(n == 3);
    CHECK(memcmp(back, data + (N - 1) * s->extent, offsetof(struct record, c) + 2) == 0);
    CHECK(back[offsetof(struct record, c) + 2] == 0);
    OK(MPI_File_close(&fh));
}

static void view_as_set(const char *name)
{
    char got[MPI_MAX_DATAREP_STRING] = "";
    MPI_Datatype etype, filetype, parts[] = {MPI_INT, MPI_CHAR}, padded;
    MPI_Aint extent = -1, lb, places[] = {0, 8}, in_memory_extent = -1;
    int lengths[] = {1, 1};
    MPI_Offset disp;
    int size;

    open_file(name);
    set_view(&signatures[1], true);
    OK(MPI_File_get_view(fh, &disp, &etype, &filetype, got));
    CHECK(!strcmp(got, "t_datarep"));
    MPI_Type_size(etype, &size);
    CHECK(size == 15);
    OK(MPI_Type_get_extent(filetype, &lb, &extent));
    CHECK(extent == 24 * t_size); /* in memory */
    OK(MPI_Type_free(&etype));
    OK(MPI_Type_free(&filetype));
    OK(MPI_File_get_type_extent(fh, MPI_INT, &extent));
    CHECK(extent == 8);
    OK(MPI_File_get_type_extent(fh, MPI_DOUBLE_INT, &extent));
    CHECK(extent == 16);
    OK(MPI_File_get_type_extent(fh, signatures[2].type, &extent));
    CHECK(extent == 32);
    OK(MPI_Type_create_struct(2, lengths, places, parts, &padded));
    OK(MPI_Type_get_extent(padded, &lb, &in_memory_extent));
    OK(MPI_File_get_type_extent(fh, padded, &extent));
    CHECK(in_memory_extent == 12 && extent == 9); /* without alignment */
    OK(MPI_Type_free(&padded));
    OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    OK(MPI_File_get_view(fh, &disp, &etype, &filetype, got));
    CHECK(!strcmp(got, "native") && etype == MPI_INT);
    OK(MPI_File_get_type_extent(fh, MPI_INT, &extent));
    CHECK(extent == sizeof(int));
    OK(MPI_File_close(&fh));
}

/* ---- what is refused ---- */

/* One rank's function fails: that rank is told, and the others are not kept waiting. */
static void one_fails(const char *name)
{
    const struct signature *s = &signatures[0];
    int rc;

    open_file(name);
    set_view(s, false);
    type = s->type;
    draw(s, t_rank, N, 4);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        place = t_rank * N;
        OK(MPI_File_seek(fh, place, MPI_SEEK_SET));
        for (int read = 0; read < 2; read++) {
            fails = 0;
            OK(MPI_File_write_at_all(fh, place, data, N, s->type, MPI_STATUS_IGNORE));
            settle();
            OK(MPI_File_seek(fh, place, MPI_SEEK_SET));
            OK(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
            fails = t_rank == 0;
            rc = (read ? ways[i].read : ways[i].write)(read ? back : data, N, MPI_STATUS_IGNORE);
            CHECK(fails ? t_class(rc) == MPI_ERR_CONVERSION : rc == MPI_SUCCESS);
            MPI_Barrier(MPI_COMM_WORLD);
            if (ways[i].pointer == ORDERED) { /* and the others' places are what they were */
                fails = 0;
                settle();
                OK(MPI_File_read_at(fh, place, back, N, s->type, MPI_STATUS_IGNORE));
                CHECK(memcmp(back, data, N * sizeof(int)) == 0);
            }
        }
    }
    fails = 0;
    OK(MPI_File_close(&fh));
}

static void refused(const char *name)
{
    const char *mine = t_rank == t_size - 1 && t_size > 1 ? "t_datarep" : "native";
    MPI_Datatype every_second;
    MPI_Request request;
    MPI_Status status;
    int v = 1, n = 0, rc;

    CHECK(t_class(MPI_Register_datarep("t_datarep", from_file, to_file, extent_of, NULL)) ==
          MPI_ERR_DUP_DATAREP);
    CHECK(t_class(MPI_Register_datarep("external32", from_file, to_file, extent_of, NULL)) ==
          MPI_ERR_DUP_DATAREP);
    CHECK(t_class(MPI_Register_datarep("INTERNAL", from_file, to_file, extent_of, NULL)) ==
          MPI_ERR_DUP_DATAREP);
    CHECK(t_class(MPI_Register_datarep("", from_file, to_file, extent_of, NULL)) == MPI_ERR_ARG);
    CHECK(t_class(MPI_Register_datarep("t_datarep: no extents", from_file, to_file, NULL, NULL)) ==
          MPI_ERR_ARG);
    OK(MPI_Register_datarep("t_datarep: read", from_file, MPI_CONVERSION_FN_NULL, extent_of,
                            &calls));
    open_file(name);
    OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "t_datarep: read", MPI_INFO_NULL));
    rc = MPI_File_write_at_all(fh, t_rank, &v, 1, MPI_INT, MPI_STATUS_IGNORE);
    CHECK(t_class(rc) == MPI_ERR_CONVERSION);
    OK(MPI_File_set_view(fh, 0, MPI_CHAR, MPI_CHAR, "t_datarep: read", MPI_INFO_NULL));
    OK(MPI_Type_vector(3, 1, 2, MPI_CHAR, &every_second)); /* sizes are those of memory */
    OK(MPI_Type_commit(&every_second));
    OK(MPI_File_write_at_all(fh, 3 * t_rank, "a-b-c", 1, every_second, &status));
    MPI_Get_elements(&status, every_second, &n);
    CHECK(n == 3);
    OK(MPI_Type_free(&every_second));
    OK(MPI_File_set_view(fh, 0, MPI_CHAR, MPI_CHAR, "native", MPI_INFO_NULL));
    OK(MPI_File_read_at(fh, 3 * t_rank, back, 3, MPI_CHAR, MPI_STATUS_IGNORE));
    CHECK(memcmp(back, "abc", 3) == 0);
    /* What ROMIO refuses keeps no rank waiting, nor does a null buffer. */
    OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "t_datarep", MPI_INFO_NULL));
    type = MPI_INT;
    rc = MPI_File_iread_all(fh, back, 1, t_rank == 0 ? MPI_DATATYPE_NULL : MPI_INT, &request);
    CHECK(t_rank == 0 ? t_class(rc) == MPI_ERR_TYPE : rc == MPI_SUCCESS);
    if (rc == MPI_SUCCESS)
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(t_class(MPI_File_write_at_all(fh, 0, NULL, 1, MPI_INT, MPI_STATUS_IGNORE)) ==
          MPI_ERR_BUFFER);
    rc = MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, mine, MPI_INFO_NULL);
    CHECK(t_size > 1 ? rc != MPI_SUCCESS : rc == MPI_SUCCESS);
    OK(MPI_File_close(&fh));
}

static void free_types(void)
{
    for (int i = 1; i < 3; i++) {
        OK(MPI_Type_free(&signatures[i].type));
        OK(MPI_Type_free(&signatures[i].etype));
    }
}

static void by_all_ways(const char *name)
{
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        for (int k = 0; k < 3; k++)
            by_way(name, &ways[i], &signatures[k], (int)i + 1);
    at_the_end(name);
}

int main(int argc, char **argv)
{
    const char *name = t_begin(argc, argv, MPI_THREAD_SINGLE);

    make_types();
    OK(MPI_Register_datarep("t_datarep", from_file, to_file, extent_of, &calls));
    by_all_ways(name);
    CHECK(calls >= 2 * 3 * (int)(sizeof ways / sizeof ways[0]) && calls < CALLS_MOST);
    view_as_set(name);
    one_fails(name);
    refused(name);
    free_types();
    external = true;
    make_types();
    by_all_ways(name);
    free_types();
    return t_end("t_datarep");
}
