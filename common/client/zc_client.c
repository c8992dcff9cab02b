/* zc_client.c - requests to a server. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "zc_log.h"
#include "zc_munge.h"
#include "zc_net_internal.h"

enum { BYE_MS = 200 }; /* a goodbye is not worth the whole time-out */

uint64_t zc_client_boot_id(const struct zc_client *c)
{
    return c->boot_id;
}

uint64_t zc_client_identity(const struct zc_client *c)
{
    return c->identity;
}

struct zc_past zc_client_past(const struct zc_client *c)
{
    return (struct zc_past){c->session, c->client_id};
}

uint32_t zc_client_max_inline(const struct zc_client *c)
{
    return c->max_inline;
}

uint32_t zc_client_page_size(const struct zc_client *c)
{
    return c->page_size;
}

const char *zc_client_label(const struct zc_client *c)
{
    return c->label;
}

const char *zc_client_provider(const struct zc_client *c)
{
    return c->net->tp->provider;
}

bool zc_client_broken(struct zc_client *c)
{
    bool yes;

    zc_lock_get(&c->net->lock);
    yes = c->broken.rc != 0;
    zc_lock_put(&c->net->lock);
    return yes;
}

uint64_t zc_client_quiet(struct zc_client *c)
{
    uint64_t since;

    zc_lock_get(&c->net->lock);
    since = c->broken.rc ? 0 : c->unanswered;
    zc_lock_put(&c->net->lock);
    return since ? zc_now() - since : 0;
}

void zc_client_give_up(struct zc_client *c, const char *why)
{
    struct zc_net *n = c->net;

    zc_lock_get(&n->lock);
    zc_net_failed(c, -ECONNRESET, why, strlen(why));
    if (!c->broken.rc)
        zc_net_check_now(n);
    zc_lock_put(&n->lock);
}

void zc_net_give_up(struct zc_net *n, const char *why)
{
    zc_lock_get(&n->lock);
    zc_list_each (&n->clients, cn)
        zc_net_failed(zc_list_entry(cn, struct zc_client, link), -ECONNRESET, why, strlen(why));
    zc_net_check_now(n);
    zc_lock_put(&n->lock);
}

bool zc_client_bystander(struct zc_client *c)
{
    bool yes;

    zc_lock_get(&c->net->lock);
    yes = c->broken.rc && c->bystander;
    zc_lock_put(&c->net->lock);
    return yes;
}

/* ---- connect ---- */

/* patience_ms: 0: the time-out. */
static int ask(struct zc_client *c, struct zc_msg *m, struct zc_msg *reply, uint64_t patience_ms)
{
    return patience_ms ? zc_call_brief(c, m, reply, patience_ms) : zc_call(c, m, reply);
}

/* Proves to the server that this client knows the secret.  If the session replaces an earlier one,
 * the reply comes when the server has ended that. */
static int authenticate(struct zc_client *c, const struct zc_msg *reply, uint64_t patience_ms)
{
    unsigned char proof[ZC_PROOF_SIZE];
    struct zc_msg m = {
        .type = ZC_T_AUTH, .session = reply->session, .proof = {proof, sizeof proof}};
    int rc;

    zc_handshake_prove(&c->handshake, proof);
    rc = ask(c, &m, NULL, patience_ms);
    if (rc == 0)
        zc_net_accepted(c, reply);
    return rc;
}

/* Switches to the keys made of the credential. */
static void take_keys(struct zc_client *c, const struct zc_pledge *p)
{
    zc_lock_get(&c->net->lock);
    zc_handshake_confirmed(&c->handshake, p->key);
    zc_handshake_keys(&c->handshake, false, zc_tp_is_local(c->net->tp, c->peer), &c->keys);
    zc_lock_put(&c->net->lock);
}

/* Authenticates with a munge credential; the MAC of the reply shows that the server could decode
 * the credential. */
