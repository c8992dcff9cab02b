/* ad_zcache_open.c - collective open and close.
 *
 * When all ranks are ready, rank 0 of the communicator opens first, and creates the file if it does
 * not exist; result, settings and layout are one message to all.  Then the owners of the file's
 * blocks open it in their caches (zcache_open_join.h).  All ranks return one error, that of the
 * lowest rank that failed, with its text; and a file that this open has created is removed again.
 *
 * The cost of an open or a close is the number of times that ranks wait for each other: with more
 * ranks than cores each is a round of all of them through the scheduler.
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
#include "zc_fd.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_options.h"
#include "zcache_collective_error.h"
#include "zcache_dedicated.h"
#include "zcache_error.h"
#include "zcache_exit.h"
#include "zcache_file.h"
#include "zcache_finalize.h"
#include "zcache_log.h"
#include "zcache_network.h"
#include "zcache_open_files.h"
#include "zcache_open_join.h"
#include "zcache_open_owners.h"
#include "zcache_process.h"
#include "zcache_progress.h"
#include "zcache_stats.h"
#include "zcache_steps.h"
#include "zcache_stores.h"
#include "zcache_timing.h"
#include "zcache_used_marker.h"

/* ---- open ---- */

/* What rank 0 knows about the file. */
struct layout {
    struct zc_sfile *sfile; /* open on rank 0 until an aggregator takes it over, or all open it */
    unsigned sfile_flags;   /* flags of that open */
    uint64_t before;        /* zc_cache_changes() before it */
    bool answered;          /* the store has replied to an open */
    struct zc_attr attr;
    uint32_t servers;               /* daemons */
    uint64_t striping_unit;         /* value for MPI_File_get_info; bytes, 0: none */
    bool created;                   /* by this open; known to all ranks */
    struct zc_tp_local_probe probe; /* this rank's, and ... */
    struct zc_tp_local_probe first; /* ... rank 0's; no pid: none */
    bool attached;                  /* rank 0 is the owner, and has opened it already */
    struct zcache_wished wished;    /* the settings requested before that open */
};

/* Rank 0's message to all ranks. */
struct told {
    int64_t refused; /* the first rank that cannot take part; none: the number of ranks */
    int64_t timeout; /* the minimum of the ranks' connections */
    struct zc_error outcome;
    struct zcache_hints_text settings;
    struct zc_attr attr;
    struct zc_tp_local_probe probe;
    uint32_t servers;
    uint64_t striping_unit;
    bool created;
    bool quick;                /* rank 0 is the only owner, and has opened it: */
    struct zcache_entry entry; /* its entry */
};

static unsigned open_flags(int amode)
{
    unsigned flags = 0;

    if (amode & (ADIO_RDONLY | ADIO_RDWR))
        flags |= ZC_OPEN_READ;
    if (amode & (ADIO_WRONLY | ADIO_RDWR))
        flags |= ZC_OPEN_WRITE;
    if (amode & ADIO_UNIQUE_OPEN)
        flags |= ZC_OPEN_SOLE;
    return flags;
}

/* Returns the umask.  Before Linux 4.7 the kernel does not show it, and umask() would change it for
 * other threads for a moment: then new files get too few permissions. */
