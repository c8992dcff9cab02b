/* zc_client.h - calls to a server: one function a request.
 *
 * Clients (one a daemon) share this process's endpoint, zc_net.h, which also says what becomes of
 * a client whose server falls silent.
 *
 * All calls may be made from any thread.  Errors: negative errno, explained by zc_errorf()
 * with what the server said.
 */
#ifndef ZC_CLIENT_H
#define ZC_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "zc_net.h"
#include "zc_shake.h"
#include "zc_store.h"
#include "zc_transport.h"
#include "zc_view.h"

struct zc_client;

/* Begins a session with the server that knows the same secret.  `label` names it in messages
 * ("zcached on n17").  -ESTALE: who answers does not know it; -EPROTONOSUPPORT: it speaks another
 * protocol version; -ETIMEDOUT: nobody answers. */
int zc_client_connect(struct zc_net *n, const void *addr, size_t len,
                      const struct zc_secret *secret, const char *label, struct zc_client **out);
/* The same, again: in place of a session before, which the server ends first, as it does with what
 * came of earlier attempts to take its place: one at a time.  Waits for a sign of life for
 * `patience_ms` at most, whatever the time-out. */
struct zc_past {
    uint64_t session, client_id;
};
int zc_client_connect_again(struct zc_net *n, const void *addr, size_t len,
                            const struct zc_secret *secret, const char *label,
                            const struct zc_past *past, uint64_t patience_ms,
                            struct zc_client **out);
/* Says BYE if it can, once, and takes what the server has said until then, a STORED for one: what
 * zc_client_disconnect() begins with.  No call may be under way. */
void zc_client_bye(struct zc_client *c);
/* Always frees.  No call may be under way. */
void zc_client_disconnect(struct zc_client *c);

/* True when all its calls fail. */
bool zc_client_broken(struct zc_client *c);
/* For this many ns something that was sent has had no answer, nor anything else come from the
 * server; 0: all is well. */
uint64_t zc_client_quiet(struct zc_client *c);
/* The server is known to be gone: breaks the client, as a deadline would. */
void zc_client_give_up(struct zc_client *c, const char *why);
struct zc_past zc_client_past(const struct zc_client *c);
/* It is broken because the endpoint was severed for another client's sake: its server may be well,
 * and be connected to again through another endpoint. */
bool zc_client_bystander(struct zc_client *c);
uint64_t zc_client_boot_id(const struct zc_client *c);
uint64_t zc_client_identity(const struct zc_client *c);  /* of the server, through all its starts */
uint32_t zc_client_page_size(const struct zc_client *c); /* bytes; unit of large transfers */
uint32_t zc_client_max_inline(const struct zc_client *c); /* bytes of data in a message */
const char *zc_client_label(const struct zc_client *c);
/* libfabric's, in use; NULL: it does without. */
const char *zc_client_provider(const struct zc_client *c);

int zc_client_open(struct zc_client *c, const char *path, unsigned flags, mode_t mode,
                   uint64_t *handle, struct zc_attr *attr);
/* ZC_OPEN_FOR_ALL at an aggregator; -ESTALE: it is not of this group (any more). */
int zc_client_open_for_all(struct zc_client *c, const char *path, unsigned flags, mode_t mode,
                           uint64_t group, uint64_t *handle, struct zc_attr *attr);
/* Ends the handle, whatever it returns. */
int zc_client_close(struct zc_client *c, uint64_t handle, enum zc_level level);
int zc_client_getattr(struct zc_client *c, uint64_t handle, struct zc_attr *attr);
int zc_client_truncate(struct zc_client *c, uint64_t handle, uint64_t size);
int zc_client_allocate(struct zc_client *c, uint64_t handle, uint64_t off, uint64_t len);
int zc_client_flush(struct zc_client *c, uint64_t handle, enum zc_level level);
/* Requests in two halves, for several servers at a time.  Start never fails: a failure shows
 * in the wait. */
