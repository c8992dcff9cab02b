/*
 * The report as JSON; doc/simpario-json.md describes it. Bytes and seconds, unrounded; keys are
 * never renamed, and a change of meaning raises "format".
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench_json.h"
#include "datarep.h"
#include "order.h"
#include "permute.h"
#include "report.h"

#define FORMAT 1

static json_t *json_options(const struct report *r)
{
    const struct options *o = r->run->options;
    json_t *root =
        json_pack("{s:s, s:i, s:I, s:f, s:s, s:s, s:I, s:i, s:s, s:i}", "file", o->common.file,
                  "phases", o->phases, "record_bytes", (json_int_t)o->record, "compute_seconds",
                  o->compute, "compute_by", options_compute_name(o), "pattern",
                  pattern_names[o->pattern], "piece_bytes", (json_int_t)o->piece, "seed", o->seed,
                  "access", options_access_name(o), "read_shift", o->read_shift);
    json_t *rest = json_pack(
        "{s:b, s:b, s:b, s:b, s:b, s:b, s:b, s:i, s:b, s:i, s:s, s:o, s:o, s:b, s:o, s:f}",
        "barrier", o->barrier, "sync", o->sync, "write", o->write, "read", o->read, "verify",
        o->verify, "reopen", o->reopen, "overwrite", o->overwrite, "repeat", o->repeat, "reference",
        o->reference, "generation", o->generation, "stamp", o->stamp, "posix_verify",
        bench_json_text(o->common.posix_verify), "hints", bench_json_pairs(&o->common.hints),
        "keep", o->common.keep, "label", bench_json_text(o->common.label), "timeline_seconds",
        o->timeline);
    /* Fails where one is NULL; the report is NULL, then, too. */
    if (json_object_update(root, rest) != 0) {
        json_decref(root);
        root = NULL;
    }
    bench_json_set(root, "order", json_string(order_names[o->order]));
    bench_json_set(root, "files", json_integer(o->files > 0 ? o->files : 1));
    bench_json_set(root, "parts", json_integer(o->parts));
    bench_json_set(root, "writers", json_integer(o->writers > 0 ? o->writers : r->common.ranks));
    bench_json_set(root, "align_bytes", json_integer((json_int_t)o->align));
    bench_json_set(root, "permute",
                   json_string(o->permute_text != NULL ? o->permute_text : "none"));
    bench_json_set(root, "permute_by", json_string(permute_by_names[o->permute_by]));
    bench_json_set(root, "datarep", json_string(datarep_names[o->datarep]));
    bench_json_set(root, "gaps", json_boolean(o->gaps));
    bench_json_set(root, "array", bench_json_text(o->array));
    bench_json_set(root, "map",
                   pattern_get(o->pattern) == &pattern_climate
                       ? json_string(climate_map_names[o->climate_map])
                       : json_null());
    json_decref(rest);
    return root;
}

static json_t *json_verification(const struct report *r)
{
    const struct verdict *v = &r->common.verdict.v;
    json_t *root = json_pack("{s:s, s:I, s:I, s:I}", "result", report_verification_name(r),
                             "mpi_bytes", (json_int_t)v->checked, "posix_bytes",
                             (json_int_t)v->posix_checked, "wrong_bytes", (json_int_t)v->wrong);
    bench_report_json_faults(&r->common, root);
    return root;
}

/* Null for a direction that was not run. */
static json_t *json_times(const struct report *r, const struct times *t)
{
    if (!t->done)
        return json_null();
    char key[48];
    json_t *root = json_object(), *ranks = json_object();
    for (int i = 0; i < T_COUNT; i++) {
        if (!t->has[i])
            continue;
        snprintf(key, sizeof key, "%s_seconds", times_names[i]);
        bench_json_figures(root, ranks, key, &t->ranks[i]);
    }
    for (int i = 0; i < P_COUNT; i++) {
        snprintf(key, sizeof key, "phase_%s_seconds", phase_names[i]);
        if (t->phase_has[i])
            bench_json_set(root, key, bench_json_numbers(t->phase[i], t->phases));
    }
    bench_json_set(root, "bytes", json_integer((json_int_t)r->common.file_bytes));
    bench_json_set(root, "io_bytes_per_second",
                   json_real(bench_report_rate(&r->common, t->ranks[T_IO].max)));
    if (t->has[T_CLOSE])
        bench_json_set(root, "io_close_bytes_per_second",
                       json_real(bench_report_rate(&r->common, t->ranks[T_IO_CLOSE].max)));
    if (t->has[T_COMMITTED])
        bench_json_set(root, "timeline", timeline_json(&t->timeline));
    bench_json_set(root, "over_ranks", ranks);
    return root;
}

