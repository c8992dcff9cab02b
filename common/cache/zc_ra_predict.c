/* zc_ra_predict.c - streams of pages: their history, its period, their windows. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "zc_ra_predict.h"

enum {
    HISTORY = 64,      /* places */
    PERIOD_MAX = 21,   /* so that three periods fit */
    PERIODS = 3,       /* repetitions required, if so many are known */
    TRUST = 2,         /* proposals without evidence, until evidence is seen */
    CALM = 8,          /* places in order that reopen a closed window */
    PASSED = 16,       /* a hole so far behind the front counts as passed */
    BEFORE = 8,        /* places before the known ones that still belong to a stream */
    VIEW_EVIDENCE = 8, /* places in order before a stream fed through views proposes */
};

/* ---- lanes ---- */

void zc_ra_predict_init(struct zc_ra_predict *f, uint32_t page_size, uint64_t block_size,
                        uint64_t stride)
{
    *f = (struct zc_ra_predict){.page_size = page_size, .block_pages = 1, .stride = 1};
    if (block_size && block_size % page_size == 0 && stride > 1) {
        f->block_pages = block_size / page_size;
        f->stride = stride;
    }
    f->trust = TRUST;
    f->view_trust = ZC_RA_PREDICT_STREAMS;
}

void zc_ra_predict_depth(struct zc_ra_predict *f, uint32_t depth)
{
    f->depth = depth < ZC_RA_PREDICT_DEPTH_MAX ? depth : ZC_RA_PREDICT_DEPTH_MAX;
    for (int i = 0; i < ZC_RA_PREDICT_STREAMS; i++)
        if (f->streams[i].window > f->depth)
            f->streams[i].window = f->depth;
    for (uint32_t i = 0; i < f->nviews; i++)
        if (f->views[i].window > f->depth)
            f->views[i].window = f->depth;
}

void zc_ra_predict_free(struct zc_ra_predict *f)
{
    for (uint32_t i = 0; i < f->nviews; i++)
        zc_view_put(f->views[i].view);
    free(f->views);
    f->views = NULL;
    f->nviews = 0;
}

struct zc_ra_lane zc_ra_predict_place(const struct zc_ra_predict *f, uint64_t page)
{
    uint64_t block = page / f->block_pages;

    return (struct zc_ra_lane){block % f->stride,
                               block / f->stride * f->block_pages + page % f->block_pages};
}

uint64_t zc_ra_predict_page(const struct zc_ra_predict *f, uint64_t lane, uint64_t place)
{
    return (place / f->block_pages * f->stride + lane) * f->block_pages + place % f->block_pages;
}

uint32_t zc_ra_predict_id(struct zc_ra_predict *f)
{
    return ++f->last_id ? f->last_id : ++f->last_id;
}

/* ---- history ---- */

/* `n` low bits. */
static uint64_t mask(uint32_t n)
{
    return n >= 64 ? UINT64_MAX : (1ull << n) - 1;
}

/* Whether the known history repeats itself after p places. */
static bool repeats(const struct zc_ra_predict_stream *s, uint32_t p)
{
    uint32_t n = PERIODS * p < s->known ? PERIODS * p : s->known;

    if (n < (p == 1 ? 2 : 2 * p + 1))
        return false;
    if (p == 1)
        return (s->seen & mask(n)) == mask(n);
    return ((s->seen ^ s->seen >> p) & mask(n - p)) == 0;
}

static uint32_t period_of(const struct zc_ra_predict_stream *s)
{
    for (uint32_t p = 1; p <= PERIOD_MAX; p++)
        if (repeats(s, p))
            return p;
    return 0;
}

/* Whether the period predicts `place`, beyond the front.  The last but one period counts, too: the
 * last one may be incomplete while requests of ranks arrive in any order. */
static bool expected(const struct zc_ra_predict_stream *s, uint64_t place)
{
    uint32_t p = s->period, back;

    if (p <= 1)
        return p == 1;
    back = (uint32_t)((p - (place - s->front) % p) % p);
    return (s->seen >> back | s->seen >> (back + p)) & 1;
}

static void advance(struct zc_ra_predict_stream *s, uint64_t place)
{
    uint64_t by = place - s->front;

    s->seen = by < HISTORY ? s->seen << by | 1 : 1;
    s->known = s->known + by < HISTORY ? s->known + (uint32_t)by : HISTORY;
    s->front = place;
    if (s->next <= place)
        s->next = place + 1;
}

/* ---- streams ---- */

/* Returns the distance of a place from a stream.  Beyond the history it is a different position,
 * and so is a place far behind that is read again: a new pass begins. */
static uint64_t distance(const struct zc_ra_predict_stream *s, uint64_t place)
{
    uint64_t back = s->front - place;

    if (place >= s->front) {
        uint64_t reach = s->next - s->front + HISTORY;

        return place - s->front < reach ? place - s->front : UINT64_MAX;
    }
    if (back >= HISTORY || back >= s->known + BEFORE ||
        (back >= PASSED / 2 && (s->seen >> back & 1)))
        return UINT64_MAX;
    return back;
}

