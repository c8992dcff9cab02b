/* zc_store_remote_taken.c - what the daemons of a file have taken, and how far they have stored it.
 *
 * Replies to writes and STORED messages say so (doc/PROTOCOL.md); numbers are a daemon's own, for
 * each file.  A reply counts for the epoch that its write began in.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "zc_store_remote_internal.h"

int zc_remote_taken_begin(struct rfile *f)
{
    struct remote *r = remote_of(f->file.store);

    f->progress = calloc(r->n, sizeof *f->progress);
    if (!f->progress)
        return -ENOMEM;
    zc_lock_get(&r->lock);
    zc_list_add_tail(&r->files, &f->link);
    zc_lock_put(&r->lock);
    return 0;
}

void zc_remote_taken_end(struct rfile *f)
{
    struct remote *r = remote_of(f->file.store);

    zc_lock_get(&r->lock);
    zc_list_del(&f->link);
    zc_lock_put(&r->lock);
    free(f->progress);
}

/* With the lock; true: it has moved on. */
static bool stored_up_to(struct zc_progress *p, uint64_t stored)
{
    if (stored <= p->stored)
        return false;
    p->stored = stored;
    return true;
}

uint64_t zc_remote_epoch(struct rfile *f, uint32_t daemon)
{
    struct remote *r = remote_of(f->file.store);
    uint64_t epoch;

    zc_lock_get(&r->lock);
    epoch = f->progress[daemon].epoch;
    zc_lock_put(&r->lock);
    return epoch;
}

void zc_remote_took(struct rfile *f, uint32_t daemon, uint64_t epoch, const struct zc_io *io)
{
    struct remote *r = remote_of(f->file.store);
    struct zc_progress *p = &f->progress[daemon];
    bool moved = false;

    zc_lock_get(&r->lock);
    if (p->epoch == epoch) {
        p->taken = io->taken > p->taken ? io->taken : p->taken;
        moved = stored_up_to(p, io->stored);
    }
    zc_lock_put(&r->lock);
    if (moved)
        zc_watchers_tell(&r->watchers);
}

void zc_remote_stored(void *remote, struct zc_client *c, uint64_t handle, uint64_t stored)
{
    struct remote *r = remote;
    bool moved = false;

    zc_lock_get(&r->lock);
    zc_list_each (&r->files, n) {
        struct rfile *f = zc_list_entry(n, struct rfile, link);

        for (uint32_t i = 0; i < r->n; i++)
            if (r->clients[i] == c && f->handles[i] == handle)
                moved = stored_up_to(&f->progress[i], stored) || moved;
    }
    zc_lock_put(&r->lock);
    if (moved)
        zc_watchers_tell(&r->watchers);
}

uint32_t zc_remote_server(const struct zc_sfile *sf, uint64_t off)
{
    const struct zc_place *p = &((const struct rfile *)sf)->place;

    return zc_place_daemon(p, zc_place_block(p, off));
}

void zc_remote_progress(struct zc_sfile *sf, uint32_t server, struct zc_progress *out)
{
    struct remote *r = remote_of(sf->store);

    zc_lock_get(&r->lock);
    *out = rfile_of(sf)->progress[server];
    zc_lock_put(&r->lock);
}

void zc_remote_watch(struct zc_store *s, struct zc_watch *w)
{
    zc_watchers_add(&remote_of(s)->watchers, w);
}

void zc_remote_unwatch(struct zc_store *s, struct zc_watch *w)
{
    zc_watchers_remove(&remote_of(s)->watchers, w);
}
