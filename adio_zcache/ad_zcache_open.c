/* ad_zcache_open.c - opening and closing, together.
 *
 * Rank 0 of the communicator opens first, and creates when the file is not there; outcome,
 * settings and layout are broadcast.  Then the aggregators open the file in their caches and
 * tell everybody where they are.  One error for all: the lowest rank's, with its text, on
 * every rank; and a file that this open created is removed again.
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ad_zcache.h"
#include "ad_zcache_hints.h"
#include "ad_zcache_seams.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_options.h"
#include "zc_wire.h"
#include "zcache_agg.h"
#include "zcache_error.h"
#include "zcache_file.h"
#include "zcache_finalize.h"
#include "zcache_near.h"
#include "zcache_network.h"
#include "zcache_outcome.h"
#include "zcache_stats.h"
#include "zcache_stores.h"

/* ---- open ---- */

enum { PAGE_MAX = 1 << 20 }; /* largest page of an aggregator's cache, bytes */

/* What rank 0 finds out about the file. */
struct layout {
    struct zc_sfile *sfile; /* open on rank 0 until the aggregators have it open */
    struct zc_attr attr;
    uint32_t servers; /* daemons */
    bool created;     /* by this open */
};

static unsigned open_flags(ADIO_File fd, int amode)
{
    unsigned flags = 0;

    if (!(zcache_file_of(fd)->settings.write_back & ZC_WRITE_BACK_DAEMON))
        flags |= ZC_OPEN_THROUGH;

    if (amode & (ADIO_RDONLY | ADIO_RDWR))
        flags |= ZC_OPEN_READ;
    if (amode & (ADIO_WRONLY | ADIO_RDWR))
        flags |= ZC_OPEN_WRITE;
    return flags;
}

/* umask() tells only what it replaces, which other threads that create files would notice: where
 * the kernel does not tell (before Linux 4.7), they get files that are too private. */
static mode_t current_umask(void)
{
    static struct zc_lock lock = ZC_LOCK_INITIALIZER(ZC_ORDER_PROCESS);
    FILE *f = fopen("/proc/self/status", "re");
    unsigned mask;
    char line[256];
    bool told = false;

    while (f && !told && fgets(line, sizeof line, f))
        told = sscanf(line, "Umask: %o", &mask) == 1;
    if (f)
        fclose(f);
    if (!told) {
        zc_lock_get(&lock);
        mask = umask(077);
        umask((mode_t)mask);
        zc_lock_put(&lock);
    }
    return (mode_t)mask;
}

static mode_t permissions(ADIO_File fd)
{
    return (fd->perm == ADIO_PERM_NULL ? 0666 : (mode_t)fd->perm) & ~current_umask();
}

static int open_once(ADIO_File fd, unsigned flags, struct layout *l)
{
    struct zcache_file *f = zcache_file_of(fd);

    l->attr.block_size = f->settings.block_size;
    return zc_store_open_file(zcache_store_files(f->store), f->path, flags, permissions(fd),
                              &l->sfile, &l->attr);
}

/* Opens on the rank that may create.  Looks for the file first, so that it is known who
 * created it; somebody else may create or delete it in between. */
static int open_first(ADIO_File fd, int amode, struct layout *l)
{
    unsigned flags = open_flags(fd, amode);
    int rc = -ENOENT;

    for (int tries = 0; tries < 3; tries++) {
        if (!(amode & ADIO_EXCL)) {
            rc = open_once(fd, flags, l);
            if (rc != -ENOENT || !(amode & ADIO_CREATE))
                return rc;
        }
        rc = open_once(fd, flags | ZC_OPEN_CREATE | ZC_OPEN_EXCL, l);
        l->created = rc == 0;
        if (rc != -EEXIST || (amode & ADIO_EXCL))
            return rc;
    }
    return open_once(fd, flags | ZC_OPEN_CREATE, l); /* a link to a file that is to be created */
}

static int get_store(ADIO_File fd, int rank)
{
    struct zcache_file *f = zcache_file_of(fd);

    f->path = zcache_absolute(fd->filename);
    if (!f->path)
        return zc_errorf(errno ? errno : ENOMEM, "no absolute path for %s", fd->filename);
    return zcache_store_get(&f->settings, rank, &f->store);
}

