/* zc_bounce.c - registered buffers for data on its way between a client and a view's pieces.
 *
 * They are made when the first view, or write with checksums, is used.  Who finds none free is
 * served in order, from the main loop alone: a buffer that comes back inside a callback does not
 * call into another request.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "zc_log.h"
#include "zc_server_internal.h"

int zc_bounce_make(struct zc_server *s)
{
    size_t len = (size_t)ZC_SERVER_BOUNCE * ZC_SERVER_CHUNK;
    struct zc_bounce *b = &s->bounce;
    int rc;

    if (b->memory)
        return 0;
    b->memory = aligned_alloc(4096, len);
    if (!b->memory)
        return zc_errorf(ENOMEM, "no memory for %zu bytes of buffers", len);
    rc = zc_tp_reg(s->tp, b->memory, len, &b->mr);
    if (rc) {
        free(b->memory);
        b->memory = NULL;
        return rc;
    }
    for (unsigned i = 0; i < ZC_SERVER_BOUNCE; i++)
        zc_bounce_give(b, b->memory + (size_t)i * ZC_SERVER_CHUNK);
    return 0;
}

unsigned char *zc_bounce_get(struct zc_bounce *b, struct zc_bounce_wait *w)
{
    if (b->nfree && zc_list_empty(&b->waiting))
        return b->free[--b->nfree];
    zc_list_add_tail(&b->waiting, &w->link);
    return NULL;
}

void zc_bounce_give(struct zc_bounce *b, unsigned char *buf)
{
    zc_debug_assert(b->nfree < ZC_SERVER_BOUNCE);
    b->free[b->nfree++] = buf;
}

void zc_bounce_serve(struct zc_bounce *b)
{
    struct zc_list *n;

    while (b->nfree && (n = zc_list_pop(&b->waiting))) {
        struct zc_bounce_wait *w = zc_list_entry(n, struct zc_bounce_wait, link);

        w->got(w, b->free[--b->nfree]);
    }
}
