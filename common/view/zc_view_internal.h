/* zc_view_internal.h - the nodes of a view, for the files zc_view*.c and their test alone.
 *
 * Invariants of every node, the tile included, made by zc_vnode_take() and zc_vnode_close():
 *   1. entries do not decrease in offset and the first one is at 0
 *   2. an entry is a piece of at least one byte or a node made earlier
 *   3. unit, reach, unit * count and stride * (count - 1) + reach are at most ZC_VIEW_LIMIT
 *   4. depth <= ZC_VIEW_DEPTH
 * so that no sum inside a tile overflows.
 */
#ifndef ZC_VIEW_INTERNAL_H
#define ZC_VIEW_INTERNAL_H

#include "zc_view.h"

#define ZC_VIEW_LIMIT (INT64_C(1) << 62)

/* What an entry is, in one number: the length of a piece (> 0) or ~index of a node (< 0). */
typedef int64_t zc_vwhat;

struct zc_vent {
    int64_t off; /* from the start of the list */
    union {
        zc_vwhat what;  /* while the list is made */
        int64_t before; /* afterwards: visible bytes of the entries before */
    };
};

struct zc_vref {
    uint32_t at, node; /* entry `at` is this node */
};

/* A list, and its repetition. */
struct zc_vnode {
    int64_t stride, count; /* the tile: its extent, and without end */
    int64_t unit;          /* visible bytes of one copy of the list */
    int64_t reach;         /* one copy lies in [0, reach) */
    zc_vwhat what;         /* of every entry, or 0: they differ */
    union {
        int64_t *off;        /* what != 0: only offsets are kept */
        struct zc_vent *ent; /* what == 0: `before` tells the lengths of pieces */
    };
    struct zc_vref *refs; /* what == 0: which entries are nodes, sorted */
    uint32_t n, nrefs;
    uint16_t depth;
    bool monotone;
};

struct zc_view {
    struct zc_vnode tile; /* its entry 0 lies `lower` bytes after the tile's start */
    struct zc_vnode *nodes;
    int64_t lower;
    uint32_t nnodes;
    unsigned references; /* atomic */
    bool monotone, contiguous;
    size_t memory, encoded;
    struct zc_view_hash hash;
};

static inline int64_t zc_vnode_size(const struct zc_vnode *n)
{
    return n->unit * n->count;
}

static inline int64_t zc_vnode_span(const struct zc_vnode *n)
{
    return n->stride * (n->count - 1) + n->reach;
}

/* Visible bytes of one of the equal entries. */
static inline int64_t zc_vnode_each(const struct zc_vnode *nodes, const struct zc_vnode *n)
{
    return n->what > 0 ? n->what : zc_vnode_size(&nodes[~n->what]);
}

/* Visible bytes before entry i; i may be n. */
static inline int64_t zc_vnode_before(const struct zc_vnode *n, uint32_t i)
{
    return i < n->n ? n->ent[i].before : n->unit;
}

/* Adds displacement + tile * extent + at; false if that is no file offset. */
static inline bool zc_view_sum(const struct zc_view *v, int64_t disp, int64_t tile, int64_t at,
                               int64_t *sum)
{
    __int128 s = (__int128)tile * v->tile.stride + at + disp;

    *sum = (int64_t)s;
    return s == *sum;
}

/* Returns the first reference at or after entry i. */
uint32_t zc_vnode_ref(const struct zc_vnode *n, uint32_t i);
/* Returns the entry that holds visible byte x < unit of a list whose entries differ. */
uint32_t zc_vnode_find(const struct zc_vnode *n, int64_t x);

/* Turns n >= 1 items from malloc() into the list of a node, in place, and checks them; -EOVERFLOW,
 * -ENOMEM: the items are unchanged and stay the caller's. */
int zc_vnode_take(const struct zc_vnode *nodes, struct zc_vnode *node, struct zc_vent *items,
                  uint32_t n);
/* Repeats the list (count >= 2, stride >= 0); -EOVERFLOW. */
int zc_vnode_close(struct zc_vnode *node, int64_t stride, int64_t count);
/* Whether both have the same list and repetition.  Nodes in it are compared by index. */
bool zc_vnode_equal(const struct zc_vnode *a, const struct zc_vnode *b);
void zc_vnode_free(struct zc_vnode *node);

/* Nodes and items (offsets from the tile's start) that become a view; both from malloc(). */
struct zc_vtile {
    struct zc_vnode *nodes;
    uint32_t nnodes;
    struct zc_vent *items;
    uint32_t n;
};

void zc_vtile_free(struct zc_vtile *t);

/* Finds repetitions: see zc_view_fold.c.  Takes checked, merged pieces, in order. */
struct zc_vfold;
struct zc_vfold *zc_vfold_create(void);
void zc_vfold_destroy(struct zc_vfold *f);
int zc_vfold_add(struct zc_vfold *f, int64_t off, int64_t len);
/* True if a piece continues an open run, which then has it and count - 1 more. */
bool zc_vfold_absorb(struct zc_vfold *f, int64_t off, int64_t len, int64_t stride, int64_t count);
/* Ends the search; the result belongs to the caller, and no piece may be added any more. */
int zc_vfold_end(struct zc_vfold *f, struct zc_vtile *t);

/* Makes the view of a tile, which it takes over, and frees also after an error; not sealed yet. */
int zc_view_assemble(struct zc_vtile *t, int64_t extent, struct zc_view **out);

/* Sets hash and encoded. */
void zc_view_seal(struct zc_view *v);

enum { ZC_VIEW_FORMAT = 1, ZC_VARINT_MAX = 10 };

/* Writes a number at `at`, where ZC_VARINT_MAX bytes are free; returns the position behind it. */
static inline unsigned char *zc_varint_put(unsigned char *at, uint64_t x)
{
    for (; x > 0x7f; x >>= 7)
        *at++ = (unsigned char)(x | 0x80);
    *at++ = (unsigned char)x;
    return at;
}

/* Unit of work of the copy loops: `rows` times `count` pieces of the same list. */
struct zc_vchunk {
    int64_t off, len, stride; /* without offs and ents: a run; else `off` is their origin */
    int64_t count;
    int64_t bytes;              /* of a row */
    const int64_t *offs;        /* pieces of `len` bytes at these offsets */
    const struct zc_vent *ents; /* pieces that end where the next one's `before` starts */
    int64_t rows, row_stride;
};

/* Returns the next pieces, at most `max` > 0 bytes of them, never less than one piece or `max`. */
int zc_view_chunk(struct zc_view_iter *it, int64_t max, struct zc_vchunk *c);

#endif