static mode_t current_umask(void)
{
    static struct zc_lock lock = ZC_LOCK_INITIALIZER(ZC_ORDER_PROCESS);
    FILE *f = zc_fopen("/proc/thread-self/status", "re");
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

/* Returns the mode of a new file.  The kernel applies the umask to files that this process creates;
 * daemons have another umask. */
static mode_t permissions(ADIO_File fd)
{
    mode_t mode = fd->perm == ADIO_PERM_NULL ? 0666 : (mode_t)fd->perm;
    bool daemons = zcache_store_files(zcache_file_of(fd)->store)->servers;

    return daemons ? mode & ~current_umask() : mode;
}

/* Requests the block size and the daemons that the blocks are to lie on. */
static void wish(const struct zc_settings *s, struct zc_attr *attr)
{
    bool first = zc_option_given(s, zc_option_find("start_iodevice", ZC_SCOPE_HINT));

    attr->block_size = s->block_size;
    attr->width = (uint32_t)s->striping_factor;
    attr->first = first ? (uint32_t)s->start_iodevice : attr->width ? ZC_FIRST_ANY : 0;
}

/* Returns the flags of rank 0's open in the store.  With daemons, and if rank 0 would be the only
 * owner (no steps, no dedicated aggregators), these are an owner's flags, so that its cache can
 * take the open over.  If the file turns out to have other owners, the open is not taken over. */
static unsigned flags_of_owner(ADIO_File fd, unsigned access)
{
    const struct zcache_file *f = zcache_file_of(fd);
    struct zc_stripe place = {.block_size = f->settings.block_size,
                              .daemons = zcache_store_files(f->store)->servers,
                              .aggregators = (uint32_t)fd->hints->cb_nodes};

    if (f->settings.steps || f->settings.wait_step || !place.daemons ||
        zcache_dedicated_wanted(&f->settings) || zc_stripe_owners(&place) > 1 ||
        fd->hints->ranklist[0] != 0)
        return zcache_file_flags(f, access);
    return zcache_open_owners_flags(f, access) & ZC_OPEN_ALL;
}

/* Opens on the rank that may create. */
static int open_first(ADIO_File fd, int amode, struct layout *l)
{
    struct zcache_file *f = zcache_file_of(fd);
    unsigned flags = flags_of_owner(fd, open_flags(amode)), create = 0;
    int rc;

    if (amode & ADIO_CREATE)
        create = ZC_OPEN_CREATE | (amode & ADIO_EXCL ? ZC_OPEN_EXCL : 0);

    wish(&f->settings, &l->attr);
    l->attr.stride = 1;
    l->before = zc_cache_changes();
    rc = zc_store_open_file(zcache_store_files(f->store), f->path, flags | create,
                            create ? permissions(fd) : 0, &l->sfile, &l->attr);
    l->created = rc == 0 && l->attr.created;
    l->sfile_flags = flags | (l->created ? ZC_OPEN_SOLE : 0);
    l->answered = l->answered || !zcache_store_is_gone(rc);
    return rc;
}

/* Makes the probe if the local transport is enabled and there are other ranks. */
static void make_probe(ADIO_File fd, struct zc_tp_local_probe *out)
{
    int size;

    MPI_Comm_size(fd->comm, &size);
    *out = (struct zc_tp_local_probe){0};
    if (size > 1 && zcache_file_of(fd)->settings.local && zc_tp_local_probe(out)) {
        zc_error_clear();
        *out = (struct zc_tp_local_probe){0};
    }
}

static int open_at_store(ADIO_File fd, int amode, struct layout *l)
{
    struct zcache_file *f = zcache_file_of(fd);
    int rc = zcache_steps_check(fd, zcache_store_files(f->store)->servers);

    if (rc)
        return rc;
    do
        rc = open_first(fd, amode, l);
    while (rc == -ENOENT && zcache_steps_wait_for_file(f));
    return rc;
}

/* Gets the store and opens the file there.  An open that may be repeated tells as well as a PING
 * whether the daemon is there: if it is not, asks for it, and opens again. */
static int open_in_store(ADIO_File fd, int amode, struct layout *l)
{
    struct zcache_file *f = zcache_file_of(fd);
    bool repeats = !(amode & ADIO_EXCL);
    int rc = repeats ? zcache_file_store_unasked(fd, 0) : zcache_file_store(fd, 0);

    if (rc == 0)
        rc = open_at_store(fd, amode, l);
    if (!repeats || l->answered || !f->store || !zcache_store_is_gone(rc))
        return rc;
    zcache_store_put(f->store, false);
    f->store = NULL;
    rc = zcache_file_store(fd, 0);
    return rc ? rc : open_at_store(fd, amode, l);
}

/* Opens the store's file on rank 0, and creates it if need be, to learn its layout.  The caller
 * frees *settings in any case. */
static int open_layout(ADIO_File fd, int amode, struct layout *l, struct told *t, char **settings)
{
    struct zcache_file *f = zcache_file_of(fd);
    int rc = zcache_hints_decide(fd, t->timeout, &t->settings, settings);

    if (rc == 0)
        rc = open_in_store(fd, amode, l);
    if (rc)
        return rc;
    t->servers = zcache_store_files(f->store)->servers;
    t->striping_unit = f->striping_unit;
    if (!t->striping_unit)
        t->striping_unit = l->attr.store_unit;
    t->attr = l->attr;
    t->created = l->created;
    return 0;
}

/* Whether every later open of the job finds this one: through a daemon, on the one host of all
 * ranks, or by a common rank. */
static bool is_found_by_all(ADIO_File fd, const struct layout *l)
{
    int is = MPI_UNEQUAL;

    if (l->servers || zcache_process_one_host())
        return true;
    MPI_Comm_compare(fd->comm, MPI_COMM_WORLD, &is);
    return is != MPI_UNEQUAL;
}

/* Saves the requested settings, before those in force replace them. */
static void note_wish(ADIO_File fd, struct layout *l)
{
    const struct zcache_file *f = zcache_file_of(fd);

    l->wished = (struct zcache_wished){.striping_factor = f->settings.striping_factor,
                                       .start_iodevice = f->settings.start_iodevice,
                                       .created = l->created};
    zc_agreed_of(&f->settings, &l->wished.agreed);
}

static struct zcache_opening opening_of(ADIO_File fd, int rank, int amode, struct layout *l)
{
    bool sole = l->created && is_found_by_all(fd, l);
    const struct zc_settings *s = &zcache_file_of(fd)->settings;
    bool keeps = s->steps || s->wait_step; /* zcache_steps_opened() takes the store file */

    return (struct zcache_opening){.rank = rank,
                                   .flags = open_flags(amode) | (sole ? ZC_OPEN_SOLE : 0),
                                   .attr = l->attr,
                                   .dev = l->attr.dev,
                                   .servers = l->servers,
                                   .probe = l->probe,
                                   .sfile = &l->sfile,
                                   .sfile_flags = l->sfile_flags,
                                   .give = !keeps && (sole || !l->created),
                                   .before = ZC_CHANGES_UNKNOWN};
}

/* On rank 0, after open_layout(): opens the file as its owner as well, if possible. */
static int own_at_once(ADIO_File fd, int amode, struct zcache_open_owners *a, struct layout *l,
                       struct told *t)
{
    struct zcache_opening o;

    l->servers = t->servers;
    o = opening_of(fd, 0, amode, l);
    o.before = l->before;
    note_wish(fd, l);
    return zcache_open_quick_own(a, &o, &t->entry, &t->quick);
}

/* On the other ranks: completes the open that rank 0 has made. */
static void take_at_once(ADIO_File fd, int rank, int amode, struct zcache_open_owners *a,
                         struct layout *l, const struct told *t)
{
    struct zcache_opening o = opening_of(fd, rank, amode, l);

    note_wish(fd, l);
    zcache_open_quick_take(a, &o, &t->entry);
}

/* If all ranks can take part, rank 0 decides on the settings and opens; all get its result. `mine`:
 * whether this rank can. */
static int learn_layout(ADIO_File fd, int rank, int amode, struct zc_error *mine, struct layout *l)
{
    struct zcache_open_owners a;
    int64_t ready[3] = {rank, zcache_network_timeout(), zcache_open_quick_begin(fd, &a)}, all[3];
    char *settings = NULL;
    struct told t;
    int size, rc;

    MPI_Comm_size(fd->comm, &size);
    if (mine->rc == 0)
        ready[0] = size;
    rc = zcache_collective_error_least(ready, all, 3, 0, fd->comm);
    if (rc) {
        zcache_open_quick_end(&a);
        return rc;
    }
    memset(&t, 0, sizeof t); /* padding is sent, too */
    if (rank == 0) {
        t.refused = all[0];
        t.timeout = all[1];
        if (t.refused == size)
            rc = open_layout(fd, amode, l, &t, &settings);
        if (rc == 0 && t.refused == size && all[2])
            rc = own_at_once(fd, amode, &a, l, &t);
        if (rc == 0 && t.refused == size && !t.quick)
            make_probe(fd, &t.probe);
        zc_error_keep(&t.outcome, rc);
    }
    rc = zcache_collective_error_bytes(&t, sizeof t, 0, fd->comm);
    if (rc == 0 && t.refused < size) {
        zcache_open_quick_end(&a);
        return zcache_collective_error_bcast(mine, (int)t.refused, fd->comm);
    }
    if (rc == 0)
        rc = zcache_hints_take(fd, rank, t.timeout, &t.settings, settings);
    free(settings);
    l->attr = t.attr;
    l->servers = t.servers;
    l->striping_unit = t.striping_unit;
    l->created = t.created;
    l->first = t.probe;
    l->attached = (rc == 0 || rank == 0) && t.outcome.rc == 0 && t.quick;
    if (l->attached && rank)
        take_at_once(fd, rank, amode, &a, l, &t);
    else if (!t.quick || rank)
        zcache_open_quick_end(&a);
    zc_forget(&t.entry, sizeof t.entry);
    return t.outcome.rc ? zc_error_raise(&t.outcome) : rc;
}

/* Whether all ranks are on one host, as far as this one can tell; confirmed by all when they
 * join. */
static void look_around(ADIO_File fd, int rank, struct layout *l)
{
    struct zcache_file *f = zcache_file_of(fd);
    int size;

    MPI_Comm_size(fd->comm, &size);
    f->near = f->settings.local;
    if (size == 1)
        return;
    l->probe = l->first;
    if (rank)
        make_probe(fd, &l->probe);
    f->near = l->probe.pid && (rank == 0 || zc_tp_local_reaches_as(&l->probe, &l->first));
    if (!f->near) /* ranks that own nothing need it, too */
        zcache_network_warm(&f->settings, &f->async);
}

/* Device numbers differ between hosts, also for a shared file system. */
static uint64_t device_here(ADIO_File fd, int rank, const struct layout *l)
{
    struct zcache_file *f = zcache_file_of(fd);
    struct zc_attr here;

    if (rank == 0 || l->servers || f->near)
        return l->attr.dev;
    if (zcache_file_store(fd, rank) ||
        zc_store_stat(zcache_store_files(f->store), f->path, &here)) {
        zc_error_clear(); /* the owner's open on this host reports it */
        return 0;
    }
    return here.ino == l->attr.ino ? here.dev : 0;
}

/* Opens the file at its owners: collective, the same result on every rank. */
static int open_owners(ADIO_File fd, int rank, int amode, struct layout *l)
{
    struct zcache_opening o = opening_of(fd, rank, amode, l);
    int rc = 0;

    o.dev = device_here(fd, rank, l);
    if (!l->attached) {
        note_wish(fd, l);
        rc = zcache_open_join(fd, &o);
    }
    if (rc == 0)
        zcache_hints_joined(fd, &l->wished);
    return rc;
}

/* Asks an owner for the size, if the file was open before. */
static int size_to_append_to(ADIO_File fd, int rank, uint64_t *size)
{
    struct zc_error o = {0};
    int rc;

    if (rank == 0)
        zc_error_keep(&o, zcache_owners_size(zcache_file_of(fd), size));
    rc = zcache_collective_error_bcast(&o, 0, fd->comm);
    if (rc == 0)
        rc = zcache_collective_error_mpi(MPI_Bcast(size, 1, MPI_UINT64_T, 0, fd->comm));
    return rc;
}

static void undo_open(ADIO_File fd, int rc, bool created)
{
    struct zcache_file *f = zcache_file_of(fd);
    int undone;

    if (!f)
        return;
    zcache_async_drain(&f->async);
    undone = created ? zc_store_unlink(zcache_store_files(f->store), f->path) : 0;
    if (undone)
        zc_error("%s was created and could not be removed: %s", f->path, zc_error_text(undone));
    if (f->store)
        zcache_store_put(f->store, zcache_network_is_loss(rc));
    zcache_file_free(fd);
}

/* Replaces hints by the values in force. */
static void echo_layout(ADIO_File fd)
{
    const struct zcache_file *f = zcache_file_of(fd);
    char value[24];

    snprintf(value, sizeof value, "%u", f->nowners);
    ADIOI_Info_set(fd->info, "cb_nodes", value);
    snprintf(value, sizeof value, "%u", zc_stripe_width(&f->stripe));
    ADIOI_Info_set(fd->info, "striping_factor", value);
    snprintf(value, sizeof value, "%u", zc_stripe_daemon(&f->stripe, 0));
    ADIOI_Info_set(fd->info, "start_iodevice", value);
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
    fd->blksize = (long)f->stripe.block_size;
    f->striping_unit = l->striping_unit;
    fd->hints->striping_unit = f->striping_unit <= INT_MAX ? (int)f->striping_unit : 0;
    if (!f->path) /* a rank without an open of its own: for messages */
        f->path = zcache_absolute(fd->filename);
    zcache_open_files_add(f);
    fd->is_open = 1;
    fd->dirty_write = 0;
    if (fd->access_mode & ADIO_APPEND)
        fd->fp_ind = (ADIO_Offset)l->attr.size;
    zcache_owners_warm(f);
    zcache_hints_echo(fd);
    MPI_Comm_rank(fd->comm, &rank);
    if (rank == 0)
        zcache_used_marker_write(&f->settings);
    zcache_timing_open(f, rank);
}

static int check_settings(const struct zcache_file *f)
{
    if (!f)
        return zc_errorf(ENOMEM, "no memory to open a file");
    return zc_error_raise(&f->bad_env);
}

void ADIOI_ZCACHE_OpenColl(ADIO_File fd, int rank, int amode, int *error_code)
{
    struct layout layout = {.created = false};
    struct zc_error o = {0};
    char path[1024];
    struct zc_error e;
    uint64_t began;
    bool attached;
    int rc;

    zcache_log_begin();
    began = zc_event_begin();
    zc_error_clear();
    amode &= ~ZCACHE_AMODE_OURS;
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
    zc_error_keep(&o, check_settings(zcache_file_get(fd)));
    rc = learn_layout(fd, rank, amode, &o, &layout);
    if (rc == 0 && !layout.attached)
        look_around(fd, rank, &layout);
    if (rc == 0)
        rc = open_owners(fd, rank, amode, &layout);
    attached = rc == 0 || layout.attached;
    if (rc == 0 && (amode & ADIO_APPEND))
        rc = size_to_append_to(fd, rank, &layout.attr.size);
    if (rc == 0)
        rc = zcache_hints_settle(fd);
    if (rc == 0)
        rc = zcache_steps_opened(fd, &layout.sfile, layout.attr.size);
    zc_error_keep(&e, rc);
    if (rc && attached)
        zcache_detach(fd, 0);
    if (layout.sfile)
        zc_store_close_file(layout.sfile, ZC_LEVEL_VISIBLE);
    if (rc)
        undo_open(fd, rc, rank == 0 && layout.created);
    else
        opened(fd, &layout);
    if (rc && rank == 0)
        zcache_log_open_failed(path, rc, !(amode & ADIO_CREATE) == (rc == -ENOENT), e.text);
    zc_error_raise(&e);
    zcache_set_error(error_code, rc, "cannot open", path);
    zc_event_end(ZC_EVENT_OPEN, began, 0);
}

/* ROMIO calls this for a deferred open only, which a driver without two-phase I/O never allows. */
void ADIOI_ZCACHE_Open(ADIO_File fd, int *error_code)
{
    *error_code =
        zcache_mpi_errorf(MPI_ERR_UNSUPPORTED_OPERATION,
                          "zcache: %s cannot be opened by one rank for others", fd->filename);
}

/* ---- close ---- */

/* True: rank 0 is the only owner, so the other ranks wait for rank 0 only.  False with measurements
 * (f->timing): then all ranks wait for each other. */
static bool only_rank0_owns(const struct zcache_file *f)
{
    return f->nowners == 1 && !f->owners[0].elsewhere && f->owners[0].rank == 0 && !f->timing;
}

/* Waits for accesses under way in a program that closes too early: they must not use freed
 * memory. */
static void end_accesses(ADIO_File fd)
{
    struct zcache_file *f = zcache_file_of(fd);

    zcache_split_end(fd);
    zcache_requests_leave(fd);
    zcache_async_drain(&f->async);
    zcache_owners_views_end(f);
}

void zcache_close_begins(ADIO_File fd)
{
    struct zcache_file *f = zcache_file_of(fd);

    if (!f || !f->owners || zcache_exit_over())
        return;
    end_accesses(fd);
    f->accesses_ended = true;
}

/* Waits until the accesses of all ranks that concern this one are done. */
static int wait_for_accesses(ADIO_File fd)
{
    const struct zcache_file *f = zcache_file_of(fd);
    int64_t mine = 0, all;

    if (f->accesses_ended && !f->timing)
        return 0;
    if (only_rank0_owns(f))
        return zcache_collective_error_least(&mine, &all, 1, 0, fd->comm);
    return zcache_collective_error_barrier(fd->comm);
}

/* Flushes before any rank releases the file: another process that opens it then may be the first,
 * and reads it.  A file to be deleted is not written back.  The same result on every rank, or on
 * rank 0 if that is the only owner. */
static int flush_to_close(ADIO_File fd)
{
    enum zc_level level = (enum zc_level)zcache_file_of(fd)->settings.close_level;
    struct zcache_timing *m = zcache_file_of(fd)->timing;
    struct zcache_progress *p = NULL;
    struct zc_error o = {0};
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
        zcache_detach_unlink_pending(fd);
    else if (rc == 0)
        rc = zcache_detach_flush(fd, level);
    if (!only_rank0_owns(zcache_file_of(fd))) {
        zc_error_keep(&o, rc);
        rc = zcache_collective_error_agree(&o, fd->comm);
    }
    zcache_progress_stop(p);
    zcache_watch_close(m, &watch);
    return rc;
}

void ADIOI_ZCACHE_Close(ADIO_File fd, int *error_code)
{
    struct zcache_file *f = zcache_file_of(fd);
    struct zc_error o = {0};
    struct zcache_timing *m;
    struct zcache_stopwatch watch;
    uint64_t began = zc_event_begin();
    char path[1024];
    int rc = 0, rank;
    bool by_first;

    if (!f || !f->owners || zcache_exit_over()) {
        *error_code = MPI_SUCCESS;
        return;
    }
    zc_error_clear();
    end_accesses(fd);
    by_first = only_rank0_owns(f);
    zc_error_keep(&o, flush_to_close(fd));
    MPI_Comm_rank(fd->comm, &rank);
    if (by_first && rank != 0) /* they have released it already */
        zcache_collective_error_bcast(&o, 0, fd->comm);
    zcache_open_files_remove(f);
    m = zcache_timing_take(f, rank, o.rc == 0);
    zcache_watch_start(m, &watch);
    rc = zcache_detach(fd, o.rc);
    if (fd->access_mode & ADIO_DELETE_ON_CLOSE && !zcache_network_is_loss(rc))
        rc = 0; /* a deleted file has no losses */
    if (rc && !o.rc)
        zc_error_keep(&o, rc);
    zcache_steps_end(f);
    if (f->store)
        zcache_store_put(f->store, zcache_network_is_loss(rc));
    snprintf(path, sizeof path, "%s", f->path ? f->path : fd->filename);
    zcache_file_free(fd);
    fd->is_open = 0;
    if (by_first && rank == 0)
        zcache_collective_error_bcast(&o, 0, fd->comm);
    rc = by_first ? zc_error_raise(&o) : zcache_collective_error_agree(&o, fd->comm);
    zcache_watch_close(m, &watch);
    zcache_stats_report(m, fd->comm);
    zc_event_end(ZC_EVENT_CLOSE, began, 0);
    zcache_set_error(error_code, rc, "cannot close", path);
    zcache_finalize_file_closed();
}