struct zc_later {
    struct zc_call *call;
    int status;
    uint64_t count; /* after the wait: what was counted, 0 on an error */
};
void zc_client_flush_start(struct zc_client *c, uint64_t handle, enum zc_level level,
                           struct zc_later *l);
/* The same, then the server drops what others may have changed. */
void zc_client_refresh_start(struct zc_client *c, uint64_t handle, enum zc_level level,
                             struct zc_later *l);
/* The same for somebody who tells all others that share the file what comes of it. */
void zc_client_refresh_for_all_start(struct zc_client *c, uint64_t handle, enum zc_level level,
                                     struct zc_later *l);
void zc_client_close_start(struct zc_client *c, uint64_t handle, enum zc_level level,
                           struct zc_later *l);
/* After another server has truncated the file: ZC_F_CUT. */
void zc_client_cut_start(struct zc_client *c, uint64_t handle, uint64_t size, struct zc_later *l);
/* Counts bytes that are not written back; `what` is an enum zc_backlog. */
void zc_client_backlog_start(struct zc_client *c, uint64_t handle, uint32_t what,
                             struct zc_later *l);
int zc_client_wait(struct zc_client *c, struct zc_later *l);
/* Of a file exported by an aggregator; see zc_coord.h. */
int zc_client_pointer(struct zc_client *c, uint64_t handle, uint32_t what, uint64_t epoch,
                      uint64_t value, uint64_t *was);
/* Returns when the range is locked; *number is for unlock. */
int zc_client_lock(struct zc_client *c, uint64_t handle, bool exclusive, uint64_t off, uint64_t len,
                   uint64_t *number);
int zc_client_unlock(struct zc_client *c, uint64_t handle, uint64_t number);
/* See zc_store_meet(); *mine is the number of our card, 0: another one is there.  One at a time. */
int zc_client_meet(struct zc_client *c, uint64_t handle, const char *job, const void *card,
                   size_t len, uint64_t replaces, uint64_t *mine, struct zc_card *theirs);
int zc_client_part(struct zc_client *c, uint64_t mine);
int zc_client_unlink(struct zc_client *c, const char *path);
int zc_client_stat(struct zc_client *c, const char *path, struct zc_attr *attr);
int zc_client_ping(struct zc_client *c);

/* enum zc_info; *text is allocated, NUL-terminated, the caller's to free. */
int zc_client_info(struct zc_client *c, uint32_t what, char **text);
/* enum zc_control; *count is what it counted (bytes) and may be NULL. */
int zc_client_control(struct zc_client *c, uint32_t what, uint64_t *count);

/* ---- moving data, several calls at a time ---- */

struct zc_view;

/* One transfer; buffer and list belong to it from start to wait. */
struct zc_io {
    bool write;
    uint64_t handle;
    void *buf; /* contiguous data */
    size_t len;
    uint64_t off;     /* in the file; or, with a view, in its visible bytes */
    uint64_t view;    /* number of one that is installed; 0: none */
    const void *list; /* of pieces (zc_view.h), instead; NULL: none */
    size_t list_len;  /* bytes of it */
    int64_t disp;     /* of the view, or where the list begins */

    bool checked; /* with checksums (zc_sums.h): zc_sums_span() bytes at most, and a list leaves
                   * room for them in its message.  Damaged bytes are moved again, then -EIO */

    uint64_t taken, stored; /* a write, when it is over: what the server's reply has told */
    uint64_t glance, file;  /* a read, the same: for zc_client_saw() */

    struct zc_call *call; /* private, from here on */
    struct zc_mr mr;
    int status;
    bool by_rma;
    unsigned char *sums;
    uint32_t nsums;
    unsigned tries, races; /* in vain: damaged, overwritten meanwhile */
    size_t bad_lo, bad_hi; /* of its bytes, what came damaged each time; 0: nothing did */
};

/* Starts the transfer; never fails: a failure shows in zc_io_wait().  Waits while the server's
 * credits are used up. */
