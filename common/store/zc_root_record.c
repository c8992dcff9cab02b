/* zc_root_record.c - the record of a root: creation, seats, marks.
 *
 * A process that raises a generation holds a lock on the header meanwhile, where the file system's
 * locks reach; it reads back what it wrote, so that of two processes that raise at once without a
 * lock one fails.  Marks need no lock: each is written in one piece, and only its change counts.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "zc_fd.h"
#include "zc_log.h"
#include "zc_root_record.h"

enum {
    SEATS_AT = 4096,
    SEATS = 1024,
    MARKS_AT = 65536,
    MARKS = 65536,
};

static const uint64_t magic = 0x31746f6f7263637aull; /* "zccroot1", little endian */

struct header {
    uint64_t magic, record, fsid, ino, sum;
};

struct seat {
    uint64_t seat, generation, boot_id, sum;
};

/* FNV-1a, and never 0: zeros are no entry. */
static uint64_t sum_of(const void *bytes, size_t n)
{
    uint64_t h = 0xcbf29ce484222325ull;

    for (const unsigned char *p = bytes; n--; p++)
        h = (h ^ *p) * 0x100000001b3ull;
    return h | !h;
}

static int explain(int err, const char *root, const char *what)
{
    return zc_errorf(err, "%s/" ZC_ROOT_RECORD_NAME ": %s: %s", root, what, strerror(err));
}

static int damaged(const char *root)
{
    return zc_errorf(EBADMSG,
                     "%s/" ZC_ROOT_RECORD_NAME " is damaged; --new-root makes a new one, and "
                     "sets aside what the daemon's journal has",
                     root);
}

static int random_number(uint64_t *n)
{
    do {
        if (getrandom(n, sizeof *n, 0) != sizeof *n)
            return zc_errorf(errno, "no random number: %s", strerror(errno));
    } while (*n == 0);
    return 0;
}

static int sync_fd(int fd)
{
    int rc;

    do {
        rc = fdatasync(fd);
    } while (rc < 0 && errno == EINTR);
    return rc < 0 && errno != EINVAL ? errno : 0;
}

/* ---- identity of a root ---- */

bool zc_root_same(const struct zc_root_id *a, const struct zc_root_id *b)
{
    if (a->ino != b->ino || a->fsid != b->fsid)
        return false;
    return !a->record || !b->record || a->record == b->record;
}

/* The kernel's file system id for a device number (huge_encode_dev()). */
static uint64_t fsid_of_device(dev_t dev)
{
    uint64_t lo = minor(dev);

    return (lo & 0xff) | (uint64_t)major(dev) << 8 | (lo & ~0xffull) << 12;
}

static int identify(int dir, const char *root, struct zc_root_id *id)
{
    struct statfs fs;
    struct stat st;

    if (fstat(dir, &st) < 0 || fstatfs(dir, &fs) < 0)
        return zc_errorf(errno, "root %s: %s", root, strerror(errno));
    *id = (struct zc_root_id){.ino = st.st_ino};
    memcpy(&id->fsid, &fs.f_fsid, sizeof fs.f_fsid < 8 ? sizeof fs.f_fsid : 8);
    if (id->fsid == fsid_of_device(st.st_dev))
        id->fsid = 0;
    return 0;
}

static int open_dir(const char *root)
{
    int fd = zc_fd(open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC));

    return fd < 0 ? zc_errorf(errno, "root %s: %s", root, strerror(errno)) : fd;
}

/* ---- opening ---- */

