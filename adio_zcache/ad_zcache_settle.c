/* ad_zcache_settle.c - the settings of an open, the same on every rank.
 *
 *     rank 0's settings ---> every rank ---> the open ---> what aggregators, daemons and
 *     (its hints, its        take()                        connections do: settle()
 *     environment): decide()
 *
 * No policy differs between ranks.  If files in use, connections or daemons have decided a setting
 * already, that value is in force, and is logged once if another one was asked for.  A cache size
 * that was not given is chosen here: check_cache().
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ad_zcache.h"
#include "ad_zcache_hints.h"
#include "zc_log.h"
#include "zc_memory_limit.h"
#include "zc_options.h"
#include "zc_units.h"
#include "zcache_agg.h"
#include "zcache_collective_error.h"
#include "zcache_counters.h"
#include "zcache_dedicated.h"
#include "zcache_file.h"
#include "zcache_network.h"
#include "zcache_process.h"

enum {
    UNIT = 1 << 20,        /* a cache size that is chosen here is a multiple of it, bytes */
    RANK_CACHE = 16 << 20, /* bytes of it for each rank: the default of ROMIO's cb_buffer_size */
};

static const struct zc_option *option(const char *name)
{
    return zc_option_find(name, ZC_SCOPE_HINT);
}

/* ---- what is in force instead ---- */

/* Logs that a hint has no effect, with the reason and the remedy. */
static void differs(ADIO_File fd, const char *name, const char *asked, const char *now,
                    const char *why)
{
    char about[ZC_OPTION_NAME_MAX + 16];

    snprintf(about, sizeof about, "%s in force", name);
    zcache_hints_complain(fd, about, "hint " ZCACHE_HINT "%s=%s has no effect, %s is in force: %s",
                          name, asked, now, why);
}

static void decided(ADIO_File fd, const char *name, uint64_t now, const char *why)
{
    struct zc_settings *s = &zcache_file_of(fd)->settings;
    const struct zc_option *o = option(name);
    bool given = zc_option_given(s, o);
    char asked[64], told[64];

    zc_option_show(s, o, asked, sizeof asked);
    zc_option_assign_number(s, o, now);
    zc_option_show(s, o, told, sizeof told);
    if (given && strcmp(asked, told))
        differs(fd, name, asked, told, why);
}

static const char in_use[] = "the file is in use with it";

/* Returns the reason of a block size other than `wished`, the requested one. */
static const char *why_blocks(const struct zcache_file *f, uint64_t wished, bool created)
{
    bool smaller = f->stripe.daemons && wished < f->stripe.block_size;

    if (smaller && created)
        return "the page size of the daemons, of which a block is a multiple: start zcached with a "
               "smaller --page-size";
    if (smaller)
        return "the file is in use, or in a daemon's cache, with blocks of that size, which it "
               "keeps until it is not; or pages of the daemons are that large (--page-size)";
    return "the file is in use, or in a daemon's cache, with blocks of that size, which it keeps "
           "until it is not";
}

/* Reports on which daemons the blocks lie.  Programs give these hints for other file systems, too,
 * so without daemons a difference is not reported. */
static void placed(ADIO_File fd, const struct zcache_wished *wished)
{
    struct zcache_file *f = zcache_file_of(fd);
    uint64_t width = zc_stripe_width(&f->stripe), first = zc_stripe_daemon(&f->stripe, 0);
    const char *why = wished->striping_factor > f->stripe.daemons ? "there are no more daemons"
                      : wished->created                           ? "there are as many daemons"
                                        : "the file was made with it, or is in use with it";

    f->settings.striping_factor = wished->striping_factor ? wished->striping_factor : width;
    f->settings.start_iodevice = wished->start_iodevice;
    if (f->stripe.daemons && wished->striping_factor)
        decided(fd, "striping_factor", width, why);
    if (f->stripe.daemons)
        decided(fd, "start_iodevice", first, why);
    f->settings.striping_factor = width;
    f->settings.start_iodevice = first;
}

/* Returns the reason of an agreed setting other than `wished`; most often the file is in use with
 * it. */
static const char *why_agreed(const struct zcache_file *f, const struct zc_option *o,
                              uint64_t wished, bool created)
{
    if (!strcmp(o->name, "block_size"))
        return why_blocks(f, wished, created);
    if (!f->stripe.daemons && !strcmp(o->name, "replay"))
        return "there is no daemon that could die";
    if (!f->stripe.daemons && !strcmp(o->name, "on_daemon_loss"))
        return "there is no daemon to lose";
    return in_use;
}

