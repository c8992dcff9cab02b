/* zc_store_remote_meet.c - cards at files behind daemons: they lie at the daemon of block 0.
 *
 * That one is the same for every job that opens the file with these daemons.
 */
#include "config.h"

#include <stdlib.h>

#include "zc_log.h"
#include "zc_store_remote_internal.h"

struct seat {
    struct zc_seat seat;
    uint32_t daemon;
    uint64_t number;
};

/* One meeting of this store at a time; no lock is held meanwhile. */
static void take_turn(struct remote *r)
{
    zc_lock_get(&r->lock);
    while (r->meeting)
        zc_cond_wait(&r->met, &r->lock);
    r->meeting = true;
    zc_lock_put(&r->lock);
}

static void end_turn(struct remote *r)
{
    zc_lock_get(&r->lock);
    r->meeting = false;
    pthread_cond_signal(&r->met);
    zc_lock_put(&r->lock);
}

int zc_remote_meet(struct zc_sfile *sf, const char *job, const void *card, size_t len,
                   uint64_t replaces, struct zc_seat **mine, struct zc_card *theirs)
{
    struct remote *r = remote_of(sf->store);
    struct rfile *f = rfile_of(sf);
    struct seat *s = calloc(1, sizeof *s);
    int rc;

    if (!s)
        return zc_errorf(ENOMEM, "no memory for a card");
    s->seat.store = sf->store;
    s->daemon = zc_place_daemon(&f->place, 0);
    take_turn(r);
    rc = zc_client_meet(r->clients[s->daemon], f->handles[s->daemon], job, card, len, replaces,
                        &s->number, theirs);
    end_turn(r);
    if (s->number)
        *mine = &s->seat;
    else
        free(s);
    return rc;
}

int zc_remote_part(struct zc_seat *mine)
{
    struct seat *s = (struct seat *)mine;
    int rc = zc_client_part(remote_of(mine->store)->clients[s->daemon], s->number);

    free(s);
    return rc;
}
