/* zc_bounce.c - registered buffers for data on its way between a client and a view's pieces.
 *
 * They are made when the first view, or write with checksums, is used.  Who finds none free, or has
 * his part of them (zc_sharer.h), is served in order, from the main loop alone: a buffer that comes
 * back inside a callback does not call into another request.
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

static bool may(const struct zc_bounce_wait *w)
{
    return zc_sharer_may(w->session, ZC_FEW_BUFFERS, ZC_SERVER_BOUNCE);
}

unsigned char *zc_bounce_get(struct zc_bounce *b, struct zc_bounce_wait *w)
{
    if (b->nfree && zc_list_empty(&b->waiting) && may(w)) {
        zc_sharer_took(w->session, ZC_FEW_BUFFERS);
        return b->free[--b->nfree];
    }
    zc_list_add_tail(&b->waiting, &w->link);
    return NULL;
}

void zc_bounce_give(struct zc_bounce *b, unsigned char *buf)
{
    zc_debug_assert(b->nfree < b->nsets * ZC_SERVER_BOUNCE);
    b->free[b->nfree++] = buf;
}

/* Too few are left, but for what clients that are gone have. */
static bool needs_more(const struct zc_bounce *b)
{
    return !b->nfree && !zc_list_empty(&b->waiting) && b->nsets < ZC_BOUNCE_MOST &&
           b->nsets * ZC_SERVER_BOUNCE - b->lost < ZC_SERVER_BOUNCE;
}

struct zc_bounce_wait *zc_bounce_next(const struct zc_bounce *b)
{
    if (!b->nfree)
        return NULL;
    zc_list_each (&b->waiting, n) {
        struct zc_bounce_wait *w = zc_list_entry(n, struct zc_bounce_wait, link);

        if (may(w))
            return w;
    }
    return NULL;
}

void zc_bounce_serve(struct zc_server *s)
{
    struct zc_bounce *b = &s->bounce;
    struct zc_bounce_wait *w;

    if (s->tp && needs_more(b))
        make_set(s); /* without memory they wait on */
    while ((w = zc_bounce_next(b)) != NULL) {
        zc_list_del(&w->link);
        zc_sharer_took(w->session, ZC_FEW_BUFFERS);
        w->got(w, b->free[--b->nfree]);
    }
}
