/*
 * Whether the bytes of a datatype are one piece, in order, without a gap before the next element.
 *
 * Only then may ROMIO, and a driver, treat a buffer of it as plain bytes. Size equal to extent is
 * not enough, since blocks may be listed in any order; so the constructor is looked at too. "No"
 * is always a safe answer: the caller then flattens the type.
 */
#include "config.h"

#include <stdlib.h>

#include "zcache_plugin.h"

#define MAX_DEPTH 16

static bool is_contig(MPI_Datatype type, int depth);

/* Nothing outside [0, size), nothing twice or missing, no gap to the next element. */
static bool is_dense(MPI_Datatype type, MPI_Count *size)
{
    MPI_Count lb, extent, true_lb, true_extent;

    PMPI_Type_size_x(type, size);
    PMPI_Type_get_extent_x(type, &lb, &extent);
    PMPI_Type_get_true_extent_x(type, &true_lb, &true_extent);
    return lb == 0 && true_lb == 0 && extent == *size && true_extent == *size;
}

/* The pieces that a constructor lists: N block lengths, N displacements in bytes, N types. */
struct pieces {
    int n;
    const int *lens; /* NULL: LEN for all */
    int len;
    const MPI_Aint *bytes; /* displacements in bytes, or NULL: */
    const int *elements;   /* ... in extents of the one type */
    const MPI_Datatype *types;
    bool one_type;
};

/* Whether each piece begins where the one before it ended. */
static bool in_order(const struct pieces *p, int depth)
{
    MPI_Count at = 0, size;

    if (p->one_type && !is_contig(p->types[0], depth))
        return false;
    for (int i = 0; i < p->n; i++) {
        MPI_Datatype type = p->types[p->one_type ? 0 : i];
        int len = p->lens ? p->lens[i] : p->len;

        PMPI_Type_size_x(type, &size);
        if (!size || !len)
            continue;
        if (!p->one_type && !is_contig(type, depth))
            return false;
        if (at != (p->bytes ? (MPI_Count)p->bytes[i] : p->elements[i] * size))
            return false;
        at += len * size;
    }
    return true;
}

/* COMBINER is not a named type. The constructor's arguments are as MPI_Type_get_contents says. */
static bool constructor_is_contig(int combiner, const int *ints, const MPI_Aint *aints,
                                  const MPI_Datatype *types, int depth)
{
    struct pieces p = {.types = types, .one_type = true};

    switch (combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_CONTIGUOUS:
    case MPI_COMBINER_RESIZED:
    case MPI_COMBINER_VECTOR: /* dense, so that the stride is the block length */
    case MPI_COMBINER_HVECTOR:
        return is_contig(types[0], depth);
    case MPI_COMBINER_INDEXED:
        p.n = ints[0];
        p.lens = ints + 1;
        p.elements = ints + 1 + ints[0];
        return in_order(&p, depth);
    case MPI_COMBINER_HINDEXED:
        p.n = ints[0];
        p.lens = ints + 1;
        p.bytes = aints;
        return in_order(&p, depth);
    case MPI_COMBINER_INDEXED_BLOCK:
        p.n = ints[0];
        p.len = ints[1];
        p.elements = ints + 2;
        return in_order(&p, depth);
    case MPI_COMBINER_HINDEXED_BLOCK:
        p.n = ints[0];
        p.len = ints[1];
        p.bytes = aints;
        return in_order(&p, depth);
    case MPI_COMBINER_STRUCT:
        p.n = ints[0];
        p.lens = ints + 1;
        p.bytes = aints;
        p.one_type = false;
        return in_order(&p, depth);
    case MPI_COMBINER_SUBARRAY: /* dense, so it is the whole array; order is that of memory */
        return is_contig(types[0], depth);
    default:
        return false;
    }
}

/* Types of the library itself, also those that Fortran asks for by precision. */
static bool is_basic(int combiner)
{
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
           combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

static void free_types(MPI_Datatype *types, int n)
{
    int ni, na, nt, combiner;

    for (int i = 0; i < n; i++) {
        if (zcache_type_get_envelope(types[i], &ni, &na, &nt, &combiner) == MPI_SUCCESS &&
            !is_basic(combiner))
            PMPI_Type_free(&types[i]);
    }
}

static bool is_contig(MPI_Datatype type, int depth)
{
    int ni, na, nt, combiner;
    int *ints;
    MPI_Aint *aints;
    MPI_Datatype *types;
    MPI_Count size;
    bool answer = false;

    if (depth == MAX_DEPTH || !is_dense(type, &size))
        return false;
    if (zcache_type_get_envelope(type, &ni, &na, &nt, &combiner) != MPI_SUCCESS)
        return false;
    if (is_basic(combiner))
        return true;
    ints = malloc((ni + 1) * sizeof(*ints));
    aints = malloc((na + 1) * sizeof(*aints));
    types = malloc((nt + 1) * sizeof(*types));
    if (ints && aints && types && ni + na + nt > 0 &&
        zcache_type_get_contents(type, ni, na, nt, ints, aints, types) == MPI_SUCCESS) {
        answer = nt > 0 && constructor_is_contig(combiner, ints, aints, types, depth + 1);
        free_types(types, nt);
    }
    free(ints);
    free(aints);
    free(types);
    return answer;
}

void MPIR_Datatype_iscontig(MPI_Datatype type, int *flag)
{
    MPI_Count size;
    int ni, na, nt, combiner;

    PMPI_Type_size_x(type, &size);
    if (!size) {
        /* An empty type moves nothing, in one piece. */
        zcache_type_get_envelope(type, &ni, &na, &nt, &combiner);
        *flag = is_basic(combiner);
        return;
    }
    *flag = is_contig(type, 0);
}
