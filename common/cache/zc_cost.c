/* zc_cost.c - a cost model of store calls. */
#include "config.h"

#include "zc_cost.h"

static const double prior_request = 200000, prior_per_byte = 5;
/* Lower bounds, so that noise never makes a thousand small calls, or gaps, look free. */
static const double request_least = 5000, per_byte_least = 0.02;
static const double weight = 1. / 16; /* of a new call */

/* ---- measurements ---- */

static void move(double *mean, double to, double least)
{
    *mean += weight * (to - *mean);
    if (*mean < least)
        *mean = least;
}

void zc_cost_add(struct zc_cost_fit *f, uint64_t bytes, uint64_t ns)
{
    double y = (double)ns, x = (double)bytes;

    if (bytes <= ZC_COST_SMALL)
        move(&f->request, y - x * f->per_byte, request_least);
    else if (bytes >= ZC_COST_LARGE)
        move(&f->per_byte, (y - f->request) / x, per_byte_least);
}

void zc_cost_init(struct zc_cost *c)
{
    c->reads = c->writes = (struct zc_cost_fit){prior_request, prior_per_byte};
}

/* ---- the choice ---- */

static double calls(const struct zc_cost_fit *f, uint64_t requests, uint64_t bytes)
{
    return (double)requests * f->request + (double)bytes * f->per_byte;
}

double zc_cost_of(const struct zc_cost *c, const struct zc_cost_shape *s, enum zc_cost_way way)
{
    switch (way) {
    case ZC_COST_LIST:
        return calls(&c->writes, s->ranges, s->bytes);
    case ZC_COST_MERGE:
        return calls(&c->reads, 1, s->hull) + calls(&c->writes, 1, s->hull);
    case ZC_COST_FRESH:
        break;
    }
    return calls(&c->writes, 1, s->hull);
}

enum zc_cost_way zc_cost_choose(const struct zc_cost *c, const struct zc_cost_shape *s)
{
    enum zc_cost_way hull = s->fresh ? ZC_COST_FRESH : ZC_COST_MERGE;

    if (s->ranges < 2)
        return ZC_COST_LIST;
    return zc_cost_of(c, s, hull) < zc_cost_of(c, s, ZC_COST_LIST) ? hull : ZC_COST_LIST;
}

const char *zc_cost_name(enum zc_cost_way way)
{
    static const char *const names[] = {"a list", "read and write", "one write"};

    return names[way];
}

struct zc_cost_shape zc_cost_shape_of(const struct zc_extents *e)
{
    const struct zc_range *r = zc_extents_ranges(e);

    if (e->n == 0)
        return (struct zc_cost_shape){0};
    return (struct zc_cost_shape){
        .ranges = e->n, .bytes = zc_extents_bytes(e), .hull = r[e->n - 1].hi - r[0].lo};
}

enum zc_cost_way zc_cost_next(const struct zc_cost *c, const struct zc_range *r, uint32_t n,
                              bool fresh, uint32_t *count)
{
    double request = c->writes.request, gap = c->writes.per_byte;
    struct zc_cost_shape s = {.ranges = 1, .bytes = r[0].hi - r[0].lo, .fresh = fresh};

    if (!fresh)
        gap += c->reads.per_byte;
    while (s.ranges < n && (r[s.ranges].lo - r[s.ranges - 1].hi) * gap <= request) {
        s.bytes += r[s.ranges].hi - r[s.ranges].lo;
        s.ranges++;
    }
    s.hull = r[s.ranges - 1].hi - r[0].lo;
    *count = s.ranges;
    return zc_cost_choose(c, &s);
}
