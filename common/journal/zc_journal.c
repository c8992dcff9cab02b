/* zc_journal.c - the journal as a whole: its directory, its writer thread, opening and closing.
 *
 * The writer thread takes all queued writes at once and appends them together, so that writes that
 * arrive during a write or a sync share the next system call.  Once a second it deletes the
 * segments that are no longer needed.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "zc_fd.h"
#include "zc_journal_internal.h"
#include "zc_thread.h"
#include "zc_units.h"

void zc_segment_name(uint64_t number, char name[32])
{
    snprintf(name, 32, "segment.%016" PRIu64, number);
}

/* ---- the writer lock ---- */

void zc_journal_writer_lock(struct zc_journal *j)
{
    zc_lock_get(&j->lock);
    while (j->locked)
        zc_cond_wait(&j->turned, &j->lock);
    j->locked = true;
    zc_lock_put(&j->lock);
}

void zc_journal_writer_unlock(struct zc_journal *j)
{
    zc_lock_get(&j->lock);
    j->locked = false;
    pthread_cond_signal(&j->turned);
    zc_lock_put(&j->lock);
}

/* ---- the writer thread ---- */

static struct zc_journal_write *next_write(struct zc_journal *j)
{
    struct zc_list *n;

    zc_lock_get(&j->lock);
    n = j->frozen ? NULL : zc_list_pop(&j->queue);
    zc_lock_put(&j->lock);
    return n ? zc_list_entry(n, struct zc_journal_write, link) : NULL;
}

/* Replaces the last segment by an empty one when all of it is stored. */
static void rotate(struct zc_journal *j)
{
    struct zc_segment *s = j->writer.current;

    if (s && s->records > s->bequests && zc_segments_free(j, s) && zc_segment_next(j, false) == 0)
        zc_journal_push(j, true);
}

static void tick(struct zc_journal *j)
{
    uint64_t now = zc_now();

    if (now - j->writer.last_tick < ZC_JOURNAL_TICK_MS * ZC_NS_PER_MS || j->frozen)
        return;
    j->writer.last_tick = now;
    rotate(j);
    zc_segments_reap(j);
}

static void *work(void *arg)
{
    struct zc_journal *j = arg;
    struct zc_journal_write *w;

    zc_lock_get(&j->lock);
    while (!j->stop || !(zc_list_empty(&j->queue) || j->frozen)) {
        if (zc_list_empty(&j->queue) || j->frozen)
            zc_cond_wait_until(&j->work, &j->lock, zc_now() + ZC_JOURNAL_TICK_MS * ZC_NS_PER_MS);
        zc_lock_put(&j->lock);
        zc_journal_writer_lock(j);
        zc_journal_heartbeat(j);
        while ((w = next_write(j)) != NULL) {
            zc_journal_write_out(j, w);
            zc_journal_heartbeat(j);
        }
        zc_journal_push(j, true);
        tick(j);
        zc_journal_writer_unlock(j);
        zc_lock_get(&j->lock);
    }
    zc_lock_put(&j->lock);
    return NULL;
}

void zc_journal_put(struct zc_journal *j, struct zc_journal_write *w)
{
    zc_lock_get(&j->lock);
    zc_list_add_tail(&j->queue, &w->link);
    j->st.journal_waiting++;
    pthread_cond_signal(&j->work);
    zc_lock_put(&j->lock);
}

void zc_journal_taken(struct zc_journal *j, struct zc_journal_ticket *t, uint64_t number)
{
    struct zc_journal_file *f = t->file;

    if (!f)
        return;
    zc_lock_get(&j->lock);
    zc_list_each (&f->parts, n) {
        struct zc_journal_part *p = zc_list_entry(n, struct zc_journal_part, file_link);
        uint64_t no = p->segment->number;

        if (no >= t->first && no <= t->last && number > p->number)
            p->number = number;
    }
    zc_list_each (&j->segments, n) {
        struct zc_segment *s = zc_list_entry(n, struct zc_segment, link);

        s->busy -= s->number >= t->first && s->number <= t->last;
    }
    f->tickets--;
    zc_jfile_reap(f);
    zc_lock_put(&j->lock);
    *t = (struct zc_journal_ticket){0};
}

/* ---- the directory ---- */

static int check_dir(const char *dir, int fd)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return zc_errorf(errno, "journal %s: %s", dir, strerror(errno));
    if (st.st_uid != geteuid())
        return zc_errorf(EPERM,
                         "journal %s belongs to user %u, and this daemon runs as user %u: give it "
                         "a directory of its own",
                         dir, st.st_uid, geteuid());
    if (st.st_mode & 022)
        return zc_errorf(EPERM,
                         "journal %s may be written to by others, who could have files "
                         "overwritten: chmod go-w %s",
                         dir, dir);
    return 0;
}

