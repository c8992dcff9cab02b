/* zcached.c - the I/O-node daemon: a store, a cache before it, a server before that.
 *
 *     main thread      starts all, serves, drains, reports
 *     signal thread    grace time, stop, abandon, reopen the log; tells how far the writing back is
 *     cache, server    threads of their own (zc_cache.h, zc_server.h)
 *
 * Exit status: 0 everything is in the files; 1 failed to start, or while it served; 2 wrong use;
 * 3 ended by a second signal, with nothing left to write; 4 bytes were lost, or could not be
 * written back at the end, or were given up by a second signal.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "iod_address.h"
#include "iod_aggregator.h"
#include "iod_config.h"
#include "iod_fence.h"
#include "iod_grace.h"
#include "iod_journal.h"
#include "iod_listen.h"
#include "iod_memory.h"
#include "iod_notify.h"
#include "iod_poly1305.h"
#include "iod_process.h"
#include "iod_progress.h"
#include "iod_signals.h"
#include "zc_addrfile.h"
#include "zc_events.h"
#include "zc_fd.h"
#include "zc_lock.h"
#include "zc_lock_reach.h"
#include "zc_log.h"
#include "zc_server.h"
#include "zc_store_journal.h"
#include "zc_store_open.h"
#include "zc_tp_both.h"
#include "zc_tp_start.h"
#include "zc_units.h"
#include "zc_unwritten.h"

enum {
    BUFFERS = 32 << 20, /* page memory with --cache-size 0, bytes, ... */
    BUFFER_PAGES = 4,   /* ... and at least this number of pages */
    CLIENTS = 12 << 20, /* memory for state of clients, bytes, besides the cache ... */
    CLIENTS_SHARE = 32, /* ... and 1/CLIENTS_SHARE of a cache of at least CLIENTS_FROM bytes */
    CLIENTS_FROM = 256 << 20,
    TELL_MS = 5000, /* interval of messages in the log on write-back at the end */
};

enum { EXIT_OK, EXIT_FAILED, EXIT_USAGE, EXIT_ABANDONED, EXIT_LOST };

struct iod {
    struct zc_settings settings;
    uint64_t boot_id;
    struct zc_secret secret;
    char address[IOD_LISTEN_MAX];    /* of --listen */
    struct zc_store *store;          /* below the cache */
    struct zc_store *files;          /* below the journal; without one, `store` */
    struct zc_journal *journal;      /* or NULL */
    struct zc_lock_reach_info locks; /* of the root's file system */
    struct zc_cache *cache;
    struct iod_aggregator aggregator; /* with --aggregator */
    struct zc_server *server;
    bool lost;     /* bytes were lost */
    bool replayed; /* the journal of an earlier daemon was replayed */
    bool replaces; /* its address file may be of a daemon that is alive: iod_fence_published() */
    struct iod_fence given_up;
    unsigned clients;       /* connected ones; atomic */
    bool told_early;        /* to end, before it was ready */
    int ended;              /* atomic: it serves no more */
    char sums[ZC_TEXT_MAX]; /* the library for MACs, and why not the faster one; for the log */

    /* Guards `cache` and `server` for the signal thread (the main thread sets them to NULL before
     * it destroys them), and the terminal. */
    struct zc_lock looking;

    /* Of the signal thread. */
    struct iod_grace grace;
    struct iod_progress progress;
    uint64_t told; /* time of its last message in the log, ns */
    bool shown;    /* it is on the terminal */
};

/* ---- losses ---- */

/* "bytes 0-4095, 8192-12287" */
static const char *ranges(const struct zc_loss *l, char *buf, size_t len)
{
    size_t at = 0;

    for (unsigned i = 0; i < l->nspans && at < len; i++)
        at += (size_t)snprintf(buf + at, len - at, "%s%" PRIu64 "-%" PRIu64, i ? ", " : "",
                               l->spans[i].lo, l->spans[i].hi - 1);
    return buf;
}

