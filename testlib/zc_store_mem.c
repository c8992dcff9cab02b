/* zc_store_mem.c - files in memory, for tests.
 *
 * Behaves like the posix store without confinement: paths are names, there are no
 * directories.  Time is a counter that every change moves on, so that a change is
 * always seen in mtime.  One lock guards everything.
 *
 * A lossy one is what a daemon is to its clients: `data` is what it has in memory, and all see;
 * `disk` is what is stored.  Numbers of writes are those of zc_progress, one more each; which bytes
 * have which is on a list until they are stored.  What changes a file as a whole goes to both.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_list.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_rendezvous.h"
#include "zc_store.h"
#include "zc_store_mem.h"
#include "zc_tsan.h"
#include "zc_watch.h"

enum { MEM_MAX_SIZE = 1 << 30 };

struct mem_file {
    struct zc_list link; /* in mem_store.files until nothing refers to it */
    char *path;          /* NULL: unlinked */
    uint64_t ino, block_size;
    int64_t mtime, born;
    unsigned opens;
    char *data;
    uint64_t size, room;
    /* lossy */
    char *disk;
    uint64_t disk_size;      /* bytes, all of them allocated */
    struct zc_list unstored; /* struct mem_write, by number */
    uint64_t unstable_seq, committed_seq;
};

struct mem_write {
    struct zc_list link;
    uint64_t lo, hi, number;
};

struct mem_store {
    struct zc_store store;
    struct zc_lock lock;
    struct zc_list files; /* lock, as everything below and in mem_file */
    uint64_t next_ino;
    int64_t now;
    struct zc_rendezvous_table records;
    struct zc_rendezvous_owner record_owner;
    uint64_t epoch; /* lossy: how often it has died */
    struct zc_watchers watchers;
};

struct mem_publication {
    struct zc_publication publication;
    uint64_t number;
};

struct mem_sfile {
    struct zc_sfile sfile;
    struct mem_file *file;
    unsigned flags;
};

static struct mem_store *mem_store(struct zc_store *s)
{
    return (struct mem_store *)s;
}

static struct mem_file *find(struct mem_store *m, const char *path)
{
    zc_assert_held(&m->lock);
    zc_list_each (&m->files, n) {
        struct mem_file *f = zc_list_entry(n, struct mem_file, link);

        if (f->path && strcmp(f->path, path) == 0)
            return f;
    }
    return NULL;
}

static void get_attr(struct mem_store *m, const struct mem_file *f, struct zc_attr *a)
{
    zc_assert_held(&m->lock);
    *a = (struct zc_attr){
        .size = f->size,
        .dev = (uintptr_t)m,
        .ino = f->ino,
        .nlink = f->path ? 1 : 0,
        .mtime_ns = f->mtime,
        .ctime_ns = f->mtime,
        .born_ns = f->born,
        .exact = true,
        .block_size = f->block_size,
    };
}

/* Changes the size; bytes that come into being are zero. */
static int resize(struct mem_store *m, struct mem_file *f, uint64_t size)
{
    zc_assert_held(&m->lock);
    if (size > MEM_MAX_SIZE)
        return zc_errorf(EFBIG, "memory file %s: %llu bytes are too many",
                         f->path ? f->path : "(unlinked)", (unsigned long long)size);
    if (size > f->room) {
        uint64_t room = size > 2 * f->room ? size : 2 * f->room;
        char *data = realloc(f->data, room);

        if (!data)
            return zc_errorf(ENOMEM, "memory file: out of memory");
        f->data = data;
        f->room = room;
    }
    if (size > f->size)
        memset(f->data + f->size, 0, size - f->size);
    f->size = size;
    f->mtime = ++m->now;
    return 0;
}

/* ---- lossy ---- */

static void forget_writes(struct mem_file *f, uint64_t last)
{
    struct zc_list *n;

    while (!zc_list_empty(&f->unstored)) {
        struct mem_write *w = zc_list_entry(f->unstored.next, struct mem_write, link);

        if (w->number > last)
            return;
        n = zc_list_pop(&f->unstored);
        free(zc_list_entry(n, struct mem_write, link));
    }
}

