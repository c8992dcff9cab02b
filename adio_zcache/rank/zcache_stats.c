/* zcache_stats.c - prints the statistics of a file when it is closed, for ZCACHE_STATS.
 *
 * Prints a block of lines, or one line of JSON (doc/stats.schema.json), with the sums over all
 * ranks. ZCACHE_SUMMARY gets the line of JSON.  Seconds are means over ranks, aggregators or
 * daemons.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "zc_fd.h"
#include "zc_json.h"
#include "zc_lock.h"
#include "zc_locale.h"
#include "zc_log.h"
#include "zc_settings.h"
#include "zc_units.h"
#include "zcache_bottleneck.h"
#include "zcache_timing.h"
#include "zcache_collective_error.h"
#include "zcache_stats.h"

enum { TEXT = 512 };

static double seconds(uint64_t ns, uint64_t of)
{
    return of ? (double)ns / 1e9 / (double)of : 0;
}

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

/* Returns bytes a second; 0 if the time is 0. */
static uint64_t rate(uint64_t bytes, double s)
{
    return s > 0 ? (uint64_t)((double)bytes / s) : 0;
}

static uint64_t stored_rate(const struct zcache_timing_fields *f)
{
    return rate(f->agg_store_written_bytes,
                seconds(f->agg_store_write_ns ? f->agg_store_busy_ns : 0, f->aggregators));
}

/* As the program sees it: including syncs and the close, which complete the writes. */
static uint64_t write_rate(const struct zcache_timing_fields *f)
{
    return f->writes
               ? rate(f->written_bytes,
                      seconds(f->write_ns + f->background_ns + f->sync_ns + f->close_ns, f->ranks))
               : 0;
}

static uint64_t read_rate(const struct zcache_timing_fields *f)
{
    return rate(f->read_bytes, seconds(f->read_ns + (f->writes ? 0 : f->background_ns), f->ranks));
}

/* ---- text ---- */

