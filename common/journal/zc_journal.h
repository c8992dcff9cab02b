/* zc_journal.h - write-ahead log of a daemon on a local disk, which survives the daemon.
 *
 * A write is appended to the journal before the daemon replies and before its bytes become dirty in
 * the cache.  The next start of a daemon with the same journal writes what was not stored through
 * its cache (zc_journal_replay()).
 *
 *     zc_journal_put()        a write has arrived in a page, which it pins   called by server/
 *     zc_store_journal.c      bytes were stored, truncated or deleted        below the cache
 *     zc_journal_config.owes  whether a segment is still needed              asks the cache
 *
 * Guarantees
 *  1.  A write that was answered is in the journal from before the reply until all of it is in the
 *     file, was truncated away, or the file was deleted.  The journal knows exactly which bytes of
 *     a file it has that are not stored: a store write is noted before the cache learns that it
 *     completed, so no bytes are reported as stored that the next start would write again.
 *  2.  Where writes overlap, the one with the higher `seq` wins.  A store write that began when
 *     `seq` was X has stored the bytes of records up to X: a record gets its number after its bytes
 *     are in the page, and the page is handed to the store after X was read.
 *  3.  Segments are deleted in any order, each as soon as the cache owes nothing of any file in it.
 *     If an older segment keeps records of the same file, a DISCARD first declares these void,
 *     because the notes about them may have been in the deleted segment.
 *  4.  The segments never take more than `size`, except for notes, which must not wait.  A writer
 *     waits until write-back has made room, and gets the store's error if nothing that holds a
 *     segment can be written back.  A file whose write-back fails gets at most half of the journal.
 *  5.  If the journal itself fails, writes are answered with its error; no write goes unjournaled.
 *
 * What survives: without `sync`, the records survive the death of the daemon (they are in the
 * kernel).  With `sync` they survive that of the host as well: all writes that have arrived are
 * synced together before they are answered, and a file that is created is synced before anything is
 * written to it.  This protection ends when bytes are in the file, which nothing syncs: the note is
 * made when the store has accepted them, and they may be in the host's memory only.  Without
 * `sync`, records found after a reboot of the host are not written back unless the daemon had shut
 * down before: a missing note may mean that newer bytes were stored.
 *
 * Fencing: a later daemon at the seat, or another zcache writer of the file, is known by number
 * (zc_root_record.h, zc_journal_fence.c); files that it may have written are not written.  The rest
 * of this comment is about other programs.
 *
 * While bytes of a file are staged and not stored, no other program may change it
 * (doc/SEMANTICS.md).  But after the death of a daemon another program may have rewritten, deleted
 * or replaced the file.  So the journal notes the identity of the file: inode, birth time and,
 * whenever none of the daemon's own changes is under way, size and times (zc_store_journal.c reads
 * them after each change).  Before the next change it notes an intent: that size and times will
 * change, and how short the file may become.  At a start, the bytes of a file are written only if
 *
 *     inode and birth time are the same, and the file is not shorter than it was left;
 *     its times are as noted, or its contents where bytes are pending are explained
 *     (zc_journal_compare.c): by less, if the times say that another program has changed it, as
 *     they are others than noted without an open intent, or later than the daemon's last heartbeat
 *     (plus ZC_JOURNAL_SLACK_MS);
 *     if other daemons change the file as well (zc_set.count), times are ignored, and if such a
 *     file is shorter, only the bytes beyond its end are refused;
 *     if a job has bypassed this daemon, the times do not say that the file was changed since: the
 *     job may have written what was there before;
 *     after a reboot of the host, which may have lost a noted size and times, and notes that bytes
 *     were stored, the size is ignored, and other times than noted say nothing unless they are
 *     later than the heartbeat.
 *
 * So times save a comparison, and say what it may take for granted; contents decide.
 *
 * Other bytes are set aside (zc_journal_aside.c) and reported by path and range.  The heartbeat is
 * renewed every second or two, whatever the journal waits for, and no change begins when the last
 * heartbeat that could be made is two seconds old.  At a start there is no heartbeat before all
 * files have been checked.
 *
 * The directory holds `lock`, locked for as long as the daemon lives; `alive`, the heartbeat
 * (zc_journal_heartbeat.c); the segments, `segment.NUMBER`; and `set-aside.N`.  A daemon that shuts
 * down with everything stored leaves only `lock` and what was set aside.
 *
 * Threads: all functions may be called from any thread, without locks held; those that block say
 * so.
 */
#ifndef ZC_JOURNAL_H
#define ZC_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "zc_error.h"
#include "zc_list.h"
#include "zc_store.h"

struct zc_journal;
struct zc_journal_file; /* a file that the journal knows */

/* GiB; also printed in the help of the option (zc_options.c). */
#define ZC_JOURNAL_DEFAULT_GIB 1

enum {
    ZC_JOURNAL_SIZE_MIN = 1 << 20, /* bytes */
    ZC_JOURNAL_PAGES_MIN = 16,  /* pages of the cache; one of small pieces takes several records */
    ZC_JOURNAL_SLACK_MS = 3000, /* tolerance for times of a file with an open intent */
};