/* The file on disk has this size; what is new is zero. */
static void resize_disk(struct mem_file *f, uint64_t size)
{
    char *disk = realloc(f->disk, size ? size : 1);

    if (!disk)
        abort(); /* in a test */
    if (size > f->disk_size)
        memset(disk + f->disk_size, 0, size - f->disk_size);
    f->disk = disk;
    f->disk_size = size;
}

static void took(struct mem_store *m, struct mem_file *f, uint64_t lo, uint64_t hi)
{
    struct mem_write *w;

    zc_assert_held(&m->lock);
    if (!m->store.lossy || lo >= hi)
        return;
    w = malloc(sizeof *w);
    if (!w)
        abort(); /* in a test */
    *w = (struct mem_write){.lo = lo, .hi = hi, .number = ++f->unstable_seq};
    zc_list_add_tail(&f->unstored, &w->link);
}

/* Newer bytes may get there with older ones; a write that was cut off has none left. */
static void store_file(struct mem_store *m, struct mem_file *f, uint64_t last)
{
    zc_assert_held(&m->lock);
    zc_list_each (&f->unstored, n) {
        const struct mem_write *w = zc_list_entry(n, struct mem_write, link);
        uint64_t hi = w->hi < f->size ? w->hi : f->size;

        if (w->number > last)
            break;
        if (w->lo >= hi)
            continue;
        if (hi > f->disk_size)
            resize_disk(f, hi);
        memcpy(f->disk + w->lo, f->data + w->lo, hi - w->lo);
    }
    forget_writes(f, last);
    if (last > f->unstable_seq)
        last = f->unstable_seq;
    if (last > f->committed_seq)
        f->committed_seq = last;
}

/* What is on disk is all there is. */
static int lose_memory(struct mem_store *m, struct mem_file *f)
{
    forget_writes(f, UINT64_MAX);
    f->unstable_seq = f->committed_seq = 0;
    f->size = 0;
    if (resize(m, f, f->disk_size))
        return -ENOMEM;
    if (f->size)
        memcpy(f->data, f->disk, f->size);
    return 0;
}

static void free_file(struct mem_file *f)
{
    zc_list_del(&f->link);
    forget_writes(f, UINT64_MAX);
    free(f->disk);
    free(f->path);
    free(f->data);
    free(f);
}

static struct mem_file *create_file(struct mem_store *m, const char *path)
{
    struct mem_file *f = calloc(1, sizeof(*f));

    if (!f)
        return NULL;
    f->path = strdup(path);
    if (!f->path) {
        free(f);
        return NULL;
    }
    zc_list_init(&f->unstored);
    f->ino = ++m->next_ino;
    f->mtime = f->born = ++m->now;
    zc_list_add_tail(&m->files, &f->link);
    return f;
}

static int mem_open(struct zc_store *s, const char *path, unsigned flags, mode_t mode,
                    struct zc_sfile **out, struct zc_attr *attr)
{
    struct mem_store *m = mem_store(s);
    struct mem_sfile *sf = calloc(1, sizeof(*sf));
    bool created = false;
    struct zc_attr wish;
    struct mem_file *f;
    int rc = 0;

    (void)mode;
    *out = NULL;
    if (!sf)
        return zc_errorf(ENOMEM, "memory file %s: out of memory", path);
    zc_lock_get(&m->lock);
    f = find(m, path);
    if (f && (flags & ZC_OPEN_CREATE) && (flags & ZC_OPEN_EXCL)) {
        rc = zc_errorf(EEXIST, "memory file %s exists", path);
    } else if (!f && !(flags & ZC_OPEN_CREATE)) {
        rc = zc_errorf(ENOENT, "memory file %s does not exist", path);
    } else if (!f) {
        f = create_file(m, path);
        created = f != NULL;
        if (!f)
            rc = zc_errorf(ENOMEM, "memory file %s: out of memory", path);
    }
    if (rc == 0) {
        if (f->block_size == 0 || (flags & ZC_OPEN_PLACED))
            f->block_size = attr->block_size;
        f->opens++;
        sf->sfile.store = s;
        sf->file = f;
        sf->flags = flags;
        wish = *attr;
        get_attr(m, f, attr);
        attr->width = wish.width;
        attr->first = wish.first;
        attr->merges = true;
        attr->created = created;
        *out = &sf->sfile;
        sf = NULL;
    }
    zc_lock_put(&m->lock);
    free(sf);
    return rc;
}

