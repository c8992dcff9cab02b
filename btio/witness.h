/*
 * What was written, remembered: so that what is read can be told from it.
 *
 * Of each dump a checksum of this rank's points is kept, of the last one the points themselves.
 */
#ifndef WITNESS_H
#define WITNESS_H

#include "grid.h"
#include "verdict.h"

struct witness;

/* NULL when memory ran out. The grid has to outlive it. */
struct witness *witness_create(const struct grid *g, int dumps);
void witness_destroy(struct witness *w);
/* Remembers u as dump `dump`. */
void witness_note(struct witness *w, int dump);
/* Fills u with what no dump can hold, so that a read which delivers nothing cannot look right. */
void witness_poison(const struct witness *w);
/* Compares u with dump `dump`; what differs goes to the verdict, in words that begin with where it
 * was read: "", or "PATH read through POSIX: ". Returns the bytes that were compared. */
int64_t witness_check(const struct witness *w, int dump, const char *where, struct verdict *v);

#endif
