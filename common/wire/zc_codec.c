/* zc_codec.c - encoding, checking and printing messages, all by the table of zc_messages.h. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "zc_log.h"
#include "zc_tsan.h"
#include "zc_wire.h"

enum kind {
    U16,
    U32,
    I32,
    U64,
    HEX,   /* u64, printed in hexadecimal */
    STR,   /* length[2] bytes; no NUL inside */
    BIN,   /* length[2] bytes, any */
    BYTES, /* length[4] bytes */
};

struct field {
    const char *name;
    enum kind kind;
    uint16_t member; /* offset in struct zc_msg */
    uint32_t max;    /* STR, BIN, BYTES: largest length */
};

/* A message and its reply. */
struct layout {
    uint8_t type;
    const char *name;                    /* of the reply: that of the request after "R-" */
    struct field request[16], reply[16]; /* ended by name == NULL */
    bool no_reply, open;
    uint8_t stay[2]; /* HELLO: fields of the request and of the reply that all versions have */
};

#define F(kind, member)                                                                            \
    {                                                                                              \
#member, kind, offsetof(struct zc_msg, member), 0                                          \
    }
#define V(kind, member, maximum)                                                                   \
    {                                                                                              \
#member, kind, offsetof(struct zc_msg, member), maximum                                    \
    }

/* Every reply begins with status and text; a failed reply ends there. */
static const struct field reply_head[] = {F(I32, status), V(STR, text, ZC_MAX_TEXT), {0}};

#define ATTR                                                                                       \
    F(U64, size), F(U64, block_size), F(U32, width), F(U32, first), F(HEX, dev), F(U64, ino),      \
        F(U64, nlink), F(U64, mtime_ns), F(U64, ctime_ns), F(U64, born_ns)

static const struct layout layouts[] = {
#define ZC_MESSAGE(name, number, ...) {ZC_T_##name, "R-" #name, __VA_ARGS__},
#include "zc_messages.h"
};

#undef F
#undef V

/* NULL: there is no such message. */
static const struct layout *layout_of(uint8_t type)
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].type == (type & ~ZC_REPLY))
            return type & ZC_REPLY && layouts[i].no_reply ? NULL : &layouts[i];
    return NULL;
}

static const char *name_of(const struct layout *l, uint8_t type)
{
    return type & ZC_REPLY ? l->name : l->name + strlen("R-");
}

static const struct field *fields_of(const struct layout *l, uint8_t type)
{
    return type & ZC_REPLY ? l->reply : l->request;
}

static bool is_bytes(enum kind k)
{
    return k == STR || k == BIN || k == BYTES;
}

static unsigned fixed_size(enum kind k)
{
    switch (k) {
    case U16:
    case STR:
    case BIN:
        return 2;
    case U32:
    case I32:
    case BYTES:
        return 4;
    case U64:
    case HEX:
        return 8;
    }
    return 0;
}

/* ---- little-endian integers of 1 to 8 bytes ---- */

static void put_int(unsigned char *p, unsigned n, uint64_t v)
{
    for (unsigned i = 0; i < n; i++, v >>= 8)
        p[i] = (unsigned char)v;
}

static uint64_t get_int(const unsigned char *p, unsigned n)
{
    uint64_t v = 0;

    while (n--)
        v = v << 8 | p[n];
    return v;
}

/* ---- integers in struct zc_msg ---- */

static uint64_t load(const struct zc_msg *m, const struct field *f)
{
    const char *p = (const char *)m + f->member;

    switch (f->kind) {
    case U16:
        return *(const uint16_t *)p;
    case U32:
    case I32:
        return *(const uint32_t *)p;
    default:
        return *(const uint64_t *)p;
    }
}

static void store(struct zc_msg *m, const struct field *f, uint64_t v)
{
    char *p = (char *)m + f->member;

    switch (f->kind) {
    case U16:
        *(uint16_t *)p = (uint16_t)v;
        break;
    case U32:
    case I32:
        *(uint32_t *)p = (uint32_t)v;
        break;
    default:
        *(uint64_t *)p = v;
    }
}

/* ---- encode ---- */

/* Of the first fields, `most` at most; so it is below. */
static size_t fields_size(const struct zc_msg *m, const struct field *f, unsigned most)
{
    size_t n = 0;

    for (; f->name && most--; f++) {
        n += fixed_size(f->kind);
        if (is_bytes(f->kind))
            n += ((const struct zc_bytes *)((const char *)m + f->member))->n;
    }
    return n;
}

/* HELLO and its reply are the last words that have no MAC, but for AUTH. */
bool zc_msg_has_mac(uint8_t type)
{
    const struct layout *l = layout_of(type);

    return !l || !l->open || type == (ZC_T_AUTH | ZC_REPLY) || type == (ZC_T_CREDENTIAL | ZC_REPLY);
}

