/*
 * The data representation external32 (MPI-4.1, 14.5.2): big-endian, IEEE floating point numbers,
 * and sizes of its own.
 *
 * ROMIO converts by way of a temporary buffer that has the datatype's extent, in three passes over
 * memory.  It overruns that where the lower bound is not 0, leaves gaps in the file where an item
 * gets shorter, and MPICH's own functions end the program at an MPI_WCHAR.  So the plugin converts
 * as it does for representations of programs: a buffer is packed a chunk at a time and converted
 * from there.
 *
 * Values that the file has no room for, longs of more than four bytes, are an error.  A type whose
 * items keep their sizes has the same gaps in the file as in memory, as in files of ROMIO.
 */
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <float.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "zc_log.h"
#include "zcache_datarep.h"
#include "zcache_layout.h"
#include "zcache_type_items.h"

/* ---- parts of items ---- */

/* Converts `n` parts, one after the other; the buffers do not overlap.  0, or a negative errno,
 * explained by zc_errorf(). */
typedef int part_fn(const void *from, void *to, MPI_Count n);

static int copy(const void *from, void *to, MPI_Count n)
{
    memcpy(to, from, (size_t)n);
    return 0;
}

#define SWAP(bits)                                                                                 \
    static int swap##bits(const void *from, void *to, MPI_Count n)                                 \
    {                                                                                              \
        const char *f = from;                                                                      \
        char *t = to;                                                                              \
                                                                                                   \
        for (MPI_Count i = 0; i < n; i++) {                                                        \
            uint##bits##_t v;                                                                      \
                                                                                                   \
            memcpy(&v, f + i * (MPI_Count)sizeof v, sizeof v);                                     \
            v = htobe##bits(v);                                                                    \
            memcpy(t + i * (MPI_Count)sizeof v, &v, sizeof v);                                     \
        }                                                                                          \
        return 0;                                                                                  \
    }                                                                                              \
    static int swap##bits(const void *from, void *to, MPI_Count n)

SWAP(16);
SWAP(32);
SWAP(64);

static int swap128(const void *from, void *to, MPI_Count n)
{
    const char *f = from;
    char *t = to;

    for (MPI_Count i = 0; i < n; i++) {
        uint64_t v[2], w[2];

        memcpy(v, f + 16 * i, sizeof v);
        w[0] = htobe64(v[__BYTE_ORDER == __LITTLE_ENDIAN]);
        w[1] = htobe64(v[__BYTE_ORDER != __LITTLE_ENDIAN]);
        memcpy(t + 16 * i, w, sizeof w);
    }
    return 0;
}

static int too_large(const char *type, int bytes)
{
    return zc_errorf(EILSEQ,
                     "external32 has %d bytes for an element of %s, and a value needs more; "
                     "MPI_INT64_T and MPI_UINT64_T have eight in every representation",
                     bytes, type);
}

/* Defines how integers of a type are fewer bytes in the file. */
#define NARROW(name, type, bits, file_type, mpi_type)                                              \
    static int write_##name(const void *from, void *to, MPI_Count n)                               \
    {                                                                                              \
        const char *f = from;                                                                      \
        char *t = to;                                                                              \
                                                                                                   \
        for (MPI_Count i = 0; i < n; i++) {                                                        \
            uint##bits##_t in_file;                                                                \
            type v;                                                                                \
                                                                                                   \
            memcpy(&v, f + i * (MPI_Count)sizeof v, sizeof v);                                     \
            if ((type)(file_type)v != v)                                                           \
                return too_large(mpi_type, (bits) / 8);                                            \
            in_file = htobe##bits((uint##bits##_t)v);                                              \
            memcpy(t + i * ((bits) / 8), &in_file, sizeof in_file);                                \
        }                                                                                          \
        return 0;                                                                                  \
    }                                                                                              \
    static int read_##name(const void *from, void *to, MPI_Count n)                                \
    {                                                                                              \
        const char *f = from;                                                                      \
        char *t = to;                                                                              \
                                                                                                   \
        for (MPI_Count i = 0; i < n; i++) {                                                        \
            uint##bits##_t in_file;                                                                \
            type v;                                                                                \
                                                                                                   \
            memcpy(&in_file, f + i * ((bits) / 8), sizeof in_file);                                \
            v = (type)(file_type)be##bits##toh(in_file);                                           \
            memcpy(t + i * (MPI_Count)sizeof v, &v, sizeof v);                                     \
        }                                                                                          \
        return 0;                                                                                  \
    }                                                                                              \
    static int read_##name(const void *from, void *to, MPI_Count n)

