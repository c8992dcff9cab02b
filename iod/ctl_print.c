/* ctl_print.c - answers as tables, with sizes in KiB, MiB, GiB. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl_json.h"
#include "ctl_print.h"
#include "ctl_table.h"
#include "zc_units.h"

/* "1d 2h", "3m 20s" */
static char *format_uptime(uint64_t s, char *buf, size_t len)
{
    if (s >= 86400)
        snprintf(buf, len, "%" PRIu64 "d %" PRIu64 "h", s / 86400, s / 3600 % 24);
    else if (s >= 3600)
        snprintf(buf, len, "%" PRIu64 "h %" PRIu64 "m", s / 3600, s / 60 % 60);
    else if (s >= 60)
        snprintf(buf, len, "%" PRIu64 "m %" PRIu64 "s", s / 60, s % 60);
    else
        snprintf(buf, len, "%" PRIu64 "s", s);
    return buf;
}

static void add_value(struct ctl_table *t, const struct ctl_daemon *d, const char *member,
                      const char *name)
{
    const json_t *value = ctl_json_value(d->info, member, name);
    uint64_t v = ctl_json_number(d->info, member, name);
    const char *unit = ctl_json_about(d->info, name, "unit");
    char buf[64];

    if (!json_is_integer(value))
        ctl_table_add(t, "%s", ctl_json_string(d->info, member, name));
    else if (strcmp(unit, "bytes") == 0)
        ctl_table_add(t, "%s", zc_format_size(v, buf, sizeof buf));
    else if (strcmp(unit, "seconds") == 0)
        ctl_table_add(t, "%s", format_uptime(v, buf, sizeof buf));
    else
        ctl_table_add(t, "%" PRIu64, v);
}

static const struct ctl_daemon *first_answer(const struct ctl_daemon *d, int n)
{
    for (int i = 0; i < n; i++)
        if (d[i].error.rc == 0)
            return &d[i];
    return NULL;
}

static unsigned answers(const struct ctl_daemon *d, int n)
{
    unsigned count = 0;

    for (int i = 0; i < n; i++)
        count += d[i].error.rc == 0;
    return count;
}

/* Prints a row for each value of a member and a column for each daemon; `help`: one with the
 * description. */
static void print_pairs(const struct ctl_daemon *d, int n, const char *member, const char *title,
                        bool help)
{
    const struct ctl_daemon *first = first_answer(d, n);
    unsigned columns = 1 + answers(d, n) + help;
    unsigned long right = (answers(d, n) < 62 ? (1ul << answers(d, n)) - 1 : ~0ul) << 1;
    struct ctl_table *t;
    const char *name;
    json_t *value;

    if (!first)
        return;
    t = ctl_table_create(NULL, columns, right);
    ctl_table_add(t, "%s", title);
    for (int i = 0; i < n; i++)
        if (d[i].error.rc == 0)
            ctl_table_add(t, "%s", d[i].name);
    if (help)
        ctl_table_add(t, "what it counts");
    json_object_foreach(json_object_get(first->info, member), name, value)
    {
        ctl_table_add(t, "%s", name);
        for (int i = 0; i < n; i++)
            if (d[i].error.rc == 0)
                add_value(t, &d[i], member, name);
        if (help)
            ctl_table_add(t, "%s", ctl_json_about(first->info, name, "help"));
    }
    ctl_table_print(t, stdout);
    ctl_table_destroy(t);
}

static void print_status(const struct ctl_daemon *d, int n)
{
    static const char *const columns[] = {
        "daemon", "host",  "pid",    "state", "up",   "sessions", "cache",
        "used",   "dirty", "failed", "lost",  "hung", "locks",    "root",
    };
    static const char *const names[] = {
        "host",       "pid",         "state",        "uptime_s",   "sessions",   "capacity_bytes",
        "used_bytes", "dirty_bytes", "failed_bytes", "lost_bytes", "store_hung", "locks",
    };
    enum { NCOLUMNS = sizeof columns / sizeof *columns, NNAMES = sizeof names / sizeof *names };
    struct ctl_table *t;

    if (!answers(d, n))
        return;
    t = ctl_table_create(columns, NCOLUMNS, 0xff4);
    for (int i = 0; i < n; i++) {
        if (d[i].error.rc < 0)
            continue;
        ctl_table_add(t, "%s", d[i].name);
        for (size_t j = 0; j < NNAMES; j++)
            add_value(t, &d[i], "status", names[j]);
        ctl_table_add(t, "%s", d[i].addr.root);
    }
    ctl_table_print(t, stdout);
    ctl_table_destroy(t);
}

static void add_size(struct ctl_table *t, const json_t *file, const char *name)
{
    char buf[32];

    ctl_table_add(
        t, "%s",
        zc_format_size((uint64_t)json_integer_value(json_object_get(file, name)), buf, sizeof buf));
}

static void add_file(struct ctl_table *t, const struct ctl_daemon *d, const json_t *file)
{
    const char *error = json_string_value(json_object_get(file, "error"));
    const char *path = json_string_value(json_object_get(file, "path"));

    ctl_table_add(t, "%s", d->name);
    ctl_table_add(t, "%" JSON_INTEGER_FORMAT, json_integer_value(json_object_get(file, "handles")));
    add_size(t, file, "size_bytes");
    add_size(t, file, "cached_bytes");
    add_size(t, file, "dirty_bytes");
    add_size(t, file, "failed_bytes");
    add_size(t, file, "lost_bytes");
    ctl_table_add(t, "%s", error ? error : "-");
    ctl_table_add(t, "%s", path ? path : "-");
}

static void print_files(const struct ctl_daemon *d, int n)
{
    static const char *const columns[] = {"daemon", "opens", "size",  "cached", "dirty",
                                          "failed", "lost",  "error", "path"};
    struct ctl_table *t;
    json_t *file;
    size_t j;

    if (!answers(d, n))
        return;
    t = ctl_table_create(columns, sizeof columns / sizeof *columns, 0x7e);
    for (int i = 0; i < n; i++)
        /* cppcheck-suppress unknownMacro */
        json_array_foreach(d[i].error.rc == 0 ? json_object_get(d[i].info, "files") : NULL, j, file)
            add_file(t, &d[i], file);
    ctl_table_print(t, stdout);
    ctl_table_destroy(t);
}

static void print_done(const struct ctl_command *cmd, const struct ctl_daemon *d, int n)
{
    char size[32] = "";

    for (int i = 0; i < n; i++) {
        if (d[i].error.rc < 0)
            continue;
        if (cmd->counts)
            zc_format_size(d[i].count, size, sizeof size);
        printf("%s: %s%s%s\n", d[i].name, size, cmd->counts ? " " : "", cmd->done);
    }
}

void ctl_print_failures(const struct ctl_daemon *d, int n)
{
    for (int i = 0; i < n; i++)
        if (d[i].error.rc < 0)
            fprintf(stderr, "zcachectl: %s: %s\n", d[i].name, d[i].error.text);
}

void ctl_print(const struct ctl_command *cmd, struct ctl_daemon *d, int n, bool verbose)
{
    if (cmd->control)
        print_done(cmd, d, n);
    else if (cmd->what == CTL_FILES)
        print_files(d, n);
    else if (cmd->what == CTL_STATS)
        print_pairs(d, n, "stats", "counter", verbose);
    else if (verbose)
        print_pairs(d, n, "status", "daemon", false);
    else
        print_status(d, n);
    fflush(stdout);
    ctl_print_failures(d, n);
}
