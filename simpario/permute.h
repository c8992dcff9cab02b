/*
 * The order of an array's dimensions in memory, which may be another than in the file.
 *
 * Dimensions are numbered as in the file, 0 the slowest. A permutation lists them as memory has
 * them, the slowest first; of four dimensions there are 24, and number 0 is that of the file.
 * `s` is the prepared shape of a pattern with array4d: s->block elements of s->piece bytes.
 */
#ifndef PERMUTE_H
#define PERMUTE_H

#include "pattern.h"

#define PERMUTATIONS 24
/* For --permute, beside the number of a permutation. */
#define PERMUTE_NONE (-1)
#define PERMUTE_ALL  PERMUTATIONS /* a phase has that of its number modulo 24 */

enum permute_by { PERMUTE_BY_TYPE, PERMUTE_BY_COPY };

/* "type", "copy", NULL */
extern const char *const permute_by_names[];

/* Sets *permute to what --permute says: "none", "all", or four digits. False: it is none of them.
 */
bool permute_parse(const char *text, int *permute);
/* Returns the permutation that a phase has. */
int permute_of_phase(int permute, int phase);
/* Makes the type that takes a block, in the order of the file, out of memory that has it in
 * another. The caller frees it. */
void permute_type(const struct shape *s, int permutation, MPI_Datatype *type);
/* Copy a block from the order of the file to that of memory, and back. They do not overlap. */
void permute_to_memory(const struct shape *s, int permutation, const void *file, void *memory);
void permute_from_memory(const struct shape *s, int permutation, const void *memory, void *file);

#endif
