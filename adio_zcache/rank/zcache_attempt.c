/* zcache_attempt.c - an open of a file at all owners of a group. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "zc_crc.h"
#include "zc_log.h"
#include "zc_tp_local.h"
#include "zcache_attempt.h"
#include "zcache_file.h"
#include "zcache_outcome.h"
#include "zcache_peer.h"

enum {
    PAGE_MAX = 1 << 20, /* largest page of an aggregator's cache, bytes */
    NOBODY = -1,        /* instead of a rank of the communicator */
};

static int size_of(MPI_Comm comm)
{
    int size;

    MPI_Comm_size(comm, &size);
    return size;
}

int zcache_attempt_agree(struct zcache_attempt *a, int rc)
{
    struct zcache_outcome o = {0};

    zcache_outcome_set(&o, rc);
    return zcache_outcome_agree(&o, a->fd->comm);
}

/* ---- an owner among the ranks ---- */

static int get_aggregator(struct zcache_attempt *a)
{
    struct zcache_file *f = a->f;
    struct zcache_agg *got;
    uint64_t block = a->g->place.block_size;
    uint32_t page = block < PAGE_MAX ? (uint32_t)block : PAGE_MAX, servers;
    int rc;

    f->agg = zcache_group_agg(a->g);
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
    f->agg = zcache_group_own(a->g, got, f->store);
    if (f->agg != got) { /* another thread's open was first */
        zcache_agg_attach(f->agg, &f->settings);
        zcache_agg_put(got);
    }
    return 0;
}

/* Those of this open ask through one kind of endpoint; processes of other hosts that come later
 * need the other one, if there are any. */
static int serve(struct zcache_attempt *a)
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

static uint32_t way_of(struct zcache_attempt *a, bool near, unsigned char *way)
{
    size_t len = ZCACHE_WAY;

    return a->served && zcache_agg_way(a->f->agg, near, way, &len) == 0 ? (uint32_t)len : 0;
}

/* Says who this owner is, for a new group. */
static int introduce(struct zcache_attempt *a)
{
    struct zcache_member *m = &a->entry.member;
    int world = 0, rc;

    rc = zcache_process_id(m->process);
    if (rc == 0 && a->mine == 0 &&
        getrandom(a->entry.group, sizeof a->entry.group, 0) != sizeof a->entry.group)
        rc = zc_errorf(errno, "getrandom");
    MPI_Comm_rank(MPI_COMM_WORLD, &world);
    m->world_rank = (uint32_t)world;
    m->near_len = way_of(a, true, m->near);
    m->far_len = way_of(a, false, m->far);
    return rc;
}

static unsigned store_flags(const struct zcache_attempt *a)
{
    static const unsigned replay[] = {
        [ZC_REPLAY_ON] = ZC_OPEN_REPLAY, [ZC_REPLAY_STRICT] = ZC_OPEN_REPLAY_STRICT};
    bool through = !(a->f->settings.write_back & ZC_WRITE_BACK_DAEMON);

    return a->o->flags | (through ? ZC_OPEN_THROUGH : 0) | replay[a->f->settings.replay] |
           (a->f->settings.checksum == ZC_CHECKSUM_ON ? ZC_OPEN_CHECKSUM : 0) |
           (a->f->settings.on_daemon_loss == ZC_LOSS_BYPASS ? ZC_OPEN_BYPASS : 0);
}

/* Between rank 0's look and an owner's the path may have become another file's. */
static int same_file(const struct zcache_attempt *a, const struct zc_attr *is)
{
    const struct zc_attr *is_to_be = &a->o->attr;

    if (is->ino == is_to_be->ino && (is->dev == is_to_be->dev || !a->o->servers))
        return 0;
    return zc_errorf(ESTALE, "%s was replaced by another file while it was being opened",
                     a->f->path);
}