void zc_io_start(struct zc_client *c, struct zc_io *io);
/* Bytes moved, for a read up to the end of the file as this server knows it. */
ssize_t zc_io_wait(struct zc_client *c, struct zc_io *io);

/* A read is over whose last byte was this one of the file: where its page may be looked at is
 * remembered. */
void zc_client_saw(struct zc_client *c, uint64_t handle, uint64_t off, const struct zc_io *io);
/* Reads bytes of one page, if that is remembered and the server, a process of this host, shows
 * them.  True: they are in `buf`, as a read that was made now would bring them.  False: that is to
 * be made; `buf` is as it was, unless others change these bytes meanwhile. */
bool zc_client_peek(struct zc_client *c, uint64_t handle, void *buf, size_t len, uint64_t off);
uint64_t zc_client_peeks(struct zc_client *c); /* how often it did */

/* The server, a process of this host, shares memory with us to leave writes in.  An error, and
 * nothing has changed but that its pages may not be looked at any more: there is none. */
int zc_client_share(struct zc_client *c);
/* A write to be left there: of `len` bytes at a file offset, or, where there is a view, at an
 * offset in that.  Of the view nothing is kept. */
struct zc_posted {
    uint64_t handle;
    const void *buf; /* NULL: pack() puts them there */
    size_t len;
    uint64_t off;
    const struct zc_view *view; /* or NULL */
    int64_t disp;
    int (*pack)(void *arg, void *to); /* all of them; an error, and nothing is left */
    void *arg;
};
/* True: it is as if it had been made, before anything that comes after this call; one that fails is
 * told of like what cannot be written back.  False: it is to be made. */
bool zc_client_post(struct zc_client *c, const struct zc_posted *p);
uint64_t zc_client_posts(const struct zc_client *c); /* how often it did */

/* Of an open file that this client writes to: what was taken with numbers up to `stored` is stored
 * (zc_progress).  Called by whoever drives progress, without locks; must not block, nor end the
 * client.  Set before a file is opened. */
typedef void zc_client_stored_fn(void *arg, struct zc_client *c, uint64_t handle, uint64_t stored);
void zc_client_on_stored(struct zc_client *c, zc_client_stored_fn *fn, void *arg);

/* A transfer through a view, which the server has, or gets, or pieces are listed: whichever it is,
 * the bytes go where they belong. */
struct zc_vio {
    bool write;
    uint64_t handle;
    struct zc_view *view;
    int64_t disp;
    uint64_t off; /* in its visible bytes */
    size_t len;
    void *buf;    /* contiguous data; from start to wait */
    bool checked; /* as zc_io.checked, whichever way it is made */
    /* All transfers to this server with this handle lie in this slice of the file; count 0 or 1:
     * anywhere. */
    struct zc_view_slice slice;

    struct zc_held_view *held; /* private, from here on */
    unsigned char *list;
    struct zc_io io;
};

/* Decides how it is made.  May take long, when the view is installed.  len may become less, never
 * 0: what is left is another transfer.  0, or an error, and there is no transfer. */
int zc_vio_aim(struct zc_client *c, struct zc_vio *v);
/* It is not started after all. */
void zc_vio_forget(struct zc_client *c, struct zc_vio *v);
void zc_vio_start(struct zc_client *c, struct zc_vio *v);
ssize_t zc_vio_wait(struct zc_client *c, struct zc_vio *v); /* as zc_io_wait() */

/* The view of an open file has been replaced: the server may drop the ones before. */
void zc_client_view_replaced(struct zc_client *c, uint64_t handle);
/* The file is closed: it drops all. */
void zc_client_views_end(struct zc_client *c, uint64_t handle);

/* Both halves. */
ssize_t zc_client_read(struct zc_client *c, uint64_t handle, void *buf, size_t len, uint64_t off);
ssize_t zc_client_write(struct zc_client *c, uint64_t handle, const void *buf, size_t len,
                        uint64_t off);

#endif
