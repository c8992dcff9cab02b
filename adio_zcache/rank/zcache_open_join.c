/* zcache_open_join.c - finds the owner set of a file, or makes the ranks of an open its owners;
 * collective.
 *
 *     known by a rank? --yes--> its record to all --> join: open at its owners
 *          | no                                       ^   |
 *          v                                          |   | an owner no longer knows the set,
 *     make: the ranks of ranklist will own it         |   v or is gone itself
 *          |                                          |  make, and replace its record
 *          v              another record is there     |
 *     rendezvous: our record at the file? ---> undo, take it
 *          | published; or the store has no rendezvous
 *          v
 *     open at the owners
 *
 * All owners of a set know it before its record is published, and as long as any process has the
 * file open at all of them: so an open that all owners admit is in a set that has not ended.  They
 * open the file after the record is published, and so see the size left by an earlier set.
 *
 * If the ranks are all processes of the job, no other process can look for the set: each process
 * knows it as long as it has the file open.  Then no record is published; the close of that open
 * publishes one if the set outlives it.
 *
 * Such an open needs a single round of messages if rank 0 is to be the only owner, all ranks were
 * found to be on one host before, and each rank knows only sets made by opens of the whole job,
 * which rank 0 knows as well.  The ranks say so together with whether they can take part, and rank
 * 0 opens the file as its owner before it announces what it found (zcache_open_quick_own()).
 *
 * A set of one owner needs a message to it that combines all ranks' inputs, and one from it to all
 * with the result.  A set of several owners exchanges inputs, introduces its owners, gets the first
 * one's rendezvous, and then combines the results of the opens.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_cache.h"
#include "zc_handshake.h"
#include "zc_log.h"
#include "zc_options.h"
#include "zcache_agree.h"
#include "zcache_collective_error.h"
#include "zcache_dedicated.h"
#include "zcache_file.h"
#include "zcache_job_key.h"
#include "zcache_network.h"
#include "zcache_open_join.h"
#include "zcache_open_owners.h"
#include "zcache_ownerset.h"

static int size_of(MPI_Comm comm)
{
    int size;

    MPI_Comm_size(comm, &size);
    return size;
}

/* ---- an existing owner set ---- */

/* Opens the file at an owner set that another rank or process has made. */
static int join(ADIO_File fd, const struct zcache_opening *o, struct zcache_ownerset *g)
{
    struct zcache_open_owners a = {.fd = fd, .o = o, .f = zcache_file_of(fd), .g = g, .mine = -1};
    int rc;

    rc = zcache_open_owners_take(&a);
    if (rc == 0 && g->stripe.daemons != o->servers)
        rc = zc_errorf(EINVAL, "%s is open in this job with %u daemons, and not with %u", a.f->path,
                       g->stripe.daemons, o->servers);
    rc = zcache_open_owners_agree(&a, rc);
    if (rc == 0)
        rc = zcache_open_owners_check(&a);
    if (rc == 0)
        rc = zcache_open_owners_open(&a);
    if (rc == 0)
        zcache_ownerset_enter(a.g, false);
    if (rc == 0 && !zcache_process_whole_job(fd->comm))
        zcache_ownerset_set_whole(a.g, false);
    if (rc) {
        struct zc_error why = {0};

        zc_error_keep(&why, rc);
        if (rc == -ESTALE) /* another owner does not wait */
            zcache_ownerset_owe(a.g, 0);
        zcache_open_owners_undo(&a);
        rc = zc_error_raise(&why);
    }
    zcache_open_owners_end(&a);
    return rc;
}

/* `root` has the record, the others get the owner set it describes. */
static int tell(ADIO_File fd, const struct zcache_opening *me, int root, void *bytes, size_t len,
                struct zcache_ownerset **out)
{
    struct zc_error o = {0};
    uint64_t n = len;
    void *record = bytes;
    int rc;

