/* zc_cache_steps.c - which step of a file a cache shows (zc_store_step()).
 *
 * All opens of a file share its pages, and so the step.  Cached bytes of another step become
 * outdated as in a refresh: accesses that began before end with what they saw, and the results of
 * store reads under way are thrown away.
 */
#include "config.h"

#include <errno.h>

#include "zc_cache_internal.h"
#include "zc_log.h"

bool zc_cache_has_steps(const struct zc_handle *h)
{
    return h->file->cache->store->ops->step;
}

int zc_file_check_steps(const struct zc_file *f, unsigned flags)
{
    bool reads = flags & ZC_OPEN_STEP_READER && (f->rd || f->wr) && !f->step_reader;
    bool writes = flags & ZC_OPEN_STEPS && f->wr && !f->step_writer;

    if (!f->cache->store->ops->step || !(reads || writes))
        return 0;
    return zc_errorf(EBUSY, "%s is open in this job without %s: give that hint to the first open",
                     f->path, reads ? "zcache_wait_step" : "zcache_steps");
}

/* If a file has several daemons, its times show each of them the changes made by the others; it
 * would drop the cached bytes that readers of steps need. */
bool zc_file_trusts_steps(const struct zc_file *f, unsigned flags)
{
    return flags & ZC_OPEN_STEP_READER && f->handles && f->wr && f->step_writer;
}

void zc_file_note_steps(struct zc_file *f, unsigned flags)
{
    if (!f->rd && !f->wr)
        f->step_reader = flags & ZC_OPEN_STEP_READER;
    if (!f->wr && flags & ZC_OPEN_WRITE)
        f->step_writer = flags & ZC_OPEN_STEPS;
}

int zc_cache_read_step(struct zc_handle *h, uint64_t step)
{
    struct zc_step_request q = {.call = ZC_STEP_CALL_READ, .number = step};
    struct zc_file *f = h->file;
    struct zc_cache *c = f->cache;
    struct zc_attr now = {0};
    struct zc_sfile *sf;
    int rc;

    zc_error_clear();
    zc_lock_get(&c->lock);
    zc_ctl_get(c, f);
    sf = f->rd ? f->rd : f->wr;
    zc_cache_unlock(c);
    rc = zc_store_step(sf, &q); /* sf stays open while this thread holds ctl and a handle */
    if (rc == 0)
        rc = zc_store_getattr(sf, &now);
    zc_lock_get(&c->lock);
    if (rc == 0) {
        zc_publish_eof(f, now.size);
        rc = zc_file_outdate(c, f);
    }
    zc_ctl_put(c, f);
    zc_cache_unlock(c);
    return rc;
}
