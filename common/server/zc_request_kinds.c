/* zc_request_kinds.c - what each request does: one row per message, in the table at the end.
 *
 * Transfers of data are in zc_transfer.c, coordination of ranks in zc_request_coord.c and
 * zc_request_rendezvous.c.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_crc.h"
#include "zc_log.h"
#include "zc_server_internal.h"

enum { OPEN_FILE = 1024 }; /* memory of an open file, without its name, bytes */

/* ---- files ---- */

static void fill_attr(struct zc_msg *m, const struct zc_attr *a)
{
    m->size = a->size;
    m->block_size = a->block_size;
    m->width = a->width;
    m->first = a->first;
    m->dev = a->dev;
    m->ino = a->ino;
    m->nlink = a->nlink;
    m->mtime_ns = (uint64_t)a->mtime_ns;
    m->ctime_ns = (uint64_t)a->ctime_ns;
    m->born_ns = (uint64_t)a->born_ns;
}

static bool is_placed_so(const struct zc_attr *a, const struct zc_attr *b)
{
    return a->block_size == b->block_size && a->width == b->width && a->first == b->first;
}

static int in_other_blocks(struct zc_request *r, const struct zc_attr *decided,
                           const struct zc_attr *in_use)
{
    r->in_use = true;
    r->block_size = decided->block_size;
    r->width = decided->width;
    r->first = decided->first;
    if (decided->block_size == in_use->block_size)
        return zc_errorf(EBUSY,
                         "%s is open here with its blocks on other daemons than at another daemon: "
                         "close it there first",
                         r->path);
    return zc_errorf(EBUSY,
                     "%s is open here in blocks of %llu bytes, and in blocks of %llu at another "
                     "daemon: close it there first, or give all daemons the same --page-size",
                     r->path, (unsigned long long)in_use->block_size,
                     (unsigned long long)decided->block_size);
}

/* Opens a file whose block size and set are decided elsewhere: bytes unwritten under others are
 * written back first. */
static int open_as_placed(struct zc_request *r, struct zc_attr *attr)
{
    struct zc_cache *c = r->session->server->cfg.cache;
    struct zc_set set = {r->msg.set, r->msg.daemon, r->msg.daemons};
    const struct zc_attr decided = *attr;
    bool sized = r->msg.open_flags & ZC_OPEN_PLACED, created = false, another, resized;
    unsigned flags = r->msg.open_flags & ~(unsigned)ZC_OPEN_EXPORTED;
    int rc;

    for (int tries = 0;; tries++) {
        attr->block_size = decided.block_size;
        attr->width = decided.width;
        attr->first = decided.first;
        attr->stride = r->msg.stride;
        attr->set = set;
        rc = zc_cache_open(c, r->path, flags, r->msg.mode & 07777, &r->opened, attr);
        created = created || (rc == 0 && attr->created);
        attr->created = created;
        another = set.id && attr->set.id != set.id;
        if (rc == 0)
            zc_tenant_charge(r->session, r->opened);
        r->in_use = rc == -EBUSY && another;
        resized = rc == 0 && sized && !is_placed_so(attr, &decided);
        if (rc || (!another && !resized))
            return rc;
        rc = zc_cache_flush(r->opened, ZC_LEVEL_STORED);
        zc_cache_disown(r->opened);
        zc_cache_close(r->opened);
        flags &= ~(unsigned)ZC_OPEN_EXCL; /* this request has created it */
        if (rc == 0 && tries && another)
            rc = zc_errorf(EBUSY,
                           "open %s: others write to it, without saying through which daemons",
                           r->path);
        else if (rc == 0 && tries)
            rc = in_other_blocks(r, &decided, attr);
        if (rc)
            return rc;
    }
}

static void do_open_file(struct zc_request *r)
{
    struct zc_attr *attr = &r->attr;
    uint64_t page;

    /* A page lies within one block: all that is read or written with it is this server's. */
    page = zc_cache_page_size(r->session->server->cfg.cache);
    attr->block_size = (r->msg.block_size / page + (r->msg.block_size % page != 0)) * page;
    if (attr->block_size == 0)
        attr->block_size = page;
    attr->width = r->msg.width;
    attr->first = r->msg.first;
    zc_error_join(&r->error, open_as_placed(r, attr));
    if (r->error.rc || attr->block_size % page == 0)
        return;
    zc_cache_close(r->opened);
    zc_error_join(&r->error,
                  zc_errorf(EINVAL,
                            "%s: blocks of %llu bytes cannot be cached in pages of %llu; give "
                            "all daemons the same --page-size",
                            r->path, (unsigned long long)attr->block_size,
                            (unsigned long long)page));
}

