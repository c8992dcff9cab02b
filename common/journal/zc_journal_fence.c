/* zc_journal_fence.c - whether bytes of an earlier daemon may be written: the root is the same, and
 * no later daemon has served its seat (zc_root_record.h).
 *
 * Each segment has the root, seat and generation it belongs to, and the boot id of its daemon: that
 * daemon raised the seat to that generation, or died before.  If the seat was raised by a daemon
 * that no segment names, it has been served after this journal.  The order of a start keeps that
 * true wherever it is interrupted:
 *
 *     a segment names this daemon -> all is set aside if a later daemon has served -> the seat is
 *     raised -> each file is judged by its mark -> replay -> sessions
 *
 * A daemon that dies after raising the seat is named in the journal, and is no later one for the
 * next start.  The seat is raised before marks are read, so a job that bypasses the dead daemon,
 * which marks the file and then checks the seat, either sees this start or is seen by it
 * (zc_root_seat_check()).
 *
 * The file `lock` has the root that the journal was last used for, which an empty journal needs,
 * and the last daemons: on a full disk without room for a segment that names this daemon, `lock`
 * names it beside the one that raised the seat before.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "zc_journal_internal.h"

enum { TEXT = 512 + ZC_RECORD_PATH_MAX };

/* ---- the root ---- */

int zc_journal_fence_text(const struct zc_journal *j, char *text, size_t len)
{
    const struct zc_root_id *id = &j->record.id;

    if (!id->record)
        return 0;
    return snprintf(text, len,
                    "root %016" PRIx64 " %016" PRIx64 " %016" PRIx64 " %s\n"
                    "daemons %016" PRIx64 " %016" PRIx64 "\n",
                    id->fsid, id->ino, id->record, j->root, j->seat_boot_id, j->cfg.boot_id);
}

/* Reads the identity in `lock` of a root with this name. */
static bool last_root(const struct zc_journal *j, struct zc_root_id *id)
{
    char text[TEXT], *line;
    ssize_t n = pread(j->lock_fd, text, sizeof text - 1, 0);
    int at = 0;

    text[n > 0 ? n : 0] = '\0';
    line = strstr(text, "\nroot ");
    if (!line || sscanf(line, "\nroot %16" SCNx64 " %16" SCNx64 " %16" SCNx64 " %n", &id->fsid,
                        &id->ino, &id->record, &at) != 3)
        return false;
    line[strcspn(line + 1, "\n") + 1] = '\0';
    return at > 0 && strcmp(line + at, j->root) == 0;
}

static bool is_another(const struct zc_root_id *was, const struct zc_root_id *is)
{
    return !zc_root_same(was, is) || (was->record && !is->record);
}

static int check_one(struct zc_journal *j, const struct zc_root_id *was)
{
    if (!is_another(was, &j->record.id))
        return 0;
    if (!j->cfg.new_root)
        return zc_errorf(ENODEV,
                         "--root %s is not the directory that the journal %s has bytes for: mount "
                         "its file system, or give its path; --new-root takes this one, and sets "
                         "aside what the journal has",
                         j->root, j->dir);
    j->fenced = "it was staged for another root (--new-root)";
    return 0;
}

static int check_roots(struct zc_journal *j)
{
    struct zc_root_id last;
    int rc = 0;

    for (unsigned i = 0; rc == 0 && i < j->scan->nheads; i++)
        if (j->scan->heads[i].seat)
            rc = check_one(j, &j->scan->heads[i].root);
    if (rc == 0 && last_root(j, &last))
        rc = check_one(j, &last);
    return rc;
}

/* ---- the seats ---- */

