/* inode.h - the files that the kernel knows, each by a descriptor of the file below.
 *
 * A file is found by what it is (device and inode), not by its name: hard links are one inode,
 * and renamed or unlinked files stay usable for as long as the kernel remembers them.
 *
 * One inode is not below: the counters, a file ".slowfs" in the root directory.
 */
#ifndef SLOWFS_INODE_H
#define SLOWFS_INODE_H

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>
#include <stdint.h>

struct inode {
    int fd; /* O_PATH: good for *at() and for inode_path(), not for data */
    /* for inode.c */
    dev_t dev;
    ino_t ino;
    uint64_t lookups; /* the kernel's references */
    struct inode *next;
};

enum { INODE_PATH = 40 };

/* `backing` becomes the root directory.  Returns 0 or an errno. */
int inode_start(const char *backing);

struct inode *inode_get(fuse_ino_t ino);
struct inode *inode_counters(void);

/* Looks up a name, fills in the attributes, and counts one reference of the kernel.  0 or errno. */
int inode_lookup(struct inode *dir, const char *name, struct fuse_entry_param *e);

void inode_forget(struct inode *i, uint64_t lookups);

/* A name by which calls that want one reach the file. */
const char *inode_path(const struct inode *i, char path[INODE_PATH]);

#endif
