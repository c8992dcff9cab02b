/* zc_journal_replay.h - state of a replay, for the files that it consists of:
 *
 * zc_journal_pending.c  finds the pending ranges
 * zc_journal_judge.c    decides about each file
 * zc_journal_replay.c   writes or sets aside the bytes
 * zc_journal_image.c    does the same without a daemon, as far as its caller asks
 *
 * A replay is made by one thread.  Calls return 0 or a negative errno, explained, unless they say
 * otherwise.
 */
#ifndef ZC_JOURNAL_REPLAY_H
#define ZC_JOURNAL_REPLAY_H

#include "zc_journal_compare.h"
#include "zc_journal_internal.h"

enum { ZC_REPLAY_BUCKETS = 1 << 12 };

struct zc_image_walk;

/* State of a file's replay. */
struct zc_replay {
    struct zc_list pages; /* struct zc_replay_page */
    enum { ZC_REPLAY_UNKNOWN, ZC_REPLAY_GOOD, ZC_REPLAY_REFUSED } verdict;
    const char *why;         /* reason of ZC_REPLAY_REFUSED */
    bool gone;               /* refused, and the inode number may have been reused */
    bool compare;            /* its contents decide, because its times are not as noted */
    enum zc_compare_how how; /* what explains them then */
    struct zc_attr seen;     /* its attributes before it was compared */
    uint64_t end;            /* bytes beyond it are refused; UINT64_MAX: none */
    uint64_t number;         /* of the last write, as the sink returned it */
};

/* Pending ranges within ZC_COMPARE_PAGE bytes of a file. */
struct zc_replay_page {
    struct zc_list link, hash;
    const struct zc_replay *of;
    uint64_t no;
    struct zc_extents bytes;
    struct zc_extents same; /* contents of the file are explained (zc_journal_compare.c) */
};

struct zc_replay_run {
    struct zc_journal *j;
    const struct zc_journal_sink *sink;
    struct zc_journal_replayed *out;
    struct zc_list buckets[ZC_REPLAY_BUCKETS];
    struct zc_replay_removal *removals; /* zc_journal_pending.c */
    size_t n, cap, next;
    struct zc_journal_file *open; /* open in the sink as `file` */
    void *file;
    struct zc_aside aside;
    const struct zc_image_walk *walk; /* without a daemon: zc_image_walk() */
    struct zc_compare *compare;       /* NULL: no file needs it */
};

/* ---- zc_journal_pending.c ---- */
int zc_replay_no_memory(const struct zc_replay_run *w);
/* Returns the file of a record, or NULL. */
struct zc_journal_file *zc_replay_file(const struct zc_replay_run *w, const struct zc_record *r);
/* The first pass. */
int zc_replay_find_pending(struct zc_replay_run *w);
bool zc_replay_has_pending(const struct zc_journal_file *f);
/* Returns the pending ranges of a page of the file, or NULL. */
struct zc_replay_page *zc_replay_find(struct zc_replay_run *w, const struct zc_replay *of,
                                      uint64_t no);
/* Calls fn for each record of the journal, in order. */
int zc_replay_walk(struct zc_replay_run *w, zc_scan_fn *fn);
/* Finds the first pending range in [at, end). */
bool zc_replay_next_pending(struct zc_replay_run *w, const struct zc_journal_file *f, uint64_t at,
                            uint64_t end, struct zc_journal_span *next);
/* Calls fn for each range of a DATA record. */
typedef int zc_replay_range_fn(struct zc_replay_run *w, struct zc_journal_file *f, uint64_t lo,
                               uint32_t len, const unsigned char *bytes);
int zc_replay_each(struct zc_replay_run *w, const struct zc_record *r, struct zc_journal_file *f,
                   zc_replay_range_fn *fn);
/* Returns where refused bytes of the file begin; UINT64_MAX: there are none. */
uint64_t zc_replay_refused_from(const struct zc_journal_file *f);
/* Collects the refused spans and the number of bytes in them.  At most ZC_JOURNAL_SPANS: the last
 * one then spans gaps.  Returns how many. */
unsigned zc_replay_spans(struct zc_replay_run *w, struct zc_journal_file *f,
                         struct zc_journal_span s[ZC_JOURNAL_SPANS], uint64_t *bytes);
/* Frees what the first pass has made. */
void zc_replay_forget(struct zc_replay_run *w);

/* ---- zc_journal_judge.c ---- */
/* Whether it is another file.  Device numbers may change when the host reboots. */
bool zc_replay_is_another(const struct zc_replay_run *w, const struct zc_attr *was,
                          const struct zc_attr *now);
/* Returns the noted attributes.  Takes the lock: a thread of the cache may note a change. */
struct zc_attr zc_replay_noted(const struct zc_replay_run *w, const struct zc_journal_file *f);
/* Returns why the file is refused whatever it has, or NULL. */
const char *zc_replay_objection(const struct zc_replay_run *w, const struct zc_journal_file *f,
                                const struct zc_attr *was, const struct zc_attr *now);
/* Whether the contents of the file decide, because its times are not as noted. */
bool zc_replay_needs_contents(const struct zc_replay_run *w, const struct zc_journal_file *f,
                              const struct zc_attr *was, const struct zc_attr *now);
#define ZC_REPLAY_KEPT        "an earlier start, which was interrupted, kept it back"
#define ZC_REPLAY_CHANGED     "the file was changed by others meanwhile"
#define ZC_REPLAY_UNEXPLAINED "the file has bytes there that others may have written meanwhile"
/* Whether another set of daemons or another zcache program has opened it for writing. */
int zc_replay_is_marked(const struct zc_replay_run *w, const struct zc_journal_file *f, bool *yes);
/* Refuses a file that another zcache writer has opened; takes precedence over its times. */
int zc_replay_refuse_marked(const struct zc_replay_run *w, struct zc_journal_file *f);
/* Whether the contents of the file permit all of its pending bytes to be written. */
bool zc_replay_is_explained(const struct zc_replay_run *w, const struct zc_journal_file *f);
/* Compares the contents of files about which they decide. */
int zc_replay_compare_all(struct zc_replay_run *w);
/* Sets the verdict of a file, and of all; heartbeats of this daemon begin then. */
int zc_replay_judge(struct zc_replay_run *w, struct zc_journal_file *f);
int zc_replay_judge_all(struct zc_replay_run *w);

#endif
