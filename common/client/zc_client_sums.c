/* zc_client_sums.c - transfers with checksums (zc_sums.h): made, checked, and made again. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_crc.h"
#include "zc_log.h"
#include "zc_net_internal.h"

enum {
    TRIES = 4, /* of bytes that come damaged */
    RACES = 64 /* of bytes that are overwritten meanwhile */
};

static uint32_t unit_of(const struct zc_client *c, const struct zc_io *io)
{
    if (!io->by_rma)
        return 0;
    return io->view || io->list ? (uint32_t)ZC_SUMS_UNIT : zc_sums_unit(c->page_size);
}

static void fold(struct zc_io *io)
{
    if (io->list)
        zc_sums_fold(io->sums, io->nsums, zc_crc(io->list, io->list_len));
}

int zc_io_sums(struct zc_client *c, struct zc_io *io, struct zc_msg *m)
{
    uint64_t n = zc_sums_count(io->off, io->len, unit_of(c, io));
    int rc = zc_crc_load();

    if (rc)
        return rc;
    if (n > ZC_MAX_SUMS)
        return zc_errorf(EINVAL, "%zu bytes have too many checksums for a transfer", io->len);
    io->sums = malloc(n * ZC_SUM_SIZE);
    if (!io->sums)
        return zc_errorf(ENOMEM, "no memory for checksums");
    io->nsums = (uint32_t)n;
    if (io->write) {
        zc_sums_make(io->sums, io->buf, io->off, io->len, unit_of(c, io));
        fold(io);
    }
    m->flags |= ZC_F_SUMS | (io->tries && !io->write ? ZC_F_AGAIN : 0);
    m->sums = (struct zc_bytes){io->sums, io->nsums * ZC_SUM_SIZE};
    return 0;
}

/* Whether our own bytes are not those any more that were sent. */
static bool overwritten(struct zc_client *c, struct zc_io *io)
{
    uint64_t lo, hi;

    fold(io);
    return !zc_sums_check(io->sums, io->buf, io->off, io->len, unit_of(c, io), &lo, &hi);
}

/* What has come, `n` bytes, is what was sent; else where it is not. */
static int check_read(struct zc_client *c, struct zc_io *io, uint64_t n, uint32_t sums,
                      uint64_t *lo, uint64_t *hi)
{
    if (n > io->len || sums != ZC_SUM_SIZE * zc_sums_count(io->off, n, unit_of(c, io)))
        return zc_errorf(EPROTO, "%s: %u bytes of checksums for %llu of data", c->label, sums,
                         (unsigned long long)n);
    fold(io);
    return zc_sums_check(io->sums, io->buf, io->off, n, unit_of(c, io), lo, hi) ? 0 : -EBADMSG;
}

/* They came damaged each time.  Offsets are the file's, or else those of what is looked through,
 * and whoever does says where that is. */
static int give_up(struct zc_io *io, uint64_t lo, uint64_t hi, const char *text)
{
    static const char each[] = "a wrong checksum each time they are moved";

    io->bad_lo = (size_t)(lo - io->off);
    io->bad_hi = (size_t)(hi - io->off);
    if (io->view || io->list)
        return zc_errorf(EIO, "%s: %s", each, text);
    return zc_errorf(EIO, "bytes %llu-%llu have %s: %s", (unsigned long long)lo,
                     (unsigned long long)(hi - 1), each, text);
}

int zc_io_check(struct zc_client *c, struct zc_io *io, int rc, const struct zc_msg *reply)
{
    uint64_t lo = io->off, hi = io->off + io->len;
    bool race = false;
    char text[200] = "";

    if (io->write && rc == -EBADMSG && reply->flags & ZC_F_SUMS) {
        race = overwritten(c, io);
        snprintf(text, sizeof text, "%s", zc_error_text(rc));
    } else if (!io->write && rc == 0) {
        rc = check_read(c, io, reply->count, reply->sums.n, &lo, &hi);
        if (rc != -EBADMSG)
            return rc;
        snprintf(text, sizeof text, "%s: what was read came damaged", c->label);
    } else {
        return rc;
    }
    if (race && ++io->races < RACES)
        return -EAGAIN;
    io->tries++;
    zc_warn("bytes %llu-%llu of handle %llu, attempt %u: %s", (unsigned long long)lo,
            (unsigned long long)(hi - 1), (unsigned long long)io->handle, io->tries, text);
    if (io->tries < TRIES)
        return -EAGAIN;
    return give_up(io, lo, hi, text);
}
