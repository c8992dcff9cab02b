/* zcache_attach.c - an open finds those who own the file, or makes its ranks own it; together.
 *
 *     known by a rank? --yes--> its card to all ----> join: open at its owners
 *          | no                                      ^   |
 *          v                                         |   | an owner says that it is gone, or is
 *     make: the ranks of ranklist will own it        |   v gone himself
 *          |                                         |  make, and replace its card
 *          v              another card lies there    |
 *     meet: our card at the file? ------> undo, take it
 *          | it lies there now; or nobody can be met
 *          v
 *     open at the owners
 *
 * All owners of a group know it before its card is left, and as long as anybody has the file open
 * at all of them: so who is let in by all is in a group that has not ended.  They open the file
 * when the card lies there, and so see the size that those of a group before have left.
 *
 * A group of one owner needs no more than that he hears of all ranks, whether they know one, and
 * all of him, what he came to.  Several ask all ranks, introduce themselves, hear from the first
 * what he has met, and say how their opens went.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_cache.h"
#include "zc_log.h"
#include "zc_options.h"
#include "zc_shake.h"
#include "zcache_attach.h"
#include "zcache_attempt.h"
#include "zcache_file.h"
#include "zcache_group.h"
#include "zcache_job_key.h"
#include "zcache_network.h"
#include "zcache_outcome.h"
#include "zcache_vote.h"

static int size_of(MPI_Comm comm)
{
    int size;

    MPI_Comm_size(comm, &size);
    return size;
}

/* ---- a group that is there ---- */

/* The file is attached to a group that somebody has told of, which is taken over. */
static int join(ADIO_File fd, const struct zcache_opening *o, struct zcache_group *g)
{
    struct zcache_attempt a = {.fd = fd, .o = o, .f = zcache_file_of(fd), .g = g, .mine = -1};
    int rc;

    rc = zcache_attempt_take(&a);
    if (rc == 0 && g->place.daemons != o->servers)
        rc = zc_errorf(EINVAL, "%s is open in this job with %u daemons, and not with %u", a.f->path,
                       g->place.daemons, o->servers);
    rc = zcache_attempt_agree(&a, rc);
    if (rc == 0)
        rc = zcache_attempt_look(&a);
    if (rc == 0)
        rc = zcache_attempt_open(&a);
    if (rc == 0)
        zcache_group_enter(a.g, false);
    if (rc) {
        struct zcache_outcome why = {0};

        zcache_outcome_set(&why, rc);
        if (rc == -ESTALE) /* another owner waits for nobody */
            zcache_group_owe(a.g, 0);
        zcache_attempt_undo(&a);
        rc = zc_errorf(-rc, "%s", why.text);
    }
    zcache_attempt_end(&a);
    return rc;
}

/* `root` has the bytes, the others get the group that they are of. */
static int tell(ADIO_File fd, const struct zcache_opening *me, int root, void *bytes, size_t len,
                struct zcache_group **out)
{
    struct zcache_outcome o = {0};
    uint64_t n = len;
    void *card = bytes;
    int rc;

    *out = NULL;
    rc = zcache_outcome_bytes(&n, sizeof n, root, fd->comm);
    if (rc == 0 && me->rank != root)
        card = malloc(n);
    if (rc == 0 && !card)
        rc = zc_errorf(ENOMEM, "no memory for a card of %llu bytes", (unsigned long long)n);
    zcache_outcome_set(&o, rc);
    rc = zcache_outcome_agree(&o, fd->comm);
    if (rc == 0)
        rc = zcache_outcome_bytes(card, n, root, fd->comm);
    if (rc == 0)
        rc = zcache_group_of_card(card, n, me->dev, out);
    if (card && card != bytes)
        zc_forget(card, n);
    if (card != bytes)
        free(card);
    zcache_outcome_set(&o, rc);
    rc = zcache_outcome_agree(&o, fd->comm);
    if (rc) {
        zcache_group_put(*out);
        *out = NULL;
    }
    return rc;
}