static void line(FILE *out, const char *path, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void line(FILE *out, const char *path, const char *fmt, ...)
{
    va_list ap;

    fprintf(out, "zcache: %s: ", path);
    va_start(ap, fmt);
    vfprintf(out, fmt, ap);
    va_end(ap);
    fputc('\n', out);
}

static void put_calls(FILE *out, const char *path, const struct zcache_timing_fields *f)
{
    char w[32], r[32], ws[32], rs[32], st[32];
    uint64_t n = f->ranks;

    line(out, path, "%" PRIu64 " writes, %s; %" PRIu64 " reads, %s", f->writes,
         zc_format_size(f->written_bytes, w, sizeof w), f->reads,
         zc_format_size(f->read_bytes, r, sizeof r));
    line(out, path,
         "seconds of a rank: %.3f in writes, %.3f reads, %.3f syncs, %.3f close; %.3f more until "
         "others came, %.3f in the background; open for %.3f",
         seconds(f->write_ns, n), seconds(f->read_ns, n), seconds(f->sync_ns, n),
         seconds(f->close_ns, n), seconds(f->ranks_ns, n), seconds(f->background_ns, n),
         seconds(f->open_ns, n));
    line(out, path, "a second: %s written and %s read as the program saw it, %s stored",
         zc_format_size(write_rate(f), ws, sizeof ws), zc_format_size(read_rate(f), rs, sizeof rs),
         zc_format_size(stored_rate(f), st, sizeof st));
}

static void put_waits(FILE *out, const char *path, const struct zcache_timing_fields *f)
{
    struct zcache_time_spent t;

    zcache_bottleneck_time(f, &t);
    line(out, path,
         "of these seconds waited: %.3f for room, %.3f for the store, %.3f for the wire, with %.3f "
         "for credits; %.3f in syncs and close",
         seconds(t.room, f->ranks), seconds(t.fill, f->ranks), seconds(t.network, f->ranks),
         seconds(f->credit_ns, f->ranks), seconds(t.drain, f->ranks));
}

static void put_caches(FILE *out, const char *path, const struct zcache_timing_fields *f)
{
    uint64_t all = f->agg_read_hits + f->agg_read_misses + f->agg_read_late;

    line(out, path,
         "%" PRIu64 " aggregators: %" PRIu64 " hits, %.0f%%, %" PRIu64
         " of them on pages written here; %" PRIu64 " misses, %" PRIu64 " bytes; %" PRIu64 " late",
         f->aggregators, f->agg_read_hits, 100 * share(f->agg_read_hits, all), f->agg_written_hits,
         f->agg_read_misses, f->agg_missed_bytes, f->agg_read_late);
    line(out, path,
         "read ahead %" PRIu64 " pages, %" PRIu64 " bytes; used %" PRIu64 ", %" PRIu64
         ", late %" PRIu64 ", %" PRIu64 "; wasted %" PRIu64 ", %" PRIu64,
         f->prefetched_pages, f->prefetched_bytes, f->prefetch_used_pages, f->prefetch_used_bytes,
         f->prefetch_late_pages, f->prefetch_late_bytes, f->prefetch_wasted_pages,
         f->prefetch_wasted_bytes);
    all = f->iod_read_hits + f->iod_read_misses + f->iod_read_late;
    if (f->daemons)
        line(out, path,
             "%" PRIu64 " daemons: %" PRIu64 " hits, %.0f%%; their store at work %.3f s, "
             "accesses waiting for room %.3f s",
             f->daemons, f->iod_read_hits, 100 * share(f->iod_read_hits, all),
             seconds(f->iod_store_busy_ns, f->daemons), seconds(f->iod_room_ns, f->daemons));
}

static void put_write_back(FILE *out, const char *path, const struct zcache_timing_fields *f)
{
    char read[32], filled[32];

    line(out, path,
         "written back by %" PRIu64 " requests, %" PRIu64 " of them of less than 64 KiB; %" PRIu64
         " pages, %" PRIu64 " of them again; %s read for that, %s written between",
         f->fs_writes, f->fs_small_writes, f->fs_page_writes, f->fs_page_rewrites,
         zc_format_size(f->fs_merge_read_bytes, read, sizeof read),
         zc_format_size(f->fs_merge_filled_bytes, filled, sizeof filled));
}

static void put_text(FILE *out, const struct zcache_timing *m, const struct zcache_timing_fields *f)
{
    char text[TEXT];

    line(out, m->path, "%" PRIu64 " ranks, through %s", f->ranks,
         m->daemons ? m->daemons : "the file system itself");
    put_calls(out, m->path, f);
    put_waits(out, m->path, f);
    put_caches(out, m->path, f);
    put_write_back(out, m->path, f);
    if (*zcache_bottleneck_text(f, text, sizeof text))
        line(out, m->path, "%s", text);
}

/* ---- JSON ---- */

static void put_calls_json(FILE *out, const struct zcache_timing_fields *f)
{
    uint64_t n = f->ranks;

    fprintf(out,
            ", \"open_seconds\": %.6f, \"writes\": %" PRIu64 ", \"written_bytes\": %" PRIu64
            ", \"write_seconds\": %.6f, \"reads\": %" PRIu64 ", \"read_bytes\": %" PRIu64
            ", \"read_seconds\": %.6f, \"sync_seconds\": %.6f, \"close_seconds\": %.6f, "
            "\"ranks_seconds\": %.6f, \"background_seconds\": %.6f",
            seconds(f->open_ns, n), f->writes, f->written_bytes, seconds(f->write_ns, n), f->reads,
            f->read_bytes, seconds(f->read_ns, n), seconds(f->sync_ns, n), seconds(f->close_ns, n),
            seconds(f->ranks_ns, n), seconds(f->background_ns, n));
    fprintf(out,
            ", \"write_bytes_per_second\": %" PRIu64 ", \"read_bytes_per_second\": %" PRIu64
            ", \"stored_bytes_per_second\": %" PRIu64,
            write_rate(f), read_rate(f), stored_rate(f));
}

static void put_waits_json(FILE *out, const struct zcache_timing_fields *f)
{
    struct zcache_time_spent t;

    zcache_bottleneck_time(f, &t);
    fprintf(out,
            ", \"waited\": {\"room_seconds\": %.6f, \"store_seconds\": %.6f, \"wire_seconds\": "
            "%.6f, \"credit_seconds\": %.6f, \"drain_seconds\": %.6f}",
            seconds(t.room, f->ranks), seconds(t.fill, f->ranks), seconds(t.network, f->ranks),
            seconds(f->credit_ns, f->ranks), seconds(t.drain, f->ranks));
}

static void put_caches_json(FILE *out, const struct zcache_timing_fields *f)
{
    fprintf(out,
            ", \"aggregators\": {\"count\": %" PRIu64 ", \"cache_bytes\": %" PRIu64
            ", \"read_hits\": %" PRIu64 ", \"written_hits\": %" PRIu64 ", \"read_misses\": %" PRIu64
            ", \"missed_bytes\": %" PRIu64 ", \"read_late\": %" PRIu64 ", \"hit_rate\": %.4f",
            f->aggregators, f->agg_cache_bytes, f->agg_read_hits, f->agg_written_hits,
            f->agg_read_misses, f->agg_missed_bytes, f->agg_read_late,
            share(f->agg_read_hits, f->agg_read_hits + f->agg_read_misses + f->agg_read_late));
    fprintf(out,
            ", \"prefetched_pages\": %" PRIu64 ", \"prefetched_bytes\": %" PRIu64
            ", \"prefetch_used_pages\": %" PRIu64 ", \"prefetch_used_bytes\": %" PRIu64
            ", \"prefetch_late_pages\": %" PRIu64 ", \"prefetch_late_bytes\": %" PRIu64
            ", \"prefetch_wasted_pages\": %" PRIu64 ", \"prefetch_wasted_bytes\": %" PRIu64,
            f->prefetched_pages, f->prefetched_bytes, f->prefetch_used_pages,
            f->prefetch_used_bytes, f->prefetch_late_pages, f->prefetch_late_bytes,
            f->prefetch_wasted_pages, f->prefetch_wasted_bytes);
    fprintf(out,
            ", \"store_read_bytes\": %" PRIu64 ", \"store_written_bytes\": %" PRIu64
            ", \"store_busy_seconds\": %.6f}",
            f->agg_store_read_bytes, f->agg_store_written_bytes,
            seconds(f->agg_store_busy_ns, f->aggregators));
    fprintf(out,
            ", \"daemons\": {\"count\": %" PRIu64 ", \"read_hits\": %" PRIu64
            ", \"read_misses\": %" PRIu64 ", \"read_late\": %" PRIu64 ", \"hit_rate\": %.4f, "
            "\"store_read_bytes\": %" PRIu64 ", \"store_written_bytes\": %" PRIu64
            ", \"store_busy_seconds\": %.6f, \"room_seconds\": %.6f}",
            f->daemons, f->iod_read_hits, f->iod_read_misses, f->iod_read_late,
            share(f->iod_read_hits, f->iod_read_hits + f->iod_read_misses + f->iod_read_late),
            f->iod_store_read_bytes, f->iod_store_written_bytes,
            seconds(f->iod_store_busy_ns, f->daemons), seconds(f->iod_room_ns, f->daemons));
}

static void put_write_back_json(FILE *out, const struct zcache_timing_fields *f)
{
    fprintf(out,
            ", \"write_back\": {\"requests\": %" PRIu64 ", \"small_requests\": %" PRIu64
            ", \"pages\": %" PRIu64 ", \"page_rewrites\": %" PRIu64
            ", \"merge_read_bytes\": %" PRIu64 ", \"merge_filled_bytes\": %" PRIu64 "}",
            f->fs_writes, f->fs_small_writes, f->fs_page_writes, f->fs_page_rewrites,
            f->fs_merge_read_bytes, f->fs_merge_filled_bytes);
}

static void put_json(FILE *out, const struct zcache_timing *m, const struct zcache_timing_fields *f)
{
    char text[TEXT];

    fputs("{\"program\": \"zcache\", \"format\": 1, \"file\": ", out);
    zc_json_quote(out, m->path);
    fprintf(out, ", \"through\": ");
    if (m->daemons)
        zc_json_quote(out, m->daemons);
    else
        fputs("null", out);
    fprintf(out, ", \"ranks\": %" PRIu64, f->ranks);
    put_calls_json(out, f);
    put_waits_json(out, f);
    put_caches_json(out, f);
    put_write_back_json(out, f);
    fprintf(out,
            ", \"limit\": \"%s\", \"advice\": ", zcache_bottleneck_names[zcache_bottleneck_of(f)]);
    zc_json_quote(out, zcache_bottleneck_text(f, text, sizeof text));
    fputs("}\n", out);
}

/* ---- output ---- */

/* Writes all in one call, so that output of other processes does not mix with it. */
static void put(int fd, const struct zcache_timing *m, const struct zcache_timing_fields *f,
                void (*how)(FILE *, const struct zcache_timing *,
                            const struct zcache_timing_fields *))
{
    char *text = NULL;
    size_t len = 0, at = 0;
    FILE *out = open_memstream(&text, &len);
    locale_t before;

    if (!out)
        return;
    before = zc_locale_enter();
    how(out, m, f);
    zc_locale_leave(before);
    if (fclose(out) == 0)
        while (at < len) {
            ssize_t n = write(fd, text + at, len - at);

            if (n < 0 && errno != EINTR)
                break;
            at += n > 0 ? (size_t)n : 0;
        }
    free(text);
}

static void append(const struct zcache_timing *m, const struct zcache_timing_fields *f)
{
    int fd = zc_fd(open(m->summary, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));

    if (fd < 0) {
        zc_warn("no summary in %s: %s", m->summary, strerror(errno));
        return;
    }
    put(fd, m, f, put_json);
    close(fd);
}

static void print(const struct zcache_timing *m, const struct zcache_timing_fields *f)
{
    if (!m->path || f->writes + f->reads == 0)
        return;
    if (m->stats == ZC_STATS_TEXT)
        put(zc_log_stderr(), m, f, put_text);
    if (m->stats == ZC_STATS_JSON)
        put(zc_log_stderr(), m, f, put_json);
    if (m->summary)
        append(m, f);
}

/* Buffers of the reduction; stay allocated if ranks are missing. */
struct sums {
    struct zcache_timing_fields mine, all;
};

void zcache_stats_report(struct zcache_timing *m, MPI_Comm comm)
{
    enum { N = sizeof(struct zcache_timing_fields) / sizeof(uint64_t) };
    MPI_Request request = MPI_REQUEST_NULL;
    struct sums *s;
    int rank, rc;

    if (!m)
        return;
    s = calloc(1, sizeof *s);
    if (!s)
        ADIOI_Assert(s); /* as without memory for the measurement */
    m->figures.open_ns = zc_now() - m->opened;
    s->mine = m->figures;
    MPI_Comm_rank(comm, &rank);
    rc = zcache_collective_error_wait_for(
        MPI_Ireduce(&s->mine, &s->all, N, MPI_UINT64_T, MPI_SUM, 0, comm, &request), &request,
        m->patience);
    if (rc == 0 && rank == 0)
        print(m, &s->all);
    else if (rc && rank == 0)
        zc_warn("no statistics of %s: %s", m->path, zc_error_text(rc));
    if (rc != -ETIMEDOUT)
        free(s); /* else MPI may yet write to it */
    zcache_timing_free(m);
}
