/* zc_events.h - records a process's events with their times, for a picture of a whole run.
 *
 * Each process keeps its latest events in a mapped file of fixed size, which survives however the
 * process ends.  zcache-merge-trace makes one trace of the files of all processes
 * (doc/observing.md).
 *
 *     uint64_t began = zc_event_begin();
 *     ... what takes time ...
 *     zc_event_end(ZC_EVENT_STORE_READ, began, bytes);
 *
 * While recording is off each call costs a load and a comparison.  Any thread, with any lock.
 */
#ifndef ZC_EVENTS_H
#define ZC_EVENTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "zc_lock.h"

/* One row per kind: X(constant, name, where).  Events of a thread nest; those marked `aside` belong
 * to requests, many of which wait at a time. */
#define ZC_EVENTS(X)                                                                               \
    X(ZC_EVENT_OPEN, "MPI open", THREAD)                                                           \
    X(ZC_EVENT_CLOSE, "MPI close", THREAD)                                                         \
    X(ZC_EVENT_WRITE, "MPI write", THREAD)                                                         \
    X(ZC_EVENT_READ, "MPI read", THREAD)                                                           \
    X(ZC_EVENT_SYNC, "MPI sync", THREAD)                                                           \
    X(ZC_EVENT_EXCHANGE, "exchange", THREAD)                                                       \
    X(ZC_EVENT_CREDIT, "wait for credit", THREAD)                                                  \
    X(ZC_EVENT_WIRE, "wire", THREAD)                                                               \
    X(ZC_EVENT_ROOM, "wait for room", ASIDE)                                                       \
    X(ZC_EVENT_PAGE, "wait for page", ASIDE)                                                       \
    X(ZC_EVENT_STORE_READ, "store read", THREAD)                                                   \
    X(ZC_EVENT_STORE_WRITE, "store write", THREAD)                                                 \
    X(ZC_EVENT_STORE_SYNC, "store sync", THREAD)                                                   \
    X(ZC_EVENT_FILL, "fill", THREAD)                                                               \
    X(ZC_EVENT_PREFETCH, "prefetch", THREAD)                                                       \
    X(ZC_EVENT_WRITE_BACK, "write-back", THREAD)                                                   \
    X(ZC_EVENT_FLUSH, "flush", ASIDE)

enum zc_event_kind {
#define X(constant, name, where) constant,
    ZC_EVENTS(X)
#undef X
        ZC_EVENT_KINDS
};

/* ---- recording ---- */

extern atomic_bool zc_events_on;

/* Starts recording, to a file of its own in `dir`; `who` ("zcached") and `rank`, -1 for none, name
 * the process.  A failure is logged, and nothing is recorded.  To call once. */
void zc_events_start(const char *dir, const char *who, int rank);
void zc_event_add(enum zc_event_kind kind, uint64_t began, uint64_t ended, uint64_t bytes);

/* ns; 0: recording is off. */
static inline uint64_t zc_event_begin(void)
{
    if (__builtin_expect(atomic_load_explicit(&zc_events_on, memory_order_relaxed), 0))
        return zc_now();
    return 0;
}

static inline void zc_event_end(enum zc_event_kind kind, uint64_t began, uint64_t bytes)
{
    if (__builtin_expect(began != 0, 0))
        zc_event_add(kind, began, zc_now(), bytes);
}

/* For an event that was timed anyway. */
static inline void zc_event_was(enum zc_event_kind kind, uint64_t began, uint64_t ended,
                                uint64_t bytes)
{
    if (__builtin_expect(atomic_load_explicit(&zc_events_on, memory_order_relaxed), 0))
        zc_event_add(kind, began, ended, bytes);
}

/* ---- the file, in the byte order of its host ---- */

#define ZC_EVENTS_MAGIC "zcevent1"
enum { ZC_EVENTS_MAX = 32768, ZC_EVENT_THREADS = 128 };

struct zc_event_record {
    _Atomic uint64_t number; /* from 1; 0: being written */
    _Atomic uint64_t began, ended;
    _Atomic uint64_t bytes;
    _Atomic uint32_t thread; /* index into threads[]; ZC_EVENT_THREADS: the table is full */
    _Atomic uint32_t kind;
};

struct zc_event_file {
    char magic[8];
    uint32_t size; /* of this struct */
    int32_t pid, rank;
    char who[20];
    char host[64];
    uint64_t realtime, monotonic; /* the same moment on both clocks, ns */
    _Atomic uint64_t count;       /* events recorded; the last ZC_EVENTS_MAX are there */
    _Atomic uint32_t nthreads;
    char threads[ZC_EVENT_THREADS][16];
    struct zc_event_record events[ZC_EVENTS_MAX]; /* number n in n % ZC_EVENTS_MAX */
};

#endif
