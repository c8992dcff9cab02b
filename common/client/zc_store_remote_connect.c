/* zc_store_remote_connect.c - finding the daemons of a remote store, and connecting to them.
 *
 * Each session has an endpoint of its own: what has to be done to it when its daemon dies in the
 * middle of a transfer is nothing to those of other daemons.  It is of the daemon's provider, which
 * may be another one than other daemons have, or the one before in its place.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "zc_log.h"
#include "zc_store_remote_internal.h"
#include "zc_wire.h"

/* An attempt to get another session waits so long for a sign of life; of a daemon that has said
 * that it stops, which may be gone the next moment, not long. */
enum { AGAIN_MS = 2000, STOPPING_MS = 300 };

/* What can be said without waiting for a time-out: of a process that is gone, also where its number
 * is another one's now, or it lies about as a zombie. */
static int check_daemon(const char *path, const struct zc_addrfile *a)
{
    if (a->protocol != ZC_PROTOCOL)
        return zc_errorf(EPROTONOSUPPORT,
                         "the daemon of %s speaks protocol %u and this library %d; "
                         "install the same release of both",
                         path, a->protocol, ZC_PROTOCOL);
    if (a->aggregator)
        return zc_errorf(EINVAL,
                         "%s is of a dedicated aggregator, and not of a daemon, as which "
                         "ZCACHE_DAEMONS or --store-daemons names it: aggregators are for "
                         "ZCACHE_AGGREGATORS",
                         path);
    if (zc_addrfile_is_gone(a))
        return zc_errorf(ECONNREFUSED,
                         "the daemon of %s (pid %ld on this host) is not running; start it again",
                         path, a->pid);
    return zc_addrfile_check_reach(path, a);
}

int zc_remote_find(const struct server *sv, struct zc_addrfile *a)
{
    int rc = zc_addrfile_read(sv->path, a);

    return rc ? rc : check_daemon(sv->path, a);
}

void zc_remote_session_free(struct session *s)
{
    zc_client_disconnect(s->client);
    free(s);
}

static uint64_t hash_of(const char *host)
{
    uint64_t h = 0xcbf29ce484222325ull;

    for (; *host; host++)
        h = (h ^ (unsigned char)*host) * 0x100000001b3ull;
    return h;
}

/* ms; 0: the first session, which may take the whole time-out. */
static uint64_t patience(const struct server *sv, const struct zc_addrfile *a,
                         const struct zc_past *past)
{
    struct remote *r = sv->remote;
    bool stopping;

    if (!past)
        return 0;
    zc_lock_get(&r->lock);
    stopping = sv->error.rc == -ESHUTDOWN && sv->boot_id == a->boot_id;
    zc_lock_put(&r->lock);
    return stopping ? STOPPING_MS : AGAIN_MS;
}

int zc_remote_connect(struct server *sv, const struct zc_addrfile *a, const struct zc_past *past,
                      struct session **out)
{
    struct remote *r = sv->remote;
    struct session *s = calloc(1, sizeof *s);
    struct zc_connect to = {.own = {.open_transport = r->open_transport,
                                    .timeout_ms = r->timeout_ns / ZC_NS_PER_MS,
                                    .name = r->name},
                            .past = past,
                            .patience_ms = patience(sv, a, past),
                            .trying = past ? NULL : zc_remote_trying,
                            .arg = sv};
    int rc;

    if (!s)
        return zc_errorf(ENOMEM, "no memory for a session");
    s->host = hash_of(a->host);
    s->pid = a->pid;
    s->here = zc_addrfile_pid_counts(a);
    zc_connect_daemon(&to, sv->path, a, r->local);
    rc = zc_connect(&to, &s->client);
    if (rc) {
        free(s);
        return rc;
    }
    zc_client_on_committed(s->client, zc_remote_committed, r);
    *out = s;
    return 0;
}

/* ---- all of them, at first ---- */

/* True: another daemon was announced since the attempt began that failed for the reason rc; *a is
 * now that of the other one. */
static bool is_another_there(const struct server *sv, struct zc_addrfile *a, int rc)
{
    struct zc_addrfile next = {0};
    struct zc_error e;

    zc_error_keep(&e, rc);
    if (zc_remote_find(sv, &next) == 0 && next.boot_id != a->boot_id) {
        zc_warn("%s; trying the one that %s names now", e.text, sv->path);
        *a = next;
        zc_secret_forget(&next.secret);
        return true;
    }
    zc_secret_forget(&next.secret);
    zc_error_raise(&e);
    return false;
}

/* Waits for a daemon that dies now for the time of one attempt only: a process that starts has no
 * data to lose yet, and most daemons that do not reply are simply not running. */
static int connect_one(struct server *sv, struct zc_addrfile *a)
{
    struct remote *r = sv->remote;
    uint64_t until = zc_now() + r->timeout_ns;
    struct session *s;
    int rc;

    do {
        zc_lock_get(&r->lock);
        sv->boot_id = a->boot_id; /* for the watch */
        zc_lock_put(&r->lock);
        rc = zc_remote_connect(sv, a, NULL, &s);
    } while (rc && zc_now() < until && is_another_there(sv, a, rc));
    return rc ? rc : zc_remote_server_up(sv, s);
}

/* They are reached locally when all of them can be. */
static int connect_all(struct remote *r)
{
    struct zc_addrfile *files = calloc(r->n, sizeof *files);
    int rc = files ? 0 : zc_errorf(ENOMEM, "no memory for address files");

    for (uint32_t i = 0; rc == 0 && i < r->n; i++) {
        rc = zc_remote_find(&r->servers[i], &files[i]);
        r->local = r->local && zc_addrfile_is_near(&files[i]);
    }
    if (rc == 0)
        rc = zc_remote_watch_start(r); /* also over first sessions */
    for (uint32_t i = 0; rc == 0 && i < r->n; i++)
        rc = connect_one(&r->servers[i], &files[i]);
    if (files)
        zc_forget(files, r->n * sizeof *files);
    free(files);
    return rc;
}

/* ENOENT is for files that programs open: one of ours that is missing means no daemon. */
static int no_daemon(int rc)
{
    return rc == -ENOENT ? zc_errorf(ECONNREFUSED, "%s", zc_error_text(rc)) : rc;
}

int zc_store_remote_create(const char *daemons, const struct zc_net_config *cfg,
                           struct zc_store **out)
{
    char **paths, host[256] = "";
    int n = zc_addrfile_list(daemons, &paths), rc;
    struct remote *r;

    if (n < 0)
        return no_daemon(n);
    r = zc_remote_new((uint32_t)n);
    if (!r) {
        free(paths);
        return zc_errorf(ENOMEM, "no memory for a store");
    }
    r->local = cfg->local;
    r->open_transport = cfg->open_transport;
    if (cfg->timeout_ms)
        r->timeout_ns = cfg->timeout_ms * ZC_NS_PER_MS;
    snprintf(r->name, sizeof r->name, "%s", cfg->name ? cfg->name : "?");
    r->paths = paths;
    gethostname(host, sizeof host - 1);
    r->host = hash_of(host);
    for (uint32_t i = 0; i < r->n; i++)
        r->servers[i].path = paths[i];
    rc = no_daemon(connect_all(r));
    if (rc) {
        struct zc_error e;

        zc_error_keep(&e, rc);
        zc_remote_destroy(&r->store);
        return zc_error_raise(&e);
    }
    *out = &r->store;
    return 0;
}
