/* ctl_picture.c - one picture of zcachectl top. */
#include "config.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ctl_figures.h"
#include "ctl_json.h"
#include "ctl_picture.h"
#include "ctl_table.h"
#include "zc_units.h"

#define BOLD "\033[1m"
#define RED  "\033[31m"

enum { FILES = 10 /* number listed without a limit on lines */ };

static bool answered(const struct ctl_seat *s)
{
    return s->now && s->now->error.rc == 0;
}

static void figures_of(const struct ctl_seat *s, struct ctl_figures *f)
{
    ctl_figures_of(s->now, s->late ? NULL : s->before, f);
}

static struct ctl_figures sum_of(const struct ctl_frame *frame)
{
    struct ctl_figures sum = {0}, f;

    for (unsigned i = 0; i < frame->count; i++)
        if (answered(&frame->seats[i])) {
            figures_of(&frame->seats[i], &f);
            ctl_figures_add(&sum, &f);
        }
    return sum;
}

static size_t busy_files(const struct ctl_frame *frame, struct ctl_file **out)
{
    struct ctl_sample **samples = ctl_must(calloc(2 * (size_t)frame->count + 1, sizeof *samples));
    size_t n;

    for (unsigned i = 0; i < frame->count; i++)
        if (answered(&frame->seats[i])) {
            samples[i] = frame->seats[i].now;
            samples[frame->count + i] = frame->seats[i].before;
        }
    n = ctl_busy_files(samples, samples + frame->count, frame->count, out);
    free(samples);
    return n;
}

/* ---- text ---- */

static void add_size(struct ctl_table *t, bool known, double bytes)
{
    char buf[32];

    ctl_table_add(t, "%s", known ? zc_format_size((uint64_t)bytes, buf, sizeof buf) : "-");
}

static void add_percent(struct ctl_table *t, double part)
{
    if (part < 0)
        ctl_table_add(t, "-");
    else
        ctl_table_add(t, "%.0f%%", 100 * part);
}

static void add_count(struct ctl_table *t, bool known, uint64_t n)
{
    if (known)
        ctl_table_add(t, "%" PRIu64, n);
    else
        ctl_table_add(t, "-");
}

/* `f` NULL: the figures are unknown. */
static void add_figures(struct ctl_table *t, const struct ctl_frame *frame, const char *name,
                        const char *state, const struct ctl_figures *f)
{
    static const struct ctl_figures none;
    bool known = f, rated = f && f->rated;

    f = f ? f : &none;
    ctl_table_add(t, "%s", name);
    if (frame->colours && (!known || f->failed || f->lost))
        ctl_table_colour(t, RED);
    ctl_table_add(t, "%s", state);
    add_size(t, known, (double)f->dirty);
    add_size(t, known, (double)f->cached);
    add_size(t, rated, f->written);
    add_size(t, rated, f->stored);
    add_size(t, rated, f->read);
    add_percent(t, ctl_figures_hits(f));
    add_size(t, rated, f->ahead);
    add_count(t, known, f->waiting);
    add_count(t, known, f->sessions);
    add_size(t, known, (double)f->failed);
    add_size(t, known, (double)f->lost);
}

static void add_seat(struct ctl_table *t, const struct ctl_frame *frame, const struct ctl_seat *s)
{
    struct ctl_figures f;
    char state[64];

    if (s->late && answered(s))
        snprintf(state, sizeof state, "silent %" PRIu64 "s", s->silent_s);
    else if (answered(s))
        snprintf(state, sizeof state, "%s", ctl_json_string(s->now->info, "status", "state"));
    else
        snprintf(state, sizeof state, s->now ? "no answer" : "connecting");
    if (answered(s))
        figures_of(s, &f);
    add_figures(t, frame, s->name, state, answered(s) ? &f : NULL);
}

static struct ctl_table *new_table(const struct ctl_frame *frame, const char *const *columns,
                                   unsigned n, unsigned long right)
{
    struct ctl_table *t = ctl_table_create(columns, n, right);

    if (frame->colours)
        ctl_table_colour(t, BOLD);
    return t;
}

