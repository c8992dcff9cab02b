/* ad_zcache_hints.c - MPI_Info <-> the option table.
 *
 * Hints that are unknown or bad are said once, by rank 0, and the values in force are echoed by
 * MPI_File_get_info.  What an open comes to is settled in ad_zcache_settle.c; after that
 * MPI_File_set_info changes the few that may change, for all ranks.
 */
#include "config.h"

#include <stdarg.h>
#include <stdbool.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ad_zcache.h"
#include "ad_zcache_hints.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_options.h"
#include "zcache_file.h"
#include "zcache_log.h"

/* Says of a hint what is wrong with it: rank 0 of the file does, and once in a process, however
 * many files and calls it is given to. */
void zcache_hints_complain(ADIO_File fd, const char *hint, const char *fmt, ...)
{
    char text[400];
    va_list ap;
    int rank;

    MPI_Comm_rank(fd->comm, &rank);
    if (rank != 0 || zcache_log_said(hint))
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    zc_warn("%s", text);
}

void zcache_hints_environment(void)
{
    if (!zcache_log_said("the environment"))
        zc_settings_warn_env();
}

/* ---- what a program asks for ---- */

/* What may be changed while the file is open: the rest is decided together, at open. */
static const char *const changing[] = {"sync_level", "close_level", "flush",
                                       "counters",   "wait_step",   "wait_limit"};
enum { CHANGING = sizeof changing / sizeof *changing };

static bool changes(const char *name)
{
    for (int i = 0; i < CHANGING; i++)
        if (!strcmp(changing[i], name))
            return true;
    return false;
}

/* What MPI_File_get_info counts; programs give what they got from it to other calls. */
static bool is_count(const char *name)
{
    return !strcmp(name, "dirty_bytes") || !strcmp(name, "unstored_bytes") ||
           !strcmp(name, "step") || !strncmp(name, "agg_", 4) || !strncmp(name, "iod_", 4);
}

/* Takes a value.  Programs give the same info to every call, so what is decided for an open file is
 * only checked, and the echo tells what is in force.  False: the value is invalid, which is logged,
 * or it is a text that is decided already. */
static bool take_value(ADIO_File fd, struct zcache_file *f, const char *key,
                       const struct zc_option *o, const char *value)
{
    struct zc_settings other = f->settings, *s = f->owners ? &other : &f->settings;
    int rc;

    if (f->owners && changes(o->name))
        s = &f->asked;
    else if (f->owners && o->type == ZC_OPT_STRING)
        return false;
    rc = zc_option_set(s, o, value);
    if (rc)
        zcache_hints_complain(fd, key, "hint %s ignored: %s", key, zc_error_text(rc));
    return rc == 0;
}

static void take_hint(ADIO_File fd, struct zcache_file *f, const char *key, const char *value)
{
    const char *name = key + strlen(ZCACHE_HINT);
    const struct zc_option *o = zc_option_find(name, ZC_SCOPE_HINT), *near;

    if (is_count(name))
        return;
    if (o) {
        take_value(fd, f, key, o, value);
        return;
    }
    near = zc_option_guess(name, ZC_SCOPE_HINT);
    zcache_hints_complain(fd, key, "unknown hint %s=%s ignored%s%s%s", key, value,
                          near ? "; did you mean " ZCACHE_HINT : "", near ? near->name : "",
                          near ? "?" : "");
}

/* MPI's reserved hints that set an option, unless zcache's own hint does. */
static const struct {
    const char *key, *option;
} standard_hints[] = {
    {"striping_unit", "block_size"},
    {"striping_factor", "striping_factor"},
    {"start_iodevice", "start_iodevice"},
};

/* Takes one of these hints; no effect on an open file, which keeps its placement. MPI_File_get_info
 * returns the value of striping_unit that was asked for. */
static void take_standard(ADIO_File fd, struct zcache_file *f, MPI_Info info, const char *key,
                          const struct zc_option *o)
{
    char value[MPI_MAX_INFO_VAL + 1], ours[MPI_MAX_INFO_KEY];
    struct zc_settings asked = f->settings;
    int found = 0, other = 0, len;
    bool taken;

    snprintf(ours, sizeof ours, ZCACHE_HINT "%s", o->name);
    MPI_Info_get_valuelen(info, ours, &len, &other);
    MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
    if (!found || f->owners)
        return;
    taken = other ? zc_option_set(&asked, o, value) == 0 : take_value(fd, f, key, o, value);
    if (taken && !strcmp(key, "striping_unit"))
        f->striping_unit = other ? asked.block_size : f->settings.block_size;
}

