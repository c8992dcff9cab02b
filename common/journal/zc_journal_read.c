/* zc_journal_read.c - reads what an earlier daemon left in the directory of a journal.
 *
 * A segment is read from its beginning.  Where no valid record lies, the next valid one is searched
 * for: if one is found, the range before it is damaged; if not, the segment ends there, and in the
 * last segment the rest is a torn tail: a write that was not answered, which is cut off.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "zc_fd.h"
#include "zc_journal_internal.h"

/* ---- walking ---- */

static uint64_t next_good(const unsigned char *map, size_t len, uint64_t at, uint64_t number,
                          uint64_t seq)
{
    struct zc_record r;

    for (; at + ZC_RECORD_HEAD <= len; at += 8)
        if (memcmp(map + at, "ZCJR", 4) == 0 &&
            zc_record_read(map + at, len - at, number, &r) == ZC_FOUND_RECORD && r.seq > seq)
            return at;
    return UINT64_MAX;
}

int zc_scan_walk(const unsigned char *map, size_t len, uint64_t number, bool last, zc_scan_fn *fn,
                 zc_scan_bad *bad, void *arg, uint64_t *end)
{
    uint64_t at = 0, seq = 0, next;
    int rc = 0;

    while (rc == 0 && at < len) {
        struct zc_record r;
        enum zc_record_found found = zc_record_read(map + at, len - at, number, &r);

        if (found == ZC_FOUND_RECORD && r.seq > seq) {
            rc = fn(arg, &r);
            seq = r.seq;
            at += r.length;
            continue;
        }
        next = next_good(map, len, at + 8, number, seq);
        if (next == UINT64_MAX && (last || found == ZC_FOUND_END))
            break;
        if (next == UINT64_MAX)
            next = len;
        rc = bad ? bad(arg, found == ZC_FOUND_BAD_BODY ? &r : NULL, at, next - at) : 0;
        at = next;
    }
    *end = at;
    return rc;
}

/* ---- what is found ---- */

struct reading {
    struct zc_journal *j;
    struct zc_segment *segment;
    bool begun;
    uint64_t before; /* last record written before this segment */
};

static int no_memory(const struct zc_journal *j)
{
    return zc_errorf(ENOMEM, "journal %s: out of memory", j->dir);
}

/* Returns the file of a record, created at its first record. */
static struct zc_journal_file *file_of(struct zc_journal *j, uint32_t id)
{
    struct zc_scan *s = j->scan;

    if (id >= s->nfiles) {
        uint32_t n = id + 64;
        struct zc_journal_file **more = realloc(s->files, n * sizeof *more);

        if (!more)
            return NULL;
        memset(more + s->nfiles, 0, (n - s->nfiles) * sizeof *more);
        s->files = more;
        s->nfiles = n;
    }
    if (!s->files[id])
        s->files[id] = zc_jfile_new(j, id);
    return s->files[id];
}

static int read_file(struct zc_journal *j, struct zc_journal_file *f, const struct zc_record *r)
{
    struct zc_record_file rf;
    char *path;

    if (!zc_record_get_file(r, &rf))
        return 0; /* checksums are right: written by a different program */
    path = strndup(rf.path, rf.path_len);
    if (!path)
        return no_memory(j);
    free(f->path);
    f->path = path;
    f->dev = rf.dev;
    f->ino = rf.ino;
    f->noted = (struct zc_attr){.dev = rf.dev,
                                .ino = rf.ino,
                                .size = rf.size,
                                .born_ns = rf.born_ns,
                                .mtime_ns = rf.mtime_ns,
                                .ctime_ns = rf.ctime_ns,
                                .mark = rf.mark};
    f->intent = r->until & ZC_RECORD_INTENT;
    f->shared = r->until & ZC_RECORD_SHARED;
    f->refused = r->until & ZC_RECORD_REFUSED;
    return 0;
}

static int read_head(struct zc_journal *j, const struct zc_record *r)
{
    struct zc_scan *s = j->scan;
    struct zc_record_segment *more, head;

    if (!zc_record_get_segment(r, &head))
        return 0; /* checksums are right: written by a different program */
    more = realloc(s->heads, (s->nheads + 1) * sizeof *more);
    if (!more)
        return no_memory(j);
    s->heads = more;
    s->heads[s->nheads++] = head;
    if (j->offline && !*j->root) {
        free(j->root);
        j->root = strndup(head.path, head.path_len);
        if (!j->root)
            return no_memory(j);
    }
    if (head.path_len == strlen(j->root) && memcmp(head.path, j->root, head.path_len) == 0)
        return 0;
    j->fenced = "it was staged for another root (--new-root)";
    if (j->cfg.new_root || j->offline)
        return 0;
    return zc_errorf(EINVAL,
                     "journal %s has bytes of files below %.*s, and this daemon serves %s: start "
                     "one with that root, or name another journal",
                     j->dir, (int)head.path_len, head.path, j->root);
}

