/* zc_tp_fault.h - a transport that fails on purpose, in front of the loop.
 *
 * For tests of what is above it: messages that are lost or late, sends and transfers that
 * fail or bring wrong bytes, peers that fall silent.  Nothing arrives twice: reliable datagrams do
 * not do that.
 *
 * Endpoints are opened by zc_tp_fault_open(), which fits zc_net_config.open_transport and
 * zc_server_config.open_transport; the one opened last is zc_tp_fault_last().  Settings may be
 * changed from any thread while calls are under way.
 */
#ifndef ZC_TP_FAULT_H
#define ZC_TP_FAULT_H

#include "zc_transport.h"

enum zc_tp_fault_op {
    ZC_TP_FAULT_SEND = 1, /* messages that leave */
    ZC_TP_FAULT_RECV = 2, /* messages that arrive */
    ZC_TP_FAULT_PULL = 4,
    ZC_TP_FAULT_PUSH = 8,
    ZC_TP_FAULT_ALL = 15,
};

enum zc_tp_fault_how {
    ZC_TP_FAULT_DROP,  /* messages vanish, transfers never end (but with their peer or endpoint) */
    ZC_TP_FAULT_HANG,  /* the same, but transfers do not end with their peer either */
    ZC_TP_FAULT_FAIL,  /* the call fails with -EIO; a message that arrives is dropped */
    ZC_TP_FAULT_BREAK, /* messages: peer_error() instead; transfers: done() says -EIO, later */
    ZC_TP_FAULT_FLIP,  /* transfers: one bit arrives flipped, without an error; messages pass */
};

int zc_tp_fault_open(const struct zc_tp_config *cfg, struct zc_tp **out);
struct zc_tp *zc_tp_fault_last(void);

/* Makes the `nth` (1: the next) event of the kinds in `ops` on this endpoint, and `count` - 1 after
 * it, fail like that.  count 0: none any more.  Transfers that never ended stay so. */
void zc_tp_fault_set(struct zc_tp *tp, unsigned ops, enum zc_tp_fault_how how, uint64_t nth,
                     uint64_t count);
/* Messages that arrive and transfers of this endpoint take `ms` longer; order is kept. */
void zc_tp_fault_delay(struct zc_tp *tp, unsigned messages_ms, unsigned transfers_ms);
/* Acts as if its process had been killed: nothing leaves any more, nothing arrives, and transfers
 * are over with -ECANCELED, those that never ended, too. */
void zc_tp_fault_kill(struct zc_tp *tp);
/* Returns the number of faults so far. */
uint64_t zc_tp_fault_raised(struct zc_tp *tp);
/* Returns the same of all endpoints so far, closed ones included. */
uint64_t zc_tp_fault_raised_by_all(void);

#endif
