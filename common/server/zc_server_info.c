/* zc_server_info.c - the server's description of itself: one JSON document, of which a client asks
 * for some members (enum zc_info).
 *
 *     {"time_ns": ..., "status": {...}, "stats": {...}, "counters": {...}, "files": [...]}
 *
 * `status` has texts and numbers, `stats` all counters; `counters` describes the numbers of both by
 * their rows: kind ("counter", "gauge"; "setting": no metric), unit and help.  PROTOCOL.md has the
 * keys.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "zc_fabric.h"
#include "zc_fd.h"
#include "zc_lock_reach.h"
#include "zc_json.h"
#include "zc_log.h"
#include "zc_server_internal.h"
#include "zc_store_watchdog.h"

static void ask_store(struct zc_server *s)
{
    struct zc_store_watchdog_stats slow;

    zc_store_watchdog_stats(s->cfg.store, &slow);
    s->stats.store_hung = slow.hung;
    s->stats.store_hangs = slow.hangs;
    s->stats.store_longest_ms = slow.longest_ms;
}

static void put_stats(struct zc_server *s, struct zc_json *doc)
{
    struct zc_journal_stats j;
    struct zc_cache_stats c;

    ask_store(s);
    s->stats.client_bytes = s->session_mem.used;
    zc_cache_stats(s->cfg.cache, &c);
    zc_journal_stats(s->cfg.journal, &j);
    zc_json_open(doc, "stats", '{');
#define X(name, kind, unit, help) zc_json_number(doc, #name, s->stats.name);
    ZC_SERVER_STATS(X)
#undef X
#define X(name, kind, unit, help) zc_json_number(doc, #name, c.name);
    ZC_CACHE_STATS(X)
#undef X
#define X(name, kind, unit, help) zc_json_number(doc, #name, j.name);
    ZC_JOURNAL_STATS(X)
#undef X
    zc_json_close(doc, '}');
}

/* Numbers of `status` that no list of counters has, as rows of zc_cache.h.  A SETTING is no metric.
 */
#define STATUS_NUMBERS(X)                                                                          \
    X(uptime_s, GAUGE, SECONDS, "since the daemon has started")                                    \
    X(peak_rss_bytes, GAUGE, BYTES, "most memory the daemon has had")                              \
    X(high_watermark, GAUGE, PERCENT,                                                              \
      "part of the cache that may be dirty before write-back begins")                              \
    X(low_watermark, GAUGE, PERCENT, "part of the cache that is dirty when write-back ends")       \
    X(budget_bytes, SETTING, BYTES, "page memory that the cache may have in all")                  \
    X(idle_ms, SETTING, MS, "time without accesses after which write-back begins")                 \
    X(view_memory, SETTING, PERCENT, "memory for views of clients, of the cache size")

static void put_counters(struct zc_json *doc)
{
    enum { COUNTER, GAUGE, SETTING };
    enum { NONE, BYTES, NS, MS, SECONDS, PERCENT };
    static const char *const kinds[] = {"counter", "gauge", "setting"};
    static const char *const units[] = {NULL, "bytes", "ns", "ms", "seconds", "percent"};
    static const struct {
        const char *name;
        int kind, unit;
        const char *help;
    } rows[] = {
#define X(name, kind, unit, help) {#name, kind, unit, help},
        STATUS_NUMBERS(X) ZC_SERVER_STATS(X) ZC_CACHE_STATS(X) ZC_JOURNAL_STATS(X)
#undef X
    };

    zc_json_open(doc, "counters", '{');
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        zc_json_open(doc, rows[i].name, '{');
        zc_json_string(doc, "kind", kinds[rows[i].kind]);
        zc_json_string(doc, "unit", units[rows[i].unit]);
        zc_json_string(doc, "help", rows[i].help);
        zc_json_close(doc, '}');
    }
    zc_json_close(doc, '}');
}

/* Of this process, in bytes; 0: unknown. */
static uint64_t peak_rss(void)
{
    char line[128];
    uint64_t kib = 0;
    FILE *f = zc_fopen("/proc/thread-self/status", "r");

    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %" SCNu64, &kib) == 1)
            break;
    if (f)
        fclose(f);
    return kib * 1024;
}

static void put_process(struct zc_server *s, struct zc_json *doc)
{
    char boot[20];

    snprintf(boot, sizeof boot, "%016" PRIx64, s->cfg.boot_id);
    zc_json_string(doc, "host", s->host);
    zc_json_number(doc, "pid", (uint64_t)getpid());
    zc_json_string(doc, "boot", boot);
    zc_json_number(doc, "protocol", ZC_PROTOCOL);
    zc_json_string(doc, "version", PACKAGE_VERSION);
    zc_json_string(doc, "libfabric", zc_fabric_version());
    zc_json_string(doc, "provider", s->cfg.provider ? s->cfg.provider : "-");
    zc_json_number(doc, "peak_rss_bytes", peak_rss());
    zc_json_number(doc, "uptime_s", (zc_now() - s->started) / 1000000000u);
    zc_json_string(doc, "state", s->stopping ? "stopping" : s->draining ? "draining" : "serving");
    zc_json_number(doc, "sessions", s->stats.sessions);
    zc_json_number(doc, "requests", s->stats.requests);
    if (s->cfg.locks) {
        zc_json_string(doc, "locks", zc_lock_reach_name(s->cfg.locks->reach));
        zc_json_string(doc, "locks_why", s->cfg.locks->text);
    }
}

