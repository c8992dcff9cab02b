/* zc_view_fold.c - finds what repeats in a sequence of pieces: the levels of the builder.
 *
 * A level gets items (a piece, or a node of the level below, at an offset) and keeps the
 * last WINDOW of them.  For each period p <= PERIODS it counts the streak: how many of the
 * latest items are what the item p places earlier is, all shifted by the same distance.
 * When whole periods of a streak weigh MIN_WEIGHT, the items of that region become an open
 * run, which swallows all that continues it and then goes, as one node, to the next level.
 * Items that leave the window go to the next level as they are; what leaves the last level
 * is an entry of the tile.
 *
 * Why every n-dimensional grid of pieces collapses: dimensions of m pieces in all that made
 * no run yet have m < 1 + MIN_WEIGHT (their last dimension of n >= 2 gives a streak of
 * (n-1) m' >= MIN_WEIGHT otherwise), so the next dimension repeats a period <= PERIODS.
 *
 * Why a node pays: a piece weighs 1 and costs an entry of 16 bytes; a node weighs NODE_WEIGHT,
 * less than the pieces it has.  Replacing `count` copies of items that weigh w saves at least
 * 16 w (count - 1) >= 144 bytes: the node, its reference and its entry.
 *
 * Streaks are counted by steps: what an item is and how far it is to the next one.  A streak
 * of s equal steps is one of s + 1 items, if the last of them is equal too.  Each step has a
 * tag of one byte; the tags of the last 16 steps sit in two words, so that one look tells
 * which few periods are worth a comparison.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_view_internal.h"

enum {
    LEVELS = 8,
    PERIODS = 16, /* as many tags as two words have */
    WINDOW = 32,  /* a power of two, >= the longest region: PERIODS + 16 */
    MIN_WEIGHT = 9,
    NODE_WEIGHT = 5,
    KNOWN = 256, /* nodes that new ones are compared with; a power of two */
};

_Static_assert(LEVELS + 1 <= ZC_VIEW_DEPTH, "the tile and a node of each level");
_Static_assert(sizeof(struct zc_vnode) + sizeof(struct zc_vref) + sizeof(struct zc_vent) +
                       2 * sizeof(void *) <=
                   16 * MIN_WEIGHT,
               "a node saves what it costs");

struct streak {
    unsigned steps, weight;
};

struct level {
    struct zc_vent window[WINDOW];
    uint64_t seen;    /* items ever put there; the next goes to seen % WINDOW */
    unsigned held;    /* the latest of them are here */
    unsigned nodes;   /* of these: nodes */
    uint64_t tags[2]; /* of the latest steps, the last one lowest */
    uint32_t live;    /* bit p: streak[p] counts something */
    struct streak streak[PERIODS + 1];

    unsigned period; /* > 0: a run is open and the window is empty */
    unsigned next;   /* the item of the period that would continue it */
    int64_t shift, count;
    struct zc_vent item[PERIODS];
};

struct zc_vfold {
    struct level level[LEVELS];
    int active;            /* levels above have had no node yet and let all items pass */
    struct zc_vent *items; /* of the tile */
    uint32_t n, cap;
    struct zc_vnode *nodes;
    uint32_t nnodes, nodes_cap;
    uint32_t known[KNOWN]; /* by hash, index + 1 */
};

static int feed(struct zc_vfold *b, int k, struct zc_vent it);

/* ---- the tile and the nodes ------------------------------------------------------------- */

static int tile_add(struct zc_vfold *b, struct zc_vent it)
{
    if (b->n == b->cap) {
        uint64_t cap = b->cap + (uint64_t)b->cap / 2 + 16;
        struct zc_vent *items;

        if (b->n == UINT32_MAX)
            return -E2BIG;
        if (cap > UINT32_MAX)
            cap = UINT32_MAX;
        items = realloc(b->items, cap * sizeof(*items));
        if (!items)
            return -ENOMEM;
        b->items = items;
        b->cap = (uint32_t)cap;
    }
    b->items[b->n++] = it;
    return 0;
}

static uint64_t mix(uint64_t a, uint64_t b)
{
    a = (a ^ b * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xbf58476d1ce4e5b9);
    return a ^ a >> 32;
}

