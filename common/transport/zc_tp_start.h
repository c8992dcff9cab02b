/* zc_tp_start.h - an endpoint of libfabric that a thread of its own opens.
 *
 * To load libfabric and ask it for a provider takes 0.3 s with Debian's 1.17: two of the libraries
 * that it needs (psm, psm2) measure the clock for 0.1 s each, and its verbs provider reads
 * /proc/kallsyms. Who is not needed through it yet need not wait for that.
 *
 * Where it will be reached is decided first: a socket is bound to the port, though it does not
 * listen. Linux lets another one bind the same port and listen there when both have SO_REUSEADDR,
 * as libfabric's have; ours is given that when libfabric is about to bind, so that nobody else can
 * come first, but in that moment. Who connects before is refused, and tries again, as at any peer
 * that is not there. If libfabric fails the port stays ours, and nobody answers there.
 *
 * Owned by who begins it; one thread.
 */
#ifndef ZC_TP_START_H
#define ZC_TP_START_H

#include "zc_transport.h"

struct zc_tp_start;

/* Calls ready(arg) when there is something to take, in the other thread, once at most, and never
 * after zc_tp_start_end(). -EOPNOTSUPP: the provider's addresses are no IPv4 ports, or
 * cfg->listen is none in digits; else a negative errno. Explained by zc_errorf(). */
int zc_tp_start_begin(const struct zc_tp_config *cfg, zc_tp_open_fn *open, void (*ready)(void *arg),
                      void *arg, struct zc_tp_start **out);

/* As zc_tp_address() of the endpoint. */
int zc_tp_start_address(const struct zc_tp_start *s, void *buf, size_t *len);

/* 0: not yet; 1: *out is the caller's; < 0: why it cannot be opened, explained. */
int zc_tp_start_take(struct zc_tp_start *s, struct zc_tp **out);

/* Does not wait: what is being opened is closed when it is. */
void zc_tp_start_end(struct zc_tp_start *s);

/* A thread is still at it, for somebody or nobody: a process that ends must not run libfabric's
 * destructors meanwhile, and not wait for its constructors: _exit(2). */
bool zc_tp_start_under_way(void);

#endif
