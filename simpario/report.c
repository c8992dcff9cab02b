/*
 * The report: what the figures mean, and the table.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "datarep.h"
#include "permute.h"
#include "report.h"
#include "table.h"
#include "units.h"

/* ---- figures -------------------------------------------------------------------------------- */

enum verification report_verification(const struct report *r)
{
    if (bench_report_failed(&r->common))
        return VERIFY_FAILED;
    const struct options *o = r->run->options;
    bool read = o->read && o->verify, written = read || o->common.posix_verify != NULL;
    return (!o->read || read) && (!o->write || written) ? VERIFY_PASSED : VERIFY_SKIPPED;
}

const char *report_verification_name(const struct report *r)
{
    static const char *const names[] = {"passed", "failed", "skipped"};
    return names[report_verification(r)];
}

static double seconds(const struct times *t, int which)
{
    return t->has[which] ? t->ranks[which].max : 0;
}

/* What one direction cost the application, and costs alone, until all is stored. */
struct cost {
    double visible, alone, compute;
};

static const struct times *times_of(const struct pass *p, enum direction d)
{
    return d == WRITE ? &p->write : &p->read;
}

/* False: there is nothing to compare with. */
static bool find_cost(const struct report *r, const struct pass *p, enum direction d,
                      struct cost *c)
{
    const struct times *now = times_of(p, d),
                       *alone = r->reference ? times_of(r->reference, d) : NULL;
    int which = d == WRITE ? T_IO_CLOSE : T_IO;
    if (alone == NULL || !now->done || !alone->done || !now->has[which] || !alone->has[which])
        return false;
    c->visible = seconds(now, which);
    c->alone = seconds(alone, which) + seconds(alone, T_SETTLE);
    c->compute = seconds(now, T_COMPUTE);
    return c->alone > 0;
}

bool report_hidden(const struct report *r, const struct pass *p, enum direction d, double *fraction)
{
    struct cost c;
    bool known = find_cost(r, p, d, &c);
    if (known)
        *fraction = 1 - c.visible / c.alone;
    return known;
}

bool report_overlap(const struct report *r, const struct pass *p, enum direction d,
                    double *fraction)
{
    struct cost c;
    bool known = find_cost(r, p, d, &c);
    double most = !known ? 0 : c.compute < c.alone ? c.compute : c.alone;
    if (most <= 0)
        return false;
    *fraction = (c.alone - c.visible) / most;
    return true;
}

static double weight(const struct pass *p)
{
    if (!p->write.done)
        return p->read.ranks[T_IO].max;
    return p->write.ranks[p->write.has[T_CLOSE] ? T_IO_CLOSE : T_IO].max;
}

int report_typical(const struct report *r)
{
    for (int i = 0; i < r->n; i++) {
        int less = 0, equal_before = 0;
        for (int j = 0; j < r->n; j++) {
            less += weight(&r->repeats[j]) < weight(&r->repeats[i]);
            equal_before += j < i && weight(&r->repeats[j]) == weight(&r->repeats[i]);
        }
        if (less + equal_before == (r->n - 1) / 2)
            return i;
    }
    return 0;
}

/* ---- failure -------------------------------------------------------------------------------- */

void report_failure(const struct report *r, FILE *out)
{
    const struct verdict *v = &r->common.verdict.v;
    char wrong[96];
    snprintf(wrong, sizeof wrong, ", %" PRId64 " of %" PRId64 " checked bytes wrong", v->wrong,
             v->checked + v->posix_checked);
    bench_report_print_failure(&r->common, wrong, out);
}

/* ---- the table ------------------------------------------------------------------------------ */

static void print_setting(const struct report *r, FILE *out)
{
    const struct options *o = r->run->options;
    char a[UNITS_TEXT], b[UNITS_TEXT], pattern[128], memory[64] = "";
    r->run->pattern->describe(&r->run->side[WRITE].shape, pattern, sizeof pattern);
    bench_report_print_program(&r->common, out);
    fprintf(out, "  file      %s, %s, generation %d\n", o->common.file,
            units_size(a, r->common.file_bytes), r->repeats[r->n - 1].generation);
    fprintf(out, "  ranks     %d, peak memory %s\n", r->common.ranks,
            units_size(a, r->common.peak_rss));
    fprintf(out, "  phases    %d, record %s%s, compute %s (%s)\n", o->phases,
            units_size(a, o->record), r->run->pattern == &pattern_arrays ? "" : " per rank",
            units_seconds(b, o->compute), options_compute_name(o));
    if (options_rearranged(o))
        snprintf(memory, sizeof memory, ", %s, order %s by %s", datarep_names[o->datarep],
                 o->permute_text != NULL ? o->permute_text : "none",
                 permute_by_names[o->permute_by]);
    fprintf(out, "  pattern   %s%s, %s, %s%s%s\n", pattern, memory, options_access_name(o),
            o->barrier ? "barrier before I/O" : "no barriers", o->sync ? ", sync" : "",
            o->write && o->read && !o->reopen ? ", not reopened" : "");
}

