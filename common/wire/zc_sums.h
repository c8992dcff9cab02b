/* zc_sums.h - the checksums that travel with what ranks, aggregators and daemons move of a file.
 *
 * A payload has a CRC-32C for each piece that is checked by itself, little endian, in order:
 *
 *     inline   one, of all bytes
 *     by RMA   one for each stretch of the request's offsets that it touches, of its bytes there:
 *              the server checks what has come before it goes to a page, and stretches need not be
 *              there at the same time.  READ, WRITE: of zc_sums_unit() bytes, all in one page;
 *              through a view or list: of ZC_SUMS_UNIT bytes, wherever they are in the file
 *
 * Who has the bytes makes them, who gets the bytes checks, over the same bytes of memory:
 *
 *     writing  rank's memory, or aggregator's page --sums in the request-->  aggregator, or daemon:
 *              checked in a buffer, before any byte goes to a page, so that what the page had stays
 *              when it is damaged: EBADMSG with the flag SUMS then, and the client sends it again
 *     reading  daemon's page, or aggregator's --sums in the reply-->  aggregator, or rank: checked
 *              before the bytes are taken for read; else it reads again, with the flag AGAIN
 *
 * Where a message has a list, each sum is folded with that of the list, as both sides have it: what
 * was damaged there would put right bytes in wrong places.
 *
 * So ranges are those of the transfer, dirty bytes of a page as well as whole pages, and nothing of
 * them is kept with a page: what is sent again to another daemon gets new sums.  What is flipped in
 * a cache while it lies there is seen by sums of its own: cache/zc_page_sums.c.
 *
 * Bytes that are overwritten by their owner while they are under way differ from their sum, too:
 * the client tells that by making it again, and sends what is there now.  So do those of a page
 * that somebody writes to while it is read: the second time the server moves a copy of them.
 */
#ifndef ZC_SUMS_H
#define ZC_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ZC_SUM_SIZE = 4,          /* bytes of one in a message */
    ZC_MAX_SUMS = 512,        /* of one payload */
    ZC_SUMS_SPAN = 1 << 20,   /* bytes of a transfer that never has more: ... */
    ZC_SUMS_PAGE = 4 << 10,   /* ... pages have so many, or more */
    ZC_SUMS_UNIT = 256 << 10, /* bytes that one is of at most, by RMA */
};

/* Bytes that one is of, by RMA to or from a server with pages of this size, in one run of a file.
 */
static inline uint32_t zc_sums_unit(uint32_t page)
{
    return page < ZC_SUMS_UNIT ? page : ZC_SUMS_UNIT;
}

/* Bytes of a transfer that begins at `off`, at most: it ends where a page may, for an unaligned one
 * would touch a page more, and have more checksums than a short message has room for. */
static inline uint64_t zc_sums_span(uint64_t off)
{
    return ZC_SUMS_SPAN - off % ZC_SUMS_PAGE;
}

/* How many a payload of `len` bytes at `off` has.  `unit`: zc_sums_unit(), or ZC_SUMS_UNIT, powers
 * of two; 0: it is inline. */
uint64_t zc_sums_count(uint64_t off, uint64_t len, uint32_t unit);

/* Makes all of them; zc_crc_load() has worked.  `sums` has room for zc_sums_count(). */
void zc_sums_make(unsigned char *sums, const void *buf, uint64_t off, uint64_t len, uint32_t unit);

/* The first `n` come to have the sum of a list within; another time: to be without it again. */
void zc_sums_fold(unsigned char *sums, uint64_t n, uint32_t list);

/* Whether the bytes are those; else [*lo, *hi) are the first that are not. */
bool zc_sums_check(const unsigned char *sums, const void *buf, uint64_t off, uint64_t len,
                   uint32_t unit, uint64_t *lo, uint64_t *hi);

#endif