static void detach(struct zc_request *r)
{
    if (r->msg.type == ZC_T_OPEN && r->msg.open_flags & ZC_OPEN_EXPORTED &&
        r->session->server->cfg.detach)
        r->session->server->cfg.detach(r->msg.group);
}

static void do_open(struct zc_request *r)
{
    const struct zc_server_config *cfg = &r->session->server->cfg;
    bool for_all = r->msg.open_flags & ZC_OPEN_EXPORTED;

    if (r->msg.open_flags & ZC_OPEN_CHECKSUM) {
        zc_error_join(&r->error, zc_crc_load()); /* not only when the first bytes arrive */
        if (r->error.rc)
            return;
    }
    if (for_all && cfg->attach && !cfg->attach(r->msg.group)) {
        zc_request_fail(r, -ESTALE, "this process does not own the file any more");
        return;
    }
    do_open_file(r);
    if (r->error.rc)
        detach(r);
}

static void do_close(struct zc_request *r)
{
    zc_error_join(&r->error, zc_cache_close(r->opened));
    detach(r); /* of an open that failed */
}

/* Closes a vanished client's file without confirming its changes. */
static void do_close_gone(struct zc_request *r)
{
    zc_cache_disown(r->opened);
    do_close(r);
}

static uint64_t open_exported(struct zc_request *r)
{
    unsigned prefetch = r->session->server->cfg.prefetch;

    if (prefetch)
        zc_cache_prefetch(r->opened, prefetch);
    return zc_export_open(r->session, r->opened, r->msg.group);
}

/* Returns the new handle's number; 0: no memory. */
static uint64_t add_handle(struct zc_request *r, bool through)
{
    struct zc_session *ss = r->session;
    struct zc_session_mem *a = &ss->server->session_mem;
    size_t bytes = OPEN_FILE + strlen(r->path) + zc_request_steps_memory(r);
    const char *why = zc_user_opens(ss, bytes);
    uint64_t number;

    if (why) {
        zc_request_fail(r, -EMFILE, why);
        return 0;
    }
    if (!zc_session_mem_keep(a, &ss->quota, bytes)) {
        zc_user_closes(ss, bytes);
        zc_request_fail(r, -EMFILE, "the daemon has no memory for more open files of this process");
        return 0;
    }
    number = zc_session_add(ss, r->opened, &r->attr, through);
    if (number) {
        zc_session_slot(ss, number)->kept = bytes;
    } else {
        zc_user_closes(ss, bytes);
        zc_session_mem_give(a, &ss->quota, bytes);
    }
    return number;
}

/* Returns its number; 0: the request has failed. */
static uint64_t open_own(struct zc_request *r)
{
    struct zc_session *ss = r->session;
    bool through =
        (r->msg.open_flags & ZC_OPEN_THROUGH) || zc_cache_uncached(ss->server->cfg.cache);
    struct zc_steps_user *steps;
    uint64_t number;

    zc_error_join(&r->error, zc_request_steps_open(r, &steps));
    number = r->error.rc ? 0 : add_handle(r, through);
    if (!number) {
        zc_steps_leave(&ss->server->steps, steps, false);
        return 0;
    }
    zc_session_slot(ss, number)->steps = steps;
    r->attr.size = zc_steps_size(steps, r->attr.size);
    return number;
}

static void opened(struct zc_request *r)
{
    struct zc_session *ss = r->session;

    if (r->in_use && zc_open_conflict_wait(r))
        return;
    if (r->error.rc == 0 && ss->state >= ZC_SESSION_LEAVING) { /* its files are being closed */
        zc_request_submit(r, do_close_gone, zc_request_finish);
        return;
    }
    if (r->error.rc == 0) {
        r->reply.handle = r->msg.open_flags & ZC_OPEN_EXPORTED ? open_exported(r) : open_own(r);
        zc_commit_notify_begin(ss, r->reply.handle);
        fill_attr(&r->reply, &r->attr);
        r->reply.store_unit = r->attr.store_unit;
        r->reply.created = r->attr.created;
        if (!r->reply.handle) {
            zc_request_fail(r, -EMFILE, "too many open files in this process");
            zc_request_submit(r, do_close, zc_request_finish);
            return;
        }
    }
    zc_request_finish(r);
}

