/* test_stripe_ask.c - requests to one or all servers of a striped file.
 *
 * Servers are handles of one rig, each with a file of its own; one of them may be reached without
 * a client, and a get or a call may fail as often as a test says.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "rig.h"
#include "zc_error.h"
#include "zc_stripe_ask.h"

enum { MOST = 20, NONE = MOST, BAD_HANDLE = 4711 };

static struct rig rig;
static struct zc_net *net;
static struct zc_client *client;

static struct server {
    uint64_t handle;
    int refused;      /* what get() returns */
    unsigned in_vain; /* number of calls that get a wrong handle */
    bool again;       /* what put() returns after a call that failed */
    unsigned gets, puts;
} servers[MOST];
static uint32_t here;          /* the server without a client; or NONE */
static uint64_t here_size;     /* size of the file there */
static unsigned here_requests; /* number of its calls */
static int here_rc;

static int get(const struct zc_stripe_file *f, uint32_t i, struct zc_stripe_use *use)
{
    struct server *s = &servers[i];

    ck_assert_ptr_eq(f->file, servers);
    if (s->refused)
        return zc_errorf(-s->refused, "server %u is not there", i);
    s->gets++;
    *use = (struct zc_stripe_use){
        .index = i, .client = i == here ? NULL : client, .handle = s->handle};
    if (s->in_vain) {
        s->in_vain--;
        use->handle = BAD_HANDLE;
    }
    return 0;
}

static bool put(struct zc_stripe_use *use, int rc)
{
    struct server *s = &servers[use->index];

    s->puts++;
    return rc && s->again;
}

static int getattr_here(const struct zc_stripe_file *f, const struct zc_stripe_use *use,
                        struct zc_attr *attr)
{
    (void)f;
    ck_assert_uint_eq(use->index, here);
    attr->size = here_size;
    return 0;
}

static int truncate_here(const struct zc_stripe_file *f, const struct zc_stripe_use *use,
                         uint64_t size)
{
    (void)f;
    ck_assert_uint_eq(use->index, here);
    here_size = size;
    return 0;
}

static int request_here(const struct zc_stripe_file *f, const struct zc_stripe_use *use,
                        uint64_t arg, uint64_t *count)
{
    (void)f;
    (void)arg;
    ck_assert_uint_eq(use->index, here);
    here_requests++;
    *count = 1000;
    return here_rc ? zc_errorf_because(-here_rc, "cause", "here") : 0;
}

static const struct zc_stripe_ops ops = {
    .servers = "server",
    .server = zc_stripe_aggregator,
    .get = get,
    .put = put,
    .getattr = getattr_here,
    .truncate = truncate_here,
    .cut = request_here,
};
static const struct zc_stripe place = {.block_size = 8192, .aggregators = 1};

static struct zc_stripe_file up(uint32_t n)
{
    memset(servers, 0, sizeof servers);
    here = NONE;
    here_size = here_requests = 0;
    here_rc = 0;
    rig_up(&rig, NULL, NULL);
    net = rig_net(60000);
    client = rig_connect(&rig, net);
    for (uint32_t i = 0; i < n; i++) {
        char path[16];

        sprintf(path, "/%u", i);
        servers[i].handle = rig_open(client, path);
        ck_assert_int_eq(zc_client_write(client, servers[i].handle, "bytes", 5, i), 5);
    }
    return (struct zc_stripe_file){&ops, servers, &place, n};
}

static void down(void)
{
    zc_client_disconnect(client);
    zc_net_destroy(net);
    rig_down(&rig);
}

static bool is_even(const struct zc_stripe_file *f, uint32_t i)
{
    (void)f;
    return i % 2 == 0;
}

/* Returns the number of unwritten bytes at all servers. */
static uint64_t unwritten(const struct zc_stripe_file *f)
{
    struct zc_stripe_request q = {.start = zc_client_backlog_start, .arg = ZC_BACKLOG_HERE};

    ck_assert_int_eq(zc_stripe_ask(f, &q), 0);
    return q.sum;
}

/* ---- */