    *out = NULL;
    rc = zcache_collective_error_bytes(&n, sizeof n, root, fd->comm);
    if (rc == 0 && me->rank != root)
        record = malloc(n);
    if (rc == 0 && !record)
        rc = zc_errorf(ENOMEM, "no memory for a rendezvous record of %llu bytes",
                       (unsigned long long)n);
    zc_error_keep(&o, rc);
    rc = zcache_collective_error_agree(&o, fd->comm);
    if (rc == 0)
        rc = zcache_collective_error_bytes(record, n, root, fd->comm);
    if (rc == 0)
        rc = zcache_ownerset_of_record(record, n, me->dev, out);
    if (record && record != bytes)
        zc_forget(record, n);
    if (record != bytes)
        free(record);
    zc_error_keep(&o, rc);
    rc = zcache_collective_error_agree(&o, fd->comm);
    if (rc) {
        zcache_ownerset_put(*out);
        *out = NULL;
    }
    return rc;
}

/* `mine` is not the owner set that the file is opened at: this process's bytes are written before
 * newer bytes are written elsewhere, and so do not overwrite them later.  What cannot be written is
 * reported by the sync or close of the open that wrote it. */
static void write_apart(ADIO_File fd, struct zcache_ownerset *mine)
{
    struct zcache_agg *agg = zcache_ownerset_agg(mine);

    zc_warn("%s: processes of this job that could not know of each other have it open; what "
            "they write meanwhile, each sees after MPI_File_sync only",
            fd->filename);
    if (!agg)
        return;
    zcache_agg_settle(agg);
    zc_cache_flush_file(zcache_agg_cache(agg), mine->dev, mine->ino);
}

/* Distributes the owner set that rank `first`, the lowest with one, knows: the same on every rank.
 * `mine`: this rank's own, or NULL. */
static int hear_of(ADIO_File fd, const struct zcache_opening *o, int first,
                   struct zcache_ownerset *mine, struct zcache_ownerset **out)
{
    struct zc_error told = {0};
    size_t len = 0;
    void *record = NULL;
    int rc;

    *out = NULL;
    if (o->rank == first)
        zc_error_keep(&told, zcache_ownerset_record(mine, &record, &len));
    rc = zcache_collective_error_bcast(&told, first, fd->comm);
    if (rc == 0)
        rc = tell(fd, o, first, record, len, out);
    if (record)
        zc_forget(record, len);
    free(record);
    if (rc == 0 && mine && *out != mine)
        write_apart(fd, mine);
    return rc;
}

/* ---- a new owner set ---- */

/* Result of the rendezvous of a new owner set. */
struct met {
    struct zc_error error;
    bool ours;   /* our record is at the file */
    bool theirs; /* another one was there ... */
    uint64_t number, len;
    bool known; /* a rank has the file open, and its owner set was distributed */
    bool other; /* another thread of this process was first */
};

/* By the first owner. */
static int leave_record(struct zcache_open_owners *a, uint64_t replaces, struct met *m,
                        void **theirs)
{
    struct zc_sfile *sfile = *a->o->sfile, *opened = NULL;
    struct zc_attr attr = zcache_file_placement(a->f);
    struct zc_rendezvous_record found = {0};
    struct zc_publication *publication = NULL;
    size_t len = 0;
    void *record = NULL;
    int rc = zcache_ownerset_record(a->g, &record, &len);

    if (rc == 0 && !sfile) {
        rc = zc_store_open_file(zcache_store_files(a->f->store), a->f->path,
                                zcache_file_flags(a->f, a->o->flags), 0, &opened, &attr);
        sfile = opened;
    }
    if (rc == 0)
        rc = zc_store_rendezvous(sfile, zcache_job_key(), record, len, replaces, &publication,
                                 &found);
    if (rc == -EOPNOTSUPP) /* the store has no rendezvous */
        rc = 0;
    if (publication)
        zcache_ownerset_sit(a->g, publication);
    if (opened)
        zc_store_close_file(opened, ZC_LEVEL_VISIBLE);
    if (record)
        zc_forget(record, len);
    free(record);
    m->ours = publication;
    m->theirs = rc == 0 && found.bytes;
    m->number = found.number;
    m->len = found.len;
    *theirs = found.bytes;
    return rc;
}