static void end_table(FILE *f, const struct ctl_frame *frame, struct ctl_table *t,
                      const unsigned char *less, size_t n)
{
    ctl_table_fit(t, frame->columns, less, n);
    ctl_table_print(t, f);
    ctl_table_destroy(t);
}

static void print_daemons(FILE *f, const struct ctl_frame *frame)
{
    /* Blanks keep columns of sizes at one width while values change. */
    static const char *const columns[] = {
        "daemon", "state",     "    dirty", "   cached", "  write/s", "  store/s", "   read/s",
        " hits",  "  ahead/s", "waiting",   "sessions",  "   failed", "     lost",
    };
    static const unsigned char less[] = {8, 10, 3, 12, 11, 7, 9, 5, 6, 4};
    struct ctl_figures sum = sum_of(frame);
    struct ctl_table *t = new_table(frame, columns, sizeof columns / sizeof *columns, 0x1ffc);
    unsigned answers = 0;

    for (unsigned i = 0; i < frame->count; i++) {
        add_seat(t, frame, &frame->seats[i]);
        answers += answered(&frame->seats[i]);
    }
    if (frame->count > 1) {
        char n[32];

        snprintf(n, sizeof n, "%u of %u", answers, frame->count);
        add_figures(t, frame, "sum", n, &sum);
    }
    end_table(f, frame, t, less, sizeof less);
}

static void print_files(FILE *f, const struct ctl_frame *frame, size_t room)
{
    static const char *const columns[] = {"opens",     "     size", "   cached", "    dirty",
                                          "  changed", "   failed", "     lost", "path"};
    static const unsigned char less[] = {0, 1, 6, 2, 5, 4, 3};
    struct ctl_file *b;
    size_t n = busy_files(frame, &b);
    struct ctl_table *t;

    if (n && room) {
        t = new_table(frame, columns, sizeof columns / sizeof *columns, 0x7f);
        for (size_t i = 0; i < n && i < room; i++) {
            add_count(t, true, b[i].handles);
            if (frame->colours && (b[i].failed || b[i].lost))
                ctl_table_colour(t, RED);
            add_size(t, true, (double)b[i].size);
            add_size(t, true, (double)b[i].cached);
            add_size(t, true, (double)b[i].dirty);
            add_size(t, true, (double)b[i].changed);
            add_size(t, true, (double)b[i].failed);
            add_size(t, true, (double)b[i].lost);
            ctl_table_add(t, "%s", b[i].path);
        }
        fputc('\n', f);
        end_table(f, frame, t, less, sizeof less);
    }
    free(b);
}

