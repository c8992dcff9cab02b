/* zc_journal_internal.h - what the files of the journal share.
 *
 * zc_journal.c            the directory, opening and closing, the writer thread
 * zc_journal_write.c      appending: the buffer, writes, notes
 * zc_journal_segment.c    segments: creation, room, deletion
 * zc_journal_file.c       the files it knows, and their identity
 * zc_journal_heartbeat.c  the heartbeat
 * zc_journal_fence.c      whether what is found may be written: root, seat, generation
 * zc_journal_aside.c      sets aside what is not written
 * zc_journal_read.c       reads the directory at a start
 * zc_journal_replay.c     writes what was not stored
 * zc_journal_pending.c    finds it
 * zc_journal_judge.c      decides whether each file is still the same
 * zc_journal_offline.c    opens a journal without a daemon
 * zc_journal_image.c      reads it
 * zc_journal_before.c     notes what the file had where a write was staged
 * zc_journal_compare.c    compares that with what the file has at a start
 * zc_record.c             one record
 *
 * The writer lock (zc_journal_writer_lock()) serializes appending: it guards the buffer, the
 * current segment and `seq`, and its holder creates and deletes segments.  It is held over calls
 * that block.  j->lock guards what is marked so; it is never held over a call that blocks or a call
 * of the cache.
 */
#ifndef ZC_JOURNAL_INTERNAL_H
#define ZC_JOURNAL_INTERNAL_H

#include <pthread.h>

#include "zc_journal.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_record.h"

enum {
    ZC_JOURNAL_BUCKETS = 1024,
    ZC_JOURNAL_BUFFER = 1 << 20, /* size of the buffer, written in one call */
    ZC_JOURNAL_BODY = 256 << 10, /* maximum size of a body; at most a quarter of a segment */
    ZC_JOURNAL_CHUNK = 4096,     /* bytes of a file per checksum in a BEFORE */
    ZC_JOURNAL_SEGMENTS = 16,    /* number of segments that `size` is divided into */
    ZC_JOURNAL_SEGMENT_MAX = 64 << 20,
    ZC_JOURNAL_NOTES = 64 << 10, /* size of a segment for notes, made on a full disk */
    ZC_JOURNAL_TICK_MS = 1000,
    ZC_JOURNAL_POLL_MS = 10, /* interval at which a write that waits for room tries again */
};

struct zc_journal_file {
    struct zc_list link;  /* journal->files[] */
    uint32_t id;          /* constant */
    uint64_t dev, ino;    /* this and all that follows: under the lock */
    char *path;           /* as of the last open */
    struct zc_attr noted; /* attributes as the daemon left the file */
    bool intent; /* changed by the daemon since `noted`, or about to be; set with the writer lock */
    bool told;   /* the journal has a note of `intent` */
    bool shared; /* other daemons change it as well */
    bool gone;   /* deleted: its records do not matter */
    bool refused;          /* a start has refused its bytes; until it is opened */
    int peek_fd;           /* for reading, while it is open; -1: none; with the writer lock */
    unsigned opens;        /* open store files */
    unsigned tickets;      /* tickets that name it */
    unsigned segments;     /* segments that have records of it */
    struct zc_list parts;  /* struct zc_journal_part.file_link, in the order of segments */
    unsigned changing;     /* changes by the daemon under way */
    uint64_t changes;      /* changes that have ended */
    struct zc_replay *old; /* during a replay: what is pending */
};

/* The records of one file in one segment. */
struct zc_journal_part {
    struct zc_list link, file_link; /* segment->parts, file->parts */
    struct zc_journal_file *file;
    struct zc_segment *segment;
    uint64_t number;    /* highest number in the cache of a write in it; under the lock */
    bool declared;      /* a FILE record is in the segment; writer lock */
    uint64_t stored_by; /* last segment when it was first found stored; 0: not yet; writer lock */
};

struct zc_segment {
    struct zc_list link; /* journal->segments, by number */
    uint64_t number, last_seq;
    uint64_t size, at;    /* size of the file, bytes in use */
    uint64_t records;     /* records without the SEGMENT record */
    uint64_t bequests;    /* those of them that only repeat notes of deleted segments */
    unsigned busy;        /* tickets; under the lock */
    bool moved;           /* its file was moved away: set aside */
    struct zc_list parts; /* struct zc_journal_part; under both locks to change, either to read */
};

