/* zc_way.h - which way the bytes of a transfer go: the cheapest one that can carry them.
 *
 * Whether a way is open is known when it is tried.  Where the file cannot be read around, the next
 * one is chosen; where a page is not published, or a ring is full, the bytes go by message.  What
 * the transport makes of a message's bytes, and what a server does when they lie scattered, is not
 * chosen here: doc/COPIES.md has the costs.
 */
#ifndef ZC_WAY_H
#define ZC_WAY_H

#include <stdbool.h>
#include <stddef.h>

/* From the one that is tried first on. */
enum zc_way {
    ZC_WAY_FILE,   /* zcache_read_around(): the file's bytes are in the kernel's page cache */
    ZC_WAY_CALL,   /* the cache is this process's */
    ZC_WAY_PEEK,   /* zc_client_peek(): the page is published */
    ZC_WAY_RING,   /* zc_client_ring_write(): the ring has room */
    ZC_WAY_INLINE, /* in the message */
    ZC_WAY_RMA,    /* by remote memory access, as the message asks for */
    ZC_WAYS
};

/* A transfer; all lengths are in bytes. */
struct zc_way_ask {
    bool file; /* this process may read the file itself */
    bool own;  /* this process owns the bytes */
    bool write;
    bool message; /* no other way is open, or none has been thought of */
    bool plain;   /* contiguous in the file */
    bool checked; /* with checksums */
    bool large;   /* a ring would fill the cache with this and its like, out of order */
    size_t len;
    size_t page; /* of the owner's cache */
    size_t room; /* for data in a message */
};

enum zc_way zc_way(const struct zc_way_ask *a);

#endif
