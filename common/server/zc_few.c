/* zc_few.c - which transfer gets what a server has few of, and in which order. */
#include "config.h"

#include "zc_few.h"
#include "zc_tenant.h"

enum {
    IDLE_PART = 8, /* 1/IDLE_PART of all for transfers that lack room */
    BEHIND = 4,    /* one in this many is served in order of arrival */
};

void zc_few_init(struct zc_few *f, enum zc_few_kind kind, unsigned all)
{
    *f = (struct zc_few){.kind = kind, .all = all};
    zc_list_init(&f->waiting);
}

static bool has_part(const struct zc_few *f, const struct zc_few_wait *w)
{
    return zc_tenant_may(w->session, f->kind, f->all);
}

/* The limit is per tenant, as a tenant's store may be stuck and others must not wait for it. */
static bool may_be_idle(const struct zc_few *f, const struct zc_few_wait *w)
{
    return zc_tenant_idle(w->session, f->kind, f->idle) < f->all / IDLE_PART;
}

static void take(struct zc_few *f, struct zc_few_wait *w)
{
    zc_tenant_took(w->session, f->kind);
    w->idle = w->lacks_room(w);
    if (w->idle) {
        zc_tenant_idles(w->session, f->kind, 1);
        f->idle++;
        f->turns++;
    }
}

bool zc_few_get(struct zc_few *f, struct zc_few_wait *w)
{
    bool first = zc_list_empty(&f->waiting) && may_be_idle(f, w);

    if (f->free && has_part(f, w) && (first || !w->lacks_room(w))) {
        take(f, w);
        return true;
    }
    zc_list_add_tail(&f->waiting, &w->link);
    return false;
}

void zc_few_not_idle(struct zc_few *f, struct zc_few_wait *w)
{
    if (!w->idle)
        return;
    zc_tenant_idles(w->session, f->kind, -1);
    f->idle--;
    w->idle = false;
}

void zc_few_gave(struct zc_few *f, struct zc_few_wait *w)
{
    zc_few_not_idle(f, w);
    zc_tenant_gave(w->session, f->kind);
}

/* The order of transfers that lack room. */
static bool comes_first(const struct zc_few *f, const struct zc_few_wait *w,
                        const struct zc_few_wait *first)
{
    return !first || (f->turns % BEHIND && w->handle == first->handle && w->at < first->at);
}

/* Returns the next one that waits and may have one, or NULL. */
static struct zc_few_wait *next(const struct zc_few *f)
{
    struct zc_few_wait *first = NULL;

    if (!f->free)
        return NULL;
    zc_list_each (&f->waiting, n) {
        struct zc_few_wait *w = zc_list_entry(n, struct zc_few_wait, link);

        if (!has_part(f, w))
            continue;
        if (!w->lacks_room(w))
            return w;
        if (may_be_idle(f, w) && comes_first(f, w, first))
            first = w;
    }
    return first;
}

struct zc_few_wait *zc_few_pop(struct zc_few *f)
{
    struct zc_few_wait *w = next(f);

    if (w) {
        zc_list_del(&w->link);
        take(f, w);
    }
    return w;
}

bool zc_few_is_served(const struct zc_few *f)
{
    zc_list_each (&f->waiting, n) {
        const struct zc_few_wait *w = zc_list_entry(n, struct zc_few_wait, link);

        if (f->free && has_part(f, w) && may_be_idle(f, w))
            return false;
    }
    return true;
}
