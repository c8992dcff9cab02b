/* zcache_open_owners.c - opens a file at all owners of an owner set. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "zc_crc.h"
#include "zc_log.h"
#include "zc_tp_local.h"
#include "zcache_agg_conn.h"
#include "zcache_collective_error.h"
#include "zcache_file.h"
#include "zcache_open_owners.h"

enum {
    NO_RANK = -1, /* not a rank of the communicator */
};

static int size_of(MPI_Comm comm)
{
    int size;

    MPI_Comm_size(comm, &size);
    return size;
}

int zcache_open_owners_agree(struct zcache_open_owners *a, int rc)
{
    struct zc_error o = {0};

    zc_error_keep(&o, rc);
    return zcache_collective_error_agree(&o, a->fd->comm);
}

/* ---- an owner among the ranks ---- */

static int get_aggregator(struct zcache_open_owners *a)
{
    struct zcache_file *f = a->f;
    struct zcache_agg *got;
    uint64_t block = a->g->stripe.block_size;
    uint32_t page = block < ZCACHE_PAGE_MAX ? (uint32_t)block : ZCACHE_PAGE_MAX, servers;
    int rc;

    f->agg = zcache_ownerset_agg(a->g);
    if (f->agg) {
        zcache_agg_attach(f->agg, &f->settings);
        return 0;
    }
    rc = f->store ? 0 : zcache_file_store(a->fd, a->o->rank);
    if (rc)
        return rc;
    servers = zcache_store_files(f->store)->servers;
    if (servers != a->o->servers)
        return zc_errorf(EINVAL, "rank 0 knows of %u daemons, rank %d of %u", a->o->servers,
                         a->o->rank, servers);
    rc = zcache_agg_get(f->store, &f->settings, page, &got);
    if (rc)
        return rc;
    f->agg = zcache_ownerset_own(a->g, got, f->store);
    if (f->agg != got) { /* another thread's open was first */
        zcache_agg_attach(f->agg, &f->settings);
        zcache_agg_put(got);
    }
    return 0;
}

/* Serves other processes.  Those of this open use one kind of endpoint; processes of other hosts
 * that come later need the other one, if there are any. */
static int serve(struct zcache_open_owners *a)
{
    struct zcache_file *f = a->f;
    int rc, far;

    if (!a->served)
        return 0;
    rc = zcache_agg_serve(f->agg, &f->settings, f->near);
    if (rc || !f->near || zcache_process_one_host())
        return rc;
    far = zcache_agg_serve(f->agg, &f->settings, false);
    if (far)
        zc_info("processes of other hosts cannot reach this one: %s", zc_error_text(far));
    return 0;
}

static uint32_t contact_of(struct zcache_open_owners *a, bool near, unsigned char *contact)
{
    size_t len = ZCACHE_CONTACT;

    return a->served && zcache_agg_contact(a->f->agg, near, contact, &len) == 0 ? (uint32_t)len : 0;
}

/* Describes this owner, for a new owner set. */
static int introduce(struct zcache_open_owners *a)
{
    struct zcache_member *m = &a->entry.member;
    int world = 0, rc;

    rc = zcache_process_id(m->process);
    if (rc == 0 && a->mine == 0 &&
        getrandom(a->entry.ownerset, sizeof a->entry.ownerset, 0) != sizeof a->entry.ownerset)
        rc = zc_errorf(errno, "getrandom");
    MPI_Comm_rank(MPI_COMM_WORLD, &world);
    m->world_rank = (uint32_t)world;
    m->near_len = contact_of(a, true, m->near);
    m->far_len = contact_of(a, false, m->far);
    return rc;
}

unsigned zcache_open_owners_flags(const struct zcache_file *f, unsigned access)
{
    static const unsigned replay[] = {
        [ZC_REPLAY_ON] = ZC_OPEN_REPLAY, [ZC_REPLAY_STRICT] = ZC_OPEN_REPLAY_STRICT};
    bool through = !(f->settings.write_back & ZC_WRITE_BACK_DAEMON);

    return zcache_file_flags(f, access) | (through ? ZC_OPEN_THROUGH : 0) |
           replay[f->settings.replay] | (f->settings.drop_clean ? ZC_OPEN_FRESH : 0) |
           (f->settings.checksum == ZC_CHECKSUM_ON ? ZC_OPEN_CHECKSUM : 0);
}

static unsigned store_flags(const struct zcache_open_owners *a)
{
    return zcache_open_owners_flags(a->f, a->o->flags);
}

