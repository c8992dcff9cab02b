/* zc_request_kinds.c - what each request does: one row a message, in the table at the end.
 *
 * What moves data is in zc_transfer.c, what ranks agree through in zc_request_coord.c and
 * zc_request_meet.c.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_crc.h"
#include "zc_log.h"
#include "zc_server_internal.h"

enum { OPEN_FILE = 1024 }; /* memory of one, without its name, bytes */

/* ---- files ---- */

static void fill_attr(struct zc_msg *m, const struct zc_attr *a)
{
    m->size = a->size;
    m->block_size = a->block_size;
    m->dev = a->dev;
    m->ino = a->ino;
    m->nlink = a->nlink;
    m->mtime_ns = (uint64_t)a->mtime_ns;
    m->ctime_ns = (uint64_t)a->ctime_ns;
    m->born_ns = (uint64_t)a->born_ns;
}

static int in_other_blocks(struct zc_request *r, uint64_t decided, uint64_t in_use)
{
    r->in_use = true;
    r->block_size = decided;
    return zc_errorf(EBUSY,
                     "%s is open here in blocks of %llu bytes, and in blocks of %llu at another "
                     "daemon: close it there first, or give all daemons the same --page-size",
                     r->path, (unsigned long long)in_use, (unsigned long long)decided);
}

/* A file may be remembered with another block size or set of daemons, and bytes not written back
 * under it: when both are decided elsewhere, they are written first. */
static int open_as_placed(struct zc_request *r, struct zc_attr *attr)
{
    struct zc_cache *c = r->session->server->cfg.cache;
    struct zc_set set = {r->msg.set, r->msg.daemon, r->msg.daemons};
    uint64_t decided = attr->block_size;
    bool sized = r->msg.open_flags & ZC_OPEN_PLACED, another, resized;
    int rc;

    for (int tries = 0;; tries++) {
        attr->block_size = decided;
        attr->stride = r->msg.stride;
        attr->set = set;
        rc = zc_cache_open(c, r->path, r->msg.open_flags & ~ZC_OPEN_FOR_ALL, r->msg.mode & 07777,
                           &r->opened, attr);
        another = set.id && attr->set.id != set.id;
        if (rc == 0)
            zc_sharer_charge(r->session, r->opened);
        r->in_use = rc == -EBUSY && another;
        resized = rc == 0 && sized && attr->block_size != decided;
        if (rc || (!another && !resized))
            return rc;
        rc = zc_cache_flush(r->opened, ZC_LEVEL_STORED);
        zc_cache_disown(r->opened);
        zc_cache_close(r->opened);
        if (rc == 0 && tries && another)
            rc = zc_errorf(EBUSY,
                           "open %s: others write to it, without saying through which daemons",
                           r->path);
        else if (rc == 0 && tries)
            rc = in_other_blocks(r, decided, attr->block_size);
        if (rc)
            return rc;
    }
}

static void do_open_file(struct zc_request *r)
{
    struct zc_attr *attr = &r->attr;
    uint64_t page;

    /* A page inside one block: all that is read or written with it is this server's. */
    page = zc_cache_page_size(r->session->server->cfg.cache);
    attr->block_size = (r->msg.block_size / page + (r->msg.block_size % page != 0)) * page;
    if (attr->block_size == 0)
        attr->block_size = page;
    zc_request_check(r, open_as_placed(r, attr));
    if (r->status || attr->block_size % page == 0)
        return;
    zc_cache_close(r->opened);
    zc_request_check(
        r, zc_errorf(EINVAL,
                     "%s: blocks of %llu bytes cannot be cached in pages of %llu; give "
                     "all daemons the same --page-size",
                     r->path, (unsigned long long)attr->block_size, (unsigned long long)page));
}

static void detach(struct zc_request *r)
{
    if (r->msg.type == ZC_T_OPEN && r->msg.open_flags & ZC_OPEN_FOR_ALL &&
        r->session->server->cfg.detach)
        r->session->server->cfg.detach(r->msg.group);
}

static void do_open(struct zc_request *r)
{
    const struct zc_server_config *cfg = &r->session->server->cfg;
    bool for_all = r->msg.open_flags & ZC_OPEN_FOR_ALL;

    if (r->msg.open_flags & ZC_OPEN_CHECKSUM) {
        zc_request_check(r, zc_crc_load()); /* not only when the first bytes come */
        if (r->status)
            return;
    }
    if (for_all && cfg->attach && !cfg->attach(r->msg.group)) {
        zc_request_fail(r, -ESTALE, "this process does not own the file any more");
        return;
    }
    do_open_file(r);
    if (r->status)
        detach(r);
}