static int vouch(struct zc_client *c, const struct zc_msg *reply, uint64_t patience_ms)
{
    char credential[ZC_MAX_CREDENTIAL + 1];
    struct zc_msg m = {.type = ZC_T_CREDENTIAL, .session = reply->session};
    struct zc_secret key;
    struct zc_pledge p;
    int rc = zc_secret_make(&key);

    if (rc == 0) {
        memcpy(p.said, c->handshake.said, sizeof p.said);
        memcpy(p.key, key.bytes, sizeof p.key);
        rc = zc_munge_credential(&p, credential, sizeof credential);
    }
    if (rc == 0) {
        take_keys(c, &p);
        m.credential = (struct zc_bytes){credential, (uint32_t)strlen(credential)};
        rc = ask(c, &m, NULL, patience_ms);
    }
    zc_secret_forget(&key);
    zc_forget(&p, sizeof p);
    if (rc == 0)
        zc_net_accepted(c, reply);
    return rc;
}

static int hello(struct zc_client *c, const struct zc_past *past, uint64_t patience_ms)
{
    unsigned char addr[ZC_MAX_ADDRESS], nonce[ZC_NONCE_SIZE];
    size_t len = sizeof addr;
    const char *name = c->net->name;
    struct zc_msg m = {.type = ZC_T_HELLO,
                       .magic = ZC_MAGIC,
                       .version_min = ZC_PROTOCOL,
                       .version_max = ZC_PROTOCOL,
                       .client_id = c->client_id,
                       .silence_ms = (uint32_t)(c->net->timeout_ns / ZC_NS_PER_MS),
                       .name = {name, (uint32_t)strlen(name)},
                       .method = c->net->munge ? ZC_METHOD_MUNGE : ZC_METHOD_SECRET,
                       .nonce = {nonce, sizeof nonce}};
    struct zc_msg reply;
    int rc = zc_tp_address(c->net->tp, addr, &len);

    if (rc == 0)
        rc = zc_nonce_make(nonce);
    if (rc)
        return rc;
    m.address = (struct zc_bytes){addr, (uint32_t)len};
    if (past) {
        m.replaces = past->session;
        m.replaces_client = past->client_id;
    }
    rc = ask(c, &m, &reply, patience_ms);
    if (rc)
        return rc;
    return c->net->munge ? vouch(c, &reply, patience_ms) : authenticate(c, &reply, patience_ms);
}

static void client_free(struct zc_client *c)
{
    zc_secret_forget(&c->secret);
    zc_forget(&c->handshake, sizeof c->handshake);
    zc_forget(&c->keys, sizeof c->keys);
    zc_client_views_free(c);
    zc_client_ring_free(c);
    pthread_cond_destroy(&c->installed);
    zc_lock_destroy(&c->view_lock);
    free(c);
}

int zc_client_connect(struct zc_net *n, const void *addr, size_t len,
                      const struct zc_secret *secret, const char *label, struct zc_client **out)
{
    return zc_client_connect_again(n, addr, len, secret, label, NULL, 0, out);
}

int zc_client_connect_again(struct zc_net *n, const void *addr, size_t len,
                            const struct zc_secret *secret, const char *label,
                            const struct zc_past *past, uint64_t patience_ms,
                            struct zc_client **out)
{
    struct zc_client *c = calloc(1, sizeof *c);
    int rc;

    if (!c)
        return zc_errorf(ENOMEM, "no memory for a connection");
    c->net = n;
    if (past) {
        c->client_id = past->client_id + 1;
    } else if (getrandom(&c->client_id, sizeof c->client_id, 0) != sizeof c->client_id) {
        free(c);
        return zc_errorf(errno, "getrandom: %s", strerror(errno));
    }
    c->secret = *secret;
    c->credits = 1;
    c->last_sent = zc_now();
    snprintf(c->label, sizeof c->label, "%s", label);
    zc_list_init(&c->calls);
    zc_list_init(&c->link);
    zc_lock_init(&c->view_lock, ZC_ORDER_CLIENT_VIEWS);
    zc_client_ring_init(c);
    zc_list_init(&c->views);
    zc_cond_init(&c->installed);
    rc = zc_tp_peer_add(n->tp, addr, len, &c->peer);
    if (rc) {
        client_free(c);
        return zc_errorf(-rc, "%s: %s", label, zc_error_text(rc));
    }
    zc_net_add(n, c);
    rc = hello(c, past, patience_ms);
    if (rc) {
        zc_net_remove(n, c);
        client_free(c);
        return rc;
    }
    *out = c;
    return 0;
}

