/*
 * What the reports of all benchmarks have.
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench_hints.h"
#include "bench_json.h"
#include "bench_report.h"
#include "units.h"

/* ---- gathering ------------------------------------------------------------------------------- */

/* Peak resident memory of this process (VmHWM) in bytes, or 0 when the system does not tell. */
static int64_t peak_rss(void)
{
    char line[256];
    int64_t kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    if (f == NULL)
        return 0;
    while (fgets(line, sizeof line, f) != NULL) {
        if (sscanf(line, "VmHWM: %" SCNd64 " kB", &kib) == 1)
            break;
    }
    fclose(f);
    return kib * 1024;
}

/* The first line of MPI_Get_library_version, blanks squeezed. */
static void mpi_library(char *buf, size_t size)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int len;
    MPI_Get_library_version(text, &len);
    size_t used = 0;
    for (const char *p = text; *p != '\0' && *p != '\n' && used + 1 < size; p++) {
        bool blank = *p == ' ' || *p == '\t';
        if (blank && (used == 0 || buf[used - 1] == ' '))
            continue;
        buf[used++] = blank ? ' ' : *p;
    }
    while (used > 0 && buf[used - 1] == ' ')
        used--;
    buf[used] = '\0';
}

void bench_report_gather(struct bench_report *r, MPI_Comm comm, const struct bench_options *o,
                         int64_t file_bytes, const struct verdict *v)
{
    r->options = o;
    r->file_bytes = file_bytes;
    MPI_Comm_size(comm, &r->ranks);
    verdict_gather(comm, v, &r->verdict);
    int64_t mine = peak_rss();
    MPI_Reduce(&mine, &r->peak_rss, 1, MPI_INT64_T, MPI_MAX, 0, comm);
    mpi_library(r->library, sizeof r->library);
}

void bench_report_free(struct bench_report *r)
{
    inspect_free(&r->inspection);
}

bool bench_report_failed(const struct bench_report *r)
{
    return r->verdict.v.faults > 0;
}

double bench_report_rate(const struct bench_report *r, double seconds)
{
    return seconds > 0 ? (double)r->file_bytes / seconds : 0;
}

/* ---- words and tables ------------------------------------------------------------------------ */

void bench_report_print_failure(const struct bench_report *r, const char *more, FILE *out)
{
    const struct verdict_sum *s = &r->verdict;
    const char *file = r->options->file;
    fprintf(out, "%s: FAILED: %s: %" PRId64 " fault%s%s; no figures. The first of each rank:\n",
            bench_name(), file != NULL ? file : "no file", s->v.faults, s->v.faults == 1 ? "" : "s",
            more);
    for (int i = 0; i < s->texts; i++)
        fprintf(out, "  %s\n", s->text[i]);
}

void bench_report_print_program(const struct bench_report *r, FILE *out)
{
    fprintf(out, "%s %s, %s\n", bench_name(), PACKAGE_VERSION, r->library);
}

void bench_report_print_system(const struct bench_report *r, FILE *out)
{
    fputc('\n', out);
    inspect_print(&r->inspection, out);
    bench_hints_print(&r->inspection.hints, &r->options->hints, out);
}

void bench_report_row(const struct bench_report *r, struct table *t, const struct bench_row *row)
{
    char time[UNITS_TEXT], rate[UNITS_TEXT] = "";
    char low[UNITS_TEXT] = "", mid[UNITS_TEXT] = "", high[UNITS_TEXT] = "";
    units_seconds(time, row->seconds);
    if (row->per_byte)
        units_rate(rate, bench_report_rate(r, row->seconds));
    size_t n = row->parts != NULL ? (size_t)row->n : 0;
    double *sorted = n > 0 ? malloc(n * sizeof *sorted) : NULL;
    if (sorted != NULL) {
        memcpy(sorted, row->parts, n * sizeof *sorted);
        units_seconds(mid, bench_median(sorted, row->n));
        units_seconds(low, sorted[0]);
        units_seconds(high, sorted[n - 1]);
        free(sorted);
    }
    TABLE_ROW(t, row->name, time, rate, low, mid, high, row->last);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

json_t *bench_report_json(const struct bench_report *r, int format)
{
    return json_pack("{s:s, s:s, s:i, s:s, s:i}", "program", bench_name(), "version",
                     PACKAGE_VERSION, "format", format, "mpi_library", r->library, "ranks",
                     r->ranks);
}

void bench_report_json_system(const struct bench_report *r, json_t *root)
{
    bench_json_set(root, "hints_in_force", bench_json_hints(&r->inspection.hints));
    bench_json_set(root, "caches", inspect_json(&r->inspection));
}

void bench_report_json_faults(const struct bench_report *r, json_t *verification)
{
    const struct verdict_sum *s = &r->verdict;
    json_t *first = json_array();
    for (int i = 0; i < s->texts; i++)
        bench_json_append(first, bench_json_text(s->text[i]));
    bench_json_set(verification, "faults", json_integer((json_int_t)s->v.faults));
    bench_json_set(verification, "first_faults", first);
}

json_t *bench_report_json_summary(const struct bench_report *r, const struct bench_summary *s)
{
    const struct {
        const char *key;
        double value;
    } numbers[] = {
        {"compute_seconds", s->compute},
        {"open_seconds", s->open},
        {"write_seconds", s->write},
        {"sync_seconds", s->sync},
        {"close_seconds", s->close},
        {"write_close_seconds", s->write_close},
        {"total_seconds", s->total},
        {"stored_seconds", s->stored},
        {"read_compute_seconds", s->read_compute},
        {"read_open_seconds", s->read_open},
        {"read_seconds", s->read},
        {"read_close_seconds", s->read_close},
        {"read_total_seconds", s->read_total},
        {"hidden_write_fraction", s->hidden_write},
        {"hidden_read_fraction", s->hidden_read},
    };
    json_t *root = json_pack("{s:o, s:s, s:s, s:i, s:i, s:I, s:I, s:b}", "label",
                             bench_json_text(r->options->label), "program", bench_name(), "pattern",
                             s->pattern, "ranks", r->ranks, "phases", s->phases, "bytes",
                             (json_int_t)r->file_bytes, "record_bytes", (json_int_t)s->record_bytes,
                             "verified", s->verified);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        bench_json_set(root, numbers[i].key,
                       isnan(numbers[i].value) ? json_null() : json_real(numbers[i].value));
    return root;
}