NARROW(long, long, 32, int32_t, "MPI_LONG");

NARROW(unsigned_long, unsigned long, 32, uint32_t, "MPI_UNSIGNED_LONG");

NARROW(wchar, wchar_t, 16, uint16_t, "MPI_WCHAR");

/* ---- long double: IEEE binary128 in the file ---- */

#if LDBL_MANT_DIG == 113
#define write_long_double swap128
#define read_long_double  swap128
#elif LDBL_MANT_DIG == 64
/* Of x87: a significand of 64 bits with its first one, then sign and exponent as in binary128. */
struct x87 {
    uint64_t significand;
    uint16_t sign_exponent;
};

enum { EXPONENT = 0x7fff };
static const uint64_t first_bit = UINT64_C(1) << 63;

static int write_long_double(const void *from, void *to, MPI_Count n)
{
    const char *f = from;
    char *t = to;

    for (MPI_Count i = 0; i < n; i++) {
        struct x87 v;
        uint64_t w[2];

        memcpy(&v.significand, f, sizeof v.significand);
        memcpy(&v.sign_exponent, f + 8, sizeof v.sign_exponent);
        if (!(v.sign_exponent & EXPONENT) && v.significand & first_bit)
            v.sign_exponent++; /* the exponent 0 means that of 1 */
        v.significand <<= 1;
        w[0] = htobe64((uint64_t)v.sign_exponent << 48 | v.significand >> 16);
        w[1] = htobe64(v.significand << 48);
        memcpy(t, w, sizeof w);
        f += sizeof(long double);
        t += sizeof w;
    }
    return 0;
}

/* Rounds to the nearest, to the even one of two. */
static struct x87 x87_of(uint64_t high, uint64_t low)
{
    struct x87 v = {high << 15 | low >> 49, (uint16_t)(high >> 48)};
    uint64_t rest = low << 15;
    int exponent = v.sign_exponent & EXPONENT;

    v.significand &= ~first_bit;
    if (exponent == EXPONENT) {
        if (v.significand == 0 && (high << 16 || low))
            v.significand = first_bit >> 1; /* not infinite, but no number */
        v.significand |= first_bit;
        return v;
    }
    if (exponent)
        v.significand |= first_bit;
    if (rest > first_bit || (rest == first_bit && v.significand & 1))
        v.significand++;
    if (exponent ? v.significand == 0 : v.significand == first_bit) {
        v.significand = first_bit;
        v.sign_exponent++;
    }
    return v;
}

static int read_long_double(const void *from, void *to, MPI_Count n)
{
    const char *f = from;
    char *t = to;

    for (MPI_Count i = 0; i < n; i++) {
        uint64_t w[2];
        struct x87 v;

        memcpy(w, f, sizeof w);
        v = x87_of(be64toh(w[0]), be64toh(w[1]));
        memset(t, 0, sizeof(long double));
        memcpy(t, &v.significand, sizeof v.significand);
        memcpy(t + 8, &v.sign_exponent, sizeof v.sign_exponent);
        f += sizeof w;
        t += sizeof(long double);
    }
    return 0;
}
#else
static int write_long_double(const void *from, void *to, MPI_Count n)
{
    (void)from;
    (void)to;
    (void)n;
    return zc_errorf(EILSEQ, "external32: long double of this machine is not converted");
}
#define read_long_double write_long_double
#endif

/* ---- items ---- */

/* How an item is converted: `parts` of it, which have so many bytes. */
struct form {
    int parts, in_memory, in_file;
    part_fn *write, *read;
};

enum kind { NUMBER, COMPLEX, LONG, UNSIGNED_LONG, WIDE_CHAR, LONG_DOUBLE, LONG_COMPLEX };

