/* zc_store_remote_bypass.c - a file whose daemon is lost for good: its share, without it.
 *
 *     opened with ZC_OPEN_BYPASS, and found in the file system of this process: zc_remote_look()
 *          |
 *          v
 *     of each server:  remote ------------------------> bypassed, until the file is closed
 *                              zc_remote_bypass():
 *                              the server is gone
 *
 * A server that is bypassed takes bytes as any other: its epoch changes, so that those who kept
 * what it had taken write it again, and what is written is in the file, hence stored, at once.  It
 * is not used for this file any more even if it is back, for it has not seen what was written.
 *
 * The file is opened when it is opened at the daemons, and not when one of them is lost: then the
 * daemon can be asked whether it is the same one.  On its host that is device and inode number;
 * elsewhere devices have other numbers, and beside the inode number the file has to have been
 * changed at the same nanosecond.  And an open file is the same one whatever becomes of its name.
 *
 * Only one may write to the file for a block: a daemon that is not known to be dead is told first
 * (zc_lost_mark.h), and one that stops, and writes back what it has, is waited for: calls fail
 * until it has ended.
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "zc_log.h"
#include "zc_lost_mark.h"
#include "zc_store_posix.h"
#include "zc_store_remote_internal.h"

enum { LOOKS = 3 }; /* others may change the file while it is looked at here and there */

/* ---- at open ---- */

static bool is_same(const struct rfile *f, const struct zc_attr *there, const struct zc_attr *here)
{
    const struct rhandle *h = &f->at[0];

    if (here->ino != h->ino)
        return false;
    return h->host == remote_of(f->file.store)->host ? here->dev == h->dev
                                                     : here->ctime_ns == there->ctime_ns;
}

static int compare(struct rfile *f, const struct zc_attr *at_open)
{
    struct zc_attr there = *at_open, here;

    for (int i = 0;; i++) {
        int rc = zc_store_getattr(f->direct, &here);

        if (rc == 0 && is_same(f, &there, &here))
            return 0;
        if (rc == 0 && i < LOOKS)
            rc = zc_remote_getattr(&f->file, &there);
        else if (rc == 0)
            rc = zc_errorf(ESTALE, "%s is another file here than where its daemon runs", f->path);
        if (rc)
            return rc;
    }
}

static int find(struct rfile *f, const struct zc_attr *at_open)
{
    struct remote *r = remote_of(f->file.store);
    struct zc_attr here = {.block_size = f->place.block_size};
    unsigned flags = f->flags & (ZC_OPEN_READ | ZC_OPEN_WRITE);
    struct zc_store *direct;
    int rc = 0;

    zc_lock_get(&r->lock);
    direct = r->direct;
    zc_lock_put(&r->lock);
    if (!direct) {
        rc = zc_store_posix_create(NULL, &direct);
        if (rc)
            return rc;
        zc_lock_get(&r->lock);
        if (!r->direct) {
            r->direct = direct;
            direct = NULL;
        }
        zc_lock_put(&r->lock);
        zc_store_destroy(direct); /* another thread was first */
    }
    rc = zc_store_open_file(r->direct, f->path, flags, 0, &f->direct, &here);
    if (rc == 0)
        rc = compare(f, at_open);
    return rc;
}

void zc_remote_look(struct rfile *f, const struct zc_attr *at_open)
{
    int rc = find(f, at_open);

    if (rc == 0)
        return;
    snprintf(f->apart, sizeof f->apart, "%s", zc_error_text(rc));
    if (f->direct)
        zc_store_close_file(f->direct, ZC_LEVEL_VISIBLE);
    f->direct = NULL;
    zc_warn("%s: the loss of a daemon will be an error, for it cannot be bypassed: %s", f->path,
            f->apart);
}

/* ---- when it is lost ---- */

static bool is_dead(const struct server *sv)
{
    return sv->here && sv->pid > 0 && kill((pid_t)sv->pid, 0) && errno == ESRCH;
}

/* A daemon that was told to stop: the last that it does is to remove its address file, and none
 * takes its place before. */
static bool has_stopped(const struct server *sv, uint64_t boot_id)
{
    struct zc_addrfile a;
    int rc = zc_addrfile_look(sv->path, &a);

    return rc == -ENOENT || (rc == 0 && a.boot_id != boot_id);
}

