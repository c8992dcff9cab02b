/* ctl_table.h - text in aligned columns. */
#ifndef CTL_TABLE_H
#define CTL_TABLE_H

#include <stdio.h>

struct ctl_table;

/* `right` has a bit set for each column to be aligned to the right. */
struct ctl_table *ctl_table_create(unsigned columns, unsigned long right);
void ctl_table_destroy(struct ctl_table *t);

/* Fills cells from left to right, row by row. */
void ctl_table_add(struct ctl_table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The row of the cell that was added last is drawn so: an escape sequence. */
void ctl_table_colour(struct ctl_table *t, const char *how);

/* No line is to have more than `limit` characters; 0: any number.  Columns go in the order of
 * `less`, then the last one loses the beginnings of its cells, then lines their ends. */
void ctl_table_fit(struct ctl_table *t, unsigned limit, const unsigned char *less, size_t n);

/* Control characters and what is not UTF-8 are printed as '?', the last column without padding. */
void ctl_table_print(const struct ctl_table *t, FILE *f);

#endif