/* Returns the descriptor of an existing record, -ENOENT, or another negative errno. */
static int open_at(int dir, int flags)
{
    int fd;

    do {
        fd = zc_fd(openat(dir, ZC_ROOT_RECORD_NAME, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    } while (fd < 0 && errno == EINTR);
    return fd < 0 ? -errno : fd;
}

/* Returns 0 and the header, or a positive errno; EBADMSG: it is no record. */
static int read_header(int fd, struct header *h)
{
    struct stat st;
    int err = fstat(fd, &st) < 0 ? errno : 0;

    if (!err && !S_ISREG(st.st_mode))
        return EBADMSG;
    if (!err)
        err = zc_fd_read_at(fd, h, sizeof *h, 0);
    if (err)
        return err == EIO && st.st_size < (off_t)sizeof *h ? EBADMSG : err;
    return h->magic == magic && h->sum == sum_of(h, offsetof(struct header, sum)) ? 0 : EBADMSG;
}

static int check_header(const char *root, struct zc_root_record *r)
{
    struct zc_root_id made;
    struct header h;
    int err = read_header(r->fd, &h);

    if (err)
        return err == EBADMSG ? damaged(root) : explain(err, root, "it cannot be read");
    r->id.record = h.record;
    made = (struct zc_root_id){h.fsid, h.ino, h.record};
    if (zc_root_same(&made, &r->id))
        return 0;
    return zc_errorf(ESTALE,
                     "%s/" ZC_ROOT_RECORD_NAME " was made for another directory: it was copied "
                     "with it, or the file system is another one; if this is the right root, "
                     "start the daemon with --new-root",
                     root);
}

static int open_in(int dir, const char *root, struct zc_root_record *r)
{
    int rc = identify(dir, root, &r->id);

    if (rc < 0)
        return rc;
    r->fd = open_at(dir, O_RDWR);
    if (r->fd == -ENOENT) {
        r->fd = -1;
        return 0;
    }
    if (r->fd < 0) {
        rc = explain(-r->fd, root, "it cannot be opened");
        r->fd = -1;
        return rc;
    }
    rc = check_header(root, r);
    if (rc < 0)
        zc_root_record_close(r);
    return rc;
}

int zc_root_record_open(const char *root, struct zc_root_record *r)
{
    int dir = open_dir(root), rc;

    *r = (struct zc_root_record){.fd = -1};
    if (dir < 0)
        return dir;
    rc = open_in(dir, root, r);
    close(dir);
    return rc;
}

void zc_root_record_close(struct zc_root_record *r)
{
    if (r->fd >= 0)
        close(r->fd);
    r->fd = -1;
}

/* ---- creation ---- */

/* Users that may create files in the root may mark the files that they write. */
static mode_t mode_of(int dir)
{
    struct stat st;

    return fstat(dir, &st) < 0 ? 0600 : 0600 | (st.st_mode & 0022) | (st.st_mode & 0022) << 1;
}

static int fill(int dir, int fd, const char *root, const struct zc_root_record *r)
{
    struct header h = {magic, 0, r->id.fsid, r->id.ino, 0};
    int rc = random_number(&h.record), err;

    if (rc < 0)
        return rc;
    h.sum = sum_of(&h, offsetof(struct header, sum));
    err = zc_fd_write_at(fd, &h, sizeof h, 0);
    if (!err) /* allocated in full: a mark must not need room on a full file system */
        err = posix_fallocate(fd, 0, MARKS_AT + 8 * (off_t)MARKS);
    if (!err && fchmod(fd, mode_of(dir)) < 0)
        err = errno;
    if (!err && fsync(fd) < 0)
        err = errno;
    return err ? explain(err, root, "it cannot be made") : 0;
}

/* Renames the new file into place: an existing one stays, unless `anew`. */
static int name_it(int dir, const char *temporary, const char *root, bool anew)
{
    int rc = anew ? renameat(dir, temporary, dir, ZC_ROOT_RECORD_NAME)
                  : linkat(dir, temporary, dir, ZC_ROOT_RECORD_NAME, 0);

    if (rc < 0 && !anew && errno != EEXIST && errno != ENOSPC && errno != EDQUOT)
        rc = renameat2(dir, temporary, dir, ZC_ROOT_RECORD_NAME, RENAME_NOREPLACE);
    if (rc < 0 && errno != EEXIST)
        return explain(errno, root, "it cannot be made");
    return fsync(dir) < 0 && errno != EINVAL ? explain(errno, root, "it cannot be synced") : 0;
}

static int make_in(int dir, const char *root, bool anew, struct zc_root_record *r)
{
    char temporary[64];
    int rc = identify(dir, root, &r->id), fd;

    if (rc < 0)
        return rc;
    snprintf(temporary, sizeof temporary, ZC_ROOT_RECORD_NAME ".%ld", (long)getpid());
    unlinkat(dir, temporary, 0); /* left by a process that has died */
    fd = zc_fd(openat(dir, temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (fd < 0)
        return explain(errno, root,
                       "it cannot be made, and later writers could not be known by it: give a "
                       "--root in which this user may make files");
    rc = fill(dir, fd, root, r);
    close(fd);
    if (rc == 0)
        rc = name_it(dir, temporary, root, anew);
    unlinkat(dir, temporary, 0);
    return rc < 0 ? rc : open_in(dir, root, r);
}

int zc_root_record_make(const char *root, bool anew, struct zc_root_record *r)
{
    int rc = 0, dir;

    *r = (struct zc_root_record){.fd = -1};
    if (!anew)
        rc = zc_root_record_open(root, r);
    if (rc < 0 || r->fd >= 0)
        return rc;
    dir = open_dir(root);
    if (dir < 0)
        return dir;
    rc = make_in(dir, root, anew, r);
    close(dir);
    return rc;
}

/* ---- seats ---- */

static int bad_seat(int err)
{
    return zc_errorf(err, "the root's record " ZC_ROOT_RECORD_NAME ": a seat cannot be read: %s",
                     strerror(err));
}

/* Finds its entry, or the first free one, which is zeros; *at 0: neither. */
static int find_seat(const struct zc_root_record *r, uint64_t seat, struct seat *s, off_t *at)
{
    struct seat all[SEATS];
    int err = zc_fd_read_at(r->fd, all, sizeof all, SEATS_AT);

    if (err)
        return bad_seat(err);
    for (int i = 0; i < SEATS; i++) {
        *s = all[i];
        *at = SEATS_AT + i * (off_t)sizeof *s;
        if (!s->seat && !s->sum)
            return 0;
        if (s->sum != sum_of(s, offsetof(struct seat, sum)))
            return bad_seat(EBADMSG);
        if (s->seat == seat)
            return 0;
    }
    *s = (struct seat){0};
    *at = 0;
    return 0;
}

int zc_root_seat_get(const struct zc_root_record *r, uint64_t seat, struct zc_root_seat *out)
{
    struct seat s;
    off_t at;
    int rc = find_seat(r, seat, &s, &at);

    *out = (struct zc_root_seat){.seat = seat};
    if (rc == 0 && s.seat == seat) {
        out->generation = s.generation;
        out->boot_id = s.boot_id;
    }
    return rc;
}

/* Where locks do not work, or do not reach, reading back decides. */
static void lock(int fd, short type)
{
    struct flock l = {.l_type = type, .l_whence = SEEK_SET, .l_len = 1};

    while (fcntl(fd, F_OFD_SETLKW, &l) < 0 && errno == EINTR)
        ;
}

static int taken(void)
{
    return zc_errorf(EBUSY, "another daemon has taken this one's place while it started");
}

/* `generation` 0: any next one. */
static int raise_locked(const struct zc_root_record *r, uint64_t seat, uint64_t boot_id,
                        uint64_t generation)
{
    struct seat s, now;
    off_t at;
    int rc = find_seat(r, seat, &s, &at), err;

    if (rc < 0 || (!s.seat && !generation))
        return rc;
    if (!at)
        return zc_errorf(ENOSPC, "the root's record " ZC_ROOT_RECORD_NAME " has no room for one "
                                 "more seat; --new-root makes a new one");
    if (generation && generation != s.generation + 1)
        return taken();
    s.seat = seat;
    s.generation++;
    s.boot_id = boot_id;
    s.sum = sum_of(&s, offsetof(struct seat, sum));
    err = zc_fd_write_at(r->fd, &s, sizeof s, at);
    if (!err)
        err = sync_fd(r->fd);
    if (!err)
        err = zc_fd_read_at(r->fd, &now, sizeof now, at);
    if (err)
        return zc_errorf(err, "the root's record " ZC_ROOT_RECORD_NAME " cannot be written to: %s",
                         strerror(err));
    return memcmp(&now, &s, sizeof s) ? taken() : 0;
}

int zc_root_seat_take(const struct zc_root_record *r, uint64_t seat, uint64_t boot_id,
                      uint64_t generation)
{
    int rc;

    lock(r->fd, F_WRLCK);
    rc = raise_locked(r, seat, boot_id, generation);
    lock(r->fd, F_UNLCK);
    return rc;
}

int zc_root_seat_raise(const struct zc_root_record *r, uint64_t seat, uint64_t boot_id)
{
    return zc_root_seat_take(r, seat, boot_id, 0);
}

/* ---- marks ---- */

static off_t mark_at(uint64_t ino)
{
    return MARKS_AT + 8 * (off_t)((ino * 0x9e3779b97f4a7c15ull) >> 48);
}

int zc_root_mark_get(const struct zc_root_record *r, uint64_t ino, uint64_t *mark)
{
    int err = zc_fd_read_at(r->fd, mark, sizeof *mark, mark_at(ino));

    return err ? zc_errorf(err,
                           "the root's record " ZC_ROOT_RECORD_NAME ": a mark cannot be read: "
                           "%s",
                           strerror(err))
               : 0;
}

static int mark_in(int fd, uint64_t ino, uint64_t mark)
{
    struct header h;
    uint64_t was;
    int err = read_header(fd, &h);

    if (!err)
        err = zc_fd_read_at(fd, &was, sizeof was, mark_at(ino));
    if (err || was == mark)
        return err;
    err = zc_fd_write_at(fd, &mark, sizeof mark, mark_at(ino));
    return err ? err : sync_fd(fd);
}

/* Whether the error is one of permissions, or of a read-only file system. */
static bool may_not(int err)
{
    return err == EACCES || err == EPERM || err == EROFS;
}

static void tell_once(const char *name, int err)
{
    static bool told;
    struct stat st;

    if (lstat(name, &st) < 0 || __atomic_exchange_n(&told, true, __ATOMIC_RELAXED))
        return; /* no permission for the directory: there may be none */
    zc_warn("%s: %s: a daemon that was killed does not see from there that this process writes "
            "files, and may write what its journal has over them",
            name, strerror(err));
}

/* Any user may leave a file of this name in /tmp: a file that is no record, and belongs neither to
 * this user nor to the directory's owner, does not prevent writes. */
static bool is_strangers(const char *dir, const char *name)
{
    struct stat in, st;

    return lstat(name, &st) == 0 && stat(dir[0] ? dir : "/", &in) == 0 && st.st_uid != 0 &&
           st.st_uid != geteuid() && st.st_uid != in.st_uid;
}

/* A writer's operation on a record: setting a mark, or checking a seat. */
struct visit {
    int (*fn)(int fd, const struct visit *v); /* 0, or an errno; EAGAIN: `seat` is raised */
    const char *failed;                       /* text for its failure */
    uint64_t ino, mark, seat, boot_id;
};

static int visit_mark(int fd, const struct visit *v)
{
    return mark_in(fd, v->ino, v->mark);
}

static int visit_seat(int fd, const struct visit *v)
{
    const struct zc_root_record r = {.fd = fd};
    struct zc_root_seat now;
    struct header h;
    int err = read_header(fd, &h);

    if (err)
        return err;
    err = -zc_root_seat_get(&r, v->seat, &now);
    if (err == EBADMSG) /* it may be under construction */
        err = -zc_root_seat_get(&r, v->seat, &now);
    if (!err && now.generation && now.boot_id != v->boot_id)
        err = EAGAIN;
    return err;
}

/* Visits this directory's record, if there is one. */
static int visit_dir(const char *dir, const struct visit *v)
{
    char name[4200];
    int fd, err;

    snprintf(name, sizeof name, "%s/" ZC_ROOT_RECORD_NAME, dir);
    do {
        fd = zc_fd(open(name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    } while (fd < 0 && errno == EINTR);
    err = fd < 0 ? errno : v->fn(fd, v);
    if (fd >= 0)
        close(fd);
    if (err == 0 || err == ENOENT || err == ENOTDIR)
        return 0;
    if (may_not(err) ||
        ((err == EBADMSG || err == ELOOP || err == ENXIO) && is_strangers(dir, name))) {
        tell_once(name, err);
        return 0;
    }
    if (err == EAGAIN && v->seat)
        return zc_errorf(EAGAIN, "another daemon has started in its place, and may be writing back "
                                 "what the journal has");
    return explain(err, dir, v->failed);
}

/* Visits the records of all directories above an open file. */
static int visit_above(int fd, const char *path, struct visit *v)
{
    char link[64], dir[4160];
    struct stat st;
    ssize_t n;
    int rc = 0;

    snprintf(link, sizeof link, "/proc/thread-self/fd/%d", fd);
    if (fstat(fd, &st) < 0 || (n = readlink(link, dir, sizeof dir - 1)) < 0)
        return zc_errorf(errno, "open %s: its place in the file system cannot be read (%s): %s",
                         path, link, strerror(errno));
    dir[n] = '\0';
    if (st.st_nlink == 0 || dir[0] != '/')
        return 0;
    v->ino = st.st_ino;
    while (rc == 0 && dir[0]) {
        *strrchr(dir, '/') = '\0';
        rc = visit_dir(dir, v);
    }
    return rc;
}

int zc_root_mark(int fd, const char *path, uint64_t mark)
{
    struct visit v = {.fn = visit_mark, .failed = "this writer cannot be told to it", .mark = mark};
    int rc = mark ? 0 : random_number(&v.mark);

    return rc ? rc : visit_above(fd, path, &v);
}

int zc_root_seat_check(int fd, const char *path, uint64_t seat, uint64_t boot_id)
{
    struct visit v = {
        .fn = visit_seat, .failed = "its seats cannot be read", .seat = seat, .boot_id = boot_id};

    return visit_above(fd, path, &v);
}
