/* zc_request_steps.c - STEP, and what steps mean to opens, closes and transfers (zc_steps.h).
 *
 * An aggregator passes a STEP on to its daemons, through the store below its cache; a daemon
 * processes it.
 * A request that waits for a step is parked in zc_server.step_waits, and PENDING tells its client:
 *
 *     STEP wait --not there--> parked --published; its writers left; time is up--> answered
 *                                ^                                              |
 *                                +---------- each publication, each tick -------+
 */
#include "config.h"

#include <errno.h>

#include "zc_log.h"
#include "zc_server_internal.h"
#include "zc_transfer_internal.h"
#include "zc_view.h"

enum { WAIT_MOST_MS = 24 * 3600 * 1000 };

static struct zc_steps_user *user_of(const struct zc_request *r)
{
    return r->slot ? r->session->slots[r->slot - 1].steps : NULL;
}

/* ---- opens and closes ---- */

/* Makes bystanders of the file's opens by other sessions that have not mentioned steps.  False: no
 * memory. */
static bool join_bystanders(struct zc_server *s, const struct zc_request *r)
{
    zc_list_each (&s->sessions, n) {
        struct zc_session *ss = zc_list_entry(n, struct zc_session, link);

        for (uint32_t i = 0; ss != r->session && i < ss->nslots; i++) {
            struct zc_slot *slot = &ss->slots[i];

            if (!slot->handle || slot->steps || slot->attr.dev != r->attr.dev ||
                slot->attr.ino != r->attr.ino)
                continue;
            slot->steps = zc_steps_join(&s->steps, &slot->attr, ZC_STEPS_BYSTANDER, ss);
            if (!slot->steps)
                return false;
        }
    }
    return true;
}

int zc_request_steps_open(struct zc_request *r, struct zc_steps_user **out)
{
    struct zc_server *s = r->session->server;
    bool writes = r->msg.open_flags & ZC_OPEN_STEPS;
    bool reads = r->msg.open_flags & ZC_OPEN_STEP_READER;
    enum zc_steps_role role = writes  ? ZC_STEPS_WRITER
                              : reads ? ZC_STEPS_READER
                                      : ZC_STEPS_BYSTANDER;

    *out = NULL;
    if (!writes && !reads && !zc_steps_matter(&s->steps, &r->attr, r->session))
        return 0;
    *out = zc_steps_join(&s->steps, &r->attr, role, r->session);
    if (*out && (!writes || join_bystanders(s, r))) {
        if (writes && r->msg.open_flags & ZC_OPEN_STEPS_BEGUN)
            zc_steps_begun(*out);
        return 0;
    }
    zc_steps_leave(&s->steps, *out, true);
    *out = NULL;
    return zc_errorf(ENOMEM, "no memory to open a file whose steps are published");
}

size_t zc_request_steps_memory(const struct zc_request *r)
{
    bool any = r->msg.open_flags & (ZC_OPEN_STEPS | ZC_OPEN_STEP_READER);

    return any ? ZC_STEPS_MEMORY : 0;
}

void zc_request_steps_leave(struct zc_session *ss, struct zc_slot *slot, bool closed)
{
    struct zc_steps_user *u = slot->steps;

    slot->steps = NULL;
    if (!u)
        return;
    zc_steps_leave(&ss->server->steps, u, closed);
    zc_step_waits_check(ss->server);
}

/* ---- transfers ---- */

/* Calls fn for each contiguous range of the file in the first `n` bytes of the transfer, until it
 * returns nonzero. */
static int each_run(const struct zc_request *r, uint64_t n,
                    int (*fn)(struct zc_steps_user *u, uint64_t lo, uint64_t hi))
{
    const struct zc_transfer *t = r->transfer;
    struct zc_steps_user *u = user_of(r);
    int64_t first, len, left = (int64_t)n;
    struct zc_view_iter it;
    int rc = 0;

    if (zc_transfer_is_plain(r) || !n)
        return fn(u, r->msg.off, r->msg.off + n);
    if (!t->view || zc_view_start(&it, t->view, t->disp, (int64_t)r->msg.off))
        return fn(u, 0, UINT64_MAX);
    for (; rc == 0 && left > 0; left -= len) {
        if (zc_view_next(&it, left, &first, &len))
            return fn(u, (uint64_t)t->disp, UINT64_MAX);
        rc = fn(u, (uint64_t)first, (uint64_t)(first + len));
    }
    return rc;
}

static int wrote(struct zc_steps_user *u, uint64_t lo, uint64_t hi)
{
    zc_steps_wrote(u, lo, hi);
    return 0;
}

static int check(struct zc_steps_user *u, uint64_t lo, uint64_t hi)
{
    return zc_steps_check(u, lo, hi);
}

