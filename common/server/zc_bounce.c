/* zc_bounce.c - registered buffers for data on its way between a client and a view's pieces.
 *
 * They are made when the first view, or write with checksums, is used.  Which transfer gets one,
 * and when: zc_few.h.
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

unsigned char *zc_bounce_get(struct zc_bounce *b, struct zc_bounce_wait *w)
{
    return zc_few_get(&b->few, &w->few) ? b->buffers[--b->few.free] : NULL;
}

void zc_bounce_give(struct zc_bounce *b, unsigned char *buf)
{
    zc_debug_assert(b->few.free < b->nsets * ZC_SERVER_BOUNCE);
    b->buffers[b->few.free++] = buf;
}

/* Whether too few are left, not counting those held for clients that are gone. */
static bool needs_more(const struct zc_bounce *b)
{
    return !b->few.free && !zc_list_empty(&b->few.waiting) && b->nsets < ZC_BOUNCE_MOST &&
           b->nsets * ZC_SERVER_BOUNCE - b->lost < ZC_SERVER_BOUNCE;
}

bool zc_bounce_serve(struct zc_server *s)
{
    struct zc_bounce *b = &s->bounce;
    struct zc_few_wait *n;
    bool any = false;

    if (s->tp && needs_more(b))
        make_set(s); /* without memory they keep waiting */
    for (; (n = zc_few_pop(&b->few)) != NULL; any = true) {
        struct zc_bounce_wait *w = zc_list_entry(n, struct zc_bounce_wait, few);

        w->got(w, b->buffers[--b->few.free]);
    }
    return any;
}
