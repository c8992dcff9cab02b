/* zc_store_posix_rendezvous.c - rendezvous records of files, for processes of one host and user.
 *
 * A record is a file in a directory that only this user may enter: $XDG_RUNTIME_DIR/zcache if it is
 * the user's, else /dev/shm/zcache-UID.  Its name contains the record's key and the boot id of this
 * host, because such a directory may be shared with other hosts.  While a record is valid its
 * publisher holds an OFD lock on one byte of the file .held; the position of the byte is the
 * record's random number, so a process needs one descriptor for all its records.  The kernel drops
 * the lock with the process: a record without a lock is stale.  (A child of fork() without an exec
 * holds the lock as well: then the record ends with the last of them, or by being replaced.)
 *
 *                   zc_posix_rendezvous()
 *     no file, or stale ----------------> held --zc_posix_withdraw()--> no file
 *            ^                             |
 *            +------- its process is dead -+-- replaced: the name is another record's
 *
 * All steps are taken under a guard, an OFD lock on one byte, chosen by the record's name, of a
 * file that is never removed: no process sees a half-written record, or one removed during its
 * check.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "zc_fd.h"
#include "zc_log.h"
#include "zc_store_posix_internal.h"

#define CARD_VERSION "2" /* format of the files: those of other versions are ignored */

enum { NAME_SIZE = 96, SWEEP = 4096 /* at most so many files are examined */ };

struct header {
    uint64_t number, len;
};

/* A record of this process; `fd` holds the lock on its number. */
struct publication {
    struct zc_publication publication;
    uint64_t number; /* 0: not published yet */
    int fd;
    bool alone; /* `fd` belongs to this record; else it is `held`'s */
    char name[NAME_SIZE];
    char dir[];
};

/* ---- the directory ---- */

/* Opens a directory of this user.  `others`: permission bits that others must not have. */
static int open_own(const char *path, mode_t others, int *out)
{
    int fd = zc_fd(open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat st;

    *out = -1;
    if (fd < 0)
        return zc_errorf(errno, "cannot open %s, the directory for rendezvous records: %s", path,
                         strerror(errno));
    if (fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & others)) {
        close(fd);
        return zc_errorf(
            EPERM,
            "%s is not for rendezvous records: it belongs to another user, or others may use it; "
            "remove it, or set XDG_RUNTIME_DIR to a directory of mode 0700",
            path);
    }
    *out = fd;
    return 0;
}

/* Whether $XDG_RUNTIME_DIR belongs to this user and can be written to: it may be inherited from
 * another user's environment, or another host's.  The launcher asks the same (runtime_dir(),
 * zcache.in). */
static bool has_runtime_dir(const char *path)
{
    int fd, rc = path && path[0] == '/' ? open_own(path, S_IWGRP | S_IWOTH, &fd) : -ENOENT;
    bool usable = rc == 0 && faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) == 0;

    if (rc == 0)
        close(fd);
    return usable;
}

/* Returns the name of the directory, allocated. */
static char *cards_dir(void)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    char *name;
    int n;

    if (has_runtime_dir(runtime))
        n = asprintf(&name, "%s/zcache", runtime);
    else
        n = asprintf(&name, "/dev/shm/zcache-%lu", (unsigned long)geteuid());
    return n < 0 ? NULL : name;
}

static int open_dir(const char *path, bool make, int *out)
{
    *out = -1;
    if (make && mkdir(path, 0700) < 0 && errno != EEXIST)
        return zc_errorf(errno, "cannot make %s, the directory for rendezvous records: %s", path,
                         strerror(errno));
    return open_own(path, S_IRWXG | S_IRWXO, out);
}

/* ---- names ---- */

static uint64_t hash(const char *text, size_t n, uint64_t h)
{
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)text[i]) * 0x100000001b3u;
    return h;
}

/* Writes the prefix of the names of all records of this host's boot. */
static void prefix(char *out, size_t size)
{
    char boot[40] = "";
    FILE *f = zc_fopen("/proc/sys/kernel/random/boot_id", "re");

    if (f) {
        if (!fgets(boot, sizeof boot, f))
            boot[0] = 0;
        fclose(f);
    }
    snprintf(out, size, "card" CARD_VERSION "-%.8s-", boot);
}

