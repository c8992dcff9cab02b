/*
 * What datatypes are in a data representation that a program registered: their types and sizes.
 *
 * Counts are found without a list of items: those of a type with one child are in proportion to
 * those of the child.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "zc_log.h"
#include "zcache_datarep.h"
#include "zcache_type_args.h"

static int no_memory(void)
{
    return zc_errorf(ENOMEM, "no memory to look at a datatype");
}

static int too_many(const struct zcache_datarep *rep)
{
    return zc_errorf(EOVERFLOW, "data representation \"%s\": more bytes than a file can have",
                     rep->name);
}

/* Whether the type was made of no others. */
static bool is_basic(const struct zcache_type_args *a)
{
    return !a->types;
}

/* ---- predefined types ---- */

/* The parts of a predefined pair, each of which is an item. */
static bool is_pair(MPI_Datatype type, MPI_Datatype parts[2])
{
    const MPI_Datatype pairs[][3] = {
        {MPI_FLOAT_INT, MPI_FLOAT, MPI_INT},
        {MPI_DOUBLE_INT, MPI_DOUBLE, MPI_INT},
        {MPI_LONG_INT, MPI_LONG, MPI_INT},
        {MPI_2INT, MPI_INT, MPI_INT},
        {MPI_SHORT_INT, MPI_SHORT, MPI_INT},
        {MPI_LONG_DOUBLE_INT, MPI_LONG_DOUBLE, MPI_INT},
        {MPI_2REAL, MPI_REAL, MPI_REAL},
        {MPI_2INTEGER, MPI_INTEGER, MPI_INTEGER},
        {MPI_2DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION},
    };

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (pairs[i][0] != MPI_DATATYPE_NULL && pairs[i][0] == type) {
            parts[0] = pairs[i][1];
            parts[1] = pairs[i][2];
            return true;
        }
    return false;
}

/* Sets the items of a predefined type; returns how many there are. */
static int items_of(MPI_Datatype type, MPI_Datatype items[2])
{
    if (is_pair(type, items))
        return 2;
    items[0] = type;
    return 1;
}

static int size_of_item(const struct zcache_datarep *rep, MPI_Datatype type,
                        struct zcache_datarep_size *s)
{
    MPI_Aint extent = -1;
    MPI_Count size;

    if (rep->extent_fn(type, &extent, rep->state) != MPI_SUCCESS || extent < 0)
        return zc_errorf(EILSEQ, "data representation \"%s\": its extent function has failed",
                         rep->name);
    if (PMPI_Type_size_x(type, &size) != MPI_SUCCESS)
        return zc_errorf(EINVAL, "no size of a datatype");
    *s = (struct zcache_datarep_size){1, extent, size};
    return 0;
}

/* ---- sizes ---- */

static bool add_times(MPI_Count *sum, MPI_Count each, MPI_Count n)
{
    MPI_Count more;

    return !__builtin_mul_overflow(n, each, &more) && !__builtin_add_overflow(*sum, more, sum);
}

static int add(const struct zcache_datarep *rep, struct zcache_datarep_size *s,
               const struct zcache_datarep_size *each, MPI_Count n)
{
    bool fits = add_times(&s->items, each->items, n) && add_times(&s->in_file, each->in_file, n) &&
                add_times(&s->in_memory, each->in_memory, n);

    return fits ? 0 : too_many(rep);
}

/* Returns how many times a type has its child number `i`, or a negative errno, explained. */
static MPI_Count times(MPI_Datatype type, const struct zcache_type_args *a, int i)
{
    MPI_Count all, one;

    if (a->combiner == MPI_COMBINER_STRUCT)
        return a->v[1 + i];
    if (a->ntypes != 1 || PMPI_Type_size_x(type, &all) != MPI_SUCCESS ||
        PMPI_Type_size_x(a->types[0], &one) != MPI_SUCCESS)
        return zc_errorf(EINVAL, "a datatype of an unknown kind");
    return one > 0 ? all / one : 0;
}

static int size_of(const struct zcache_datarep *rep, MPI_Datatype type,
                   struct zcache_datarep_size *size)
{
    struct zcache_datarep_size child;
    MPI_Datatype items[2];
    struct zcache_type_args a;
    int rc = zcache_type_args_get(type, &a), basic;

