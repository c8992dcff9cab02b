/*
 * The report: what the figures mean, and the table.
 */
#include "config.h"

#include <stdio.h>

#include "report.h"
#include "table.h"
#include "units.h"

/* ---- figures --------------------------------------------------------------------------------- */

double report_mops(const struct report *r, double seconds)
{
    const struct problem *p = &r->run->options->problem;
    return seconds > 0 ? 1e-6 * p->steps * problem_step_operations(p) / seconds : 0;
}

int report_norms(const struct report *r, struct report_norm norms[REPORT_NORMS])
{
    const struct options *o = r->run->options;
    const struct norms *computed = &r->run->norms, *published = problem_published(&o->problem);
    norms[0] = (struct report_norm){"residual", "residual", computed->residual,
                                    published != NULL ? published->residual : NULL};
    norms[1] = (struct report_norm){"error", "error", computed->error,
                                    published != NULL ? published->error : NULL};
    norms[2] = (struct report_norm){"mean_error", "mean error", computed->mean_error,
                                    options_published_mean(o)};
    return o->dumps > 0 ? 3 : 2;
}

/* ---- failure --------------------------------------------------------------------------------- */

void report_failure(const struct report *r, FILE *out)
{
    bench_report_print_failure(&r->common, "", out);
}

/* ---- the table ------------------------------------------------------------------------------- */

static void print_setting(const struct report *r, FILE *out)
{
    const struct options *o = r->run->options;
    const struct problem *p = &o->problem;
    char a[UNITS_TEXT], b[UNITS_TEXT], class[32] = "no class", like[32] = "";
    if (p->class != 'U')
        snprintf(class, sizeof class, "class %c", p->class);
    bench_report_print_program(&r->common, out);
    if (p->class == 'U' && p->dt_class != 'U')
        snprintf(like, sizeof like, ", as class %c has", p->dt_class);
    fprintf(out, "  problem   %s: %d x %d x %d points, %d steps of %g%s\n", class, p->n, p->n, p->n,
            p->steps, p->dt, like);
    fprintf(out, "  ranks     %d, %d x %d, peak memory %s\n", r->common.ranks, o->q, o->q,
            units_size(a, r->common.peak_rss));
    if (o->dumps > 0)
        fprintf(out, "  file      %s, %s, %s, %d dumps, one in %d steps%s\n", o->common.file,
                io_method_names[o->method], units_size(b, r->common.file_bytes), o->dumps,
                o->interval, o->write ? "" : ", not written");
    fprintf(out, "  verified  ");
    if (p->class != 'U')
        fprintf(out, "norms of class %c to %.0e", p->class, TOLERANCE);
    else
        fprintf(out, "no norms are published");
    if (o->dumps > 0)
        fprintf(out, ", %s read back", units_size(a, r->common.verdict.v.checked));
    if (o->common.posix_verify != NULL)
        fprintf(out, ", %s through POSIX", units_size(a, r->common.verdict.v.posix_checked));
    fprintf(out, "\n\n");
}

static void norm_rows(struct table *t, const struct report_norm *norm)
{
    for (int m = 0; m < NVAR; m++) {
        char name[48], computed[UNITS_TEXT], published[UNITS_TEXT] = "";
        char difference[UNITS_TEXT] = "";
        snprintf(name, sizeof name, "  %s %d", norm->title, m + 1);
        snprintf(computed, sizeof computed, "%.13e", norm->computed[m]);
        if (norm->published != NULL) {
            snprintf(published, sizeof published, "%.13e", norm->published[m]);
            snprintf(difference, sizeof difference, "%.1e",
                     norm_difference(norm->computed[m], norm->published[m]));
        }
        TABLE_ROW(t, name, computed, published, difference);
    }
}

static void print_norms(const struct report *r, FILE *out)
{
    struct report_norm norms[REPORT_NORMS];
    struct table *t = table_create();
    int n = report_norms(r, norms);
    bool published = norms[0].published != NULL;
    TABLE_ROW(t, "norms", "computed", published ? "published" : "", published ? "difference" : "");
    for (int i = 0; i < n; i++)
        norm_rows(t, &norms[i]);
    table_print(t, out);
    table_destroy(t);
    fputc('\n', out);
}

/* `dumps` are the seconds of each, or NULL. */
static void figure_row(const struct report *r, struct table *t, const char *name, int which,
                       const double *dumps, bool per_byte)
{
    struct bench_row row = {.name = name,
                            .seconds = r->run->ranks[which].max,
                            .per_byte = per_byte,
                            .parts = dumps,
                            .n = r->run->options->dumps};
    bench_report_row(&r->common, t, &row);
}

static void print_figures(const struct report *r, FILE *out)
{
    const struct run *run = r->run;
    bool file = run->options->dumps > 0, written = file && run->options->write;
    struct table *t = table_create();
    if (written)
        TABLE_ROW(t, "computing and writing", "time", "bandwidth", "dump min", "median", "max");
    else
        TABLE_ROW(t, "computing", "time");
    figure_row(r, t, "  compute", T_COMPUTE, NULL, false);
    if (written) {
        figure_row(r, t, "  open", T_OPEN, NULL, false);
        figure_row(r, t, "  write", T_WRITE, run->write_seconds, true);
        figure_row(r, t, "  close", T_CLOSE, NULL, false);
        figure_row(r, t, "  write + close", T_WRITE_CLOSE, NULL, true);
    }
    figure_row(r, t, "  total", T_TOTAL, NULL, false);
    if (written)
        figure_row(r, t, "  stored after", T_COMMITTED, NULL, true);
    if (file) {
        TABLE_ROW(t, "reading", "time", "bandwidth", "dump min", "median", "max");
        figure_row(r, t, "  open", T_READ_OPEN, NULL, false);
        figure_row(r, t, "  read", T_READ, run->read_seconds, true);
        figure_row(r, t, "  close", T_READ_CLOSE, NULL, false);
    }
    table_print(t, out);
    table_destroy(t);
    fprintf(out, "%.1f Mop/s computing", report_mops(r, run->ranks[T_COMPUTE].max));
    if (written)
        fprintf(out, ", %.1f Mop/s in total", report_mops(r, run->ranks[T_TOTAL].max));
    fputc('\n', out);
}

void report_table(const struct report *r, FILE *out)
{
    print_setting(r, out);
    print_norms(r, out);
    print_figures(r, out);
    if (r->run->options->dumps > 0)
        bench_report_print_system(&r->common, out);
}