/* `mine` is not the group that the file is attached to: what this process has of it is written
 * before anybody writes newer bytes there, and so does not come over them later.  What cannot be
 * written is told to who syncs or closes the open it came by. */
static void write_apart(ADIO_File fd, struct zcache_group *mine)
{
    struct zcache_agg *agg = zcache_group_agg(mine);

    zc_warn("%s: processes of this job that could not know of each other have it open; what "
            "they write meanwhile, each sees after MPI_File_sync only",
            fd->filename);
    if (!agg)
        return;
    zcache_agg_settle(agg);
    zc_cache_flush_file(zcache_agg_cache(agg), mine->dev, mine->ino);
}

/* The group that rank `first`, the lowest that has one, knows: on every rank the same.  `mine`:
 * what this one has, or NULL. */
static int hear_of(ADIO_File fd, const struct zcache_opening *o, int first,
                   struct zcache_group *mine, struct zcache_group **out)
{
    struct zcache_outcome told = {0};
    size_t len = 0;
    void *card = NULL;
    int rc;

    *out = NULL;
    if (o->rank == first)
        zcache_outcome_set(&told, zcache_group_card(mine, &card, &len));
    rc = zcache_outcome_bcast(&told, first, fd->comm);
    if (rc == 0)
        rc = tell(fd, o, first, card, len, out);
    if (card)
        zc_forget(card, len);
    free(card);
    if (rc == 0 && mine && *out != mine)
        write_apart(fd, mine);
    return rc;
}

/* ---- a group of one's own ---- */

/* Whom a new group has met, in place of which it would be. */
struct met {
    int32_t rc;
    char text[400];
    bool ours;   /* our card lies at the file */
    bool theirs; /* another one lay there ... */
    uint64_t number, len;
    bool known; /* a rank has the file open: its group was told of */
    bool other; /* another thread of this process was first */
};

/* By the first owner. */
static int leave_card(struct zcache_attempt *a, uint64_t replaces, struct met *m, void **theirs)
{
    struct zc_sfile *sfile = a->o->sfile, *opened = NULL;
    struct zc_attr attr = {.block_size = a->f->place.block_size};
    struct zc_card found = {0};
    struct zc_seat *seat = NULL;
    size_t len = 0;
    void *card = NULL;
    int rc = zcache_group_card(a->g, &card, &len);

    if (rc == 0 && !sfile) {
        rc = zc_store_open_file(zcache_store_files(a->f->store), a->f->path, a->o->flags, 0,
                                &opened, &attr);
        sfile = opened;
    }
    if (rc == 0)
        rc = zc_store_meet(sfile, zcache_job_key(), card, len, replaces, &seat, &found);
    if (rc == -EOPNOTSUPP) /* nobody can be met */
        rc = 0;
    if (seat)
        zcache_group_sit(a->g, seat);
    if (opened)
        zc_store_close_file(opened, ZC_LEVEL_VISIBLE);
    if (card)
        zc_forget(card, len);
    free(card);
    m->ours = seat;
    m->theirs = rc == 0 && found.bytes;
    m->number = found.number;
    m->len = found.len;
    *theirs = found.bytes;
    return rc;
}

/* Leaves our card, or finds another one; *out: whose it is, or NULL. */
static int meet(struct zcache_attempt *a, uint64_t replaces, struct met *m,
                struct zcache_group **out)
{
    void *theirs = NULL;
    int root = a->ranks[0], known = 1, by_all, rc;
    MPI_Request request = MPI_REQUEST_NULL;

