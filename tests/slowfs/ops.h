/* ops.h - what the kernel may ask: names.c fills in the operations on names and attributes,
 * data.c those on open files.
 *
 * Every function answers the kernel exactly once, with the errno of the call below where that
 * failed.  What a request costs is spent before the answer.
 */
#ifndef SLOWFS_OPS_H
#define SLOWFS_OPS_H

#include <stdbool.h>

#include "inode.h"
#include "model.h"

struct fs {
    struct model *model;
    bool cached_reads; /* the kernel may cache what was read */
    bool as_root;      /* files belong to those who make them, not to us */
};

void names_fill(struct fuse_lowlevel_ops *ops);
void data_fill(struct fuse_lowlevel_ops *ops);

static inline struct fs *fs_of(fuse_req_t req)
{
    return fuse_req_userdata(req);
}

/* Pays for a change of names or attributes, or for an open. */
static inline void pay_meta(fuse_req_t req)
{
    model_spend(fs_of(req)->model, MODEL_META, 0);
}

/* Gives what was just made to the caller.  A directory with the set-group-ID bit gives its
 * group, which the file already has.  0 or errno. */
int names_give(fuse_req_t req, int dir_fd, const char *name);

#endif
