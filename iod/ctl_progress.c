/* ctl_progress.c - progress of write-back at daemons, on a line of the terminal. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ctl_json.h"
#include "ctl_progress.h"
#include "zc_lock.h"

enum { GOODBYE_MS = 300 };

static void begin(struct ctl_progress *p)
{
    unsigned n;

    p->off = !isatty(STDERR_FILENO) || ctl_watch_create(p->daemons, GOODBYE_MS * 10, &p->watch) < 0;
    if (p->off)
        return;
    n = ctl_watch_count(p->watch);
    p->left = calloc(n, sizeof *p->left);
    for (unsigned i = 0; p->left && i < n; i++)
        p->left[i] = UINT64_MAX;
}

/* A daemon that does not answer counts as 0: it has stopped, or its answer to the command has the
 * error. */
static void take(struct ctl_progress *p, struct ctl_sample *s)
{
    p->left[s->daemon] = s->error.rc == 0 ? ctl_json_number(s->info, "stats", "dirty_bytes") : 0;
    ctl_sample_free(s);
}

/* Returns the bytes left at all daemons; UINT64_MAX: not all have answered yet. */
static uint64_t sum(const struct ctl_progress *p)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < ctl_watch_count(p->watch); i++) {
        if (p->left[i] == UINT64_MAX)
            return UINT64_MAX;
        n += p->left[i];
    }
    return n;
}

void ctl_progress_step(struct ctl_progress *p)
{
    char text[IOD_PROGRESS_TEXT];
    struct ctl_sample *s;
    uint64_t left;

    if (!p->watch && !p->off)
        begin(p);
    if (p->off || !p->left)
        return;
    while ((s = ctl_watch_take(p->watch)))
        take(p, s);
    ctl_watch_ask(p->watch);
    left = sum(p);
    if (left == UINT64_MAX || (left == 0 && !p->shown))
        return;
    fprintf(stderr, "\rwriting back: %s\033[K", iod_progress(&p->progress, zc_now(), left, text));
    p->shown = true;
}

bool ctl_progress_end(struct ctl_progress *p)
{
    if (p->shown)
        fputs("\r\033[K", stderr);
    p->shown = false;
    p->off = true;
    if (!p->watch)
        return true;
    if (!ctl_watch_destroy(p->watch, GOODBYE_MS))
        return false;
    p->watch = NULL;
    free(p->left);
    return true;
}
