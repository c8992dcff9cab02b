/* zc_store_posix_cards.c - cards at files of this host, for processes of one user.
 *
 * A card is a file in a directory that only this user may enter: $XDG_RUNTIME_DIR/zcache where
 * that is his, else /dev/shm/zcache-UID.  Its name is made of what the card is known by, and of
 * the boot of this host, because such a directory may be shared with others.  Who leaves a card
 * holds an OFD lock on it as long as it is valid; the kernel drops that with the process, so that
 * a card without a lock is nobody's.  (A child of fork() that executes nothing holds it as well:
 * then the card goes with the last of them, or by being replaced.)
 *
 *                          zc_posix_meet()
 *     no file, or stale  ---------------->  held  --zc_posix_part()-->  no file
 *            ^                               |
 *            +-------- its process is dead --+-- replaced: the name is another card's
 *
 * Everything is done under a guard, an OFD lock on one byte of a file that stays: the byte of this
 * card's name.  So nobody sees a card half written, or one that is removed while he looks.
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

#include "zc_log.h"
#include "zc_store_posix_internal.h"

#define CARD_VERSION "1" /* of the files: others' are not looked at */

enum { NAME_SIZE = 96, SWEEP = 4096 /* files looked at, at most */ };

struct header {
    uint64_t number, len;
};

/* A card of ours: `fd` holds its lock. */
struct seat {
    struct zc_seat seat;
    int fd;
    char name[NAME_SIZE];
    char dir[];
};

/* ---- the directory ---- */

/* A directory of this user into which nobody else may write (`others`: what they may not do). */
static int open_own(const char *path, mode_t others, int *out)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;

    *out = -1;
    if (fd < 0)
        return zc_errorf(errno, "cannot open %s, the directory for cards: %s", path,
                         strerror(errno));
    if (fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & others)) {
        close(fd);
        return zc_errorf(EPERM,
                         "%s is not for cards: it belongs to another user, or others may use it; "
                         "remove it, or set XDG_RUNTIME_DIR to a directory of mode 0700",
                         path);
    }
    *out = fd;
    return 0;
}

/* $XDG_RUNTIME_DIR is for this user: it may be left over from somebody else's environment. */
static bool has_runtime_dir(const char *path)
{
    int fd, rc = path && path[0] == '/' ? open_own(path, S_IWGRP | S_IWOTH, &fd) : -ENOENT;

    if (rc == 0)
        close(fd);
    return rc == 0;
}

