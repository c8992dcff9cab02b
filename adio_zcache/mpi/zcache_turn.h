/* zcache_turn.h - what one thread at a time does, though it takes calls of MPI.
 *
 * A lock (zc_lock.h) is held for moments and across no such call.  A turn is kept for as long as
 * its work takes; who comes meanwhile waits on a condition.  A thread that has one may take those
 * below it in the table, and those of further files; in a build with --enable-debug it aborts
 * otherwise.
 */
#ifndef ZCACHE_TURN_H
#define ZCACHE_TURN_H

#include "zc_lock.h"

enum zcache_turn_order {
    ZCACHE_TURN_FILE,     /* a file's pointers, and ROMIO's state of it */
    ZCACHE_TURN_DATAREPS, /* ROMIO's list of data representations */
    ZCACHE_TURN_TYPES,    /* what is remembered with a datatype */
    ZCACHE_TURN_HANDLERS, /* references of error handlers */
    ZCACHE_TURN_CODES,    /* error codes that take turns themselves */
    ZCACHE_TURN_CLASS,    /* the class of our requests */
};

struct zcache_turn {
    struct zc_lock lock;
    zc_cond given;
    bool taken; /* under lock */
    enum zcache_turn_order order;
};

#define ZCACHE_TURN_INITIALIZER(o)                                                                 \
    {                                                                                              \
        .lock = ZC_LOCK_INITIALIZER(ZC_ORDER_MPI_TURN), .given = PTHREAD_COND_INITIALIZER,         \
        .order = (o)                                                                               \
    }

void zcache_turn_init(struct zcache_turn *t, enum zcache_turn_order order);
void zcache_turn_destroy(struct zcache_turn *t);
void zcache_turn_take(struct zcache_turn *t); /* no lock held */
void zcache_turn_give(struct zcache_turn *t);

#endif
