/* ad_zcache_hints.c - MPI_Info <-> the option table.
 *
 * Hints that are unknown or bad are said once, by rank 0, and the values in force are
 * echoed by MPI_File_get_info, the same on every rank.  At open every rank takes rank 0's settings,
 * so that no policy differs between ranks; what those come to where something is decided already,
 * by files in use, connections or daemons, takes their place, and is said once if somebody asked
 * for something else.  After that MPI_File_set_info changes the few that may change, for all ranks.
 */
#include "config.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ad_zcache.h"
#include "ad_zcache_hints.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_options.h"
#include "zcache_agg.h"
#include "zcache_counters.h"
#include "zcache_file.h"
#include "zcache_network.h"
#include "zcache_outcome.h"

#define PREFIX "zcache_"

/* ---- said once ---- */

enum { SAID_MOST = 256 }; /* hints; more names than that a program makes up as it goes */

static struct zc_lock lock = ZC_LOCK_INITIALIZER(ZC_ORDER_PROCESS);
static struct said {
    struct said *next;
    char about[];
} * said; /* for ever; under the lock */
static unsigned nsaid;

/* Whether something was said of this before; from now on it was. */
static bool already_said(const char *about)
{
    struct said *s;
    bool known = false;

    zc_lock_get(&lock);
    for (s = said; s && !known; s = s->next)
        known = !strcmp(s->about, about);
    s = known || nsaid == SAID_MOST ? NULL : malloc(sizeof *s + strlen(about) + 1);
    known = known || nsaid == SAID_MOST;
    if (s) {
        strcpy(s->about, about);
        s->next = said;
        said = s;
        nsaid++;
    }
    zc_lock_put(&lock);
    return known;
}

/* Says of a hint what is wrong with it: rank 0 of the file does, and once in a process, however
 * many files and calls it is given to. */
__attribute__((format(printf, 3, 4))) static void complain(ADIO_File fd, const char *hint,
                                                           const char *fmt, ...)
{
    char text[400];
    va_list ap;
    int rank;

    MPI_Comm_rank(fd->comm, &rank);
    if (rank != 0 || already_said(hint))
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    zc_warn("%s", text);
}

void zcache_hints_environment(void)
{
    if (!already_said("the environment"))
        zc_settings_warn_env();
}

/* ---- what a program asks for ---- */

/* What may be changed while the file is open: the rest is decided together, at open. */
static const char *const changing[] = {"sync_level", "close_level", "flush", "counters"};
enum { CHANGING = sizeof changing / sizeof *changing };

static bool changes(const char *name)
{
    for (int i = 0; i < CHANGING; i++)
        if (!strcmp(changing[i], name))
            return true;
    return false;
}

static const struct zc_option *option(const char *name)
{
    return zc_option_find(name, ZC_SCOPE_HINT);
}

/* What MPI_File_get_info counts; programs give what they got from it to other calls. */
static bool is_count(const char *name)
{
    return !strcmp(name, "dirty_bytes") || !strcmp(name, "unstored_bytes") ||
           !strncmp(name, "agg_", 4) || !strncmp(name, "iod_", 4);
}

/* Programs give the same info to every call: what is decided for an open file is not taken, and
 * without a word if it is a value at all; the echo tells what is in force. */
static void take_value(ADIO_File fd, struct zcache_file *f, const char *key,
                       const struct zc_option *o, const char *value)
{
    struct zc_settings other = f->settings, *s = f->owners ? &other : &f->settings;
    int rc;

    if (f->owners && changes(o->name))
        s = &f->asked;
    else if (f->owners && o->type == ZC_OPT_STRING)
        return;
    rc = zc_option_set(s, o, value);
    if (rc)
        complain(fd, key, "hint %s ignored: %s", key, zc_error_text(rc));
}