/* Those of items that keep their size are by it. */
static const struct form numbers[] = {{1, 1, 1, copy, copy},
                                      {1, 2, 2, swap16, swap16},
                                      {1, 4, 4, swap32, swap32},
                                      {1, 8, 8, swap64, swap64},
                                      {1, 16, 16, swap128, swap128}},
                         complexes[] = {{2, 2, 2, swap16, swap16},
                                        {2, 4, 4, swap32, swap32},
                                        {2, 8, 8, swap64, swap64},
                                        {2, 16, 16, swap128, swap128}};
static const struct form others[] = {
    [LONG] = {1, sizeof(long), 4, write_long, read_long},
    [UNSIGNED_LONG] = {1, sizeof(long), 4, write_unsigned_long, read_unsigned_long},
    [WIDE_CHAR] = {1, sizeof(wchar_t), 2, write_wchar, read_wchar},
    [LONG_DOUBLE] = {1, sizeof(long double), 16, write_long_double, read_long_double},
    [LONG_COMPLEX] = {2, sizeof(long double), 16, write_long_double, read_long_double},
};

static const struct form *of_size(const struct form *forms, size_t n, MPI_Count size)
{
    for (size_t i = 0; i < n; i++)
        if ((MPI_Count)forms[i].parts * forms[i].in_memory == size)
            return &forms[i];
    return NULL;
}

/* Returns the form of an item of `size` bytes in memory and in_file in the file, or NULL. */
static const struct form *form_of_kind(enum kind kind, MPI_Count size, MPI_Count in_file)
{
    const struct form *f;

    if (kind == NUMBER)
        f = of_size(numbers, sizeof numbers / sizeof numbers[0], size);
    else if (kind == COMPLEX)
        f = of_size(complexes, sizeof complexes / sizeof complexes[0], size);
    else
        f = of_size(&others[kind], 1, size);
    return f && f->parts * f->in_file == in_file ? f : NULL;
}

/* Of MPI-4.1, table 14.2, what every library here has: bytes in the file. */
static const struct form *form_of_named(MPI_Datatype type, MPI_Count size)
{
    const struct {
        MPI_Datatype type;
        enum kind kind;
        int in_file;
    } table[] = {
        {MPI_BYTE, NUMBER, 1},
        {MPI_PACKED, NUMBER, 1},
        {MPI_CHAR, NUMBER, 1},
        {MPI_SIGNED_CHAR, NUMBER, 1},
        {MPI_UNSIGNED_CHAR, NUMBER, 1},
        {MPI_WCHAR, WIDE_CHAR, 2},
        {MPI_SHORT, NUMBER, 2},
        {MPI_UNSIGNED_SHORT, NUMBER, 2},
        {MPI_INT, NUMBER, 4},
        {MPI_UNSIGNED, NUMBER, 4},
        {MPI_LONG, LONG, 4},
        {MPI_UNSIGNED_LONG, UNSIGNED_LONG, 4},
        {MPI_LONG_LONG, NUMBER, 8},
        {MPI_UNSIGNED_LONG_LONG, NUMBER, 8},
        {MPI_FLOAT, NUMBER, 4},
        {MPI_DOUBLE, NUMBER, 8},
        {MPI_LONG_DOUBLE, LONG_DOUBLE, 16},
        {MPI_C_BOOL, NUMBER, 1},
        {MPI_INT8_T, NUMBER, 1},
        {MPI_INT16_T, NUMBER, 2},
        {MPI_INT32_T, NUMBER, 4},
        {MPI_INT64_T, NUMBER, 8},
        {MPI_UINT8_T, NUMBER, 1},
        {MPI_UINT16_T, NUMBER, 2},
        {MPI_UINT32_T, NUMBER, 4},
        {MPI_UINT64_T, NUMBER, 8},
        {MPI_AINT, NUMBER, 8},
        {MPI_COUNT, NUMBER, 8},
        {MPI_OFFSET, NUMBER, 8},
        {MPI_C_COMPLEX, COMPLEX, 8},
        {MPI_C_FLOAT_COMPLEX, COMPLEX, 8},
        {MPI_C_DOUBLE_COMPLEX, COMPLEX, 16},
        {MPI_C_LONG_DOUBLE_COMPLEX, LONG_COMPLEX, 32},
        {MPI_CXX_BOOL, NUMBER, 1},
        {MPI_CXX_FLOAT_COMPLEX, COMPLEX, 8},
        {MPI_CXX_DOUBLE_COMPLEX, COMPLEX, 16},
        {MPI_CXX_LONG_DOUBLE_COMPLEX, LONG_COMPLEX, 32},
        {MPI_CHARACTER, NUMBER, 1},
        {MPI_LOGICAL, NUMBER, 4},
        {MPI_INTEGER, NUMBER, 4},
        {MPI_INTEGER1, NUMBER, 1},
        {MPI_INTEGER2, NUMBER, 2},
        {MPI_INTEGER4, NUMBER, 4},
        {MPI_INTEGER8, NUMBER, 8},
        {MPI_REAL, NUMBER, 4},
        {MPI_REAL4, NUMBER, 4},
        {MPI_REAL8, NUMBER, 8},
        {MPI_REAL16, NUMBER, 16},
        {MPI_DOUBLE_PRECISION, NUMBER, 8},
        {MPI_COMPLEX, COMPLEX, 8},
        {MPI_COMPLEX8, COMPLEX, 8},
        {MPI_COMPLEX16, COMPLEX, 16},
        {MPI_COMPLEX32, COMPLEX, 32},
        {MPI_DOUBLE_COMPLEX, COMPLEX, 16},
#ifdef MPI_INTEGER16
        {MPI_INTEGER16, NUMBER, 16},
#endif
#ifdef MPI_REAL2
        {MPI_REAL2, NUMBER, 2},
#endif
#ifdef MPI_COMPLEX4
        {MPI_COMPLEX4, COMPLEX, 4},
#endif
    };

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].type == type)
            return form_of_kind(table[i].kind, size, table[i].in_file);
    return NULL;
}

