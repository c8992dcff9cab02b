/* zc_ring_apply.c - applies ring entries to a cache. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_error.h"
#include "zc_log.h"
#include "zc_ring_apply.h"
#include "zc_view.h"

enum { VIEW_MEMORY = 64 << 10 }; /* for a decoded view of an entry, bytes */

/* The last view written through, of a ring: it mostly comes again. */
struct known_view {
    struct zc_view *view; /* or NULL */
    uint32_t len;         /* bytes of its encoding */
    unsigned char bytes[ZC_RING_VIEW_MAX];
};

struct zc_ring_apply {
    struct zc_ring_sink sink;
    struct zc_cache *cache; /* fixed, as is: */
    uint32_t page_size;
    uint32_t done;              /* bytes of the entry that are in the cache */
    const struct zc_view *view; /* or NULL */
    int64_t disp, part;         /* bytes of the access */
    struct zc_view_ranges ranges;
    struct zc_access access;
    struct zc_error error; /* of the access, when it was waited for */
};

static struct zc_ring_apply *of(struct zc_ring_sink *s)
{
    return zc_list_entry(s, struct zc_ring_apply, sink);
}

/* ---- the view ---- */

static void forget(void *known)
{
    struct known_view *k = known;

    if (k)
        zc_view_put(k->view);
    free(k);
}

/* Decodes the view unless it is the known one.  0 or a negative errno. */
static int learn(struct known_view *k, const unsigned char *encoded, uint32_t len)
{
    unsigned char bytes[ZC_RING_VIEW_MAX];
    int rc;

    memcpy(bytes, encoded, len);
    if (k->view && k->len == len && !memcmp(k->bytes, bytes, len))
        return 0;
    zc_view_put(k->view);
    k->view = NULL;
    rc = zc_view_decode(bytes, len, VIEW_MEMORY, &k->view);
    if (rc)
        return rc;
    memcpy(k->bytes, bytes, len);
    k->len = len;
    return 0;
}

static int look_through(struct zc_ring_apply *m)
{
    struct known_view *k = *m->sink.known;
    int rc;

    m->view = NULL;
    if (!m->sink.entry.view)
        return 0;
    memcpy(&m->disp, m->sink.payload, sizeof m->disp);
    if (!k)
        k = *m->sink.known = calloc(1, sizeof *k);
    if (!k)
        return zc_errorf(ENOMEM, "no memory for a view");
    rc = learn(k, m->sink.payload + sizeof m->disp, m->sink.entry.view);
    if (rc == 0)
        m->view = k->view;
    return rc;
}

/* ---- losses ---- */

/* Sets [lo, hi) to the range of the file that has the rest. */
static void rest(const struct zc_ring_apply *m, int64_t *lo, int64_t *hi)
{
    int64_t from = (int64_t)m->sink.entry.off + m->done;
    int64_t last = (int64_t)m->sink.entry.off + m->sink.entry.len - 1;

    if (!m->sink.entry.view) {
        *lo = from;
        *hi = last + 1;
    } else if (m->view && zc_view_monotone(m->view) &&
               zc_view_to_file(m->view, m->disp, from, lo) == 0 && *lo >= 0 &&
               zc_view_to_file(m->view, m->disp, last, hi) == 0 && *hi < INT64_MAX) {
        *hi += 1;
    } else { /* unknown */
        *lo = m->disp > 0 ? m->disp : 0;
        *hi = INT64_MAX;
    }
}

static void lose(struct zc_ring_apply *m, int err, const char *why)
{
    uint32_t bytes = m->sink.entry.len - m->done;
    int64_t lo, hi;

    rest(m, &lo, &hi);
    if (m->sink.file)
        zc_cache_lose(m->sink.file, (uint64_t)lo, (uint64_t)hi, bytes, err, why);
    else
        zc_cache_lose_unknown(m->cache, bytes, why);
    m->done = m->sink.entry.len;
}

/* ---- page after page ---- */

static void ready(struct zc_access *a)
{
    struct zc_ring_apply *m = zc_list_entry(a, struct zc_ring_apply, access);

    m->error = (struct zc_error){0}; /* of an earlier access */
    zc_error_keep(&m->error, a->status);
    m->sink.ready(&m->sink);
}

static int aim(struct zc_ring_apply *m)
{
    uint64_t off = m->sink.entry.off + m->done;
    uint32_t left = m->sink.entry.len - m->done, room;

    memset(&m->access, 0, sizeof m->access);
    m->access.handle = m->sink.file;
    m->access.dir = ZC_WRITE;
    m->access.acknowledged = true;
    m->access.ready = ready;
    if (m->view)
        return zc_cache_aim(&m->access, m->view, m->disp, (int64_t)off, left, &m->ranges, &m->part);
    room = m->page_size - (uint32_t)(off % m->page_size);
    m->access.off = off;
    m->access.len = left < room ? left : room;
    m->part = m->access.len;
    return 0;
}

/* Copies the bytes of the access begun. */
static void copy(struct zc_ring_apply *m)
{
    const unsigned char *from =
        m->sink.payload + zc_ring_entry_prefix(m->sink.entry.view) + m->done;
    struct zc_access *a = &m->access;

    if (m->view) {
        zc_view_scatter(m->view, m->disp, (int64_t)m->sink.entry.off + m->done, from, m->part,
                        a->data, (int64_t)a->off, a->len);
        zc_cache_end_ranges(a, m->ranges.r, m->ranges.n);
    } else {
        memcpy(a->data, from, a->len);
        zc_cache_end(a, a->len);
    }
    m->done += (uint32_t)m->part;
}

static bool move(struct zc_ring_apply *m)
{
    while (m->done < m->sink.entry.len) {
        int rc = aim(m);

        if (rc == 0)
            rc = zc_cache_begin(&m->access);
        if (rc == -EINPROGRESS)
            return false;
        if (rc)
            lose(m, rc, zc_error_text(rc));
        else
            copy(m);
    }
    return true;
}

static bool begin(struct zc_ring_sink *s)
{
    struct zc_ring_apply *m = of(s);
    int rc;

    m->done = 0;
    rc = look_through(m);
    if (!s->file)
        lose(m, -EBADF, "no such open file");
    else if (rc)
        lose(m, rc, rc == -EPROTO ? "the view that came with them is none" : zc_error_text(rc));
    return move(m);
}

static bool resume(struct zc_ring_sink *s)
{
    struct zc_ring_apply *m = of(s);

    if (m->error.rc)
        lose(m, m->error.rc, m->error.text);
    else
        copy(m);
    return move(m);
}

static bool refuses(struct zc_ring_sink *s)
{
    return zc_cache_refused(of(s)->cache);
}

static size_t capacity(struct zc_ring_sink *s)
{
    struct zc_cache_limits l;

    zc_cache_limits(of(s)->cache, &l);
    return l.capacity;
}

static void free_sink(struct zc_ring_sink *s)
{
    free(of(s)->ranges.r);
    free(of(s));
}

int zc_ring_apply_create(struct zc_cache *c, struct zc_shmring **out)
{
    static const struct zc_ring_sink_ops ops = {
        .begin = begin,
        .resume = resume,
        .forget = forget,
        .refuses = refuses,
        .capacity = capacity,
        .free = free_sink,
    };
    struct zc_ring_apply *m = calloc(1, sizeof *m);

    if (!m)
        return zc_errorf(ENOMEM, "no memory to share");
    m->sink.ops = &ops;
    m->cache = c;
    m->page_size = zc_cache_page_size(c);
    return zc_shmring_create(&m->sink, out);
}
