/* zcache_layout.h - the bytes of a datatype, repeated, in the order of its type map.
 *
 * Used for memory (a count of the buffer's type) and for file views.  Positions count the bytes of
 * the type map from the start of the buffer on, element after element.  Almost every type is kept
 * as a view (zc_view.h), hence as runs; one whose displacements decrease, whose extent is not above
 * 0, or that a view cannot hold (-EOVERFLOW), which only memory may have, as a list of runs in the
 * order of its type map.
 *
 * Made once for each datatype and kept as its attribute, so that it is freed with the type and no
 * handle can be mistaken for an earlier one; duplicates share it.  References are counted: a layout
 * outlives its type while it is in use.
 *
 * get() calls MPI, the other functions do not.  Threads: any.
 */
#ifndef ZCACHE_LAYOUT_H
#define ZCACHE_LAYOUT_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "zc_view.h"

/* Rows of `count` pieces of `len` bytes, each `stride` bytes after the one before, and each row
 * `row_stride` bytes after the one before; both of any sign. */
struct zcache_run {
    int64_t off, len, stride, count;
    int64_t row_stride, rows;
    int64_t before; /* bytes of the runs before it */
};

struct zcache_layout {
    int64_t size;            /* bytes of one element */
    int64_t extent;          /* from one element to the next; of any sign */
    int64_t lb;              /* lower bound: moves nothing */
    int64_t low, high;       /* all pieces of an element lie in [low, high) */
    bool contiguous;         /* any number of elements is one piece that starts at 0 */
    bool decreases;          /* a piece starts before the previous one does */
    bool overlaps;           /* a piece starts inside one before it; only if !decreases */
    struct zc_view *view;    /* NULL: it is in `runs` */
    struct zcache_run *runs; /* adjacent pieces merged, those equally far apart joined */
    int64_t nruns;
    unsigned references; /* atomic */
};

/* 0 or a negative errno, explained by zc_errorf(); release it with put(). */
int zcache_layout_get(MPI_Datatype type, struct zcache_layout **out);
void zcache_layout_put(struct zcache_layout *l); /* NULL is fine */

/* Returns the position of a buffer's first byte, relative to its address; size > 0. */
int64_t zcache_layout_first(const struct zcache_layout *l);

/* Copies `len` bytes from position `pos` on between a buffer of elements and contiguous memory.  0
 * or a negative errno (the buffer would exceed the address space). */
int zcache_layout_pack(const struct zcache_layout *l, const void *user, int64_t pos, void *to,
                       int64_t len);
int zcache_layout_unpack(const struct zcache_layout *l, void *user, int64_t pos, const void *from,
                         int64_t len);

#endif
