/* zc_net.h - this process's endpoint towards servers, shared by the clients of zc_client.h.
 *
 * A thread that waits for its reply drives the endpoint itself; while nobody waits, a background
 * thread sends heartbeats and looks at deadlines.
 *
 * Failure: every request has a deadline, put off only by the server saying that it still
 * works on this very request.  A server unheard of for `timeout_ms` is gone: its client is
 * then broken for good, all its calls fail with -ETIMEDOUT at once, and the server can
 * reach no memory of the caller any more when a call has returned.  If it could have, because
 * a transfer was under way, that takes the end of the whole endpoint: the other clients of
 * the zc_net break with it.
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
    zc_tp_open_fn *open_transport; /* NULL: what `toward` belongs to */
    const char *provider;
    bool local;         /* daemons of this host may be reached locally (zc_store_remote.h) */
    const void *toward; /* address of the first server */
    size_t toward_len;
    bool munge;          /* servers of many users, which munge says who we are */
    uint64_t timeout_ms; /* silence after which a server counts as gone; 0: ZC_DEFAULT_TIMEOUT_S */
    const char *name;    /* who we are, for the server's log: "host:pid rank 3" */
};

int zc_net_create(const struct zc_net_config *cfg, struct zc_net **out);
void zc_net_destroy(struct zc_net *n); /* clients must be gone */
/* The servers of all its clients are known to be gone: breaks these, as their deadlines would, also
 * one that is being connected. */
void zc_net_give_up(struct zc_net *n, const char *why);
/* Messages that were thrown away: damaged, forged, or sent once more. */
uint64_t zc_net_refused(struct zc_net *n);
/* True when it was given up with a client that broke; clients need a new one. */
bool zc_net_severed(struct zc_net *n);

#endif