static int take(void *arg, const struct zc_record *r)
{
    struct reading *w = arg;
    struct zc_journal *j = w->j;
    struct zc_journal_file *f;

    if (!w->begun && r->kind == ZC_RECORD_SEGMENT)
        w->before = r->until;
    w->begun = true;
    w->segment->last_seq = j->seq = r->seq;
    if (r->kind == ZC_RECORD_SEGMENT)
        return read_head(j, r);
    w->segment->records++;
    f = r->file ? file_of(j, r->file) : NULL;
    if (!f || !zc_segment_part(j, w->segment, f))
        return r->file ? no_memory(j) : 0;
    if (r->file >= j->next_id)
        j->next_id = r->file + 1;
    if (r->kind == ZC_RECORD_DISCARD && r->until == UINT64_MAX)
        f->gone = true;
    return r->kind == ZC_RECORD_FILE ? read_file(j, f, r) : 0;
}

static int add_damage(struct zc_journal *j, const struct zc_damage *d)
{
    struct zc_scan *s = j->scan;
    struct zc_damage *more = realloc(s->damage, (s->ndamage + 1) * sizeof *more);

    if (!more)
        return no_memory(j);
    s->damage = more;
    s->damage[s->ndamage++] = *d;
    return 0;
}

static int damaged(void *arg, const struct zc_record *r, uint64_t at, uint64_t len)
{
    struct reading *w = arg;
    struct zc_damage d = {.segment = w->segment->number};

    snprintf(d.where, sizeof d.where, "segment %" PRIu64 ", bytes %" PRIu64 "-%" PRIu64,
             w->segment->number, at, at + len - 1);
    if (r && r->file) {
        d.file = file_of(w->j, r->file);
        if (!d.file)
            return no_memory(w->j);
        if (r->kind == ZC_RECORD_DATA) {
            d.lo = r->off;
            d.hi = r->off + r->span;
        }
    }
    return add_damage(w->j, &d);
}

/* ---- segments ---- */

static int check_version(const struct zc_journal *j, const unsigned char *map, size_t len,
                         const char *name)
{
    unsigned version = zc_record_version(map, len);

    if (version == 0 || version == ZC_RECORD_VERSION)
        return 0;
    return zc_errorf(EPROTO,
                     "journal %s/%s was written by another version of zcached: start that one, "
                     "and stop it, which writes everything back",
                     j->dir, name);
}

static int map_segment(struct zc_journal *j, int fd, const char *name, struct zc_scanned *s)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return zc_errorf(errno, "journal %s/%s: %s", j->dir, name, strerror(errno));
    s->len = (size_t)st.st_size;
    if (!s->len)
        return 0;
    s->map = mmap(NULL, s->len, PROT_READ, MAP_PRIVATE, fd, 0);
    if (s->map == MAP_FAILED) {
        s->map = NULL;
        return zc_errorf(errno, "journal %s/%s: %s", j->dir, name, strerror(errno));
    }
    return check_version(j, s->map, s->len, name);
}

/* Returns where the zeros begin that [lo, hi) ends with. */
static uint64_t before_zeros(const unsigned char *map, uint64_t lo, uint64_t hi)
{
    static const unsigned char zeros[4096];

    while (hi - lo >= sizeof zeros && memcmp(map + hi - sizeof zeros, zeros, sizeof zeros) == 0)
        hi -= sizeof zeros;
    while (hi > lo && map[hi - 1] == 0)
        hi--;
    return hi;
}

static int cut_tail(struct zc_journal *j, int fd, const struct zc_scanned *s, uint64_t end)
{
    uint64_t torn = s->len > end ? before_zeros(s->map, end, s->len) : s->len;

    if (torn > end)
        zc_warn("journal %s: segment %" PRIu64 " ends with %" PRIu64
                " bytes of a write that was not finished, nor answered: cut off",
                j->dir, s->segment->number, torn - end);
    if (ftruncate(fd, (off_t)end) < 0)
        return zc_errorf(errno, "journal %s: %s", j->dir, strerror(errno));
    return 0;
}

