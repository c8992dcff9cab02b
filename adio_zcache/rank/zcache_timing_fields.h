/* zcache_timing_fields.h - the measures of one open of a file, over all of its ranks.
 *
 * All are sums: over the ranks, over the aggregators among them, over the daemons.  Times are
 * nanoseconds.  Counters of caches are their growth between open and close, and include other files
 * in these caches at the same time.
 */
#ifndef ZCACHE_TIMING_FIELDS_H
#define ZCACHE_TIMING_FIELDS_H

#include <stdint.h>

#define ZCACHE_TIMING_FIELDS(X)                                                                    \
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
    X(iod_read_late)                                                                               \
    X(fs_writes)       /* requests to the file system, of daemons, or of aggregators without, */   \
    X(fs_small_writes) /* those that wrote less than 64 KiB; */                                    \
    X(fs_merge_read_bytes)   /* bytes read to be written back, */                                  \
    X(fs_merge_filled_bytes) /* and written between what was dirty; */                             \
    X(fs_page_writes)        /* pages written back, */                                             \
    X(fs_page_rewrites)      /* those that had been before, in their stay in the cache */

struct zcache_timing_fields {
#define X(name) uint64_t name;
    ZCACHE_TIMING_FIELDS(X)
#undef X
};

#endif
