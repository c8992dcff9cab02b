/*
 * A record of the dumps that were written, to verify those that are read.
 *
 * It keeps a checksum of this rank's points of each dump, and the points of the last one.
 */
#ifndef WITNESS_H
#define WITNESS_H

#include "grid.h"
#include "verdict.h"

struct witness;

/* Returns NULL without memory. The grid has to outlive it. */
struct witness *witness_create(const struct grid *g, int dumps);
void witness_destroy(struct witness *w);
/* Records u as dump `dump`. */
void witness_note(struct witness *w, int dump);
/* Fills u with values that no dump has, so that a read that delivers nothing is detected. */
void witness_poison(const struct witness *w);
/* Compares u with dump `dump`, and adds differences to the verdict. `where` begins their texts: "",
 * or "PATH read through POSIX: ". Returns the number of bytes compared. */
int64_t witness_check(const struct witness *w, int dump, const char *where, struct verdict *v);

#endif
