/*
 * What was written, remembered.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "witness.h"

struct witness {
    const struct grid *grid;
    int dumps;
    uint64_t *sums; /* [dumps], but for the last */
    state *last;    /* [points], row by row */
};

struct witness *witness_create(const struct grid *g, int dumps)
{
    struct witness *w = calloc(1, sizeof *w);
    if (w == NULL)
        return NULL;
    w->grid = g;
    w->dumps = dumps;
    w->sums = calloc((size_t)dumps, sizeof *w->sums);
    w->last = calloc((size_t)g->points, sizeof *w->last);
    if (w->sums == NULL || w->last == NULL) {
        witness_destroy(w);
        return NULL;
    }
    return w;
}

void witness_destroy(struct witness *w)
{
    if (w == NULL)
        return;
    free(w->sums);
    free(w->last);
    free(w);
}

static size_t row_bytes(const struct row *row)
{
    return (size_t)row->cell->size[0] * sizeof(state);
}

static uint64_t checksum(const struct grid *g)
{
    XXH3_state_t hash;
    XXH3_64bits_reset(&hash);
    struct row row = grid_first_row(g);
    do {
        XXH3_64bits_update(&hash, row.u, row_bytes(&row));
    } while (grid_next_row(g, &row));
    return XXH3_64bits_digest(&hash);
}

void witness_note(struct witness *w, int dump)
{
    if (dump < w->dumps - 1) {
        w->sums[dump] = checksum(w->grid);
        return;
    }
    state *to = w->last;
    struct row row = grid_first_row(w->grid);
    do {
        memcpy(to, row.u, row_bytes(&row));
        to += row.cell->size[0];
    } while (grid_next_row(w->grid, &row));
}

void witness_poison(const struct witness *w)
{
    struct row row = grid_first_row(w->grid);
    do {
        memset(row.u, 0xff, row_bytes(&row)); /* NaN */
    } while (grid_next_row(w->grid, &row));
}

/* Counts the bytes that differ from the last dump; *place is the first one's number in the dump. */
static int64_t compare_last(const struct witness *w, int64_t *place)
{
    const state *from = w->last;
    int64_t wrong = 0;
    *place = INT64_MAX;
    struct row row = grid_first_row(w->grid);
    do {
        const unsigned char *got = (const unsigned char *)row.u;
        const unsigned char *want = (const unsigned char *)from;
        int64_t begin = grid_place(w->grid, row.cell, 0, row.y, row.z) * (int64_t)sizeof(state);
        size_t bytes = memcmp(got, want, row_bytes(&row)) != 0 ? row_bytes(&row) : 0;
        for (size_t i = 0; i < bytes; i++) {
            if (got[i] == want[i])
                continue;
            wrong++;
            if (begin + (int64_t)i < *place)
                *place = begin + (int64_t)i;
        }
        from += row.cell->size[0];
    } while (grid_next_row(w->grid, &row));
    return wrong;
}

int64_t witness_check(const struct witness *w, int dump, const char *where, struct verdict *v)
{
    int64_t bytes = w->grid->points * (int64_t)sizeof(state);
    if (dump < w->dumps - 1) {
        if (checksum(w->grid) != w->sums[dump])
            verdict_fault(v, "%sdump %d is not what was written: another checksum", where, dump);
        return bytes;
    }
    int64_t place, wrong = compare_last(w, &place);
    v->wrong += wrong;
    if (wrong > 0)
        verdict_fault(v,
                      "%sdump %d, the last: %" PRId64 " bytes are not those written, the first is "
                      "byte %" PRId64 " of the dump",
                      where, dump, wrong, place);
    return bytes;
}
