/* zcache_progress.c - reports the remaining bytes of a close that takes long.
 *
 * By a thread, because the closing one waits in its cache or for the daemons.  It makes no MPI
 * calls.  It writes lines and does not overwrite one, because mpiexec forwards them.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "zc_lock.h"
#include "zc_log.h"
#include "zc_options.h"
#include "zc_thread.h"
#include "zc_units.h"
#include "zcache_file.h"
#include "zcache_progress.h"

enum { TERMINAL_MS = 5000 }; /* interval on a terminal */

struct zcache_progress {
    struct zcache_file *file;
    uint64_t every; /* ns */
    pthread_t thread;
    struct zc_lock lock;
    zc_cond cond;
    bool stop;
    uint64_t first, first_at; /* bytes left at the first report, and its time: ns */
};

/* ms between two lines; 0: no reports. */
static uint64_t interval(const struct zc_settings *s)
{
    if (zc_option_given(s, zc_option_find("progress", ZC_SCOPE_ENV)))
        return s->progress;
    return isatty(zc_log_stderr()) ? TERMINAL_MS : 0;
}

static void tell(struct zcache_progress *p)
{
    uint64_t dirty, left, now, gone, speed = 0;
    char size[32], rate[32], text[128] = "";

    if (zcache_owners_backlog(p->file, &dirty, &left) || left == 0)
        return;
    now = zc_now();
    if (!p->first_at) {
        p->first = left;
        p->first_at = now;
    }
    gone = p->first > left ? p->first - left : 0;
    if (gone)
        speed = (uint64_t)((double)gone * 1e9 / (double)(now - p->first_at));
    if (speed)
        snprintf(text, sizeof text, ", %s/s, about %llu s",
                 zc_format_size(speed, rate, sizeof rate), (unsigned long long)(left / speed + 1));
    dprintf(zc_log_stderr(), "zcache: closing %s: %s left%s\n", p->file->path,
            zc_format_size(left, size, sizeof size), text);
}

static void *run(void *arg)
{
    struct zcache_progress *p = arg;
    uint64_t next = zc_now() + p->every;

    zc_lock_get(&p->lock);
    while (!p->stop) {
        if (zc_cond_wait_until(&p->cond, &p->lock, next) || p->stop)
            continue;
        zc_lock_put(&p->lock);
        tell(p);
        zc_lock_get(&p->lock);
        next = zc_now() + p->every;
    }
    zc_lock_put(&p->lock);
    return NULL;
}

struct zcache_progress *zcache_progress_start(struct zcache_file *f)
{
    uint64_t ms = interval(&f->settings);
    struct zcache_progress *p = ms ? calloc(1, sizeof *p) : NULL;

    if (!p)
        return NULL;
    p->file = f;
    p->every = ms * ZC_NS_PER_MS;
    zc_lock_init(&p->lock, ZC_ORDER_WAITER);
    zc_cond_init(&p->cond);
    if (zc_thread_start(&p->thread, "zc-progress", run, p) == 0)
        return p;
    pthread_cond_destroy(&p->cond);
    zc_lock_destroy(&p->lock);
    free(p); /* only the reports are missing */
    return NULL;
}

void zcache_progress_stop(struct zcache_progress *p)
{
    if (!p)
        return;
    zc_lock_get(&p->lock);
    p->stop = true;
    pthread_cond_signal(&p->cond);
    zc_lock_put(&p->lock);
    pthread_join(p->thread, NULL);
    pthread_cond_destroy(&p->cond);
    zc_lock_destroy(&p->lock);
    free(p);
}
