/*
 * One pass over the file.
 *
 *     open | compute, wait, write | compute, wait, write | ... | wait, close
 *     open | wait, read, compute  | wait, read, compute  | ... | wait, close
 *
 * Where MPI's calls let I/O and computing overlap, two records take turns:
 *
 *     open | compute 0 | wait, begin 0 | compute 1 | end 0, wait, begin 1 | ... | end, wait, close
 *     open | wait, begin 0, end 0 | wait, begin 1 | compute 0 | end 1 | ... | compute | wait, close
 *
 * Making the data is part of the computing before a write, checking it part of the computing
 * after a read; whatever moves data behind the application's back has that time, and no more.
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "compute.h"
#include "content.h"
#include "order.h"
#include "pass.h"
#include "posix_check.h"
#include "stamp.h"

/* An open file in use. */
struct access {
    struct run *run;
    MPI_File fh;
    enum direction direction;
    const struct side *side;
    struct content content;
    double compute;  /* seconds per phase */
    double interval; /* of the timeline */
    bool overlaps;   /* computing goes on between begin_io() and end_io() */
    struct transfer transfer;
    struct times *times;
    int written; /* phases whose writes have ended */
    double started;
};

/* ---- computing ------------------------------------------------------------------------------ */

/* Which phase of the pattern comes then. */
static int place_of(const struct access *a, int phase)
{
    const struct options *o = a->run->options;
    return order_phase((enum order)o->order, phase, o->phases, o->seed, a->side->shape.rank);
}

/* The record of a phase in memory. While transfers overlap, the next phase has the other one. */
static unsigned char *record_of(const struct access *a, int phase)
{
    return a->run->buf[a->overlaps ? phase % 2 : 0];
}

static void make_data(const struct access *a, int phase)
{
    const struct pattern *p = a->run->pattern;
    const struct shape *s = &a->side->shape;
    unsigned char *at = record_of(a, phase);
    int64_t n = p->segments(s);
    int place = place_of(a, phase);
    for (int64_t i = 0; i < n; i++) {
        struct segment seg = p->segment(s, place, i);
        content_fill(&a->content, seg.offset, at, seg.length);
        at += seg.length;
    }
}

static void check_data(const struct access *a, int phase)
{
    const struct pattern *p = a->run->pattern;
    const struct shape *s = &a->side->shape;
    struct verdict *v = &a->run->verdict;
    const unsigned char *record = record_of(a, phase), *at = record;
    int64_t n = p->segments(s);
    int place = place_of(a, phase);
    for (int64_t i = 0; i < n; i++) {
        struct segment seg = p->segment(s, place, i);
        struct content_fault fault;
        int64_t wrong = content_check(&a->content, seg.offset, at, seg.length, true, &fault);
        if (wrong > 0)
            verdict_fault(v, "phase %d, record byte %" PRId64 ": file %s", phase,
                          at - record + fault.offset - seg.offset, fault.text);
        v->wrong += wrong;
        v->checked += seg.length;
        at += seg.length;
    }
}

/* Samples while computing, where that is asked for. */
static void sample(struct access *a)
{
    timeline_sample(&a->times->timeline, a->fh, a->side->file, a->written);
}

static void compute_and_sample(struct access *a, double end)
{
    do {
        sample(a);
        double stop = fmin(end, timeline_next(&a->times->timeline));
        compute_until(a->run->options->compute_by, stop);
    } while (bench_now() < end);
}

static void compute(struct access *a, int phase)
{
    const struct options *o = a->run->options;
    double start = bench_now();
    if (a->direction == WRITE)
        make_data(a, phase);
    else if (o->verify)
        check_data(a, phase);
    /* So that a read which delivers nothing cannot look right. */
    if (a->direction == READ && o->verify)
        stamp_poison(record_of(a, phase), (size_t)a->side->bytes);
    compute_and_sample(a, start + a->compute);
    a->times->phase[P_COMPUTE][phase] = bench_now() - start;
    a->times->own[T_COMPUTE] += a->times->phase[P_COMPUTE][phase];
}

/* ---- I/O ------------------------------------------------------------------------------------ */

/* Returns the seconds it took. */
static double wait_for_others(const struct access *a)
{
    double start = bench_now();
    MPI_Barrier(a->run->comm);
    double waited = bench_now() - start;
    a->times->own[T_WAIT] += waited;
    return waited;
}

