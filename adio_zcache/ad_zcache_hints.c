/* ad_zcache_hints.c - MPI_Info <-> the option table.
 *
 * Hints that are unknown or bad are said once, by rank 0, and the values in force are
 * echoed by MPI_File_get_info.  At open every rank takes rank 0's settings, so that no
 * policy differs between ranks; after that only rank-local ones may change.
 */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ad_zcache.h"
#include "ad_zcache_hints.h"
#include "zc_log.h"
#include "zc_options.h"
#include "zcache_file.h"
#include "zcache_network.h"
#include "zcache_outcome.h"

#define PREFIX "zcache_"

/* Says it once, on rank 0. */
static void complain(ADIO_File fd, const char *text)
{
    int rank;

    MPI_Comm_rank(fd->comm, &rank);
    if (rank == 0)
        zc_warn("%s", text);
}

/* What may be changed while the file is open: the rest is decided together, at open. */
static bool changes(const char *name)
{
    return !strcmp(name, "sync_level") || !strcmp(name, "close_level") || !strcmp(name, "flush") ||
           !strcmp(name, "counters");
}

/* What MPI_File_get_info counts; programs give what they got from it to other calls. */
static bool is_count(const char *name)
{
    return !strcmp(name, "dirty_bytes") || !strcmp(name, "unstored_bytes") ||
           !strncmp(name, "agg_", 4) || !strncmp(name, "iod_", 4);
}

static void take_hint(ADIO_File fd, struct zcache_file *f, const char *key, const char *value)
{
    const char *name = key + strlen(PREFIX);
    const struct zc_option *o = zc_option_find(name, ZC_SCOPE_HINT), *near;
    char text[300];

    if (is_count(name) || (o && f->owners && !changes(o->name)))
        return; /* programs give the same info to every call; the echo tells what is in force */
    if (o) {
        int rc = zc_option_set(&f->settings, o, value);

        if (rc) {
            snprintf(text, sizeof text, "hint %s ignored: %s", key, zc_error_text(rc));
            complain(fd, text);
        }
        return;
    }
    near = zc_option_guess(name, ZC_SCOPE_HINT);
    snprintf(text, sizeof text, "unknown hint %s=%s ignored%s%s%s", key, value,
             near ? "; did you mean " PREFIX : "", near ? near->name : "", near ? "?" : "");
    complain(fd, text);
}

/* The standard name of zcache_block_size, which goes first; a file has one until it is closed. */
static void take_striping(ADIO_File fd, struct zcache_file *f, MPI_Info info)
{
    const struct zc_option *o = zc_option_find("block_size", ZC_SCOPE_HINT);
    char value[MPI_MAX_INFO_VAL + 1], text[300];
    int found = 0, other = 0, len, rc;

    MPI_Info_get_valuelen(info, PREFIX "block_size", &len, &other);
    MPI_Info_get(info, "striping_unit", MPI_MAX_INFO_VAL, value, &found);
    if (!found || other || f->owners)
        return;
    rc = zc_option_set(&f->settings, o, value);
    if (rc) {
        snprintf(text, sizeof text, "hint striping_unit ignored: %s", zc_error_text(rc));
        complain(fd, text);
    }
}

void ADIOI_ZCACHE_SetInfo(ADIO_File fd, MPI_Info users_info, int *error_code)
{
    struct zcache_file *f = zcache_file_get(fd);
    int nkeys = 0;

    ADIOI_GEN_SetInfo(fd, users_info, error_code);
    if (f)
        f->settings.flush = ZCACHE_FLUSH_NONE; /* it is for this call, not for ever */
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
    if (f->owners)
        zcache_hints_echo(fd);
}

void zcache_hints_no_flush(ADIO_File fd)
{
    struct zcache_file *f = zcache_file_of(fd);

    if (f->settings.flush != ZCACHE_FLUSH_NONE)
        complain(fd, "hint zcache_flush ignored: it means something to "
                     "MPI_File_set_info alone");
    f->settings.flush = ZCACHE_FLUSH_NONE;
}

void zcache_hints_network(ADIO_File fd)
{
    static bool said;
    struct zc_settings *s = &zcache_file_of(fd)->settings;
    char text[300];

    if (!zcache_network_adopt(s) || said)
        return;
    said = true;
    snprintf(text, sizeof text,
             "hints zcache_timeout and zcache_provider ignored: connections that exist use %s and "
             "%llu ms, until the program ends",
             s->provider ? s->provider : "the default", (unsigned long long)s->timeout);
    complain(fd, text);
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

void zcache_hints_echo(ADIO_File fd)
{
    struct zcache_file *f = zcache_file_of(fd);
    char unit[24];

    echo_romio(fd);
    snprintf(unit, sizeof unit, "%llu", (unsigned long long)f->settings.block_size);
    ADIOI_Info_set(fd->info, "striping_unit", unit);
    for (const struct zc_option *o = zc_options; o->name; o++) {
        char key[MPI_MAX_INFO_KEY], value[MPI_MAX_INFO_VAL];

        if (!(o->scope & ZC_SCOPE_HINT))
            continue;
        snprintf(key, sizeof key, PREFIX "%s", o->name);
        zc_option_show(&f->settings, o, value, sizeof value);
        if (value[0])
            ADIOI_Info_set(fd->info, key, value);
    }
}

/* "name=value" of every row the library has, each with its NUL; allocated. */
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
        if (*value)
            fprintf(f, "%s=%s%c", o->name, value, 0);
    }
    if (fclose(f)) {
        free(text);
        return NULL;
    }
    return text;
}

static void take_settings(struct zc_settings *s, char *text, size_t len)
{
    for (char *line = text, *next; line < text + len; line = next) {
        char *value = strchr(line, '=');
        const struct zc_option *o;

        next = line + strlen(line) + 1;
        if (!value)
            continue;
        *value++ = 0;
        o = zc_option_find(line, ZC_SCOPE_HINT | ZC_SCOPE_ENV);
        if (o)
            zc_option_set(s, o, value);
    }
}

int zcache_hints_agree(ADIO_File fd, struct zcache_file *f)
{
    char *text = NULL;
    size_t len = 0;
    int n = 0, rank, rc;

    MPI_Comm_rank(fd->comm, &rank);
    if (rank == 0) {
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
    return rc;
}
