/* zcache_attach.c - an open finds those who own the file, or makes its ranks own it; together.
 *
 *     known by a rank? --yes--> its card to all --> join
 *          | no                                      ^
 *          v                                         | verified: the card still lies there
 *     make: the ranks of ranklist own it             |
 *          |                                         |
 *          v              another card lies there    |
 *     meet: our card at the file? --------------> undo, take it
 *          | it lies there now; or nobody can be met
 *          v
 *        done
 *
 * A group whose owner does not answer although its card lies there is gone: the next card replaces
 * that one.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "zc_log.h"
#include "zc_tp_local.h"
#include "zcache_attach.h"
#include "zcache_file.h"
#include "zcache_group.h"
#include "zcache_network.h"
#include "zcache_outcome.h"
#include "zcache_peer.h"

enum {
    PAGE_MAX = 1 << 20, /* largest page of an aggregator's cache, bytes */
    NOBODY = -1,        /* instead of a rank of the communicator */
};

/* What all ranks learn of an owner: where this open is, and, in a new group, where he is. */
struct entry {
    uint64_t number;
    uint32_t addr_len;
    unsigned char addr[ZC_MAX_ADDRESS];
    unsigned char group[16]; /* of a new group's first owner: its id */
    struct zcache_member member;
};

/* One attempt. */
struct attempt {
    ADIO_File fd;
    const struct zcache_opening *o;
    struct zcache_file *f;
    struct zcache_group *g;
    bool new;            /* the group is only being made */
    bool reachable;      /* owners elsewhere, by what is for processes of their host */
    bool served;         /* other processes may ask us */
    int *ranks;          /* of the owners, or NOBODY */
    struct entry *all;   /* of the owners */
    struct zc_handle *handle; /* this rank's own */
    int mine;            /* which owner this is, or -1 */
    struct entry entry;  /* this one's */
};

static int size_of(MPI_Comm comm)
{
    int size;

    MPI_Comm_size(comm, &size);
    return size;
}

static int outcome_of(struct attempt *a, int rc)
{
    struct zcache_outcome o = {0};

    zcache_outcome_set(&o, rc);
    return zcache_outcome_agree(&o, a->fd->comm);
}

/* ---- an owner among the ranks ---- */

static int get_aggregator(struct attempt *a)
{
    struct zcache_file *f = a->f;
    uint64_t block = a->g->place.block_size;
    uint32_t page = block < PAGE_MAX ? (uint32_t)block : PAGE_MAX, servers;
    int rc;

    f->agg = zcache_group_agg(a->g);
    if (f->agg)
        return 0;
    rc = f->store ? 0 : zcache_file_store(a->fd, a->o->rank);
    if (rc)
        return rc;
    servers = zcache_store_files(f->store)->servers;
    if (servers != a->o->servers)
        return zc_errorf(EINVAL, "rank 0 knows of %u daemons, rank %d of %u", a->o->servers,
                         a->o->rank, servers);
    rc = zcache_agg_get(f->store, &f->settings, page, &f->agg);
    if (rc == 0)
        f->agg = zcache_group_own(a->g, f->agg, f->store);
    return rc;
}

/* Those of this open ask through one kind of endpoint; processes of other hosts that come later
 * need the other one, if there are any. */
static int serve(struct attempt *a)
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

static uint32_t address_of(struct attempt *a, bool near, unsigned char *addr)
{
    size_t len = ZC_MAX_ADDRESS;

    return a->served && zcache_agg_address(a->f->agg, near, addr, &len) == 0 ? (uint32_t)len : 0;
}

/* Says who this owner is, for a new group. */
static int introduce(struct attempt *a)
{
    struct zcache_member *m = &a->entry.member;
    int world = 0, rc;

    rc = zcache_process_id(m->process);
    if (rc == 0 && a->mine == 0 &&
        getrandom(a->entry.group, sizeof a->entry.group, 0) != sizeof a->entry.group)
        rc = zc_errorf(errno, "getrandom");
    MPI_Comm_rank(MPI_COMM_WORLD, &world);
    m->world_rank = (uint32_t)world;
    m->near_len = address_of(a, true, m->near);
    m->far_len = address_of(a, false, m->far);
    return rc;
}