void zcache_hints_joined(ADIO_File fd, const struct zcache_wished *wished)
{
    const struct zcache_file *f = zcache_file_of(fd);
    struct zc_agreed now;
    const struct zc_option *o;

    placed(fd, wished);
    zc_agreed_of(&f->settings, &now);
    zc_agreed_apply(&wished->agreed, &zcache_file_of(fd)->settings);
    for (unsigned i = 0; (o = zc_agreed_row(i)); i++)
        decided(fd, o->name, now.values[i],
                why_agreed(f, o, wished->agreed.values[i], wished->created));
}

static const char of_process[] =
    "connections that exist have it, until the program ends; give the hint to the first open";

/* Rank 0's connections decide for all. */
static void take_network(ADIO_File fd, struct zc_settings *s)
{
    uint64_t timeout = s->timeout;
    char *provider = s->provider ? strdup(s->provider) : NULL;
    const struct zc_option *o = option("provider");

    zcache_network_adopt(s);
    if (s->timeout != timeout) {
        uint64_t now = s->timeout;

        s->timeout = timeout;
        decided(fd, "timeout", now, of_process);
    }
    if (provider && s->provider && zc_option_given(s, o) && strcmp(provider, s->provider))
        differs(fd, o->name, provider, s->provider, of_process);
    free(provider);
}

/* Other ranks may have connections with another time-out, from files without rank 0: the minimum is
 * in force. */
static void take_timeout(ADIO_File fd, int64_t least)
{
    uint64_t wished = zcache_file_of(fd)->settings.timeout;

    decided(fd, "timeout", wished < (uint64_t)least ? wished : (uint64_t)least, of_process);
}

/* ---- agreeing ---- */

/* Returns how many processes of a host may own blocks at most: all, or cb_nodes where all of the
 * job opens the file.  If a part of the job opens it, other files may have other owners on the
 * host. */
static unsigned owners_on_host(ADIO_File fd)
{
    unsigned here = zcache_process_on_host();
    int owners = fd->hints->cb_nodes, size, world;

    MPI_Comm_size(fd->comm, &size);
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    if (size < world || owners <= 0 || owners > size)
        owners = world;
    return here < (unsigned)owners ? here : (unsigned)owners;
}

/* Returns the cache size that takes a burst of the file's ranks, or the default if that is more.
 * With daemons fewer than cb_nodes may own blocks (zc_stripe.h): their caches stay smaller. */
static uint64_t for_ranks(ADIO_File fd, const struct zc_settings *s)
{
    int ranks, owners = fd->hints->cb_nodes;
    uint64_t size;

    MPI_Comm_size(fd->comm, &ranks);
    if (owners <= 0 || owners > ranks)
        owners = ranks;
    size = (uint64_t)RANK_CACHE * (uint64_t)ranks / (uint64_t)owners;
    size -= size % UNIT;
    return size > s->agg_cache_size ? size : s->agg_cache_size;
}

/* A cache size that was not given follows the number of ranks and the memory of rank 0's host. */
static void check_cache(ADIO_File fd, struct zc_settings *s)
{
    const struct zc_option *o = option("cache_size");
    const struct zc_memory_limit *by;
    static bool told; /* atomic */
    unsigned owners = owners_on_host(fd);
    uint64_t least = 2 * (s->block_size < ZCACHE_PAGE_MAX ? s->block_size : ZCACHE_PAGE_MAX), fit;
    char now[32], all[32], wished[32];

    if (zcache_dedicated_wanted(s))
        return;
    if (!zc_option_given(s, o))
        zc_option_assign_number(s, o, for_ranks(fd, s));
    fit = zcache_mem_budget_fit(s->agg_cache_size, least, owners, &by);
    if (fit >= s->agg_cache_size)
        return;
    zc_publish_size(s->agg_cache_size, wished, sizeof wished);
    zc_format_size(by->bytes, all, sizeof all);
    if (zc_option_given(s, o)) {
        if (s->agg_cache_size >= by->bytes / (by->shared ? owners : 1))
            zcache_hints_complain(fd, o->name,
                                  "hint " ZCACHE_HINT "cache_size=%s does not fit into %s (%s) for "
                                  "each owner: the program may be killed when its caches fill",
                                  wished, all, by->text);
        return;
    }
    if (fit > UNIT)
        fit -= fit % UNIT;
    zc_option_assign_number(s, o, fit);
    if (__atomic_exchange_n(&told, true, __ATOMIC_RELAXED))
        return;
    zc_info("%s: cache size %s, not %s: a part of %s (%s)", fd->filename,
            zc_publish_size(fit, now, sizeof now), wished, all, by->text);
}

