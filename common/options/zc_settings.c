/* zc_settings.c - the option table, and what of it a cache is made with. */
#include "config.h"

#include <stddef.h>

#include "zc_cache.h"
#include "zc_journal.h"
#include "zc_log.h"
#include "zc_options.h"
#include "zc_ra_predict.h"
#include "zc_settings.h"
#include "zc_store.h"
#include "zc_transport.h"

#define KIB  (1ull << 10)
#define MIB  (1ull << 20)
#define PIB  (1ull << 50)
#define HOUR (3600ull * 1000)

/* A default that another header defines, as text. */
#define TEXT_OF(n)      #n
#define TEXT(n)         TEXT_OF(n)
#define MIB_TEXT(n)     TEXT(n) "M"
#define PERCENT_TEXT(n) TEXT(n) "%"

#define HINT   ZC_SCOPE_HINT
#define ENV    ZC_SCOPE_ENV
#define DAEMON (ZC_SCOPE_DAEMON | ZC_SCOPE_FILE)
#define AGREED ZC_OPTION_AGREED

#define AT(member) offsetof(struct zc_settings, member)

static const char *const levels[] = {
    [ZC_LEVEL_VISIBLE] = "visible",
    [ZC_LEVEL_STAGED] = "staged",
    [ZC_LEVEL_STORED] = "stored",
    [ZC_LEVEL_DURABLE] = "durable",
    NULL,
};
static const char *const write_backs[] = {
    [ZC_WRITE_BACK_NONE] = "none",
    [ZC_WRITE_BACK_AGGREGATOR] = "aggregator",
    [ZC_WRITE_BACK_DAEMON] = "daemon",
    [ZC_WRITE_BACK_BOTH] = "both",
    NULL,
};
static const char *const replays[] = {
    [ZC_REPLAY_OFF] = "off",
    [ZC_REPLAY_ON] = "on",
    [ZC_REPLAY_STRICT] = "strict",
    NULL,
};
static const char *const stats[] = {
    [ZC_STATS_OFF] = "0",
    [ZC_STATS_TEXT] = "1",
    [ZC_STATS_JSON] = "json",
    NULL,
};
static const char *const checksums[] = {
    [ZC_CHECKSUM_OFF] = "off",
    [ZC_CHECKSUM_ON] = "on",
    NULL,
};
static const char *const losses[] = {
    [ZC_LOSS_ERROR] = "error",
    [ZC_LOSS_BYPASS] = "bypass",
    NULL,
};
static const char *const auths[] = {
    [ZC_AUTH_SECRET] = "secret",
    [ZC_AUTH_MUNGE] = "munge",
    NULL,
};
static const char *const flushes[] = {"none", "start", "wait", NULL};
static const char *const orders[] = {"oldest", "newest", NULL}; /* enum zc_flush_order */