static void take_hint(ADIO_File fd, struct zcache_file *f, const char *key, const char *value)
{
    const char *name = key + strlen(PREFIX);
    const struct zc_option *o = option(name), *near;

    if (is_count(name))
        return;
    if (o) {
        take_value(fd, f, key, o, value);
        return;
    }
    near = zc_option_guess(name, ZC_SCOPE_HINT);
    complain(fd, key, "unknown hint %s=%s ignored%s%s%s", key, value,
             near ? "; did you mean " PREFIX : "", near ? near->name : "", near ? "?" : "");
}

/* The standard name of zcache_block_size, which goes first; a file has one until it is closed. */
static void take_striping(ADIO_File fd, struct zcache_file *f, MPI_Info info)
{
    char value[MPI_MAX_INFO_VAL + 1];
    int found = 0, other = 0, len;

    MPI_Info_get_valuelen(info, PREFIX "block_size", &len, &other);
    MPI_Info_get(info, "striping_unit", MPI_MAX_INFO_VAL, value, &found);
    if (found && !other && !f->owners)
        take_value(fd, f, "striping_unit", option("block_size"), value);
}

void ADIOI_ZCACHE_SetInfo(ADIO_File fd, MPI_Info users_info, int *error_code)
{
    struct zcache_file *f = zcache_file_get(fd);
    int nkeys = 0;

    ADIOI_GEN_SetInfo(fd, users_info, error_code);
    if (f) {
        f->asked = f->settings;
        f->asked.flush = ZCACHE_FLUSH_NONE; /* it is for this call, not for ever */
    }
    if (*error_code != MPI_SUCCESS || !f || users_info == MPI_INFO_NULL)
        return;
    take_striping(fd, f, users_info);
    MPI_Info_get_nkeys(users_info, &nkeys);
    for (int i = 0; i < nkeys; i++) {
        char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
        int found = 0;

        MPI_Info_get_nthkey(users_info, i, key);
        if (strncmp(key, PREFIX, strlen(PREFIX)))
            continue;
        MPI_Info_get(users_info, key, MPI_MAX_INFO_VAL, value, &found);
        if (found)
            take_hint(fd, f, key, value);
    }
}

void zcache_hints_no_change(ADIO_File fd)
{
    struct zcache_file *f = zcache_file_of(fd);

    for (int i = 0; f->owners && i < CHANGING; i++) {
        const struct zc_option *o = option(changing[i]);
        char asked[64], now[64];

        if (strcmp(zc_option_show(&f->asked, o, asked, sizeof asked),
                   zc_option_show(&f->settings, o, now, sizeof now)))
            complain(fd, o->name, "hint " PREFIX "%s=%s ignored: it means something to %s alone",
                     o->name, asked, "MPI_File_set_info");
    }
    f->asked = f->settings;
}

int zcache_hints_change(ADIO_File fd)
{
    struct zcache_file *f = zcache_file_of(fd);
    unsigned long long mine[CHANGING] = {0}, all[CHANGING];
    struct zc_settings *s = &f->settings;
    int rank;

    MPI_Comm_rank(fd->comm, &rank);
    mine[0] = rank == 0 ? f->asked.sync_level : 0;
    mine[1] = rank == 0 ? f->asked.close_level : 0;
    mine[2] = f->asked.flush; /* the most that anybody asks for */
    mine[3] = rank == 0 && f->asked.counters;
    MPI_Allreduce(mine, all, CHANGING, MPI_UNSIGNED_LONG_LONG, MPI_MAX, fd->comm);
    s->sync_level = all[0];
    s->close_level = all[1];
    s->counters = all[3];
    f->asked = *s;
    zcache_hints_echo(fd);
    return (int)all[2];
}

/* What ROMIO's hints come to here: accesses always go through the aggregators, nothing is
 * sieved, and independent ones are always possible.  NULL: a size of something there is not. */
