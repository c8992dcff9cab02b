/* ctl_print.c - answers for people: tables with sizes in KiB, MiB, GiB. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl_print.h"
#include "ctl_table.h"
#include "ctl_text.h"
#include "zc_server.h"
#include "zc_units.h"

static const struct {
    const char *name, *help;
} counters[] = {
#define X(name, help) {#name, help},
#ifdef ZC_SERVER_STATS
    ZC_SERVER_STATS(X)
#endif
        ZC_CACHE_STATS(X) ZC_JOURNAL_STATS(X)
#undef X
};

const char *ctl_help_of(const char *name)
{
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
        if (strcmp(counters[i].name, name) == 0)
            return counters[i].help;
    return "";
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);

    return n >= m && strcmp(s + n - m, end) == 0;
}

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

/* The name of a counter says what it counts. */
static void add_value(struct ctl_table *t, const char *name, const char *value)
{
    char buf[64];
    uint64_t v;

    if (ends_with(name, "_bytes") && ctl_text_number(value, &v))
        value = zc_format_size(v, buf, sizeof buf);
    else if (strcmp(name, "uptime_s") == 0 && ctl_text_number(value, &v))
        value = format_uptime(v, buf, sizeof buf);
    ctl_table_add(t, "%s", value);
}

static void add_from(struct ctl_table *t, const struct ctl_daemon *d, const char *name)
{
    char value[256];

    add_value(t, name, ctl_text_value(d->text, name, value, sizeof value));
}

static const struct ctl_daemon *first_answer(const struct ctl_daemon *d, int n)
{
    for (int i = 0; i < n; i++)
        if (d[i].rc == 0)
            return &d[i];
    return NULL;
}

static unsigned answers(const struct ctl_daemon *d, int n)
{
    unsigned count = 0;

    for (int i = 0; i < n; i++)
        count += d[i].rc == 0;
    return count;
}

/* A row for each name, a column for each daemon; `help` adds one. */
static void print_pairs(const struct ctl_daemon *d, int n, const char *title, bool help)
{
    const struct ctl_daemon *first = first_answer(d, n);
    unsigned columns = 1 + answers(d, n) + help;
    unsigned long right = (answers(d, n) < 62 ? (1ul << answers(d, n)) - 1 : ~0ul) << 1;
    struct ctl_table *t;
    char *copy, *rest, *name, *value;

    if (!first || !(copy = strdup(first->text)))
        return;
    t = ctl_table_create(columns, right);
    ctl_table_add(t, "%s", title);
    for (int i = 0; i < n; i++)
        if (d[i].rc == 0)
            ctl_table_add(t, "%s", d[i].name);
    if (help)
        ctl_table_add(t, "what it counts");
    for (rest = copy; ctl_text_pair(&rest, &name, &value);) {
        ctl_table_add(t, "%s", name);
        for (int i = 0; i < n; i++)
            if (d[i].rc == 0)
                add_from(t, &d[i], name);
        if (help)
            ctl_table_add(t, "%s", ctl_help_of(name));
    }
    ctl_table_print(t, stdout);
    ctl_table_destroy(t);
    free(copy);
}

static void print_status(const struct ctl_daemon *d, int n)
{
    static const char *const columns[] = {
        "daemon", "host", "pid",   "state",  "up",   "sessions",
        "cache",  "used", "dirty", "failed", "lost", "hung",
    };
    static const char *const names[] = {
        "host",       "pid",         "state",        "uptime_s",   "sessions",   "capacity_bytes",
        "used_bytes", "dirty_bytes", "failed_bytes", "lost_bytes", "store_hung",
    };
    enum { NCOLUMNS = sizeof columns / sizeof *columns, NNAMES = sizeof names / sizeof *names };
    struct ctl_table *t;

    if (!answers(d, n))
        return;
    t = ctl_table_create(NCOLUMNS + 1, 0xff4);
    for (size_t i = 0; i < NCOLUMNS; i++)
        ctl_table_add(t, "%s", columns[i]);
    ctl_table_add(t, "root");
    for (int i = 0; i < n; i++) {
        if (d[i].rc < 0)
            continue;
        ctl_table_add(t, "%s", d[i].name);
        for (size_t j = 0; j < NNAMES; j++)
            add_from(t, &d[i], names[j]);
        ctl_table_add(t, "%s", d[i].addr.root);
    }
    ctl_table_print(t, stdout);
    ctl_table_destroy(t);
}

static void add_size(struct ctl_table *t, uint64_t bytes)
{
    char buf[32];

    ctl_table_add(t, "%s", zc_format_size(bytes, buf, sizeof buf));
}

static void add_files(struct ctl_table *t, struct ctl_daemon *d)
{
    char *rest = d->text;
    struct ctl_file f;

    while (ctl_text_file(&rest, &f)) {
        ctl_table_add(t, "%s", d->name);
        ctl_table_add(t, "%" PRIu64, f.handles);
        add_size(t, f.size);
        add_size(t, f.cached);
        add_size(t, f.dirty);
        add_size(t, f.failed);
        add_size(t, f.lost);
        ctl_table_add(t, "%s", f.error ? strerror(abs(f.error)) : "-");
        ctl_table_add(t, "%s", f.path);
    }
}

static void print_files(struct ctl_daemon *d, int n)
{
    static const char *const columns[] = {"daemon", "opens", "size",  "cached", "dirty",
                                          "failed", "lost",  "error", "path"};
    enum { NCOLUMNS = sizeof columns / sizeof *columns };
    struct ctl_table *t;

    if (!answers(d, n))
        return;
    t = ctl_table_create(NCOLUMNS, 0x7e);
    for (size_t i = 0; i < NCOLUMNS; i++)
        ctl_table_add(t, "%s", columns[i]);
    for (int i = 0; i < n; i++)
        if (d[i].rc == 0)
            add_files(t, &d[i]);
    ctl_table_print(t, stdout);
    ctl_table_destroy(t);
}

static void print_done(const struct ctl_command *cmd, const struct ctl_daemon *d, int n)
{
    char size[32] = "";

    for (int i = 0; i < n; i++) {
        if (d[i].rc < 0)
            continue;
        if (cmd->counts)
            zc_format_size(d[i].count, size, sizeof size);
        printf("%s: %s%s%s\n", d[i].name, size, cmd->counts ? " " : "", cmd->done);
    }
}

void ctl_print_failures(const struct ctl_daemon *d, int n)
{
    for (int i = 0; i < n; i++)
        if (d[i].rc < 0)
            fprintf(stderr, "zcachectl: %s: %s\n", d[i].name, d[i].error);
}

void ctl_print(const struct ctl_command *cmd, struct ctl_daemon *d, int n, bool verbose)
{
    if (cmd->control)
        print_done(cmd, d, n);
    else if (cmd->what == ZC_INFO_FILES)
        print_files(d, n);
    else if (cmd->what == ZC_INFO_STATS)
        print_pairs(d, n, "counter", verbose);
    else if (verbose)
        print_pairs(d, n, "daemon", false);
    else
        print_status(d, n);
    fflush(stdout);
    ctl_print_failures(d, n);
}
