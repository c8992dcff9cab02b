/* zc_journal_compare.c - finds out, at a start, whether another program has written where bytes are
 * pending.
 *
 * If the dead daemon was changing a file, or other daemons change it, size and times prove nothing,
 * and neither do they after a reboot of the host.  Then the contents decide.  A pending byte may be
 * written if the file has, at its place,
 *
 *     that byte, or the byte of an earlier staged write: the dead daemon has stored it;
 *     zeros, or its end: the place was never written;
 *     what it had when the byte was staged, as a BEFORE says (zc_journal_before.c).
 *
 * Otherwise another program has written it, or may have, and the file is refused.  A program that
 * restored the earlier contents, or wrote zeros, is not detected.
 *
 * If the times of the file say that another program has changed it since, less is known:
 *
 *     it was written (mtime): only the pending bytes themselves explain, over which writing them
 *     changes nothing: the other program may have written what was there before;
 *     it was changed (ctime), as by chmod: zeros and the end explain nothing, as a file has them
 *     that was made anew in its place, with a time that was set.
 *
 * A reboot of the host may have lost what its kernel had not stored yet: then the file has older
 * bytes.  Where these are of a write that the journal has still, or were there before one, or where
 * the file had none, they are known; others cannot be told from those of another program.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "zc_journal_compare.h"
#include "zc_journal_internal.h"

enum { RUN_MIN = 8 }; /* bytes */

/* A window of a file: as much as a record is about, so that records all over a large file do not
 * each have a page read; and twice as much as before where they go on in order. */
struct zc_compare {
    const struct zc_journal_sink *sink;
    const struct zc_journal_file *file; /* of the window */
    uint64_t at, end;                   /* the window */
    bool unread;                        /* it could not be read */
    unsigned char bytes[ZC_COMPARE_PAGE];
};

struct zc_compare *zc_compare_new(const struct zc_journal_sink *sink)
{
    struct zc_compare *c = malloc(sizeof *c);

    if (c) {
        c->sink = sink;
        c->file = NULL;
    }
    return c;
}

void zc_compare_free(struct zc_compare *c)
{
    free(c);
}

static uint64_t round_down(uint64_t at)
{
    return at / ZC_JOURNAL_CHUNK * ZC_JOURNAL_CHUNK;
}

static void load(struct zc_compare *c, const struct zc_journal_file *f, uint64_t lo, uint64_t hi)
{
    uint64_t at = round_down(lo), end = round_down(hi + ZC_JOURNAL_CHUNK - 1);
    bool in_order = c->file == f && at >= c->at && at <= c->end;
    uint64_t more = in_order ? at + 2 * (c->end - c->at) : 0;
    ssize_t n;

    more = more < at + ZC_COMPARE_PAGE ? more : at + ZC_COMPARE_PAGE;
    end = more > end ? more : end;
    n = c->sink->read(c->sink->arg, f->path, c->bytes, (size_t)(end - at), at);
    c->unread = n < 0;
    if (n >= 0 && (uint64_t)n < end - at)
        memset(c->bytes + n, 0, (size_t)(end - at) - (size_t)n);
    c->file = f;
    c->at = at;
    c->end = end;
}

/* What the file has of [lo, hi), which is within a page, with zeros beyond its end; NULL: it cannot
 * be read. */
static const unsigned char *bytes_of(struct zc_compare *c, const struct zc_journal_file *f,
                                     uint64_t lo, uint64_t hi)
{
    if (c->file != f || lo < c->at || hi > c->end)
        load(c, f, lo, hi);
    return c->unread ? NULL : c->bytes + (lo - c->at);
}

static bool zeros(const unsigned char *p, size_t n)
{
    return n == 0 || (p[0] == 0 && memcmp(p, p + 1, n - 1) == 0);
}

/* Adds what is the same of `len` bytes, which lie at `at` of their page: of a write of which a
 * later one has stored a part, the rest.  Shorter runs within may be chance, and would be many. */
static int add_runs(struct zc_extents *same, uint32_t at, const unsigned char *has,
                    const unsigned char *bytes, uint32_t len)
{
    uint32_t end;
    int rc = 0;

    for (uint32_t i = 0; rc >= 0 && i < len; i = end + 1) {
        for (end = i; end < len && has[end] == bytes[end]; end++)
            ;
        if (end > i && (end - i >= RUN_MIN || i == 0 || end == len))
            rc = zc_extents_add(same, at + i, at + end);
    }
    return rc;
}

/* The same of a version that replaces all earlier ones if only the last one counts. */
static int add_version(struct zc_extents *same, uint32_t at, const unsigned char *has,
                       const unsigned char *bytes, uint32_t len, enum zc_compare_how how)
{
    bool last_counts = how == ZC_COMPARE_EXACT || (how == ZC_COMPARE_STRICT && zeros(has, len));
    int rc = last_counts ? zc_extents_sub(same, at, at + len) : 0;

    return rc < 0 ? rc : add_runs(same, at, has, bytes, len);
}

int zc_compare_data(struct zc_compare *c, const struct zc_journal_file *f, uint64_t lo, uint64_t hi,
                    const unsigned char *bytes, enum zc_compare_how how, struct zc_extents *same)
{
    uint64_t base = lo / ZC_COMPARE_PAGE * ZC_COMPARE_PAGE, next;
    const unsigned char *has = bytes_of(c, f, lo, hi);
    int rc = 0;

    for (uint64_t at = lo; has && rc >= 0 && at < hi; at = next) {
        next = (at / ZC_JOURNAL_CHUNK + 1) * ZC_JOURNAL_CHUNK;
        next = next < hi ? next : hi;
        rc = add_version(same, (uint32_t)(at - base), has + (at - lo), bytes + (at - lo),
                         (uint32_t)(next - at), how);
    }
    return rc;
}

int zc_compare_sum(struct zc_compare *c, const struct zc_journal_file *f, uint64_t lo, uint64_t hi,
                   uint64_t sum, enum zc_compare_how how, struct zc_extents *same)
{
    uint64_t base = lo / ZC_COMPARE_PAGE * ZC_COMPARE_PAGE;
    const unsigned char *has;

    if (hi > base + ZC_COMPARE_PAGE || how == ZC_COMPARE_EXACT)
        return 0;
    has = bytes_of(c, f, lo, hi);
    if (!has || zc_record_sum(has, hi - lo) != sum ||
        (how == ZC_COMPARE_STRICT && zeros(has, hi - lo)))
        return 0;
    return zc_extents_add(same, (uint32_t)(lo - base), (uint32_t)(hi - base));
}

bool zc_compare_explains(struct zc_compare *c, const struct zc_journal_file *f, uint64_t base,
                         const struct zc_extents *pending, enum zc_compare_how how,
                         const struct zc_extents *same)
{
    const unsigned char *has;
    struct zc_range r, gap;

    for (uint32_t at = 0; zc_extents_next(pending, at, ZC_COMPARE_PAGE, &r); at = r.hi)
        for (uint32_t in = r.lo; in < r.hi && zc_extents_gap(same, in, r.hi, &gap); in = gap.hi) {
            has = how == ZC_COMPARE_ALL ? bytes_of(c, f, base + gap.lo, base + gap.hi) : NULL;
            if (!has || !zeros(has, gap.hi - gap.lo))
                return false;
        }
    return true;
}