/* Corrects settings that are invalid in combination; on rank 0. */
static void check(ADIO_File fd, struct zc_settings *s)
{
    const struct zc_option *high = option("high_watermark"), *low = option("low_watermark");
    const struct zc_option *flush = option("flush"), *steps = option("steps");
    char h[16], l[16];

    if (s->agg_low_watermark >= s->agg_high_watermark) {
        zc_option_show(s, high, h, sizeof h);
        zc_option_show(s, low, l, sizeof l);
        zc_option_reset(s, high);
        zc_option_reset(s, low);
        zcache_hints_complain(fd, high->name,
                              "hints " ZCACHE_HINT "high_watermark=%s and " ZCACHE_HINT
                              "low_watermark=%s ignored: the "
                              "low one must be below the high one; they are %s and %s",
                              h, l, high->deflt, low->deflt);
    }
    if (s->flush != ZCACHE_FLUSH_NONE)
        zcache_hints_complain(fd, flush->name,
                              "hint " ZCACHE_HINT "flush ignored: it means something to %s alone",
                              "MPI_File_set_info");
    zc_option_reset(s, flush);
    if (s->steps && fd->access_mode & ADIO_RDONLY) {
        zcache_hints_complain(fd, steps->name,
                              "hint " ZCACHE_HINT "steps ignored: %s is opened for reading only",
                              fd->filename);
        zc_option_reset(s, steps);
    }
    if (!zc_option_given(s, option("log")))
        s->log = zc_log_threshold;
    check_cache(fd, s);
}

/* Makes a text of "+name=value" for every setting that was given, "-name=value" for the others,
 * empty values included, each with its NUL; allocated. */
static char *settings_text(const struct zc_settings *s, size_t *len)
{
    char *text = NULL;
    FILE *f = open_memstream(&text, len);
    char number[64];

    if (!f)
        return NULL;
    for (const struct zc_option *o = zc_options; o->name; o++) {
        const char *value = zc_option_string(s, o);

        if (!(o->scope & (ZC_SCOPE_HINT | ZC_SCOPE_ENV)))
            continue;
        if (!value)
            value = zc_option_show(s, o, number, sizeof number);
        fprintf(f, "%c%s=%s%c", zc_option_given(s, o) ? '+' : '-', o->name, value, 0);
    }
    if (fclose(f)) {
        free(text);
        return NULL;
    }
    return text;
}

static void take_setting(struct zc_settings *s, const char *line)
{
    char name[ZC_OPTION_NAME_MAX];
    const char *value = strchr(line, '=');
    const struct zc_option *o;

    if (!value)
        return;
    snprintf(name, sizeof name, "%.*s", (int)(value - line - 1), line + 1);
    o = zc_option_find(name, ZC_SCOPE_HINT | ZC_SCOPE_ENV);
    if (!o)
        return;
    zc_option_reset(s, o);
    if (*++value)
        zc_option_set(s, o, value);
    if (*line == '-')
        zc_option_ungive(s, o);
}

static void take_settings(struct zc_settings *s, const char *text, size_t len)
{
    for (const char *line = text; line < text + len; line += strlen(line) + 1)
        take_setting(s, line);
}

/* Broadcasts the part of the text that does not fit into the message; *all: the whole text on rank
 * 0, allocated on the others. */
static int rest_of_text(ADIO_File fd, const struct zcache_hints_text *t, char **all)
{
    size_t len = (size_t)t->len;

    if (!*all) {
        *all = malloc(len);
        if (!*all) /* the broadcast needs all ranks, so give it a buffer */
            ADIOI_Assert(*all);
        memcpy(*all, t->start, len < sizeof t->start ? len : sizeof t->start);
    }
    if (len <= sizeof t->start)
        return 0;
    return zcache_collective_error_bytes(*all + sizeof t->start, len - sizeof t->start, 0,
                                         fd->comm);
}

static void in_force(ADIO_File fd, int64_t timeout)
{
    struct zc_settings *s = &zcache_file_of(fd)->settings;

    if (zc_option_given(s, option("log")))
        zc_log_level((enum zc_log_level)s->log);
    take_timeout(fd, timeout);
}

int zcache_hints_decide(ADIO_File fd, int64_t timeout, struct zcache_hints_text *t, char **all)
{
    struct zc_settings *s = &zcache_file_of(fd)->settings;
    size_t len;

    check(fd, s);
    take_network(fd, s);
    *all = settings_text(s, &len);
    if (!*all)
        return zc_errorf(ENOMEM, "no memory for the settings");
    t->len = (int32_t)len;
    memcpy(t->start, *all, len < sizeof t->start ? len : sizeof t->start);
    in_force(fd, timeout);
    return 0;
}

int zcache_hints_take(ADIO_File fd, int rank, int64_t timeout, const struct zcache_hints_text *t,
                      char *all)
{
    char *text = all;
    int rc;

    if (t->len == 0) /* rank 0 has none, and reports why */
        return 0;
    rc = rest_of_text(fd, t, &text);
    if (rc == 0 && rank != 0) {
        take_settings(&zcache_file_of(fd)->settings, text, (size_t)t->len);
        in_force(fd, timeout);
    }
    if (text != all)
        free(text);
    return rc;
}

