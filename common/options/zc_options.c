/* zc_options.c - the option table, and everything that is derived from a row. */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "zc_cache.h"
#include "zc_journal.h"
#include "zc_log.h"
#include "zc_options.h"
#include "zc_predict.h"
#include "zc_store.h"
#include "zc_transport.h"
#include "zc_units.h"

extern char **environ;

enum { VALUE_SHOWN = 80 };

#define KIB  (1ull << 10)
#define MIB  (1ull << 20)
#define PIB  (1ull << 50)
#define HOUR (3600ull * 1000)

/* A default that somebody else defines, as text. */
#define TEXT_OF(n)      #n
#define TEXT(n)         TEXT_OF(n)
#define MIB_TEXT(n)     TEXT(n) "M"
#define PERCENT_TEXT(n) TEXT(n) "%"

#define HINT   ZC_SCOPE_HINT
#define ENV    ZC_SCOPE_ENV
#define DAEMON (ZC_SCOPE_DAEMON | ZC_SCOPE_FILE)

#define AT(member) offsetof(struct zc_settings, member)

static const char *const levels[] = {
    [ZC_LEVEL_VISIBLE] = "visible",
    [ZC_LEVEL_STAGED] = "staged",
    [ZC_LEVEL_STORED] = "stored",
    [ZC_LEVEL_DURABLE] = "durable",
    NULL,
};
static const char *const write_backs[] = {
    [ZC_WRITE_BACK_NONE] = "none",
    [ZC_WRITE_BACK_AGGREGATOR] = "aggregator",
    [ZC_WRITE_BACK_DAEMON] = "daemon",
    [ZC_WRITE_BACK_BOTH] = "both",
    NULL,
};
static const char *const replays[] = {
    [ZC_REPLAY_OFF] = "off",
    [ZC_REPLAY_ON] = "on",
    [ZC_REPLAY_STRICT] = "strict",
    NULL,
};
static const char *const stats[] = {
    [ZC_STATS_OFF] = "0",
    [ZC_STATS_TEXT] = "1",
    [ZC_STATS_JSON] = "json",
    NULL,
};
static const char *const checksums[] = {
    [ZC_CHECKSUM_OFF] = "off",
    [ZC_CHECKSUM_ON] = "on",
    NULL,
};
static const char *const losses[] = {
    [ZC_LOSS_ERROR] = "error",
    [ZC_LOSS_BYPASS] = "bypass",
    NULL,
};
static const char *const auths[] = {
    [ZC_AUTH_SECRET] = "secret",
    [ZC_AUTH_MUNGE] = "munge",
    NULL,
};
static const char *const flushes[] = {"none", "start", "wait", NULL};
static const char *const orders[] = {"oldest", "newest", NULL}; /* enum zc_flush_order */

