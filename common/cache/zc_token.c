/* zc_token.c - the token of a cached file: when it is compared, noted, and when it is worth
 * nothing.  The states are drawn in zc_token.h. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_cache_internal.h"
#include "zc_log.h"
#include "zc_token.h"

enum {
    RACY_MS = 20,       /* more than two ticks of any clock of the kernel */
    EVERY_MS = 20,      /* a file that is written all the time is looked at this often */
    PATIENCE_MS = 1000, /* an open waits so long for our own writes to end */
};

void zc_token_init(struct zc_token *t)
{
    zc_list_init(&t->link);
}

/* Something is kept, and attributes are those of the file: nobody stands before it. */
static bool tells(const struct zc_cache *c)
{
    return c->store->servers == 0 && !c->cfg.uncached;
}

/* Who has it open is alive, and says so by having it open. */
static bool vouched(const struct zc_cache *c, const struct zc_file *f)
{
    return c->cfg.transient && f->handles > 0;
}

static bool same(const struct zc_attr *a, const struct zc_attr *b)
{
    return a->size == b->size && a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

/* Puts the file on or off the list of those to be looked at; what is not cached now may be read
 * later. */
static void place(struct zc_cache *c, struct zc_file *f)
{
    struct zc_token *t = &f->token;
    bool ended = t->state == ZC_TOKEN_OURS && t->writing == 0 && !vouched(c, f);
    bool want = (ended || (t->state == ZC_TOKEN_NOTED && t->racy)) && tells(c);

    if (!want || t->looking) {
        zc_list_del(&t->link);
        return;
    }
    if (ended)
        t->look_at = t->looked + EVERY_MS * ZC_NS_PER_MS;
    if (!zc_list_linked(&t->link))
        zc_list_add_tail(&c->looks, &t->link);
    pthread_cond_signal(&c->work);
}

static void set(struct zc_cache *c, struct zc_file *f, enum zc_token_state state)
{
    f->token.state = state;
    place(c, f);
}

static uint64_t real_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void note(struct zc_cache *c, struct zc_file *f, const struct zc_attr *now)
{
    struct zc_token *t = &f->token;
    uint64_t old_at = (uint64_t)now->ctime_ns + RACY_MS * ZC_NS_PER_MS, real = real_now();

    t->attr = *now;
    t->racy = !now->exact && real < old_at;
    if (t->racy)
        t->look_at = zc_now() + (old_at - real);
    set(c, f, ZC_TOKEN_NOTED);
}

/* Reads the attributes, of `sf` or how the file can be reached; one thread at a time, and no change
 * of ours begins meanwhile. */
static int look(struct zc_cache *c, struct zc_file *f, struct zc_sfile *sf, struct zc_attr *now)
{
    char *path = NULL;
    int rc = -ENOMEM;

    zc_debug_assert(!f->token.looking);
    if (!sf)
        sf = f->wr ? f->wr : f->rd;
    if (!sf)
        path = strdup(f->path);
    f->token.looking = true;
    place(c, f);
    zc_cache_unlock(c);
    if (sf)
        rc = zc_store_getattr(sf, now);
    else if (path)
        rc = zc_store_stat(c->store, path, now);
    free(path);
    zc_lock_get(&c->lock);
    zc_retain_look(c, f); /* what is to be sent again is not in the size yet */
    f->token.looking = false;
    f->token.looked = zc_now();
    place(c, f);
    pthread_cond_broadcast(&c->changed);
    if (rc == 0 && !sf && (now->dev != f->dev || now->ino != f->ino))
        rc = -ESTALE; /* another file has the name */
    return rc;
}

static void wait_for_looks(struct zc_cache *c, struct zc_file *f)
{
    while (f->token.looking)
        zc_cache_wait(c);
}

/* ---- our own changes ---- */

void zc_token_writing(struct zc_cache *c, struct zc_file *f)
{
    struct zc_token *t = &f->token;
    struct zc_attr now;

    zc_assert_held(&c->lock);
    while (t->looking || t->quiet)
        zc_cache_wait(c);
    if (t->state == ZC_TOKEN_NOTED && tells(c) && !vouched(c, f) &&
        (look(c, f, NULL, &now) < 0 || !same(&now, &t->attr))) {
        zc_info("%s is changed by others while it is written here", f->path);
        set(c, f, ZC_TOKEN_BROKEN);
    }
    t->writing++;
    if (t->state == ZC_TOKEN_NOTED)
        set(c, f, ZC_TOKEN_OURS);
    place(c, f);
}

void zc_token_written(struct zc_cache *c, struct zc_file *f)
{
    zc_assert_held(&c->lock);
    zc_debug_assert(f->token.writing > 0);
    f->token.writing--;
    f->token.changes++;
    c->changes++;
    place(c, f);
    pthread_cond_broadcast(&c->changed);
}

struct zc_file *zc_token_due(struct zc_cache *c, uint64_t now, uint64_t *wake)
{
    zc_list_each (&c->looks, n) {
        struct zc_token *t = zc_list_entry(n, struct zc_token, link);

        if (t->quiet)
            continue;
        if (t->look_at <= now)
            return zc_list_entry(t, struct zc_file, token);
        if (t->look_at < *wake)
            *wake = t->look_at;
    }
    return NULL;
}

/* Our writes have ended, or the tick in which the attributes were noted. */
static void look_again(struct zc_cache *c, struct zc_file *f)
{
    struct zc_token *t = &f->token;
    struct zc_attr now;
    int rc = look(c, f, NULL, &now);

    if (rc < 0 || (t->state == ZC_TOKEN_NOTED && !same(&now, &t->attr))) {
        set(c, f, ZC_TOKEN_BROKEN);
    } else if (t->state == ZC_TOKEN_NOTED) {
        t->racy = false;
        place(c, f);
    } else {
        note(c, f, &now);
    }
}

void zc_token_look(struct zc_cache *c, struct zc_file *f)
{
    if (zc_list_linked(&f->token.link) && !f->token.quiet)
        look_again(c, f);
}

/* Also where no page is cached: the size is. */
void zc_token_flushed(struct zc_cache *c, struct zc_file *f)
{
    struct zc_token *t = &f->token;

    while (t->looking || t->quiet)
        zc_cache_wait(c);
    if (t->state == ZC_TOKEN_OURS && t->writing == 0 && tells(c) && !vouched(c, f))
        look_again(c, f);
}

/* ---- comparing ---- */

/* The end of what is not in the store. */
static uint64_t unwritten_end(struct zc_cache *c, const struct zc_file *f)
{
    uint64_t end = 0;

    zc_list_each (&f->pages, n) {
        const struct zc_page *p = zc_list_entry(n, struct zc_page, file_link);
        const struct zc_extents *sets[] = {&p->dirty, &p->flushing};

        for (int i = 0; i < 2; i++) {
            uint64_t at = zc_page_offset(c, p);

            if (zc_extents_empty(sets[i]))
                continue;
            at += zc_extents_ranges(sets[i])[sets[i]->n - 1].hi;
            if (at > end)
                end = at;
        }
    }
    return end;
}

/* Others may have changed the file: what is clean goes.  0 or -ENOMEM. */
static int outdate(struct zc_cache *c, struct zc_file *f, const struct zc_attr *now, bool busy)
{
    uint64_t end = busy ? f->size : unwritten_end(c, f); /* a write may have ended since */

    zc_show_end(f, now->size > end ? now->size : end);
    if (f->npages == 0)
        return 0;
    zc_info("%s may have changed; what is cached of it and not to be written back is dropped",
            f->path);
    c->st.stale_drops++;
    return zc_file_outdate(c, f);
}

/* The attributes, while nothing of ours is under way: 0; or 1: it is, for too long.  Or a negative
 * errno.  The caller ends `quiet` when it has compared. */
static int calm(struct zc_cache *c, struct zc_file *f, struct zc_sfile *sf, struct zc_attr *now)
{
    struct zc_token *t = &f->token;
    uint64_t until = zc_now() + PATIENCE_MS * ZC_NS_PER_MS;
    int rc;

    t->quiet = true;
    wait_for_looks(c, f); /* one of them may be before a write */
    while (t->writing > 0 && zc_now() < until)
        zc_cond_wait_until(&c->changed, &c->lock, until);
    rc = look(c, f, sf, now);
    t->quiet = false;
    zc_kick(c);
    pthread_cond_broadcast(&c->changed);
    return rc < 0 ? rc : t->writing > 0;
}

int zc_token_attr(struct zc_cache *c, struct zc_file *f, struct zc_attr *now)
{
    int rc = calm(c, f, f->wr, now);

    return rc > 0 ? -EBUSY : rc;
}

/* Nothing has changed since the token was noted. */
static bool holds(const struct zc_token *t, const struct zc_attr *now)
{
    return (t->state == ZC_TOKEN_NOTED || t->state == ZC_TOKEN_OURS) && !t->racy &&
           same(now, &t->attr);
}

/* All changes so far were ours: so is the size, but where nobody else has told us. */
static void take_size(struct zc_file *f, const struct zc_attr *now)
{
    if (now->size > f->size || (f->handles == 0 && !zc_file_unwritten(f)))
        zc_show_end(f, now->size);
}

/* What is clean has been compared, or forgotten, unless rc < 0: then the next one has to. */
static void agreed(struct zc_cache *c, struct zc_file *f, const struct zc_attr *now, int rc,
                   bool busy)
{
    if (rc == 0)
        note(c, f, now);
    if (rc < 0)
        set(c, f, ZC_TOKEN_BROKEN);
    else if (busy)
        set(c, f, ZC_TOKEN_OURS);
}

/* With ctl.  `now` was read from `sf`; fresh: after our last change. */
static int compare(struct zc_cache *c, struct zc_file *f, struct zc_sfile *sf, struct zc_attr *now,
                   bool fresh)
{
    struct zc_token *t = &f->token;
    int busy = 0, rc = 0;

    if (!fresh || (t->state == ZC_TOKEN_OURS && !holds(t, now)))
        busy = calm(c, f, sf, now);
    if (busy < 0)
        return busy;
    if (t->state == ZC_TOKEN_NONE || holds(t, now) || (t->state == ZC_TOKEN_OURS && !busy))
        take_size(f, now);
    else
        rc = outdate(c, f, now, busy);
    agreed(c, f, now, rc, busy);
    return rc;
}

int zc_token_open(struct zc_cache *c, struct zc_file *f, struct zc_sfile *sf, struct zc_attr *attr,
                  uint64_t before)
{
    bool fresh = c->changes == before && f->token.writing == 0 && !f->token.looking;
    int rc = 0;

    if (tells(c) && !vouched(c, f))
        return compare(c, f, sf, attr, fresh);
    wait_for_looks(c, f);
    if (!fresh)
        rc = look(c, f, sf, attr);
    if (rc == 0)
        take_size(f, attr);
    if (rc == 0 && f->handles == 0)
        rc = zc_file_outdate(c, f);
    return rc;
}

int zc_token_refresh(struct zc_cache *c, struct zc_file *f)
{
    struct zc_token *t = &f->token;
    struct zc_attr now;
    bool busy;
    int rc;

    wait_for_looks(c, f);
    busy = t->writing > 0; /* what ends while we look may not be in the size that we see */
    rc = look(c, f, NULL, &now);
    if (rc < 0)
        return rc;
    if (now.size > f->size || (!busy && !zc_file_unwritten(f)))
        zc_show_end(f, now.size);
    if (!tells(c) || c->cfg.transient || t->writing > 0 ||
        !(t->state == ZC_TOKEN_OURS || holds(t, &now)))
        rc = zc_file_outdate(c, f);
    agreed(c, f, &now, rc, t->writing > 0);
    return rc;
}

void zc_token_vouch(struct zc_cache *c, struct zc_file *f)
{
    bool last = f->handles == 1;
    struct zc_attr now;

    if (!tells(c) || (last ? f->npages == 0 : c->cfg.transient))
        return; /* nobody needs it: no page, and the next open takes the size as it is */
    wait_for_looks(c, f);
    if (f->token.writing > 0)
        set(c, f, ZC_TOKEN_OURS);
    else if (look(c, f, NULL, &now) == 0)
        note(c, f, &now);
    else
        set(c, f, ZC_TOKEN_BROKEN);
}

bool zc_token_settle(struct zc_cache *c, struct zc_file *f)
{
    wait_for_looks(c, f);
    if (tells(c) && f->token.state == ZC_TOKEN_OURS && f->npages > 0)
        look_again(c, f);
    return tells(c) && f->token.state != ZC_TOKEN_BROKEN;
}
