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
#include "zc_process.h"
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
    if (zc_is_this_host(a->host) && zc_process_is_gone(a->pid, a->started))
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

/* Addresses are used again: whoever answers may be somebody's daemon, for other files. */
static int another_answers(const char *path, const struct zc_addrfile *a)
{
    return zc_errorf(ESTALE,
                     "another daemon answers at the address in %s, and does not know its secret: "
                     "the one that wrote it (pid %ld on %s, root %s) is gone; start it again, or "
                     "remove the file",
                     path, a->pid, a->host, a->root);
}

static int open_net(const struct remote *r, const struct zc_addrfile *a, const char *path,
                    const void *addr, size_t len, struct zc_net **out)
{
    struct zc_net_config cfg = {.open_transport = r->open_transport,
                                .provider = a->provider,
                                .toward = addr,
                                .toward_len = len,
                                .munge = a->munge,
                                .timeout_ms = r->timeout_ns / ZC_NS_PER_MS,
                                .name = r->name};
    int rc = zc_net_create(&cfg, out);

    if (rc == -ENODEV)
        return zc_errorf(ENODEV,
                         "%s; the daemon of %s uses it (\"zcached --provider net\" can be reached "
                         "by every release of libfabric)",
                         zc_error_text(rc), path);
    return rc;
}

void zc_remote_session_free(struct session *s)
{
    if (s->client)
        zc_client_disconnect(s->client);
    if (s->net)
        zc_net_destroy(s->net);
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
    stopping = sv->rc == -ESHUTDOWN && sv->boot_id == a->boot_id;
    zc_lock_put(&r->lock);
    return stopping ? STOPPING_MS : AGAIN_MS;
}

int zc_remote_connect(struct server *sv, const struct zc_addrfile *a, bool local,
                      const struct zc_past *past, struct session **out)
{
    struct session *s = calloc(1, sizeof *s);
    size_t len = local ? a->local_len : a->address_len;
    const void *addr = local ? a->local : a->address;
    char label[300], text[400];
    bool trying = false;
    int rc;

    if (!s)
        return zc_errorf(ENOMEM, "no memory for a session");
    s->host = hash_of(a->host);
    s->pid = a->pid;
    s->here = s->host == sv->remote->host;
    snprintf(label, sizeof label, "zcached on %s (pid %ld)", a->host, a->pid);
    rc = open_net(sv->remote, a, sv->path, addr, len, &s->net);
    if (rc == 0 && !past) {
        zc_remote_trying(sv, s, a->boot_id);
        trying = true;
    }
    if (rc == 0)
        rc = zc_client_connect_again(s->net, addr, len, &a->secret, label, past,
                                     patience(sv, a, past), &s->client);
    if (trying)
        zc_remote_tried(sv);
    if (rc == 0)
        zc_client_on_stored(s->client, zc_remote_stored, sv->remote);
    if (rc == -ESTALE || (rc == 0 && zc_client_boot_id(s->client) != a->boot_id))
        rc = another_answers(sv->path, a);
    if (rc) {
        snprintf(text, sizeof text, "%s", zc_error_text(rc));
        zc_remote_session_free(s);
        return zc_errorf(-rc, "%s", text);
    }
    *out = s;
    return 0;
}

/* ---- all of them, at first ---- */

/* It failed for the reason rc, and another daemon has been announced meanwhile: `a` is its. */
static bool is_another_there(const struct server *sv, struct zc_addrfile *a, int rc)
{
    struct zc_addrfile next = {0};
    char text[ZC_TEXT_MAX];

    snprintf(text, sizeof text, "%s", zc_error_text(rc));
    if (zc_remote_find(sv, &next) == 0 && next.boot_id != a->boot_id) {
        zc_warn("%s; trying the one that %s names now", text, sv->path);
        *a = next;
        zc_secret_forget(&next.secret);
        return true;
    }
    zc_secret_forget(&next.secret);
    zc_errorf(-rc, "%s", text);
    return false;
}

/* A daemon that dies in this moment is waited for as long as the attempt takes, and no longer: who
 * begins has nothing to lose yet, and most that do not answer are simply not there. */
static int connect_one(struct server *sv, struct zc_addrfile *a)
{
    struct remote *r = sv->remote;
    uint64_t until = zc_now() + r->timeout_ns;
    struct session *s;
    int rc;

    do
        rc = zc_remote_connect(sv, a, r->local && zc_addrfile_is_near(a), NULL, &s);
    while (rc && zc_now() < until && is_another_there(sv, a, rc));
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
        char text[400];

        snprintf(text, sizeof text, "%s", zc_error_text(rc));
        zc_remote_destroy(&r->store);
        return zc_errorf(-rc, "%s", text);
    }
    *out = &r->store;
    return 0;
}
