/* zc_transfer_internal.h - a request that moves data: shared by zc_transfer.c, which moves it, and
 * zc_transfer_begin.c, which prepares it and releases what it holds.
 */
#ifndef ZC_TRANSFER_INTERNAL_H
#define ZC_TRANSFER_INTERNAL_H

#include "zc_server_internal.h"
#include "zc_view.h"

enum {
    ZC_TRANSFER_WINDOW = 4, /* pieces of a request under way ... */
    ZC_VIEW_WINDOW = 2,     /* ... of one with a view */
};

struct piece {
    struct zc_access access;
    struct zc_op op;
    struct zc_notice ready;
    struct zc_bounce_wait wait;
    struct zc_request *request;
    bool used;
    bool plain;
    bool arrived;                    /* writing: its bytes are in the page */
    uint64_t base;                   /* offset of its first byte in the request ... */
    uint32_t whole;                  /* ... and length, possibly of several pages */
    unsigned char *buf;              /* buffered: the bytes, else NULL ... */
    bool lost;                       /* ... counted in zc_bounce.lost */
    uint64_t off;                    /* in the current page: first byte ... */
    uint64_t first;                  /* ... its file offset ... */
    uint32_t len;                    /* ... and length */
    struct zc_view_ranges ranges;    /* scattered: the ranges in the page */
    struct zc_error error;           /* of the cache */
    struct zc_journal_write journal; /* while it is being journaled: zc_transfer_journal.c */
    struct zc_journal_ticket ticket;
    struct zc_range all; /* plain: its only range */
};

struct zc_transfer {
    struct zc_view *view;          /* NULL: none; it belongs to ... */
    struct zc_shared_view *shared; /* ... an installed view, or */
    bool listed;                   /* ... this transfer, one of zc_server.lists ... */
    bool list_lost;                /* ... or of zc_server.lists_lost */
    struct zc_few_wait list_wait;  /* zc_server.lists */
    uint64_t list_last;            /* file offset of its last byte */
    struct zc_request *request;
    int64_t disp;
    uint64_t next, end; /* offsets: the next piece, and the end */
    uint64_t missing;   /* writes: offset of the first piece that did not arrive; else ~0 */
    uint64_t eof;       /* reads: end of the file, if a piece met it; else ~0 */
    unsigned flying;    /* pieces under way */
    unsigned window;
    unsigned char *data;  /* inline payload */
    unsigned char *csums; /* its checksums, from the message or for the reply; NULL: none */
    uint32_t list_sum;    /* with csums: that of its list */
    struct piece pieces[ZC_TRANSFER_WINDOW];
};

static inline bool zc_transfer_writes(const struct zc_request *r)
{
    return r->msg.type == ZC_T_WRITE || r->msg.type == ZC_T_VWRITE ||
           r->msg.type == ZC_T_LIST_WRITE;
}

/* Whether its offsets are file offsets. */
static inline bool zc_transfer_is_plain(const struct zc_request *r)
{
    return r->msg.type == ZC_T_READ || r->msg.type == ZC_T_WRITE;
}

static inline bool zc_transfer_has_list(const struct zc_request *r)
{
    return r->msg.type == ZC_T_LIST_READ || r->msg.type == ZC_T_LIST_WRITE;
}

static inline bool zc_transfer_by_rma(const struct zc_request *r)
{
    return r->msg.flags & ZC_F_RMA;
}

/* Whether it may wait for room in the cache: it writes, and its bytes are still wanted. */
static inline bool zc_transfer_may_wait(const struct zc_request *r)
{
    return zc_transfer_writes(r) && !r->error.rc && !zc_session_gone(r->session);
}

static inline struct zc_server *zc_server_of(const struct zc_request *r)
{
    return r->session->server;
}

/* zc_transfer.c: keeps its window full, and finishes it at the end. */
void zc_transfer_advance(struct zc_request *r);
/* Releases the page; `arrived`: how many leading bytes of a plain write are in it. */
void zc_transfer_leave_page(struct piece *p, uint32_t arrived);
/* Continues a piece that has left its page, after its journaling succeeded or failed. */
void zc_transfer_kept(struct piece *p, const struct zc_error *e);
/* zc_transfer_journal.c: starts journaling of a write's bytes in their page.  True:
 * zc_transfer_kept() is called when that is done. */
bool zc_transfer_journal(struct piece *p);
/* zc_transfer_csum.c; no effect on requests without checksums.  Checks the message, once its inline
 * payload is in `data`; sets the text of an error. */
int zc_transfer_csum_begin(struct zc_request *r);
/* Returns where the stretch of one checksum that contains `from` ends; each stretch moves by RMA
 * through a buffer of its own.  0: no checksums. */
uint64_t zc_transfer_csum_stretch(const struct zc_request *r, uint64_t from);
/* Whether the bytes in the piece's buffer are undamaged; else sets r->status. */
bool zc_transfer_csum_came(struct piece *p);
/* Called before the piece leaves its page, or buffer, by RMA. */
void zc_transfer_csum_go(struct piece *p);
/* Adds checksums to the reply of a successful request. */
void zc_transfer_csum_end(struct zc_request *r);
/* zc_transfer_begin.c: releases the view when no further byte goes through it. */
void zc_transfer_leave_view(struct zc_session *ss, struct zc_transfer *t);

#endif