static void do_close(struct zc_request *r)
{
    zc_request_check(r, zc_cache_close(r->opened));
    detach(r); /* of an open that came to nothing */
}

/* Nobody vouches for what a client that is gone did meanwhile. */
static void do_close_gone(struct zc_request *r)
{
    zc_cache_disown(r->opened);
    do_close(r);
}

static uint64_t open_for_all(struct zc_request *r)
{
    unsigned prefetch = r->session->server->cfg.prefetch;

    if (prefetch)
        zc_cache_prefetch(r->opened, prefetch);
    return zc_export_open(r->session, r->opened, r->msg.group);
}

/* Its number; 0: there is no memory for more. */
static uint64_t add_handle(struct zc_request *r, bool through)
{
    struct zc_session *ss = r->session;
    struct zc_account *a = &ss->server->account;
    size_t bytes = OPEN_FILE + strlen(r->path);
    const char *why = zc_user_opens(ss, bytes);
    uint64_t number;

    if (why) {
        zc_request_fail(r, -EMFILE, why);
        return 0;
    }
    if (!zc_account_keep(a, &ss->purse, bytes)) {
        zc_user_closes(ss, bytes);
        zc_request_fail(r, -EMFILE, "the daemon has no memory for more open files of this process");
        return 0;
    }
    number = zc_session_add(ss, r->opened, &r->attr, through);
    if (number) {
        zc_session_slot(ss, number)->kept = bytes;
    } else {
        zc_user_closes(ss, bytes);
        zc_account_give(a, &ss->purse, bytes);
    }
    return number;
}

