/* zc_record.c - encoding and checking the records of a journal. */
#include "config.h"

#include <endian.h>
#include <string.h>

#include "zc_record.h"

/* Included as a header only, as in view/zc_view_wire.c: no library needed. */
#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    MAGIC = 0x524a435a, /* "ZCJR" */
    AT_KIND = 4,
    AT_VERSION = 5,
    AT_LENGTH = 8,
    AT_NRANGES = 12,
    AT_SEGMENT = 16,
    AT_SEQ = 24,
    AT_UNTIL = 32,
    AT_OFF = 40,
    AT_SPAN = 48,
    AT_FILE = 56,
    AT_HEAD_SUM = 60,
    AT_BODY_SUM = 64,
    FILE_BODY = 56, /* before the path */
    SEGMENT_BODY = 48,
};

static void put32(unsigned char *p, uint32_t v)
{
    v = htole32(v);
    memcpy(p, &v, sizeof v);
}

static void put64(unsigned char *p, uint64_t v)
{
    v = htole64(v);
    memcpy(p, &v, sizeof v);
}

static uint32_t get32(const unsigned char *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof v);
    return le32toh(v);
}

static uint64_t get64(const unsigned char *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof v);
    return le64toh(v);
}

static uint32_t head_sum(const unsigned char *head)
{
    unsigned char copy[ZC_RECORD_HEAD];

    memcpy(copy, head, sizeof copy);
    put32(copy + AT_HEAD_SUM, 0);
    return (uint32_t)XXH3_64bits(copy, sizeof copy);
}

size_t zc_record_length(size_t body)
{
    return (ZC_RECORD_HEAD + body + 7) & ~(size_t)7;
}

size_t zc_record_seal(unsigned char *at, const struct zc_record *r, size_t body)
{
    size_t length = zc_record_length(body);

    memset(at, 0, ZC_RECORD_HEAD);
    memset(at + ZC_RECORD_HEAD + body, 0, length - ZC_RECORD_HEAD - body);
    put32(at, MAGIC);
    at[AT_KIND] = (unsigned char)r->kind;
    at[AT_VERSION] = ZC_RECORD_VERSION;
    put32(at + AT_LENGTH, (uint32_t)length);
    put32(at + AT_NRANGES, r->nranges);
    put64(at + AT_SEGMENT, r->segment);
    put64(at + AT_SEQ, r->seq);
    put64(at + AT_UNTIL, r->until);
    put64(at + AT_OFF, r->off);
    put64(at + AT_SPAN, r->span);
    put32(at + AT_FILE, r->file);
    put64(at + AT_BODY_SUM, XXH3_64bits(at + ZC_RECORD_HEAD, length - ZC_RECORD_HEAD));
    put32(at + AT_HEAD_SUM, head_sum(at));
    return length;
}

static bool zeros(const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i])
            return false;
    return true;
}

enum zc_record_found zc_record_read(const unsigned char *p, size_t room, uint64_t segment,
                                    struct zc_record *r)
{
    if (zeros(p, room < ZC_RECORD_HEAD ? room : ZC_RECORD_HEAD))
        return ZC_FOUND_END;
    if (room < ZC_RECORD_HEAD || get32(p) != MAGIC || p[AT_VERSION] != ZC_RECORD_VERSION ||
        get32(p + AT_HEAD_SUM) != head_sum(p) || get64(p + AT_SEGMENT) != segment)
        return ZC_FOUND_BAD_HEAD;
    *r = (struct zc_record){
        .kind = (enum zc_record_kind)p[AT_KIND],
        .file = get32(p + AT_FILE),
        .nranges = get32(p + AT_NRANGES),
        .segment = segment,
        .seq = get64(p + AT_SEQ),
        .until = get64(p + AT_UNTIL),
        .off = get64(p + AT_OFF),
        .span = get64(p + AT_SPAN),
        .body = p + ZC_RECORD_HEAD,
        .length = get32(p + AT_LENGTH),
    };
    if (r->length < ZC_RECORD_HEAD || r->length % 8)
        return ZC_FOUND_BAD_HEAD;
    r->body_len = r->length - ZC_RECORD_HEAD;
    if (r->length > room || XXH3_64bits(r->body, r->body_len) != get64(p + AT_BODY_SUM))
        return ZC_FOUND_BAD_BODY;
    return ZC_FOUND_RECORD;
}

unsigned zc_record_version(const unsigned char *p, size_t room)
{
    if (room < ZC_RECORD_HEAD || get32(p) != MAGIC || get32(p + AT_HEAD_SUM) != head_sum(p))
        return 0;
    return p[AT_VERSION];
}