static unsigned store_flags(const struct attempt *a)
{
    bool through = !(a->f->settings.write_back & ZC_WRITE_BACK_DAEMON);

    return a->o->flags | (through ? ZC_OPEN_THROUGH : 0);
}

/* Between rank 0's look and an owner's the path may have become another file's. */
static int same_file(const struct attempt *a, const struct zc_attr *is)
{
    const struct zc_attr *is_to_be = &a->o->attr;

    if (is->ino == is_to_be->ino && (is->dev == is_to_be->dev || !a->o->servers))
        return 0;
    return zc_errorf(ESTALE, "%s was replaced by another file while it was being opened",
                     a->f->path);
}

static int open_here(struct attempt *a)
{
    struct zcache_file *f = a->f;
    struct zc_attr attr = {.block_size = f->place.block_size, .stride = f->nowners};
    int rc = 0;

    if (a->mine == 0) {
        f->coord = zc_coord_create();
        rc = f->coord ? 0 : zc_errorf(ENOMEM, "no memory to open a file");
    }
    if (rc == 0)
        rc = get_aggregator(a);
    if (rc == 0)
        rc = serve(a);
    if (rc == 0 && a->new)
        rc = introduce(a);
    if (rc == 0)
        rc = zc_cache_open(zcache_agg_cache(f->agg), f->path, store_flags(a), a->o->mode,
                           &a->handle, &attr);
    if (rc)
        return rc;
    rc = same_file(a, &attr);
    if (rc)
        return rc;
    zc_cache_grow(a->handle, a->o->attr.size);
    if (f->settings.agg_prefetch)
        zc_cache_prefetch(a->handle, (uint32_t)f->settings.agg_prefetch_depth);
    if (size_of(a->fd->comm) == 1)
        return 0;
    a->entry.number = zcache_agg_export(f->agg, f->near, a->handle, f->coord);
    a->entry.addr_len = address_of(a, f->near, a->entry.addr);
    return a->entry.number ? 0 : zc_errorf(ENOMEM, "no memory to export a file");
}

/* ---- an owner elsewhere; by rank 0 ---- */

static int open_there(struct attempt *a, uint32_t i)
{
    const struct zcache_member *m = &a->g->owners[i];
    bool near = a->reachable && m->near_len;
    struct zcache_file *f = a->f;
    struct entry *e = &a->all[i];
    struct zc_attr attr = {.block_size = f->place.block_size, .stride = f->nowners};
    struct zc_client *c;
    char label[64];
    int rc;

    e->addr_len = near ? m->near_len : m->far_len;
    memcpy(e->addr, near ? m->near : m->far, e->addr_len);
    if (!e->addr_len)
        return zc_errorf(EHOSTUNREACH,
                         "%s is open in this job, and rank %u, which has its pages, can be reached "
                         "from its own host only: give all opens the same hint zcache_local",
                         f->path, m->world_rank);
    snprintf(label, sizeof label, "aggregator on rank %u of the job", m->world_rank);
    rc = zcache_peer_get(e->addr, e->addr_len, label, &f->settings, &c);
    if (rc == 0)
        rc = zc_client_open(c, f->path, store_flags(a) | ZC_OPEN_FOR_ALL, a->o->mode, &e->number,
                            &attr);
    return rc ? rc : same_file(a, &attr);
}

static int open_all_there(struct attempt *a)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < a->f->nowners; i++)
        if (a->ranks[i] == NOBODY)
            rc = open_there(a, i);
    return rc;
}

static void close_there(struct attempt *a, const struct entry *e)
{
    struct zc_client *c;

    if (e->number && zcache_peer_get(e->addr, e->addr_len, "aggregator", &a->f->settings, &c) == 0)
        zc_client_close(c, e->number, ZC_LEVEL_VISIBLE);
}

