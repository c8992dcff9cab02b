/* zc_store_remote_connect.c - finding the daemons of a remote store, and connecting to all. */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "zc_log.h"
#include "zc_store_remote_internal.h"
#include "zc_wire.h"

/* What can be said without waiting for a time-out. */
static int check_daemon(const char *path, const struct zc_addrfile *a)
{
    char host[256] = "";

    if (a->protocol != ZC_PROTOCOL)
        return zc_errorf(EPROTONOSUPPORT,
                         "the daemon of %s speaks protocol %u and this library %d; "
                         "install the same release of both",
                         path, a->protocol, ZC_PROTOCOL);
    gethostname(host, sizeof host - 1);
    if (!strcmp(host, a->host) && kill((pid_t)a->pid, 0) && errno == ESRCH)
        return zc_errorf(ECONNREFUSED,
                         "the daemon of %s (pid %ld on this host) is not running; start it again",
                         path, a->pid);
    return 0;
}

static int find_daemon(const char *path, struct zc_addrfile *a)
{
    int rc = zc_addrfile_read(path, a);

    return rc ? rc : check_daemon(path, a);
}

/* cfg->local: all daemons were near when we looked. */
static const void *address_of(const struct zc_addrfile *a, const struct zc_net_config *cfg,
                              size_t *len)
{
    *len = cfg->local ? a->local_len : a->address_len;
    return cfg->local ? a->local : a->address;
}

/* One endpoint for all daemons, made for the first; they must understand each other's. */
static int open_net(struct remote *r, const struct zc_addrfile *a, const char *path,
                    const struct zc_net_config *cfg)
{
    struct zc_net_config c = *cfg;
    int rc;

    if (r->net && !cfg->local && strcmp(r->provider, a->provider))
        return zc_errorf(EINVAL,
                         "the daemon of %s uses the libfabric provider %s, others of this job %s; "
                         "start them with the same --provider",
                         path, a->provider, r->provider);
    if (r->net)
        return 0;
    snprintf(r->provider, sizeof r->provider, "%s", a->provider);
    c.provider = r->provider;
    c.toward = address_of(a, cfg, &c.toward_len);
    rc = zc_net_create(&c, &r->net);
    if (rc == -ENODEV)
        return zc_errorf(ENODEV,
                         "%s; the daemon of %s uses it (\"zcached --provider net\" can be reached "
                         "by every release of libfabric)",
                         zc_error_text(rc), path);
    return rc;
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

static int connect_one(struct remote *r, uint32_t i, const struct zc_addrfile *a, const char *path,
                       const struct zc_net_config *cfg)
{
    char label[300];
    size_t len;
    const void *addr = address_of(a, cfg, &len);
    int rc = open_net(r, a, path, cfg);

    if (rc)
        return rc;
    snprintf(label, sizeof label, "zcached on %s (pid %ld)", a->host, a->pid);
    rc = zc_client_connect(r->net, addr, len, &a->secret, label, &r->clients[i]);
    if (rc == -ESTALE || (rc == 0 && zc_client_boot_id(r->clients[i]) != a->boot_id))
        return another_answers(path, a);
    return rc;
}

/* One endpoint for all: it is a local one when all daemons can be reached so. */
static int connect_all(struct remote *r, char **paths, const struct zc_net_config *cfg)
{
    struct zc_addrfile *files = calloc(r->n, sizeof *files);
    struct zc_net_config c = *cfg;
    int rc = files ? 0 : zc_errorf(ENOMEM, "no memory for address files");

    for (uint32_t i = 0; rc == 0 && i < r->n; i++) {
        rc = find_daemon(paths[i], &files[i]);
        c.local = c.local && zc_addrfile_is_near(&files[i]);
    }
    for (uint32_t i = 0; rc == 0 && i < r->n; i++)
        rc = connect_one(r, i, &files[i], paths[i], &c);
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
    char **paths;
    int n = zc_addrfile_list(daemons, &paths), rc = 0;
    struct remote *r;

    if (n < 0)
        return no_daemon(n);
    r = zc_remote_new((uint32_t)n);
    if (!r)
        rc = zc_errorf(ENOMEM, "no memory for a store");
    if (rc == 0)
        rc = no_daemon(connect_all(r, paths, cfg));
    free(paths);
    if (rc) {
        char text[400];

        snprintf(text, sizeof text, "%s", zc_error_text(rc));
        if (r)
            zc_remote_destroy(&r->store);
        return zc_errorf(-rc, "%s", text);
    }
    *out = &r->store;
    return 0;
}