/* Where records are appended; guarded by the writer lock. */
struct zc_journal_writer {
    struct zc_journal_peek *peek; /* NULL: not needed so far */
    unsigned char *buf;
    size_t fill;                /* bytes in the buffer ... */
    uint64_t buf_records;       /* ... and records */
    uint64_t written_seq;       /* last record that is written */
    struct zc_list appended;    /* struct zc_journal_write: wholly in the buffer or written */
    int fd;                     /* of the current segment */
    struct zc_segment *current; /* last of the list; NULL: none */
    uint64_t next_number;
    bool unsynced; /* written to since the last sync */
    bool told_full;
    const struct zc_journal_write *waits; /* for a segment; NULL: none does */
    bool reaping; /* segments are being deleted: notes about that may need a new segment */
    uint64_t last_tick;
};

/* By which a start knows that a daemon of this journal lived until then; guarded by the journal's
 * lock, but for `fd`, which does not change. */
struct zc_journal_heartbeat {
    int fd;
    bool alive;    /* they are made: a start has checked all files */
    bool busy;     /* a thread makes one */
    bool mute;     /* one failed, and that is logged */
    zc_cond ended; /* signalled when one has ended */
    uint64_t last; /* when the last one began, ns */
};

struct zc_journal {
    struct zc_journal_config cfg;
    char *dir, *root;
    int dir_fd, lock_fd;
    uint64_t segment_size;
    size_t body_max;
    struct zc_root_record record;
    uint64_t generation;   /* of this daemon at its seat */
    uint64_t seat_boot_id; /* of the daemon that raised the seat last, if it had this journal */
    bool offline;          /* opened without a daemon: read-only (zc_journal_offline.c) */
    const char *fenced;    /* why nothing of what is found is written back; NULL: it may be */

    struct zc_journal_writer writer;

    struct zc_lock lock; /* guards what follows */
    bool locked;
    zc_cond turned;
    uint64_t seq;   /* of the last record; written with the turn */
    uint64_t given; /* last record that a replay has passed to the sink; UINT64_MAX after it */
    struct zc_list files[ZC_JOURNAL_BUCKETS];
    uint32_t next_id;
    struct zc_list segments;
    struct zc_list queue; /* struct zc_journal_write */
    zc_cond work;         /* wakes the thread */
    zc_cond room;         /* the same while it waits for room, which is not signalled */
    bool stop, frozen, hurrying;
    uint64_t changes; /* changes of all files that have ended */
    struct zc_journal_heartbeat heartbeat;
    struct zc_journal_stats st;
    pthread_t thread;
    bool running;

    struct zc_scan *scan; /* from zc_journal_open() to zc_journal_replay() */
};

/* ---- zc_journal.c ---- */
void zc_journal_writer_lock(struct zc_journal *j);
void zc_journal_writer_unlock(struct zc_journal *j);
void zc_segment_name(uint64_t number, char name[32]);
struct zc_journal *zc_journal_new_offline(const char *dir); /* NULL: no memory */
void zc_journal_destroy(struct zc_journal *j);

/* ---- zc_journal_heartbeat.c ---- */
struct zc_scan;
void zc_heartbeat_read(struct zc_journal *j, struct zc_scan *s); /* of the earlier daemon */
/* Makes this daemon the last one to change files.  Fails if `alive` cannot be written. */
int zc_journal_heartbeat_start(struct zc_journal *j);
/* Durably notes the boot id of the host and what this daemon guarantees, in place of the earlier
 * daemon's: what that one has left is replayed or set aside.  Fails like start(). */
int zc_journal_heartbeat_take(struct zc_journal *j);
/* Renews the heartbeat if it is older than a tick: on return it is less than two ticks old, unless
 * `alive` cannot be written. */
void zc_journal_heartbeat(struct zc_journal *j);
void zc_heartbeat_end(struct zc_journal *j, bool stored); /* see zc_journal_close() */

