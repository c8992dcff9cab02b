/* ctl_figures.c - figures of a daemon from two samples. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "ctl_figures.h"
#include "ctl_json.h"
#include "ctl_table.h"

static uint64_t value_of(const struct ctl_sample *s, const char *name)
{
    return ctl_json_number(s->info, "stats", name);
}

/* ---- daemons ---- */

void ctl_figures_of(const struct ctl_sample *now, const struct ctl_sample *before,
                    struct ctl_figures *f)
{
    const struct {
        const char *name;
        double *rate;
    } rates[] = {
        {"written_bytes", &f->written},  {"store_written_bytes", &f->stored},
        {"read_bytes", &f->read},        {"missed_bytes", &f->read_slow},
        {"prefetched_bytes", &f->ahead},
    };
    double seconds;

    *f = (struct ctl_figures){
        .dirty = value_of(now, "dirty_bytes"),
        .cached = value_of(now, "used_bytes"),
        .failed = value_of(now, "failed_bytes"),
        .lost = value_of(now, "lost_bytes"),
        .waiting = value_of(now, "waiting_room") + value_of(now, "waiting_read") +
                   value_of(now, "waiting_flush"),
        .sessions = value_of(now, "sessions"),
    };
    if (!before || now->fresh || now->taken <= before->taken)
        return;
    f->rated = true;
    seconds = (double)(now->taken - before->taken) / 1e9;
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        uint64_t v = value_of(now, rates[i].name), was = value_of(before, rates[i].name);

        *rates[i].rate = v > was ? (double)(v - was) / seconds : 0;
    }
}

void ctl_figures_add(struct ctl_figures *sum, const struct ctl_figures *f)
{
    sum->dirty += f->dirty;
    sum->cached += f->cached;
    sum->failed += f->failed;
    sum->lost += f->lost;
    sum->waiting += f->waiting;
    sum->sessions += f->sessions;
    sum->rated |= f->rated;
    sum->written += f->written;
    sum->stored += f->stored;
    sum->read += f->read;
    sum->read_slow += f->read_slow;
    sum->ahead += f->ahead;
}

double ctl_figures_hits(const struct ctl_figures *f)
{
    if (!f->rated || f->read <= 0)
        return -1;
    return f->read_slow < f->read ? 1 - f->read_slow / f->read : 0;
}

/* ---- files ---- */

static uint64_t apart(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

static struct ctl_file busy_of(struct ctl_file f, const struct ctl_sample *before)
{
    static const struct ctl_file none;
    const struct ctl_file *was = NULL;

    if (!before)
        return f;
    if (before->nfiles)
        was = bsearch(&f, before->files, before->nfiles, sizeof f, ctl_by_path);
    if (!was)
        was = &none;
    f.changed = apart(f.cached, was->cached) + apart(f.dirty, was->dirty);
    return f;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void join(struct ctl_file *to, const struct ctl_file *b)
{
    to->handles = larger(to->handles, b->handles);
    to->size = larger(to->size, b->size);
    to->cached += b->cached;
    to->dirty += b->dirty;
    to->failed += b->failed;
    to->lost += b->lost;
    to->changed += b->changed;
}

static int busiest(const void *a, const void *b)
{
    const struct ctl_file *x = a, *y = b;
    uint64_t u = x->changed + x->dirty, v = y->changed + y->dirty;

    if (u != v)
        return u < v ? 1 : -1;
    if (x->cached != y->cached)
        return x->cached < y->cached ? 1 : -1;
    return strcmp(x->path, y->path);
}

size_t ctl_busy_files(struct ctl_sample *const *now, struct ctl_sample *const *before, unsigned n,
                      struct ctl_file **out)
{
    size_t all = 0, count = 0, last = 0;
    struct ctl_file *b;

    for (unsigned i = 0; i < n; i++)
        all += now[i] ? now[i]->nfiles : 0;
    b = *out = ctl_must(calloc(all + 1, sizeof *b));
    for (unsigned i = 0; i < n; i++)
        for (size_t j = 0; now[i] && j < now[i]->nfiles; j++)
            b[count++] = busy_of(now[i]->files[j], now[i]->fresh ? NULL : before[i]);
    if (count == 0)
        return 0;
    qsort(b, count, sizeof *b, ctl_by_path);
    for (size_t i = 1; i < count; i++)
        if (strcmp(b[last].path, b[i].path) == 0)
            join(&b[last], &b[i]);
        else
            b[++last] = b[i];
    qsort(b, last + 1, sizeof *b, busiest);
    return last + 1;
}