    *size = (struct zcache_datarep_size){0};
    if (rc)
        return rc;
    basic = is_basic(&a) ? items_of(type, items) : 0;
    for (int i = 0; rc == 0 && i < basic; i++) {
        rc = size_of_item(rep, items[i], &child);
        rc = rc ? rc : add(rep, size, &child, 1);
    }
    for (int i = 0; rc == 0 && i < a.ntypes; i++) {
        MPI_Count n = times(type, &a, i);

        rc = n < 0 ? (int)n : size_of(rep, a.types[i], &child);
        rc = rc ? rc : add(rep, size, &child, n);
    }
    zcache_type_args_free(&a);
    return rc;
}

int zcache_datarep_size(const struct zcache_datarep *rep, MPI_Datatype type, MPI_Count count,
                        struct zcache_datarep_size *each, struct zcache_datarep_size *all)
{
    int rc = size_of(rep, type, each);

    *all = (struct zcache_datarep_size){0};
    return rc ? rc : add(rep, all, each, count);
}

/* What is left of the bytes of a file, and what was whole of those before. */
struct taken {
    MPI_Count left;
    struct zcache_datarep_size size;
    bool end; /* something is not whole */
};

static int take(const struct zcache_datarep *rep, MPI_Datatype type, MPI_Count count,
                struct taken *t);

/* Takes what is whole of one element that is not, type by type. */
static int take_parts(const struct zcache_datarep *rep, MPI_Datatype type, struct taken *t)
{
    MPI_Datatype items[2];
    struct zcache_type_args a;
    int rc = zcache_type_args_get(type, &a), basic;

    if (rc)
        return rc;
    basic = is_basic(&a) ? items_of(type, items) : 0;
    for (int i = 0; rc == 0 && basic > 1 && i < basic && !t->end; i++)
        rc = take(rep, items[i], 1, t);
    for (int i = 0; rc == 0 && i < a.ntypes && !t->end; i++) {
        MPI_Count n = times(type, &a, i);

        rc = n < 0 ? (int)n : take(rep, a.types[i], n, t);
    }
    zcache_type_args_free(&a);
    return rc;
}

static int take(const struct zcache_datarep *rep, MPI_Datatype type, MPI_Count count,
                struct taken *t)
{
    struct zcache_datarep_size each;
    MPI_Count whole = count;
    int rc = size_of(rep, type, &each);

    if (rc)
        return rc;
    if (each.in_file > 0 && t->left / each.in_file < count)
        whole = t->left / each.in_file;
    rc = add(rep, &t->size, &each, whole);
    t->left -= whole * each.in_file;
    if (rc || whole == count)
        return rc;
    rc = take_parts(rep, type, t);
    t->end = true;
    return rc;
}

int zcache_datarep_size_of_first(const struct zcache_datarep *rep, MPI_Datatype type,
                                 MPI_Count count, MPI_Count bytes, struct zcache_datarep_size *size)
{
    struct taken t = {.left = bytes};
    int rc = take(rep, type, count, &t);

    *size = t.size;
    return rc;
}

/* ---- types ---- */

static int basic_type(const struct zcache_datarep *rep, MPI_Datatype type, MPI_Datatype *out)
{
    struct zcache_datarep_size s;
    int rc = size_of(rep, type, &s);

    if (rc)
        return rc;
    if (s.in_file > INT_MAX || PMPI_Type_contiguous((int)s.in_file, MPI_BYTE, out) != MPI_SUCCESS)
        return zc_errorf(EINVAL, "data representation \"%s\": an item of %lld bytes", rep->name,
                         (long long)s.in_file);
    return 0;
}

/* Makes the type that a constructor makes of these children, with int arguments `v`.  Returns an
 * MPI error code. */