static void log_loss(void *arg, const struct zc_loss *l)
{
    char size[32], where[768];

    (void)arg;
    zc_error("lost: %s (%" PRIu64 " bytes) of %s: within bytes %s%s%s",
             zc_format_size(l->bytes, size, sizeof size), l->bytes, l->path,
             ranges(l, where, sizeof where), *l->cause ? ": " : "", l->cause);
}

static void remove_files(struct iod *d)
{
    zc_addrfile_remove(d->settings.address_file, d->boot_id);
    iod_process_remove_pid(d->settings.pid_file);
}

/* ---- signals ---- */

/* A daemon that was told before it was ready, or has served its last request, has no grace time. */
static bool on_begin_grace(void *arg)
{
    struct iod *d = arg;
    char text[32];

    if (d->told_early || __atomic_load_n(&d->ended, __ATOMIC_ACQUIRE))
        return false;
    iod_grace_begin(&d->grace, zc_now(), d->settings.grace, d->settings.grace_alone);
    zc_warn("SIGTERM: serving on for %s at most, and writing back meanwhile",
            zc_publish_time(d->settings.grace, text, sizeof text));
    zc_lock_get(&d->looking);
    if (d->cache)
        zc_cache_hurry(d->cache, true);
    zc_lock_put(&d->looking);
    return true;
}

static bool on_grace_lasts(void *arg)
{
    struct iod *d = arg;

    return iod_grace_lasts(&d->grace, zc_now(), __atomic_load_n(&d->clients, __ATOMIC_ACQUIRE));
}

static void on_stop(void *arg)
{
    struct iod *d = arg;

    zc_info("stopping: writing back what is dirty");
    iod_notify_stopping();
    iod_aggregator_ending(&d->aggregator);
    zc_lock_get(&d->looking);
    if (d->server)
        zc_server_stop(d->server);
    zc_lock_put(&d->looking);
}

static void lost_before(void *status, const struct zc_loss *l)
{
    *(int *)status = EXIT_LOST;
    log_loss(NULL, l);
}

/* Returns how many bytes are not written back yet. */
static uint64_t left(struct iod *d)
{
    struct zc_cache_stats c;

    if (!d->cache)
        return 0;
    zc_cache_stats(d->cache, &c);
    return c.dirty_bytes;
}

/* Whether progress is shown on the terminal; else it goes to the log. */
static bool on_terminal(const struct iod *d)
{
    return !d->settings.log_file && isatty(STDERR_FILENO);
}

static void clear_line(struct iod *d)
{
    if (d->shown)
        fputs("\r\033[K", stderr);
    d->shown = false;
}

static void tell(struct iod *d, uint64_t bytes)
{
    uint64_t now = zc_now();
    char text[IOD_PROGRESS_TEXT];

    if (!d->told)
        d->told = now;
    iod_progress(&d->progress, now, bytes, text);
    if (on_terminal(d)) {
        fprintf(stderr, "\rzcached: writing back: %s\033[K", text);
        d->shown = true;
    } else if (now - d->told >= TELL_MS * ZC_NS_PER_MS) {
        zc_warn("stopping: writing back: %s", text);
        d->told = now;
    }
}

static void on_progress(void *arg)
{
    struct iod *d = arg;
    uint64_t bytes;

    zc_lock_get(&d->looking);
    bytes = left(d);
    if (bytes)
        tell(d, bytes);
    else
        clear_line(d);
    zc_lock_put(&d->looking);
}

static void tell_journal(const struct iod *d)
{
    if (d->journal)
        zc_error("what is not written back is in the journal %s: the next start tries again",
                 d->settings.journal);
}

static void on_abandon(void *arg) __attribute__((noreturn));
static void on_abandon(void *arg)
{
    struct iod *d = arg;
    int status = EXIT_ABANDONED;
    uint64_t bytes;
    char size[32];

    zc_lock_get(&d->looking); /* never released: the cache stays until the process ends */
    clear_line(d);
    bytes = left(d);
    if (bytes) {
        zc_error("second signal: exiting at once, %s not written back are lost",
                 zc_format_size(bytes, size, sizeof size));
        tell_journal(d);
        zc_cache_unwritten(d->cache, log_loss, NULL);
        zc_unwritten_named();
        status = EXIT_LOST;
    }
    if (d->cache)
        zc_cache_losses(d->cache, lost_before, &status);
    remove_files(d);
    _exit(status);
}

