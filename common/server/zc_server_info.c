/* zc_server_info.c - what the server says about itself, as lines of text. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "zc_fabric.h"
#include "zc_log.h"
#include "zc_server_internal.h"
#include "zc_store_slow.h"

static void ask_store(struct zc_server *s)
{
    struct zc_store_slow_stats slow;

    zc_store_slow_stats(s->cfg.store, &slow);
    s->stats.store_hung = slow.hung;
    s->stats.store_hangs = slow.hangs;
    s->stats.store_longest_ms = slow.longest_ms;
}

static void stats(struct zc_server *s, FILE *f)
{
    struct zc_journal_stats j;
    struct zc_cache_stats c;

    ask_store(s);
    s->stats.client_bytes = s->account.used;
    zc_cache_stats(s->cfg.cache, &c);
    zc_journal_stats(s->cfg.journal, &j);
#define X(name, help) fprintf(f, #name " %" PRIu64 "\n", s->stats.name);
    ZC_SERVER_STATS(X)
#undef X
#define X(name, help) fprintf(f, #name " %" PRIu64 "\n", c.name);
    ZC_CACHE_STATS(X)
#undef X
#define X(name, help) fprintf(f, #name " %" PRIu64 "\n", j.name);
    ZC_JOURNAL_STATS(X)
#undef X
}

/* Of this process, in bytes; 0 when the system does not tell. */
static uint64_t peak_rss(void)
{
    char line[128];
    uint64_t kib = 0;
    FILE *f = fopen("/proc/self/status", "r");

    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %" SCNu64, &kib) == 1)
            break;
    if (f)
        fclose(f);
    return kib * 1024;
}

static void status(struct zc_server *s, FILE *f)
{
    struct zc_cache_limits limits;
    struct zc_journal_stats j;
    struct zc_cache_stats c;

    zc_cache_stats(s->cfg.cache, &c);
    fprintf(f, "host %s\npid %ld\nboot %016" PRIx64 "\nprotocol %d\n", s->host, (long)getpid(),
            s->cfg.boot_id, ZC_PROTOCOL);
    fprintf(f, "version %s\nlibfabric %s\nprovider %s\n", PACKAGE_VERSION, zc_fabric_version(),
            s->cfg.provider ? s->cfg.provider : "-");
    fprintf(f, "peak_rss_bytes %" PRIu64 "\n", peak_rss());
    fprintf(f, "uptime_s %" PRIu64 "\n", (zc_now() - s->started) / 1000000000u);
    fprintf(f, "state %s\n", s->stopping ? "stopping" : s->draining ? "draining" : "serving");
    fprintf(f, "sessions %" PRIu64 "\nrequests %" PRIu64 "\n", s->stats.sessions,
            s->stats.requests);
    ask_store(s);
    fprintf(f, "store_hung %" PRIu64 "\nstore_longest_ms %" PRIu64 "\n", s->stats.store_hung,
            s->stats.store_longest_ms);
    fprintf(f,
            "capacity_bytes %" PRIu64 "\nused_bytes %" PRIu64 "\ndirty_bytes %" PRIu64
            "\nfailed_bytes %" PRIu64 "\nlost_bytes %" PRIu64 "\ndropped_bytes %" PRIu64 "\n",
            c.capacity_bytes, c.used_bytes, c.dirty_bytes, c.failed_bytes, c.lost_bytes,
            c.dropped_bytes);
    zc_journal_stats(s->cfg.journal, &j);
    fprintf(f,
            "journal_bytes %" PRIu64 "\njournal_limit_bytes %" PRIu64 "\njournal_records %" PRIu64
            "\n",
            j.journal_bytes, j.journal_limit_bytes, j.journal_records);
    zc_cache_limits(s->cfg.cache, &limits);
    fprintf(f, "budget_bytes %" PRIu64 "\nhigh_watermark %u\nlow_watermark %u\nidle_ms %u\n",
            zc_cache_budget(s->cfg.cache), limits.high_watermark, limits.low_watermark,
            limits.idle_ms);
    if (s->cfg.views)
        fprintf(f, "view_memory %u\n", __atomic_load_n(&s->cfg.views->percent, __ATOMIC_RELAXED));
}

/* ---- files ---- */

/* Of all sessions of the user who asks. */
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

struct listing {
    FILE *f;
    const struct zc_request *r;
};

/* handles size cached dirty failed lost error path; newlines of the path as \n */
static void file_line(void *arg, const struct zc_file_info *i)
{
    const struct listing *l = arg;
    FILE *f = l->f;

    if (!may_name(l->r, i->key))
        return;
    fprintf(f, "%u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %d ", i->handles,
            i->size, i->cached_bytes, i->dirty_bytes, i->failed_bytes, i->lost_bytes, i->error);
    for (const char *p = i->path; *p; p++) {
        if (*p == '\n')
            fputs("\\n", f);
        else
            fputc(*p, f);
    }
    fputc('\n', f);
}

char *zc_server_info(struct zc_server *s, uint32_t what, const struct zc_request *r, size_t *len)
{
    struct listing files = {.r = r};
    char *text = NULL;
    FILE *f = open_memstream(&text, len);

    if (!f)
        return NULL;
    files.f = f;
    if (what == ZC_INFO_STATS)
        stats(s, f);
    else if (what == ZC_INFO_STATUS)
        status(s, f);
    else if (what == ZC_INFO_FILES)
        zc_cache_files(s->cfg.cache, file_line, &files);
    else
        fputs("\n", f);
    if (fclose(f)) {
        free(text);
        return NULL;
    }
    return text;
}
