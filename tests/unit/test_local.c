/* test_local.c - the transport between processes of one host: by itself, between processes
 * that die and stop, and below client and server.
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rig.h"
#include "zc_tp_local.h"
#include "zc_tp_local_internal.h"

enum { SIZE = 1 << 20, MESSAGE = 4000 };

/* ---- an endpoint and its events ---- */

struct end {
    struct zc_tp *tp;
    unsigned char addr[ZC_MAX_ADDRESS];
    size_t addr_len;
    unsigned received;
    bool in_order;
    unsigned errors;
    int error;
    zc_peer lost;
};

static void on_message(void *arg, const void *msg, size_t len)
{
    struct end *e = arg;
    unsigned number;

    ck_assert_uint_ge(len, sizeof number);
    memcpy(&number, msg, sizeof number);
    e->in_order = e->in_order && number == e->received;
    e->received++;
}

static void on_error(void *arg, zc_peer peer, int err)
{
    struct end *e = arg;

    e->errors++;
    e->error = err;
    e->lost = peer;
}

static void end_up(struct end *e)
{
    struct zc_tp_config cfg = {
        .max_msg = MESSAGE, .nrecv = 4, .recv = on_message, .peer_error = on_error, .arg = e};
    int rc;

    memset(e, 0, sizeof *e);
    e->in_order = true;
    e->addr_len = sizeof e->addr;
    rc = zc_tp_local_open(&cfg, &e->tp);
    ck_assert_msg(rc == 0, "open: %s", zc_error_text(rc));
    ck_assert_int_eq(zc_tp_address(e->tp, e->addr, &e->addr_len), 0);
    ck_assert(zc_tp_local_is_address(e->addr, e->addr_len));
}

static zc_peer know(struct end *e, const struct end *other)
{
    zc_peer p = 0;
    int rc = zc_tp_peer_add(e->tp, other->addr, other->addr_len, &p);

    ck_assert_msg(rc == 0, "peer_add: %s", zc_error_text(rc));
    return p;
}

static void send_number(struct end *e, zc_peer p, unsigned number)
{
    unsigned char msg[MESSAGE] = {0};

    memcpy(msg, &number, sizeof number);
    ck_assert_int_eq(zc_tp_send(e->tp, p, msg, sizeof msg), 0);
}

/* ---- one RMA operation ---- */

struct move {
    struct zc_op op;
    bool over;
    int status;
};

static void on_done(struct zc_op *op, int status)
{
    struct move *m = zc_list_entry(op, struct move, op);

    ck_assert(!m->over);
    m->over = true;
    m->status = status;
}

static int start(struct end *e, zc_peer p, enum zc_rma_dir dir, struct move *m, void *local,
                 size_t len, uint64_t raddr, uint64_t rkey)
{
    memset(m, 0, sizeof *m);
    m->op =
        (struct zc_op){.done = on_done, .local = local, .len = len, .raddr = raddr, .rkey = rkey};
    return zc_tp_rma(e->tp, p, dir, &m->op);
}

static bool filled(const unsigned char *p, size_t n, unsigned gen)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != stamp(i, gen))
            return false;
    return true;
}

/* ---- within this process ---- */

static unsigned char here[SIZE], there[SIZE];
static struct end a, b;

static int transfer(zc_peer p, enum zc_rma_dir dir, size_t len, uint64_t raddr, uint64_t rkey)
{
    struct move m;

    ck_assert_int_eq(start(&a, p, dir, &m, here, len, raddr, rkey), 0);
    WAIT_FOR((zc_tp_progress(b.tp, 0), zc_tp_progress(a.tp, 1), m.over));
    return m.status;
}

START_TEST(messages_arrive_in_order)
{
    zc_peer p, q;

    end_up(&a);
    end_up(&b);
    p = know(&a, &b);
    q = know(&b, &a);
    for (unsigned i = 0; i < 1000; i++) /* far more than a socket holds */
        send_number(&a, p, i);
    send_number(&b, q, 0);
    WAIT_FOR((zc_tp_progress(b.tp, 1), zc_tp_progress(a.tp, 0), b.received == 1000 && a.received));
    ck_assert(b.in_order);
    ck_assert_uint_eq(a.received, 1);
    ck_assert_int_lt(zc_tp_send(a.tp, p, here, MESSAGE + 1), 0);
    zc_tp_close(a.tp);
    zc_tp_close(b.tp);
}
END_TEST

