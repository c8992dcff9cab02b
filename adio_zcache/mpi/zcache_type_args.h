/* The arguments of a datatype's constructor, in 64 bits. */
#ifndef ZCACHE_TYPE_ARGS_H
#define ZCACHE_TYPE_ARGS_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/*
 * How a type was made, in 64 bits whatever its constructor took. V holds the integer arguments in
 * the order of the constructor with int counts, without displacements in bytes, which are in AT
 * (the stride of an hvector, too). Types of the library itself, and those Fortran asks for by
 * precision, have a combiner only.
 */
struct zcache_type_args {
    int combiner;
    size_t nv, nat;
    int64_t *v;
    int64_t *at;
    MPI_Datatype *types;
    int ntypes;
};

/*
 * Fills in *ARGS. Returns 0 or a negative errno, explained by zc_errorf(). The caller frees what it
 * filled in, which includes the derived types among the arguments, also when it failed.
 */
int zcache_type_args_get(MPI_Datatype type, struct zcache_type_args *args);
void zcache_type_args_free(struct zcache_type_args *args);

#endif