const struct zc_option zc_options[] = {
    /* ---- what is served and where it is found ---- */
    {"root", ZC_OPT_STRING, DAEMON, NULL, 0, 0, NULL, AT(root), "DIR",
     "serve files below this directory, and only those"},
    {"address_file", ZC_OPT_STRING, DAEMON, NULL, 0, 0, NULL, AT(address_file), "FILE",
     "write the daemon's address here when it is ready; programs find it by this file"},
    {"provider", ZC_OPT_STRING, HINT | DAEMON | ENV, ZC_DEFAULT_PROVIDER, 0, 0, NULL, AT(provider),
     "NAME", "libfabric provider, as fi_info lists them"},
    {"listen", ZC_OPT_STRING, DAEMON, "loopback", 0, 0, NULL, AT(listen), "WHERE",
     "be reached at this own address, host name or network interface; fabric: the provider's "
     "first; loopback: from this host only"},
    {"timeout", ZC_OPT_TIME, HINT | DAEMON | ENV, TEXT(ZC_DEFAULT_TIMEOUT_S) "s", 100, 24 * HOUR,
     NULL, AT(timeout), "TIME", "silence after which the other side counts as gone"},
    {"hang_report", ZC_OPT_TIME, DAEMON | ENV, "30s", 0, 24 * HOUR, NULL, AT(hang_report), "TIME",
     "log calls to the store that take longer, by path, and when they are over; 0 for none"},
    {"trace", ZC_OPT_STRING, DAEMON | ENV, NULL, 0, 0, NULL, AT(trace), "DIR",
     "record what is done when, in a file of this directory, as zcache run --trace asks for"},
    {"daemons", ZC_OPT_STRING, ENV, NULL, 0, 0, NULL, AT(daemons), "LIST",
     "address files, or directories of them (*.addr), in order, separated by commas; unset: "
     "no daemon, files are reached directly"},

    /* ---- an aggregator's cache ---- */
    {"cache_size", ZC_OPT_SIZE, HINT, "128M", 8 * KIB, PIB, NULL, AT(agg_cache_size), "SIZE",
     "memory for cached pages of an aggregator, for all its files together; a later open may ask "
     "for more"},
    {"view_memory", ZC_OPT_PERCENT, HINT, "12%", 0, 50, NULL, AT(agg_view_memory), "PERCENT",
     "share of an aggregator's cache size that is for views of other ranks; what finds no room is "
     "sent as lists of pieces with each access"},
    {"high_watermark", ZC_OPT_PERCENT, HINT, "50%", 1, 100, NULL, AT(agg_high_watermark), "PERCENT",
     "share of an aggregator's cache that may be dirty before write-back starts"},
    {"low_watermark", ZC_OPT_PERCENT, HINT, "10%", 0, 99, NULL, AT(agg_low_watermark), "PERCENT",
     "share of an aggregator's cache that may still be dirty when write-back stops; below the high "
     "one"},
    {"idle_time", ZC_OPT_TIME, HINT, "20ms", 0, 24 * HOUR, NULL, AT(agg_idle_time), "TIME",
     "aggregators write back what has not been touched for so long, 0 for never"},
    {"prefetch", ZC_OPT_FLAG, HINT, "true", 0, 0, NULL, AT(agg_prefetch), NULL,
     "aggregators read ahead of what the program reads in order"},
    {"prefetch_depth", ZC_OPT_COUNT, HINT, "16", 0, ZC_PREDICT_DEPTH_MAX, NULL,
     AT(agg_prefetch_depth), "N",
     "pages an aggregator reads ahead at most, each a block or 1 MiB if that is less"},
    {"write_back", ZC_OPT_ENUM, HINT, "both", 0, 0, write_backs, AT(write_back), "WHO",
     "who writes back while the program computes; else an aggregator does so when full, at sync "
     "and close, and a daemon before it acknowledges a write"},

    {"replay", ZC_OPT_ENUM, HINT, "on", 0, 0, replays, AT(replay), "WHAT",
     "aggregators keep what a daemon has not stored yet, and send it again when that died: while "
     "there is room, or strictly; off where their cache has not twice a block, unless it is given"},
    {"on_daemon_loss", ZC_OPT_ENUM, HINT | ENV, "error", 0, 0, losses, AT(on_daemon_loss), "WHAT",
     "a daemon that is not back when the timeout is over makes errors, or is bypassed: aggregators "
     "write its part of open files themselves"},

    {"checksum", ZC_OPT_ENUM, HINT | ENV, "off", 0, 0, checksums, AT(checksum), "WHAT",
     "what aggregators and daemons send each other has checksums; what comes damaged is sent "
     "again, "
     "or an error"},

    /* ---- the daemon's cache ---- */
    {"cache_size", ZC_OPT_SIZE, DAEMON, MIB_TEXT(ZC_DEFAULT_CACHE_MIB), 0, PIB, NULL,
     AT(cache_size), "SIZE",
     "memory for cached pages; 0: nothing is cached, writes are in the file system before they "
     "are acknowledged and reads come from there"},
    {"page_size", ZC_OPT_POWER, DAEMON, MIB_TEXT(ZC_DEFAULT_PAGE_MIB), ZC_PAGE_SIZE_MIN,
     ZC_PAGE_SIZE_MAX, NULL, AT(page_size), "SIZE", "unit of caching"},
    {"high_watermark", ZC_OPT_PERCENT, DAEMON, PERCENT_TEXT(ZC_DEFAULT_HIGH_PERCENT), 1, 100, NULL,
     AT(high_watermark), "PERCENT",
     "share of the cache that may be dirty before write-back starts"},
    {"low_watermark", ZC_OPT_PERCENT, DAEMON, PERCENT_TEXT(ZC_DEFAULT_LOW_PERCENT), 0, 99, NULL,
     AT(low_watermark), "PERCENT",
     "share of the cache that may still be dirty when write-back stops"},
    {"idle_time", ZC_OPT_TIME, DAEMON, TEXT(ZC_DEFAULT_IDLE_MS) "ms", 0, 24 * HOUR, NULL,
     AT(idle_time), "TIME", "write back what has not been touched for so long, 0 for never"},
    {"failed_quota", ZC_OPT_PERCENT, DAEMON, PERCENT_TEXT(ZC_DEFAULT_FAILED_PERCENT), 1, 50, NULL,
     AT(failed_quota), "PERCENT",
     "share of the cache that a file may take up whose write-back fails; then its writers get "
     "the error, and other files have the rest"},
    {"flush_order", ZC_OPT_ENUM, DAEMON, "oldest", 0, 0, orders, AT(flush_order), "ORDER",
     "what to write back first: what became dirty first, or what was modified last"},
    {"flushers", ZC_OPT_COUNT, DAEMON, TEXT(ZC_DEFAULT_FLUSHERS), 1, 64, NULL, AT(flushers), "N",
     "threads that write back"},
    {"readers", ZC_OPT_COUNT, DAEMON, TEXT(ZC_DEFAULT_READERS), 1, 64, NULL, AT(readers), "N",
     "threads that read; all but one of them may read ahead"},
    {"max_io", ZC_OPT_SIZE, DAEMON, MIB_TEXT(ZC_DEFAULT_MAX_IO_MIB), 4 * KIB, 1024 * MIB, NULL,
     AT(max_io), "SIZE", "largest single write to the file system; at least a page"},
    {"max_read", ZC_OPT_SIZE, DAEMON, MIB_TEXT(ZC_DEFAULT_MAX_READ_MIB), 4 * KIB, 1024 * MIB, NULL,
     AT(max_read), "SIZE",
     "reads of neighbouring pages are merged up to this size; a page is always read at once"},
    {"prefetch", ZC_OPT_FLAG, DAEMON, "true", 0, 0, NULL, AT(prefetch), NULL,
     "read ahead of clients that read in order"},
    {"prefetch_depth", ZC_OPT_COUNT, DAEMON, "32", 0, ZC_PREDICT_DEPTH_MAX, NULL,
     AT(prefetch_depth), "N",
     "pages read ahead of a client at most, and a quarter of the cache for all of them"},

    /* ---- whom it serves ---- */
    {"auth", ZC_OPT_ENUM, DAEMON, "secret", 0, 0, auths, AT(auth), "HOW",
     "serve who knows the secret in the address file, its own user; or, as root, all users whom "
     "munge knows, each with his own rights"},
    {"allow_root", ZC_OPT_FLAG, DAEMON | ENV, "false", 0, 0, NULL, AT(allow_root), NULL,
     "serve as root without munge: who can read the address file has root's rights to files"},
    {"munge_socket", ZC_OPT_STRING, DAEMON | ENV, NULL, 0, 0, NULL, AT(munge_socket), "SOCKET",
     "munged's, where it is not the usual one; programs need the variable then, too"},
    {"user_sessions", ZC_OPT_COUNT, DAEMON, "1024", 0, 65536, NULL, AT(user_sessions), "N",
     "with munge: clients that one user may have at a time; 0 for any number"},
    {"user_opens", ZC_OPT_COUNT, DAEMON, "16384", 0, 1 << 20, NULL, AT(user_opens), "N",
     "with munge: files that one user may have open at a time; 0 for any number"},
    {"user_share", ZC_OPT_PERCENT, DAEMON, "50%", 0, 100, NULL, AT(user_share), "PERCENT",
     "with munge: share of the memory for requests and answers of clients that those of one user "
     "may have; 0 for all"},

    /* ---- its journal ---- */
    {"journal", ZC_OPT_STRING, DAEMON, NULL, 0, 0, NULL, AT(journal), "DIR",
     "keep what is not stored yet in this directory of a local disk, too: when the daemon dies the "
     "next one that is given it writes it back; of its own user, and of one daemon"},
    {"journal_size", ZC_OPT_SIZE, DAEMON, TEXT(ZC_JOURNAL_DEFAULT_GIB) "G", MIB, PIB, NULL,
     AT(journal_size), "SIZE",
     "what the journal may take of the disk; at least 16 pages.  When it is full, writers wait for "
     "write-back"},
    {"journal_sync", ZC_OPT_FLAG, DAEMON, "false", 0, 0, NULL, AT(journal_sync), NULL,
     "acknowledge writes when the disk has them: they survive the host's death, not only the "
     "daemon's"},

    /* ---- the daemon as a process ---- */
    {"config", ZC_OPT_STRING, ZC_SCOPE_DAEMON, NULL, 0, 0, NULL, AT(config), "FILE",
     "read options from this file, one \"name = value\" a line; the command line wins"},
    {"log_file", ZC_OPT_STRING, DAEMON, NULL, 0, 0, NULL, AT(log_file), "FILE",
     "append messages here instead of standard error, or hand them to syslog if it is that word; "
     "SIGHUP reopens it"},
    {"log", ZC_OPT_ENUM, HINT | DAEMON, "warn", 0, 0, zc_log_levels, AT(log), "LEVEL",
     "least important messages that are logged; ZCACHE_LOG is the default"},
    {"pid_file", ZC_OPT_STRING, DAEMON, NULL, 0, 0, NULL, AT(pid_file), "FILE",
     "write the process id here"},
    {"daemonize", ZC_OPT_FLAG, DAEMON, NULL, 0, 0, NULL, AT(daemonize), NULL,
     "go to the background as soon as the daemon is ready; messages then go to the log file, "
     "by default the address file's name with .log behind it"},

    /* ---- the library in an MPI program ---- */
    {"losses", ZC_OPT_STRING, ENV, NULL, 0, 0, NULL, AT(losses), "FILE",
     "append a line here for every file that bytes were lost of, as zcache run asks for"},
    {"local", ZC_OPT_FLAG, HINT | ENV, "true", 0, 0, NULL, AT(local), NULL,
     "ranks that are all on one host, and may, reach each other's memory through the kernel "
     "and not by libfabric"},
    {"block_size", ZC_OPT_POWER, HINT, MIB_TEXT(ZC_DEFAULT_BLOCK_MIB), 4 * KIB, 64 * MIB, NULL,
     AT(block_size), "SIZE",
     "unit of a file that one aggregator and one daemon owns; striping_unit is the same"},
    {"sync_level", ZC_OPT_ENUM, HINT, "durable", 0, 0, levels, AT(sync_level), "LEVEL",
     "how far data has come when MPI_File_sync returns"},
    {"close_level", ZC_OPT_ENUM, HINT, "stored", 0, 0, levels, AT(close_level), "LEVEL",
     "how far data has come when MPI_File_close returns"},
    {"flush", ZC_OPT_ENUM, HINT, "none", 0, 0, flushes, AT(flush), "WHAT",
     "for MPI_File_set_info: start to write the file back, or wait until it is stored"},
    {"read_after_write", ZC_OPT_FLAG, HINT, "true", 0, 0, NULL, AT(read_after_write), NULL,
     "a collective read of a file that is open for writing waits until all ranks have come to it, "
     "so that it sees what they wrote before"},
    {"counters", ZC_OPT_FLAG, HINT, NULL, 0, 0, NULL, AT(counters), NULL,
     "let MPI_File_get_info tell what the caches did: zcache_agg_... of the aggregators, "
     "zcache_iod_... of the daemons"},
    {"used", ZC_OPT_STRING, ENV, NULL, 0, 0, NULL, AT(used), "FILE",
     "make this file when one is opened, as zcache run asks for"},
    {"stats", ZC_OPT_ENUM, ENV, "0", 0, 0, stats, AT(stats), "HOW",
     "print what a file's accesses took and waited for when it is closed, and what limited them; "
     "json: as one line of JSON"},
    {"progress", ZC_OPT_TIME, ENV, NULL, 0, 24 * HOUR, NULL, AT(progress), "TIME",
     "say how much is left while a close takes longer, every so often; 0 for never; unset: 5s on a "
     "terminal"},
    {"summary", ZC_OPT_STRING, ENV, NULL, 0, 0, NULL, AT(summary), "FILE",
     "append that line of JSON here, as zcache run --summary asks for"},
    {0},
};