/* ---- bodies ---- */

void zc_record_put_range(unsigned char *body, uint32_t i, uint32_t lo, uint32_t len)
{
    put32(body + (size_t)i * ZC_RECORD_RANGE, lo);
    put32(body + (size_t)i * ZC_RECORD_RANGE + 4, len);
}

void zc_record_get_range(const struct zc_record *r, uint32_t i, uint32_t *lo, uint32_t *len)
{
    *lo = get32(r->body + (size_t)i * ZC_RECORD_RANGE);
    *len = get32(r->body + (size_t)i * ZC_RECORD_RANGE + 4);
}

void zc_record_put_sum(unsigned char *body, uint32_t nranges, uint32_t i, uint64_t sum)
{
    put64(body + (size_t)nranges * ZC_RECORD_RANGE + (size_t)i * ZC_RECORD_SUM, sum);
}

uint64_t zc_record_get_sum(const struct zc_record *r, uint32_t i)
{
    return get64(r->body + (size_t)r->nranges * ZC_RECORD_RANGE + (size_t)i * ZC_RECORD_SUM);
}

uint64_t zc_record_sum(const void *bytes, size_t len)
{
    return XXH3_64bits(bytes, len);
}

bool zc_record_sound(const struct zc_record *r)
{
    uint64_t need = (uint64_t)r->nranges * ZC_RECORD_RANGE, end = 0;
    bool data = r->kind == ZC_RECORD_DATA, before = r->kind == ZC_RECORD_BEFORE;

    if (need > r->body_len || r->off > INT64_MAX || r->span > INT64_MAX - r->off)
        return false;
    for (uint32_t i = 0; i < r->nranges; i++) {
        uint32_t lo, len;

        zc_record_get_range(r, i, &lo, &len);
        if (lo < end || (uint64_t)lo + len > r->span)
            return false;
        end = (uint64_t)lo + len;
        need += data ? len : before ? ZC_RECORD_SUM : 0;
    }
    return need <= r->body_len;
}

size_t zc_record_put_segment(unsigned char *body, const struct zc_record_segment *s)
{
    put64(body, s->root.fsid);
    put64(body + 8, s->root.ino);
    put64(body + 16, s->root.record);
    put64(body + 24, s->seat);
    put64(body + 32, s->generation);
    put64(body + 40, s->boot_id);
    memcpy(body + SEGMENT_BODY, s->path, s->path_len);
    return SEGMENT_BODY + s->path_len;
}

bool zc_record_get_segment(const struct zc_record *r, struct zc_record_segment *s)
{
    if (r->kind != ZC_RECORD_SEGMENT || r->body_len < SEGMENT_BODY)
        return false;
    *s = (struct zc_record_segment){
        .root = {get64(r->body), get64(r->body + 8), get64(r->body + 16)},
        .seat = get64(r->body + 24),
        .generation = get64(r->body + 32),
        .boot_id = get64(r->body + 40),
        .path = (const char *)r->body + SEGMENT_BODY,
    };
    s->path_len = (uint32_t)strnlen(s->path, r->body_len - SEGMENT_BODY);
    return true;
}

size_t zc_record_put_file(unsigned char *body, const struct zc_record_file *f)
{
    put64(body, f->dev);
    put64(body + 8, f->ino);
    put64(body + 16, f->size);
    put64(body + 24, (uint64_t)f->born_ns);
    put64(body + 32, (uint64_t)f->mtime_ns);
    put64(body + 40, (uint64_t)f->ctime_ns);
    put64(body + 48, f->mark);
    memcpy(body + FILE_BODY, f->path, f->path_len);
    return FILE_BODY + f->path_len;
}

bool zc_record_get_file(const struct zc_record *r, struct zc_record_file *f)
{
    if (r->body_len < FILE_BODY)
        return false;
    *f = (struct zc_record_file){
        .dev = get64(r->body),
        .ino = get64(r->body + 8),
        .size = get64(r->body + 16),
        .born_ns = (int64_t)get64(r->body + 24),
        .mtime_ns = (int64_t)get64(r->body + 32),
        .ctime_ns = (int64_t)get64(r->body + 40),
        .mark = get64(r->body + 48),
        .path = (const char *)r->body + FILE_BODY,
    };
    f->path_len = (uint32_t)strnlen(f->path, r->body_len - FILE_BODY);
    return f->path_len > 0 && f->path_len <= ZC_RECORD_PATH_MAX;
}
