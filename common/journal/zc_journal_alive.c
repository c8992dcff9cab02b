/* zc_journal_alive.c - the sign of life: until when a daemon may have changed its files.
 *
 * It is the time of the file `alive`, which somebody touches once a second: the journal's thread,
 * between any two writes and while it waits for room, and whoever changes a file, as the thread may
 * be kept by the journal's disk.  The file is the earlier daemon's until a start has seen whose all
 * files are.  It also says of which start of the host that daemon was, and what is in the journal
 * when the host has been started again since:
 *
 *     run     nobody knows: what is missing, as nothing was synced, may be newer than what is there
 *     sync    all that was answered
 *     ended   the same: it was synced when the daemon ended
 *
 * Where the host does not say which start it is of, all of this is taken for the same one.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "zc_journal_internal.h"

enum {
    BOOT = 36,
    TEXT = BOOT + 16,
    TRIES = 3, /* signs of life that take two ticks, one after the other, until a change goes on */
};

/* Of this start of the host, or of its container; "-": it does not say. */
static void host_boot(const struct zc_journal *j, char id[BOOT + 1])
{
    FILE *f = j->cfg.boot ? NULL : fopen("/proc/sys/kernel/random/boot_id", "re");

    snprintf(id, BOOT + 1, "%s", j->cfg.boot ? j->cfg.boot : "-");
    if (f && fscanf(f, "%36s", id) != 1)
        snprintf(id, BOOT + 1, "-");
    if (f)
        fclose(f);
}

/* As long as any other, so that it takes no room that the disk may not have. */
static int say(struct zc_journal *j, const char *state)
{
    char boot[BOOT + 1], text[TEXT];
    int n;

    host_boot(j, boot);
    n = snprintf(text, sizeof text, "boot %-36s %-5s\n", boot, state);
    errno = EIO;
    return pwrite(j->alive_fd, text, (size_t)n, 0) == n ? 0 : -errno;
}

void zc_alive_read(struct zc_journal *j, struct zc_scan *s)
{
    int fd = openat(j->dir_fd, "alive", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    char text[TEXT] = "", boot[BOOT + 1], was[BOOT + 1], state[8];
    struct stat st;

    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0)
        s->beat_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    host_boot(j, boot);
    if (pread(fd, text, sizeof text - 1, 0) > 0 && sscanf(text, "boot %36s %7s", was, state) == 2 &&
        strcmp(was, "-") && strcmp(boot, "-")) {
        s->rebooted = strcmp(was, boot) != 0;
        s->unsynced = strcmp(state, "run") == 0;
    }
    close(fd);
}

/* Not all file systems do that. */
static int sync_dir(const struct zc_journal *j)
{
    return fsync(j->dir_fd) < 0 && errno != EINVAL ? -errno : 0;
}

static int sync_segments(struct zc_journal *j)
{
    int rc = 0;

    zc_list_each (&j->segments, n) {
        char name[32];
        int fd;

        zc_segment_name(zc_list_entry(n, struct zc_segment, link)->number, name);
        fd = openat(j->dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0 || fsync(fd) < 0)
            rc = -errno;
        if (fd >= 0)
            close(fd);
    }
    if (rc == 0)
        rc = sync_dir(j);
    return rc < 0 ? zc_errorf(-rc, "journal %s: sync: %s", j->dir, strerror(-rc)) : 0;
}

int zc_journal_come_alive(struct zc_journal *j)
{
    int rc = j->cfg.sync ? sync_segments(j) : 0; /* the earlier daemon need not have done so */

    if (rc < 0)
        return rc;
    j->alive_fd = openat(j->dir_fd, "alive", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    rc = j->alive_fd < 0 ? -errno : say(j, j->cfg.sync ? "sync" : "run");
    if (rc == 0)
        rc = fsync(j->alive_fd) < 0 ? -errno : sync_dir(j);
    if (rc < 0)
        return zc_errorf(-rc, "journal %s/alive: cannot be written to: %s", j->dir, strerror(-rc));
    zc_lock_get(&j->lock);
    j->alive = true;
    j->last_beat = 0;
    zc_lock_put(&j->lock);
    zc_journal_beat(j);
    return 0;
}

static bool silent_for(const struct zc_journal *j, unsigned ticks)
{
    return j->alive && zc_now() - j->last_beat >= ticks * ZC_JOURNAL_TICK_MS * ZC_NS_PER_MS;
}

/* One that cannot be made does not hold changes up; one that is on the disk may have taken its time
 * until it was: then it is made anew, for who dies before the host does. */
static void touch(struct zc_journal *j)
{
    uint64_t now;
    int err = 0;

    j->beating = true;
    zc_lock_put(&j->lock);
    if (j->cfg.sync && (futimens(j->alive_fd, NULL) < 0 || fsync(j->alive_fd) < 0))
        err = errno;
    now = zc_now();
    if (futimens(j->alive_fd, NULL) < 0)
        err = errno;
    if (err && !__atomic_exchange_n(&j->mute, true, __ATOMIC_RELAXED))
        zc_error("journal %s/alive: %s: what this daemon has taken may not be known for its files' "
                 "if it dies",
                 j->dir, strerror(err));
    zc_lock_get(&j->lock);
    j->last_beat = now;
    j->beating = false;
    pthread_cond_broadcast(&j->beaten);
}

void zc_journal_beat(struct zc_journal *j)
{
    zc_lock_get(&j->lock);
    for (int i = 0; i < TRIES && silent_for(j, i ? 2 : 1); i++) {
        if (!j->beating)
            touch(j);
        else if (silent_for(j, 2)) /* what is changed now would be taken for others' doing */
            zc_cond_wait(&j->beaten, &j->lock);
        else
            break;
    }
    zc_lock_put(&j->lock);
}

void zc_alive_end(struct zc_journal *j, bool stored)
{
    if (!j->alive)
        return;
    if (stored) {
        unlinkat(j->dir_fd, "alive", 0);
        return;
    }
    if (sync_segments(j) < 0 || say(j, "ended") < 0 || fsync(j->alive_fd) < 0)
        zc_warn("journal %s: what is left could not be synced: it may be lost when the host dies",
                j->dir);
    futimens(j->alive_fd, NULL);
}
