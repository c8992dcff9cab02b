/* zc_store_remote_reopen.c - a file at a daemon that is back.
 *
 * A handle belongs to a session.  A call in another session opens the file again by its name, one
 * thread at a time for each file; the reconnector does so for all files as soon as it has a
 * session, so that losses are known without a call.
 *
 * The file has to be the same one: with another inode number or birth time it was replaced, and its
 * unwritten bytes are lost.  With another boot id, the daemon's unstable bytes are lost: the file's
 * verifier changes, and the watchers of the store are called.  Where no cache keeps those bytes
 * (the store is not lossy), each sync and the close fail.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "zc_log.h"
#include "zc_store_remote_internal.h"

/* Known by their identities, in order: those of the first sessions, so that the set stays the same
 * one when a daemon is started again. */
struct zc_set zc_remote_set(const struct remote *r, uint32_t index)
{
    struct zc_set set = {.id = r->n, .index = index, .count = r->n};

    for (uint32_t i = 0; i < r->n; i++) {
        set.id = (set.id ^ r->servers[i].identity) * 0x9e3779b97f4a7c15ull;
        set.id ^= set.id >> 29;
    }
    set.id |= !set.id; /* 0 says nothing */
    return set;
}

void zc_remote_opened(struct rfile *f, const struct zc_stripe_use *use, uint64_t handle,
                      const struct zc_attr *attr)
{
    struct rhandle *h = &f->at[use->index];

    zc_assert_held(&use->remote->lock);
    h->handle = handle;
    h->session = use->session->number;
    h->boot_id = zc_client_boot_id(use->client);
    h->dev = attr->dev;
    h->ino = attr->ino;
    h->born_ns = attr->born_ns;
    h->host = use->session->host;
}

void zc_remote_new_verifier(struct rfile *f, uint32_t i)
{
    struct rhandle *h = &f->at[i];

    zc_assert_held(&remote_of(f->file.store)->lock);
    if (h->progress.unstable_seq != h->progress.committed_seq)
        h->unseen += h->written - h->safe;
    h->progress = (struct zc_progress){.verifier = h->progress.verifier + 1};
    h->lost += h->written - h->safe;
    h->written = h->safe = 0;
}

void zc_remote_let_go(struct rfile *f, uint32_t i)
{
    struct zc_stripe_use use;

    if (!f->at[i].session || !zc_remote_try_get(remote_of(f->file.store), i, &use))
        return;
    if (use.session->number == f->at[i].session)
        zc_client_close(use.client, f->at[i].handle, ZC_LEVEL_VISIBLE);
    zc_remote_put(&use, 0);
}

/* A file that was deleted may have left its number to the next one. */
static bool is_another(const struct rhandle *h, const struct zc_stripe_use *use,
                       const struct zc_attr *attr)
{
    return h->ino != attr->ino || (h->host == use->session->host && h->dev != attr->dev) ||
           (h->born_ns && attr->born_ns && h->born_ns != attr->born_ns);
}

/* Why what was opened is not the file that it was; 0: it is. */
static int check(const struct rfile *f, const struct zc_stripe_use *use, const struct zc_attr *attr)
{
    const struct rhandle *h = &f->at[use->index];

    if (is_another(h, use, attr))
        return zc_errorf(ESTALE, "%s was replaced while its daemon was away", f->path);
    if (attr->block_size != f->place.block_size)
        return zc_errorf(
            EINVAL,
            "%s: %s places blocks of %llu bytes, its other daemons of %llu; give all of "
            "them the same --page-size",
            f->path, zc_client_label(use->client), (unsigned long long)attr->block_size,
            (unsigned long long)f->place.block_size);
    if (attr->width != f->place.width || attr->first != f->place.first)
        return zc_errorf(EINVAL, "%s: %s has its blocks on other daemons than the others", f->path,
                         zc_client_label(use->client));
    return 0;
}

/* Those after which no other attempt will do better. */
static bool is_final(int rc)
{
    return rc == -ESTALE || rc == -EINVAL;
}

/* Opens the file in a session; the epoch is raised before anything is asked of another daemon. */
static int open_again(struct rfile *f, const struct zc_stripe_use *use)
{
    struct remote *r = use->remote;
    struct rhandle *h = &f->at[use->index];
    struct zc_attr attr = {.block_size = f->place.block_size,
                           .width = f->place.width,
                           .first = f->place.first,
                           .stride = f->stride,
                           .set = zc_remote_set(r, use->index)};
    bool died = h->boot_id != zc_client_boot_id(use->client);
    uint64_t handle = 0;
    unsigned flags;
    int rc;

    zc_lock_get(&r->lock);
    flags = f->flags | ZC_OPEN_PLACED | (f->begun ? ZC_OPEN_STEPS_BEGUN : 0);
    zc_lock_put(&r->lock);
    if (died) {
        zc_lock_get(&r->lock);
        zc_remote_new_verifier(f, use->index);
        h->boot_id = zc_client_boot_id(use->client);
        zc_lock_put(&r->lock);
        zc_watchers_tell(&r->watchers);
    }
    rc = zc_client_open(use->client, f->path, flags, 0, &handle, &attr);
    if (rc == -ENOENT)
        rc = zc_errorf(ESTALE, "%s was deleted while its daemon was away", f->path);
    if (rc == 0) {
        rc = check(f, use, &attr);
        if (rc)
            zc_client_close(use->client, handle, ZC_LEVEL_VISIBLE);
        if (rc == -ESTALE)
            zc_errorf(ESTALE, "%s was replaced while its daemon was away", f->path);
        if (rc == 0)
            zc_remote_step_again(f, use->client, handle);
    }
    zc_lock_get(&r->lock);
    if (rc == 0)
        zc_remote_opened(f, use, handle, &attr);
    if (is_final(rc))
        zc_error_keep(&h->error, rc);
    zc_lock_put(&r->lock);
    return rc;
}

