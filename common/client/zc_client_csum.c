/* zc_client_csum.c - transfers with checksums (zc_wire_csum.h): computed, checked, and repeated. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_crc.h"
#include "zc_log.h"
#include "zc_net_internal.h"
#include "zc_tsan.h"

enum {
    TRIES = 4, /* for damaged data */
};

static uint32_t unit_of(const struct zc_client *c, const struct zc_io *io)
{
    if (!io->by_rma)
        return 0;
    return io->view || io->list ? (uint32_t)ZC_CSUMS_UNIT : zc_wire_csum_unit(c->page_size);
}

static void fold(struct zc_io *io)
{
    if (io->list)
        zc_wire_csum_fold(io->csums, io->ncsums, zc_crc(io->list, io->list_len));
}

int zc_io_csum(struct zc_client *c, struct zc_io *io, struct zc_msg *m)
{
    uint64_t n = zc_wire_csum_count(io->off, io->len, unit_of(c, io));
    int rc = zc_crc_load();

    if (rc)
        return rc;
    if (n > ZC_MAX_CSUMS)
        return zc_errorf(EINVAL, "%zu bytes have too many checksums for a transfer", io->len);
    io->csums = malloc(n * ZC_CSUM_SIZE);
    if (!io->csums)
        return zc_errorf(ENOMEM, "no memory for checksums");
    io->ncsums = (uint32_t)n;
    if (io->write) {
        zc_wire_csum_make(io->csums, io->buf, io->off, io->len, unit_of(c, io));
        fold(io);
    }
    m->flags |= ZC_F_SUMS | (io->raced ? ZC_F_RACED : io->tries ? ZC_F_AGAIN : 0);
    m->csums = (struct zc_bytes){io->csums, io->ncsums * ZC_CSUM_SIZE};
    return 0;
}

/* Whether the program has overwritten its buffer since it was sent. */
static bool overwritten(struct zc_client *c, struct zc_io *io)
{
    uint64_t lo, hi;

    fold(io);
    return !zc_wire_csum_check(io->csums, io->buf, io->off, io->len, unit_of(c, io), &lo, &hi);
}

/* Checks `n` bytes received; on a mismatch returns where. */
static int check_read(struct zc_client *c, struct zc_io *io, uint64_t n, uint32_t sums,
                      uint64_t *lo, uint64_t *hi)
{
    if (n > io->len || sums != ZC_CSUM_SIZE * zc_wire_csum_count(io->off, n, unit_of(c, io)))
        return zc_errorf(EPROTO, "%s: %u bytes of checksums for %llu of data", c->label, sums,
                         (unsigned long long)n);
    fold(io);
    if (zc_wire_csum_check(io->csums, io->buf, io->off, n, unit_of(c, io), lo, hi))
        return 0;
    return zc_errorf(EBADMSG, "%s: what was read came damaged", c->label);
}

/* Fails: the bytes were damaged each time.  Offsets are those of the file, or view offsets, which
 * the caller translates. */
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

/* Replaces io->buf with a private copy, so that the program cannot change bytes between checksum
 * and send.  False: there is a copy already, or no memory; the retry sends io->buf. */
static bool keep_copy(struct zc_io *io)
{
    void *copy = io->original ? NULL : malloc(io->len);

    if (!copy)
        return false;
    ZC_TSAN_RACY_BEGIN();
    memcpy(copy, io->buf, io->len);
    ZC_TSAN_RACY_END();
    io->original = io->buf;
    io->buf = copy;
    return true;
}

void zc_io_drop_copy(struct zc_io *io)
{
    if (!io->original)
        return;
    free(io->buf);
    io->buf = io->original;
    io->original = NULL;
}

/* At most once a second: a busy transfer may be damaged often. */
static void tell_damage(const struct zc_io *io, uint64_t lo, uint64_t hi, const char *text)
{
    static uint64_t told;
    uint64_t last = __atomic_load_n(&told, __ATOMIC_RELAXED), now = zc_now();

    if ((last && now - last < 1000 * ZC_NS_PER_MS) ||
        !__atomic_compare_exchange_n(&told, &last, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return;
    zc_warn("bytes %llu-%llu of handle %llu, attempt %u: %s", (unsigned long long)lo,
            (unsigned long long)(hi - 1), (unsigned long long)io->handle, io->tries, text);
}

int zc_io_check(struct zc_client *c, struct zc_io *io, int rc, const struct zc_msg *reply)
{
    uint64_t lo = io->off, hi = io->off + io->len;
    bool race, read = !io->write && rc == 0;
    struct zc_error e;

    if (read)
        rc = check_read(c, io, reply->count, reply->csums.n, &lo, &hi);
    if (rc != -EBADMSG || (!read && !(io->write && reply->flags & ZC_F_SUMS)))
        return rc;
    zc_error_keep(&e, rc);
    race = !read && overwritten(c, io);
    io->raced = race && keep_copy(io);
    if (race)
        return -EAGAIN;
    io->tries++;
    tell_damage(io, lo, hi, e.text);
    if (io->tries < TRIES)
        return -EAGAIN;
    return give_up(io, lo, hi, e.text);
}
