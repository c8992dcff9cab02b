/* zc_grain.c - checksums of what lies in a page. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "zc_crc.h"
#include "zc_grain.h"

static uint32_t end_of(uint32_t hi)
{
    return hi / ZC_GRAIN + (hi % ZC_GRAIN ? 1 : 0);
}

static const char *bytes_of(const void *data, uint32_t i)
{
    return (const char *)data + (size_t)i * ZC_GRAIN;
}

void zc_grains_clear(struct zc_grain *g, uint32_t n)
{
    memset(g, 0, n * sizeof *g);
}

void zc_grains_open(struct zc_grain *g, uint32_t lo, uint32_t hi)
{
    for (uint32_t i = lo / ZC_GRAIN; i < end_of(hi); i++) {
        if (g[i].open == UINT16_MAX)
            abort(); /* more accesses at a time than a process has */
        g[i].open++;
        g[i].summed = false;
    }
}

void zc_grains_close(struct zc_grain *g, const void *data, uint32_t lo, uint32_t hi)
{
    for (uint32_t i = lo / ZC_GRAIN; i < end_of(hi); i++) {
        if (--g[i].open > 0)
            continue;
        g[i].crc = zc_crc(bytes_of(data, i), ZC_GRAIN);
        g[i].summed = true;
    }
}

bool zc_grain_right(const struct zc_grain *g, const void *data, uint32_t i)
{
    return !g[i].summed || zc_crc(bytes_of(data, i), ZC_GRAIN) == g[i].crc;
}