/* Returns the form of what Fortran asks for by precision, MPI-4.1, 19.1.9.  A compiler takes long
 * double where it has enough digits. */
static const struct form *form_of_f90(MPI_Datatype type, int combiner, MPI_Count size)
{
    bool two = combiner == MPI_COMBINER_F90_COMPLEX, is_long;
    int model[2] = {0, 0}; /* digits and exponent, or the digits of an integer */

    if (PMPI_Type_get_contents(type, combiner == MPI_COMBINER_F90_INTEGER ? 1 : 2, 0, 0, model,
                               NULL, NULL) != MPI_SUCCESS)
        return NULL;
    is_long =
        combiner != MPI_COMBINER_F90_INTEGER && size == 16 * (1 + two) && model[0] <= LDBL_DIG;
    if (is_long)
        return form_of_kind(two ? LONG_COMPLEX : LONG_DOUBLE, size, size);
    return form_of_kind(two ? COMPLEX : NUMBER, size, size);
}

static const struct form *form_of(MPI_Datatype type)
{
    int ni, na, nt, combiner;
    MPI_Count size;

    if (PMPI_Type_size_x(type, &size) != MPI_SUCCESS ||
        PMPI_Type_get_envelope(type, &ni, &na, &nt, &combiner) != MPI_SUCCESS)
        return NULL;
    return combiner == MPI_COMBINER_NAMED ? form_of_named(type, size)
                                          : form_of_f90(type, combiner, size);
}

static int extent_of(MPI_Datatype type, MPI_Aint *extent, void *state)
{
    const struct form *form = form_of(type);
    char name[MPI_MAX_OBJECT_NAME] = "";
    int len;

    (void)state;
    if (!form) {
        PMPI_Type_get_name(type, name, &len);
        return zc_errorf(EILSEQ, "external32 has no form for elements of %s", name);
    }
    *extent = (MPI_Aint)form->parts * form->in_file;
    return 0;
}

/* ---- buffers ---- */

/* Bytes of packed data in a chunk: with what they become in the file they fit into the first-level
 * cache. */
enum { CHUNK = 12 << 10 };

/* A conversion under way. */
struct cursor {
    bool read;
    const struct zcache_layout *layout; /* of the elements in `user` */
    char *user, *in_file;
    MPI_Count left; /* items to be converted */
    /* Of the packed data: the offset up to which `chunk` was filled or emptied, and their end. */
    MPI_Count packed_to, bytes;
    /* In `chunk`: bytes that are converted; of a write those that were packed, of a read its size.
     */
    size_t used, end;
    char chunk[CHUNK];
};

