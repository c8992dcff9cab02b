/* zc_view_wire.c - a view as bytes; its hash; what makes two views equal.
 *
 * Numbers are unsigned varints: seven bits a byte, lowest first, the top bit says that more
 * follow.  S is a signed number s as (s << 1) ^ (s >> 63).
 *
 *   view  = version=1 nodes extent lower(S) node* tile
 *   node  = stride count list                       count >= 2
 *   tile  = list                                    the only one that may be empty
 *   list  = (entries << 1 | 0) what delta*          all entries are the same
 *         | (entries << 1 | 1) what (delta what)*   they differ
 *   what  = (length << 1 | 0) | (index of an earlier node << 1 | 1)
 *   delta = how much farther than the entry before; the first entry is at 0
 *
 * The hash is XXH3-128 over these bytes.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "zc_log.h"
#include "zc_view_internal.h"

/* ---- writing ---------------------------------------------------------------------------- */

/* Takes bytes to memory, or through a small buffer into a hash. */
struct sink {
    XXH3_state_t *hash;
    unsigned char *at, *end;
    unsigned char *start;
    size_t hashed;
};

static void sink_flush(struct sink *s)
{
    size_t n = (size_t)(s->at - s->start);

    if (s->hash) {
        XXH3_128bits_update(s->hash, s->start, n);
        s->hashed += n;
        s->at = s->start;
    }
}

static inline void put(struct sink *s, uint64_t x)
{
    unsigned char b[ZC_VARINT_MAX];
    size_t n;

    if (s->end - s->at >= ZC_VARINT_MAX) {
        s->at = zc_varint_put(s->at, x);
        return;
    }
    n = (size_t)(zc_varint_put(b, x) - b);
    if ((size_t)(s->end - s->at) < n)
        sink_flush(s);
    memcpy(s->at, b, n);
    s->at += n;
}

static inline uint64_t what_bits(zc_vwhat what)
{
    return what > 0 ? (uint64_t)what << 1 : (uint64_t)~what << 1 | 1;
}

static void put_list(struct sink *s, const struct zc_vnode *n)
{
    uint32_t r = 0;

    if (n->what != 0 || n->n == 0) {
        put(s, (uint64_t)n->n << 1);
        if (n->n > 0)
            put(s, what_bits(n->what));
        for (uint32_t i = 1; i < n->n; i++)
            put(s, (uint64_t)(n->off[i] - n->off[i - 1]));
        return;
    }
    put(s, (uint64_t)n->n << 1 | 1);
    for (uint32_t i = 0; i < n->n; i++) {
        if (i > 0)
            put(s, (uint64_t)(n->ent[i].off - n->ent[i - 1].off));
        if (r < n->nrefs && n->refs[r].at == i)
            put(s, what_bits(~(zc_vwhat)n->refs[r++].node));
        else
            put(s, what_bits(zc_vnode_before(n, i + 1) - n->ent[i].before));
    }
}

static void put_view(struct sink *s, const struct zc_view *v)
{
    put(s, ZC_VIEW_FORMAT);
    put(s, v->nnodes);
    put(s, (uint64_t)v->tile.stride);
    put(s, (uint64_t)v->lower << 1 ^ (v->lower < 0 ? UINT64_MAX : 0));
    for (uint32_t i = 0; i < v->nnodes; i++) {
        put(s, (uint64_t)v->nodes[i].stride);
        put(s, (uint64_t)v->nodes[i].count);
        put_list(s, &v->nodes[i]);
    }
    put_list(s, &v->tile);
}

void zc_view_seal(struct zc_view *v)
{
    unsigned char buf[1024];
    XXH3_state_t state;
    struct sink s = {.hash = &state, .at = buf, .start = buf, .end = buf + sizeof(buf)};
    XXH128_hash_t h;

    XXH3_128bits_reset(&state);
    put_view(&s, v);
    sink_flush(&s);
    h = XXH3_128bits_digest(&state);
    v->hash = (struct zc_view_hash){.low = h.low64, .high = h.high64};
    v->encoded = s.hashed;
}

size_t zc_view_encoded(const struct zc_view *v)
{
    return v->encoded;
}

int zc_view_encode(const struct zc_view *v, void *buf, size_t cap)
{
    struct sink s = {.at = buf, .start = buf, .end = (unsigned char *)buf + cap};

    if (cap < v->encoded)
        return -ENOSPC;
    put_view(&s, v); /* never more than `encoded`, so nothing is ever flushed */
    return 0;
}