/* The aggregator, and who else may ask it. */
static int be_there(struct zcache_attempt *a)
{
    int rc = get_aggregator(a);

    return rc ? rc : serve(a);
}

int zcache_attempt_open_here(struct zcache_attempt *a)
{
    struct zcache_file *f = a->f;
    struct zc_attr attr = {.block_size = f->place.block_size, .stride = f->nowners};
    int rc = 0;

    if (!f->agg)
        rc = be_there(a);
    if (rc == 0 && a->mine == 0)
        rc = zcache_agg_coord(f->agg, &f->coord);
    if (rc == 0)
        zcache_agg_settle(f->agg);
    if (rc == 0)
        rc = zc_cache_open(zcache_agg_cache(f->agg), f->path, store_flags(a), 0, &a->handle, &attr);
    if (rc)
        return rc;
    rc = same_file(a, &attr);
    if (rc)
        return rc;
    if (f->settings.agg_prefetch)
        zc_cache_prefetch(a->handle, (uint32_t)f->settings.agg_prefetch_depth);
    zcache_agg_in_force(f->agg, &a->entry.in_force);
    if (size_of(a->fd->comm) == 1)
        return 0;
    a->entry.number = zcache_agg_export(f->agg, f->near, a->handle, f->coord);
    a->entry.way_len = way_of(a, f->near, a->entry.way);
    return a->entry.number ? 0 : zc_errorf(ENOMEM, "no memory to export a file");
}

/* ---- an owner elsewhere; by rank 0 ---- */

static int open_there(struct zcache_attempt *a, uint32_t i)
{
    const struct zcache_member *m = &a->g->owners[i];
    bool near = a->reachable && m->near_len;
    struct zcache_file *f = a->f;
    struct zcache_entry *e = &a->all[i];
    struct zc_attr attr = {.block_size = f->place.block_size, .stride = f->nowners};
    struct zc_client *c;
    char label[64];
    int rc;

    e->way_len = near ? m->near_len : m->far_len;
    memcpy(e->way, near ? m->near : m->far, e->way_len);
    if (!e->way_len && zc_tp_local_is_over(m->near, zcache_way_address(m->near_len)))
        return zc_errorf(ESTALE, "rank %u, which had %s open, has ended", m->world_rank, f->path);
    if (!e->way_len)
        return zc_errorf(EHOSTUNREACH,
                         "%s is open in this job, and rank %u, which has its pages, can be reached "
                         "from its own host only: give all opens the same hint zcache_local",
                         f->path, m->world_rank);
    snprintf(label, sizeof label, "aggregator on rank %u", m->world_rank);
    rc = zcache_peer_get(e->way, e->way_len, label, &f->settings, f->failures, NULL, &c);
    if (rc == 0)
        rc = zc_client_open_for_all(c, f->path, store_flags(a), 0, zcache_group_number(a->g),
                                    &e->number, &attr);
    return rc ? rc : same_file(a, &attr);
}

static int open_all_there(struct zcache_attempt *a)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < a->f->nowners; i++)
        if (a->ranks[i] == NOBODY)
            rc = a->all[i].rc = open_there(a, i);
    return rc;
}

static void close_there(struct zcache_attempt *a, const struct zcache_entry *e)
{
    struct zc_client *c;

    if (e->number && zcache_peer_get(e->way, e->way_len, "aggregator", &a->f->settings,
                                     a->f->failures, NULL, &c) == 0)
        zc_client_close(c, e->number, ZC_LEVEL_VISIBLE);
}

/* ---- all of them ---- */

void zcache_attempt_end(struct zcache_attempt *a)
{
    free(a->ranks);
    if (a->all)
        zc_forget(a->all, a->f->nowners * sizeof *a->all);
    free(a->all);
    zc_forget(&a->entry, sizeof a->entry);
    a->ranks = NULL;
    a->all = NULL;
}