static void print_verified(const struct report *r, FILE *out)
{
    char a[UNITS_TEXT], b[UNITS_TEXT];
    const struct verdict *v = &r->common.verdict.v;
    bool all = report_verification(r) != VERIFY_SKIPPED;
    if (v->checked + v->posix_checked == 0)
        fprintf(out, "  verified  no\n");
    else
        fprintf(out, "  verified  %s%s through MPI-IO, %s through POSIX\n",
                all ? "" : "in part: ", units_size(a, v->checked), units_size(b, v->posix_checked));
}

/* One line of figures; `per_byte` where a bandwidth makes sense, `phases` where there are any. */
static void figure_row(const struct report *r, struct table *t, const char *name, int which,
                       const struct times *now, const struct times *alone, bool per_byte)
{
    char reference[UNITS_TEXT];
    struct bench_row row = {.name = name,
                            .seconds = now->ranks[which].max,
                            .per_byte = per_byte,
                            .parts = which == T_IO ? now->phase[P_IO] : NULL,
                            .n = now->phases};
    if (alone != NULL)
        row.last = units_seconds(reference, alone->ranks[which].max);
    bench_report_row(&r->common, t, &row);
}

static void direction_rows(const struct report *r, struct table *t, bool writing,
                           const struct times *now, const struct times *alone)
{
    if (!now->done)
        return;
    TABLE_ROW(t, writing ? "writing" : "reading", "time", "bandwidth", "phase min", "median", "max",
              alone != NULL ? "I/O alone" : "");
    figure_row(r, t, "  open", T_OPEN, now, alone, false);
    figure_row(r, t, "  compute", T_COMPUTE, now, alone, false);
    figure_row(r, t, "  wait", T_WAIT, now, alone, false);
    figure_row(r, t, writing ? "  write" : "  read", T_IO, now, alone, true);
    if (now->has[T_SYNC])
        figure_row(r, t, "  of that, sync", T_SYNC, now, alone, false);
    if (now->has[T_CLOSE])
        figure_row(r, t, "  close", T_CLOSE, now, alone, false);
    if (now->has[T_CLOSE] && writing)
        figure_row(r, t, "  write + close", T_IO_CLOSE, now, alone, true);
    figure_row(r, t, "  total", T_TOTAL, now, alone, false);
    if (now->has[T_COMMITTED])
        figure_row(r, t, "  stored after", T_COMMITTED, now, alone, true);
}

static void print_hidden(const struct report *r, const struct pass *p, FILE *out)
{
    char a[UNITS_TEXT], b[UNITS_TEXT];
    double fraction, share;
    for (int d = WRITE; d <= READ; d++) {
        if (report_hidden(r, p, d, &fraction) && report_overlap(r, p, d, &share))
            fprintf(out, "hidden behind computing: %s of %s, %s of what could be\n",
                    units_percent(a, fraction), d == WRITE ? "write + close" : "read",
                    units_percent(b, share));
    }
}

static void print_figures(const struct report *r, const struct pass *p, FILE *out)
{
    struct table *t = table_create();
    const struct pass *ref = r->reference;
    direction_rows(r, t, true, &p->write, ref != NULL ? &ref->write : NULL);
    direction_rows(r, t, false, &p->read, ref != NULL ? &ref->read : NULL);
    table_print(t, out);
    table_destroy(t);
    print_hidden(r, p, out);
}

static void print_repeats(const struct report *r, FILE *out)
{
    struct table *t = table_create();
    TABLE_ROW(t, "repeat", "write", "write + close", "read", "total");
    for (int i = 0; i < r->n; i++) {
        const struct pass *p = &r->repeats[i];
        char name[UNITS_TEXT], write[UNITS_TEXT] = "-", both[UNITS_TEXT] = "-";
        char read[UNITS_TEXT] = "-", total[UNITS_TEXT];
        snprintf(name, sizeof name, "  %d", i + 1);
        if (p->write.done)
            units_rate(write, bench_report_rate(&r->common, p->write.ranks[T_IO].max));
        if (p->write.has[T_CLOSE])
            units_rate(both, bench_report_rate(&r->common, p->write.ranks[T_IO_CLOSE].max));
        if (p->read.done)
            units_rate(read, bench_report_rate(&r->common, p->read.ranks[T_IO].max));
        units_seconds(total, p->write.ranks[T_TOTAL].max + p->read.ranks[T_TOTAL].max);
        TABLE_ROW(t, name, write, both, read, total);
    }
    table_print(t, out);
    table_destroy(t);
    fprintf(out, "\nrepeat %d, the median:\n", report_typical(r) + 1);
}

void report_table(const struct report *r, FILE *out)
{
    print_setting(r, out);
    print_verified(r, out);
    fputc('\n', out);
    if (r->n > 1)
        print_repeats(r, out);
    print_figures(r, &r->repeats[report_typical(r)], out);
    bench_report_print_system(&r->common, out);
}