/* Returns rank 0's open of the file in the store, if this owner's own open would be the same; or
 * NULL. */
static struct zc_sfile **given(const struct zcache_open_owners *a)
{
    bool same = a->o->servers == 0 || /* only daemons use flags and strides */
                (a->o->sfile_flags == (store_flags(a) & ZC_OPEN_ALL) && a->f->nowners == 1);

    return a->o->give && a->o->rank == 0 && same ? a->o->sfile : NULL;
}

/* Checks that the path has not become another file's since rank 0's open. */
static int same_file(const struct zcache_open_owners *a, const struct zc_attr *is)
{
    const struct zc_attr *is_to_be = &a->o->attr;

    if (is->ino == is_to_be->ino && (is->dev == is_to_be->dev || !a->o->servers))
        return 0;
    return zc_errorf(ESTALE, "%s was replaced by another file while it was being opened",
                     a->f->path);
}

/* Gets the aggregator, and serves other processes by it. */
static int be_there(struct zcache_open_owners *a)
{
    int rc = get_aggregator(a);

    return rc ? rc : serve(a);
}

int zcache_open_owners_open_here(struct zcache_open_owners *a)
{
    struct zcache_file *f = a->f;
    struct zc_sfile **sfile = given(a);
    struct zc_attr attr = sfile && *sfile ? a->o->attr : zcache_file_placement(f);
    int rc = 0;

    attr.block_size = f->stripe.block_size;
    attr.stride = attr.set.count = f->nowners;
    if (!f->agg)
        rc = be_there(a);
    if (rc == 0 && a->mine == 0)
        rc = zcache_agg_coord(f->agg, &f->coord);
    if (rc == 0)
        zcache_agg_settle(f->agg);
    if (rc == 0)
        rc = zc_cache_open_given(zcache_agg_cache(f->agg), sfile, a->o->before, f->path,
                                 store_flags(a), 0, &a->handle, &attr);
    if (rc)
        return rc;
    rc = same_file(a, &attr);
    if (rc)
        return rc;
    if (f->settings.agg_prefetch)
        zc_cache_prefetch(a->handle, (uint32_t)f->settings.agg_prefetch_depth);
    zcache_agg_in_force(f->agg, &a->entry.in_force);
    if (f->settings.read_around && f->settings.local)
        zc_cache_quiescence(a->handle, &a->entry.quiescence);
    if (size_of(a->fd->comm) == 1)
        return 0;
    a->entry.number = zcache_agg_export(f->agg, f->near, a->handle, f->coord);
    a->entry.contact_len = contact_of(a, f->near, a->entry.contact);
    return a->entry.number ? 0 : zc_errorf(ENOMEM, "no memory to export a file");
}

/* ---- an owner in another process; by rank 0 ---- */

static int open_there(struct zcache_open_owners *a, uint32_t i)
{
    const struct zcache_member *m = &a->g->owners[i];
    bool near = a->reachable && m->near_len;
    struct zcache_file *f = a->f;
    struct zcache_entry *e = &a->all[i];
    struct zc_attr attr = zcache_file_placement(f);
    struct zc_client *c;
    char label[ZCACHE_OWNER_LABEL];
    int rc;

    zcache_owner_label(m->world_rank, label);
    attr.stride = attr.set.count = f->nowners;
    e->contact_len = near ? m->near_len : m->far_len;
    memcpy(e->contact, near ? m->near : m->far, e->contact_len);
    if (!e->contact_len && zc_tp_local_is_over(m->near, zcache_contact_address(m->near_len)))
        return zc_errorf(ESTALE, "the %s, which had %s open, has ended", label, f->path);
    if (!e->contact_len)
        return zc_errorf(EHOSTUNREACH,
                         "%s is open in this job, and the %s, which has its pages, can be reached "
                         "from its own host only: give all opens the same hint zcache_local",
                         f->path, label);
    rc =
        zcache_agg_conn_get(e->contact, e->contact_len, label, &f->settings, f->failures, NULL, &c);
    if (rc == 0)
        rc = zc_client_open_exported(c, f->path, store_flags(a), 0, zcache_ownerset_number(a->g),
                                     &e->number, &attr);
    return rc ? rc : same_file(a, &attr);
}

static int open_all_there(struct zcache_open_owners *a)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < a->f->nowners; i++)
        if (a->ranks[i] == NO_RANK)
            rc = a->all[i].rc = open_there(a, i);
    return rc;
}

