/* zcache_bottleneck.c - what limited a program's accesses to a file, according to measurements.
 *
 * The time that the program spent in its calls is divided by what it waited for, and the cause of
 * the largest part is determined:
 *
 *     most of it in       and                                           then it is
 *     other ranks                                                       the ranks
 *     network, copying    accesses are small                            their number
 *     network             they are not                                  the network
 *     copying             they are not                                  nothing
 *     reads of the store                                                the store *
 *     room, or sync and   next to nothing was computed meanwhile        no computing to hide behind
 *       close             the store was busy nearly all the time        the store *
 *                         it was not, and room was waited for           the cache *
 *                         it was not, and sync and close were           no computing: it was before
 *                                                                       the last writes
 *     * with daemons: their cache, their store, or the network between; of these it is scattered
 *       pages, if a good part of the store's traffic was for merging them
 *
 * Pure: no MPI, no state.
 */
#include "config.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "zc_units.h"
#include "zcache_bottleneck.h"

enum {
    NEGLIGIBLE_MS = 100,
    NEGLIGIBLE_PERCENT = 1, /* of a rank's time, in calls: nothing is reported */
    LITTLE_PERCENT = 5,     /* of the time the file was open, in calls: not worth a report */
    SMALL_BYTES = 16384,    /* a smaller access costs more per call than per byte */
    BUSY_PERCENT = 80,      /* a store busy for this part of the time is the limit */
    HIDING_PERCENT = 25,    /* less computing than this part of the store's time hides nothing */
    MERGED_PERCENT = 25,    /* of bytes written back, read or written for merging: too many */
    REQUESTS_PERCENT = 50,  /* of requests, that are small: worth a report */
    BETWEEN_PERCENT = 25,   /* of aggregators' store time in daemons: below, it is the network */
};

const char *const zcache_bottleneck_names[ZCACHE_BOTTLENECKS] = {
    [ZCACHE_BOTTLENECK_NONE] = "nothing",
    [ZCACHE_BOTTLENECK_CACHE] = "cache",
    [ZCACHE_BOTTLENECK_IOD_CACHE] = "daemon_cache",
    [ZCACHE_BOTTLENECK_STORE] = "store",
    [ZCACHE_BOTTLENECK_NETWORK] = "network",
    [ZCACHE_BOTTLENECK_SMALL] = "small_accesses",
    [ZCACHE_BOTTLENECK_NO_HIDING] = "no_computing",
    [ZCACHE_BOTTLENECK_RANKS] = "other_ranks",
    [ZCACHE_BOTTLENECK_SCATTERED] = "scattered_pages",
};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static uint64_t part_of(uint64_t whole, uint64_t part, uint64_t of)
{
    return of ? (uint64_t)((double)whole * (double)part / (double)of) : 0;
}

/* Divides the time by cause.  Requests wait concurrently in the owner's cache, so their waits count
 * up to the time that the program waited for replies. */
void zcache_bottleneck_time(const struct zcache_timing_fields *f, struct zcache_time_spent *out)
{
    uint64_t calls = f->write_ns + f->read_ns, all = calls + f->background_ns;
    uint64_t wire = f->credit_ns + f->reply_ns, owners = f->agg_room_ns + f->agg_fill_ns;
    uint64_t here = least(f->cache_ns, owners), there = least(owners - here, wire);
    uint64_t felt = here + there;
    uint64_t drain = f->writes ? f->sync_ns + f->close_ns : 0; /* 0 for readers */

    /* The program did not wait while background threads did. */
    *out = (struct zcache_time_spent){
        .total = calls + drain + f->ranks_ns,
        .room = part_of(part_of(felt, f->agg_room_ns, owners), calls, all),
        .fill = part_of(part_of(felt, f->agg_fill_ns, owners), calls, all),
        .network = part_of(wire - there, calls, all),
        .drain = drain,
        .ranks = f->ranks_ns,
    };
    out->copying = less(calls, out->room + out->fill + out->network);
}

static bool is_small(const struct zcache_timing_fields *f)
{
    uint64_t n = f->writes + f->reads;

    return n && (f->written_bytes + f->read_bytes) / n < SMALL_BYTES;
}

/* Wall time in ns per rank, aggregator or daemon. */
static uint64_t each(uint64_t sum, uint64_t n)
{
    return n ? sum / n : 0;
}

/* Determines what below the aggregators is too slow. */
static enum zcache_bottleneck below(const struct zcache_timing_fields *f)
{
    uint64_t busy = each(f->agg_store_busy_ns, f->aggregators);
    uint64_t theirs = each(f->iod_store_busy_ns, f->daemons);
    uint64_t waits = f->iod_room_ns + f->iod_fill_ns;

