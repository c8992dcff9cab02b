/* zc_store_remote_bypass.c - a file whose daemon failed for good: its blocks are accessed in the
 * file system.
 *
 *     opened with ZC_OPEN_BYPASS, and found in the file system: zc_remote_find_direct()
 *          |
 *          v
 *     of each server:  remote ------------------------> bypassed, until the file is closed
 *                              zc_remote_bypass():
 *                              the server has failed
 *
 * Writes to a bypassed server work like others: its verifier changes, so that the caches write
 * their kept bytes again, and what is written is in the file, hence committed, at once.  The server
 * is not used for this file again even if it comes back, since it has not seen those writes.
 *
 * The direct file is opened together with the file at the daemons, so that a daemon can tell
 * whether it is the same one: by device and inode number on its own host; elsewhere, where devices
 * have other numbers, by inode number and a change time equal to the nanosecond.  An open file
 * stays the same whatever becomes of its name.
 *
 * From then on another one writes the file, which is marked where a journal's replay will see it
 * (zc_root_record.h).  A daemon that has started in the place of the lost one by then may have
 * looked at marks before, and be writing back what is in the journal: so the daemon's seat is
 * looked at again when the file is marked, and when it is raised the file is not bypassed: calls
 * wait for that daemon for another zcache_timeout, and fail then.
 *
 * A process that ends (zc_store_remote_bypass_at_end()) does the same with files that were not
 * opened with ZC_OPEN_BYPASS, since no later call could find another daemon; and it waits for a
 * daemon that stops.  But only a call that needs the daemon does so, and one that closes a file of
 * which nothing is left to write leaves no marks: what a dead daemon's journal has of it, of this
 * job or of others, is written back then.
 *
 * Only one may write to the file for a block: a daemon that is not known to be dead is told first
 * (zc_fence.h), and one that stops, and writes back what it has, is waited for: calls fail
 * until it has ended.
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "zc_fence.h"
#include "zc_log.h"
#include "zc_store_posix.h"
#include "zc_store_remote_internal.h"

enum { ENDING_MS = 100 }; /* a daemon that stops is looked at so often by a process that ends */
enum { LOOKS = 3 };       /* others may change the file while it is looked at here and there */

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
        zc_store_posix_mark_later(direct);
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

void zc_remote_find_direct(struct rfile *f, const struct zc_attr *at_open)
{
    int rc = find(f, at_open);

    if (rc == 0)
        return;
    zc_error_keep(&f->apart, rc);
    if (f->direct)
        zc_store_close_file(f->direct, ZC_LEVEL_VISIBLE);
    f->direct = NULL;
    if (f->may_bypass)
        zc_warn("%s: the loss of a daemon will be an error, for it cannot be bypassed: %s", f->path,
                f->apart.text);
    else
        zc_info("%s: written by way of its daemons alone: %s", f->path, f->apart.text);
}

/* ---- when it is lost ---- */

bool zc_remote_is_dead(const struct server *sv)
{
    return sv->here && sv->pid > 0 && kill((pid_t)sv->pid, 0) && errno == ESRCH;
}

/* A daemon that was told to stop: the last that it does is to remove its address file, and none
 * takes its place before. */
