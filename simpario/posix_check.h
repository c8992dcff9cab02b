/*
 * The file as other programs see it: plain POSIX reads, no MPI-IO.
 */
#ifndef POSIX_CHECK_H
#define POSIX_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "content.h"
#include "verdict.h"

/* Compares the first `bytes` of `path` with what has to be there, and its size with `bytes`; with
 * `longer_ok` it may be longer. With `gaps`, holes have to be zeros. What is wrong goes to the
 * verdict, and so does a file that cannot be read. */
void posix_check(const char *path, const struct content *c, int64_t bytes, bool longer_ok,
                 bool gaps, struct verdict *v);

#endif
