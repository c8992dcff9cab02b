/* zcache_typemap.h - where the bytes of a datatype lie, in the order of its type map.
 *
 * Made of MPI_Type_get_envelope and _contents.  A regular type is walked as runs: a vector of
 * a million blocks is one call of the visitor, however it is nested a few for each row.
 * Lower bounds move nothing: a displacement counts from the buffer, or from the start of the
 * view's tile, whatever the type's bounds are.
 *
 * Calls MPI; 0 or a negative errno explained by zc_errorf().
 */
#ifndef ZCACHE_TYPEMAP_H
#define ZCACHE_TYPEMAP_H

#include <mpi.h>
#include <stdint.h>

struct zcache_typemap;

/* Makes the map of a type.  Also detects wrong sizes of the type: the map must have as many bytes
 * as MPI says.  zcache_typemap_free() frees it. */
int zcache_typemap_create(MPI_Datatype type, struct zcache_typemap **out);
void zcache_typemap_free(struct zcache_typemap *t);

/* `count` >= 1 pieces of `len` > 0 bytes, each `stride` bytes (of any sign) after the one
 * before, the first at `off`.  Pieces that touch are not merged. */
typedef int zcache_typemap_visit(void *arg, int64_t off, int64_t len, int64_t stride,
                                 int64_t count);

/* Calls the visitor for every run of pieces.  Ends early with what the visitor returns when that is
 * not 0. */
int zcache_typemap_walk(const struct zcache_typemap *t, zcache_typemap_visit *visit, void *arg);

#endif
