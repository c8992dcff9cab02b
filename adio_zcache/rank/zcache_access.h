/* zcache_access.h - one rank's access: cut along blocks, each part to the block's owner. */
#ifndef ZCACHE_ACCESS_H
#define ZCACHE_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "zc_view.h"
#include "zcache_layout.h"

struct zcache_file;

enum zcache_dir { ZCACHE_READ, ZCACHE_WRITE };

/* One access of this rank, complete, so that any thread can make it without MPI; layout and view
 * are borrowed. */
struct zcache_access {
    struct zcache_file *f;
    enum zcache_dir dir;
    void *buf;
    const struct zcache_layout *mem; /* of the buffer's elements */
    const struct zc_view *view;      /* NULL: every byte from the displacement on */
    int64_t disp;
    int64_t view_offset, len; /* bytes */
    bool atomic;              /* against other accesses through this handle: zcache_atomic.h */
    bool background;          /* the program does not wait for it yet */
};

/* Moves the bytes.  Returns their number, which for a read ends at the end of the file, or a
 * negative errno, explained. */
int64_t zcache_transfer(const struct zcache_access *a);

#endif
