/*
 * The course of a run.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "bench.h"
#include "bench_json.h"
#include "timeline.h"

void timeline_start(struct timeline *t, double interval, double started)
{
    *t = (struct timeline){.interval = interval, .started = started, .next = started};
}

void timeline_free(struct timeline *t)
{
    free(t->sample);
    *t = (struct timeline){.interval = 0};
}

double timeline_next(const struct timeline *t)
{
    return t->interval > 0 ? t->next : INFINITY;
}

void timeline_hasten(struct timeline *t)
{
    t->next = t->started;
}

static bool find(MPI_Info info, const char *key, int64_t *bytes)
{
    char value[64], *end;
    int found = 0;
    MPI_Info_get(info, key, (int)sizeof value - 1, value, &found);
    if (!found)
        return false;
    *bytes = strtoll(value, &end, 10);
    return end != value;
}

/* The time is that before asking: what is asked about is never older. */
static bool ask(MPI_File fh, const char *file, struct sample *s)
{
    MPI_Info info = MPI_INFO_NULL;
    bench_check(MPI_File_get_info(fh, &info), "MPI_File_get_info", file);
    bool tells = info != MPI_INFO_NULL && find(info, "zcache_dirty_bytes", &s->dirty) &&
                 find(info, "zcache_unstored_bytes", &s->unstored);
    if (info != MPI_INFO_NULL)
        MPI_Info_free(&info);
    return tells;
}

static struct sample *add(struct timeline *t)
{
    if (t->n == t->room) {
        t->room = t->room > 0 ? 2 * t->room : 256;
        t->sample = realloc(t->sample, (size_t)t->room * sizeof *t->sample);
        if (t->sample == NULL)
            bench_abort("out of memory for %d samples", t->room);
    }
    return &t->sample[t->n++];
}

void timeline_sample(struct timeline *t, MPI_File fh, const char *file, int written)
{
    double now = bench_now();
    if (now < timeline_next(t))
        return;
    struct sample s = {.seconds = now - t->started, .written = written};
    if (!ask(fh, file, &s)) {
        t->interval = 0;
        return;
    }
    *add(t) = s;
    t->next = bench_now() + t->interval;
}

json_t *timeline_json(const struct timeline *t)
{
    if (t->n == 0)
        return json_null();
    json_t *seconds = json_array(), *written = json_array();
    json_t *dirty = json_array(), *unstored = json_array();
    for (int i = 0; i < t->n; i++) {
        const struct sample *s = &t->sample[i];
        bench_json_append(seconds, json_real(s->seconds));
        bench_json_append(written, json_integer(s->written));
        bench_json_append(dirty, json_integer((json_int_t)s->dirty));
        bench_json_append(unstored, json_integer((json_int_t)s->unstored));
    }
    return json_pack("{s:o, s:o, s:o, s:o}", "seconds", seconds, "phases_written", written,
                     "dirty_bytes", dirty, "unstored_bytes", unstored);
}
