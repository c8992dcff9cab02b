/* zc_wire.h - the messages between a rank, an aggregator and a daemon (doc/PROTOCOL.md).
 *
 * A message is a 24-byte header and a body, little endian, without padding:
 *
 *     size[4] type[1] version[1] flags[2] tag[8] session[8]   body
 *
 * `size` counts the whole message.  A reply carries the tag of its request and has
 * type | ZC_REPLY.  What a body holds stands in one table (zc_messages.h), by which
 * zc_codec.c encodes, checks and prints; this header is its host-side form.
 * A new message is a row of that table, a row and a function of the server's
 * (zc_request_kinds.c), a call of the client's, and lines of doc/PROTOCOL.md.
 *
 * HELLO and its reply begin with fields that stay for ever, so that any two versions can tell each
 * other apart; the others of them are for those that speak the same one.
 *
 * Every message but HELLO, its reply, AUTH and CREDENTIAL ends with a MAC (zc_mac.h); here it is
 * room.
 */
#ifndef ZC_WIRE_H
#define ZC_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zc_wire_csum.h"

#define ZC_MAGIC       0x006568636163637aull /* "zcache\0\0" up to byte order */
#define ZC_HEADER_SIZE 24
#define ZC_REPLY       0x80
#define ZC_MAC_SIZE    8

/* A message, whole; bodies with inline data are the largest. */
#define ZC_MAX_MESSAGE 16384
/* Data carried in a message; more goes by RMA.  Leaves room for any header and body. */
#define ZC_MAX_INLINE     (ZC_MAX_MESSAGE - 256)
#define ZC_MAX_PATH       4096
#define ZC_MAX_ADDRESS    512
#define ZC_MAX_NAME       128
#define ZC_MAX_TEXT       1024
#define ZC_NONCE_SIZE     32
#define ZC_PROOF_SIZE     32
#define ZC_MAX_CREDENTIAL 1024
/* RENDEZVOUS: the name of a job, and how much of a record is carried. */
#define ZC_MAX_JOB_NAME     255
#define ZC_MAX_RECORD_PIECE 8192

enum zc_type {
#define ZC_MESSAGE(name, number, ...) ZC_T_##name = number,
#include "zc_messages.h"
};

/* Header flags. */
enum {
    ZC_F_RMA = 1,     /* what moves data: it moves by RMA at raddr/rkey */
    ZC_F_REFRESH = 2, /* FLUSH: then drop clean pages, others may have changed the file */
    ZC_F_CUT = 4, /* TRUNCATE: another server has: cut what is cached, whatever the store says */
    ZC_F_COLLECTIVE = 8, /* FLUSH: all ranks of the handle report its result */
    ZC_F_SUMS = 16,  /* what moves data: with checksums (zc_wire_csum.h); a failed reply: they are
                        not  those of what has come */
    ZC_F_AGAIN = 32, /* what came before was damaged: it comes again */
    ZC_F_RACED = 64, /* what writes: what came before was overwritten on its way, by the sender;
                      * this is a copy */
};

/* HELLO: how the client authenticates. */
enum zc_method {
    ZC_METHOD_SECRET = 1, /* it proves that it knows the server's secret */
    ZC_METHOD_MUNGE = 2,  /* munge names its user */
};

/* OPEN, beside the store's ZC_OPEN_* flags: all clients of the server may use the handle, which
 * ends with a CLOSE by the session that opened it, or with that session. */
enum { ZC_OPEN_EXPORTED = 128 };

enum zc_backlog {
    ZC_BACKLOG_HERE = 1,  /* cached here and not in the store below */
    ZC_BACKLOG_BELOW = 2, /* in the store below and not in the file system */
};

/* What RENDEZVOUS is to do. */
enum zc_rendezvous {
    ZC_RENDEZVOUS_PUBLISH =
        1, /* a piece of a record; the last one publishes it, or finds another one */
    ZC_RENDEZVOUS_READ = 2,     /* more of the record that was found */
    ZC_RENDEZVOUS_WITHDRAW = 3, /* take it back */
    ZC_RENDEZVOUS_FIND = 4,     /* find the record that is there, and leave none */
};

/* What POINTER is to do. */
enum zc_pointer { ZC_POINTER_ADD, ZC_POINTER_SET };

/* Kinds of STEP (zc_steps.h); an aggregator accepts only READ. */
enum zc_step {
    ZC_STEP_BEGIN = 1, /* the client will publish steps; the reply has the last step so far */
    ZC_STEP_PUBLISH,   /* step `count` is complete, and the file has `size` bytes */
    ZC_STEP_WAIT, /* wait at most `len` ms until step `count` is published; the reply has the last
                     step */
    ZC_STEP_READ, /* read step `count` from now on */
};

/* What LOCK is to do. */
enum zc_lock_kind { ZC_LOCK_SHARED, ZC_LOCK_EXCLUSIVE };

/* Members of the document about the server, added up. */
enum zc_info {
    ZC_INFO_STATS = 1,    /* all counters */
    ZC_INFO_FILES = 2,    /* the files in the cache */
    ZC_INFO_STATUS = 4,   /* what it is, and how it stands */
    ZC_INFO_COUNTERS = 8, /* kind, unit and help of the numbers of the others */
};

