/*
 * The data representation external32: every item's bytes, types with gaps and lower bounds, what is
 * at the end of the file, and values that do not fit.
 *
 *     t_external32 FILE
 *
 * What is expected is in tables made by hand from MPI-4.1, 14.5.2 and IEEE 754, or made by the
 * compiler's own conversions.
 */
#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <wchar.h>

#include "t_file.h"

enum { N = 2000 }; /* records of more than a chunk of a conversion (zcache_external32.c) */

static MPI_File fh;

static void open_file(const char *name)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank == 0)
        MPI_File_delete(name, MPI_INFO_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
}

static void set_view(MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype)
{
    OK(MPI_File_set_view(fh, disp, etype, filetype, "external32", MPI_INFO_NULL));
}

static void settle(void)
{
    OK(MPI_File_sync(fh));
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Compares bytes of the file, from `at` on. */
static bool has(const char *path, MPI_Offset at, const void *want, size_t len)
{
    unsigned char got[4096];
    int fd = open(path, O_RDONLY);
    bool same;

    CHECK(fd >= 0);
    same = pread(fd, got, len, at) == (ssize_t)len && memcmp(got, want, len) == 0;
    close(fd);
    if (!same) {
        fprintf(stderr, "rank %d: at %lld:", t_rank, (long long)at);
        for (size_t i = 0; i < len && i < 32; i++)
            fprintf(stderr, " %02x/%02x", got[i], ((const unsigned char *)want)[i]);
        fprintf(stderr, " (got/wanted)\n");
    }
    return same;
}

/* ---- items ---- */

/* Compares an element with what was written: of a long double without what is not part of it. */
static bool same(MPI_Datatype type, const void *got, const void *want, size_t size)
{
    if (type == MPI_LONG_DOUBLE)
        return memcmp(got, want, LDBL_MANT_DIG == 64 ? 10 : size) == 0;
    return memcmp(got, want, size) == 0;
}

/* Writes an element, compares the file, and reads it back. */
static void one(const char *path, MPI_Datatype type, const void *value, size_t size,
                const void *in_file, size_t len, MPI_Aint extent)
{
    char back[64];
    MPI_Aint told = -1;
    MPI_Offset mine = extent * t_rank;
    MPI_Status status;
    int n = -1;

    CHECK(size <= sizeof back);
    if (type == MPI_DATATYPE_NULL) /* of Fortran, where there is none */
        return;
    open_file(path);
    set_view(0, type, type);
    OK(MPI_File_get_type_extent(fh, type, &told));
    CHECK(told == extent);
    OK(MPI_File_write_at(fh, t_rank, value, 1, type, &status));
    MPI_Get_count(&status, type, &n);
    CHECK(n == 1);
    settle();
    CHECK(has(t_path(path), mine, in_file, len));
    memset(back, 0, sizeof back);
    OK(MPI_File_read_at(fh, t_rank, back, 1, type, &status));
    CHECK(same(type, back, value, size));
    OK(MPI_File_close(&fh));
}

#define ONE(path, mpi_type, c_type, value, ...)                                                    \
    do {                                                                                           \
        const unsigned char in_file_[] = {__VA_ARGS__};                                            \
        c_type value_;                                                                             \
                                                                                                   \
        memset(&value_, 0, sizeof value_);                                                         \
        value_ = (value);                                                                          \
        one(path, mpi_type, &value_, sizeof value_, in_file_, sizeof in_file_, sizeof in_file_);   \
    } while (0)

static void items(const char *path)
{
    ONE(path, MPI_CHAR, char, 'z', 'z');
    ONE(path, MPI_BYTE, unsigned char, 0x81, 0x81);
    ONE(path, MPI_C_BOOL, bool, true, 1);
    ONE(path, MPI_WCHAR, wchar_t, 0x263a, 0x26, 0x3a);
    ONE(path, MPI_SHORT, short, -2, 0xff, 0xfe);
    ONE(path, MPI_INT, int, 0x01020304, 1, 2, 3, 4);
    ONE(path, MPI_LONG, long, -5, 0xff, 0xff, 0xff, 0xfb);
    ONE(path, MPI_UNSIGNED_LONG, unsigned long, 0xfffefdfc, 0xff, 0xfe, 0xfd, 0xfc);
    ONE(path, MPI_LONG_LONG, long long, 0x0102030405060708, 1, 2, 3, 4, 5, 6, 7, 8);
    ONE(path, MPI_INT64_T, int64_t, -2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe);
    ONE(path, MPI_AINT, MPI_Aint, 7, 0, 0, 0, 0, 0, 0, 0, 7);
    ONE(path, MPI_OFFSET, MPI_Offset, 7, 0, 0, 0, 0, 0, 0, 0, 7);
    ONE(path, MPI_FLOAT, float, -1.5f, 0xbf, 0xc0, 0, 0);
    ONE(path, MPI_DOUBLE, double, 1, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0);
    ONE(path, MPI_LONG_DOUBLE, long double, -1.5L, 0xbf, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0);
    ONE(path, MPI_C_FLOAT_COMPLEX, float complex, 1 - 1.5f * I, 0x3f, 0x80, 0, 0, 0xbf, 0xc0, 0, 0);
    ONE(path, MPI_C_DOUBLE_COMPLEX, double complex, 1 - 1.5 * I, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0, 0xbf,
        0xf8, 0, 0, 0, 0, 0, 0);
    ONE(path, MPI_DOUBLE_COMPLEX, double complex, 1 - 1.5 * I, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0, 0xbf,
        0xf8, 0, 0, 0, 0, 0, 0);
    ONE(path, MPI_DOUBLE_PRECISION, double, 1, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0);
    ONE(path, MPI_LOGICAL, int, 1, 0, 0, 0, 1);
    ONE(path, MPI_COUNT, MPI_Count, 7, 0, 0, 0, 0, 0, 0, 0, 7);
    ONE(path, MPI_COMPLEX, float complex, 1 - 1.5f * I, 0x3f, 0x80, 0, 0, 0xbf, 0xc0, 0, 0);
}

/* Pairs are two items, and what Fortran asks for by precision is a number of that size. */
static void pairs(const char *path)
{
    struct long_int {
        long l;
        int i;
    };
    struct double_int {
        double d;
        int i;
    };
    struct two_int {
        int i, k;
    };
    MPI_Datatype type;

    ONE(path, MPI_LONG_INT, struct long_int, ((struct long_int){-2, 5}), 0xff, 0xff, 0xff, 0xfe, 0,
        0, 0, 5);
    ONE(path, MPI_2INT, struct two_int, ((struct two_int){1, 2}), 0, 0, 0, 1, 0, 0, 0, 2);
    /* With the gap that it has in memory. */
    one(path, MPI_DOUBLE_INT, &(struct double_int){1, 5}, 12, "\x3f\xf0\0\0\0\0\0\0\0\0\0\5", 12,
        16);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)); /* no Fortran */
    if (MPI_Type_create_f90_real(15, 300, &type) == MPI_SUCCESS)
        ONE(path, type, double, 1, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0);
    if (MPI_Type_create_f90_complex(15, 300, &type) == MPI_SUCCESS)
        ONE(path, type, double complex, 1 - 1.5 * I, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0, 0xbf, 0xf8, 0, 0,
            0, 0, 0, 0);
    if (MPI_Type_create_f90_integer(9, &type) == MPI_SUCCESS)
        ONE(path, type, int, 5, 0, 0, 0, 5);
}

