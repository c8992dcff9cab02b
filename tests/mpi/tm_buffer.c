/* tm_buffer.c - the memory of an access: filled before, compared whole afterwards. */
#include <stdlib.h>
#include <string.h>

#include "tm.h"

enum { GUARD = 64 };

/* Puts the access's bytes into `block` as expected after it: `got` of them. */
static void place(const struct tm *tm, const struct tm_access *a, uint8_t *block)
{
    const struct tm_view *v = &tm->h->views[a->rank];
    struct tm_walk file = tm_walk_view(v, a->at * v->etype->size);
    struct tm_walk mem = tm_walk_memory(a->mem);

    for (int64_t left = a->got; left;) {
        int64_t off, at, n = tm_walk_next(&file, left, &off);

        left -= n;
        while (n) {
            int64_t k = tm_walk_next(&mem, n, &at);

            for (int64_t i = 0; i < k; i++) {
                if (a->unsure && tm->image.who[off + i] == TM_UNSURE)
                    a->unsure[a->origin + at + i] = 1;
                block[a->origin + at + i] =
                    a->write ? tm_stamp(off + i, a->id) : tm_image_byte(&tm->image, off + i);
            }
            off += k;
            n -= k;
        }
    }
}

void tm_buffer_make(struct tm *tm, struct tm_access *a)
{
    const struct tm_type *t = a->mem;
    int64_t span = a->count > 1 ? (a->count - 1) * t->extent : 0;

    a->origin = GUARD - t->low;
    a->room = t->high - t->low + span + 2 * GUARD;
    a->block = malloc((size_t)a->room);
    a->want = malloc((size_t)a->room);
    a->unsure = !a->write && tm->image.unsure ? calloc(1, (size_t)a->room) : NULL;
    if (!a->block || !a->want || (!a->write && tm->image.unsure && !a->unsure))
        tm_fail(tm, "no memory for %lld bytes", (long long)a->room);
    memset(a->want, TM_FILL, (size_t)a->room);
    place(tm, a, a->want);
    if (a->write)
        memcpy(a->block, a->want, (size_t)a->room);
    else
        memset(a->block, TM_FILL, (size_t)a->room);
}

static void wrong_byte(struct tm *tm, const struct tm_access *a, int64_t view, int64_t off,
                       int64_t at, int64_t n)
{
    const uint8_t *found = a->block + a->origin + at, *want = a->want + a->origin + at;
    char text[1200], is[200], shall[200];
    int64_t same = 0;

    while (same < n && same < 16 && found[same] == found[0])
        same++;
    tm_plan_describe(tm, a, text, sizeof text);
    tm_image_decode(&tm->image, found, n, off, tm->last, is, sizeof is);
    tm_image_decode(&tm->image, want, n, off, tm->last, shall, sizeof shall);
    tm_fail(tm,
            "%s\n  first wrong byte: number %lld of the access, file offset %lld, memory %+lld\n"
            "  expected %02x: %s\n  found    %02x: %s",
            text, (long long)view, (long long)off, (long long)at, want[0], shall, found[0], is);
}

/* Finds the first wrong byte in the order of the view; gaps in memory come last. */
static void explain(struct tm *tm, const struct tm_access *a)
{
    const struct tm_view *v = &tm->h->views[a->rank];
    struct tm_walk file = tm_walk_view(v, a->at * v->etype->size);
    struct tm_walk mem = tm_walk_memory(a->mem);
    char text[1200];
    int64_t i = 0;

    for (int64_t done = 0; done < a->len;) {
        int64_t off, at, n = tm_walk_next(&file, a->len - done, &off);

        while (n) {
            int64_t k = tm_walk_next(&mem, n, &at);

            for (i = 0; i < k; i++)
                if (a->block[a->origin + at + i] != a->want[a->origin + at + i])
                    wrong_byte(tm, a, done + i, off + i, at + i, k - i);
            off += k;
            n -= k;
            done += k;
        }
    }
    for (i = 0; a->block[i] == a->want[i];)
        i++;
    tm_plan_describe(tm, a, text, sizeof text);
    tm_fail(tm, "%s\n  memory %+lld does not belong to the buffer, and was %02x, is %02x", text,
            (long long)(i - a->origin), a->want[i], a->block[i]);
}

void tm_buffer_free(struct tm_access *a)
{
    free(a->block);
    free(a->want);
    free(a->unsure);
    a->block = a->want = a->unsure = NULL;
}

void tm_buffer_check(struct tm *tm, struct tm_access *a)
{
    /* MPI leaves bytes never written undefined; data sieving does change them. */
    for (int64_t i = 0; i < a->room && tm->opt.reference; i++)
        if (a->want[i] == 0)
            a->block[i] = 0;
    for (int64_t i = 0; i < a->room && a->unsure; i++)
        if (a->unsure[i])
            a->block[i] = a->want[i];
    if (memcmp(a->block, a->want, (size_t)a->room))
        explain(tm, a);
    tm_buffer_free(a);
}