static void check_call(const struct access *a, int phase, int err, const char *name)
{
    char call[64];
    snprintf(call, sizeof call, "phase %d: %s", phase, name);
    bench_check(err, call, a->side->file);
}

/* Whether this rank makes the calls that move data. */
static bool takes_part(const struct access *a)
{
    return a->side->bytes > 0 || transfer_collective((enum access_kind)a->run->options->access);
}

static void begin_io(struct access *a, int phase)
{
    const struct run *r = a->run;
    const struct options *o = r->options;
    if (o->barrier)
        a->times->phase[P_WAIT][phase] = wait_for_others(a);
    a->transfer = (struct transfer){.kind = (enum access_kind)o->access,
                                    .direction = a->direction,
                                    .buf = record_of(a, phase),
                                    .count = a->side->count,
                                    .type = a->side->type,
                                    .request = MPI_REQUEST_NULL};
    if (!takes_part(a))
        return;
    double start = bench_now();
    int err = transfer_begin(&a->transfer, a->fh,
                             r->pattern->view_offset(&a->side->shape, place_of(a, phase)));
    a->times->phase[P_IO][phase] += bench_now() - start;
    check_call(a, phase, err, transfer_begin_name(&a->transfer));
}

/* A write that is short aborts. A read that is may be that of a file that is too short, which is a
 * matter of data. */
static void report_short(const struct access *a, const char *what, int64_t moved, int64_t bytes)
{
    if (a->direction == WRITE)
        bench_abort("%s of %s is short: %" PRId64 " of %" PRId64 " bytes", what, a->side->file,
                    moved, bytes);
    verdict_fault(&a->run->verdict, "%s of %s is short: %" PRId64 " of %" PRId64 " bytes", what,
                  a->side->file, moved, bytes);
}

static void check_moved(const struct access *a, int phase)
{
    char what[128];
    if (!takes_part(a))
        return;
    int64_t moved = bench_status_bytes(&a->transfer.status, a->transfer.type);
    if (moved == a->side->bytes)
        return;
    snprintf(what, sizeof what, "phase %d: %s at view offset %" PRId64, phase,
             transfer_end_name(&a->transfer),
             (int64_t)a->run->pattern->view_offset(&a->side->shape, place_of(a, phase)));
    report_short(a, what, moved, a->side->bytes);
}

/* MPI allows MPI_File_sync only while nothing is under way, so it is here for all. */
static void end_io(struct access *a, int phase)
{
    const struct options *o = a->run->options;
    double start = bench_now();
    int err = takes_part(a) ? transfer_end(&a->transfer, a->fh) : MPI_SUCCESS;
    int sync_err = MPI_SUCCESS;
    double moved_at = bench_now();
    if (o->sync && a->direction == WRITE && err == MPI_SUCCESS)
        sync_err = MPI_File_sync(a->fh);
    double end = bench_now();
    a->times->phase[P_SYNC][phase] = end - moved_at;
    a->times->phase[P_IO][phase] += end - start;
    a->times->own[T_SYNC] += a->times->phase[P_SYNC][phase];
    a->times->own[T_IO] += a->times->phase[P_IO][phase];
    a->written += a->direction == WRITE;

    check_call(a, phase, err, transfer_end_name(&a->transfer));
    bench_check(sync_err, "MPI_File_sync", a->side->file);
    check_moved(a, phase);
    bench_progress(o->common.progress, a->direction == WRITE ? "writing" : "reading", phase + 1,
                   o->phases);
}

/* ---- the file ------------------------------------------------------------------------------- */

/* A file that was there before may be. */
static bool longer_ok(const struct run *run)
{
    return run->options->overwrite || !run->options->write;
}

/* Of the file that was written, or would have been, when it is closed: asking for the size may be
 * the first time that somebody is connected to, which would then be in no time. A file that is too
 * short explains whatever was wrong with its reading, which collective reads do not call short. */
static void check_size(const struct run *run, struct verdict *v)
{
    const struct side *side = &run->side[WRITE];
    int64_t expected = pattern_file_bytes(run->pattern, &side->shape);
    MPI_Offset size = -1;
    MPI_File fh;
    int err = MPI_File_open(side->comm, side->file, MPI_MODE_RDONLY, run->info, &fh);
    bench_check_all(run->comm, err, "MPI_File_open", side->file);
    bench_check(MPI_File_get_size(fh, &size), "MPI_File_get_size", side->file);
    bench_check(MPI_File_close(&fh), "MPI_File_close", side->file);
    if (size < expected || (size > expected && !longer_ok(run)))
        verdict_cause(v,
                      "MPI_File_get_size of %s: %" PRId64 " bytes, where %" PRId64 " were expected",
                      side->file, (int64_t)size, expected);
}

