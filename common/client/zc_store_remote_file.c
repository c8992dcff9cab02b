/* zc_store_remote_file.c - a file behind daemons: open, close, and what is asked of all of them.
 *
 * It is open at every daemon, or at none: an open that fails at one is undone at the others, and a
 * file that it has created is removed.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "zc_log.h"
#include "zc_store_remote_internal.h"

enum { ASKED = 8 }; /* daemons asked at a time */

/* Known by their boot ids, in order. */
static struct zc_set set_of(const struct remote *r, uint32_t index)
{
    struct zc_set set = {.id = r->n, .index = index, .count = r->n};

    for (uint32_t i = 0; i < r->n; i++) {
        set.id = (set.id ^ zc_client_boot_id(r->clients[i])) * 0x9e3779b97f4a7c15ull;
        set.id ^= set.id >> 29;
    }
    set.id |= !set.id; /* 0 says nothing */
    return set;
}

/* Opens at the first daemon; *created tells whether the file is of our making.  Without
 * O_EXCL that takes a look first, so that a failure elsewhere can be undone exactly. */
static int open_first(struct remote *r, const char *path, unsigned flags, mode_t mode,
                      uint64_t *handle, struct zc_attr *attr, bool *created)
{
    bool create = flags & ZC_OPEN_CREATE;
    int rc;

    attr->set = set_of(r, 0);
    *created = false;
    if (r->n == 1 || !create || (flags & ZC_OPEN_EXCL)) {
        rc = zc_client_open(r->clients[0], path, flags, mode, handle, attr);
        *created = rc == 0 && create && (flags & ZC_OPEN_EXCL);
        return rc;
    }
    for (int tries = 0; tries < 3; tries++) {
        rc = zc_client_open(r->clients[0], path, flags & ~ZC_OPEN_CREATE, mode, handle, attr);
        if (rc != -ENOENT)
            return rc;
        rc = zc_client_open(r->clients[0], path, flags | ZC_OPEN_EXCL, mode, handle, attr);
        if (rc != -EEXIST) {
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

int zc_remote_open(struct zc_store *s, const char *path, unsigned flags, mode_t mode,
                   struct zc_sfile **out, struct zc_attr *attr)
{
    struct remote *r = remote_of(s);
    struct rfile *f = calloc(1, sizeof *f + r->n * sizeof f->handles[0]);
    uint64_t wished = attr->block_size, stride = stride_at(r, attr->stride);
    uint32_t opened = 0;
    char text[400];
    bool created;
    int rc;

    if (f)
        f->file.store = s;
    if (!f || zc_remote_taken_begin(f)) {
        free(f);
        return zc_errorf(ENOMEM, "no memory to open %s", path);
    }
    attr->stride = stride;
    rc = open_first(r, path, flags, mode, &f->handles[0], attr, &created);
    if (rc)
        goto fail;
    opened = 1;
    if (!attr->block_size)
        attr->block_size = wished ? wished : ZC_DEFAULT_BLOCK_MIB << 20;
    f->place = (struct zc_place){attr->block_size, r->n, r->n};
    for (; opened < r->n; opened++) {
        struct zc_attr other = {
            .block_size = attr->block_size, .stride = stride, .set = set_of(r, opened)};

        rc = zc_client_open(r->clients[opened], path,
                            (flags & ~(ZC_OPEN_CREATE | ZC_OPEN_EXCL)) | ZC_OPEN_PLACED, mode,
                            &f->handles[opened], &other);
        if (rc)
            goto fail;
        if (other.block_size != attr->block_size) {
            opened++;
            rc = zc_errorf(EINVAL,
                           "%s: daemons place blocks of %llu and of %llu bytes; give all of them "
                           "the same --page-size and open files with the same daemons",
                           path, (unsigned long long)attr->block_size,
                           (unsigned long long)other.block_size);
            goto fail;
        }
        if (other.size > attr->size)
            attr->size = other.size;
    }
    *out = &f->file;
    return 0;
fail:
    snprintf(text, sizeof text, "%s", zc_error_text(rc));
    for (uint32_t i = 0; i < opened; i++)
        zc_client_close(r->clients[i], f->handles[i], ZC_LEVEL_VISIBLE);
    if (opened && created)
        zc_client_unlink(r->clients[0], path);
    zc_remote_taken_end(f);
    free(f);
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

/* Asks all daemons from the `at`-th on at once; every one is waited for, the first failure is
 * returned.  *sum, when not NULL, is what they counted. */
static int ask(struct rfile *f, uint32_t at, start_fn start, uint64_t arg, uint64_t *sum)
{
    struct remote *r = remote_of(f->file.store);
    struct zc_later later[ASKED];
    char text[256] = "";
    int first = 0;

    for (; at < r->n; at += ASKED) {
        uint32_t end = at + ASKED < r->n ? at + ASKED : r->n;

        for (uint32_t i = at; i < end; i++)
            start(r->clients[i], f->handles[i], arg, &later[i - at]);
        for (uint32_t i = at; i < end; i++) {
            int rc = zc_client_wait(r->clients[i], &later[i - at]);

            if (sum)
                *sum += later[i - at].count;
            if (rc && !first) {
                first = rc;
                snprintf(text, sizeof text, "%s", zc_error_text(rc));
            }
        }
    }
    return first ? zc_errorf(-first, "%s", text) : 0;
}

static int ask_all(struct rfile *f, start_fn start, uint64_t arg, uint64_t *sum)
{
    return ask(f, 0, start, arg, sum);
}

int zc_remote_close(struct zc_sfile *sf, enum zc_level level)
{
    int rc = ask_all(rfile_of(sf), start_close, level, NULL);

    zc_remote_taken_end(rfile_of(sf));
    free(rfile_of(sf));
    return rc;
}

int zc_remote_sync(struct zc_sfile *sf, enum zc_level level)
{
    return ask_all(rfile_of(sf), start_flush, level, NULL);
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

/* What is cut cannot be taken back, so all are to be there before the first one cuts the file; the
 * others then cut what they have cached. */
int zc_remote_truncate(struct zc_sfile *sf, uint64_t size)
{
    struct rfile *f = rfile_of(sf);
    struct remote *r = remote_of(sf->store);
    char text[400];
    int rc = r->n > 1 ? zc_store_ping(sf->store) : 0;

    if (rc == 0)
        rc = zc_client_truncate(r->clients[0], f->handles[0], size);
    if (rc)
        return rc;
    rc = ask(f, 1, start_cut, size, NULL);
    if (rc == 0)
        return 0;
    snprintf(text, sizeof text, "%s", zc_error_text(rc));
    return zc_errorf(EREMOTEIO, "the file has %llu bytes now, but not at every daemon: %s",
                     (unsigned long long)size, text);
}

int zc_remote_allocate(struct zc_sfile *sf, uint64_t off, uint64_t len)
{
    struct remote *r = remote_of(sf->store);

    return zc_client_allocate(r->clients[0], rfile_of(sf)->handles[0], off, len);
}

int zc_remote_getattr(struct zc_sfile *sf, struct zc_attr *attr)
{
    struct rfile *f = rfile_of(sf);
    struct remote *r = remote_of(sf->store);
    int rc = zc_client_getattr(r->clients[0], f->handles[0], attr);

    for (uint32_t i = 1; rc == 0 && i < r->n; i++) {
        struct zc_attr other;

        rc = zc_client_getattr(r->clients[i], f->handles[i], &other);
        if (rc == 0 && other.size > attr->size)
            attr->size = other.size;
    }
    return rc;
}
