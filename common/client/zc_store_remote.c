/* zc_store_remote.c - the store whose files lie behind daemons.
 *
 * Every daemon sees the same file system; which one caches a block is placement alone
 * (zc_stripe.h).  So one daemon creates, stats and unlinks, and all of them are asked about
 * sizes: a daemon knows the end of what went through itself.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_log.h"
#include "zc_store_remote_internal.h"

/* ---- names ---- */

int zc_remote_unlink(struct zc_store *s, const char *path)
{
    /* One daemon unlinks.  Asking the others too could hit a new file of that name; what
     * they have cached belongs to an inode without a name and is never read again.  For the same
     * reason it is not repeated when the reply was lost. */
    struct zc_stripe_use use;
    bool over;
    int rc;

    do {
        rc = zc_remote_get(remote_of(s), 0, &use);
        if (rc)
            return zc_remote_unlink_direct(remote_of(s), path, rc);
        rc = zc_client_unlink(use.client, path);
        over = zc_remote_put(&use, rc);
    } while (rc == -ESHUTDOWN && over); /* it was refused */
    return over ? zc_errorf(-rc, "%s may be deleted or not: %s", path, zc_error_text(rc)) : rc;
}

/* Calls without an open file: file of the striped file. */
struct named {
    struct remote *remote;
    const char *path;
};

static int get(const struct zc_stripe_file *f, uint32_t i, struct zc_stripe_use *use)
{
    return zc_remote_get(((const struct named *)f->file)->remote, i, use);
}

static const struct zc_stripe_ops daemons = {
    .servers = "daemon",
    .get = get,
    .put = zc_remote_put,
};

static struct zc_stripe_file striped(struct named *n)
{
    return (struct zc_stripe_file){.ops = &daemons, .file = n, .n = n->remote->n};
}

static int stat_at(const struct zc_stripe_file *f, const struct zc_stripe_use *use, void *attr)
{
    return zc_client_stat(use->client, ((const struct named *)f->file)->path, attr);
}

int zc_remote_stat(struct zc_store *s, const char *path, struct zc_attr *attr)
{
    struct named n = {remote_of(s), path};
    struct zc_stripe_file f = striped(&n);

    return zc_stripe_attr(&f, stat_at, attr);
}

static int remote_ping(struct zc_store *s)
{
    struct named n = {.remote = remote_of(s)};
    struct zc_stripe_file f = striped(&n);

    return zc_stripe_ping(&f);
}

/* ---- the store ---- */

void zc_remote_destroy(struct zc_store *s)
{
    struct remote *r = remote_of(s);

    zc_remote_servers_stop(r);
    if (r->net)
        zc_net_destroy(r->net);
    zc_store_destroy(r->direct);
    zc_remote_publications_free(r);
    zc_watchers_destroy(&r->watchers);
    pthread_cond_destroy(&r->changed);
    zc_lock_destroy(&r->lock);
    free(r->paths);
    free(r);
}

void zc_store_remote_bypass_at_end(struct zc_store *s, const int *ending)
{
    remote_of(s)->ending = ending;
}

static const struct zc_store_ops remote_ops = {
    .name = "remote",
    .open = zc_remote_open_named,
    .close = zc_remote_close,
    .preadv = zc_remote_preadv,
    .pwritev = zc_remote_pwritev,
    .write_ranges = zc_remote_write_ranges,
    .getattr = zc_remote_getattr,
    .truncate = zc_remote_truncate,
    .allocate = zc_remote_allocate,
    .sync = zc_remote_sync,
    .backlog = zc_remote_backlog,
    .rendezvous = zc_remote_rendezvous,
    .withdraw = zc_remote_withdraw,
    .refresh = zc_remote_refresh,
    .step = zc_remote_step,
    .server = zc_remote_server,
    .progress = zc_remote_progress,
    .watch = zc_remote_watch,
    .unwatch = zc_remote_unwatch,
    .unlink = zc_remote_unlink_named,
    .stat = zc_remote_stat_named,
    .ping = remote_ping,
    .destroy = zc_remote_destroy,
};

struct remote *zc_remote_new(uint32_t n)
{
    struct remote *r = calloc(1, sizeof *r + n * sizeof r->servers[0]);

    if (!r)
        return NULL;
    r->store.ops = &remote_ops;
    r->store.servers = n;
    r->store.names_bytes = true;
    r->store.remembers = true;
    r->store.lossy = true;
    r->timeout_ns = ZC_DEFAULT_TIMEOUT_S * 1000 * ZC_NS_PER_MS;
    r->n = n;
    zc_lock_init(&r->lock, ZC_ORDER_STORE);
    zc_cond_init(&r->changed);
    zc_watchers_init(&r->watchers);
    zc_list_init(&r->files);
    zc_list_init(&r->publications);
    for (uint32_t i = 0; i < n; i++) {
        r->servers[i].remote = r;
        r->servers[i].index = i;
    }
    return r;
}

int zc_store_remote_over(struct zc_net *net, struct zc_client **clients, uint32_t n,
                         struct zc_store **out)
{
    struct remote *r = zc_remote_new(n);
    uint32_t up = 0;

    for (; r && up < n; up++) {
        struct session *s = calloc(1, sizeof *s);

        if (!s)
            break;
        s->client = clients[up];
        zc_client_on_committed(s->client, zc_remote_committed, r);
        zc_remote_server_up(&r->servers[up], s);
    }
    if (up == n) {
        r->net = net;
        *out = &r->store;
        return 0;
    }
    if (r)
        zc_remote_destroy(&r->store);
    for (; up < n; up++)
        zc_client_disconnect(clients[up]);
    zc_net_destroy(net);
    return zc_errorf(ENOMEM, "no memory for a store");
}
