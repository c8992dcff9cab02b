/* zc_stripe_part.h - data transfers of a striped file, part by part.
 *
 * The caller cuts an access along blocks: a part lies in one block, and so belongs to one server.
 * Several parts are under way at a time (zc_pipeline.h):
 *
 *     zc_stripe_part_get()      reaches the server that owns the block; limits the part to the
 * bytes whose checksums fit into one request zc_stripe_part_aim()      prepares a part that goes
 * through a view; may shorten it zc_stripe_part_start()    sends the request; none is needed, and
 * use.client is NULL, where the cache is this process's own, or a daemon is bypassed
 *     zc_stripe_part_finish()   waits; repeats the request if the connection broke, writes the rest
 *                               of a short write, and fills a short read with zeros up to the end
 *                               of the file, which another server may know
 *
 * A repeated write has the same bytes: the buffer belongs to the part from start to finish.
 */
#ifndef ZC_STRIPE_PART_H
#define ZC_STRIPE_PART_H

#include "zc_stripe_ask.h"
#include "zc_view.h"

struct zc_stripe_part {
    bool write;
    bool checked;               /* requests have checksums (zc_io.checked) */
    bool plain;                 /* contiguous in the file */
    bool viewed;                /* if by request, then through the view, plain or not */
    uint64_t off;               /* of its first byte in the file */
    const struct zc_view *view; /* NULL: plain, and not viewed */
    int64_t disp, view_off;     /* of its first byte in the view */
    int64_t left;               /* bytes of the access from there on; 0: unknown */
    char *buf;                  /* contiguous; set before the start */
    int64_t len;                /* bytes */
    void *access;               /* for move() */
    /* Moves the part at a server without a client; returns bytes, fewer at the end of the file, or
     * a negative errno, explained. */
    int64_t (*move)(const struct zc_stripe_file *f, const struct zc_stripe_part *p);

    struct zc_stripe_use use; /* after get(); private from here on */
    struct zc_vio vio;        /* only its member io if not viewed */
};

/* These return 0 or a negative errno, explained; after an error the part holds nothing. */
int zc_stripe_part_get(const struct zc_stripe_file *f, struct zc_stripe_part *p);
int zc_stripe_part_aim(const struct zc_stripe_file *f, struct zc_stripe_part *p);
/* Releases a part that is not started.  `aimed`: aim() has succeeded. */
void zc_stripe_part_forget(const struct zc_stripe_file *f, struct zc_stripe_part *p, bool aimed);
void zc_stripe_part_start(const struct zc_stripe_file *f, struct zc_stripe_part *p);
/* Returns the bytes moved, fewer than p->len at the end of the file, or a negative errno,
 * explained.  `wanted`: as in zc_pipeline.h; a short part that is not wanted is not completed. */
int64_t zc_stripe_part_finish(const struct zc_stripe_file *f, struct zc_stripe_part *p,
                              bool wanted);

#endif
