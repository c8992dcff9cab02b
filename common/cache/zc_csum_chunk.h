/* zc_csum_chunk.h - checksums of a page's memory, one for each chunk of it.
 *
 * A checksum covers all bytes of its chunk, valid or not, so that it stays right while pages are
 * truncated, written back, merged and refreshed, which moves no byte.  Code that changes bytes
 * opens their chunks before, and closes them afterwards:
 *
 *     open    no checksum: bytes may change; several threads may have the chunk open
 *     closed  by the last of them: has the checksum of its bytes, or none yet
 *
 * Not locked: the owner's lock guards the chunks, and is held while closed ones are summed,
 * so that their bytes do not change.  zc_crc_load() has worked before.  [lo, hi): of the page.
 */
#ifndef ZC_CSUM_CHUNK_H
#define ZC_CSUM_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ZC_CSUM_CHUNK = 1024 }; /* bytes; pages are a multiple */

struct zc_csum_chunk {
    uint32_t crc;
    uint16_t open; /* how many accesses may change its bytes */
    bool summed;   /* crc is that of its bytes; not while it is open */
};

/* Resets the first `n`: no checksums, and not open. */
void zc_csum_chunks_clear(struct zc_csum_chunk *g, uint32_t n);
void zc_csum_chunks_open(struct zc_csum_chunk *g, uint32_t lo, uint32_t hi);
/* `data`: the page. */
void zc_csum_chunks_close(struct zc_csum_chunk *g, const void *data, uint32_t lo, uint32_t hi);
/* Whether the bytes of the i-th chunk match its checksum, or it has none. */
bool zc_csum_chunk_matches(const struct zc_csum_chunk *g, const void *data, uint32_t i);

#endif
