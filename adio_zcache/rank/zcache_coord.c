/* zcache_coord.c - asking the first aggregator for what ranks share. */
#include "config.h"

#include "zc_client.h"
#include "zcache_file.h"
#include "zcache_owner.h"
#include "zcache_coord.h"

/* NULL client: this rank is the one. */
static int first_owner(struct zcache_file *f, struct zc_client **c)
{
    *c = NULL;
    return f->coord ? 0 : zcache_owner_client(f, &f->owners[0], c);
}

int zcache_shared_pointer(struct zcache_file *f, enum zc_pointer what, uint64_t value, int64_t *was)
{
    struct zc_client *c;
    uint64_t old = 0;
    int rc = first_owner(f, &c);

    if (rc == 0 && c)
        rc = zc_client_pointer(c, f->owners[0].number, what, f->epoch, value, &old);
    else if (rc == 0)
        rc = zc_coord_pointer(f->coord, what, f->epoch, value, &old);
    *was = (int64_t)old;
    return rc;
}

struct wished {
    struct zcache_lock *lock;
    struct zc_range_lock range;
};

/* A lock whose grant was not received has ended with its session. */
static int lock_at(const struct zc_stripe_file *s, const struct zc_stripe_use *use, void *wished)
{
    struct wished *w = wished;

    if (use->client)
        return zc_client_lock(use->client, use->handle, w->range.exclusive, w->range.off,
                              w->range.len, &w->lock->number);
    w->lock->local = w->range;
    zc_coord_lock_wait(((struct zcache_file *)s->file)->coord, &w->lock->local);
    return 0;
}

int zcache_lock(struct zcache_file *f, bool exclusive, int64_t off, int64_t len,
                struct zcache_lock *l)
{
    struct zc_stripe_file s = zcache_owners_striped(f);
    struct wished w = {l, {.off = (uint64_t)off, .len = (uint64_t)len, .exclusive = exclusive}};

    return zc_stripe_call(&s, 0, lock_at, &w);
}

int zcache_unlock(struct zcache_file *f, struct zcache_lock *l)
{
    struct zc_client *c;
    int rc = first_owner(f, &c);

    if (rc == 0 && c)
        return zc_client_unlock(c, f->owners[0].number, l->number);
    if (rc == 0)
        zc_coord_unlock(f->coord, &l->local);
    return rc;
}
