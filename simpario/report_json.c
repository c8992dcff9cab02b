/*
 * The report as JSON; doc/simpario-json.md describes it. Bytes and seconds, unrounded; keys are
 * never renamed, and a change of meaning raises "format".
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "report.h"

#define FORMAT 1

static json_t *text_or_null(const char *text)
{
    return text != NULL ? json_string(text) : json_null();
}

static json_t *json_options(const struct options *o)
{
    json_t *hints = json_object();
    for (int i = 0; i < o->hints.n; i++)
        json_object_set_new(hints, o->hints.pair[i].key, json_string(o->hints.pair[i].value));
    json_t *root = json_pack(
        "{s:s, s:i, s:I, s:f, s:s, s:s, s:I, s:i, s:s, s:i}", "file", o->file, "phases", o->phases,
        "record_bytes", (json_int_t)o->record, "compute_seconds", o->compute, "compute_by",
        options_compute_name(o), "pattern", pattern_names[o->pattern], "piece_bytes",
        (json_int_t)o->piece, "seed", o->seed, "access", options_access_name(o), "read_shift",
        o->read_shift);
    json_t *rest = json_pack(
        "{s:b, s:b, s:b, s:b, s:b, s:b, s:b, s:i, s:b, s:i, s:s, s:o, s:o, s:b}", "barrier",
        o->barrier, "sync", o->sync, "write", o->write, "read", o->read, "verify", o->verify,
        "reopen", o->reopen, "overwrite", o->overwrite, "repeat", o->repeat, "reference",
        o->reference, "generation", o->generation, "stamp", o->stamp, "posix_verify",
        text_or_null(o->posix_verify), "hints", hints, "keep", o->keep);
    json_object_update(root, rest);
    json_decref(rest);
    return root;
}

static json_t *json_verification(const struct report *r)
{
    const struct verdict_sum *s = &r->verdict;
    json_t *faults = json_array();
    for (int i = 0; i < s->texts; i++)
        json_array_append_new(faults, json_string(s->text[i]));
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:o}", "result", report_verification_name(r),
                     "mpi_bytes", (json_int_t)s->v.checked, "posix_bytes",
                     (json_int_t)s->v.posix_checked, "wrong_bytes", (json_int_t)s->v.wrong,
                     "faults", (json_int_t)s->v.faults, "first_faults", faults);
}

/* Null for a direction that was not run. */
static json_t *json_times(const struct report *r, const struct times *t)
{
    if (!t->done)
        return json_null();
    json_t *root = json_object();
    json_t *ranks = json_object();
    for (int i = 0; i < T_COUNT; i++) {
        char key[48];
        if ((i == T_CLOSE || i == T_IO_CLOSE) && !t->closed)
            continue;
        snprintf(key, sizeof key, "%s_seconds", times_names[i]);
        json_object_set_new(root, key, json_real(t->ranks[i].max));
        json_object_set_new(
            ranks, key, json_pack("{s:f, s:f}", "min", t->ranks[i].min, "avg", t->ranks[i].avg));
    }
    json_t *phases = json_array();
    for (int i = 0; i < r->run->options->phases; i++)
        json_array_append_new(phases, json_real(t->phase_io[i]));
    json_object_set_new(root, "bytes", json_integer((json_int_t)r->run->file_bytes));
    json_object_set_new(root, "io_bytes_per_second", json_real(report_rate(r, t->ranks[T_IO].max)));
    if (t->closed)
        json_object_set_new(root, "io_close_bytes_per_second",
                            json_real(report_rate(r, t->ranks[T_IO_CLOSE].max)));
    json_object_set_new(root, "over_ranks", ranks);
    json_object_set_new(root, "phase_io_seconds", phases);
    return root;
}

static json_t *json_directions(const struct report *r, const struct pass *p)
{
    return json_pack("{s:o, s:o}", "write", json_times(r, &p->write), "read",
                     json_times(r, &p->read));
}

static json_t *json_repeat(const struct report *r, const struct pass *p)
{
    double fraction;
    json_t *root = json_directions(r, p);
    json_object_set_new(root, "generation", json_integer(p->generation));
    json_object_set_new(root, "hidden_write_fraction",
                        report_hidden_write(r, p, &fraction) ? json_real(fraction) : json_null());
    json_object_set_new(root, "hidden_read_fraction",
                        report_hidden_read(r, p, &fraction) ? json_real(fraction) : json_null());
    return root;
}

json_t *report_json(const struct report *r)
{
    const struct run *run = r->run;
    json_t *root =
        json_pack("{s:s, s:s, s:i, s:s, s:i, s:I, s:I, s:o, s:o, s:o}", "program", "simpario",
                  "version", PACKAGE_VERSION, "format", FORMAT, "mpi_library", r->library, "ranks",
                  run->nranks, "file_bytes", (json_int_t)run->file_bytes, "peak_rss_bytes",
                  (json_int_t)r->peak_rss, "options", json_options(run->options), "hints_in_force",
                  bench_json_hints(&run->hints), "verification", json_verification(r));
    if (root == NULL || report_verification(r) == VERIFY_FAILED)
        return root;
    json_t *repeats = json_array();
    for (int i = 0; i < r->n; i++)
        json_array_append_new(repeats, json_repeat(r, &r->repeats[i]));
    json_object_set_new(root, "reference",
                        r->reference != NULL ? json_directions(r, r->reference) : json_null());
    json_object_set_new(root, "repeats", repeats);
    json_object_set_new(root, "median_repeat", json_integer(report_typical(r)));
    return root;
}