START_TEST(memory_is_reached_while_it_is_registered)
{
    struct zc_mr mr;
    zc_peer p;

    end_up(&a);
    end_up(&b);
    p = know(&a, &b);
    fill(there, SIZE, 0, 1);
    ck_assert_int_eq(zc_tp_reg(b.tp, there, SIZE, &mr), 0);
    ck_assert_int_eq(transfer(p, ZC_RMA_PULL, SIZE, mr.raddr, mr.rkey), 0);
    ck_assert(filled(here, SIZE, 1));
    fill(here, SIZE, 0, 2);
    ck_assert_int_eq(transfer(p, ZC_RMA_PUSH, 5000, mr.raddr + 777, mr.rkey), 0);
    ck_assert(filled(there + 777, 5000, 2));
    ck_assert(filled(there, 777, 1));

    ck_assert_int_eq(transfer(p, ZC_RMA_PUSH, 8, mr.raddr, mr.rkey + 1), -EACCES);
    ck_assert_int_eq(transfer(p, ZC_RMA_PUSH, 8, mr.raddr + SIZE - 7, mr.rkey), -EACCES);
    ck_assert_int_eq(transfer(p, ZC_RMA_PUSH, 8, mr.raddr - 1, mr.rkey), -EACCES);
    zc_tp_dereg(b.tp, &mr);
    ck_assert_int_eq(transfer(p, ZC_RMA_PUSH, 8, (uintptr_t)there, mr.rkey), -EACCES);
    ck_assert(filled(there, 777, 1));
    zc_tp_close(a.tp);
    zc_tp_close(b.tp);
}
END_TEST

START_TEST(a_wake_ends_the_wait)
{
    uint64_t t = zc_now();

    end_up(&a);
    zc_tp_wake(a.tp);
    ck_assert_int_eq(zc_tp_progress(a.tp, 60000), 0);
    ck_assert_uint_lt(zc_now() - t, 50000 * ZC_NS_PER_MS);
    zc_tp_close(a.tp);
}
END_TEST

START_TEST(closing_ends_what_is_under_way)
{
    struct zc_mr mr;
    struct move m;
    zc_peer p;

    end_up(&a);
    end_up(&b);
    p = know(&a, &b);
    ck_assert_int_eq(zc_tp_reg(b.tp, there, SIZE, &mr), 0);
    fill(here, SIZE, 0, 3);
    fill(there, SIZE, 0, 4);
    ck_assert_int_eq(start(&a, p, ZC_RMA_PUSH, &m, here, SIZE, mr.raddr, mr.rkey), 0);
    zc_tp_close(a.tp);
    ck_assert(m.over);
    ck_assert_int_eq(m.status, -ECANCELED);
    while (zc_tp_progress(b.tp, 20)) {
    }
    ck_assert_msg(filled(there, SIZE, 4), "bytes of an endpoint that is closed arrived");
    zc_tp_close(b.tp);
}
END_TEST

/* A child shares our sockets and may live longer. */
START_TEST(a_child_keeps_nothing_alive)
{
    pid_t child;
    struct zc_mr mr;
    struct move m;
    zc_peer p, q;

    end_up(&a);
    end_up(&b);
    p = know(&a, &b);
    q = know(&a, &b);
    send_number(&a, q, 0);
    WAIT_FOR((zc_tp_progress(b.tp, 1), b.received == 1));
    child = fork();
    ck_assert_int_ge(child, 0);
    if (!child) {
        pause();
        _exit(0);
    }
    zc_tp_peer_remove(a.tp, q);
    for (int i = 0; i < 10; i++) {
        zc_tp_progress(a.tp, 1);
        zc_tp_progress(b.tp, 1);
    }
    ck_assert_int_eq(zc_tp_reg(b.tp, there, SIZE, &mr), 0);
    fill(here, SIZE, 0, 3);
    fill(there, SIZE, 0, 4);
    ck_assert_int_eq(start(&a, p, ZC_RMA_PUSH, &m, here, SIZE, mr.raddr, mr.rkey), 0);
    zc_tp_close(a.tp);
    while (zc_tp_progress(b.tp, 20)) {
    }
    ck_assert_msg(filled(there, SIZE, 4), "bytes of an endpoint that is closed arrived");
    ck_assert_int_eq(zc_tp_peer_add(b.tp, a.addr, a.addr_len, &p), -ECONNREFUSED);
    zc_tp_close(b.tp);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}