void zc_client_bye(struct zc_client *c)
{
    struct zc_msg m = {.type = ZC_T_BYE};

    if (c->session && !c->bye && !zc_client_broken(c))
        zc_call_brief(c, &m, NULL, BYE_MS);
    c->bye = true;
}

void zc_client_disconnect(struct zc_client *c)
{
    struct zc_net *own = c->owns_net ? c->net : NULL;

    zc_client_bye(c);
    zc_net_remove(c->net, c);
    client_free(c);
    if (own)
        zc_net_destroy(own);
}

/* ---- files ---- */

static int path_of(const char *path, struct zc_msg *m)
{
    size_t n = strlen(path);

    if (n > ZC_MAX_PATH)
        return zc_errorf(ENAMETOOLONG, "path of %zu bytes; at most %d are allowed", n, ZC_MAX_PATH);
    m->path = (struct zc_bytes){path, (uint32_t)n};
    return 0;
}

static void take_attr(struct zc_attr *a, const struct zc_msg *m)
{
    *a = (struct zc_attr){.size = m->size,
                          .dev = m->dev,
                          .ino = m->ino,
                          .nlink = m->nlink,
                          .mtime_ns = (int64_t)m->mtime_ns,
                          .ctime_ns = (int64_t)m->ctime_ns,
                          .born_ns = (int64_t)m->born_ns,
                          .block_size = m->block_size,
                          .width = m->width,
                          .first = m->first};
}

static int open_at(struct zc_client *c, const char *path, unsigned flags, mode_t mode,
                   uint64_t group, uint64_t *handle, struct zc_attr *attr)
{
    struct zc_msg m = {.type = ZC_T_OPEN,
                       .open_flags = flags,
                       .group = group,
                       .mode = mode,
                       .block_size = attr->block_size,
                       .width = attr->width,
                       .first = attr->first,
                       .stride = attr->stride,
                       .set = attr->set.id,
                       .daemon = attr->set.index,
                       .daemons = attr->set.count,
                       .gid = flags & ZC_OPEN_CREATE ? getegid() : UINT32_MAX};
    struct zc_msg reply;
    int rc = path_of(path, &m);

    if (rc == 0)
        rc = zc_call(c, &m, &reply);
    if (rc)
        return rc;
    *handle = reply.handle;
    take_attr(attr, &reply);
    attr->store_unit = reply.store_unit;
    attr->created = reply.created;
    return 0;
}

int zc_client_open(struct zc_client *c, const char *path, unsigned flags, mode_t mode,
                   uint64_t *handle, struct zc_attr *attr)
{
    return open_at(c, path, flags, mode, 0, handle, attr);
}

int zc_client_open_exported(struct zc_client *c, const char *path, unsigned flags, mode_t mode,
                            uint64_t group, uint64_t *handle, struct zc_attr *attr)
{
    return open_at(c, path, flags | ZC_OPEN_EXPORTED, mode, group, handle, attr);
}

static void start_later(struct zc_client *c, struct zc_msg *m, struct zc_later *l)
{
    l->call = NULL;
    l->count = 0;
    l->status = zc_call_start(c, m, NULL, 0, &l->call);
}

int zc_client_wait(struct zc_client *c, struct zc_later *l)
{
    struct zc_msg reply;
    int rc = l->call ? zc_call_wait(c, l->call, &reply) : l->status;

    l->count = rc ? 0 : reply.count;
    l->committed_seq = rc ? 0 : reply.committed_seq;
    return rc;
}

