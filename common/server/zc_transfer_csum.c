/* zc_transfer_csum.c - the checksums of the bytes that a request moves (zc_wire_csum.h). */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_crc.h"
#include "zc_log.h"
#include "zc_transfer_internal.h"

_Static_assert((int)ZC_CSUMS_UNIT <= (int)ZC_SERVER_CHUNK, "a piece is checked in a buffer");

static uint32_t unit_of(const struct zc_request *r)
{
    uint32_t page = zc_cache_page_size(zc_server_of(r)->cfg.cache);

    if (!zc_transfer_by_rma(r))
        return 0;
    return zc_transfer_is_plain(r) ? zc_wire_csum_unit(page) : (uint32_t)ZC_CSUMS_UNIT;
}

/* The first n are as the client has them, that of its list within; or are without it. */
static void fold(struct zc_request *r, uint64_t n)
{
    if (zc_transfer_has_list(r))
        zc_wire_csum_fold(r->transfer->csums, n, r->transfer->list_sum);
}

static unsigned char *sum_of(const struct piece *p)
{
    const struct zc_request *r = p->request;

    return r->transfer->csums +
           ZC_CSUM_SIZE *
               (zc_wire_csum_count(r->msg.off, p->base - r->msg.off + 1, unit_of(r)) - 1);
}

/* Logs once a second at most, with the number since. */
static void tell_damage(struct zc_server *s, const char *text, uint64_t handle)
{
    uint64_t now = zc_now();

    s->damage_untold++;
    if (s->damage_told && now - s->damage_told < 1000 * ZC_NS_PER_MS)
        return;
    zc_warn("%s of handle %llu%s", text, (unsigned long long)handle,
            s->damage_untold > 1 ? ", and others before" : "");
    s->damage_told = now;
    s->damage_untold = 0;
}

/* The bytes of a client's second attempt tell the cause: damage, or that the client changed
 * them itself. */
static void explained(struct zc_request *r)
{
    struct zc_server_stats *st = &zc_server_of(r)->stats;
    struct zc_session *ss = r->session;

    if (!(r->msg.flags & (ZC_F_AGAIN | ZC_F_RACED)) || !ss->mismatches)
        return;
    ss->mismatches--;
    if (r->msg.flags & ZC_F_RACED) {
        st->checksum_races++;
        return;
    }
    st->checksum_errors++;
    tell_damage(zc_server_of(r), "a payload came damaged: wrong checksum", r->msg.handle);
}

/* Also for the client to know, which is to send it again: a status that a store may return, too.
 * Bytes may be overwritten between their checksum and their transfer; what comes again is a
 * copy, in which that cannot be. */
static void damaged(struct zc_request *r, uint64_t lo, uint64_t hi)
{
    struct zc_server *s = zc_server_of(r);
    int rc = zc_errorf(EBADMSG, "bytes %llu-%llu of the payload came damaged: wrong checksum",
                       (unsigned long long)lo, (unsigned long long)(hi - 1));

    r->reply.flags |= ZC_F_SUMS;
    if (r->msg.flags & (ZC_F_AGAIN | ZC_F_RACED)) {
        s->stats.checksum_errors++;
        tell_damage(s, zc_error_text(rc), r->msg.handle);
    } else {
        r->session->mismatches++;
    }
    zc_error_join(&r->error, rc);
}

/* Checks the payload that came with the message. */
static int check_inline(struct zc_request *r)
{
    const struct zc_transfer *t = r->transfer;
    uint64_t lo, hi;

    zc_server_of(r)->stats.checksum_bytes += r->msg.len;
    if (zc_wire_csum_check(t->csums, t->data, r->msg.off, r->msg.len, 0, &lo, &hi))
        return 0;
    damaged(r, lo, hi);
    return r->error.rc;
}

/* Tells whether a client reads again what came damaged.  The bytes may also have been overwritten
 * between their sum and their transfer: so this time both are of a copy. */
static bool is_again(const struct zc_request *r)
{
    return r->msg.flags & ZC_F_AGAIN;
}

int zc_transfer_csum_begin(struct zc_request *r)
{
    const struct zc_msg *m = &r->msg;
    uint64_t n = zc_wire_csum_count(m->off, m->len, unit_of(r));
    int rc;

    if (!(m->flags & ZC_F_SUMS))
        return m->csums.n ? zc_errorf(EPROTO, "checksums without their flag") : 0;
    if (n > ZC_MAX_CSUMS || m->csums.n != (zc_transfer_writes(r) ? n * ZC_CSUM_SIZE : 0))
        return zc_errorf(EPROTO, "%u bytes of checksums for %llu pieces", m->csums.n,
                         (unsigned long long)n);
    rc = zc_crc_load();
    if (rc)
        return rc;
    r->transfer->list_sum = zc_transfer_has_list(r) ? zc_crc(m->list.p, m->list.n) : 0;
    r->transfer->csums = calloc(n, ZC_CSUM_SIZE);
    if (!r->transfer->csums)
        return zc_errorf(ENOMEM, "the daemon has no memory");
    if (!zc_transfer_writes(r)) {
        zc_server_of(r)->stats.checksum_errors += is_again(r);
        return is_again(r) && zc_transfer_by_rma(r) ? zc_bounce_make(zc_server_of(r)) : 0;
    }
    explained(r);
    memcpy(r->transfer->csums, m->csums.p, m->csums.n);
    fold(r, n);
    return zc_transfer_by_rma(r) ? zc_bounce_make(zc_server_of(r)) : check_inline(r);
}

uint64_t zc_transfer_csum_stretch(const struct zc_request *r, uint64_t from)
{
    const struct zc_transfer *t = r->transfer;
    uint32_t unit = t->csums ? unit_of(r) : 0;
    uint64_t end = unit ? from - from % unit + unit : 0;

    if (!zc_transfer_writes(r) && zc_transfer_is_plain(r) && !is_again(r))
        return 0; /* a page is several stretches, and they go straight from there, at first */
    return end < t->end ? end : t->end;
}

bool zc_transfer_csum_came(struct piece *p)
{
    uint64_t lo, hi;

    if (!p->request->transfer->csums)
        return true;
    zc_server_of(p->request)->stats.checksum_bytes += p->whole;
    if (zc_wire_csum_check(sum_of(p), p->buf, p->base, p->whole, 0, &lo, &hi))
        return true;
    damaged(p->request, lo, hi);
    return false;
}

void zc_transfer_csum_go(struct piece *p)
{
    if (p->request->transfer->csums && !zc_transfer_writes(p->request))
        zc_wire_csum_make(sum_of(p), p->buf ? p->buf : p->access.data, p->base, p->whole,
                          unit_of(p->request));
}

void zc_transfer_csum_end(struct zc_request *r)
{
    const struct zc_transfer *t = r->transfer;
    uint64_t n = r->reply.count, sums;

    if (!t->csums || r->error.rc)
        return;
    zc_server_of(r)->stats.checksum_bytes += n;
    if (t->data)
        zc_wire_csum_make(t->csums, t->data, r->msg.off, n, 0);
    sums = zc_wire_csum_count(r->msg.off, n, unit_of(r));
    fold(r, sums);
    r->reply.csums = (struct zc_bytes){t->csums, (uint32_t)(ZC_CSUM_SIZE * sums)};
}
