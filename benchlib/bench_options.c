/*
 * The options that every benchmark has.
 */
#include "config.h"

#include "bench.h"
#include "bench_hints.h"
#include "bench_options.h"

int bench_options_parse(const struct arg *table, void *options, struct bench_options *common,
                        int argc, char **argv, char message[ARGS_MESSAGE])
{
    common->progress = BENCH_PROGRESS_TERMINAL;
    int rc = args_parse(table, options, argc, argv, message);
    if (rc == 0)
        rc = bench_hints_check(&common->hints, message);
    if (rc == 0 && common->json != NULL)
        rc = args_check_utf8(table, options, message);
    if (common->quiet && common->progress == BENCH_PROGRESS_TERMINAL)
        common->progress = BENCH_PROGRESS_NEVER;
    return rc;
}

bool bench_options_only_tell(const struct bench_options *o)
{
    return o->help || o->version;
}

void bench_options_free(struct bench_options *o)
{
    args_free_pairs(&o->hints);
}