    *out = NULL;
    /* All know the group before anybody can find its card. */
    rc = zcache_outcome_wait(
        MPI_Ireduce(&known, &by_all, 1, MPI_INT, MPI_MIN, root, a->fd->comm, &request), &request);
    if (rc)
        return rc;
    if (a->o->rank == root) {
        m->rc = leave_card(a, replaces, m, &theirs);
        snprintf(m->text, sizeof m->text, "%s", m->rc ? zc_error_text(m->rc) : "");
    }
    rc = zcache_outcome_bytes(m, sizeof *m, root, a->fd->comm);
    if (rc == 0 && m->rc)
        rc = zc_errorf(-m->rc, "%s", m->text);
    if (rc == 0 && m->theirs)
        rc = tell(a->fd, a->o, root, theirs, m->len, out);
    if (theirs)
        zc_forget(theirs, m->len);
    free(theirs);
    return rc;
}

/* Without daemons there is nothing to send again; without room nothing would be kept, and what is
 * needed would go the sooner. */
static uint64_t replay(const struct zc_settings *s, const struct zc_place *place)
{
    bool given = zc_option_given(s, zc_option_find("replay", ZC_SCOPE_HINT));

    if (place->daemons == 0 || (!given && s->agg_cache_size < 2 * place->block_size))
        return ZC_REPLAY_OFF;
    return s->replay;
}

static int new_group(struct zcache_attempt *a)
{
    struct zcache_file *f = a->f;
    uint64_t block = a->o->attr.block_size ? a->o->attr.block_size : f->settings.block_size;
    struct zc_place place = {block, a->o->servers, (uint32_t)a->fd->hints->cb_nodes};

    a->g = zcache_group_new(&place);
    if (!a->g)
        return zc_errorf(ENOMEM, "no memory to open a file");
    a->g->dev = a->o->dev;
    a->g->ino = a->o->attr.ino;
    a->g->write_back = f->settings.write_back;
    a->g->replay = replay(&f->settings, &place);
    a->g->on_daemon_loss = place.daemons ? f->settings.on_daemon_loss : ZC_LOSS_ERROR;
    a->g->checksum = f->settings.checksum;
    return 0;
}

/* On `root`: what all come to. */
static int vote(const struct zcache_attempt *a, int root, bool failed, bool knows,
                struct zcache_votes *all)
{
    int size = size_of(a->fd->comm), rank = a->o->rank;
    struct zcache_ballot mine = {.votes = {failed ? rank : size, knows ? rank : size, a->f->near},
                                 .card = a->o->card};

    return zcache_vote(a->fd->comm, root, &mine, all);
}

static bool all_are_new(const struct zcache_attempt *a, const struct zcache_votes *v)
{
    int size = size_of(a->fd->comm);

    return v->failed == size && v->knows == size;
}

/* The same on every rank from now on. */
static void take_votes(struct zcache_attempt *a, const struct zcache_votes *v)
{
    bool expected = a->f->near;

    a->f->near = v->near;
    if (expected && !v->near)
        zcache_network_warm(&a->f->settings, &a->f->jobs);
}

/* What the only owner tells all others. */
struct word {
    struct zcache_votes votes;
    struct zcache_outcome outcome;
    struct met met;
    struct zcache_entry entry;
};

/* The only owner leaves his card, and opens the file; nobody has to know him before. */
static int own(struct zcache_attempt *a, uint64_t replaces, struct met *m, void **theirs)
{
    int rc = zcache_attempt_present(a);

    if (rc == 0 && !zcache_process_alone())
        rc = leave_card(a, replaces, m, theirs);
    if (rc == 0 && !m->theirs)
        rc = zcache_attempt_open_here(a);
    return rc;
}

/* A group with one owner, in one message to him and one from him.  `failed`, `knows`: this rank;
 * votes: when there are some against it, or for another group, nothing has changed. */
static int make_for_one(struct zcache_attempt *a, bool failed, bool knows, uint64_t replaces,
                        struct zcache_votes *votes, struct met *m, struct zcache_group **out)
{
    int root = a->fd->hints->ranklist[0], rc;
    struct word w;
    void *theirs = NULL;

