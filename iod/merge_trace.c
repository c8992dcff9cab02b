/* merge_trace.c - zcache-merge-trace: what processes recorded (zc_events.h) as one trace.
 *
 *     zcache-merge-trace DIR FILE
 *
 * FILE is JSON in the format of Chrome's tracing, which Perfetto reads.  Ranks come first, then
 * daemons; the wall clocks of the hosts align their times.  The file of a killed process is
 * complete except for the event that was being written, which is left out.  Works in constant
 * memory, and prints a summary.
 *
 * Exit status: 0; 1 nothing could be read or written; 2 wrong use.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "zc_events.h"
#include "zc_fd.h"
#include "zc_log.h"
#include "zc_utf8.h"

enum where { THREAD, ASIDE };

static const struct {
    const char *name;
    enum where where;
} kinds[ZC_EVENT_KINDS] = {
#define X(constant, name, where) [constant] = {name, where},
    ZC_EVENTS(X)
#undef X
};

/* A part, mapped. */
struct part {
    struct zc_event_file *f;
    char *path;
};

struct trace {
    struct part *parts;
    size_t n;
    uint64_t start; /* ns of the wall clock: 0 of the trace */
    FILE *out;
    bool any;        /* an element has been written */
    uint64_t id;     /* of the last asynchronous event */
    uint64_t events; /* number of events written */
    uint64_t lost;   /* number of events overwritten in the ring */
};

/* ---- the parts ---- */

static bool is_whole(const struct zc_event_file *f)
{
    return memcmp(f->magic, ZC_EVENTS_MAGIC, sizeof f->magic) == 0 && f->size == sizeof *f;
}

/* Returns false, with a warning, if it is no such file. */
static bool open_part(const char *path, struct part *p)
{
    int fd = zc_fd(open(path, O_RDONLY | O_CLOEXEC));
    struct stat st;
    void *at = MAP_FAILED;

    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size == (off_t)sizeof(struct zc_event_file))
        at = mmap(NULL, sizeof(struct zc_event_file), PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    if (fd >= 0)
        close(fd);
    if (at != MAP_FAILED && is_whole(at)) {
        p->f = at;
        p->path = strdup(path);
        p->f->host[sizeof p->f->host - 1] = p->f->who[sizeof p->f->who - 1] = 0;
        return true;
    }
    zc_warn("%s is left out: it is no record of events of this version", path);
    if (at != MAP_FAILED)
        munmap(at, sizeof(struct zc_event_file));
    return false;
}

/* Ranks by their numbers, then the rest by their names. */
static int order(const void *a, const void *b)
{
    const struct part *x = a, *y = b;

    if ((x->f->rank < 0) != (y->f->rank < 0))
        return x->f->rank < 0 ? 1 : -1;
    if (x->f->rank != y->f->rank)
        return x->f->rank < y->f->rank ? -1 : 1;
    return strcmp(x->path, y->path);
}

static int find_parts(const char *dir, struct trace *t)
{
    DIR *d = zc_opendir(dir);
    struct dirent *e;

    if (!d)
        return zc_errorf(errno, "%s: %s", dir, strerror(errno));
    while ((e = readdir(d))) {
        size_t len = strlen(e->d_name);
        char path[4096];
        struct part *more;

        if (len < 7 || strcmp(e->d_name + len - 7, ".events"))
            continue;
        more = realloc(t->parts, (t->n + 1) * sizeof *more);
        if (!more)
            break;
        t->parts = more;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        t->n += open_part(path, &t->parts[t->n]);
    }
    closedir(d);
    if (t->n)
        qsort(t->parts, t->n, sizeof *t->parts, order);
    return 0;
}

/* ---- output ---- */

/* Writes an event, and frees it. */
static void put(struct trace *t, json_t *event)
{
    fputs(t->any ? ",\n" : "\n", t->out);
    t->any = true;
    json_dumpf(event, t->out, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(15));
    json_decref(event);
}

/* Converts a time of the part's monotonic clock to microseconds since the start of the trace. */
static double when(const struct trace *t, const struct zc_event_file *f, uint64_t ns)
{
    return ((double)(int64_t)(f->realtime - t->start) + (double)(int64_t)(ns - f->monotonic)) / 1e3;
}

/* Host names need not be UTF-8. */
static void put_name(struct trace *t, int pid, int tid, const char *what, const char *name)
{
    char *text = zc_utf8_copy(name);

    put(t, json_pack("{s:s, s:s, s:i, s:i, s:{s:s}}", "ph", "M", "name", what, "pid", pid, "tid",
                     tid, "args", "name", text ? text : ""));
    free(text);
}

static uint32_t threads_of(const struct zc_event_file *f)
{
    uint32_t n = atomic_load(&f->nthreads);

    return n < ZC_EVENT_THREADS ? n : ZC_EVENT_THREADS;
}

static bool aggregates(const struct zc_event_file *f)
{
    for (uint32_t i = 0; i < threads_of(f); i++)
        if (!strncmp(f->threads[i], "zc-flush", 8) || !strncmp(f->threads[i], "zc-read", 7))
            return true;
    return false;
}

static void put_names(struct trace *t, struct zc_event_file *f, int pid)
{
    char name[160];

    if (f->rank >= 0)
        snprintf(name, sizeof name, "rank %d%s, %s[%d]", f->rank,
                 aggregates(f) ? ", aggregator" : "", f->host, f->pid);
    else
        snprintf(name, sizeof name, "%s %s[%d]", f->who, f->host, f->pid);
    put_name(t, pid, 0, "process_name", name);
    put(t, json_pack("{s:s, s:s, s:i, s:i, s:{s:i}}", "ph", "M", "name", "process_sort_index",
                     "pid", pid, "tid", 0, "args", "sort_index", pid));
    for (uint32_t i = 0; i < threads_of(f); i++) {
        snprintf(name, sizeof name, "%.*s", (int)sizeof f->threads[i], f->threads[i]);
        put_name(t, pid, (int)i, "thread_name", name);
    }
}

