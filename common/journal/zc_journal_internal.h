/* zc_journal_internal.h - what the files of the journal share.
 *
 * zc_journal.c         the directory, opening and closing, the thread
 * zc_journal_write.c   appending: the buffer, writes, notes
 * zc_journal_segment.c segments: made, free, deleted; room
 * zc_journal_file.c    the files it knows, and what they are
 * zc_journal_alive.c   the sign of life
 * zc_journal_read.c    what lies in the directory at a start
 * zc_journal_replay.c  what of it was not stored, and where it goes
 * zc_record.c          one record
 *
 * Appending is for one thread at a time, which has the turn: the buffer, the current segment and
 * `seq` are its own, and it makes and deletes segments.  The lock guards what is marked so, for
 * moments; it is never held over a call that blocks, nor over one of the cache.
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
    ZC_JOURNAL_BUFFER = 1 << 20, /* bytes that are written at a time */
    ZC_JOURNAL_BODY = 256 << 10, /* bytes of a record's body at most, or a quarter of a segment */
    ZC_JOURNAL_SEGMENTS = 16,    /* that `size` is cut into */
    ZC_JOURNAL_SEGMENT_MAX = 64 << 20,
    ZC_JOURNAL_TICK_MS = 1000,
    ZC_JOURNAL_POLL_MS = 10, /* a write that waits for room looks so often */
};

struct zc_journal_file {
    struct zc_list link;   /* journal->files[] */
    uint32_t id;           /* fixed */
    uint64_t dev, ino;     /* as is all of this: under the lock */
    char *path;            /* as last opened */
    struct zc_attr noted;  /* as it was left */
    bool flux;             /* it has changed since, by us, or is about to; set with the turn */
    bool told;             /* ... and the journal says so */
    bool shared;           /* by others, too */
    bool gone;             /* deleted: nothing of it matters */
    unsigned opens;        /* store files */
    unsigned tickets;      /* that name it */
    unsigned segments;     /* that have records of it: ... */
    struct zc_list parts;  /* ... struct zc_journal_part.file_link, by segment */
    unsigned changing;     /* our changes under way ... */
    uint64_t changes;      /* ... and those that have ended */
    struct zc_replay *old; /* at a start: what is to be replayed */
};

/* A file in a segment. */
struct zc_journal_part {
    struct zc_list link, file_link; /* segment->parts, file->parts */
    struct zc_journal_file *file;
    struct zc_segment *segment;
    uint64_t number; /* of the highest write in it, as the cache has it; under the lock */
    bool declared;   /* its FILE is there; of the turn */
};

struct zc_segment {
    struct zc_list link; /* journal->segments, by number */
    uint64_t number, last_seq;
    uint64_t size, at;    /* bytes it has, bytes in use */
    uint64_t records;     /* of them, without its first ... */
    uint64_t bequests;    /* ... and how many say only what one that is deleted said of others */
    unsigned busy;        /* tickets; under the lock */
    struct zc_list parts; /* struct zc_journal_part; under the lock, changed with the turn */
};

struct zc_journal {
    struct zc_journal_config cfg;
    char *dir, *root;
    int dir_fd, lock_fd, alive_fd;
    uint64_t segment_size;
    size_t body_max;

    /* of the turn */
    unsigned char *buf;
    size_t fill;                /* bytes in it that are not written, ... */
    uint64_t buf_records;       /* ... in so many records */
    uint64_t written_seq;       /* of the last one that is written */
    struct zc_list appended;    /* struct zc_journal_write: all of it is in the buffer, or before */
    int fd;                     /* of the current segment, ... */
    struct zc_segment *current; /* ... the last of the list; NULL: none */
    uint64_t next_number;
    bool unsynced; /* something was written since the last sync */
    bool told_full;
    bool reaping; /* the notes of which may need a segment themselves */
    uint64_t last_tick;

    struct zc_lock lock; /* guards what follows */
    bool turn;
    zc_cond turned;
    uint64_t seq;   /* of the last record; written with the turn */
    uint64_t given; /* at a start: the last one that the sink has; then UINT64_MAX, all */
    struct zc_list files[ZC_JOURNAL_BUCKETS];
    uint32_t next_id;
    struct zc_list segments;
    struct zc_list queue; /* struct zc_journal_write */
    zc_cond work;         /* the thread: there may be something to do */
    zc_cond room;         /* the same while it waits for room, which nobody tells of */
    bool stop, frozen, hurrying;
    uint64_t changes;   /* of all files that have ended */
    bool alive;         /* a start has seen whose the files are: there are signs of life */
    bool beating;       /* somebody makes one */
    bool mute;          /* one could not be made, which was told */
    zc_cond beaten;     /* he has */
    uint64_t last_beat; /* the begin of the last one that has ended */
    struct zc_journal_stats st;
    pthread_t thread;
    bool running;

    struct zc_scan *scan; /* from zc_journal_open() to zc_journal_replay() */
};