static int mem_close(struct zc_sfile *sfile, enum zc_level level)
{
    struct mem_sfile *sf = (struct mem_sfile *)sfile;
    struct mem_store *m = mem_store(sfile->store);

    (void)level;
    zc_lock_get(&m->lock);
    if (--sf->file->opens == 0 && !sf->file->path)
        free_file(sf->file);
    zc_lock_put(&m->lock);
    free(sf);
    return 0;
}

static ssize_t mem_preadv(struct zc_sfile *sfile, const struct iovec *iov, int n, uint64_t off)
{
    struct mem_sfile *sf = (struct mem_sfile *)sfile;
    struct mem_store *m = mem_store(sfile->store);
    ssize_t done = 0;

    if (!(sf->flags & ZC_OPEN_READ))
        return zc_errorf(EBADF, "memory file is not open for reading");
    zc_lock_get(&m->lock);
    for (int i = 0; i < n && off < sf->file->size; i++) {
        size_t len = iov[i].iov_len;

        if (len > sf->file->size - off)
            len = sf->file->size - off;
        memcpy(iov[i].iov_base, sf->file->data + off, len);
        off += len;
        done += (ssize_t)len;
    }
    zc_lock_put(&m->lock);
    return done;
}

static ssize_t mem_pwritev(struct zc_sfile *sfile, const struct iovec *iov, int n, uint64_t off)
{
    struct mem_sfile *sf = (struct mem_sfile *)sfile;
    struct mem_store *m = mem_store(sfile->store);
    struct mem_file *f = sf->file;
    uint64_t len = 0;
    int rc = 0;

    if (!(sf->flags & ZC_OPEN_WRITE))
        return zc_errorf(EBADF, "memory file is not open for writing");
    for (int i = 0; i < n; i++)
        len += iov[i].iov_len;
    if (off > MEM_MAX_SIZE || len > MEM_MAX_SIZE)
        return zc_errorf(EFBIG, "memory file: offset %llu is too large", (unsigned long long)off);
    zc_lock_get(&m->lock);
    if (off + len > f->size)
        rc = resize(m, f, off + len);
    if (rc == 0) {
        ZC_TSAN_RACY_BEGIN();
        for (int i = 0; i < n; i++) {
            memcpy(f->data + off, iov[i].iov_base, iov[i].iov_len);
            off += iov[i].iov_len;
        }
        ZC_TSAN_RACY_END();
        f->mtime = ++m->now;
        took(m, f, off - len, off);
    }
    zc_lock_put(&m->lock);
    return rc < 0 ? rc : (ssize_t)len;
}

static int mem_getattr(struct zc_sfile *sfile, struct zc_attr *attr)
{
    struct mem_store *m = mem_store(sfile->store);

    zc_lock_get(&m->lock);
    get_attr(m, ((struct mem_sfile *)sfile)->file, attr);
    zc_lock_put(&m->lock);
    return 0;
}

static int mem_truncate(struct zc_sfile *sfile, uint64_t size)
{
    struct mem_sfile *sf = (struct mem_sfile *)sfile;
    struct mem_store *m = mem_store(sfile->store);
    int rc;

    if (!(sf->flags & ZC_OPEN_WRITE))
        return zc_errorf(EBADF, "memory file is not open for writing");
    zc_lock_get(&m->lock);
    rc = resize(m, sf->file, size);
    if (rc == 0 && m->store.lossy)
        resize_disk(sf->file, size);
    zc_lock_put(&m->lock);
    return rc;
}

