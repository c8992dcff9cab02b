/* zc_store_remote_commit.c - what the daemons of a file have taken, and how far they have stored
 * it.
 *
 * Replies to writes and COMMITTED messages say so (doc/PROTOCOL.md); numbers are a daemon's own,
 * for each file, and those of one that has died since are void.
 */
#include "config.h"

#include "zc_store_remote_internal.h"

/* With the lock; true: it has moved on. */
static bool stored_up_to(struct rhandle *h, uint64_t stored)
{
    if (stored <= h->progress.committed_seq)
        return false;
    h->progress.committed_seq = stored;
    return true;
}

void zc_remote_took(struct rfile *f, const struct zc_stripe_use *use, uint64_t bytes,
                    uint64_t taken, uint64_t stored)
{
    struct remote *r = use->remote;
    struct rhandle *h = &f->at[use->index];
    bool through = f->flags & ZC_OPEN_THROUGH, moved = false;

    zc_lock_get(&r->lock);
    if (h->boot_id == zc_client_boot_id(use->client)) {
        h->written += through ? 0 : bytes;
        h->progress.unstable_seq =
            taken > h->progress.unstable_seq ? taken : h->progress.unstable_seq;
        moved = stored_up_to(h, stored);
    } else {
        h->lost += through ? 0 : bytes; /* with one that has died since */
    }
    zc_lock_put(&r->lock);
    if (moved)
        zc_watchers_tell(&r->watchers);
}

bool zc_remote_all_committed(struct remote *r, uint32_t i, const struct session *s)
{
    zc_assert_held(&r->lock);
    zc_list_each (&r->files, n) {
        const struct rhandle *h = &zc_list_entry(n, struct rfile, link)->at[i];

        if (h->session == s->number && h->progress.committed_seq < h->progress.unstable_seq)
            return false;
    }
    return true;
}

/* The session of a client, whether it goes on or ends; NULL: none. */
static const struct session *session_of(const struct server *sv, const struct zc_client *c)
{
    if (sv->session && sv->session->client == c)
        return sv->session;
    return sv->ending && sv->ending->client == c ? sv->ending : NULL;
}

void zc_remote_committed(void *remote, struct zc_client *c, uint64_t handle, uint64_t stored)
{
    struct remote *r = remote;
    bool moved = false;

    zc_lock_get(&r->lock);
    zc_list_each (&r->files, n) {
        struct rfile *f = zc_list_entry(n, struct rfile, link);

        for (uint32_t i = 0; i < r->n; i++) {
            const struct session *s = session_of(&r->servers[i], c);

            if (s && f->at[i].session == s->number && f->at[i].handle == handle)
                moved = stored_up_to(&f->at[i], stored) || moved;
        }
    }
    zc_lock_put(&r->lock);
    if (moved)
        zc_watchers_tell(&r->watchers);
}

uint32_t zc_remote_server(const struct zc_sfile *sf, uint64_t off)
{
    const struct zc_stripe *p = &((const struct rfile *)sf)->place;

    return zc_stripe_daemon(p, zc_stripe_block(p, off));
}

void zc_remote_progress(struct zc_sfile *sf, uint32_t server, struct zc_progress *out)
{
    struct remote *r = remote_of(sf->store);

    zc_lock_get(&r->lock);
    *out = rfile_of(sf)->at[server].progress;
    rfile_of(sf)->at[server].unseen = 0;
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
