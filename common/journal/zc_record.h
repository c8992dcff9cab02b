/* zc_record.h - the records of a journal's segments, as they lie in a file.
 *
 * A segment is a row of records, each a multiple of 8 bytes long and directly behind the one
 * before; the rest of the file is zeros, or was torn.  Numbers are little endian:
 *
 *     magic[4] kind[1] version[1] zero[2] length[4] nranges[4] segment[8] seq[8]
 *     until[8] off[8] span[8] file[4] head_sum[4] body_sum[8] body[length - 72, padded with zeros]
 *
 * `head_sum` is the lower half of XXH3-64 over the 72 bytes with itself as zero, `body_sum` that of
 * the body.  So a damaged body still says of which bytes of which file it was.  `segment` and
 * `seq`, which only grows, tell a record from what lay there before.  What could not be written
 * leaves a gap in `seq`; that nothing else is missing at the end of a segment is seen by the next
 * one, which has the last `seq` before it that was written.
 *
 *     kind     file  until                    off, span            body
 *     SEGMENT  -     the last seq before     -                    the root, a text
 *     FILE     yes   flags                   -                    its state: struct zc_record_file
 *     DATA     yes   -                       within these bytes   nranges of (lo[4] len[4]), from
 *                                                                 `off` on, then their bytes
 *     STORED   yes   DATA with seq up to it  within these bytes   nranges of (lo[4] len[4])
 *     CUT      yes   size of the file        -                    -
 *     VOID     yes   DATA with seq up to it  -                    -
 *
 * STORED: those bytes are in the file; CUT: what lies beyond was cut off; VOID: all of it is
 * stored, or nobody's concern any more.
 */
#ifndef ZC_RECORD_H
#define ZC_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zc_extent.h"

enum zc_record_kind {
    ZC_RECORD_SEGMENT = 1,
    ZC_RECORD_FILE,
    ZC_RECORD_DATA,
    ZC_RECORD_STORED,
    ZC_RECORD_CUT,
    ZC_RECORD_VOID,
};

enum {
    ZC_RECORD_HEAD = 72,
    ZC_RECORD_RANGE = 8,
    ZC_RECORD_VERSION = 2,
    ZC_RECORD_PATH_MAX = 8192,
};

/* Flags of FILE. */
enum {
    ZC_RECORD_FLUX = 1,   /* we were changing it: its times are not known */
    ZC_RECORD_SHARED = 2, /* other daemons change it, too */
};

struct zc_record {
    enum zc_record_kind kind;
    uint32_t file, nranges;
    uint64_t segment, seq, until, off, span;
    const unsigned char *body;
    uint32_t body_len; /* bytes, without padding to 8 that a writer adds: a reader sees it */
    uint32_t length;   /* of all of it */
};

struct zc_record_file {
    uint64_t dev, ino, size;
    int64_t born_ns, mtime_ns, ctime_ns;
    const char *path; /* without NUL at its end when it was read */
    uint32_t path_len;
};

/* Bytes that a record with such a body takes. */
size_t zc_record_length(size_t body);

/* Makes the record at `at`, where its body lies already, ZC_RECORD_HEAD bytes behind; its length.
 */
size_t zc_record_seal(unsigned char *at, const struct zc_record *r, size_t body);

enum zc_record_found {
    ZC_FOUND_RECORD,
    ZC_FOUND_END,      /* zeros, or the end of the file */
    ZC_FOUND_BAD_BODY, /* the head is good: *r is filled in */
    ZC_FOUND_BAD_HEAD,
};
/* What lies at `p`, with `room` bytes behind it.  *r points into them. */
enum zc_record_found zc_record_read(const unsigned char *p, size_t room, uint64_t segment,
                                    struct zc_record *r);

/* The version that a good head is of, which all versions have in the same place, as they have magic
 * and head_sum; 0: it is none. */
unsigned zc_record_version(const unsigned char *p, size_t room);

/* Bodies. */
void zc_record_put_range(unsigned char *body, uint32_t i, uint32_t lo, uint32_t len);
void zc_record_get_range(const struct zc_record *r, uint32_t i, uint32_t *lo, uint32_t *len);
size_t zc_record_put_file(unsigned char *body, const struct zc_record_file *f);
bool zc_record_get_file(const struct zc_record *r, struct zc_record_file *f);
/* Whether the ranges of a DATA or STORED lie within what its head says, and its body has them. */
bool zc_record_sound(const struct zc_record *r);

#endif
