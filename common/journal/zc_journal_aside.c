/* zc_journal_aside.c - sets aside what is not replayed, in directories inside the journal's.
 *
 *     set-aside.N         segments, in the journal's format, and `reason`, a text
 *     set-aside.N.part    the journal's segments are being moved there: the next start continues
 *     set-aside.N.copy    records are being copied there: the next start deletes it, and copies
 *                         again
 *
 * A whole journal is moved, which needs no room; refused bytes of some files are copied, pending
 * ones only, oldest first, into one segment, and are noted as discarded in the journal when the
 * copy is durable and has its final name.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "zc_fd.h"
#include "zc_journal_internal.h"

static int explain(const struct zc_journal *j, const char *name, int err)
{
    return zc_errorf(err, "journal %s/%s: what is not written back cannot be set aside: %s", j->dir,
                     name, strerror(err));
}

static int sync_fd(int fd)
{
    return fsync(fd) < 0 && errno != EINVAL ? -errno : 0;
}

/* ---- a directory ---- */

static bool is_there(const struct zc_journal *j, const char *name)
{
    return faccessat(j->dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Creates it, with this suffix until it is complete. */
static int begin(struct zc_journal *j, struct zc_aside *a, const char *ending)
{
    for (unsigned n = 1;; n++) {
        snprintf(a->name, sizeof a->name, "set-aside.%u", n);
        snprintf(a->now, sizeof a->now, "set-aside.%u.%s", n, ending);
        if (is_there(j, a->name))
            continue;
        if (mkdirat(j->dir_fd, a->now, 0700) == 0)
            break;
        if (errno != EEXIST)
            return explain(j, a->now, errno);
    }
    a->fd = zc_fd(openat(j->dir_fd, a->now, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return a->fd < 0 ? explain(j, a->now, errno) : 0;
}

static int write_reason(struct zc_journal *j, const struct zc_aside *a, const char *text)
{
    int fd = zc_fd(openat(a->fd, "reason", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)), rc = 0;

    if (fd < 0)
        return explain(j, a->now, errno);
    if (dprintf(fd, "%s\n", text) < 0)
        rc = -errno;
    if (rc == 0)
        rc = sync_fd(fd);
    close(fd);
    return rc < 0 ? explain(j, a->now, -rc) : 0;
}

static int finish(struct zc_journal *j, struct zc_aside *a)
{
    int rc = sync_fd(a->fd);

    close(a->fd);
    a->fd = -1;
    if (rc == 0 && renameat(j->dir_fd, a->now, j->dir_fd, a->name) < 0)
        rc = -errno;
    if (rc == 0)
        rc = sync_fd(j->dir_fd);
    return rc < 0 ? explain(j, a->now, -rc) : 0;
}

/* ---- a whole journal ---- */

static int move_segments(struct zc_journal *j, const struct zc_aside *a, uint64_t but)
{
    uint64_t *numbers;
    int n = zc_scan_list(j, &numbers), rc = n < 0 ? n : 0;

    for (int i = 0; rc == 0 && i < n; i++) {
        char name[32];

        zc_segment_name(numbers[i], name);
        if (numbers[i] < but && renameat(j->dir_fd, name, a->fd, name) < 0)
            rc = explain(j, name, errno);
    }
    free(numbers);
    return rc;
}

static void forget_moved(struct zc_journal *j)
{
    zc_list_each (&j->segments, n) {
        struct zc_segment *s = zc_list_entry(n, struct zc_segment, link);

        s->moved = s != j->writer.current;
    }
}

int zc_aside_all(struct zc_journal *j, struct zc_aside *a, const char *why)
{
    int rc = begin(j, a, "part");

    if (rc == 0)
        rc = write_reason(j, a, why);
    if (rc == 0)
        rc = move_segments(j, a, j->writer.current ? j->writer.current->number : UINT64_MAX);
    if (rc == 0)
        rc = finish(j, a);
    if (rc == 0)
        forget_moved(j);
    return rc;
}

/* ---- an interrupted start ---- */

static int go_on_moving(struct zc_journal *j, const char *now)
{
    struct zc_aside a = {.fd = zc_fd(openat(j->dir_fd, now, O_RDONLY | O_DIRECTORY | O_CLOEXEC))};
    int rc;

    if (a.fd < 0)
        return explain(j, now, errno);
    snprintf(a.now, sizeof a.now, "%s", now);
    snprintf(a.name, sizeof a.name, "%.*s", (int)(strrchr(now, '.') - now), now);
    rc = move_segments(j, &a, UINT64_MAX);
    return rc < 0 ? rc : finish(j, &a);
}

static int delete_copy(struct zc_journal *j, const char *now)
{
    int fd = zc_fd(openat(j->dir_fd, now, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *e;

    if (!d)
        return explain(j, now, errno);
    while ((e = readdir(d)) != NULL)
        if (e->d_name[0] != '.')
            unlinkat(fd, e->d_name, 0);
    closedir(d);
    return unlinkat(j->dir_fd, now, AT_REMOVEDIR) < 0 ? explain(j, now, errno) : 0;
}

int zc_aside_go_on(struct zc_journal *j)
{
    int fd = zc_fd(openat(j->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)), rc = 0;
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *e;

    if (!d)
        return zc_errorf(errno, "journal %s: %s", j->dir, strerror(errno));
    while (rc == 0 && (e = readdir(d)) != NULL) {
        const char *ending = strrchr(e->d_name, '.');

        if (strncmp(e->d_name, "set-aside.", 10) != 0 || strlen(e->d_name) >= ZC_ASIDE_NAME)
            continue;
        if (strcmp(ending, ".part") == 0)
            rc = go_on_moving(j, e->d_name);
        else if (strcmp(ending, ".copy") == 0)
            rc = delete_copy(j, e->d_name);
    }
    closedir(d);
    return rc;
}

/* ---- some records ---- */

static int put_record(struct zc_journal *j, struct zc_aside *a, struct zc_record *r, size_t body)
{
    size_t len, done = 0;

    r->segment = 1;
    r->seq = ++a->seq;
    len = zc_record_seal(a->buf, r, body);
    while (done < len) {
        ssize_t n = write(a->file, a->buf + done, len - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return explain(j, a->now, errno);
        done += (size_t)n;
    }
    return 0;
}

/* Copies the newest SEGMENT record: root, seat and generation of the bytes. */
static int put_head(struct zc_journal *j, struct zc_aside *a)
{
    struct zc_record r = {.kind = ZC_RECORD_SEGMENT};
    struct zc_record_segment s = {0};

    if (j->scan->nheads)
        s = j->scan->heads[j->scan->nheads - 1];
    s.path = j->root;
    s.path_len = (uint32_t)strlen(j->root);
    return put_record(j, a, &r, zc_record_put_segment(a->buf + ZC_RECORD_HEAD, &s));
}

int zc_aside_begin(struct zc_journal *j, struct zc_aside *a)
{
    char name[32];
    int rc = begin(j, a, "copy");

    a->file = -1;
    a->buf = rc < 0 ? NULL : malloc(ZC_RECORD_HEAD + ZC_JOURNAL_BODY + 2 * ZC_RECORD_PATH_MAX);
    if (rc < 0)
        return rc;
    zc_segment_name(1, name);
    a->file = zc_fd(openat(a->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600));
    if (!a->buf || a->file < 0)
        return explain(j, a->now, a->buf ? errno : ENOMEM);
    return put_head(j, a);
}

static int put_file(struct zc_journal *j, struct zc_aside *a, struct zc_journal_file *f)
{
    struct zc_record r = {.kind = ZC_RECORD_FILE, .file = f->id};
    size_t body;

    zc_lock_get(&j->lock);
    body = zc_jfile_record(f, a->buf + ZC_RECORD_HEAD, &r.until);
    zc_lock_put(&j->lock);
    r.until &= ~(uint64_t)ZC_RECORD_REFUSED; /* whose copy this is */
    a->told = f;
    return put_record(j, a, &r, body);
}

int zc_aside_put(struct zc_journal *j, struct zc_aside *a, struct zc_journal_file *f, uint64_t off,
                 const unsigned char *bytes, uint32_t len)
{
    int rc = a->told == f ? 0 : put_file(j, a, f);

    for (uint32_t n; rc == 0 && len > 0; off += n, bytes += n, len -= n) {
        struct zc_record r = {.kind = ZC_RECORD_DATA, .file = f->id, .nranges = 1, .off = off};
        unsigned char *body = a->buf + ZC_RECORD_HEAD;

        n = len < ZC_JOURNAL_BODY - ZC_RECORD_RANGE ? len : ZC_JOURNAL_BODY - ZC_RECORD_RANGE;
        r.span = n;
        zc_record_put_range(body, 0, 0, n);
        memcpy(body + ZC_RECORD_RANGE, bytes, n);
        rc = put_record(j, a, &r, ZC_RECORD_RANGE + n);
    }
    return rc;
}

int zc_aside_end(struct zc_journal *j, struct zc_aside *a, const char *why)
{
    int rc = sync_fd(a->file);

    if (rc < 0)
        return explain(j, a->now, -rc);
    rc = write_reason(j, a, why);
    return rc < 0 ? rc : finish(j, a);
}

static int link_damaged(struct zc_journal *j, const struct zc_aside *a)
{
    const struct zc_scan *s = j->scan;

    for (unsigned i = 0; i < s->ndamage; i++) {
        char name[32];

        zc_segment_name(s->damage[i].segment, name);
        if (linkat(j->dir_fd, name, a->fd, name, 0) == 0 || errno == EEXIST)
            continue;
        if (errno != EPERM && errno != EOPNOTSUPP && errno != EMLINK)
            return explain(j, name, errno);
        zc_warn("journal %s/%s is damaged, and cannot be set aside: %s", j->dir, name,
                strerror(errno));
    }
    return 0;
}

int zc_aside_damaged(struct zc_journal *j)
{
    struct zc_aside a = {.fd = -1, .file = -1};
    int rc = begin(j, &a, "copy");

    if (rc == 0)
        rc = link_damaged(j, &a);
    if (rc == 0)
        rc = write_reason(j, &a, "the journal is damaged");
    if (rc == 0)
        rc = finish(j, &a);
    zc_aside_free(&a);
    return rc;
}

void zc_aside_free(struct zc_aside *a)
{
    if (a->file >= 0)
        close(a->file);
    if (a->fd >= 0)
        close(a->fd);
    free(a->buf);
    *a = (struct zc_aside){.fd = -1, .file = -1};
}
