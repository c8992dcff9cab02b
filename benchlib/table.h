/*
 * Tables on a terminal: aligned columns, the first to the left and the others to the right.
 * Needs no MPI.
 */
#ifndef TABLE_H
#define TABLE_H

#include <stdio.h>

#define TABLE_COLUMNS 8

struct table;

/* Returns NULL without memory; the other functions then have no effect. */
struct table *table_create(void);
void table_destroy(struct table *t);
/* `cells` ends with NULL, has at most TABLE_COLUMNS, and is copied; "" leaves a cell empty. */
void table_row(struct table *t, const char *const cells[]);
#define TABLE_ROW(t, ...) table_row(t, (const char *const[]){__VA_ARGS__, NULL})
void table_print(const struct table *t, FILE *out);

#endif
