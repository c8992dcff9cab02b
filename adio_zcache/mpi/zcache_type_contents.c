/*
 * How a datatype was made, whether with int or with large counts.
 *
 * MPI_Type_get_envelope and _contents refuse types that were made with an MPI_Type_..._c function,
 * and by default that ends the program. These twins show such a type as if it had been made with
 * int counts, for ROMIO, whose calls are led here, and for the driver. Only what fits is shown: a
 * contiguous type of more elements than an int can count becomes one element of another type.
 *
 * The _c queries are of MPI-4; a library without them has no such types.
 */
#include "config.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "zcache_error.h"
#include "zcache_library.h"
#include "zcache_type_contents.h"
#include "zcache_type_large_count.h"

/* What the library says of a type made with large counts, and the int form of it. */
struct large {
    int combiner;
    MPI_Count ni, nc;
    int *ints;         /* as the library has them */
    MPI_Count *counts; /* also */
    int out_ni;
    int out_na;
};

/* Whether TYPE was made with large counts; fills in combiner, ni, nc, and nt. */
static bool is_large(MPI_Datatype type, struct large *l, MPI_Count *nt)
{
    const struct zcache_library *mpi = zcache_library();
    MPI_Count na;

    if (!mpi->type_get_envelope_c || !mpi->type_get_contents_c)
        return false;
    if (mpi->type_get_envelope_c(type, &l->ni, &na, &l->nc, nt, &l->combiner) != MPI_SUCCESS)
        return false;
    return l->nc > 0;
}

/* How many ints and addresses the int form has. False if there is none. */
static bool int_form(struct large *l)
{
    MPI_Count n = l->nc;

    l->out_na = 0;
    if (l->ni + l->nc >= INT_MAX)
        return false;
    switch (l->combiner) {
    case MPI_COMBINER_CONTIGUOUS:
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_INDEXED_BLOCK:
        break;
    case MPI_COMBINER_HVECTOR:
        l->out_na = 1;
        break;
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_STRUCT:
        l->out_na = (int)((n - 1) / 2);
        break;
    case MPI_COMBINER_HINDEXED_BLOCK:
        l->out_na = (int)(n - 2);
        break;
    case MPI_COMBINER_RESIZED:
        l->out_na = 2;
        break;
    case MPI_COMBINER_SUBARRAY:
    case MPI_COMBINER_DARRAY:
        break;
    default:
        return false;
    }
    l->out_ni = (int)(l->ni + n - l->out_na);
    return true;
}

int zcache_type_get_envelope(MPI_Datatype type, int *ni, int *na, int *nt, int *combiner)
{
    struct large l;
    MPI_Count types;

    if (!is_large(type, &l, &types))
        return PMPI_Type_get_envelope(type, ni, na, nt, combiner);
    *combiner = l.combiner;
    if (!int_form(&l) || types > INT_MAX)
        return zcache_mpi_error(MPI_ERR_TYPE,
                                "a datatype with large counts that do not fit in int");
    *ni = l.out_ni;
    *na = l.out_na;
    *nt = (int)types;
    return MPI_SUCCESS;
}

static bool copy_ints(int *to, const MPI_Count *from, MPI_Count n)
{
    for (MPI_Count i = 0; i < n; i++) {
        if (from[i] > INT_MAX || from[i] < INT_MIN)
            return false;
        to[i] = (int)from[i];
    }
    return true;
}

/* Put the arguments where the int constructor has them. False if one does not fit. */
static bool convert(const struct large *l, int *ints, MPI_Aint *aints)
{
    MPI_Count in_ints = l->nc - l->out_na;
    int ndims, at;

    switch (l->combiner) {
    case MPI_COMBINER_SUBARRAY: /* ints: ndims, order; counts: sizes, subsizes, starts */
        ints[0] = l->ints[0];
        ints[1 + l->nc] = l->ints[1];
        return copy_ints(ints + 1, l->counts, l->nc);
    case MPI_COMBINER_DARRAY: /* ints: size, rank, ndims, ...; counts: gsizes */
        ndims = l->ints[2];
        at = 3 + ndims;
        memcpy(ints, l->ints, 3 * sizeof(*ints));
        memcpy(ints + at, l->ints + 3, (l->ni - 3) * sizeof(*ints));
        return copy_ints(ints + 3, l->counts, ndims);
    default: /* all counts; the last of them are addresses */
        for (int i = 0; i < l->out_na; i++)
            aints[i] = (MPI_Aint)l->counts[in_ints + i];
        return copy_ints(ints, l->counts, in_ints);
    }
}

/* CONTIGUOUS of too many elements: one of a type that has them all. Takes over *TYPE. */
static int one_big(MPI_Count count, int *ints, MPI_Datatype *type)
{
    int ni, na, nt, combiner, rc;
    MPI_Datatype big;

    rc = zcache_type_large_count(count, *type, &big);
    if (rc != MPI_SUCCESS)
        return rc;
    if (zcache_type_get_envelope(*type, &ni, &na, &nt, &combiner) == MPI_SUCCESS &&
        combiner != MPI_COMBINER_NAMED)
        PMPI_Type_free(type);
    *type = big;
    ints[0] = 1;
    return MPI_SUCCESS;
}

int zcache_type_get_contents(MPI_Datatype type, int ni, int na, int nt, int *ints, MPI_Aint *aints,
                             MPI_Datatype *types)
{
    struct large l;
    MPI_Count have;
    int rc;

    if (!is_large(type, &l, &have))
        return PMPI_Type_get_contents(type, ni, na, nt, ints, aints, types);
    if (!int_form(&l) || l.out_ni > ni || l.out_na > na || have > nt)
        return zcache_mpi_error(MPI_ERR_ARG, "too little room for the contents of a datatype");
    l.ints = malloc((l.ni + 1) * sizeof(*l.ints));
    l.counts = malloc((l.nc + 1) * sizeof(*l.counts));
    if (!l.ints || !l.counts) {
        rc = zcache_mpi_error(MPI_ERR_NO_MEM, "no memory to look at a datatype");
        goto out;
    }
    rc = zcache_library()->type_get_contents_c(type, l.ni, 0, l.nc, nt, l.ints, aints, l.counts,
                                               types);
    if (rc != MPI_SUCCESS)
        goto out;
    if (l.combiner == MPI_COMBINER_CONTIGUOUS && l.counts[0] > INT_MAX)
        rc = one_big(l.counts[0], ints, &types[0]);
    else if (!convert(&l, ints, aints))
        rc = zcache_mpi_error(MPI_ERR_TYPE, "a datatype with large counts that do not fit in int");
out:
    free(l.ints);
    free(l.counts);
    return rc;
}
