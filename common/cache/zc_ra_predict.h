/* zc_ra_predict.h - predicts what a reader will read next.  Pure: no I/O, no locks, no memory.
 *
 * A reader (an open file; in a daemon, that of one aggregator) owns every stride-th block of the
 * file.  Its blocks, one behind the other, are its lane:
 *
 *     block pages 2, stride 3      page  0 1  2 3  4 5  6 7  8 9  10 11
 *                                  lane  0    1    2    0    1    2
 *                                  place 0 1  0 1  0 1  2 3  2 3   2  3
 *
 * Sequential reading means the next place of the lane, wherever its page lies in the file.
 *
 * A stream is a position in a lane that is being read.  It has a bitmap of which of the last 64
 * places were read, in any order: many ranks that read their parts of one range concurrently are
 * one stream.  The prediction is the shortest period of that history: 1 when everything was read, 4
 * for two places of every four.  A history without a period is random access: nothing is proposed,
 * except for TRUST places at the very start.
 *
 * Through a file view the next bytes are known (struct zc_ra_predict_vstream): the stream is a view
 * offset, and the pages that the view touches beyond it are proposed.
 *
 * Window: how many places or pages may be proposed ahead of the reader.  It starts at 1; a stream
 * of places starts with the length of what was read in a row, which ranks may have requested
 * together, as long as no proposal was wasted (Linux's first window is a multiple of the first
 * read).  It doubles with each readahead hit, up to `depth`, and halves with each wasted proposal;
 * at 0 the stream proposes nothing until some more places were read in order.
 *
 * Numbers are pages unless they say bytes.  The owner's lock guards everything.
 */
#ifndef ZC_RA_PREDICT_H
#define ZC_RA_PREDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zc_view.h"

enum {
    ZC_RA_PREDICT_STREAMS = 8,    /* positions of a reader that are followed at a time */
    ZC_RA_PREDICT_VIEWS = 64,     /* and positions in views: each rank of a job has its own */
    ZC_RA_PREDICT_DEPTH_MAX = 64, /* the largest depth */
};

struct zc_ra_predict_stream {
    uint32_t id; /* 0: free */
    uint32_t window;
    uint64_t touched; /* zc_ra_predict.clock at the last touch */
    uint64_t lane;
    uint64_t front;  /* the farthest place asked for */
    uint64_t next;   /* the first place not proposed yet */
    uint64_t seen;   /* bit i: place front - i was asked for */
    uint32_t known;  /* number of valid bits in `seen` */
    uint32_t period; /* 0: unknown */
    uint32_t calm;   /* places read in order since the window was shut */
    bool wasted;     /* a proposal of it was wasted */
    bool proven;     /* continued in some order at least once */
    uint64_t end;    /* byte of the lane behind the last access */
};

struct zc_ra_predict_vstream {
    uint32_t id; /* 0: free */
    uint32_t window;
    uint64_t touched;
    uint64_t lane;
    struct zc_view *view; /* a reference */
    struct zc_view_hash hash;
    int64_t disp;
    int64_t pos;  /* view offset behind the farthest byte asked for */
    int64_t next; /* view offset of the first byte not proposed yet */
    bool going;   /* may propose */
    bool proven;  /* continued at least once */
    uint32_t calm;
    /* view offsets of pages that were proposed and not reached */
    int64_t ahead[ZC_RA_PREDICT_DEPTH_MAX];
    unsigned first, count;
};

struct zc_ra_predict {
    uint32_t page_size;   /* bytes */
    uint64_t block_pages; /* pages in a block */
    uint64_t stride;      /* distance between blocks of this reader, in blocks */
    uint32_t depth;       /* largest window; 0: no proposals */
    uint32_t trust;       /* streams of pages that may still propose without evidence */
    uint32_t view_trust;  /* and of views */
    uint32_t nviews;      /* elements of `views` that are in use: the first ones */
    uint32_t last_id;
    uint64_t clock;
    struct zc_ra_predict_stream streams[ZC_RA_PREDICT_STREAMS];
    struct zc_ra_predict_vstream *views; /* NULL until the first read through a view */
};

/* block_size: bytes; 0 or not a multiple of the page: one lane.  stride: 0 and 1 are the same. */
void zc_ra_predict_init(struct zc_ra_predict *f, uint32_t page_size, uint64_t block_size,
                        uint64_t stride);
void zc_ra_predict_depth(struct zc_ra_predict *f, uint32_t depth);
void zc_ra_predict_free(struct zc_ra_predict *f);

/* Records a read of bytes [off, off + len) of the file, within one page.  foreseen: it was read
 * ahead, by any stream. */
void zc_ra_predict_touch(struct zc_ra_predict *f, uint64_t off, uint32_t len, bool foreseen);
/* Records a read of view bytes [view_off, view_off + len), the first at file offset `off`.  A view
 * that is not monotone is recorded by the pages it touches. */
void zc_ra_predict_touch_view(struct zc_ra_predict *f, const struct zc_view *v, int64_t disp,
                              int64_t view_off, int64_t len, uint64_t off, bool foreseen);

/* A page worth reading now. */
struct zc_proposal {
    uint64_t page;
    uint32_t stream;  /* id of the stream that proposes it */
    int64_t view_off; /* private: the stream's position, ... */
    int64_t view_len; /* ... and the bytes it covers */
};

/* Proposes the next page that begins before `size` bytes; false: none for now.  The same one is
 * proposed again until it is taken.  The stream with the fewest pages ahead is next, so that no
 * stream takes the room of the others. */
bool zc_ra_predict_propose(struct zc_ra_predict *f, uint64_t size, struct zc_proposal *out);
void zc_ra_predict_take(struct zc_ra_predict *f, const struct zc_proposal *p);

/* Reports that a page proposed by stream `id` was dropped before its use. */
void zc_ra_predict_wasted(struct zc_ra_predict *f, uint32_t id);
/* Whether the stream is gone, or passed this page long ago. */
bool zc_ra_predict_passed(const struct zc_ra_predict *f, uint32_t id, uint64_t page);

/* ---- the two kinds of streams: zc_ra_predict.c and zc_ra_predict_view.c ---- */

struct zc_ra_lane {
    uint64_t lane, place;
};

struct zc_ra_lane zc_ra_predict_place(const struct zc_ra_predict *f, uint64_t page);
uint64_t zc_ra_predict_page(const struct zc_ra_predict *f, uint64_t lane, uint64_t place);
uint32_t zc_ra_predict_id(struct zc_ra_predict *f);
void zc_ra_predict_grow(const struct zc_ra_predict *f, uint32_t *window);
/* false: this access is for the streams of pages */
bool zc_ra_predict_vstream_touch(struct zc_ra_predict *f, const struct zc_view *v, int64_t disp,
                                 int64_t view_off, int64_t len, uint64_t off, bool foreseen);
bool zc_ra_predict_vstream_propose(const struct zc_ra_predict *f, struct zc_ra_predict_vstream *s,
                                   uint64_t size, struct zc_proposal *out);
void zc_ra_predict_vstream_take(struct zc_ra_predict_vstream *s, const struct zc_proposal *p);

#endif