static int mem_allocate(struct zc_sfile *sfile, uint64_t off, uint64_t len)
{
    struct mem_sfile *sf = (struct mem_sfile *)sfile;
    struct mem_store *m = mem_store(sfile->store);
    int rc = 0;

    if (!(sf->flags & ZC_OPEN_WRITE))
        return zc_errorf(EBADF, "memory file is not open for writing");
    if (off > MEM_MAX_SIZE || len > MEM_MAX_SIZE)
        return zc_errorf(EFBIG, "memory file: offset %llu is too large", (unsigned long long)off);
    zc_lock_get(&m->lock);
    if (off + len > sf->file->size)
        rc = resize(m, sf->file, off + len);
    if (rc == 0 && m->store.lossy && off + len > sf->file->disk_size)
        resize_disk(sf->file, off + len);
    zc_lock_put(&m->lock);
    return rc;
}

static int mem_sync(struct zc_sfile *sfile, enum zc_level level)
{
    struct mem_store *m = mem_store(sfile->store);

    if (!m->store.lossy || level < ZC_LEVEL_STORED)
        return 0;
    zc_lock_get(&m->lock);
    store_file(m, ((struct mem_sfile *)sfile)->file, UINT64_MAX);
    zc_lock_put(&m->lock);
    zc_watchers_tell(&m->watchers);
    return 0;
}

static uint32_t mem_server(const struct zc_sfile *sfile, uint64_t off)
{
    (void)sfile;
    (void)off;
    return 0;
}

static void mem_progress(struct zc_sfile *sfile, uint32_t server, struct zc_progress *out)
{
    struct mem_file *f = ((struct mem_sfile *)sfile)->file;
    struct mem_store *m = mem_store(sfile->store);

    (void)server;
    zc_lock_get(&m->lock);
    *out = (struct zc_progress){m->epoch, f->unstable_seq, f->committed_seq};
    zc_lock_put(&m->lock);
}

static void mem_watch(struct zc_store *s, struct zc_watch *w)
{
    zc_watchers_add(&mem_store(s)->watchers, w);
}

static void mem_unwatch(struct zc_store *s, struct zc_watch *w)
{
    zc_watchers_remove(&mem_store(s)->watchers, w);
}

void zc_store_mem_store(struct zc_store *s, uint64_t last)
{
    struct mem_store *m = mem_store(s);

    zc_lock_get(&m->lock);
    zc_list_each (&m->files, n)
        store_file(m, zc_list_entry(n, struct mem_file, link), last);
    zc_lock_put(&m->lock);
    zc_watchers_tell(&m->watchers);
}

void zc_store_mem_die_unsaid(struct zc_store *s)
{
    struct mem_store *m = mem_store(s);

    zc_lock_get(&m->lock);
    m->epoch++;
    zc_list_each (&m->files, n)
        if (lose_memory(m, zc_list_entry(n, struct mem_file, link)))
            abort(); /* in a test */
    zc_lock_put(&m->lock);
}

void zc_store_mem_die(struct zc_store *s)
{
    zc_store_mem_die_unsaid(s);
    zc_watchers_tell(&mem_store(s)->watchers);
}

static int copy_record(const struct zc_published_record *l, struct zc_rendezvous_record *theirs)
{
    theirs->bytes = malloc(l->len);
    if (!theirs->bytes)
        return zc_errorf(ENOMEM, "no memory for a rendezvous record");
    memcpy(theirs->bytes, l->bytes, l->len);
    theirs->len = l->len;
    theirs->number = l->number;
    return 0;
}

static int mem_rendezvous(struct zc_sfile *sfile, const char *job, const void *record, size_t len,
                          uint64_t replaces, struct zc_publication **mine,
                          struct zc_rendezvous_record *theirs)
{
    struct mem_store *m = mem_store(sfile->store);
    struct zc_rendezvous_key key = {job, strlen(job), 0, ((struct mem_sfile *)sfile)->file->ino};
    struct mem_publication *publication = calloc(1, sizeof *publication);
    struct zc_published_record *l;
    int rc = 0;