/* Variables read elsewhere, without a row. */
static const char *const other_env[] = {"ZCACHE_LOG", "ZCACHE_LOG_FILE", NULL};

/* ---- names ---- */

static const char *prefix_of(unsigned scope)
{
    switch (scope) {
    case ZC_SCOPE_HINT:
        return "zcache_";
    case ZC_SCOPE_DAEMON:
        return "--";
    case ZC_SCOPE_ENV:
        return "ZCACHE_";
    default:
        return "";
    }
}

/* The name without prefix, in lower case and with underscores; cut when too long to be one. */
static void bare_name(const char *name, char out[ZC_OPTION_NAME_MAX])
{
    size_t i = 0;

    while (*name == '-')
        name++;
    if (strncasecmp(name, "zcache_", 7) == 0)
        name += 7;
    for (; i < ZC_OPTION_NAME_MAX - 1 && name[i]; i++)
        out[i] = name[i] == '-' ? '_' : (char)tolower((unsigned char)name[i]);
    out[i] = '\0';
}

const struct zc_option *zc_option_find(const char *name, unsigned scope)
{
    char bare[ZC_OPTION_NAME_MAX];

    bare_name(name, bare);
    for (const struct zc_option *o = zc_options; o->name; o++)
        if ((o->scope & scope) && strcmp(o->name, bare) == 0)
            return o;
    return NULL;
}