void zc_client_close_start(struct zc_client *c, uint64_t handle, uint64_t level, struct zc_later *l)
{
    struct zc_msg m = {.type = ZC_T_CLOSE, .handle = handle, .level = (uint32_t)level};

    start_later(c, &m, l);
}

void zc_client_flush_start(struct zc_client *c, uint64_t handle, uint64_t level, struct zc_later *l)
{
    struct zc_msg m = {.type = ZC_T_FLUSH, .handle = handle, .level = (uint32_t)level};

    start_later(c, &m, l);
}

void zc_client_flush_collective_start(struct zc_client *c, uint64_t handle, uint64_t level,
                                      struct zc_later *l)
{
    struct zc_msg m = {
        .type = ZC_T_FLUSH, .flags = ZC_F_COLLECTIVE, .handle = handle, .level = (uint32_t)level};

    start_later(c, &m, l);
}

void zc_client_refresh_start(struct zc_client *c, uint64_t handle, uint64_t level,
                             struct zc_later *l)
{
    struct zc_msg m = {
        .type = ZC_T_FLUSH, .flags = ZC_F_REFRESH, .handle = handle, .level = (uint32_t)level};

    start_later(c, &m, l);
}

void zc_client_refresh_collective_start(struct zc_client *c, uint64_t handle, uint64_t level,
                                        struct zc_later *l)
{
    struct zc_msg m = {.type = ZC_T_FLUSH,
                       .flags = ZC_F_REFRESH | ZC_F_COLLECTIVE,
                       .handle = handle,
                       .level = (uint32_t)level};

    start_later(c, &m, l);
}

void zc_client_cut_start(struct zc_client *c, uint64_t handle, uint64_t size, struct zc_later *l)
{
    struct zc_msg m = {.type = ZC_T_TRUNCATE, .flags = ZC_F_CUT, .handle = handle, .size = size};

    start_later(c, &m, l);
}

void zc_client_backlog_start(struct zc_client *c, uint64_t handle, uint64_t what,
                             struct zc_later *l)
{
    struct zc_msg m = {.type = ZC_T_BACKLOG, .handle = handle, .what = (uint32_t)what};

    start_later(c, &m, l);
}

int zc_client_close(struct zc_client *c, uint64_t handle, enum zc_level level)
{
    struct zc_later l;

    zc_client_close_start(c, handle, level, &l);
    return zc_client_wait(c, &l);
}

int zc_client_truncate(struct zc_client *c, uint64_t handle, uint64_t size)
{
    struct zc_msg m = {.type = ZC_T_TRUNCATE, .handle = handle, .size = size};

    return zc_call(c, &m, NULL);
}

int zc_client_flush(struct zc_client *c, uint64_t handle, enum zc_level level)
{
    struct zc_later l;

    zc_client_flush_start(c, handle, level, &l);
    return zc_client_wait(c, &l);
}

int zc_client_getattr(struct zc_client *c, uint64_t handle, struct zc_attr *attr)
{
    struct zc_msg m = {.type = ZC_T_GETATTR, .handle = handle}, reply;
    int rc = zc_call(c, &m, &reply);

    if (rc == 0)
        take_attr(attr, &reply);
    return rc;
}

int zc_client_allocate(struct zc_client *c, uint64_t handle, uint64_t off, uint64_t len)
{
    struct zc_msg m = {.type = ZC_T_ALLOCATE, .handle = handle, .off = off, .len = len};

    return zc_call(c, &m, NULL);
}

int zc_client_pointer(struct zc_client *c, uint64_t handle, uint32_t what, uint64_t epoch,
                      uint64_t value, uint64_t *was)
{
    struct zc_msg m = {
        .type = ZC_T_POINTER, .handle = handle, .what = what, .epoch = epoch, .off = value};
    uint64_t *word = what == ZC_POINTER_ADD ? zc_client_pointer_at(c, handle) : NULL;
    struct zc_msg reply;
    int rc;

    if (word && zc_pointer_add(word, epoch, value, was))
        return 0;
    rc = zc_call(c, &m, &reply);
    if (rc)
        return rc;
    *was = reply.count;
    zc_client_pointer_is(c, handle, reply.control_at);
    return 0;
}