/* ---- reading ---------------------------------------------------------------------------- */

struct source {
    const unsigned char *at, *end;
    size_t room;          /* bytes of memory that may still be taken */
    struct zc_vtile tile; /* decoded so far: whole nodes, then the whole list of items */
};

static int damaged(const char *what)
{
    return zc_errorf(EPROTO, "a view was sent in bytes that make no sense: %s", what);
}

/* The memory for nodes, for the list of one, and for an entry of it that is a node. */
static size_t nodes_memory(uint64_t nodes)
{
    return sizeof(struct zc_view) + nodes * sizeof(struct zc_vnode);
}

static size_t list_memory(uint64_t n)
{
    return n > 0 ? 4 * sizeof(void *) + n * sizeof(struct zc_vent) : 0;
}

enum { REF_MEMORY = sizeof(struct zc_vref) };

static int take(struct source *s, size_t bytes)
{
    if (bytes > s->room)
        return damaged("it takes more memory than it was said to");
    s->room -= bytes;
    return 0;
}

static size_t vnode_decoding(const struct zc_vnode *n)
{
    return list_memory(n->n) + (n->what < 0 ? REF_MEMORY : n->nrefs * REF_MEMORY);
}

size_t zc_view_decoding(const struct zc_view *v)
{
    size_t bytes = nodes_memory(v->nnodes) + vnode_decoding(&v->tile);

    for (uint32_t i = 0; i < v->nnodes; i++)
        bytes += vnode_decoding(&v->nodes[i]);
    return bytes;
}

static int get_long(struct source *s, uint64_t *x)
{
    *x = 0;
    for (unsigned shift = 0; s->at < s->end && shift < 64; shift += 7) {
        unsigned char b = *s->at++;

        if (shift == 63 && b > 1)
            break;
        *x |= (uint64_t)(b & 0x7f) << shift;
        if (b < 0x80)
            return b == 0 && shift > 0 ? damaged("a number in too many bytes") : 0;
    }
    return damaged("a number without end");
}

/* Most numbers of a long list are short. */
static inline int get(struct source *s, uint64_t *x)
{
    if (s->at < s->end && *s->at < 0x80) {
        *x = *s->at++;
        return 0;
    }
    return get_long(s, x);
}

static int get_limited(struct source *s, int64_t *x)
{
    uint64_t y;
    int rc = get(s, &y);

    if (rc == 0 && y > ZC_VIEW_LIMIT)
        rc = damaged("a number is too large");
    *x = (int64_t)y;
    return rc;
}

static int get_what(struct source *s, zc_vwhat *what)
{
    uint64_t x;
    int rc = get(s, &x);

    if (rc < 0)
        return rc;
    if (x & 1) {
        if (x >> 1 >= s->tile.nnodes)
            return damaged("a node that is not known yet");
        *what = ~(zc_vwhat)(x >> 1);
        return take(s, REF_MEMORY);
    }
    if (x == 0 || x >> 1 > ZC_VIEW_LIMIT)
        return damaged("the length of a piece");
    *what = (zc_vwhat)(x >> 1);
    return 0;
}

/* Reads items of a list of n >= 1, the first at `first`. */
static int get_items(struct source *s, bool differ, int64_t first, struct zc_vent *items,
                     uint32_t n)
{
    int rc = get_what(s, &items[0].what);

    items[0].off = first;
    for (uint32_t i = 1; i < n && rc == 0; i++) {
        int64_t delta;

        rc = get_limited(s, &delta);
        if (rc == 0 && delta > ZC_VIEW_LIMIT - 1 - items[i - 1].off)
            rc = damaged("an offset is too large");
        if (rc < 0)
            return rc;
        items[i].off = items[i - 1].off + delta;
        items[i].what = items[0].what;
        if (differ)
            rc = get_what(s, &items[i].what);
    }
    return rc;
}

/* Reads n entries into *items, from malloc(); NULL when there are none.  Each needs a byte at least
 * (two when they differ, but for the first), so memory is only taken for what has come. */
static int get_list(struct source *s, int64_t first, struct zc_vent **items, uint32_t *n)
{
    uint64_t head, left;
    bool differ;
    int rc = get(s, &head);

    *items = NULL;
    *n = 0;
    if (rc < 0)
        return rc;
    differ = head & 1;
    head >>= 1;
    if (head == 0)
        return differ ? damaged("an empty list") : 0;
    left = (uint64_t)(s->end - s->at);
    if (head > (differ ? (left + 1) / 2 : left) || head > UINT32_MAX)
        return damaged("a list is longer than its bytes");
    rc = take(s, list_memory(head));
    if (rc < 0)
        return rc;
    *items = malloc(head * sizeof(**items));
    if (!*items)
        return -ENOMEM;
    *n = (uint32_t)head;
    rc = get_items(s, differ, first, *items, *n);
    if (rc < 0) {
        free(*items);
        *items = NULL;
    }
    return rc;
}