/* ---- all of them ---- */

static void attempt_free(struct attempt *a)
{
    free(a->ranks);
    free(a->all);
    a->ranks = NULL;
    a->all = NULL;
}

/* Nothing of the attempt is left but what the file got: undone by a failed one. */
static void undo(struct attempt *a)
{
    struct zcache_file *f = a->f;

    if (a->handle) {
        if (a->entry.number)
            zcache_agg_unexport(f->agg, f->near, a->entry.number);
        zc_cache_close(a->handle);
    }
    for (uint32_t i = 0; a->o->rank == 0 && a->all && i < f->nowners; i++)
        if (a->ranks[i] == NOBODY)
            close_there(a, &a->all[i]);
    zc_coord_destroy(f->coord);
    f->coord = NULL;
    f->agg = NULL;
    free(f->owners);
    f->owners = NULL;
    zcache_group_put(f->group);
    f->group = NULL;
}

/* Every rank learns of every owner; those of owners elsewhere are rank 0's. */
static int exchange(struct attempt *a)
{
    int size = size_of(a->fd->comm), *counts, *at, rc;
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
    rc = zcache_outcome_mpi(MPI_Allgatherv(&a->entry, a->mine >= 0 ? (int)sizeof a->entry : 0,
                                           MPI_BYTE, a->all, counts, at, MPI_BYTE, a->fd->comm));
    ADIOI_Free(counts);
    if (rc == 0 && elsewhere)
        rc = zcache_outcome_mpi(MPI_Bcast(a->all, (int)(a->f->nowners * sizeof *a->all), MPI_BYTE,
                                          0, a->fd->comm));
    return rc;
}

static void take_entries(struct attempt *a)
{
    for (uint32_t i = 0; i < a->f->nowners; i++) {
        struct zcache_owner *w = &a->f->owners[i];
        const struct entry *e = &a->all[i];

        w->rank = a->ranks[i];
        w->elsewhere = a->ranks[i] == NOBODY;
        w->world_rank = a->new ? e->member.world_rank : a->g->owners[i].world_rank;
        w->number = e->number;
        w->addr_len = e->addr_len;
        memcpy(w->addr, e->addr, sizeof w->addr);
        w->local = (int)i == a->mine ? a->handle : NULL;
        if (a->new)
            a->g->owners[i] = e->member;
    }
    if (a->new)
        memcpy(a->g->id, a->all[0].group, sizeof a->g->id);
}

/* The attempt's group becomes the file's, and its settings those in force. */
static int take_group(struct attempt *a)
{
    struct zcache_file *f = a->f;
    uint32_t n = a->g->nowners;

    f->group = a->g;
    f->place = a->g->place;
    f->nowners = n;
    f->settings.block_size = a->g->place.block_size;
    f->settings.agg_cache_size = a->g->cache_size;
    f->settings.write_back = a->g->write_back;
    a->ranks = a->ranks ? a->ranks : calloc(n, sizeof *a->ranks);
    a->all = calloc(n, sizeof *a->all);
    f->owners = calloc(n, sizeof *f->owners);
    if (!f->path)
        f->path = zcache_absolute(a->fd->filename);
    if (a->ranks && a->all && f->owners && f->path)
        return 0;
    return zc_errorf(ENOMEM, "no memory for %u aggregators", n);
}

/* Opens at all owners; which of them are among the ranks is known.  Takes the attempt's group over,
 * whatever comes of it. */
static int open_owners(struct attempt *a)
{
    int rc = 0, there = 0;

    if (a->mine >= 0)
        rc = open_here(a);
    if (a->o->rank == 0)
        there = open_all_there(a);
    rc = outcome_of(a, rc ? rc : there);
    if (rc == 0)
        rc = exchange(a);
    if (rc == 0)
        take_entries(a);
    return rc;
}

/* ---- a group that is there ---- */