/* Prints a line, cut at the width of the screen. */
static void print_line(FILE *f, const struct ctl_frame *frame, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void print_line(FILE *f, const struct ctl_frame *frame, const char *fmt, ...)
{
    struct ctl_table *t = ctl_table_create(NULL, 1, 0);
    char line[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    ctl_table_add(t, "%s", line);
    end_table(f, frame, t, NULL, 0);
}

/* Returns the number of lines printed. */
static unsigned print_failures(FILE *f, const struct ctl_frame *frame)
{
    unsigned n = 0;

    for (unsigned i = 0; i < frame->count; i++) {
        const struct ctl_seat *s = &frame->seats[i];

        if (!s->now || s->now->error.rc == 0)
            continue;
        if (n++ == 0)
            fputc('\n', f);
        print_line(f, frame, "%s: %s", s->name, s->now->error.text);
    }
    return n ? n + 1 : 0;
}

void ctl_picture_print(FILE *f, const struct ctl_frame *frame)
{
    /* Lines: title, blank, heading, daemons, sum; a blank and the heading of the files. */
    unsigned used = 3 + frame->count + (frame->count > 1) + 2;
    char every[32], at[32];
    time_t now = time(NULL);
    struct tm tm;

    strftime(at, sizeof at, "%H:%M:%S", localtime_r(&now, &tm));
    print_line(f, frame, "%s  zcachectl top, every %s", at,
               zc_publish_time(frame->interval_ms, every, sizeof every));
    fputc('\n', f);
    print_daemons(f, frame);
    used += print_failures(f, frame);
    if (!frame->lines)
        print_files(f, frame, FILES);
    else if (used < frame->lines)
        print_files(f, frame, frame->lines - used);
}

/* ---- JSON ---- */

static json_t *json_number(uint64_t v)
{
    return json_integer((json_int_t)v);
}

static json_t *json_rate(const struct ctl_figures *f, double rate)
{
    return f->rated ? json_integer((json_int_t)rate) : json_null();
}

static json_t *json_figures(const struct ctl_figures *f)
{
    double hits = ctl_figures_hits(f);
    json_t *o = json_object();

    json_object_set_new(o, "dirty_bytes", json_number(f->dirty));
    json_object_set_new(o, "cached_bytes", json_number(f->cached));
    json_object_set_new(o, "failed_bytes", json_number(f->failed));
    json_object_set_new(o, "lost_bytes", json_number(f->lost));
    json_object_set_new(o, "written_bytes_per_s", json_rate(f, f->written));
    json_object_set_new(o, "stored_bytes_per_s", json_rate(f, f->stored));
    json_object_set_new(o, "read_bytes_per_s", json_rate(f, f->read));
    json_object_set_new(o, "hit_ratio", hits < 0 ? json_null() : json_real(hits));
    json_object_set_new(o, "ahead_bytes_per_s", json_rate(f, f->ahead));
    json_object_set_new(o, "waiting", json_number(f->waiting));
    json_object_set_new(o, "sessions", json_number(f->sessions));
    return o;
}

static json_t *json_seat(const struct ctl_seat *s)
{
    json_t *o = ctl_json_who(s->name, s->path, s->now && s->now->found ? &s->now->addr : NULL);
    struct ctl_figures f;

    if (s->late || !s->now)
        json_object_set_new(o, "error", json_string("it has not answered in time"));
    else if (s->now->error.rc < 0)
        json_object_set_new(o, "error", ctl_json_text(s->now->error.text));
    if (answered(s)) {
        figures_of(s, &f);
        json_object_set_new(o, "top", json_figures(&f));
    }
    return o;
}

static json_t *json_files(const struct ctl_frame *frame)
{
    json_t *list = json_array();
    struct ctl_file *b;
    size_t n = busy_files(frame, &b);

    for (size_t i = 0; i < n && i < FILES; i++) {
        json_t *o = json_object();

        json_object_set_new(o, "path", ctl_json_text(b[i].path));
        json_object_set_new(o, "handles", json_number(b[i].handles));
        json_object_set_new(o, "size_bytes", json_number(b[i].size));
        json_object_set_new(o, "cached_bytes", json_number(b[i].cached));
        json_object_set_new(o, "dirty_bytes", json_number(b[i].dirty));
        json_object_set_new(o, "changed_bytes", json_number(b[i].changed));
        json_object_set_new(o, "failed_bytes", json_number(b[i].failed));
        json_object_set_new(o, "lost_bytes", json_number(b[i].lost));
        json_array_append_new(list, o);
    }
    free(b);
    return list;
}

void ctl_picture_json(FILE *f, const struct ctl_frame *frame)
{
    json_t *list = json_array(), *top = json_object();
    struct ctl_figures sum = sum_of(frame);

    for (unsigned i = 0; i < frame->count; i++)
        json_array_append_new(list, json_seat(&frame->seats[i]));
    json_object_set_new(top, "command", json_string("top"));
    json_object_set_new(top, "interval_ms", json_number(frame->interval_ms));
    json_object_set_new(top, "daemons", list);
    json_object_set_new(top, "sum", json_figures(&sum));
    json_object_set_new(top, "files", json_files(frame));
    json_dumpf(top, f, JSON_COMPACT | JSON_PRESERVE_ORDER);
    fputc('\n', f);
    json_decref(top);
}
