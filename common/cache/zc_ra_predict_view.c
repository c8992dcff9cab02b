/* zc_ra_predict_view.c - streams of view offsets: what a view touches next, without its gaps.
 *
 * A request covers visible bytes in blocks of this reader; the next one may begin some foreign
 * blocks farther on, and requests of several ranks come in any order.  So an access continues a
 * stream if it is near, and proposals begin behind the farthest byte requested.
 */
#include "config.h"

#include <stdlib.h>

#include "zc_ra_predict.h"
#include "zc_vspan.h"

enum {
    STEPS = 64,      /* pages and foreign blocks examined for one proposal */
    NEAR_SIZES = 16, /* near: within so many times an access's length */
    NEAR_PAGES = 8,  /* ... or so many pages */
    CALM = 8,        /* accesses in order that reopen a closed window */
};

static int64_t near(const struct zc_ra_predict *f, int64_t len)
{
    uint64_t blocks = f->stride * f->block_pages, pages = blocks > NEAR_PAGES ? blocks : NEAR_PAGES;
    int64_t bytes = (int64_t)(pages * f->page_size);

    return len > bytes / NEAR_SIZES ? len * NEAR_SIZES : bytes;
}

static struct zc_ra_predict_vstream *find(struct zc_ra_predict *f, struct zc_view_hash h,
                                          int64_t disp, uint64_t lane)
{
    for (uint32_t i = 0; i < f->nviews; i++) {
        struct zc_ra_predict_vstream *s = &f->views[i];

        if (s->id && s->hash.low == h.low && s->hash.high == h.high && s->disp == disp &&
            s->lane == lane)
            return s;
    }
    return NULL;
}

/* Returns one that is not in use, or the one whose last access is the longest ago. */
static struct zc_ra_predict_vstream *oldest(struct zc_ra_predict *f)
{
    struct zc_ra_predict_vstream *s = &f->views[0];

    if (f->nviews < ZC_RA_PREDICT_VIEWS)
        return &f->views[f->nviews++];
    for (uint32_t i = 1; i < f->nviews; i++)
        if (f->views[i].touched < s->touched)
            s = &f->views[i];
    return s;
}

static struct zc_ra_predict_vstream *begin(struct zc_ra_predict *f, const struct zc_view *v,
                                           int64_t disp, uint64_t lane)
{
    struct zc_ra_predict_vstream *s = oldest(f);

    zc_view_put(s->view);
    *s = (struct zc_ra_predict_vstream){.id = zc_ra_predict_id(f),
                                        .window = 1,
                                        .lane = lane,
                                        .view = zc_view_get((struct zc_view *)(uintptr_t)v),
                                        .hash = zc_view_hash(v),
                                        .disp = disp};
    return s;
}

/* Removes proposals that begin before the reader's position from the window. */
static void reached(struct zc_ra_predict_vstream *s)
{
    while (s->count && s->ahead[s->first] < s->pos) {
        s->first = (s->first + 1) % ZC_RA_PREDICT_DEPTH_MAX;
        s->count--;
    }
    if (s->next < s->pos)
        s->next = s->pos;
}

static void read_on(struct zc_ra_predict *f, struct zc_ra_predict_vstream *s, int64_t end,
                    bool foreseen)
{
    if (!s->proven && f->view_trust < ZC_RA_PREDICT_STREAMS)
        f->view_trust++;
    s->going = s->proven = true;
    if (end > s->pos) {
        s->pos = end;
        if (foreseen)
            zc_ra_predict_grow(f, &s->window);
    }
    reached(s);
    if (s->window == 0 && ++s->calm >= CALM) {
        s->calm = 0;
        s->window = 1;
    }
}

/* Moves the stream to another position in the same view, where it needs evidence again. */
static void jump(struct zc_ra_predict_vstream *s, int64_t end)
{
    s->going = false;
    s->calm = 0;
    s->pos = s->next = end;
    s->count = 0;
}

bool zc_ra_predict_vstream_touch(struct zc_ra_predict *f, const struct zc_view *v, int64_t disp,
                                 int64_t view_off, int64_t len, uint64_t off, bool foreseen)
{
    uint64_t lane = zc_ra_predict_place(f, off / f->page_size).lane;
    struct zc_ra_predict_vstream *s;

    if (!zc_view_monotone(v))
        return false;
    if (!f->views)
        f->views = calloc(ZC_RA_PREDICT_VIEWS, sizeof *f->views);
    if (!f->views)
        return false; /* readahead was not requested */
    f->clock++;
    s = find(f, zc_view_hash(v), disp, lane);
    if (!s) {
        s = begin(f, v, disp, lane);
        jump(s, view_off + len);
        s->touched = f->clock;
        if (f->view_trust) { /* a view says what will be read */
            f->view_trust--;
            s->going = true;
        }
        return s->going;
    }
    s->touched = f->clock;
    if (view_off >= s->pos - near(f, len) && view_off <= s->next + near(f, len))
        read_on(f, s, view_off + len, foreseen);
    else
        jump(s, view_off + len);
    return s->going;
}

/* Finds the view offset of the first visible byte in the next block of the lane behind `page`. */
static bool skip_foreign(const struct zc_ra_predict *f, const struct zc_ra_predict_vstream *s,
                         uint64_t page, int64_t *at)
{
    uint64_t block = page / f->block_pages, lane = block % f->stride;
    uint64_t next = block + (s->lane + f->stride - lane) % f->stride;
    int64_t before = *at;

    if (next > (uint64_t)INT64_MAX / f->page_size / f->block_pages)
        return false;
    return zc_view_before(s->view, s->disp, (int64_t)(next * f->block_pages * f->page_size), at) ==
               0 &&
           *at > before;
}

bool zc_ra_predict_vstream_propose(const struct zc_ra_predict *f, struct zc_ra_predict_vstream *s,
                                   uint64_t size, struct zc_proposal *out)
{
    if (!s->id || !s->going || s->count >= s->window)
        return false;
    for (int i = 0; i < STEPS; i++) {
        int64_t first, len;

        if (zc_vspan(s->view, s->disp, s->next, (int64_t)f->page_size, f->page_size, &first, &len))
            return false; /* beyond what a file can hold */
        if ((uint64_t)first >= size)
            return false;
        out->page = (uint64_t)first / f->page_size;
        out->stream = s->id;
        out->view_off = s->next;
        out->view_len = len;
        if (zc_ra_predict_place(f, out->page).lane == s->lane)
            return true;
        if (!skip_foreign(f, s, out->page, &s->next))
            return false;
    }
    return false;
}

void zc_ra_predict_vstream_take(struct zc_ra_predict_vstream *s, const struct zc_proposal *p)
{
    s->ahead[(s->first + s->count) % ZC_RA_PREDICT_DEPTH_MAX] = p->view_off;
    s->count++;
    s->next = p->view_off + p->view_len;
}