struct zc_journal_config {
    const char *dir;  /* created with access for this user only if it does not exist */
    const char *root; /* directory that all files are below: a journal belongs to one root */
    uint64_t size;    /* bytes of all segments, at least ZC_JOURNAL_SIZE_MIN */
    bool sync;
    /* Seat and boot id of the daemon (zc_root_record.h).  Seat 0: neither the root record nor marks
     * of later writers are checked (tests without a root). */
    uint64_t seat, boot_id;
    bool new_root;    /* true: set aside what was staged for another root; false: fail */
    const char *boot; /* boot id of the host; NULL: read from the kernel */

    /* The cache; set by zc_journal_attach() before anything is written. */
    void *arg;
    /* Returns why bytes of the file up to write `number` (zc_cache_progress()) are not all stored:
     * 0: they are, or the file is not known; -EAGAIN: write-back is under way; else the store's
     * error.  Writes after the call have higher numbers. */
    int (*owes)(void *arg, uint64_t dev, uint64_t ino, uint64_t number);
    /* Starts, or ends, write-back of everything dirty. */
    void (*hurry)(void *arg, bool on);
};

/* Locks the directory and reads the segments.  A negative errno, explained: the journal belongs to
 * another user, another running daemon or another root, or there is no room. */
int zc_journal_open(const struct zc_journal_config *cfg, struct zc_journal **out);
void zc_journal_attach(struct zc_journal *j, void *arg,
                       int (*owes)(void *arg, uint64_t dev, uint64_t ino, uint64_t number),
                       void (*hurry)(void *arg, bool on));
/* Stops making notes: bytes that the cache discards from now on stay in the journal. */
void zc_journal_freeze(struct zc_journal *j);
/* Closes the journal after its store and the server are gone.  `stored`: everything is stored, and
 * the segments are deleted; else what is left is synced. */
void zc_journal_close(struct zc_journal *j, bool stored);

/* ---- a start ---- */

/* Bytes [lo, hi) of a file. */
struct zc_journal_span {
    uint64_t lo, hi;
};
enum { ZC_JOURNAL_SPANS = 16 }; /* maximum number reported for a file */

/* Destination of replayed bytes.  All members may block, and return 0 or a negative errno,
 * explained. */
struct zc_journal_sink {
    void *arg;
    bool bypassed; /* a job that knew of this daemon's death wrote without it */
    int (*stat)(void *arg, const char *path, struct zc_attr *attr);
    /* `mark`: that of the file in the root record at its last open for writing. */
    /* Finds another name of the file with this inode number.  NULL: not supported.  Returns true
     * with the name in `other`, of ZC_RECORD_PATH_MAX + 1 bytes. */
    bool (*find)(void *arg, const char *path, uint64_t ino, char *other);
    int (*open)(void *arg, const char *path, uint64_t mark, void **file);
    /* Reads the file; returns the number of bytes, less than `len` at its end only.  NULL: contents
     * are not compared, and the times of files decide. */
    ssize_t (*read)(void *arg, const char *path, void *buf, size_t len, uint64_t off);
    int (*write)(void *file, const void *buf, size_t len, uint64_t off);
    /* *number: of the last write that it accepted, for zc_journal_config.owes. */
    int (*close)(void *file, uint64_t *number);
    /* Reports `bytes` bytes of the file in these spans as set aside in the directory `where`; the
     * last span may have gaps. */
    void (*kept)(void *arg, const char *path, const struct zc_journal_span *spans, unsigned n,
                 uint64_t bytes, const char *why, const char *where);
    /* Reports `bytes` bytes within [lo, hi) of the file as lost; path NULL: the file is not
     * known. */
    void (*lost)(void *arg, const char *path, uint64_t lo, uint64_t hi, uint64_t bytes,
                 const char *why);
};

struct zc_journal_replayed {
    uint64_t files, bytes; /* written to the sink */
    uint64_t lost_bytes;
    uint64_t kept_bytes; /* set aside */
    unsigned damaged;    /* records or stretches that cannot be read */
};

/* Raises the daemon's seat and writes what an earlier daemon has not stored, in order, before the
 * first session.  After an error, or if the daemon dies, what was not stored is still in the
 * journal. */
int zc_journal_replay(struct zc_journal *j, const struct zc_journal_sink *sink,
                      struct zc_journal_replayed *out);

/* Checks that this daemon still holds its seat (zc_root_record.h), which the replay has raised; to
 * call after the replay and before the first session.  0 or a negative errno, explained; -EBUSY:
 * another daemon has raised it since. */
int zc_journal_serve(struct zc_journal *j);

/* ---- writes ---- */

/* Segments that a request's writes are in; zeros at first and after zc_journal_taken(). */
struct zc_journal_ticket {
    struct zc_journal_file *file; /* NULL: nothing */
    uint64_t first, last;         /* segments */
};

/* Returns the open file with this device and inode, for writes to it; NULL: deleted, or not open
 * for writing.  Valid while the file is open or a ticket names it. */
struct zc_journal_file *zc_journal_find(struct zc_journal *j, uint64_t dev, uint64_t ino);

