/* zc_store_remote_file.c - a file behind daemons: open, close, and what is asked of all of them.
 *
 * It is open at every daemon, or at none: an open that fails at one is undone at the others, and a
 * file that it has created is removed.
 *
 * Where a daemon's answer is lost with its session the call is made again in the next one, for it
 * does the same then; an exclusive creation does not, and says so.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_crc.h"
#include "zc_log.h"
#include "zc_store_remote_internal.h"

enum { ASKED = 8 }; /* daemons asked at a time */

/* ---- open ---- */

/* Opens at one daemon, in whatever session there is. */
static int open_at(struct rfile *f, uint32_t i, unsigned flags, mode_t mode, struct zc_attr *attr)
{
    struct remote *r = remote_of(f->file.store);
    struct zc_attr wish = *attr;
    uint64_t handle;
    struct use use;
    int rc;

    wish.set = zc_remote_set(r, i);
    wish.stride = f->stride;
    do {
        *attr = wish;
        rc = zc_remote_use(r, i, &use);
        if (rc)
            return rc;
        rc = zc_client_open(use.client, f->path, flags, mode, &handle, attr);
        if (rc == 0) {
            zc_lock_get(&r->lock);
            zc_remote_opened(f, &use, handle, attr);
            zc_lock_put(&r->lock);
        }
        if (rc == -ESHUTDOWN && !zc_client_broken(use.client)) {
            char text[400];

            snprintf(text, sizeof text, "%s", zc_error_text(rc));
            zc_remote_end(&use, 0); /* it may go on serving those who have files open */
            return zc_errorf(ESHUTDOWN, "%s", text);
        }
    } while (zc_remote_end(&use, rc) && !(flags & ZC_OPEN_EXCL));
    return rc;
}

static bool is_loss(int rc)
{
    return rc == -ETIMEDOUT || rc == -ECONNRESET || rc == -EPIPE || rc == -ENOTCONN;
}

/* Opens at the first daemon; *created tells whether the file is of our making.  Without
 * O_EXCL that takes a look first, so that a failure elsewhere can be undone exactly; but for a file
 * whose creation was not answered, which stays. */
static int open_first(struct rfile *f, unsigned flags, mode_t mode, struct zc_attr *attr,
                      bool *created)
{
    struct zc_attr wish = *attr;
    bool create = flags & ZC_OPEN_CREATE;
    int rc;

    *created = false;
    if (remote_of(f->file.store)->n == 1 || !create || (flags & ZC_OPEN_EXCL)) {
        rc = open_at(f, 0, flags, mode, attr);
        *created = rc == 0 && create && (flags & ZC_OPEN_EXCL);
        if (is_loss(rc) && (flags & ZC_OPEN_EXCL))
            rc = zc_errorf(-rc, "%s may have been created or not: %s", f->path, zc_error_text(rc));
        return rc;
    }
    for (int tries = 0; tries < 3; tries++) {
        *attr = wish;
        rc = open_at(f, 0, flags & ~ZC_OPEN_CREATE, mode, attr);
        if (rc != -ENOENT)
            return rc;
        *attr = wish;
        rc = open_at(f, 0, flags | ZC_OPEN_EXCL, mode, attr);
        if (rc != -EEXIST && !is_loss(rc)) {
            *created = rc == 0;
            return rc;
        }
    }
    return rc;
}

/* Of the blocks of one daemon, an opener that reads every n-th block of the file reads every
 * so-manieth of the file, too. */