/* Publishes the record of an owner set of the whole job that outlives the open that made it: other
 * processes have to find it.  By the first owner, while the file is open there. */
static void leave_record_late(ADIO_File fd)
{
    struct zcache_opening o = {.flags = fd->access_mode & ADIO_WRONLY ? ZC_OPEN_WRITE | ZC_OPEN_SOLE
                                                                      : ZC_OPEN_READ};
    struct zcache_open_owners a = {.fd = fd, .o = &o, .f = zcache_file_of(fd)};
    struct zc_sfile *none = NULL;
    void *theirs = NULL;
    struct met m = {0};
    int rank, rc;

    a.g = a.f->ownerset;
    o.sfile = &none;
    MPI_Comm_rank(fd->comm, &rank);
    rc = a.f->store ? 0 : zcache_file_store(fd, rank);
    if (rc == 0)
        rc = leave_record(&a, 0, &m, &theirs);
    if (theirs)
        zc_forget(theirs, m.len);
    free(theirs);
    if (rc || m.theirs)
        zc_info("%s: processes that open it by another communicator do not find those who have it "
                "open: %s",
                fd->filename, rc ? zc_error_text(rc) : "another record lies there");
    zc_error_clear();
}

/* Publishes our record, or finds another one; *out: its owner set, or NULL. */
static int meet(struct zcache_open_owners *a, uint64_t replaces, struct met *m,
                struct zcache_ownerset **out)
{
    void *theirs = NULL;
    int root = a->ranks[0], known = 1, by_all, rc;
    MPI_Request request = MPI_REQUEST_NULL;

    *out = NULL;
    /* All know the owner set before its record can be found. */
    rc = zcache_collective_error_wait(
        MPI_Ireduce(&known, &by_all, 1, MPI_INT, MPI_MIN, root, a->fd->comm, &request), &request);
    if (rc)
        return rc;
    if (a->o->rank == root && !zcache_process_whole_job(a->fd->comm)) {
        rc = leave_record(a, replaces, m, &theirs);
        zc_error_keep(&m->error, rc);
    }
    rc = zcache_collective_error_bytes(m, sizeof *m, root, a->fd->comm);
    if (rc == 0)
        rc = zc_error_raise(&m->error);
    if (rc == 0 && m->theirs)
        rc = tell(a->fd, a->o, root, theirs, m->len, out);
    if (theirs)
        zc_forget(theirs, m->len);
    free(theirs);
    return rc;
}

/* Whether to keep unstable bytes: without daemons they cannot be sent again; without room none
 * could be kept, and needed pages would be evicted sooner. */
static uint64_t replay(const struct zc_settings *s, const struct zc_stripe *place)
{
    bool given = zc_option_given(s, zc_option_find("replay", ZC_SCOPE_HINT));

    if (place->daemons == 0 || (!given && s->agg_cache_size < 2 * place->block_size))
        return ZC_REPLAY_OFF;
    return s->replay;
}

static struct zc_stripe place_of(const struct zcache_open_owners *a)
{
    uint64_t block = a->o->attr.block_size ? a->o->attr.block_size : a->f->settings.block_size;

    return (struct zc_stripe){block, a->o->servers, (uint32_t)a->fd->hints->cb_nodes,
                              a->o->attr.width, a->o->attr.first};
}