/* Owned by the caller again when done() is called. */
struct zc_journal_write {
    struct zc_journal_file *file;
    struct zc_journal_ticket *ticket;
    const void *data;         /* bytes of the file from `off` on, as they lie in the page */
    uint64_t off;             /* bytes */
    const struct zc_range *r; /* valid ranges: sorted, disjoint, relative to `base` */
    uint32_t n;
    uint32_t base;                            /* position of `data` in that coordinate */
    void (*done)(struct zc_journal_write *w); /* called on any thread, without locks */
    struct zc_error error;                    /* set before done() */

    struct zc_list link; /* private */
};

/* Queues the write for the journal, which calls done().  Does not block. */
void zc_journal_put(struct zc_journal *j, struct zc_journal_write *w);
/* Ends the ticket: all its writes are done, and their bytes are in the cache with numbers up to
 * this one.  Does not block. */
void zc_journal_taken(struct zc_journal *j, struct zc_journal_ticket *t, uint64_t number);

/* ---- what becomes of the bytes: for zc_store_journal.c ---- */

/* Called before the attributes of a file to open are read; the result is `changes` of opened(). */
uint64_t zc_journal_opening(struct zc_journal *j);
/* Registers an open for writing; NULL: no memory.  `shared`: other daemons serve the file as
 * well. */
struct zc_journal_file *zc_journal_opened(struct zc_journal *j, const char *path, uint64_t changes,
                                          const struct zc_attr *attr, bool shared);
/* Ends one open.  `settled`: no bytes of the file are unwritten.  Blocks. */
void zc_journal_closed(struct zc_journal *j, struct zc_journal_file *f, bool settled);
/* Brackets a change of the file in the store.  The change leaves the file no shorter than `size`
 * bytes, or than it is (ZC_JOURNAL_NOT_TRUNCATED).  intent_begin() returns the number of the last
 * record whose bytes the change includes: the last of the journal or, during a replay, the last
 * that the sink has received.  Both may block. */
#define ZC_JOURNAL_NOT_TRUNCATED UINT64_MAX
uint64_t zc_journal_intent_begin(struct zc_journal *j, struct zc_journal_file *f, uint64_t size);
void zc_journal_intent_end(struct zc_journal *j, struct zc_journal_file *f);
/* Notes that bytes [off + r.lo, off + r.hi) of records up to `until` are in the file.  Blocks. */
void zc_journal_stored(struct zc_journal *j, struct zc_journal_file *f, uint64_t until,
                       uint64_t off, const struct zc_range *r, uint32_t n);
/* Notes that the daemon truncated the file.  Blocks. */
void zc_journal_truncate(struct zc_journal *j, struct zc_journal_file *f, uint64_t size);
/* Notes that the file is deleted.  Blocks. */
void zc_journal_gone(struct zc_journal *j, struct zc_journal_file *f);
/* Called before the daemon deletes a name.  Returns the file, which stays valid until unlinked(),
 * or NULL if the journal does not know it. */
struct zc_journal_file *zc_journal_unlinking(struct zc_journal *j, const struct zc_attr *attr);
void zc_journal_unlinked(struct zc_journal *j, struct zc_journal_file *f, bool gone); /* blocks */
/* Makes notes durable if the journal syncs (without that, none counts after a reboot).  Blocks. */
int zc_journal_sync(struct zc_journal *j);
bool zc_journal_syncs(const struct zc_journal *j);
/* Reports attributes that were read after zc_journal_changes() returned `changes`.  May block. */
uint64_t zc_journal_changes(struct zc_journal *j, struct zc_journal_file *f);
void zc_journal_checked(struct zc_journal *j, struct zc_journal_file *f, uint64_t changes,
                        const struct zc_attr *attr);

/* ---- seeing inside ---- */

/* X(name, kind, unit, help), see zc_cache.h. */
#define ZC_JOURNAL_STATS(X)                                                                        \
    X(journal_bytes, GAUGE, BYTES, "bytes of the journal in use")                                  \
    X(journal_limit_bytes, GAUGE, BYTES, "bytes that it may have; 0: there is none")               \
    X(journal_records, GAUGE, NONE, "records in it")                                               \
    X(journal_written_bytes, COUNTER, BYTES, "bytes ever written to it")                           \
    X(journal_waiting, GAUGE, NONE, "writes that wait for the journal")                            \
    X(journal_full, COUNTER, NONE, "times a write found it full")                                  \
    X(journal_syncs, COUNTER, NONE, "syncs of the journal")                                        \
    X(journal_replayed_bytes, COUNTER, BYTES,                                                      \
      "bytes of an earlier daemon that this one has written back")                                 \
    X(journal_lost_bytes, COUNTER, BYTES,                                                          \
      "bytes of an earlier daemon that could not be written back")                                 \
    X(journal_kept_bytes, COUNTER, BYTES,                                                          \
      "bytes of an earlier daemon that are set aside, and not written back")

struct zc_journal_stats {
#define X(name, kind, unit, help) uint64_t name;
    ZC_JOURNAL_STATS(X)
#undef X
};

/* Copies the counters; j NULL: zeros. */
void zc_journal_stats(struct zc_journal *j, struct zc_journal_stats *out);

#endif
