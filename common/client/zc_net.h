/* zc_net.h - this process's endpoint towards servers, shared by the clients of zc_client.h.
 *
 * A thread that waits for a reply drives the endpoint itself; while no thread waits, a background
 * thread sends heartbeats and checks deadlines.
 *
 * Failure: every request has a deadline, which is put off only by PENDING messages for this
 * request. A server silent for `timeout_ms` counts as failed: its client is broken for good, all
 * calls of it fail with -ETIMEDOUT at once, and when a call has returned the server can reach no
 * memory of the caller.  If a transfer was under way, that takes closing the whole endpoint, and
 * the other clients of the zc_net break with it.
 *
 * All calls may be made from any thread.  Errors: negative errno, explained by zc_errorf().
 */
#ifndef ZC_NET_H
#define ZC_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zc_transport.h"

struct zc_net;

struct zc_net_config {
    zc_tp_open_fn *open_transport; /* NULL: according to `toward` */
    const char *provider;
    bool local;         /* daemons of this host may be reached locally (zc_store_remote.h) */
    const void *toward; /* address of the first server */
    size_t toward_len;
    bool munge;          /* authenticate by munge, to servers of many users */
    uint64_t timeout_ms; /* maximum silence of a server; 0: ZC_DEFAULT_TIMEOUT_S */
    const char *name;    /* of this process, for the server's log: "host:pid rank 3" */
};

int zc_net_create(const struct zc_net_config *cfg, struct zc_net **out);
void zc_net_destroy(struct zc_net *n); /* clients must be gone */
/* Breaks all clients at once, as their deadlines would, also a connecting one: the caller knows
 * that their servers have ended. */
void zc_net_give_up(struct zc_net *n, const char *why);
/* Returns the number of messages dropped: damaged, forged, or replayed. */
uint64_t zc_net_refused(struct zc_net *n);
/* Whether it was severed with a client that broke; new clients need another endpoint. */
bool zc_net_severed(struct zc_net *n);

#endif