/* ---- the aggregators' settings ---- */

static const char of_caches[] =
    "files in use have it; give the hint to the first open, or when no file is open";

static const char of_dedicated[] =
    "the dedicated aggregators have it, whatever programs ask for; zcache run --aggregator-cache "
    "gives them another cache, zcached has options for the rest";

static void take_in_force(ADIO_File fd, const struct zcache_in_force *now)
{
    struct zc_settings *s = &zcache_file_of(fd)->settings;
    uint64_t below = s->write_back & ~(uint64_t)ZC_WRITE_BACK_AGGREGATOR;
    bool dedicated = zcache_dedicated_owns(zcache_file_of(fd));
    const char *of_size = dedicated ? of_dedicated : of_caches;
    const char *why = now->background ? of_size
                                      : "with this zcache_write_back aggregators write at sync and "
                                        "close, and when their caches are full";

    decided(fd, "cache_size", now->cache_size, of_size);
    decided(fd, "view_memory", now->view_memory, of_size);
    decided(fd, "high_watermark", now->high_watermark, why);
    decided(fd, "low_watermark", now->low_watermark, why);
    decided(fd, "idle_time", now->idle_time, why);
    decided(fd, "write_back", below | (now->background ? ZC_WRITE_BACK_AGGREGATOR : 0),
            dedicated ? of_dedicated : in_use);
}

/* libfabric names TCP "tcp" or "net", depending on its version. */
static bool is_tcp(const char *provider)
{
    return !strcmp(provider, "tcp") || !strcmp(provider, "net");
}

/* Returns the rank that knows which provider is in use: the first owner among the ranks, or rank 0,
 * which has a connection to owners elsewhere. */
static int provider_root(const struct zcache_file *f)
{
    for (uint32_t i = 0; i < f->nowners; i++)
        if (!f->owners[i].elsewhere)
            return f->owners[i].rank;
    return 0;
}

static const char *provider_in_use(struct zcache_file *f)
{
    struct zc_client *c;

    if (f->agg)
        return zcache_agg_provider(f->agg, f->near);
    return zcache_owner_client(f, &f->owners[0], &c) ? NULL : zc_client_provider(c);
}

/* Sets the provider by which ranks reach an owner. */
static int take_provider(ADIO_File fd, struct zcache_file *f)
{
    const struct zc_option *o = option("provider");
    bool given = zc_option_given(&f->settings, o);
    int rank, root = provider_root(f), rc;
    const char *mine;
    char name[64] = "";

    MPI_Comm_rank(fd->comm, &rank);
    mine = rank == root ? provider_in_use(f) : NULL;
    if (mine)
        snprintf(name, sizeof name, "%s", mine);
    rc = zcache_collective_error_bytes(name, sizeof name, root, fd->comm);
    if (rc || !name[0] || !strcmp(name, f->settings.provider))
        return rc;
    if (given && !(is_tcp(name) && is_tcp(f->settings.provider)))
        differs(fd, o->name, f->settings.provider, name,
                "this libfabric has no other, or connections that exist have it");
    rc = zc_option_set(&f->settings, o, name);
    if (!given)
        zc_option_ungive(&f->settings, o);
    return rc;
}

/* Without an owner among the ranks: the first rank asks the owners. */
static int ask_in_force(ADIO_File fd, struct zcache_in_force *now)
{
    struct zc_error o = {0};
    int rank, rc;

    MPI_Comm_rank(fd->comm, &rank);
    if (rank == 0)
        zc_error_keep(&o, zcache_counters_in_force(zcache_file_of(fd), now));
    now->background = zcache_dedicated_owns(zcache_file_of(fd)) ||
                      zcache_file_of(fd)->settings.write_back & ZC_WRITE_BACK_AGGREGATOR;
    rc = zcache_collective_error_bcast(&o, 0, fd->comm);
    return rc ? rc : zcache_collective_error_bytes(now, sizeof *now, 0, fd->comm);
}

int zcache_hints_settle(ADIO_File fd)
{
    struct zcache_file *f = zcache_file_of(fd);
    int rc = 0, size;

    if (f->in_force.cache_size == UINT64_MAX)
        rc = ask_in_force(fd, &f->in_force);
    if (rc == 0)
        take_in_force(fd, &f->in_force);
    MPI_Comm_size(fd->comm, &size);
    if (rc == 0 && size > 1 && !f->near)
        rc = take_provider(fd, f);
    if (rc == 0 && size > 1 && zc_option_given(&f->settings, option("local")) &&
        f->settings.local && !f->near)
        differs(fd, "local", "true", "false",
                "its ranks are not all on one host, or may not reach each other's memory there");
    return rc;
}
