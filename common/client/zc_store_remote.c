/* zc_store_remote.c - the store whose files lie behind daemons.
 *
 * Every daemon sees the same file system; which one caches a block is placement alone
 * (zc_place.h).  So one daemon creates, stats and unlinks, and all of them are asked about
 * sizes: a daemon knows the end of what went through itself.  A piece that comes back short
 * is therefore no end of file yet: bytes before the largest size anyone knows read as zeros.
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "zc_addrfile.h"
#include "zc_log.h"
#include "zc_place.h"
#include "zc_racy.h"
#include "zc_store_remote.h"
#include "zc_view.h"
#include "zc_window.h"

enum { ASKED = 8 }; /* daemons asked at a time */

struct remote {
    struct zc_store store;
    struct zc_net *net;
    char provider[sizeof((struct zc_addrfile *)0)->provider]; /* of the first daemon, when net is */
    uint32_t n;
    struct zc_client *clients[];
};

struct rfile {
    struct zc_sfile file;
    struct zc_place place;
    uint64_t handles[]; /* by daemon */
};

static inline struct remote *remote_of(struct zc_store *s)
{
    return (struct remote *)s;
}

static inline struct rfile *rfile_of(struct zc_sfile *f)
{
    return (struct rfile *)f;
}

/* ---- open and close ---- */

/* Opens at the first daemon; *created tells whether the file is of our making.  Without
 * O_EXCL that takes a look first, so that a failure elsewhere can be undone exactly. */
static int open_first(struct remote *r, const char *path, unsigned flags, mode_t mode,
                      uint64_t *handle, struct zc_attr *attr, bool *created)
{
    bool create = flags & ZC_OPEN_CREATE;
    int rc;

    *created = false;
    if (r->n == 1 || !create || (flags & ZC_OPEN_EXCL)) {
        rc = zc_client_open(r->clients[0], path, flags, mode, handle, attr);
        *created = rc == 0 && create && (flags & ZC_OPEN_EXCL);
        return rc;
    }
    for (int tries = 0; tries < 3; tries++) {
        rc = zc_client_open(r->clients[0], path, flags & ~ZC_OPEN_CREATE, mode, handle, attr);
        if (rc != -ENOENT)
            return rc;
        rc = zc_client_open(r->clients[0], path, flags | ZC_OPEN_EXCL, mode, handle, attr);
        if (rc != -EEXIST) {
            *created = rc == 0;
            return rc;
        }
    }
    return rc;
}

/* Of the blocks of one daemon, an opener that reads every n-th block of the file reads every
 * so-manieth of the file, too. */
