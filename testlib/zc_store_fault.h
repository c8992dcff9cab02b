/* zc_store_fault.h - a store that fails on purpose, in front of any other.
 *
 * For the fault sweep: "fail the Nth call" for N = 1, 2, 3, ... until a run passes
 * untouched.  Settings may be changed while calls are under way; each is atomic.
 */
#ifndef ZC_STORE_FAULT_H
#define ZC_STORE_FAULT_H

#include "zc_store.h"

enum zc_fault_op {
    ZC_FAULT_OPEN = 1,
    ZC_FAULT_READ = 2,
    ZC_FAULT_WRITE = 4,
    ZC_FAULT_TRUNCATE = 8, /* truncate and allocate */
    ZC_FAULT_SYNC = 16,
    ZC_FAULT_UNLINK = 32,
    ZC_FAULT_CLOSE = 64, /* the file is closed all the same */
    ZC_FAULT_ATTR = 128, /* getattr, stat and backlog */
    ZC_FAULT_ALL = 255,
    ZC_FAULT_READ_RESULT = 256, /* a read that was carried out and has not returned */
    ZC_FAULT_RENDEZVOUS = 512,
    ZC_FAULT_WRITE_RESULT = 1024, /* a write that was carried out and has not returned */
};

/* Takes ownership of `below`. */
int zc_store_fault_create(struct zc_store *below, struct zc_store **out);

/* The `nth` call from now (1 = the next) of the kinds in `ops`, and `count` - 1 calls
 * after it, fail with `err` (positive errno) before reaching the store below; for a
 * write, the first half is written first.  count 0 switches faults off. */
void zc_store_fault_set(struct zc_store *s, unsigned ops, uint64_t nth, uint64_t count, int err);

/* Calls of the kinds in `ops` take at least `us` microseconds. */
void zc_store_fault_delay(struct zc_store *s, unsigned ops, unsigned us);

/* Calls of the kinds in `ops` block before they reach the store below until `release`
 * is called; zc_store_fault_held() tells how many are blocked now.  Tests use it to
 * hold a read or a write-back in flight for as long as they like. */
void zc_store_fault_hold(struct zc_store *s, unsigned ops);
void zc_store_fault_release(struct zc_store *s);
/* Does the same for calls about a file opened or named by `path`; NULL: about all. */
void zc_store_fault_hold_path(struct zc_store *s, unsigned ops, const char *path);
unsigned zc_store_fault_held(struct zc_store *s);

/* Returns the number of faults so far. */
uint64_t zc_store_fault_raised(struct zc_store *s);

#endif
