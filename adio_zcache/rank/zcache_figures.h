/* zcache_figures.h - what was measured of one open of a file, over all of its ranks.
 *
 * All are sums: over the ranks, over the aggregators among them, over the daemons.  Times are
 * nanoseconds.  Counters of caches are what they grew by between open and close; other files that
 * these caches have at the same time are in them.
 */
#ifndef ZCACHE_FIGURES_H
#define ZCACHE_FIGURES_H

#include <stdint.h>

#define ZCACHE_FIGURES(X)                                                                          \
    X(ranks)                                                                                       \
    X(aggregators)   /* among them */                                                              \
    X(daemons)       /* that answered, at open and at close; figures with iod_ are theirs */       \
    X(open_ns)       /* from open to the end of close */                                           \
    X(write_ns)      /* in blocking writes, */                                                     \
    X(read_ns)       /* reads, */                                                                  \
    X(sync_ns)       /* MPI_File_sync */                                                           \
    X(close_ns)      /* and MPI_File_close */                                                      \
    X(background_ns) /* in accesses of threads of their own: nonblocking, split */                 \
    X(ranks_ns)      /* in these, and not in the times above: until other ranks had come */        \
    X(writes)                                                                                      \
    X(written_bytes)                                                                               \
    X(reads)                                                                                       \
    X(read_bytes)                                                                                  \
    X(cache_ns)  /* accesses waited in a cache of their own process, */                            \
    X(credit_ns) /* until an aggregator was ready for a request, */                                \
    X(reply_ns)  /* and for its reply */                                                           \
    X(agg_cache_bytes)                                                                             \
    X(agg_room_ns) /* accesses waited for room in caches of aggregators, */                        \
    X(agg_fill_ns) /* and for bytes from the store */                                              \
    X(agg_store_read_ns)                                                                           \
    X(agg_store_write_ns) /* and syncs */                                                          \
    X(agg_store_busy_ns)  /* at least one call of the store was under way */                       \
    X(agg_store_read_bytes)                                                                        \
    X(agg_store_written_bytes)                                                                     \
    X(agg_read_hits)                                                                               \
    X(agg_written_hits) /* of these, on pages that were written there */                           \
    X(agg_read_misses)                                                                             \
    X(agg_missed_bytes)                                                                            \
    X(agg_read_late)                                                                               \
    X(prefetched_pages)                                                                            \
    X(prefetched_bytes)                                                                            \
    X(prefetch_used_pages)                                                                         \
    X(prefetch_used_bytes)                                                                         \
    X(prefetch_late_pages)                                                                         \
    X(prefetch_late_bytes)                                                                         \
    X(prefetch_wasted_pages)                                                                       \
    X(prefetch_wasted_bytes)                                                                       \
    X(iod_room_ns)                                                                                 \
    X(iod_fill_ns)                                                                                 \
    X(iod_store_busy_ns)                                                                           \
    X(iod_store_read_bytes)                                                                        \
    X(iod_store_written_bytes)                                                                     \
    X(iod_read_hits)                                                                               \
    X(iod_read_misses)                                                                             \
    X(iod_read_late)

struct zcache_figures {
#define X(name) uint64_t name;
    ZCACHE_FIGURES(X)
#undef X
};

#endif
