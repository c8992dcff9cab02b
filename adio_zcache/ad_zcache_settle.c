/* ad_zcache_settle.c - what an open's hints come to, the same on every rank.
 *
 *     rank 0's settings ---> every rank ---> the open ---> what aggregators, daemons and
 *     (its hints, its        take()                        connections do: settle()
 *     environment): decide()
 *
 * No policy differs between ranks.  Where something is decided already, by files in use,
 * connections or daemons, that takes the place of what was asked for, and is said once if somebody
 * did ask.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ad_zcache.h"
#include "ad_zcache_hints.h"
#include "zc_log.h"
#include "zc_options.h"
#include "zcache_agg.h"
#include "zcache_counters.h"
#include "zcache_file.h"
#include "zcache_network.h"
#include "zcache_outcome.h"

static const struct zc_option *option(const char *name)
{
    return zc_option_find(name, ZC_SCOPE_HINT);
}

/* ---- what is in force instead ---- */

/* Somebody asked for something else than there is: says so, and what to do. */
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

void zcache_hints_joined(ADIO_File fd, const struct zcache_wished *wished)
{
    struct zc_settings *s = &zcache_file_of(fd)->settings;
    uint64_t block_size = s->block_size, write_back = s->write_back, replay = s->replay;
    uint64_t on_loss = s->on_daemon_loss, checksum = s->checksum;
    const char *why = zcache_file_of(fd)->place.daemons ? in_use : "there is no daemon to lose";

    s->block_size = wished->block_size;
    s->write_back = wished->write_back;
    s->replay = wished->replay;
    s->on_daemon_loss = wished->on_daemon_loss;
    s->checksum = wished->checksum;
    decided(fd, "block_size", block_size,
            "the file is in use, or in a daemon's cache, with blocks of that size, which it keeps "
            "until it is not");
    decided(fd, "write_back", write_back, in_use);
    decided(fd, "replay", replay,
            zcache_file_of(fd)->place.daemons ? in_use : "there is no daemon that could die");
    decided(fd, "on_daemon_loss", on_loss, why);
    decided(fd, "checksum", checksum, in_use);
}

static const char of_process[] =
    "connections that exist have it, until the program ends; give the hint to the first open";

/* What rank 0's connections have goes for everybody. */
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

/* Ranks may have connections with another timeout, from files that rank 0 has nothing to do with:
 * the least of all is what may be relied on. */
static void take_timeout(ADIO_File fd, int64_t least)
{
    uint64_t wished = zcache_file_of(fd)->settings.timeout;

    decided(fd, "timeout", wished < (uint64_t)least ? wished : (uint64_t)least, of_process);
}

/* ---- agreeing ---- */

/* What is no value by itself, but for want of another; on rank 0. */
static void check(ADIO_File fd, struct zc_settings *s)
{
    const struct zc_option *high = option("high_watermark"), *low = option("low_watermark");
    const struct zc_option *flush = option("flush");
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
    if (!zc_option_given(s, option("log")))
        s->log = zc_log_threshold;
}

/* "+name=value" of every row that somebody set, "-name=value" of the others, empty values included,
 * each with its NUL; allocated. */
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

/* What of the text has no room in the message, to all; *all: on rank 0 all of it, on others to be
 * made, and then the caller's. */
static int rest_of_text(ADIO_File fd, const struct zcache_hints_text *t, char **all)
{
    size_t len = (size_t)t->len;

    if (!*all) {
        *all = malloc(len);
        if (!*all) /* the broadcast must not miss anybody: give it a place to go */
            ADIOI_Assert(*all);
        memcpy(*all, t->start, len < sizeof t->start ? len : sizeof t->start);
    }
    if (len <= sizeof t->start)
        return 0;
    return zcache_outcome_bytes(*all + sizeof t->start, len - sizeof t->start, 0, fd->comm);
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

    if (t->len == 0) /* rank 0 has none, and says why */
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

/* ---- what the aggregators do ---- */

static const char of_caches[] =
    "files in use have it; give the hint to the first open, or when no file is open";

static void take_in_force(ADIO_File fd, const struct zcache_in_force *now)
{
    struct zc_settings *s = &zcache_file_of(fd)->settings;
    uint64_t below = s->write_back & ~(uint64_t)ZC_WRITE_BACK_AGGREGATOR;
    const char *why = now->background ? of_caches
                                      : "with this zcache_write_back aggregators do so at sync and "
                                        "close, and when they are full";

    decided(fd, "cache_size", now->cache_size, of_caches);
    decided(fd, "view_memory", now->view_memory, of_caches);
    decided(fd, "high_watermark", now->high_watermark, why);
    decided(fd, "low_watermark", now->low_watermark, why);
    decided(fd, "idle_time", now->idle_time, why);
    decided(fd, "write_back", below | (now->background ? ZC_WRITE_BACK_AGGREGATOR : 0), in_use);
}

/* Two names of one protocol, of which a libfabric knows one. */
static bool is_tcp(const char *provider)
{
    return !strcmp(provider, "tcp") || !strcmp(provider, "net");
}

/* Who knows what owners are reached by: the first that is among the ranks, or else rank 0, which
 * has opened the file at the others. */
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

/* What the ranks reach an owner by. */
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
    rc = zcache_outcome_bytes(name, sizeof name, root, fd->comm);
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

/* No rank of the open is an owner: the first rank asks those who are. */
static int ask_in_force(ADIO_File fd, struct zcache_in_force *now)
{
    struct zcache_outcome o = {0};
    int rank, rc;

    MPI_Comm_rank(fd->comm, &rank);
    if (rank == 0)
        zcache_outcome_set(&o, zcache_counters_in_force(zcache_file_of(fd), now));
    now->background = !!(zcache_file_of(fd)->settings.write_back & ZC_WRITE_BACK_AGGREGATOR);
    rc = zcache_outcome_bcast(&o, 0, fd->comm);
    return rc ? rc : zcache_outcome_bytes(now, sizeof *now, 0, fd->comm);
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