/* Which owners are among the ranks, and whether those who are not can be reached by all as
 * processes of their host. */
static int look_for_owners(struct attempt *a)
{
    uint32_t n = a->f->nowners;
    int *mine = calloc(n + 1, sizeof *mine), *all = calloc(n + 1, sizeof *all), rc;

    a->mine = zcache_group_mine(a->g);
    rc = outcome_of(a, mine && all ? 0 : zc_errorf(ENOMEM, "no memory for %u aggregators", n));
    if (rc == 0) {
        if (a->mine >= 0)
            mine[a->mine] = a->o->rank + 1;
        for (uint32_t i = 0; i < n; i++) {
            const struct zcache_member *m = &a->g->owners[i];

            if (m->near_len && !zc_tp_local_can_reach(m->near, m->near_len))
                mine[n] = 1;
        }
        rc = zcache_outcome_mpi(
            MPI_Allreduce(mine, all, (int)n + 1, MPI_INT, MPI_MAX, a->fd->comm));
    }
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        a->ranks[i] = all[i] - 1; /* 0 is NOBODY's */
    a->reachable = rc == 0 && !all[n];
    free(mine);
    free(all);
    return rc;
}

/* The file is attached to a group that somebody has told of, which is taken over. */
static int join(ADIO_File fd, const struct zcache_opening *o, struct zcache_group *g)
{
    struct attempt a = {.fd = fd, .o = o, .f = zcache_file_of(fd), .g = g, .mine = -1};
    int rc;

    a.served = size_of(fd->comm) > 1 || !zcache_process_alone();
    rc = take_group(&a);
    if (rc == 0 && g->place.daemons != o->servers)
        rc = zc_errorf(EINVAL, "%s is open in this job with %u daemons, and not with %u",
                       a.f->path, g->place.daemons, o->servers);
    rc = outcome_of(&a, rc);
    if (rc == 0)
        rc = look_for_owners(&a);
    if (rc == 0)
        rc = open_owners(&a);
    if (rc) {
        struct zcache_outcome why = {0};

        zcache_outcome_set(&why, rc);
        undo(&a);
        rc = zc_errorf(-rc, "%s", why.text);
    }
    attempt_free(&a);
    return rc;
}

/* `root` has the bytes, the others get the group that they are of. */
static int tell(ADIO_File fd, int root, int rank, void *bytes, size_t len,
                struct zcache_group **out)
{
    struct zcache_outcome o = {0};
    uint64_t n = len;
    void *card = bytes;
    int rc;

