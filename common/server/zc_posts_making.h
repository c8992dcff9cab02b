/* zc_posts_making.h - one write that was left in shared memory (zc_post.h), on its way into the
 * cache: page after page, in one run of the file or through the view that came with it.
 *
 * Belongs to zc_posts.c.  What lies in the ring is its writer's, who may change it any time: the
 * view is copied before it is looked at.  A write that fails is lost, and told of: from there on,
 * for what came before is in the cache.
 *
 * Threads: one at a time; ready() comes from a thread of the cache.
 */
#ifndef ZC_POSTS_MAKING_H
#define ZC_POSTS_MAKING_H

#include <stdbool.h>
#include <stdint.h>

#include "zc_cache.h"
#include "zc_post.h"
#include "zc_view.h"

/* The view that somebody wrote through last: mostly it comes again.  Zeroed to begin with. */
struct zc_posts_known {
    struct zc_view *view; /* or NULL */
    uint32_t len;         /* bytes of its encoding */
    unsigned char bytes[ZC_POST_VIEW];
};

void zc_posts_forget(struct zc_posts_known *k);

struct zc_making {
    struct zc_handle *file;   /* NULL: there is no such file */
    struct zc_letter letter;  /* a copy, which makes sense: zc_posts_makes_sense() */
    const unsigned char *bed; /* what follows it in the ring */
    struct zc_posts_known *known;
    uint32_t page_size;                 /* of the cache */
    void (*ready)(struct zc_making *m); /* go on; not called by what goes on */

    /* Private. */
    uint32_t done;              /* bytes of it that are in the cache */
    const struct zc_view *view; /* or NULL */
    int64_t disp, part;         /* bytes of the access */
    struct zc_view_ranges ranges;
    struct zc_access access;
    int status; /* of the access, when it was waited for; and why */
    char text[ZC_TEXT_MAX];
};

/* Whether a letter that lies `at` bytes into a ring, of which `there` bytes are filled from it on,
 * can be one. */
bool zc_posts_makes_sense(const struct zc_letter *l, uint32_t at, uint64_t there);

/* True: it is over.  False: ready() will be called, or has been. */
bool zc_making_begin(struct zc_making *m);
bool zc_making_go_on(struct zc_making *m);
void zc_making_free(struct zc_making *m);

#endif
