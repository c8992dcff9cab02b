/* test_start.c - an endpoint that a thread of its own opens. */
#include "config.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check_main.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_tp_start.h"

/* An open that waits until released, and counts closes of its result. */
static struct {
    struct zc_lock lock;
    zc_cond changed;
    bool may, opening;
    int rc; /* of the opening */
    int closed, ready;
    char port[8];
    int port_socket;
} o;

static void close_it(struct zc_tp *tp)
{
    (void)tp;
    zc_lock_get(&o.lock);
    o.closed++;
    pthread_cond_broadcast(&o.changed);
    zc_lock_put(&o.lock);
}

static int open_it(const struct zc_tp_config *cfg, struct zc_tp **out)
{
    static const struct zc_tp_ops ops = {.name = "test", .close = close_it};
    static struct zc_tp tp = {.ops = &ops};

    zc_lock_get(&o.lock);
    snprintf(o.port, sizeof o.port, "%s", cfg->port);
    o.port_socket = cfg->port_socket;
    o.opening = true;
    pthread_cond_broadcast(&o.changed);
    while (!o.may)
        zc_cond_wait(&o.changed, &o.lock);
    zc_lock_put(&o.lock);
    *out = &tp;
    return o.rc ? zc_errorf(-o.rc, "no such luck") : 0;
}

static void ready(void *arg)
{
    ck_assert_ptr_eq(arg, &o);
    __atomic_add_fetch(&o.ready, 1, __ATOMIC_RELAXED);
}

static struct zc_tp_start *begin(void)
{
    struct zc_tp_config cfg = {.listen = "127.0.0.1"};
    struct zc_tp_start *s;

    zc_lock_init(&o.lock, ZC_ORDER_TRANSPORT);
    zc_cond_init(&o.changed);
    ck_assert_int_eq(zc_tp_start_begin(&cfg, open_it, ready, &o, &s), 0);
    return s;
}

static void let_it(void)
{
    zc_lock_get(&o.lock);
    o.may = true;
    pthread_cond_broadcast(&o.changed);
    zc_lock_put(&o.lock);
}

/* Takes the opened endpoint. */
static int take(struct zc_tp_start *s, struct zc_tp **tp)
{
    int rc;

    while ((rc = zc_tp_start_take(s, tp)) == 0)
        usleep(1000);
    return rc;
}

static int listen_at(const struct sockaddr_in *at, bool reuse)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1, rc;

    ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, reuse ? sizeof one : 0),
                     reuse ? 0 : -1);
    rc = bind(fd, (const struct sockaddr *)at, sizeof *at) < 0 || listen(fd, 1) < 0 ? -errno : 0;
    close(fd);
    return rc;
}

START_TEST(only_its_port_is_known)
{
    struct zc_tp_start *s = begin();
    struct sockaddr_in at;
    size_t len = sizeof at;
    struct zc_tp *tp = NULL;
    int one = 1;

    ck_assert_int_eq(zc_tp_start_take(s, &tp), 0);
    ck_assert_int_eq(zc_tp_start_address(s, &at, &len), 0);
    ck_assert_uint_eq(len, sizeof at);
    ck_assert_uint_eq(ntohl(at.sin_addr.s_addr), INADDR_LOOPBACK);
    ck_assert_uint_ne(at.sin_port, 0);
    ck_assert_int_eq(listen_at(&at, false), -EADDRINUSE);
    ck_assert_int_eq(listen_at(&at, true), -EADDRINUSE); /* until the opening thread has */
    let_it();
    ck_assert_int_eq(take(s, &tp), 1);
    ck_assert_int_eq(atoi(o.port), ntohs(at.sin_port));
    ck_assert_int_eq(o.ready, 1);
    ck_assert_int_eq(setsockopt(o.port_socket, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one), 0);
    ck_assert_int_eq(listen_at(&at, true), 0);
    zc_tp_start_end(s);
    ck_assert_int_eq(listen_at(&at, false), 0);
    ck_assert_int_eq(o.closed, 0); /* it is ours */
}
END_TEST

START_TEST(an_address_needs_room)
{
    struct zc_tp_start *s = begin();
    char small[4];
    size_t len = sizeof small;

    ck_assert_int_eq(zc_tp_start_address(s, small, &len), -ENOSPC);
    let_it();
    zc_tp_start_end(s);
}
END_TEST

START_TEST(why_it_cannot_be_opened_is_told)
{
    struct zc_tp_start *s;
    struct zc_tp *tp = NULL;

    o.rc = -ENODEV;
    s = begin();
    let_it();
    ck_assert_int_eq(take(s, &tp), -ENODEV);
    ck_assert_str_eq(zc_error_text(ENODEV), "no such luck");
    ck_assert_int_eq(o.ready, 1);
    zc_tp_start_end(s);
    ck_assert_int_eq(o.closed, 0);
}
END_TEST

START_TEST(no_completion_after_the_end)
{
    struct zc_tp_start *s = begin();

    zc_lock_get(&o.lock);
    while (!o.opening)
        zc_cond_wait(&o.changed, &o.lock);
    zc_lock_put(&o.lock);
    zc_tp_start_end(s); /* does not wait */
    ck_assert(zc_tp_start_under_way());
    let_it();
    zc_lock_get(&o.lock);
    while (!o.closed)
        zc_cond_wait(&o.changed, &o.lock);
    zc_lock_put(&o.lock);
    ck_assert_int_eq(o.ready, 0);
    while (zc_tp_start_under_way())
        usleep(1000);
}
END_TEST

START_TEST(an_untaken_endpoint_is_closed)
{
    struct zc_tp_start *s = begin();

    let_it();
    while (!__atomic_load_n(&o.ready, __ATOMIC_RELAXED))
        usleep(1000);
    zc_tp_start_end(s);
    ck_assert_int_eq(o.closed, 1);
}
END_TEST

START_TEST(others_have_no_ports)
{
    static const struct zc_tp_config others[] = {
        {.provider = "shm", .listen = "127.0.0.1"},
        {.provider = "tcp;ofi_rxm"},
        {.provider = "tcp;ofi_rxm", .listen = "localhost"},
    };
    struct zc_tp_start *s;

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ck_assert_int_eq(zc_tp_start_begin(&others[i], open_it, ready, &o, &s), -EOPNOTSUPP);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("start");

    zc_log_init(NULL);
    CASE(suite, "start", 20, only_its_port_is_known, an_address_needs_room,
         why_it_cannot_be_opened_is_told, no_completion_after_the_end,
         an_untaken_endpoint_is_closed, others_have_no_ports);
    return run_suite(suite);
}
