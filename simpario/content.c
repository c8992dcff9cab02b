/*
 * What has to be in a file.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "content.h"

static struct range range_at(const struct content *c, int64_t offset)
{
    if (c->pattern->range == NULL)
        return (struct range){RANGE_STAMPED, 0, INT64_MAX};
    return c->pattern->range(c->shape, offset);
}

/* The part of the range that begins at `offset`; the caller frees. */
static unsigned char *make(const struct content *c, const struct range *r, int64_t offset,
                           int64_t len)
{
    unsigned char *all = malloc((size_t)(r->end - r->start));
    if (all == NULL)
        bench_abort("out of memory for %" PRId64 " bytes of a header", r->end - r->start);
    c->pattern->make(c->shape, r, all);
    memmove(all, all + (offset - r->start), (size_t)len);
    return all;
}

void content_fill(const struct content *c, int64_t offset, void *buf, int64_t len)
{
    unsigned char *at = buf;
    while (len > 0) {
        struct range r = range_at(c, offset);
        int64_t n = r.end - offset < len ? r.end - offset : len;
        if (r.kind == RANGE_STAMPED) {
            stamp_fill(&c->stamp, offset, at, (size_t)n);
        } else if (r.kind == RANGE_MADE) {
            unsigned char *made = make(c, &r, offset, n);
            memcpy(at, made, (size_t)n);
            free(made);
        }
        offset += n;
        at += n;
        len -= n;
    }
}

int64_t content_bytes(const struct content *c, int64_t offset, int64_t len)
{
    int64_t end = offset + len, bytes = 0;
    while (offset < end) {
        struct range r = range_at(c, offset);
        int64_t stop = r.end < end ? r.end : end;
        if (r.kind != RANGE_HOLE)
            bytes += stop - offset;
        offset = stop;
    }
    return bytes;
}

/* ---- checking -------------------------------------------------------------------------------- */

/* `expected` NULL: zeros. */
static void compare(const unsigned char *found, const unsigned char *expected, int64_t offset,
                    int64_t len, const char *what, struct content_fault *fault)
{
    for (int64_t i = 0; i < len; i++) {
        unsigned char want = expected != NULL ? expected[i] : 0;
        if (found[i] == want || fault->wrong++ > 0)
            continue;
        fault->offset = offset + i;
        snprintf(fault->text, sizeof fault->text,
                 "byte %" PRId64 ", of %s: expected 0x%02x, found 0x%02x", offset + i, what, want,
                 found[i]);
    }
}

static void check_stamps(const struct content *c, const unsigned char *found, int64_t offset,
                         int64_t len, struct content_fault *fault)
{
    struct stamp_fault stamp;
    fault->wrong = stamp_check(&c->stamp, offset, found, (size_t)len, &stamp);
    if (fault->wrong == 0)
        return;
    fault->offset = stamp.offset;
    stamp_describe(&c->stamp, &stamp, fault->text, sizeof fault->text);
}

static void check_range(const struct content *c, const struct range *r, const unsigned char *found,
                        int64_t offset, int64_t len, bool holes, struct content_fault *fault)
{
    if (r->kind == RANGE_STAMPED) {
        check_stamps(c, found, offset, len, fault);
    } else if (r->kind == RANGE_MADE) {
        unsigned char *made = make(c, r, offset, len);
        compare(found, made, offset, len, "a header", fault);
        free(made);
    } else if (holes) {
        compare(found, NULL, offset, len, "a gap that is not written", fault);
    }
}

int64_t content_check(const struct content *c, int64_t offset, const void *buf, int64_t len,
                      bool holes, struct content_fault *fault)
{
    const unsigned char *at = buf;
    int64_t wrong = 0;
    while (len > 0) {
        struct range r = range_at(c, offset);
        int64_t n = r.end - offset < len ? r.end - offset : len;
        struct content_fault here = {.wrong = 0};
        check_range(c, &r, at, offset, n, holes, &here);
        if (here.wrong > 0 && wrong == 0)
            *fault = here;
        wrong += here.wrong;
        offset += n;
        at += n;
        len -= n;
    }
    if (wrong > 0)
        fault->wrong = wrong;
    return wrong;
}