/* clang-format off */
static const struct {
    const char *key, *value;
} romio_hints[] = {
    {"romio_cb_read", "enable"},
    {"romio_cb_write", "enable"},
    {"romio_ds_read", "disable"},
    {"romio_ds_write", "disable"},
    {"romio_no_indep_rw", "false"},
    {"cb_buffer_size", NULL},
    {"ind_rd_buffer_size", NULL},
    {"ind_wr_buffer_size", NULL},
    {"romio_cb_pfr", NULL},
    {"romio_cb_fr_type", NULL},
    {"romio_cb_fr_types", NULL},
    {"romio_cb_fr_alignment", NULL},
    {"romio_cb_ds_threshold", NULL},
    {"romio_cb_alltoall", NULL},
    {"romio_min_fdomain_size", NULL},
};
/* clang-format on */

static void echo_romio(ADIO_File fd)
{
    for (size_t i = 0; i < sizeof romio_hints / sizeof *romio_hints; i++) {
        const char *key = romio_hints[i].key;
        int len, found = 0;

        MPI_Info_get_valuelen(fd->info, key, &len, &found);
        if (romio_hints[i].value)
            ADIOI_Info_set(fd->info, key, romio_hints[i].value);
        else if (found)
            MPI_Info_delete(fd->info, key);
    }
}

/* The value in force, which is not what was asked for where ranks cannot do that. */
static void show(ADIO_File fd, const struct zc_option *o, char *value, size_t len)
{
    struct zcache_file *f = zcache_file_of(fd);
    struct zc_settings s = f->settings;
    int size;

    MPI_Comm_size(fd->comm, &size);
    if (size > 1)
        s.local = f->near;
    zc_option_show(&s, o, value, len);
}

void zcache_hints_echo(ADIO_File fd)
{
    char unit[24];

    echo_romio(fd);
    snprintf(unit, sizeof unit, "%llu",
             (unsigned long long)zcache_file_of(fd)->settings.block_size);
    ADIOI_Info_set(fd->info, "striping_unit", unit);
    for (const struct zc_option *o = zc_options; o->name; o++) {
        char key[MPI_MAX_INFO_KEY], value[MPI_MAX_INFO_VAL];

        if (!(o->scope & ZC_SCOPE_HINT))
            continue;
        snprintf(key, sizeof key, PREFIX "%s", o->name);
        show(fd, o, value, sizeof value);
        if (value[0])
            ADIOI_Info_set(fd->info, key, value);
    }
}

void zcache_hints_tell_size(MPI_Info info, uint64_t bytes)
{
    struct zc_settings s = {.agg_cache_size = bytes};
    char value[64];

    MPI_Info_set(info, PREFIX "cache_size",
                 zc_option_show(&s, option("cache_size"), value, sizeof value));
}

/* ---- what is in force instead ---- */

/* Somebody asked for something else than there is: says so, and what to do. */
static void differs(ADIO_File fd, const char *name, const char *asked, const char *now,
                    const char *why)
{
    char about[ZC_OPTION_NAME_MAX + 16];

    snprintf(about, sizeof about, "%s in force", name);
    complain(fd, about, "hint " PREFIX "%s=%s has no effect, %s is in force: %s", name, asked, now,
             why);
}

static const char in_use[] = "the file is in use with it";

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