static uint64_t stride_at(const struct remote *r, uint64_t n)
{
    uint64_t a = n ? n : 1, b = r->n;

    while (b) { /* the least common multiple of both */
        uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return (n ? n : 1) / a * r->n;
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
static int open_others(struct rfile *f, unsigned flags, mode_t mode, struct zc_attr *attr)
{
    flags = (flags & ~(ZC_OPEN_CREATE | ZC_OPEN_EXCL)) | ZC_OPEN_PLACED;
    for (uint32_t i = 1; i < remote_of(f->file.store)->n; i++) {
        struct zc_attr other = {.block_size = attr->block_size};
        int rc = open_at(f, i, flags, mode, &other);

        if (rc)
            return rc;
        if (other.block_size != attr->block_size)
            return zc_errorf(EINVAL,
                             "%s: daemons place blocks of %llu and of %llu bytes; give all of them "
                             "the same --page-size and open files with the same daemons",
                             f->path, (unsigned long long)attr->block_size,
                             (unsigned long long)other.block_size);
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
    struct use use;

    for (uint32_t i = 0; i < r->n; i++) {
        if (!f->at[i].session || !zc_remote_use_now(r, i, &use))
            continue;
        if (use.session->number == f->at[i].session)
            zc_client_close(use.client, f->at[i].handle, ZC_LEVEL_VISIBLE);
        zc_remote_end(&use, 0);
    }
    if (created)
        zc_store_unlink(&r->store, f->path);
}

int zc_remote_open(struct zc_store *s, const char *path, unsigned flags, mode_t mode,
                   struct zc_sfile **out, struct zc_attr *attr)
{
    struct remote *r = remote_of(s);
    struct rfile *f = file_new(r, path, flags);
    uint64_t wished = attr->block_size;
    bool may_bypass = flags & ZC_OPEN_BYPASS, created;
    char text[400];
    int rc;

    if (!f)
        return zc_errorf(ENOMEM, "no memory to open %s", path);
    flags &= ~(unsigned)ZC_OPEN_BYPASS; /* no daemon's concern */
    f->stride = stride_at(r, attr->stride);
    rc = flags & ZC_OPEN_CHECKSUM ? zc_crc_load() : 0;
    if (rc) {
        file_free(f);
        return rc;
    }
    rc = open_first(f, flags, mode, attr, &created);
    if (rc == 0) {
        if (!attr->block_size)
            attr->block_size = wished ? wished : ZC_DEFAULT_BLOCK_MIB << 20;
        f->place = (struct zc_place){attr->block_size, r->n, r->n};
        rc = open_others(f, flags, mode, attr);
    }
    if (rc == 0) {
        if (may_bypass)
            zc_remote_look(f, attr);
        rc = zc_remote_join_bypass(f);
    }
    if (rc == 0) {
        file_enter(r, f);
        *out = &f->file;
        return 0;
    }
    snprintf(text, sizeof text, "%s", zc_error_text(rc));
    undo(f, created);
    if (f->direct)
        zc_store_close_file(f->direct, ZC_LEVEL_VISIBLE);
    file_free(f);
    return zc_errorf(-rc, "%s", text);
}

/* ---- asking all daemons ---- */

typedef void (*start_fn)(struct zc_client *c, uint64_t handle, uint64_t arg, struct zc_later *l);

static void start_flush(struct zc_client *c, uint64_t handle, uint64_t level, struct zc_later *l)
{
    zc_client_flush_start(c, handle, (enum zc_level)level, l);
}

static void start_refresh(struct zc_client *c, uint64_t handle, uint64_t level, struct zc_later *l)
{
    zc_client_refresh_start(c, handle, (enum zc_level)level, l);
}

static void start_close(struct zc_client *c, uint64_t handle, uint64_t level, struct zc_later *l)
{
    zc_client_close_start(c, handle, (enum zc_level)level, l);
}

static void start_cut(struct zc_client *c, uint64_t handle, uint64_t size, struct zc_later *l)
{
    zc_client_cut_start(c, handle, size, l);
}

static void start_backlog(struct zc_client *c, uint64_t handle, uint64_t what, struct zc_later *l)
{
    zc_client_backlog_start(c, handle, (uint32_t)what, l);
}

struct first_error {
    int rc;
    char text[400];
};

static void note(struct first_error *e, int rc)
{
    if (!rc || e->rc)
        return;
    e->rc = rc;
    snprintf(e->text, sizeof e->text, "%s", zc_error_text(rc));
}

/* The answer to what was started; it is asked again where that was in vain.  Who is bypassed has
 * nothing to say: what has to be done to the file is done once. */
static int answer_of(struct rfile *f, uint32_t i, start_fn start, uint64_t arg, struct use *use,
                     struct zc_later *l)
{
    for (;;) {
        int rc = zc_client_wait(use->client, l);

        if (!zc_remote_end(use, rc))
            return rc;
        rc = zc_remote_begin(f, i, use);
        if (rc || use->direct)
            return rc;
        start(use->client, use->handle, arg, l);
    }
}

/* Asks all daemons from the `at`-th on at once; every one is waited for, the first failure is
 * returned.  *sum, when not NULL, is what they counted. */
static int ask(struct rfile *f, uint32_t at, start_fn start, uint64_t arg, uint64_t *sum)
{
    struct remote *r = remote_of(f->file.store);
    struct zc_later later[ASKED];
    struct use use[ASKED];
    struct first_error e = {0};
    int begun[ASKED];

    for (; at < r->n; at += ASKED) {
        uint32_t end = at + ASKED < r->n ? at + ASKED : r->n;

        for (uint32_t i = at; i < end; i++) {
            begun[i - at] = zc_remote_begin(f, i, &use[i - at]);
            later[i - at].count = 0;
            if (begun[i - at] == 0 && !use[i - at].direct)
                start(use[i - at].client, use[i - at].handle, arg, &later[i - at]);
            note(&e, begun[i - at]);
        }
        for (uint32_t i = at; i < end; i++) {
            if (begun[i - at] == 0 && !use[i - at].direct)
                note(&e, answer_of(f, i, start, arg, &use[i - at], &later[i - at]));
            if (sum)
                *sum += later[i - at].count;
        }
    }
    return e.rc ? zc_errorf(-e.rc, "%s", e.text) : 0;
}

static int ask_all(struct rfile *f, start_fn start, uint64_t arg, uint64_t *sum)
{
    return ask(f, 0, start, arg, sum);
}

/* ---- what is stored ---- */

/* What each daemon has taken so far, and in which epoch; NULL: no memory, nothing is noted. */
static struct zc_progress *note_written(struct rfile *f, enum zc_level level)
{
    struct remote *r = remote_of(f->file.store);
    struct zc_progress *p = level < ZC_LEVEL_STORED ? NULL : calloc(r->n, sizeof *p);

    zc_lock_get(&r->lock);
    for (uint32_t i = 0; p && i < r->n; i++)
        p[i] = (struct zc_progress){.epoch = f->at[i].progress.epoch, .taken = f->at[i].written};
    zc_lock_put(&r->lock);
    return p;
}

/* That is stored now. */
static void note_safe(struct rfile *f, const struct zc_progress *p)
{
    struct remote *r = remote_of(f->file.store);

    zc_lock_get(&r->lock);
    for (uint32_t i = 0; p && i < r->n; i++)
        if (f->at[i].progress.epoch == p[i].epoch && p[i].taken > f->at[i].safe)
            f->at[i].safe = p[i].taken;
    zc_lock_put(&r->lock);
}

int zc_remote_sync(struct zc_sfile *sf, enum zc_level level)
{
    struct rfile *f = rfile_of(sf);
    struct zc_progress *p = note_written(f, level);
    int rc = ask_all(f, start_flush, level, NULL);

    if (rc == 0 && zc_remote_bypasses(f))
        rc = zc_store_sync(f->direct, level);
    if (rc == 0)
        note_safe(f, p);
    free(p);
    return rc ? rc : zc_remote_losses(f);
}

/* A file that was deleted, and that no daemon has a byte of that matters, is closed. */
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
    struct first_error e = {0};

    note(&e, rc);
    if (f->direct)
        note(&e, zc_store_close_file(f->direct, zc_remote_bypasses(f) ? level : ZC_LEVEL_VISIBLE));
    return e.rc ? zc_errorf(-e.rc, "%s", e.text) : 0;
}

/* What was lost since who keeps it has looked last: he lets it go as he closes the file. */
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
    rc = ask_all(f, start_close, level, NULL);
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
    return ask_all(rfile_of(sf), start_backlog, ZC_BACKLOG_HERE, bytes);
}

int zc_remote_refresh(struct zc_sfile *sf)
{
    return ask_all(rfile_of(sf), start_refresh, ZC_LEVEL_STAGED, NULL);
}

/* ---- size ---- */

static int truncate_first(struct rfile *f, uint64_t size)
{
    struct use use;
    int rc;

    do {
        rc = zc_remote_begin(f, 0, &use);
        if (rc == 0)
            rc = use.direct ? zc_store_truncate(use.direct, size)
                            : zc_client_truncate(use.client, use.handle, size);
    } while (zc_remote_end(&use, rc));
    return rc;
}

/* Nothing of what was lost is in a file of no bytes. */
static void forget_losses(struct rfile *f)
{
    struct remote *r = remote_of(f->file.store);

    zc_lock_get(&r->lock);
    for (uint32_t i = 0; i < r->n; i++)
        f->at[i].lost = 0;
    zc_lock_put(&r->lock);
}

static int all_are_there(struct rfile *f)
{
    struct use use;
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < remote_of(f->file.store)->n; i++)
        do {
            rc = zc_remote_begin(f, i, &use);
            if (rc == 0 && !use.direct)
                rc = zc_client_ping(use.client);
        } while (zc_remote_end(&use, rc));
    return rc;
}

