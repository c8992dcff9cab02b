/*
 * Tables: rows are kept until print time, when the width of every column is known.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "table.h"

struct row {
    char *cells[TABLE_COLUMNS];
    struct row *next;
};

struct table {
    int width[TABLE_COLUMNS];
    struct row *first, **last;
};

struct table *table_create(void)
{
    struct table *t = calloc(1, sizeof *t);
    if (t != NULL)
        t->last = &t->first;
    return t;
}

void table_destroy(struct table *t)
{
    if (t == NULL)
        return;
    for (struct row *r = t->first, *next; r != NULL; r = next) {
        next = r->next;
        for (int i = 0; i < TABLE_COLUMNS; i++)
            free(r->cells[i]);
        free(r);
    }
    free(t);
}

void table_row(struct table *t, const char *const cells[])
{
    struct row *r = t != NULL ? calloc(1, sizeof *r) : NULL;
    if (r == NULL)
        return;
    for (int i = 0; i < TABLE_COLUMNS && cells[i] != NULL; i++) {
        r->cells[i] = strdup(cells[i]);
        int width = (int)strlen(cells[i]);
        if (width > t->width[i])
            t->width[i] = width;
    }
    *t->last = r;
    t->last = &r->next;
}

static void print_row(const struct table *t, const struct row *r, FILE *out)
{
    int last = -1;
    for (int i = 0; i < TABLE_COLUMNS; i++) {
        if (r->cells[i] != NULL && r->cells[i][0] != '\0')
            last = i;
    }
    for (int i = 0; i <= last; i++) {
        const char *cell = r->cells[i] != NULL ? r->cells[i] : "";
        if (i == 0)
            fprintf(out, "%-*s", last == 0 ? 0 : t->width[0], cell);
        else
            fprintf(out, "  %*s", t->width[i], cell);
    }
    fputc('\n', out);
}

void table_print(const struct table *t, FILE *out)
{
    if (t == NULL)
        return;
    for (const struct row *r = t->first; r != NULL; r = r->next)
        print_row(t, r, out);
}
