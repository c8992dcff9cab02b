/* zc_store_remote_steps.c - steps of a file behind daemons (server/zc_steps.h).
 *
 * A step is published at the first daemon last, and readers ask the first daemon for the number: a
 * step that it has published is published at all daemons.  All calls may be repeated in another
 * session: by the number, a daemon recognizes what it has done already.
 */
#include "config.h"

#include <errno.h>

#include "zc_log.h"
#include "zc_store_remote_internal.h"
#include "zc_wire.h"

/* A request to daemons. */
struct asking {
    uint32_t what; /* ZC_STEP_... */
    const struct zc_step_request *q;
    uint64_t most; /* out: the highest number among the answers */
};

static int step_at(const struct zc_stripe_file *s, const struct zc_stripe_use *use, void *asking)
{
    struct asking *a = asking;
    uint64_t number = a->q->number;
    int rc;

    (void)s;
    if (use->here)
        return zc_errorf(EOPNOTSUPP, "a daemon of the file is bypassed, and steps need it");
    rc = zc_client_step(use->client, use->handle, a->what, &number, a->q->size, a->q->limit_ms);
    if (rc == 0 && number > a->most)
        a->most = number;
    return rc;
}

/* Asks the daemons in front of number `end`, the first one last. */
static int ask(struct rfile *f, uint32_t end, struct asking *a)
{
    struct zc_stripe_file s = zc_remote_striped(f);
    int rc = 0;

    while (rc == 0 && end-- > 0)
        rc = zc_stripe_call(&s, end, step_at, a);
    return rc;
}

static void note_step(struct rfile *f, uint64_t step)
{
    struct remote *r = remote_of(f->file.store);

    zc_lock_get(&r->lock);
    f->step = step;
    zc_lock_put(&r->lock);
}

/* A daemon that is started again has to know. */
static void note_begun(struct rfile *f)
{
    struct remote *r = remote_of(f->file.store);

    zc_lock_get(&r->lock);
    f->begun = true;
    zc_lock_put(&r->lock);
}

int zc_remote_step(struct zc_sfile *sf, struct zc_step_request *q)
{
    static const uint32_t what[] = {[ZC_STEP_CALL_BEGIN] = ZC_STEP_BEGIN,
                                    [ZC_STEP_CALL_PUBLISH] = ZC_STEP_PUBLISH,
                                    [ZC_STEP_CALL_WAIT] = ZC_STEP_WAIT,
                                    [ZC_STEP_CALL_READ] = ZC_STEP_READ};
    struct rfile *f = rfile_of(sf);
    struct asking a = {.what = what[q->call], .q = q};
    int rc;

    if (q->call == ZC_STEP_CALL_READ)
        note_step(f, q->number); /* before the requests: a session that begins meanwhile uses it */
    rc = ask(f, q->call == ZC_STEP_CALL_WAIT ? 1 : remote_of(sf->store)->n, &a);
    if (q->call == ZC_STEP_CALL_BEGIN || q->call == ZC_STEP_CALL_WAIT)
        q->number = a.most;
    if (rc == 0 && q->call == ZC_STEP_CALL_BEGIN)
        note_begun(f);
    return rc;
}

void zc_remote_step_again(struct rfile *f, struct zc_client *c, uint64_t handle)
{
    struct remote *r = remote_of(f->file.store);
    uint64_t step;

    zc_lock_get(&r->lock);
    step = f->step;
    zc_lock_put(&r->lock);
    if (step && zc_client_step(c, handle, ZC_STEP_READ, &step, 0, 0))
        zc_info("%s: %s", f->path, zc_error_text(-EREMCHG)); /* later reads fail with this error */
}