/* Fills in a new owner set, for as many owners as it has room for. */
static void fill_group(struct zcache_open_owners *a, const struct zc_stripe *place)
{
    struct zcache_file *f = a->f;

    a->g->stripe = *place;
    a->g->dev = a->o->dev;
    a->g->ino = a->o->attr.ino;
    f->settings.block_size = place->block_size;
    f->settings.replay = replay(&f->settings, place);
    f->settings.on_daemon_loss = place->daemons ? f->settings.on_daemon_loss : ZC_LOSS_ERROR;
    zc_agreed_of(&f->settings, &a->g->agreed);
    a->g->whole = zcache_process_whole_job(a->fd->comm);
}

static int new_group(struct zcache_open_owners *a)
{
    struct zc_stripe place = place_of(a);

    a->g = zcache_ownerset_new(&place);
    if (!a->g)
        return zc_errorf(ENOMEM, "no memory to open a file");
    fill_group(a, &place);
    return 0;
}

/* Combines the ranks' inputs, on `root`. */
static int vote(const struct zcache_open_owners *a, int root, bool failed, bool knows,
                struct zcache_agree_votes *all)
{
    int size = size_of(a->fd->comm), rank = a->o->rank;
    struct zcache_agree_input mine = {
        .votes = {failed ? rank : size, knows ? rank : size, a->f->near}, .probe = a->o->probe};

    return zcache_agree(a->fd->comm, root, &mine, all);
}

static bool all_are_new(const struct zcache_open_owners *a, const struct zcache_agree_votes *v)
{
    int size = size_of(a->fd->comm);

    return v->failed == size && v->knows == size;
}

/* Whether all processes of the job were near at the last open by the whole job that has looked, and
 * this process's probe at that time.  No lock: no two threads open by the whole job at a time. */
static bool all_near;
static struct zc_tp_local_probe voted;

/* Whether that still holds for this process. */
static bool is_near_all(void)
{
    struct zc_tp_local_probe now = {0};

    if (!all_near)
        return false;
    if (zc_tp_local_probe(&now) == 0)
        return memcmp(&now, &voted, sizeof now) == 0;
    zc_error_clear(); /* other processes may no longer access its memory */
    return false;
}

/* Applies the result, the same on every rank. */
static void take_votes(struct zcache_open_owners *a, const struct zcache_agree_votes *v)
{
    bool expected = a->f->near;

    a->f->near = v->near;
    if (zcache_process_whole_job(a->fd->comm)) {
        all_near = v->near;
        voted = a->o->probe;
    }
    if (expected && !v->near)
        zcache_network_warm(&a->f->settings, &a->f->async);
}

/* The only owner's message to all others. */
struct word {
    struct zcache_agree_votes votes;
    struct zc_error outcome;
    struct met met;
    struct zcache_entry entry;
};

/* The only owner publishes its record and opens the file; the others need not know it before. */
static int own(struct zcache_open_owners *a, uint64_t replaces, struct met *m, void **theirs)
{
    int rc = zcache_open_owners_present(a);

    if (rc == 0 && !zcache_process_alone() && !zcache_process_whole_job(a->fd->comm))
        rc = leave_record(a, replaces, m, theirs);
    if (rc == 0 && !m->theirs)
        rc = zcache_open_owners_open_here(a);
    return rc;
}

/* Makes an owner set with one owner, by one message to it and one from it.  `failed`, `knows`: of
 * this rank; if votes are against it, or for another owner set, nothing has changed. */
static int make_for_one(struct zcache_open_owners *a, bool failed, bool knows, uint64_t replaces,
                        struct zcache_agree_votes *votes, struct met *m,
                        struct zcache_ownerset **out)
{
    int root = a->fd->hints->ranklist[0], rc;
    struct word w;
    void *theirs = NULL;

