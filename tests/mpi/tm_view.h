/* tm_view.h - file views, and where their bytes lie. */
#ifndef TM_VIEW_H
#define TM_VIEW_H

#include "tm_type.h"

struct tm_view {
    int64_t disp;
    struct tm_type *etype, *filetype;
    int64_t limit; /* writes stay below this offset of the file, so that ranks keep apart */
};

/* A walk over the contiguous pieces of a view, or of memory. */
struct tm_walk {
    const struct tm_type *type;
    int64_t base, tile, within;
    int index;
};

void tm_view_default(struct tm_view *v, int64_t limit);

/* Also irregular views, of so many elements of all ranks together; 0: none. */
extern int tm_views_irregular;

/* Views for n ranks at once, of a file of up to `max` bytes.  Mostly such that what ranks see
 * does not overlap; returns a text about them. */
const char *tm_views_random(struct tm_rng *r, struct tm_view *views, int n, int64_t max);

struct tm_walk tm_walk_view(const struct tm_view *v, int64_t view_offset);
struct tm_walk tm_walk_memory(const struct tm_type *t);
/* Up to `max` bytes of the piece the walk is in; returns how many, their place in *at. */
int64_t tm_walk_next(struct tm_walk *w, int64_t max, int64_t *at);

/* Visible bytes before offset `off` of the file. */
int64_t tm_view_before(const struct tm_view *v, int64_t off);
/* The place in the file of a byte of the view. */
int64_t tm_view_place(const struct tm_view *v, int64_t view_offset);

#endif
