/*
 * The file or files as other programs see them: plain POSIX reads, no MPI-IO, which may read what
 * only its caches have.
 */
#ifndef POSIX_CHECK_H
#define POSIX_CHECK_H

#include "io.h"
#include "verdict.h"
#include "witness.h"

/* Compares all `dumps` of `path`, which is the file of `io` as the file system names it (with epio,
 * without the ranks' numbers), with what was written, and its size. What is wrong goes to the
 * verdict, and so does a file that cannot be read. Leaves what it has read in the grid's u.
 * Collective. */
void posix_check(const struct io *io, const struct witness *w, const char *path, int dumps,
                 struct verdict *v);

#endif
