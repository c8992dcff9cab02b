/* ctl_prometheus.c - what daemons count, in Prometheus' text format (version 0.0.4).
 *
 * A metric is a counter or gauge of `stats`, below its own name behind "zcache_" and before
 * "_total" where it is a counter; the samples of a metric, one for each daemon, stand together.
 * Every daemon that was asked has zcache_up, so that silence shows.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl_print.h"
#include "ctl_prometheus.h"
#include "ctl_text.h"
#include "zc_client.h"
#include "zc_log.h"

/* ---- what is which ---- */

/* The counters of `stats` that go up and down. */
static const char *const gauges[] = {
    "sessions",
    "users",
    "sharers",
    "requests_active",
    "views",
    "view_bytes",
    "capacity_bytes",
    "used_bytes",
    "dirty_bytes",
    "flushing_bytes",
    "failed_bytes",
    "held_bytes",
    "pinned_pages",
    "reading_pages",
    "waiting_room",
    "waiting_read",
    "waiting_flush",
    "files",
    "handles",
    "range_bytes",
    "racy_files",
    "prefetch_waiting_pages",
    "retained_bytes",
    "exposed_bytes",
    "store_hung",
    "store_longest_ms",
    "handshakes",
    "journal_bytes",
    "journal_limit_bytes",
    "journal_records",
    "journal_waiting",
    "client_bytes",
};

/* Those that only grow while a daemon lives. */
static const char *const growing[] = {
    "sessions_opened",
    "sessions_lost",
    "sessions_replaced",
    "handshakes_lapsed",
    "handshakes_refused",
    "forged",
    "replayed",
    "requests",
    "requests_failed",
    "requests_refused",
    "unread",
    "malformed",
    "pending_sent",
    "stored_sent",
    "inline_in_bytes",
    "inline_out_bytes",
    "rma_in_bytes",
    "rma_out_bytes",
    "rma_failed",
    "lists",
    "store_hangs",
    "lost_bytes",
    "dropped_bytes",
    "replayed_bytes",
    "lost_exposed_bytes",
    "damaged_bytes",
    "read_hits",
    "read_misses",
    "read_late",
    "written_hits",
    "write_accesses",
    "read_bytes",
    "missed_bytes",
    "written_bytes",
    "store_reads",
    "store_read_bytes",
    "store_writes",
    "store_syncs",
    "store_written_bytes",
    "around_bytes",
    "store_errors",
    "store_read_ns",
    "store_write_ns",
    "store_sync_ns",
    "store_busy_ns",
    "room_wait_ns",
    "read_wait_ns",
    "prefetched_pages",
    "prefetched_bytes",
    "prefetch_used_pages",
    "prefetch_used_bytes",
    "prefetch_late_pages",
    "prefetch_late_bytes",
    "prefetch_wasted_pages",
    "prefetch_wasted_bytes",
    "evictions",
    "lock_waits",
    "lock_wait_ns",
    "collapses",
    "stale_drops",
    "journal_written_bytes",
    "journal_full",
    "journal_syncs",
    "journal_replayed_bytes",
    "journal_lost_bytes",
    "checksum_errors",
    "checksum_bytes",
};

#define IS_IN(list, name) is_in(list, sizeof(list) / sizeof *(list), name)

static bool is_in(const char *const *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i], name) == 0)
            return true;
    return false;
}

/* A daemon of another version may count what is not known here. */
static const char *type_of(const char *name)
{
    return IS_IN(gauges, name) ? "gauge" : IS_IN(growing, name) ? "counter" : "untyped";
}

/* ---- lines ---- */

static void put_head(FILE *f, const char *name, const char *end, const char *type, const char *help)
{
    fprintf(f, "# HELP zcache_%s%s %s\n# TYPE zcache_%s%s %s\n", name, end, help, name, end, type);
}

static void put_label(FILE *f, const char *name, const char *value)
{
    fprintf(f, "%s=\"", name);
    for (const char *p = value; *p;) {
        size_t n = ctl_text_character(p);

        if (*p == '\n')
            fputs("\\n", f);
        else if (*p == '\\' || *p == '"')
            fprintf(f, "\\%c", *p);
        else if (n)
            fwrite(p, 1, n, f);
        else
            fputs("\xef\xbf\xbd", f); /* U+FFFD */
        p += n ? n : 1;
    }
    fputc('"', f);
}

