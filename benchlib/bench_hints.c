/*
 * Hints: what was asked for with --hint, and what a file then says is in force.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "bench_hints.h"

int bench_hints_check(const struct arg_pairs *pairs, char message[ARGS_MESSAGE])
{
    for (int i = 0; i < pairs->n; i++) {
        bool key = strlen(pairs->pair[i].key) > MPI_MAX_INFO_KEY;
        if (!key && strlen(pairs->pair[i].value) <= MPI_MAX_INFO_VAL)
            continue;
        snprintf(message, ARGS_MESSAGE,
                 "--hint %.40s%s: MPI takes %s of at most %d bytes: give a shorter one",
                 pairs->pair[i].key, strlen(pairs->pair[i].key) > 40 ? "..." : "",
                 key ? "keys" : "values", key ? MPI_MAX_INFO_KEY : MPI_MAX_INFO_VAL);
        return -EINVAL;
    }
    return 0;
}

MPI_Info bench_hints_make(const struct arg_pairs *pairs)
{
    MPI_Info info = MPI_INFO_NULL;
    if (pairs->n == 0)
        return info;
    MPI_Info_create(&info);
    for (int i = 0; i < pairs->n; i++)
        MPI_Info_set(info, pairs->pair[i].key, pairs->pair[i].value);
    return info;
}

void bench_hints_print(const struct bench_hints *hints, const struct arg_pairs *asked, FILE *out)
{
    fprintf(out, "hints in force%s\n", hints->n == 0 ? ": none" : "");
    for (int i = 0; i < hints->n; i++)
        fprintf(out, "  %-30s %s\n", hints->hint[i].key, hints->hint[i].value);
    for (int i = 0; i < asked->n; i++) {
        const char *value = bench_hints_find(hints, asked->pair[i].key);
        if (value == NULL || strcmp(value, asked->pair[i].value) != 0)
            fprintf(out, "  asked for, but not in force: %s=%s\n", asked->pair[i].key,
                    asked->pair[i].value);
    }
}

void bench_hints_free(struct bench_hints *hints)
{
    free(hints->hint);
    hints->hint = NULL;
    hints->n = 0;
}

void bench_hints_read(MPI_File fh, const char *file, struct bench_hints *hints)
{
    MPI_Info info = MPI_INFO_NULL;
    bench_hints_free(hints);
    bench_check(MPI_File_get_info(fh, &info), "MPI_File_get_info", file);
    if (info == MPI_INFO_NULL)
        return;
    int n = 0;
    MPI_Info_get_nkeys(info, &n);
    hints->hint = calloc((size_t)n + 1, sizeof *hints->hint);
    if (hints->hint == NULL)
        bench_abort("out of memory for %d hints", n);
    for (int i = 0; i < n; i++) {
        struct bench_hint *h = &hints->hint[hints->n];
        int found = 0;
        MPI_Info_get_nthkey(info, i, h->key);
        MPI_Info_get(info, h->key, (int)sizeof h->value - 1, h->value, &found);
        if (found)
            hints->n++;
    }
    MPI_Info_free(&info);
}

const char *bench_hints_find(const struct bench_hints *hints, const char *key)
{
    for (int i = 0; i < hints->n; i++) {
        if (strcmp(hints->hint[i].key, key) == 0)
            return hints->hint[i].value;
    }
    return NULL;
}
