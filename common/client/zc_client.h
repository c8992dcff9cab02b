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

#include "zc_handshake.h"
#include "zc_net.h"
#include "zc_store.h"
#include "zc_transport.h"
#include "zc_view.h"

struct zc_client;
struct zc_quiescence; /* zc_pagedesc.h */

/* Begins a session with the server that knows the same secret.  `label` names it in messages
 * ("zcached on n17").  -ESTALE: the process at the address does not know it; -EPROTONOSUPPORT: it
 * speaks another protocol version; -ETIMEDOUT: no reply. */
int zc_client_connect(struct zc_net *n, const void *addr, size_t len,
                      const struct zc_secret *secret, const char *label, struct zc_client **out);
/* Begins a session that replaces an earlier one, which the server ends first, together with
 * sessions of earlier attempts to replace it; call one at a time.  Waits at most `patience_ms` for
 * a reply, whatever the time-out. */
struct zc_past {
    uint64_t session, client_id;
};
int zc_client_connect_again(struct zc_net *n, const void *addr, size_t len,
                            const struct zc_secret *secret, const char *label,
                            const struct zc_past *past, uint64_t patience_ms,
                            struct zc_client **out);
/* Says BYE if it can, once, and takes what the server has said until then, a COMMITTED for one:
 * what zc_client_disconnect() begins with.  No call may be under way. */
void zc_client_bye(struct zc_client *c);
/* Always frees, with an endpoint of its own (zc_connect.h).  No call may be under way. */
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
/* ZC_OPEN_EXPORTED at an aggregator; -ESTALE: it is not of this group (any more). */
int zc_client_open_exported(struct zc_client *c, const char *path, unsigned flags, mode_t mode,
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
    uint64_t count;         /* after the wait: what was counted, 0 on an error */
    uint64_t committed_seq; /* ... of a backlog: the file is stored up to this number */
};
/* `arg`, as the functions below name it: a level (enum zc_level), a size in bytes, or what to count
 * (enum zc_backlog). */
typedef void zc_client_start_fn(struct zc_client *c, uint64_t handle, uint64_t arg,
                                struct zc_later *l);
void zc_client_flush_start(struct zc_client *c, uint64_t handle, uint64_t level,
                           struct zc_later *l);
/* As zc_client_flush_start(), for a caller that reports the result to all ranks that share the
 * file. */
void zc_client_flush_collective_start(struct zc_client *c, uint64_t handle, uint64_t level,
                                      struct zc_later *l);
/* Flushes; then the server drops clean bytes that may be out of date. */
void zc_client_refresh_start(struct zc_client *c, uint64_t handle, uint64_t level,
                             struct zc_later *l);
/* As zc_client_refresh_start(), for a caller that reports the result to all ranks that share the
 * file. */
void zc_client_refresh_collective_start(struct zc_client *c, uint64_t handle, uint64_t level,
                                        struct zc_later *l);
void zc_client_close_start(struct zc_client *c, uint64_t handle, uint64_t level,
                           struct zc_later *l);
/* After another server has truncated the file: ZC_F_CUT. */
void zc_client_cut_start(struct zc_client *c, uint64_t handle, uint64_t size, struct zc_later *l);
/* Counts bytes that are not written back. */
void zc_client_backlog_start(struct zc_client *c, uint64_t handle, uint64_t what,
                             struct zc_later *l);
int zc_client_wait(struct zc_client *c, struct zc_later *l);
/* Of a file exported by an aggregator; see zc_coord.h. */
int zc_client_pointer(struct zc_client *c, uint64_t handle, uint32_t what, uint64_t epoch,
                      uint64_t value, uint64_t *was);
/* Returns when the range is locked; *number is for unlock. */
int zc_client_lock(struct zc_client *c, uint64_t handle, bool exclusive, uint64_t off, uint64_t len,
                   uint64_t *number);
int zc_client_unlock(struct zc_client *c, uint64_t handle, uint64_t number);
/* See zc_store_rendezvous(); *mine is the number of our record, 0: another one is there.  One call
 * at a time. */
int zc_client_rendezvous(struct zc_client *c, uint64_t handle, const char *job, const void *record,
                         size_t len, uint64_t replaces, uint64_t *mine,
                         struct zc_rendezvous_record *theirs);
/* Finds the published record, unless it is the one of number `but`; publishes nothing.
 * theirs->bytes stays NULL if there is no such record. */
int zc_client_find_record(struct zc_client *c, uint64_t handle, const char *job, uint64_t but,
                          struct zc_rendezvous_record *theirs);
int zc_client_withdraw(struct zc_client *c, uint64_t mine);
int zc_client_unlink(struct zc_client *c, const char *path);
int zc_client_stat(struct zc_client *c, const char *path, struct zc_attr *attr);
int zc_client_ping(struct zc_client *c);
/* Makes the STEP request `what` (enum zc_step) for an open file, with step *number and `size` or
 * `limit_ms`; *number becomes the server's answer.  See zc_store_step(). */