static int get_node(struct source *s)
{
    struct zc_vnode *node = &s->tile.nodes[s->tile.nnodes];
    int64_t stride, count = 0;
    struct zc_vent *items;
    uint32_t n;
    int rc = get_limited(s, &stride);

    if (rc == 0)
        rc = get_limited(s, &count);
    if (rc == 0 && count < 2)
        rc = damaged("a node that does not repeat");
    if (rc == 0)
        rc = get_list(s, 0, &items, &n);
    if (rc < 0)
        return rc;
    if (n == 0)
        return damaged("a node without entries");
    rc = zc_vnode_take(s->tile.nodes, node, items, n);
    if (rc < 0) {
        free(items);
    } else {
        rc = zc_vnode_close(node, stride, count);
        if (rc < 0)
            zc_vnode_free(node);
    }
    if (rc == -EOVERFLOW)
        return damaged("a node is too large or too deep");
    s->tile.nnodes += rc == 0;
    return rc;
}

static int get_lower(struct source *s, int64_t *lower)
{
    uint64_t x;
    int rc = get(s, &x);

    *lower = (int64_t)(x >> 1 ^ (x & 1 ? UINT64_MAX : 0));
    if (rc == 0 && (*lower < -ZC_VIEW_LIMIT || *lower >= ZC_VIEW_LIMIT))
        rc = damaged("the lower bound of the tile");
    return rc;
}

/* Reads the part before the nodes, and makes room for these.  A node needs four bytes. */
static int get_head(struct source *s, uint64_t *nodes, int64_t *extent, int64_t *lower)
{
    uint64_t version;
    int rc = get(s, &version);

    if (rc == 0 && version != ZC_VIEW_FORMAT)
        rc = damaged("an unknown version");
    if (rc == 0)
        rc = get(s, nodes);
    if (rc == 0 && *nodes > (uint64_t)(s->end - s->at) / 4)
        rc = damaged("more nodes than bytes");
    if (rc == 0)
        rc = get_limited(s, extent);
    if (rc == 0)
        rc = get_lower(s, lower);
    if (rc == 0)
        rc = take(s, nodes_memory(*nodes));
    if (rc < 0 || *nodes == 0)
        return rc;
    s->tile.nodes = malloc(*nodes * sizeof(*s->tile.nodes));
    return s->tile.nodes ? 0 : -ENOMEM;
}

static int decode(struct source *s, struct zc_view **v)
{
    struct zc_vtile *t = &s->tile;
    uint64_t nodes = 0;
    int64_t extent = 0, lower = 0;
    int rc = get_head(s, &nodes, &extent, &lower);

    while (rc == 0 && t->nnodes < nodes)
        rc = get_node(s);
    if (rc == 0)
        rc = get_list(s, lower, &t->items, &t->n);
    if (rc == 0 && s->at != s->end)
        rc = damaged("bytes are left over");
    if (rc == 0 && (t->n == 0 ? lower != 0 || nodes > 0 : extent == 0))
        rc = damaged("a tile of nothing");
    if (rc < 0) {
        zc_vtile_free(t);
        return rc;
    }
    rc = zc_view_assemble(t, extent, v);
    return rc == -EOVERFLOW ? damaged("the tile is too large") : rc;
}

int zc_view_decode(const void *buf, size_t len, size_t memory, struct zc_view **v)
{
    struct source s = {.at = buf, .end = (const unsigned char *)buf + len, .room = memory};
    int rc = decode(&s, v);

    if (rc == 0)
        zc_view_seal(*v);
    return rc;
}

int zc_view_decode_list(const void *buf, size_t len, struct zc_view **v)
{
    struct source s = {.at = buf, .end = (const unsigned char *)buf + len, .room = SIZE_MAX};

    return decode(&s, v);
}

uint64_t zc_view_list_span(const void *buf, size_t len)
{
    struct source s = {.at = buf, .end = (const unsigned char *)buf + len};
    uint64_t version, nodes;
    int64_t extent;

    if (get(&s, &version) || get(&s, &nodes) || get_limited(&s, &extent))
        return 0;
    return (uint64_t)extent;
}
