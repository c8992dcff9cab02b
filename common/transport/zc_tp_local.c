/* zc_tp_local.c - the transport between processes of one host: endpoints, peers, memory. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "zc_fd.h"
#include "zc_log.h"
#include "zc_tp_local_internal.h"

enum { CONNECT_S = 10 }; /* seconds to wait for a listener whose queue is full */

static const char magic[8] = "zcloca2";

/* ---- connections ---- */

int zc_tp_local_conn_new(struct local *l, enum conn_kind kind, int fd, struct conn **out)
{
    struct conn *c = calloc(1, sizeof *c);
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};

    if (!c) {
        close(fd);
        return zc_errorf(ENOMEM, "no memory for a connection");
    }
    c->kind = kind;
    c->fd = fd;
    zc_list_init(&c->queue);
    zc_list_init(&c->ops);
    zc_lock_get(&l->lock);
    zc_list_add_tail(&l->conns, &c->link);
    zc_lock_put(&l->lock);
    if (out)
        *out = c;
    if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &e)) {
        int err = errno;

        zc_lock_get(&l->lock);
        zc_tp_local_conn_bury(l, c);
        zc_lock_put(&l->lock);
        return zc_errorf(err, "cannot watch a connection: %s", strerror(err));
    }
    return 0;
}

void zc_tp_local_conn_close(struct local *l, struct conn *c)
{
    zc_assert_held(&l->lock);
    c->broken = true;
    if (c->fd >= 0) { /* a child of fork() may have it, too: closing alone ends nothing */
        epoll_ctl(l->epoll, EPOLL_CTL_DEL, c->fd, NULL);
        shutdown(c->fd, SHUT_RDWR);
        close(c->fd);
    }
    c->fd = -1;
    while (!zc_list_empty(&c->queue))
        zc_tp_local_drop(c, zc_list_entry(c->queue.next, struct queued, link));
}

void zc_tp_local_conn_bury(struct local *l, struct conn *c)
{
    zc_tp_local_conn_close(l, c);
    zc_list_del(&c->link);
    zc_list_add_tail(&l->gone, &c->link);
}

void zc_tp_local_op_over(struct local *l, struct zc_op *op, int status)
{
    zc_assert_held(&l->lock);
    zc_list_del(&op->post.link);
    op->post.kind = status;
    zc_list_add_tail(&l->done, &op->post.link);
}

/* ---- peers ---- */

static int address(struct zc_tp *tp, void *buf, size_t *len)
{
    if (*len < sizeof(struct local_address))
        return zc_errorf(ENOSPC, "address needs %zu bytes", sizeof(struct local_address));
    memcpy(buf, &local_of(tp)->address, sizeof(struct local_address));
    *len = sizeof(struct local_address);
    return 0;
}

int zc_tp_local_fd(struct zc_tp *tp)
{
    return local_of(tp)->epoll;
}

bool zc_tp_local_is_address(const void *addr, size_t len)
{
    return len == sizeof(struct local_address) && !memcmp(addr, magic, sizeof magic);
}

/* Whether it is an address whose probe passes `test`. */
static bool has_record(const void *addr, size_t len,
                       bool (*test)(const struct zc_tp_local_probe *probe))
{
    struct local_address a;

    if (!zc_tp_local_is_address(addr, len))
        return false;
    memcpy(&a, addr, sizeof a);
    return test(&a.probe);
}

bool zc_tp_local_can_reach(const void *addr, size_t len)
{
    return has_record(addr, len, zc_tp_local_reaches);
}

bool zc_tp_local_is_over(const void *addr, size_t len)
{
    return has_record(addr, len, zc_tp_local_has_ended);
}

bool zc_tp_local_same_network(const void *addr, size_t len)
{
    return has_record(addr, len, zc_tp_local_in_network);
}

/* A name that begins with NUL is no file: it is gone with the socket, and belongs to the
 * network namespace. */
static socklen_t socket_name(const struct local_address *a, struct sockaddr_un *out)
{
    int n = snprintf(out->sun_path + 1, sizeof out->sun_path - 1, "zcache-");

    out->sun_family = AF_UNIX;
    out->sun_path[0] = 0;
    for (int i = 0; i < LOCAL_NAME; i++)
        n += snprintf(out->sun_path + 1 + n, sizeof out->sun_path - 1 - (size_t)n, "%02x",
                      a->name[i]);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static int connect_to(const struct local_address *a, bool hurried, int *out)
{
    struct timeval patience = {.tv_sec = CONNECT_S};
    struct sockaddr_un name;
    socklen_t len = socket_name(a, &name);
    int fd =
        zc_fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | (hurried ? SOCK_NONBLOCK : 0), 0));
    int rc;

    if (fd < 0)
        return zc_errorf(errno, "cannot make a socket: %s", strerror(errno));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    do
        rc = connect(fd, (struct sockaddr *)&name, len);
    while (rc && errno == EINTR);
    if (rc) {
        rc = zc_errorf(errno, "cannot connect to a process of this host: %s",
                       errno == ECONNREFUSED ? "it is gone" : strerror(errno));
        close(fd);
        return rc;
    }
    fcntl(fd, F_SETFL, O_NONBLOCK);
    *out = fd;
    return 0;
}

