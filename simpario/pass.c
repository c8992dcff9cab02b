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
#include <time.h>

#include "pass.h"
#include "posix_check.h"
#include "stamp.h"

/* An open file in use. */
struct access {
    struct run *run;
    MPI_File fh;
    enum direction direction;
    const struct shape *shape;
    struct stamp stamp;
    double compute;  /* seconds per phase */
    double interval; /* of the timeline */
    bool overlaps;   /* computing goes on between begin_io() and end_io() */
    struct transfer transfer;
    struct times *times;
    int written; /* phases whose writes have ended */
    double started;
};

/* ---- computing ------------------------------------------------------------------------------ */

static void spin_until(double end)
{
    volatile double x = 1;
    while (bench_now() < end) {
        for (int i = 0; i < 200; i++)
            x = x * 1.0000001 + 1e-9;
    }
}

static void sleep_until(double end)
{
    double left;
    while ((left = end - bench_now()) > 0) {
        struct timespec ts = {.tv_sec = (time_t)left};
        ts.tv_nsec = (long)((left - (double)ts.tv_sec) * 1e9);
        nanosleep(&ts, NULL);
    }
}

/* The record of a phase in memory. While transfers overlap, the next phase has the other one. */
static unsigned char *record_of(const struct access *a, int phase)
{
    return a->run->buf[a->overlaps ? phase % 2 : 0];
}

static void make_data(const struct access *a, int phase)
{
    const struct pattern *p = a->run->pattern;
    unsigned char *at = record_of(a, phase);
    int64_t n = p->segments(a->shape);
    for (int64_t i = 0; i < n; i++) {
        struct segment seg = p->segment(a->shape, phase, i);
        stamp_fill(&a->stamp, seg.offset, at, (size_t)seg.length);
        at += seg.length;
    }
}

static void check_data(const struct access *a, int phase)
{
    const struct pattern *p = a->run->pattern;
    struct verdict *v = &a->run->verdict;
    const unsigned char *record = record_of(a, phase), *at = record;
    int64_t n = p->segments(a->shape);
    for (int64_t i = 0; i < n; i++) {
        struct segment seg = p->segment(a->shape, phase, i);
        struct stamp_fault fault;
        char text[VERDICT_TEXT - 64];
        if (stamp_check(&a->stamp, seg.offset, at, (size_t)seg.length, &fault) > 0) {
            v->wrong += fault.wrong;
            verdict_fault(v, "phase %d, record byte %" PRId64 ": file %s", phase,
                          at - record + fault.offset - seg.offset,
                          stamp_describe(&a->stamp, &fault, text, sizeof text));
        }
        v->checked += seg.length;
        at += seg.length;
    }
}

/* Samples while computing, where that is asked for. */
static void sample(struct access *a)
{
    timeline_sample(&a->times->timeline, a->fh, a->run->options->file, a->written);
}

static void compute_until(struct access *a, double end)
{
    do {
        sample(a);
        double stop = fmin(end, timeline_next(&a->times->timeline));
        if (a->run->options->compute_by == COMPUTE_SPIN)
            spin_until(stop);
        else
            sleep_until(stop);
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
        stamp_poison(record_of(a, phase), (size_t)o->record);
    compute_until(a, start + a->compute);
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
    bench_check(err, call, a->run->options->file);
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
                                    .count = r->count,
                                    .type = r->type,
                                    .request = MPI_REQUEST_NULL};
    double start = bench_now();
    int err = transfer_begin(&a->transfer, a->fh, r->pattern->view_offset(a->shape, phase));
    a->times->phase[P_IO][phase] = bench_now() - start;
    check_call(a, phase, err, transfer_begin_name(&a->transfer));
}

/* MPI allows MPI_File_sync only while nothing is under way, so it is here for all. */
static void end_io(struct access *a, int phase)
{
    const struct options *o = a->run->options;
    double start = bench_now();
    int err = transfer_end(&a->transfer, a->fh);
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
    bench_check(sync_err, "MPI_File_sync", o->file);
    int64_t moved = bench_status_bytes(&a->transfer.status, a->transfer.type);
    if (moved != o->record)
        bench_abort("phase %d: %s of %s is short: %" PRId64 " of %" PRId64
                    " bytes at view offset %" PRId64,
                    phase, transfer_end_name(&a->transfer), o->file, moved, o->record,
                    (int64_t)a->run->pattern->view_offset(a->shape, phase));
    bench_progress(a->run->rank == 0 ? o->progress : BENCH_PROGRESS_NEVER,
                   a->direction == WRITE ? "writing" : "reading", phase + 1, o->phases);
}