static void name_record(const char *job, const struct stat *st, char *out)
{
    size_t n = strlen(job);

    prefix(out, NAME_SIZE);
    snprintf(out + strlen(out), NAME_SIZE - strlen(out),
             "%016" PRIx64 "%016" PRIx64 "-%" PRIx64 "-%" PRIx64, hash(job, n, 0xcbf29ce484222325u),
             hash(job, n, 0x9e3779b97f4a7c15u), (uint64_t)st->st_dev, (uint64_t)st->st_ino);
}

/* ---- locks ---- */

static int set_lock(int fd, int cmd, short type, uint64_t at, uint64_t len)
{
    struct flock l = {
        .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)at, .l_len = (off_t)len};
    int rc;

    do {
        rc = fcntl(fd, cmd, &l);
    } while (rc < 0 && errno == EINTR);
    return rc;
}

static uint64_t byte_of(uint64_t number)
{
    return number >> 2; /* fits an off_t */
}

static int open_held(int dir)
{
    return zc_fd(openat(dir, ".held", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
}

/* Whether the publisher of the record with that number lives: 1, 0, or -1 with errno.  Uses a
 * descriptor of its own, for which locks of this process are visible as well. */
static int is_held(int dir, uint64_t number)
{
    struct flock l = {
        .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = (off_t)byte_of(number), .l_len = 1};
    int fd = open_held(dir), rc, err;

    if (fd < 0)
        return -1;
    rc = fcntl(fd, F_OFD_GETLK, &l) < 0 ? -1 : l.l_type != F_UNLCK;
    err = errno;
    close(fd);
    errno = err;
    return rc;
}

static bool is_file(int dir, const char *name, int fd)
{
    struct stat here, there;

    return fstat(fd, &here) == 0 && fstatat(dir, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

/* The descriptor that holds the locks of this process's records. */
static struct {
    struct zc_lock lock;
    int fd; /* valid while `users` > 0, like dir */
    char *dir;
    unsigned users;
} held = {.lock = ZC_LOCK_INITIALIZER(ZC_ORDER_STORE)};

/* Sets s->fd to a descriptor for the lock of its record.  If the directory was removed and created
 * again it has another .held, which needs a descriptor of its own.  False: errno. */
static bool take_held(int dir, struct publication *s)
{
    zc_lock_get(&held.lock);
    s->alone = held.users && (strcmp(held.dir, s->dir) != 0 || !is_file(dir, ".held", held.fd));
    s->fd = held.users && !s->alone ? held.fd : open_held(dir);
    if (s->fd >= 0 && !s->alone && !held.users) {
        held.dir = strdup(s->dir);
        s->alone = !held.dir;
        held.fd = s->fd;
    }
    held.users += s->fd >= 0 && !s->alone;
    zc_lock_put(&held.lock);
    return s->fd >= 0;
}

static void give_held(struct publication *s)
{
    zc_lock_get(&held.lock);
    if (s->fd >= 0 && s->number) /* a child of fork() may share the lock */
        set_lock(s->fd, F_OFD_SETLK, F_UNLCK, byte_of(s->number), 1);
    if (s->fd >= 0 && (s->alone || --held.users == 0))
        close(s->fd);
    if (s->fd >= 0 && !s->alone && !held.users)
        free(held.dir);
    s->fd = -1;
    zc_lock_put(&held.lock);
}

static int open_guard(int dir)
{
    return zc_fd(openat(dir, ".guard", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
}

static int guard_lock(int fd, int cmd, short type, const char *name)
{
    uint64_t at = hash(name, strlen(name), 0xcbf29ce484222325u) >> 2;

    return set_lock(fd, cmd, type, at, 1);
}

/* Returns a descriptor that holds the guard of a name; -1 with errno. */
static int take_guard(int dir, const char *name)
{
    int fd = open_guard(dir), err;

    if (fd < 0)
        return -1;
    if (guard_lock(fd, F_OFD_SETLKW, F_WRLCK, name) == 0)
        return fd;
    err = errno;
    close(fd);
    errno = err;
    return -1;
}

/* Unlocks explicitly: a child forked meanwhile may share the descriptor. */
static void give_guard(int fd, const char *name)
{
    guard_lock(fd, F_OFD_SETLK, F_UNLCK, name);
    close(fd);
}

/* ---- the file of a record; all of it under the guard ---- */

static int record_error(const char *what, const char *dir, const char *name)
{
    return zc_errorf(errno, "cannot %s the rendezvous record %s/%s: %s", what, dir, name,
                     strerror(errno));
}

/* 1: *h is the header of a valid record; 0: there is none; -1 with errno. */
static int read_header(int dir, int fd, struct header *h)
{
    if ((errno = zc_fd_read_at(fd, h, sizeof *h, 0)))
        return errno == EIO ? 0 : -1; /* too short: its process died while writing it */
    return h->number ? is_held(dir, h->number) : 0;
}

/* 1: a valid record that is not to be replaced; 0: none; -1 with errno. */
static int read_record(int dir, int fd, uint64_t replaces, struct zc_rendezvous_record *theirs)
{
    struct header h;
    int lives = read_header(dir, fd, &h);

    if (lives <= 0)
        return lives;
    if (h.number == replaces)
        return 0;
    if (h.len == 0 || h.len > ZC_MAX_RECORD) {
        errno = EBADMSG;
        return -1;
    }
    theirs->bytes = malloc(h.len);
    if (!theirs->bytes)
        return -1;
    if ((errno = zc_fd_read_at(fd, theirs->bytes, h.len, sizeof h))) {
        free(theirs->bytes);
        theirs->bytes = NULL;
        return -1;
    }
    theirs->len = h.len;
    theirs->number = h.number;
    return 1;
}

/* As read_record(), by name. */
static int find_record(int dir, const char *name, uint64_t replaces,
                       struct zc_rendezvous_record *theirs)
{
    int fd = zc_fd(openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)), rc, err;

    if (fd < 0)
        return errno == ENOENT ? 0 : -1;
    rc = read_record(dir, fd, replaces, theirs);
    err = errno;
    close(fd);
    errno = err;
    return rc;
}

static bool fill_record(int fd, uint64_t number, const void *record, size_t len)
{
    const struct header h = {.number = number, .len = len};

    errno = zc_fd_write_at(fd, record, len, sizeof h);
    if (!errno)
        errno = zc_fd_write_at(fd, &h, sizeof h, 0);
    return !errno;
}

/* Chooses and locks a number for a new record. */
static bool hold_number(struct publication *s)
{
    uint64_t number = 0;

    while (byte_of(number) == 0)
        if (getrandom(&number, sizeof number, 0) != sizeof number)
            return false;
    if (set_lock(s->fd, F_OFD_SETLK, F_WRLCK, byte_of(number), 1) < 0)
        return false;
    s->number = number;
    return true;
}

/* Replaces what is there by the record; its lock is held before it is visible.  False: errno. */
static bool lay_record(int dir, struct publication *s, const void *record, size_t len)
{
    bool done = false;
    int fd, err;

    if (unlinkat(dir, s->name, 0) < 0 && errno != ENOENT)
        return false;
    if (!take_held(dir, s))
        return false;
    fd = zc_fd(openat(dir, s->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    done = fd >= 0 && hold_number(s) && fill_record(fd, s->number, record, len);
    err = errno;
    if (fd >= 0) {
        close(fd);
        if (!done)
            unlinkat(dir, s->name, 0);
    }
    if (!done)
        give_held(s);
    errno = err;
    return done;
}

/* Whether the record at that name is this one. */
static bool is_own(int dir, const struct publication *s)
{
    int fd = zc_fd(openat(dir, s->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct header h;
    bool yes;

    if (fd < 0)
        return false;
    yes = zc_fd_read_at(fd, &h, sizeof h, 0) == 0 && h.number == s->number;
    close(fd);
    return yes;
}

/* ---- stale records ---- */

static void sweep_one(int dir, int guard, const char *name)
{
    struct header h;
    int fd;

    if (guard_lock(guard, F_OFD_SETLK, F_WRLCK, name) < 0)
        return; /* in use by another process */
    fd = zc_fd(openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (fd >= 0) {
        if (read_header(dir, fd, &h) == 0)
            unlinkat(dir, name, 0);
        close(fd);
    }
    guard_lock(guard, F_OFD_SETLK, F_UNLCK, name);
}

/* Removes stale records of this host.  On failure they stay, which is harmless. */
static void sweep(const char *path)
{
    char ours[NAME_SIZE];
    DIR *d = zc_opendir(path);
    int guard = d ? open_guard(dirfd(d)) : -1;
    struct dirent *e;

    prefix(ours, sizeof ours);
    for (int i = 0; guard >= 0 && i < SWEEP && (e = readdir(d)); i++)
        if (!strncmp(e->d_name, ours, strlen(ours)))
            sweep_one(dirfd(d), guard, e->d_name);
    if (guard >= 0)
        close(guard);
    if (d)
        closedir(d);
}

/* ---- rendezvous ---- */

static struct publication *publication_new(const char *dir)
{
    struct publication *s = calloc(1, sizeof *s + strlen(dir) + 1);

    if (s)
        memcpy(s->dir, dir, strlen(dir) + 1);
    return s;
}

/* Finds the record, or publishes `s`, if there is one to publish, and sets s->fd and s->number. */
static int rendezvous_in(int dir, struct publication *s, const void *record, size_t len,
                         uint64_t replaces, struct zc_rendezvous_record *theirs)
{
    int guard = take_guard(dir, s->name), rc;

    if (guard < 0)
        return record_error("guard", s->dir, s->name);
    rc = find_record(dir, s->name, replaces, theirs);
    if (rc < 0)
        rc = record_error("read", s->dir, s->name);
    else if (rc > 0)
        rc = 0;
    else if (record && !lay_record(dir, s, record, len))
        rc = record_error("leave", s->dir, s->name);
    give_guard(guard, s->name);
    return rc;
}

/* Turns an error into -EOPNOTSUPP, logged once: the open succeeds, but processes with disjoint
 * communicators do not share a cache. */
static int apart(struct posix_store *ps, int rc)
{
    if (rc == 0 || rc == -ENOMEM)
        return rc;
    if (!__atomic_exchange_n(&ps->apart, true, __ATOMIC_RELAXED))
        zc_warn("%s; processes of this job that open a file by communicators without a common "
                "member see each other's bytes after MPI_File_sync only",
                zc_error_text(rc));
    return zc_errorf(EOPNOTSUPP, "%s", zc_error_text(rc));
}

int zc_posix_rendezvous(struct zc_sfile *sf, const char *job, const void *record, size_t len,
                        uint64_t replaces, struct zc_publication **mine,
                        struct zc_rendezvous_record *theirs)
{
    struct posix_file *f = posix_file(sf);
    struct posix_store *ps = posix_store(sf->store);
    char *path = cards_dir();
    struct publication *s = path ? publication_new(path) : NULL;
    struct stat st;
    int dir = -1, rc;

    free(path);
    if (!s)
        return zc_errorf(ENOMEM, "no memory for a rendezvous record");
    s->publication.store = sf->store;
    s->fd = -1;
    rc = fstat(f->fd, &st) < 0 ? zc_posix_explain(errno, "stat", f->path) : 0;
    if (rc == 0)
        rc = open_dir(s->dir, true, &dir);
    if (rc == 0) {
        name_record(job, &st, s->name);
        rc = rendezvous_in(dir, s, record, len, replaces, theirs);
        close(dir);
    }
    if (s->fd < 0) {
        free(s);
        return apart(ps, rc);
    }
    if (!__atomic_exchange_n(&ps->swept, true, __ATOMIC_RELAXED))
        sweep(s->dir);
    *mine = &s->publication;
    return 0;
}

int zc_posix_withdraw(struct zc_publication *mine)
{
    struct publication *s = (struct publication *)mine;
    int dir, guard = -1, rc = open_dir(s->dir, false, &dir);

    if (rc == 0) {
        guard = take_guard(dir, s->name);
        if (guard < 0)
            rc = record_error("guard", s->dir, s->name);
    }
    if (guard >= 0 && is_own(dir, s) && unlinkat(dir, s->name, 0) < 0)
        rc = record_error("take back", s->dir, s->name);
    give_held(s);
    if (guard >= 0)
        give_guard(guard, s->name);
    if (dir >= 0)
        close(dir);
    free(s);
    return rc;
}
