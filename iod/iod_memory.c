/* iod_memory.c - the size of a daemon's cache, by the limits on its memory. */
#include "config.h"

#include <inttypes.h>

#include "iod_memory.h"
#include "zc_log.h"
#include "zc_memory_limit.h"
#include "zc_options.h"
#include "zc_units.h"

enum {
    /* A default cache takes 1/PART of a limit, which may be the programs' as well; that of a
       dedicated aggregator, of which a host may have several, 1/PART_OF_AGGREGATOR. */
    PART = 4,
    PART_OF_AGGREGATOR = 16,
    LEAST_PAGES = 4,    /* of a default cache, however low the limit is */
    BESIDES = 64 << 20, /* bytes that a daemon needs beside its cache, without checksums */
};

static void log_limit(void *arg, const struct zc_memory_limit *l)
{
    char size[32];

    (void)arg;
    zc_info("memory limit: %s, %s", zc_format_size(l->bytes, size, sizeof size), l->text);
}

static uint64_t fitting(uint64_t bytes, const struct zc_settings *s)
{
    uint64_t least = LEAST_PAGES * s->page_size;
    uint64_t part = bytes / (s->aggregator ? PART_OF_AGGREGATOR : PART);

    return part < least ? least : part - part % s->page_size;
}

static void lower(struct zc_settings *s, const struct zc_memory_limit *l)
{
    if (l->bytes != UINT64_MAX && s->cache_size > fitting(l->bytes, s))
        s->cache_size = fitting(l->bytes, s);
}

static void warn_of(const struct zc_settings *s, const struct zc_memory_limit *l)
{
    char size[32], limit[32];

    if (l->bytes == UINT64_MAX || s->cache_size < l->bytes - (l->bytes > BESIDES ? BESIDES : 0))
        return;
    zc_warn("cache size %s does not fit into %s (%s): the daemon may be killed, or fail, when "
            "its cache fills; give less, or raise the limit",
            zc_publish_size(s->cache_size, size, sizeof size),
            zc_format_size(l->bytes, limit, sizeof limit), l->text);
}

void iod_memory_settle(struct zc_settings *s)
{
    struct zc_memory_limits least;

    zc_memory_limits_find(&least);
    if (zc_option_given(s, zc_option_find("cache_size", ZC_SCOPE_DAEMON))) {
        warn_of(s, &least.shared);
        warn_of(s, &least.own);
    } else {
        lower(s, &least.shared);
        lower(s, &least.own);
    }
}

void iod_memory_tell(const struct zc_settings *s)
{
    const struct zc_memory_limit *least;
    struct zc_memory_limits all;
    char limit[32], size[32];

    if (!zc_log_on(ZC_LOG_INFO))
        return;
    zc_memory_limit_each(log_limit, NULL);
    zc_memory_limits_find(&all);
    least = all.own.bytes < all.shared.bytes ? &all.own : &all.shared;
    zc_info("memory limit: the least is %s (%s); cache size %s",
            least->bytes == UINT64_MAX ? "unknown"
                                       : zc_format_size(least->bytes, limit, sizeof limit),
            least->text, zc_publish_size(s->cache_size, size, sizeof size));
}
