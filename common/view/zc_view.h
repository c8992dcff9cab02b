/* zc_view.h - the filetype of an MPI file view, as runs.  Pure: no MPI, no fabric.
 *
 * A view is one tile of visible pieces (offset in the tile, length) that is repeated every
 * `extent` bytes without end, from the displacement on.  The displacement is given with
 * each call, so one view serves every displacement.  All numbers are bytes:
 *
 *   view offset  counts visible bytes only, from the first one of the first tile
 *   file offset  an ordinary offset; tile t starts at displacement + t * extent
 *
 * How it is stored.  A node is a list of entries, repeated `count` times every `stride`
 * bytes; an entry is a piece or an earlier node.  The tile itself is a list of entries.
 * Take 20 pieces of 8 bytes, one every 32 bytes, in each of 50 rows of 4096 bytes:
 *
 *   node 0 = {piece of 8}, stride   32, count 20     one row, 160 visible bytes
 *   node 1 = {node 0},     stride 4096, count 50     all rows
 *   tile   = {node 1 at 0}
 *
 * View offset 2000 is 2000 / 160 = 12 rows and 80 bytes, that is 80 / 8 = 10 pieces and
 * 0 bytes: file offset 12 * 4096 + 10 * 32 = 49472.  The way back divides by the strides.
 *
 * Pieces go through levels.  Each looks for the shortest period (at most 16 entries) that
 * comes again often enough to pay for a node, swallows whatever continues it, and hands the
 * node to the next level, where runs of runs are found in the same way.  What repeats
 * nowhere stays in the list as it is: 8 bytes for each piece when all are equally long,
 * else 16.  A node is only made of so many pieces that no view costs more than 16 bytes a
 * piece (and a few hundred bytes in all), whatever its mixture.  The nodes depend on the
 * merged pieces and their order alone, hence so do the hash and the encoding.
 *
 * Functions return 0 or a negative errno, with a sentence from zc_errorf() where a user may
 * see it.  A view never changes after creation: any thread may use it at any time.
 */
#ifndef ZC_VIEW_H
#define ZC_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zc_extent.h"

struct zc_view;
struct zc_view_builder;
struct zc_vnode;

/* ---- making one --------------------------------------------------------------------- */

/* Pieces are added in the order of the filetype.  Offsets may be negative and must not
 * decrease (-EINVAL); pieces may overlap; empty ones are dropped, adjacent ones merged.
 * Offsets and ends beyond 2^62 either way: -EOVERFLOW.  An error stays: all later calls
 * return it.  Amortised O(1) for each piece; a run costs O(1) beyond its first dozen. */
int zc_view_builder_create(struct zc_view_builder **b);
int zc_view_add(struct zc_view_builder *b, int64_t off, int64_t len);
/* `count` pieces of `len` bytes, each `stride` (>= 0) after the one before. */
int zc_view_add_run(struct zc_view_builder *b, int64_t off, int64_t len, int64_t stride,
                    int64_t count);
/* Makes the view, with one reference, and frees the builder, in case of an error too.
 * `extent` must be positive unless there are no visible bytes. */
int zc_view_finish(struct zc_view_builder *b, int64_t extent, struct zc_view **v);
void zc_view_builder_destroy(struct zc_view_builder *b); /* instead of finish; NULL: no effect */

struct zc_view *zc_view_get(struct zc_view *v); /* one more reference */
void zc_view_put(struct zc_view *v);            /* releases one; the last frees; NULL: no effect */

/* ---- properties ------------------------------------------------------------------------ */

int64_t zc_view_size(const struct zc_view *v);    /* visible bytes of a tile */
int64_t zc_view_extent(const struct zc_view *v);  /* from one tile to the next */
int64_t zc_view_lower(const struct zc_view *v);   /* where the first piece of a tile starts */
int64_t zc_view_upper(const struct zc_view *v);   /* where the last of its bytes ends */
bool zc_view_contiguous(const struct zc_view *v); /* one piece, as long as the extent */
/* File offsets rise with view offsets: no piece overlaps another and no tile reaches into
 * the next.  When false, zc_view_before() does not work; everything else does, slower. */
bool zc_view_monotone(const struct zc_view *v);
size_t zc_view_memory(const struct zc_view *v); /* bytes allocated */

/* The same merged pieces and extent give the same hash, however they were added. */
struct zc_view_hash {
    uint64_t low, high;
};

struct zc_view_hash zc_view_hash(const struct zc_view *v);

/* ---- mappings ---------------------------------------------------------------------------
 * O(levels * log entries).  A negative displacement or view offset is -EINVAL. */

/* Returns the file offset of a visible byte.  -EOVERFLOW: beyond INT64_MAX.  -ERANGE: there are no
 * visible bytes. */
int zc_view_to_file(const struct zc_view *v, int64_t disp, int64_t view_off, int64_t *file_off);
/* Returns how many visible bytes lie before a file offset: the view offset of the first one at or
 * after it.  -ENOTSUP: the view is not monotone. */
int zc_view_before(const struct zc_view *v, int64_t disp, int64_t file_off, int64_t *view_off);

/* ---- piece by piece ---------------------------------------------------------------------- */

enum { ZC_VIEW_DEPTH = 12 }; /* nodes within nodes, the tile included */