/* ---- zc_journal_fence.c ---- */
/* Finds or creates the root record and sets j->fenced and ->generation.  -ENODEV: the journal
 * belongs to another root. */
int zc_journal_fence_check(struct zc_journal *j);
/* Durably takes the seat for this daemon, and those seats whose bytes it is about to write; to call
 * before the marks of files are read.  -EBUSY: another daemon has raised the seat meanwhile. */
int zc_journal_fence_raise(struct zc_journal *j);
/* Sets j->fenced, and creates nothing. */
int zc_journal_fence_look(struct zc_journal *j);
/* Writes the line of `lock` that names the root; returns its length, 0: no line. */
int zc_journal_fence_text(const struct zc_journal *j, char *text, size_t len);

/* ---- zc_journal_aside.c: directories of what is not written back ---- */
enum { ZC_ASIDE_NAME = 40 };
struct zc_aside {
    int fd, file;                                 /* the directory, its segment; or -1 */
    char name[ZC_ASIDE_NAME], now[ZC_ASIDE_NAME]; /* names in the journal: final, current */
    unsigned char *buf;
    uint64_t seq;
    const struct zc_journal_file *told; /* file of the last FILE record in it */
};
/* Completes or undoes what an interrupted start has left; to call before the directory is read. */
int zc_aside_go_on(struct zc_journal *j);
/* Sets aside all segments but the current one; sets a->name. */
int zc_aside_all(struct zc_journal *j, struct zc_aside *a, const char *why);
/* Set aside pending bytes of files, one call per range, in the order of the files. */
int zc_aside_begin(struct zc_journal *j, struct zc_aside *a);
int zc_aside_put(struct zc_journal *j, struct zc_aside *a, struct zc_journal_file *f, uint64_t off,
                 const unsigned char *bytes, uint32_t len);
int zc_aside_end(struct zc_journal *j, struct zc_aside *a, const char *why);
/* Sets aside copies of the damaged segments; logs it if the file system has no hard links. */
int zc_aside_damaged(struct zc_journal *j);
void zc_aside_free(struct zc_aside *a); /* accepts a struct of zeros whose fd and file are -1 */

/* ---- zc_journal_write.c; all with the writer lock, and may block ---- */
/* Writes the buffer, syncs it if `sync` and the journal is to, and completes the writes in it. */
int zc_journal_push(struct zc_journal *j, bool sync);
/* Place for a body in the buffer; the caller has made room. */
unsigned char *zc_journal_body(struct zc_journal *j);
void zc_journal_append(struct zc_journal *j, struct zc_record *r, size_t body);
void zc_journal_write_out(struct zc_journal *j, struct zc_journal_write *w);
/* Append notes of a file, making room.  A negative errno: nothing was noted. */
int zc_journal_note(struct zc_journal *j, struct zc_journal_file *f, enum zc_record_kind kind,
                    uint64_t until);
void zc_journal_note_ranges(struct zc_journal *j, struct zc_journal_file *f, uint64_t until,
                            uint64_t off, const struct zc_range *r, uint32_t n);

/* ---- zc_journal_before.c ---- */
/* Opens the file with these attributes for reading; returns a descriptor, or -1.  Blocks. */
int zc_before_open(const char *path, const struct zc_attr *attr);
/* Bytes of the body of a BEFORE of so many ranges, with so many bytes in all, at most. */
size_t zc_before_most(const struct zc_journal *j, uint32_t nranges, size_t bytes);
/* With the writer lock: reads the current contents of the file at ranges [i, i + nranges) of the
 * write, from byte `skip` of the first range on, `bytes` bytes in all.  Returns the number of
 * pieces whose contents are known; they are in j->writer.peek. */
uint32_t zc_before_look(struct zc_journal *j, const struct zc_journal_write *w, uint32_t i,
                        uint32_t nranges, uint32_t skip, size_t bytes);
/* With the writer lock: pieces of later writes do not cross where [lo, hi) of the file begins and
 * ends, as it was restored by a replay.  No effect without memory. */
void zc_before_border(struct zc_journal *j, const struct zc_journal_file *f, uint64_t lo,
                      uint64_t hi);