const struct zc_option zc_options[] = {
    /* ---- what is served and where it is found ---- */
    {"root", ZC_OPT_STRING, DAEMON, NULL, 0, 0, NULL, AT(root), "DIR",
     "serve files below this directory, and only those"},
    {"address_file", ZC_OPT_STRING, DAEMON, NULL, 0, 0, NULL, AT(address_file), "FILE",
     "write the daemon's address here when it is ready; programs find it by this file"},
    {"provider", ZC_OPT_STRING, HINT | DAEMON | ENV, ZC_DEFAULT_PROVIDER, 0, 0, NULL, AT(provider),
     "NAME", "libfabric provider, as fi_info lists them"},
    {"listen", ZC_OPT_STRING, DAEMON, "loopback", 0, 0, NULL, AT(listen), "WHERE",
     "be reached at this own address, host name or network interface; fabric: the provider's "
     "first; loopback: from this host only"},
    {"timeout", ZC_OPT_TIME, HINT | DAEMON | ENV, TEXT(ZC_DEFAULT_TIMEOUT_S) "s", 100, 24 * HOUR,
     NULL, AT(timeout), "TIME", "silence after which the other side counts as gone"},
    {"hang_report", ZC_OPT_TIME, DAEMON | ENV, "30s", 0, 24 * HOUR, NULL, AT(hang_report), "TIME",
     "log calls to the store that take longer, by path, and when they are over; 0 for none"},
    {"dump_caches", ZC_OPT_FLAG, DAEMON | ENV, "false", 0, 0, NULL, AT(dump_caches), NULL,
     "keep cached pages in core dumps, to debug the cache itself"},
    {"trace", ZC_OPT_STRING, DAEMON | ENV, NULL, 0, 0, NULL, AT(trace), "DIR",
     "record what is done when, in a file of this directory, as zcache run --trace asks for"},
    {"daemons", ZC_OPT_STRING, ENV, NULL, 0, 0, NULL, AT(daemons), "LIST",
     "address files, or directories of them (*.addr), in order, separated by commas; unset: "
     "no daemon, files are reached directly"},
    {"aggregators", ZC_OPT_STRING, HINT | ENV, NULL, 0, 0, NULL, AT(aggregators), "LIST",
     "the same of dedicated aggregators, which own all blocks in place of ranks, as zcache run "
     "--aggregators starts them; join: the ranks of this open own none, but those that have the "
     "file open already; unset or none: ranks own the blocks"},

    /* ---- an aggregator's cache ---- */
    {"cache_size", ZC_OPT_SIZE, HINT, "128M", 8 * KIB, PIB, NULL, AT(agg_cache_size), "SIZE",
     "memory for cached pages of an aggregator, for all its files together; a later open may ask "
     "for more"},
    {"view_memory", ZC_OPT_PERCENT, HINT, "12%", 0, 50, NULL, AT(agg_view_memory), "PERCENT",
     "share of an aggregator's cache size that is for views of other ranks; what finds no room is "
     "sent as lists of pieces with each access"},
    {"high_watermark", ZC_OPT_PERCENT, HINT, "50%", 1, 100, NULL, AT(agg_high_watermark), "PERCENT",
     "share of an aggregator's cache that may be dirty before write-back starts"},
    {"low_watermark", ZC_OPT_PERCENT, HINT, "10%", 0, 99, NULL, AT(agg_low_watermark), "PERCENT",
     "share of an aggregator's cache that may still be dirty when write-back stops; below the high "
     "one"},
    {"idle_time", ZC_OPT_TIME, HINT, "20ms", 0, 24 * HOUR, NULL, AT(agg_idle_time), "TIME",
     "aggregators write back what has not been touched for so long, 0 for never; a complete "
     "store write after a tenth"},
    {"prefetch", ZC_OPT_FLAG, HINT, "true", 0, 0, NULL, AT(agg_prefetch), NULL,
     "aggregators read ahead of what the program reads in order"},
    {"prefetch_depth", ZC_OPT_COUNT, HINT, "16", 0, ZC_RA_PREDICT_DEPTH_MAX, NULL,
     AT(agg_prefetch_depth), "N",
     "pages an aggregator reads ahead at most, each a block or 1 MiB if that is less"},
    {"write_back", ZC_OPT_ENUM, HINT | AGREED, "both", 0, 0, write_backs, AT(write_back), "WHO",
     "who writes back while the program computes; else an aggregator does so when full, at sync "
     "and close, and a daemon before it acknowledges a write"},

    {"replay", ZC_OPT_ENUM, HINT | AGREED, "on", 0, 0, replays, AT(replay), "WHAT",
     "aggregators keep what a daemon has not stored yet, and send it again when that died: while "
     "there is room, or strictly; off where their cache has not twice a block, unless it is given"},
    {"on_daemon_loss", ZC_OPT_ENUM, HINT | ENV | AGREED, "error", 0, 0, losses, AT(on_daemon_loss),
     "WHAT",
     "a daemon that is not back when the timeout is over makes errors, or is bypassed: aggregators "
     "write its part of open files themselves"},

    {"checksum", ZC_OPT_ENUM, HINT | ENV | AGREED, "off", 0, 0, checksums, AT(checksum), "WHAT",
     "what ranks, aggregators and daemons send each other, and have in their caches, has "
     "checksums; what is damaged is sent or read again, or an error"},

    /* ---- the daemon's cache ---- */
    {"cache_size", ZC_OPT_SIZE, DAEMON, MIB_TEXT(ZC_DEFAULT_CACHE_MIB), 0, PIB, NULL,
     AT(cache_size), "SIZE",
     "memory for cached pages; 0: nothing is cached, writes are in the file system before they "
     "are acknowledged and reads come from there"},
    {"page_size", ZC_OPT_POWER, DAEMON, MIB_TEXT(ZC_DEFAULT_PAGE_MIB), ZC_PAGE_SIZE_MIN,
     ZC_PAGE_SIZE_MAX, NULL, AT(page_size), "SIZE", "unit of caching"},
    {"high_watermark", ZC_OPT_PERCENT, DAEMON, PERCENT_TEXT(ZC_DEFAULT_HIGH_PERCENT), 1, 100, NULL,
     AT(high_watermark), "PERCENT",
     "share of the cache that may be dirty before write-back starts"},
    {"low_watermark", ZC_OPT_PERCENT, DAEMON, PERCENT_TEXT(ZC_DEFAULT_LOW_PERCENT), 0, 99, NULL,
     AT(low_watermark), "PERCENT",
     "share of the cache that may still be dirty when write-back stops"},
    {"idle_time", ZC_OPT_TIME, DAEMON, TEXT(ZC_DEFAULT_IDLE_MS) "ms", 0, 24 * HOUR, NULL,
     AT(idle_time), "TIME",
     "write back what has not been touched for so long, 0 for never; a complete store write after "
     "a "
     "tenth"},
    {"failed_quota", ZC_OPT_PERCENT, DAEMON, PERCENT_TEXT(ZC_DEFAULT_FAILED_PERCENT), 1, 50, NULL,
     AT(failed_quota), "PERCENT",
     "share of the cache that a file may take up whose write-back fails; then its writers get "
     "the error, and other files have the rest"},
    {"flush_order", ZC_OPT_ENUM, DAEMON, "oldest", 0, 0, orders, AT(flush_order), "ORDER",
     "what to write back first: what became dirty first, or what was modified last"},
    {"flushers", ZC_OPT_COUNT, DAEMON, TEXT(ZC_DEFAULT_FLUSHERS), 1, 64, NULL, AT(flushers), "N",
     "threads that write back"},
    {"readers", ZC_OPT_COUNT, DAEMON, TEXT(ZC_DEFAULT_READERS), 1, 64, NULL, AT(readers), "N",
     "threads that read; all but one of them may read ahead"},
    {"max_io", ZC_OPT_SIZE, DAEMON, MIB_TEXT(ZC_DEFAULT_MAX_IO_MIB), 4 * KIB, 1024 * MIB, NULL,
     AT(max_io), "SIZE", "largest single write to the file system; at least a page"},
    {"max_read", ZC_OPT_SIZE, DAEMON, MIB_TEXT(ZC_DEFAULT_MAX_READ_MIB), 4 * KIB, 1024 * MIB, NULL,
     AT(max_read), "SIZE",
     "reads of neighbouring pages are merged up to this size; a page is always read at once"},
    {"prefetch", ZC_OPT_FLAG, DAEMON, "true", 0, 0, NULL, AT(prefetch), NULL,
     "read ahead of clients that read in order"},
    {"prefetch_depth", ZC_OPT_COUNT, DAEMON, "32", 0, ZC_RA_PREDICT_DEPTH_MAX, NULL,
     AT(prefetch_depth), "N",
     "pages read ahead of a client at most, and a quarter of the cache for all of them"},

    {"direct_io", ZC_OPT_FLAG, DAEMON, "false", 0, 0, NULL, AT(direct_io), NULL,
     "read and write files past the system's page cache, where their file system can"},

    /* ---- whom it serves ---- */
    {"auth", ZC_OPT_ENUM, DAEMON, "secret", 0, 0, auths, AT(auth), "HOW",
     "serve who knows the secret in the address file, its own user; or, as root, all users whom "
     "munge knows, each with his own rights"},
    {"allow_root", ZC_OPT_FLAG, DAEMON | ENV, "false", 0, 0, NULL, AT(allow_root), NULL,
     "serve as root without munge: who can read the address file has root's rights to files"},
    {"munge_socket", ZC_OPT_STRING, DAEMON | ENV, NULL, 0, 0, NULL, AT(munge_socket), "SOCKET",
     "munged's, where it is not the usual one; programs need the variable then, too"},
    {"user_sessions", ZC_OPT_COUNT, DAEMON, "1024", 0, 65536, NULL, AT(user_sessions), "N",
     "with munge: clients that one user may have at a time; 0 for any number"},
    {"user_opens", ZC_OPT_COUNT, DAEMON, "16384", 0, 1 << 20, NULL, AT(user_opens), "N",
     "with munge: files that one user may have open at a time; 0 for any number"},
    {"user_share", ZC_OPT_PERCENT, DAEMON, "50%", 0, 100, NULL, AT(user_share), "PERCENT",
     "with munge: share of the memory for requests and answers of clients that those of one user "
     "may have; 0 for all"},

    /* ---- its journal ---- */
    {"journal", ZC_OPT_STRING, DAEMON, NULL, 0, 0, NULL, AT(journal), "DIR",
     "keep what is not stored yet in this directory of a local disk, too: when the daemon dies the "
     "next one that is given it writes it back; of its own user, and of one daemon"},
    {"journal_size", ZC_OPT_SIZE, DAEMON, TEXT(ZC_JOURNAL_DEFAULT_GIB) "G", MIB, PIB, NULL,
     AT(journal_size), "SIZE",
     "what the journal may take of the disk; at least 16 pages.  When it is full, writers wait for "
     "write-back"},
    {"journal_sync", ZC_OPT_FLAG, DAEMON, "false", 0, 0, NULL, AT(journal_sync), NULL,
     "acknowledge writes when the disk has them: until they are written back they survive the "
     "host's death, too"},
    {"new_root", ZC_OPT_FLAG, DAEMON, "false", 0, 0, NULL, AT(new_root), NULL,
     "with a journal: the root is another directory than before, or a copy of it; what the journal "
     "has is set aside, not written back"},

    /* ---- a dedicated aggregator ---- */
    {"aggregator", ZC_OPT_FLAG, DAEMON, "false", 0, 0, NULL, AT(aggregator), NULL,
     "own blocks of files for the ranks of one job, which find it by ZCACHE_AGGREGATORS, in place "
     "of ranks; zcache run --aggregators starts such processes"},
    {"store_daemons", ZC_OPT_STRING, DAEMON, NULL, 0, 0, NULL, AT(below), "LIST",
     "with --aggregator: address files, or directories of them, of the daemons that it reads from "
     "and writes back to; unset: the file system"},

    /* ---- the daemon as a process ---- */
    {"config", ZC_OPT_STRING, ZC_SCOPE_DAEMON, NULL, 0, 0, NULL, AT(config), "FILE",
     "read options from this file, one \"name = value\" a line; the command line wins"},
    {"log_file", ZC_OPT_STRING, DAEMON, NULL, 0, 0, NULL, AT(log_file), "FILE",
     "append messages here instead of standard error, or hand them to syslog if it is that word; "
     "SIGHUP reopens it"},
    {"log", ZC_OPT_ENUM, HINT | DAEMON, "warn", 0, 0, zc_log_levels, AT(log), "LEVEL",
     "least important messages that are logged; ZCACHE_LOG is the default"},
    {"pid_file", ZC_OPT_STRING, DAEMON, NULL, 0, 0, NULL, AT(pid_file), "FILE",
     "write the process id here"},
    {"grace", ZC_OPT_TIME, DAEMON, "0ms", 0, 24 * HOUR, NULL, AT(grace), "TIME",
     "go on serving for so long after SIGTERM, which batch systems send to programs and daemons at "
     "once, and write back meanwhile; SIGINT ends it"},
    {"grace_alone", ZC_OPT_TIME, DAEMON, "2s", 0, 24 * HOUR, NULL, AT(grace_alone), "TIME",
     "end the grace time earlier, when no program has been connected for so long"},
    {"daemonize", ZC_OPT_FLAG, DAEMON, NULL, 0, 0, NULL, AT(daemonize), NULL,
     "go to the background as soon as the daemon is ready; messages then go to the log file, "
     "by default the address file's name with .log behind it"},

    /* ---- the library in an MPI program ---- */
    {"losses", ZC_OPT_STRING, ENV, NULL, 0, 0, NULL, AT(losses), "FILE",
     "append a line here for every file that bytes were lost of, as zcache run asks for"},
    {"local", ZC_OPT_FLAG, HINT | ENV, "true", 0, 0, NULL, AT(local), NULL,
     "ranks that are all on one host, and may, reach each other's memory through the kernel "
     "and not by libfabric"},
    {"block_size", ZC_OPT_POWER, HINT | AGREED, MIB_TEXT(ZC_DEFAULT_BLOCK_MIB), 4 * KIB, 64 * MIB,
     NULL, AT(block_size), "SIZE",
     "unit of a file that one aggregator and one daemon owns; striping_unit is the same"},
    {"striping_factor", ZC_OPT_COUNT, HINT, "0", 0, 65535, NULL, AT(striping_factor), "N",
     "daemons that a new file uses, 0: all; kept with the file, for all jobs; the hint "
     "striping_factor is the same"},
    {"start_iodevice", ZC_OPT_COUNT, HINT, "0", 0, 65535, NULL, AT(start_iodevice), "I",
     "the first daemon that a new file uses, counted from 0; another one for each file when "
     "striping_factor is given and this is not; the hint start_iodevice is the same"},
    {"sync_level", ZC_OPT_ENUM, HINT, "durable", 0, 0, levels, AT(sync_level), "LEVEL",
     "how far data has come when MPI_File_sync returns"},
    {"close_level", ZC_OPT_ENUM, HINT, "stored", 0, 0, levels, AT(close_level), "LEVEL",
     "how far data has come when MPI_File_close returns"},
    {"flush", ZC_OPT_ENUM, HINT, "none", 0, 0, flushes, AT(flush), "WHAT",
     "for MPI_File_set_info: start to write the file back, or wait until it is stored"},
    {"read_after_write", ZC_OPT_FLAG, HINT, "true", 0, 0, NULL, AT(read_after_write), NULL,
     "a collective read of a file that is open for writing waits until all ranks have come to it, "
     "so that it sees what they wrote before"},
    {"read_around", ZC_OPT_FLAG, HINT, "true", 0, 0, NULL, AT(read_around), NULL,
     "a rank reads a file that no open of the job can write to by itself, where the kernel has it "
     "in memory, and not by the aggregator"},
    {"drop_clean", ZC_OPT_FLAG, HINT, "false", 0, 0, NULL, AT(drop_clean), NULL,
     "an open makes aggregators and daemons forget what they have of the file and have not to "
     "write back, for changes that its times do not tell of: mappings of other programs"},
    {"counters", ZC_OPT_FLAG, HINT, NULL, 0, 0, NULL, AT(counters), NULL,
     "let MPI_File_get_info tell what the caches did: zcache_agg_... of the aggregators, "
     "zcache_iod_... of the daemons"},
    {"paths", ZC_OPT_STRING, ENV, NULL, 0, 0, NULL, AT(paths), "LIST",
     "files that are zcache's without the prefix: absolute paths or patterns, with colons between"},
    {"used", ZC_OPT_STRING, ENV, NULL, 0, 0, NULL, AT(used), "FILE",
     "make this file when one is opened, as zcache run asks for"},
    {"stats", ZC_OPT_ENUM, ENV, "0", 0, 0, stats, AT(stats), "HOW",
     "print what a file's accesses took and waited for when it is closed, and what limited them; "
     "json: as one line of JSON"},
    {"progress", ZC_OPT_TIME, ENV, NULL, 0, 24 * HOUR, NULL, AT(progress), "TIME",
     "say how much is left while a close takes longer, every so often; 0 for never; unset: 5s on a "
     "terminal"},
    {"summary", ZC_OPT_STRING, ENV, NULL, 0, 0, NULL, AT(summary), "FILE",
     "append that line of JSON here, as zcache run --summary asks for"},
    {"abort_time", ZC_OPT_TIME, ENV, "5s", 0, 24 * HOUR, NULL, AT(abort_time), "TIME",
     "MPI_Abort writes back for so long at most; and so long does a process that ends without "
     "closing its files wait for other ranks that use what it owns; 0 for not at all"},
    {"unwritten", ZC_OPT_STRING, ENV, NULL, 0, 0, NULL, AT(unwritten), "DIR",
     "keep here, for each process, how much of which file it has not written back, as zcache run "
     "asks for"},
    {"steps", ZC_OPT_FLAG, HINT, "false", 0, 0, NULL, AT(steps), NULL,
     "each MPI_File_sync publishes a step: other jobs that read through the same daemons see what "
     "was written before it, and nothing that is written after it"},
    {"wait_step", ZC_OPT_COUNT, HINT, "0", 0, 1ull << 62, NULL, AT(wait_step), "N",
     "an open for reading, or MPI_File_set_info later, waits until another job has published this "
     "step or a later one, and reads that; 0 for none"},
    {"wait_limit", ZC_OPT_TIME, HINT, "30s", 0, 24 * HOUR, NULL, AT(wait_limit), "TIME",
     "how long zcache_wait_step waits at most"},
    {0},
};

void zc_settings_cache(const struct zc_settings *s, struct zc_cache_config *cfg)
{
    cfg->capacity = s->cache_size;
    cfg->page_size = (uint32_t)s->page_size;
    cfg->high_watermark = (unsigned)s->high_watermark;
    cfg->low_watermark = (unsigned)s->low_watermark;
    cfg->idle_ms = (unsigned)s->idle_time;
    cfg->flushers = (unsigned)s->flushers;
    cfg->readers = (unsigned)s->readers;
    cfg->max_io = (uint32_t)s->max_io;
    cfg->max_read = (uint32_t)s->max_read;
    cfg->prefetch = s->prefetch ? (unsigned)s->prefetch_depth : 0;
    cfg->failed_limit = (unsigned)s->failed_quota;
    cfg->dumped = s->dump_caches;
    cfg->flush_order = s->flush_order ? ZC_FLUSH_NEWEST : ZC_FLUSH_OLDEST;
}