    memset(&w, 0, sizeof w); /* padding is sent, too */
    rc = vote(a, root, failed, knows, &w.votes);
    if (rc)
        return rc;
    if (a->o->rank == root && all_are_new(a, &w.votes)) {
        take_votes(a, &w.votes);
        zc_error_keep(&w.outcome, own(a, replaces, &w.met, &theirs));
        w.entry = a->entry;
    }
    rc = zcache_collective_error_bytes(&w, sizeof w, root, a->fd->comm);
    *votes = w.votes;
    take_votes(a, votes);
    *m = w.met;
    if (rc == 0)
        rc = zc_error_raise(&w.outcome);
    if (rc == 0 && m->theirs)
        rc = tell(a->fd, a->o, root, theirs, m->len, out);
    else if (rc == 0 && all_are_new(a, votes))
        zcache_open_owners_receive(a, &w.entry);
    if (theirs)
        zc_forget(theirs, m->len);
    free(theirs);
    zc_forget(&w, sizeof w);
    return rc;
}

/* Makes an owner set with several owners. */
static int make_for_all(struct zcache_open_owners *a, bool failed, bool knows, uint64_t replaces,
                        struct zcache_agree_votes *votes, struct met *m,
                        struct zcache_ownerset **out)
{
    int rc = vote(a, 0, failed, knows, votes);

    if (rc == 0)
        rc = zcache_collective_error_bytes(votes, sizeof *votes, 0, a->fd->comm);
    if (rc)
        return rc;
    take_votes(a, votes);
    if (!all_are_new(a, votes))
        return 0;
    rc = zcache_open_owners_introduce(a);
    if (rc == 0 && !zcache_process_alone())
        rc = meet(a, replaces, m, out);
    return rc || *out ? rc : zcache_open_owners_open(a);
}

/* Prepares this rank's part of a new owner set, before communicating. */
static int begin(struct zcache_open_owners *a)
{
    int rc = a->g ? 0 : new_group(a);

    if (rc == 0)
        rc = zcache_open_owners_take(a);
    for (uint32_t i = 0; rc == 0 && i < a->f->nowners; i++) {
        a->ranks[i] = a->fd->hints->ranklist[i];
        if (a->ranks[i] == a->o->rank)
            a->mine = (int)i;
    }
    return rc;
}

/* Makes the ranks of the communicator owners of the file, unless one of them, if asked, knows an
 * owner set; *out: or another one was found, and nothing has changed. */
static int make(ADIO_File fd, const struct zcache_opening *o, bool ask, uint64_t replaces,
                struct met *m, struct zcache_ownerset **out)
{
    struct zcache_open_owners a = {
        .fd = fd, .o = o, .f = zcache_file_of(fd), .new = true, .mine = -1};
    struct zcache_ownerset *mine = ask ? zcache_ownerset_find(o->dev, o->attr.ino) : NULL, *entered;
    struct zc_stripe place = {
        .block_size = 1, .daemons = o->servers, .aggregators = (uint32_t)fd->hints->cb_nodes};
    int size = size_of(fd->comm);
    struct zcache_agree_votes votes = {size, size, 0};
    struct zc_error why = {0};
    int rc;

    *out = NULL;
    zc_error_keep(&why, begin(&a));
    rc = (zc_stripe_owners(&place) == 1 ? make_for_one : make_for_all)(&a, why.rc, mine, replaces,
                                                                       &votes, m, out);
    m->known = rc == 0 && votes.knows < size;
    if (m->known) /* a rank that failed may join: that takes everything anew, and they agree */
        rc = hear_of(fd, o, (int)votes.knows, mine, out);
    else if (rc == 0 && votes.failed < size)
        rc = zcache_collective_error_bcast(&why, (int)votes.failed, fd->comm);
    zcache_ownerset_put(mine);
    if (rc == 0 && !*out) {
        /* of threads that open alone at the same time, one is the first */
        entered = zcache_ownerset_enter(a.g, size == 1 && !m->ours);
        a.f->ownerset = entered;
        if (entered != a.g) {
            m->other = true;
            *out = entered;
            a.f->ownerset = NULL;
        }
    }
    zc_error_keep(&why, rc);
    if (rc || *out)
        zcache_open_owners_undo(&a);
    zcache_open_owners_end(&a);
    return zc_error_raise(&why);
}