/* Rank 0 opens the store's file to learn, or create, what all others open then. */
static int open_layout(ADIO_File fd, int rank, int amode, struct layout *l)
{
    struct zcache_outcome o = {0};
    int rc = 0;

    if (rank == 0) {
        rc = get_store(fd, rank);
        if (rc == 0)
            rc = open_first(fd, amode, l);
        if (rc == 0)
            l->servers = zcache_store_files(zcache_file_of(fd)->store)->servers;
        zcache_outcome_set(&o, rc);
    }
    rc = zcache_outcome_bcast(&o, 0, fd->comm);
    if (rc == 0)
        rc = zcache_outcome_mpi(MPI_Bcast(&l->attr, sizeof l->attr, MPI_BYTE, 0, fd->comm));
    if (rc == 0)
        rc = zcache_outcome_mpi(MPI_Bcast(&l->servers, 1, MPI_UINT32_T, 0, fd->comm));
    return rc;
}

/* ---- aggregators ---- */

/* What an aggregator tells the others. */
struct card {
    uint64_t number;
    uint32_t addr_len;
    unsigned char addr[ZC_MAX_ADDRESS];
};

static int my_index(ADIO_File fd, const struct zcache_file *f, int rank)
{
    for (uint32_t i = 0; i < f->nowners; i++)
        if (fd->hints->ranklist[i] == rank)
            return (int)i;
    return -1;
}

static void place_blocks(ADIO_File fd, const struct layout *l)
{
    struct zcache_file *f = zcache_file_of(fd);
    uint64_t block = l->attr.block_size ? l->attr.block_size : f->settings.block_size;

    zcache_hints_placed(fd, block);
    f->place = (struct zc_place){block, l->servers, (uint32_t)fd->hints->cb_nodes};
    f->nowners = zc_place_owners(&f->place);
}

/* Opens the file in this rank's cache and exports it to the others. */
static int open_aggregator(ADIO_File fd, int rank, unsigned flags, const struct layout *l,
                           bool first, struct zc_handle **handle, struct card *card)
{
    struct zcache_file *f = zcache_file_of(fd);
    uint64_t block = f->place.block_size;
    uint32_t page = block < PAGE_MAX ? (uint32_t)block : PAGE_MAX;
    struct zc_attr attr = {.block_size = block, .stride = f->nowners};
    size_t len = sizeof card->addr;
    uint32_t servers;
    int rc, size;

    MPI_Comm_size(fd->comm, &size);
    f->coord = first ? zc_coord_create() : NULL;
    if (first && !f->coord)
        return zc_errorf(ENOMEM, "no memory to open a file");
    rc = f->store ? 0 : get_store(fd, rank);
    servers = rc ? l->servers : zcache_store_files(f->store)->servers;
    if (servers != l->servers)
        rc = zc_errorf(EINVAL, "rank 0 knows of %u daemons, rank %d of %u", l->servers, rank,
                       servers);
    if (rc == 0)
        rc = zcache_agg_get(f->store, &f->settings, page, size > 1, f->near, &f->agg);
    if (rc == 0)
        rc = zc_cache_open(zcache_agg_cache(f->agg), f->path, flags | ZC_OPEN_PRIVATE,
                           permissions(fd), handle, &attr);
    if (rc)
        return rc;
    zc_cache_grow(*handle, l->attr.size);
    if (f->settings.agg_prefetch)
        zc_cache_prefetch(*handle, (uint32_t)f->settings.agg_prefetch_depth);
    if (size == 1)
        return 0;
    card->number = zcache_agg_export(f->agg, f->near, *handle, f->coord);
    if (!card->number)
        return zc_errorf(ENOMEM, "no memory to export a file");
    rc = zcache_agg_address(f->agg, f->near, card->addr, &len);
    card->addr_len = (uint32_t)len;
    return rc;
}

/* Every rank learns every aggregator's card. */
static int exchange_cards(ADIO_File fd, int mine, const struct card *card, struct card *all)
{
    struct zcache_file *f = zcache_file_of(fd);
    int size, *counts, *at, code;

    MPI_Comm_size(fd->comm, &size);
    counts = ADIOI_Calloc(2 * (size_t)size, sizeof *counts);
    at = counts + size;
    for (uint32_t i = 0; i < f->nowners; i++) {
        counts[fd->hints->ranklist[i]] = sizeof *card;
        at[fd->hints->ranklist[i]] = (int)(i * sizeof *card);
    }
    code = MPI_Allgatherv(card, mine >= 0 ? (int)sizeof *card : 0, MPI_BYTE, all, counts, at,
                          MPI_BYTE, fd->comm);
    ADIOI_Free(counts);
    return zcache_outcome_mpi(code);
}