    *out = NULL;
    rc = zcache_outcome_mpi(MPI_Bcast(&n, 1, MPI_UINT64_T, root, fd->comm));
    if (rc == 0 && rank != root)
        card = malloc(n);
    if (rc == 0 && !card)
        rc = zc_errorf(ENOMEM, "no memory for a card of %llu bytes", (unsigned long long)n);
    zcache_outcome_set(&o, rc);
    rc = zcache_outcome_agree(&o, fd->comm);
    if (rc == 0)
        rc = zcache_outcome_mpi(MPI_Bcast(card, (int)n, MPI_BYTE, root, fd->comm));
    if (rc == 0)
        rc = zcache_group_of_card(card, n, out);
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

/* The group that the lowest rank has, if any has one: on every rank the same, or NULL. */
static int known(ADIO_File fd, const struct zcache_opening *o, struct zcache_group **out)
{
    struct zcache_group *mine = zcache_group_find(o->attr.dev, o->attr.ino);
    int size = size_of(fd->comm), who = mine ? o->rank : size, first, rc;
    size_t len = 0;
    void *card = NULL;

    *out = NULL;
    rc = zcache_outcome_mpi(MPI_Allreduce(&who, &first, 1, MPI_INT, MPI_MIN, fd->comm));
    if (rc == 0 && first < size) {
        struct zcache_outcome told = {0};

        if (o->rank == first)
            zcache_outcome_set(&told, zcache_group_card(mine, &card, &len));
        rc = zcache_outcome_bcast(&told, first, fd->comm);
        if (rc == 0)
            rc = tell(fd, first, o->rank, card, len, out);
        free(card);
    }
    if (rc == 0 && mine && *out != mine)
        zc_warn("%s: processes of this job that could not know of each other have it open; what "
                "they write meanwhile, each sees after MPI_File_sync only",
                fd->filename);
    zcache_group_put(mine);
    return rc;
}

/* ---- a group of one's own ---- */

/* What became of our card. */
struct met {
    int32_t rc;
    char text[400];
    bool theirs; /* another one lay there ... */
    uint64_t number, len;
};

/* By the first owner. */
static int leave_card(struct attempt *a, uint64_t replaces, struct met *m, void **theirs)
{
    struct zc_sfile *sfile = a->o->sfile, *opened = NULL;
    struct zc_attr attr = {.block_size = a->f->place.block_size};
    struct zc_card found = {0};
    struct zc_seat *seat = NULL;
    size_t len = 0;
    void *card = NULL;
    int rc = zcache_group_card(a->g, &card, &len);

    if (rc == 0 && !sfile) {
        rc = zc_store_open_file(zcache_store_files(a->f->store), a->f->path, a->o->flags,
                                a->o->mode, &opened, &attr);
        sfile = opened;
    }
    if (rc == 0)
        rc = zc_store_meet(sfile, zcache_process_job(), card, len, replaces, &seat, &found);
    if (rc == -EOPNOTSUPP) /* nobody can be met */
        rc = 0;
    if (seat)
        zcache_group_sit(a->g, seat);
    if (opened)
        zc_store_close_file(opened, ZC_LEVEL_VISIBLE);
    free(card);
    m->theirs = rc == 0 && found.bytes;
    m->number = found.number;
    m->len = found.len;
    *theirs = found.bytes;
    return rc;
}

/* Leaves our card, or finds another one; *out: whose it is, or NULL. */
static int meet(struct attempt *a, uint64_t replaces, struct met *m, struct zcache_group **out)
{
    void *theirs = NULL;
    int root = a->ranks[0], rc;

    *out = NULL;
    if (a->o->rank == root) {
        m->rc = leave_card(a, replaces, m, &theirs);
        snprintf(m->text, sizeof m->text, "%s", m->rc ? zc_error_text(m->rc) : "");
    }
    rc = zcache_outcome_mpi(MPI_Bcast(m, sizeof *m, MPI_BYTE, root, a->fd->comm));
    if (rc == 0 && m->rc)
        rc = zc_errorf(-m->rc, "%s", m->text);
    if (rc == 0 && m->theirs)
        rc = tell(a->fd, root, a->o->rank, theirs, m->len, out);
    free(theirs);
    return rc;
}

static int new_group(struct attempt *a)
{
    struct zcache_file *f = a->f;
    uint64_t block = a->o->attr.block_size ? a->o->attr.block_size : f->settings.block_size;
    struct zc_place place = {block, a->o->servers, (uint32_t)a->fd->hints->cb_nodes};

    a->g = zcache_group_new(&place);
    if (!a->g)
        return zc_errorf(ENOMEM, "no memory to open a file");
    a->g->dev = a->o->attr.dev;
    a->g->ino = a->o->attr.ino;
    a->g->cache_size = f->settings.agg_cache_size;
    a->g->write_back = f->settings.write_back;
    return 0;
}

/* The ranks of the communicator come to own the file; *out: or another group has the file, and
 * nothing has changed. */
static int make(ADIO_File fd, const struct zcache_opening *o, struct met *m,
                struct zcache_group **out)
{
    struct attempt a = {.fd = fd, .o = o, .f = zcache_file_of(fd), .new = true, .mine = -1};
    struct zcache_outcome why = {0};
    uint64_t replaces = m->number;
    struct zcache_group *entered;
    int rc;