/* ---- dedicated aggregators ---- */

/* By rank 0, where ranks are to own nothing: finds the record of the processes that have the file
 * open, but for that of number `but`. */
static int find_owners(const struct zcache_open_owners *a, uint64_t but, struct met *m,
                       void **record)
{
    struct zc_publication *none;
    struct zc_rendezvous_record found = {0};
    int rc = zc_store_rendezvous(*a->o->sfile, zcache_job_key(), NULL, 0, but, &none, &found);

    if (rc == 0 && !found.bytes)
        rc = zc_errorf(
            EHOSTUNREACH,
            "%s is not open in this job, and with zcache_aggregators=join no rank of this "
            "open owns its blocks: processes that serve have to open it before",
            a->fd->filename);
    m->theirs = rc == 0;
    m->number = found.number;
    m->len = found.len;
    *record = found.bytes;
    return rc;
}

/* By rank 0: makes the owner set, which this process knows then, and publishes its record, unless
 * another one lies there.  *record: of the set to be joined, allocated. */
static int meet_dedicated(struct zcache_open_owners *a, uint64_t replaces, struct met *m,
                          void **record)
{
    struct zc_stripe place = place_of(a);
    size_t len = 0;
    int n, rc;

    if (zcache_dedicated_joins(&a->f->settings))
        return find_owners(a, replaces, m, record);
    n = zcache_dedicated_ask(a->f, &place.block_size);
    rc = n < 0 ? n : 0;
    place.aggregators = (uint32_t)n;
    if (rc == 0 && !(a->g = zcache_ownerset_new(&place)))
        rc = zc_errorf(ENOMEM, "no memory for %d aggregators", n);
    if (rc == 0)
        rc = zcache_dedicated_meet(a->f, a->g);
    if (rc)
        return rc;
    fill_group(a, &place);
    a->g = zcache_ownerset_expect(a->g);
    if (!zcache_process_alone() && !zcache_process_whole_job(a->fd->comm))
        rc = leave_record(a, replaces, m, record);
    if (rc == 0 && !m->theirs)
        rc = zcache_ownerset_record(a->g, record, &len);
    if (rc == 0 && !m->theirs)
        m->len = len;
    return rc;
}

/* Makes the dedicated aggregators owners of the file, unless a rank, if asked, or the file knows
 * another owner set.  *out: the one to be joined. */
static int make_dedicated(ADIO_File fd, const struct zcache_opening *o, bool ask, uint64_t replaces,
                          struct met *m, struct zcache_ownerset **out)
{
    struct zcache_open_owners a = {.fd = fd, .o = o, .f = zcache_file_of(fd), .mine = -1};
    struct zcache_ownerset *mine = ask ? zcache_ownerset_find(o->dev, o->attr.ino) : NULL;
    struct zcache_agree_votes votes;
    void *record = NULL;
    int rc = vote(&a, 0, false, mine, &votes);

    *out = NULL;
    if (rc == 0)
        rc = zcache_collective_error_bytes(&votes, sizeof votes, 0, fd->comm);
    if (rc == 0)
        take_votes(&a, &votes);
    if (rc == 0 && !all_are_new(&a, &votes)) {
        m->known = true;
        rc = hear_of(fd, o, (int)votes.knows, mine, out);
    } else if (rc == 0) {
        if (o->rank == 0)
            zc_error_keep(&m->error, meet_dedicated(&a, replaces, m, &record));
        rc = zcache_collective_error_bytes(m, sizeof *m, 0, fd->comm);
        if (rc == 0)
            rc = zc_error_raise(&m->error);
        if (rc == 0)
            rc = tell(fd, o, 0, record, m->len, out);
        if (rc == 0 && !m->theirs)
            zcache_ownerset_set_whole(*out, zcache_process_whole_job(fd->comm));
    }
    if (record)
        zc_forget(record, m->len);
    free(record);
    zcache_ownerset_put(a.g);
    zcache_ownerset_put(mine);
    return rc;
}