static json_t *json_directions(const struct report *r, const struct pass *p)
{
    return json_pack("{s:o, s:o}", "write", json_times(r, &p->write), "read",
                     json_times(r, &p->read));
}

/* NAN: it is not known. */
static double hidden(const struct report *r, const struct pass *p, enum direction d)
{
    double x;
    return report_hidden(r, p, d, &x) ? x : NAN;
}

static double overlap(const struct report *r, const struct pass *p, enum direction d)
{
    double x;
    return report_overlap(r, p, d, &x) ? x : NAN;
}

static void set_fraction(json_t *object, const char *key, double x)
{
    bench_json_set(object, key, isnan(x) ? json_null() : json_real(x));
}

static json_t *json_repeat(const struct report *r, const struct pass *p)
{
    json_t *root = json_directions(r, p);
    bench_json_set(root, "generation", json_integer(p->generation));
    set_fraction(root, "hidden_write_fraction", hidden(r, p, WRITE));
    set_fraction(root, "hidden_read_fraction", hidden(r, p, READ));
    set_fraction(root, "overlap_write_fraction", overlap(r, p, WRITE));
    set_fraction(root, "overlap_read_fraction", overlap(r, p, READ));
    return root;
}

static double seconds(const struct times *t, int which)
{
    return t->done && t->has[which] ? t->ranks[which].max : NAN;
}

static json_t *json_summary(const struct report *r, const struct pass *p)
{
    const struct run *run = r->run;
    const struct options *o = run->options;
    const struct times *w = &p->write, *d = &p->read;
    struct bench_summary s = {
        .pattern = run->pattern->name,
        .phases = o->phases,
        .record_bytes = r->common.file_bytes / o->phases / r->common.ranks,
        .verified = report_verification(r) == VERIFY_PASSED,
        .compute = seconds(w, T_COMPUTE),
        .open = seconds(w, T_OPEN),
        .write = seconds(w, T_IO),
        .sync = seconds(w, T_SYNC),
        .close = seconds(w, T_CLOSE),
        .write_close = seconds(w, T_IO_CLOSE),
        .total = seconds(w, T_TOTAL),
        .stored = seconds(w, T_COMMITTED),
        .read_compute = seconds(d, T_COMPUTE),
        .read_open = seconds(d, T_OPEN),
        .read = seconds(d, T_IO),
        .read_close = seconds(d, T_CLOSE),
        .read_total = seconds(d, T_TOTAL),
        .hidden_write = hidden(r, p, WRITE),
        .hidden_read = hidden(r, p, READ),
    };
    return bench_report_json_summary(&r->common, &s);
}

json_t *report_json(const struct report *r)
{
    json_t *root = bench_report_json(&r->common, FORMAT);
    bench_json_set(root, "file_bytes", json_integer((json_int_t)r->common.file_bytes));
    bench_json_set(root, "peak_rss_bytes", json_integer((json_int_t)r->common.peak_rss));
    bench_json_set(root, "options", json_options(r));
    bench_report_json_system(&r->common, root);
    bench_json_set(root, "verification", json_verification(r));
    if (bench_report_failed(&r->common))
        return root;
    json_t *repeats = json_array();
    for (int i = 0; i < r->n; i++)
        bench_json_append(repeats, json_repeat(r, &r->repeats[i]));
    bench_json_set(root, "reference",
                   r->reference != NULL ? json_directions(r, r->reference) : json_null());
    bench_json_set(root, "repeats", repeats);
    bench_json_set(root, "median_repeat", json_integer(report_typical(r)));
    bench_json_set(root, "summary", json_summary(r, &r->repeats[report_typical(r)]));
    return root;
}