    *out = NULL;
    a.served = size_of(fd->comm) > 1 || !zcache_process_alone();
    rc = new_group(&a);
    if (rc == 0)
        rc = take_group(&a);
    for (uint32_t i = 0; rc == 0 && i < a.f->nowners; i++) {
        a.ranks[i] = fd->hints->ranklist[i];
        if (a.ranks[i] == o->rank)
            a.mine = (int)i;
    }
    rc = outcome_of(&a, rc);
    if (rc == 0)
        rc = open_owners(&a);
    if (rc == 0 && !zcache_process_alone())
        rc = meet(&a, replaces, m, out);
    if (rc == 0 && !*out) {
        /* of threads that open alone at the same time, one is the first */
        entered = zcache_group_enter(a.g, size_of(fd->comm) == 1);
        a.f->group = entered;
        if (entered != a.g) {
            *out = entered;
            a.f->group = NULL;
        }
    }
    zcache_outcome_set(&why, rc);
    if (rc || *out)
        undo(&a);
    attempt_free(&a);
    return why.rc ? zc_errorf(-why.rc, "%s", why.text) : 0;
}

/* Since the card was found the group may have ended: then others do not find it, but one another.
 * By rank 0, which asks the store. */
static int still_there(ADIO_File fd, const struct zcache_opening *o, const struct met *m, bool *yes)
{
    struct zcache_file *f = zcache_file_of(fd);
    struct zcache_outcome told = {0};
    struct zc_card found = {0};
    struct zc_seat *seat = NULL;
    size_t len = 0;
    void *card = NULL;
    int there = 0, rc = 0;

    if (o->rank == 0) {
        rc = zcache_group_card(f->group, &card, &len);
        if (rc == 0)
            rc = zc_store_meet(o->sfile, zcache_process_job(), card, len, 0, &seat, &found);
        there = rc == 0 && found.bytes && found.number == m->number;
        zc_store_part(seat);
        free(found.bytes);
        free(card);
    }
    zcache_outcome_set(&told, rc);
    rc = zcache_outcome_bcast(&told, 0, fd->comm);
    if (rc == 0)
        rc = zcache_outcome_mpi(MPI_Bcast(&there, 1, MPI_INT, 0, fd->comm));
    *yes = there;
    return rc;
}

int zcache_attach(ADIO_File fd, const struct zcache_opening *o)
{
    struct met m = {0};

    for (;;) {
        struct zcache_group *g;
        bool yes = false;
        int rc = known(fd, o, &g);

        if (rc)
            return rc;
        if (g)
            return join(fd, o, g);
        rc = make(fd, o, &m, &g);
        if (rc || !g)
            return rc;
        rc = join(fd, o, g);
        if (rc == 0 && !m.theirs)
            return 0; /* another thread's */
        if (rc == 0)
            rc = still_there(fd, o, &m, &yes);
        else if (m.theirs && (zcache_network_is_loss(rc) || rc == -EHOSTUNREACH))
            continue; /* m.number is to be replaced */
        if (rc || yes)
            return rc;
        zcache_detach(fd);
        m.number = 0;
    }
}

/* ---- the end ---- */

int zcache_detach_flush(ADIO_File fd, enum zc_level level)
{
    struct zcache_file *f = zcache_file_of(fd);
    int rank, rc = 0;

    MPI_Comm_rank(fd->comm, &rank);
    for (uint32_t i = 0; i < f->nowners; i++)
        if (f->owners[i].local)
            rc = zc_cache_flush(f->owners[i].local, level);
    return rc || rank ? rc : zcache_owners_flush_elsewhere(f, level);
}

int zcache_detach(ADIO_File fd)
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
    if (rank == 0)
        there = zcache_owners_close_elsewhere(f);
    rc = rc ? rc : there;
    zc_coord_destroy(f->coord);
    f->coord = NULL;
    f->agg = NULL;
    free(f->owners);
    f->owners = NULL;
    zcache_group_put(f->group);
    f->group = NULL;
    return rc;
}