/* ---- the file ------------------------------------------------------------------------------- */

/* A file that was there before may be. */
static bool longer_ok(const struct run *run)
{
    return run->options->overwrite || !run->options->write;
}

static void check_size(const struct access *a, const char *when)
{
    const struct run *r = a->run;
    MPI_Offset size = -1;
    bench_check(MPI_File_get_size(a->fh, &size), "MPI_File_get_size", r->options->file);
    if (size < r->file_bytes || (size > r->file_bytes && !longer_ok(r)))
        verdict_fault(&a->run->verdict,
                      "MPI_File_get_size %s: %" PRId64 " bytes, where %" PRId64 " were expected",
                      when, (int64_t)size, r->file_bytes);
}

static void set_view(const struct access *a)
{
    const struct pattern *p = a->run->pattern;
    MPI_Offset displacement = 0;
    MPI_Datatype filetype = MPI_BYTE;
    if (p->view != NULL)
        p->view(a->shape, &displacement, &filetype);
    double start = bench_now();
    int err = MPI_File_set_view(a->fh, displacement, MPI_BYTE, filetype, "native", MPI_INFO_NULL);
    a->times->own[T_OPEN] += bench_now() - start;
    bench_check(err, "MPI_File_set_view", a->run->options->file);
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
    struct run *r = a->run;
    int err = MPI_File_open(r->comm, r->options->file, mode, r->info, &a->fh);
    a->times->own[T_OPEN] = bench_now() - a->started;
    bench_check_all(r->comm, err, "MPI_File_open", r->options->file);
}

static void close_file(struct access *a)
{
    struct times *t = a->times;
    double start = bench_now();
    bench_check(MPI_File_close(&a->fh), "MPI_File_close", a->run->options->file);
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
        t->own[T_SETTLE] = bench_settle(r->comm, r->options->file, r->info, &r->options->hints);
        t->own[T_STORED] = t->own[T_TOTAL] + t->own[T_SETTLE];
        t->has[T_SETTLE] = t->has[T_STORED] = true;
    }
    t->done = true;
}

static void check_behind(const struct access *a)
{
    const struct run *r = a->run;
    if (r->options->posix_verify != NULL && r->rank == 0)
        posix_check(r->options->posix_verify, &a->stamp, r->file_bytes, longer_ok(r),
                    &a->run->verdict);
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
    sample(a);
    wait_for_others(a);
    check_size(a, "after writing");
}

static void read_phases(struct access *a)
{
    const struct options *o = a->run->options;
    check_size(a, "before reading");
    if (verdict_any(a->run->comm, &a->run->verdict))
        return;
    for (int i = 0; i < 2 && a->run->buf[i] != NULL; i++)
        stamp_poison(a->run->buf[i], (size_t)o->record);
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
        bench_delete(a->run->comm, o->file, a->run->info, true);
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

void pass_run(struct run *run, double compute_seconds, struct pass *pass)
{
    const struct options *o = run->options;
    struct access a = {.run = run,
                       .fh = MPI_FILE_NULL,
                       .stamp = stamp_make(o->stamp, (unsigned)pass->generation),
                       .compute = compute_seconds,
                       .interval = pass->interval,
                       .overlaps = transfer_overlaps((enum access_kind)o->access)};
    if (o->write) {
        a.direction = WRITE;
        a.shape = &run->writer;
        a.times = &pass->write;
        write_pass(&a);
    }
    /* A file that stayed open is closed by the reading, so that has to run. */
    bool failed = a.fh == MPI_FILE_NULL && verdict_any(run->comm, &run->verdict);
    if (o->read && !failed) {
        a.direction = READ;
        a.shape = &run->reader;
        a.times = &pass->read;
        read_pass(&a);
    }
}
