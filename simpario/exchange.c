/*
 * An exchange by hand: the plan, and the data's way.
 *
 *     record of this rank   | a | a | b | c | c |         segments, in the order of the file
 *     to rank                 0       1   2               counts[], at[]
 *     from ranks            | 0 0 0 | 1 | 2 2 |           received, in pieces
 *     part of this rank     | 0 1 0 2 2 0 |               in its place, then one write a run
 *
 * Segments ascend in the file and parts do, too, so a record need not be packed.
 */
#include "config.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "exchange.h"

/* What is exchanged with each rank, in units of what is moved; for MPI_Alltoallv. */
struct counts {
    int *n, *at;
};

struct exchange {
    const struct pattern *pattern;
    const struct shape *shape;
    MPI_Comm comm;
    int rank, nranks;
    int64_t nsegments;
    struct segment *segments; /* of this rank, of the planned phase */
    int64_t lo, hi;           /* of all ranks in the file; lo >= hi: nothing */
    struct counts out, in;    /* bytes of the record, and of what is received for this part */
    struct segment *pieces;   /* of what is received, in that order; offsets in the file */
    int64_t npieces, nreceived;
    struct segment *runs; /* of this rank's part; ascending, apart from each other */
    int64_t nruns;
    unsigned char *received, *part;
};

/* ---- memory --------------------------------------------------------------------------------- */

static void *allocate(int64_t n, size_t size)
{
    void *p = calloc((size_t)n + 1, size);
    if (p == NULL)
        bench_abort("out of memory for an exchange");
    return p;
}

static struct counts counts_new(int n)
{
    return (struct counts){allocate(n, sizeof(int)), allocate(n, sizeof(int))};
}

static void counts_free(struct counts *c)
{
    free(c->n);
    free(c->at);
}

/* Fills in `at`; returns the sum. */
static int64_t counts_add_up(const struct counts *c, int n)
{
    int64_t sum = 0;
    for (int i = 0; i < n; i++) {
        if (sum > INT_MAX)
            break;
        c->at[i] = (int)sum;
        sum += c->n[i];
    }
    if (sum > INT_MAX)
        bench_abort("more than 2 GiB for one rank of an exchange: give a smaller --record");
    return sum;
}

/* ---- the plan ------------------------------------------------------------------------------- */

/* Where the part of a rank begins. */
static int64_t part_begins(const struct exchange *e, int rank)
{
    int64_t bytes = e->hi - e->lo, each = bytes / e->nranks, rest = bytes % e->nranks;
    return e->lo + each * rank + (rank < rest ? rank : rest);
}

static void find_range(struct exchange *e)
{
    int64_t mine[2] = {INT64_MAX, INT64_MAX}, all[2];
    if (e->nsegments > 0) {
        const struct segment *last = &e->segments[e->nsegments - 1];
        mine[0] = e->segments[0].offset;
        mine[1] = -(last->offset + last->length);
    }
    MPI_Allreduce(mine, all, 2, MPI_INT64_T, MPI_MIN, e->comm);
    e->lo = all[0];
    e->hi = all[1] == INT64_MAX ? all[0] : -all[1];
}

/* Cuts this rank's segments at the borders of parts. Returns the pieces, in their order; `n`: how
 * many go to each rank. */
static struct segment *cut(struct exchange *e, const struct counts *n)
{
    struct segment *pieces = allocate(e->nsegments + e->nranks, sizeof *pieces);
    int64_t k = 0, last = INT64_MIN;
    int to = 0;
    for (int64_t i = 0; i < e->nsegments; i++) {
        struct segment s = e->segments[i];
        if (s.offset < last)
            bench_abort("--access exchange: segments do not ascend in the file");
        last = s.offset;
        while (s.length > 0) {
            while (s.offset >= part_begins(e, to + 1))
                to++;
            int64_t fits = part_begins(e, to + 1) - s.offset;
            int64_t len = s.length < fits ? s.length : fits;
            pieces[k++] = (struct segment){s.offset, len};
            n->n[to]++;
            if (len > INT_MAX - e->out.n[to])
                bench_abort("more than 2 GiB for one rank of an exchange: give a smaller --record");
            e->out.n[to] += (int)len;
            s.offset += len;
            s.length -= len;
        }
    }
    return pieces;
}

static void count_received(struct exchange *e)
{
    MPI_Alltoall(e->out.n, 1, MPI_INT, e->in.n, 1, MPI_INT, e->comm);
    counts_add_up(&e->out, e->nranks);
    e->nreceived = counts_add_up(&e->in, e->nranks);
}

/* Each rank tells each other which pieces of its part it sends. */
static void swap_pieces(struct exchange *e)
{
    struct counts out = counts_new(e->nranks), in = counts_new(e->nranks);
    MPI_Datatype two;
    struct segment *mine = cut(e, &out);
    count_received(e);
    MPI_Alltoall(out.n, 1, MPI_INT, in.n, 1, MPI_INT, e->comm);
    counts_add_up(&out, e->nranks);
    e->npieces = counts_add_up(&in, e->nranks);
    e->pieces = allocate(e->npieces, sizeof *e->pieces);
    MPI_Type_contiguous(2, MPI_INT64_T, &two);
    MPI_Type_commit(&two);
    MPI_Alltoallv(mine, out.n, out.at, two, e->pieces, in.n, in.at, two, e->comm);
    MPI_Type_free(&two);
    counts_free(&out);
    counts_free(&in);
    free(mine);
}

static int by_offset(const void *a, const void *b)
{
    const struct segment *s = a, *t = b;
    return (s->offset > t->offset) - (s->offset < t->offset);
}

