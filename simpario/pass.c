/*
 * One pass over the file.
 *
 *     open | compute, wait, write | compute, wait, write | ... | wait, close
 *     open | wait, read, compute  | wait, read, compute  | ... | wait, close
 *
 * If MPI's calls let I/O and computing overlap, two records alternate:
 *
 *     open | compute 0 | wait, begin 0 | compute 1 | end 0, wait, begin 1 | ... | end, wait, close
 *     open | wait, begin 0, end 0 | wait, begin 1 | compute 0 | end 1 | ... | compute | wait, close
 *
 * Making the data is part of the computing before a write, checking it part of the computing after
 * a read; I/O in the background has that time, and no more.
 */
#include "config.h"

#include <endian.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compute.h"
#include "content.h"
#include "datarep.h"
#include "exchange.h"
#include "order.h"
#include "pass.h"
#include "permute.h"
#include "posix_check.h"
#include "stamp.h"

/* An open file in use. */
struct access {
    struct run *run;
    MPI_File fh;
    enum direction direction;
    const struct side *side;
    int first; /* times->phase[...] of this side's first phase */
    struct content content;
    double compute;  /* seconds per phase */
    double interval; /* of the timeline */
    bool overlaps;   /* computing goes on between begin_io() and end_io() */
    struct transfer transfer;
    struct exchange *exchange; /* --access exchange only */
    struct times *times;
    int written; /* phases whose writes have ended */
    double started;
};

/* ---- computing ------------------------------------------------------------------------------ */

/* Returns the phase of the pattern that is moved then. */
static int place_of(const struct access *a, int phase)
{
    const struct options *o = a->run->options;
    return order_phase((enum order)o->order, phase, o->phases, o->seed, a->side->shape.rank);
}

/* Returns the record of a phase in memory. While transfers overlap, the next phase has the other
 * one. */
static unsigned char *record_of(const struct access *a, int phase)
{
    return a->run->buf[a->overlaps ? phase % 2 : 0];
}

/* Returns the permutation of the record of a phase in memory. */
static int permutation_of(const struct access *a, int phase)
{
    return permute_of_phase(a->run->options->permute, phase);
}

/* Turns integers of this machine into those of the file, and back. */
static void convert(const struct access *a, unsigned char *buf)
{
    if (!a->side->shape.external)
        return;
    for (int64_t i = 0; i < a->side->bytes; i += 8) {
        uint64_t word;
        memcpy(&word, buf + i, sizeof word);
        word = htobe64(word);
        memcpy(buf + i, &word, sizeof word);
    }
}

/* Returns the buffer that has a phase as it is in the file, and it is the record where memory has
 * the same. */
static unsigned char *file_order(const struct access *a, int phase)
{
    return a->run->packed != NULL ? a->run->packed : record_of(a, phase);
}

static bool copies(const struct access *a)
{
    const struct options *o = a->run->options;
    return o->permute != PERMUTE_NONE && o->permute_by == PERMUTE_BY_COPY;
}

/* Makes a read that delivers nothing into this buffer be noticed, or into the one that the program
 * copies from. */
static void poison(const struct access *a, unsigned char *buf)
{
    stamp_poison(buf, (size_t)a->side->bytes);
    if (copies(a))
        stamp_poison(a->run->packed, (size_t)a->side->bytes);
}

static void make_data(const struct access *a, int phase)
{
    const struct pattern *p = a->run->pattern;
    const struct shape *s = &a->side->shape;
    unsigned char *at = file_order(a, phase);
    int64_t n = p->segments(s);
    int place = place_of(a, phase);
    for (int64_t i = 0; i < n; i++) {
        struct segment seg = p->segment(s, place, i);
        content_fill(&a->content, seg.offset, at, seg.length);
        at += seg.length;
    }
    if (a->run->packed == NULL)
        return;
    convert(a, a->run->packed);
    permute_to_memory(s, permutation_of(a, phase), a->run->packed, record_of(a, phase));
}