void zc_request_steps_write(struct zc_request *r)
{
    if (user_of(r))
        each_run(r, r->msg.len, wrote);
}

void zc_request_steps_cut(struct zc_request *r)
{
    zc_steps_cut(user_of(r), r->msg.size);
}

uint64_t zc_request_steps_end(const struct zc_request *r, uint64_t end)
{
    uint64_t ends = zc_transfer_is_plain(r) ? zc_steps_end(user_of(r), end) : end;

    return ends > r->msg.off ? ends : r->msg.off;
}

/* Checks bytes beyond the end of the file as well: it may have been truncated. */
void zc_request_steps_check(struct zc_request *r)
{
    if (!user_of(r) || r->error.rc)
        return;
    zc_error_join(&r->error, each_run(r, r->transfer->end - r->msg.off, check));
    zc_server_of(r)->stats.step_reads_refused += r->error.rc != 0;
}

uint64_t zc_request_steps_size(const struct zc_request *r, uint64_t size)
{
    return zc_steps_size(user_of(r), size);
}

void zc_request_steps_refreshed(struct zc_request *r)
{
    if (user_of(r))
        zc_steps_refresh(user_of(r));
}

/* ---- STEP ---- */

static bool is_up(const struct zc_request *r)
{
    return zc_now() >= r->step_until;
}

/* Answers the request if the step is published, will not come, or its time is up.  False: it has to
 * wait. */
static bool try_wait(struct zc_request *r)
{
    int rc = zc_steps_there(user_of(r), r->msg.count, &r->reply.count);

    if (rc == -EAGAIN && is_up(r))
        rc = zc_steps_late(user_of(r), r->msg.count);
    if (rc == -EAGAIN)
        return false;
    zc_error_join(&r->error, rc);
    return true;
}

/* True: the wait is over, with the result in the request. */
static bool is_over(struct zc_server *s, struct zc_request *r)
{
    if (s->stopping)
        zc_request_fail(r, -ESHUTDOWN, "the daemon is stopping");
    return s->stopping || zc_session_gone(r->session) || try_wait(r);
}

/* The end of a request may end its session: its files leave, and call this again. */
void zc_step_waits_check(struct zc_server *s)
{
    struct zc_list over, *next;

    zc_list_init(&over);
    zc_list_each_safe (&s->step_waits, n) {
        struct zc_request *r = zc_list_entry(n, struct zc_request, step_wait);

        if (!is_over(s, r))
            continue;
        zc_list_del(n);
        zc_list_add_tail(&over, n);
        s->stats.step_waits--;
    }
    while ((next = zc_list_pop(&over)))
        zc_request_finish(zc_list_entry(next, struct zc_request, step_wait));
}

static void wait(struct zc_request *r)
{
    struct zc_server *s = r->session->server;
    uint64_t ms = r->msg.len < WAIT_MOST_MS ? r->msg.len : WAIT_MOST_MS;

    r->step_until = zc_now() + ms * ZC_NS_PER_MS;
    if (try_wait(r)) {
        zc_request_finish(r);
        return;
    }
    s->stats.step_waits++;
    zc_list_add_tail(&s->step_waits, &r->step_wait);
}

static void publish(struct zc_request *r)
{
    struct zc_server *s = r->session->server;
    int rc = zc_steps_publish(user_of(r), r->msg.count, r->msg.size);

    zc_error_join(&r->error, rc);
    s->stats.steps_published += rc == 0;
    zc_request_finish(r);
    zc_step_waits_check(s);
}

static void here(struct zc_request *r)
{
    switch (r->msg.what) {
    case ZC_STEP_BEGIN:
        zc_error_join(&r->error, zc_steps_begin(user_of(r), r->msg.size, &r->reply.count));
        break;
    case ZC_STEP_PUBLISH:
        publish(r);
        return;
    case ZC_STEP_WAIT:
        wait(r);
        return;
    case ZC_STEP_READ:
        zc_error_join(&r->error, zc_steps_read(user_of(r), r->msg.count));
        break;
    default:
        zc_request_fail(r, -EINVAL, "nothing that is done with steps");
    }
    zc_request_finish(r);
}

/* On the pool, at an aggregator. */
static void do_read_below(struct zc_request *r)
{
    zc_error_join(&r->error, zc_cache_read_step(r->handle, r->msg.count));
}

void zc_request_step(struct zc_request *r)
{
    if (user_of(r)) {
        here(r);
    } else if (zc_cache_has_steps(r->handle) && r->msg.what == ZC_STEP_READ) {
        zc_request_submit(r, do_read_below, zc_request_finish);
    } else {
        zc_request_fail(r, -EINVAL, "it was opened for no steps");
        zc_request_finish(r);
    }
}
