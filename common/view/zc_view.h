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
void zc_view_builder_destroy(struct zc_view_builder *b); /* instead of finish; NULL is fine */

/* The three in one; the arrays stay the caller's. */
int zc_view_create(const int64_t *off, const int64_t *len, size_t n, int64_t extent,
                   struct zc_view **v);

struct zc_view *zc_view_get(struct zc_view *v); /* one more reference */
void zc_view_put(struct zc_view *v);            /* one less; the last frees; NULL is fine */

/* ---- what it is ------------------------------------------------------------------------ */

int64_t zc_view_size(const struct zc_view *v);    /* visible bytes of a tile */
int64_t zc_view_extent(const struct zc_view *v);  /* from one tile to the next */
int64_t zc_view_lower(const struct zc_view *v);   /* where the first piece of a tile starts */
int64_t zc_view_upper(const struct zc_view *v);   /* where the last of its bytes ends */
bool zc_view_contiguous(const struct zc_view *v); /* one piece, as long as the extent */
/* File offsets rise with view offsets: no piece overlaps another and no tile reaches into
 * the next.  When false, zc_view_before() does not work; everything else does, slower. */
bool zc_view_monotone(const struct zc_view *v);
size_t zc_view_memory(const struct zc_view *v); /* bytes allocated */
size_t zc_view_nodes(const struct zc_view *v);  /* nodes and entries of their lists */

/* The same merged pieces and extent give the same hash, however they were added. */
struct zc_view_hash {
    uint64_t low, high;
};

struct zc_view_hash zc_view_hash(const struct zc_view *v);
bool zc_view_equal(const struct zc_view *a, const struct zc_view *b); /* O(entries) */

/* ---- mappings ---------------------------------------------------------------------------
 * O(levels * log entries).  A negative displacement or view offset is -EINVAL. */

/* The file offset of a visible byte.  -EOVERFLOW: beyond INT64_MAX.  -ERANGE: there are no
 * visible bytes. */
int zc_view_to_file(const struct zc_view *v, int64_t disp, int64_t view_off, int64_t *file_off);
/* How many visible bytes lie before a file offset, which is the view offset of the first one
 * at or after it.  -ENOTSUP: the view is not monotone. */
int zc_view_before(const struct zc_view *v, int64_t disp, int64_t file_off, int64_t *view_off);

/* ---- piece by piece ---------------------------------------------------------------------- */

enum { ZC_VIEW_DEPTH = 12 }; /* nodes within nodes, the tile included */

/* Belongs to the caller, needs no destroying, keeps no reference.  Its fields are private. */
struct zc_view_iter {
    const struct zc_view *view;
    int64_t skip; /* bytes of the current piece that are behind us */
    int error;    /* what the next call returns */
    int depth;    /* frame in use: f[depth] */
    struct zc_view_frame {
        const struct zc_vnode *node;
        int64_t base;  /* file offset of this copy of the node's list */
        int64_t copy;  /* which one it is */
        uint32_t i, r; /* entry, and the first reference at or after it */
    } f[ZC_VIEW_DEPTH];
};

/* Errors as for zc_view_to_file().  Memory that `it` points to may be uninitialised. */
int zc_view_start(struct zc_view_iter *it, const struct zc_view *v, int64_t disp, int64_t view_off);
/* The next piece, or its first `max` (> 0) bytes.  Amortised O(1).  A contiguous view is one
 * endless piece.  -EOVERFLOW: the next tile reaches beyond INT64_MAX. */
int zc_view_next(struct zc_view_iter *it, int64_t max, int64_t *file_off, int64_t *len);

/* ---- copying -----------------------------------------------------------------------------
 * `len` visible bytes from `view_off` on, contiguous in one buffer; the other buffer holds
 * the file bytes [file_off, file_off + file_len).  Bytes that fall outside are passed over:
 * their place in the contiguous buffer stays what it is.  Return bytes copied, or a negative
 * errno as above.  Buffers must not overlap; nothing needs to be aligned. */