static void check_data(const struct access *a, int phase)
{
    const struct pattern *p = a->run->pattern;
    const struct shape *s = &a->side->shape;
    struct verdict *v = &a->run->verdict;
    const unsigned char *record = file_order(a, phase), *at = record;
    if (a->run->packed != NULL) {
        permute_from_memory(s, permutation_of(a, phase), record_of(a, phase), a->run->packed);
        convert(a, a->run->packed);
    }
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

/* Takes samples while computing, if asked for. */
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
    if (a->direction == READ && o->verify)
        poison(a, record_of(a, phase));
    compute_and_sample(a, start + a->compute);
    double computed = bench_now() - start;
    a->times->phase[P_COMPUTE][a->first + phase] = computed;
    a->times->own[T_COMPUTE] += computed;
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

/* Returns the bytes of an etype. */
static int unit(const struct access *a)
{
    return a->side->shape.external ? 8 : 1;
}

/* Returns where the phase begins in the view, in bytes. */
static MPI_Offset view_offset(const struct access *a, int phase)
{
    return pattern_view_offset(a->run->pattern, &a->side->shape, place_of(a, phase));
}

/* With --permute, makes the transfer one of permuted memory, or of a copy of it. */
static void give_permuted(struct access *a, int phase)
{
    if (a->side->permuted != NULL) {
        a->transfer.type = a->side->permuted[permutation_of(a, phase)];
        a->transfer.count = 1;
    } else if (copies(a)) {
        a->transfer.buf = a->run->packed;
        if (a->direction == WRITE)
            permute_from_memory(&a->side->shape, permutation_of(a, phase), record_of(a, phase),
                                a->run->packed);
    }
}

static void begin_io(struct access *a, int phase)
{
    const struct run *r = a->run;
    const struct options *o = r->options;
    if (o->barrier)
        a->times->phase[P_WAIT][a->first + phase] = wait_for_others(a);
    a->transfer = (struct transfer){.kind = (enum access_kind)o->access,
                                    .direction = a->direction,
                                    .buf = record_of(a, phase),
                                    .phase = place_of(a, phase),
                                    .exchange = a->exchange,
                                    .count = a->side->count,
                                    .type = a->side->type,
                                    .request = MPI_REQUEST_NULL};
    if (!takes_part(a))
        return;
    double start = bench_now();
    give_permuted(a, phase);
    int err = transfer_begin(&a->transfer, a->fh, view_offset(a, phase) / unit(a));
    a->times->phase[P_IO][a->first + phase] += bench_now() - start;
    check_call(a, phase, err, transfer_begin_name(&a->transfer));
}

/* Aborts if a write is short. A short read may be due to a file that is too short, which is an
 * error of the data. */
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
    if (moved > 0)
        moved *= unit(a);
    if (moved == a->side->bytes)
        return;
    snprintf(what, sizeof what, "phase %d: %s at view offset %" PRId64, phase,
             transfer_end_name(&a->transfer), (int64_t)view_offset(a, phase));
    report_short(a, what, moved, a->side->bytes);
}

/* MPI allows MPI_File_sync only while no transfer is under way, so it is here for all. */
static void end_io(struct access *a, int phase)
{
    const struct options *o = a->run->options;
    double start = bench_now();
    int err = takes_part(a) ? transfer_end(&a->transfer, a->fh) : MPI_SUCCESS;
    if (a->direction == READ && copies(a))
        permute_to_memory(&a->side->shape, permutation_of(a, phase), a->run->packed,
                          record_of(a, phase));
    int sync_err = MPI_SUCCESS;
    double moved_at = bench_now();
    if (o->sync && a->direction == WRITE && err == MPI_SUCCESS)
        sync_err = MPI_File_sync(a->fh);
    double end = bench_now();
    double *io = &a->times->phase[P_IO][a->first + phase];
    a->times->phase[P_SYNC][a->first + phase] = end - moved_at;
    *io += end - start;
    a->times->own[T_SYNC] += end - moved_at;
    a->times->own[T_IO] += *io;
    a->written += a->direction == WRITE;

    check_call(a, phase, err, transfer_end_name(&a->transfer));
    bench_check(sync_err, "MPI_File_sync", a->side->file);
    check_moved(a, phase);
    bench_progress(o->common.progress, a->direction == WRITE ? "writing" : "reading", phase + 1,
                   o->phases);
}

/* ---- the file ------------------------------------------------------------------------------- */

/* An existing file may be longer. */
static bool longer_ok(const struct run *run)
{
    return run->options->overwrite || !run->options->write;
}

/* Checks the size of the file that was or would have been written, when it is closed: asking for it
 * may be the first time that a server is connected, and that would then be in no measured time. A
 * file that is too short explains whatever was wrong with its reading, as collective reads do not
 * report short data. */
static void check_size(const struct run *run, const struct side *side, struct verdict *v)
{
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
    int err = MPI_File_set_view(
        a->fh, displacement, a->side->shape.external ? MPI_INT64_T : MPI_BYTE, filetype,
        datarep_name((enum datarep)a->run->options->datarep), MPI_INFO_NULL);
    a->times->own[T_OPEN] += bench_now() - start;
    bench_check(err, "MPI_File_set_view", a->side->file);
}