static int read_segment(struct zc_journal *j, uint64_t number, bool last)
{
    struct zc_scanned *s = &j->scan->segments[j->scan->n];
    uint64_t end = 0, seq = j->seq, before = 0;
    struct reading w = {.j = j};
    unsigned damage = j->scan->ndamage;
    char name[32];
    int fd, rc;

    if (!zc_list_empty(&j->segments))
        before = zc_list_entry(j->segments.prev, struct zc_segment, link)->number;
    s->segment = w.segment = calloc(1, sizeof *s->segment);
    if (!s->segment)
        return no_memory(j);
    j->scan->n++;
    s->segment->number = number;
    s->segment->busy = 1; /* until the replay has ended */
    zc_list_init(&s->segment->parts);
    zc_list_add_tail(&j->segments, &s->segment->link);
    j->writer.next_number = number + 1;
    zc_segment_name(number, name);
    fd = zc_fd(openat(j->dir_fd, name, (j->offline ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NOFOLLOW));
    if (fd < 0)
        return zc_errorf(errno, "journal %s/%s: %s", j->dir, name, strerror(errno));
    rc = map_segment(j, fd, name, s);
    if (rc == 0 && s->map)
        rc = zc_scan_walk(s->map, s->len, number, last, take, damaged, &w, &end);
    s->segment->size = s->len;
    s->segment->at = end;
    j->st.journal_bytes += end;
    j->st.journal_records += s->segment->records;
    if (rc == 0 && last && !j->offline)
        rc = cut_tail(j, fd, s, end);
    close(fd);
    if (rc == 0 && before && number == before + 1 && seq < w.before && damage == j->scan->ndamage) {
        struct zc_damage d = {.segment = before};

        snprintf(d.where, sizeof d.where, "the end of segment %" PRIu64, before);
        rc = add_damage(j, &d);
    }
    return rc;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

int zc_scan_list(const struct zc_journal *j, uint64_t **numbers)
{
    int fd = zc_fd(openat(j->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)), n = 0, cap = 0;
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *e;

    *numbers = NULL;
    if (!d)
        return zc_errorf(errno, "journal %s: %s", j->dir, strerror(errno));
    while ((e = readdir(d)) != NULL) {
        uint64_t number;
        char name[32];

        if (sscanf(e->d_name, "segment.%16" SCNu64, &number) != 1)
            continue;
        zc_segment_name(number, name);
        if (strcmp(name, e->d_name))
            continue;
        if (n == cap) {
            uint64_t *more = realloc(*numbers, (size_t)(cap = 2 * cap + 16) * sizeof **numbers);

            if (!more) {
                closedir(d);
                return no_memory(j);
            }
            *numbers = more;
        }
        (*numbers)[n++] = number;
    }
    closedir(d);
    if (n)
        qsort(*numbers, (size_t)n, sizeof **numbers, by_number);
    return n;
}

int zc_scan_read(struct zc_journal *j)
{
    uint64_t *numbers;
    int n = zc_scan_list(j, &numbers), rc = n < 0 ? n : 0;

    if (rc == 0) {
        j->scan = calloc(1, sizeof *j->scan);
        if (j->scan)
            j->scan->segments = calloc((size_t)n + 1, sizeof *j->scan->segments);
        if (!j->scan || !j->scan->segments)
            rc = no_memory(j);
    }
    if (rc == 0)
        zc_heartbeat_read(j, j->scan);
    for (int i = 0; rc == 0 && i < n; i++)
        rc = read_segment(j, numbers[i], i == n - 1);
    free(numbers);
    if (j->scan)
        j->scan->last_seq = j->writer.written_seq = j->seq;
    for (uint32_t i = 0; rc == 0 && i < j->scan->nfiles; i++)
        if (j->scan->files[i])
            zc_jfile_place(j, j->scan->files[i]);
    return rc;
}

void zc_scan_free(struct zc_journal *j)
{
    struct zc_scan *s = j->scan;

    j->scan = NULL;
    if (!s)
        return;
    for (unsigned i = 0; i < s->n; i++)
        if (s->segments[i].map)
            munmap(s->segments[i].map, s->segments[i].len);
    free(s->segments);
    free(s->damage);
    free(s->heads);
    free(s->files);
    free(s);
}
