/* iod_journal.c - restores bytes of the journal through the cache, which writes them back like any
 * others: it retries refused writes, and reports losses.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "iod_journal.h"
#include "zc_fd.h"
#include "zc_log.h"
#include "zc_record.h"
#include "zc_root_record.h"
#include "zc_units.h"

int iod_journal_open(const struct zc_settings *s, uint64_t seat, uint64_t boot_id,
                     struct zc_journal **out)
{
    const struct zc_journal_config cfg = {.dir = s->journal,
                                          .root = s->root,
                                          .size = s->journal_size,
                                          .sync = s->journal_sync,
                                          .seat = seat,
                                          .boot_id = boot_id,
                                          .new_root = s->new_root};

    *out = NULL;
    if (s->journal && !seat)
        return zc_errorf(EINVAL,
                         "--journal: the directory of --address-file %s cannot be looked "
                         "at, by which a later daemon is known",
                         s->address_file);
    return s->journal ? zc_journal_open(&cfg, out) : 0;
}

int iod_journal_serve(const struct zc_settings *s, uint64_t seat, uint64_t boot_id,
                      struct zc_journal *j)
{
    struct zc_root_record r;
    int rc;

    if (j)
        return zc_journal_serve(j);
    rc = zc_root_record_open(s->root, &r);
    if (s->new_root && (rc == -ESTALE || rc == -EBADMSG))
        rc = zc_root_record_make(s->root, true, &r);
    if (rc == 0 && r.fd >= 0 && seat)
        rc = zc_root_seat_raise(&r, seat, boot_id);
    zc_root_record_close(&r);
    return rc;
}

/* ---- callbacks of the journal into the cache ---- */

static int owes(void *cache, uint64_t dev, uint64_t ino, uint64_t number)
{
    return zc_cache_owes_until(cache, dev, ino, number);
}

static void hurry(void *cache, bool on)
{
    zc_cache_hurry(cache, on);
}

/* ---- a start ---- */

struct sink {
    struct zc_cache *cache;
    struct zc_store *store;
    bool lost;
};

static int sink_stat(void *arg, const char *path, struct zc_attr *attr)
{
    const struct sink *s = arg;

    return zc_store_stat(s->store, path, attr);
}

/* Looks for another name of the inode in the same directory. */
static bool sink_find(void *arg, const char *path, uint64_t ino, char *other)
{
    const char *slash = strrchr(path, '/');
    int len = slash ? (int)(slash - path) : 0;
    const struct dirent *e;
    bool found = false;
    DIR *d;

    (void)arg;
    if (len <= 0 || len + 1 + (int)sizeof e->d_name > ZC_RECORD_PATH_MAX)
        return false;
    snprintf(other, ZC_RECORD_PATH_MAX + 1, "%.*s", len, path);
    d = zc_opendir(other);
    while (d && !found && (e = readdir(d)) != NULL) {
        found = e->d_ino == ino && strcmp(e->d_name, slash + 1) != 0;
        if (found)
            snprintf(other + len, (size_t)(ZC_RECORD_PATH_MAX + 1 - len), "/%s", e->d_name);
    }
    if (d)
        closedir(d);
    return found;
}

static int sink_open(void *arg, const char *path, uint64_t mark, void **file)
{
    const struct sink *s = arg;
    struct zc_attr attr = {.mark = mark};
    struct zc_handle *h;
    int rc = zc_cache_open(s->cache, path, ZC_OPEN_WRITE, 0, &h, &attr);

    if (rc == 0)
        *file = h;
    return rc;
}

static ssize_t sink_read(void *arg, const char *path, void *buf, size_t len, uint64_t off)
{
    const struct sink *s = arg;

    return zc_store_read_path(s->store, path, buf, len, off);
}