END_TEST

START_TEST(what_is_no_address_is_refused)
{
    zc_peer p;
    struct end gone;

    end_up(&a);
    end_up(&gone);
    zc_tp_close(gone.tp);
    ck_assert_int_eq(zc_tp_peer_add(a.tp, gone.addr, gone.addr_len, &p), -ECONNREFUSED);
    ck_assert_int_eq(zc_tp_peer_add(a.tp, gone.addr, gone.addr_len - 1, &p), -EINVAL);
    gone.addr[0] ^= 1;
    ck_assert_int_eq(zc_tp_peer_add(a.tp, gone.addr, gone.addr_len, &p), -EINVAL);
    zc_tp_close(a.tp);
}
END_TEST

/* Another process that knows the name. */
START_TEST(rubbish_ends_its_connection_only)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0), n;
    unsigned char rubbish[100] = {0xee};
    zc_peer p;

    end_up(&a);
    end_up(&b);
    p = know(&a, &b);
    n = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "zcache-");
    for (int i = 0; i < LOCAL_NAME; i++)
        n += sprintf(name.sun_path + 1 + n, "%02x", b.addr[8 + i]);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&name,
                             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)),
                     0);
    ck_assert_int_eq(send(fd, rubbish, sizeof rubbish, 0), sizeof rubbish);
    WAIT_FOR((zc_tp_progress(b.tp, 1), recv(fd, rubbish, 1, MSG_DONTWAIT) == 0));
    close(fd);
    send_number(&a, p, 0);
    WAIT_FOR((zc_tp_progress(b.tp, 1), b.received == 1));
    zc_tp_close(a.tp);
    zc_tp_close(b.tp);
}
END_TEST

/* Listens without accepting, with a short queue. */
static int deaf(struct local_address *at, unsigned room)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), n;

    at->name[0]++;
    n = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "zcache-");
    for (int i = 0; i < LOCAL_NAME; i++)
        n += snprintf(name.sun_path + 1 + n, sizeof name.sun_path - 1 - (size_t)n, "%02x",
                      at->name[i]);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&name,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)),
                     0);
    ck_assert_int_eq(listen(fd, (int)room), 0);
    return fd;
}

/* A peer's answer to a MOVE. */
static const struct {
    int32_t status;
    uint32_t kind, id, more; /* `id`: that much above the operation's; bytes too many */
    bool carried;            /* first asks for the bytes by CARRY */
    bool good;
} answers[] = {
    {.kind = PACKET_MOVED, .good = true},
    {.kind = PACKET_MOVED, .status = -EACCES, .good = true},
    {.kind = PACKET_MOVED, .status = 1},
    {.kind = PACKET_MOVED, .status = INT32_MIN},
    {.kind = PACKET_MOVED, .id = 1},
    {.kind = PACKET_MOVED, .more = 4},
    {.kind = PACKET_MOVED, .carried = true},
    {.kind = PACKET_CARRIED, .id = 0},
};

static void answer(int fd, int32_t status, uint32_t kind, uint64_t id, uint32_t more)
{
    struct packet_head h[2] = {{.kind = kind, .status = status, .id = id}};

    ck_assert_int_eq(send(fd, h, sizeof *h + more, 0), (ssize_t)(sizeof *h + more));
}

static void take_packet(int fd, uint32_t kind, struct packet_move *m)
{
    unsigned char buf[2 * MESSAGE];

    ck_assert_int_ge(recv(fd, buf, sizeof buf, 0), (ssize_t)sizeof *m - 8);
    memcpy(m, buf, sizeof *m);
    ck_assert_uint_eq(m->head.kind, kind);
}

