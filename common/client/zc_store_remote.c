/* zc_store_remote.c - the store whose files lie behind daemons.
 *
 * Every daemon sees the same file system; which one caches a block is placement alone
 * (zc_place.h).  So one daemon creates, stats and unlinks, and all of them are asked about
 * sizes: a daemon knows the end of what went through itself.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_log.h"
#include "zc_store_remote_internal.h"

/* ---- names ---- */

static int remote_unlink(struct zc_store *s, const char *path)
{
    /* One daemon unlinks.  Asking the others too could hit a new file of that name; what
     * they have cached belongs to an inode without a name and comes back to nobody.  For the same
     * reason it is not said again when the answer was lost. */
    struct use use;
    bool over;
    int rc;

    do {
        rc = zc_remote_use(remote_of(s), 0, &use);
        if (rc)
            return zc_remote_unlink_direct(remote_of(s), path, rc);
        rc = zc_client_unlink(use.client, path);
        over = zc_remote_end(&use, rc);
    } while (rc == -ESHUTDOWN && over); /* it was refused */
    return over ? zc_errorf(-rc, "%s may be deleted or not: %s", path, zc_error_text(rc)) : rc;
}

static int stat_at(struct remote *r, uint32_t i, const char *path, struct zc_attr *attr)
{
    struct use use;
    int rc;

    do {
        rc = zc_remote_use(r, i, &use);
        if (rc == 0)
            rc = zc_client_stat(use.client, path, attr);
    } while (zc_remote_end(&use, rc));
    return rc;
}

static int remote_stat(struct zc_store *s, const char *path, struct zc_attr *attr)
{
    struct remote *r = remote_of(s);
    int rc = stat_at(r, 0, path, attr);

    for (uint32_t i = 1; rc == 0 && i < r->n; i++) {
        struct zc_attr other;

        rc = stat_at(r, i, path, &other);
        if (rc == 0 && other.size > attr->size)
            attr->size = other.size;
    }
    return rc;
}

static int ping_at(struct remote *r, uint32_t i)
{
    struct use use;
    int rc;

    do {
        rc = zc_remote_use(r, i, &use);
        if (rc == 0)
            rc = zc_client_ping(use.client);
    } while (zc_remote_end(&use, rc));
    return rc;
}

static int remote_ping(struct zc_store *s)
{
    struct remote *r = remote_of(s);
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < r->n; i++)
        rc = ping_at(r, i);
    return rc;
}

/* ---- the store ---- */

void zc_remote_destroy(struct zc_store *s)
{
    struct remote *r = remote_of(s);

    zc_remote_servers_stop(r);
    if (r->net)
        zc_net_destroy(r->net);
    zc_store_destroy(r->direct);
    zc_remote_seats_free(r);
    zc_watchers_destroy(&r->watchers);
    pthread_cond_destroy(&r->changed);
    zc_lock_destroy(&r->lock);
    free(r->paths);
    free(r);
}

static const struct zc_store_ops remote_ops = {
    .name = "remote",
    .open = zc_remote_open,
    .close = zc_remote_close,
    .preadv = zc_remote_preadv,
    .pwritev = zc_remote_pwritev,
    .write_ranges = zc_remote_write_ranges,
    .getattr = zc_remote_getattr,
    .truncate = zc_remote_truncate,
    .allocate = zc_remote_allocate,
    .sync = zc_remote_sync,
    .backlog = zc_remote_backlog,
    .meet = zc_remote_meet,
    .part = zc_remote_part,
    .refresh = zc_remote_refresh,
    .server = zc_remote_server,
    .progress = zc_remote_progress,
    .watch = zc_remote_watch,
    .unwatch = zc_remote_unwatch,
    .unlink = remote_unlink,
    .stat = remote_stat,
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
    zc_list_init(&r->seats);
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
        zc_client_on_stored(s->client, zc_remote_stored, r);
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
