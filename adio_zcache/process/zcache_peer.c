/* zcache_peer.c - connections of this process to aggregators. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "zc_list.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_tp_local.h"
#include "zc_wire.h"
#include "zcache_peer.h"
#include "zcache_stores.h"

enum { MAX_SEVERED = 64 };

struct peer {
    struct zc_list link;
    size_t len;
    unsigned char addr[ZC_MAX_ADDRESS];
    struct zc_client *client;
};

static struct zc_list peers = {&peers, &peers};
static struct zc_net *nets[2]; /* indexed by whether it is for processes of this host */
static struct zc_net *severed[MAX_SEVERED]; /* kept for their clients until the end */
static int nsevered;
static struct zc_lock lock = ZC_LOCK_INITIALIZER(ZC_ORDER_PROCESS);

static int open_net(const void *toward, size_t len, const struct zc_settings *s)
{
    char host[200] = "?", name[256];
    struct zc_net_config cfg = {.provider = zcache_net_provider(s),
                                .toward = toward,
                                .toward_len = len,
                                .timeout_ms = s->timeout,
                                .name = name};
    struct zc_net **net = &nets[zc_tp_local_is_address(toward, len)];

    if (*net && zc_net_severed(*net)) {
        if (nsevered == MAX_SEVERED)
            return zc_errorf(ENOTCONN, "connections to aggregators broke %d times", nsevered);
        severed[nsevered++] = *net;
        *net = NULL;
    }
    if (*net)
        return 0;
    gethostname(host, sizeof host - 1);
    snprintf(name, sizeof name, "%s:%ld", host, (long)getpid());
    return zc_net_create(&cfg, net);
}

static int connect_to(const void *addr, size_t len, const char *label, const struct zc_settings *s,
                      struct peer **out)
{
    struct peer *p = calloc(1, sizeof *p);
    int rc;

    if (!p)
        return zc_errorf(ENOMEM, "no memory for a connection");
    rc = open_net(addr, len, s);
    if (rc == 0)
        rc = zc_client_connect(nets[zc_tp_local_is_address(addr, len)], addr, len, label,
                               &p->client);
    if (rc) {
        free(p);
        return rc;
    }
    p->len = len;
    memcpy(p->addr, addr, len);
    zc_list_add_tail(&peers, &p->link);
    *out = p;
    return 0;
}

int zcache_peer_get(const void *addr, size_t len, const char *label, const struct zc_settings *s,
                    struct zc_client **out)
{
    struct peer *p = NULL;
    int rc = 0;

    zc_lock_get(&lock);
    zc_list_each (&peers, n) {
        struct peer *q = zc_list_entry(n, struct peer, link);

        if (q->len == len && !memcmp(q->addr, addr, len) && !zc_client_broken(q->client))
            p = q;
    }
    if (!p)
        rc = connect_to(addr, len, label, s, &p);
    if (rc == 0)
        *out = p->client;
    zc_lock_put(&lock);
    return rc;
}

void zcache_peers_close(void)
{
    struct zc_list *n;

    zc_lock_get(&lock);
    while ((n = zc_list_pop(&peers))) {
        struct peer *p = zc_list_entry(n, struct peer, link);

        zc_client_disconnect(p->client);
        free(p);
    }
    while (nsevered)
        zc_net_destroy(severed[--nsevered]);
    for (int local = 0; local <= 1; local++) {
        if (nets[local])
            zc_net_destroy(nets[local]);
        nets[local] = NULL;
    }
    zc_lock_put(&lock);
}