/* Joins the pieces to runs, each of which is one access to the file. */
static void join_runs(struct exchange *e)
{
    e->runs = allocate(e->npieces, sizeof *e->runs);
    memcpy(e->runs, e->pieces, (size_t)e->npieces * sizeof *e->runs);
    qsort(e->runs, (size_t)e->npieces, sizeof *e->runs, by_offset);
    e->nruns = 0;
    for (int64_t i = 0; i < e->npieces; i++) {
        struct segment s = e->runs[i], *last = e->nruns > 0 ? &e->runs[e->nruns - 1] : NULL;
        if (last != NULL && s.offset <= last->offset + last->length) {
            int64_t end = s.offset + s.length;
            if (end > last->offset + last->length)
                last->length = end - last->offset;
        } else {
            e->runs[e->nruns++] = s;
        }
    }
}

static void make_plan(struct exchange *e, int phase)
{
    for (int64_t i = 0; i < e->nsegments; i++)
        e->segments[i] = e->pattern->segment(e->shape, phase, i);
    find_range(e);
    swap_pieces(e);
    join_runs(e);
    e->received = allocate(e->nreceived, 1);
    e->part = allocate(part_begins(e, e->rank + 1) - part_begins(e, e->rank), 1);
}

/* Returns how far a phase is behind the planned one in the file. */
static int64_t distance_of(const struct exchange *e, int phase)
{
    int64_t by = 0, mine[2] = {INT64_MAX, INT64_MAX}, all[2];
    for (int64_t i = 0; i < e->nsegments; i++) {
        struct segment s = e->pattern->segment(e->shape, phase, i);
        if (i == 0)
            by = s.offset - e->segments[0].offset;
        if (s.offset - e->segments[i].offset != by || s.length != e->segments[i].length)
            bench_abort("--access exchange: phases differ in more than their place");
    }
    if (e->nsegments > 0) {
        mine[0] = by;
        mine[1] = -by;
    }
    MPI_Allreduce(mine, all, 2, MPI_INT64_T, MPI_MIN, e->comm);
    if (all[0] == INT64_MAX)
        return 0; /* no rank has bytes */
    if (all[0] != -all[1])
        bench_abort("--access exchange: the phases of ranks differ in their place");
    return all[0];
}

struct exchange *exchange_new(const struct pattern *p, const struct shape *shape, MPI_Comm comm,
                              int phase)
{
    struct exchange *e = allocate(1, sizeof *e);
    e->pattern = p;
    e->shape = shape;
    e->comm = comm;
    MPI_Comm_rank(comm, &e->rank);
    MPI_Comm_size(comm, &e->nranks);
    e->nsegments = p->segments(shape);
    e->segments = allocate(e->nsegments, sizeof *e->segments);
    e->out = counts_new(e->nranks);
    e->in = counts_new(e->nranks);
    make_plan(e, phase);
    return e;
}

void exchange_free(struct exchange *e)
{
    if (e == NULL)
        return;
    free(e->segments);
    free(e->pieces);
    free(e->runs);
    free(e->received);
    free(e->part);
    counts_free(&e->out);
    counts_free(&e->in);
    free(e);
}

/* ---- the data ------------------------------------------------------------------------------- */

/* Between what is received and this rank's part. */
static void place_pieces(struct exchange *e, bool into_part)
{
    int64_t begins = part_begins(e, e->rank);
    unsigned char *at = e->received;
    for (int64_t i = 0; i < e->npieces; i++) {
        unsigned char *in_part = e->part + (e->pieces[i].offset - begins);
        size_t len = (size_t)e->pieces[i].length;
        memcpy(into_part ? in_part : at, into_part ? at : in_part, len);
        at += len;
    }
}

/* Moves the runs of this rank's part, `by` bytes behind where they were planned. */
static int move_runs(struct exchange *e, enum direction direction, MPI_File fh, int64_t by,
                     bool *moved)
{
    int64_t begins = part_begins(e, e->rank);
    *moved = true;
    for (int64_t i = 0; i < e->nruns; i++) {
        const struct segment *r = &e->runs[i];
        MPI_Status status;
        MPI_Datatype type;
        int count;
        bench_bytes_make(r->length, &type, &count);
        int err = direction == WRITE
                      ? MPI_File_write_at(fh, r->offset + by, e->part + (r->offset - begins), count,
                                          type, &status)
                      : MPI_File_read_at(fh, r->offset + by, e->part + (r->offset - begins), count,
                                         type, &status);
        if (err == MPI_SUCCESS && bench_status_bytes(&status, type) != r->length)
            *moved = false;
        bench_bytes_free(&type);
        if (err != MPI_SUCCESS)
            return err;
    }
    return MPI_SUCCESS;
}

int exchange_move(struct exchange *e, enum direction direction, MPI_File fh, int phase,
                  void *record, bool *moved)
{
    int64_t by = distance_of(e, phase);
    int err;
    if (direction == WRITE) {
        MPI_Alltoallv(record, e->out.n, e->out.at, MPI_BYTE, e->received, e->in.n, e->in.at,
                      MPI_BYTE, e->comm);
        place_pieces(e, true);
        return move_runs(e, WRITE, fh, by, moved);
    }
    err = move_runs(e, READ, fh, by, moved);
    place_pieces(e, false);
    MPI_Alltoallv(e->received, e->in.n, e->in.at, MPI_BYTE, record, e->out.n, e->out.at, MPI_BYTE,
                  e->comm);
    return err;
}
