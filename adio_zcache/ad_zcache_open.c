/* ad_zcache_open.c - opening and closing, together.
 *
 * Rank 0 of the communicator opens first, when all are ready, and creates when the file is not
 * there; outcome, settings and layout are one message to all.  Then those who own the file's blocks
 * open it in their caches (zcache_attach.h).  One error for all: the lowest rank's, with its text,
 * on every rank; and a file that this open created is removed again.
 *
 * What costs time in an open or a close is how often ranks wait for each other: for more ranks than
 * cores each is a round of all of them through the scheduler.
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
#include "zc_events.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_options.h"
#include "zcache_attach.h"
#include "zcache_error.h"
#include "zcache_file.h"
#include "zcache_finalize.h"
#include "zcache_log.h"
#include "zcache_measure.h"
#include "zcache_network.h"
#include "zcache_outcome.h"
#include "zcache_progress.h"
#include "zcache_stats.h"
#include "zcache_stores.h"
#include "zcache_used.h"

/* ---- open ---- */

/* What rank 0 finds out about the file. */
struct layout {
    struct zc_sfile *sfile; /* open on rank 0 until the aggregators have it open */
    struct zc_attr attr;
    uint32_t servers;              /* daemons */
    bool created;                  /* by this open */
    struct zc_tp_local_card card;  /* this rank's, and ... */
    struct zc_tp_local_card first; /* ... rank 0's; no pid: none */
};

/* What rank 0 tells all ranks, at once. */
struct told {
    int64_t refused; /* the first rank that cannot take part; none: how many there are */
    int64_t timeout; /* the least of the connections that ranks have */
    struct zcache_outcome outcome;
    struct zcache_hints_text settings;
    struct zc_attr attr;
    struct zc_tp_local_card card;
    uint32_t servers;
};

static unsigned open_flags(int amode)
{
    unsigned flags = 0;

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
    char line[ZC_TEXT_MAX];
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
    return zc_store_open_file(zcache_store_files(f->store), f->path, flags,
                              flags & ZC_OPEN_CREATE ? permissions(fd) : 0, &l->sfile, &l->attr);
}

/* Opens on the rank that may create.  Looks for the file first, so that it is known who
 * created it; somebody else may create or delete it in between. */
