/* zc_store_remote_meet.c - cards at files behind daemons: they lie at the daemon of block 0.
 *
 * That one is the same for every job that opens the file with these daemons.  A card ends with the
 * session that left it, so the keeper leaves it again in the next one.  Who looks for it in between
 * finds none; when somebody has left another one meanwhile, that stays, and a message says so.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_log.h"
#include "zc_store_remote_internal.h"

struct seat {
    struct zc_seat seat;
    uint32_t daemon; /* fixed, as are these: what it takes to leave the card again */
    char *path;
    unsigned flags;
    struct zc_attr attr; /* block_size, dev, ino */
    char *job;
    void *card;
    size_t len;

    struct zc_list link; /* remote.seats; under the store's lock, as are: */
    uint64_t session;    /* it lies there by this one */
    uint64_t number;
    bool kept; /* the keeper is at it */
};

/* One meeting of this store at a time; no lock is held meanwhile. */
static void take_turn(struct remote *r)
{
    zc_lock_get(&r->lock);
    while (r->meeting)
        zc_cond_wait(&r->changed, &r->lock);
    r->meeting = true;
    zc_lock_put(&r->lock);
}

static void end_turn(struct remote *r)
{
    zc_lock_get(&r->lock);
    r->meeting = false;
    pthread_cond_broadcast(&r->changed);
    zc_lock_put(&r->lock);
}

static void seat_free(struct seat *s)
{
    if (!s)
        return;
    free(s->path);
    free(s->job);
    if (s->card)
        zc_forget(s->card, s->len);
    free(s->card);
    free(s);
}

void zc_remote_seats_free(struct remote *r)
{
    struct zc_list *n;

    while ((n = zc_list_pop(&r->seats)))
        seat_free(zc_list_entry(n, struct seat, link));
}

static struct seat *seat_new(const struct rfile *f, const char *job, const void *card, size_t len)
{
    struct seat *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->seat.store = f->file.store;
    s->daemon = zc_place_daemon(&f->place, 0);
    s->path = strdup(f->path);
    s->flags = f->flags;
    s->attr = (struct zc_attr){.block_size = f->place.block_size,
                               .dev = f->at[s->daemon].dev,
                               .ino = f->at[s->daemon].ino};
    s->job = strdup(job);
    s->card = malloc(len ? len : 1);
    s->len = len;
    if (!s->path || !s->job || !s->card) {
        seat_free(s);
        return NULL;
    }
    memcpy(s->card, card, len);
    return s;
}

/* The card lies there. */
static void sit(struct remote *r, struct seat *s, const struct use *use)
{
    zc_lock_get(&r->lock);
    s->session = use->session->number;
    zc_list_add_tail(&r->seats, &s->link);
    zc_lock_put(&r->lock);
}

int zc_remote_meet(struct zc_sfile *sf, const char *job, const void *card, size_t len,
                   uint64_t replaces, struct zc_seat **mine, struct zc_card *theirs)
{
    struct remote *r = remote_of(sf->store);
    struct rfile *f = rfile_of(sf);
    struct seat *s = seat_new(f, job, card, len);
    struct use use;
    int rc;

    if (!s)
        return zc_errorf(ENOMEM, "no memory for a card");
    take_turn(r);
    do {
        rc = zc_remote_begin(f, s->daemon, &use);
        if (rc == 0 && use.direct)
            rc = zc_errorf(EOPNOTSUPP, "the daemon at which cards lie is bypassed");
        if (rc == 0)
            rc = zc_client_meet(use.client, use.handle, job, card, len, replaces, &s->number,
                                theirs);
        if (rc == 0 && s->number)
            sit(r, s, &use);
    } while (zc_remote_end(&use, rc)); /* what was left in a session that is over is gone with it */
    end_turn(r);
    if (rc == 0 && s->number)
        *mine = &s->seat;
    else
        seat_free(s);
    return rc;
}

int zc_remote_part(struct zc_seat *mine)
{
    struct remote *r = remote_of(mine->store);
    struct seat *s = (struct seat *)mine;
    struct use use;
    int rc = 0;

    zc_lock_get(&r->lock);
    while (s->kept)
        zc_cond_wait(&r->changed, &r->lock);
    zc_list_del(&s->link);
    zc_lock_put(&r->lock);
    if (zc_remote_use_now(r, s->daemon, &use)) {
        if (s->number && use.session->number == s->session)
            rc = zc_client_part(use.client, s->number);
        if (zc_remote_end(&use, rc))
            rc = 0;
    }
    seat_free(s);
    return rc;
}

/* ---- a server that is back ---- */

/* Leaves the card at the file; 0 where that is another one now, or somebody else's card is there.
 */
static uint64_t leave_again(const struct seat *s, const struct use *use)
{
    struct zc_attr attr = {.block_size = s->attr.block_size,
                           .set = zc_remote_set(use->remote, use->index)};
    struct zc_card theirs = {0};
    uint64_t handle, number = 0;
    int rc = zc_client_open(use->client, s->path, s->flags | ZC_OPEN_PLACED, 0, &handle, &attr);

    if (rc == 0) {
        if (attr.ino == s->attr.ino)
            rc = zc_client_meet(use->client, handle, s->job, s->card, s->len, 0, &number, &theirs);
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

/* A seat whose card is not of this session, kept; NULL: none. */
static struct seat *next_seat(struct remote *r, const struct use *use)
{
    struct seat *found = NULL;

    zc_lock_get(&r->lock);
    zc_list_each (&r->seats, n) {
        struct seat *s = zc_list_entry(n, struct seat, link);

        if (s->daemon != use->index || s->session == use->session->number)
            continue;
        s->kept = true;
        found = s;
        break;
    }
    zc_lock_put(&r->lock);
    return found;
}

void zc_remote_meet_again(struct remote *r, uint32_t i)
{
    struct use use;
    struct seat *s;

    if (!zc_remote_use_now(r, i, &use))
        return;
    take_turn(r);
    while ((s = next_seat(r, &use))) {
        uint64_t number = leave_again(s, &use);

        zc_lock_get(&r->lock);
        s->number = number;
        s->session = use.session->number;
        s->kept = false;
        pthread_cond_broadcast(&r->changed);
        zc_lock_put(&r->lock);
    }
    end_turn(r);
    zc_remote_end(&use, 0);
}