static size_t seal_size(const struct zc_msg *m)
{
    return zc_msg_has_mac(m->type) ? ZC_MAC_SIZE : 0;
}

/* How many fields the body has at most.  A failed reply has none but its head; HELLO's keeps those
 * that stay, as does HELLO between versions. */
static unsigned body(const struct layout *l, const struct zc_msg *m)
{
    bool reply = m->type & ZC_REPLY, failed = reply && m->status;

    if (failed || (m->version && m->version != ZC_PROTOCOL))
        return l->stay[reply];
    return UINT_MAX;
}

size_t zc_msg_size(const struct zc_msg *m)
{
    const struct layout *l = layout_of(m->type);
    size_t n = ZC_HEADER_SIZE + seal_size(m);

    if (m->type & ZC_REPLY)
        n += fields_size(m, reply_head, UINT_MAX);
    if (l)
        n += fields_size(m, fields_of(l, m->type), body(l, m));
    return n;
}

static unsigned char *put_fields(unsigned char *p, const struct zc_msg *m, const struct field *f,
                                 unsigned most)
{
    for (; f->name && most--; f++) {
        unsigned n = fixed_size(f->kind);

        if (is_bytes(f->kind)) {
            const struct zc_bytes *b = (const void *)((const char *)m + f->member);

            if (b->n > f->max)
                return NULL;
            put_int(p, n, b->n);
            p += n;
            if (b->n) {
                ZC_TSAN_RACY_BEGIN(); /* may lie in a page that is being written to */
                memcpy(p, b->p, b->n);
                ZC_TSAN_RACY_END();
            }
            p += b->n;
        } else {
            put_int(p, n, load(m, f));
            p += n;
        }
    }
    return p;
}

int zc_msg_encode(const struct zc_msg *m, void *buf, size_t cap)
{
    const struct layout *l = layout_of(m->type);
    size_t size = zc_msg_size(m);
    unsigned char *p = buf;

    if (!l)
        return zc_errorf(EINVAL, "no message type %u", m->type);
    if (size > cap || size > ZC_MAX_MESSAGE)
        return zc_errorf(EMSGSIZE, "%s of %zu bytes is too large", name_of(l, m->type), size);
    put_int(p, 4, size);
    p[4] = m->type;
    p[5] = m->version ? m->version : ZC_PROTOCOL;
    put_int(p + 6, 2, m->flags);
    put_int(p + 8, 8, m->tag);
    put_int(p + 16, 8, m->session);
    p += ZC_HEADER_SIZE;
    if (m->type & ZC_REPLY)
        p = put_fields(p, m, reply_head, UINT_MAX);
    if (p)
        p = put_fields(p, m, fields_of(l, m->type), body(l, m));
    if (!p)
        return zc_errorf(EMSGSIZE, "a field of %s is too long", name_of(l, m->type));
    memset(p, 0, seal_size(m));
    return (int)size;
}

/* ---- decode ---- */

struct cursor {
    const unsigned char *p, *end;
};

static int get_fields(struct cursor *c, struct zc_msg *m, const char *name, const struct field *f,
                      unsigned most)
{
    for (; f->name && most--; f++) {
        unsigned n = fixed_size(f->kind);
        uint64_t v;

        if ((size_t)(c->end - c->p) < n)
            return zc_errorf(EPROTO, "%s ends before its field %s", name, f->name);
        v = get_int(c->p, n);
        c->p += n;
        if (!is_bytes(f->kind)) {
            store(m, f, v);
            continue;
        }
        if (v > f->max || v > (size_t)(c->end - c->p))
            return zc_errorf(EPROTO, "%s: field %s claims %" PRIu64 " bytes", name, f->name, v);
        if (f->kind == STR && v && memchr(c->p, 0, v))
            return zc_errorf(EPROTO, "%s: field %s holds a NUL", name, f->name);
        *(struct zc_bytes *)((char *)m + f->member) = (struct zc_bytes){c->p, (uint32_t)v};
        c->p += v;
    }
    return 0;
}