int zc_client_lock(struct zc_client *c, uint64_t handle, bool exclusive, uint64_t off, uint64_t len,
                   uint64_t *number)
{
    struct zc_msg m = {.type = ZC_T_LOCK,
                       .handle = handle,
                       .what = exclusive ? ZC_LOCK_EXCLUSIVE : ZC_LOCK_SHARED,
                       .off = off,
                       .len = len};
    struct zc_msg reply;
    int rc = zc_call(c, &m, &reply);

    if (rc == 0)
        *number = reply.count;
    return rc;
}

int zc_client_unlock(struct zc_client *c, uint64_t handle, uint64_t number)
{
    struct zc_msg m = {.type = ZC_T_UNLOCK, .handle = handle, .count = number};

    return zc_call(c, &m, NULL);
}

void zc_client_step_start(struct zc_client *c, uint64_t handle, uint32_t what, uint64_t number,
                          uint64_t size, uint64_t limit_ms, struct zc_later *l)
{
    struct zc_msg m = {.type = ZC_T_STEP,
                       .handle = handle,
                       .what = what,
                       .count = number,
                       .size = size,
                       .len = limit_ms};

    start_later(c, &m, l);
}

int zc_client_step(struct zc_client *c, uint64_t handle, uint32_t what, uint64_t *number,
                   uint64_t size, uint64_t limit_ms)
{
    struct zc_later l;
    int rc;

    zc_client_step_start(c, handle, what, *number, size, limit_ms, &l);
    rc = zc_client_wait(c, &l);
    *number = l.count;
    return rc;
}

int zc_client_unlink(struct zc_client *c, const char *path)
{
    struct zc_msg m = {.type = ZC_T_UNLINK};
    int rc = path_of(path, &m);

    return rc ? rc : zc_call(c, &m, NULL);
}

int zc_client_stat(struct zc_client *c, const char *path, struct zc_attr *attr)
{
    struct zc_msg m = {.type = ZC_T_STAT}, reply;
    int rc = path_of(path, &m);

    if (rc == 0)
        rc = zc_call(c, &m, &reply);
    if (rc == 0)
        take_attr(attr, &reply);
    return rc;
}

int zc_client_ping(struct zc_client *c)
{
    struct zc_msg m = {.type = ZC_T_PING};

    return zc_call(c, &m, NULL);
}

/* ---- the server ---- */

int zc_client_control(struct zc_client *c, uint32_t what, uint64_t *count)
{
    struct zc_msg m = {.type = ZC_T_CONTROL, .what = what}, reply;
    int rc = zc_call(c, &m, &reply);

    if (rc == 0 && count)
        *count = reply.count;
    return rc;
}

int zc_client_info(struct zc_client *c, uint32_t what, char **text)
{
    char *buf = NULL;
    size_t at = 0, size;

    do {
        struct zc_msg m = {.type = ZC_T_INFO, .what = what, .off = at}, reply;
        struct zc_call *call;
        char *more = realloc(buf, at + ZC_MAX_INLINE + 1);
        int rc = more ? 0 : zc_errorf(ENOMEM, "no memory for %zu bytes", at);

        if (more)
            buf = more;
        if (rc == 0)
            rc = zc_call_start(c, &m, buf + at, ZC_MAX_INLINE, &call);
        if (rc == 0)
            rc = zc_call_wait(c, call, &reply);
        if (rc == 0 && reply.data.n == 0 && reply.size > at)
            rc = zc_errorf(EPROTO, "%s: information ends early", c->label);
        if (rc) {
            free(buf);
            return rc;
        }
        at += reply.data.n;
        size = reply.size;
    } while (at < size);
    buf[at] = 0;
    *text = buf;
    return 0;
}