static void put_status(struct zc_server *s, struct zc_json *doc)
{
    struct zc_cache_limits limits;
    struct zc_journal_stats j;
    struct zc_cache_stats c;

    ask_store(s);
    zc_cache_stats(s->cfg.cache, &c);
    zc_journal_stats(s->cfg.journal, &j);
    zc_cache_limits(s->cfg.cache, &limits);
    zc_json_open(doc, "status", '{');
    put_process(s, doc);
    zc_json_number(doc, "store_hung", s->stats.store_hung);
    zc_json_number(doc, "store_longest_ms", s->stats.store_longest_ms);
    zc_json_number(doc, "capacity_bytes", c.capacity_bytes);
    zc_json_number(doc, "used_bytes", c.used_bytes);
    zc_json_number(doc, "dirty_bytes", c.dirty_bytes);
    zc_json_number(doc, "failed_bytes", c.failed_bytes);
    zc_json_number(doc, "lost_bytes", c.lost_bytes);
    zc_json_number(doc, "dropped_bytes", c.dropped_bytes);
    zc_json_number(doc, "journal_bytes", j.journal_bytes);
    zc_json_number(doc, "journal_limit_bytes", j.journal_limit_bytes);
    zc_json_number(doc, "journal_records", j.journal_records);
    zc_json_number(doc, "page_size", zc_cache_page_size(s->cfg.cache));
    zc_json_number(doc, "budget_bytes", zc_cache_budget(s->cfg.cache));
    zc_json_number(doc, "high_watermark", limits.high_watermark);
    zc_json_number(doc, "low_watermark", limits.low_watermark);
    zc_json_number(doc, "idle_ms", limits.idle_ms);
    if (s->cfg.views)
        zc_json_number(doc, "view_memory",
                       __atomic_load_n(&s->cfg.views->percent, __ATOMIC_RELAXED));
    zc_json_close(doc, '}');
}

/* ---- files ---- */

/* Keys of the open files of all sessions of the requesting user. */
static size_t for_each_open(const struct zc_request *r, uint64_t *keys)
{
    size_t n = 0;

    zc_list_each (&r->session->server->sessions, l) {
        const struct zc_session *ss = zc_list_entry(l, struct zc_session, link);

        for (uint32_t i = 0; zc_user_same(ss, r->session) && i < ss->nslots; i++) {
            if (!ss->slots[i].handle)
                continue;
            if (keys)
                keys[n] = zc_cache_key(ss->slots[i].handle);
            n++;
        }
    }
    return n;
}

bool zc_server_info_mine(struct zc_request *r)
{
    r->nmine = for_each_open(r, NULL);
    r->mine = calloc(r->nmine + 1, sizeof *r->mine);
    if (!r->mine)
        return false;
    for_each_open(r, r->mine);
    return true;
}

static bool may_name(const struct zc_request *r, uint64_t key)
{
    for (size_t i = 0; i < r->nmine; i++)
        if (r->mine[i] == key)
            return true;
    return !r->mine;
}

static void put_file(void *arg, const struct zc_file_info *i)
{
    struct zc_request *r = arg;
    struct zc_json *doc = &r->info;

    if (!may_name(r, i->key))
        return;
    zc_json_open(doc, NULL, '{');
    zc_json_string(doc, "path", i->path);
    zc_json_number(doc, "handles", i->handles);
    zc_json_number(doc, "size_bytes", i->size);
    zc_json_number(doc, "cached_bytes", i->cached_bytes);
    zc_json_number(doc, "dirty_bytes", i->dirty_bytes);
    zc_json_number(doc, "failed_bytes", i->failed_bytes);
    zc_json_number(doc, "lost_bytes", i->lost_bytes);
    zc_json_string(doc, "error", i->error ? strerror(abs(i->error)) : NULL);
    zc_json_close(doc, '}');
}

void zc_server_info_files(struct zc_request *r)
{
    zc_json_open(&r->info, "files", '[');
    zc_cache_files(r->session->server->cfg.cache, put_file, r);
    zc_json_close(&r->info, ']');
}

/* ---- the document ---- */

bool zc_server_info_begin(struct zc_request *r)
{
    struct zc_session *ss = r->session;
    struct zc_json *doc = &r->info;

    *doc = (struct zc_json){.f = open_memstream(&ss->info, &ss->info_len)};
    if (!doc->f)
        return false;
    zc_json_open(doc, NULL, '{');
    zc_json_number(doc, "time_ns", zc_now());
    if (r->msg.what & ZC_INFO_STATUS)
        put_status(ss->server, doc);
    if (r->msg.what & ZC_INFO_STATS)
        put_stats(ss->server, doc);
    if (r->msg.what & ZC_INFO_COUNTERS)
        put_counters(doc);
    return true;
}

void zc_server_info_end(struct zc_request *r)
{
    struct zc_session *ss = r->session;

    zc_json_close(&r->info, '}');
    if (fclose(r->info.f)) {
        free(ss->info);
        ss->info = NULL;
    }
    r->info.f = NULL;
}