const struct zc_option *zc_option_guess(const char *name, unsigned scope)
{
    const struct zc_option *best = NULL;
    char bare[ZC_OPTION_NAME_MAX];
    size_t nearest = SIZE_MAX;

    bare_name(name, bare);
    for (const struct zc_option *o = zc_options; o->name; o++) {
        size_t d;

        if (!(o->scope & scope))
            continue;
        d = zc_option_distance(bare, o->name);
        if (d < nearest && d <= 1 + strlen(o->name) / 3) {
            nearest = d;
            best = o;
        }
    }
    return best;
}

char *zc_option_spell(const struct zc_option *o, unsigned scope, char *buf, size_t len)
{
    snprintf(buf, len, "%s%s", prefix_of(scope), o->name);
    for (char *p = buf; *p; p++) {
        if (*p == '_' && (scope & (ZC_SCOPE_DAEMON | ZC_SCOPE_FILE)))
            *p = '-';
        if (scope == ZC_SCOPE_ENV)
            *p = (char)toupper((unsigned char)*p);
    }
    return buf;
}

/* ---- values ---- */

static uint64_t *number_of(const struct zc_settings *s, const struct zc_option *o)
{
    return (uint64_t *)((char *)s + o->member);
}

static char **string_of(const struct zc_settings *s, const struct zc_option *o)
{
    return (char **)((char *)s + o->member);
}