/* Two of the same name are known by their files. */
static const char *label_of(const struct ctl_daemon *d, int n, int i)
{
    for (int j = 0; j < n; j++)
        if (j != i && strcmp(d[j].name, d[i].name) == 0)
            return d[i].path;
    return d[i].name;
}

/* No series may be there twice. */
static bool was_there(const struct ctl_daemon *d, int i)
{
    for (int j = 0; j < i; j++)
        if (strcmp(d[j].path, d[i].path) == 0)
            return true;
    return false;
}

/* All of a sample but the end of its labels. */
static void put_name(FILE *f, const char *name, const char *end, const struct ctl_daemon *d, int n,
                     int i)
{
    fprintf(f, "zcache_%s%s{", name, end);
    put_label(f, "daemon", label_of(d, n, i));
    fputc(',', f);
    put_label(f, "host", d[i].found ? d[i].addr.host : "");
    fputc(',', f);
    put_label(f, "root", d[i].found ? d[i].addr.root : "");
}

static void put_sample(FILE *f, const char *name, const char *end, const struct ctl_daemon *d,
                       int n, int i, const char *value)
{
    put_name(f, name, end, d, n, i);
    fprintf(f, "} %s\n", value);
}

/* ---- of `status` ---- */

/* `percent`: of a hundred there, of one here. */
static void put_status(FILE *f, const struct ctl_daemon *d, int n, const char *key,
                       const char *name, const char *help, bool percent)
{
    char value[64];
    uint64_t v;

    put_head(f, name, "", "gauge", help);
    for (int i = 0; i < n; i++) {
        if (d[i].rc < 0 || was_there(d, i) ||
            !ctl_text_number(ctl_text_value(d[i].status, key, value, sizeof value), &v))
            continue;
        if (percent)
            snprintf(value, sizeof value, "%g", (double)v / 100);
        put_sample(f, name, "", d, n, i, value);
    }
}

static void put_states(FILE *f, const struct ctl_daemon *d, int n)
{
    static const char *const states[] = {"serving", "draining", "stopping"};
    char state[64];

    put_head(f, "state", "", "gauge", "1 for the state the daemon is in, 0 for the others");
    for (int i = 0; i < n; i++) {
        if (d[i].rc < 0 || was_there(d, i))
            continue;
        ctl_text_value(d[i].status, "state", state, sizeof state);
        for (size_t j = 0; j < sizeof states / sizeof *states; j++) {
            put_name(f, "state", "", d, n, i);
            fprintf(f, ",state=\"%s\"} %d\n", states[j], strcmp(state, states[j]) == 0);
        }
    }
}

static void put_info(FILE *f, const struct ctl_daemon *d, int n)
{
    static const char *const names[] = {"version", "protocol", "libfabric", "provider"};
    char value[256];

    put_head(f, "daemon_info", "", "gauge", "what the daemon is, in labels; always 1");
    for (int i = 0; i < n; i++) {
        if (d[i].rc < 0 || was_there(d, i))
            continue;
        put_name(f, "daemon_info", "", d, n, i);
        for (size_t j = 0; j < sizeof names / sizeof *names; j++) {
            fputc(',', f);
            put_label(f, names[j], ctl_text_value(d[i].status, names[j], value, sizeof value));
        }
        fputs("} 1\n", f);
    }
}

static void put_up(FILE *f, const struct ctl_daemon *d, int n)
{
    put_head(f, "up", "", "gauge", "1 if the daemon answered, else 0");
    for (int i = 0; i < n; i++)
        if (!was_there(d, i))
            put_sample(f, "up", "", d, n, i, d[i].rc < 0 ? "0" : "1");
}

/* ---- of `stats` ---- */

