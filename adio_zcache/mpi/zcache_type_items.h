/* The items of a datatype in the order of its type map, as a tree of its constructors. */
#ifndef ZCACHE_TYPE_ITEMS_H
#define ZCACHE_TYPE_ITEMS_H

#include <mpi.h>

/*
 * An item is an element of a predefined datatype; a predefined pair has two.  A constructor with
 * one child only repeats it, so that those with several, structs and pairs, alone have parts.
 */
struct zcache_type_items {
    MPI_Datatype item; /* MPI_DATATYPE_NULL: there are parts, one after the other */
    struct zcache_type_items *parts;
    int nparts;
    MPI_Count times;  /* how often all that comes, 0 included */
    const void *form; /* NULL at first; what the caller knows about the item */
};

/* Fills in *ITEMS.  Returns 0 or a negative errno, explained by zc_errorf(), and then there is
 * nothing to free. */
int zcache_type_items_get(MPI_Datatype type, struct zcache_type_items *items);
void zcache_type_items_free(struct zcache_type_items *items);

#endif