#if LDBL_MANT_DIG == 64 && defined __SIZEOF_FLOAT128__
/* Long doubles in the file are what the compiler makes of them as __float128, and back. */
static void long_doubles(const char *path)
{
    const long double values[] = {
        0,        -0.0L,     1,        LDBL_MAX,     LDBL_MIN, LDBL_EPSILON, LDBL_TRUE_MIN,
        INFINITY, -INFINITY, 1.0L / 3, LDBL_MIN / 3, -1e300L,  NAN};
    enum { VALUES = sizeof values / sizeof values[0] };
    const __float128 third = (__float128)1 / 3,
                     more[] = {third, -third, third * (__float128)LDBL_MIN,
                               third * (__float128)LDBL_TRUE_MIN,
                               (__float128)LDBL_MAX * 2 -
                                   (__float128)LDBL_MAX * (__float128)LDBL_EPSILON / 4};
    enum { MORE = sizeof more / sizeof more[0] };
    unsigned char raw[VALUES + MORE][16];
    long double back[VALUES + MORE];

    memset(back, 0, sizeof back);
    open_file(path);
    set_view((MPI_Offset)sizeof raw * t_rank, MPI_LONG_DOUBLE, MPI_LONG_DOUBLE);
    OK(MPI_File_write_at(fh, 0, values, VALUES, MPI_LONG_DOUBLE, MPI_STATUS_IGNORE));
    settle();
    for (int i = 0; i < VALUES + MORE; i++) {
        __float128 v = i < VALUES ? (__float128)values[i] : more[i - VALUES];
        unsigned char b[16];

        memcpy(b, &v, sizeof b);
        for (int k = 0; k < 16; k++)
            raw[i][k] = b[15 - k];
    }
    CHECK(has(t_path(path), (MPI_Offset)sizeof raw * t_rank, raw, VALUES * 16));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    OK(MPI_File_write_at(fh, (MPI_Offset)sizeof raw * t_rank, raw, sizeof raw, MPI_BYTE,
                         MPI_STATUS_IGNORE));
    set_view((MPI_Offset)sizeof raw * t_rank, MPI_LONG_DOUBLE, MPI_LONG_DOUBLE);
    OK(MPI_File_read_at(fh, 0, back, VALUES + MORE, MPI_LONG_DOUBLE, MPI_STATUS_IGNORE));
    for (int i = 0; i < VALUES + MORE; i++) {
        long double want = i < VALUES ? values[i] : (long double)more[i - VALUES];

        if (isnan(want) ? !isnan(back[i]) : memcmp(&back[i], &want, 10) != 0) {
            fprintf(stderr, "long double %d: %Lg, wanted %Lg\n", i, back[i], want);
            CHECK(!"long doubles are rounded to the nearest");
        }
    }
    OK(MPI_File_close(&fh));
}
#else
static void long_doubles(const char *path)
{
    (void)path;
}
#endif

