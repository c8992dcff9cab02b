/* zc_posts_making.c - one write that was left in shared memory, on its way into the cache. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_log.h"
#include "zc_posts_making.h"

enum { VIEW_MEMORY = 64 << 10 }; /* bytes of one that came with a write, decoded */

bool zc_posts_makes_sense(const struct zc_letter *l, uint32_t at, uint64_t there)
{
    uint32_t room;

    if (!l->len || l->len > ZC_POST_MAX || l->view > ZC_POST_VIEW ||
        l->off > (uint64_t)INT64_MAX - l->len)
        return false;
    room = zc_post_room(l->len, l->view);
    return room <= there && room <= ZC_POSTBOX - at;
}

/* ---- the view ---- */

void zc_posts_forget(struct zc_posts_known *k)
{
    zc_view_put(k->view);
    k->view = NULL;
    k->len = 0;
}

static int learn(struct zc_posts_known *k, const unsigned char *encoded, uint32_t len)
{
    unsigned char bytes[ZC_POST_VIEW];
    int rc;

    memcpy(bytes, encoded, len);
    if (k->view && k->len == len && !memcmp(k->bytes, bytes, len))
        return 0;
    zc_posts_forget(k);
    rc = zc_view_decode(bytes, len, VIEW_MEMORY, &k->view);
    if (rc)
        return rc;
    memcpy(k->bytes, bytes, len);
    k->len = len;
    return 0;
}

static int look_through(struct zc_making *m)
{
    int rc = 0;

    m->view = NULL;
    if (m->letter.view) {
        memcpy(&m->disp, m->bed, sizeof m->disp);
        rc = learn(m->known, m->bed + sizeof m->disp, m->letter.view);
    }
    if (rc == 0 && m->letter.view)
        m->view = m->known->view;
    return rc;
}

/* ---- what does not arrive ---- */

/* Where the rest lies in the file: in [lo, hi). */
static void rest(const struct zc_making *m, int64_t *lo, int64_t *hi)
{
    int64_t from = (int64_t)m->letter.off + m->done;
    int64_t last = (int64_t)m->letter.off + m->letter.len - 1;

    if (!m->letter.view) {
        *lo = from;
        *hi = last + 1;
    } else if (m->view && zc_view_monotone(m->view) &&
               zc_view_to_file(m->view, m->disp, from, lo) == 0 && *lo >= 0 &&
               zc_view_to_file(m->view, m->disp, last, hi) == 0 && *hi < INT64_MAX) {
        *hi += 1;
    } else { /* who knows */
        *lo = m->disp > 0 ? m->disp : 0;
        *hi = INT64_MAX;
    }
}

static void lose(struct zc_making *m, int err, const char *why)
{
    uint32_t bytes = m->letter.len - m->done;
    int64_t lo, hi;

    rest(m, &lo, &hi);
    if (m->file)
        zc_cache_lose(m->file, (uint64_t)lo, (uint64_t)hi, bytes, err, why);
    else
        zc_error("%u bytes that a process of this host wrote are lost: %s", bytes, why);
    m->done = m->letter.len;
}

/* ---- page after page ---- */

static void ready(struct zc_access *a)
{
    struct zc_making *m = zc_list_entry(a, struct zc_making, access);

    m->status = a->status;
    if (a->status < 0)
        snprintf(m->text, sizeof m->text, "%s", zc_error_text(a->status));
    m->ready(m);
}

static int aim(struct zc_making *m)
{
    uint64_t off = m->letter.off + m->done;
    uint32_t left = m->letter.len - m->done, room;

    memset(&m->access, 0, sizeof m->access);
    m->access.handle = m->file;
    m->access.dir = ZC_WRITE;
    m->access.ready = ready;
    if (m->view)
        return zc_cache_aim(&m->access, m->view, m->disp, (int64_t)off, left, &m->ranges, &m->part);
    room = m->page_size - (uint32_t)(off % m->page_size);
    m->access.off = off;
    m->access.len = left < room ? left : room;
    m->part = m->access.len;
    return 0;
}

/* The bytes of what is begun. */
static void copy(struct zc_making *m)
{
    const unsigned char *from = m->bed + zc_post_before(m->letter.view) + m->done;
    struct zc_access *a = &m->access;

    if (m->view) {
        zc_view_scatter(m->view, m->disp, (int64_t)m->letter.off + m->done, from, m->part, a->data,
                        (int64_t)a->off, a->len);
        zc_cache_end_ranges(a, m->ranges.r, m->ranges.n);
    } else {
        memcpy(a->data, from, a->len);
        zc_cache_end(a, a->len);
    }
    m->done += (uint32_t)m->part;
}

static bool move(struct zc_making *m)
{
    while (m->done < m->letter.len) {
        int rc = aim(m);

        if (rc == 0)
            rc = zc_cache_begin(&m->access);
        if (rc == -EINPROGRESS)
            return false;
        if (rc)
            lose(m, rc, zc_error_text(rc));
        else
            copy(m);
    }
    return true;
}

bool zc_making_begin(struct zc_making *m)
{
    int rc;

    m->done = 0;
    rc = look_through(m);
    if (!m->file)
        lose(m, -EBADF, "no such open file");
    else if (rc)
        lose(m, rc, rc == -EPROTO ? "the view that came with them is none" : zc_error_text(rc));
    return move(m);
}

bool zc_making_go_on(struct zc_making *m)
{
    if (m->status < 0)
        lose(m, m->status, m->text);
    else
        copy(m);
    return move(m);
}

void zc_making_free(struct zc_making *m)
{
    free(m->ranges.r);
    m->ranges = (struct zc_view_ranges){0};
}