/* Whether an owner set has ended or its owners are gone.  One that is merely unreachable from here
 * (-EHOSTUNREACH) goes on: the file is not opened beside it. */
static bool is_gone(int rc)
{
    return rc == -ESTALE || zcache_network_is_loss(rc);
}

/* Makes an owner set, or joins the one that was found. */
static int attach(ADIO_File fd, const struct zcache_opening *o, bool ask, uint64_t replaces,
                  struct met *m)
{
    struct zcache_ownerset *g = NULL;
    int rc;

    memset(m, 0, sizeof *m);
    rc = (zcache_dedicated_wanted(&zcache_file_of(fd)->settings) ? make_dedicated : make)(
        fd, o, ask, replaces, m, &g);
    return rc == 0 && g ? join(fd, o, g) : rc;
}

int zcache_open_join(ADIO_File fd, const struct zcache_opening *o)
{
    struct zc_settings *s = &zcache_file_of(fd)->settings;
    struct zc_agreed wished;
    uint64_t replaces = 0;
    bool ask = true;

    zc_agreed_of(s, &wished);
    for (;;) {
        struct met m;
        int rc = attach(fd, o, ask, replaces, &m);

        ask = !(m.known && rc == -ESTALE); /* without the set that has ended, once */
        if (ask && (rc == 0 || !(m.theirs || m.other) || !is_gone(rc)))
            return rc;
        if (ask)
            replaces = m.number;
        zc_agreed_apply(&wished, s); /* as requested, not as in a set that has ended */
    }
}

/* ---- opens with a single agreement ---- */

/* Allocates all memory that such an open needs, so that it cannot fail later, when no other rank
 * would learn of it. */
static bool reserve(struct zcache_open_owners *a)
{
    struct zc_stripe one = {.block_size = 1, .aggregators = 1};

    a->g = zcache_ownerset_new(&one);
    a->ranks = calloc(1, sizeof *a->ranks);
    a->all = calloc(1, sizeof *a->all);
    a->owners = calloc(1, sizeof *a->owners);
    if (!a->f->path)
        a->f->path = zcache_absolute(a->fd->filename);
    return a->g && a->ranks && a->all && a->owners && a->f->path;
}

bool zcache_open_quick_begin(ADIO_File fd, struct zcache_open_owners *a)
{
    *a = (struct zcache_open_owners){.fd = fd, .f = zcache_file_of(fd), .new = true, .mine = -1};
    if (!a->f || zcache_dedicated_wanted(&a->f->settings) || fd->hints->cb_nodes != 1 ||
        fd->hints->ranklist[0] != 0 || size_of(fd->comm) == 1 || !a->f->settings.local ||
        !zcache_process_whole_job(fd->comm) || !zcache_ownerset_all_whole() || !is_near_all())
        return false;
    return reserve(a);
}

void zcache_open_quick_end(struct zcache_open_owners *a)
{
    zcache_ownerset_put(a->g);
    a->g = NULL;
    free(a->all);
    a->all = NULL;
    zcache_open_owners_end(a);
}

/* Completes the open on this rank: the owner has the file open, and `e` is its entry. */
static void take_quick(struct zcache_open_owners *a, const struct zcache_entry *e)
{
    zcache_open_owners_receive(a, e);
    a->f->ownerset = zcache_ownerset_enter(a->g, false);
    a->f->near = true;
    zcache_open_owners_end(a);
}

int zcache_open_quick_own(struct zcache_open_owners *a, const struct zcache_opening *o,
                          struct zcache_entry *e, bool *done)
{
    struct zcache_ownerset *known = zcache_ownerset_find(o->dev, o->attr.ino);
    struct zc_error why = {0};
    void *theirs = NULL;
    struct met m = {0};
    struct zc_stripe place;
    int rc;