START_TEST(all_are_asked_once)
{
    for (uint32_t n = 1; n <= MOST; n += 7) { /* more and fewer than need no allocated memory */
        struct zc_stripe_file f = up(n);
        struct zc_stripe_request q = {
            .start = zc_client_flush_start, .here = request_here, .arg = ZC_LEVEL_STORED};

        here = n / 2;
        ck_assert_int_eq(zc_stripe_ask(&f, &q), 0);
        ck_assert_uint_eq(q.sum, 1000);
        ck_assert_uint_eq(here_requests, 1);
        for (uint32_t i = 0; i < n; i++)
            ck_assert_uint_eq(servers[i].gets, 1);
        here = NONE;
        ck_assert_uint_le(unwritten(&f), 5); /* those of the server without a client */
        down();
    }
}
END_TEST

START_TEST(some_are_asked)
{
    struct zc_stripe_file f = up(5);
    struct zc_stripe_request q = {
        .start = zc_client_flush_start, .arg = ZC_LEVEL_STORED, .asks = is_even, .from = 1};

    ck_assert_int_eq(zc_stripe_ask(&f, &q), 0);
    for (uint32_t i = 0; i < 5; i++)
        ck_assert_uint_eq(servers[i].gets, i == 2 || i == 4);
    down();
}
END_TEST

/* The first failure is returned, with its cause, and every server is asked nevertheless. */
START_TEST(first_error_counts)
{
    struct zc_stripe_file f = up(4);
    struct zc_stripe_request q = {
        .start = zc_client_flush_start, .here = request_here, .arg = ZC_LEVEL_STORED};

    here = 3;
    here_rc = -EIO;
    servers[1].in_vain = 1; /* fails in the wait, after the call here */
    ck_assert_int_eq(zc_stripe_ask(&f, &q), -EIO);
    ck_assert_str_eq(zc_error_text(EIO), "here: cause");
    ck_assert_str_eq(zc_error_cause(EIO), "cause");
    servers[2].refused = -ENOLINK; /* fails before the request is sent */
    ck_assert_int_eq(zc_stripe_ask(&f, &q), -ENOLINK);
    ck_assert_str_eq(zc_error_text(ENOLINK), "server 2 is not there");
    ck_assert_uint_eq(servers[0].gets, 2);
    ck_assert_uint_eq(servers[1].gets, 2);
    ck_assert_uint_eq(here_requests, 2);
    down();
}
END_TEST

START_TEST(what_was_in_vain_is_asked_again)
{
    struct zc_stripe_file f = up(2);
    struct zc_stripe_request q = {.start = zc_client_flush_start, .arg = ZC_LEVEL_STORED};
    struct zc_attr attr = {0};

    servers[0].again = servers[1].again = true;
    servers[1].in_vain = 3;
    ck_assert_int_eq(zc_stripe_ask(&f, &q), 0);
    ck_assert_uint_eq(servers[0].gets, 1);
    ck_assert_uint_eq(servers[1].gets, 4);
    ck_assert_uint_eq(servers[1].puts, 4);
    servers[1].in_vain = 2;
    ck_assert_int_eq(zc_stripe_getattr(&f, &attr), 0);
    ck_assert_uint_eq(attr.size, 6);
    ck_assert_uint_eq(servers[1].gets, 7);
    servers[1].again = false;
    servers[1].in_vain = 1;
    ck_assert_int_eq(zc_stripe_getattr(&f, &attr), -EBADF);
    down();
}
END_TEST

START_TEST(largest_size)
{
    struct zc_stripe_file f = up(3);
    struct zc_attr attr = {0};

    ck_assert_int_eq(zc_stripe_getattr(&f, &attr), 0);
    ck_assert_uint_eq(attr.size, 7);
    here = 1;
    here_size = 100;
    ck_assert_int_eq(zc_stripe_getattr(&f, &attr), 0);
    ck_assert_uint_eq(attr.size, 100);
    down();
}
END_TEST

/* No server truncates unless all answer; if one then fails to truncate its cache, the file is
 * truncated nevertheless. */
