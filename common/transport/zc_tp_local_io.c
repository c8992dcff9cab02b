/* zc_tp_local_io.c - packets and copies between processes of one host, and progress. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "zc_fd.h"
#include "zc_log.h"
#include "zc_process.h"
#include "zc_tp_local_internal.h"

enum {
    ERRNO_MOST = 4095, /* MAX_ERRNO of Linux */
    EVENTS = 16,       /* handled in a round */
    PACKETS = 16,      /* taken from one connection in a round */
    COMPLAIN_EVERY_S = 60,
};

/* ---- sending ---- */

/* Stops reading from a peer that asks for copies and does not take the answers, until it does. */
static void watch_room(struct local *l, struct conn *c, bool on)
{
    struct epoll_event e = {.events = on ? EPOLLOUT : EPOLLIN, .data.ptr = c};

    if (c->kind != CONN_IN)
        e.events |= EPOLLIN;

    epoll_ctl(l->epoll, EPOLL_CTL_MOD, c->fd, &e);
}

static int enqueue(struct local *l, struct conn *c, const struct iovec *iov, struct zc_op *op)
{
    struct queued *q = malloc(sizeof *q + iov[0].iov_len + iov[1].iov_len);

    if (!q)
        return zc_errorf(ENOMEM, "no memory for a message");
    q->op = op;
    q->len = iov[0].iov_len + iov[1].iov_len;
    memcpy(q->data, iov[0].iov_base, iov[0].iov_len);
    if (iov[1].iov_len)
        memcpy(q->data + iov[0].iov_len, iov[1].iov_base, iov[1].iov_len);
    if (zc_list_empty(&c->queue))
        watch_room(l, c, true);
    zc_list_add_tail(&c->queue, &q->link);
    c->queued += sizeof *q + q->len;
    return 0;
}

void zc_tp_local_drop(struct conn *c, struct queued *q)
{
    c->queued -= sizeof *q + q->len;
    zc_list_del(&q->link);
    free(q);
}

size_t zc_tp_local_backlog(struct zc_tp *tp, zc_peer peer)
{
    struct local *l = local_of(tp);
    size_t bytes;

    zc_lock_get(&l->lock);
    bytes = conn_of(peer)->queued;
    zc_lock_put(&l->lock);
    return bytes;
}

static bool no_room(int err)
{
    return err == EAGAIN || err == EWOULDBLOCK || err == ENOBUFS || err == ENOMEM || err == EINTR;
}