static bool *flag_of(const struct zc_settings *s, const struct zc_option *o)
{
    return (bool *)((char *)s + o->member);
}

static int parse_flag(const char *s, uint64_t *out)
{
    static const char *const words[] = {"0",   "1",       "false",  "true", "no",
                                        "yes", "disable", "enable", "off",  "on"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcasecmp(s, words[i]) == 0) {
            *out = i & 1;
            return 0;
        }
    }
    return -EINVAL;
}

static int parse_choice(const struct zc_option *o, const char *s, uint64_t *out)
{
    for (size_t i = 0; o->choices[i]; i++) {
        if (strcasecmp(s, o->choices[i]) == 0) {
            *out = i;
            return 0;
        }
    }
    return -EINVAL;
}

static int parse_number(const struct zc_option *o, const char *s, uint64_t *out)
{
    switch (o->type) {
    case ZC_OPT_SIZE:
    case ZC_OPT_POWER:
        return zc_parse_size(s, out);
    case ZC_OPT_PERCENT:
        return zc_parse_percent(s, out);
    case ZC_OPT_TIME:
        return zc_parse_time(s, out);
    case ZC_OPT_COUNT:
        return zc_parse_count(s, out);
    case ZC_OPT_ENUM:
        return parse_choice(o, s, out);
    case ZC_OPT_FLAG:
        return parse_flag(s, out);
    case ZC_OPT_STRING:
        break;
    }
    return -EINVAL;
}

