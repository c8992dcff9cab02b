/* zc_transfer_internal.h - a request that moves data, for zc_transfer.c, which moves it, and
 * zc_transfer_begin.c, which finds what it needs first and gives it back.
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
    uint64_t base;                   /* what is moved: its first byte in the request, ... */
    uint32_t whole;                  /* ... and how many, of several pages maybe */
    unsigned char *buf;              /* buffered: where they are, else NULL ... */
    bool lost;                       /* ... which is one of zc_bounce.lost */
    uint64_t off;                    /* of them, in the page it is about now: the first, ... */
    uint64_t first;                  /* ... where that is in the file, ... */
    uint32_t len;                    /* ... and how many they are */
    struct zc_view_ranges ranges;    /* scattered: where they are in the page */
    char text[ZC_TEXT_MAX];          /* why the cache failed it */
    struct zc_journal_write journal; /* its bytes on the way there: zc_transfer_journal.c */
    struct zc_journal_ticket ticket;
    struct zc_range all; /* plain: which they are */
};

struct zc_transfer {
    struct zc_view *view;          /* NULL: none; it belongs to ... */
    struct zc_shared_view *shared; /* ... what is installed, or */
    bool listed;                   /* ... to this transfer, one of zc_server.lists, ... */
    bool list_lost;                /* ... or of zc_server.lists_lost */
    struct zc_list link;           /* zc_server.lists_waiting */
    unsigned char *copy;           /* of list and data, while it waits there */
    struct zc_request *request;
    int64_t disp;
    uint64_t next, end; /* offsets: the next piece, and where to stop */
    uint64_t missing;   /* writes: where the first piece is that did not arrive; else ~0 */
    uint64_t eof;       /* reads: the end of the file, when a piece met it; else ~0 */
    unsigned flying;    /* pieces under way */
    unsigned window;
    unsigned char *data; /* inline payload */
    unsigned char *sums; /* its checksums: what the message said, or the reply will; NULL: none */
    uint32_t list_sum;   /* then: of its list */
    struct piece pieces[ZC_TRANSFER_WINDOW];
};

static inline bool zc_transfer_writes(const struct zc_request *r)
{
    return r->msg.type == ZC_T_WRITE || r->msg.type == ZC_T_VWRITE ||
           r->msg.type == ZC_T_LIST_WRITE;
}

/* Its offsets are those of the file. */
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

static inline struct zc_server *zc_server_of(const struct zc_request *r)
{
    return r->session->server;
}

/* zc_transfer.c: keeps its window full, and finishes it at the end. */
void zc_transfer_advance(struct zc_request *r);
/* Gives the page back; `arrived`: how many of a plain write's bytes are in it, the first ones. */
void zc_transfer_leave_page(struct piece *p, uint32_t arrived);
/* The piece, which has left its page, is in the journal, or not. */
void zc_transfer_kept(struct piece *p, int status, const char *text);
/* zc_transfer_journal.c: the bytes of a write are in their page.  True: they go to the journal
 * first, then zc_transfer_kept() is called. */
bool zc_transfer_journal(struct piece *p);
/* zc_transfer_sums.c, which does nothing where the request has no checksums.  Looks at the message,
 * once its inline payload is in `data`; the text of an error is set. */
int zc_transfer_sums_begin(struct zc_request *r);
/* Not 0: it is moved by RMA in stretches that are each in a buffer of their own at a time, for one
 * sum.  Where the one ends that `from` is in. */
uint64_t zc_transfer_sums_stretch(const struct zc_request *r, uint64_t from);
/* Whether what is in the piece's buffer has come undamaged; else it is in r->status. */
bool zc_transfer_sums_came(struct piece *p);
/* The piece is about to leave its page, or buffer, by RMA. */
void zc_transfer_sums_go(struct piece *p);
/* The request has worked, and its reply is about to go: with sums. */
void zc_transfer_sums_end(struct zc_request *r);
/* zc_transfer_begin.c: no byte of it goes through its view any more. */
void zc_transfer_leave_view(struct zc_session *ss, struct zc_transfer *t);

#endif
