/* zc_predict.h - what a reader will ask for next.  Pure: no I/O, no locks, no memory.
 *
 * A reader (an open file: in a daemon that of one aggregator) owns every stride-th block of
 * the file.  Its blocks, put one behind the other, are its lane:
 *
 *     block pages 2, stride 3      page  0 1  2 3  4 5  6 7  8 9  10 11
 *                                  lane  0    1    2    0    1    2
 *                                  place 0 1  0 1  0 1  2 3  2 3   2  3
 *
 * so that reading on means the next place of the lane, wherever its page lies in the file.
 *
 * A stream is a spot in a lane that is being read.  It remembers, as a bit each, which of the
 * last 64 places were asked for, in whatever order: many ranks reading their parts of one
 * range at a time are one stream.  What comes next is the shortest period of that history:
 * 1 when everything was read, 4 for two places of every four.  History without a period is
 * random access: nothing is proposed, beyond TRUST places at the very start.
 *
 * Through a file view the next bytes are known (struct zc_predict_vstream): the stream is a view
 * offset, and what is proposed are the pages the view touches behind it.
 *
 * Window: how many places or pages may be proposed ahead of the reader.  It starts at 1, or, of
 * places, is as long as what was read in a row, which ranks may have asked for together, as long as
 * nothing was wasted (Linux's first window is so many times the first read).  It doubles with each
 * page that was there because somebody had foreseen it, up to `depth`, and halves with each
 * proposal that was wasted; at 0 the stream proposes nothing until it has been read in order for
 * some more places.
 *
 * Numbers are pages unless they say bytes.  The owner's lock guards everything.
 */
#ifndef ZC_PREDICT_H
#define ZC_PREDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zc_view.h"

enum {
    ZC_PREDICT_STREAMS = 8,    /* spots of a reader that are followed at a time */
    ZC_PREDICT_DEPTH_MAX = 64, /* the largest depth */
};

struct zc_predict_stream {
    uint32_t id; /* 0: free */
    uint32_t window;
    uint64_t touched; /* zc_predict.clock at the last touch */
    uint64_t lane;
    uint64_t front;  /* the farthest place asked for */
    uint64_t next;   /* the first place that was not proposed yet */
    uint64_t seen;   /* bit i: place front - i was asked for */
    uint32_t known;  /* how many bits of `seen` count */
    uint32_t period; /* 0: no telling */
    uint32_t calm;   /* places read in order since the window was shut */
    bool wasted;     /* something of it was */
    bool proven;     /* read on in some order at least once */
    uint64_t end;    /* byte of the lane behind the last access */
};

struct zc_predict_vstream {
    uint32_t id; /* 0: free */
    uint32_t window;
    uint64_t touched;
    uint64_t lane;
    struct zc_view *view; /* a reference */
    struct zc_view_hash hash;
    int64_t disp;
    int64_t pos;  /* view offset behind the farthest byte asked for */
    int64_t next; /* view offset of the first byte that was not proposed yet */
    bool going;   /* may propose */
    bool proven;  /* read on at least once */
    uint32_t calm;
    /* view offsets at which the pages begin that were proposed and not reached */
    int64_t ahead[ZC_PREDICT_DEPTH_MAX];
    unsigned first, count;
};

struct zc_predict {
    uint32_t page_size;   /* bytes */
    uint64_t block_pages; /* pages in a block */
    uint64_t stride;      /* blocks from one of this reader to its next */
    uint32_t depth;       /* largest window; 0: never proposes anything */
    uint32_t trust;       /* streams that may still propose without evidence, of pages */
    uint32_t view_trust;  /* and of views */
    uint32_t last_id;
    uint64_t clock;
    struct zc_predict_stream streams[ZC_PREDICT_STREAMS];
    struct zc_predict_vstream *views; /* as many; NULL until somebody reads through a view */
};

/* block_size: bytes, 0 or not a multiple of the page for a reader of everything; stride: 0
 * and 1 are the same. */
void zc_predict_init(struct zc_predict *f, uint32_t page_size, uint64_t block_size,
                     uint64_t stride);
void zc_predict_depth(struct zc_predict *f, uint32_t depth);
void zc_predict_free(struct zc_predict *f);

/* Bytes [off, off + len) of the file were asked for; they lie in one page.  foreseen: which
 * was read ahead, whoever proposed it. */
void zc_predict_touch(struct zc_predict *f, uint64_t off, uint32_t len, bool foreseen);
/* View bytes [view_off, view_off + len) were asked for, the first of which lies at file
 * offset `off`.  A view that is not monotone counts as what it touches. */
void zc_predict_touch_view(struct zc_predict *f, const struct zc_view *v, int64_t disp,
                           int64_t view_off, int64_t len, uint64_t off, bool foreseen);

/* A page worth reading now. */
struct zc_proposal {
    uint64_t page;
    uint32_t stream;  /* the id of who proposes it */
    int64_t view_off; /* private: where the stream stands, ... */
    int64_t view_len; /* ... and goes on from */
};

/* The next page, of those that begin before `size` bytes; false: none for now.  The same one
 * is proposed again until it was taken.  Streams take turns: that which has the fewest pages ahead
 * of it is the next, so that one that might have many does not take the room of the others. */
bool zc_predict_propose(struct zc_predict *f, uint64_t size, struct zc_proposal *out);
void zc_predict_take(struct zc_predict *f, const struct zc_proposal *p);

/* A page that stream `id` proposed was dropped before anybody asked for it. */
void zc_predict_wasted(struct zc_predict *f, uint32_t id);
/* The stream is gone, or has passed this page long ago. */
bool zc_predict_passed(const struct zc_predict *f, uint32_t id, uint64_t page);

/* ---- the two kinds of streams: zc_predict.c and zc_predict_view.c ---- */

struct zc_place_in_lane {
    uint64_t lane, place;
};

struct zc_place_in_lane zc_predict_place(const struct zc_predict *f, uint64_t page);
uint64_t zc_predict_page(const struct zc_predict *f, uint64_t lane, uint64_t place);
uint32_t zc_predict_id(struct zc_predict *f);
void zc_predict_grow(const struct zc_predict *f, uint32_t *window);
/* false: this access is for the streams of pages */
bool zc_predict_vstream_touch(struct zc_predict *f, const struct zc_view *v, int64_t disp,
                              int64_t view_off, int64_t len, uint64_t off, bool foreseen);
bool zc_predict_vstream_propose(const struct zc_predict *f, struct zc_predict_vstream *s,
                                uint64_t size, struct zc_proposal *out);
void zc_predict_vstream_take(struct zc_predict_vstream *s, const struct zc_proposal *p);

#endif