    a->o = o;
    place = place_of(a);
    *done = !known && zc_stripe_owners(&place) == 1 && a->f->settings.checksum != ZC_CHECKSUM_ON;
    zcache_ownerset_put(known);
    if (!*done)
        return 0;
    a->f->near = true;
    fill_group(a, &place);
    rc = zcache_open_owners_take(a);
    a->ranks[0] = a->mine = 0;
    if (rc == 0)
        rc = own(a, 0, &m, &theirs);
    if (rc == 0) {
        *e = a->entry;
        take_quick(a, e);
        return 0;
    }
    zc_error_keep(&why, rc);
    zcache_open_owners_undo(a);
    zcache_open_owners_end(a);
    return zc_error_raise(&why);
}

void zcache_open_quick_take(struct zcache_open_owners *a, const struct zcache_opening *o,
                            const struct zcache_entry *e)
{
    struct zc_stripe place;

    a->o = o;
    place = place_of(a);
    fill_group(a, &place);
    zcache_open_owners_take(a); /* cannot fail: its memory is reserved */
    a->ranks[0] = 0;
    take_quick(a, e);
}

/* ---- close ---- */

int zcache_detach_flush(ADIO_File fd, enum zc_level level)
{
    struct zcache_file *f = zcache_file_of(fd);
    struct zc_error here = {0};
    int rank, rc = 0;

    MPI_Comm_rank(fd->comm, &rank);
    for (uint32_t i = 0; i < f->nowners; i++) {
        struct zc_handle *h = zcache_owner_here(f, &f->owners[i]);

        if (h)
            zc_error_keep(&here, zc_cache_flush(h, level));
    }
    if (rank == 0) /* whatever the result of this rank's own */
        rc = zcache_owners_flush_elsewhere(f, level);
    return here.rc ? zc_error_raise(&here) : rc;
}

void zcache_detach_unlink_pending(ADIO_File fd)
{
    struct zcache_file *f = zcache_file_of(fd);

    for (uint32_t i = 0; i < f->nowners; i++) {
        struct zc_handle *h = zcache_owner_here(f, &f->owners[i]);

        if (h)
            zc_cache_unlink_pending(h);
    }
}

/* Whether the first owner, if it is not among the ranks, needs to know that another owner could not
 * write: then the open at it stays, and keeps the owner set until this process ends.  Dedicated
 * aggregators are the file's owners at the next open in any case. */
static bool keeps_there(const struct zcache_file *f, int flushed)
{
    return flushed && !zcache_network_is_loss(flushed) && f->nowners > 1 &&
           f->owners[0].elsewhere && !zcache_dedicated_owns(f);
}

int zcache_detach(ADIO_File fd, int flushed)
{
    struct zcache_file *f = zcache_file_of(fd);
    int rank, rc = 0, there = 0;

    MPI_Comm_rank(fd->comm, &rank);
    if (f->owners[0].local && !zcache_process_alone() && zcache_process_whole_job(fd->comm) &&
        zcache_ownerset_needs_record(f->ownerset, flushed))
        leave_record_late(fd);
    for (uint32_t i = 0; i < f->nowners; i++) {
        struct zcache_owner *o = &f->owners[i];

        if (!o->local)
            continue;
        if (o->number)
            zcache_agg_unexport(f->agg, f->near, o->number);
        rc = zc_cache_close(o->local);
    }
    zcache_ownerset_owe(f->ownerset, flushed);
    if (rank == 0 && !keeps_there(f, flushed))
        there = zcache_owners_close_elsewhere(f);
    rc = rc ? rc : there;
    zc_coord_destroy(f->coord);
    f->coord = NULL;
    if (f->agg)
        zcache_agg_put(f->agg);
    f->agg = NULL;
    zcache_file_forget_owners(f);
    zcache_ownerset_put(f->ownerset);
    f->ownerset = NULL;
    return rc;
}