    memset(&w, 0, sizeof w); /* padding travels, too */
    rc = vote(a, root, failed, knows, &w.votes);
    if (rc)
        return rc;
    if (a->o->rank == root && all_are_new(a, &w.votes)) {
        take_votes(a, &w.votes);
        zcache_outcome_set(&w.outcome, own(a, replaces, &w.met, &theirs));
        w.entry = a->entry;
    }
    rc = zcache_outcome_bytes(&w, sizeof w, root, a->fd->comm);
    *votes = w.votes;
    take_votes(a, votes);
    *m = w.met;
    if (rc == 0 && w.outcome.rc)
        rc = zc_errorf(-w.outcome.rc, "%s", w.outcome.text);
    if (rc == 0 && m->theirs)
        rc = tell(a->fd, a->o, root, theirs, m->len, out);
    else if (rc == 0 && all_are_new(a, votes))
        zcache_attempt_hear(a, &w.entry);
    if (theirs)
        zc_forget(theirs, m->len);
    free(theirs);
    zc_forget(&w, sizeof w);
    return rc;
}

/* A group with several. */
static int make_for_all(struct zcache_attempt *a, bool failed, bool knows, uint64_t replaces,
                        struct zcache_votes *votes, struct met *m, struct zcache_group **out)
{
    int rc = vote(a, 0, failed, knows, votes);

    if (rc == 0)
        rc = zcache_outcome_bytes(votes, sizeof *votes, 0, a->fd->comm);
    if (rc)
        return rc;
    take_votes(a, votes);
    if (!all_are_new(a, votes))
        return 0;
    rc = zcache_attempt_introduce(a);
    if (rc == 0 && !zcache_process_alone())
        rc = meet(a, replaces, m, out);
    return rc || *out ? rc : zcache_attempt_open(a);
}

/* This rank's part of a new group, before any other one is asked. */
static int begin(struct zcache_attempt *a)
{
    int rc = new_group(a);

    if (rc == 0)
        rc = zcache_attempt_take(a);
    for (uint32_t i = 0; rc == 0 && i < a->f->nowners; i++) {
        a->ranks[i] = a->fd->hints->ranklist[i];
        if (a->ranks[i] == a->o->rank)
            a->mine = (int)i;
    }
    return rc;
}

/* The ranks of the communicator come to own the file, unless one of them, when they are asked,
 * knows a group; *out: or another group has the file, and nothing has changed. */
static int make(ADIO_File fd, const struct zcache_opening *o, bool ask, uint64_t replaces,
                struct met *m, struct zcache_group **out)
{
    struct zcache_attempt a = {.fd = fd, .o = o, .f = zcache_file_of(fd), .new = true, .mine = -1};
    struct zcache_group *mine = ask ? zcache_group_find(o->dev, o->attr.ino) : NULL, *entered;
    struct zc_place place = {1, o->servers, (uint32_t)fd->hints->cb_nodes};
    int size = size_of(fd->comm);
    struct zcache_votes votes = {size, size, 0};
    struct zcache_outcome why = {0};
    int rc;

    *out = NULL;
    zcache_outcome_set(&why, begin(&a));
    rc = (zc_place_owners(&place) == 1 ? make_for_one : make_for_all)(&a, why.rc, mine, replaces,
                                                                      &votes, m, out);
    m->known = rc == 0 && votes.knows < size;
    if (m->known) /* who failed may join all the same: that takes all anew, and they agree */
        rc = hear_of(fd, o, (int)votes.knows, mine, out);
    else if (rc == 0 && votes.failed < size)
        rc = zcache_outcome_bcast(&why, (int)votes.failed, fd->comm);
    zcache_group_put(mine);
    if (rc == 0 && !*out) {
        /* of threads that open alone at the same time, one is the first */
        entered = zcache_group_enter(a.g, size == 1 && !m->ours);
        a.f->group = entered;
        if (entered != a.g) {
            m->other = true;
            *out = entered;
            a.f->group = NULL;
        }
    }
    zcache_outcome_set(&why, rc);
    if (rc || *out)
        zcache_attempt_undo(&a);
    zcache_attempt_end(&a);
    return why.rc ? zc_errorf(-why.rc, "%s", why.text) : 0;
}