/* An invalid answer ends the connection, and is not taken for the result of the operation. */
START_TEST(an_answer_is_looked_at)
{
    struct local_address at;
    struct packet_move packet;
    struct move m;
    unsigned char bytes[64];
    zc_peer p;
    int fd, listener;

    end_up(&a);
    end_up(&b);
    memcpy(&at, b.addr, sizeof at);
    listener = deaf(&at, 4);
    memcpy(b.addr, &at, sizeof at);
    p = know(&a, &b);
    fd = accept(listener, NULL, NULL);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(start(&a, p, ZC_RMA_PULL, &m, bytes, sizeof bytes, 0x1000, 7), 0);
    take_packet(fd, PACKET_MOVE, &packet);
    if (answers[_i].carried) {
        answer(fd, -EPERM, PACKET_MOVED, packet.head.id, 0);
        ck_assert_int_ge(zc_tp_progress(a.tp, 1000), 0);
        take_packet(fd, PACKET_CARRY, &packet);
    }
    answer(fd, answers[_i].status, answers[_i].kind, packet.head.id + answers[_i].id,
           answers[_i].more);
    WAIT_FOR((zc_tp_progress(a.tp, 1), m.over));
    ck_assert_int_eq(m.status, answers[_i].good ? answers[_i].status : -ECONNRESET);
    ck_assert_uint_eq(a.errors, !answers[_i].good);
    zc_tp_peer_remove(a.tp, p);
    close(fd);
    close(listener);
    zc_tp_close(a.tp);
    zc_tp_close(b.tp);
}
END_TEST

/* A server adds its clients in the thread that serves the others. */
START_TEST(a_hurried_call_does_not_wait_for_a_peer)
{
    struct zc_tp_config cfg = {.max_msg = MESSAGE,
                               .nrecv = 4,
                               .recv = on_message,
                               .peer_error = on_error,
                               .hurried = true};
    uint64_t since = zc_now();
    struct local_address nowhere;
    struct zc_tp *tp;
    struct end e;
    zc_peer peer;
    int fd, rc = 0;

    end_up(&e);
    cfg.arg = &e;
    memcpy(&nowhere, e.addr, sizeof nowhere);
    fd = deaf(&nowhere, 2);
    ck_assert_int_eq(zc_tp_local_open(&cfg, &tp), 0);
    for (int i = 0; i < 10 && rc == 0; i++)
        rc = zc_tp_peer_add(tp, &nowhere, sizeof nowhere, &peer);
    ck_assert_int_eq(rc, -EAGAIN);
    ck_assert_uint_lt(zc_now() - since, 5000 * ZC_NS_PER_MS); /* half of the usual wait */
    zc_tp_close(tp);
    close(fd);
    zc_tp_close(e.tp);
}
END_TEST

START_TEST(a_probe_shows_reachable_owners)
{
    struct zc_tp_local_probe probe;

    ck_assert_int_eq(zc_tp_local_probe(&probe), 0);
    ck_assert(zc_tp_local_reaches(&probe));
    probe.nonce[0] ^= 1;
    ck_assert(!zc_tp_local_reaches(&probe));
    probe.nonce[0] ^= 1;
    probe.net_ino++;
    ck_assert(!zc_tp_local_reaches(&probe));
    probe.net_ino--;
    probe.where = 8;
    ck_assert(!zc_tp_local_reaches(&probe));
}
END_TEST

/* ---- with another process ---- */

struct told {
    unsigned char addr[ZC_MAX_ADDRESS];
    size_t addr_len;
    struct zc_mr mr;
};

static pid_t other;
static struct told told;
static int from_other;

/* The other process: exposes memory, drives progress, and writes the number of messages that have
 * arrived after each change. */