void zcache_hints_joined(ADIO_File fd, const struct zcache_wished *wished)
{
    struct zc_settings *s = &zcache_file_of(fd)->settings;
    uint64_t block_size = s->block_size, write_back = s->write_back;

    s->block_size = wished->block_size;
    s->write_back = wished->write_back;
    decided(fd, "block_size", block_size,
            "the file is in use, or in a daemon's cache, with blocks of that size, which it keeps "
            "until it is not");
    decided(fd, "write_back", write_back, in_use);
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
static int agree_timeout(ADIO_File fd, struct zcache_file *f)
{
    struct zc_settings mine = {.timeout = f->settings.timeout};
    long long had, least;
    int rc;

    zcache_network_adopt(&mine);
    free(mine.provider);
    had = (long long)mine.timeout;
    rc = zcache_outcome_mpi(MPI_Allreduce(&had, &least, 1, MPI_LONG_LONG, MPI_MIN, fd->comm));
    if (rc == 0)
        decided(fd, "timeout", (uint64_t)least, of_process);
    return rc;
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
        complain(fd, high->name,
                 "hints " PREFIX "high_watermark=%s and " PREFIX "low_watermark=%s ignored: the "
                 "low one must be below the high one; they are %s and %s",
                 h, l, high->deflt, low->deflt);
    }
    if (s->flush != ZCACHE_FLUSH_NONE)
        complain(fd, flush->name, "hint " PREFIX "flush ignored: it means something to %s alone",
                 "MPI_File_set_info");
    zc_option_reset(s, flush);
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

int zcache_hints_agree(ADIO_File fd, struct zcache_file *f)
{
    char *text = NULL;
    size_t len = 0;
    int n = 0, rank, rc;

    MPI_Comm_rank(fd->comm, &rank);
    if (rank == 0) {
        check(fd, &f->settings);
        take_network(fd, &f->settings);
        text = settings_text(&f->settings, &len);
        n = text ? (int)len + 1 : 0;
    }
    rc = zcache_outcome_mpi(MPI_Bcast(&n, 1, MPI_INT, 0, fd->comm));
    if (rc) {
        free(text);
        return rc;
    }
    if (n == 0)
        return zc_errorf(ENOMEM, "no memory for the settings");
    if (rank != 0)
        text = malloc((size_t)n);
    if (!text) /* the broadcast must not miss anybody: give it a place to go */
        ADIOI_Assert(text);
    rc = zcache_outcome_mpi(MPI_Bcast(text, n, MPI_CHAR, 0, fd->comm));
    if (rc == 0 && rank != 0)
        take_settings(&f->settings, text, (size_t)n - 1);
    free(text);
    return rc ? rc : agree_timeout(fd, f);
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

/* The first owner's, which the other ranks reach it by. */
static int take_provider(ADIO_File fd, struct zcache_file *f)
{
    const char *mine = f->agg ? zcache_agg_provider(f->agg, f->near) : NULL;
    const struct zc_option *o = option("provider");
    bool given = zc_option_given(&f->settings, o);
    char name[64] = "";
    int rc;

    if (mine)
        snprintf(name, sizeof name, "%s", mine);
    rc = zcache_outcome_mpi(MPI_Bcast(name, sizeof name, MPI_CHAR, f->owners[0].rank, fd->comm));
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
    return rc ? rc : zcache_outcome_mpi(MPI_Bcast(now, sizeof *now, MPI_BYTE, 0, fd->comm));
}

int zcache_hints_settle(ADIO_File fd)
{
    enum { N = sizeof(struct zcache_in_force) / sizeof(uint64_t) };
    struct zcache_file *f = zcache_file_of(fd);
    struct zcache_in_force least;
    union {
        struct zcache_in_force told;
        int64_t
            number[N]; /* MPICH 4.0 takes unsigned ones for signed when it looks for the least */
    } mine;
    int rc, size;

    for (int i = 0; i < N; i++) /* who owns nothing agrees to anything */
        mine.number[i] = INT64_MAX;
    if (f->agg)
        zcache_agg_in_force(f->agg, &mine.told);
    rc = zcache_outcome_mpi(MPI_Allreduce(mine.number, &least, N, MPI_INT64_T, MPI_MIN, fd->comm));
    if (rc == 0 && least.cache_size == INT64_MAX)
        rc = ask_in_force(fd, &least);
    if (rc == 0)
        take_in_force(fd, &least);
    MPI_Comm_size(fd->comm, &size);
    if (rc == 0 && size > 1 && !f->near)
        rc = take_provider(fd, f);
    if (rc == 0 && size > 1 && zc_option_given(&f->settings, option("local")) &&
        f->settings.local && !f->near)
        differs(fd, "local", "true", "false",
                "its ranks are not all on one host, or may not reach each other's memory there");
    return rc;
}
