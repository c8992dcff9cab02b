/*
 * What a benchmark is, and its way from main() to its exit status.
 */
#include "config.h"

#include <stdlib.h>

#include "bench.h"
#include "bench_json.h"
#include "bench_program.h"

/* ---- the beginning --------------------------------------------------------------------------- */

static void tell(const struct bench_program *p, const struct bench_options *o)
{
    if (o->help)
        p->help(stdout);
    else
        printf("%s (zcache) %s\n", p->name, PACKAGE_VERSION);
}

static int run(const struct bench_program *p, const struct options *o,
               const struct bench_options *common, MPI_Comm comm)
{
    int status = bench_json_test(comm, common);
    return status == BENCH_OK ? p->run(p, o, comm) : status;
}

static int start(const struct bench_program *p, struct options *o, struct bench_options *common,
                 int argc, char **argv, MPI_Comm comm)
{
    char message[ARGS_MESSAGE];
    int rank, nranks, status = BENCH_OK;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &nranks);
    bench_share_argv(comm, &argc, &argv);
    if (p->parse(o, argc, argv, nranks, message) != 0) {
        status = BENCH_USAGE;
        if (rank == 0)
            fprintf(stderr, "%s: %s\n", p->name, message);
    } else if (!bench_options_only_tell(common)) {
        status = run(p, o, common, comm);
    } else if (rank == 0) {
        tell(p, common);
    }
    bench_options_free(common);
    free(argv);
    return status;
}

int bench_program_main(const struct bench_program *p, struct options *o,
                       struct bench_options *common, int argc, char **argv)
{
    bench_init(p->name);
    MPI_Init(&argc, &argv);
    int status = start(p, o, common, argc, argv, MPI_COMM_WORLD);
    MPI_Finalize();
    return status;
}

/* ---- the end --------------------------------------------------------------------------------- */

static int publish(const struct bench_program *p, const struct report *r,
                   const struct bench_report *common)
{
    const struct bench_options *o = common->options;
    int status = BENCH_OK;
    if (bench_report_failed(common)) {
        p->failure(r, stderr);
        status = BENCH_WRONG;
    } else if (!o->quiet) {
        p->table(r, stdout);
        fflush(stdout);
    }
    if (o->json != NULL) {
        int json_status = bench_json_write(o->json, p->json(r));
        if (status == BENCH_OK)
            status = json_status;
    }
    return status;
}

int bench_program_publish(const struct bench_program *p, const struct report *r,
                          const struct bench_report *common, MPI_Comm comm)
{
    int rank, status = BENCH_OK;
    MPI_Comm_rank(comm, &rank);
    if (rank == 0)
        status = publish(p, r, common);
    MPI_Bcast(&status, 1, MPI_INT, 0, comm);
    return status;
}
