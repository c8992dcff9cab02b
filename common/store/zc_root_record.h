/* zc_root_record.h - the record of a root: the identity of the directory, and its writers, by
 * number.
 *
 * The first daemon with a journal creates the file `.zcache-root` in the directory it serves.
 * Numbers are in the host's byte order, which the magic number shows:
 *
 *     at 0      header: magic[8] record[8] fsid[8] ino[8] sum[8]
 *     at 4096   1024 seats: seat[8] generation[8] boot_id[8] sum[8]
 *     at 65536  65536 writer marks of 8 bytes
 *
 * The identity of a root is its file system id, its inode, and the random number of its record.  A
 * file system id derived from a device number, which may change at a reboot, counts as none (0);
 * the number of the record decides then.
 *
 * A seat is a place in a set of daemons: an address file and a root (iod_address_identity()).  A
 * daemon with a journal adds its seat; each start and each takeover at an existing seat raises its
 * generation, durably, before it writes to any file, and stores its own boot id.
 *
 * A writer mark shows which set of daemons has opened a file for writing last: the id of the set,
 * the same for all its daemons and over restarts; a random number for any other writer.  Files
 * share marks, selected by inode number: an unchanged mark proves that no other zcache writer has
 * opened the file since; a changed one may be another file's.  Marks are written before the open
 * returns.
 *
 * Writers find the records of a file in the directories above it (zc_root_mark()), and create none.
 * Only a record that does not exist counts as none; any other error is an error.
 *
 * Threads: any; an open record has no state but its descriptor.  All calls may block.
 */
#ifndef ZC_ROOT_RECORD_H
#define ZC_ROOT_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#define ZC_ROOT_RECORD_NAME ".zcache-root"

struct zc_root_id {
    uint64_t fsid;   /* 0: none that survives a reboot */
    uint64_t ino;    /* of the directory */
    uint64_t record; /* 0: there is no record */
};

/* Whether they may be one root: all that both know is equal. */
bool zc_root_same(const struct zc_root_id *a, const struct zc_root_id *b);

struct zc_root_record {
    int fd; /* -1: there is none */
    struct zc_root_id id;
};

/* Opens the record of the directory `root`, if there is one, and returns the directory's identity.
 * -ESTALE: the record was made for another directory (a copy); -EBADMSG: it is damaged. */
int zc_root_record_open(const char *root, struct zc_root_record *r);
/* Opens the record as zc_root_record_open(), and creates one if there is no record.  `anew`:
 * replaces an existing record. */
int zc_root_record_make(const char *root, bool anew, struct zc_root_record *r);
void zc_root_record_close(struct zc_root_record *r);

struct zc_root_seat {
    uint64_t seat;
    uint64_t generation; /* 0: the seat does not exist */
    uint64_t boot_id;    /* of the daemon that raised it */
};
int zc_root_seat_get(const struct zc_root_record *r, uint64_t seat, struct zc_root_seat *out);
/* Raises the seat for the daemon of this boot id, durably.  If the seat does not exist, returns 0
 * without any effect. */
int zc_root_seat_raise(const struct zc_root_record *r, uint64_t seat, uint64_t boot_id);
/* Raises the seat, or adds a missing one, durably, if the next generation is `generation`; else
 * -EBUSY without any effect. */
int zc_root_seat_take(const struct zc_root_record *r, uint64_t seat, uint64_t boot_id,
                      uint64_t generation);

int zc_root_mark_get(const struct zc_root_record *r, uint64_t ino, uint64_t *mark);

/* Sets the writer mark of an open file, in the records of all directories above it: `mark`, or with
 * 0 a random number.  A record without write permission is skipped, which is logged once; so is
 * another user's file that is no record.  `path` is for messages. */
int zc_root_mark(int fd, const char *path, uint64_t mark);

/* Whether a writer that bypasses the daemon of this seat and boot id may write to an open file: 0:
 * no later daemon has raised the seat in the records above it, or the seat is in none; -EAGAIN: one
 * has, and may be writing what that daemon had in its journal.
 *
 * A starting daemon raises the seat and then reads the file's mark; the writer marks the file and
 * then calls this: so at least one of the two sees the other. */
int zc_root_seat_check(int fd, const char *path, uint64_t seat, uint64_t boot_id);

#endif