static void on_reopen(void *arg)
{
    (void)arg;
    iod_notify_reloading();
    iod_process_reopen_log();
    iod_notify_reloaded();
}

/* ---- start and end ---- */

static int new_boot_id(uint64_t *id)
{
    do {
        if (getrandom(id, sizeof *id, 0) != sizeof *id)
            return zc_errorf(errno, "no random number for the boot id: %s", strerror(errno));
    } while (*id == 0);
    return 0;
}

/* Returns the part of the cache's memory that is for state of clients. */
static uint64_t share_of_clients(const struct zc_settings *s)
{
    uint64_t share = s->cache_size < CLIENTS_FROM ? 0 : s->cache_size / CLIENTS_SHARE;

    return share - share % s->page_size;
}

static int create_cache(struct iod *d)
{
    const struct zc_settings *s = &d->settings;
    struct zc_cache_config cfg = ZC_CACHE_CONFIG_DEFAULT;

    zc_settings_cache(s, &cfg);
    cfg.capacity -= share_of_clients(s);
    cfg.uncached = s->cache_size == 0;
    if (cfg.uncached)
        cfg.capacity =
            BUFFERS / s->page_size < BUFFER_PAGES ? BUFFER_PAGES * s->page_size : BUFFERS;
    cfg.level = ZC_LEVEL_STAGED;
    if (s->aggregator) {
        iod_aggregator_cache(&cfg);
        cfg.capacity -= iod_aggregator_views(s);
    }
    return zc_cache_create(&cfg, d->store, &d->cache);
}

/* A provider may have no loopback. */
static int cannot_listen(const struct zc_settings *s, int rc)
{
    if (rc != -ENODEV || strcmp(s->listen, "loopback"))
        return rc;
    return zc_errorf(ENODEV, "%s; it may need --listen fabric, or an interface", zc_error_text(rc));
}

static int create_server(struct iod *d)
{
    struct zc_server_config cfg = {
        .terse = true,
        .cache = d->cache,
        .store = d->files,
        .locks = &d->locks,
        .journal = d->journal,
        .boot_id = d->boot_id,
        .identity = iod_address_identity(&d->settings),
        .secret = d->secret,
        .munge = d->settings.auth == ZC_AUTH_MUNGE,
        .user = {.sessions = (unsigned)d->settings.user_sessions,
                 .opens = (unsigned)d->settings.user_opens,
                 .share = (unsigned)d->settings.user_share},
        .silence_ms = (unsigned)d->settings.timeout,
        .audit = true,
        .tenants = true,
        .clients = &d->clients,
        .budget = CLIENTS + share_of_clients(&d->settings),
        .open_transport = zc_tp_both_open,
        .provider = d->settings.provider,
        /* Clients that use libfabric would wait in vain if it failed: those of other hosts, and, as
         * the local socket is for our own user, of other users. */
        .early = !strcmp(d->settings.listen, "loopback") && d->settings.auth != ZC_AUTH_MUNGE,
    };
    int rc = iod_listen_at(d->settings.listen, cfg.provider, d->address, &cfg.listen);

    if (d->settings.aggregator)
        iod_aggregator_server(&d->aggregator, &d->settings, d->cache, &cfg);
    if (rc == 0)
        rc = cannot_listen(&d->settings, zc_server_create(&cfg, &d->server));
    zc_secret_forget(&cfg.secret);
    return rc;
}