/* Packs what comes next, behind the part of an item that is left. */
static int refill(struct cursor *c)
{
    size_t rest = c->end - c->used;
    MPI_Count n = (MPI_Count)(sizeof c->chunk - rest);
    int rc;

    if (n > c->bytes - c->packed_to)
        n = c->bytes - c->packed_to;
    memmove(c->chunk, c->chunk + c->used, rest);
    rc = zcache_layout_pack(c->layout, c->user, c->packed_to, c->chunk + rest, n);
    c->packed_to += n;
    c->used = 0;
    c->end = rest + (size_t)n;
    return rc;
}

/* Unpacks what was read. */
static int empty(struct cursor *c)
{
    int rc = zcache_layout_unpack(c->layout, c->user, c->packed_to, c->chunk, (MPI_Count)c->used);

    c->packed_to += (MPI_Count)c->used;
    c->used = 0;
    return rc;
}

/* Converts up to `n` items, those that `chunk` has or has room for, and sets *done. */
static int convert_some(struct cursor *c, const struct form *form, MPI_Count n, MPI_Count *done)
{
    size_t size = (size_t)form->parts * (size_t)form->in_memory;
    MPI_Count most = (MPI_Count)((c->end - c->used) / size), parts;
    char *packed = c->chunk + c->used;

    *done = n < most ? n : most;
    parts = *done * form->parts;
    c->used += (size_t)*done * size;
    c->in_file += parts * form->in_file;
    c->left -= *done;
    return c->read ? form->read(c->in_file - parts * form->in_file, packed, parts)
                   : form->write(packed, c->in_file - parts * form->in_file, parts);
}

static int convert_items(struct cursor *c, struct zcache_type_items *t, MPI_Count n)
{
    MPI_Count done;
    int rc = 0;

    if (!t->form)
        t->form = form_of(t->item);
    if (n > c->left)
        n = c->left;
    while (rc == 0 && n > 0) {
        rc = convert_some(c, t->form, n, &done);
        n -= done;
        if (rc == 0 && n > 0)
            rc = c->read ? empty(c) : refill(c);
    }
    return rc;
}

/* Converts `times` what `t` has, or what is left. */
static int convert_all(struct cursor *c, struct zcache_type_items *t, MPI_Count times)
{
    int rc = 0;

    if (t->item != MPI_DATATYPE_NULL)
        return convert_items(c, t, times);
    while (rc == 0 && c->left > 0 && times-- > 0)
        for (int i = 0; rc == 0 && i < t->nparts; i++)
            rc = convert_all(c, &t->parts[i], t->parts[i].times);
    return rc;
}

static int convert_buffer(struct cursor *c, MPI_Datatype type)
{
    struct zcache_type_items t;
    int rc = zcache_type_items_get(type, &t);

    if (rc)
        return rc;
    rc = convert_all(c, &t, c->left);
    zcache_type_items_free(&t);
    return rc || !c->read ? rc : empty(c);
}

static int convert(bool read, void *user, MPI_Datatype type, const struct zcache_datarep_size *each,
                   MPI_Count items, void *in_file)
{
    struct cursor *c = malloc(sizeof *c);
    struct zcache_layout *l;
    int rc = c ? zcache_layout_get(type, &l) : zc_errorf(ENOMEM, "no memory to convert");

    if (rc == 0) {
        c->read = read;
        c->layout = l;
        c->user = user;
        c->in_file = in_file;
        c->left = items;
        c->packed_to = 0;
        c->bytes = (items + each->items - 1) / each->items * each->in_memory;
        c->used = 0;
        c->end = read ? sizeof c->chunk : 0;
        rc = convert_buffer(c, type);
        zcache_layout_put(l);
    }
    free(c);
    return rc;
}

static struct zcache_datarep external32 = {
    .name = "external32", .convert = convert, .keeps_gaps = true, .extent_fn = extent_of};

__attribute__((constructor)) static void add_external32(void)
{
    zcache_datarep_add_own(&external32);
}
