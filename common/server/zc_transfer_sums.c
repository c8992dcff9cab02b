/* zc_transfer_sums.c - the checksums of what a request moves (zc_sums.h). */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_crc.h"
#include "zc_log.h"
#include "zc_transfer_internal.h"

_Static_assert((int)ZC_SUMS_UNIT <= (int)ZC_SERVER_CHUNK, "a piece is checked in a buffer");

static uint32_t unit_of(const struct zc_request *r)
{
    uint32_t page = zc_cache_page_size(zc_server_of(r)->cfg.cache);

    if (!zc_transfer_by_rma(r))
        return 0;
    return zc_transfer_is_plain(r) ? zc_sums_unit(page) : (uint32_t)ZC_SUMS_UNIT;
}

/* The first n are as the client has them, that of its list within; or are without it. */
static void fold(struct zc_request *r, uint64_t n)
{
    if (zc_transfer_has_list(r))
        zc_sums_fold(r->transfer->sums, n, r->transfer->list_sum);
}

static unsigned char *sum_of(const struct piece *p)
{
    const struct zc_request *r = p->request;

    return r->transfer->sums +
           ZC_SUM_SIZE * (zc_sums_count(r->msg.off, p->base - r->msg.off + 1, unit_of(r)) - 1);
}

/* Also for the client to know, which is to send it again: a status that a store may return, too. */
static void damaged(struct zc_request *r, uint64_t lo, uint64_t hi)
{
    char text[160];

    zc_server_of(r)->stats.checksum_errors++;
    r->reply.flags |= ZC_F_SUMS;
    snprintf(text, sizeof text, "bytes %llu-%llu of the payload came damaged: wrong checksum",
             (unsigned long long)lo, (unsigned long long)(hi - 1));
    zc_warn("%s of handle %llu", text, (unsigned long long)r->msg.handle);
    zc_request_fail(r, -EBADMSG, text);
}

/* The payload that has come with the message. */
static int check_inline(struct zc_request *r)
{
    const struct zc_transfer *t = r->transfer;
    uint64_t lo, hi;

    zc_server_of(r)->stats.checksum_bytes += r->msg.len;
    if (zc_sums_check(t->sums, t->data, r->msg.off, r->msg.len, 0, &lo, &hi))
        return 0;
    damaged(r, lo, hi);
    return r->status;
}

/* What has come damaged is read again.  Or it was overwritten between its sum and its transfer: so
 * this time both are of a copy. */
static bool is_again(const struct zc_request *r)
{
    return r->msg.flags & ZC_F_AGAIN;
}

int zc_transfer_sums_begin(struct zc_request *r)
{
    const struct zc_msg *m = &r->msg;
    uint64_t n = zc_sums_count(m->off, m->len, unit_of(r));
    int rc;

    if (!(m->flags & ZC_F_SUMS))
        return m->sums.n ? zc_errorf(EPROTO, "checksums without their flag") : 0;
    if (n > ZC_MAX_SUMS || m->sums.n != (zc_transfer_writes(r) ? n * ZC_SUM_SIZE : 0))
        return zc_errorf(EPROTO, "%u bytes of checksums for %llu pieces", m->sums.n,
                         (unsigned long long)n);
    rc = zc_crc_load();
    if (rc)
        return rc;
    r->transfer->list_sum = zc_transfer_has_list(r) ? zc_crc(m->list.p, m->list.n) : 0;
    r->transfer->sums = calloc(n, ZC_SUM_SIZE);
    if (!r->transfer->sums)
        return zc_errorf(ENOMEM, "the daemon has no memory");
    if (!zc_transfer_writes(r)) {
        zc_server_of(r)->stats.checksum_errors += is_again(r);
        return is_again(r) && zc_transfer_by_rma(r) ? zc_bounce_make(zc_server_of(r)) : 0;
    }
    memcpy(r->transfer->sums, m->sums.p, m->sums.n);
    fold(r, n);
    return zc_transfer_by_rma(r) ? zc_bounce_make(zc_server_of(r)) : check_inline(r);
}

uint64_t zc_transfer_sums_stretch(const struct zc_request *r, uint64_t from)
{
    const struct zc_transfer *t = r->transfer;
    uint32_t unit = t->sums ? unit_of(r) : 0;
    uint64_t end = unit ? from - from % unit + unit : 0;

    if (!zc_transfer_writes(r) && zc_transfer_is_plain(r) && !is_again(r))
        return 0; /* a page is several stretches, and they go straight from there, at first */
    return end < t->end ? end : t->end;
}

bool zc_transfer_sums_came(struct piece *p)
{
    uint64_t lo, hi;

    if (!p->request->transfer->sums)
        return true;
    zc_server_of(p->request)->stats.checksum_bytes += p->whole;
    if (zc_sums_check(sum_of(p), p->buf, p->base, p->whole, 0, &lo, &hi))
        return true;
    damaged(p->request, lo, hi);
    return false;
}

void zc_transfer_sums_go(struct piece *p)
{
    if (p->request->transfer->sums && !zc_transfer_writes(p->request))
        zc_sums_make(sum_of(p), p->buf ? p->buf : p->access.data, p->base, p->whole,
                     unit_of(p->request));
}

void zc_transfer_sums_end(struct zc_request *r)
{
    const struct zc_transfer *t = r->transfer;
    uint64_t n = r->reply.count, sums;

    if (!t->sums || r->status)
        return;
    zc_server_of(r)->stats.checksum_bytes += n;
    if (t->data)
        zc_sums_make(t->sums, t->data, r->msg.off, n, 0);
    sums = zc_sums_count(r->msg.off, n, unit_of(r));
    fold(r, sums);
    r->reply.sums = (struct zc_bytes){t->sums, (uint32_t)(ZC_SUM_SIZE * sums)};
}