static int start(struct iod *d)
{
    const struct zc_settings *s = &d->settings;
    struct zc_store_config files = {.root = s->root,
                                    .hang_report_ms = s->hang_report,
                                    .mark_as = iod_address_identity(s),
                                    .direct = s->direct_io,
                                    .ask_first = iod_fence_check,
                                    .ask_arg = &d->given_up};
    int rc = s->log_file ? iod_process_open_log(s->log_file) : 0;

    iod_memory_settle(&d->settings);
    if (s->aggregator)
        iod_aggregator_store(&d->aggregator, s, &files);
    if (rc == 0)
        rc = iod_address_claim(s, &d->replaces);
    if (rc == 0 && s->pid_file)
        rc = iod_process_write_pid(s->pid_file);
    if (rc == 0)
        zc_lock_reach_find_path(s->root, &d->locks);
    if (rc == 0)
        rc = new_boot_id(&d->boot_id);
    d->given_up = (struct iod_fence){.address_file = s->address_file, .boot_id = d->boot_id};
    if (rc == 0)
        rc = zc_secret_make(&d->secret);
    if (rc == 0)
        rc = zc_store_open(&files, &d->files);
    d->store = d->files;
    if (rc == 0)
        rc = iod_journal_open(s, iod_address_identity(s), d->boot_id, &d->journal);
    if (rc == 0 && d->journal)
        rc = zc_store_journal_create(d->files, d->journal, &d->store);
    if (rc < 0) {
        d->store = d->files;
        return rc;
    }
    rc = create_cache(d);
    if (rc == 0 && d->journal)
        rc = iod_journal_replay(d->journal, d->cache, d->files, iod_address_was_bypassed(s),
                                &d->lost);
    d->replayed = rc == 0;
    if (rc == 0)
        rc = iod_journal_serve(s, iod_address_identity(s), d->boot_id, d->journal);
    if (rc == 0)
        rc = create_server(d);
    return rc;
}

/* Logs that the daemon is ready, and its addresses. */
static int tell_ready(struct iod *d)
{
    unsigned char address[ZC_MAX_ADDRESS], local[ZC_MAX_ADDRESS];
    size_t len = sizeof address, local_len = sizeof local;
    int rc = zc_server_address(d->server, address, &len);
    char text[64];

    if (rc == 0)
        rc = zc_server_local_address(d->server, local, &local_len);
    if (rc < 0)
        return rc;
    zc_info("ready: process %ld serves %s%s over %s, listens at %s%s%s, boot %016" PRIx64,
            (long)getpid(), d->settings.aggregator ? "as an aggregator files below " : "",
            d->settings.root, d->settings.provider,
            iod_listen_text(address, len, text, sizeof text),
            local_len ? " and a local socket" : "",
            d->settings.auth == ZC_AUTH_MUNGE ? ", for all users" : "", d->boot_id);
    zc_info("MACs are made with %s", d->sums);
    iod_memory_tell(&d->settings);
    if (d->settings.below)
        return 0;
    /* Files of other file systems below the root are logged as they are opened. */
    zc_info("root %s: on %s; scattered pieces are written %s", d->settings.root, d->locks.text,
            zc_lock_reach_trusted(d->locks.reach) ? "together, under a lock"
                                                  : "one by one, but for files that a job creates");
    return 0;
}

static int announce(struct iod *d)
{
    int rc = iod_address_publish(&d->settings, d->server, d->boot_id, &d->secret, &d->replaces);

    zc_secret_forget(&d->secret); /* the server has a copy */
    if (rc < 0)
        return rc;
    iod_fence_published(&d->given_up, d->replaces);
    iod_process_ready();
    iod_notify_ready(d->settings.root);
    return tell_ready(d);
}

static int serve(struct iod *d)
{
    int rc = zc_server_run(d->server);

    __atomic_store_n(&d->ended, 1, __ATOMIC_RELEASE);
    if (rc < 0)
        zc_error("not everything could be written back: %s", zc_error_text(rc));
    return rc;
}

/* Reports what is lost: no client writes any more, and write-back is not tried again. */
static void give_account(struct iod *d, int rc)
{
    if (zc_cache_abandon(d->cache) > 0) {
        zc_cache_losses(d->cache, log_loss, NULL);
        zc_unwritten_named();
        d->lost = true;
    } else if (rc == 0) {
        zc_info("stopped: everything is written back");
    }
}

/* Returns whether all bytes of the journal are in the files. */
static bool end_journal(struct iod *d)
{
    bool stored = iod_journal_end(d->journal, d->cache);

    if (!stored)
        tell_journal(d);
    return stored && d->replayed;
}

