/* zc_tp_start.h - opens a libfabric endpoint in a thread of its own.
 *
 * Loading libfabric and asking it for a provider takes 0.3 s with Debian's 1.17: two libraries that
 * it needs (psm, psm2) measure the clock for 0.1 s each, and its verbs provider reads
 * /proc/kallsyms.  A process that serves its own host first need not wait for that.
 *
 * The port is reserved first: a socket is bound to it, but does not listen.  Linux lets another
 * socket bind the same port and listen if both have SO_REUSEADDR, as libfabric's have; ours gets it
 * just before libfabric binds, so other processes can take the port only in that moment.  Earlier
 * connections are refused, and retried as with any absent peer.  If libfabric fails, the port stays
 * reserved and unanswered.
 *
 * Belongs to the thread that began it.
 */
#ifndef ZC_TP_START_H
#define ZC_TP_START_H

#include "zc_transport.h"

struct zc_tp_start;

/* Starts the thread.  It calls ready(arg) once at most, when there is something to take, and never
 * after zc_tp_start_end(). -EOPNOTSUPP: the provider's addresses are no IPv4 ports, or cfg->listen
 * is no numeric address; else a negative errno.  Explained by zc_errorf(). */
int zc_tp_start_begin(const struct zc_tp_config *cfg, zc_tp_open_fn *open, void (*ready)(void *arg),
                      void *arg, struct zc_tp_start **out);

/* As zc_tp_address() of the endpoint. */
int zc_tp_start_address(const struct zc_tp_start *s, void *buf, size_t *len);

/* Returns 0: not yet; 1: *out belongs to the caller; < 0: why it cannot be opened, explained. */
int zc_tp_start_take(struct zc_tp_start *s, struct zc_tp **out);

/* Cancels it without waiting: the endpoint is closed once opened. */
void zc_tp_start_end(struct zc_tp_start *s);

/* Whether a thread is still opening one, even if its owner has gone: a process that ends then must
 * not run libfabric's destructors, nor wait for its constructors, so it calls _exit(2). */
bool zc_tp_start_under_way(void);

#endif