void ADIOI_ZCACHE_SetInfo(ADIO_File fd, MPI_Info users_info, int *error_code)
{
    struct zcache_file *f = zcache_file_get(fd);
    int nkeys = 0;

    ADIOI_GEN_SetInfo(fd, users_info, error_code);
    if (f) {
        f->asked = f->settings;
        f->asked.flush = ZCACHE_FLUSH_NONE; /* these apply to a single call */
        f->asked.wait_step = 0;
    }
    if (*error_code != MPI_SUCCESS || !f || users_info == MPI_INFO_NULL)
        return;
    for (size_t i = 0; i < sizeof standard_hints / sizeof *standard_hints; i++)
        take_standard(fd, f, users_info, standard_hints[i].key,
                      zc_option_find(standard_hints[i].option, ZC_SCOPE_HINT));
    MPI_Info_get_nkeys(users_info, &nkeys);
    for (int i = 0; i < nkeys; i++) {
        char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
        int found = 0;

        MPI_Info_get_nthkey(users_info, i, key);
        if (strncmp(key, ZCACHE_HINT, strlen(ZCACHE_HINT)))
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
        const struct zc_option *o = zc_option_find(changing[i], ZC_SCOPE_HINT);
        char asked[64], now[64];

        if (strcmp(zc_option_show(&f->asked, o, asked, sizeof asked),
                   zc_option_show(&f->settings, o, now, sizeof now)))
            zcache_hints_complain(
                fd, o->name, "hint " ZCACHE_HINT "%s=%s ignored: it means something to %s alone",
                o->name, asked, "MPI_File_set_info");
    }
    f->asked = f->settings;
}

int zcache_hints_change(ADIO_File fd, uint64_t *step)
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
    mine[4] = rank == 0 ? f->asked.wait_step : 0;
    mine[5] = rank == 0 ? f->asked.wait_limit : 0;
    MPI_Allreduce(mine, all, CHANGING, MPI_UNSIGNED_LONG_LONG, MPI_MAX, fd->comm);
    s->sync_level = all[0];
    s->close_level = all[1];
    s->counters = all[3];
    s->wait_limit = all[5];
    f->asked = *s;
    *step = all[4];
    zcache_hints_echo(fd);
    return (int)all[2];
}

/* The value that each ROMIO hint has here: accesses always go through the aggregators, there is no
 * data sieving, and independent accesses are always possible.  NULL: the hint has no effect here
 * and is removed from the info. */
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

/* Not the size of our blocks: libraries align what they write to this, which makes small files
 * large. */
static void echo_striping(ADIO_File fd, uint64_t bytes)
{
    char unit[24];
    int len, found = 0;

    snprintf(unit, sizeof unit, "%" PRIu64, bytes);
    MPI_Info_get_valuelen(fd->info, "striping_unit", &len, &found);
    if (bytes)
        ADIOI_Info_set(fd->info, "striping_unit", unit);
    else if (found)
        MPI_Info_delete(fd->info, "striping_unit");
}

void zcache_hints_echo(ADIO_File fd)
{
    echo_romio(fd);
    echo_striping(fd, zcache_file_of(fd)->striping_unit);
    for (const struct zc_option *o = zc_options; o->name; o++) {
        char key[MPI_MAX_INFO_KEY], value[MPI_MAX_INFO_VAL];

        if (!(o->scope & ZC_SCOPE_HINT))
            continue;
        snprintf(key, sizeof key, ZCACHE_HINT "%s", o->name);
        show(fd, o, value, sizeof value);
        if (value[0])
            ADIOI_Info_set(fd->info, key, value);
    }
}

void zcache_hints_tell_size(MPI_Info info, uint64_t bytes)
{
    struct zc_settings s = {.agg_cache_size = bytes};
    char value[64];

    MPI_Info_set(
        info, ZCACHE_HINT "cache_size",
        zc_option_show(&s, zc_option_find("cache_size", ZC_SCOPE_HINT), value, sizeof value));
}
