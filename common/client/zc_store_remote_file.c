/* zc_store_remote_file.c - a file behind daemons: open, close, and what is asked of all of them.
 *
 * It is open at every daemon, or at none: an open that fails at one is undone at the others, and a
 * file that it has created is removed.
 *
 * Where a daemon's answer is lost with its session the call is made again in the next one, for it
 * does the same then; an exclusive creation does not, and says so.  A file whose creation was not
 * answered stays.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_crc.h"
#include "zc_error.h"
#include "zc_log.h"
#include "zc_store_remote_internal.h"

/* ---- open ---- */

/* Opens at one daemon, in whatever session there is. */
static int open_at(struct rfile *f, uint32_t i, unsigned flags, mode_t mode, struct zc_attr *attr)
{
    struct remote *r = remote_of(f->file.store);
    struct zc_attr wish = *attr;
    uint64_t handle;
    struct zc_stripe_use use;
    int rc;

    wish.set = zc_remote_set(r, i);
    wish.stride = f->stride;
    do {
        *attr = wish;
        rc = zc_remote_get(r, i, &use);
        if (rc)
            return rc;
        rc = zc_client_open(use.client, f->path, flags, mode, &handle, attr);
        if (rc == 0) {
            zc_lock_get(&r->lock);
            zc_remote_opened(f, &use, handle, attr);
            zc_lock_put(&r->lock);
        }
        if (rc == -ESHUTDOWN && !zc_client_broken(use.client)) {
            struct zc_error e;

            zc_error_keep(&e, rc);
            zc_remote_put(&use, 0); /* it may still serve clients with open files */
            return zc_error_raise(&e);
        }
    } while (zc_remote_put(&use, rc) && !(flags & ZC_OPEN_EXCL));
    return rc;
}

static bool is_loss(int rc)
{
    return rc == -ETIMEDOUT || rc == -ECONNRESET || rc == -EPIPE || rc == -ENOTCONN;
}

/* Opens at the first daemon; a creation whose answer was lost is not known to be one. */
static int open_first(struct rfile *f, unsigned flags, mode_t mode, struct zc_attr *attr)
{
    int rc = open_at(f, 0, flags, mode, attr);

    if (is_loss(rc) && flags & ZC_OPEN_EXCL)
        return zc_errorf(-rc, "%s may have been created or not: %s", f->path, zc_error_text(rc));
    return rc;
}

static struct rfile *file_new(struct remote *r, const char *path, unsigned flags)
{
    struct rfile *f = calloc(1, sizeof *f + r->n * sizeof f->at[0]);

    if (f)
        f->path = strdup(path);
    if (!f || !f->path) {
        free(f);
        return NULL;
    }
    f->file.store = &r->store;
    f->flags = flags & ~(unsigned)(ZC_OPEN_CREATE | ZC_OPEN_EXCL | ZC_OPEN_BYPASS);
    f->may_bypass = flags & ZC_OPEN_BYPASS;
    return f;
}

/* From now on keepers look after it. */
static void file_enter(struct remote *r, struct rfile *f)
{
    zc_lock_get(&r->lock);
    zc_list_add_tail(&r->files, &f->link);
    zc_lock_put(&r->lock);
}

static void file_leave(struct remote *r, struct rfile *f)
{
    zc_lock_get(&r->lock);
    while (f->kept)
        zc_cond_wait(&r->changed, &r->lock);
    zc_list_del(&f->link);
    zc_lock_put(&r->lock);
}

static void file_free(struct rfile *f)
{
    free(f->path);
    free(f);
}

/* Opens at all daemons but the first. */
static int open_others(struct rfile *f, mode_t mode, struct zc_attr *attr)
{
    unsigned flags = f->flags | ZC_OPEN_PLACED;

    for (uint32_t i = 1; i < remote_of(f->file.store)->n; i++) {
        struct zc_attr other = {
            .block_size = attr->block_size, .width = attr->width, .first = attr->first};
        int rc = open_at(f, i, flags, mode, &other);

        if (rc)
            return rc;
        if (other.block_size != attr->block_size)
            return zc_errorf(EINVAL,
                             "%s: daemons place blocks of %llu and of %llu bytes; give all of them "
                             "the same --page-size and open files with the same daemons",
                             f->path, (unsigned long long)attr->block_size,
                             (unsigned long long)other.block_size);
        if (other.width != attr->width || other.first != attr->first)
            return zc_errorf(EPROTO, "%s: daemons do not agree on which of them have its blocks",
                             f->path);
        if (other.size > attr->size)
            attr->size = other.size;
    }
    return 0;
}

/* Takes back what an open that failed has done.  What was opened in a session that is over was
 * closed with it. */