/* One thread at a time; with the lock. */
static void take_turn(struct remote *r, struct rfile *f)
{
    while (f->reopening)
        zc_cond_wait(&r->changed, &r->lock);
    f->reopening = true;
}

void zc_rfile_lock(struct rfile *f)
{
    struct remote *r = remote_of(f->file.store);

    zc_lock_get(&r->lock);
    take_turn(r, f);
    zc_lock_put(&r->lock);
}

void zc_rfile_unlock(struct rfile *f)
{
    struct remote *r = remote_of(f->file.store);

    zc_lock_get(&r->lock);
    f->reopening = false;
    pthread_cond_broadcast(&r->changed);
    zc_lock_put(&r->lock);
}

/* Makes sure that the handle is of this session; 1: the server is bypassed by now, or the session
 * is over, and the handle of a later one: what is taken there is not to count as this daemon's. */
static int have_handle(struct rfile *f, const struct zc_stripe_use *use)
{
    struct remote *r = use->remote;
    struct rhandle *h = &f->at[use->index];
    struct zc_error e;
    bool mine, later;
    int rc;

    zc_lock_get(&r->lock);
    if (h->session != use->session->number)
        take_turn(r, f);
    else
        f = NULL; /* no turn was needed */
    mine = h->session == use->session->number;
    later = h->session > use->session->number;
    rc = mine ? 0 : h->bypassed || later ? 1 : h->error.rc;
    if (rc < 0)
        e = h->error;
    zc_lock_put(&r->lock);
    if (rc < 0)
        rc = zc_error_raise(&e);
    else if (rc == 0 && !mine)
        rc = open_again(f, use);
    if (f)
        zc_rfile_unlock(f);
    return rc;
}

/* False: it is of a later session by now. */
static bool take_handle(const struct rfile *f, struct zc_stripe_use *use)
{
    const struct rhandle *h = &f->at[use->index];
    bool mine;

    zc_lock_get(&use->remote->lock);
    mine = h->session == use->session->number;
    use->handle = h->handle;
    zc_lock_put(&use->remote->lock);
    return mine;
}

/* In the session that there is; *again: the call is to be tried anew. */
static int begin_in(struct rfile *f, struct zc_stripe_use *use, bool *again)
{
    int rc = have_handle(f, use);

    if (rc == 0 && !take_handle(f, use))
        rc = 1;
    *again = rc > 0;
    if (rc && zc_remote_put(use, *again ? 0 : rc))
        *again = true;
    return rc;
}

int zc_remote_file_get(struct rfile *f, uint32_t i, struct zc_stripe_use *use)
{
    struct remote *r = remote_of(f->file.store);
    bool again = true;
    int rc = 0;

    while (again && !zc_remote_bypassed(f, i, use)) {
        rc = zc_remote_get(r, i, use);
        if (rc == 0)
            rc = begin_in(f, use, &again);
        else
            again = (rc = zc_remote_bypass(f, i, rc)) == 0;
    }
    return use->here ? 0 : rc;
}

struct rfile *zc_remote_next_file(struct remote *r, struct rfile *f)
{
    struct zc_list *n;

    zc_lock_get(&r->lock);
    n = f ? f->link.next : r->files.next;
    if (f && --f->kept == 0)
        pthread_cond_broadcast(&r->changed);
    f = n == &r->files ? NULL : zc_list_entry(n, struct rfile, link);
    if (f)
        f->kept++;
    zc_lock_put(&r->lock);
    return f;
}

void zc_remote_reopen_all(struct remote *r, uint32_t i)
{
    for (struct rfile *f = zc_remote_next_file(r, NULL); f; f = zc_remote_next_file(r, f)) {
        struct zc_stripe_use use;
        int rc;

        if (!zc_remote_try_get(r, i, &use))
            continue;
        rc = have_handle(f, &use);
        if (rc < 0)
            zc_warn("%s", zc_error_text(rc));
        zc_remote_put(&use, rc);
    }
}

int zc_remote_losses(struct rfile *f)
{
    struct remote *r = remote_of(f->file.store);
    uint64_t lost = 0;

    if (r->store.lossy)
        return 0; /* the cache has kept it */
    zc_lock_get(&r->lock);
    for (uint32_t i = 0; i < r->n; i++)
        lost += f->at[i].lost;
    zc_lock_put(&r->lock);
    if (!lost)
        return 0;
    return zc_errorf(EIO,
                     "%s: up to %llu bytes are lost: a daemon had taken them and died before it "
                     "wrote them",
                     f->path, (unsigned long long)lost);
}