static bool within(const struct zc_option *o, uint64_t v)
{
    if (o->type == ZC_OPT_ENUM || o->type == ZC_OPT_FLAG)
        return true;
    if (o->type == ZC_OPT_POWER && (v & (v - 1)))
        return false;
    return v >= o->min && v <= o->max;
}

/* One number of the row in its own notation. */
static char *show_number(const struct zc_option *o, uint64_t v, char *buf, size_t len)
{
    switch (o->type) {
    case ZC_OPT_SIZE:
    case ZC_OPT_POWER:
        return zc_show_size(v, buf, len);
    case ZC_OPT_TIME:
        return zc_show_time(v, buf, len);
    case ZC_OPT_ENUM:
        snprintf(buf, len, "%s", o->choices[v]);
        return buf;
    default:
        snprintf(buf, len, o->type == ZC_OPT_PERCENT ? "%" PRIu64 "%%" : "%" PRIu64, v);
        return buf;
    }
}

char *zc_option_allowed(const struct zc_option *o, char *buf, size_t len)
{
    char lo[32], hi[32];
    size_t at = 0;
    const char *what = o->type == ZC_OPT_PERCENT ? "a percentage"
                       : o->type == ZC_OPT_TIME  ? "a time"
                       : o->type == ZC_OPT_COUNT ? "a number"
                                                 : "a size";

    switch (o->type) {
    case ZC_OPT_STRING:
        snprintf(buf, len, "a text that is not empty");
        break;
    case ZC_OPT_FLAG:
        snprintf(buf, len, "true or false");
        break;
    case ZC_OPT_ENUM:
        buf[0] = '\0';
        for (size_t i = 0; o->choices[i] && at < len; i++)
            at += (size_t)snprintf(buf + at, len - at, "%s%s",
                                   i == 0              ? ""
                                   : o->choices[i + 1] ? ", "
                                                       : " or ",
                                   o->choices[i]);
        break;
    default:
        snprintf(buf, len, "%s from %s to %s%s", what, show_number(o, o->min, lo, sizeof lo),
                 show_number(o, o->max, hi, sizeof hi),
                 o->type == ZC_OPT_POWER ? " that is a power of two" : "");
    }
    return buf;
}

static int refuse(const struct zc_option *o, const char *name, const char *value)
{
    char allowed[256];

    return zc_errorf(EINVAL, "%s: \"%.*s\" is not allowed; it takes %s", name, VALUE_SHOWN, value,
                     zc_option_allowed(o, allowed, sizeof allowed));
}

static uint64_t bit_of(const struct zc_option *o)
{
    return 1ull << (o - zc_options);
}

bool zc_option_given(const struct zc_settings *s, const struct zc_option *o)
{
    return s->given & bit_of(o);
}

void zc_option_ungive(struct zc_settings *s, const struct zc_option *o)
{
    s->given &= ~bit_of(o);
}

void zc_option_assign_number(struct zc_settings *s, const struct zc_option *o, uint64_t value)
{
    *number_of(s, o) = value;
}

void zc_option_reset(struct zc_settings *s, const struct zc_option *o)
{
    if (o->type == ZC_OPT_STRING) {
        free(*string_of(s, o));
        *string_of(s, o) = NULL;
    } else if (o->type == ZC_OPT_FLAG) {
        *flag_of(s, o) = false;
    } else {
        *number_of(s, o) = 0;
    }
    if (o->deflt)
        zc_option_set(s, o, o->deflt);
    zc_option_ungive(s, o);
}

