/*
 * What all passes share.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "bench_hints.h"
#include "permute.h"
#include "run.h"
#include "stamp.h"
#include "transfer.h"

/* `name`, with the number of the file behind it where there are several. */
static char *numbered(const struct shape *s, const char *name)
{
    char *copy = NULL;
    if (name == NULL)
        return NULL;
    int rc = s->files > 1 ? asprintf(&copy, "%s.%04d", name, s->file) : asprintf(&copy, "%s", name);
    if (rc < 0)
        bench_abort("out of memory for a file name");
    return copy;
}

/* Makes the types of this side's data in memory. */
static void make_types(const struct run *run, struct side *side)
{
    const struct options *o = run->options;
    side->permuted = NULL;
    if (options_external(o)) {
        side->type = MPI_INT64_T;
        side->count = (int)(side->bytes / 8);
    } else {
        bench_bytes_make(side->bytes, &side->type, &side->count);
    }
    if (o->permute == PERMUTE_NONE || o->permute_by != PERMUTE_BY_TYPE)
        return;
    side->permuted = calloc(PERMUTATIONS, sizeof *side->permuted);
    if (side->permuted == NULL)
        bench_abort("out of memory for types");
    for (int k = 0; k < PERMUTATIONS; k++)
        permute_type(&side->shape, k, &side->permuted[k]);
}

static void free_types(const struct run *run, struct side *side)
{
    for (int k = 0; k < PERMUTATIONS && side->permuted != NULL; k++)
        MPI_Type_free(&side->permuted[k]);
    free(side->permuted);
    if (!options_external(run->options))
        bench_bytes_free(&side->type);
}

/* What rank `as` of the layout writes, or reads. */
static void side_init(const struct run *run, struct side *side, int as, bool reading)
{
    const struct options *o = run->options;
    const struct pattern *p = run->pattern;
    side->shape = options_shape(o, as, run->nranks * o->roles, reading);
    if (p->prepare != NULL && p->prepare(&side->shape) != 0)
        bench_abort("out of memory for --pattern %s", p->name);
    side->file = numbered(&side->shape, o->common.file);
    side->posix = numbered(&side->shape, o->common.posix_verify);
    side->stamp = numbered(&side->shape, o->stamp);
    int rank;
    MPI_Comm_split(run->comm, side->shape.file, as, &side->comm);
    MPI_Comm_rank(side->comm, &rank);
    side->first = rank == 0;
    side->bytes = pattern_bytes(p, &side->shape);
    make_types(run, side);
}

static void side_free(const struct run *run, struct side *side)
{
    free_types(run, side);
    MPI_Comm_free(&side->comm);
    free(side->file);
    free(side->posix);
    free(side->stamp);
    if (run->pattern->release != NULL)
        run->pattern->release(&side->shape);
}

const struct side *run_side(const struct run *run, enum direction direction, int role)
{
    return role > 0 ? &run->more[role - 1] : &run->side[direction];
}

static int64_t all_bytes(const struct run *run)
{
    int64_t mine = 0, sum;
    for (int role = 0; role < run->options->roles; role++) {
        const struct side *w = run_side(run, WRITE, role);
        mine += run->options->phases * w->bytes;
        if (w->first)
            mine += pattern_head_bytes(run->pattern, &w->shape);
    }
    MPI_Allreduce(&mine, &sum, 1, MPI_INT64_T, MPI_SUM, run->comm);
    return sum;
}

void run_init(struct run *run, const struct options *o, MPI_Comm comm)
{
    *run = (struct run){.options = o, .pattern = pattern_get(o->pattern), .comm = comm};
    MPI_Comm_rank(comm, &run->rank);
    MPI_Comm_size(comm, &run->nranks);
    side_init(run, &run->side[WRITE], run->rank, false);
    side_init(run, &run->side[READ], (run->rank + o->read_shift) % run->nranks, true);
    run->more = calloc((size_t)o->roles, sizeof *run->more);
    if (run->more == NULL)
        bench_abort("out of memory for %d files of a rank", o->roles);
    for (int role = 1; role < o->roles; role++)
        side_init(run, &run->more[role - 1], run->rank + role * run->nranks, true);
    run->file_bytes = all_bytes(run);
    run->info = bench_hints_make(&o->common.hints);
    int64_t bytes = run->side[WRITE].bytes;
    if (bytes < run->side[READ].bytes)
        bytes = run->side[READ].bytes;
    for (int i = 0; i < (transfer_overlaps((enum access_kind)o->access) ? 2 : 1); i++) {
        run->buf[i] = malloc((size_t)bytes + 1);
        if (run->buf[i] == NULL)
            bench_abort("out of memory for %lld bytes of a phase", (long long)bytes);
        /* Touch all pages, so that the first phase is like the others. */
        stamp_poison(run->buf[i], (size_t)bytes);
    }
    if (options_rearranged(o)) {
        run->packed = malloc((size_t)bytes + 1);
        if (run->packed == NULL)
            bench_abort("out of memory for %lld bytes of a phase", (long long)bytes);
        stamp_poison(run->packed, (size_t)bytes);
    }
}

void run_free(struct run *run)
{
    side_free(run, &run->side[WRITE]);
    side_free(run, &run->side[READ]);
    for (int role = 1; role < run->options->roles; role++)
        side_free(run, &run->more[role - 1]);
    free(run->more);
    free(run->buf[0]);
    free(run->buf[1]);
    free(run->packed);
    if (run->info != MPI_INFO_NULL)
        MPI_Info_free(&run->info);
}
