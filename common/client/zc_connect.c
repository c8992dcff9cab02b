/* zc_connect.c - gets a session with a server. */
#include "config.h"

#include <errno.h>
#include <stdio.h>

#include "zc_connect.h"
#include "zc_net_internal.h"

void zc_connect_daemon(struct zc_connect *to, const char *path, const struct zc_addrfile *a,
                       bool local)
{
    to->path = path;
    to->file = a;
    to->addr = zc_addrfile_address(a, local, &to->len);
    to->secret = &a->secret;
    to->own.provider = a->provider;
    to->own.munge = a->munge;
    snprintf(to->label, sizeof to->label, "zcached on %s (pid %ld)", a->host, a->pid);
}

/* Makes the endpoint that belongs to the client. */
static int own_net(const struct zc_connect *to, struct zc_net **out)
{
    struct zc_net_config cfg = to->own;
    int rc;

    cfg.toward = to->addr;
    cfg.toward_len = to->len;
    rc = zc_net_create(&cfg, out);
    if (rc == -ENODEV && to->file)
        return zc_errorf(ENODEV,
                         "%s; the daemon of %s uses it (\"zcached --provider net\" can be reached "
                         "by every release of libfabric)",
                         zc_error_text(rc), to->path);
    return rc;
}

/* Addresses are reused: the process that replies may be another daemon, for other files. */
static int check_identity(const struct zc_connect *to, int rc, const struct zc_client *c)
{
    const struct zc_addrfile *a = to->file;

    if (!a || (rc != -ESTALE && (rc || zc_client_boot_id(c) == a->boot_id)))
        return rc;
    return zc_errorf(ESTALE,
                     "another daemon answers at the address in %s, and does not know its secret: "
                     "the one that wrote it (pid %ld on %s, root %s) is gone; start it again, or "
                     "remove the file",
                     to->path, a->pid, a->host, a->root);
}

static int begin(const struct zc_connect *to, struct zc_net *n, struct zc_client **c)
{
    int rc;

    if (to->trying)
        to->trying(to->arg, n);
    rc = zc_client_connect_again(n, to->addr, to->len, to->secret, to->label, to->past,
                                 to->patience_ms, c);
    if (to->trying)
        to->trying(to->arg, NULL);
    return check_identity(to, rc, *c);
}

int zc_connect(const struct zc_connect *to, struct zc_client **out)
{
    struct zc_net *n = to->net;
    struct zc_client *c = NULL;
    struct zc_error e;
    int rc = n ? 0 : own_net(to, &n);

    *out = NULL;
    if (rc)
        return rc;
    zc_error_keep(&e, begin(to, n, &c));
    if (c)
        c->owns_net = !to->net;
    if (!e.rc) {
        *out = c;
        return 0;
    }
    if (c)
        zc_client_disconnect(c);
    else if (!to->net)
        zc_net_destroy(n);
    return zc_error_raise(&e);
}
