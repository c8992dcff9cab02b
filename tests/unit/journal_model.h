/* journal_model.h - a journal alone, without a daemon, a cache or a store, for several tests.
 *
 * A model has, for each byte of some small files, what was written and not stored.  A reopened
 * journal has to return exactly these bytes.
 *
 * Including this replaces, in the whole program, the C library's pwrite(), preadv2() and
 * posix_fallocate().
 */
#ifndef JOURNAL_MODEL_H
#define JOURNAL_MODEL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

#include "check_main.h"
#include "zc_journal.h"
#include "zc_lock.h"
#include "zc_log.h"

/* Waits for a condition; Check's time-out limits it. */
#define WAIT_FOR(cond)                                                                             \
    do {                                                                                           \
        while (!(cond))                                                                            \
            zc_clock_sleep(50000);                                                                 \
    } while (0)

enum { FILES = 3, SIZE = 40000, MIB = 1 << 20 };

/* ---- the model, and the store it stands for ---- */

struct model_file {
    char path[32];
    struct zc_attr attr;
    uint64_t ino; /* of what the cache has pages of, whatever has become of the file; model_lock */
    bool there;
    bool hidden; /* stat fails */
    struct zc_journal_file *jfile;
    short pending[SIZE];   /* the byte; -1: none */
    uint64_t number[SIZE]; /* number of its write */
    short returned[SIZE];  /* by a replay */
    short stored[SIZE];    /* by a sink that stores; -1: nothing */
};

extern struct model {
    struct model_file f[FILES];
    uint64_t numbers;
    int refused; /* the store's error; 0: none */
    bool owing;  /* it never reports anything as stored */
    atomic_int hurried;
    bool storing;               /* the sink stores what it receives, like a cache */
    int writes;                 /* writes it has received ... */
    int breaks_at;              /* ... of which this one fails; 0: none */
    struct model_file *leaving; /* at the first of them this file is deleted ... */
    bool replacing;             /* ... or replaced */
    uint64_t lost;
    unsigned complaints;
    char why[256];
} m;

/* The journal's thread takes it, too. */
extern pthread_mutex_t model_lock;

extern char dir[64], root[];
extern struct zc_journal *j;
extern uint64_t size;
extern bool sync_too;
extern const char *boot; /* boot id of the host; NULL: the kernel's */

void set_refused(int rc);
void set_owing(bool on);
int owes(void *arg, uint64_t dev, uint64_t ino, uint64_t number);
void hurry(void *arg, bool on);
struct model_file *by_path(const char *path);
void touch(struct model_file *f);

/* ---- the disk ---- */

extern atomic_bool disk_full;
extern atomic_int disk_room;    /* segments that fit; negative: unlimited */
extern atomic_llong disk_bytes; /* bytes they may have; negative: unlimited */

/* Writes of the journal's thread fail, possibly after half of the bytes; a held one is under way
 * until the test releases it. */
extern atomic_bool disk_breaks, disk_half, disk_holds, disk_held;

/* Reads that do not wait, by which a journal looks what a file has. */
extern atomic_bool peek_fails;
extern atomic_int peeks;
extern atomic_int peek_stutters; /* 1: reads are short; 2: and every second one would wait */

/* The segment being made exists already. */
int segments(void);
long long segment_bytes(void); /* bytes of all segments */
/* The path of the oldest one. */
void segment_path(char *path, size_t len);

/* ---- the sink ---- */

extern const struct zc_journal_sink sink; /* without `read` */

extern uint64_t looked_at;      /* bytes that sink_read() has read */
extern unsigned char has[SIZE]; /* what all files have, then zeros */
ssize_t sink_read(void *arg, const char *path, void *buf, size_t len, uint64_t off);
int sink_swallow(void *file, const void *buf, size_t len, uint64_t off);

/* ---- up and down ---- */

int try_open(struct zc_journal **out);
void open_journal(void);
struct zc_journal_replayed replay(void);
void open_file(struct model_file *f);
void clean_asides(void);
void clean_dir(void);
void up_with(uint64_t bytes);
void up(void);
/* The daemon dies: what was answered is there. */
void die(void);
void down(void);
/* A start that has to replay what is pending. */
void come_back(void);
struct zc_journal_stats stats(void);

/* ---- operations of a daemon ---- */

struct put {
    struct zc_journal_write w;
    struct zc_journal_ticket ticket;
    atomic_bool done;
};

void begin_put(struct put *p, struct model_file *f, const void *data, uint64_t off,
               const struct zc_range *r, uint32_t n);
int end_put(struct put *p);
/* Write one byte value to ranges of the file. */
int put_ranges(struct model_file *f, int byte, const struct zc_range *r, uint32_t n);
int put(struct model_file *f, int byte, uint32_t lo, uint32_t hi);
void look(struct model_file *f);
/* Stores what is pending in [lo, hi); meanwhile another write of `byte`, if >= 0, goes to `at`. */
void store(struct model_file *f, uint32_t lo, uint32_t hi, int byte, uint32_t at);
void truncate_to(struct model_file *f, uint32_t end);
void delete_and_make(struct model_file *f);
/* Gives the file these bytes on the disk, which a journal can look at. */
void make_real(struct model_file *f, const void *bytes, size_t len);

#endif