/* It has said that it stops, and still gives signs of life. */
static bool is_at_it(struct server *sv)
{
    struct remote *r = sv->remote;
    struct session *s;
    bool alive, last;

    zc_lock_get(&r->lock);
    s = sv->ending;
    if (s)
        s->users++;
    zc_lock_put(&r->lock);
    if (!s)
        return false;
    alive = !zc_client_broken(s->client);
    zc_lock_get(&r->lock);
    last = --s->users == 0;
    zc_lock_put(&r->lock);
    if (last)
        zc_remote_session_free(s);
    return alive;
}

static void note_out(struct server *sv, uint64_t boot_id)
{
    zc_lock_get(&sv->remote->lock);
    sv->shut_out = boot_id;
    zc_lock_put(&sv->remote->lock);
}

/* It has left a journal, perhaps, from which the next daemon would write. */
static void tell_successor(const struct server *sv, uint64_t boot_id)
{
    int rc = sv->path ? zc_lost_mark_leave(sv->path, boot_id) : 0;

    if (rc)
        zc_warn("%s; if that daemon has a journal, delete it before it is started again",
                zc_error_text(rc));
}

/* Makes sure that the daemon writes nothing any more; may take ZC_LOST_WAIT_MS. */
static int shut_out(struct server *sv)
{
    struct remote *r = sv->remote;
    uint64_t boot_id, until;
    bool out, dead, stops;
    int rc;

    zc_lock_get(&r->lock);
    boot_id = sv->boot_id;
    stops = sv->path && sv->rc == -ESHUTDOWN;
    out = sv->shut_out == boot_id;
    dead = is_dead(sv);
    zc_lock_put(&r->lock);
    if (out)
        return 0;
    if (dead) {
        tell_successor(sv, boot_id);
        note_out(sv, boot_id);
        return 0;
    }
    if (stops && has_stopped(sv, boot_id)) {
        note_out(sv, boot_id);
        return 0;
    }
    if (stops && is_at_it(sv)) /* the mark would keep it from writing what is nowhere else */
        return zc_errorf(EBUSY, "it is stopping, and writes back what it has");
    rc = sv->path ? zc_lost_mark_leave(sv->path, boot_id)
                  : zc_errorf(ENOTSUP, "it has no address file");
    if (rc)
        return rc;
    until = zc_now() + ZC_LOST_WAIT_MS * ZC_NS_PER_MS;
    zc_lock_get(&r->lock);
    while (zc_now() < until)
        zc_cond_wait_until(&r->changed, &r->lock, until);
    zc_lock_put(&r->lock);
    note_out(sv, boot_id);
    return 0;
}

/* From now on; says why. */
static void begin(struct rfile *f, uint32_t i)
{
    struct remote *r = remote_of(f->file.store);
    struct rhandle *h = &f->at[i];
    char why[sizeof r->servers[i].why];

    zc_lock_get(&r->lock);
    zc_remote_new_epoch(f, i);
    h->session = 0;
    h->boot_id = 0;
    h->bypassed = true;
    memcpy(why, r->servers[i].why, sizeof why);
    zc_lock_put(&r->lock);
    zc_watchers_tell(&r->watchers);
    zc_warn("%s: bypassing a daemon: its part goes to the file system from here on, until the file "
            "is closed: %s",
            f->path, why);
}

/* Why its part of the file is not to be written; 0: it is.  With the lock. */
static int check(const struct rfile *f, uint32_t i)
{
    const struct rhandle *h = &f->at[i];

    if (h->status)
        return zc_errorf(-h->status, "%s", h->why);
    /* what it has taken nobody would write again */
    if (!f->closing || h->written == h->safe || h->progress.taken == h->progress.stored)
        return 0;
    return zc_errorf(EIO, "it had bytes that nobody has any more");
}

static bool is_needed(struct rfile *f, uint32_t i)
{
    struct remote *r = remote_of(f->file.store);
    bool needed;

    zc_lock_get(&r->lock);
    needed = !f->at[i].bypassed && r->servers[i].state == SERVER_GONE;
    zc_lock_put(&r->lock);
    return needed;
}

/* With the turn. */
static int bypass(struct rfile *f, uint32_t i)
{
    struct remote *r = remote_of(f->file.store);
    int rc;

    if (!is_needed(f, i))
        return 0;
    zc_lock_get(&r->lock);
    rc = check(f, i);
    zc_lock_put(&r->lock);
    if (rc == 0)
        rc = shut_out(&r->servers[i]);
    if (rc == 0 && is_needed(f, i)) /* still: that has taken its time */
        begin(f, i);
    return rc;
}

