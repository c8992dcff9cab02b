/* zcache_open_files.c - the files that this process has open, for its end. */
#include "config.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "zc_lock.h"
#include "zc_log.h"
#include "zc_unwritten.h"
#include "zcache_exit.h"
#include "zcache_file.h"
#include "zcache_loss_report.h"
#include "zcache_open_files.h"

static struct zc_lock lock = ZC_LOCK_INITIALIZER(ZC_ORDER_PROCESS);
static zc_cond idle = PTHREAD_COND_INITIALIZER;

/* Under the lock. */
static struct zc_list files = {&files, &files};
static uint64_t round_now; /* of flushes */

/* The next file that this round has not flushed yet; it stays until it is not busy. */
static struct zcache_file *next_of(uint64_t round)
{
    struct zcache_file *found = NULL;

    zc_lock_get(&lock);
    zc_list_each (&files, n) {
        struct zcache_file *f = zc_list_entry(n, struct zcache_file, open_link);

        if (!found && f->flush_round < round)
            found = f;
    }
    if (found) {
        found->flush_round = round;
        found->flushing++;
    }
    zc_lock_put(&lock);
    return found;
}

static void let_go(struct zcache_file *f)
{
    zc_lock_get(&lock);
    f->flushing--;
    pthread_cond_broadcast(&idle);
    zc_lock_put(&lock);
}

/* Every file, each once, though others are opened and closed meanwhile.  Returns the first error;
 * each has been logged. */
static int flush_all(void)
{
    struct zcache_file *f;
    uint64_t round;
    int first = 0;

    zc_lock_get(&lock);
    round = ++round_now;
    zc_lock_put(&lock);
    while ((f = next_of(round))) {
        int rc = zcache_owners_flush_connected(f, (enum zc_level)f->settings.close_level);

        if (rc)
            zc_error("the program ends with %s open, and what it wrote there may be lost: %s",
                     f->path, zc_error_text(rc));
        let_go(f);
        first = first ? first : rc;
    }
    return first;
}

static void name_loss(void *why, const struct zc_loss *l)
{
    char ranges[256] = "";
    size_t len = 0;

    for (unsigned i = 0; i < l->nspans && len < sizeof ranges; i++)
        len += (size_t)snprintf(ranges + len, sizeof ranges - len, " %" PRIu64 "-%" PRIu64,
                                l->spans[i].lo, l->spans[i].hi - 1);
    zc_error("%s: %" PRIu64 " bytes within%s are lost: "
             "the program is ended before they are written back: %s",
             l->path, l->bytes, ranges, (const char *)why);
}

static struct zc_cache *cache_of(const struct zc_list *at)
{
    const struct zcache_file *f = zc_list_entry(at, struct zcache_file, open_link);

    return f->agg ? zcache_agg_cache(f->agg) : NULL;
}

/* Whether an earlier file in the list has the same cache; with the lock. */
static bool is_named(const struct zc_list *file)
{
    for (const struct zc_list *at = files.next; at != file; at = at->next)
        if (cache_of(at) == cache_of(file))
            return true;
    return false;
}

/* Reports what each cache still has, once per cache, by the name of its first file. */
static void name_left(const char *why)
{
    zc_lock_get(&lock);
    zc_list_each (&files, at) {
        struct zc_cache *c = cache_of(at);

        if (!c || is_named(at))
            continue;
        zc_cache_unwritten(c, name_loss, (void *)why);
        zcache_losses_report_unwritten(c);
    }
    zc_lock_put(&lock);
    zc_unwritten_named();
}

void zcache_open_files_add(struct zcache_file *f)
{
    zcache_exit_flushes(flush_all, name_left);
    zc_lock_get(&lock);
    f->flush_round = round_now;
    zc_list_add_tail(&files, &f->open_link);
    zc_lock_put(&lock);
}

void zcache_open_files_remove(struct zcache_file *f)
{
    zc_lock_get(&lock);
    while (f->flushing)
        zc_cond_wait(&idle, &lock);
    if (zc_list_linked(&f->open_link))
        zc_list_del(&f->open_link);
    zc_lock_put(&lock);
}
