/* zc_csum_chunk.c - checksums of the memory of a page. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "zc_crc.h"
#include "zc_csum_chunk.h"

static uint32_t end_of(uint32_t hi)
{
    return hi / ZC_CSUM_CHUNK + (hi % ZC_CSUM_CHUNK ? 1 : 0);
}

static const char *bytes_of(const void *data, uint32_t i)
{
    return (const char *)data + (size_t)i * ZC_CSUM_CHUNK;
}

void zc_csum_chunks_clear(struct zc_csum_chunk *g, uint32_t n)
{
    memset(g, 0, n * sizeof *g);
}

void zc_csum_chunks_open(struct zc_csum_chunk *g, uint32_t lo, uint32_t hi)
{
    for (uint32_t i = lo / ZC_CSUM_CHUNK; i < end_of(hi); i++) {
        if (g[i].open == UINT16_MAX)
            abort(); /* more concurrent accesses than a process can have */
        g[i].open++;
        g[i].summed = false;
    }
}

void zc_csum_chunks_close(struct zc_csum_chunk *g, const void *data, uint32_t lo, uint32_t hi)
{
    for (uint32_t i = lo / ZC_CSUM_CHUNK; i < end_of(hi); i++) {
        if (--g[i].open > 0)
            continue;
        g[i].crc = zc_crc(bytes_of(data, i), ZC_CSUM_CHUNK);
        g[i].summed = true;
    }
}

bool zc_csum_chunk_matches(const struct zc_csum_chunk *g, const void *data, uint32_t i)
{
    return !g[i].summed || zc_crc(bytes_of(data, i), ZC_CSUM_CHUNK) == g[i].crc;
}