enum zc_control {
    ZC_CONTROL_FLUSH = 1,  /* write back everything; the reply comes when it is stored */
    ZC_CONTROL_EVICT = 2,  /* then drop clean pages */
    ZC_CONTROL_DRAIN = 3,  /* flush, and refuse new opens from now on */
    ZC_CONTROL_STOP = 4,   /* drain, reply, exit */
    ZC_CONTROL_RESUME = 5, /* open files again, after a drain */
};

/* Bytes inside the message buffer (decode) or the caller's memory (encode). */
struct zc_bytes {
    const void *p;
    uint32_t n;
};

/* A message in host form.  Each type uses the fields its row in zc_messages.h names. */
struct zc_msg {
    uint8_t type, version;
    uint16_t flags;
    uint64_t tag, session;

    int32_t status;       /* replies, EVICTED: 0 or -errno (Linux asm-generic numbers) */
    struct zc_bytes text; /* the same: explanation of a failure; INFO: the document */

    uint64_t magic; /* HELLO */
    uint16_t version_min, version_max;
    struct zc_bytes address;  /* of the client's endpoint, as fi_getname gives it */
    uint64_t client_id;       /* random; one per connect */
    uint32_t silence_ms;      /* each side may call the other gone after this long */
    struct zc_bytes name;     /* "host:pid rank 3", for people */
    uint64_t replaces;        /* the session that this one takes the place of, or 0 ... */
    uint64_t replaces_client; /* ... and the client_id that it was opened with */
    uint32_t method;          /* enum zc_method */
    struct zc_bytes nonce;    /* HELLO and its reply; ZC_NONCE_SIZE */
    struct zc_bytes proof;    /* HELLO's reply, AUTH; ZC_PROOF_SIZE */

    struct zc_bytes credential; /* CREDENTIAL: munge's, without a NUL */

    uint64_t boot_id;  /* HELLO reply: one per start of the server */
    uint64_t identity; /* HELLO reply: that of the server, through all its starts */
    uint32_t max_inline, credits, page_size;

    struct zc_bytes path, job;
    uint32_t open_flags, mode, level, what;
    uint64_t handle, off, len, size, block_size;
    uint64_t group;           /* OPEN for all: of the owners that the opener takes for the file's */
    uint64_t set;             /* OPEN: which daemons serve the file ... */
    uint32_t daemon, daemons; /* ... this one's place among them, and how many they are */
    uint32_t width, first;    /* in OPEN and attributes: daemons that own blocks of the file */
    uint32_t gid;    /* OPEN that may create: group of the new file; UINT32_MAX: the server's */
    uint64_t stride; /* OPEN: the client reads every so-manieth block; 0: all */
    uint64_t dev, ino, nlink, mtime_ns, ctime_ns, born_ns;
    uint64_t store_unit; /* OPEN reply: stripe size in the server's store; bytes, 0: unknown */
    uint32_t created;    /* OPEN reply: 1: the request has created the file */
    uint64_t raddr, rkey;
    uint64_t view;                /* number of a view that the session has installed */
    uint64_t view_low, view_high; /* its hash */
    uint64_t memory;              /* VIEW_INSTALL: bytes it takes at most while it is decoded */
    uint64_t disp;                /* displacement of the view, bytes; `off` is a view offset then */
    uint64_t count; /* replies: bytes moved, or counted; a lock's or record's number; a pointer */
    uint64_t epoch; /* of the shared file pointer: views that were set before */
    uint64_t unstable_seq,
        committed_seq;       /* what is written: its number, and up to which it is in the store */
    uint64_t pagedesc, file; /* READ, VREAD replies: where the last page may be looked at without
                              asking (zc_pagedesc.h), and its file's number there; 0: nowhere */
    uint32_t control_at; /* POINTER reply: 1 and the pointer's number on the board; 0: not there */
    uint32_t control_fd, ring_fd; /* RING_OPEN reply: of the server's process (zc_ring.h); and of
                                  the memory that all its glances are in: */
    uint32_t pagedescs_fd;
    uint64_t pagedescs, pagedescs_len; /* its address there, bytes; 0: none */
    struct zc_bytes list;              /* pieces of a file, as the encoding of a view */
    struct zc_bytes csums;             /* checksums of the payload */
    struct zc_bytes data;              /* inline payload */
};

/* Whether messages of this type end with a MAC. */
bool zc_msg_has_mac(uint8_t type);

/* Bytes the encoded message takes; m->type decides the body. */
size_t zc_msg_size(const struct zc_msg *m);

/* Writes the message, and zeros where its MAC is to be; returns its size, or -EMSGSIZE when `cap`
 * or a field limit is too small, -EINVAL for an unknown type. */
int zc_msg_encode(const struct zc_msg *m, void *buf, size_t cap);

/* Checks and reads a message of `len` bytes; byte fields point into `buf`.
 * -EPROTO: malformed (zc_errorf() says how); -EPROTONOSUPPORT: well-formed header of
 * another version (type, version, tag and session are set). */
int zc_msg_decode(struct zc_msg *m, const void *buf, size_t len);

/* "WRITE tag 7 handle 3 off 0 len 65536 ..." ; returns buf. */
char *zc_msg_print(const struct zc_msg *m, char *buf, size_t len);

/* "WRITE", "R-WRITE", "type 99". */
const char *zc_type_name(uint8_t type, char *buf, size_t len);

/* For each message type, its body in the notation of doc/PROTOCOL.md; a test compares. */
char *zc_msg_layout(uint8_t type, char *buf, size_t len);

#endif
