/*
 * Whether the bytes of a datatype are one piece, in order, without a gap before the next element.
 *
 * Only then may ROMIO treat a buffer of it as plain bytes. "No" is always a safe answer: the caller
 * then looks at the type itself.
 */
#include "config.h"

#include <stdbool.h>

#include "zcache_layout.h"
#include "zcache_type_contents.h"

/* ROMIO up to MPICH 4.2 calls the first, later ones the second. */
void MPIR_Datatype_iscontig(MPI_Datatype type, int *flag);
void MPIR_Ext_datatype_iscontig(MPI_Datatype type, int *flag);

/*
 * An empty type moves nothing, in one piece, as long as it takes no room either: so says MPICH, and
 * ROMIO flattens what it has to look into as a block at 0, which goes backwards in a darray whose
 * first blocks are cut off. Of types with an extent and nothing in it, only those of the library.
 */
static bool is_basic(MPI_Datatype type)
{
    int ni, na, nt, combiner;

    return zcache_type_get_envelope(type, &ni, &na, &nt, &combiner) == MPI_SUCCESS &&
           combiner == MPI_COMBINER_NAMED;
}

void MPIR_Datatype_iscontig(MPI_Datatype type, int *flag)
{
    struct zcache_layout *l;

    *flag = 0;
    if (zcache_layout_get(type, &l))
        return;
    *flag = l->size ? l->contiguous && l->lb == 0 : l->extent == 0 || is_basic(type);
    zcache_layout_put(l);
}

void MPIR_Ext_datatype_iscontig(MPI_Datatype type, int *flag)
{
    MPIR_Datatype_iscontig(type, flag);
}
