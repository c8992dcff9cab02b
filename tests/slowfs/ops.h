/* ops.h - the operations of the file system: names.c has those on names and attributes, data.c
 * those on open files.
 *
 * Every function replies to the kernel exactly once, with the errno of the call below if that
 * failed.  A request's modelled cost is spent before the reply.
 */
#ifndef SLOWFS_OPS_H
#define SLOWFS_OPS_H

#include <stdbool.h>

#include "inode.h"
#include "model.h"

struct fs {
    struct model *model;
    bool cached_reads; /* the kernel may cache reads */
    bool as_root;      /* files belong to their creators, not to this process's user */
};

void names_fill(struct fuse_lowlevel_ops *ops);
void data_fill(struct fuse_lowlevel_ops *ops);

static inline struct fs *fs_of(fuse_req_t req)
{
    return fuse_req_userdata(req);
}

/* Spends the cost of a change of names or attributes, or of an open. */
static inline void pay_meta(fuse_req_t req)
{
    model_spend(fs_of(req)->model, MODEL_META, 0);
}

/* Gives a new object to the caller.  In a directory with the set-group-ID bit it gets the
 * directory's group, which it already has.  0 or errno. */
int names_give(fuse_req_t req, int dir_fd, const char *name);

#endif