/* Nothing of the attempt is left but what the file got: undone by a failed one. */
void zcache_attempt_undo(struct zcache_attempt *a)
{
    struct zcache_file *f = a->f;

    if (a->handle) {
        if (a->entry.number)
            zcache_agg_unexport(f->agg, f->near, a->entry.number);
        zc_cache_close(a->handle);
    }
    for (uint32_t i = 0; a->o->rank == 0 && a->all && a->ranks && i < f->nowners; i++)
        if (a->ranks[i] == NOBODY)
            close_there(a, &a->all[i]);
    zc_coord_destroy(f->coord);
    f->coord = NULL;
    if (f->agg)
        zcache_agg_put(f->agg);
    f->agg = NULL;
    zcache_file_forget_owners(f);
    zcache_group_put(f->group);
    f->group = NULL;
}

/* Every rank learns of every owner; those of owners elsewhere are rank 0's. */
static int exchange(struct zcache_attempt *a)
{
    int size = size_of(a->fd->comm), *counts, *at, rc;
    MPI_Request request = MPI_REQUEST_NULL;
    bool elsewhere = false;

    if (size == 1) { /* some libraries put a lonely rank's part first, wherever it belongs */
        if (a->mine >= 0)
            a->all[a->mine] = a->entry;
        return 0;
    }
    counts = ADIOI_Calloc(2 * (size_t)size, sizeof *counts);
    at = counts + size;
    for (uint32_t i = 0; i < a->f->nowners; i++) {
        elsewhere = elsewhere || a->ranks[i] == NOBODY;
        if (a->ranks[i] == NOBODY)
            continue;
        counts[a->ranks[i]] = sizeof a->entry;
        at[a->ranks[i]] = (int)(i * sizeof a->entry);
    }
    rc = zcache_outcome_wait(MPI_Iallgatherv(&a->entry, a->mine >= 0 ? (int)sizeof a->entry : 0,
                                             MPI_BYTE, a->all, counts, at, MPI_BYTE, a->fd->comm,
                                             &request),
                             &request);
    ADIOI_Free(counts);
    if (rc == 0 && elsewhere)
        rc = zcache_outcome_bytes(a->all, a->f->nowners * sizeof *a->all, 0, a->fd->comm);
    return rc;
}

/* The outcome of all, which the entries tell: only owners, and rank 0 for those elsewhere, had
 * anything to do.  `mine`: this rank's. */
static int verdict(struct zcache_attempt *a, struct zcache_outcome *mine)
{
    int size = size_of(a->fd->comm), first = size;

    for (uint32_t i = 0; i < a->f->nowners; i++) {
        int rank = a->ranks[i] == NOBODY ? 0 : a->ranks[i];

        if (a->all[i].rc && rank < first)
            first = rank;
    }
    return first == size ? 0 : zcache_outcome_bcast(mine, first, a->fd->comm);
}

static void take_entries(struct zcache_attempt *a)
{
    memset(&a->f->in_force, 0xff, sizeof a->f->in_force);
    for (uint32_t i = 0; i < a->f->nowners; i++) {
        struct zcache_owner *w = &a->f->owners[i];
        const struct zcache_entry *e = &a->all[i];

        w->rank = a->ranks[i];
        w->elsewhere = a->ranks[i] == NOBODY;
        w->world_rank = a->g->owners[i].world_rank;
        w->number = e->number;
        w->way_len = e->way_len;
        memcpy(w->way, e->way, sizeof w->way);
        w->local = (int)i == a->mine ? a->handle : NULL;
        if (!w->elsewhere)
            zcache_in_force_lower(&a->f->in_force, &e->in_force);
    }
}

