/* zc_journal.h - what a daemon has taken and not stored, on a local disk: it survives the daemon.
 *
 * What a write has brought is written to the journal before it is answered, and before it counts as
 * dirty in the cache; the next start of a daemon with the journal writes what was not stored
 * through its cache (zc_journal_replay()).
 *
 *     zc_journal_put()       a write has arrived in a page, which it pins     server/
 *     zc_store_journal.c     what becomes of it: stored, cut off, deleted     between cache and
 * store zc_journal_config.owes when a segment is not needed any more            of the cache
 *
 * What is promised
 *  1. A write that was answered is in the journal from before the answer until all of it is in the
 *     file, or was cut off, or the file was deleted.  What of a file is in the journal and not
 *     stored is known exactly at any moment: a store write is noted before the cache hears of its
 *     end, so that nobody is told of anything stored that the next start would write again.
 *  2. Of what several writes brought the later one counts, by `seq`.  A store write that began when
 *     `seq` was X has stored what records up to X brought of its bytes: a record gets its number
 *     when its bytes are in the page, and the store is given the page's bytes after X was read.
 *  3. Segments are deleted in any order, each when the cache owes nothing that it has of any file.
 *     Where an older one stays that has records of the same file, VOID says before that these are
 *     not needed any more: the notes about them may have been in the one that goes.
 *  4. The segments are never more than `size`, but for notes, which must not wait: who writes waits
 *     until write-back has made room, and is told the store's error when nothing in the way can be
 *     written back.  A file that the store refuses bytes of gets no more than half of the journal.
 *  5. When the journal itself fails writes are answered with its error; none goes unjournaled.
 *
 * What survives: the death of the daemon, when the kernel has the records; with `sync` that of the
 * host, too: all that has arrived meanwhile is synced together before it is answered, and a file
 * that is made is synced before anything is written to it.  That is so until it is in the
 * file, which nobody syncs: what is stored is noted when the store has taken it, and may be in the
 * host's memory only.  Without `sync` nothing of what is found after another start of the host is
 * written back, unless the daemon had ended before: what is missing there may be that newer bytes
 * were stored.
 *
 * Whose bytes they are.  While bytes of a file are staged and not stored nobody else may change it
 * (doc/SEMANTICS.md), but when a daemon is dead somebody may have written the file anew by other
 * means; and it may have been deleted or replaced.  So the journal notes what the file is: inode,
 * time of birth, and, whenever none of our changes is under way, size and times; before any change
 * after that, that they will change (`flux`), and how much shorter it may be then.  At a start a
 * file gets its bytes only if
 *
 *     the inode and the time of birth are the same, and it is not shorter than we left it;
 *     its times are as noted, or, in flux, not later than the daemon's last sign of life
 *     (enum ZC_JOURNAL_SLACK_MS); where other daemons change the file, too (zc_set.count), times
 *     say nothing, but where somebody has written past the daemon: then they are not later either;
 *     and of one that is shorter only what is beyond its end does not come back;
 *     where the host has been started again since, which may have lost a size and times that were
 *     noted, they are not later than that (of a file of one daemon), and the size says nothing
 *
 * and else they are reported as lost, by path and range.  There is a sign of life each second or
 * two, whatever the journal waits for, and no change begins when the last one that could be made is
 * two seconds old; at a start there is none before all files have been looked at.
 *
 * The directory holds `lock`, which the daemon has locked as long as it lives, `alive`, the last
 * sign of life (zc_journal_alive.c), and the segments, `segment.NUMBER`.  A daemon that ends with
 * everything stored leaves `lock` alone.
 *
 * Threads: all calls from any thread, without locks; those that block say so.
 */
#ifndef ZC_JOURNAL_H
#define ZC_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "zc_list.h"
#include "zc_log.h"
#include "zc_store.h"

struct zc_journal;
struct zc_journal_file; /* a file that the journal knows */

/* GiB; zc_options.c makes its text of it. */
#define ZC_JOURNAL_DEFAULT_GIB 1

