/* zcache_limit.c - what a program's accesses to a file were limited by, from what was measured.
 *
 * The time that the program spent in its calls is divided by what was waited for, and the largest
 * part asked why it is that large:
 *
 *     most of it in       and                                           then it is
 *     other ranks                                                       the ranks
 *     network, copying    accesses are small                            their number
 *     network             they are not                                  the network
 *     copying             they are not                                  nothing
 *     reads of the store                                                the store *
 *     room, or sync and   next to nothing was computed meanwhile        no computing to hide behind
 *       close             the store was at work nearly all the time     the store *
 *                         it was not, and room was waited for           the cache *
 *                         it was not, and sync and close were           no computing: it was before
 *                                                                       the last writes
 *     * of the daemons, where there are: their cache, their store, or the network between
 *
 * Pure: no MPI, no state.
 */
#include "config.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "zc_units.h"
#include "zcache_limit.h"

enum {
    LITTLE_PERCENT = 5,   /* of the time the file was open, in calls: not worth a word */
    SMALL_BYTES = 16384,  /* an access of fewer costs more by being one than by its bytes */
    BUSY_PERCENT = 80,    /* a store at work for so much of the time has no time left */
    HIDING_PERCENT = 25,  /* computing that is less of the store's time cannot hide it */
    BETWEEN_PERCENT = 25, /* of aggregators' store time in daemons: less, and it is the wire's */
};