static struct zc_ra_predict_stream *nearest(struct zc_ra_predict *f, struct zc_ra_lane at)
{
    struct zc_ra_predict_stream *best = NULL;
    uint64_t least = UINT64_MAX;

    for (int i = 0; i < ZC_RA_PREDICT_STREAMS; i++) {
        struct zc_ra_predict_stream *s = &f->streams[i];
        uint64_t d = s->id && s->lane == at.lane ? distance(s, at.place) : UINT64_MAX;

        if (d < least) {
            least = d;
            best = s;
        }
    }
    return best;
}

static struct zc_ra_predict_stream *oldest(struct zc_ra_predict *f)
{
    struct zc_ra_predict_stream *s = &f->streams[0];

    for (int i = 1; i < ZC_RA_PREDICT_STREAMS; i++)
        if (f->streams[i].touched < s->touched)
            s = &f->streams[i];
    return s;
}

static struct zc_ra_predict_stream *begin(struct zc_ra_predict *f, struct zc_ra_lane at, bool weak)
{
    struct zc_ra_predict_stream *s = oldest(f);

    *s = (struct zc_ra_predict_stream){.id = zc_ra_predict_id(f),
                                       .window = 1,
                                       .lane = at.lane,
                                       .front = at.place,
                                       .next = at.place + 1,
                                       .seen = 1,
                                       .known = 1};
    if (f->trust && !weak) { /* most files are read sequentially */
        f->trust--;
        s->period = 1;
    }
    return s;
}

/* Records a place behind the front; false: it was read before. */
static bool fill_hole(struct zc_ra_predict_stream *s, uint64_t back)
{
    if (s->seen >> back & 1)
        return false;
    s->seen |= 1ull << back;
    if (s->known <= back)
        s->known = (uint32_t)back + 1;
    return true;
}

/* Restores trust when a stream is continued for the first time. */
static void justify(struct zc_ra_predict *f, struct zc_ra_predict_stream *s)
{
    if (!s->proven && f->trust < TRUST)
        f->trust++;
    s->proven = true;
}

/* Records a place beyond the front, or in a hole behind it; false: it was read before. */
static bool read_on(struct zc_ra_predict *f, struct zc_ra_predict_stream *s, uint64_t place,
                    bool weak)
{
    bool foreseen = s->known > 1 && place > s->front && expected(s, place);
    uint32_t p;

    if (place > s->front)
        advance(s, place);
    else if (!fill_hole(s, s->front - place))
        return false;
    if (weak && s->known < VIEW_EVIDENCE) {
        s->period = 0;
        return true;
    }
    p = period_of(s);
    if (p || !foreseen)
        s->period = p;
    if (!s->period) {
        s->calm = 0;
        return true;
    }
    justify(f, s);
    if (s->window == 0 && ++s->calm >= CALM) {
        s->calm = 0;
        s->window = 1;
    }
    return true;
}

/* Widens the window of a sequential stream to what was read in a row: pages that were requested
 * together cannot have been read ahead, and as many may follow. */
static void widen(const struct zc_ra_predict *f, struct zc_ra_predict_stream *s)
{
    uint32_t run = ~s->seen ? (uint32_t)__builtin_ctzll(~s->seen) : HISTORY;

    if (s->period == 1 && !s->wasted && s->window < run)
        s->window = run < f->depth ? run : f->depth;
}

static void touch(struct zc_ra_predict *f, uint64_t off, uint32_t len, bool weak, bool foreseen)
{
    struct zc_ra_lane at = zc_ra_predict_place(f, off / f->page_size);
    uint64_t lo = at.place * f->page_size + off % f->page_size;
    struct zc_ra_predict_stream *s = nearest(f, at);

    f->clock++;
    if (!s) {
        s = begin(f, at, weak);
    } else {
        bool joins = lo == s->end && !weak; /* contiguous bytes: needs no other evidence */

        bool on = read_on(f, s, at.place, weak);

        if (on && foreseen)
            zc_ra_predict_grow(f, &s->window);
        else if (on)
            widen(f, s);
        if (joins && !s->period) {
            s->period = 1;
            justify(f, s);
        }
    }
    s->end = lo + len;
    s->touched = f->clock;
}

void zc_ra_predict_touch(struct zc_ra_predict *f, uint64_t off, uint32_t len, bool foreseen)
{
    if (f->depth)
        touch(f, off, len, false, foreseen);
}

void zc_ra_predict_touch_view(struct zc_ra_predict *f, const struct zc_view *v, int64_t disp,
                              int64_t view_off, int64_t len, uint64_t off, bool foreseen)
{
    if (f->depth && !zc_ra_predict_vstream_touch(f, v, disp, view_off, len, off, foreseen))
        touch(f, off, 0, true, foreseen);
}

/* ---- proposals ---- */

static bool propose(const struct zc_ra_predict *f, struct zc_ra_predict_stream *s, uint64_t size,
                    struct zc_proposal *out)
{
    uint64_t at = s->front + 1, ahead = 0;

