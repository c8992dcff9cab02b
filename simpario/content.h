/*
 * What has to be in a file: stamps, and between them what a pattern makes otherwise, such as a
 * table of offsets, or leaves out.
 */
#ifndef CONTENT_H
#define CONTENT_H

#include <stdbool.h>
#include <stdint.h>

#include "pattern.h"
#include "stamp.h"

struct content {
    const struct pattern *pattern;
    const struct shape *shape; /* any rank's that has this file */
    struct stamp stamp;
};

/* Bytes of holes are left as they are. */
void content_fill(const struct content *c, int64_t offset, void *buf, int64_t len);
/* How many of these bytes are no holes. */
int64_t content_bytes(const struct content *c, int64_t offset, int64_t len);

/* The first wrong byte of a range, and how much else is wrong there. */
struct content_fault {
    int64_t wrong;  /* bytes that differ, in the whole range */
    int64_t offset; /* in the file */
    char text[256]; /* "byte 17: ..." */
};

/* Returns the number of wrong bytes; *fault is filled in only when that is not zero. What a
 * hole has is open in MPI; with `holes`, it has to be zeros. */
int64_t content_check(const struct content *c, int64_t offset, const void *buf, int64_t len,
                      bool holes, struct content_fault *fault);

#endif