static int set_named(struct zc_settings *s, const struct zc_option *o, const char *name,
                     const char *value)
{
    uint64_t v = 0;

    if (!value && o->type == ZC_OPT_FLAG)
        value = "true";
    if (!value)
        value = "";
    if (o->type == ZC_OPT_STRING) {
        char *copy;

        if (!*value)
            return refuse(o, name, value);
        copy = strdup(value);
        if (!copy)
            return zc_errorf(ENOMEM, "%s: out of memory", name);
        free(*string_of(s, o));
        *string_of(s, o) = copy;
        s->given |= bit_of(o);
        return 0;
    }
    if (parse_number(o, value, &v) < 0 || !within(o, v))
        return refuse(o, name, value);
    if (o->type == ZC_OPT_FLAG)
        *flag_of(s, o) = v != 0;
    else
        *number_of(s, o) = v;
    s->given |= bit_of(o);
    return 0;
}

int zc_option_set(struct zc_settings *s, const struct zc_option *o, const char *value)
{
    return set_named(s, o, o->name, value);
}

int zc_option_assign(struct zc_settings *s, unsigned scope, const char *name, const char *value)
{
    const struct zc_option *o = zc_option_find(name, scope);
    char spelt[ZC_OPTION_NAME_MAX];

    if (o)
        return set_named(s, o, zc_option_spell(o, scope, spelt, sizeof spelt), value);
    o = zc_option_guess(name, scope);
    if (o)
        return zc_errorf(ENOENT, "unknown option \"%.*s\"; did you mean %s?", VALUE_SHOWN, name,
                         zc_option_spell(o, scope, spelt, sizeof spelt));
    return zc_errorf(ENOENT, "unknown option \"%.*s\"", VALUE_SHOWN, name);
}

const char *zc_option_string(const struct zc_settings *s, const struct zc_option *o)
{
    if (o->type != ZC_OPT_STRING)
        return NULL;
    return *string_of(s, o) ? *string_of(s, o) : "";
}

char *zc_option_show(const struct zc_settings *s, const struct zc_option *o, char *buf, size_t len)
{
    if (o->type == ZC_OPT_STRING)
        snprintf(buf, len, "%s", *string_of(s, o) ? *string_of(s, o) : "");
    else if (o->type == ZC_OPT_FLAG)
        snprintf(buf, len, "%s", *flag_of(s, o) ? "true" : "false");
    else
        show_number(o, *number_of(s, o), buf, len);
    return buf;
}

/* ---- all of them ---- */

int zc_settings_init(struct zc_settings *s)
{
    int rc = 0;

    memset(s, 0, sizeof *s);
    for (const struct zc_option *o = zc_options; o->name && rc == 0; o++) {
        char spelt[ZC_OPTION_NAME_MAX];
        const char *env = NULL;
        uint64_t before = s->given;

        if (o->deflt)
            rc = zc_option_set(s, o, o->deflt);
        s->given = before;
        if (o->scope & ENV)
            env = getenv(zc_option_spell(o, ENV, spelt, sizeof spelt));
        if (rc == 0 && env && *env)
            rc = set_named(s, o, spelt, env);
    }
    return rc;
}

void zc_settings_free(struct zc_settings *s)
{
    for (const struct zc_option *o = zc_options; o->name; o++) {
        if (o->type == ZC_OPT_STRING) {
            free(*string_of(s, o));
            *string_of(s, o) = NULL;
        }
    }
}

static void warn_if_unknown(const char *name)
{
    char spelt[ZC_OPTION_NAME_MAX];
    const struct zc_option *o;

    for (size_t i = 0; other_env[i]; i++)
        if (strcmp(name, other_env[i]) == 0)
            return;
    o = zc_option_find(name, ENV);
    if (o && strcmp(name, zc_option_spell(o, ENV, spelt, sizeof spelt)) == 0)
        return;
    if (!o)
        o = zc_option_guess(name, ENV);
    if (o)
        zc_warn("the environment variable %s means nothing to zcache; did you mean %s?", name,
                zc_option_spell(o, ENV, spelt, sizeof spelt));
    else
        zc_warn("the environment variable %s means nothing to zcache", name);
}

void zc_settings_warn_env(void)
{
    for (char **e = environ; *e; e++) {
        size_t n = strcspn(*e, "=");
        char name[ZC_OPTION_NAME_MAX];

        if (strncmp(*e, "ZCACHE_", 7) != 0 || n >= sizeof name)
            continue;
        memcpy(name, *e, n);
        name[n] = '\0';
        warn_if_unknown(name);
    }
}