void zc_request_open(struct zc_request *r)
{
    zc_request_submit(r, do_open, opened);
}

static void do_stat(struct zc_request *r)
{
    struct zc_cache *c = r->session->server->cfg.cache;
    struct zc_handle *h;

    /* By the cache, which may have a larger size than the store. */
    zc_error_join(&r->error, zc_cache_open(c, r->path, ZC_OPEN_READ, 0, &h, &r->attr));
    if (r->error.rc)
        return;
    fill_attr(&r->reply, &r->attr);
    zc_cache_disown(h);
    zc_cache_close(h);
}

static void do_unlink(struct zc_request *r)
{
    zc_error_join(&r->error, zc_cache_unlink(r->session->server->cfg.cache, r->path));
}

static void getattr(struct zc_request *r)
{
    if (r->slot)
        r->attr = r->session->slots[r->slot - 1].attr;
    r->attr.size = zc_request_steps_size(r, zc_cache_size(r->handle));
    fill_attr(&r->reply, &r->attr);
    zc_request_finish(r);
}

static void do_truncate(struct zc_request *r)
{
    zc_error_join(&r->error, r->msg.flags & ZC_F_CUT ? zc_cache_cut(r->handle, r->msg.size)
                                                     : zc_cache_truncate(r->handle, r->msg.size));
}

static void truncate_file(struct zc_request *r)
{
    zc_request_steps_cut(r);
    zc_request_submit(r, do_truncate, zc_request_finish);
}

static void do_allocate(struct zc_request *r)
{
    zc_error_join(&r->error, zc_cache_allocate(r->handle, r->msg.off, r->msg.len));
}

static void do_backlog_below(struct zc_request *r)
{
    zc_error_join(&r->error, zc_cache_backlog_below(r->handle, &r->reply.count));
}

static void backlog(struct zc_request *r)
{
    uint64_t taken;

    if (r->msg.what == ZC_BACKLOG_BELOW) {
        zc_request_submit(r, do_backlog_below, zc_request_finish);
        return;
    }
    if (r->msg.what == ZC_BACKLOG_HERE) {
        zc_cache_progress(r->handle, true, &taken, &r->reply.committed_seq);
        r->reply.count = zc_cache_backlog(r->handle);
    } else {
        zc_request_fail(r, -EINVAL, "no such backlog");
    }
    zc_request_finish(r);
}

/* ---- write-back ---- */

/* Starts a flush to the level in the message, or ends the request. */
static void flush(struct zc_request *r, void (*then)(struct zc_request *r))
{
    if (r->msg.level > ZC_LEVEL_DURABLE) {
        zc_request_fail(r, -EINVAL, "no such level of commit");
        zc_request_finish(r);
        return;
    }
    if (r->export) {
        struct zc_session_errseq *t = zc_export_errseq(r->session, r->export);

        if (!t) {
            zc_request_fail(r, -ENOMEM, "no memory to flush");
            zc_request_finish(r);
            return;
        }
        r->flush.errseq = &t->syncs;
        r->flush.collective = r->msg.flags & ZC_F_COLLECTIVE;
    }
    zc_unsynced_flush(r);
    zc_request_flush(r, (enum zc_level)r->msg.level, then);
}

static void do_refresh(struct zc_request *r)
{
    zc_error_join(&r->error, zc_cache_refresh(r->handle));
}

static void flushed(struct zc_request *r)
{
    zc_unsynced_flushed(r);
    if (!r->error.rc && (r->msg.flags & ZC_F_REFRESH))
        zc_request_steps_refreshed(r);
    if (!r->error.rc && (r->msg.flags & ZC_F_REFRESH))
        zc_request_submit(r, do_refresh, zc_request_finish);
    else
        zc_request_finish(r);
}

static void start_flush(struct zc_request *r)
{
    flush(r, flushed);
}

static void refuse_close(struct zc_request *r)
{
    zc_request_fail(r, -EBUSY, "requests on this file are under way");
    zc_request_finish(r);
}

static void do_close_export(struct zc_request *r)
{
    zc_error_join(&r->error, zc_export_close(r->export, 1));
}