/* Returns the index of a node; takes it, or frees it when there is an equal one. */
static int node_index(struct zc_vfold *b, struct zc_vnode *node, zc_vwhat *what)
{
    uint64_t hash = mix(mix((uint64_t)node->stride, (uint64_t)node->count),
                        mix((uint64_t)node->what, (uint64_t)node->reach));
    uint32_t *slot = &b->known[hash % KNOWN];

    if (*slot > 0 && zc_vnode_equal(&b->nodes[*slot - 1], node)) {
        zc_vnode_free(node);
        *what = ~(zc_vwhat)(*slot - 1);
        return 0;
    }
    if (b->nnodes == b->nodes_cap) {
        uint32_t cap = b->nodes_cap + b->nodes_cap / 2 + 4;
        struct zc_vnode *nodes;

        if (cap > INT32_MAX)
            return -E2BIG;
        nodes = realloc(b->nodes, cap * sizeof(*nodes));
        if (!nodes)
            return -ENOMEM;
        b->nodes = nodes;
        b->nodes_cap = cap;
    }
    b->nodes[b->nnodes++] = *node;
    *slot = b->nnodes;
    *what = ~(zc_vwhat)(b->nnodes - 1);
    return 0;
}

static int make_node(struct zc_vfold *b, const struct level *l, zc_vwhat *what)
{
    struct zc_vent *items = malloc(l->period * sizeof(*items));
    struct zc_vnode node;
    int rc;

    if (!items)
        return -ENOMEM;
    for (unsigned i = 0; i < l->period; i++)
        items[i] =
            (struct zc_vent){.off = l->item[i].off - l->item[0].off, .what = l->item[i].what};
    rc = zc_vnode_take(b->nodes, &node, items, l->period);
    if (rc < 0) {
        free(items);
        return rc;
    }
    rc = zc_vnode_close(&node, l->shift, l->count);
    if (rc == 0)
        rc = node_index(b, &node, what);
    if (rc < 0)
        zc_vnode_free(&node);
    return rc;
}

/* ---- streaks ---------------------------------------------------------------------------- */

static struct zc_vent *item_back(struct level *l, unsigned back)
{
    return &l->window[(l->seen - 1 - back) % WINDOW];
}

static unsigned weight_of(zc_vwhat what)
{
    return what < 0 ? NODE_WEIGHT : 1;
}

/* Bit i: byte i of `word` is `tag`. */
static uint32_t tag_matches(uint64_t word, uint64_t tag)
{
    const uint64_t low7 = UINT64_C(0x7f7f7f7f7f7f7f7f);
    uint64_t x = word ^ tag * UINT64_C(0x0101010101010101);

    /* the top bit of each byte that is zero, then these bits side by side */
    x = ~(((x & low7) + low7) | x | low7) >> 7;
    return (uint32_t)(x * UINT64_C(0x0102040810204080) >> 56);
}

/* Notes the step that ends at the latest item.  Bit p of the result: it may be equal to the step p
 * places earlier. */
static uint32_t note_step(struct level *l)
{
    const struct zc_vent *last = item_back(l, 0), *before = item_back(l, 1);
    uint64_t tag = mix((uint64_t)before->what, (uint64_t)(last->off - before->off)) >> 16 & 0xff;
    uint32_t match = tag_matches(l->tags[0], tag) | tag_matches(l->tags[1], tag) << 8;

    l->tags[1] = l->tags[1] << 8 | l->tags[0] >> 56;
    l->tags[0] = l->tags[0] << 8 | tag;
    return match << 1;
}

static bool same_step(struct level *l, unsigned p)
{
    const struct zc_vent *before = item_back(l, 1), *other = item_back(l, p + 1);

    return before->what == other->what &&
           item_back(l, 0)->off - before->off == item_back(l, p)->off - other->off;
}

/* Returns the period of a streak that the latest item made worth a run, or 0. */
static unsigned follow_streaks(struct level *l)
{
    const zc_vwhat what = item_back(l, 0)->what;
    const unsigned weight = weight_of(what), step = weight_of(item_back(l, 1)->what);
    uint32_t match = note_step(l), was_live = l->live;

    /* there are steps enough before this one: p + 2 <= held */
    match &= (UINT32_C(1) << (l->held > PERIODS + 1 ? PERIODS + 1 : l->held - 1)) - 1;
    for (l->live = 0; match != 0; match &= match - 1) {
        unsigned p = (unsigned)__builtin_ctz(match);
        struct streak *s = &l->streak[p];

        if (!same_step(l, p))
            continue;
        if (!(was_live >> p & 1))
            *s = (struct streak){0, 0};
        l->live |= UINT32_C(1) << p;
        s->steps++;
        s->weight += step;
        if (s->weight + weight >= MIN_WEIGHT && (s->steps + 1) % p == 0 &&
            what == item_back(l, p)->what)
            return p;
    }
    return 0;
}

/* ---- a level ---------------------------------------------------------------------------- */

/* Sends the `n` oldest items of level k on. */
static int send_on(struct zc_vfold *b, int k, unsigned n)
{
    struct level *l = &b->level[k];
    int rc = 0;

    for (unsigned i = 0; i < n && rc == 0; i++) {
        struct zc_vent it = *item_back(l, l->held - 1);

        l->held--;
        l->nodes -= it.what < 0;
        rc = feed(b, k + 1, it);
    }
    return rc;
}