int zc_tp_local_listens(const void *addr, size_t len)
{
    struct local_address a;
    struct sockaddr_un name;
    int fd, rc;

    if (!zc_tp_local_same_network(addr, len))
        return -EXDEV;
    memcpy(&a, addr, sizeof a);
    fd = zc_fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd < 0)
        return -errno;
    len = socket_name(&a, &name);
    rc = connect(fd, (struct sockaddr *)&name, (socklen_t)len) ? -errno : 1;
    close(fd);
    return rc == -ECONNREFUSED ? 0 : rc == -EAGAIN ? 1 : rc; /* EAGAIN: its queue is full */
}

static int peer_add(struct zc_tp *tp, const void *addr, size_t len, zc_peer *out)
{
    struct local_address a;
    struct conn *c;
    int fd = -1, rc;

    if (!zc_tp_local_is_address(addr, len))
        return zc_errorf(EINVAL, "an address of %zu bytes is none of a process of this host", len);
    memcpy(&a, addr, sizeof a);
    rc = connect_to(&a, local_of(tp)->cfg.hurried, &fd);
    if (rc == 0)
        rc = zc_tp_local_conn_new(local_of(tp), CONN_OUT, fd, &c);
    if (rc)
        return rc;
    c->pid = c->thread = (pid_t)a.probe.pid;
    *out = (uintptr_t)c;
    return 0;
}

static bool is_local(struct zc_tp *tp, zc_peer peer)
{
    (void)tp;
    (void)peer;
    return true;
}

/* Operations that the peer was already asked for may be under way there: they stay, and the
 * connection with them. */
static void peer_remove(struct zc_tp *tp, zc_peer peer)
{
    struct local *l = local_of(tp);
    struct conn *c = conn_of(peer);
    bool told;

    zc_lock_get(&l->lock);
    c->removed = true;
    while (!zc_list_empty(&c->queue)) {
        struct queued *q = zc_list_entry(c->queue.next, struct queued, link);

        if (q->op)
            zc_tp_local_op_over(l, q->op, -ECANCELED);
        zc_tp_local_drop(c, q);
    }
    if (c->broken)
        zc_tp_local_conn_bury(l, c);
    else if (zc_list_empty(&c->ops))
        shutdown(c->fd, SHUT_RDWR); /* the thread that reads it closes it */
    told = !zc_list_empty(&l->done);
    zc_lock_put(&l->lock);
    if (told)
        zc_tp_local_wake(tp);
}

/* ---- memory ---- */

static int reg(struct zc_tp *tp, void *buf, size_t len, struct zc_mr *out)
{
    struct local *l = local_of(tp);
    struct registration *r = calloc(1, sizeof *r);

    if (!r)
        return zc_errorf(ENOMEM, "no memory for a registration");
    r->base = buf;
    r->len = len;
    zc_lock_get(&l->lock);
    r->key = l->next_key++;
    zc_list_init(&r->link);
    if (!l->cfg.hidden)
        zc_list_add_tail(&l->mrs, &r->link);
    zc_lock_put(&l->lock);
    *out = (struct zc_mr){.desc = r, .raddr = (uintptr_t)buf, .rkey = r->key, .priv = r};
    return 0;
}

/* Waits for a copy under way, which no peer can hold up. */
static void dereg(struct zc_tp *tp, struct zc_mr *mr)
{
    struct local *l = local_of(tp);
    struct registration *r = mr->priv;

    zc_lock_get(&l->lock);
    zc_list_del(&r->link);
    while (r->busy)
        zc_cond_wait(&l->idle, &l->lock);
    zc_lock_put(&l->lock);
    free(r);
    mr->priv = NULL;
}

struct registration *zc_tp_local_granted(struct local *l, uint64_t raddr, uint64_t len,
                                         uint64_t key)
{
    struct registration *found = NULL;

    zc_lock_get(&l->lock);
    zc_list_each (&l->mrs, n) {
        struct registration *r = zc_list_entry(n, struct registration, link);
        uint64_t base = (uintptr_t)r->base;

        if (r->key == key && raddr >= base && raddr - base <= r->len &&
            len <= r->len - (raddr - base))
            found = r;
    }
    if (found)
        found->busy++;
    zc_lock_put(&l->lock);
    return found;
}

void zc_tp_local_granted_put(struct local *l, struct registration *r)
{
    zc_lock_get(&l->lock);
    if (--r->busy == 0)
        pthread_cond_broadcast(&l->idle);
    zc_lock_put(&l->lock);
}