static void put_metric(FILE *f, const struct ctl_daemon *d, int n, const char *name)
{
    const char *type = type_of(name), *end = strcmp(type, "counter") == 0 ? "_total" : "";
    char value[64];
    uint64_t v;

    put_head(f, name, end, type, ctl_help_of(name));
    for (int i = 0; i < n; i++)
        if (d[i].rc == 0 && !was_there(d, i) &&
            ctl_text_number(ctl_text_value(d[i].text, name, value, sizeof value), &v))
            put_sample(f, name, end, d, n, i, value);
}

static bool has(const struct ctl_daemon *d, const char *name)
{
    char value[64];

    return strcmp(ctl_text_value(d->text, name, value, sizeof value), "-") != 0;
}

/* What daemon i counts and none before it does. */
static void put_metrics(FILE *f, const struct ctl_daemon *d, int n, int i)
{
    char name[64];
    bool known;

    for (const char *p = d[i].text; *p; p += *p == '\n') {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(p, " \n"), p);
        known = name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_")] != '\0';
        for (int j = 0; j < i && !known; j++)
            known = d[j].rc == 0 && has(&d[j], name);
        if (!known)
            put_metric(f, d, n, name);
        p += strcspn(p, "\n");
    }
}

static void put_all(FILE *f, const struct ctl_daemon *d, int n)
{
    put_head(f, "daemons", "", "gauge", "how many were asked");
    fprintf(f, "zcache_daemons %d\n", n);
    put_up(f, d, n);
    put_states(f, d, n);
    put_info(f, d, n);
    put_status(f, d, n, "uptime_s", "uptime_seconds", "since the daemon has started", false);
    put_status(f, d, n, "peak_rss_bytes", "peak_rss_bytes", "most memory the daemon has had",
               false);
    put_status(f, d, n, "high_watermark", "high_watermark_ratio",
               "part of the cache that may be dirty before write-back begins", true);
    put_status(f, d, n, "low_watermark", "low_watermark_ratio",
               "part of the cache that is dirty when write-back ends", true);
    for (int i = 0; i < n; i++)
        if (d[i].rc == 0)
            put_metrics(f, d, n, i);
}

/* ---- asking, printing, writing ---- */

int ctl_prometheus_ask(struct ctl_daemon *d, struct zc_client *c)
{
    int rc = zc_client_info(c, ZC_INFO_STATUS, &d->status);

    return rc < 0 ? rc : zc_client_info(c, ZC_INFO_STATS, &d->text);
}

void ctl_print_prometheus(const struct ctl_daemon *d, int n)
{
    put_all(stdout, d, n);
}

/* Readable for all whom the umask lets, as a file that was opened by name would be. */
static int write_to(int fd, const struct ctl_daemon *d, int n)
{
    mode_t mask = umask(0);
    FILE *f = fdopen(fd, "w");
    int rc = f ? 0 : -errno;

    umask(mask);
    if (!f) {
        close(fd);
        return rc;
    }
    put_all(f, d, n);
    if (fflush(f) || fchmod(fd, 0666 & ~mask))
        rc = -errno;
    if (fclose(f) && rc == 0)
        rc = -errno;
    return rc;
}

int ctl_write_prometheus(const char *file, const struct ctl_daemon *d, int n)
{
    const char *slash = strrchr(file, '/');
    int dir = slash ? (int)(slash + 1 - file) : 0, fd, rc;
    struct stat st;
    char *other;

    if (lstat(file, &st) == 0 && !S_ISREG(st.st_mode))
        return zc_errorf(EINVAL, "cannot replace %s: it is not a regular file", file);
    /* A name that collectors pass over, which end with .prom. */
    if (asprintf(&other, "%.*s.%s.XXXXXX", dir, file, file + dir) < 0)
        return zc_errorf(ENOMEM, "out of memory");
    fd = mkostemp(other, O_CLOEXEC);
    rc = fd < 0 ? -errno : write_to(fd, d, n);
    if (rc == 0 && rename(other, file) < 0)
        rc = -errno;
    if (rc < 0 && fd >= 0)
        unlink(other);
    free(other);
    return rc < 0 ? zc_errorf(-rc, "cannot write %s: %s", file, strerror(-rc)) : 0;
}
