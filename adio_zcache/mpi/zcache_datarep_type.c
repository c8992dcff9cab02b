/*
 * What datatypes are in a data representation that converts: their types and sizes.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "zc_log.h"
#include "zcache_datarep.h"
#include "zcache_type_args.h"
#include "zcache_type_items.h"

static int no_memory(void)
{
    return zc_errorf(ENOMEM, "no memory to look at a datatype");
}

static int too_many(const struct zcache_datarep *rep)
{
    return zc_errorf(EOVERFLOW, "data representation \"%s\": more bytes than a file can have",
                     rep->name);
}

/* ---- sizes ---- */

static int size_of_item(const struct zcache_datarep *rep, MPI_Datatype type,
                        struct zcache_datarep_size *s)
{
    MPI_Aint extent = -1;
    MPI_Count size;
    int rc = rep->extent_fn(type, &extent, rep->state);

    if (rep->convert && rc)
        return rc;
    if (rc != MPI_SUCCESS || extent < 0)
        return zc_errorf(EILSEQ, "data representation \"%s\": its extent function has failed",
                         rep->name);
    if (PMPI_Type_size_x(type, &size) != MPI_SUCCESS)
        return zc_errorf(EINVAL, "no size of a datatype");
    *s = (struct zcache_datarep_size){1, extent, size, extent != size};
    return 0;
}

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

    s->resized |= n > 0 && each->resized;
    return fits ? 0 : too_many(rep);
}

/* Sets those of what `t` has, once. */
static int size_of_one(const struct zcache_datarep *rep, const struct zcache_type_items *t,
                       struct zcache_datarep_size *size)
{
    struct zcache_datarep_size each;
    int rc = 0;

    if (t->item != MPI_DATATYPE_NULL)
        return size_of_item(rep, t->item, size);
    *size = (struct zcache_datarep_size){0};
    for (int i = 0; rc == 0 && i < t->nparts; i++) {
        rc = size_of_one(rep, &t->parts[i], &each);
        rc = rc ? rc : add(rep, size, &each, t->parts[i].times);
    }
    return rc;
}

static int size_of(const struct zcache_datarep *rep, MPI_Datatype type,
                   struct zcache_datarep_size *size)
{
    struct zcache_datarep_size once;
    struct zcache_type_items t;
    int rc = zcache_type_items_get(type, &t);

    *size = (struct zcache_datarep_size){0};
    if (rc)
        return rc;
    rc = size_of_one(rep, &t, &once);
    rc = rc ? rc : add(rep, size, &once, t.times);
    zcache_type_items_free(&t);
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

/* Takes what is whole of `count` times what `t` has. */
static int take(const struct zcache_datarep *rep, const struct zcache_type_items *t,
                MPI_Count count, struct taken *taken)
{
    struct zcache_datarep_size each;
    MPI_Count whole = count;
    int rc = size_of_one(rep, t, &each);

    if (rc)
        return rc;
    if (each.in_file > 0 && taken->left / each.in_file < count)
        whole = taken->left / each.in_file;
    rc = add(rep, &taken->size, &each, whole);
    taken->left -= whole * each.in_file;
    if (rc || whole == count)
        return rc;
    for (int i = 0; rc == 0 && i < t->nparts && !taken->end; i++)
        rc = take(rep, &t->parts[i], t->parts[i].times, taken);
    taken->end = true;
    return rc;
}

int zcache_datarep_size_of_first(const struct zcache_datarep *rep, MPI_Datatype type,
                                 MPI_Count count, MPI_Count bytes, struct zcache_datarep_size *size)
{
    struct taken taken = {.left = bytes};
    struct zcache_type_items t;
    MPI_Count all = 0;
    int rc = zcache_type_items_get(type, &t);

    if (rc == 0)
        rc = add_times(&all, t.times, count) ? take(rep, &t, all, &taken) : too_many(rep);
    *size = taken.size;
    zcache_type_items_free(&t);
    return rc;
}

/* ---- types ---- */

static int basic_type(const struct zcache_datarep *rep, MPI_Datatype type, MPI_Datatype *out)
{
    struct zcache_datarep_size s;
    int rc = size_of(rep, type, &s);

    if (rc)
        return rc;
    if (s.items == 0)
        return zc_errorf(EINVAL, "MPI_LB and MPI_UB are of no use where sizes in the file differ; "
                                 "MPI_Type_create_resized() is");
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
    rc = !a.types ? basic_type(rep, type, out) : derived_type(rep, &a, out);
    zcache_type_args_free(&a);
    return rc;
}

/* Makes what is in the file as it is in memory, gaps included, where the representation has that
 * and no item of the type another size; else of items without alignment, as all that is in the
 * file. */
static int make_any(const struct zcache_datarep *rep, MPI_Datatype type, MPI_Datatype *out)
{
    struct zcache_datarep_size size;
    int rc = size_of(rep, type, &size);

    if (rc || !rep->keeps_gaps || size.resized)
        return rc ? rc : make(rep, type, out);
    /* Not a duplicate, which calls the program's functions for its attributes. */
    return PMPI_Type_contiguous(1, type, out) == MPI_SUCCESS
               ? 0
               : zc_errorf(ENOMEM, "no copy of a datatype");
}

int zcache_datarep_type(const struct zcache_datarep *rep, MPI_Datatype type, MPI_Datatype *in_file)
{
    int rc = make_any(rep, type, in_file);

    if (rc == 0 && PMPI_Type_commit(in_file) != MPI_SUCCESS) {
        PMPI_Type_free(in_file);
        rc = zc_errorf(EINVAL, "MPI does not commit a datatype");
    }
    return rc;
}
