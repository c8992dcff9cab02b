/* zcache_stats.c - what ZCACHE_STATS=1 prints when a file is closed.
 *
 * Accesses are those of this open of the file; the caches' counters are of all that its
 * aggregators have cached since they started.
 */
#include "config.h"

#include <stdio.h>

#include "zcache_agg.h"
#include "zcache_file.h"
#include "zcache_stats.h"

enum { COUNTERS = sizeof(struct zc_cache_stats) / sizeof(uint64_t) };

/* On rank 0: sums over the aggregators. */
static void sum_caches(ADIO_File fd, struct zc_cache_stats *sum)
{
    struct zcache_file *f = zcache_file_of(fd);
    struct zc_cache_stats mine = {0};

    for (uint32_t i = 0; i < f->nowners; i++)
        if (f->owners[i].local)
            zc_cache_stats(zcache_agg_cache(f->agg), &mine);
    MPI_Reduce(&mine, sum, COUNTERS, MPI_UINT64_T, MPI_SUM, 0, fd->comm);
}

static void print_caches(const struct zcache_file *f, const struct zc_cache_stats *c)
{
    fprintf(stderr,
            "zcache: %s: %u aggregators so far: %llu hits, %llu of them on pages written here; "
            "%llu misses, %llu bytes; %llu late\n",
            f->path, f->nowners, (unsigned long long)c->read_hits,
            (unsigned long long)c->written_hits, (unsigned long long)c->read_misses,
            (unsigned long long)c->missed_bytes, (unsigned long long)c->read_late);
    fprintf(
        stderr,
        "zcache: %s: read ahead %llu pages, %llu bytes; used %llu, %llu, late %llu, %llu; "
        "wasted %llu, %llu\n",
        f->path, (unsigned long long)c->prefetched_pages, (unsigned long long)c->prefetched_bytes,
        (unsigned long long)c->prefetch_used_pages, (unsigned long long)c->prefetch_used_bytes,
        (unsigned long long)c->prefetch_late_pages, (unsigned long long)c->prefetch_late_bytes,
        (unsigned long long)c->prefetch_wasted_pages, (unsigned long long)c->prefetch_wasted_bytes);
}

void zcache_stats_report(ADIO_File fd)
{
    struct zcache_file *f = zcache_file_of(fd);
    uint64_t mine[4] = {f->writes, f->written_bytes, f->reads, f->read_bytes}, sum[4];
    struct zc_cache_stats caches = {0};
    int rank;

    MPI_Reduce(mine, sum, 4, MPI_UINT64_T, MPI_SUM, 0, fd->comm);
    sum_caches(fd, &caches);
    MPI_Comm_rank(fd->comm, &rank);
    if (rank != 0)
        return;
    fprintf(stderr, "zcache: %s: %llu writes, %llu bytes; %llu reads, %llu bytes; through %s\n",
            f->path, (unsigned long long)sum[0], (unsigned long long)sum[1],
            (unsigned long long)sum[2], (unsigned long long)sum[3],
            f->settings.daemons && *f->settings.daemons ? f->settings.daemons
                                                        : "the file system itself");
    print_caches(f, &caches);
}
