/* zc_faulty.h - a transport that fails on purpose, in front of any other.
 *
 * For tests of what is above it: messages that are lost or late, sends and transfers that
 * fail, peers that fall silent.  Nothing arrives twice: reliable datagrams do not do that.
 *
 * Endpoints are opened by zc_faulty_open(), which fits zc_net_config.open_transport and
 * zc_server_config.open_transport, over what zc_faulty_over() named; the one opened last is
 * zc_faulty_last().  Settings may be changed from any thread while calls are under way.
 */
#ifndef ZC_FAULTY_H
#define ZC_FAULTY_H

#include "zc_transport.h"

enum zc_faulty_op {
    ZC_FAULTY_SEND = 1, /* messages that leave */
    ZC_FAULTY_RECV = 2, /* messages that arrive */
    ZC_FAULTY_PULL = 4,
    ZC_FAULTY_PUSH = 8,
    ZC_FAULTY_ALL = 15,
};

enum zc_faulty_how {
    ZC_FAULTY_DROP,  /* messages vanish, transfers never end (but with their peer or endpoint) */
    ZC_FAULTY_FAIL,  /* the call fails with -EIO; a message that arrives is dropped */
    ZC_FAULTY_BREAK, /* messages: peer_error() instead; transfers: done() says -EIO, later */
};

/* The transport below endpoints opened from now on; NULL: the loop. */
void zc_faulty_over(int (*open)(const struct zc_tp_config *cfg, struct zc_tp **out));
int zc_faulty_open(const struct zc_tp_config *cfg, struct zc_tp **out);
struct zc_tp *zc_faulty_last(void);

/* The `nth` (1: the next) event of the kinds in `ops` on this endpoint, and `count` - 1 after
 * it, fail like that.  count 0: none do any more.  Transfers that never ended stay so. */
void zc_faulty_set(struct zc_tp *tp, unsigned ops, enum zc_faulty_how how, uint64_t nth,
                   uint64_t count);
/* Messages that arrive and transfers of this endpoint take `ms` longer; order is kept. */
void zc_faulty_delay(struct zc_tp *tp, unsigned messages_ms, unsigned transfers_ms);
/* Faults raised so far. */
uint64_t zc_faulty_raised(struct zc_tp *tp);

#endif