/* Closes the file whatever the flush returned. */
static void flushed_to_close(struct zc_request *r)
{
    size_t kept;

    if (r->export && zc_export_leave(r->session->server, r->export)) {
        zc_cache_set_errseq(r->handle, *r->flush.errseq);
        zc_request_submit(r, do_close_export, zc_request_finish);
        return;
    }
    if (r->export) {
        refuse_close(r);
        return;
    }
    r->opened = r->handle;
    zc_session_views_forget(r->session, r->msg.handle);
    kept = r->session->slots[r->slot - 1].kept;
    zc_session_mem_give(&r->session->server->session_mem, &r->session->quota, kept);
    zc_user_closes(r->session, kept);
    zc_request_steps_leave(r->session, &r->session->slots[r->slot - 1], true);
    r->session->slots[r->slot - 1].handle = NULL;
    r->slot = 0;
    zc_request_submit(r, do_close, zc_request_finish);
}

static void start_close(struct zc_request *r)
{
    struct zc_slot *slot = r->slot ? &r->session->slots[r->slot - 1] : NULL;

    if (slot && slot->busy > 1) {
        refuse_close(r);
        return;
    }
    if (slot)
        slot->closing = r->msg.level <= ZC_LEVEL_DURABLE; /* else the request is refused */
    flush(r, flushed_to_close);
}

/* ---- sessions and the server itself ---- */

/* The session is ended at the next tick, outside the transport's callback. */
static void bye(struct zc_request *r)
{
    struct zc_session *ss = r->session;

    zc_request_finish(r);
    zc_session_withdraw_all(ss);
    ss->state = ZC_SESSION_DEAD;
    ss->server->next_tick = 0;
}

static void forget_info(struct zc_session *ss)
{
    if (ss->info)
        zc_session_mem_give(&ss->server->session_mem, &ss->quota, ss->info_len);
    free(ss->info);
    ss->info = NULL;
}

/* Keeps the text; without memory it is dropped. */
static void keep_info(struct zc_session *ss)
{
    if (ss->info && !zc_session_mem_keep(&ss->server->session_mem, &ss->quota, ss->info_len)) {
        free(ss->info);
        ss->info = NULL;
    }
}

static void tell_info(struct zc_request *r)
{
    struct zc_session *ss = r->session;
    uint64_t off = r->msg.off;

    if (!ss->info || off > ss->info_len) {
        zc_request_fail(r, -EINVAL, "no such information, or no memory for it");
    } else {
        uint64_t n = ss->info_len - off;

        r->reply.size = ss->info_len;
        r->reply.data.p = ss->info + off;
        r->reply.data.n = n < ZC_MAX_INLINE ? (uint32_t)n : ZC_MAX_INLINE;
    }
    zc_request_finish(r);
}

static void informed(struct zc_request *r)
{
    r->session->informing = false;
    zc_server_info_end(r);
    keep_info(r->session);
    tell_info(r);
}

static void info(struct zc_request *r)
{
    struct zc_session *ss = r->session;

    if (ss->informing) {
        zc_request_fail(r, -EBUSY, "a process asks for one information at a time");
        zc_request_finish(r);
        return;
    }
    if (r->msg.off) {
        tell_info(r);
        return;
    }
    forget_info(ss);
    if (r->msg.what & ZC_INFO_FILES && !zc_user_is_owner(ss) && !zc_server_info_mine(r)) {
        zc_request_fail(r, -ENOMEM, "no memory to look for files");
        zc_request_finish(r);
        return;
    }
    if (!zc_server_info_begin(r)) {
        tell_info(r);
    } else if (r->msg.what & ZC_INFO_FILES) {
        /* There may be any number of files. */
        ss->informing = true;
        zc_request_submit(r, zc_server_info_files, informed);
    } else {
        informed(r);
    }
}

/* Losses before a stop are reported in its reply. */
static void lost_already(void *arg, const struct zc_loss *l)
{
    struct zc_request *r = arg;

    zc_error_join(&r->error, zc_errorf(-l->err, "%llu bytes of %s are lost: %s",
                                       (unsigned long long)l->bytes, l->path, l->cause));
}

static void do_drain(struct zc_request *r)
{
    struct zc_cache *c = r->session->server->cfg.cache;

    zc_error_join(&r->error, zc_cache_drain(c));
    if (r->msg.what == ZC_CONTROL_STOP)
        zc_cache_losses(c, lost_already, r);
    if (r->msg.what == ZC_CONTROL_EVICT)
        r->reply.count = zc_cache_evict(c);
}

static void drained_to_stop(struct zc_request *r)
{
    struct zc_server *s = r->session->server;

    zc_request_finish(r);
    zc_server_stop(s);
}

