/*
 * The file as other programs see it: plain POSIX reads, no MPI-IO.
 */
#ifndef POSIX_CHECK_H
#define POSIX_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "stamp.h"
#include "verdict.h"

/* Compares the first `bytes` of `path` with the stamps, and its size with `bytes`; with
 * `longer_ok` it may be longer. What is wrong goes to the verdict, and so does a file that cannot
 * be read. */
void posix_check(const char *path, const struct stamp *st, int64_t bytes, bool longer_ok,
                 struct verdict *v);

#endif