/* A group that was told of has ended, or is not reached any more.  One that cannot be reached from
 * here (-EHOSTUNREACH) goes on: the file is not opened beside it. */
static bool is_gone(int rc)
{
    return rc == -ESTALE || zcache_network_is_loss(rc);
}

/* Makes a group, or joins the one that was met. */
static int attach(ADIO_File fd, const struct zcache_opening *o, bool ask, uint64_t replaces,
                  struct met *m)
{
    struct zcache_group *g;
    int rc;

    memset(m, 0, sizeof *m);
    rc = make(fd, o, ask, replaces, m, &g);
    return rc == 0 && g ? join(fd, o, g) : rc;
}

int zcache_attach(ADIO_File fd, const struct zcache_opening *o)
{
    struct zc_settings *s = &zcache_file_of(fd)->settings;
    const struct zc_settings wished = *s;
    uint64_t replaces = 0;
    bool ask = true;

    for (;;) {
        struct met m;
        int rc = attach(fd, o, ask, replaces, &m);

        ask = !(m.known && rc == -ESTALE); /* what a rank knows has ended: without it, once */
        if (ask && (rc == 0 || !(m.theirs || m.other) || !is_gone(rc)))
            return rc;
        if (ask)
            replaces = m.number;
        s->block_size = wished.block_size; /* as is asked for, not as in a group that has ended */
        s->write_back = wished.write_back;
        s->replay = wished.replay;
        s->on_daemon_loss = wished.on_daemon_loss;
        s->checksum = wished.checksum;
    }
}

/* ---- the end ---- */

int zcache_detach_flush(ADIO_File fd, enum zc_level level)
{
    struct zcache_file *f = zcache_file_of(fd);
    struct zcache_outcome here = {0};
    int rank, rc = 0;

    MPI_Comm_rank(fd->comm, &rank);
    for (uint32_t i = 0; i < f->nowners; i++) {
        struct zc_handle *h = zcache_owner_here(f, &f->owners[i]);

        if (h)
            zcache_outcome_set(&here, zc_cache_flush(h, level));
    }
    if (rank == 0) /* whatever has become of our own */
        rc = zcache_owners_flush_elsewhere(f, level);
    return here.rc ? zc_errorf(-here.rc, "%s", here.text) : rc;
}

void zcache_detach_doom(ADIO_File fd)
{
    struct zcache_file *f = zcache_file_of(fd);

    for (uint32_t i = 0; i < f->nowners; i++) {
        struct zc_handle *h = zcache_owner_here(f, &f->owners[i]);

        if (h)
            zc_cache_doom(h);
    }
}

/* The first owner, if he is not among the ranks, does not learn that another one could not write:
 * the open that stays at him makes the group stay, until this process ends. */
static bool keeps_there(const struct zcache_file *f, int flushed)
{
    return flushed && !zcache_network_is_loss(flushed) && f->nowners > 1 && f->owners[0].elsewhere;
}

int zcache_detach(ADIO_File fd, int flushed)
{
    struct zcache_file *f = zcache_file_of(fd);
    int rank, rc = 0, there = 0;

    MPI_Comm_rank(fd->comm, &rank);
    for (uint32_t i = 0; i < f->nowners; i++) {
        struct zcache_owner *o = &f->owners[i];

        if (!o->local)
            continue;
        if (o->number)
            zcache_agg_unexport(f->agg, f->near, o->number);
        rc = zc_cache_close(o->local);
    }
    zcache_group_owe(f->group, flushed);
    if (rank == 0 && !keeps_there(f, flushed))
        there = zcache_owners_close_elsewhere(f);
    rc = rc ? rc : there;
    zc_coord_destroy(f->coord);
    f->coord = NULL;
    if (f->agg)
        zcache_agg_put(f->agg);
    f->agg = NULL;
    zcache_file_forget_owners(f);
    zcache_group_put(f->group);
    f->group = NULL;
    return rc;
}
