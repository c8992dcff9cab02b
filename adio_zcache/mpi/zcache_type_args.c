/*
 * The arguments of a datatype's constructor, in 64 bits.
 *
 * A type made by an MPI_Type_..._c function has its counts apart from its ints; here they are put
 * where the constructor with int counts has them.
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "zc_log.h"
#include "zcache_library.h"
#include "zcache_type_args.h"
#include "zcache_type_contents.h"

/* As the library has them. */
struct raw {
    MPI_Count ni, na, nc, nt;
    int *ints;
    MPI_Aint *aints;
    MPI_Count *counts;
};

static bool is_basic(int combiner)
{
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
           combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

static int no_memory(void)
{
    return zc_errorf(ENOMEM, "no memory to look at a datatype");
}

static int envelope(MPI_Datatype type, struct raw *r, int *combiner)
{
    const struct zcache_library *mpi = zcache_library();
    int ni, na, nt;

    if (mpi->type_get_envelope_c && mpi->type_get_contents_c &&
        mpi->type_get_envelope_c(type, &r->ni, &r->na, &r->nc, &r->nt, combiner) == MPI_SUCCESS &&
        r->nc > 0)
        return 0;
    if (PMPI_Type_get_envelope(type, &ni, &na, &nt, combiner) != MPI_SUCCESS)
        return zc_errorf(EINVAL, "MPI does not tell how a datatype was made");
    *r = (struct raw){.ni = ni, .na = na, .nt = nt};
    return 0;
}

static int contents(MPI_Datatype type, struct raw *r, MPI_Datatype *types)
{
    int rc;

    if (r->nc > 0)
        rc = zcache_library()->type_get_contents_c(type, r->ni, r->na, r->nc, r->nt, r->ints,
                                                   r->aints, r->counts, types);
    else
        rc = PMPI_Type_get_contents(type, (int)r->ni, (int)r->na, (int)r->nt, r->ints, r->aints,
                                    types);
    return rc == MPI_SUCCESS ? 0 : zc_errorf(EINVAL, "MPI does not tell how a datatype was made");
}

/* How many of the counts, the last ones, are displacements in bytes. */
static MPI_Count places(int combiner, MPI_Count n)
{
    switch (combiner) {
    case MPI_COMBINER_HVECTOR:
        return 1;
    case MPI_COMBINER_RESIZED:
        return 2;
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_STRUCT:
        return (n - 1) / 2;
    case MPI_COMBINER_HINDEXED_BLOCK:
        return n - 2;
    default:
        return 0;
    }
}

/* Counts stand after the first `before` ints and before the rest of them. */
static void lay_out(const struct raw *r, MPI_Count before, MPI_Count na, struct zcache_type_args *a)
{
    int64_t *v = a->v;

    for (MPI_Count i = 0; i < before; i++)
        *v++ = r->ints[i];
    for (MPI_Count i = 0; i < r->nc - na; i++)
        *v++ = r->counts[i];
    for (MPI_Count i = before; i < r->ni; i++)
        *v++ = r->ints[i];
    for (MPI_Count i = 0; i < r->na; i++)
        a->at[i] = r->aints[i];
    for (MPI_Count i = 0; i < na; i++)
        a->at[r->na + i] = r->counts[r->nc - na + i];
}

static int take(const struct raw *r, struct zcache_type_args *a)
{
    MPI_Count na = r->nc > 0 ? places(a->combiner, r->nc) : 0, before = r->ni;

    if (r->nc > 0 && a->combiner == MPI_COMBINER_SUBARRAY)
        before = 1; /* ndims */
    else if (r->nc > 0 && a->combiner == MPI_COMBINER_DARRAY)
        before = 3; /* size, rank, ndims */
    a->nv = (size_t)(r->ni + r->nc - na);
    a->nat = (size_t)(r->na + na);
    a->v = calloc(a->nv + 1, sizeof *a->v);
    a->at = calloc(a->nat + 1, sizeof *a->at);
    if (!a->v || !a->at)
        return no_memory();
    lay_out(r, before, na, a);
    return 0;
}

int zcache_type_args_get(MPI_Datatype type, struct zcache_type_args *args)
{
    struct raw r = {0};
    MPI_Datatype *types;
    int rc;

    *args = (struct zcache_type_args){0};
    rc = envelope(type, &r, &args->combiner);
    if (rc || is_basic(args->combiner))
        return rc;
    r.ints = malloc((size_t)(r.ni + 1) * sizeof *r.ints);
    r.aints = malloc((size_t)(r.na + 1) * sizeof *r.aints);
    r.counts = malloc((size_t)(r.nc + 1) * sizeof *r.counts);
    types = calloc((size_t)r.nt + 1, sizeof *types);
    rc = r.ints && r.aints && r.counts && types ? contents(type, &r, types) : no_memory();
    if (rc == 0) {
        args->types = types;
        args->ntypes = (int)r.nt;
        types = NULL;
        rc = take(&r, args);
    }
    free(types);
    free(r.ints);
    free(r.aints);
    free(r.counts);
    if (rc)
        zcache_type_args_free(args);
    return rc;
}

void zcache_type_args_free(struct zcache_type_args *a)
{
    for (int i = 0; i < a->ntypes; i++) {
        int ni, na, nt, combiner;

        if (zcache_type_get_envelope(a->types[i], &ni, &na, &nt, &combiner) == MPI_SUCCESS &&
            !is_basic(combiner))
            PMPI_Type_free(&a->types[i]);
    }
    free(a->types);
    free(a->v);
    free(a->at);
    *a = (struct zcache_type_args){0};
}