    if (f->daemons && theirs < busy * BETWEEN_PERCENT / 100 &&
        each(waits, f->daemons) < busy * BETWEEN_PERCENT / 100)
        return ZCACHE_BOTTLENECK_NETWORK;
    return ZCACHE_BOTTLENECK_STORE;
}

/* Returns the bytes read for a merge, or written between dirty bytes. */
static uint64_t merged(const struct zcache_timing_fields *f)
{
    return f->fs_merge_read_bytes + f->fs_merge_filled_bytes;
}

/* Whether merges of scattered pages take the store's time. */
static bool is_scattered(const struct zcache_timing_fields *f)
{
    return merged(f) > 0 && merged(f) >= part_of(f->written_bytes, MERGED_PERCENT, 100);
}

static enum zcache_bottleneck why_writes_wait(const struct zcache_timing_fields *f,
                                              const struct zcache_time_spent *t)
{
    uint64_t open = each(f->open_ns, f->ranks), busy = each(f->agg_store_busy_ns, f->aggregators);
    uint64_t theirs = each(f->iod_store_busy_ns, f->daemons);
    uint64_t computed = less(open, each(t->total, f->ranks)), full = open * BUSY_PERCENT / 100;

    if (computed < (busy > theirs ? busy : theirs) * HIDING_PERCENT / 100)
        return ZCACHE_BOTTLENECK_NO_HIDING;
    if ((f->daemons ? theirs : busy) >= full)
        return ZCACHE_BOTTLENECK_STORE;
    if (f->daemons && t->room >= t->drain && each(f->iod_room_ns, f->daemons) >= busy / 2)
        return ZCACHE_BOTTLENECK_IOD_CACHE;
    if (f->daemons && busy >= full)
        return below(f);
    return t->room >= t->drain ? ZCACHE_BOTTLENECK_CACHE : ZCACHE_BOTTLENECK_NO_HIDING;
}

/* Whether a rank spent less than 0.1 s and 1 % of its time in calls. */
static bool is_negligible(const struct zcache_timing_fields *f, const struct zcache_time_spent *t)
{
    return each(t->total, f->ranks) < NEGLIGIBLE_MS * 1000000ull &&
           (t->total == 0 || t->total < f->open_ns / 100 * NEGLIGIBLE_PERCENT);
}

enum zcache_bottleneck zcache_bottleneck_of(const struct zcache_timing_fields *f)
{
    struct zcache_time_spent t;
    uint64_t store, most;

    zcache_bottleneck_time(f, &t);
    if (t.total < f->open_ns * LITTLE_PERCENT / 100 || t.total == 0)
        return ZCACHE_BOTTLENECK_NONE;
    store = t.room + t.fill + t.drain;
    most = store > t.network ? store : t.network;
    most = most > t.ranks ? most : t.ranks;
    most = most > t.copying ? most : t.copying;
    if (most == t.ranks)
        return ZCACHE_BOTTLENECK_RANKS;
    if (most == t.network)
        return is_small(f) ? ZCACHE_BOTTLENECK_SMALL : ZCACHE_BOTTLENECK_NETWORK;
    if (most == t.copying)
        return is_small(f) ? ZCACHE_BOTTLENECK_SMALL : ZCACHE_BOTTLENECK_NONE;
    if (is_scattered(f))
        return ZCACHE_BOTTLENECK_SCATTERED;
    if (t.fill >= t.room && t.fill >= t.drain)
        return below(f);
    return why_writes_wait(f, &t);
}

/* ---- texts ---- */

static unsigned percent(uint64_t part, uint64_t whole)
{
    return whole ? (unsigned)(100.0 * (double)part / (double)whole + 0.5) : 0;
}

/* Writes the cache size that would hold all written bytes, as a hint's value. */
static char *enough(const struct zcache_timing_fields *f, char *buf, size_t len)
{
    uint64_t wanted = each(f->written_bytes, f->aggregators) * 2, size = 1 << 20;

    while (size < wanted && size < UINT64_MAX / 2)
        size *= 2;
    return zc_publish_size(size, buf, len);
}

static void say_cache(const struct zcache_timing_fields *f, const struct zcache_time_spent *t,
                      char *buf, size_t len)
{
    char now[32], then[32];

    snprintf(buf, len,
             "limited by the cache, which is too small: %u%% of the time in its calls the program "
             "waited for room while the file system had time; raise the hint zcache_cache_size "
             "(%s; %s holds all that was written)",
             percent(t->room, t->total),
             zc_publish_size(each(f->agg_cache_bytes, f->aggregators), now, sizeof now),
             enough(f, then, sizeof then));
}