static void take_cards(ADIO_File fd, const struct card *all, int mine, struct zc_handle *handle)
{
    struct zcache_file *f = zcache_file_of(fd);

    for (uint32_t i = 0; i < f->nowners; i++) {
        struct zcache_owner *o = &f->owners[i];

        o->rank = fd->hints->ranklist[i];
        o->number = all[i].number;
        o->addr_len = all[i].addr_len;
        memcpy(o->addr, all[i].addr, sizeof o->addr);
        o->local = (int)i == mine ? handle : NULL;
    }
}

/* Collective; the same outcome on every rank. */
static int open_aggregators(ADIO_File fd, int rank, int amode, const struct layout *l)
{
    struct zcache_file *f = zcache_file_of(fd);
    struct zc_handle *handle = NULL;
    struct zcache_outcome o = {0};
    struct card card = {0}, *all;
    int mine, rc = 0;

    place_blocks(fd, l);
    mine = my_index(fd, f, rank);
    all = calloc(f->nowners, sizeof *all);
    f->owners = calloc(f->nowners, sizeof *f->owners);
    if (!all || !f->owners)
        rc = zc_errorf(ENOMEM, "no memory for %u aggregators", f->nowners);
    if (rc == 0 && mine >= 0)
        rc = open_aggregator(fd, rank, open_flags(fd, amode), l, mine == 0, &handle, &card);
    zcache_outcome_set(&o, rc);
    rc = zcache_outcome_agree(&o, fd->comm);
    if (rc == 0) {
        rc = exchange_cards(fd, mine, &card, all);
        zcache_outcome_set(&o, rc);
    }
    if (rc == 0) {
        take_cards(fd, all, mine, handle);
    } else if (handle) {
        if (card.number)
            zcache_agg_unexport(f->agg, f->near, card.number);
        zc_cache_close(handle);
    }
    free(all);
    return rc ? zc_errorf(-rc, "%s", o.text) : 0;
}

static void undo_open(ADIO_File fd, int rc, bool created)
{
    struct zcache_file *f = zcache_file_of(fd);
    int undone;

    if (!f)
        return;
    undone = created ? zc_store_unlink(zcache_store_files(f->store), f->path) : 0;
    if (undone)
        zc_error("%s was created and could not be removed: %s", f->path, zc_error_text(undone));
    if (f->agg)
        zcache_agg_put(f->agg);
    if (f->store)
        zcache_store_put(f->store, zcache_network_is_loss(rc));
    zcache_file_free(fd);
}

/* What is decided by now, instead of what was wished for. */
static void echo_layout(ADIO_File fd)
{
    const struct zcache_file *f = zcache_file_of(fd);
    char value[24];

    snprintf(value, sizeof value, "%u", f->nowners);
    ADIOI_Info_set(fd->info, "cb_nodes", value);
    snprintf(value, sizeof value, "%u", f->place.daemons ? f->place.daemons : 1);
    ADIOI_Info_set(fd->info, "striping_factor", value);
}

static void opened(ADIO_File fd, const struct layout *l)
{
    struct zcache_file *f = zcache_file_of(fd);
    int size;

    zcache_finalize_watch();
    zcache_finalize_file_opened();
    MPI_Comm_size(fd->comm, &size);
    if (size > 1 || (f->settings.daemons && *f->settings.daemons))
        zcache_network_keep(&f->settings);
    echo_layout(fd);
    fd->blksize = (long)f->place.block_size;
    fd->hints->striping_unit = f->place.block_size <= INT_MAX ? (int)f->place.block_size : 0;
    if (!f->path) /* a rank that opened nothing itself: for its messages */
        f->path = zcache_absolute(fd->filename);
    fd->is_open = 1;
    fd->dirty_write = 0;
    if (fd->access_mode & ADIO_APPEND)
        fd->fp_ind = (ADIO_Offset)l->attr.size;
    zcache_owners_warm(f);
    zcache_hints_echo(fd);
}