    if (!publication)
        return zc_errorf(ENOMEM, "no memory for a rendezvous record");
    publication->publication.store = sfile->store;
    zc_lock_get(&m->lock);
    l = zc_rendezvous_find(&m->records, &key, replaces);
    if (l) {
        rc = copy_record(l, theirs);
    } else if (record) {
        l = zc_rendezvous_publish(&m->records, &m->record_owner, &key, record, len);
        if (l)
            publication->number = l->number;
        else
            rc = zc_errorf(ENOMEM, "no memory for a rendezvous record");
    }
    zc_lock_put(&m->lock);
    if (publication->number)
        *mine = &publication->publication;
    else
        free(publication);
    return rc;
}

static int mem_withdraw(struct zc_publication *mine)
{
    struct mem_store *m = mem_store(mine->store);

    zc_lock_get(&m->lock);
    zc_rendezvous_withdraw(&m->records, &m->record_owner, ((struct mem_publication *)mine)->number);
    zc_lock_put(&m->lock);
    free(mine);
    return 0;
}

static int mem_unlink(struct zc_store *s, const char *path)
{
    struct mem_store *m = mem_store(s);
    struct mem_file *f;
    int rc = 0;

    zc_lock_get(&m->lock);
    f = find(m, path);
    if (!f) {
        rc = zc_errorf(ENOENT, "memory file %s does not exist", path);
    } else {
        free(f->path);
        f->path = NULL;
        if (f->opens == 0)
            free_file(f);
    }
    zc_lock_put(&m->lock);
    return rc;
}

static int mem_stat(struct zc_store *s, const char *path, struct zc_attr *attr)
{
    struct mem_store *m = mem_store(s);
    struct mem_file *f;
    int rc = 0;

    zc_lock_get(&m->lock);
    f = find(m, path);
    if (f)
        get_attr(m, f, attr);
    else
        rc = zc_errorf(ENOENT, "memory file %s does not exist", path);
    zc_lock_put(&m->lock);
    return rc;
}

static void mem_destroy(struct zc_store *s)
{
    struct mem_store *m = mem_store(s);

    while (!zc_list_empty(&m->files))
        free_file(zc_list_entry(m->files.next, struct mem_file, link));
    zc_rendezvous_forget(&m->record_owner);
    zc_watchers_destroy(&m->watchers);
    zc_lock_destroy(&m->lock);
    free(m);
}

static const struct zc_store_ops mem_ops = {
    .name = "memory",
    .open = mem_open,
    .close = mem_close,
    .preadv = mem_preadv,
    .pwritev = mem_pwritev,
    .getattr = mem_getattr,
    .truncate = mem_truncate,
    .allocate = mem_allocate,
    .sync = mem_sync,
    .rendezvous = mem_rendezvous,
    .withdraw = mem_withdraw,
    .server = mem_server,
    .progress = mem_progress,
    .watch = mem_watch,
    .unwatch = mem_unwatch,
    .unlink = mem_unlink,
    .stat = mem_stat,
    .destroy = mem_destroy,
};

int zc_store_mem_create(struct zc_store **out)
{
    struct mem_store *m = calloc(1, sizeof(*m));

    *out = NULL;
    if (!m)
        return zc_errorf(ENOMEM, "memory store: out of memory");
    m->store.ops = &mem_ops;
    zc_lock_init(&m->lock, ZC_ORDER_STORE);
    zc_list_init(&m->files);
    zc_rendezvous_init(&m->records, 0);
    zc_rendezvous_owner_init(&m->record_owner);
    zc_watchers_init(&m->watchers);
    *out = &m->store;
    return 0;
}

int zc_store_mem_create_lossy(struct zc_store **out)
{
    int rc = zc_store_mem_create(out);

    if (rc)
        return rc;
    (*out)->lossy = true;
    (*out)->remembers = true;
    (*out)->servers = 1;
    return 0;
}

void zc_store_mem_reuse_number(struct zc_store *s)
{
    struct mem_store *m = (struct mem_store *)s;

    zc_lock_get(&m->lock);
    m->next_ino--;
    zc_lock_put(&m->lock);
}