static int open_first(ADIO_File fd, int amode, struct layout *l)
{
    unsigned flags = open_flags(amode);
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

/* Where the local transport is wanted, and there is somebody to try it with. */
static void make_card(ADIO_File fd, struct zc_tp_local_card *out)
{
    int size;

    MPI_Comm_size(fd->comm, &size);
    *out = (struct zc_tp_local_card){0};
    if (size > 1 && zcache_file_of(fd)->settings.local && zc_tp_local_card(out)) {
        zc_error_clear();
        *out = (struct zc_tp_local_card){0};
    }
}

/* Rank 0 opens the store's file to learn, or create, what all others open then; *settings: to be
 * freed, whatever came of it. */
static int open_layout(ADIO_File fd, int amode, struct layout *l, struct told *t, char **settings)
{
    struct zcache_file *f = zcache_file_of(fd);
    int rc = zcache_hints_decide(fd, t->timeout, &t->settings, settings);

    if (rc == 0)
        rc = zcache_file_store(fd, 0);
    if (rc == 0)
        rc = open_first(fd, amode, l);
    if (rc)
        return rc;
    t->servers = zcache_store_files(f->store)->servers;
    t->attr = l->attr;
    make_card(fd, &t->card);
    return 0;
}

/* When all ranks can take part, rank 0 decides for all, and opens; they learn what came of it.
 * `mine`: whether this one can. */
static int learn_layout(ADIO_File fd, int rank, int amode, struct zcache_outcome *mine,
                        struct layout *l)
{
    int64_t ready[2] = {rank, zcache_network_timeout()}, all[2];
    char *settings = NULL;
    struct told t;
    int size, rc;

    MPI_Comm_size(fd->comm, &size);
    if (mine->rc == 0)
        ready[0] = size;
    rc = zcache_outcome_least(ready, all, 2, 0, fd->comm);
    if (rc)
        return rc;
    memset(&t, 0, sizeof t); /* padding travels, too */
    if (rank == 0) {
        t.refused = all[0];
        t.timeout = all[1];
        if (t.refused == size)
            zcache_outcome_set(&t.outcome, open_layout(fd, amode, l, &t, &settings));
    }
    rc = zcache_outcome_bytes(&t, sizeof t, 0, fd->comm);
    if (rc == 0 && t.refused < size)
        return zcache_outcome_bcast(mine, (int)t.refused, fd->comm);
    if (rc == 0)
        rc = zcache_hints_take(fd, rank, t.timeout, &t.settings, settings);
    free(settings);
    l->attr = t.attr;
    l->servers = t.servers;
    l->first = t.card;
    return t.outcome.rc ? zc_errorf(-t.outcome.rc, "%s", t.outcome.text) : rc;
}

/* Whether all ranks are on one host, as far as this one can tell; all of them vote when they
 * attach. */
static void look_around(ADIO_File fd, int rank, struct layout *l)
{
    struct zcache_file *f = zcache_file_of(fd);
    int size;

    MPI_Comm_size(fd->comm, &size);
    f->near = f->settings.local;
    if (size == 1)
        return;
    l->card = l->first;
    if (rank)
        make_card(fd, &l->card);
    f->near = l->card.pid && (rank == 0 || zc_tp_local_reaches_as(&l->card, &l->first));
    if (!f->near) /* also ranks that own nothing need it */
        zcache_network_warm(&f->settings, &f->jobs);
}

/* Each host numbers devices in its own way, also for a file system that all of them share. */
static uint64_t device_here(ADIO_File fd, int rank, const struct layout *l)
{
    struct zcache_file *f = zcache_file_of(fd);
    struct zc_attr here;

    if (rank == 0 || l->servers || f->near)
        return l->attr.dev;
    if (zcache_file_store(fd, rank) ||
        zc_store_stat(zcache_store_files(f->store), f->path, &here)) {
        zc_error_clear(); /* whoever opens the file here hears of it */
        return 0;
    }
    return here.ino == l->attr.ino ? here.dev : 0;
}

/* Whoever owns the file's blocks opens it: collective, the same outcome on every rank. */
static int open_owners(ADIO_File fd, int rank, int amode, const struct layout *l)
{
    const struct zcache_file *f = zcache_file_of(fd);
    struct zcache_opening o = {.rank = rank,
                               .flags = open_flags(amode),
                               .attr = l->attr,
                               .dev = device_here(fd, rank, l),
                               .servers = l->servers,
                               .card = l->card,
                               .sfile = l->sfile};
    struct zcache_wished wished = {f->settings.block_size, f->settings.write_back,
                                   f->settings.replay, f->settings.on_daemon_loss,
                                   f->settings.checksum};
    int rc = zcache_attach(fd, &o);

    if (rc == 0)
        zcache_hints_joined(fd, &wished);
    return rc;
}

/* What those know who have it open already. */
static int size_to_append_to(ADIO_File fd, int rank, uint64_t *size)
{
    struct zcache_outcome o = {0};
    int rc;

    if (rank == 0)
        zcache_outcome_set(&o, zcache_owners_size(zcache_file_of(fd), size));
    rc = zcache_outcome_bcast(&o, 0, fd->comm);
    if (rc == 0)
        rc = zcache_outcome_mpi(MPI_Bcast(size, 1, MPI_UINT64_T, 0, fd->comm));
    return rc;
}

static void undo_open(ADIO_File fd, int rc, bool created)
{
    struct zcache_file *f = zcache_file_of(fd);
    int undone;

    if (!f)
        return;
    zcache_jobs_drain(&f->jobs);
    undone = created ? zc_store_unlink(zcache_store_files(f->store), f->path) : 0;
    if (undone)
        zc_error("%s was created and could not be removed: %s", f->path, zc_error_text(undone));
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
    int size, rank;

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
    MPI_Comm_rank(fd->comm, &rank);
    if (rank == 0)
        zcache_used_tell(&f->settings);
    zcache_measure_open(f, rank);
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
    uint64_t began;
    bool attached;
    int rc;

    zcache_log_begin();
    began = zc_event_begin();
    zc_error_clear();
    fd->access_mode = amode;
    snprintf(path, sizeof path, "%s", fd->filename);
    if (amode & ZCACHE_AMODE_REFUSED) { /* on all ranks */
        zcache_file_free(fd);
        *error_code = zcache_mpi_errorf(MPI_ERR_AMODE, "zcache: cannot open %s: wrong access mode",
                                        fd->filename);
        return;
    }
    if (rank == 0)
        zcache_hints_environment();
    zcache_outcome_set(&o, check_settings(zcache_file_get(fd)));
    rc = learn_layout(fd, rank, amode, &o, &layout);
    if (rc == 0)
        look_around(fd, rank, &layout);
    if (rc == 0)
        rc = open_owners(fd, rank, amode, &layout);
    attached = rc == 0;
    if (rc == 0 && (amode & ADIO_APPEND))
        rc = size_to_append_to(fd, rank, &layout.attr.size);
    if (rc == 0)
        rc = zcache_hints_settle(fd);
    snprintf(text, sizeof text, "%s", rc ? zc_error_text(rc) : "");
    if (rc && attached)
        zcache_detach(fd, 0);
    if (layout.sfile)
        zc_store_close_file(layout.sfile, ZC_LEVEL_VISIBLE);
    if (rc)
        undo_open(fd, rc, layout.created);
    else
        opened(fd, &layout);
    if (rc && rank == 0)
        zcache_log_open_failed(path, rc, !(amode & ADIO_CREATE) == (rc == -ENOENT), text);
    if (rc)
        zc_errorf(-rc, "%s", text);
    zcache_set_error(error_code, rc, "cannot open", path);
    zc_event_end(ZC_EVENT_OPEN, began, 0);
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

/* Rank 0 alone has anything to write, or to close: who waits for each other waits for it, or is
 * waited for by it.  Where it is measured who waits for whom, all do. */
static bool is_first_ranks(const struct zcache_file *f)
{
    return f->nowners == 1 && !f->owners[0].elsewhere && f->owners[0].rank == 0 && !f->measure;
}

/* A program that closes too early must not write into what is freed. */
static void end_accesses(ADIO_File fd)
{
    struct zcache_file *f = zcache_file_of(fd);

    zcache_split_end(fd);
    zcache_requests_leave(fd);
    zcache_jobs_drain(&f->jobs);
    zcache_owners_views_end(f);
}

void zcache_close_begins(ADIO_File fd)
{
    struct zcache_file *f = zcache_file_of(fd);

    if (!f || !f->owners)
        return;
    end_accesses(fd);
    f->accesses_ended = true;
}

/* All accesses of all ranks are done, as far as it concerns this one. */
static int wait_for_accesses(ADIO_File fd)
{
    const struct zcache_file *f = zcache_file_of(fd);
    int64_t mine = 0, all;

    if (f->accesses_ended && !f->measure)
        return 0;
    if (is_first_ranks(f))
        return zcache_outcome_least(&mine, &all, 1, 0, fd->comm);
    return zcache_outcome_barrier(fd->comm);
}

/* Nobody lets go of the file before all is written: who opens it then, alone, may be the first, and
 * reads it.  One that is about to go is not written back.  The same outcome on every rank, or on
 * rank 0 if it is the only owner. */
static int flush_to_close(ADIO_File fd)
{
    enum zc_level level = (enum zc_level)zcache_file_of(fd)->settings.close_level;
    struct zcache_measure *m = zcache_file_of(fd)->measure;
    struct zcache_progress *p = NULL;
    struct zcache_outcome o = {0};
    struct zcache_stopwatch watch;
    int rc, rank;

    zcache_watch_start(m, &watch);
    rc = wait_for_accesses(fd);
    zcache_watch_ranks(m, &watch);
    zcache_watch_start(m, &watch);
    MPI_Comm_rank(fd->comm, &rank);
    if (rc == 0 && rank == 0)
        p = zcache_progress_start(zcache_file_of(fd));
    if (fd->access_mode & ADIO_DELETE_ON_CLOSE)
        zcache_detach_doom(fd);
    else if (rc == 0)
        rc = zcache_detach_flush(fd, level);
    if (!is_first_ranks(zcache_file_of(fd))) {
        zcache_outcome_set(&o, rc);
        rc = zcache_outcome_agree(&o, fd->comm);
    }
    zcache_progress_stop(p);
    zcache_watch_close(m, &watch);
    return rc;
}

static int outcome_of(const struct zcache_outcome *o)
{
    return o->rc ? zc_errorf(-o->rc, "%s", o->text) : 0;
}

void ADIOI_ZCACHE_Close(ADIO_File fd, int *error_code)
{
    struct zcache_file *f = zcache_file_of(fd);
    struct zcache_outcome o = {0};
    struct zcache_measure *m;
    struct zcache_stopwatch watch;
    uint64_t began = zc_event_begin();
    char path[1024];
    int rc = 0, rank;
    bool by_first;

    if (!f || !f->owners) {
        *error_code = MPI_SUCCESS;
        return;
    }
    zc_error_clear();
    end_accesses(fd);
    by_first = is_first_ranks(f);
    zcache_outcome_set(&o, flush_to_close(fd));
    MPI_Comm_rank(fd->comm, &rank);
    if (by_first && rank != 0) /* which has let go, before others do */
        zcache_outcome_bcast(&o, 0, fd->comm);
    m = zcache_measure_take(f, rank, o.rc == 0);
    zcache_watch_start(m, &watch);
    rc = zcache_detach(fd, o.rc);
    if (fd->access_mode & ADIO_DELETE_ON_CLOSE && !zcache_network_is_loss(rc))
        rc = 0; /* what cannot be written of a file that goes is nobody's loss */
    if (rc && !o.rc)
        zcache_outcome_set(&o, rc);
    if (f->store)
        zcache_store_put(f->store, zcache_network_is_loss(rc));
    snprintf(path, sizeof path, "%s", f->path ? f->path : fd->filename);
    zcache_file_free(fd);
    fd->is_open = 0;
    if (by_first && rank == 0)
        zcache_outcome_bcast(&o, 0, fd->comm);
    rc = by_first ? outcome_of(&o) : zcache_outcome_agree(&o, fd->comm);
    zcache_watch_close(m, &watch);
    zcache_stats_report(m, fd->comm);
    zc_event_end(ZC_EVENT_CLOSE, began, 0);
    zcache_set_error(error_code, rc, "cannot close", path);
    zcache_finalize_file_closed();
}
