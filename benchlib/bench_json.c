/*
 * Reports in JSON: the parts they are made of, and where they go.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_json.h"
#include "json_file.h"
#include "units.h"

/* Something could not be put into the report. */
static bool json_incomplete;

void bench_json_set(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) != 0)
        json_incomplete = true;
}

void bench_json_append(json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) != 0)
        json_incomplete = true;
}

static bool is_data(const struct bench_options *o)
{
    return (o->file != NULL && json_file_is(o->json, o->file, o->numbered)) ||
           (o->posix_verify != NULL && json_file_is(o->json, o->posix_verify, o->numbered));
}

int bench_json_test(MPI_Comm comm, const struct bench_options *o)
{
    int rank, status = BENCH_OK;
    MPI_Comm_rank(comm, &rank);
    if (rank == 0 && o->json != NULL) {
        bool data = is_data(o);
        int rc = data ? 0 : json_file_test(o->json);
        if (data)
            fprintf(stderr, "%s: --json %s is the file with the data: give another\n", bench_name(),
                    o->json);
        if (rc != 0)
            fprintf(stderr, "%s: --json %s cannot be written: %s: give a file that can\n",
                    bench_name(), o->json, strerror(-rc));
        if (data || rc != 0)
            status = BENCH_USAGE;
    }
    MPI_Bcast(&status, 1, MPI_INT, 0, comm);
    return status;
}

int bench_json_write(const char *name, json_t *root)
{
    int rc = 0;
    bool whole = root != NULL && !json_incomplete;
    if (whole)
        rc = json_file_write(name, root);
    if (!whole)
        bench_message("--json %s is not written: a part of the report could not be made", name);
    if (rc != 0)
        bench_message("--json %s cannot be written: %s", name, strerror(-rc));
    json_decref(root);
    return whole && rc == 0 ? BENCH_OK : BENCH_WRONG;
}

json_t *bench_json_hints(const struct bench_hints *hints)
{
    json_t *object = json_object();
    for (int i = 0; i < hints->n; i++)
        bench_json_set(object, hints->hint[i].key, bench_json_text(hints->hint[i].value));
    return object;
}

json_t *bench_json_pairs(const struct arg_pairs *pairs)
{
    json_t *object = json_object();
    for (int i = 0; i < pairs->n; i++)
        bench_json_set(object, pairs->pair[i].key, bench_json_text(pairs->pair[i].value));
    return object;
}

json_t *bench_json_numbers(const double *values, int n)
{
    json_t *array = json_array();
    for (int i = 0; i < n; i++)
        bench_json_append(array, json_real(values[i]));
    return array;
}

void bench_json_figures(json_t *object, json_t *over_ranks, const char *key,
                        const struct bench_figures *f)
{
    bench_json_set(object, key, json_real(f->max));
    bench_json_set(over_ranks, key, json_pack("{s:f, s:f}", "min", f->min, "avg", f->avg));
}

json_t *bench_json_text(const char *text)
{
    if (text == NULL)
        return json_null();
    /* At worst every byte becomes three. */
    char *clean = malloc(3 * strlen(text) + 1), *to = clean;
    if (clean == NULL)
        return NULL;
    while (*text != '\0') {
        size_t valid = units_utf8(text);
        memcpy(to, text, valid);
        to += valid;
        text += valid;
        if (*text != '\0') {
            to = stpcpy(to, "\xef\xbf\xbd");
            text++;
        }
    }
    *to = '\0';
    json_t *string = json_string(clean);
    free(clean);
    return string;
}
