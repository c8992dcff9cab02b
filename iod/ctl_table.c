/* ctl_table.c - text in aligned columns.  Memory exhausted ends the tool. */
#include "config.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ctl_table.h"
#include "zc_utf8.h"

enum { SHORT = 16 /* characters that a last column of text keeps */ };

struct colour {
    size_t row;
    const char *how;
};

struct ctl_table {
    unsigned columns;
    unsigned long right, hidden; /* a bit for each column */
    unsigned limit;              /* characters a line; 0: any number */
    struct colour *colours;
    size_t ncolours;
    size_t count; /* cells */
    char **cells;
};

void *ctl_must(void *p)
{
    if (!p) {
        fputs("zcachectl: out of memory\n", stderr);
        exit(1);
    }
    return p;
}

struct ctl_table *ctl_table_create(const char *const *names, unsigned columns, unsigned long right)
{
    struct ctl_table *t = ctl_must(calloc(1, sizeof *t));

    t->columns = columns;
    t->right = right;
    for (unsigned i = 0; names && i < columns; i++)
        ctl_table_add(t, "%s", names[i]);
    return t;
}

void ctl_table_destroy(struct ctl_table *t)
{
    for (size_t i = 0; i < t->count; i++)
        free(t->cells[i]);
    free(t->cells);
    free(t->colours);
    free(t);
}

/* What a terminal would obey, or cannot show: control characters, also those of two bytes, and
 * bytes that are not UTF-8, or were not: U+FFFD. */
static void make_harmless(char *s)
{
    char *to = s;

    while (*s) {
        size_t n = zc_utf8_length(s);
        bool control = n == 1 ? iscntrl((unsigned char)*s)
                              : (unsigned char)s[0] == 0xc2 && (unsigned char)s[1] < 0xa0;

        if (n == 0 || control || (n == 3 && memcmp(s, ZC_UTF8_OTHER, n) == 0)) {
            *to++ = '?';
        } else {
            memmove(to, s, n);
            to += n;
        }
        s += n ? n : 1;
    }
    *to = '\0';
}

void ctl_table_add(struct ctl_table *t, const char *fmt, ...)
{
    char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        text = NULL;
    va_end(ap);
    make_harmless(ctl_must(text));
    t->cells = ctl_must(reallocarray(t->cells, t->count + 1, sizeof *t->cells));
    t->cells[t->count++] = text;
}

void ctl_table_colour(struct ctl_table *t, const char *how)
{
    t->colours = ctl_must(reallocarray(t->colours, t->ncolours + 1, sizeof *t->colours));
    t->colours[t->ncolours++] = (struct colour){(t->count - 1) / t->columns, how};
}

/* ---- printing ---- */

static bool is_set(unsigned long bits, unsigned c)
{
    return c < 8 * sizeof bits && (bits & 1ul << c);
}

static bool is_last(const struct ctl_table *t, unsigned c)
{
    return c + 1 == t->columns;
}

/* In characters; all there are here are UTF-8. */
static unsigned characters(const char *s)
{
    unsigned n = 0;

    for (; *s; s++)
        n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

static unsigned width(const struct ctl_table *t, unsigned column)
{
    unsigned w = 0;

    for (size_t i = column; i < t->count; i += t->columns)
        if (characters(t->cells[i]) > w)
            w = characters(t->cells[i]);
    return w;
}

/* As much as it needs: text in the last column may be shorter than it is. */
static unsigned least_width(const struct ctl_table *t)
{
    unsigned all = 0;

    for (unsigned c = 0; c < t->columns; c++) {
        unsigned w = is_set(t->hidden, c) ? 0 : width(t, c) + (is_last(t, c) ? 0 : 2);

        all += is_last(t, c) && !is_set(t->right, c) && w > SHORT ? SHORT : w;
    }
    return all;
}

void ctl_table_fit(struct ctl_table *t, unsigned limit, const unsigned char *less, size_t n)
{
    t->limit = limit;
    for (size_t i = 0; limit && i < n && least_width(t) > limit; i++)
        t->hidden |= 1ul << less[i];
}

struct line {
    FILE *f;
    unsigned left; /* characters there is room for */
};

static void put(struct line *l, const char *s)
{
    for (; *s; s++) {
        bool begins = ((unsigned char)*s & 0xc0) != 0x80;

        if (begins && l->left == 0)
            return;
        l->left -= begins;
        fputc(*s, l->f);
    }
}

static void pad(struct line *l, unsigned n)
{
    for (; n; n--)
        put(l, " ");
}

/* The end of what there is too little room for: of paths it tells more than the beginning. */
static void put_tail(struct line *l, const char *s)
{
    unsigned n = characters(s);

    if (n > l->left && l->left > 3) {
        unsigned drop = n - (l->left - 3);

        put(l, "...");
        for (; drop; drop--)
            s += zc_utf8_length(s);
    }
    put(l, s);
}

static void put_cell(const struct ctl_table *t, struct line *l, unsigned c, const char *s,
                     unsigned w)
{
    unsigned room = w > characters(s) ? w - characters(s) : 0;

    if (is_set(t->right, c)) {
        pad(l, room);
        put(l, s);
    } else if (is_last(t, c) && c > 0) {
        put_tail(l, s);
    } else {
        put(l, s);
        pad(l, is_last(t, c) ? 0 : room);
    }
    pad(l, is_last(t, c) ? 0 : 2);
}

static const char *colour_of(const struct ctl_table *t, size_t row)
{
    for (size_t i = 0; i < t->ncolours; i++)
        if (t->colours[i].row == row)
            return t->colours[i].how;
    return NULL;
}

static void print_row(const struct ctl_table *t, FILE *f, size_t row, const unsigned *widths)
{
    struct line l = {f, t->limit ? t->limit : ~0u};
    const char *colour = colour_of(t, row);

    fputs(colour ? colour : "", f);
    for (unsigned c = 0; c < t->columns; c++)
        if (!is_set(t->hidden, c))
            put_cell(t, &l, c, t->cells[row * t->columns + c], widths[c]);
    fputs(colour ? "\033[0m\n" : "\n", f);
}

void ctl_table_print(const struct ctl_table *t, FILE *f)
{
    unsigned *widths = ctl_must(calloc(t->columns, sizeof *widths));

    for (unsigned c = 0; c < t->columns; c++)
        widths[c] = width(t, c);
    for (size_t row = 0; row < t->count / t->columns; row++)
        print_row(t, f, row, widths);
    free(widths);
}