/* ---- zc_journal.c ---- */
void zc_journal_take_turn(struct zc_journal *j);
void zc_journal_end_turn(struct zc_journal *j);
void zc_segment_name(uint64_t number, char name[32]);

/* ---- zc_journal_alive.c ---- */
struct zc_scan;
void zc_alive_read(struct zc_journal *j, struct zc_scan *s); /* of the earlier daemon */
/* This one is the last to change files from now on.  Fails if that cannot be said. */
int zc_journal_come_alive(struct zc_journal *j);
/* A sign of life, unless there was one just now: on return it is less than two ticks old, if one
 * can be made at all. */
void zc_journal_beat(struct zc_journal *j);
void zc_alive_end(struct zc_journal *j, bool stored); /* see zc_journal_close() */

/* ---- zc_journal_write.c; all with the turn, and may block ---- */
/* What is in the buffer is written, and synced if `sync` and the journal is to; those whose writes
 * that were are told. */
int zc_journal_push(struct zc_journal *j, bool sync);
/* Room in the buffer, which is there, for a body. */
unsigned char *zc_journal_body(struct zc_journal *j);
void zc_journal_append(struct zc_journal *j, struct zc_record *r, size_t body);
void zc_journal_write_out(struct zc_journal *j, struct zc_journal_write *w);
/* Notes of a file; without room they get it.  A negative errno, and it is not noted. */
int zc_journal_note(struct zc_journal *j, struct zc_journal_file *f, enum zc_record_kind kind,
                    uint64_t until);
void zc_journal_note_ranges(struct zc_journal *j, struct zc_journal_file *f, uint64_t until,
                            uint64_t off, const struct zc_range *r, uint32_t n);

/* ---- zc_journal_segment.c; with the turn ---- */
/* The current segment has room for so many bytes, or another one takes its place; `w`: waits until
 * that may be, else it always may. */
int zc_segment_room(struct zc_journal *j, size_t len, const struct zc_journal_write *w);
int zc_segment_next(struct zc_journal *j, bool note);
bool zc_segments_free(struct zc_journal *j, const struct zc_segment *s); /* nobody needs it */
/* Deletes those that nobody needs. */
void zc_segments_reap(struct zc_journal *j);
/* The file's part of the current segment, new if need be; NULL: no memory. */
struct zc_journal_part *zc_segment_part(struct zc_journal *j, struct zc_segment *s,
                                        struct zc_journal_file *f);
/* Nothing more is written to the current one, nor is anything there behind what was. */
void zc_segment_end(struct zc_journal *j);
void zc_segment_forget(struct zc_journal *j, struct zc_segment *s); /* not its file */
void zc_segments_hurry(struct zc_journal *j);

/* ---- zc_journal_file.c ---- */
/* At a start: it is this file, whatever was noted of it before the host was started again. */
int zc_journal_see(struct zc_journal *j, struct zc_journal_file *f, const struct zc_attr *attr);
struct zc_journal_file *zc_jfile_new(struct zc_journal *j, uint32_t id);
void zc_jfile_place(struct zc_journal *j, struct zc_journal_file *f); /* by dev and ino; lock */
struct zc_journal_file *zc_jfile_find(struct zc_journal *j, uint64_t dev, uint64_t ino); /* lock */
void zc_jfile_reap(struct zc_journal_file *f); /* if nobody needs it; with the lock */
void zc_jfile_destroy(struct zc_journal_file *f);
/* The body of its FILE, and flags; with the lock. */
size_t zc_jfile_record(const struct zc_journal_file *f, unsigned char *body, uint64_t *flags);

/* ---- zc_journal_read.c ---- */

/* A segment of an earlier daemon, in memory. */
struct zc_scanned {
    struct zc_segment *segment;
    unsigned char *map;
    size_t len;
};

/* Damage: bytes of a file, or of nobody knows which (file NULL). */
struct zc_damage {
    struct zc_journal_file *file;
    uint64_t lo, hi;
    char where[96];
};

struct zc_scan {
    struct zc_scanned *segments;
    unsigned n;
    struct zc_damage *damage;
    unsigned ndamage;
    struct zc_journal_file **files; /* by id, NULL: none */
    uint32_t nfiles;
    uint64_t last_seq;
    int64_t beat_ns; /* the last sign of life; 0: nobody knows */
    bool rebooted;   /* the host has been started again since, ... */
    bool unsynced;   /* ... and not all that was there before needs be here */
};

/* Reads the directory; j->segments, ->seq, ->next_number, ->next_id follow. */
int zc_scan_read(struct zc_journal *j);
void zc_scan_free(struct zc_journal *j);
/* Calls fn for each good record of a segment, in order, and bad for each damage. */
typedef int zc_scan_fn(void *arg, const struct zc_record *r);
typedef int zc_scan_bad(void *arg, const struct zc_record *r, uint64_t at, uint64_t len);
int zc_scan_walk(const unsigned char *map, size_t len, uint64_t number, bool last, zc_scan_fn *fn,
                 zc_scan_bad *bad, void *arg, uint64_t *end);

#endif