/* Makes the latest items, which are whole periods, the open run. */
static int open_run(struct zc_vfold *b, int k, unsigned period)
{
    struct level *l = &b->level[k];
    unsigned region = l->streak[period].steps + 1 + period;
    int rc;

    l->shift = item_back(l, 0)->off - item_back(l, period)->off;
    l->count = region / period;
    for (unsigned i = 0; i < period; i++)
        l->item[i] = *item_back(l, region - 1 - i);
    rc = send_on(b, k, l->held - region);
    l->period = period;
    l->next = 0;
    l->held = l->nodes = l->live = 0;
    return rc;
}

/* Returns where item i of the period would continue the open run.  What is beyond the limits wraps
 * to an offset that no piece may have. */
static int64_t expected(const struct level *l, unsigned i)
{
    return (int64_t)((uint64_t)l->item[i].off + (uint64_t)l->shift * (uint64_t)l->count);
}

static bool continues(const struct level *l, struct zc_vent it)
{
    return it.what == l->item[l->next].what && it.off == expected(l, l->next);
}

/* Sends the run on as a node; items of an incomplete period come in again. */
static int close_run(struct zc_vfold *b, int k)
{
    struct level *l = &b->level[k];
    struct zc_vent rest[PERIODS], node = {.off = l->item[0].off};
    unsigned n = l->next;
    int rc = make_node(b, l, &node.what);

    for (unsigned i = 0; i < n; i++)
        rest[i] = (struct zc_vent){.off = expected(l, i), .what = l->item[i].what};
    l->period = 0;
    if (rc == 0) {
        if (b->active <= k && k + 1 < LEVELS)
            b->active = k + 1;
        rc = feed(b, k + 1, node);
    }
    for (unsigned i = 0; i < n && rc == 0; i++)
        rc = feed(b, k, rest[i]);
    return rc;
}

static int feed(struct zc_vfold *b, int k, struct zc_vent it)
{
    struct level *l;
    unsigned period = 0;
    int rc;

    if (k > b->active || k == LEVELS)
        return tile_add(b, it);
    l = &b->level[k];
    while (l->period > 0) {
        if (continues(l, it)) {
            if (++l->next == l->period) {
                l->next = 0;
                l->count++;
            }
            return 0;
        }
        rc = close_run(b, k); /* what comes in again may open a shorter one */
        if (rc < 0)
            return rc;
    }
    if (l->held == WINDOW) {
        rc = send_on(b, k, 1);
        if (rc < 0)
            return rc;
    }
    l->window[l->seen++ % WINDOW] = it;
    l->held++;
    l->nodes += it.what < 0;
    if (l->held == 1)
        return 0;
    if (k == 0 || l->nodes > 0) {
        period = follow_streaks(l);
    } else { /* pieces alone: the first level has seen to them */
        note_step(l);
        l->live = 0;
    }
    return period > 0 ? open_run(b, k, period) : 0;
}

/* ---- what the builder calls -------------------------------------------------------------- */

struct zc_vfold *zc_vfold_create(void)
{
    return calloc(1, sizeof(struct zc_vfold));
}

void zc_vfold_destroy(struct zc_vfold *b)
{
    if (!b)
        return;
    for (uint32_t i = 0; i < b->nnodes; i++)
        zc_vnode_free(&b->nodes[i]);
    free(b->nodes);
    free(b->items);
    free(b);
}

int zc_vfold_add(struct zc_vfold *b, int64_t off, int64_t len)
{
    return feed(b, 0, (struct zc_vent){.off = off, .what = len});
}

bool zc_vfold_absorb(struct zc_vfold *b, int64_t off, int64_t len, int64_t stride, int64_t count)
{
    struct level *l = &b->level[0];

    if (l->period != 1 || l->shift != stride ||
        !continues(l, (struct zc_vent){.off = off, .what = len}))
        return false;
    l->count += count;
    return true;
}

int zc_vfold_end(struct zc_vfold *b, struct zc_vtile *t)
{
    int rc = 0;

    for (int k = 0; k < LEVELS; k++) { /* each into those above */
        while (rc == 0 && (b->level[k].period > 0 || b->level[k].held > 0))
            rc = b->level[k].period > 0 ? close_run(b, k) : send_on(b, k, b->level[k].held);
    }
    if (rc < 0)
        return rc;
    *t = (struct zc_vtile){b->nodes, b->nnodes, b->items, b->n};
    b->nodes = NULL;
    b->items = NULL;
    b->nnodes = b->n = 0;
    return 0;
}