/* Its name, allocated. */
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
        return zc_errorf(errno, "cannot make %s, the directory for cards: %s", path,
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

/* What all cards of this boot of this host begin with. */
static void prefix(char *out, size_t size)
{
    char boot[40] = "";
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

    if (f) {
        if (!fgets(boot, sizeof boot, f))
            boot[0] = 0;
        fclose(f);
    }
    snprintf(out, size, "card" CARD_VERSION "-%.8s-", boot);
}

static void name_card(const char *job, const struct stat *st, char *out)
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

/* Whoever left a card lives: 1, 0, or -1 with errno. */
static int is_held(int fd)
{
    struct flock l = {.l_type = F_RDLCK, .l_whence = SEEK_SET};

    return fcntl(fd, F_OFD_GETLK, &l) < 0 ? -1 : l.l_type != F_UNLCK;
}

static int open_guard(int dir)
{
    return openat(dir, ".guard", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static int guard_lock(int fd, int cmd, short type, const char *name)
{
    uint64_t at = hash(name, strlen(name), 0xcbf29ce484222325u) >> 2;

    return set_lock(fd, cmd, type, at, 1);
}

/* A descriptor that holds the guard of a name until it is closed; -1 with errno. */
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

/* Not by closing alone: a child that another thread has forked meanwhile has it open, too. */
static void give_guard(int fd, const char *name)
{
    guard_lock(fd, F_OFD_SETLK, F_UNLCK, name);
    close(fd);
}

/* ---- a card's file; all of it under the guard ---- */

static int card_error(const char *what, const char *dir, const char *name)
{
    return zc_errorf(errno, "cannot %s the card %s/%s: %s", what, dir, name, strerror(errno));
}

static bool read_all(int fd, void *buf, size_t len, off_t at)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = pread(fd, (char *)buf + done, len - done, at + (off_t)done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = EIO;
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

static bool write_all(int fd, const void *buf, size_t len, off_t at)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = pwrite(fd, (const char *)buf + done, len - done, at + (off_t)done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

/* 1: a card lies there that is not to be replaced; 0: none; -1 with errno. */
static int read_card(int fd, uint64_t replaces, struct zc_card *theirs)
{
    struct header h;
    int held = is_held(fd);

    if (held <= 0)
        return held;
    if (!read_all(fd, &h, sizeof h, 0))
        return -1;
    if (h.number == replaces)
        return 0;
    if (h.len == 0 || h.len > ZC_MAX_CARD) {
        errno = EBADMSG;
        return -1;
    }
    theirs->bytes = malloc(h.len);
    if (!theirs->bytes)
        return -1;
    if (!read_all(fd, theirs->bytes, h.len, sizeof h)) {
        free(theirs->bytes);
        theirs->bytes = NULL;
        return -1;
    }
    theirs->len = h.len;
    theirs->number = h.number;
    return 1;
}

/* The same by name. */
static int find_card(int dir, const char *name, uint64_t replaces, struct zc_card *theirs)
{
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), rc, err;

    if (fd < 0)
        return errno == ENOENT ? 0 : -1;
    rc = read_card(fd, replaces, theirs);
    err = errno;
    close(fd);
    errno = err;
    return rc;
}

static bool fill_card(int fd, const void *card, size_t len)
{
    struct header h = {.len = len};

    while (h.number == 0)
        if (getrandom(&h.number, sizeof h.number, 0) != sizeof h.number)
            return false;
    return set_lock(fd, F_OFD_SETLK, F_WRLCK, 0, 0) == 0 && write_all(fd, card, len, sizeof h) &&
           write_all(fd, &h, sizeof h, 0);
}

/* In place of what is there: a descriptor that holds its lock, or -1 with errno. */
static int lay_card(int dir, const char *name, const void *card, size_t len)
{
    int fd, err;

    if (unlinkat(dir, name, 0) < 0 && errno != ENOENT)
        return -1;
    fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || fill_card(fd, card, len))
        return fd;
    err = errno;
    unlinkat(dir, name, 0);
    close(fd);
    errno = err;
    return -1;
}

static bool is_own(int dir, const char *name, int fd)
{
    struct stat here, there;

    return fstat(fd, &here) == 0 && fstatat(dir, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

/* ---- what dead processes have left ---- */

static void sweep_one(int dir, int guard, const char *name)
{
    int fd;

    if (guard_lock(guard, F_OFD_SETLK, F_WRLCK, name) < 0)
        return; /* somebody is at it */
    fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0) {
        if (is_held(fd) == 0)
            unlinkat(dir, name, 0);
        close(fd);
    }
    guard_lock(guard, F_OFD_SETLK, F_UNLCK, name);
}

/* Removes stale cards of this host; who cannot leaves them, they are in nobody's way. */
static void sweep(const char *path)
{
    char ours[NAME_SIZE];
    DIR *d = opendir(path);
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

/* ---- meeting ---- */

static struct seat *seat_new(const char *dir)
{
    struct seat *s = calloc(1, sizeof *s + strlen(dir) + 1);

    if (s)
        memcpy(s->dir, dir, strlen(dir) + 1);
    return s;
}

/* Finds the card, or leaves that of `s`, which holds it then: s->fd. */
static int meet_in(int dir, struct seat *s, const void *card, size_t len, uint64_t replaces,
                   struct zc_card *theirs)
{
    int guard = take_guard(dir, s->name), rc;

    if (guard < 0)
        return card_error("guard", s->dir, s->name);
    rc = find_card(dir, s->name, replaces, theirs);
    if (rc < 0)
        rc = card_error("read", s->dir, s->name);
    else if (rc > 0)
        rc = 0;
    else if ((s->fd = lay_card(dir, s->name, card, len)) < 0)
        rc = card_error("leave", s->dir, s->name);
    give_guard(guard, s->name);
    return rc;
}

int zc_posix_meet(struct zc_sfile *sf, const char *job, const void *card, size_t len,
                  uint64_t replaces, struct zc_seat **mine, struct zc_card *theirs)
{
    struct posix_file *f = posix_file(sf);
    struct posix_store *ps = posix_store(sf->store);
    char *path = cards_dir();
    struct seat *s = path ? seat_new(path) : NULL;
    struct stat st;
    int dir = -1, rc;

    free(path);
    if (!s)
        return zc_errorf(ENOMEM, "no memory for a card");
    s->seat.store = sf->store;
    s->fd = -1;
    rc = fstat(f->fd, &st) < 0 ? zc_posix_explain(errno, "stat", f->path) : 0;
    if (rc == 0)
        rc = open_dir(s->dir, true, &dir);
    if (rc == 0) {
        name_card(job, &st, s->name);
        rc = meet_in(dir, s, card, len, replaces, theirs);
        close(dir);
    }
    if (s->fd < 0) {
        free(s);
        return rc;
    }
    if (!__atomic_exchange_n(&ps->swept, true, __ATOMIC_RELAXED))
        sweep(s->dir);
    *mine = &s->seat;
    return 0;
}

int zc_posix_part(struct zc_seat *mine)
{
    struct seat *s = (struct seat *)mine;
    int dir, guard = -1, rc = open_dir(s->dir, false, &dir);

    if (rc == 0) {
        guard = take_guard(dir, s->name);
        if (guard < 0)
            rc = card_error("guard", s->dir, s->name);
    }
    if (guard >= 0 && is_own(dir, s->name, s->fd) && unlinkat(dir, s->name, 0) < 0)
        rc = card_error("take back", s->dir, s->name);
    set_lock(s->fd, F_OFD_SETLK, F_UNLCK, 0, 0);
    close(s->fd);
    if (guard >= 0)
        give_guard(guard, s->name);
    if (dir >= 0)
        close(dir);
    free(s);
    return rc;
}
