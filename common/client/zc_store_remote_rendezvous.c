/* zc_store_remote_rendezvous.c - rendezvous records of files behind daemons: the daemon of block 0
 * has them.
 *
 * That daemon is the same for every job that opens the file with these daemons.  A record ends with
 * the session that published it, so the reconnector publishes it again in the next one.  Lookups in
 * between find none; if another record was published meanwhile, that one stays, with a message.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_log.h"
#include "zc_store_remote_internal.h"

struct publication {
    struct zc_publication publication;
    uint32_t daemon; /* fixed, as are these: what it takes to publish the record again */
    char *path;
    unsigned flags;
    struct zc_attr attr; /* block_size, dev, ino */
    char *job;
    void *record;
    size_t len;

    struct zc_list link; /* remote.publications; under the store's lock, as are: */
    uint64_t session;    /* it lies there by this one */
    uint64_t number;
    bool kept; /* the keeper is at it */
};

/* One meeting of this store at a time; no lock is held meanwhile. */
static void take_turn(struct remote *r)
{
    zc_lock_get(&r->lock);
    while (r->publishing)
        zc_cond_wait(&r->changed, &r->lock);
    r->publishing = true;
    zc_lock_put(&r->lock);
}

static void end_turn(struct remote *r)
{
    zc_lock_get(&r->lock);
    r->publishing = false;
    pthread_cond_broadcast(&r->changed);
    zc_lock_put(&r->lock);
}

static void publication_free(struct publication *s)
{
    if (!s)
        return;
    free(s->path);
    free(s->job);
    if (s->record)
        zc_forget(s->record, s->len);
    free(s->record);
    free(s);
}

void zc_remote_publications_free(struct remote *r)
{
    struct zc_list *n;

    while ((n = zc_list_pop(&r->publications)))
        publication_free(zc_list_entry(n, struct publication, link));
}

static struct publication *publication_new(const struct rfile *f, const char *job,
                                           const void *record, size_t len)
{
    struct publication *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->publication.store = f->file.store;
    s->daemon = zc_stripe_daemon(&f->place, 0);
    s->path = strdup(f->path);
    s->flags = f->flags;
    s->attr = (struct zc_attr){.block_size = f->place.block_size,
                               .width = f->place.width,
                               .first = f->place.first,
                               .dev = f->at[s->daemon].dev,
                               .ino = f->at[s->daemon].ino};
    s->job = strdup(job);
    s->record = malloc(len ? len : 1);
    s->len = len;
    if (!s->path || !s->job || !s->record) {
        publication_free(s);
        return NULL;
    }
    if (record)
        memcpy(s->record, record, len);
    return s;
}

/* Notes that the record is published. */
static void sit(struct remote *r, struct publication *s, const struct zc_stripe_use *use)
{
    zc_lock_get(&r->lock);
    s->session = use->session->number;
    zc_list_add_tail(&r->publications, &s->link);
    zc_lock_put(&r->lock);
}

int zc_remote_rendezvous(struct zc_sfile *sf, const char *job, const void *record, size_t len,
                         uint64_t replaces, struct zc_publication **mine,
                         struct zc_rendezvous_record *theirs)
{
    struct remote *r = remote_of(sf->store);
    struct rfile *f = rfile_of(sf);
    struct publication *s = publication_new(f, job, record, len);
    struct zc_stripe_use use;
    int rc;

    if (!s)
        return zc_errorf(ENOMEM, "no memory for a rendezvous record");
    take_turn(r);
    do {
        rc = zc_remote_file_get(f, s->daemon, &use);
        if (rc == 0 && use.here)
            rc = zc_errorf(EOPNOTSUPP, "the daemon that has the rendezvous records is bypassed");
        if (rc == 0 && !record)
            rc = zc_client_find_record(use.client, use.handle, job, replaces, theirs);
        else if (rc == 0)
            rc = zc_client_rendezvous(use.client, use.handle, job, record, len, replaces,
                                      &s->number, theirs);
        if (rc == 0 && s->number)
            sit(r, s, &use);
    } while (zc_remote_put(&use, rc)); /* what was left in a session that is over is gone with it */
    end_turn(r);
    if (rc == 0 && s->number)
        *mine = &s->publication;
    else
        publication_free(s);
    return rc;
}

int zc_remote_withdraw(struct zc_publication *mine)
{
    struct remote *r = remote_of(mine->store);
    struct publication *s = (struct publication *)mine;
    struct zc_stripe_use use;
    int rc = 0;

    zc_lock_get(&r->lock);
    while (s->kept)
        zc_cond_wait(&r->changed, &r->lock);
    zc_list_del(&s->link);
    zc_lock_put(&r->lock);
    if (zc_remote_try_get(r, s->daemon, &use)) {
        if (s->number && use.session->number == s->session)
            rc = zc_client_withdraw(use.client, s->number);
        if (zc_remote_put(&use, rc))
            rc = 0;
    }
    publication_free(s);
    return rc;
}

/* ---- a server that is back ---- */

/* Publishes the record; returns 0 if the file is another one now, or has another record.
 */
static uint64_t leave_again(const struct publication *s, const struct zc_stripe_use *use)
{
    struct zc_attr attr = {.block_size = s->attr.block_size,
                           .width = s->attr.width,
                           .first = s->attr.first,
                           .set = zc_remote_set(use->remote, use->index)};
    struct zc_rendezvous_record theirs = {0};
    uint64_t handle, number = 0;
    int rc = zc_client_open(use->client, s->path, s->flags | ZC_OPEN_PLACED, 0, &handle, &attr);

    if (rc == 0) {
        if (attr.ino == s->attr.ino)
            rc = zc_client_rendezvous(use->client, handle, s->job, s->record, s->len, 0, &number,
                                      &theirs);
        zc_client_close(use->client, handle, ZC_LEVEL_VISIBLE);
    }
    if (rc)
        zc_warn("%s: later opens by other communicators may not find this one: %s", s->path,
                zc_error_text(rc));
    else if (theirs.bytes)
        zc_warn(
            "%s: it was opened anew while its daemon was away; opens by other communicators may "
            "find either",
            s->path);
    if (theirs.bytes)
        zc_forget(theirs.bytes, theirs.len);
    free(theirs.bytes);
    return number;
}

/* A seat whose record is not of this session, kept; NULL: none. */
static struct publication *next_publication(struct remote *r, const struct zc_stripe_use *use)
{
    struct publication *found = NULL;

    zc_lock_get(&r->lock);
    zc_list_each (&r->publications, n) {
        struct publication *s = zc_list_entry(n, struct publication, link);

        if (s->daemon != use->index || s->session == use->session->number)
            continue;
        s->kept = true;
        found = s;
        break;
    }
    zc_lock_put(&r->lock);
    return found;
}

void zc_remote_republish(struct remote *r, uint32_t i)
{
    struct zc_stripe_use use;
    struct publication *s;

    if (!zc_remote_try_get(r, i, &use))
        return;
    take_turn(r);
    while ((s = next_publication(r, &use))) {
        uint64_t number = leave_again(s, &use);

        zc_lock_get(&r->lock);
        s->number = number;
        s->session = use.session->number;
        s->kept = false;
        pthread_cond_broadcast(&r->changed);
        zc_lock_put(&r->lock);
    }
    end_turn(r);
    zc_remote_put(&use, 0);
}
