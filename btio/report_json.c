/*
 * The report as JSON; doc/btio-json.md describes it. Bytes and seconds, unrounded; keys are never
 * renamed, and a change of meaning raises "format".
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "bench_json.h"
#include "report.h"

#define FORMAT 1

static json_t *json_class(char class)
{
    const char name[2] = {class, '\0'};
    return class != 'U' ? json_string(name) : json_null();
}

static json_t *json_problem(const struct problem *p)
{
    return json_pack("{s:o, s:i, s:i, s:f, s:o}", "class", json_class(p->class), "points_per_edge",
                     p->n, "steps", p->steps, "dt", p->dt, "dt_class", json_class(p->dt_class));
}

static json_t *json_options(const struct options *o)
{
    /* clang-format off */
    return json_pack("{s:o, s:s, s:i, s:o, s:b, s:b, s:o, s:o}",
                     "file", o->common.file != NULL ? bench_json_text(o->common.file) : json_null(),
                     "method", io_method_names[o->method],
                     "interval", o->interval,
                     "hints", bench_json_pairs(&o->common.hints),
                     "write", o->write,
                     "keep", o->common.keep,
                     "posix_verify", bench_json_text(o->common.posix_verify),
                     "label", bench_json_text(o->common.label));
    /* clang-format on */
}

/* Null where nothing is published. */
static json_t *json_norm(const struct report_norm *norm)
{
    bool known = norm->published != NULL;
    json_t *computed = json_array();
    json_t *published = known ? json_array() : json_null();
    json_t *difference = known ? json_array() : json_null();
    for (int m = 0; m < NVAR; m++) {
        bench_json_append(computed, json_real(norm->computed[m]));
        if (known) {
            bench_json_append(published, json_real(norm->published[m]));
            bench_json_append(difference,
                              json_real(norm_difference(norm->computed[m], norm->published[m])));
        }
    }
    return json_pack("{s:o, s:o, s:o}", "computed", computed, "published", published, "difference",
                     difference);
}

static json_t *json_norms(const struct report *r)
{
    struct report_norm norms[REPORT_NORMS];
    json_t *root = json_object();
    int n = report_norms(r, norms);
    for (int i = 0; i < n; i++)
        bench_json_set(root, norms[i].key, json_norm(&norms[i]));
    return root;
}

static json_t *json_verification(const struct report *r)
{
    const struct verdict *v = &r->common.verdict.v;
    bool failed = bench_report_failed(&r->common);
    /* clang-format off */
    json_t *root = json_pack("{s:s, s:o, s:I, s:I}",
                             "result", failed ? "failed" : "passed",
                             "norms", failed ? json_null() : json_norms(r),
                             "read_bytes", (json_int_t)v->checked,
                             "posix_bytes", (json_int_t)v->posix_checked);
    /* clang-format on */
    bench_report_json_faults(&r->common, root);
    return root;
}

/* ---- figures --------------------------------------------------------------------------------- */

static const struct figure {
    const char *key;
    int which;
    const char *rate; /* key of the bandwidth, or NULL */
} compute_figures[] = {{"compute_seconds", T_COMPUTE, NULL}, {"total_seconds", T_TOTAL, NULL}, {0}},
  write_figures[] = {{"open_seconds", T_OPEN, NULL},
                     {"write_seconds", T_WRITE, "write_bytes_per_second"},
                     {"close_seconds", T_CLOSE, NULL},
                     {"write_close_seconds", T_WRITE_CLOSE, "write_close_bytes_per_second"},
                     {"settle_seconds", T_SETTLE, NULL},
                     {"stored_seconds", T_COMMITTED, NULL},
                     {0}},
  read_figures[] = {{"open_seconds", T_READ_OPEN, NULL},
                    {"read_seconds", T_READ, "read_bytes_per_second"},
                    {"close_seconds", T_READ_CLOSE, NULL},
                    {"total_seconds", T_READ_TOTAL, NULL},
                    {0}};

static json_t *json_figures(const struct report *r, const struct figure *figures)
{
    json_t *root = json_object(), *ranks = json_object();
    for (const struct figure *f = figures; f->key != NULL; f++) {
        const struct bench_figures *x = &r->run->ranks[f->which];
        bench_json_figures(root, ranks, f->key, x);
        if (f->rate != NULL)
            bench_json_set(root, f->rate, json_real(bench_report_rate(&r->common, x->max)));
    }
    bench_json_set(root, "over_ranks", ranks);
    return root;
}

/* Null for a direction that was not run. */
static json_t *json_direction(const struct report *r, bool done, const struct figure *figures,
                              const double *seconds)
{
    if (!done)
        return json_null();
    json_t *root = json_figures(r, figures);
    bench_json_set(root, "dump_seconds", bench_json_numbers(seconds, r->run->options->dumps));
    return root;
}

static json_t *json_summary(const struct report *r)
{
    const struct run *run = r->run;
    const struct options *o = run->options;
    const struct bench_figures *x = run->ranks;
    bool read = o->dumps > 0, written = read && o->write;
    struct bench_summary s = {
        .pattern = io_method_names[o->method],
        .phases = o->dumps,
        .record_bytes = read ? r->common.file_bytes / o->dumps / r->common.ranks : 0,
        .verified = !bench_report_failed(&r->common),
        .compute = x[T_COMPUTE].max,
        .open = written ? x[T_OPEN].max : NAN,
        .write = written ? x[T_WRITE].max : NAN,
        .sync = NAN,
        .close = written ? x[T_CLOSE].max : NAN,
        .write_close = written ? x[T_WRITE_CLOSE].max : NAN,
        .total = x[T_TOTAL].max,
        .stored = written ? x[T_COMMITTED].max : NAN,
        .read_compute = NAN,
        .read_open = read ? x[T_READ_OPEN].max : NAN,
        .read = read ? x[T_READ].max : NAN,
        .read_close = read ? x[T_READ_CLOSE].max : NAN,
        .read_total = read ? x[T_READ_TOTAL].max : NAN,
        .hidden_write = NAN,
        .hidden_read = NAN,
    };
    return bench_report_json_summary(&r->common, &s);
}

json_t *report_json(const struct report *r)
{
    const struct run *run = r->run;
    const struct options *o = run->options;
    json_t *root = bench_report_json(&r->common, FORMAT);
    bench_json_set(root, "peak_rss_bytes", json_integer((json_int_t)r->common.peak_rss));
    bench_json_set(root, "problem", json_problem(&o->problem));
    bench_json_set(root, "options", json_options(o));
    bench_json_set(root, "dumps", json_integer(o->dumps));
    bench_json_set(root, "file_bytes", json_integer((json_int_t)r->common.file_bytes));
    bench_report_json_system(&r->common, root);
    bench_json_set(root, "verification", json_verification(r));
    if (bench_report_failed(&r->common))
        return root;
    json_t *compute = json_figures(r, compute_figures);
    bench_json_set(compute, "mops", json_real(report_mops(r, run->ranks[T_COMPUTE].max)));
    bench_json_set(compute, "total_mops", json_real(report_mops(r, run->ranks[T_TOTAL].max)));
    bench_json_set(compute, "dump_compute_seconds",
                   bench_json_numbers(run->compute_seconds, o->dumps));
    bench_json_set(root, "compute", compute);
    bench_json_set(root, "write",
                   json_direction(r, o->dumps > 0 && o->write, write_figures, run->write_seconds));
    bench_json_set(root, "read", json_direction(r, o->dumps > 0, read_figures, run->read_seconds));
    bench_json_set(root, "summary", json_summary(r));
    return root;
}