const char *const zcache_limit_names[ZCACHE_LIMITS] = {
    [ZCACHE_LIMIT_NONE] = "nothing",           [ZCACHE_LIMIT_CACHE] = "cache",
    [ZCACHE_LIMIT_IOD_CACHE] = "daemon_cache", [ZCACHE_LIMIT_STORE] = "store",
    [ZCACHE_LIMIT_NETWORK] = "network",        [ZCACHE_LIMIT_SMALL] = "small_accesses",
    [ZCACHE_LIMIT_NO_HIDING] = "no_computing", [ZCACHE_LIMIT_RANKS] = "other_ranks",
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

/* Requests wait in the owner's cache beside each other, and nobody feels more than he waited for
 * the replies. */
void zcache_limit_time(const struct zcache_figures *f, struct zcache_time_spent *out)
{
    uint64_t calls = f->write_ns + f->read_ns, all = calls + f->background_ns;
    uint64_t wire = f->credit_ns + f->reply_ns, owners = f->agg_room_ns + f->agg_fill_ns;
    uint64_t here = least(f->cache_ns, owners), there = least(owners - here, wire);
    uint64_t felt = here + there;
    uint64_t drain = f->writes ? f->sync_ns + f->close_ns : 0; /* of who has read alone: nothing */

    /* What threads of their own waited for, the program did not. */
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

static bool is_small(const struct zcache_figures *f)
{
    uint64_t n = f->writes + f->reads;

    return n && (f->written_bytes + f->read_bytes) / n < SMALL_BYTES;
}

/* ns of wall time, of one rank, aggregator or daemon. */
static uint64_t each(uint64_t sum, uint64_t n)
{
    return n ? sum / n : 0;
}

/* Something below the aggregators is too slow: what? */
static enum zcache_limit below(const struct zcache_figures *f)
{
    uint64_t busy = each(f->agg_store_busy_ns, f->aggregators);
    uint64_t theirs = each(f->iod_store_busy_ns, f->daemons);
    uint64_t waits = f->iod_room_ns + f->iod_fill_ns;

    if (f->daemons && theirs < busy * BETWEEN_PERCENT / 100 &&
        each(waits, f->daemons) < busy * BETWEEN_PERCENT / 100)
        return ZCACHE_LIMIT_NETWORK;
    return ZCACHE_LIMIT_STORE;
}

static enum zcache_limit why_writes_wait(const struct zcache_figures *f,
                                         const struct zcache_time_spent *t)
{
    uint64_t open = each(f->open_ns, f->ranks), busy = each(f->agg_store_busy_ns, f->aggregators);
    uint64_t theirs = each(f->iod_store_busy_ns, f->daemons);
    uint64_t computed = less(open, each(t->total, f->ranks)), full = open * BUSY_PERCENT / 100;

    if (computed < (busy > theirs ? busy : theirs) * HIDING_PERCENT / 100)
        return ZCACHE_LIMIT_NO_HIDING;
    if ((f->daemons ? theirs : busy) >= full)
        return ZCACHE_LIMIT_STORE;
    if (f->daemons && t->room >= t->drain && each(f->iod_room_ns, f->daemons) >= busy / 2)
        return ZCACHE_LIMIT_IOD_CACHE;
    if (f->daemons && busy >= full)
        return below(f);
    return t->room >= t->drain ? ZCACHE_LIMIT_CACHE : ZCACHE_LIMIT_NO_HIDING;
}

enum zcache_limit zcache_limit_of(const struct zcache_figures *f)
{
    struct zcache_time_spent t;
    uint64_t store, most;

    zcache_limit_time(f, &t);
    if (t.total < f->open_ns * LITTLE_PERCENT / 100 || t.total == 0)
        return ZCACHE_LIMIT_NONE;
    store = t.room + t.fill + t.drain;
    most = store > t.network ? store : t.network;
    most = most > t.ranks ? most : t.ranks;
    most = most > t.copying ? most : t.copying;
    if (most == t.ranks)
        return ZCACHE_LIMIT_RANKS;
    if (most == t.network)
        return is_small(f) ? ZCACHE_LIMIT_SMALL : ZCACHE_LIMIT_NETWORK;
    if (most == t.copying)
        return is_small(f) ? ZCACHE_LIMIT_SMALL : ZCACHE_LIMIT_NONE;
    if (t.fill >= t.room && t.fill >= t.drain)
        return below(f);
    return why_writes_wait(f, &t);
}

/* ---- for people ---- */

static unsigned percent(uint64_t part, uint64_t whole)
{
    return whole ? (unsigned)(100.0 * (double)part / (double)whole + 0.5) : 0;
}

/* What aggregators' caches would hold all of, as a hint's value. */
static char *enough(const struct zcache_figures *f, char *buf, size_t len)
{
    uint64_t wanted = each(f->written_bytes, f->aggregators) * 2, size = 1 << 20;

    while (size < wanted && size < UINT64_MAX / 2)
        size *= 2;
    return zc_show_size(size, buf, len);
}

static void say_cache(const struct zcache_figures *f, const struct zcache_time_spent *t, char *buf,
                      size_t len)
{
    char now[32], then[32];

    snprintf(buf, len,
             "limited by the cache, which is too small: %u%% of the time in its calls the program "
             "waited for room while the file system had time; raise the hint zcache_cache_size "
             "(%s; %s holds all that was written)",
             percent(t->room, t->total),
             zc_show_size(each(f->agg_cache_bytes, f->aggregators), now, sizeof now),
             enough(f, then, sizeof then));
}

static void say_small(const struct zcache_figures *f, char *buf, size_t len)
{
    uint64_t n = f->writes + f->reads;

    snprintf(buf, len,
             "limited by small accesses: %" PRIu64 " of %" PRIu64
             " bytes each on average; make fewer and larger ones, by a datatype or a file view "
             "that names all pieces of a call",
             n, each(f->written_bytes + f->read_bytes, n));
}

static void say_none(const struct zcache_figures *f, const struct zcache_time_spent *t, char *buf,
                     size_t len)
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

char *zcache_limit_text(const struct zcache_figures *f, char *buf, size_t len)
{
    struct zcache_time_spent t;

    zcache_limit_time(f, &t);
    switch (zcache_limit_of(f)) {
    case ZCACHE_LIMIT_CACHE:
        say_cache(f, &t, buf, len);
        break;
    case ZCACHE_LIMIT_IOD_CACHE:
        snprintf(buf, len,
                 "limited by the cache of the daemons, which is too small: it was full while the "
                 "file system had time; raise --cache-size of zcached");
        break;
    case ZCACHE_LIMIT_STORE:
        snprintf(
            buf, len,
            "limited by the file system: it was at work %u%% of the time that the file was "
            "open; read and write fewer bytes, in order, or spread them over more of its "
            "servers",
            f->daemons
                ? percent(each(f->iod_store_busy_ns, f->daemons), each(f->open_ns, f->ranks))
                : percent(each(f->agg_store_busy_ns, f->aggregators), each(f->open_ns, f->ranks)));
        break;
    case ZCACHE_LIMIT_NETWORK:
        snprintf(buf, len,
                 "limited by the network, or by processor time on one host: the way of the bytes "
                 "took longer than cache and file system; between hosts use a faster provider "
                 "(hint zcache_provider), more aggregators (hint cb_nodes), or more daemons; on "
                 "one host run fewer ranks, which leave aggregators and daemons processor time");
        break;
    case ZCACHE_LIMIT_SMALL:
        say_small(f, buf, len);
        break;
    case ZCACHE_LIMIT_NO_HIDING:
        snprintf(buf, len,
                 "limited by having no computing to hide behind: the file system was waited for "
                 "with nothing else to do; compute between the last write and the close, or leave "
                 "the rest to daemons by the hint zcache_close_level=staged");
        break;
    case ZCACHE_LIMIT_RANKS:
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