int64_t zc_view_scatter(const struct zc_view *v, int64_t disp, int64_t view_off, const void *src,
                        int64_t len, void *file, int64_t file_off, int64_t file_len);
int64_t zc_view_gather(const struct zc_view *v, int64_t disp, int64_t view_off, void *dst,
                       int64_t len, const void *file, int64_t file_off, int64_t file_len);

/* A growing array of byte ranges inside a page; zeroed to begin with, `r` freed by whoever
 * owns it. */
struct zc_view_ranges {
    struct zc_range *r; /* sorted, disjoint, never adjacent */
    uint32_t n, cap;
};

/* Adds what the same scatter would write; lo and hi count from file_off.  file_len must fit
 * in 32 bits (-EINVAL).  The array stays sorted and merged, at the end of it in O(ranges)
 * when its content lies before what is new.  -ENOMEM: nothing was added. */
int zc_view_touched(const struct zc_view *v, int64_t disp, int64_t view_off, int64_t len,
                    int64_t file_off, int64_t file_len, struct zc_view_ranges *out);

/* ---- on the wire --------------------------------------------------------------------------- */

size_t zc_view_encoded(const struct zc_view *v); /* bytes */
/* Writes them; -ENOSPC when `cap` is less.  Byte order and word size do not matter. */
int zc_view_encode(const struct zc_view *v, void *buf, size_t cap);
/* Memory that decoding it takes, at most. */
size_t zc_view_decoding(const struct zc_view *v);
/* From bytes that may be damaged or made to harm: -EPROTO unless every number in them holds
 * together, and where they would take more than `memory` bytes; never more than 40 times `len` and
 * a kilobyte. */
int zc_view_decode(const void *buf, size_t len, size_t memory, struct zc_view **v);

/* ---- lists: what one access touches ----------------------------------------------------------
 * A list is the encoding of a view whose tile is the pieces, the first of them at 0, without any
 * search for what repeats: quickly made, quickly decoded, used once. */

struct zc_view_list { /* private, but for: */
    unsigned char *buf, *at, *end;
    int64_t first;      /* where the first piece lies: the displacement it is sent with */
    int64_t last, high; /* the last one's offset, and where they all end */
    int64_t bytes;      /* of all pieces */
    uint32_t n;
};

/* Begins one in `buf`, of `cap` bytes, at least ZC_VIEW_LIST_MIN. */
enum { ZC_VIEW_LIST_MIN = 64 };
void zc_view_list_begin(struct zc_view_list *l, void *buf, size_t cap);
/* One piece more (len > 0, off + len no more than INT64_MAX); false: there is no room, or it begins
 * before the one before. */
bool zc_view_list_add(struct zc_view_list *l, int64_t off, int64_t len);
/* What is visible from `view_off` on, `max` bytes of it at most, as far as there is room.  Errors
 * as of zc_view_start(). */
int zc_view_list_fill(struct zc_view_list *l, const struct zc_view *v, int64_t disp,
                      int64_t view_off, int64_t max);
/* Bytes of the list, from buf[0] on; it has a piece at least. */
size_t zc_view_list_end(struct zc_view_list *l);
/* As zc_view_decode(), but the view has no hash: what needs one must not be asked of it. */
int zc_view_decode_list(const void *buf, size_t len, struct zc_view **v);

/* ---- slices: what one of those needs among whom a file is divided -----------------------------
 */

/* Bytes [k * unit, (k + 1) * unit) of the file for every k with k % count == turn. */
struct zc_view_slice {
    uint64_t unit;
    uint32_t count, turn;
};

/* Every tile is cut as the first one is, wherever the view is put. */
bool zc_view_slices_alike(const struct zc_view *v, const struct zc_view_slice *s);
/* What a view at `disp` shows of a slice in its first tile; and in the others, if they are alike.
 * A view of its own, to be put at the same displacement: its view offsets count its own bytes, and
 * zc_view_before() of it tells them.  O(pieces).  -ENOTSUP: the view is not monotone. */
int zc_view_cut(const struct zc_view *v, int64_t disp, const struct zc_view_slice *s,
                struct zc_view **out);

#endif