static int check_settings(const struct zcache_file *f)
{
    if (!f)
        return zc_errorf(ENOMEM, "no memory to open a file");
    return f->bad_env[0] ? zc_errorf(EINVAL, "%s", f->bad_env) : 0;
}

void ADIOI_ZCACHE_OpenColl(ADIO_File fd, int rank, int amode, int *error_code)
{
    struct layout layout = {.created = false};
    struct zcache_outcome o = {0};
    char path[1024], text[508] = "";
    int rc;

    zc_error_clear();
    fd->access_mode = amode;
    snprintf(path, sizeof path, "%s", fd->filename);
    if (rank == 0)
        zcache_hints_environment();
    zcache_outcome_set(&o, check_settings(zcache_file_get(fd)));
    rc = zcache_outcome_agree(&o, fd->comm);
    if (rc == 0)
        rc = zcache_hints_agree(fd, zcache_file_of(fd));
    if (rc == 0)
        rc = open_layout(fd, rank, amode, &layout);
    if (rc == 0) {
        zcache_file_of(fd)->near = zcache_file_of(fd)->settings.local;
        rc = zcache_near_agree(fd->comm, &zcache_file_of(fd)->near);
    }
    if (rc == 0)
        rc = open_aggregators(fd, rank, amode, &layout);
    if (rc == 0)
        rc = zcache_hints_settle(fd);
    snprintf(text, sizeof text, "%s", rc ? zc_error_text(rc) : "");
    if (layout.sfile)
        zc_store_close_file(layout.sfile, ZC_LEVEL_VISIBLE);
    if (rc)
        undo_open(fd, rc, layout.created);
    else
        opened(fd, &layout);
    if (rc)
        zc_errorf(-rc, "%s", text);
    zcache_set_error(error_code, rc, "cannot open", path);
}

/* ROMIO opens alone only when it has put an open off, which a driver without two-phase
 * never lets it do. */
void ADIOI_ZCACHE_Open(ADIO_File fd, int *error_code)
{
    *error_code =
        zcache_mpi_errorf(MPI_ERR_UNSUPPORTED_OPERATION,
                          "zcache: %s cannot be opened by one rank for others", fd->filename);
}

/* ---- close ---- */

/* This rank's share of closing: nobody else uses the file any more.  One that is about to go is
 * not written back. */
static int close_aggregator(struct zcache_file *f, struct zcache_owner *o, bool goes)
{
    enum zc_level level = (enum zc_level)f->settings.close_level;
    struct zcache_outcome first = {0};
    int rc;

    if (o->number)
        zcache_agg_unexport(f->agg, f->near, o->number);
    if (!goes)
        zcache_outcome_set(&first, zc_cache_flush(o->local, level));
    rc = zc_cache_close(o->local);
    return first.rc ? zc_errorf(-first.rc, "%s", first.text) : rc;
}

void ADIOI_ZCACHE_Close(ADIO_File fd, int *error_code)
{
    struct zcache_file *f = zcache_file_of(fd);
    struct zcache_outcome o = {0};
    char path[1024];
    int rc = 0;

    if (!f || !f->owners) {
        *error_code = MPI_SUCCESS;
        return;
    }
    zc_error_clear();
    if (f->settings.stats)
        zcache_stats_report(fd);
    zcache_split_end(fd); /* a program that closes too early must not write into what is freed */
    zcache_requests_leave(fd);
    zcache_jobs_drain(&f->jobs);
    zcache_owners_views_end(f);
    rc = zcache_outcome_barrier(fd->comm); /* all accesses of all ranks are done */
    zcache_outcome_set(&o, rc);
    for (uint32_t i = 0; i < f->nowners; i++)
        if (f->owners[i].local)
            rc = close_aggregator(f, &f->owners[i], fd->access_mode & ADIO_DELETE_ON_CLOSE);
    if (rc)
        zcache_outcome_set(&o, rc);
    if (f->agg)
        zcache_agg_put(f->agg);
    if (f->store)
        zcache_store_put(f->store, zcache_network_is_loss(rc));
    snprintf(path, sizeof path, "%s", f->path ? f->path : fd->filename);
    zcache_file_free(fd);
    fd->is_open = 0;
    rc = zcache_outcome_agree(&o, fd->comm);
    zcache_set_error(error_code, rc, "cannot close", path);
    zcache_finalize_file_closed();
}