START_TEST(truncate_by_all)
{
    struct zc_stripe_file f = up(3);
    struct zc_attr attr = {0};
    const char *why;

    here = 2;
    servers[1].refused = -ENOLINK;
    ck_assert_int_eq(zc_stripe_truncate(&f, 2), -ENOLINK);
    ck_assert_int_eq(zc_client_getattr(client, servers[0].handle, &attr), 0);
    ck_assert_uint_eq(attr.size, 5);
    servers[1].refused = 0;
    ck_assert_int_eq(zc_stripe_truncate(&f, 2), 0);
    ck_assert_uint_eq(here_requests, 1);
    ck_assert_int_eq(zc_stripe_getattr(&f, &attr), 0);
    ck_assert_uint_eq(attr.size, 2);
    here_rc = -EIO;
    ck_assert_int_eq(zc_stripe_truncate(&f, 1), -EREMOTEIO);
    why = zc_error_text(EREMOTEIO);
    ck_assert_str_eq(why, "the file has 1 bytes now, but not at every server: here: cause");
    here = 0; /* through the server without a client */
    here_rc = 0;
    ck_assert_int_eq(zc_stripe_truncate(&f, 77), 0);
    ck_assert_uint_eq(here_size, 77);
    down();
}
END_TEST

START_TEST(errors_are_values)
{
    struct zc_error e = {0}, other;

    ck_assert_int_eq(zc_error_raise(&e), 0);
    zc_error_join(&e, 0);
    ck_assert_int_eq(e.rc, 0);
    zc_error_join(&e, zc_errorf(EIO, "the first"));
    zc_error_join(&e, zc_errorf(ENOSPC, "the second"));
    zc_errorf(ENOLINK, "another");
    ck_assert_int_eq(zc_error_raise(&e), -EIO);
    ck_assert_str_eq(zc_error_text(EIO), "the first");
    ck_assert_str_eq(zc_error_cause(EIO), "the first");
    zc_error_keep(&e, zc_errorf_because(ENOSPC, "the disk is full", "bytes 1-2"));
    zc_errorf(ENOLINK, "another");
    ck_assert_int_eq(zc_error_raise(&e), -ENOSPC);
    ck_assert_str_eq(zc_error_text(ENOSPC), "bytes 1-2: the disk is full");
    ck_assert_str_eq(zc_error_cause(ENOSPC), "the disk is full");
    zc_error_keep(&e, 0);
    ck_assert_int_eq(zc_error_raise(&e), 0);
    zc_error_set(&other, -EIO, "the first");
    zc_error_merge(&e, &other);
    zc_error_set(&other, -ENOSPC, "the second");
    zc_error_merge(&e, &other);
    zc_error_set(&other, 0, "%s", "");
    zc_error_merge(&e, &other);
    ck_assert_int_eq(e.rc, -EIO);
    ck_assert_str_eq(e.text, "the first");
}
END_TEST

/* A text of the greatest length keeps its end, the cause; arguments may be parts of the error. */
START_TEST(errors_keep_their_cause)
{
    struct zc_error e;
    char path[2 * ZC_TEXT_MAX];

    memset(path, 'd', sizeof path);
    for (size_t i = 0; i < sizeof path; i += 20)
        path[i] = '/';
    path[sizeof path - 1] = '\0';
    for (size_t len = ZC_TEXT_MAX - 40; len < sizeof path; len++) {
        zc_error_keep(&e, zc_errorf_because(ENOSPC, "the disk is full", "write of %s",
                                            path + sizeof path - 1 - len));
        zc_errorf(ENOLINK, "another");
        zc_error_raise(&e);
        ck_assert_str_eq(zc_error_cause(ENOSPC), "the disk is full");
    }
    zc_error_set(&e, -ENOSPC, "no room: %s", e.text);
    ck_assert_int_eq(strncmp(e.text, "no room: write of ", 18), 0);
    ck_assert_str_eq(e.text + strlen(e.text) - 18, ": the disk is full");
    ck_assert_uint_eq(e.cause, 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("stripe_ask");

    CASE(s, "ask", 60, all_are_asked_once, some_are_asked, first_error_counts,
         what_was_in_vain_is_asked_again);
    CASE(s, "size", 60, largest_size, truncate_by_all);
    CASE(s, "error", 60, errors_are_values, errors_keep_their_cause);
    return run_suite(s);
}
