/*
 * A file as other programs see it: plain POSIX reads, no MPI-IO.
 */
#ifndef POSIX_FILE_H
#define POSIX_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "verdict.h"

/* Opens it, and compares its size with `bytes`; with `longer_ok` it may be longer. What is wrong
 * goes to the verdict, and so does a file that cannot be opened: then it returns -1. The caller
 * closes what is returned. */
int posix_file_open(const char *path, int64_t bytes, bool longer_ok, struct verdict *v);
/* Returns the bytes read, less than `len` only at the end of the file, or -1 where it cannot be
 * read, which is a fault. */
ssize_t posix_file_read(int fd, const char *path, void *buf, size_t len, int64_t offset,
                        struct verdict *v);

#endif
