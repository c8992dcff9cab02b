/*
 * Stamps: data that identifies its place in a file.
 *
 * Every byte of a test file is a function of the file's name, the byte's offset in the file and
 * a generation (which rewrite of the file it is). A reader that knows these three can tell
 * whether a byte is right without keeping a copy, and data that is misplaced, left over from an
 * earlier write or taken from another file is not only seen but usually recognised.
 *
 * The file is a sequence of 8-byte little-endian words; word i is an invertible mixing of
 *
 *     file id [16 bits] | generation [8 bits] | i [40 bits]
 *
 * so a stray word found anywhere can be turned back into its three parts. Generations repeat
 * after 256 and offsets after 8 TiB; nothing else is special about those limits.
 *
 * Needs no MPI. All functions may be called from any thread.
 */
#ifndef STAMP_H
#define STAMP_H

#include <stddef.h>
#include <stdint.h>

#define STAMP_GENERATIONS 256

/* stamp_poison() fills a buffer with it, to detect a read that delivers nothing. */
#define STAMP_POISON 0xdb

struct stamp {
    uint64_t key; /* file id and generation in their places, index bits zero */
};

enum stamp_origin {
    STAMP_UNKNOWN,    /* nothing recognisable */
    STAMP_ZEROS,      /* a run of zero bytes: a hole, or never written */
    STAMP_UNTOUCHED,  /* poison: the read did not deliver these bytes */
    STAMP_THIS_FILE,  /* of this file, but another offset or another generation */
    STAMP_OTHER_FILE, /* of a file with another name */
};

/* The first wrong byte of a range, and how much else is wrong there. */
struct stamp_fault {
    int64_t offset; /* in the file */
    uint8_t expected, found;
    int64_t wrong; /* bytes that differ, in the whole range */
    int64_t run;   /* for zeros and untouched: how many bytes in a row */
    enum stamp_origin origin;
    /* For this and other file: where the byte found belongs. */
    unsigned from_file;
    unsigned from_generation;
    int64_t from_offset;
};

/* `name` is the last component of the path, without any file system prefix. */
struct stamp stamp_make(const char *name, unsigned generation);
/* Returns the part of a file name that goes into the stamp, without a prefix such as ufs:. */
const char *stamp_name(const char *filename);

/* `offset` is the offset in the file of the first byte of `buf`, of any alignment. */
void stamp_fill(const struct stamp *st, int64_t offset, void *buf, size_t len);
void stamp_poison(void *buf, size_t len);
/* Returns the number of wrong bytes; *fault is filled in only when that is not zero. */
int64_t stamp_check(const struct stamp *st, int64_t offset, const void *buf, size_t len,
                    struct stamp_fault *fault);
/* Describes the fault in one line, cut at `size`; returns buf. */
const char *stamp_describe(const struct stamp *st, const struct stamp_fault *fault, char *buf,
                           size_t size);

#endif
