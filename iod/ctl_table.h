/* ctl_table.h - text in aligned columns. */
#ifndef CTL_TABLE_H
#define CTL_TABLE_H

#include <stdio.h>

struct ctl_table;

/* Returns `p`; NULL: memory is exhausted, which ends the tool. */
void *ctl_must(void *p);

/* Creates a table whose first row has the names of the columns; NULL: it has no such row.  `right`
 * has a bit set for each column to be aligned to the right. */
struct ctl_table *ctl_table_create(const char *const *names, unsigned columns, unsigned long right);
void ctl_table_destroy(struct ctl_table *t);

/* Adds a cell: cells fill rows from left to right. */
void ctl_table_add(struct ctl_table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Sets the colour of the last cell's row, an escape sequence. */
void ctl_table_colour(struct ctl_table *t, const char *how);

/* Limits lines to `limit` characters; 0: no limit.  Hides columns in the order of `less` until the
 * table fits; if it does not, cells of the last column lose their beginnings, then lines their
 * ends. */
void ctl_table_fit(struct ctl_table *t, unsigned limit, const unsigned char *less, size_t n);

/* Prints the table.  Control characters, and bytes that are not UTF-8, become '?'; the last column
 * is not padded. */
void ctl_table_print(const struct ctl_table *t, FILE *f);

#endif
