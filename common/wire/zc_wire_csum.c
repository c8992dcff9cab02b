/* zc_wire_csum.c - the checksums of a payload. */
#include "config.h"

#include <endian.h>
#include <string.h>

#include "zc_crc.h"
#include "zc_tsan.h"
#include "zc_wire_csum.h"

uint64_t zc_wire_csum_count(uint64_t off, uint64_t len, uint32_t unit)
{
    if (!unit || !len)
        return 1;
    return (off + len - 1) / unit - off / unit + 1;
}

/* Where the piece that begins at `at` ends. */
static uint64_t piece_end(uint64_t at, uint64_t end, uint32_t unit)
{
    uint64_t next = unit ? at - at % unit + unit : end;

    return next < end ? next : end;
}

void zc_wire_csum_make(unsigned char *sums, const void *buf, uint64_t off, uint64_t len,
                       uint32_t unit)
{
    uint64_t at = off, end = off + len;

    do {
        uint64_t next = piece_end(at, end, unit);
        uint32_t sum;

        ZC_TSAN_RACY_BEGIN();
        sum = htole32(zc_crc((const char *)buf + (at - off), (size_t)(next - at)));
        ZC_TSAN_RACY_END();
        memcpy(sums, &sum, ZC_CSUM_SIZE);
        sums += ZC_CSUM_SIZE;
        at = next;
    } while (at < end);
}

void zc_wire_csum_fold(unsigned char *sums, uint64_t n, uint32_t list)
{
    uint32_t fold = htole32(list), sum;

    for (uint64_t i = 0; i < n; i++) {
        memcpy(&sum, sums + i * ZC_CSUM_SIZE, ZC_CSUM_SIZE);
        sum ^= fold;
        memcpy(sums + i * ZC_CSUM_SIZE, &sum, ZC_CSUM_SIZE);
    }
}

bool zc_wire_csum_check(const unsigned char *sums, const void *buf, uint64_t off, uint64_t len,
                        uint32_t unit, uint64_t *lo, uint64_t *hi)
{
    uint64_t at = off, end = off + len;

    do {
        uint64_t next = piece_end(at, end, unit);
        unsigned char sum[ZC_CSUM_SIZE];

        zc_wire_csum_make(sum, (const char *)buf + (at - off), at, next - at, 0);
        if (memcmp(sum, sums, ZC_CSUM_SIZE)) {
            *lo = at;
            *hi = next;
            return false;
        }
        sums += ZC_CSUM_SIZE;
        at = next;
    } while (at < end);
    return true;
}