static uint64_t stride_at(const struct remote *r, uint64_t n)
{
    uint64_t a = n ? n : 1, b = r->n;

    while (b) { /* the least common multiple of both */
        uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return (n ? n : 1) / a * r->n;
}

static int remote_open(struct zc_store *s, const char *path, unsigned flags, mode_t mode,
                       struct zc_sfile **out, struct zc_attr *attr)
{
    struct remote *r = remote_of(s);
    struct rfile *f = calloc(1, sizeof *f + r->n * sizeof f->handles[0]);
    uint64_t wished = attr->block_size, stride = stride_at(r, attr->stride);
    uint32_t opened = 0;
    char text[400];
    bool created;
    int rc;

    if (!f)
        return zc_errorf(ENOMEM, "no memory to open %s", path);
    f->file.store = s;
    attr->stride = stride;
    rc = open_first(r, path, flags, mode, &f->handles[0], attr, &created);
    if (rc)
        goto fail;
    opened = 1;
    if (!attr->block_size)
        attr->block_size = wished ? wished : 4u << 20;
    f->place = (struct zc_place){attr->block_size, r->n, r->n};
    for (; opened < r->n; opened++) {
        struct zc_attr other = {.block_size = attr->block_size, .stride = stride};

        rc = zc_client_open(r->clients[opened], path,
                            (flags & ~(ZC_OPEN_CREATE | ZC_OPEN_EXCL)) | ZC_OPEN_PLACED, mode,
                            &f->handles[opened], &other);
        if (rc)
            goto fail;
        if (other.block_size != attr->block_size) {
            opened++;
            rc = zc_errorf(EINVAL,
                           "%s: daemons place blocks of %llu and of %llu bytes; give all of them "
                           "the same --page-size and open files with the same daemons",
                           path, (unsigned long long)attr->block_size,
                           (unsigned long long)other.block_size);
            goto fail;
        }
        if (other.size > attr->size)
            attr->size = other.size;
    }
    *out = &f->file;
    return 0;
fail:
    snprintf(text, sizeof text, "%s", zc_error_text(rc));
    for (uint32_t i = 0; i < opened; i++)
        zc_client_close(r->clients[i], f->handles[i], ZC_LEVEL_VISIBLE);
    if (opened && created)
        zc_client_unlink(r->clients[0], path);
    free(f);
    return zc_errorf(-rc, "%s", text);
}

typedef void (*start_fn)(struct zc_client *c, uint64_t handle, uint64_t arg, struct zc_later *l);

static void start_flush(struct zc_client *c, uint64_t handle, uint64_t level, struct zc_later *l)
{
    zc_client_flush_start(c, handle, (enum zc_level)level, l);
}

static void start_close(struct zc_client *c, uint64_t handle, uint64_t level, struct zc_later *l)
{
    zc_client_close_start(c, handle, (enum zc_level)level, l);
}

static void start_truncate(struct zc_client *c, uint64_t handle, uint64_t size, struct zc_later *l)
{
    zc_client_truncate_start(c, handle, size, l);
}

static void start_backlog(struct zc_client *c, uint64_t handle, uint64_t what, struct zc_later *l)
{
    zc_client_backlog_start(c, handle, (uint32_t)what, l);
}

/* Asks all daemons at once; every one is waited for, the first failure is returned.
 * *sum, when not NULL, is what they counted. */
static int ask_all(struct rfile *f, start_fn start, uint64_t arg, uint64_t *sum)
{
    struct remote *r = remote_of(f->file.store);
    struct zc_later later[ASKED];
    char text[256] = "";
    int first = 0;

    for (uint32_t at = 0; at < r->n; at += ASKED) {
        uint32_t end = at + ASKED < r->n ? at + ASKED : r->n;

        for (uint32_t i = at; i < end; i++)
            start(r->clients[i], f->handles[i], arg, &later[i - at]);
        for (uint32_t i = at; i < end; i++) {
            int rc = zc_client_wait(r->clients[i], &later[i - at]);

            if (sum)
                *sum += later[i - at].count;
            if (rc && !first) {
                first = rc;
                snprintf(text, sizeof text, "%s", zc_error_text(rc));
            }
        }
    }
    return first ? zc_errorf(-first, "%s", text) : 0;
}

static int remote_close(struct zc_sfile *sf, enum zc_level level)
{
    int rc = ask_all(rfile_of(sf), start_close, level, NULL);

    free(rfile_of(sf));
    return rc;
}

static int remote_sync(struct zc_sfile *sf, enum zc_level level)
{
    return ask_all(rfile_of(sf), start_flush, level, NULL);
}

static int remote_backlog(struct zc_sfile *sf, uint64_t *bytes)
{
    *bytes = 0;
    return ask_all(rfile_of(sf), start_backlog, ZC_BACKLOG_HERE, bytes);
}

static int remote_truncate(struct zc_sfile *sf, uint64_t size)
{
    return ask_all(rfile_of(sf), start_truncate, size, NULL);
}

static int remote_allocate(struct zc_sfile *sf, uint64_t off, uint64_t len)
{
    struct remote *r = remote_of(sf->store);

    return zc_client_allocate(r->clients[0], rfile_of(sf)->handles[0], off, len);
}

static int remote_getattr(struct zc_sfile *sf, struct zc_attr *attr)
{
    struct rfile *f = rfile_of(sf);
    struct remote *r = remote_of(sf->store);
    int rc = zc_client_getattr(r->clients[0], f->handles[0], attr);

    for (uint32_t i = 1; rc == 0 && i < r->n; i++) {
        struct zc_attr other;

        rc = zc_client_getattr(r->clients[i], f->handles[i], &other);
        if (rc == 0 && other.size > attr->size)
            attr->size = other.size;
    }
    return rc;
}

/* ---- data ---- */

/* One block's part of a transfer; io says which bytes. */
struct part {
    struct zc_io io;
    struct zc_client *client;
};

struct transfer {
    struct rfile *file;
    bool write;
    struct part parts[ZC_WINDOW];
};

/* A read came back short: zeros up to the end of the file, wherever that is.  Bytes the part
 * has, or an error. */
static int64_t fill_hole(struct transfer *t, const struct zc_io *io, size_t got)
{
    uint64_t begin = io->off + got, end = begin;
    struct zc_attr attr;

    if (t->file->place.daemons > 1) {
        int rc = remote_getattr(&t->file->file, &attr);

        if (rc)
            return rc;
        if (attr.size > end)
            end = attr.size < io->off + io->len ? attr.size : io->off + io->len;
    }
    memset((char *)io->buf + got, 0, (size_t)(end - begin));
    return (int64_t)(end - io->off);
}

static int64_t finish_part(void *transfer, unsigned slot, bool wanted)
{
    struct transfer *t = transfer;
    struct part *p = &t->parts[slot];
    ssize_t got = zc_io_wait(p->client, &p->io);

    if (got < 0 || !wanted || (size_t)got == p->io.len)
        return got;
    if (t->write)
        return zc_errorf(EIO, "%s took %zd of %zu bytes at offset %llu", zc_client_label(p->client),
                         got, p->io.len, (unsigned long long)p->io.off);
    return fill_hole(t, &p->io, (size_t)got);
}

/* Bytes of the part that is under way now: `left` at most, of one block. */
static size_t start_part(struct transfer *t, struct part *p, char *buf, size_t left, uint64_t off)
{
    const struct zc_place *place = &t->file->place;
    uint64_t room = place->daemons == 1 ? left : zc_place_room(place, off);
    uint32_t daemon = zc_place_daemon(place, zc_place_block(place, off));

    p->client = remote_of(t->file->file.store)->clients[daemon];
    p->io = (struct zc_io){.write = t->write,
                           .handle = t->file->handles[daemon],
                           .buf = buf,
                           .len = left < room ? left : (size_t)room,
                           .off = off};
    zc_io_start(p->client, &p->io);
    return p->io.len;
}

static ssize_t move(struct zc_sfile *sf, const struct iovec *iov, int n, uint64_t off, bool write)
{
    struct transfer t = {.file = rfile_of(sf), .write = write};
    struct zc_window w;

    zc_window_init(&w, finish_part, &t);
    for (int i = 0; i < n; i++) {
        char *buf = iov[i].iov_base;
        size_t left = iov[i].iov_len;

        while (left && zc_window_wants(&w)) {
            size_t len = start_part(&t, &t.parts[zc_window_slot(&w)], buf, left, off);

            zc_window_started(&w, (int64_t)len);
            buf += len;
            left -= len;
            off += len;
        }
    }
    return zc_window_end(&w);
}

static ssize_t remote_preadv(struct zc_sfile *sf, const struct iovec *iov, int n, uint64_t off)
{
    return move(sf, iov, n, off, false);
}

static ssize_t remote_pwritev(struct zc_sfile *sf, const struct iovec *iov, int n, uint64_t off)
{
    return move(sf, iov, n, off, true);
}

/* The pieces leave packed, with a view that says where they belong. */
static ssize_t write_packed(struct zc_client *c, uint64_t handle, const char *data,
                            const struct zc_range *r, uint32_t n, uint64_t off, char *buf)
{
    struct zc_view_builder *b;
    struct zc_view *v;
    struct zc_io io = {.write = true, .handle = handle, .buf = buf, .disp = (int64_t)off};
    size_t total = 0;
    ssize_t rc;

    rc = zc_view_builder_create(&b);
    if (rc < 0)
        return rc;
    ZC_RACY_READ_BEGIN(); /* writers may be at work on the same page */
    for (uint32_t i = 0; i < n; i++) {
        size_t len = r[i].hi - r[i].lo;

        zc_view_add(b, r[i].lo, (int64_t)len); /* an error stays */
        memcpy(buf + total, data + r[i].lo, len);
        total += len;
    }
    ZC_RACY_READ_END();
    rc = zc_view_finish(b, r[n - 1].hi, &v);
    if (rc < 0)
        return rc;
    io.view = v;
    io.len = total;
    zc_io_start(c, &io);
    rc = zc_io_wait(c, &io);
    zc_view_put(v);
    if (rc >= 0 && (size_t)rc != total)
        rc = zc_errorf(EIO, "%s took %zd of %zu bytes in pieces at offset %llu", zc_client_label(c),
                       rc, total, (unsigned long long)off);
    return rc;
}

static ssize_t remote_write_ranges(struct zc_sfile *sf, const char *data, const struct zc_range *r,
                                   uint32_t n, uint64_t off)
{
    struct rfile *f = rfile_of(sf);
    uint64_t first = zc_place_block(&f->place, off + r[0].lo);
    uint32_t d = zc_place_daemon(&f->place, first);
    char *buf;
    ssize_t rc;

    if (f->place.daemons > 1 && zc_place_block(&f->place, off + r[n - 1].hi - 1) != first)
        return -EOPNOTSUPP;
    buf = malloc(r[n - 1].hi - r[0].lo);
    if (!buf)
        return -EOPNOTSUPP;
    rc = write_packed(remote_of(sf->store)->clients[d], f->handles[d], data, r, n, off, buf);
    free(buf);
    return rc;
}

/* ---- names ---- */

static int remote_unlink(struct zc_store *s, const char *path)
{
    /* One daemon unlinks.  Asking the others too could hit a new file of that name; what
     * they have cached belongs to an inode without a name and comes back to nobody. */
    return zc_client_unlink(remote_of(s)->clients[0], path);
}

static int remote_stat(struct zc_store *s, const char *path, struct zc_attr *attr)
{
    struct remote *r = remote_of(s);
    int rc = zc_client_stat(r->clients[0], path, attr);

    for (uint32_t i = 1; rc == 0 && i < r->n; i++) {
        struct zc_attr other;

        rc = zc_client_stat(r->clients[i], path, &other);
        if (rc == 0 && other.size > attr->size)
            attr->size = other.size;
    }
    return rc;
}

static int remote_ping(struct zc_store *s)
{
    struct remote *r = remote_of(s);
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < r->n; i++)
        rc = zc_client_ping(r->clients[i]);
    return rc;
}