static void undo(struct rfile *f, bool created)
{
    struct remote *r = remote_of(f->file.store);

    for (uint32_t i = 0; i < r->n; i++)
        zc_remote_let_go(f, i);
    if (created)
        zc_store_unlink(&r->store, f->path);
}

int zc_remote_open(struct zc_store *s, const char *path, unsigned flags, mode_t mode,
                   struct zc_sfile **out, struct zc_attr *attr)
{
    struct remote *r = remote_of(s);
    struct rfile *f = file_new(r, path, flags);
    uint64_t wished = attr->block_size;
    bool created = false;
    struct zc_error e;
    int rc;

    if (!f)
        return zc_errorf(ENOMEM, "no memory to open %s", path);
    flags &= ~(unsigned)ZC_OPEN_BYPASS; /* no daemon's concern */
    f->stride = attr->stride;
    rc = flags & ZC_OPEN_CHECKSUM ? zc_crc_load() : 0;
    if (rc) {
        file_free(f);
        return rc;
    }
    rc = open_first(f, flags, mode, attr);
    if (rc == 0) {
        created = attr->created;
        if (created) /* every other open of the job finds this one, through the daemons */
            f->flags |= ZC_OPEN_SOLE;
        if (!attr->block_size)
            attr->block_size = wished ? wished : ZC_DEFAULT_BLOCK_MIB << 20;
        f->place = (struct zc_stripe){attr->block_size, r->n, r->n, attr->width, attr->first};
        rc = open_others(f, mode, attr);
    }
    if (rc == 0) {
        if (f->may_bypass || r->ending)
            zc_remote_find_direct(f, attr);
        rc = zc_remote_join_bypass(f);
    }
    if (rc == 0) {
        file_enter(r, f);
        *out = &f->file;
        return 0;
    }
    zc_error_keep(&e, rc);
    undo(f, created);
    if (f->direct)
        zc_store_close_file(f->direct, ZC_LEVEL_VISIBLE);
    file_free(f);
    return zc_error_raise(&e);
}

/* ---- table for zc_stripe_ask.h ---- */

static struct rfile *striped(const struct zc_stripe_file *f)
{
    return f->file;
}

static int get(const struct zc_stripe_file *f, uint32_t i, struct zc_stripe_use *use)
{
    return zc_remote_file_get(striped(f), i, use);
}

static int getattr_direct(const struct zc_stripe_file *f, const struct zc_stripe_use *use,
                          struct zc_attr *attr)
{
    (void)f;
    return zc_store_getattr(use->here, attr);
}

static int truncate_direct(const struct zc_stripe_file *f, const struct zc_stripe_use *use,
                           uint64_t size)
{
    (void)f;
    return zc_store_truncate(use->here, size);
}

static int allocate_direct(const struct zc_stripe_file *f, const struct zc_stripe_use *use,
                           uint64_t off, uint64_t len)
{
    (void)f;
    return zc_store_allocate(use->here, off, len);
}

static void took(const struct zc_stripe_file *f, const struct zc_stripe_use *use, uint64_t bytes,
                 uint64_t unstable_seq, uint64_t committed_seq)
{
    zc_remote_took(striped(f), use, bytes, unstable_seq, committed_seq);
}

static const struct zc_stripe_ops daemons = {
    .servers = "daemon",
    .server = zc_stripe_daemon,
    .get = get,
    .put = zc_remote_put,
    .getattr = getattr_direct,
    .truncate = truncate_direct,
    .allocate = allocate_direct,
    .took = took,
};

struct zc_stripe_file zc_remote_striped(struct rfile *f)
{
    return (struct zc_stripe_file){&daemons, f, &f->place, remote_of(f->file.store)->n};
}

/* ---- asking all daemons ---- */

/* Asks all daemons except bypassed ones, for which the caller does the work on the file once. *sum,
 * if not NULL, becomes the sum of their counts. */
static int ask_all(struct rfile *f, zc_client_start_fn *start, uint64_t arg, uint64_t *sum)
{
    struct zc_stripe_file s = zc_remote_striped(f);
    struct zc_stripe_request q = {.start = start, .arg = arg};
    int rc = zc_stripe_ask(&s, &q);

    if (sum)
        *sum = q.sum;
    return rc;
}

/* ---- what is stored ---- */

/* What each daemon has taken so far, and in which epoch; NULL: no memory, nothing is noted. */
static struct zc_progress *note_written(struct rfile *f, enum zc_level level)
{
    struct remote *r = remote_of(f->file.store);
    struct zc_progress *p = level < ZC_LEVEL_STORED ? NULL : calloc(r->n, sizeof *p);

    zc_lock_get(&r->lock);
    for (uint32_t i = 0; p && i < r->n; i++)
        p[i] = (struct zc_progress){.verifier = f->at[i].progress.verifier,
                                    .unstable_seq = f->at[i].written};
    zc_lock_put(&r->lock);
    return p;
}

