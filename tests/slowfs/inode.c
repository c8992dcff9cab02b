/* inode.c - see inode.h.  A hash table under one lock. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inode.h"

enum { BUCKETS = 4096 };

/* How long the kernel believes names and attributes, as clients of network file systems do. */
static const double believe_seconds = 1.0;

static struct inode root = {.fd = -1};
static struct inode counters = {.fd = -1};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the table and all lookups */
static struct inode *table[BUCKETS];

static struct inode **bucket(dev_t dev, ino_t ino)
{
    return &table[(ino * UINT64_C(0x9e3779b97f4a7c15) + dev) >> 20 & (BUCKETS - 1)];
}

int inode_start(const char *backing)
{
    root.fd = open(backing, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root.fd < 0)
        return errno;
    counters.fd = memfd_create("slowfs", MFD_CLOEXEC);
    if (counters.fd < 0 || fchmod(counters.fd, 0444) < 0)
        return errno;
    return 0;
}

struct inode *inode_get(fuse_ino_t ino)
{
    return ino == FUSE_ROOT_ID ? &root : (struct inode *)(uintptr_t)ino;
}

struct inode *inode_counters(void)
{
    return &counters;
}

/* The inode of an O_PATH descriptor, which it takes over.  NULL: out of memory. */
static struct inode *enter(int fd, const struct stat *st)
{
    struct inode **head = bucket(st->st_dev, st->st_ino);
    struct inode *i;

    pthread_mutex_lock(&lock);
    for (i = *head; i; i = i->next)
        if (i->dev == st->st_dev && i->ino == st->st_ino)
            break;
    if (i) {
        close(fd);
    } else if ((i = calloc(1, sizeof(*i)))) {
        i->fd = fd;
        i->dev = st->st_dev;
        i->ino = st->st_ino;
        i->next = *head;
        *head = i;
    } else {
        close(fd);
    }
    if (i)
        i->lookups++;
    pthread_mutex_unlock(&lock);
    return i;
}

static struct inode *find(struct inode *dir, const char *name, struct stat *st, int *err)
{
    struct inode *i = NULL;
    int fd;

    if (dir == &root && strcmp(name, ".slowfs") == 0) {
        *err = fstat(counters.fd, st) < 0 ? errno : 0;
        return *err ? NULL : &counters;
    }
    fd = openat(dir->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    *err = errno;
    if (fd < 0)
        return NULL;
    if (fstatat(fd, "", st, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) < 0) {
        *err = errno;
        close(fd);
        return NULL;
    }
    i = enter(fd, st);
    *err = i ? 0 : ENOMEM;
    return i;
}

int inode_lookup(struct inode *dir, const char *name, struct fuse_entry_param *e)
{
    struct inode *i;
    int err;

    memset(e, 0, sizeof(*e));
    i = find(dir, name, &e->attr, &err);
    if (!i)
        return err;
    e->ino = (uintptr_t)i;
    e->attr_timeout = e->entry_timeout = believe_seconds;
    return 0;
}

void inode_forget(struct inode *i, uint64_t lookups)
{
    struct inode **at;

    if (i == &root || i == &counters)
        return;
    pthread_mutex_lock(&lock);
    i->lookups -= lookups;
    if (i->lookups > 0) {
        pthread_mutex_unlock(&lock);
        return;
    }
    for (at = bucket(i->dev, i->ino); *at != i;)
        at = &(*at)->next;
    *at = i->next;
    pthread_mutex_unlock(&lock);
    close(i->fd);
    free(i);
}

const char *inode_path(const struct inode *i, char path[INODE_PATH])
{
    snprintf(path, INODE_PATH, "/proc/self/fd/%d", i->fd);
    return path;
}