/* Makes a BEFORE of these pieces, except for file and offset; returns the length of its body. */
size_t zc_before_record(const struct zc_journal *j, uint32_t n, unsigned char *body,
                        struct zc_record *r);

/* ---- zc_journal_segment.c; with the writer lock ---- */
/* Makes room for `len` bytes in the current segment, starting another one if need be.  `w`: waits
 * until the limit allows a segment; NULL, for notes: the limit does not apply. */
int zc_segment_room(struct zc_journal *j, size_t len, const struct zc_journal_write *w);
int zc_segment_next(struct zc_journal *j, bool note);
bool zc_segments_free(struct zc_journal *j, const struct zc_segment *s); /* not needed any more */
/* Deletes the segments that are not needed any more. */
void zc_segments_reap(struct zc_journal *j);
/* Returns the file's part of the current segment, created if need be; NULL: no memory. */
struct zc_journal_part *zc_segment_part(struct zc_journal *j, struct zc_segment *s,
                                        struct zc_journal_file *f);
/* Ends the current segment and truncates it behind its last good record. */
void zc_segment_end(struct zc_journal *j);
void zc_segment_forget(struct zc_journal *j, struct zc_segment *s); /* does not delete the file */
void zc_segments_hurry(struct zc_journal *j);

/* ---- zc_journal_file.c ---- */
/* At a start: accepts the file's current attributes as noted, after a reboot. */
int zc_journal_see(struct zc_journal *j, struct zc_journal_file *f, const struct zc_attr *attr);
struct zc_journal_file *zc_jfile_new(struct zc_journal *j, uint32_t id);
void zc_jfile_place(struct zc_journal *j, struct zc_journal_file *f); /* rehashes; lock */
struct zc_journal_file *zc_jfile_find(struct zc_journal *j, uint64_t dev, uint64_t ino); /* lock */
void zc_jfile_reap(struct zc_journal_file *f); /* frees it if unused; with the lock */
void zc_jfile_destroy(struct zc_journal_file *f);
/* Writes the body of the FILE record, and its flags; with the lock.  Returns its length. */
size_t zc_jfile_record(const struct zc_journal_file *f, unsigned char *body, uint64_t *flags);

/* ---- zc_journal_read.c ---- */

/* A segment of an earlier daemon, mapped into memory. */
struct zc_scanned {
    struct zc_segment *segment;
    unsigned char *map;
    size_t len;
};

/* A damaged range: of a file, or of an unknown one (file NULL). */
struct zc_damage {
    struct zc_journal_file *file;
    uint64_t lo, hi;
    uint64_t segment; /* number */
    char where[96];
};

struct zc_scan {
    struct zc_scanned *segments;
    unsigned n;
    struct zc_damage *damage;
    unsigned ndamage;
    struct zc_record_segment *heads; /* of the segments, in order; `path` is not valid */
    unsigned nheads;
    struct zc_journal_file **files; /* by id, NULL: none */
    uint32_t nfiles;
    uint64_t last_seq;
    int64_t heartbeat_ns; /* the last heartbeat; 0: unknown */
    bool rebooted;        /* the host has rebooted since ... */
    bool unsynced;        /* ... and notes that were made may be missing */
    bool boot_known;      /* the two are known: `alive` has a boot id, and the host as well */
};

/* Reads the directory; sets j->segments, ->seq, ->next_number and ->next_id. */
int zc_scan_read(struct zc_journal *j);
/* Lists the numbers of the segments, sorted; the caller frees them.  Returns how many, or a
 * negative errno.
 */
int zc_scan_list(const struct zc_journal *j, uint64_t **numbers);
void zc_scan_free(struct zc_journal *j);
/* Calls fn for each valid record of a segment, in order, and bad for each damaged range. */
typedef int zc_scan_fn(void *arg, const struct zc_record *r);
typedef int zc_scan_bad(void *arg, const struct zc_record *r, uint64_t at, uint64_t len);
int zc_scan_walk(const unsigned char *map, size_t len, uint64_t number, bool last, zc_scan_fn *fn,
                 zc_scan_bad *bad, void *arg, uint64_t *end);

#endif