/* ---- types ---- */

struct record {
    int i;
    double d;
    long l;
    char c[3];
};

static MPI_Datatype record_type(bool with_long)
{
    int lengths[] = {1, 1, with_long ? 1 : 0, 3};
    MPI_Aint places[] = {offsetof(struct record, i), offsetof(struct record, d),
                         offsetof(struct record, l), offsetof(struct record, c)};
    MPI_Datatype parts[] = {MPI_INT, MPI_DOUBLE, MPI_LONG, MPI_CHAR}, t, resized;

    OK(MPI_Type_create_struct(4, lengths, places, parts, &t));
    OK(MPI_Type_create_resized(t, 0, sizeof(struct record), &resized));
    OK(MPI_Type_free(&t));
    OK(MPI_Type_commit(&resized));
    return resized;
}

static void fill(struct record *r, int n, int seed)
{
    memset(r, 0, (size_t)n * sizeof *r);
    for (int i = 0; i < n; i++)
        r[i] = (struct record){seed + i, seed + i + 0.5, -i, {(char)i, (char)seed, 3}};
}

static size_t put(unsigned char *to, const void *value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        to[i] = ((const unsigned char *)value)[size - 1 - i];
    return size;
}

static size_t encode(const struct record *r, bool with_long, unsigned char *to)
{
    int32_t l = (int32_t)r->l;
    size_t n = put(to, &r->i, sizeof r->i);

    n += put(to + n, &r->d, sizeof r->d);
    if (with_long)
        n += put(to + n, &l, sizeof l);
    memcpy(to + n, r->c, 3);
    return n + 3;
}

/* Ends it after so many bytes by a marker of MPI-1, where there still are such. */
static void add_marker(MPI_Datatype *type, MPI_Aint bytes)
{
#if defined MPICH_VERSION && defined MPI_UB
    int lengths[] = {1, 1};
    MPI_Aint places[] = {0, bytes};
    MPI_Datatype parts[] = {*type, MPI_UB}, t;

    OK(MPI_Type_create_struct(2, lengths, places, parts, &t));
    OK(MPI_Type_commit(&t));
    OK(MPI_Type_free(type));
    *type = t;
#else
    (void)type;
    (void)bytes;
#endif
}

