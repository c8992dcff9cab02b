/*
 * Stamps: filling, checking, and recognising what was found instead.
 *
 * Filling and checking run over whole words, several GB/s; everything else happens only once a
 * difference is known, and may be slow.
 */
#include "config.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdbool.h>
#include <string.h>

#include "stamp.h"

#define WORD        ((int64_t)sizeof(uint64_t))
#define INDEX_BITS  40
#define GEN_BITS    8
#define INDEX_MASK  ((UINT64_C(1) << INDEX_BITS) - 1)
#define GEN_MASK    ((UINT64_C(1) << GEN_BITS) - 1)
#define CHECK_CHUNK 4096
/* Words repeat after this many bytes. */
#define WRAP (INT64_C(8) << INDEX_BITS)

/* Odd numbers: the fractions of the square roots of 2, 3 and 5. */
#define MUL_A UINT64_C(0x6a09e667f3bcc909)
#define MUL_B UINT64_C(0xbb67ae8584caa73b)
#define START UINT64_C(0x3c6ef372fe94f82b)

/* ---- words ---------------------------------------------------------------------------------- */

/* Invertible, and every bit of x reaches every byte of the result. */
static inline uint64_t mix(uint64_t x)
{
    x ^= START;
    x = (x ^ (x >> 32)) * MUL_A;
    x = (x ^ (x >> 29)) * MUL_B;
    return x ^ (x >> 32);
}

/* The inverse of an odd number modulo 2^64: each step doubles the bits that are right. */
static uint64_t inverse(uint64_t odd)
{
    uint64_t x = odd;
    for (int i = 0; i < 6; i++)
        x *= 2 - odd * x;
    return x;
}

static uint64_t unmix(uint64_t x)
{
    x ^= x >> 32;
    x *= inverse(MUL_B);
    x ^= (x >> 29) ^ (x >> 58);
    x *= inverse(MUL_A);
    x ^= x >> 32;
    return x ^ START;
}

static inline uint64_t word_at(uint64_t key, uint64_t index)
{
    return htole64(mix(key | (index & INDEX_MASK)));
}

static uint8_t byte_at(uint64_t key, int64_t offset)
{
    uint64_t word = word_at(key, (uint64_t)offset / 8);
    uint8_t bytes[8];
    memcpy(bytes, &word, sizeof bytes);
    return bytes[(uint64_t)offset % 8];
}

/* ---- making --------------------------------------------------------------------------------- */

struct stamp stamp_make(const char *name, unsigned generation)
{
    uint64_t id = START;
    for (const char *p = name; *p != '\0'; p++)
        id = mix(id + (unsigned char)*p);
    struct stamp st = {(id & 0xffff) << (INDEX_BITS + GEN_BITS) | (generation & GEN_MASK)
                                                                      << INDEX_BITS};
    return st;
}

const char *stamp_name(const char *filename)
{
    const char *slash = strrchr(filename, '/');
    if (slash != NULL)
        return slash + 1;
    const char *colon = strchr(filename, ':');
    return colon != NULL ? colon + 1 : filename;
}

void stamp_fill(const struct stamp *st, int64_t offset, void *buf, size_t len)
{
    uint8_t *p = buf;
    size_t i = 0;
    for (; i < len && (offset + (int64_t)i) % WORD != 0; i++)
        p[i] = byte_at(st->key, offset + (int64_t)i);
    uint64_t index = (uint64_t)(offset + (int64_t)i) / 8;
    for (; len - i >= 8; i += 8) {
        uint64_t word = word_at(st->key, index++);
        memcpy(p + i, &word, 8);
    }
    for (; i < len; i++)
        p[i] = byte_at(st->key, offset + (int64_t)i);
}

void stamp_poison(void *buf, size_t len)
{
    memset(buf, STAMP_POISON, len);
}

/* ---- recognising ---------------------------------------------------------------------------- */

struct range {
    const struct stamp *st;
    int64_t offset; /* in the file, of bytes[0] */
    const uint8_t *bytes;
    int64_t len;
};

static int64_t run_of(const struct range *r, int64_t pos)
{
    int64_t n = 1;
    while (pos + n < r->len && r->bytes[pos + n] == r->bytes[pos])
        n++;
    return n;
}

/*
 * Suppose a stamped word starts at `start`: does it, with its neighbours, account for the byte
 * at `pos`, and is that more than chance? Sixteen bits of file id and the generation speak for a
 * word of this file; a word of another file needs four more bytes that agree.
 */
static bool explains(const struct range *r, int64_t pos, int64_t start, struct stamp_fault *fault)
{
    uint64_t word;
    memcpy(&word, r->bytes + start, 8);
    uint64_t x = unmix(le64toh(word));
    uint64_t key = x & ~INDEX_MASK;
    /* Where bytes[0] would be in the file the word came from; may be negative. */
    int64_t base = (int64_t)(x & INDEX_MASK) * WORD - start + r->offset / WRAP * WRAP;
    int64_t first = start < pos ? start : pos;
    if (base + first < 0)
        return false;
    int64_t agree = 0;
    while (first + agree < r->len && agree < 64 &&
           r->bytes[first + agree] == byte_at(key, base + first + agree))
        agree++;
    if (first + agree <= pos || agree < WORD)
        return false;
    unsigned file = (unsigned)(key >> (INDEX_BITS + GEN_BITS));
    unsigned gen = (unsigned)(key >> INDEX_BITS & GEN_MASK);
    bool same = file == (unsigned)(r->st->key >> (INDEX_BITS + GEN_BITS));
    if (!same && agree < WORD + 4)
        return false;
    fault->origin = same ? STAMP_THIS_FILE : STAMP_OTHER_FILE;
    fault->from_file = file;
    fault->from_generation = gen;
    fault->from_offset = base + pos;
    return true;
}

