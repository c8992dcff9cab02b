/* zc_shmring.h - the owner's side of the rings through which processes of its host write
 * (zc_ring.h).
 *
 * One for a cache, whatever servers it has.  Entries are applied in the order of their stamps, by
 * the ring thread, or by any thread that is about to read, flush, truncate or close a file and so
 * has to see earlier writes.
 *
 * A write that fails after its writer has returned is lost, and reported like bytes that could not
 * be written back (zc_cache_lose()).  While the store refuses any bytes, writers send their writes
 * by message (zc_ring_control.refuses), so that they see the error at once.
 *
 * Threads: any, without locks.  Errors: negative errno, explained by zc_errorf().
 */
#ifndef ZC_SHMRING_H
#define ZC_SHMRING_H

#include <stdbool.h>
#include <stdint.h>

#include "zc_list.h"
#include "zc_ring.h"

struct zc_handle; /* an open file; only the sink looks into it */
struct zc_shmring;

/* What entries are applied to, one at a time: a cache (zc_ring_apply.h).  Any thread calls. */
struct zc_ring_sink;
struct zc_ring_sink_ops {
    /* Applies the entry.  True: done, or reported as lost.  False: ready() will be called, or has
     * been, from any thread, and then resume() is. */
    bool (*begin)(struct zc_ring_sink *s);
    bool (*resume)(struct zc_ring_sink *s);
    void (*forget)(void *known);                /* the ring of *s->known is freed */
    bool (*refuses)(struct zc_ring_sink *s);    /* writes may fail now */
    size_t (*capacity)(struct zc_ring_sink *s); /* bytes */
    void (*free)(struct zc_ring_sink *s);
};

struct zc_ring_sink {
    const struct zc_ring_sink_ops *ops;

    struct zc_shmring *ring;               /* these are set by it, before begin(): */
    void (*ready)(struct zc_ring_sink *s); /* not called inside begin() or resume() */
    struct zc_handle *file;                /* NULL: there is no such file */
    struct zc_ring_entry entry;            /* a checked copy */
    const unsigned char *payload; /* what follows it in the ring: its writer may change it */
    void **known;                 /* the sink's own, of the ring; NULL at first */
};

/* get: returns the open file of a handle number, valid until put; NULL: there is none. */
struct zc_shmring_files {
    struct zc_handle *(*get)(void *arg, uint64_t number, void **kept);
    void (*put)(void *arg, void *kept);
    void *arg;
};

/* The rings free the sink, also after an error.  -EOPNOTSUPP: this process can share no memory. */
int zc_shmring_create(struct zc_ring_sink *sink, struct zc_shmring **out);
/* All rings must be closed and empty; NULL is fine. */
void zc_shmring_destroy(struct zc_shmring *p);

/* Creates the ring of a writer; `files` maps its handle numbers.  The writer opens the control page
 * and its ring by descriptors of this process.  -EOPNOTSUPP: the rings have all the memory they may
 * take beside the cache. */
struct zc_ring_writer;
int zc_shmring_open(struct zc_shmring *p, const struct zc_shmring_files *files,
                    struct zc_ring_writer **out);
void zc_shmring_descriptors(const struct zc_ring_writer *b, int *control, int *box);
/* Closes a ring: its entries are still applied, then it is freed. */
void zc_shmring_close(struct zc_ring_writer *b);
/* Waits until all closed rings with these files are freed. */
void zc_shmring_end(struct zc_shmring *p, const void *files_arg);

/* Returns when all earlier entries are applied; waits for the cache.  NULL: returns at once. */
void zc_shmring_drain(struct zc_shmring *p);

/* Returns the stamp up to which entries exist now, for callers that must not wait. */
uint64_t zc_shmring_stamp(struct zc_shmring *p);
/* Returns whether all entries before `until` are applied.  False: over() will be called when they
 * are, or when the call is to be repeated, on any thread; it must not block. */
struct zc_shmring_wait {
    struct zc_list link;
    void (*over)(struct zc_shmring_wait *w);
    uint64_t until; /* a zc_shmring_stamp(); stays until over() */
};
bool zc_shmring_drained(struct zc_shmring *p, struct zc_shmring_wait *w);
/* Cancels the wait: over() is not called after this. */
void zc_shmring_unwait(struct zc_shmring *p, struct zc_shmring_wait *w);

/* Allocates a word of the control page for a shared file pointer; NULL: all are in use. */
uint64_t *zc_shmring_pointer(struct zc_shmring *p, unsigned *index);
/* Frees it: clients send POINTER messages from now on. */
void zc_shmring_pointer_free(struct zc_shmring *p, unsigned index);

/* Counts of entries applied, and of their bytes. */
void zc_shmring_counts(struct zc_shmring *p, uint64_t *writes, uint64_t *bytes);

#endif
