/* zc_stripe_ask.c - requests to one or all servers of a striped file. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "zc_error.h"
#include "zc_log.h"
#include "zc_stripe_ask.h"

enum { FEW = 8 }; /* number of servers that can be asked without allocating memory */

/* ---- one server ---- */

int zc_stripe_call(const struct zc_stripe_file *f, uint32_t i, zc_stripe_call_fn *call, void *arg)
{
    struct zc_stripe_use use;
    int rc;

    do {
        rc = f->ops->get(f, i, &use);
        if (rc)
            return rc;
        rc = call(f, &use, arg);
    } while (f->ops->put(&use, rc));
    return rc;
}

struct range {
    uint64_t off, len;
};

static int allocate(const struct zc_stripe_file *f, const struct zc_stripe_use *use, void *range)
{
    const struct range *r = range;

    return use->client ? zc_client_allocate(use->client, use->handle, r->off, r->len)
                       : f->ops->allocate(f, use, r->off, r->len);
}

int zc_stripe_allocate(const struct zc_stripe_file *f, uint64_t off, uint64_t len)
{
    return zc_stripe_call(f, 0, allocate, &(struct range){off, len});
}

/* ---- all of them ---- */

struct asked {
    struct zc_stripe_use use;
    struct zc_later later;
    bool begun;
};

static int do_here(const struct zc_stripe_file *f, struct zc_stripe_request *q,
                   const struct zc_stripe_use *use)
{
    uint64_t count = 0;
    int rc = q->here ? q->here(f, use, q->arg, &count) : 0;

    q->sum += count;
    return rc;
}

static int begin(const struct zc_stripe_file *f, const struct zc_stripe_request *q, uint32_t i,
                 struct asked *a)
{
    int rc = f->ops->get(f, i, &a->use);

    a->begun = rc == 0;
    if (rc == 0 && a->use.client)
        q->start(a->use.client, a->use.handle, q->arg, &a->later);
    return rc;
}

static int wait(const struct zc_stripe_file *f, struct asked *a)
{
    int rc = zc_client_wait(a->use.client, &a->later);

    if (a->later.committed_seq && f->ops->took)
        f->ops->took(f, &a->use, 0, 0, a->later.committed_seq);
    return rc;
}

/* Waits for the reply; repeats the request if put() says so. */
static int answer(const struct zc_stripe_file *f, struct zc_stripe_request *q, struct asked *a)
{
    uint32_t i = a->use.index;
    int rc = wait(f, a);

    while (f->ops->put(&a->use, rc)) {
        rc = begin(f, q, i, a);
        if (rc)
            return rc;
        if (!a->use.client)
            return do_here(f, q, &a->use);
        rc = wait(f, a);
    }
    q->sum += a->later.count;
    return rc;
}

/* Asks the servers from `at` up to, but without, `end`. */
static void ask_some(const struct zc_stripe_file *f, struct zc_stripe_request *q, uint32_t at,
                     uint32_t end, struct asked *all, struct zc_error *e)
{
    for (uint32_t i = at; i < end; i++) {
        all[i - at].begun = false;
        if (!q->asks || q->asks(f, i))
            zc_error_join(e, begin(f, q, i, &all[i - at]));
    }
    for (struct asked *a = all; a < all + (end - at); a++)
        if (a->begun && !a->use.client)
            zc_error_join(e, do_here(f, q, &a->use));
    for (struct asked *a = all; a < all + (end - at); a++)
        if (a->begun && a->use.client)
            zc_error_join(e, answer(f, q, a));
}

int zc_stripe_ask(const struct zc_stripe_file *f, struct zc_stripe_request *q)
{
    uint32_t n = f->n > q->from ? f->n - q->from : 0;
    struct asked few[FEW], *many = n > FEW ? calloc(n, sizeof *many) : NULL;
    uint32_t step = many ? n : FEW;
    struct zc_error e = {0};

    q->sum = 0;
    for (uint32_t at = q->from; at < f->n; at += step)
        ask_some(f, q, at, f->n - at > step ? at + step : f->n, many ? many : few, &e);
    free(many);
    return zc_error_raise(&e);
}

/* ---- size ---- */

static int getattr(const struct zc_stripe_file *f, const struct zc_stripe_use *use, void *attr)
{
    return use->client ? zc_client_getattr(use->client, use->handle, attr)
                       : f->ops->getattr(f, use, attr);
}

int zc_stripe_attr(const struct zc_stripe_file *f, zc_stripe_call_fn *call, struct zc_attr *attr)
{
    int rc = zc_stripe_call(f, 0, call, attr);

    for (uint32_t i = 1; rc == 0 && i < f->n; i++) {
        struct zc_attr other = {0};

        rc = zc_stripe_call(f, i, call, &other);
        if (rc == 0 && other.size > attr->size)
            attr->size = other.size;
    }
    return rc;
}

int zc_stripe_getattr(const struct zc_stripe_file *f, struct zc_attr *attr)
{
    return zc_stripe_attr(f, getattr, attr);
}

static int ping(const struct zc_stripe_file *f, const struct zc_stripe_use *use, void *arg)
{
    (void)f;
    (void)arg;
    return use->client ? zc_client_ping(use->client) : 0;
}

int zc_stripe_ping(const struct zc_stripe_file *f)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < f->n; i++)
        rc = zc_stripe_call(f, i, ping, NULL);
    return rc;
}

static int truncate_at(const struct zc_stripe_file *f, const struct zc_stripe_use *use, void *size)
{
    uint64_t to = *(const uint64_t *)size;

    return use->client ? zc_client_truncate(use->client, use->handle, to)
                       : f->ops->truncate(f, use, to);
}

/* Truncates again: a server that failed to truncate its cache may have written back beyond the new
 * size before. */
static int cut_again(const struct zc_stripe_file *f, uint64_t size, const struct zc_error *e)
{
    int rc = zc_stripe_call(f, 0, truncate_at, &size);

    if (rc && rc != -EREMOTEIO)
        return zc_errorf(EREMOTEIO, "the size of the file is not known any more: %s", e->text);
    return zc_errorf(EREMOTEIO, "the file has %llu bytes now, but not at every %s: %s",
                     (unsigned long long)size, f->ops->servers, e->text);
}

/* Truncation cannot be undone, so all servers have to answer before the first one truncates the
 * file. */
int zc_stripe_truncate(const struct zc_stripe_file *f, uint64_t size)
{
    struct zc_stripe_request q = {
        .start = zc_client_cut_start, .here = f->ops->cut, .arg = size, .from = 1};
    struct zc_error e = {0};
    int rc = f->n > 1 ? zc_stripe_ping(f) : 0;

    if (rc == 0)
        rc = zc_stripe_call(f, 0, truncate_at, &size);
    if (rc && rc != -EREMOTEIO)
        return rc;
    zc_error_join(&e, rc);
    rc = zc_stripe_ask(f, &q);
    if (rc && rc != -EREMOTEIO && !e.rc) {
        zc_error_keep(&e, rc);
        return cut_again(f, size, &e);
    }
    zc_error_join(&e, rc);
    return zc_error_raise(&e);
}