/* Belongs to the caller, needs no destroying, keeps no reference.  Its fields are private. */
struct zc_view_iter {
    const struct zc_view *view;
    int64_t skip; /* bytes of the current piece that are done */
    int error;    /* returned by the next call */
    int depth;    /* frame in use: f[depth] */
    struct zc_view_frame {
        const struct zc_vnode *node;
        int64_t base;  /* file offset of this copy of the node's list */
        int64_t copy;  /* its index */
        uint32_t i, r; /* entry, and the first reference at or after it */
    } f[ZC_VIEW_DEPTH];
};

/* Starts an iteration.  Errors as for zc_view_to_file().  `it` may be uninitialised. */
int zc_view_start(struct zc_view_iter *it, const struct zc_view *v, int64_t disp, int64_t view_off);
/* Returns the next piece, or its first `max` (> 0) bytes.  Amortised O(1).  A contiguous view is
 * one endless piece.  -EOVERFLOW: the next tile reaches beyond INT64_MAX. */
int zc_view_next(struct zc_view_iter *it, int64_t max, int64_t *file_off, int64_t *len);

/* ---- copying -----------------------------------------------------------------------------
 * Copy `len` visible bytes from `view_off` on, contiguous in one buffer; the other buffer holds the
 * file bytes [file_off, file_off + file_len).  Bytes outside of it are skipped: their place in the
 * contiguous buffer is unchanged.  Return bytes copied, or a negative errno as above.  Buffers must
 * not overlap, and need no alignment. */
int64_t zc_view_scatter(const struct zc_view *v, int64_t disp, int64_t view_off, const void *src,
                        int64_t len, void *file, int64_t file_off, int64_t file_len);
int64_t zc_view_gather(const struct zc_view *v, int64_t disp, int64_t view_off, void *dst,
                       int64_t len, const void *file, int64_t file_off, int64_t file_len);

/* A growing array of byte ranges inside a page; zeroed initially; its owner frees `r`. */
struct zc_view_ranges {
    struct zc_range *r; /* sorted, disjoint, never adjacent */
    uint32_t n, cap;
};

/* Adds the ranges that the same scatter would write; lo and hi count from file_off.  file_len must
 * fit in 32 bits (-EINVAL).  The array stays sorted and merged; O(new ranges) if they lie behind
 * its contents.  -ENOMEM: nothing was added. */
int zc_view_touched(const struct zc_view *v, int64_t disp, int64_t view_off, int64_t len,
                    int64_t file_off, int64_t file_len, struct zc_view_ranges *out);

/* ---- on the wire --------------------------------------------------------------------------- */

size_t zc_view_encoded(const struct zc_view *v); /* bytes */
/* Encodes the view; -ENOSPC if `cap` is too small.  The result does not depend on byte order or
 * word size. */
int zc_view_encode(const struct zc_view *v, void *buf, size_t cap);
/* Returns the maximum memory needed to decode it. */
size_t zc_view_decoding(const struct zc_view *v);
/* Decodes untrusted bytes: -EPROTO unless all numbers are consistent, or if they would take more
 * than `memory` bytes; never takes more than 40 times `len` and a kilobyte. */
int zc_view_decode(const void *buf, size_t len, size_t memory, struct zc_view **v);

/* ---- lists: the pieces of one access ----------------------------------------------------------
 * A list is the encoding of a view whose tile is the pieces, the first of them at 0, without any
 * search for repetitions: fast to make and to decode, and used once. */

struct zc_view_list { /* private, but for: */
    unsigned char *buf, *at, *end;
    int64_t first;      /* offset of the first piece: the displacement to send with it */
    int64_t last, high; /* offset of the last one, and the end of all */
    int64_t bytes;      /* of all pieces */
    uint32_t n;
};

/* Begins a list in `buf`, of `cap` bytes, at least ZC_VIEW_LIST_MIN. */
enum { ZC_VIEW_LIST_MIN = 64 };
void zc_view_list_begin(struct zc_view_list *l, void *buf, size_t cap);
/* Adds a piece (len > 0, off + len no more than INT64_MAX); false: no room, or it begins before the
 * previous one. */
bool zc_view_list_add(struct zc_view_list *l, int64_t off, int64_t len);
/* Adds what is visible from `view_off` on, at most `max` bytes, as far as there is room.  Errors as
 * of zc_view_start(). */
int zc_view_list_fill(struct zc_view_list *l, const struct zc_view *v, int64_t disp,
                      int64_t view_off, int64_t max);
/* Completes the list, which has at least one piece; returns its bytes from buf[0] on. */
size_t zc_view_list_end(struct zc_view_list *l);
/* Returns the bytes from the start of the first piece to the end of all; 0 if that is damaged. */
uint64_t zc_view_list_span(const void *buf, size_t len);
/* As zc_view_decode(), but the view has no hash, and must not be used where one is needed. */
int zc_view_decode_list(const void *buf, size_t len, struct zc_view **v);

/* ---- slices: the part of a view for one of several servers of a file ---- */

/* Bytes [k * unit, (k + 1) * unit) of the file for every k with k % count == index. */
struct zc_view_slice {
    uint64_t unit;
    uint32_t count, index;
};

/* Whether every tile is cut like the first one, for any displacement. */
bool zc_view_slices_alike(const struct zc_view *v, const struct zc_view_slice *s);
/* Makes a view of what a view at `disp` shows of a slice in its first tile, and in all others if
 * they are alike.  It is used at the same displacement; its view offsets count its own bytes, which
 * zc_view_before() of it returns.  O(pieces).  -ENOTSUP: the view is not monotone. */
int zc_view_cut(const struct zc_view *v, int64_t disp, const struct zc_view_slice *s,
                struct zc_view **out);

#endif