int zc_client_step(struct zc_client *c, uint64_t handle, uint32_t what, uint64_t *number,
                   uint64_t size, uint64_t limit_ms);
void zc_client_step_start(struct zc_client *c, uint64_t handle, uint32_t what, uint64_t number,
                          uint64_t size, uint64_t limit_ms, struct zc_later *l);

/* Asks for members of the server's document (enum zc_info, added up): *text, JSON, is allocated,
 * NUL-terminated, the caller's to free. */
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

    bool checked; /* with checksums (zc_wire_csum.h): zc_wire_csum_span() bytes at most, and a list
                   * leaves room for them in its message.  Damaged bytes are moved again, then -EIO
                   */

    uint64_t unstable_seq,
        committed_seq;       /* a write, when it is over: what the server's reply has told */
    uint64_t pagedesc, file; /* a read, the same: for zc_client_learn_page() */

    struct zc_call *call; /* private, from here on */
    struct zc_mr mr;
    int status;
    bool by_rma;
    unsigned char *csums;
    uint32_t ncsums;
    unsigned tries;        /* in vain: damaged */
    bool raced;            /* the last one was overwritten meanwhile, by the program ... */
    void *original;        /* ... since when `buf` is a copy of this; or NULL */
    size_t bad_lo, bad_hi; /* of its bytes, what came damaged each time; 0: nothing did */
};

/* Starts the transfer; never fails: a failure shows in zc_io_wait().  Waits while the server's
 * credits are used up. */
void zc_io_start(struct zc_client *c, struct zc_io *io);
/* Bytes moved, for a read up to the end of the file as this server knows it. */
ssize_t zc_io_wait(struct zc_client *c, struct zc_io *io);

/* Remembers the page descriptor that a finished read returned, for zc_client_peek().  `off`:
 * the last byte read, as an offset in the file. */
void zc_client_learn_page(struct zc_client *c, uint64_t handle, uint64_t off,
                          const struct zc_io *io);
/* Reads bytes of one page from the server's memory, without a message.  True: `buf` has what a read
 * by message would return now.  False: read by message; a failed attempt may have overwritten
 * `buf`. */
bool zc_client_peek(struct zc_client *c, uint64_t handle, void *buf, size_t len, uint64_t off);
/* As zc_cache_is_quiescent(), of a file at the server.  False also if that cannot be seen here. */
bool zc_client_is_quiescent(struct zc_client *c, const struct zc_quiescence *q);
uint64_t zc_client_peeks(struct zc_client *c); /* how often it did */

/* Asks the server, a process of this host, for shared memory for writes.  After an error there is
 * no ring, and no page can be peeked at. */
int zc_client_ring_open(struct zc_client *c);
/* A write to be left there: of `len` bytes at a file offset, or, where there is a view, at an
 * offset in that.  Of the view nothing is kept. */
struct zc_ring_write {
    uint64_t handle;
    const void *buf; /* NULL: pack() puts them there */
    size_t len;
    uint64_t off;
    const struct zc_view *view; /* or NULL */
    int64_t disp;
    int (*pack)(void *arg, void *to); /* all of them; an error, and nothing is left */
    void *arg;
};
/* Puts a write into the ring.  True: it is applied before any request that follows; its failure is
 * reported like one of write-back.  False: send the write by message. */
bool zc_client_ring_write(struct zc_client *c, const struct zc_ring_write *p);
uint64_t zc_client_ring_writes(const struct zc_client *c); /* how often it did */

/* Called when writes of an open file with numbers up to `stored` are committed (zc_progress), by
 * the thread that drives progress, without locks; must not block, nor end the client.  Set before a
 * file is opened. */
typedef void zc_client_committed_fn(void *arg, struct zc_client *c, uint64_t handle,
                                    uint64_t stored);
void zc_client_on_committed(struct zc_client *c, zc_client_committed_fn *fn, void *arg);

/* A transfer through a view, which the server has, or gets, or pieces are listed: whichever it is,
 * the bytes go where they belong. */
struct zc_vio {
    bool write;
    uint64_t handle;
    struct zc_view *view;
    int64_t disp;
    uint64_t off; /* in its visible bytes */
    size_t len;
    uint64_t left; /* bytes of the access that it is part of, from `off` on, to all servers that
                      share the file; 0: unknown */
    void *buf;     /* contiguous data; from start to wait */
    bool checked;  /* as zc_io.checked, whichever way it is made */
    /* All transfers to this server with this handle lie in this slice of the file; count 0 or 1:
     * anywhere. */
    struct zc_view_slice slice;

    struct zc_held_view *held; /* private, from here on */
    unsigned char *list;
    struct zc_io io;
};

/* Decides how the transfer is made.  May take long, when the view is installed.  Can reduce len,
 * never to 0: the rest is another transfer.  After an error there is no transfer. */
int zc_vio_aim(struct zc_client *c, struct zc_vio *v);
/* Ends a transfer that is aimed and will not be started. */
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