static int open_dir(struct zc_journal *j)
{
    if (mkdir(j->dir, 0700) < 0 && errno != EEXIST)
        return zc_errorf(errno, "journal %s: cannot be made: %s; make it, or name another", j->dir,
                         strerror(errno));
    j->dir_fd = zc_fd(open(j->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (j->dir_fd < 0)
        return zc_errorf(errno, "journal %s: %s", j->dir, strerror(errno));
    return check_dir(j->dir, j->dir_fd);
}

/* Reports the process that holds the lock; `lock` names it. */
static int refuse_lock(struct zc_journal *j)
{
    char who[256] = "";
    ssize_t n = pread(j->lock_fd, who, sizeof who - 1, 0);

    if (n <= 0)
        snprintf(who, sizeof who, "unknown");
    who[strcspn(who, "\n")] = '\0';
    return zc_errorf(EBUSY,
                     "journal %s is in use by another daemon (%s): give each daemon one of its own",
                     j->dir, who);
}

static int lock_dir(struct zc_journal *j)
{
    j->lock_fd = zc_fd(openat(j->dir_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (j->lock_fd < 0)
        return zc_errorf(errno, "journal %s: cannot be written to: %s", j->dir, strerror(errno));
    if (flock(j->lock_fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK
                   ? refuse_lock(j)
                   : zc_errorf(errno, "journal %s: lock: %s", j->dir, strerror(errno));
    return 0;
}

static int sign_lock(struct zc_journal *j)
{
    char host[128] = "", text[512 + ZC_RECORD_PATH_MAX];
    int n;

    gethostname(host, sizeof host - 1);
    n = snprintf(text, sizeof text, "process %ld on %s\n", (long)getpid(), host);
    n += zc_journal_fence_text(j, text + n, sizeof text - (size_t)n);
    /* in this order: the file always names the daemon that raised the seat */
    if (pwrite(j->lock_fd, text, (size_t)n, 0) != n || ftruncate(j->lock_fd, n) < 0)
        return zc_errorf(errno, "journal %s: cannot be written to: %s", j->dir, strerror(errno));
    return 0;
}

/* ---- opening and closing ---- */

static void destroy(struct zc_journal *j)
{
    while (!zc_list_empty(&j->segments))
        zc_segment_forget(j, zc_list_entry(j->segments.next, struct zc_segment, link));
    for (unsigned i = 0; i < ZC_JOURNAL_BUCKETS; i++)
        while (!zc_list_empty(&j->files[i]))
            zc_jfile_destroy(zc_list_entry(j->files[i].next, struct zc_journal_file, link));
    zc_scan_free(j);
    if (j->writer.fd >= 0)
        close(j->writer.fd);
    if (j->lock_fd >= 0)
        close(j->lock_fd);
    if (j->heartbeat.fd >= 0)
        close(j->heartbeat.fd);
    if (j->dir_fd >= 0)
        close(j->dir_fd);
    zc_root_record_close(&j->record);
    pthread_cond_destroy(&j->turned);
    pthread_cond_destroy(&j->heartbeat.ended);
    pthread_cond_destroy(&j->work);
    pthread_cond_destroy(&j->room);
    zc_lock_destroy(&j->lock);
    free(j->writer.peek);
    free(j->writer.buf);
    free(j->dir);
    free(j->root);
    free(j);
}

static struct zc_journal *new_journal(const struct zc_journal_config *cfg)
{
    struct zc_journal *j = calloc(1, sizeof *j);

    if (!j)
        return NULL;
    j->cfg = *cfg;
    j->dir = strdup(cfg->dir);
    j->root = strdup(cfg->root);
    j->dir_fd = j->lock_fd = j->heartbeat.fd = j->writer.fd = j->record.fd = -1;
    j->segment_size = cfg->size / ZC_JOURNAL_SEGMENTS & ~(uint64_t)4095;
    if (j->segment_size > ZC_JOURNAL_SEGMENT_MAX)
        j->segment_size = ZC_JOURNAL_SEGMENT_MAX;
    j->body_max = j->segment_size / 4 < ZC_JOURNAL_BODY ? j->segment_size / 4 : ZC_JOURNAL_BODY;
    j->writer.buf = malloc(ZC_JOURNAL_BUFFER + 2 * (ZC_JOURNAL_BODY + 2 * ZC_RECORD_PATH_MAX));
    zc_lock_init(&j->lock, ZC_ORDER_STORE);
    zc_cond_init(&j->turned);
    zc_cond_init(&j->heartbeat.ended);
    zc_cond_init(&j->work);
    zc_cond_init(&j->room);
    zc_list_init(&j->writer.appended);
    zc_list_init(&j->segments);
    zc_list_init(&j->queue);
    for (unsigned i = 0; i < ZC_JOURNAL_BUCKETS; i++)
        zc_list_init(&j->files[i]);
    j->st.journal_limit_bytes = cfg->size;
    j->writer.next_number = j->next_id = 1;
    if (!j->dir || !j->root || !j->writer.buf) {
        destroy(j);
        return NULL;
    }
    return j;
}

/* Makes the first segment at open, so that a disk without room for it is an error of the start. */
static int first_segment(struct zc_journal *j)
{
    bool left = j->scan->n > 0; /* a replay makes room first */
    int rc = zc_segment_next(j, left);

    if ((rc == -ENOSPC || rc == -EDQUOT) && left)
        rc = 0;
    if (rc == 0)
        rc = zc_journal_push(j, true);
    if (rc == 0)
        rc = zc_thread_start(&j->thread, "zc-journal", work, j);
    j->running = rc == 0;
    return rc;
}

int zc_journal_open(const struct zc_journal_config *cfg, struct zc_journal **out)
{
    struct zc_journal *j;
    int rc;

    *out = NULL;
    if (cfg->size < ZC_JOURNAL_SIZE_MIN)
        return zc_errorf(EINVAL, "journal %s: %llu bytes are too few: give at least %d", cfg->dir,
                         (unsigned long long)cfg->size, ZC_JOURNAL_SIZE_MIN);
    if (strlen(cfg->root) > ZC_RECORD_PATH_MAX)
        return zc_errorf(ENAMETOOLONG, "journal %s: root %.100s...: name too long", cfg->dir,
                         cfg->root);
    j = new_journal(cfg);
    if (!j)
        return zc_errorf(ENOMEM, "journal %s: out of memory", cfg->dir);
    rc = open_dir(j);
    if (rc == 0)
        rc = lock_dir(j);
    if (rc == 0)
        rc = zc_aside_go_on(j);
    if (rc == 0)
        rc = zc_scan_read(j);
    if (rc == 0)
        rc = zc_journal_fence_check(j);
    if (rc == 0)
        rc = sign_lock(j);
    if (rc == 0)
        rc = first_segment(j);
    if (rc < 0) {
        destroy(j);
        return rc;
    }
    *out = j;
    return 0;
}

void zc_journal_attach(struct zc_journal *j, void *arg,
                       int (*owes)(void *arg, uint64_t dev, uint64_t ino, uint64_t number),
                       void (*hurry)(void *arg, bool on))
{
    zc_journal_writer_lock(j);
    if (j->hurrying && j->cfg.hurry)
        j->cfg.hurry(j->cfg.arg, false);
    j->hurrying = false;
    j->cfg.arg = arg;
    j->cfg.owes = owes;
    j->cfg.hurry = hurry;
    zc_journal_writer_unlock(j);
}

void zc_journal_freeze(struct zc_journal *j)
{
    zc_journal_writer_lock(j);
    zc_lock_get(&j->lock);
    j->frozen = true;
    zc_lock_put(&j->lock);
    zc_journal_writer_unlock(j);
}

struct zc_journal *zc_journal_new_offline(const char *dir)
{
    const struct zc_journal_config cfg = {.dir = dir, .root = "", .size = ZC_JOURNAL_SIZE_MIN};
    struct zc_journal *j = new_journal(&cfg);

    if (j)
        j->offline = true;
    return j;
}

void zc_journal_destroy(struct zc_journal *j)
{
    destroy(j);
}

static void remove_segments(struct zc_journal *j)
{
    zc_list_each (&j->segments, n) {
        const struct zc_segment *s = zc_list_entry(n, struct zc_segment, link);
        char name[32];

        if (s->moved)
            continue;
        zc_segment_name(s->number, name);
        if (unlinkat(j->dir_fd, name, 0) < 0 && errno != ENOENT)
            zc_warn("journal %s/%s: %s", j->dir, name, strerror(errno));
    }
}

void zc_journal_close(struct zc_journal *j, bool stored)
{
    if (!j)
        return;
    zc_lock_get(&j->lock);
    j->stop = true;
    pthread_cond_signal(&j->work);
    pthread_cond_signal(&j->room);
    zc_lock_put(&j->lock);
    if (j->running)
        pthread_join(j->thread, NULL);
    if (stored)
        remove_segments(j);
    zc_heartbeat_end(j, stored);
    destroy(j);
}

void zc_journal_stats(struct zc_journal *j, struct zc_journal_stats *out)
{
    *out = (struct zc_journal_stats){0};
    if (!j)
        return;
    zc_lock_get(&j->lock);
    *out = j->st;
    zc_lock_put(&j->lock);
}
