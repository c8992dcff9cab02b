/*
 * What the file system says about a file that was used.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "bench_json.h"
#include "inspect.h"
#include "units.h"

#define AGGREGATORS "zcache_agg_"
#define DAEMONS     "zcache_iod_"

/* ---- asking --------------------------------------------------------------------------------- */

static bool number(const char *value, int64_t *out)
{
    char *end;
    *out = strtoll(value, &end, 10);
    return end != value && *end == '\0';
}

/* Copies the hints that begin with `prefix`, without it. */
static void take(const struct bench_hints *from, const char *prefix, struct bench_hints *to)
{
    size_t len = strlen(prefix);
    to->hint = calloc((size_t)from->n + 1, sizeof *to->hint);
    if (to->hint == NULL)
        bench_abort("out of memory for %d counters", from->n);
    for (int i = 0; i < from->n; i++) {
        if (strncmp(from->hint[i].key, prefix, len) != 0)
            continue;
        strcpy(to->hint[to->n].key, from->hint[i].key + len);
        strcpy(to->hint[to->n++].value, from->hint[i].value);
    }
}

static void ask_counters(MPI_Comm comm, MPI_File fh, const char *file, struct inspection *out)
{
    MPI_Info ask;
    int rank;
    MPI_Comm_rank(comm, &rank);
    MPI_Info_create(&ask);
    MPI_Info_set(ask, "zcache_counters", "true");
    bench_check_all(comm, MPI_File_set_info(fh, ask), "MPI_File_set_info", file);
    MPI_Info_free(&ask);
    if (rank == 0) {
        struct bench_hints told = {.n = 0};
        bench_hints_read(fh, file, &told);
        take(&told, AGGREGATORS, &out->aggregators);
        take(&told, DAEMONS, &out->daemons);
        bench_hints_free(&told);
    }
}

/* Adds the counters of other files, which have other aggregators, to those of rank 0, which has to
 * know the names. Only the first rank of each file has any. */
static void add_files(MPI_Comm all, struct bench_hints *counters)
{
    int rank, n = counters->n;
    MPI_Comm_rank(all, &rank);
    MPI_Bcast(&n, 1, MPI_INT, 0, all);
    for (int i = 0; i < n; i++) {
        char key[sizeof counters->hint->key];
        int64_t mine, sum;
        if (rank == 0)
            strcpy(key, counters->hint[i].key);
        MPI_Bcast(key, sizeof key, MPI_CHAR, 0, all);
        const char *value = bench_hints_find(counters, key);
        bool counts = value != NULL && number(value, &mine);
        if (!counts)
            mine = 0;
        MPI_Reduce(&mine, &sum, 1, MPI_INT64_T, MPI_SUM, 0, all);
        if (rank == 0 && counts)
            snprintf(counters->hint[i].value, sizeof counters->hint->value, "%" PRId64, sum);
    }
}

void inspect_file(MPI_Comm all, MPI_Comm comm, const char *file, MPI_Info info,
                  struct inspection *out)
{
    MPI_File fh;
    int rank, caches = 0;
    *out = (struct inspection){.hints = {.n = 0}};
    MPI_Comm_rank(comm, &rank);
    bench_check_all(comm, MPI_File_open(comm, file, MPI_MODE_RDONLY, info, &fh), "MPI_File_open",
                    file);
    if (rank == 0) {
        bench_hints_read(fh, file, &out->hints);
        caches = bench_hints_find(&out->hints, "zcache_dirty_bytes") != NULL;
    }
    MPI_Bcast(&caches, 1, MPI_INT, 0, comm);
    if (caches)
        ask_counters(comm, fh, file, out);
    bench_check_all(comm, MPI_File_close(&fh), "MPI_File_close", file);
    add_files(all, &out->aggregators);
}

void inspect_free(struct inspection *x)
{
    bench_hints_free(&x->hints);
    bench_hints_free(&x->aggregators);
    bench_hints_free(&x->daemons);
}

/* ---- printing ------------------------------------------------------------------------------- */

static const char *text(const struct bench_hints *c, const char *name)
{
    const char *value = bench_hints_find(c, name);
    return value != NULL ? value : "?";
}

/* Returns the counter; 0 if it is not reported. */
static int64_t count(const struct bench_hints *c, const char *name)
{
    const char *value = bench_hints_find(c, name);
    int64_t n;
    return value != NULL && number(value, &n) && n > 0 ? n : 0;
}

static void print_level(const struct bench_hints *c, const char *what, FILE *out)
{
    char written[UNITS_TEXT], stored[UNITS_TEXT], fetched[UNITS_TEXT], size[UNITS_TEXT];
    if (c->n == 0)
        return;
    fprintf(out, "  %s %s, %s of cache", text(c, "servers"), what,
            units_size(size, count(c, "capacity_bytes")));
    if (bench_hints_find(c, "peak_rss_bytes") != NULL)
        fprintf(out, ", peak memory %s", units_size(size, count(c, "peak_rss_bytes")));
    if (bench_hints_find(c, "provider") != NULL)
        fprintf(out, ", %s, libfabric %s", text(c, "provider"), text(c, "libfabric"));
    fprintf(out,
            "\n    reads: %s hits, %s misses, %s late; %s pages read ahead, %s used, %s late,"
            " %s wasted\n",
            text(c, "read_hits"), text(c, "read_misses"), text(c, "read_late"),
            text(c, "prefetched_pages"), text(c, "prefetch_used_pages"),
            text(c, "prefetch_late_pages"), text(c, "prefetch_wasted_pages"));
    fprintf(out, "    writes: %s, %s; written back %s in %s; %s read in %s\n",
            text(c, "write_accesses"), units_size(written, count(c, "written_bytes")),
            units_size(stored, count(c, "store_written_bytes")), text(c, "store_writes"),
            units_size(fetched, count(c, "store_read_bytes")), text(c, "store_reads"));
}

void inspect_print(const struct inspection *x, FILE *out)
{
    if (x->aggregators.n == 0)
        return;
    fprintf(out, "caches, since their start\n");
    print_level(&x->aggregators, "aggregators", out);
    print_level(&x->daemons, "daemons", out);
    fputc('\n', out);
}

static json_t *json_level(const struct bench_hints *c)
{
    if (c->n == 0)
        return json_null();
    json_t *root = json_object();
    for (int i = 0; i < c->n; i++) {
        int64_t n;
        bool counts = number(c->hint[i].value, &n);
        bench_json_set(root, c->hint[i].key,
                       counts ? json_integer((json_int_t)n) : bench_json_text(c->hint[i].value));
    }
    return root;
}

json_t *inspect_json(const struct inspection *x)
{
    if (x->aggregators.n == 0)
        return json_null();
    return json_pack("{s:o, s:o}", "aggregators", json_level(&x->aggregators), "daemons",
                     json_level(&x->daemons));
}