    if (!s->id || !s->period)
        return false;
    if (s->period == 1) { /* all between are expected */
        ahead = s->next - at;
        at = s->next;
    }
    for (; ahead < s->window && at <= s->front + (uint64_t)s->window * s->period; at++) {
        if (!expected(s, at))
            continue;
        ahead++;
        if (at < s->next)
            continue;
        out->page = zc_ra_predict_page(f, s->lane, at);
        out->stream = s->id;
        return out->page < (size + f->page_size - 1) / f->page_size;
    }
    return false;
}

enum { ALL_STREAMS = ZC_RA_PREDICT_STREAMS + ZC_RA_PREDICT_VIEWS };

/* Pages ahead of stream number n; streams of pages come first, then those of views. */
static uint64_t ahead_of(const struct zc_ra_predict *f, int n)
{
    const struct zc_ra_predict_stream *s;

    if (n >= ZC_RA_PREDICT_STREAMS)
        return f->views[n - ZC_RA_PREDICT_STREAMS].count;
    s = &f->streams[n];
    return s->period ? (s->next - s->front - 1) / s->period : 0;
}

static bool may_propose(const struct zc_ra_predict *f, int n)
{
    const struct zc_ra_predict_stream *s;

    if (n >= ZC_RA_PREDICT_STREAMS) {
        const struct zc_ra_predict_vstream *v = &f->views[n - ZC_RA_PREDICT_STREAMS];

        return v->id && v->going && v->count < v->window;
    }
    s = &f->streams[n];
    return s->id && s->period && (s->period > 1 || s->next - s->front - 1 < s->window);
}

static bool propose_of(struct zc_ra_predict *f, int n, uint64_t size, struct zc_proposal *out)
{
    if (n < ZC_RA_PREDICT_STREAMS)
        return propose(f, &f->streams[n], size, out);
    return zc_ra_predict_vstream_propose(f, &f->views[n - ZC_RA_PREDICT_STREAMS], size, out);
}

bool zc_ra_predict_propose(struct zc_ra_predict *f, uint64_t size, struct zc_proposal *out)
{
    uint64_t ahead[ALL_STREAMS];
    int nth[ALL_STREAMS], count = 0;

    for (int n = 0; f->depth && n < ZC_RA_PREDICT_STREAMS + (int)f->nviews; n++) {
        if (!may_propose(f, n))
            continue;
        ahead[n] = ahead_of(f, n);
        nth[count++] = n;
    }
    while (count) {
        int least = 0;

        for (int i = 1; i < count; i++)
            if (ahead[nth[i]] < ahead[nth[least]])
                least = i;
        if (propose_of(f, nth[least], size, out))
            return true;
        count--;
        memmove(nth + least, nth + least + 1, (size_t)(count - least) * sizeof *nth);
    }
    return false;
}

static struct zc_ra_predict_stream *stream_of(const struct zc_ra_predict *f, uint32_t id)
{
    for (int i = 0; i < ZC_RA_PREDICT_STREAMS; i++)
        if (f->streams[i].id == id)
            return (struct zc_ra_predict_stream *)&f->streams[i];
    return NULL;
}

static struct zc_ra_predict_vstream *view_stream_of(const struct zc_ra_predict *f, uint32_t id)
{
    for (uint32_t i = 0; i < f->nviews; i++)
        if (f->views[i].id == id)
            return &f->views[i];
    return NULL;
}

void zc_ra_predict_take(struct zc_ra_predict *f, const struct zc_proposal *p)
{
    struct zc_ra_predict_stream *s = stream_of(f, p->stream);
    struct zc_ra_predict_vstream *v = view_stream_of(f, p->stream);

    if (s)
        s->next = zc_ra_predict_place(f, p->page).place + 1;
    else if (v)
        zc_ra_predict_vstream_take(v, p);
}

/* ---- feedback ---- */

static uint32_t *window_of(const struct zc_ra_predict *f, uint32_t id)
{
    struct zc_ra_predict_stream *s = stream_of(f, id);
    struct zc_ra_predict_vstream *v = s ? NULL : view_stream_of(f, id);

    return s ? &s->window : v ? &v->window : NULL;
}

void zc_ra_predict_grow(const struct zc_ra_predict *f, uint32_t *window)
{
    *window = *window > f->depth / 2 ? f->depth : *window ? 2 * *window : 1;
}

void zc_ra_predict_wasted(struct zc_ra_predict *f, uint32_t id)
{
    uint32_t *window = window_of(f, id);
    struct zc_ra_predict_stream *s = stream_of(f, id);

    if (window)
        *window /= 2;
    if (s)
        s->wasted = true;
}

bool zc_ra_predict_passed(const struct zc_ra_predict *f, uint32_t id, uint64_t page)
{
    struct zc_ra_predict_stream *s = stream_of(f, id);

    if (s)
        return zc_ra_predict_place(f, page).place + PASSED <= s->front;
    return !view_stream_of(f, id);
}