/* Records in memory, bytes in the file; then what is whole of a record at the end of the file. */
static void records(const char *path, bool with_long)
{
    MPI_Datatype type = record_type(with_long);
    struct record out[N], back[N];
    unsigned char want[N * 19];
    size_t one_len = with_long ? 19 : 15;
    MPI_Offset mine = (MPI_Offset)(one_len * N) * t_rank;
    MPI_Status status;
    MPI_Count got = -1;
    int n = -1;

    fill(out, N, 100 * t_rank);
    for (int i = 0; i < N; i++)
        CHECK(encode(&out[i], with_long, want + (size_t)i * one_len) == one_len);
    open_file(path);
    set_view(0, MPI_BYTE, MPI_BYTE);
    OK(MPI_File_write_at_all(fh, mine, out, N, type, &status));
    MPI_Get_count(&status, type, &n);
    CHECK(n == N);
    settle();
    for (int i = 0; i < N; i++)
        CHECK(
            has(t_path(path), mine + (MPI_Offset)one_len * i, want + (size_t)i * one_len, one_len));
    fill(back, N, -1);
    OK(MPI_File_read_at_all(fh, mine, back, N, type, &status));
    for (int i = 0; i < N; i++)
        CHECK(back[i].i == out[i].i && back[i].d == out[i].d &&
              back[i].l == (with_long ? out[i].l : -(long)i) &&
              memcmp(back[i].c, out[i].c, 3) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    /* The file ends a byte, which is a character, before the last rank's last record does. */
    OK(MPI_File_set_size(fh, (MPI_Offset)(one_len * N) * t_size - 1));
    fill(back, N, -1);
    OK(MPI_File_read_at(fh,
                        (MPI_Offset)(one_len * (N - 2)) + (MPI_Offset)(one_len * N) * (t_size - 1),
                        back, 5, type, &status));
    OK(MPI_Get_elements_x(&status, type, &got));
    CHECK(got == (with_long ? 11 : 9));
    CHECK(back[1].i == 100 * (t_size - 1) + N - 1 && back[1].c[1] == (char)(100 * (t_size - 1)) &&
          back[1].c[2] == 3 && back[2].i == 1);
    OK(MPI_File_close(&fh));
    OK(MPI_Type_free(&type));
}

/* Memory that begins after its address, goes backwards, and has gaps. */
static void memory(const char *path)
{
    enum { BLOCKS = 2000 };
    int lengths[BLOCKS], places[BLOCKS], out[BLOCKS * 8], back[BLOCKS * 8], n = 0;
    unsigned char want[4];
    MPI_Datatype type;
    MPI_Offset mine;

    for (int i = 0; i < BLOCKS; i++) {
        lengths[i] = 1 + i % 4; /* no whole number of them is a chunk */
        places[i] = 5 + 7 * (BLOCKS - 1 - i);
        n += lengths[i];
    }
    OK(MPI_Type_indexed(BLOCKS, lengths, places, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    add_marker(&type, sizeof out);
    for (int i = 0; i < BLOCKS * 8; i++)
        out[i] = 1000 * t_rank + i;
    mine = (MPI_Offset)n * t_rank;
    open_file(path);
    set_view(0, MPI_INT, MPI_INT);
    OK(MPI_File_write_at_all(fh, mine, out, 1, type, MPI_STATUS_IGNORE));
    settle();
    for (int i = 0, at = 0; i < BLOCKS; i++)
        for (int k = 0; k < lengths[i]; k++, at++) {
            put(want, &out[places[i] + k], sizeof want);
            CHECK(has(t_path(path), 4 * (mine + at), want, sizeof want));
        }
    memset(back, 0, sizeof back);
    OK(MPI_File_read_at_all(fh, mine, back, 1, type, MPI_STATUS_IGNORE));
    for (int i = 0; i < BLOCKS; i++)
        for (int k = 0; k < lengths[i]; k++) {
            CHECK(back[places[i] + k] == out[places[i] + k]);
            back[places[i] + k] = 0;
        }
    for (int i = 0; i < BLOCKS * 8; i++)
        CHECK(back[i] == 0);
    OK(MPI_File_close(&fh));
    OK(MPI_Type_free(&type));
}

/* An array in memory whose dimensions are in the opposite order: rows of values that are far apart,
 * the end of a chunk within one. */
static void transposed(const char *path)
{
    enum { X = 61, Y = 11, Z = 7, ALL = X * Y * Z };
    int out[ALL], back[ALL];
    unsigned char want[4];
    MPI_Datatype row, plane, type;
    MPI_Offset mine = (MPI_Offset)ALL * t_rank;

    OK(MPI_Type_create_hvector(Z, 1, (MPI_Aint)sizeof(int) * Y * X, MPI_INT, &row));
    OK(MPI_Type_create_hvector(Y, 1, (MPI_Aint)sizeof(int) * X, row, &plane));
    OK(MPI_Type_create_hvector(X, 1, sizeof(int), plane, &type));
    OK(MPI_Type_commit(&type));
    for (int i = 0; i < ALL; i++)
        out[i] = 1000 * t_rank + i;
    open_file(path);
    set_view(0, MPI_INT, MPI_INT);
    OK(MPI_File_write_at_all(fh, mine, out, 1, type, MPI_STATUS_IGNORE));
    settle();
    for (int i = 0; i < ALL; i++) {
        int x = i / (Y * Z), y = i / Z % Y, z = i % Z;

        put(want, &out[(z * Y + y) * X + x], sizeof want);
        CHECK(has(t_path(path), 4 * (mine + i), want, sizeof want));
    }
    memset(back, 0, sizeof back);
    OK(MPI_File_read_at_all(fh, mine, back, 1, type, MPI_STATUS_IGNORE));
    CHECK(memcmp(back, out, sizeof back) == 0);
    OK(MPI_File_close(&fh));
    OK(MPI_Type_free(&row));
    OK(MPI_Type_free(&plane));
    OK(MPI_Type_free(&type));
}

/* ---- views ---- */

/* A struct whose items keep their sizes has the same gaps in the file as in memory, as with ROMIO.
 */
static void gaps(const char *path)
{
    struct pair {
        double d;
        int i;
    } out[2] = {{1.5, t_rank}, {2.5, -t_rank}};
    int lengths[] = {1, 1};
    MPI_Aint places[] = {0, 8}, extent = -1;
    MPI_Datatype parts[] = {MPI_DOUBLE, MPI_INT}, etype;
    MPI_Offset mine = (MPI_Offset)sizeof out * t_rank;
    unsigned char want[12];

    OK(MPI_Type_create_struct(2, lengths, places, parts, &etype));
    OK(MPI_Type_commit(&etype));
    open_file(path);
    set_view(0, etype, etype);
    OK(MPI_File_get_type_extent(fh, etype, &extent));
    CHECK(extent == sizeof out[0]);
    OK(MPI_File_write_at(fh, 2 * t_rank, out, 2, etype, MPI_STATUS_IGNORE));
    settle();
    for (int k = 0; k < 2; k++) {
        put(want, &out[k].d, 8);
        put(want + 8, &out[k].i, 4);
        CHECK(has(t_path(path), mine + 16 * k, want, sizeof want));
    }
    OK(MPI_File_close(&fh));
    OK(MPI_Type_free(&etype));
}

/* Longs are next to each other, and other displacements in bytes stay. */
static void views(const char *path)
{
    int i = 7 + t_rank;
    MPI_Aint extent = -1;
    MPI_Datatype filetype;
    long l[2] = {3 + t_rank, -4 - t_rank}, back[2];
    unsigned char want[8];

    open_file(path);
    OK(MPI_Type_create_resized(MPI_INT, 0, 4 * (t_size + 1), &filetype));
    OK(MPI_Type_commit(&filetype));
    set_view(4 * t_rank, MPI_INT, filetype);
    for (int k = 0; k < 3; k++)
        OK(MPI_File_write(fh, &i, 1, MPI_INT, MPI_STATUS_IGNORE));
    settle();
    put(want, &i, 4);
    for (int k = 0; k < 3; k++)
        CHECK(has(t_path(path), 4 * t_rank + 4 * (t_size + 1) * k, want, 4));
    OK(MPI_Type_free(&filetype));
    OK(MPI_File_close(&fh));

    open_file(path);
    OK(MPI_Type_vector(2, 1, t_size, MPI_LONG, &filetype));
    OK(MPI_Type_commit(&filetype));
    set_view(4 * t_rank, MPI_LONG, filetype);
    OK(MPI_File_get_type_extent(fh, filetype, &extent));
    CHECK(extent == 4 * (t_size + 1));
    OK(MPI_File_write_all(fh, l, 2, MPI_LONG, MPI_STATUS_IGNORE));
    settle();
    for (int k = 0; k < 2; k++) {
        int32_t v = (int32_t)l[k];

        put(want, &v, 4);
        CHECK(has(t_path(path), 4 * (t_rank + t_size * k), want, 4));
    }
    OK(MPI_File_read_at_all(fh, 0, back, 2, MPI_LONG, MPI_STATUS_IGNORE));
    CHECK(back[0] == l[0] && back[1] == l[1]);
    OK(MPI_Type_free(&filetype));
    OK(MPI_File_close(&fh));
}

/* ---- what does not fit ---- */

/* Writes two, of which the second does not fit, on rank 0; nothing of that is in the file. */
static void refused(const char *path, MPI_Datatype type, const void *values, const char *name,
                    int in_file)
{
    char text[MPI_MAX_ERROR_STRING], zeros[16] = {0};
    int n, rc;

    open_file(path);
    set_view(0, type, type);
    rc =
        MPI_File_write_at_all(fh, 2 * t_rank, values, t_rank == 0 ? 2 : 1, type, MPI_STATUS_IGNORE);
    if (t_rank == 0) {
        CHECK(t_class(rc) == MPI_ERR_CONVERSION);
        MPI_Error_string(rc, text, &n);
        CHECK(strstr(text, name) != NULL);
    } else {
        OK(rc);
    }
    settle();
    if (t_size > 1)
        CHECK(has(t_path(path), 0, zeros, 2 * (size_t)in_file));
    OK(MPI_File_close(&fh));
}

static void errors(const char *path)
{
    const long large[] = {1, 1L << 40}, low[] = {1, -(1L << 31) - 1};
    const unsigned long unsigned_large[] = {1, 1UL << 32};
    const wchar_t wide[] = {L'a', 0x1f600};

    refused(path, MPI_LONG, large, "MPI_LONG", 4);
    refused(path, MPI_LONG, low, "MPI_INT64_T", 4);
    refused(path, MPI_UNSIGNED_LONG, unsigned_large, "MPI_UNSIGNED_LONG", 4);
    refused(path, MPI_WCHAR, wide, "MPI_WCHAR", 2);
}

/* Sets "EXTERNAL32" on rank 0 alone: ROMIO takes that for the same. */
static void capitals(const char *path)
{
    char got[MPI_MAX_DATAREP_STRING] = "";
    MPI_Datatype etype, filetype;
    MPI_Offset disp;

    open_file(path);
    OK(MPI_File_set_view(fh, 0, MPI_LONG, MPI_LONG, t_rank == 0 ? "EXTERNAL32" : "external32",
                         MPI_INFO_NULL));
    OK(MPI_File_get_view(fh, &disp, &etype, &filetype, got));
    CHECK(etype == MPI_LONG && filetype == MPI_LONG && !strcmp(got, "external32"));
    OK(MPI_File_close(&fh));
}

int main(int argc, char **argv)
{
    const char *name = t_begin(argc, argv, MPI_THREAD_SINGLE);

    items(name);
    pairs(name);
    long_doubles(name);
    records(name, false);
    records(name, true);
    memory(name);
    transposed(name);
    gaps(name);
    views(name);
    errors(name);
    capitals(name);
    return t_end("t_external32");
}
