/* zc_pipeline.c - an access made in parts, several of which are under way. */
#include "config.h"

#include "zc_error.h"
#include "zc_pipeline.h"

struct pipeline {
    zc_pipeline_finish_fn *finish;
    void *access;
    unsigned head, count; /* slots of the parts under way, from the oldest */
    int64_t len[ZC_PIPELINE_DEPTH];
    int64_t moved;         /* up to the first byte that is missing */
    bool ended;            /* a part had less than its length */
    struct zc_error error; /* the first one */
};

static bool goes_on(const struct pipeline *w)
{
    return !w->error.rc && !w->ended;
}

static void finish_oldest(struct pipeline *w)
{
    unsigned slot = w->head;
    bool wanted = goes_on(w);
    int64_t got = w->finish(w->access, slot, wanted);

    w->head = (w->head + 1) % ZC_PIPELINE_DEPTH;
    w->count--;
    if (got < 0) {
        zc_error_join(&w->error, (int)got);
    } else if (wanted) {
        w->moved += got;
        w->ended = got < w->len[slot];
    }
}

int64_t zc_pipeline_run(zc_pipeline_start_fn *start, zc_pipeline_finish_fn *finish, void *access)
{
    struct pipeline w; /* zeroing all of it would cost a small access more */
    int64_t len = 1;

    w.finish = finish;
    w.access = access;
    w.head = w.count = 0;
    w.moved = 0;
    w.ended = false;
    w.error.rc = 0; /* its text is read with an error only */
    while (len > 0 && goes_on(&w)) {
        unsigned slot = (w.head + w.count) % ZC_PIPELINE_DEPTH;

        len = start(access, slot);
        if (len < 0) {
            zc_error_join(&w.error, (int)len);
        } else if (len > 0) {
            w.len[slot] = len;
            if (++w.count == ZC_PIPELINE_DEPTH)
                finish_oldest(&w);
        }
    }
    while (w.count)
        finish_oldest(&w);
    return w.error.rc ? zc_error_raise(&w.error) : w.moved;
}
