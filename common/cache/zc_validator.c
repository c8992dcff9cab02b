/* zc_validator.c - the validator of a cached file: when it is compared, noted and void.  The states
 * are drawn in zc_validator.h. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_cache_internal.h"
#include "zc_log.h"
#include "zc_validator.h"

enum {
    RACY_MS = 20,       /* more than two ticks of any kernel clock */
    EVERY_MS = 20,      /* interval for a file that is written all the time */
    PATIENCE_MS = 1000, /* an open waits so long for our own writes to end */
};

/* Changes of store files by caches of this process, including forgotten ones. */
static uint64_t changes;

uint64_t zc_cache_changes(void)
{
    return __atomic_load_n(&changes, __ATOMIC_ACQUIRE);
}

void zc_validator_init(struct zc_validator *t)
{
    zc_list_init(&t->link);
}

/* Whether attributes are usable: something is cached, and no server's cache is below. */
static bool tells(const struct zc_cache *c)
{
    return c->store->servers == 0 && !c->cfg.uncached;
}

/* Whether a live client with the file open excludes changes by other jobs. */
static bool vouched(const struct zc_cache *c, const struct zc_file *f)
{
    return c->cfg.transient && f->handles > 0;
}

static bool same(const struct zc_attr *a, const struct zc_attr *b)
{
    return a->size == b->size && a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

/* Puts the file on or off the list of attributes to read; a file without cached bytes can wait. */
static void place(struct zc_cache *c, struct zc_file *f)
{
    struct zc_validator *t = &f->validator;
    bool ended = t->state == ZC_VALIDATOR_OURS && t->writing == 0 && !vouched(c, f);
    bool want = (ended || (t->state == ZC_VALIDATOR_NOTED && t->racy)) && tells(c);

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

static void set(struct zc_cache *c, struct zc_file *f, enum zc_validator_state state)
{
    f->validator.state = state;
    place(c, f);
}

static void note(struct zc_cache *c, struct zc_file *f, const struct zc_attr *now)
{
    struct zc_validator *t = &f->validator;
    uint64_t old_at = (uint64_t)now->ctime_ns + RACY_MS * ZC_NS_PER_MS,
             real = zc_now_of(CLOCK_REALTIME);

    t->attr = *now;
    t->racy = !now->exact && real < old_at;
    if (t->racy)
        t->look_at = zc_now() + (old_at - real);
    set(c, f, ZC_VALIDATOR_NOTED);
}

/* Reads the attributes, of `sf` or by any way to the file; one thread at a time, and no change of
 * ours begins meanwhile. */
static int look(struct zc_cache *c, struct zc_file *f, struct zc_sfile *sf, struct zc_attr *now)
{
    char *path = NULL;
    int rc = -ENOMEM;

    zc_debug_assert(!f->validator.looking);
    if (!sf)
        sf = f->wr ? f->wr : f->rd;
    if (!sf)
        path = strdup(f->path);
    f->validator.looking = true;
    place(c, f);
    zc_cache_unlock(c);
    if (sf)
        rc = zc_store_getattr(sf, now);
    else if (path)
        rc = zc_store_stat(c->store, path, now);
    free(path);
    zc_lock_get(&c->lock);
    zc_unstable_update(c, f); /* bytes to be sent again are not in the size yet */
    f->validator.looking = false;
    f->validator.looked = zc_now();
    place(c, f);
    pthread_cond_broadcast(&c->changed);
    if (rc == 0 && !sf && (now->dev != f->dev || now->ino != f->ino))
        rc = -ESTALE; /* the name belongs to another file */
    return rc;
}

static void wait_for_looks(struct zc_cache *c, struct zc_file *f)
{
    while (f->validator.looking)
        zc_cache_wait(c);
}

/* ---- our own changes ---- */

void zc_validator_writing(struct zc_cache *c, struct zc_file *f)
{
    struct zc_validator *t = &f->validator;
    struct zc_attr now;

    zc_assert_held(&c->lock);
    while (t->looking || t->quiet)
        zc_cache_wait(c);
    if (t->state == ZC_VALIDATOR_NOTED && tells(c) && !vouched(c, f) &&
        (look(c, f, NULL, &now) < 0 || !same(&now, &t->attr))) {
        zc_info("%s is changed by others while it is written here", f->path);
        set(c, f, ZC_VALIDATOR_BROKEN);
    }
    t->writing++;
    if (t->state == ZC_VALIDATOR_NOTED)
        set(c, f, ZC_VALIDATOR_OURS);
    place(c, f);
}

void zc_validator_written(struct zc_cache *c, struct zc_file *f)
{
    zc_assert_held(&c->lock);
    zc_debug_assert(f->validator.writing > 0);
    f->validator.writing--;
    f->validator.changes++;
    __atomic_add_fetch(&changes, 1, __ATOMIC_RELEASE);
    place(c, f);
    pthread_cond_broadcast(&c->changed);
}

struct zc_file *zc_validator_due(struct zc_cache *c, uint64_t now, uint64_t *wake)
{
    zc_list_each (&c->looks, n) {
        struct zc_validator *t = zc_list_entry(n, struct zc_validator, link);

        if (t->quiet)
            continue;
        if (t->look_at <= now)
            return zc_list_entry(t, struct zc_file, validator);
        if (t->look_at < *wake)
            *wake = t->look_at;
    }
    return NULL;
}

/* Reads the attributes after our writes, or the tick of the last reading, have ended. */
static void look_again(struct zc_cache *c, struct zc_file *f)
{
    struct zc_validator *t = &f->validator;
    struct zc_attr now;
    int rc = look(c, f, NULL, &now);

    if (rc < 0 || (t->state == ZC_VALIDATOR_NOTED && !same(&now, &t->attr))) {
        set(c, f, ZC_VALIDATOR_BROKEN);
    } else if (t->state == ZC_VALIDATOR_NOTED) {
        t->racy = false;
        place(c, f);
    } else {
        note(c, f, &now);
    }
}

void zc_validator_check(struct zc_cache *c, struct zc_file *f)
{
    if (zc_list_linked(&f->validator.link) && !f->validator.quiet)
        look_again(c, f);
}

bool zc_validator_is_due(const struct zc_file *f)
{
    const struct zc_cache *c = f->cache;

    return f->validator.state == ZC_VALIDATOR_OURS && tells(c) && !vouched(c, f);
}

/* Also without cached pages: the size is cached. */
void zc_validator_flushed(struct zc_cache *c, struct zc_file *f)
{
    struct zc_validator *t = &f->validator;

    while (t->looking || t->quiet)
        zc_cache_wait(c);
    if (zc_validator_is_due(f) && t->writing == 0)
        look_again(c, f);
}

/* ---- comparing ---- */

/* Drops clean bytes that others may have changed.  0 or -ENOMEM. */
static int outdate(struct zc_cache *c, struct zc_file *f, const struct zc_attr *now, bool busy)
{
    uint64_t end = busy ? f->size : zc_file_unwritten_end(c, f); /* a write may have ended since */

    zc_publish_eof(f, now->size > end ? now->size : end);
    if (f->npages == 0)
        return 0;
    zc_info("%s may have changed; what is cached of it and not to be written back is dropped",
            f->path);
    c->st.stale_drops++;
    return zc_file_outdate(c, f);
}

/* Reads the attributes while none of our changes is under way: 0; 1: one is, for too long; or a
 * negative errno.  The caller ends `quiet` when it has compared. */
static int calm(struct zc_cache *c, struct zc_file *f, struct zc_sfile *sf, struct zc_attr *now)
{
    struct zc_validator *t = &f->validator;
    uint64_t until = zc_now() + PATIENCE_MS * ZC_NS_PER_MS;
    int rc;

    t->quiet = true;
    wait_for_looks(c, f); /* one of them may be from before a write */
    while (t->writing > 0 && zc_now() < until)
        zc_cond_wait_until(&c->changed, &c->lock, until);
    rc = look(c, f, sf, now);
    t->quiet = false;
    zc_kick(c);
    pthread_cond_broadcast(&c->changed);
    return rc < 0 ? rc : t->writing > 0;
}

int zc_validator_attr(struct zc_cache *c, struct zc_file *f, struct zc_attr *now)
{
    int rc = calm(c, f, f->wr, now);

    return rc > 0 ? -EBUSY : rc;
}

/* Whether nothing has changed since the attributes were noted. */
static bool holds(const struct zc_validator *t, const struct zc_attr *now)
{
    return (t->state == ZC_VALIDATOR_NOTED || t->state == ZC_VALIDATOR_OURS) && !t->racy &&
           same(now, &t->attr);
}

/* Takes the size of the store, if all changes so far were ours or reported to us. */
static void take_size(struct zc_file *f, const struct zc_attr *now)
{
    if (now->size > f->size || (f->handles == 0 && !zc_file_unwritten(f)))
        zc_publish_eof(f, now->size);
}

/* Notes the attributes after clean bytes were compared or dropped; rc < 0: neither succeeded, and
 * the next comparison has to. */
static void agreed(struct zc_cache *c, struct zc_file *f, const struct zc_attr *now, int rc,
                   bool busy)
{
    if (rc == 0)
        note(c, f, now);
    if (rc < 0)
        set(c, f, ZC_VALIDATOR_BROKEN);
    else if (busy)
        set(c, f, ZC_VALIDATOR_OURS);
}

/* Compares; with ctl.  `now` was read from `sf`; fresh: after our last change. */
static int compare(struct zc_cache *c, struct zc_file *f, struct zc_sfile *sf, struct zc_attr *now,
                   bool fresh)
{
    struct zc_validator *t = &f->validator;
    int busy = 0, rc = 0;

    if (!fresh || (t->state == ZC_VALIDATOR_OURS && !holds(t, now)))
        busy = calm(c, f, sf, now);
    if (busy < 0)
        return busy;
    if (t->state == ZC_VALIDATOR_NONE || holds(t, now) || (t->state == ZC_VALIDATOR_OURS && !busy))
        take_size(f, now);
    else
        rc = outdate(c, f, now, busy);
    agreed(c, f, now, rc, busy);
    return rc;
}

int zc_validator_open(struct zc_cache *c, struct zc_file *f, struct zc_sfile *sf,
                      struct zc_attr *attr, uint64_t before)
{
    bool fresh = zc_cache_changes() == before && f->validator.writing == 0 && !f->validator.looking;
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

int zc_validator_refresh(struct zc_cache *c, struct zc_file *f)
{
    struct zc_validator *t = &f->validator;
    struct zc_attr now;
    bool busy;
    int rc;

    wait_for_looks(c, f);
    busy = t->writing > 0; /* a write that ends meanwhile may not be in the size read */
    rc = look(c, f, NULL, &now);
    if (rc < 0)
        return rc;
    if (now.size > f->size || (!busy && !zc_file_unwritten(f)))
        zc_publish_eof(f, now.size);
    if (!tells(c) || c->cfg.transient || t->writing > 0 ||
        !(t->state == ZC_VALIDATOR_OURS || holds(t, &now)))
        rc = zc_file_outdate(c, f);
    agreed(c, f, &now, rc, t->writing > 0);
    return rc;
}

void zc_validator_confirm(struct zc_cache *c, struct zc_file *f)
{
    bool last = f->handles == 1;
    struct zc_attr now;

    if (!tells(c) || (last ? f->npages == 0 : c->cfg.transient))
        return; /* not needed: no page, and the next open reads the size */
    wait_for_looks(c, f);
    if (f->validator.writing > 0)
        set(c, f, ZC_VALIDATOR_OURS);
    else if (look(c, f, NULL, &now) == 0)
        note(c, f, &now);
    else
        set(c, f, ZC_VALIDATOR_BROKEN);
}

bool zc_validator_settle(struct zc_cache *c, struct zc_file *f)
{
    wait_for_looks(c, f);
    if (tells(c) && f->validator.state == ZC_VALIDATOR_OURS && f->npages > 0)
        look_again(c, f);
    return tells(c) && f->validator.state != ZC_VALIDATOR_BROKEN;
}
