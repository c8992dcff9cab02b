/* zc_connect.h - gets a session with a server: an endpoint toward it, HELLO, and a check that it is
 * the server that was meant.
 *
 * What differs between those that connect:
 *
 *                     rank to aggregator         aggregator to daemon       tools, zcached,
 * counters found by          owner set                  address file               address file
 *   endpoint          one of this host's, one    its own: it is severed     its own
 *                     of others, for all         for no other daemon
 *   identity          the job's secret           the file's secret, boot id
 *   first attempt     the time-out               the time-out, or until     the time-out
 *                                                another daemon is there
 *   session is lost   once more at a call, if    again and again in the     the command fails
 *                     another's loss severed     background; calls wait
 *                     the endpoint               for the time-out
 *   after that        the same error at once,    the same error at once,    -
 *                     till a file is opened      till it is back; or
 *                                                without the daemon
 *   source            zcache_agg_conn.c          zc_store_remote_server.c   ctl_daemon.c ...
 */
#ifndef ZC_CONNECT_H
#define ZC_CONNECT_H

#include <stdbool.h>

#include "zc_addrfile.h"
#include "zc_client.h"
#include "zc_error.h"

struct zc_connect {
    const void *addr;
    size_t len; /* of addr, bytes */
    const struct zc_secret *secret;
    char label[ZC_TEXT_MAX]; /* names the server in messages */
    struct zc_net *net;      /* endpoint to share; NULL: the client gets one of its own, with: */
    struct zc_net_config own;

    const struct zc_past *past; /* session that this one replaces, or NULL ... */
    uint64_t patience_ms;       /* ... and how long a reply may take; 0: the time-out */
    /* Called with the client's own endpoint before HELLO is sent, and after that with NULL.  May be
     * NULL. */
    void (*trying)(void *arg, struct zc_net *net);
    void *arg;

    const struct zc_addrfile *file; /* zc_connect_daemon() */
    const char *path;
};

/* Fills in how to connect to the daemon of an address file, by its local address if that is wanted
 * and usable; both have to stay until zc_connect() returns. */
void zc_connect_daemon(struct zc_connect *to, const char *path, const struct zc_addrfile *a,
                       bool local);

/* Connects; *out is NULL after an error.  zc_client_disconnect() ends the client and an endpoint of
 * its own.  Errors are those of zc_client_connect_again(); -ESTALE: another daemon answers than
 * that of the address file. */
int zc_connect(const struct zc_connect *to, struct zc_client **out);

#endif