/* Whether a segment names it, or `lock`, if the disk had no room for a segment. */
static bool is_named(const struct zc_journal *j, uint64_t boot_id)
{
    const struct zc_scan *s = j->scan;
    char text[TEXT];
    const char *line;
    uint64_t a, b;
    ssize_t n;

    for (unsigned i = 0; i < s->nheads; i++)
        if (s->heads[i].boot_id == boot_id)
            return true;
    n = pread(j->lock_fd, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    line = strstr(text, "\ndaemons ");
    return line && sscanf(line, "\ndaemons %16" SCNx64 " %16" SCNx64, &a, &b) == 2 &&
           (a == boot_id || b == boot_id);
}

static int check_seats(struct zc_journal *j)
{
    const struct zc_scan *s = j->scan;

    for (unsigned i = 0; i < s->nheads; i++) {
        struct zc_root_seat now;
        int rc = s->heads[i].seat ? zc_root_seat_get(&j->record, s->heads[i].seat, &now) : 0;

        if (rc < 0)
            return rc;
        if (s->heads[i].seat && now.generation && !is_named(j, now.boot_id))
            j->fenced = "a later daemon has served in this one's place since";
        else if (s->heads[i].seat)
            j->seat_boot_id = now.boot_id;
    }
    return 0;
}

/* ---- a start ---- */

static int look(struct zc_journal *j, bool *anew)
{
    int rc = zc_root_record_open(j->root, &j->record);

    *anew = j->cfg.new_root && (rc == -ESTALE || rc == -EBADMSG);
    if (*anew)
        j->fenced = "it was staged for another root (--new-root)";
    return *anew ? 0 : rc;
}

int zc_journal_fence_look(struct zc_journal *j)
{
    for (unsigned i = 0; i < j->scan->nheads; i++)
        if (j->scan->heads[i].seat && is_another(&j->scan->heads[i].root, &j->record.id))
            j->fenced = "it was staged for another root";
    return j->fenced || j->record.fd < 0 ? 0 : check_seats(j);
}

int zc_journal_fence_check(struct zc_journal *j)
{
    struct zc_root_seat mine;
    bool anew;
    int rc;

    if (!j->cfg.seat)
        return 0;
    rc = look(j, &anew);
    if (rc == 0 && !anew)
        rc = check_roots(j);
    if (rc == 0 && !j->fenced && j->record.fd >= 0)
        rc = check_seats(j);
    if (rc == 0 && j->record.fd < 0)
        rc = zc_root_record_make(j->root, anew, &j->record);
    if (rc == 0)
        rc = zc_root_seat_get(&j->record, j->cfg.seat, &mine);
    if (rc == 0)
        j->generation = mine.generation + 1;
    return rc;
}

/* Syncs, where the file system supports it. */
static int sync_fd(int fd)
{
    return fd >= 0 && fsync(fd) < 0 && errno != EINVAL ? errno : 0;
}

/* Syncs the name of this daemon before the seat is raised: a raised seat without the name would be
 * taken for a later daemon's. */
static int sync_name(struct zc_journal *j)
{
    int err;

    zc_journal_writer_lock(j);
    err = sync_fd(j->writer.fd);
    if (!err)
        err = sync_fd(j->lock_fd);
    if (!err)
        err = sync_fd(j->dir_fd);
    zc_journal_writer_unlock(j);
    return err ? zc_errorf(err, "journal %s: sync: %s", j->dir, strerror(err)) : 0;
}

/* Raises another seat that the journal has bytes of: jobs that bypass its daemon check that one. */
static int raise_other(struct zc_journal *j, uint64_t seat)
{
    struct zc_root_seat now;
    int rc = zc_root_seat_get(&j->record, seat, &now);

    if (rc < 0 || !now.generation || now.boot_id == j->cfg.boot_id || !is_named(j, now.boot_id))
        return rc;
    return zc_root_seat_take(&j->record, seat, j->cfg.boot_id, now.generation + 1);
}

int zc_journal_fence_raise(struct zc_journal *j)
{
    const struct zc_scan *s = j->scan;
    int rc = 0;

    if (!j->cfg.seat)
        return 0;
    rc = sync_name(j);
    for (unsigned i = 0; rc == 0 && !j->fenced && i < s->nheads; i++)
        if (s->heads[i].seat && s->heads[i].seat != j->cfg.seat)
            rc = raise_other(j, s->heads[i].seat);
    if (rc == 0)
        rc = zc_root_seat_take(&j->record, j->cfg.seat, j->cfg.boot_id, j->generation);
    return rc;
}

int zc_journal_serve(struct zc_journal *j)
{
    struct zc_root_seat now;
    int rc = j->cfg.seat ? zc_root_seat_get(&j->record, j->cfg.seat, &now) : 0;

    if (rc < 0 || !j->cfg.seat)
        return rc;
    if (now.boot_id == j->cfg.boot_id && now.generation == j->generation)
        return 0;
    return zc_errorf(EBUSY, "another daemon has taken this one's place while it started");
}