int zc_tp_local_put(struct local *l, struct conn *c, const void *head, size_t head_len,
                    const void *body, size_t body_len, struct zc_op *op)
{
    struct iovec iov[2] = {{(void *)head, head_len}, {(void *)body, body_len}};
    struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 2};

    zc_assert_held(&l->lock);
    if (c->broken)
        return zc_errorf(ECONNRESET, "the process at the other end is gone");
    if (!zc_list_empty(&c->queue))
        return enqueue(l, c, iov, op);
    if (sendmsg(c->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
        return 0;
    if (no_room(errno))
        return enqueue(l, c, iov, op);
    return zc_errorf(ECONNRESET, "cannot send to the process at the other end: %s",
                     strerror(errno));
}

static void send_queue(struct local *l, struct conn *c)
{
    zc_lock_get(&l->lock);
    while (!zc_list_empty(&c->queue)) {
        struct queued *q = zc_list_entry(c->queue.next, struct queued, link);

        if (send(c->fd, q->data, q->len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
            break; /* no room, or an end that the next receive finds */
        zc_tp_local_drop(c, q);
    }
    if (zc_list_empty(&c->queue) && !c->broken)
        watch_room(l, c, false);
    zc_lock_put(&l->lock);
}

int zc_tp_local_send(struct zc_tp *tp, zc_peer peer, const void *msg, size_t len)
{
    struct local *l = local_of(tp);
    struct packet_head head = {.kind = PACKET_MESSAGE};
    int rc;

    if (len > l->cfg.max_msg)
        return zc_errorf(EMSGSIZE, "message of %zu bytes, limit %zu", len, l->cfg.max_msg);
    zc_lock_get(&l->lock);
    rc = zc_tp_local_put(l, conn_of(peer), &head, sizeof head, msg, len, NULL);
    zc_lock_put(&l->lock);
    return rc;
}

int zc_tp_local_rma(struct zc_tp *tp, zc_peer peer, enum zc_rma_dir dir, struct zc_op *op)
{
    struct local *l = local_of(tp);
    struct conn *c = conn_of(peer);
    struct packet_move m = {.head.kind = PACKET_MOVE,
                            .dir = dir,
                            .local = (uintptr_t)op->local,
                            .len = op->len,
                            .raddr = op->raddr,
                            .rkey = op->rkey};
    int rc;

    op->post.peer = peer;
    zc_lock_get(&l->lock);
    m.head.id = ++l->next_id;
    *local_progress(op) = (struct local_progress){.id = m.head.id, .dir = dir};
    zc_list_add_tail(&c->ops, &op->post.link);
    rc =
        c->carries ? zc_tp_local_carry(l, c, op) : zc_tp_local_put(l, c, &m, sizeof m, NULL, 0, op);
    if (rc)
        zc_list_del(&op->post.link);
    zc_lock_put(&l->lock);
    return rc;
}

/* ---- the other end's memory ---- */

static pid_t thread_of(const struct conn *c)
{
    return __atomic_load_n(&c->thread, __ATOMIC_RELAXED);
}

/* The thread that stands for the process at the other end has ended.  Takes another; false: there
 * is none. */
static bool next_thread(struct conn *c)
{
    long thread = zc_process_thread(c->pid);

    if (thread <= 0 || thread == thread_of(c))
        return false;
    __atomic_store_n(&c->thread, (pid_t)thread, __ATOMIC_RELAXED);
    return true;
}

int zc_tp_local_peek(struct zc_tp *tp, zc_peer peer, const struct zc_peek *v, unsigned n)
{
    struct iovec here[ZC_PEEKS], there[ZC_PEEKS];
    struct conn *c = conn_of(peer);
    size_t len = 0;
    ssize_t got;
    int err;

    (void)tp;
    if (n > ZC_PEEKS)
        return -EINVAL;
    for (unsigned i = 0; i < n; i++) {
        here[i] = (struct iovec){v[i].here, v[i].len};
        there[i] = (struct iovec){(void *)(uintptr_t)v[i].there, v[i].len};
        len += v[i].len;
    }
    do {
        got = process_vm_readv(thread_of(c), here, n, there, n, 0);
        err = got < 0 ? errno : 0;
    } while (err == ESRCH && next_thread(c));
    return err ? -err : (size_t)got == len ? 0 : -EFAULT;
}

/* Opens the descriptor through /proc, which the kernel allows to processes that may read the peer's
 * memory. */
int zc_tp_local_map(struct zc_tp *tp, zc_peer peer, int fd, size_t len, bool write, void **out)
{
    char path[64];
    struct stat st;
    int mine, seals, err, rc = 0;
    void *at;

    (void)tp;
    do {
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)thread_of(conn_of(peer)), fd);
        /* O_NONBLOCK: does not wait for the other end if it is a pipe. */
        mine = zc_fd(open(path, (write ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
        err = mine < 0 ? errno : 0;
    } while (err == ENOENT && next_thread(conn_of(peer)));
    if (mine < 0)
        return zc_errorf(err, "%s: %s", path, strerror(err));
    seals = fcntl(mine, F_GET_SEALS);
    if (fstat(mine, &st) || (size_t)st.st_size < len || seals < 0 || !(seals & F_SEAL_SHRINK)) {
        rc = zc_errorf(EPROTO, "%s is no memory of %zu bytes that stays", path, len);
    } else {
        at = mmap(NULL, len, PROT_READ | (write ? PROT_WRITE : 0), MAP_SHARED, mine, 0);
        if (at == MAP_FAILED)
            rc = zc_errorf(errno, "%s: %s", path, strerror(errno));
        else
            *out = at;
    }
    close(mine);
    return rc;
}

/* ---- copies, for a peer that asks ---- */

static bool is_gone(const struct conn *c)
{
    struct pollfd p = {.fd = c->fd, .events = POLLRDHUP};

    return poll(&p, 1, 0) > 0;
}

int zc_tp_local_copy(pid_t thread, enum zc_rma_dir dir, void *here, uint64_t there, size_t len)
{
    while (len) {
        struct iovec mine = {here, len}, his = {(void *)(uintptr_t)there, len};
        ssize_t n = dir == ZC_RMA_PULL ? process_vm_writev(thread, &mine, 1, &his, 1, 0)
                                       : process_vm_readv(thread, &mine, 1, &his, 1, 0);

        if (n <= 0)
            return n ? -errno : -EFAULT;
        here = (char *)here + n;
        there += (uint64_t)n;
        len -= (size_t)n;
    }
    return 0;
}

/* Copies for the asker, whose thread may have ended since. */
static int copy_for(struct conn *c, const struct packet_move *m)
{
    int rc;

    do {
        rc = is_gone(c) ? -ECANCELED
                        : zc_tp_local_copy(thread_of(c), (enum zc_rma_dir)m->dir,
                                           (void *)(uintptr_t)m->raddr, m->local, m->len);
    } while (rc == -ESRCH && next_thread(c));
    return rc == -ESRCH ? -EPERM : rc; /* its memory cannot be reached: the asker carries */
}

/* False: the asker cannot be told; it is gone, or there is no memory. */
static bool move(struct local *l, struct conn *c, const struct packet_move *m)
{
    struct packet_head answer = {.kind = PACKET_MOVED, .status = -EACCES, .id = m->head.id};
    struct registration *r = zc_tp_local_granted(l, m->raddr, m->len, m->rkey);
    int rc;

    if (r) {
        answer.status = copy_for(c, m);
        zc_tp_local_granted_put(l, r);
    }
    if (answer.status)
        zc_debug("copy for process %ld failed: %s", (long)c->pid, strerror(-answer.status));
    zc_lock_get(&l->lock);
    rc = zc_tp_local_put(l, c, &answer, sizeof answer, NULL, 0, NULL);
    zc_lock_put(&l->lock);
    return rc == 0;
}

/* ---- receiving ---- */

/* Nothing more comes from the other end, and nothing gets there. */
static void lost(struct local *l, struct conn *c)
{
    zc_peer peer = (uintptr_t)c;
    bool tell;

    zc_lock_get(&l->lock);
    tell = c->kind == CONN_OUT && !c->removed;
    while (!zc_list_empty(&c->ops))
        zc_tp_local_op_over(l, zc_list_entry(c->ops.next, struct zc_op, post.link),
                            c->removed ? -ECANCELED : -ECONNRESET);
    if (tell)
        zc_tp_local_conn_close(l, c); /* its user still has to remove it */
    else
        zc_tp_local_conn_bury(l, c);
    zc_lock_put(&l->lock);
    if (tell && l->cfg.peer_error)
        l->cfg.peer_error(l->cfg.arg, peer, -ECONNRESET);
}

/* The peer has answered.  One that may not reach our memory takes, or gives, the bytes. */
static void over(struct local *l, struct conn *c, struct zc_op *op, int status)
{
    if (status == -EPERM && !c->removed) {
        if (!c->carries)
            zc_info("process %ld may not reach this one's memory any more: data goes by messages",
                    (long)c->pid);
        c->carries = true;
        status = zc_tp_local_carry(l, c, op);
        if (status == 0)
            return;
    }
    zc_tp_local_op_over(l, op, c->removed && status ? -ECANCELED : status);
}

/* False: the message is invalid: the status has to be 0 or a negative errno, of an operation that
 * is under way here and not moved by CARRY. */
static bool moved(struct local *l, struct conn *c, const struct packet_head *h)
{
    bool found = false;

    if (h->status > 0 || h->status < -ERRNO_MOST)
        return false;
    zc_lock_get(&l->lock);
    zc_list_each_safe (&c->ops, n) {
        struct zc_op *op = zc_list_entry(n, struct zc_op, post.link);

        if (local_progress(op)->id == h->id && !local_progress(op)->carried) {
            over(l, c, op, h->status);
            found = true;
            break;
        }
    }
    if (found && c->removed && zc_list_empty(&c->ops))
        zc_tp_local_conn_bury(l, c);
    zc_lock_put(&l->lock);
    return found;
}

/* False: no packet of ours. */
static bool take(struct local *l, struct conn *c, size_t len)
{
    struct packet_head head;
    struct packet_move m;
    int rc;

    if (len < sizeof head)
        return false;
    memcpy(&head, l->in, sizeof head);
    if (head.kind == PACKET_MESSAGE && c->kind == CONN_IN) {
        l->cfg.recv(l->cfg.arg, l->in + sizeof head, len - sizeof head);
    } else if (head.kind == PACKET_MOVE && c->kind == CONN_IN && len == sizeof m) {
        memcpy(&m, l->in, sizeof m);
        if (!move(l, c, &m))
            lost(l, c);
    } else if (head.kind == PACKET_MOVED && c->kind == CONN_OUT && len == sizeof head) {
        return moved(l, c, &head);
    } else if (head.kind == PACKET_CARRY && c->kind == CONN_IN) {
        rc = zc_tp_local_carry_asked(l, c, len);
        if (rc && rc != -EPROTO)
            lost(l, c);
        return rc != -EPROTO;
    } else if (head.kind == PACKET_CARRIED && c->kind == CONN_OUT) {
        return zc_tp_local_carried(l, c, &head, len);
    } else {
        return false;
    }
    return true;
}

static int receive(struct local *l, struct conn *c)
{
    size_t room = sizeof(struct packet_head) + l->cfg.max_msg;

    for (int i = 0; i < PACKETS && c->fd >= 0; i++) {
        ssize_t n = recv(c->fd, l->in, room, MSG_DONTWAIT | MSG_TRUNC);

        if (n < 0 && no_room(errno))
            return i;
        if (n <= 0 || (size_t)n > room || !take(l, c, (size_t)n)) {
            if (n > 0)
                zc_warn("connection of process %ld ended: it sent rubbish", (long)c->pid);
            lost(l, c);
            return i + 1;
        }
    }
    return PACKETS;
}

/* ---- accepting ---- */

/* Counts it; whether it is to be said now. */
static bool complains(struct local_complaint *c)
{
    uint64_t now = zc_now();

    c->count++;
    if (c->said && now - c->said < COMPLAIN_EVERY_S * 1000 * ZC_NS_PER_MS)
        return false;
    c->said = now;
    return true;
}

static void accept_one(struct local *l, int fd)
{
    struct ucred who = {.uid = (uid_t)-1};
    socklen_t len = sizeof who;
    struct conn *c;
    int rc;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) || who.uid != geteuid()) {
        if (complains(&l->strangers))
            zc_warn("connection of another user (uid %ld) refused (%llu so far)", (long)who.uid,
                    (unsigned long long)l->strangers.count);
        close(fd);
        return;
    }
    rc = zc_tp_local_conn_new(l, CONN_IN, fd, &c);
    if (rc)
        zc_warn("connection refused: %s", zc_error_text(rc));
    else
        c->pid = c->thread = who.pid;
}

/* Without descriptors: takes the next one all the same, to close it, as else it would be
 * announced for ever. */
static void turn_away(struct local *l)
{
    int fd;

    if (complains(&l->no_descriptors))
        zc_warn("connection refused: %s (ulimit -n; %llu so far)", strerror(errno),
                (unsigned long long)l->no_descriptors.count);
    if (l->spare < 0 || close(l->spare))
        zc_clock_sleep(10 * ZC_NS_PER_MS); /* not even that: at least not in a hot loop */
    fd = zc_fd(accept(l->listener.fd, NULL, NULL));
    if (fd >= 0)
        close(fd);
    l->spare = zc_fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
}

static void accept_all(struct local *l)
{
    for (int i = 0; i < PACKETS; i++) {
        int fd = zc_fd(accept4(l->listener.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC));

        if (fd >= 0)
            accept_one(l, fd);
        else if (errno == EMFILE || errno == ENFILE) {
            turn_away(l);
            return;
        } else
            return;
    }
}

/* ---- progress ---- */

static int report_done(struct local *l)
{
    int count = 0;

    for (;;) {
        struct zc_list *n;
        struct zc_op *op;

        zc_lock_get(&l->lock);
        n = zc_list_pop(&l->done);
        zc_lock_put(&l->lock);
        if (!n)
            return count;
        op = zc_list_entry(n, struct zc_op, post.link);
        op->done(op, op->post.kind);
        count++;
    }
}

static void free_gone(struct local *l)
{
    struct zc_list *n;

    zc_lock_get(&l->lock);
    while ((n = zc_list_pop(&l->gone)))
        free(zc_list_entry(n, struct conn, link));
    zc_lock_put(&l->lock);
}

static int handle(struct local *l, const struct epoll_event *e)
{
    struct conn *c = e->data.ptr;
    uint64_t count;
    ssize_t rc;

    switch (c->kind) {
    case CONN_WAKE:
        rc = read(c->fd, &count, sizeof count);
        (void)rc;
        return 0;
    case CONN_LISTEN:
        accept_all(l);
        return 1;
    default:
        if (c->fd >= 0 && e->events & EPOLLOUT)
            send_queue(l, c);
        return c->fd >= 0 && e->events & ~(uint32_t)EPOLLOUT ? receive(l, c) : 1;
    }
}

/* epoll_wait(), by the clock of zc_clock.h. */
static int wait_events(struct local *l, struct epoll_event *e, int timeout_ms)
{
    struct pollfd p = {.fd = l->epoll, .events = POLLIN};

    if (zc_clock && timeout_ms) {
        zc_clock_poll(&p, 1, (uint64_t)timeout_ms * ZC_NS_PER_MS);
        timeout_ms = 0;
    }
    return epoll_wait(l->epoll, e, EVENTS, timeout_ms);
}

/* One round; > 0: so much was handled, 0: nothing, < 0: a wake() and nothing else. */
static int look(struct local *l, int timeout_ms)
{
    struct epoll_event e[EVENTS];
    bool woken = false;
    int n, handled;

    free_gone(l);
    handled = report_done(l);
    n = wait_events(l, e, handled ? 0 : timeout_ms);
    for (int i = 0; i < n; i++) {
        woken = woken || ((struct conn *)e[i].data.ptr)->kind == CONN_WAKE;
        handled += handle(l, &e[i]);
    }
    handled += report_done(l);
    return handled ? handled : woken ? -1 : 0;
}

int zc_tp_local_progress(struct zc_tp *tp, int timeout_ms)
{
    struct local *l = local_of(tp);
    bool looks = zc_adaptive_poll_checks(&l->spin);
    uint64_t began, now, until;
    int n = look(l, 0);

    if (n != 0 || timeout_ms == 0)
        return n > 0 ? n : 0;
    began = now = zc_now();
    until = began + (uint64_t)timeout_ms * ZC_NS_PER_MS;
    while (n == 0 && now < until) {
        if (looks && now - began >= ZC_POLL_NS) {
            looks = false;
            zc_adaptive_poll_checked(&l->spin, false);
        }
        if (looks)
            sched_yield();
        n = look(l, looks ? 0 : (int)((until - now) / ZC_NS_PER_MS) + 1);
        now = zc_now();
    }
    if (n > 0 && looks)
        zc_adaptive_poll_checked(&l->spin, true);
    else if (n > 0)
        zc_adaptive_poll_slept(&l->spin, now - began);
    return n > 0 ? n : 0;
}

void zc_tp_local_wake(struct zc_tp *tp)
{
    uint64_t one = 1;
    ssize_t rc = write(local_of(tp)->wake.fd, &one, sizeof one);

    (void)rc; /* full: a wake is on its way already */
}