static bool has_stopped(const struct server *sv, uint64_t boot_id)
{
    struct zc_addrfile a;
    int rc = zc_addrfile_probe(sv->path, &a);

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
    if (zc_remote_ending(r)) /* no other call drives the client, which finds out what it died of */
        zc_client_ping(s->client);
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

/* Leaves a fence mark, so that the next daemon does not replay an old journal. */
static void tell_successor(const struct server *sv, uint64_t boot_id)
{
    int rc = sv->path ? zc_fence_create(sv->path, boot_id) : 0;

    if (rc)
        zc_warn("%s; if that daemon has a journal, delete it before it is started again",
                zc_error_text(rc));
}

/* Makes sure that the daemon writes nothing any more; may take ZC_FENCE_WAIT_MS. */
static int shut_out(struct server *sv)
{
    struct remote *r = sv->remote;
    uint64_t boot_id, until;
    bool out, dead, stops;
    int rc;

    zc_lock_get(&r->lock);
    boot_id = sv->boot_id;
    stops = sv->path && sv->error.rc == -ESHUTDOWN;
    out = sv->shut_out == boot_id;
    dead = zc_remote_is_dead(sv);
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
    rc = sv->path ? zc_fence_create(sv->path, boot_id)
                  : zc_errorf(ENOTSUP, "it has no address file");
    if (rc)
        return rc;
    until = zc_now() + ZC_FENCE_WAIT_MS * ZC_NS_PER_MS;
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
    struct zc_error why;

    zc_lock_get(&r->lock);
    zc_remote_new_verifier(f, i);
    h->session = 0;
    h->boot_id = 0;
    h->bypassed = true;
    why = r->servers[i].error;
    zc_lock_put(&r->lock);
    zc_watchers_tell(&r->watchers);
    zc_warn("%s: bypassing a daemon: its part goes to the file system from here on, until the file "
            "is closed: %s",
            f->path, why.text);
}

/* Why its part of the file is not to be written; 0: it is.  With the lock. */
static int check(const struct rfile *f, uint32_t i)
{
    const struct rhandle *h = &f->at[i];

    if (h->error.rc)
        return zc_error_raise(&h->error);
    /* no cache would write its unstable bytes again */
    if (!f->closing || h->written == h->safe ||
        h->progress.unstable_seq == h->progress.committed_seq)
        return 0;
    return zc_errorf(EIO, "it had bytes that no process has any more");
}

static bool is_needed(struct rfile *f, uint32_t i)
{
    struct remote *r = remote_of(f->file.store);
    bool needed;

    zc_lock_get(&r->lock);
    needed = !f->at[i].bypassed && r->servers[i].state == SERVER_FAILED;
    zc_lock_put(&r->lock);
    return needed;
}

/* -EAGAIN: a later daemon than the one of this boot id has started. */
static int check_seat(struct rfile *f, uint32_t i, uint64_t boot_id)
{
    return zc_store_posix_check_seat(f->direct, remote_of(f->file.store)->servers[i].identity,
                                     boot_id);
}

/* Makes this process the only one that writes to the server's part of the file, and marks it. */
static int take_over(struct rfile *f, uint32_t i, uint64_t boot_id)
{
    /* before anything is left that would keep back what that one has */
    int rc = check_seat(f, i, boot_id);

    if (rc == 0)
        rc = shut_out(&remote_of(f->file.store)->servers[i]);
    if (rc == 0)
        rc = zc_store_posix_mark(f->direct);
    if (rc == 0) /* again: that one may have judged the file before it was marked */
        rc = check_seat(f, i, boot_id);
    return rc;
}

/* With the turn.  -EAGAIN: it waits for another daemon. */
static int bypass(struct rfile *f, uint32_t i)
{
    struct remote *r = remote_of(f->file.store);
    uint64_t boot_id;
    int rc;

    if (!is_needed(f, i))
        return 0;
    zc_lock_get(&r->lock);
    rc = check(f, i);
    boot_id = r->servers[i].boot_id;
    zc_lock_put(&r->lock);
    if (rc == 0 && (f->may_bypass || !f->closing)) /* else it is not written to any more */
        rc = take_over(f, i, boot_id);
    if (rc == 0 && is_needed(f, i)) /* still: that has taken its time */
        begin(f, i);
    return rc;
}

/* Waits for another daemon, until so many time-outs after the last sign of life.  Returns whether
 * it is there. */
static bool is_back(struct server *sv, unsigned timeouts)
{
    struct remote *r = sv->remote;
    bool back;

    zc_lock_get(&r->lock);
    while (sv->state == SERVER_FAILED && !r->stop &&
           zc_now() < sv->since + timeouts * r->timeout_ns)
        zc_cond_wait_until(&r->changed, &r->lock, sv->since + timeouts * r->timeout_ns);
    back = sv->state == SERVER_UP;
    zc_lock_put(&r->lock);
    return back;
}

static bool may_bypass(const struct rfile *f)
{
    return f->may_bypass ||
           ((f->flags & ZC_OPEN_WRITE || f->closing) && zc_remote_ending(remote_of(f->file.store)));
}

static void pause_for(struct remote *r, uint64_t ms)
{
    uint64_t until = zc_now() + ms * ZC_NS_PER_MS;

    zc_lock_get(&r->lock);
    while (!r->stop && zc_now() < until)
        zc_cond_wait_until(&r->changed, &r->lock, until);
    zc_lock_put(&r->lock);
}

/* A process that ends waits for a daemon that stops. */
static int bypass_when_ended(struct rfile *f, uint32_t i)
{
    struct remote *r = remote_of(f->file.store);

    for (;;) {
        int rc;

        zc_rfile_lock(f);
        rc = bypass(f, i);
        zc_rfile_unlock(f);
        if (rc != -EBUSY || !zc_remote_ending(r))
            return rc;
        pause_for(r, ENDING_MS);
    }
}

int zc_remote_bypass(struct rfile *f, uint32_t i, int lost)
{
    struct remote *r = remote_of(f->file.store);
    struct server *sv = &r->servers[i];
    struct zc_error e, why = f->apart;
    int rc = -ENOTSUP;

    zc_error_keep(&e, lost);
    if (f->direct && may_bypass(f)) {
        rc = bypass_when_ended(f, i);
        if (rc)
            zc_error_keep(&why, rc);
        if (rc == -EAGAIN && is_back(sv, 2))
            rc = 0;
    } else if (sv->path && zc_remote_ending(r) && is_back(sv, 1)) {
        rc = 0; /* it counts as failed at once, for the sake of other files */
    }
    if (rc == 0)
        return 0;
    if (!why.rc || !may_bypass(f))
        return zc_error_raise(&e);
    return zc_errorf(-lost, "%s; it cannot be bypassed: %s", e.text, why.text);
}

void zc_remote_bypass_all(struct remote *r, uint32_t i)
{
    for (struct rfile *f = zc_remote_next_file(r, NULL); f; f = zc_remote_next_file(r, f)) {
        if (!f->direct || !f->may_bypass)
            continue;
        zc_rfile_lock(f);
        bypass(f, i); /* a failure is reported by the file's next call */
        zc_rfile_unlock(f);
    }
}

/* Whether another open of the file in this process bypasses the server.  With the lock. */
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

int zc_remote_join_bypass(struct rfile *f)
{
    struct remote *r = remote_of(f->file.store);

    for (uint32_t i = 0; i < r->n; i++) {
        bool yes;
        int rc;

        zc_lock_get(&r->lock);
        yes = others_bypass(f, i);
        zc_lock_put(&r->lock);
        if (!yes)
            continue;
        if (!f->direct)
            return zc_errorf(EBUSY,
                             "%s: this job bypasses a daemon of it, and it cannot be opened "
                             "without the daemon: %s",
                             f->path, f->apart.rc ? f->apart.text : "zcache_on_daemon_loss=error");
        rc = zc_store_posix_mark(f->direct);
        if (rc)
            return rc;
        zc_remote_let_go(f, i);
        begin(f, i);
    }
    return 0;
}

/* ---- and from then on ---- */

bool zc_remote_bypassed(struct rfile *f, uint32_t i, struct zc_stripe_use *use)
{
    struct remote *r = remote_of(f->file.store);
    bool is;

    zc_lock_get(&r->lock);
    is = f->at[i].bypassed;
    zc_lock_put(&r->lock);
    *use = (struct zc_stripe_use){.remote = r, .index = i, .here = is ? f->direct : NULL};
    return is;
}

bool zc_remote_bypasses(struct rfile *f)
{
    bool any = false;
    struct zc_stripe_use use;

    for (uint32_t i = 0; i < remote_of(f->file.store)->n; i++)
        any = zc_remote_bypassed(f, i, &use) || any;
    return any;
}

void zc_remote_wrote(struct rfile *f, uint32_t i)
{
    struct remote *r = remote_of(f->file.store);
    struct rhandle *h = &f->at[i];

    zc_lock_get(&r->lock);
    h->progress.committed_seq = ++h->progress.unstable_seq; /* those before have returned, too */
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