static json_t *args_of(uint64_t bytes)
{
    return bytes ? json_pack("{s:I}", "bytes", (json_int_t)bytes) : json_object();
}

/* Writes begin and end apart: such an event may overlap others of its thread. */
static void put_aside(struct trace *t, const struct zc_event_file *f, int pid,
                      const struct zc_event_record *r)
{
    const char *name = kinds[r->kind].name;
    char id[24];

    snprintf(id, sizeof id, "0x%" PRIx64, ++t->id);
    put(t, json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:f, s:o}", "ph", "b", "cat", name, "id", id,
                     "name", name, "pid", pid, "tid", (int)r->thread, "ts", when(t, f, r->began),
                     "args", args_of(r->bytes)));
    put(t, json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:f}", "ph", "e", "cat", name, "id", id,
                     "name", name, "pid", pid, "tid", (int)r->thread, "ts", when(t, f, r->ended)));
}

static void put_event(struct trace *t, const struct zc_event_file *f, int pid,
                      const struct zc_event_record *r)
{
    if (r->kind >= ZC_EVENT_KINDS || r->thread > ZC_EVENT_THREADS || r->ended < r->began)
        return;
    t->events++;
    if (kinds[r->kind].where == ASIDE)
        put_aside(t, f, pid, r);
    else
        put(t,
            json_pack("{s:s, s:s, s:i, s:i, s:f, s:f, s:o}", "ph", "X", "name", kinds[r->kind].name,
                      "pid", pid, "tid", (int)r->thread, "ts", when(t, f, r->began), "dur",
                      (double)(r->ended - r->began) / 1e3, "args", args_of(r->bytes)));
}

static void put_part(struct trace *t, struct zc_event_file *f, int pid)
{
    uint64_t count = f->count, first = count > ZC_EVENTS_MAX ? count - ZC_EVENTS_MAX : 0;

    put_names(t, f, pid);
    t->lost += first;
    for (uint64_t n = first; n < count; n++)
        if (f->events[n % ZC_EVENTS_MAX].number == n + 1)
            put_event(t, f, pid, &f->events[n % ZC_EVENTS_MAX]);
}

static void find_start(struct trace *t)
{
    t->start = UINT64_MAX;
    for (size_t i = 0; i < t->n; i++)
        if (t->parts[i].f->realtime < t->start)
            t->start = t->parts[i].f->realtime;
}

static int write_trace(struct trace *t, const char *path)
{
    t->out = zc_fopen(path, "we");
    if (!t->out)
        return zc_errorf(errno, "%s: %s", path, strerror(errno));
    find_start(t);
    fputs("{\"displayTimeUnit\":\"ms\",\"otherData\":{\"program\":\"zcache\",\"version\":"
          "\"" PACKAGE_VERSION "\",\"clocks\":\"one by the wall clocks of the hosts\"},"
          "\"traceEvents\":[",
          t->out);
    for (size_t i = 0; i < t->n; i++)
        put_part(t, t->parts[i].f, (int)i + 1);
    fputs("\n]}\n", t->out);
    if (ferror(t->out) | fclose(t->out))
        return zc_errorf(errno ? errno : EIO, "%s: %s", path, strerror(errno));
    return 0;
}

static unsigned count_hosts(const struct trace *t)
{
    unsigned n = 0;

    for (size_t i = 0; i < t->n; i++) {
        bool known = false;

        for (size_t j = 0; j < i; j++)
            known = known || !strcmp(t->parts[i].f->host, t->parts[j].f->host);
        n += !known;
    }
    return n;
}

static void tell(const struct trace *t, const char *path)
{
    fprintf(stderr, "zcache: trace of %zu processes in %s: %" PRIu64 " events", t->n, path,
            t->events);
    if (t->lost)
        fprintf(stderr, "; %" PRIu64 " earlier ones are not in it, for a process keeps %d", t->lost,
                ZC_EVENTS_MAX);
    if (count_hosts(t) > 1)
        fprintf(stderr, "; %u hosts, as their clocks are", count_hosts(t));
    fputc('\n', stderr);
}

static const char usage[] = "Usage: zcache-merge-trace DIR FILE";

int main(int argc, char **argv)
{
    struct trace t = {0};
    int rc;

    zc_fd_fill();
    zc_log_init(NULL);
    if (argc == 2 && (!strcmp(argv[1], "--version") || !strcmp(argv[1], "--help"))) {
        puts(argv[1][2] == 'v' ? "zcache-merge-trace (zcache) " PACKAGE_VERSION : usage);
        return 0;
    }
    if (argc != 3) {
        fprintf(stderr, "%s\n", usage);
        return 2;
    }
    rc = find_parts(argv[1], &t);
    if (rc == 0)
        rc = write_trace(&t, argv[2]);
    if (rc)
        fprintf(stderr, "zcache: no trace: %s\n", zc_error_text(rc));
    else
        tell(&t, argv[2]);
    for (size_t i = 0; i < t.n; i++) {
        munmap(t.parts[i].f, sizeof(struct zc_event_file));
        free(t.parts[i].path);
    }
    free(t.parts);
    return rc ? 1 : 0;
}