static void other_main(int out)
{
    struct told t = {.addr_len = 0};
    unsigned said = 0;

    end_up(&b);
    fill(there, SIZE, 0, 9);
    memcpy(t.addr, b.addr, b.addr_len);
    t.addr_len = b.addr_len;
    zc_tp_reg(b.tp, there, SIZE, &t.mr);
    if (write(out, &t, sizeof t) != sizeof t)
        _exit(1);
    for (;;) {
        zc_tp_progress(b.tp, 1000);
        if (b.received == said)
            continue;
        said = b.in_order ? b.received : ~0u;
        if (write(out, &said, sizeof said) != sizeof said)
            _exit(1);
    }
}

static zc_peer with_other(void)
{
    struct end e;
    int fds[2];

    ck_assert_int_eq(pipe(fds), 0);
    other = fork();
    ck_assert_int_ge(other, 0);
    if (!other)
        other_main(fds[1]);
    close(fds[1]);
    from_other = fds[0];
    ck_assert_int_eq(read(from_other, &told, sizeof told), sizeof told);
    end_up(&a);
    memcpy(e.addr, told.addr, sizeof e.addr);
    e.addr_len = told.addr_len;
    return know(&a, &e);
}

static void end_other(void)
{
    kill(other, SIGKILL);
    ck_assert_int_eq(waitpid(other, NULL, 0), other);
}

START_TEST(memory_of_another_process_is_reached)
{
    zc_peer p = with_other();
    struct move m;

    ck_assert_int_eq(start(&a, p, ZC_RMA_PULL, &m, here, SIZE, told.mr.raddr, told.mr.rkey), 0);
    WAIT_FOR((zc_tp_progress(a.tp, 1), m.over));
    ck_assert_int_eq(m.status, 0);
    ck_assert(filled(here, SIZE, 9));
    end_other();
    zc_tp_close(a.tp);
}
END_TEST

/* Works if the peer is asleep, too; not when it is gone, and not for unmapped addresses. */
START_TEST(a_peer_is_looked_into)
{
    zc_peer p = with_other();
    unsigned char again[100];
    const struct zc_peek v[] = {{here, told.mr.raddr, SIZE}, {again, told.mr.raddr + 5, 100}};
    const struct zc_peek nowhere[] = {v[0], {again, 8, 100}};
    const struct zc_peek many[ZC_PEEKS + 1] = {v[0]};

    kill(other, SIGSTOP);
    memset(here, 0, SIZE);
    ck_assert_int_eq(zc_tp_peek(a.tp, p, v, 2), 0);
    ck_assert(filled(here, SIZE, 9) && !memcmp(again, here + 5, 100));
    ck_assert_int_eq(zc_tp_peek(a.tp, p, nowhere, 2), -EFAULT);
    ck_assert_int_eq(zc_tp_peek(a.tp, p, many, ZC_PEEKS + 1), -EINVAL);
    end_other();
    ck_assert_int_eq(zc_tp_peek(a.tp, p, v, 2), -ESRCH);
    zc_tp_close(a.tp);
}
END_TEST

START_TEST(the_death_of_a_peer_is_noticed)
{
    zc_peer p = with_other();
    struct move m;

    kill(other, SIGSTOP);
    ck_assert_int_eq(start(&a, p, ZC_RMA_PULL, &m, here, SIZE, told.mr.raddr, told.mr.rkey), 0);
    for (int i = 0; i < 5; i++)
        zc_tp_progress(a.tp, 1);
    ck_assert(!m.over);
    end_other();
    WAIT_FOR((zc_tp_progress(a.tp, 1), m.over && a.errors));
    ck_assert_int_eq(m.status, -ECONNRESET);
    ck_assert_uint_eq(a.errors, 1);
    ck_assert_int_eq(a.error, -ECONNRESET);
    ck_assert_uint_eq(a.lost, p);
    ck_assert_int_lt(zc_tp_send(a.tp, p, "x", 1), 0);
    ck_assert_int_lt(start(&a, p, ZC_RMA_PULL, &m, here, SIZE, told.mr.raddr, told.mr.rkey), 0);
    zc_tp_peer_remove(a.tp, p);
    ck_assert_int_eq(zc_tp_progress(a.tp, 1), 0);
    zc_tp_close(a.tp);
}
END_TEST

