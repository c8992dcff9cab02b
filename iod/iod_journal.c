/* iod_journal.c - what an earlier daemon had taken and not stored goes through the cache of this
 * one, which writes it back as it does all else: it tries again what is refused, and names what is
 * lost.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "iod_journal.h"
#include "zc_log.h"
#include "zc_units.h"

int iod_journal_open(const struct zc_settings *s, struct zc_journal **out)
{
    const struct zc_journal_config cfg = {
        .dir = s->journal, .root = s->root, .size = s->journal_size, .sync = s->journal_sync};

    *out = NULL;
    return s->journal ? zc_journal_open(&cfg, out) : 0;
}

/* ---- of the cache, for the journal ---- */

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

static int sink_open(void *arg, const char *path, void **file)
{
    const struct sink *s = arg;
    struct zc_attr attr = {0};
    struct zc_handle *h;
    int rc = zc_cache_open(s->cache, path, ZC_OPEN_WRITE, 0, &h, &attr);

    if (rc == 0)
        *file = h;
    return rc;
}

static int sink_write(void *file, const void *buf, size_t len, uint64_t off)
{
    ssize_t rc = zc_cache_write(file, buf, len, off);

    return rc < 0 ? (int)rc : (size_t)rc < len ? zc_errorf(EIO, "a write was cut short") : 0;
}

/* What the store refuses meanwhile stays in the cache, and in the journal. */
static int sink_close(void *file, uint64_t *number)
{
    uint64_t stored;
    int rc;

    zc_cache_taken(file, true, number, &stored);
    zc_cache_disown(file);
    rc = zc_cache_close(file);
    if (rc < 0)
        zc_warn("journal: %s; it is kept and tried again", zc_error_text(rc));
    return 0;
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
                 path ? path : "a file that nobody knows", why);
}

int iod_journal_replay(struct zc_journal *j, struct zc_cache *c, struct zc_store *store,
                       bool bypassed, bool *lost)
{
    struct sink s = {.cache = c, .store = store};
    const struct zc_journal_sink sink = {.arg = &s,
                                         .bypassed = bypassed,
                                         .stat = sink_stat,
                                         .open = sink_open,
                                         .write = sink_write,
                                         .close = sink_close,
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
