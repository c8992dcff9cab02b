/* zc_journal_heartbeat.c - the heartbeat: the latest time at which a daemon may have changed a
 * file.
 *
 * It is the modification time of `alive`, touched once a second by the journal's thread, between
 * writes and while it waits for room, and by each thread that changes a file, since the journal's
 * disk may delay the journal's thread.  Until a start has checked all files, `alive` is the earlier
 * daemon's.  Its text has the boot id of the host at that time, and what the journal guarantees
 * after a reboot:
 *
 *     run     nothing: without sync, a missing note may mean that newer bytes were stored
 *     sync    all writes that were answered are there
 *     ended   the same: the journal was synced when the daemon shut down
 *
 * The text stays the earlier daemon's until the replay has set aside all that it refused: a start
 * that is interrupted before that leaves the next one to judge by the same boot id and guarantee.
 * Without a text, that of this daemon is written before it changes a file.
 *
 * If the host has no boot id, a reboot is not noticed.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "zc_fd.h"
#include "zc_journal_internal.h"

enum {
    BOOT = 36,
    TEXT = BOOT + 16,
    TRIES = 3, /* attempts to get a heartbeat younger than two ticks before a change goes on */
};

/* Reads the boot id of the host or container; "-": not available. */
static void host_boot(const struct zc_journal *j, char id[BOOT + 1])
{
    FILE *f = j->cfg.boot ? NULL : zc_fopen("/proc/sys/kernel/random/boot_id", "re");

    snprintf(id, BOOT + 1, "%s", j->cfg.boot ? j->cfg.boot : "-");
    if (f && fscanf(f, "%36s", id) != 1)
        snprintf(id, BOOT + 1, "-");
    if (f)
        fclose(f);
}

/* Writes the text of `alive`.  It has a fixed length, so that it needs no new block on a full
 * disk. */
static int say(struct zc_journal *j, const char *state)
{
    char boot[BOOT + 1], text[TEXT];
    int n;

    host_boot(j, boot);
    n = snprintf(text, sizeof text, "boot %-36s %-5s\n", boot, state);
    errno = EIO;
    return pwrite(j->heartbeat.fd, text, (size_t)n, 0) == n ? 0 : -errno;
}

void zc_heartbeat_read(struct zc_journal *j, struct zc_scan *s)
{
    int fd = zc_fd(openat(j->dir_fd, "alive", O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    char text[TEXT] = "", boot[BOOT + 1], was[BOOT + 1], state[8];
    struct stat st;

    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0)
        s->heartbeat_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    host_boot(j, boot);
    if (pread(fd, text, sizeof text - 1, 0) > 0 && sscanf(text, "boot %36s %7s", was, state) == 2 &&
        strcmp(was, "-") && strcmp(boot, "-")) {
        s->rebooted = strcmp(was, boot) != 0;
        s->unsynced = strcmp(state, "run") == 0;
        s->boot_known = true;
    }
    close(fd);
}

/* Syncs the directory, where the file system supports that. */
static int sync_dir(const struct zc_journal *j)
{
    return fsync(j->dir_fd) < 0 && errno != EINVAL ? -errno : 0;
}

static int sync_segments(struct zc_journal *j)
{
    int rc = 0;

    zc_list_each (&j->segments, n) {
        const struct zc_segment *s = zc_list_entry(n, struct zc_segment, link);
        char name[32];
        int fd;

        if (s->moved)
            continue;
        zc_segment_name(s->number, name);
        fd = zc_fd(openat(j->dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
        if (fd < 0 || fsync(fd) < 0)
            rc = -errno;
        if (fd >= 0)
            close(fd);
    }
    if (rc == 0)
        rc = sync_dir(j);
    return rc < 0 ? zc_errorf(-rc, "journal %s: sync: %s", j->dir, strerror(-rc)) : 0;
}

static int cannot_write(const struct zc_journal *j, int rc)
{
    return zc_errorf(-rc, "journal %s/alive: cannot be written to: %s", j->dir, strerror(-rc));
}

int zc_journal_heartbeat_take(struct zc_journal *j)
{
    int rc = say(j, j->cfg.sync ? "sync" : "run");

    if (rc == 0)
        rc = fsync(j->heartbeat.fd) < 0 ? -errno : sync_dir(j);
    return rc < 0 ? cannot_write(j, rc) : 0;
}

int zc_journal_heartbeat_start(struct zc_journal *j)
{
    int rc = j->cfg.sync ? sync_segments(j) : 0; /* the earlier daemon may not have synced them */

    if (rc < 0)
        return rc;
    j->heartbeat.fd =
        zc_fd(openat(j->dir_fd, "alive", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    rc = j->heartbeat.fd < 0 ? -errno : 0;
    if (rc < 0)
        return cannot_write(j, rc);
    if (!j->scan->boot_known)
        rc = zc_journal_heartbeat_take(j);
    if (rc < 0)
        return rc;
    zc_lock_get(&j->lock);
    j->heartbeat.alive = true;
    j->heartbeat.last = 0;
    zc_lock_put(&j->lock);
    zc_journal_heartbeat(j);
    return 0;
}

static bool silent_for(const struct zc_journal *j, unsigned ticks)
{
    return j->heartbeat.alive &&
           zc_now() - j->heartbeat.last >= ticks * ZC_JOURNAL_TICK_MS * ZC_NS_PER_MS;
}

/* Renews the heartbeat; releases the lock meanwhile.  A failure is logged once and does not block
 * changes.  With `sync` the time is made durable and then set again, as the fsync may have been
 * slow, and the later time counts if only the daemon dies. */
static void touch(struct zc_journal *j)
{
    uint64_t now;
    int err = 0;

    j->heartbeat.busy = true;
    zc_lock_put(&j->lock);
    if (j->cfg.sync && (futimens(j->heartbeat.fd, NULL) < 0 || fsync(j->heartbeat.fd) < 0))
        err = errno;
    now = zc_now();
    if (futimens(j->heartbeat.fd, NULL) < 0)
        err = errno;
    if (err && !__atomic_exchange_n(&j->heartbeat.mute, true, __ATOMIC_RELAXED))
        zc_error("journal %s/alive: %s: what this daemon has taken may not be known for its files' "
                 "if it dies",
                 j->dir, strerror(err));
    zc_lock_get(&j->lock);
    j->heartbeat.last = now;
    j->heartbeat.busy = false;
    pthread_cond_broadcast(&j->heartbeat.ended);
}

void zc_journal_heartbeat(struct zc_journal *j)
{
    zc_lock_get(&j->lock);
    for (int i = 0; i < TRIES && silent_for(j, i ? 2 : 1); i++) {
        if (!j->heartbeat.busy)
            touch(j);
        else if (silent_for(j, 2)) /* a change made now would be mistaken for another program's */
            zc_cond_wait(&j->heartbeat.ended, &j->lock);
        else
            break;
    }
    zc_lock_put(&j->lock);
}

void zc_heartbeat_end(struct zc_journal *j, bool stored)
{
    bool replayed = j->given == UINT64_MAX; /* all threads have ended */

    if (!j->heartbeat.alive)
        return;
    if (stored) {
        unlinkat(j->dir_fd, "alive", 0);
        return;
    }
    if (sync_segments(j) < 0 || (replayed && say(j, "ended") < 0) || fsync(j->heartbeat.fd) < 0)
        zc_warn("journal %s: what is left could not be synced: it may be lost when the host dies",
                j->dir);
    futimens(j->heartbeat.fd, NULL);
}