/* The wrong byte may be anywhere in a misplaced word, and a few bytes before it may have agreed
 * by chance: try every word that touches the byte or starts soon after. */
static void recognise(const struct range *r, int64_t pos, struct stamp_fault *fault)
{
    fault->origin = STAMP_UNKNOWN;
    for (int64_t start = pos - 7; start <= pos + 7; start++) {
        if (start >= 0 && start + WORD <= r->len && explains(r, pos, start, fault))
            return;
    }
    fault->run = run_of(r, pos);
    if (fault->found == 0)
        fault->origin = STAMP_ZEROS;
    else if (fault->found == STAMP_POISON && (fault->run >= 4 || pos + fault->run == r->len))
        fault->origin = STAMP_UNTOUCHED;
}

/* ---- checking ------------------------------------------------------------------------------- */

/* Whether all of `words` words from word `index` on are right. No early exit: that is faster. */
static bool words_right(uint64_t key, uint64_t index, const uint8_t *p, size_t words)
{
    uint64_t diff = 0;
    for (size_t i = 0; i < words; i++) {
        uint64_t word;
        memcpy(&word, p + 8 * i, 8);
        diff |= word ^ word_at(key, index + i);
    }
    return diff == 0;
}

static void check_bytes(const struct range *r, int64_t from, int64_t to, struct stamp_fault *fault)
{
    for (int64_t i = from; i < to; i++) {
        uint8_t expected = byte_at(r->st->key, r->offset + i);
        if (r->bytes[i] == expected)
            continue;
        if (fault->wrong++ > 0)
            continue;
        fault->offset = r->offset + i;
        fault->expected = expected;
        fault->found = r->bytes[i];
        recognise(r, i, fault);
    }
}

int64_t stamp_check(const struct stamp *st, int64_t offset, const void *buf, size_t len,
                    struct stamp_fault *fault)
{
    struct range r = {st, offset, buf, (int64_t)len};
    struct stamp_fault found = {.wrong = 0};
    int64_t pos = (WORD - offset % WORD) % WORD;
    if (pos > r.len)
        pos = r.len;
    check_bytes(&r, 0, pos, &found);
    while (r.len - pos >= WORD) {
        int64_t step = r.len - pos < CHECK_CHUNK ? (r.len - pos) / WORD * WORD : CHECK_CHUNK;
        if (!words_right(st->key, (uint64_t)(offset + pos) / 8, r.bytes + pos,
                         (size_t)(step / WORD)))
            check_bytes(&r, pos, pos + step, &found);
        pos += step;
    }
    check_bytes(&r, pos, r.len, &found);
    if (found.wrong > 0)
        *fault = found;
    return found.wrong;
}

/* ---- describing ----------------------------------------------------------------------------- */

static void describe_this_file(const struct stamp *st, const struct stamp_fault *f, char *buf,
                               size_t size)
{
    unsigned want = (unsigned)(st->key >> INDEX_BITS & GEN_MASK);
    int64_t shift = f->from_offset - f->offset;
    char where[64] = "this very offset";
    if (shift != 0)
        snprintf(where, sizeof where, "offset %" PRId64 " (%+" PRId64 ")", f->from_offset, shift);
    if (f->from_generation == want)
        snprintf(buf, size, "it belongs at %s of this file", where);
    else
        snprintf(buf, size, "it belongs at %s of this file, generation %u (%s: %u was expected)",
                 where, f->from_generation,
                 ((want - f->from_generation) & GEN_MASK) < STAMP_GENERATIONS / 2 ? "stale"
                                                                                  : "newer",
                 want);
}

const char *stamp_describe(const struct stamp *st, const struct stamp_fault *f, char *buf,
                           size_t size)
{
    char origin[192];
    switch (f->origin) {
    case STAMP_ZEROS:
        snprintf(origin, sizeof origin, "%" PRId64 " zero byte%s from here", f->run,
                 f->run == 1 ? "" : "s");
        break;
    case STAMP_UNTOUCHED:
        snprintf(origin, sizeof origin, "the read left %" PRId64 " bytes of the buffer untouched",
                 f->run);
        break;
    case STAMP_THIS_FILE:
        describe_this_file(st, f, origin, sizeof origin);
        break;
    case STAMP_OTHER_FILE:
        snprintf(origin, sizeof origin,
                 "it belongs to another file (stamp id %04x), offset %" PRId64 ", generation %u",
                 f->from_file, f->from_offset, f->from_generation);
        break;
    case STAMP_UNKNOWN:
        snprintf(origin, sizeof origin, "not recognised");
        break;
    }
    snprintf(buf, size, "byte %" PRId64 ": expected 0x%02x, found 0x%02x: %s (%" PRId64 " wrong)",
             f->offset, f->expected, f->found, origin, f->wrong);
    return buf;
}
