/* ctl_prometheus.c - what daemons count, in Prometheus' text format (version 0.0.4).
 *
 * A metric is a number that the daemon describes as a counter or gauge, below its own name behind
 * "zcache_" and before "_total" where it is a counter; seconds and percents, which become ratios,
 * have other ends.  The samples of a metric, one for each daemon, stand together.
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

#include "ctl_json.h"
#include "ctl_prometheus.h"
#include "zc_fd.h"
#include "zc_log.h"
#include "zc_utf8.h"

/* ---- lines ---- */

/* `quote`: the value of a label, in which quotes are escaped. */
static void put_escaped(FILE *f, const char *text, bool quote)
{
    for (const char *p = text; *p;) {
        size_t n = zc_utf8_length(p);

        if (*p == '\n')
            fputs("\\n", f);
        else if (*p == '\\' || (quote && *p == '"'))
            fprintf(f, "\\%c", *p);
        else if (n)
            fwrite(p, 1, n, f);
        else
            fputs(ZC_UTF8_OTHER, f);
        p += n ? n : 1;
    }
}

static void put_head(FILE *f, const char *name, const char *type, const char *help)
{
    fprintf(f, "# HELP zcache_%s ", name);
    put_escaped(f, help, false);
    fprintf(f, "\n# TYPE zcache_%s %s\n", name, type);
}

static void put_label(FILE *f, const char *name, const char *value)
{
    fprintf(f, "%s=\"", name);
    put_escaped(f, value, true);
    fputc('"', f);
}

/* Returns the daemon's name; if another one has the same, its address file. */
static const char *label_of(const struct ctl_daemon *d, int n, int i)
{
    for (int j = 0; j < n; j++)
        if (j != i && strcmp(d[j].name, d[i].name) == 0)
            return d[i].path;
    return d[i].name;
}

/* Whether the daemon is listed before: a series must not appear twice. */
static bool was_there(const struct ctl_daemon *d, int i)
{
    for (int j = 0; j < i; j++)
        if (strcmp(d[j].path, d[i].path) == 0)
            return true;
    return false;
}

/* Writes the metric's name and its first labels; the caller ends the list. */
static void put_name(FILE *f, const char *name, const struct ctl_daemon *d, int n, int i)
{
    fprintf(f, "zcache_%s{", name);
    put_label(f, "daemon", label_of(d, n, i));
    fputc(',', f);
    put_label(f, "host", d[i].found ? d[i].addr.host : "");
    fputc(',', f);
    put_label(f, "root", d[i].found ? d[i].addr.root : "");
}

/* ---- state ---- */

static void put_up(FILE *f, const struct ctl_daemon *d, int n)
{
    put_head(f, "up", "gauge", "1 if the daemon answered, else 0");
    for (int i = 0; i < n; i++) {
        if (was_there(d, i))
            continue;
        put_name(f, "up", d, n, i);
        fprintf(f, "} %d\n", d[i].error.rc == 0);
    }
}

static void put_states(FILE *f, const struct ctl_daemon *d, int n)
{
    static const char *const states[] = {"serving", "draining", "stopping"};

    put_head(f, "state", "gauge", "1 for the state the daemon is in, 0 for the others");
    for (int i = 0; i < n; i++) {
        if (d[i].error.rc < 0 || was_there(d, i))
            continue;
        for (size_t j = 0; j < sizeof states / sizeof *states; j++) {
            put_name(f, "state", d, n, i);
            fprintf(f, ",state=\"%s\"} %d\n", states[j],
                    strcmp(ctl_json_string(d[i].info, "status", "state"), states[j]) == 0);
        }
    }
}

static void put_info(FILE *f, const struct ctl_daemon *d, int n)
{
    static const char *const names[] = {"version", "protocol", "libfabric", "provider"};
    char protocol[24];

    put_head(f, "daemon_info", "gauge", "what the daemon is, in labels; always 1");
    for (int i = 0; i < n; i++) {
        if (d[i].error.rc < 0 || was_there(d, i))
            continue;
        snprintf(protocol, sizeof protocol, "%" PRIu64,
                 ctl_json_number(d[i].info, "status", "protocol"));
        put_name(f, "daemon_info", d, n, i);
        for (size_t j = 0; j < sizeof names / sizeof *names; j++) {
            fputc(',', f);
            put_label(f, names[j],
                      j == 1 ? protocol : ctl_json_string(d[i].info, "status", names[j]));
        }
        fputs("} 1\n", f);
    }
}