int zc_msg_decode(struct zc_msg *m, const void *buf, size_t len)
{
    const unsigned char *p = buf;
    struct cursor c = {p + ZC_HEADER_SIZE, p + len};
    const struct layout *l;
    const char *name;
    int rc = 0;

    memset(m, 0, sizeof *m);
    if (len < ZC_HEADER_SIZE)
        return zc_errorf(EPROTO, "message of %zu bytes is shorter than a header", len);
    if (get_int(p, 4) != len)
        return zc_errorf(EPROTO, "message of %zu bytes claims %" PRIu64, len, get_int(p, 4));
    m->type = p[4];
    m->version = p[5];
    m->flags = (uint16_t)get_int(p + 6, 2);
    m->tag = get_int(p + 8, 8);
    m->session = get_int(p + 16, 8);
    if (m->version != ZC_PROTOCOL && (m->type & ~ZC_REPLY) != ZC_T_HELLO)
        return zc_errorf(EPROTONOSUPPORT, "message of protocol version %u, this side speaks %u",
                         m->version, ZC_PROTOCOL);
    l = layout_of(m->type);
    if (!l)
        return zc_errorf(EPROTO, "unknown message type %u", m->type);
    name = name_of(l, m->type);
    if (len < ZC_HEADER_SIZE + seal_size(m))
        return zc_errorf(EPROTO, "%s has no room for its MAC", name);
    c.end -= seal_size(m);
    if (m->type & ZC_REPLY)
        rc = get_fields(&c, m, name, reply_head, UINT_MAX);
    if (rc == 0 && m->status > 0)
        rc = zc_errorf(EPROTO, "%s has the positive status %d", name, m->status);
    if (rc == 0)
        rc = get_fields(&c, m, name, fields_of(l, m->type), body(l, m));
    if (rc == 0 && c.p != c.end && (!m->version || m->version == ZC_PROTOCOL))
        rc = zc_errorf(EPROTO, "%s has %td bytes too many", name, c.end - c.p);
    return rc;
}

/* ---- print ---- */

struct text {
    char *buf;
    size_t len, at;
};

static void say(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(struct text *t, const char *fmt, ...)
{
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(t->buf + t->at, t->len - t->at, fmt, ap);
    va_end(ap);
    if (n > 0)
        t->at = t->at + (size_t)n < t->len ? t->at + (size_t)n : t->len - 1;
}

/* Bytes from a peer are not trusted to be printable. */
static void say_string(struct text *t, const struct zc_bytes *b)
{
    const unsigned char *p = b->p;

    say(t, "\"");
    for (uint32_t i = 0; i < b->n && i < 200; i++)
        say(t, p[i] >= ' ' && p[i] < 127 ? "%c" : "\\x%02x", p[i]);
    say(t, "\"");
}

static void print_fields(struct text *t, const struct zc_msg *m, const struct field *f,
                         unsigned most)
{
    for (; f->name && most--; f++) {
        const struct zc_bytes *b = (const void *)((const char *)m + f->member);

        if (is_bytes(f->kind) && b->n == 0)
            continue;
        say(t, " %s ", f->name);
        if (f->kind == BYTES || f->kind == BIN)
            say(t, "[%u bytes]", b->n);
        else if (f->kind == STR)
            say_string(t, b);
        else if (f->kind == HEX)
            say(t, "0x%" PRIx64, load(m, f));
        else if (f->kind == I32)
            say(t, "%d", (int32_t)load(m, f));
        else
            say(t, "%" PRIu64, load(m, f));
    }
}

const char *zc_type_name(uint8_t type, char *buf, size_t len)
{
    const struct layout *l = layout_of(type);

    if (l)
        return name_of(l, type);
    snprintf(buf, len, "type %u", type);
    return buf;
}

char *zc_msg_print(const struct zc_msg *m, char *buf, size_t len)
{
    const struct layout *l = layout_of(m->type);
    struct text t = {buf, len, 0};
    char name[16];

    say(&t, "%s tag ", zc_type_name(m->type, name, sizeof name));
    if (m->tag >> 48) /* lane and count: zc_mac.h */
        say(&t, "%u.", (unsigned)(m->tag >> 48));
    say(&t, "%" PRIu64 " session %" PRIx64, m->tag & UINT64_MAX >> 16, m->session);
    if (m->flags)
        say(&t, " flags 0x%x", m->flags);
    if (m->type & ZC_REPLY)
        print_fields(&t, m, reply_head, UINT_MAX);
    if (l)
        print_fields(&t, m, fields_of(l, m->type), body(l, m));
    return buf;
}

static void layout_fields(struct text *t, const struct field *f)
{
    for (; f->name; f++) {
        if (is_bytes(f->kind))
            say(t, " %s[%s]", f->name, f->kind == STR ? "s" : f->kind == BIN ? "a" : "b");
        else
            say(t, " %s[%u]", f->name, fixed_size(f->kind));
    }
}

char *zc_msg_layout(uint8_t type, char *buf, size_t len)
{
    const struct layout *l = layout_of(type);
    struct text t = {buf, len, 0};

    buf[0] = 0;
    if (!l)
        return buf;
    say(&t, "%s", name_of(l, type));
    if (type & ZC_REPLY)
        layout_fields(&t, reply_head);
    layout_fields(&t, fields_of(l, type));
    return buf;
}