/* All ranks check what was read, which counts once. */
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

/* The first rank of a file writes the head, or reads and broadcasts it, as the others need the
 * offsets in it. It counts as I/O of the first phase. */
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
    a->times->phase[P_IO][a->first] += bench_now() - start;
    int64_t moved = side->first ? bench_status_bytes(&status, MPI_BYTE) : bytes;
    if (moved != bytes)
        report_short(a, "the header", moved, bytes);
    if (a->direction == READ && a->run->options->verify)
        check_head(a, head, bytes);
    free(head);
}

/* The file keeps the default view. */
static void plan_exchange(struct access *a)
{
    double start = bench_now();
    a->exchange = exchange_new(a->run->pattern, &a->side->shape, a->side->comm, place_of(a, 0));
    a->times->own[T_OPEN] += bench_now() - start;
}

static void set_view(struct access *a)
{
    const struct pattern *p = a->run->pattern;
    MPI_Offset displacement = 0;
    MPI_Datatype filetype = MPI_BYTE;
    if (p->head_bytes != NULL) {
        change_view(a, 0, MPI_BYTE);
        move_head(a);
    }
    if (a->run->options->access == ACCESS_EXCHANGE) {
        plan_exchange(a);
        return;
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
    double start = a->first == 0 ? a->started : bench_now();
    int err = MPI_File_open(side->comm, side->file, mode, a->run->info, &a->fh);
    a->times->own[T_OPEN] += bench_now() - start;
    bench_check_all(a->run->comm, err, "MPI_File_open", side->file);
}

static void close_file(struct access *a)
{
    struct times *t = a->times;
    double start = bench_now();
    bench_check(MPI_File_close(&a->fh), "MPI_File_close", a->side->file);
    t->own[T_CLOSE] += bench_now() - start;
    t->own[T_IO_CLOSE] = t->own[T_IO] + t->own[T_CLOSE];
    t->has[T_CLOSE] = t->has[T_IO_CLOSE] = true;
}

static void end_access(struct access *a)
{
    struct times *t = a->times;
    t->own[T_TOTAL] = bench_now() - a->started;
    exchange_free(a->exchange);
    a->exchange = NULL;
    if (a->direction == WRITE && t->has[T_CLOSE]) {
        const struct run *r = a->run;
        t->own[T_SETTLE] =
            bench_settle(a->side->comm, a->side->file, r->info, &r->options->common.hints);
        t->own[T_COMMITTED] = t->own[T_TOTAL] + t->own[T_SETTLE];
        t->has[T_SETTLE] = t->has[T_COMMITTED] = true;
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
        poison(a, a->run->buf[i]);
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

static void take_side(struct access *a, enum direction direction, int role, int generation)
{
    a->direction = direction;
    a->side = run_side(a->run, direction, role);
    a->first = role * a->run->options->phases;
    a->content = (struct content){.pattern = a->run->pattern,
                                  .shape = &a->side->shape,
                                  .stamp = stamp_make(a->side->stamp, (unsigned)generation)};
}

/* In each of this rank's roles, one after the other. */
static void read_pass(struct access *a, int generation)
{
    const struct options *o = a->run->options;
    bool opened = a->fh != MPI_FILE_NULL;
    start_access(a);
    for (int role = 0; role < o->roles; role++) {
        take_side(a, READ, role, generation);
        if (!opened)
            open_file(a, MPI_MODE_RDONLY);
        set_view(a);
        read_phases(a);
        close_file(a);
    }
    end_access(a);
    for (int role = 0; role < o->roles && (opened || !o->write); role++) {
        take_side(a, READ, role, generation);
        check_behind(a);
    }
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
        take_side(&a, WRITE, 0, pass->generation);
        a.times = &pass->write;
        write_pass(&a);
    }
    /* The reading pass closes a file that stayed open, so it has to run. */
    bool failed = a.fh == MPI_FILE_NULL && verdict_any(run->comm, &run->verdict);
    if (o->read && !failed) {
        a.times = &pass->read;
        read_pass(&a, pass->generation);
    }
    for (int role = 0; role < o->roles; role++)
        check_size(run, run_side(run, WRITE, role), &run->verdict);
}

/* ---- its times ------------------------------------------------------------------------------ */

void pass_init(const struct run *run, int generation, double interval, struct pass *pass)
{
    const struct options *o = run->options;
    pass->interval = run->rank == 0 ? interval : 0;
    pass->generation = generation;
    times_init(&pass->write, o->phases, o->sync);
    times_init(&pass->read, o->phases * o->roles, false);
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
