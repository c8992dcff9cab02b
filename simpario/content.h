/*
 * The expected content of a file: stamps, parts that the pattern makes, such as a table of offsets,
 * and holes.
 */
#ifndef CONTENT_H
#define CONTENT_H

#include <stdbool.h>
#include <stdint.h>

#include "pattern.h"
#include "stamp.h"

struct content {
    const struct pattern *pattern;
    const struct shape *shape; /* of any rank that has this file */
    struct stamp stamp;
};

/* Fills `buf` with the content from `offset` on; leaves bytes of holes unchanged. */
void content_fill(const struct content *c, int64_t offset, void *buf, int64_t len);
/* Returns how many of these bytes are not in holes. */
int64_t content_bytes(const struct content *c, int64_t offset, int64_t len);

/* The first wrong byte of a range, and how much else is wrong there. */
struct content_fault {
    int64_t wrong;  /* bytes that differ, in the whole range */
    int64_t offset; /* in the file */
    char text[256]; /* "byte 17: ..." */
};

/* Returns the number of wrong bytes; fills in *fault if that is not 0. MPI leaves the content of
 * holes undefined; with `holes`, they have to be zeros. */
int64_t content_check(const struct content *c, int64_t offset, const void *buf, int64_t len,
                      bool holes, struct content_fault *fault);

#endif