/* May take long if the store hangs; a second signal ends the process. */
static void cleanup(struct iod *d, int rc)
{
    struct zc_cache *cache = d->cache;
    struct zc_server *server = d->server;
    bool stored = false;

    zc_lock_get(&d->looking);
    d->server = NULL;
    zc_lock_put(&d->looking);
    if (server)
        zc_server_destroy(server);
    if (cache) {
        if (iod_aggregator_end(&d->aggregator, cache) < 0 && rc == 0)
            rc = -EIO;
        if (d->journal)
            stored = end_journal(d);
        give_account(d, rc);
        zc_lock_get(&d->looking);
        clear_line(d);
        d->cache = NULL;
        zc_lock_put(&d->looking);
        zc_cache_destroy(cache);
    }
    if (d->store)
        zc_store_destroy(d->store);
    zc_journal_close(d->journal, stored);
    remove_files(d);
}

/* Chooses the library for MACs; logged later, when there is a log. */
static void choose_sum(struct iod *d)
{
    zc_poly1305_fn *fn = iod_poly1305();
    char name[64];

    if (fn)
        zc_mac_sum_with(fn);
    snprintf(d->sums, sizeof d->sums, "%s%s", fn ? "" : "libsodium: ",
             fn ? iod_poly1305_name(name, sizeof name) : zc_error_text(ENOSYS));
}

static int run(struct iod *d)
{
    static struct iod_signals signals = {.begin_grace = on_begin_grace,
                                         .grace_lasts = on_grace_lasts,
                                         .stop = on_stop,
                                         .abandon = on_abandon,
                                         .reopen = on_reopen,
                                         .progress = on_progress};
    int rc;

    iod_process_raise_limits(d->settings.cache_size);
    choose_sum(d);
    if (d->settings.auth == ZC_AUTH_MUNGE)
        iod_process_drop_powers();
    /* One heap for all threads: with one each, glibc keeps freed memory that other threads cannot
     * use, and the daemon would exceed the memory that it has announced. */
    mallopt(M_ARENA_MAX, 1);
    rc = start(d);
    signals.arg = d;
    signals.grace = d->settings.grace > 0;
    d->told_early = iod_signals_told_to_end();
    if (rc == 0)
        rc = iod_signals_start(&signals);
    if (rc == 0)
        rc = announce(d);
    if (rc < 0)
        zc_error("%s", zc_error_text(rc));
    else
        rc = serve(d);
    cleanup(d, rc);
    return rc;
}

static int usage_error(int rc)
{
    fprintf(stderr, "zcached: %s\n", zc_error_text(rc));
    return EXIT_USAGE;
}

int main(int argc, char **argv)
{
    static struct iod d = {.looking = ZC_LOCK_INITIALIZER(ZC_ORDER_TOOL)};
    int rc;

    zc_fd_fill();
    iod_process_take_umask();
    zc_log_init("zcached");
    rc = iod_config_parse(argc, argv, &d.settings);
    if (rc == 0)
        rc = iod_config_check(&d.settings);
    if (rc < 0)
        rc = usage_error(rc);
    else if (rc > 0)
        rc = EXIT_OK;
    else {
        if (zc_option_given(&d.settings, zc_option_find("log", ZC_SCOPE_DAEMON)))
            zc_log_level((enum zc_log_level)d.settings.log);
        zc_settings_warn_env();
        iod_signals_block();
        if (d.settings.daemonize)
            rc = iod_process_daemonize();
        if (rc == 0 && d.settings.trace)
            zc_events_start(d.settings.trace, "zcached", -1);
        if (rc < 0)
            zc_error("%s", zc_error_text(rc));
        else
            rc = run(&d);
        rc = d.lost ? EXIT_LOST : rc < 0 ? EXIT_FAILED : EXIT_OK;
    }
    zc_settings_free(&d.settings);
    if (zc_tp_start_under_way()) {
        fflush(NULL);
        _exit(rc);
    }
    return rc;
}
