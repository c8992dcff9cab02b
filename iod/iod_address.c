/* iod_address.c - the daemon's address file, and the daemon that may already own it.
 *
 * A process id alone proves nothing: it may have been reused, or belong to another host or PID
 * namespace.  So the daemon that the file names is asked.  The new daemon does not start if it
 * answers with the file's boot id, or if it runs on this host but is too busy to answer: a zcached
 * with that process id, if the id is of this PID namespace, or else a process that has the local
 * socket, which all PID namespaces share.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "iod_address.h"
#include "iod_path.h"
#include "zc_connect.h"
#include "zc_fence.h"
#include "zc_log.h"
#include "zc_process.h"

enum { ASK_MS = 3000 };

/* Boot id of the file found by the claim, the only one that may be replaced; 0: there was none. */
static uint64_t claimed;

/* 0: it serves; -ESHUTDOWN: it is stopping, and may have bytes to write; else no daemon with its
 * secret replies. */
static int ask(const char *path, const struct zc_addrfile *a)
{
    struct zc_connect to = {.own = {.timeout_ms = ASK_MS, .name = "zcached, starting"}};
    struct zc_client *client;
    int rc;

    zc_connect_daemon(&to, path, a, false);
    rc = zc_connect(&to, &client);
    if (rc == 0)
        zc_client_disconnect(client);
    /* One that speaks another protocol version, or has clients enough, is a daemon all the same. */
    return rc == -EPROTONOSUPPORT || rc == -EUSERS ? 0 : rc;
}

static int refuse(const char *path, const struct zc_addrfile *a)
{
    return zc_errorf(EBUSY,
                     "--address-file: %s belongs to a daemon that runs (process %ld on %s, root "
                     "%s); stop it with: zcachectl --daemons %s stop",
                     path, a->pid, a->host, a->root, path);
}

/* Its last writes would follow those of the new daemon. */
static int refuse_until_it_ends(const char *path, const struct zc_addrfile *a)
{
    return zc_errorf(
        EBUSY,
        "--address-file: %s belongs to a daemon that is stopping, and writes back what "
        "it has (process %ld on %s, root %s); wait until it has ended",
        path, a->pid, a->host, a->root);
}

static int claim_from(const char *path, const struct zc_addrfile *a, bool *replaces)
{
    bool counts = zc_addrfile_pid_counts(a), ours = counts && a->pid == getpid();
    enum zc_process_kind kind = ZC_PROCESS_OTHER;
    int rc, listens = counts ? -EXDEV : zc_addrfile_listens(a);

    if (counts)
        kind = zc_process_is_gone(a->pid, a->started) ? ZC_PROCESS_NONE : zc_process_kind(a->pid);
    if (kind != ZC_PROCESS_NONE && !ours && listens != 0) {
        if (zc_addrfile_check_reach(path, a) < 0)
            return zc_errorf(EBUSY,
                             "--address-file: %s belongs to a daemon of host %s that cannot be "
                             "asked from here; if it runs no more, remove the file",
                             path, a->host);
        rc = ask(path, a);
        if (rc == 0)
            return refuse(path, a);
        if (rc == -ESHUTDOWN)
            return refuse_until_it_ends(path, a);
        if (kind == ZC_PROCESS_ZCACHED || listens == 1)
            return zc_errorf(EBUSY,
                             "--address-file: %s belongs to zcached %ld on this host, which runs "
                             "but does not answer; end it (kill %ld) and remove the file",
                             path, a->pid, a->pid);
    }
    *replaces = !counts && listens != 0;
    zc_warn("%s was left by process %ld on %s, which is gone; replacing it", path, a->pid, a->host);
    return 0;
}

int iod_address_claim(const struct zc_settings *s, bool *replaces)
{
    const char *path = s->address_file;
    struct zc_addrfile a;
    struct stat st;
    int rc;

    *replaces = false;
    claimed = 0;
    if (lstat(path, &st) < 0 || (S_ISREG(st.st_mode) && st.st_size == 0))
        return 0; /* not there, or an empty one made to reserve the name */
    rc = zc_addrfile_read(path, &a);
    if (rc < 0)
        return zc_errorf(EEXIST,
                         "--address-file: %s exists and cannot be replaced (%s); remove it or "
                         "choose another name",
                         path, zc_error_text(rc));
    claimed = a.boot_id;
    rc = claim_from(path, &a, replaces);
    zc_secret_forget(&a.secret);
    return rc;
}

static uint64_t hash(uint64_t h, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;

    while (n--)
        h = (h ^ *p++) * 0x100000001b3ull; /* FNV-1a */
    return h;
}

bool iod_address_was_bypassed(const struct zc_settings *s)
{
    struct zc_addrfile a;

    return zc_addrfile_probe(s->address_file, &a) == 0 &&
           zc_fence_look(s->address_file, a.boot_id) != 0;
}

/* The directory's inode number tells directories of one name on different hosts apart. */
uint64_t iod_address_identity(const struct zc_settings *s)
{
    const char *name = strrchr(s->address_file, '/');
    char dir[ZC_MAX_PATH], *real = NULL;
    uint64_t h = 0xcbf29ce484222325ull;
    struct stat st = {0};

    if (iod_path_dirname(s->address_file, dir, sizeof dir) == 0)
        real = realpath(dir, NULL);
    if (!name || !real || stat(real, &st)) {
        free(real);
        return 0; /* the boot id is used instead, which changes */
    }
    h = hash(h, real, strlen(real));
    h = hash(h, &st.st_ino, sizeof st.st_ino);
    h = hash(h, name, strlen(name) + 1);
    h = hash(h, s->root, strlen(s->root));
    free(real);
    return h;
}

/* Another daemon may have started since the claim; if it has not ended, this one must not take its
 * clients. */
int iod_address_put(const struct zc_settings *s, const struct zc_addrfile *a, bool *replaces)
{
    bool one_more;
    int rc;

    while ((rc = zc_addrfile_replace(s->address_file, a, claimed)) == -EBUSY &&
           (rc = iod_address_claim(s, &one_more)) == 0)
        *replaces |= one_more;
    return rc;
}

int iod_address_publish(const struct zc_settings *s, struct zc_server *server, uint64_t boot_id,
                        const struct zc_secret *secret, bool *replaces)
{
    struct zc_addrfile a = {
        .protocol = ZC_PROTOCOL,
        .address_len = sizeof a.address,
        .local_len = sizeof a.local,
        .boot_id = boot_id,
        .munge = s->auth == ZC_AUTH_MUNGE,
        .aggregator = s->aggregator,
    };
    int rc = zc_server_address(server, a.address, &a.address_len);

    if (rc == 0)
        rc = zc_server_local_address(server, a.local, &a.local_len);
    if (rc < 0)
        return rc;
    zc_addrfile_here(&a);
    if ((size_t)snprintf(a.provider, sizeof a.provider, "%s", s->provider) >= sizeof a.provider)
        return zc_errorf(EINVAL, "--provider: \"%s\" is too long", s->provider);
    if ((size_t)snprintf(a.root, sizeof a.root, "%s", s->root) >= sizeof a.root)
        return zc_errorf(ENAMETOOLONG, "--root: %.100s...: name too long", s->root);
    a.secret = *secret;
    rc = iod_address_put(s, &a, replaces);
    zc_secret_forget(&a.secret);
    return rc;
}
