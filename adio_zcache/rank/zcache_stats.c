/* zcache_stats.c - what ZCACHE_STATS prints when a file is closed.
 *
 * A block of lines, or one of JSON (doc/stats.schema.json), of the figures of all ranks.  The JSON
 * is also what is appended to ZCACHE_SUMMARY.  Seconds are means: of ranks, aggregators, daemons.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "zc_lock.h"
#include "zc_log.h"
#include "zc_settings.h"
#include "zc_units.h"
#include "zcache_limit.h"
#include "zcache_measure.h"
#include "zcache_outcome.h"
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

/* Bytes a second of all; 0: there was no time. */
static uint64_t rate(uint64_t bytes, double s)
{
    return s > 0 ? (uint64_t)((double)bytes / s) : 0;
}

static uint64_t stored_rate(const struct zcache_figures *f)
{
    return rate(f->agg_store_written_bytes,
                seconds(f->agg_store_write_ns ? f->agg_store_busy_ns : 0, f->aggregators));
}

/* What the program saw: with the syncs and the close, which make it true. */
static uint64_t write_rate(const struct zcache_figures *f)
{
    return f->writes
               ? rate(f->written_bytes,
                      seconds(f->write_ns + f->background_ns + f->sync_ns + f->close_ns, f->ranks))
               : 0;
}

static uint64_t read_rate(const struct zcache_figures *f)
{
    return rate(f->read_bytes, seconds(f->read_ns + (f->writes ? 0 : f->background_ns), f->ranks));
}

/* ---- for people ---- */

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

static void put_calls(FILE *out, const char *path, const struct zcache_figures *f)
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

static void put_waits(FILE *out, const char *path, const struct zcache_figures *f)
{
    struct zcache_time_spent t;

    zcache_limit_time(f, &t);
    line(out, path,
         "of these seconds waited: %.3f for room, %.3f for the store, %.3f for the wire, with %.3f "
         "for credits; %.3f in syncs and close",
         seconds(t.room, f->ranks), seconds(t.fill, f->ranks), seconds(t.network, f->ranks),
         seconds(f->credit_ns, f->ranks), seconds(t.drain, f->ranks));
}

static void put_caches(FILE *out, const char *path, const struct zcache_figures *f)
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

static void put_text(FILE *out, const struct zcache_measure *m, const struct zcache_figures *f)
{
    char text[TEXT];

    line(out, m->path, "%" PRIu64 " ranks, through %s", f->ranks,
         m->daemons ? m->daemons : "the file system itself");
    put_calls(out, m->path, f);
    put_waits(out, m->path, f);
    put_caches(out, m->path, f);
    line(out, m->path, "%s", zcache_limit_text(f, text, sizeof text));
}

/* ---- for programs ---- */

/* How many bytes from `s` on are one character of UTF-8; 0: none. */
static size_t utf8(const unsigned char *s)
{
    size_t n = *s < 0x80 ? 1 : *s >= 0xf0 ? 4 : *s >= 0xe0 ? 3 : 2;

    if (*s >= 0x80 && (*s < 0xc2 || *s > 0xf4))
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((*s == 0xe0 && s[1] < 0xa0) || (*s == 0xed && s[1] > 0x9f) || (*s == 0xf0 && s[1] < 0x90) ||
        (*s == 0xf4 && s[1] > 0x8f))
        return 0;
    return n;
}

/* A file name may be any bytes: what is no UTF-8 is U+FFFD. */
static void put_string(FILE *out, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;

    fputc('"', out);
    while (*s) {
        size_t n = utf8(s);

        if (n == 0)
            fputs("\\ufffd", out);
        else if (*s < 0x20 || *s == 0x7f || *s == '"' || *s == '\\')
            fprintf(out, "\\u%04x", *s);
        else
            fwrite(s, 1, n, out);
        s += n ? n : 1;
    }
    fputc('"', out);
}

static void put_calls_json(FILE *out, const struct zcache_figures *f)
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