static void close_there(struct zcache_open_owners *a, const struct zcache_entry *e)
{
    struct zc_client *c;

    if (e->number && zcache_agg_conn_get(e->contact, e->contact_len, "aggregator", &a->f->settings,
                                         a->f->failures, NULL, &c) == 0)
        zc_client_close(c, e->number, ZC_LEVEL_VISIBLE);
}

/* ---- all of them ---- */

void zcache_open_owners_end(struct zcache_open_owners *a)
{
    free(a->ranks);
    free(a->owners);
    a->owners = NULL;
    if (a->all)
        zc_forget(a->all, a->f->nowners * sizeof *a->all);
    free(a->all);
    zc_forget(&a->entry, sizeof a->entry);
    a->ranks = NULL;
    a->all = NULL;
}

/* Undoes an attempt: nothing is left but what the file has taken over. */
void zcache_open_owners_undo(struct zcache_open_owners *a)
{
    struct zcache_file *f = a->f;

    if (a->handle) {
        if (a->entry.number)
            zcache_agg_unexport(f->agg, f->near, a->entry.number);
        zc_cache_close(a->handle);
    }
    for (uint32_t i = 0; a->o->rank == 0 && a->all && a->ranks && i < f->nowners; i++)
        if (a->ranks[i] == NO_RANK)
            close_there(a, &a->all[i]);
    zc_coord_destroy(f->coord);
    f->coord = NULL;
    if (f->agg)
        zcache_agg_put(f->agg);
    f->agg = NULL;
    zcache_file_forget_owners(f);
    zcache_ownerset_put(f->ownerset);
    f->ownerset = NULL;
}

/* Every rank gets every owner's entry; rank 0 has those of owners elsewhere. */
static int exchange(struct zcache_open_owners *a)
{
    int size = size_of(a->fd->comm), *counts, *at, rc;
    MPI_Request request = MPI_REQUEST_NULL;
    bool elsewhere = false;

    if (size == 1) { /* some libraries put a single rank's part first, wherever it belongs */
        if (a->mine >= 0)
            a->all[a->mine] = a->entry;
        return 0;
    }
    counts = ADIOI_Calloc(2 * (size_t)size, sizeof *counts);
    at = counts + size;
    for (uint32_t i = 0; i < a->f->nowners; i++) {
        elsewhere = elsewhere || a->ranks[i] == NO_RANK;
        if (a->ranks[i] == NO_RANK)
            continue;
        counts[a->ranks[i]] = sizeof a->entry;
        at[a->ranks[i]] = (int)(i * sizeof a->entry);
    }
    rc = zcache_collective_error_wait(
        MPI_Iallgatherv(&a->entry, a->mine >= 0 ? (int)sizeof a->entry : 0, MPI_BYTE, a->all,
                        counts, at, MPI_BYTE, a->fd->comm, &request),
        &request);
    ADIOI_Free(counts);
    if (rc == 0 && elsewhere)
        rc = zcache_collective_error_bytes(a->all, a->f->nowners * sizeof *a->all, 0, a->fd->comm);
    return rc;
}

/* Combines the results in the entries: only owners, and rank 0 for those elsewhere, had anything to
 * do.  `mine`: this rank's. */
static int verdict(struct zcache_open_owners *a, struct zc_error *mine)
{
    int size = size_of(a->fd->comm), first = size;

    for (uint32_t i = 0; i < a->f->nowners; i++) {
        int rank = a->ranks[i] == NO_RANK ? 0 : a->ranks[i];

        if (a->all[i].rc && rank < first)
            first = rank;
    }
    return first == size ? 0 : zcache_collective_error_bcast(mine, first, a->fd->comm);
}

static void take_entries(struct zcache_open_owners *a)
{
    memset(&a->f->in_force, 0xff, sizeof a->f->in_force);
    for (uint32_t i = 0; i < a->f->nowners; i++) {
        struct zcache_owner *w = &a->f->owners[i];
        const struct zcache_entry *e = &a->all[i];

        w->rank = a->ranks[i];
        w->elsewhere = a->ranks[i] == NO_RANK;
        w->world_rank = a->g->owners[i].world_rank;
        w->number = e->number;
        w->quiescence = e->quiescence;
        w->contact_len = e->contact_len;
        memcpy(w->contact, e->contact, sizeof w->contact);
        w->local = (int)i == a->mine ? a->handle : NULL;
        if (!w->elsewhere)
            zcache_in_force_lower(&a->f->in_force, &e->in_force);
    }
}