static void change_view(const struct access *a, MPI_Offset displacement, MPI_Datatype filetype)
{
    double start = bench_now();
    int err = MPI_File_set_view(a->fh, displacement, MPI_BYTE, filetype, "native", MPI_INFO_NULL);
    a->times->own[T_OPEN] += bench_now() - start;
    bench_check(err, "MPI_File_set_view", a->side->file);
}

/* All ranks look at what was read, which counts once. */
static void check_head(const struct access *a, const unsigned char *head, int64_t bytes)
{
    struct verdict *v = &a->run->verdict;
    struct content_fault fault;
    int64_t wrong = content_check(&a->content, 0, head, bytes, true, &fault);
    if (wrong > 0)
        verdict_fault(v, "file %s", fault.text);
    if (a->side->first) {
        v->wrong += wrong;
        v->checked += bytes;
    }
}

/* The first rank of a file writes the head, or reads it and tells the others, who need to know
 * what is where. It counts as I/O of the first phase. */
static void move_head(const struct access *a)
{
    const struct side *side = a->side;
    int64_t bytes = pattern_head_bytes(a->run->pattern, &side->shape);
    unsigned char *head = malloc((size_t)bytes);
    MPI_Status status;
    int err = MPI_SUCCESS;
    if (head == NULL)
        bench_abort("out of memory for a header of %" PRId64 " bytes", bytes);
    stamp_poison(head, (size_t)bytes);
    if (a->direction == WRITE)
        content_fill(&a->content, 0, head, bytes);
    double start = bench_now();
    if (side->first && a->direction == WRITE)
        err = MPI_File_write_at(a->fh, 0, head, (int)bytes, MPI_BYTE, &status);
    else if (side->first)
        err = MPI_File_read_at(a->fh, 0, head, (int)bytes, MPI_BYTE, &status);
    bench_check(err, a->direction == WRITE ? "MPI_File_write_at" : "MPI_File_read_at", side->file);
    if (a->direction == READ)
        MPI_Bcast(head, (int)bytes, MPI_BYTE, 0, side->comm);
    a->times->phase[P_IO][0] += bench_now() - start;
    int64_t moved = side->first ? bench_status_bytes(&status, MPI_BYTE) : bytes;
    if (moved != bytes)
        report_short(a, "the header", moved, bytes);
    if (a->direction == READ && a->run->options->verify)
        check_head(a, head, bytes);
    free(head);
}

static void set_view(const struct access *a)
{
    const struct pattern *p = a->run->pattern;
    MPI_Offset displacement = 0;
    MPI_Datatype filetype = MPI_BYTE;
    if (p->head_bytes != NULL) {
        change_view(a, 0, MPI_BYTE);
        move_head(a);
    }
    if (p->view != NULL)
        p->view(&a->side->shape, &displacement, &filetype);
    change_view(a, displacement, filetype);
    if (p->view != NULL)
        MPI_Type_free(&filetype);
}

static void start_access(struct access *a)
{
    MPI_Barrier(a->run->comm);
    a->started = bench_now();
}

static void open_file(struct access *a, int mode)
{
    const struct side *side = a->side;
    int err = MPI_File_open(side->comm, side->file, mode, a->run->info, &a->fh);
    a->times->own[T_OPEN] = bench_now() - a->started;
    bench_check_all(a->run->comm, err, "MPI_File_open", side->file);
}

static void close_file(struct access *a)
{
    struct times *t = a->times;
    double start = bench_now();
    bench_check(MPI_File_close(&a->fh), "MPI_File_close", a->side->file);
    t->own[T_CLOSE] = bench_now() - start;
    t->own[T_IO_CLOSE] = t->own[T_IO] + t->own[T_CLOSE];
    t->has[T_CLOSE] = t->has[T_IO_CLOSE] = true;
}

static void end_access(struct access *a)
{
    struct times *t = a->times;
    t->own[T_TOTAL] = bench_now() - a->started;
    if (a->direction == WRITE && t->has[T_CLOSE]) {
        const struct run *r = a->run;
        t->own[T_SETTLE] =
            bench_settle(a->side->comm, a->side->file, r->info, &r->options->common.hints);
        t->own[T_STORED] = t->own[T_TOTAL] + t->own[T_SETTLE];
        t->has[T_SETTLE] = t->has[T_STORED] = true;
    }
    t->done = true;
}

