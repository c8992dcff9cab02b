/* zc_bounce.c - registered buffers for data on its way between a client and a view's pieces.
 *
 * They are made when the first view, or write with checksums, is used.  Requests that find none
 * free, or whose tenant has its share (zc_tenant.h), are served in order, from the main loop alone:
 * a buffer released inside a callback does not call into another request.
 *
 * A request that has to wait for cache space keeps its buffer meanwhile, so such requests get at
 * most 1/8 of the buffers, and requests able to complete pages never starve.  Clients that write
 * parts of the same pages drift apart when pages are written back with one client's part and
 * fetched again for another's; therefore the client that is farthest behind mostly comes first.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "zc_log.h"
#include "zc_server_internal.h"

static const size_t set_size = (size_t)ZC_SERVER_BOUNCE * ZC_SERVER_CHUNK;

static int make_set(struct zc_server *s)
{
    struct zc_bounce *b = &s->bounce;
    struct zc_bounce_set *set = &b->sets[b->nsets];
    int rc;

    set->memory = aligned_alloc(4096, set_size);
    if (!set->memory)
        return zc_errorf(ENOMEM, "no memory for %zu bytes of buffers", set_size);
    rc = zc_tp_reg(s->tp, set->memory, set_size, &set->mr);
    if (rc) {
        free(set->memory);
        return rc;
    }
    b->nsets++;
    for (unsigned i = 0; i < ZC_SERVER_BOUNCE; i++)
        zc_bounce_give(b, set->memory + (size_t)i * ZC_SERVER_CHUNK);
    return 0;
}

int zc_bounce_make(struct zc_server *s)
{
    return s->bounce.nsets ? 0 : make_set(s);
}

void zc_bounce_deregister(struct zc_server *s)
{
    for (unsigned i = 0; i < s->bounce.nsets; i++)
        zc_tp_dereg(s->tp, &s->bounce.sets[i].mr);
}

void zc_bounce_free(struct zc_bounce *b)
{
    while (b->nsets)
        free(b->sets[--b->nsets].memory);
}

void *zc_bounce_desc(const struct zc_bounce *b, const unsigned char *buf)
{
    const struct zc_bounce_set *set = b->sets;

    while (buf < set->memory || buf >= set->memory + set_size)
        set++;
    return set->mr.desc;
}

enum {
    IDLE_MOST = ZC_SERVER_BOUNCE / 8, /* for requests that lack room */
    BEHIND = 4,                       /* one in this many is served in order of arrival */
};

static bool has_part(const struct zc_bounce_wait *w)
{
    return zc_tenant_may(w->session, ZC_FEW_BUFFERS, ZC_SERVER_BOUNCE);
}

/* The limit is per tenant, as a tenant's store may be stuck and others must not wait for it. */
static bool may_be_idle(const struct zc_bounce *b, const struct zc_bounce_wait *w)
{
    return zc_tenant_has(w->session, ZC_FEW_IDLE, b->idle) < IDLE_MOST;
}

static bool may(const struct zc_bounce *b, const struct zc_bounce_wait *w)
{
    return has_part(w) && (may_be_idle(b, w) || !w->lacks_room(w));
}

static unsigned char *take(struct zc_bounce *b, struct zc_bounce_wait *w)
{
    zc_tenant_took(w->session, ZC_FEW_BUFFERS);
    w->idle = w->lacks_room(w);
    if (w->idle) {
        zc_tenant_took(w->session, ZC_FEW_IDLE);
        b->idle++;
        b->turns++;
    }
    return b->free[--b->nfree];
}

void zc_bounce_not_idle(struct zc_bounce *b, struct zc_bounce_wait *w)
{
    if (!w->idle)
        return;
    zc_tenant_gave(w->session, ZC_FEW_IDLE);
    b->idle--;
    w->idle = false;
}

unsigned char *zc_bounce_get(struct zc_bounce *b, struct zc_bounce_wait *w)
{
    if (b->nfree && zc_list_empty(&b->waiting) && may(b, w))
        return take(b, w);
    zc_list_add_tail(&b->waiting, &w->link);
    return NULL;
}

void zc_bounce_give(struct zc_bounce *b, unsigned char *buf)
{
    zc_debug_assert(b->nfree < b->nsets * ZC_SERVER_BOUNCE);
    b->free[b->nfree++] = buf;
}

/* Whether too few are left, not counting those held for clients that are gone. */
static bool needs_more(const struct zc_bounce *b)
{
    return !b->nfree && !zc_list_empty(&b->waiting) && b->nsets < ZC_BOUNCE_MOST &&
           b->nsets * ZC_SERVER_BOUNCE - b->lost < ZC_SERVER_BOUNCE;
}

/* The order of requests that lack room. */
static bool comes_first(const struct zc_bounce *b, const struct zc_bounce_wait *w,
                        const struct zc_bounce_wait *first)
{
    return !first || (b->turns % BEHIND && w->handle == first->handle && w->at < first->at);
}

struct zc_bounce_wait *zc_bounce_next(const struct zc_bounce *b)
{
    struct zc_bounce_wait *first = NULL;

    if (!b->nfree)
        return NULL;
    zc_list_each (&b->waiting, n) {
        struct zc_bounce_wait *w = zc_list_entry(n, struct zc_bounce_wait, link);

        if (!has_part(w))
            continue;
        if (!w->lacks_room(w))
            return w;
        if (may_be_idle(b, w) && comes_first(b, w, first))
            first = w;
    }
    return first;
}

bool zc_bounce_is_served(const struct zc_bounce *b)
{
    zc_list_each (&b->waiting, n) {
        const struct zc_bounce_wait *w = zc_list_entry(n, struct zc_bounce_wait, link);

        if (b->nfree && has_part(w) && may_be_idle(b, w))
            return false;
    }
    return true;
}

void zc_bounce_serve(struct zc_server *s)
{
    struct zc_bounce *b = &s->bounce;
    struct zc_bounce_wait *w;

    if (s->tp && needs_more(b))
        make_set(s); /* without memory they keep waiting */
    while ((w = zc_bounce_next(b)) != NULL) {
        zc_list_del(&w->link);
        w->got(w, take(b, w));
    }
}