static void opened(struct zc_request *r)
{
    struct zc_session *ss = r->session;
    bool through =
        (r->msg.open_flags & ZC_OPEN_THROUGH) || zc_cache_uncached(ss->server->cfg.cache);

    if (r->in_use && zc_conflict_wait(r))
        return;
    if (r->status == 0 && ss->state >= ZC_SESSION_LEAVING) { /* its files are being closed */
        zc_request_submit(r, do_close_gone, zc_request_finish);
        return;
    }
    if (r->status == 0) {
        r->reply.handle =
            r->msg.open_flags & ZC_OPEN_FOR_ALL ? open_for_all(r) : add_handle(r, through);
        zc_taken_begin(ss, r->reply.handle);
        fill_attr(&r->reply, &r->attr);
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

    /* Through the cache, because it may know a larger size than the store. */
    zc_request_check(r, zc_cache_open(c, r->path, ZC_OPEN_READ, 0, &h, &r->attr));
    if (r->status)
        return;
    fill_attr(&r->reply, &r->attr);
    zc_cache_disown(h);
    zc_cache_close(h);
}

static void do_unlink(struct zc_request *r)
{
    zc_request_check(r, zc_cache_unlink(r->session->server->cfg.cache, r->path));
}

static void getattr(struct zc_request *r)
{
    if (r->slot)
        r->attr = r->session->slots[r->slot - 1].attr;
    r->attr.size = zc_cache_size(r->handle);
    fill_attr(&r->reply, &r->attr);
    zc_request_finish(r);
}

static void do_truncate(struct zc_request *r)
{
    zc_request_check(r, r->msg.flags & ZC_F_CUT ? zc_cache_cut(r->handle, r->msg.size)
                                                : zc_cache_truncate(r->handle, r->msg.size));
}

static void do_allocate(struct zc_request *r)
{
    zc_request_check(r, zc_cache_allocate(r->handle, r->msg.off, r->msg.len));
}

static void do_backlog_below(struct zc_request *r)
{
    zc_request_check(r, zc_cache_backlog_below(r->handle, &r->reply.count));
}

static void backlog(struct zc_request *r)
{
    if (r->msg.what == ZC_BACKLOG_BELOW) {
        zc_request_submit(r, do_backlog_below, zc_request_finish);
        return;
    }
    if (r->msg.what == ZC_BACKLOG_HERE)
        r->reply.count = zc_cache_backlog(r->handle);
    else
        zc_request_fail(r, -EINVAL, "no such backlog");
    zc_request_finish(r);
}

/* ---- write-back ---- */

/* Starts a flush to the level the message names, or ends the request. */
static void flush(struct zc_request *r, void (*then)(struct zc_request *r))
{
    if (r->msg.level > ZC_LEVEL_DURABLE) {
        zc_request_fail(r, -EINVAL, "no such level of commit");
        zc_request_finish(r);
        return;
    }
    if (r->export) {
        struct zc_told *t = zc_export_told(r->session, r->export);

        if (!t) {
            zc_request_fail(r, -ENOMEM, "no memory to flush");
            zc_request_finish(r);
            return;
        }
        r->flush.told = &t->syncs;
        r->flush.for_all = r->msg.flags & ZC_F_FOR_ALL;
    }
    zc_request_flush(r, (enum zc_level)r->msg.level, then);
}

static void do_refresh(struct zc_request *r)
{
    zc_request_check(r, zc_cache_refresh(r->handle));
}

static void flushed(struct zc_request *r)
{
    if (!r->status && (r->msg.flags & ZC_F_REFRESH))
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
    zc_request_check(r, zc_export_close(r->export, 1));
}

/* The file is closed whatever came of the flush. */
static void flushed_to_close(struct zc_request *r)
{
    size_t kept;

    if (r->export && zc_export_leave(r->session->server, r->export)) {
        zc_cache_told(r->handle, *r->flush.told);
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
    zc_account_give(&r->session->server->account, &r->session->purse, kept);
    zc_user_closes(r->session, kept);
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
        slot->closing = r->msg.level <= ZC_LEVEL_DURABLE; /* else it comes to nothing */
    flush(r, flushed_to_close);
}

/* ---- sessions and the server itself ---- */

/* The session is killed at the next tick, outside the transport's callback. */
static void bye(struct zc_request *r)
{
    struct zc_session *ss = r->session;

    zc_request_finish(r);
    zc_session_leave_meeting(ss);
    ss->state = ZC_SESSION_DEAD;
    ss->server->next_tick = 0;
}

static void forget_info(struct zc_session *ss)
{
    if (ss->info)
        zc_account_give(&ss->server->account, &ss->purse, ss->info_len);
    free(ss->info);
    ss->info = NULL;
}

/* The text is there; what there is no memory to keep is not told. */
static void keep_info(struct zc_session *ss)
{
    if (ss->info && !zc_account_keep(&ss->server->account, &ss->purse, ss->info_len)) {
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

/* On the pool: there may be any number of files. */
static void do_info(struct zc_request *r)
{
    struct zc_session *ss = r->session;

    ss->info = zc_server_info(ss->server, r->msg.what, r, &ss->info_len);
}

static void informed(struct zc_request *r)
{
    r->session->informing = false;
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
    if (r->msg.what == ZC_INFO_FILES && !zc_user_is_owner(ss) && !zc_server_info_mine(r)) {
        zc_request_fail(r, -ENOMEM, "no memory to look for files");
        zc_request_finish(r);
        return;
    }
    if (r->msg.what == ZC_INFO_FILES) {
        ss->informing = true;
        zc_request_submit(r, do_info, informed);
        return;
    }
    ss->info = zc_server_info(ss->server, r->msg.what, r, &ss->info_len);
    keep_info(ss);
    tell_info(r);
}

/* Who stops a daemon is the last to hear of it. */
static void lost_already(void *arg, const struct zc_loss *l)
{
    char text[ZC_TEXT_MAX];

    snprintf(text, sizeof text, "%llu bytes of %s are lost: %s", (unsigned long long)l->bytes,
             l->path, l->cause);
    zc_request_fail(arg, l->err, text);
}

static void do_drain(struct zc_request *r)
{
    struct zc_cache *c = r->session->server->cfg.cache;

    zc_request_check(r, zc_cache_drain(c));
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
    {ZC_T_TRUNCATE,     ZC_KIND_HANDLE | ZC_KIND_BLOCKS | ZC_KIND_BYTES,   do_truncate},
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
    {ZC_T_MEET,         0,                                                 zc_request_meet},
    {ZC_T_VIEW_INSTALL, ZC_KIND_HANDLE,                                    zc_request_view_install},
    {ZC_T_VIEW_DROP,    ZC_KIND_ALWAYS,                                    zc_request_view_drop},
    {ZC_T_POSTBOX,      0,                                                 zc_request_postbox},
    {ZC_T_LIST_READ,    ZC_KIND_HANDLE | ZC_KIND_BYTES,                    zc_transfer_start},
    {ZC_T_LIST_WRITE,   ZC_KIND_HANDLE | ZC_KIND_BYTES,                    zc_transfer_start},
};
/* clang-format on */

const struct zc_request_kind *zc_request_kind(uint8_t type)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].type == type)
            return &kinds[i];
    return NULL;
}