static void check_behind(const struct access *a)
{
    const struct run *r = a->run;
    const struct side *s = a->side;
    if (s->posix != NULL && s->first)
        posix_check(s->posix, &a->content, pattern_file_bytes(r->pattern, &s->shape), longer_ok(r),
                    r->options->gaps, &a->run->verdict);
    MPI_Barrier(r->comm);
}

/* ---- both directions ------------------------------------------------------------------------ */

static void write_phases(struct access *a)
{
    const struct options *o = a->run->options;
    for (int phase = 0; phase < o->phases; phase++) {
        compute(a, phase);
        if (a->overlaps && phase > 0)
            end_io(a, phase - 1);
        begin_io(a, phase);
        if (!a->overlaps)
            end_io(a, phase);
    }
    if (a->overlaps)
        end_io(a, o->phases - 1);
    timeline_hasten(&a->times->timeline);
    sample(a);
    wait_for_others(a);
}

static void read_phases(struct access *a)
{
    const struct options *o = a->run->options;
    for (int i = 0; i < 2 && a->run->buf[i] != NULL; i++)
        stamp_poison(a->run->buf[i], (size_t)a->side->bytes);
    for (int phase = 0; phase < o->phases; phase++) {
        if (!a->overlaps || phase == 0) {
            begin_io(a, phase);
            end_io(a, phase);
        }
        bool ahead = a->overlaps && phase + 1 < o->phases;
        if (ahead)
            begin_io(a, phase + 1);
        compute(a, phase);
        if (ahead)
            end_io(a, phase + 1);
    }
    wait_for_others(a);
}

/* Leaves the file open with --no-reopen. */
static void write_pass(struct access *a)
{
    const struct options *o = a->run->options;
    bool reopen = o->reopen || !o->read;
    if (!o->overwrite)
        bench_delete(a->side->comm, a->side->file, a->run->info, true);
    start_access(a);
    timeline_start(&a->times->timeline, a->interval, a->started);
    open_file(a, MPI_MODE_CREATE | (reopen ? MPI_MODE_WRONLY : MPI_MODE_RDWR));
    set_view(a);
    write_phases(a);
    if (reopen)
        close_file(a);
    end_access(a);
    if (reopen)
        check_behind(a);
}

static void read_pass(struct access *a)
{
    bool opened = a->fh != MPI_FILE_NULL;
    start_access(a);
    if (!opened)
        open_file(a, MPI_MODE_RDONLY);
    set_view(a);
    read_phases(a);
    close_file(a);
    end_access(a);
    if (opened || !a->run->options->write)
        check_behind(a);
}

static void take_side(struct access *a, enum direction direction, int generation)
{
    a->direction = direction;
    a->side = &a->run->side[direction];
    a->content = (struct content){.pattern = a->run->pattern,
                                  .shape = &a->side->shape,
                                  .stamp = stamp_make(a->side->stamp, (unsigned)generation)};
}

void pass_run(struct run *run, double compute_seconds, struct pass *pass)
{
    const struct options *o = run->options;
    struct access a = {.run = run,
                       .fh = MPI_FILE_NULL,
                       .compute = compute_seconds,
                       .interval = pass->interval,
                       .overlaps = transfer_overlaps((enum access_kind)o->access)};
    if (o->write) {
        take_side(&a, WRITE, pass->generation);
        a.times = &pass->write;
        write_pass(&a);
    }
    /* A file that stayed open is closed by the reading, so that has to run. */
    bool failed = a.fh == MPI_FILE_NULL && verdict_any(run->comm, &run->verdict);
    if (o->read && !failed) {
        take_side(&a, READ, pass->generation);
        a.times = &pass->read;
        read_pass(&a);
    }
    check_size(run, &run->verdict);
}

/* ---- its times ------------------------------------------------------------------------------ */

void pass_init(const struct run *run, int generation, double interval, struct pass *pass)
{
    const struct options *o = run->options;
    pass->interval = run->rank == 0 ? interval : 0;
    pass->generation = generation;
    times_init(&pass->write, o->phases, o->sync);
    times_init(&pass->read, o->phases, false);
}

void pass_reduce(const struct run *run, struct pass *pass)
{
    times_reduce(&pass->write, run->comm);
    times_reduce(&pass->read, run->comm);
}

void pass_free(struct pass *pass)
{
    times_free(&pass->write);
    times_free(&pass->read);
}
