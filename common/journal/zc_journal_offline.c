/* zc_journal_offline.c - opens, checks and deletes a journal's image without a daemon.
 *
 * A journal is locked by its file `lock`, as by a daemon; a directory that was set aside has none,
 * and no daemon opens it: the directory itself is locked, so that two programs do not replay it at
 * once.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "zc_fd.h"
#include "zc_journal_internal.h"
#include "zc_journal_offline.h"

static const char *base_name(const char *dir)
{
    size_t n = strlen(dir);

    while (n > 1 && dir[n - 1] == '/')
        n--;
    while (n > 0 && dir[n - 1] != '/')
        n--;
    return dir + n;
}

static bool is_aside(const struct zc_journal *j)
{
    return strncmp(base_name(j->dir), "set-aside.", 10) == 0;
}

static int open_lock(struct zc_journal *j, bool change)
{
    j->lock_fd = zc_fd(openat(j->dir_fd, is_aside(j) ? "." : "lock",
                              O_CLOEXEC | O_NOFOLLOW | (is_aside(j) ? O_RDONLY : O_RDWR)));
    if (j->lock_fd < 0 && errno == ENOENT)
        return zc_errorf(EINVAL, "%s is no journal: it has no file lock", j->dir);
    if (j->lock_fd < 0)
        return zc_errorf(errno, "journal %s: %s", j->dir, strerror(errno));
    if (flock(j->lock_fd, (change ? LOCK_EX : LOCK_SH) | LOCK_NB) < 0)
        return errno == EWOULDBLOCK
                   ? zc_errorf(EBUSY,
                               "journal %s is in use: by a daemon, which zcachectl status "
                               "asks, or by another zcachectl",
                               j->dir)
                   : zc_errorf(errno, "journal %s: lock: %s", j->dir, strerror(errno));
    return 0;
}

int zc_image_open(const char *dir, bool change, struct zc_journal **out)
{
    struct zc_journal *j = zc_journal_new_offline(dir);
    int rc = 0;

    *out = NULL;
    if (!j)
        return zc_errorf(ENOMEM, "journal %s: out of memory", dir);
    j->dir_fd = zc_fd(open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (j->dir_fd < 0)
        rc = zc_errorf(errno, "journal %s: %s", dir, strerror(errno));
    if (rc == 0)
        rc = open_lock(j, change);
    if (rc == 0)
        rc = zc_scan_read(j);
    if (rc < 0) {
        zc_image_close(j);
        return rc;
    }
    *out = j;
    return 0;
}

void zc_image_close(struct zc_journal *j)
{
    if (j)
        zc_journal_destroy(j);
}

static void read_reason(const struct zc_journal *j, char *text, size_t len)
{
    int fd = zc_fd(openat(j->dir_fd, "reason", O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    ssize_t n = fd < 0 ? 0 : read(fd, text, len - 1);

    text[n > 0 ? n : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    if (fd >= 0)
        close(fd);
}

void zc_image_info(struct zc_journal *j, struct zc_image_info *out)
{
    const struct zc_scan *s = j->scan;

    *out = (struct zc_image_info){.aside = is_aside(j), .root = j->root, .damaged = s->ndamage};
    if (out->aside)
        read_reason(j, out->reason, sizeof out->reason);
    if (s->nheads) {
        out->seat = s->heads[s->nheads - 1].seat;
        out->generation = s->heads[s->nheads - 1].generation;
    }
    out->segments = s->n;
    for (unsigned i = 0; i < s->n; i++)
        out->bytes += s->segments[i].segment->at;
}

int zc_image_fence(struct zc_journal *j, const char **why)
{
    int rc = 0;

    *why = NULL;
    if (j->record.fd < 0 && *j->root)
        rc = zc_root_record_open(j->root, &j->record);
    if (rc == 0)
        rc = zc_journal_fence_look(j);
    *why = rc == 0 ? j->fenced : NULL;
    return rc;
}

int zc_image_remove(struct zc_journal *j)
{
    int rc = 0;

    for (unsigned i = 0; rc == 0 && i < j->scan->n; i++) {
        char name[32];

        zc_segment_name(j->scan->segments[i].segment->number, name);
        if (unlinkat(j->dir_fd, name, 0) < 0 && errno != ENOENT)
            rc = -errno;
    }
    if (rc == 0 && is_aside(j) && unlinkat(j->dir_fd, "reason", 0) < 0 && errno != ENOENT)
        rc = -errno;
    if (rc == 0 && fsync(j->dir_fd) < 0 && errno != EINVAL)
        rc = -errno;
    if (rc == 0 && is_aside(j) && rmdir(j->dir) < 0)
        rc = -errno;
    return rc < 0 ? zc_errorf(-rc, "journal %s: %s", j->dir, strerror(-rc)) : 0;
}