static void remote_destroy(struct zc_store *s)
{
    struct remote *r = remote_of(s);

    for (uint32_t i = 0; i < r->n; i++)
        if (r->clients[i])
            zc_client_disconnect(r->clients[i]);
    if (r->net)
        zc_net_destroy(r->net);
    free(r);
}

static const struct zc_store_ops remote_ops = {
    .name = "remote",
    .open = remote_open,
    .close = remote_close,
    .preadv = remote_preadv,
    .pwritev = remote_pwritev,
    .write_ranges = remote_write_ranges,
    .getattr = remote_getattr,
    .truncate = remote_truncate,
    .allocate = remote_allocate,
    .sync = remote_sync,
    .backlog = remote_backlog,
    .unlink = remote_unlink,
    .stat = remote_stat,
    .ping = remote_ping,
    .destroy = remote_destroy,
};

/* ---- connecting ---- */

static struct remote *remote_new(uint32_t n)
{
    struct remote *r = calloc(1, sizeof *r + n * sizeof r->clients[0]);

    if (r) {
        r->store.ops = &remote_ops;
        r->store.servers = n;
        r->n = n;
    }
    return r;
}

int zc_store_remote_over(struct zc_net *net, struct zc_client **clients, uint32_t n,
                         struct zc_store **out)
{
    struct remote *r = remote_new(n);

    if (!r) {
        for (uint32_t i = 0; i < n; i++)
            zc_client_disconnect(clients[i]);
        zc_net_destroy(net);
        return zc_errorf(ENOMEM, "no memory for a store");
    }
    memcpy(r->clients, clients, n * sizeof *clients);
    r->net = net;
    *out = &r->store;
    return 0;
}

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
    return zc_client_connect(r->net, addr, len, label, &r->clients[i]);
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
    r = remote_new((uint32_t)n);
    if (!r)
        rc = zc_errorf(ENOMEM, "no memory for a store");
    if (rc == 0)
        rc = no_daemon(connect_all(r, paths, cfg));
    free(paths);
    if (rc) {
        char text[400];

        snprintf(text, sizeof text, "%s", zc_error_text(rc));
        if (r)
            remote_destroy(&r->store);
        return zc_errorf(-rc, "%s", text);
    }
    *out = &r->store;
    return 0;
}