enum {
    ZC_JOURNAL_SIZE_MIN = 1 << 20, /* bytes */
    ZC_JOURNAL_PAGES_MIN = 16,     /* pages of the cache: one of small pieces takes several */
    ZC_JOURNAL_SLACK_MS = 3000,    /* a change of a file in flux may be so much later */
};

struct zc_journal_config {
    const char *dir;  /* of this user; made if it is not there */
    const char *root; /* what the files are below: a journal is of one root */
    uint64_t size;    /* bytes of all segments, at least ZC_JOURNAL_SIZE_MIN */
    bool sync;
    const char *boot; /* which start of the host this is; NULL: the host says it */

    /* The cache; set by zc_journal_attach() before anything is written. */
    void *arg;
    /* Why what the file took up to this number (zc_cache_taken()) is not all stored: 0, it is or
     * the file is not known; -EAGAIN, it is on its way; else what the store said.  What is written
     * after the call has higher numbers. */
    int (*owes)(void *arg, uint64_t dev, uint64_t ino, uint64_t number);
    /* Write back all that is dirty, as long as `on`. */
    void (*hurry)(void *arg, bool on);
};

/* Locks the directory and reads what is there.  A negative errno, explained: somebody else's,
 * another daemon's, another root's; no room. */
int zc_journal_open(const struct zc_journal_config *cfg, struct zc_journal **out);
void zc_journal_attach(struct zc_journal *j, void *arg,
                       int (*owes)(void *arg, uint64_t dev, uint64_t ino, uint64_t number),
                       void (*hurry)(void *arg, bool on));
/* From now on nothing is noted: what the cache gives up stays in the journal. */
void zc_journal_freeze(struct zc_journal *j);
/* The store over it and the server are gone.  `stored`: everything is, and the segments go; else
 * what is left is synced. */
void zc_journal_close(struct zc_journal *j, bool stored);

/* ---- a start ---- */

/* Where the bytes go; all may block.  0 or a negative errno, explained. */
struct zc_journal_sink {
    void *arg;
    bool bypassed; /* somebody has written past the daemon, who knew that it is dead */
    int (*stat)(void *arg, const char *path, struct zc_attr *attr);
    int (*open)(void *arg, const char *path, void **file);
    int (*write)(void *file, const void *buf, size_t len, uint64_t off);
    /* *number: of what it took, for zc_journal_config.owes. */
    int (*close)(void *file, uint64_t *number);
    /* `bytes` bytes within [lo, hi) of the file do not come back; path NULL: nobody knows of which
     * file. */
    void (*lost)(void *arg, const char *path, uint64_t lo, uint64_t hi, uint64_t bytes,
                 const char *why);
};

struct zc_journal_replayed {
    uint64_t files, bytes; /* written to the sink */
    uint64_t lost_bytes;
    unsigned damaged; /* records or stretches that could not be read */
};

/* Writes what an earlier daemon has not stored, in order; before anybody else writes.  On an error,
 * or when the daemon dies, what was not stored meanwhile is still in the journal. */
int zc_journal_replay(struct zc_journal *j, const struct zc_journal_sink *sink,
                      struct zc_journal_replayed *out);

/* ---- writes ---- */

/* What of the journal a request has written; zeros at first, and after zc_journal_taken(). */
struct zc_journal_ticket {
    struct zc_journal_file *file; /* NULL: nothing */
    uint64_t first, last;         /* segments */
};

/* The open file of this number, for writes to it; NULL: it is deleted, or not open for writing.
 * It stays as long as that is open, or a ticket names it. */
struct zc_journal_file *zc_journal_find(struct zc_journal *j, uint64_t dev, uint64_t ino);

/* The caller's until done(). */
struct zc_journal_write {
    struct zc_journal_file *file;
    struct zc_journal_ticket *ticket;
    const void *data;         /* the file's bytes from `off` on, as in a page */
    uint64_t off;             /* bytes */
    const struct zc_range *r; /* which of them: sorted, disjoint, relative to `base` ... */
    uint32_t n;
    uint32_t base;                            /* ... where `data` is in that */
    void (*done)(struct zc_journal_write *w); /* on any thread, without locks */
    int status;                               /* then: 0 or a negative errno, ... */
    char text[ZC_TEXT_MAX];                   /* ... explained */

