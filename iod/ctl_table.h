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

/* Control characters are printed as '?', the last column without padding. */
void ctl_table_print(const struct ctl_table *t, FILE *f);

#endif