static void put_waits_json(FILE *out, const struct zcache_figures *f)
{
    struct zcache_time_spent t;

    zcache_limit_time(f, &t);
    fprintf(out,
            ", \"waited\": {\"room_seconds\": %.6f, \"store_seconds\": %.6f, \"wire_seconds\": "
            "%.6f, \"credit_seconds\": %.6f, \"drain_seconds\": %.6f}",
            seconds(t.room, f->ranks), seconds(t.fill, f->ranks), seconds(t.network, f->ranks),
            seconds(f->credit_ns, f->ranks), seconds(t.drain, f->ranks));
}

static void put_caches_json(FILE *out, const struct zcache_figures *f)
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

static void put_json(FILE *out, const struct zcache_measure *m, const struct zcache_figures *f)
{
    char text[TEXT];

    fputs("{\"program\": \"zcache\", \"format\": 1, \"file\": ", out);
    put_string(out, m->path);
    fprintf(out, ", \"through\": ");
    if (m->daemons)
        put_string(out, m->daemons);
    else
        fputs("null", out);
    fprintf(out, ", \"ranks\": %" PRIu64, f->ranks);
    put_calls_json(out, f);
    put_waits_json(out, f);
    put_caches_json(out, f);
    fprintf(out, ", \"limit\": \"%s\", \"advice\": ", zcache_limit_names[zcache_limit_of(f)]);
    put_string(out, zcache_limit_text(f, text, sizeof text));
    fputs("}\n", out);
}

/* ---- where it goes ---- */

/* In one piece, so that what others write at the same time does not come in between. */
static void put(int fd, const struct zcache_measure *m, const struct zcache_figures *f,
                void (*how)(FILE *, const struct zcache_measure *, const struct zcache_figures *))
{
    char *text = NULL;
    size_t len = 0, at = 0;
    FILE *out = open_memstream(&text, &len);

    if (!out)
        return;
    how(out, m, f);
    if (fclose(out) == 0)
        while (at < len) {
            ssize_t n = write(fd, text + at, len - at);

            if (n < 0 && errno != EINTR)
                break;
            at += n > 0 ? (size_t)n : 0;
        }
    free(text);
}

static void append(const struct zcache_measure *m, const struct zcache_figures *f)
{
    int fd = open(m->summary, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0) {
        zc_warn("no summary in %s: %s", m->summary, strerror(errno));
        return;
    }
    put(fd, m, f, put_json);
    close(fd);
}

static void print(const struct zcache_measure *m, const struct zcache_figures *f)
{
    if (!m->path || f->writes + f->reads == 0)
        return;
    if (m->stats == ZC_STATS_TEXT)
        put(STDERR_FILENO, m, f, put_text);
    if (m->stats == ZC_STATS_JSON)
        put(STDERR_FILENO, m, f, put_json);
    if (m->summary)
        append(m, f);
}

/* What the reduction reads and fills, which stays when ranks do not come. */
struct sums {
    struct zcache_figures mine, all;
};

void zcache_stats_report(struct zcache_measure *m, MPI_Comm comm)
{
    enum { N = sizeof(struct zcache_figures) / sizeof(uint64_t) };
    MPI_Request request = MPI_REQUEST_NULL;
    struct sums *s;
    int rank, rc;

    if (!m)
        return;
    s = calloc(1, sizeof *s);
    if (!s)
        ADIOI_Assert(s); /* as for want of memory to measure */
    m->figures.open_ns = zc_now() - m->opened;
    s->mine = m->figures;
    MPI_Comm_rank(comm, &rank);
    rc = zcache_outcome_wait_for(
        MPI_Ireduce(&s->mine, &s->all, N, MPI_UINT64_T, MPI_SUM, 0, comm, &request), &request,
        m->patience);
    if (rc == 0 && rank == 0)
        print(m, &s->all);
    else if (rc && rank == 0)
        zc_warn("no statistics of %s: %s", m->path, zc_error_text(rc));
    if (rc != -ETIMEDOUT)
        free(s); /* else MPI may yet write to it */
    zcache_measure_free(m);
}