/* What is cut cannot be taken back, so all are to be there before the first one cuts the file; the
 * others then cut what they have cached.  One of them that fails may have written back before,
 * beyond the new size: that is cut off again. */
int zc_remote_truncate(struct zc_sfile *sf, uint64_t size)
{
    struct rfile *f = rfile_of(sf);
    struct remote *r = remote_of(sf->store);
    char text[400];
    int rc = r->n > 1 ? all_are_there(f) : 0;

    if (rc == 0)
        rc = truncate_first(f, size);
    if (rc)
        return rc;
    if (size == 0)
        forget_losses(f);
    rc = ask(f, 1, start_cut, size, NULL);
    if (rc == 0)
        return 0;
    snprintf(text, sizeof text, "%s", zc_error_text(rc));
    if (truncate_first(f, size) != 0)
        return zc_errorf(EREMOTEIO, "nobody knows how many bytes the file has: %s", text);
    return zc_errorf(EREMOTEIO, "the file has %llu bytes now, but not at every daemon: %s",
                     (unsigned long long)size, text);
}

int zc_remote_allocate(struct zc_sfile *sf, uint64_t off, uint64_t len)
{
    struct use use;
    int rc;

    do {
        rc = zc_remote_begin(rfile_of(sf), 0, &use);
        if (rc == 0)
            rc = use.direct ? zc_store_allocate(use.direct, off, len)
                            : zc_client_allocate(use.client, use.handle, off, len);
    } while (zc_remote_end(&use, rc));
    return rc;
}

static int getattr_at(struct rfile *f, uint32_t i, struct zc_attr *attr)
{
    struct use use;
    int rc;

    do {
        rc = zc_remote_begin(f, i, &use);
        if (rc == 0)
            rc = use.direct ? zc_store_getattr(use.direct, attr)
                            : zc_client_getattr(use.client, use.handle, attr);
    } while (zc_remote_end(&use, rc));
    return rc;
}

int zc_remote_getattr(struct zc_sfile *sf, struct zc_attr *attr)
{
    struct rfile *f = rfile_of(sf);
    int rc = getattr_at(f, 0, attr);

    for (uint32_t i = 1; rc == 0 && i < remote_of(sf->store)->n; i++) {
        struct zc_attr other;

        rc = getattr_at(f, i, &other);
        if (rc == 0 && other.size > attr->size)
            attr->size = other.size;
    }
    return rc;
}