/* ---- counters ---- */

static bool is(const json_t *document, const char *counter, const char *what, const char *value)
{
    return strcmp(ctl_json_about(document, counter, what), value) == 0;
}

/* The metric's name for a counter: "_s" becomes "_seconds", a percentage "_ratio". */
static void metric_of(const json_t *document, const char *counter, char *name, size_t size)
{
    size_t len = strlen(counter);
    const char *end = is(document, counter, "kind", "counter") ? "_total" : "";

    if (is(document, counter, "unit", "percent"))
        end = "_ratio";
    if (is(document, counter, "unit", "seconds") && len > 2) {
        len -= 2;
        end = "_seconds";
    }
    snprintf(name, size, "%.*s%s", (int)len, counter, end);
}

static void put_metric(FILE *f, const struct ctl_daemon *d, int n, int first, const char *counter)
{
    bool percent = is(d[first].info, counter, "unit", "percent");
    char name[96];

    metric_of(d[first].info, counter, name, sizeof name);
    put_head(f, name, ctl_json_about(d[first].info, counter, "kind"),
             ctl_json_about(d[first].info, counter, "help"));
    for (int i = 0; i < n; i++) {
        const json_t *v = d[i].error.rc < 0 ? NULL : ctl_json_value(d[i].info, "stats", counter);

        if (!v && d[i].error.rc == 0)
            v = ctl_json_value(d[i].info, "status", counter);
        if (!json_is_integer(v) || was_there(d, i))
            continue;
        put_name(f, name, d, n, i);
        if (percent)
            fprintf(f, "} %g\n", (double)json_integer_value(v) / 100);
        else
            fprintf(f, "} %" JSON_INTEGER_FORMAT "\n", json_integer_value(v));
    }
}

static bool is_metric(const json_t *document, const char *counter)
{
    return counter[strspn(counter, "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0' &&
           (is(document, counter, "kind", "counter") || is(document, counter, "kind", "gauge"));
}

/* Writes the metrics that daemon i has and none before it. */
static void put_metrics(FILE *f, const struct ctl_daemon *d, int n, int i)
{
    const char *counter;
    json_t *row;

    json_object_foreach(json_object_get(d[i].info, "counters"), counter, row)
    {
        bool known = !is_metric(d[i].info, counter);

        for (int j = 0; j < i && !known; j++)
            known = d[j].error.rc == 0 && is_metric(d[j].info, counter);
        if (!known)
            put_metric(f, d, n, i, counter);
    }
}

static void put_all(FILE *f, const struct ctl_daemon *d, int n)
{
    put_head(f, "daemons", "gauge", "how many were asked");
    fprintf(f, "zcache_daemons %d\n", n);
    put_up(f, d, n);
    put_states(f, d, n);
    put_info(f, d, n);
    for (int i = 0; i < n; i++)
        if (d[i].error.rc == 0)
            put_metrics(f, d, n, i);
}

/* ---- printing, writing ---- */

void ctl_print_prometheus(const struct ctl_daemon *d, int n)
{
    put_all(stdout, d, n);
}

/* Gives the file the permissions of one created by name, according to the umask. */
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
    /* Collectors read names that end with .prom only. */
    if (asprintf(&other, "%.*s.%s.XXXXXX", dir, file, file + dir) < 0)
        return zc_errorf(ENOMEM, "out of memory");
    fd = zc_fd(mkostemp(other, O_CLOEXEC));
    rc = fd < 0 ? -errno : write_to(fd, d, n);
    if (rc == 0 && rename(other, file) < 0)
        rc = -errno;
    if (rc < 0 && fd >= 0)
        unlink(other);
    free(other);
    return rc < 0 ? zc_errorf(-rc, "cannot write %s: %s", file, strerror(-rc)) : 0;
}