/* ---- open and close ---- */

static void free_list(struct zc_list *conns)
{
    struct zc_list *n;

    while ((n = zc_list_pop(conns)))
        free(zc_list_entry(n, struct conn, link));
}

static void local_close(struct zc_tp *tp)
{
    struct local *l = local_of(tp);
    struct zc_list *n;

    if (l->listener.fd >= 0)
        shutdown(l->listener.fd, SHUT_RDWR);
    zc_lock_get(&l->lock);
    while (!zc_list_empty(&l->conns)) {
        struct conn *c = zc_list_entry(l->conns.next, struct conn, link);

        while (!zc_list_empty(&c->ops))
            zc_tp_local_op_over(l, zc_list_entry(c->ops.next, struct zc_op, post.link), -ECANCELED);
        zc_tp_local_conn_bury(l, c);
    }
    zc_lock_put(&l->lock);
    while ((n = zc_list_pop(&l->done))) {
        struct zc_op *op = zc_list_entry(n, struct zc_op, post.link);

        op->done(op, op->post.kind);
    }
    free_list(&l->gone);
    while ((n = zc_list_pop(&l->mrs)))
        free(zc_list_entry(n, struct registration, link));
    for (int *fd = (int[]){l->listener.fd, l->wake.fd, l->spare, l->epoll, -2}; *fd != -2; fd++)
        if (*fd >= 0)
            close(*fd);
    pthread_cond_destroy(&l->idle);
    zc_lock_destroy(&l->lock);
    free(l->in);
    free(l);
}

static const struct zc_tp_ops local_ops = {
    .name = "local",
    .close = local_close,
    .address = address,
    .peer_add = peer_add,
    .peer_remove = peer_remove,
    .is_local = is_local,
    .send = zc_tp_local_send,
    .backlog = zc_tp_local_backlog,
    .reg = reg,
    .dereg = dereg,
    .rma = zc_tp_local_rma,
    .peek = zc_tp_local_peek,
    .map = zc_tp_local_map,
    .progress = zc_tp_local_progress,
    .wake = zc_tp_local_wake,
};

static int watch(struct local *l, struct conn *c, enum conn_kind kind)
{
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};

    c->kind = kind;
    return epoll_ctl(l->epoll, EPOLL_CTL_ADD, c->fd, &e);
}

static int listen_here(struct local *l)
{
    struct sockaddr_un name;
    socklen_t len;

    memcpy(l->address.magic, magic, sizeof magic);
    if (getrandom(l->address.name, LOCAL_NAME, 0) != LOCAL_NAME)
        return -1;
    len = socket_name(&l->address, &name);
    l->listener.fd = zc_fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    return l->listener.fd < 0 || bind(l->listener.fd, (struct sockaddr *)&name, len) ||
                   listen(l->listener.fd, SOMAXCONN)
               ? -1
               : 0;
}

/* The system calls of an open, each of which may fail. */
static int set_up(struct local *l)
{
    l->epoll = zc_fd(epoll_create1(EPOLL_CLOEXEC));
    l->wake.fd = zc_fd(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
    l->spare = zc_fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (l->epoll < 0 || l->wake.fd < 0 || l->spare < 0 || listen_here(l) ||
        watch(l, &l->wake, CONN_WAKE) || watch(l, &l->listener, CONN_LISTEN))
        return zc_errorf(errno, "cannot open an endpoint: %s", strerror(errno));
    return 0;
}

int zc_tp_local_open(const struct zc_tp_config *cfg, struct zc_tp **out)
{
    struct local *l = calloc(1, sizeof *l);
    int rc;

    if (!l)
        return zc_errorf(ENOMEM, "no memory for an endpoint");
    l->tp.ops = &local_ops;
    l->cfg = *cfg;
    zc_adaptive_poll_init(&l->spin, (int)sysconf(_SC_NPROCESSORS_ONLN));
    l->epoll = l->wake.fd = l->listener.fd = l->spare = -1;
    zc_lock_init(&l->lock, ZC_ORDER_TRANSPORT);
    zc_cond_init(&l->idle);
    zc_list_init(&l->conns);
    zc_list_init(&l->gone);
    zc_list_init(&l->done);
    zc_list_init(&l->mrs);
    l->in = malloc(sizeof(struct packet_head) + cfg->max_msg);
    rc = l->in ? zc_tp_local_probe(&l->address.probe)
               : zc_errorf(ENOMEM, "no memory for an endpoint");
    if (rc == 0)
        rc = set_up(l);
    if (rc) {
        local_close(&l->tp);
        return rc;
    }
    memcpy(&l->next_key, l->address.probe.nonce,
           sizeof l->next_key); /* differs between processes */
    *out = &l->tp;
    return 0;
}