/* Makes the attempt's owner set the file's, with its settings. */
int zcache_open_owners_take(struct zcache_open_owners *a)
{
    struct zcache_file *f = a->f;
    uint32_t n = a->g->nowners;

    a->served = size_of(a->fd->comm) > 1 || !zcache_process_alone();
    f->ownerset = a->g;
    f->stripe = a->g->stripe;
    f->nowners = n;
    zc_agreed_apply(&a->g->agreed, &f->settings);
    a->ranks = a->ranks ? a->ranks : calloc(n, sizeof *a->ranks);
    a->all = a->all ? a->all : calloc(n, sizeof *a->all);
    f->owners = a->owners ? a->owners : calloc(n, sizeof *f->owners);
    a->owners = NULL;
    if (!f->path)
        f->path = zcache_absolute(a->fd->filename);
    if (!a->ranks || !a->all || !f->owners || !f->path)
        return zc_errorf(ENOMEM, "no memory for %u aggregators", n);
    return f->settings.checksum == ZC_CHECKSUM_ON ? zc_crc_load() : 0;
}

/* Takes the owners of a new owner set from the entries. */
static void meet_owners(struct zcache_open_owners *a)
{
    for (uint32_t i = 0; i < a->g->nowners; i++)
        a->g->owners[i] = a->all[i].member;
    memcpy(a->g->id, a->all[0].ownerset, sizeof a->g->id);
    a->g = a->f->ownerset = zcache_ownerset_expect(a->g);
}

/* Exchanges the entries; `rc`: this rank's result.  Collective: returns the same on every rank. */
static int conclude(struct zcache_open_owners *a, int rc,
                    void (*take)(struct zcache_open_owners *a))
{
    struct zc_error o = {0};

    zc_error_keep(&o, rc);
    rc = exchange(a);
    if (rc)
        return rc;
    take(a);
    return verdict(a, &o);
}

/* Opens at all owners; which of them are among the ranks is known.  Takes over the attempt's owner
 * set, whatever the result. */
int zcache_open_owners_open(struct zcache_open_owners *a)
{
    int rc = 0;

    if (a->mine >= 0)
        rc = a->entry.rc = zcache_open_owners_open_here(a);
    if (rc == 0 && a->o->rank == 0)
        rc = open_all_there(a);
    return conclude(a, rc, take_entries);
}

int zcache_open_owners_introduce(struct zcache_open_owners *a)
{
    int rc = 0;

    if (a->mine >= 0)
        rc = be_there(a);
    if (rc == 0 && a->mine >= 0)
        rc = introduce(a);
    a->entry.rc = rc;
    return conclude(a, rc, meet_owners);
}

int zcache_open_owners_present(struct zcache_open_owners *a)
{
    int rc = be_there(a);

    if (rc == 0)
        rc = introduce(a);
    if (rc)
        return rc;
    a->all[0] = a->entry;
    meet_owners(a);
    return 0;
}

void zcache_open_owners_receive(struct zcache_open_owners *a, const struct zcache_entry *e)
{
    a->all[0] = *e;
    if (a->mine < 0)
        meet_owners(a);
    take_entries(a);
}

int zcache_open_owners_check(struct zcache_open_owners *a)
{
    uint32_t n = a->f->nowners;
    int *mine = calloc(n + 1, sizeof *mine), *all = calloc(n + 1, sizeof *all), rc;
    MPI_Request request = MPI_REQUEST_NULL;

    a->mine = zcache_ownerset_mine(a->g);
    rc = zcache_open_owners_agree(
        a, mine && all ? 0 : zc_errorf(ENOMEM, "no memory for %u aggregators", n));
    if (rc == 0) {
        if (a->mine >= 0)
            mine[a->mine] = a->o->rank + 1;
        for (uint32_t i = 0; i < n; i++) {
            const struct zcache_member *m = &a->g->owners[i];

            if (m->near_len && !zc_tp_local_can_reach(m->near, zcache_contact_address(m->near_len)))
                mine[n] = 1;
        }
        rc = zcache_collective_error_wait(
            MPI_Iallreduce(mine, all, (int)n + 1, MPI_INT, MPI_MAX, a->fd->comm, &request),
            &request);
    }
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        a->ranks[i] = all[i] - 1; /* 0: not a rank of it */
    a->reachable = rc == 0 && !all[n];
    free(mine);
    free(all);
    return rc;
}