static int sink_write(void *file, const void *buf, size_t len, uint64_t off)
{
    ssize_t rc = zc_cache_write(file, buf, len, off);

    return rc < 0 ? (int)rc : (size_t)rc < len ? zc_errorf(EIO, "a write was cut short") : 0;
}

/* Bytes that the store refuses stay in the cache, and in the journal. */
static int sink_close(void *file, uint64_t *number)
{
    uint64_t stored;
    int rc;

    zc_cache_progress(file, true, number, &stored);
    zc_cache_disown(file);
    rc = zc_cache_close(file);
    if (rc < 0)
        zc_warn("journal: %s; it is kept and tried again", zc_error_text(rc));
    return 0;
}

/* "bytes 0-4095, 8192-12287" */
static const char *ranges(const struct zc_journal_span *s, unsigned n, char *buf, size_t len)
{
    size_t at = 0;

    for (unsigned i = 0; i < n && at < len; i++)
        at += (size_t)snprintf(buf + at, len - at, "%s%" PRIu64 "-%" PRIu64, i ? ", " : "", s[i].lo,
                               s[i].hi - 1);
    return buf;
}

static void sink_kept(void *arg, const char *path, const struct zc_journal_span *spans, unsigned n,
                      uint64_t bytes, const char *why, const char *where)
{
    struct sink *s = arg;
    char size[32], text[768];

    s->lost = true;
    zc_error(
        "kept back: %s (%" PRIu64 " bytes) of %s that an earlier daemon had taken: bytes %s%s: "
        "%s; they are in %s",
        zc_format_size(bytes, size, sizeof size), bytes, path, ranges(spans, n, text, sizeof text),
        n == ZC_JOURNAL_SPANS ? " (not all of the last)" : "", why, where);
}

static void sink_lost(void *arg, const char *path, uint64_t lo, uint64_t hi, uint64_t bytes,
                      const char *why)
{
    struct sink *s = arg;
    char size[32];

    s->lost = true;
    if (hi > lo)
        zc_error("lost: %s (%" PRIu64
                 " bytes) of %s that an earlier daemon had taken: within bytes "
                 "%" PRIu64 "-%" PRIu64 ": %s",
                 zc_format_size(bytes, size, sizeof size), bytes, path, lo, hi - 1, why);
    else
        zc_error("lost: bytes that an earlier daemon had taken may be, of %s: %s",
                 path ? path : "an unknown file", why);
}

int iod_journal_replay(struct zc_journal *j, struct zc_cache *c, struct zc_store *store,
                       bool bypassed, bool *lost)
{
    struct sink s = {.cache = c, .store = store};
    const struct zc_journal_sink sink = {.arg = &s,
                                         .bypassed = bypassed,
                                         .stat = sink_stat,
                                         .find = sink_find,
                                         .open = sink_open,
                                         .read = sink_read,
                                         .write = sink_write,
                                         .close = sink_close,
                                         .kept = sink_kept,
                                         .lost = sink_lost};
    struct zc_journal_replayed r;
    char size[32];
    int rc;

    zc_journal_attach(j, c, owes, hurry);
    rc = zc_journal_replay(j, &sink, &r);
    *lost = s.lost;
    if (rc < 0)
        return zc_errorf(-rc,
                         "what an earlier daemon has left in the journal cannot be written back: "
                         "%s; it stays there: mend that, and start again",
                         zc_error_text(rc));
    if (r.bytes)
        zc_warn("journal: %s of %" PRIu64 " file%s that an earlier daemon had taken and not stored "
                "are written back",
                zc_format_size(r.bytes, size, sizeof size), r.files, r.files == 1 ? "" : "s");
    return 0;
}

bool iod_journal_end(struct zc_journal *j, struct zc_cache *c)
{
    struct zc_cache_stats st;

    zc_cache_stats(c, &st);
    if (st.dirty_bytes > 0)
        zc_journal_freeze(j);
    zc_journal_attach(j, NULL, NULL, NULL);
    return st.dirty_bytes == 0;
}
