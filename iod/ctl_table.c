/* ctl_table.c - text in aligned columns.  Memory exhausted ends the tool. */
#include "config.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "ctl_table.h"
#include "ctl_text.h"

struct ctl_table {
    unsigned columns;
    unsigned long right;
    size_t count; /* cells */
    char **cells;
};

static void *must(void *p)
{
    if (!p) {
        fputs("zcachectl: out of memory\n", stderr);
        exit(1);
    }
    return p;
}

struct ctl_table *ctl_table_create(unsigned columns, unsigned long right)
{
    struct ctl_table *t = must(calloc(1, sizeof *t));

    t->columns = columns;
    t->right = right;
    return t;
}

void ctl_table_destroy(struct ctl_table *t)
{
    for (size_t i = 0; i < t->count; i++)
        free(t->cells[i]);
    free(t->cells);
    free(t);
}

/* What a terminal would obey, or cannot show: control characters, also those of two bytes, and
 * bytes that are not UTF-8. */
static void make_harmless(char *s)
{
    while (*s) {
        size_t n = ctl_text_character(s);
        bool control = n == 1 ? iscntrl((unsigned char)*s)
                              : (unsigned char)s[0] == 0xc2 && (unsigned char)s[1] < 0xa0;

        if (n == 0 || control)
            memset(s, '?', n ? n : 1);
        s += n ? n : 1;
    }
}

void ctl_table_add(struct ctl_table *t, const char *fmt, ...)
{
    char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        text = NULL;
    va_end(ap);
    make_harmless(must(text));
    t->cells = must(reallocarray(t->cells, t->count + 1, sizeof *t->cells));
    t->cells[t->count++] = text;
}

static int width(const struct ctl_table *t, unsigned column)
{
    size_t w = 0;

    for (size_t i = column; i < t->count; i += t->columns)
        if (strlen(t->cells[i]) > w)
            w = strlen(t->cells[i]);
    return (int)w;
}

void ctl_table_print(const struct ctl_table *t, FILE *f)
{
    int *widths = must(calloc(t->columns, sizeof *widths));

    for (unsigned c = 0; c < t->columns; c++)
        widths[c] = width(t, c);
    for (size_t i = 0; i < t->count; i++) {
        unsigned c = (unsigned)(i % t->columns);
        int last = c + 1 == t->columns;

        if (c < 8 * sizeof t->right && (t->right & 1ul << c))
            fprintf(f, "%*s", widths[c], t->cells[i]);
        else
            fprintf(f, "%-*s", last ? 0 : widths[c], t->cells[i]);
        fputs(last ? "\n" : "  ", f);
    }
    free(widths);
}