static void say_small(const struct zcache_timing_fields *f, char *buf, size_t len)
{
    uint64_t n = f->writes + f->reads;

    snprintf(buf, len,
             "limited by small accesses: %" PRIu64 " of %" PRIu64
             " bytes each on average; make fewer and larger ones, by a datatype or a file view "
             "that names all pieces of a call",
             n, each(f->written_bytes + f->read_bytes, n));
}

static void say_scattered(const struct zcache_timing_fields *f, char *buf, size_t len)
{
    char more[32], then[32];

    snprintf(
        buf, len,
        "limited by scattered pages: %s were read or written besides to merge pieces of pages, "
        "%u%% of which were written again; write all of an array in one collective call, or "
        "raise the hint zcache_cache_size (%s holds all that was written), so that pages wait "
        "until they are complete",
        zc_format_size(merged(f), more, sizeof more),
        percent(f->fs_page_rewrites, f->fs_page_writes), enough(f, then, sizeof then));
}

/* Describes the small requests, if there are many; else writes nothing. */
static void say_requests(const struct zcache_timing_fields *f, char *buf, size_t len)
{
    size_t at = strlen(buf);

    if (percent(f->fs_small_writes, f->fs_writes) >= REQUESTS_PERCENT && at < len)
        snprintf(buf + at, len - at,
                 "; %u%% of its %" PRIu64 " write requests were smaller than 64 KiB: write larger "
                 "pieces, or raise the hint zcache_cache_size",
                 percent(f->fs_small_writes, f->fs_writes), f->fs_writes);
}

static void say_none(const struct zcache_timing_fields *f, const struct zcache_time_spent *t,
                     char *buf, size_t len)
{
    unsigned share = percent(t->total, f->open_ns);

    if (share < LITTLE_PERCENT)
        snprintf(buf, len,
                 "limited by nothing of zcache: %u%% of the time that the file was open went into "
                 "its calls, the rest was computing",
                 share);
    else
        snprintf(buf, len,
                 "limited by copying: hardly anything was waited for; larger accesses, or fewer "
                 "pieces in each, are all that may help");
}

char *zcache_bottleneck_text(const struct zcache_timing_fields *f, char *buf, size_t len)
{
    struct zcache_time_spent t;

    zcache_bottleneck_time(f, &t);
    *buf = '\0';
    if (is_negligible(f, &t))
        return buf;
    switch (zcache_bottleneck_of(f)) {
    case ZCACHE_BOTTLENECK_CACHE:
        say_cache(f, &t, buf, len);
        break;
    case ZCACHE_BOTTLENECK_IOD_CACHE:
        snprintf(buf, len,
                 "limited by the cache of the daemons, which is too small: it was full while the "
                 "file system had time; raise --cache-size of zcached");
        break;
    case ZCACHE_BOTTLENECK_STORE:
        snprintf(
            buf, len,
            "limited by the file system: it was at work %u%% of the time that the file was "
            "open; read and write fewer bytes, in order, or spread them over more of its "
            "servers",
            f->daemons
                ? percent(each(f->iod_store_busy_ns, f->daemons), each(f->open_ns, f->ranks))
                : percent(each(f->agg_store_busy_ns, f->aggregators), each(f->open_ns, f->ranks)));
        say_requests(f, buf, len);
        break;
    case ZCACHE_BOTTLENECK_SCATTERED:
        say_scattered(f, buf, len);
        break;
    case ZCACHE_BOTTLENECK_NETWORK:
        snprintf(buf, len,
                 "limited by the network, or by processor time on one host: the way of the bytes "
                 "took longer than cache and file system; between hosts use a faster provider "
                 "(hint zcache_provider), more aggregators (hint cb_nodes), or more daemons; on "
                 "one host run fewer ranks, which leave aggregators and daemons processor time");
        break;
    case ZCACHE_BOTTLENECK_SMALL:
        say_small(f, buf, len);
        break;
    case ZCACHE_BOTTLENECK_NO_HIDING:
        snprintf(buf, len,
                 "limited by having no computing to hide behind: the file system was waited for "
                 "with nothing else to do; compute between the last write and the close, or leave "
                 "the rest to daemons by the hint zcache_close_level=staged");
        break;
    case ZCACHE_BOTTLENECK_RANKS:
        snprintf(buf, len,
                 "limited by ranks that waited for each other, %u%% of the time in calls: let all "
                 "come to collective calls at the same time, or make those independent",
                 percent(t.ranks, t.total));
        break;
    default:
        say_none(f, &t, buf, len);
    }
    return buf;
}