START_TEST(a_stopped_peer_gets_everything_later)
{
    zc_peer p = with_other();
    unsigned got = 0;

    kill(other, SIGSTOP);
    for (unsigned i = 0; i < 500; i++)
        send_number(&a, p, i);
    kill(other, SIGCONT);
    while (got != 500) {
        zc_tp_progress(a.tp, 0);
        ck_assert_int_eq(read(from_other, &got, sizeof got), sizeof got);
    }
    end_other();
    zc_tp_close(a.tp);
}
END_TEST

/* The peer may be copying: the buffer is ours again when it is gone, or answers. */
START_TEST(an_operation_outlives_the_removal_of_its_peer)
{
    zc_peer p = with_other();
    struct move m;

    kill(other, SIGSTOP);
    ck_assert_int_eq(start(&a, p, ZC_RMA_PULL, &m, here, SIZE, told.mr.raddr, told.mr.rkey), 0);
    zc_tp_peer_remove(a.tp, p);
    for (int i = 0; i < 5; i++)
        zc_tp_progress(a.tp, 1);
    ck_assert(!m.over);
    end_other();
    WAIT_FOR((zc_tp_progress(a.tp, 1), m.over));
    ck_assert_int_eq(m.status, -ECANCELED);
    ck_assert_uint_eq(a.errors, 0);
    zc_tp_close(a.tp);
}
END_TEST

/* ---- below client and server ---- */

static struct rig rig;

START_TEST(client_and_server_work_over_it)
{
    enum { LEN = 200000 };
    unsigned char *out = malloc(LEN), *in = malloc(LEN);
    struct zc_net *net;
    struct zc_client *c;
    uint64_t h;

    rig_transport = zc_tp_local_open;
    rig_up(&rig, NULL, NULL);
    net = rig_net(30000);
    c = rig_connect(&rig, net);
    h = rig_open(c, "/f");
    for (unsigned seed = 0; seed < 20; seed++) {
        fill(out, LEN, 0, seed);
        ck_assert_int_eq(zc_client_write(c, h, out, LEN, seed * 31), LEN);
        memset(in, 0, LEN);
        ck_assert_int_eq(zc_client_read(c, h, in, LEN, seed * 31), LEN);
        ck_assert(!memcmp(in, out, LEN));
    }
    ck_assert_int_eq(zc_client_close(c, h, ZC_LEVEL_STORED), 0);
    zc_client_disconnect(c);
    zc_net_destroy(net);
    rig_down(&rig);
    free(out);
    free(in);
}
END_TEST

/* No time-out has to pass. */
START_TEST(a_server_that_goes_is_noticed_at_once)
{
    struct zc_net *net;
    struct zc_client *c;
    uint64_t h;

    rig_transport = zc_tp_local_open;
    rig_up(&rig, NULL, NULL);
    net = rig_net(3600000);
    c = rig_connect(&rig, net);
    h = rig_open(c, "/f");
    rig_stop(&rig);
    rig_free(&rig);
    ck_assert_int_lt(zc_client_write(c, h, "x", 1, 0), 0);
    WAIT_FOR(zc_client_broken(c));
    zc_client_disconnect(c);
    zc_net_destroy(net);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("local");
    TCase *answered;

    CASE(s, "endpoints", 120, messages_arrive_in_order, memory_is_reached_while_it_is_registered,
         a_wake_ends_the_wait, closing_ends_what_is_under_way, a_child_keeps_nothing_alive,
         what_is_no_address_is_refused, rubbish_ends_its_connection_only,
         a_probe_shows_reachable_owners, a_hurried_call_does_not_wait_for_a_peer);
    answered = tcase_create("answers");
    tcase_set_timeout(answered, stretched(120));
    tcase_add_loop_test(answered, an_answer_is_looked_at, 0, sizeof answers / sizeof *answers);
    suite_add_tcase(s, answered);
    CASE(s, "processes", 120, memory_of_another_process_is_reached, a_peer_is_looked_into,
         the_death_of_a_peer_is_noticed, a_stopped_peer_gets_everything_later,
         an_operation_outlives_the_removal_of_its_peer);
    CASE(s, "service", 120, client_and_server_work_over_it, a_server_that_goes_is_noticed_at_once);
    return run_suite(s);
}