static int construct(int combiner, const int *v, const MPI_Aint *at, const MPI_Datatype *types,
                     MPI_Datatype *out)
{
    int n = v[0];

    switch (combiner) {
    case MPI_COMBINER_DUP:
        return PMPI_Type_dup(types[0], out);
    case MPI_COMBINER_CONTIGUOUS:
        return PMPI_Type_contiguous(n, types[0], out);
    case MPI_COMBINER_VECTOR:
        return PMPI_Type_vector(n, v[1], v[2], types[0], out);
    case MPI_COMBINER_HVECTOR:
        return PMPI_Type_create_hvector(n, v[1], at[0], types[0], out);
    case MPI_COMBINER_INDEXED:
        return PMPI_Type_indexed(n, v + 1, v + 1 + n, types[0], out);
    case MPI_COMBINER_HINDEXED:
        return PMPI_Type_create_hindexed(n, v + 1, at, types[0], out);
    case MPI_COMBINER_INDEXED_BLOCK:
        return PMPI_Type_create_indexed_block(n, v[1], v + 2, types[0], out);
    case MPI_COMBINER_HINDEXED_BLOCK:
        return PMPI_Type_create_hindexed_block(n, v[1], at, types[0], out);
    case MPI_COMBINER_STRUCT:
        return PMPI_Type_create_struct(n, v + 1, at, types, out);
    case MPI_COMBINER_SUBARRAY:
        return PMPI_Type_create_subarray(n, v + 1, v + 1 + n, v + 1 + 2 * n, v[1 + 3 * n], types[0],
                                         out);
    case MPI_COMBINER_DARRAY:
        n = v[2];
        return PMPI_Type_create_darray(v[0], v[1], n, v + 3, v + 3 + n, v + 3 + 2 * n,
                                       v + 3 + 3 * n, v[3 + 4 * n], types[0], out);
    case MPI_COMBINER_RESIZED:
        return PMPI_Type_create_resized(types[0], at[0], at[1], out);
    default:
        return MPI_ERR_TYPE;
    }
}

/* The same with the arguments of `a`, where they fit. */
static int construct_as(const struct zcache_datarep *rep, const struct zcache_type_args *a,
                        const MPI_Datatype *types, MPI_Datatype *out)
{
    int *v = calloc(a->nv + 1, sizeof *v), rc = 0;
    MPI_Aint *at = calloc(a->nat + 1, sizeof *at);

    for (size_t i = 0; v && i < a->nv; i++) {
        v[i] = (int)a->v[i];
        if (v[i] != a->v[i])
            rc = zc_errorf(EOVERFLOW, "a datatype with counts that do not fit in int");
    }
    for (size_t i = 0; at && i < a->nat; i++)
        at[i] = (MPI_Aint)a->at[i];
    if (!v || !at)
        rc = no_memory();
    if (rc == 0 && construct(a->combiner, v, at, types, out) != MPI_SUCCESS)
        rc = zc_errorf(EINVAL, "data representation \"%s\": MPI makes no such type", rep->name);
    free(v);
    free(at);
    return rc;
}

static int make(const struct zcache_datarep *rep, MPI_Datatype type, MPI_Datatype *out);

static int derived_type(const struct zcache_datarep *rep, const struct zcache_type_args *a,
                        MPI_Datatype *out)
{
    MPI_Datatype *types = malloc(((size_t)a->ntypes + 1) * sizeof *types);
    int n = 0, rc = types ? 0 : no_memory();

    while (rc == 0 && n < a->ntypes) {
        rc = make(rep, a->types[n], &types[n]);
        n += rc == 0;
    }
    if (rc == 0)
        rc = construct_as(rep, a, types, out);
    while (n > 0)
        PMPI_Type_free(&types[--n]);
    free(types);
    return rc;
}

static int make(const struct zcache_datarep *rep, MPI_Datatype type, MPI_Datatype *out)
{
    struct zcache_type_args a;
    int rc = zcache_type_args_get(type, &a);

    if (rc)
        return rc;
    rc = is_basic(&a) ? basic_type(rep, type, out) : derived_type(rep, &a, out);
    zcache_type_args_free(&a);
    return rc;
}

int zcache_datarep_type(const struct zcache_datarep *rep, MPI_Datatype type, MPI_Datatype *in_file)
{
    int rc = make(rep, type, in_file);

    if (rc == 0 && PMPI_Type_commit(in_file) != MPI_SUCCESS) {
        PMPI_Type_free(in_file);
        rc = zc_errorf(EINVAL, "MPI does not commit a datatype");
    }
    return rc;
}