int zc_remote_bypass(struct rfile *f, uint32_t i, int lost)
{
    char text[400], why[sizeof f->apart];
    int rc = -ENOTSUP;

    memcpy(why, f->apart, sizeof why);
    snprintf(text, sizeof text, "%s", zc_error_text(lost));
    if (f->direct) {
        zc_remote_turn(f);
        rc = bypass(f, i);
        zc_remote_turn_ends(f);
        if (rc)
            snprintf(why, sizeof why, "%s", zc_error_text(rc));
    }
    if (rc == 0)
        return 0;
    if (!why[0])
        return zc_errorf(-lost, "%s", text);
    return zc_errorf(-lost, "%s; it cannot be bypassed: %s", text, why);
}

void zc_remote_bypass_all(struct remote *r, uint32_t i)
{
    for (struct rfile *f = zc_remote_next_file(r, NULL); f; f = zc_remote_next_file(r, f)) {
        if (!f->direct)
            continue;
        zc_remote_turn(f);
        bypass(f, i); /* who uses the file hears of it */
        zc_remote_turn_ends(f);
    }
}

/* Whether somebody who has the same file open here bypasses the server.  With the lock. */
static bool others_bypass(const struct rfile *f, uint32_t i)
{
    const struct rhandle *h = &f->at[0];

    zc_list_each (&remote_of(f->file.store)->files, n) {
        const struct rhandle *other = zc_list_entry(n, struct rfile, link)->at;

        if (other[i].bypassed && other->ino == h->ino &&
            (other->host == h->host ? other->dev == h->dev : other->born_ns == h->born_ns))
            return true;
    }
    return false;
}

static void let_go(struct rfile *f, uint32_t i)
{
    struct use use;

    if (!f->at[i].session || !zc_remote_use_now(remote_of(f->file.store), i, &use))
        return;
    if (use.session->number == f->at[i].session)
        zc_client_close(use.client, f->at[i].handle, ZC_LEVEL_VISIBLE);
    zc_remote_end(&use, 0);
}

int zc_remote_join_bypass(struct rfile *f)
{
    struct remote *r = remote_of(f->file.store);

    for (uint32_t i = 0; i < r->n; i++) {
        bool yes;

        zc_lock_get(&r->lock);
        yes = others_bypass(f, i);
        zc_lock_put(&r->lock);
        if (!yes)
            continue;
        if (!f->direct)
            return zc_errorf(EBUSY,
                             "%s: this job bypasses a daemon of it, and it cannot be opened "
                             "without the daemon: %s",
                             f->path, f->apart[0] ? f->apart : "zcache_on_daemon_loss=error");
        let_go(f, i);
        begin(f, i);
    }
    return 0;
}

/* ---- and from then on ---- */

bool zc_remote_bypassed(struct rfile *f, uint32_t i, struct use *use)
{
    struct remote *r = remote_of(f->file.store);
    bool is;

    zc_lock_get(&r->lock);
    is = f->at[i].bypassed;
    zc_lock_put(&r->lock);
    *use = (struct use){.remote = r, .index = i, .direct = is ? f->direct : NULL};
    return is;
}

bool zc_remote_bypasses(struct rfile *f)
{
    bool any = false;
    struct use use;

    for (uint32_t i = 0; i < remote_of(f->file.store)->n; i++)
        any = zc_remote_bypassed(f, i, &use) || any;
    return any;
}

void zc_remote_wrote(struct rfile *f, uint32_t i)
{
    struct remote *r = remote_of(f->file.store);
    struct rhandle *h = &f->at[i];

    zc_lock_get(&r->lock);
    h->progress.stored = ++h->progress.taken; /* those before have returned, too */
    zc_lock_put(&r->lock);
    zc_watchers_tell(&r->watchers);
}

int zc_remote_unlink_direct(struct remote *r, const char *path, int lost)
{
    bool ours = false;

    zc_lock_get(&r->lock);
    zc_list_each (&r->files, n) {
        const struct rfile *f = zc_list_entry(n, struct rfile, link);

        ours = ours || (f->at[0].bypassed && !strcmp(f->path, path));
    }
    zc_lock_put(&r->lock);
    return ours ? zc_store_unlink(r->direct, path) : lost;
}
