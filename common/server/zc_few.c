/* zc_few.c - which transfer gets what a server has few of, and in which order. */
#include "config.h"

#include "zc_few.h"
#include "zc_server_internal.h"

enum {
    IDLE_PART = 8,    /* 1/IDLE_PART of all for transfers that lack room */
    PASSED_MOST = 64, /* how often others are served before the first one that may have one */
};

void zc_few_init(struct zc_few *f, enum zc_few_kind kind, unsigned all)
{
    *f = (struct zc_few){.kind = kind, .all = all};
    zc_list_init(&f->waiting);
}

/* Whether its tenant may hold another one. */
static bool has_part(const struct zc_few *f, const struct zc_few_wait *w)
{
    return zc_tenant_holds(w->session, f->kind) < zc_tenant_part(w->session, f->all);
}

/* Whether it may have one although it lacks room.  The limit is per tenant, as a tenant's store may
 * be stuck and others must not wait for it. */
static bool may_be_idle(const struct zc_few *f, const struct zc_few_wait *w)
{
    unsigned most = zc_tenant_part(w->session, f->all) / 2;

    if (most > f->all / IDLE_PART)
        most = f->all / IDLE_PART;
    return has_part(f, w) && zc_tenant_idle(w->session, f->kind, f->idle) < (most ? most : 1);
}

/* Whether it may have one as it does not lack room: also if all that its tenant holds is idle. */
static bool may_be_used(const struct zc_few *f, const struct zc_few_wait *w)
{
    unsigned holds = zc_tenant_holds(w->session, f->kind);

    return has_part(f, w) || holds == zc_tenant_idle(w->session, f->kind, holds + 1);
}

static void take(struct zc_few *f, struct zc_few_wait *w)
{
    zc_tenant_took(w->session, f->kind);
    w->idle = w->lacks_room(w);
    if (w->idle) {
        zc_tenant_idles(w->session, f->kind, 1);
        f->idle++;
    }
}

/* Whether it is a write, and one of the same client and file waits before it. */
static bool follows(const struct zc_few *f, const struct zc_few_wait *w)
{
    zc_list_each (&f->waiting, n) {
        const struct zc_few_wait *x = zc_list_entry(n, struct zc_few_wait, link);

        if (w->writes && x->writes && x->session == w->session && x->handle == w->handle)
            return true;
    }
    return false;
}

bool zc_few_get(struct zc_few *f, struct zc_few_wait *w)
{
    bool first = zc_list_empty(&f->waiting) && may_be_idle(f, w);

    if (f->free && (first || (may_be_used(f, w) && !follows(f, w) && !w->lacks_room(w)))) {
        take(f, w);
        return true;
    }
    w->passed = 0;
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

/* The same for one that waits, in a search that has passed all before it; passes it. */
static bool pass(const struct zc_few *f, const struct zc_few_wait *w)
{
    struct zc_few_mark *m = &w->session->few_marks[f->kind], old = *m;

    if (!w->writes)
        return false;
    *m = (struct zc_few_mark){f->search, w->handle};
    return old.search == m->search && old.handle == m->handle;
}

/* Returns the next one that waits and may have one, or NULL. */
static struct zc_few_wait *next(struct zc_few *f)
{
    struct zc_few_wait *first = NULL;

    f->search++;
    zc_list_each (&f->waiting, n) {
        struct zc_few_wait *w = zc_list_entry(n, struct zc_few_wait, link);

        if (!pass(f, w) && may_be_used(f, w) && !w->lacks_room(w)) {
            if (first)
                first->passed++;
            return w;
        }
        if (!first && may_be_idle(f, w)) {
            first = w;
            if (w->passed >= PASSED_MOST)
                break;
        }
    }
    return first;
}

struct zc_few_wait *zc_few_pop(struct zc_few *f)
{
    struct zc_few_wait *w = f->free ? next(f) : NULL;

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

        if (f->free && may_be_idle(f, w))
            return false;
    }
    return true;
}
