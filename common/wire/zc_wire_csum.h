/* zc_wire_csum.h - checksums of file data on its way between ranks, aggregators and daemons.
 *
 * A payload carries a CRC-32C for each part that is checked on its own, little endian, in order:
 *
 *     inline   one, of all bytes
 *     by RMA   one for each stretch of the request's offsets that it touches:
 *              the server checks the bytes before they go to a page, and stretches need not arrive
 *              at the same time.  READ, WRITE: of zc_wire_csum_unit() bytes, all in one page;
 *              through a view or list: of ZC_CSUMS_UNIT bytes, wherever they are in the file
 *
 * The sender of the bytes computes the checksums, the receiver checks them, over the same memory:
 *
 *     writing  rank's memory, or aggregator's page --sums in the request-->  aggregator, or daemon:
 *              checked in a buffer before any byte goes to a page, so that a page is never damaged.
 *              On a mismatch: EBADMSG with the flag SUMS, and the client sends it again
 *     reading  daemon's page, or aggregator's --sums in the reply-->  aggregator, or rank: checked
 *              before the read completes; on a mismatch it reads again, with the flag AGAIN
 *
 * In a message with a list, each checksum is XORed with that of the list, since a damaged list
 * would put the right bytes in wrong places.
 *
 * The ranges are those of the transfer, dirty bytes as well as whole pages, and the checksums are
 * not kept: data sent again to another daemon gets new ones.  Bits flipped in a cached page are
 * found by separate checksums, cache/zc_page_csum.c.
 *
 * Bytes that the application overwrites during the transfer mismatch, too: the client notices by
 * computing the checksum again, and sends the new bytes.  Likewise bytes of a page that is written
 * while it is read: the second time the server sends a copy of them.
 */
#ifndef ZC_WIRE_CSUM_H
#define ZC_WIRE_CSUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ZC_CSUM_SIZE = 4,          /* size of a checksum in a message */
    ZC_MAX_CSUMS = 512,        /* of one payload */
    ZC_CSUMS_SPAN = 1 << 20,   /* largest transfer with checksums; ... */
    ZC_CSUMS_PAGE = 4 << 10,   /* ... for pages of at least this size */
    ZC_CSUMS_UNIT = 256 << 10, /* maximum bytes per checksum, by RMA */
};

/* Returns the bytes per checksum, by RMA to or from a server with pages of this size, in one run of
 * a file.
 */
static inline uint32_t zc_wire_csum_unit(uint32_t page)
{
    return page < ZC_CSUMS_UNIT ? page : ZC_CSUMS_UNIT;
}

/* Returns the maximum length of a transfer that begins at `off`: it ends at a possible page border,
 * as an unaligned one would touch a page more, and have more checksums than a short message has
 * room for. */
static inline uint64_t zc_wire_csum_span(uint64_t off)
{
    return ZC_CSUMS_SPAN - off % ZC_CSUMS_PAGE;
}

/* Returns the number of checksums of a payload of `len` bytes at `off`.  `unit`:
 * zc_wire_csum_unit(), or ZC_CSUMS_UNIT, powers of two; 0: inline. */
uint64_t zc_wire_csum_count(uint64_t off, uint64_t len, uint32_t unit);

/* Computes all of them, after zc_crc_load() has succeeded.  `csums` has room for
 * zc_wire_csum_count(). */
void zc_wire_csum_make(unsigned char *sums, const void *buf, uint64_t off, uint64_t len,
                       uint32_t unit);

/* XORs the checksum of a list into the first `n`; calling it twice undoes it. */
void zc_wire_csum_fold(unsigned char *sums, uint64_t n, uint32_t list);

/* Whether the bytes match; else [*lo, *hi) is the first range that does not. */
bool zc_wire_csum_check(const unsigned char *sums, const void *buf, uint64_t off, uint64_t len,
                        uint32_t unit, uint64_t *lo, uint64_t *hi);

#endif
