/* zc_record.h - the format of the records in a journal's segments.
 *
 * A segment is a sequence of records, each a multiple of 8 bytes long and directly behind the one
 * before; the rest of the file is zeros, or torn.  Numbers are little endian:
 *
 *     magic[4] kind[1] version[1] zero[2] length[4] nranges[4] segment[8] seq[8]
 *     until[8] off[8] span[8] file[4] head_sum[4] body_sum[8] body[length - 72, padded with zeros]
 *
 * `head_sum` is the lower half of XXH3-64 over the 72 bytes with itself as zero, `body_sum` that of
 * the body: a record with a damaged body still says which bytes of which file it was.  `segment`
 * and `seq`, which only grows, distinguish a record from older contents of the disk.  Records that
 * could not be written leave a gap in `seq`.  The SEGMENT record of the next segment has the last
 * `seq` written before it, which shows whether records are missing at the end of a segment.
 *
 *     kind      file  until                    off, span           body
 *     SEGMENT   -     the last seq before      -                   struct zc_record_segment
 *     FILE      yes   flags                    -                   its state: struct zc_record_file
 *     DATA      yes   -                        within these bytes  nranges of (lo[4] len[4]), from
 *                                                                  `off` on, then their bytes
 *     STORED    yes   DATA with seq up to it   within these bytes  nranges of (lo[4] len[4])
 *     TRUNCATE  yes   size of the file         -                   -
 *     DISCARD   yes   DATA with seq up to it   -                   -
 *     BEFORE    yes   -                        within these bytes  nranges of (lo[4] len[4]), from
 *                                                                  `off` on, then a sum[8] of each
 *
 * STORED: those bytes are in the file; TRUNCATE: bytes beyond the size were cut off; DISCARD: all
 * of those records are stored or no longer matter; BEFORE: XXH3-64 of what the file had in these
 * ranges when the DATA before it was staged.
 *
 * A reader without an open journal begins with zc_record_read() at offset 0 of a segment, whose
 * number is in its name: this is the SEGMENT record, and zc_record_get_segment() returns the root,
 * seat and generation of all that follows.  Bodies of these two, all members of 8 bytes:
 *
 *     SEGMENT  fsid ino record seat generation boot_id, then the root, a text
 *     FILE     dev ino size born mtime ctime mark, then the path, a text
 */
#ifndef ZC_RECORD_H
#define ZC_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zc_extent.h"
#include "zc_root_record.h"

enum zc_record_kind {
    ZC_RECORD_SEGMENT = 1,
    ZC_RECORD_FILE,
    ZC_RECORD_DATA,
    ZC_RECORD_STORED,
    ZC_RECORD_TRUNCATE,
    ZC_RECORD_DISCARD,
    ZC_RECORD_BEFORE,
};

enum {
    ZC_RECORD_HEAD = 72,
    ZC_RECORD_RANGE = 8,
    ZC_RECORD_SUM = 8,
    ZC_RECORD_VERSION = 3,
    ZC_RECORD_PATH_MAX = 8192,
};

/* Flags of FILE. */
enum {
    ZC_RECORD_INTENT = 1,  /* a change by the daemon is under way: the times are not known */
    ZC_RECORD_SHARED = 2,  /* other daemons change it as well */
    ZC_RECORD_REFUSED = 4, /* a start has refused its bytes, and not set them aside yet */
};

struct zc_record {
    enum zc_record_kind kind;
    uint32_t file, nranges;
    uint64_t segment, seq, until, off, span;
    const unsigned char *body;
    uint32_t body_len; /* bytes; a reader sees it without the padding to 8 */
    uint32_t length;   /* of the whole record */
};

/* Root, seat and generation (zc_root_record.h) under which what follows was staged; zeros in a
 * journal without a seat. */
struct zc_record_segment {
    struct zc_root_id root;
    uint64_t seat, generation, boot_id;
    const char *path; /* of the root; a text that was read has no NUL at its end */
    uint32_t path_len;
};

struct zc_record_file {
    uint64_t dev, ino, size;
    int64_t born_ns, mtime_ns, ctime_ns;
    uint64_t mark;    /* in the root record, at the last open */
    const char *path; /* a text that was read has no NUL at its end */
    uint32_t path_len;
};

/* Returns the bytes that a record with such a body takes. */
size_t zc_record_length(size_t body);

/* Completes the record at `at`, whose body lies ZC_RECORD_HEAD bytes behind; returns its length. */
size_t zc_record_seal(unsigned char *at, const struct zc_record *r, size_t body);

enum zc_record_found {
    ZC_FOUND_RECORD,
    ZC_FOUND_END,      /* zeros, or the end of the file */
    ZC_FOUND_BAD_BODY, /* the head is valid: *r is filled in */
    ZC_FOUND_BAD_HEAD,
};
/* Classifies what lies at `p`, with `room` bytes behind it.  *r points into them. */
enum zc_record_found zc_record_read(const unsigned char *p, size_t room, uint64_t segment,
                                    struct zc_record *r);

/* Returns the version of a record with a valid head; magic, version and head_sum are in the same
 * place in all versions.  0: no valid head. */
unsigned zc_record_version(const unsigned char *p, size_t room);

/* Accessors of bodies. */
void zc_record_put_range(unsigned char *body, uint32_t i, uint32_t lo, uint32_t len);
void zc_record_get_range(const struct zc_record *r, uint32_t i, uint32_t *lo, uint32_t *len);
void zc_record_put_sum(unsigned char *body, uint32_t nranges, uint32_t i, uint64_t sum);
uint64_t zc_record_get_sum(const struct zc_record *r, uint32_t i);
uint64_t zc_record_sum(const void *bytes, size_t len);
size_t zc_record_put_segment(unsigned char *body, const struct zc_record_segment *s);
bool zc_record_get_segment(const struct zc_record *r, struct zc_record_segment *s);
size_t zc_record_put_file(unsigned char *body, const struct zc_record_file *f);
bool zc_record_get_file(const struct zc_record *r, struct zc_record_file *f);
/* Whether the ranges of a DATA, STORED or BEFORE lie within what its head says, and its body has
 * them. */
bool zc_record_sound(const struct zc_record *r);

#endif
