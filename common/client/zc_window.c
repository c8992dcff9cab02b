/* zc_window.c - an access made in parts, several of which are under way. */
#include "config.h"

#include <stdio.h>

#include "zc_log.h"
#include "zc_window.h"

void zc_window_init(struct zc_window *w, zc_window_finish_fn *finish, void *access)
{
    *w = (struct zc_window){.finish = finish, .access = access};
}

bool zc_window_wants(const struct zc_window *w)
{
    return !w->status && !w->ended;
}

void zc_window_fail(struct zc_window *w, int rc)
{
    if (w->status)
        return;
    w->status = rc;
    snprintf(w->text, sizeof w->text, "%s", zc_error_text(rc));
}

static void finish_oldest(struct zc_window *w)
{
    unsigned slot = w->head;
    bool wanted = zc_window_wants(w);
    int64_t got = w->finish(w->access, slot, wanted);

    w->head = (w->head + 1) % ZC_WINDOW;
    w->count--;
    if (got < 0) {
        zc_window_fail(w, (int)got);
    } else if (wanted) {
        w->moved += got;
        w->ended = got < w->len[slot];
    }
}

unsigned zc_window_slot(struct zc_window *w)
{
    if (w->count == ZC_WINDOW)
        finish_oldest(w);
    return (w->head + w->count) % ZC_WINDOW;
}

void zc_window_started(struct zc_window *w, int64_t len)
{
    w->len[(w->head + w->count) % ZC_WINDOW] = len;
    w->count++;
}

int64_t zc_window_end(struct zc_window *w)
{
    while (w->count)
        finish_oldest(w);
    return w->status ? zc_errorf(-w->status, "%s", w->text) : w->moved;
}
