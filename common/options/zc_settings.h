/* zc_settings.h - the values behind the option table: zc_settings.c has the rows, zc_options.h what
 * fills the values in. */
#ifndef ZC_SETTINGS_H
#define ZC_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

/* Which levels write back in the background; one bit each. */
enum zc_write_back {
    ZC_WRITE_BACK_NONE = 0,
    ZC_WRITE_BACK_AGGREGATOR = 1, /* else when its cache is full, at sync and at close */
    ZC_WRITE_BACK_DAEMON = 2,     /* else before it acknowledges a write */
    ZC_WRITE_BACK_BOTH = 3,
};

/* What is printed of a file when it is closed. */
enum zc_stats { ZC_STATS_OFF, ZC_STATS_TEXT, ZC_STATS_JSON };

/* How clients of a daemon authenticate. */
enum zc_auth { ZC_AUTH_SECRET, ZC_AUTH_MUNGE };

enum zc_checksum { ZC_CHECKSUM_OFF, ZC_CHECKSUM_ON };

/* A daemon is lost for good. */
enum zc_daemon_loss {
    ZC_LOSS_ERROR,
    ZC_LOSS_BYPASS, /* its part of a file is written without it */
};

enum { ZC_MAX_OPTIONS = 128 }; /* maximum number of rows of the table */

struct zc_settings {
    /* both sides */
    char *provider;       /* libfabric provider */
    uint64_t timeout;     /* ms of silence after which a peer counts as gone */
    uint64_t hang_report; /* ms after which a call to the store is told in the log; 0: never */
    uint64_t log;         /* enum zc_log_level, when given; hint and --log */
    bool dump_caches;     /* core dumps have the pages of caches */
    char *trace;          /* ZCACHE_TRACE, --trace: a directory for zc_events.h */

    /* the library in an MPI program */
    char *losses;                /* ZCACHE_LOSSES: where aggregators tell what they have lost */
    char *daemons;               /* ZCACHE_DAEMONS: address files or directories, comma-separated */
    char *aggregators;           /* the same of dedicated aggregators; NULL: ranks own the blocks */
    bool local;                  /* processes of one host do without libfabric where they can */
    uint64_t block_size;         /* bytes; unit of ownership and placement */
    uint64_t striping_factor;    /* daemons that own blocks; 0: all */
    uint64_t start_iodevice;     /* the first of them; see zc_option_given() */
    uint64_t sync_level;         /* enum zc_level */
    uint64_t close_level;        /* enum zc_level */
    uint64_t flush;              /* index of the hint's words: none, start, wait */
    uint64_t agg_cache_size;     /* bytes of an aggregator's cache; hint cache_size */
    uint64_t agg_view_memory;    /* percent of it that is for views; hint view_memory */
    uint64_t agg_high_watermark; /* percent; hint high_watermark */
    uint64_t agg_low_watermark;  /* percent; hint low_watermark */
    uint64_t agg_idle_time;      /* ms; hint idle_time */
    uint64_t write_back;         /* enum zc_write_back */
    uint64_t replay;             /* enum zc_replay */
    uint64_t on_daemon_loss;     /* enum zc_daemon_loss */
    uint64_t checksum;           /* enum zc_checksum */
    bool agg_prefetch;           /* an aggregator reads ahead; hint prefetch */
    uint64_t agg_prefetch_depth; /* pages; hint prefetch_depth */
    uint64_t stats;              /* enum zc_stats */
    char *paths;                 /* ZCACHE_PATHS: zc_paths.h; the plugin's entries read it */
    char *used;                  /* ZCACHE_USED: made when a file is opened */
    char *unwritten;             /* ZCACHE_UNWRITTEN: a directory, zc_unwritten.h */
    char *summary;               /* ZCACHE_SUMMARY: a file for the same, for a program */
    uint64_t progress;           /* ms; in force where it is given(): zcache_progress.c */
    uint64_t abort_time;         /* ms for MPI_Abort's flush, and for an exit's wait for ranks */
    bool read_after_write;       /* collective reads wait for the writes before them */
    bool read_around;            /* zcache_read_around.h */
    bool drop_clean;             /* an open forgets clean pages */
    bool counters;               /* MPI_File_get_info tells those of the caches */
    bool steps;                  /* each sync publishes a step */
    uint64_t wait_step;          /* step that this call waits for; 0: none */
    uint64_t wait_limit;         /* ms */

    /* the daemon */
    char *root, *address_file, *config, *log_file, *pid_file, *listen;
    uint64_t cache_size, page_size, high_watermark, low_watermark, idle_time, flushers, readers,
        failed_quota;
    uint64_t max_io, max_read, flush_order, prefetch_depth;
    bool prefetch;
    bool direct_io;              /* past the page cache */
    uint64_t grace, grace_alone; /* after SIGTERM, ms */
    bool daemonize;
    uint64_t auth; /* enum zc_auth */
    bool allow_root;
    char *munge_socket;                             /* NULL: the library's */
    uint64_t user_sessions, user_opens, user_share; /* of one user: how many, and percent */
    char *journal;                                  /* its directory; NULL: none */
    uint64_t journal_size;                          /* bytes */
    bool journal_sync; /* writes are on its disk before they are answered */
    bool new_root;     /* what the journal has of another one is set aside */
    bool aggregator;   /* it owns blocks for the ranks of one job */
    char *below;       /* --store-daemons: address files of its store; NULL: the file system */

    bool given[ZC_MAX_OPTIONS]; /* row i of the table was set; else it is the default */
};

struct zc_cache_config;
/* What a daemon's cache is made with, of `s`; the other members of *cfg stay. */
void zc_settings_cache(const struct zc_settings *s, struct zc_cache_config *cfg);

#endif