static void control(struct zc_request *r)
{
    if (r->msg.what < ZC_CONTROL_FLUSH || r->msg.what > ZC_CONTROL_RESUME) {
        zc_request_fail(r, -EINVAL, "no such control");
        zc_request_finish(r);
        return;
    }
    if (!zc_user_is_owner(r->session)) {
        zc_request_fail(r, -EPERM,
                        "a daemon of many users does this for its owner and for root only");
        zc_request_finish(r);
        return;
    }
    if (r->msg.what == ZC_CONTROL_RESUME) {
        r->session->server->draining = false;
        zc_request_finish(r);
        return;
    }
    if (r->msg.what >= ZC_CONTROL_DRAIN)
        r->session->server->draining = true;
    zc_request_submit(r, do_drain,
                      r->msg.what == ZC_CONTROL_STOP ? drained_to_stop : zc_request_finish);
}

/* ---- the table ---- */

/* clang-format off */
static const struct zc_request_kind kinds[] = {
    {ZC_T_PING,         ZC_KIND_ALWAYS | ZC_KIND_LIFE,                     zc_request_finish},
    {ZC_T_BYE,          ZC_KIND_ALWAYS | ZC_KIND_LIFE,                     bye},
    {ZC_T_OPEN,         ZC_KIND_PATH | ZC_KIND_OPENS | ZC_KIND_BYTES,      zc_request_open},
    {ZC_T_CLOSE,        ZC_KIND_HANDLE | ZC_KIND_OWN | ZC_KIND_ALWAYS | ZC_KIND_BYTES, start_close},
    {ZC_T_READ,         ZC_KIND_HANDLE | ZC_KIND_BYTES,                    zc_transfer_start},
    {ZC_T_WRITE,        ZC_KIND_HANDLE | ZC_KIND_BYTES,                    zc_transfer_start},
    {ZC_T_GETATTR,      ZC_KIND_HANDLE | ZC_KIND_BYTES,                    getattr},
    {ZC_T_TRUNCATE,     ZC_KIND_HANDLE | ZC_KIND_BYTES,                    truncate_file},
    {ZC_T_ALLOCATE,     ZC_KIND_HANDLE | ZC_KIND_BLOCKS | ZC_KIND_BYTES,   do_allocate},
    {ZC_T_FLUSH,        ZC_KIND_HANDLE | ZC_KIND_BYTES,                    start_flush},
    {ZC_T_UNLINK,       ZC_KIND_PATH | ZC_KIND_BLOCKS | ZC_KIND_BYTES,     do_unlink},
    {ZC_T_STAT,         ZC_KIND_PATH | ZC_KIND_BLOCKS | ZC_KIND_BYTES,     do_stat},
    {ZC_T_VREAD,        ZC_KIND_HANDLE | ZC_KIND_BYTES,                    zc_transfer_start},
    {ZC_T_VWRITE,       ZC_KIND_HANDLE | ZC_KIND_BYTES,                    zc_transfer_start},
    {ZC_T_BACKLOG,      ZC_KIND_HANDLE | ZC_KIND_BYTES,                    backlog},
    {ZC_T_INFO,         ZC_KIND_TELLS,                                     info},
    {ZC_T_CONTROL,      ZC_KIND_BYTES,                                     control},
    {ZC_T_POINTER,      ZC_KIND_HANDLE,                                    zc_request_pointer},
    {ZC_T_LOCK,         ZC_KIND_HANDLE,                                    zc_request_lock},
    {ZC_T_UNLOCK,       ZC_KIND_HANDLE,                                    zc_request_unlock},
    {ZC_T_RENDEZVOUS,   0,                                                 zc_request_rendezvous},
    {ZC_T_VIEW_INSTALL, ZC_KIND_HANDLE,                                    zc_request_view_install},
    {ZC_T_VIEW_DROP,    ZC_KIND_ALWAYS,                                    zc_request_view_drop},
    {ZC_T_RING_OPEN,    0,                                                 zc_request_ring_open},
    {ZC_T_LIST_READ,    ZC_KIND_HANDLE | ZC_KIND_BYTES,                    zc_transfer_start},
    {ZC_T_LIST_WRITE,   ZC_KIND_HANDLE | ZC_KIND_BYTES,                    zc_transfer_start},
    {ZC_T_STEP,         ZC_KIND_HANDLE | ZC_KIND_BYTES,                    zc_request_step},
};
/* clang-format on */

const struct zc_request_kind *zc_request_kind(uint8_t type)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].type == type)
            return &kinds[i];
    return NULL;
}