    struct zc_list link; /* private */
};

/* Writes it to the journal, and calls done().  Does not block. */
void zc_journal_put(struct zc_journal *j, struct zc_journal_write *w);
/* All writes of the ticket are done, and what they brought is in the cache with numbers up to this
 * one.  Does not block. */
void zc_journal_taken(struct zc_journal *j, struct zc_journal_ticket *t, uint64_t number);

/* ---- what becomes of them: for zc_store_journal.c ---- */

/* Before the attributes of a file are read that is opened: `changes` of opened(). */
uint64_t zc_journal_opening(struct zc_journal *j);
/* Opened for writing, or once more; NULL: no memory.  `shared`: through one of several daemons. */
struct zc_journal_file *zc_journal_opened(struct zc_journal *j, const char *path, uint64_t changes,
                                          const struct zc_attr *attr, bool shared);
/* One open less.  `settled`: nothing of the file is unwritten.  Blocks. */
void zc_journal_closed(struct zc_journal *j, struct zc_journal_file *f, bool settled);
/* Around a change of the file in the store, which leaves it no shorter than `size` bytes, or than
 * it is (ZC_JOURNAL_NOT_CUT).  Returns the number of the last record whose bytes are in what is
 * written now: that of the journal, or at a start of those that the sink has been given.  Both may
 * block. */
#define ZC_JOURNAL_NOT_CUT UINT64_MAX
uint64_t zc_journal_changing(struct zc_journal *j, struct zc_journal_file *f, uint64_t size);
void zc_journal_changed(struct zc_journal *j, struct zc_journal_file *f);
/* Bytes [off + r.lo, off + r.hi) of records up to `until` are in the file.  Blocks. */
void zc_journal_stored(struct zc_journal *j, struct zc_journal_file *f, uint64_t until,
                       uint64_t off, const struct zc_range *r, uint32_t n);
/* The file was truncated by us.  Blocks. */
void zc_journal_cut(struct zc_journal *j, struct zc_journal_file *f, uint64_t size);
/* The file is deleted.  Blocks. */
void zc_journal_gone(struct zc_journal *j, struct zc_journal_file *f);
/* A name, which is the last one, is about to be deleted by us: its file, which stays until
 * unlinked(), if the journal knows it; else NULL. */
struct zc_journal_file *zc_journal_unlinking(struct zc_journal *j, const struct zc_attr *attr);
void zc_journal_unlinked(struct zc_journal *j, struct zc_journal_file *f, bool gone); /* blocks */
/* What was noted will be there when the host starts again, if the journal is to be synced (or else
 * none of it counts then).  Blocks. */
int zc_journal_sync(struct zc_journal *j);
bool zc_journal_syncs(const struct zc_journal *j);
/* Attributes were read: `changes` as zc_journal_changes() said before.  May block. */
uint64_t zc_journal_changes(struct zc_journal *j, struct zc_journal_file *f);
void zc_journal_looked(struct zc_journal *j, struct zc_journal_file *f, uint64_t changes,
                       const struct zc_attr *attr);

/* ---- seeing inside ---- */

/* X(name, help) */
#define ZC_JOURNAL_STATS(X)                                                                        \
    X(journal_bytes, "bytes of the journal in use")                                                \
    X(journal_limit_bytes, "bytes that it may have; 0: there is none")                             \
    X(journal_records, "records in it")                                                            \
    X(journal_written_bytes, "bytes ever written to it")                                           \
    X(journal_waiting, "writes that wait for the journal")                                         \
    X(journal_full, "times a write found it full")                                                 \
    X(journal_syncs, "syncs of the journal")                                                       \
    X(journal_replayed_bytes, "bytes of an earlier daemon that this one has written back")         \
    X(journal_lost_bytes, "bytes of an earlier daemon that could not be written back")

struct zc_journal_stats {
#define X(name, help) uint64_t name;
    ZC_JOURNAL_STATS(X)
#undef X
};

/* j NULL: zeros. */
void zc_journal_stats(struct zc_journal *j, struct zc_journal_stats *out);

#endif