/* That is stored now. */
static void note_safe(struct rfile *f, const struct zc_progress *p)
{
    struct remote *r = remote_of(f->file.store);

    zc_lock_get(&r->lock);
    for (uint32_t i = 0; p && i < r->n; i++)
        if (f->at[i].progress.verifier == p[i].verifier && p[i].unstable_seq > f->at[i].safe)
            f->at[i].safe = p[i].unstable_seq;
    zc_lock_put(&r->lock);
}

int zc_remote_sync(struct zc_sfile *sf, enum zc_level level)
{
    struct rfile *f = rfile_of(sf);
    struct zc_progress *p = note_written(f, level);
    int rc = ask_all(f, zc_client_flush_start, level, NULL);

    if (rc == 0 && zc_remote_bypasses(f))
        rc = zc_store_sync(f->direct, level);
    if (rc == 0)
        note_safe(f, p);
    free(p);
    return rc ? rc : zc_remote_losses(f);
}

/* Whether the close has succeeded although daemons do not know the file any more: it was deleted,
 * and everything that was written there is stored. */
static bool was_closed(struct rfile *f, int rc)
{
    struct remote *r = remote_of(f->file.store);
    bool all_safe = rc == -ESTALE;

    zc_lock_get(&r->lock);
    for (uint32_t i = 0; i < r->n; i++)
        all_safe = all_safe && f->at[i].written == f->at[i].safe;
    zc_lock_put(&r->lock);
    return all_safe;
}

/* Keeps an error that there is, and what explains it. */
static int close_direct(struct rfile *f, enum zc_level level, int rc)
{
    struct zc_error e = {0};

    zc_error_join(&e, rc);
    if (f->direct)
        zc_error_join(
            &e, zc_store_close_file(f->direct, zc_remote_bypasses(f) ? level : ZC_LEVEL_VISIBLE));
    return zc_error_raise(&e);
}

/* Reports what was lost since the cache asked for progress last; it forgets kept bytes at the
 * close. */
static int unseen_losses(struct rfile *f)
{
    struct remote *r = remote_of(f->file.store);
    uint64_t lost = 0;

    zc_lock_get(&r->lock);
    for (uint32_t i = 0; i < r->n; i++)
        lost += f->at[i].unseen;
    zc_lock_put(&r->lock);
    if (!lost || !r->store.lossy)
        return 0;
    return zc_errorf(EOWNERDEAD,
                     "%s: up to %llu bytes are lost: a daemon had taken them, and died before the "
                     "file was closed there",
                     f->path, (unsigned long long)lost);
}

int zc_remote_close(struct zc_sfile *sf, enum zc_level level)
{
    struct rfile *f = rfile_of(sf);
    int rc;

    file_leave(remote_of(sf->store), f);
    f->closing = true;
    rc = ask_all(f, zc_client_close_start, level, NULL);
    if (was_closed(f, rc))
        rc = zc_remote_join_bypass(f);
    rc = close_direct(f, level, rc);
    if (rc == 0)
        rc = zc_remote_losses(f);
    if (rc == 0)
        rc = unseen_losses(f);
    file_free(f);
    return rc;
}

int zc_remote_backlog(struct zc_sfile *sf, uint64_t *bytes)
{
    *bytes = 0;
    return ask_all(rfile_of(sf), zc_client_backlog_start, ZC_BACKLOG_HERE, bytes);
}

int zc_remote_refresh(struct zc_sfile *sf)
{
    return ask_all(rfile_of(sf), zc_client_refresh_start, ZC_LEVEL_STAGED, NULL);
}

/* ---- size ---- */

/* Nothing of what was lost is in a file of no bytes. */
static void forget_losses(struct rfile *f)
{
    struct remote *r = remote_of(f->file.store);

    zc_lock_get(&r->lock);
    for (uint32_t i = 0; i < r->n; i++)
        f->at[i].lost = 0;
    zc_lock_put(&r->lock);
}

int zc_remote_truncate(struct zc_sfile *sf, uint64_t size)
{
    struct zc_stripe_file s = zc_remote_striped(rfile_of(sf));
    int rc = zc_stripe_truncate(&s, size);

    if (size == 0 && (rc == 0 || rc == -EREMOTEIO))
        forget_losses(rfile_of(sf));
    return rc;
}

int zc_remote_allocate(struct zc_sfile *sf, uint64_t off, uint64_t len)
{
    struct zc_stripe_file s = zc_remote_striped(rfile_of(sf));

    return zc_stripe_allocate(&s, off, len);
}

int zc_remote_getattr(struct zc_sfile *sf, struct zc_attr *attr)
{
    struct zc_stripe_file s = zc_remote_striped(rfile_of(sf));

    return zc_stripe_getattr(&s, attr);
}