/* The attempt's group becomes the file's, and its settings those in force. */
int zcache_attempt_take(struct zcache_attempt *a)
{
    struct zcache_file *f = a->f;
    uint32_t n = a->g->nowners;

    a->served = size_of(a->fd->comm) > 1 || !zcache_process_alone();
    f->group = a->g;
    f->place = a->g->place;
    f->nowners = n;
    f->settings.block_size = a->g->place.block_size;
    f->settings.write_back = a->g->write_back;
    f->settings.replay = a->g->replay;
    f->settings.on_daemon_loss = a->g->on_daemon_loss;
    f->settings.checksum = a->g->checksum;
    a->ranks = a->ranks ? a->ranks : calloc(n, sizeof *a->ranks);
    a->all = calloc(n, sizeof *a->all);
    f->owners = calloc(n, sizeof *f->owners);
    if (!f->path)
        f->path = zcache_absolute(a->fd->filename);
    if (!a->ranks || !a->all || !f->owners || !f->path)
        return zc_errorf(ENOMEM, "no memory for %u aggregators", n);
    return f->settings.checksum == ZC_CHECKSUM_ON ? zc_crc_load() : 0;
}

/* The entries say who the owners of the new group are. */
static void meet_owners(struct zcache_attempt *a)
{
    for (uint32_t i = 0; i < a->g->nowners; i++)
        a->g->owners[i] = a->all[i].member;
    memcpy(a->g->id, a->all[0].group, sizeof a->g->id);
    a->g = a->f->group = zcache_group_expect(a->g);
}

/* Opens at all owners; which of them are among the ranks is known.  Takes the attempt's group over,
 * whatever comes of it. */
int zcache_attempt_open(struct zcache_attempt *a)
{
    struct zcache_outcome o = {0};
    int rc = 0;

    if (a->mine >= 0)
        rc = a->entry.rc = zcache_attempt_open_here(a);
    if (rc == 0 && a->o->rank == 0)
        rc = open_all_there(a);
    zcache_outcome_set(&o, rc);
    rc = exchange(a);
    if (rc)
        return rc;
    take_entries(a);
    return verdict(a, &o);
}

int zcache_attempt_introduce(struct zcache_attempt *a)
{
    struct zcache_outcome o = {0};
    int rc = 0;

    if (a->mine >= 0)
        rc = be_there(a);
    if (rc == 0 && a->mine >= 0)
        rc = introduce(a);
    zcache_outcome_set(&o, rc);
    a->entry.rc = rc;
    rc = exchange(a);
    if (rc)
        return rc;
    meet_owners(a);
    return verdict(a, &o);
}

int zcache_attempt_present(struct zcache_attempt *a)
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

void zcache_attempt_hear(struct zcache_attempt *a, const struct zcache_entry *e)
{
    a->all[0] = *e;
    if (a->mine < 0)
        meet_owners(a);
    take_entries(a);
}

/* Which owners are among the ranks, and whether those who are not can be reached by all as
 * processes of their host. */
int zcache_attempt_look(struct zcache_attempt *a)
{
    uint32_t n = a->f->nowners;
    int *mine = calloc(n + 1, sizeof *mine), *all = calloc(n + 1, sizeof *all), rc;
    MPI_Request request = MPI_REQUEST_NULL;

    a->mine = zcache_group_mine(a->g);
    rc = zcache_attempt_agree(
        a, mine && all ? 0 : zc_errorf(ENOMEM, "no memory for %u aggregators", n));
    if (rc == 0) {
        if (a->mine >= 0)
            mine[a->mine] = a->o->rank + 1;
        for (uint32_t i = 0; i < n; i++) {
            const struct zcache_member *m = &a->g->owners[i];

            if (m->near_len && !zc_tp_local_can_reach(m->near, zcache_way_address(m->near_len)))
                mine[n] = 1;
        }
        rc = zcache_outcome_wait(
            MPI_Iallreduce(mine, all, (int)n + 1, MPI_INT, MPI_MAX, a->fd->comm, &request),
            &request);
    }
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        a->ranks[i] = all[i] - 1; /* 0 is NOBODY's */
    a->reachable = rc == 0 && !all[n];
    free(mine);
    free(all);
    return rc;
}
