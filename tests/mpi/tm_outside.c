/* tm_outside.c - what another program does to the file while no job has it open, with plain POSIX
 * calls: writes, truncates, replaces.
 *
 * Clocks of file systems are coarse: each change goes on until the file's ctime shows it, which no
 * program can set back; the time of modification it may, as archivers do.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tm.h"

struct change {
    int64_t off, len;
    uint32_t who;
};

static int open_it(const struct tm *tm, const char *path, int flags)
{
    int fd = open(path, flags, 0644);

    if (fd < 0)
        tm_fail(tm, "cannot open %s: %s", path, strerror(errno));
    return fd;
}

static void write_it(const struct tm *tm, int fd, const struct change *c)
{
    uint8_t *bytes = malloc((size_t)c->len + 1);

    if (!bytes)
        tm_fail(tm, "no memory for %lld bytes", (long long)c->len);
    for (int64_t i = 0; i < c->len; i++)
        bytes[i] = tm_stamp(c->off + i, c->who);
    if (pwrite(fd, bytes, (size_t)c->len, c->off) != c->len)
        tm_fail(tm, "cannot write %s: %s", tm->opt.path, strerror(errno));
    free(bytes);
}

static struct stat look(const struct tm *tm, int fd)
{
    struct stat st;

    if (fstat(fd, &st))
        tm_fail(tm, "cannot stat %s: %s", tm->opt.path, strerror(errno));
    return st;
}

static bool later(const struct stat *now, const struct stat *before)
{
    return now->st_ctim.tv_sec != before->st_ctim.tv_sec ||
           now->st_ctim.tv_nsec != before->st_ctim.tv_nsec;
}

/* A range anywhere, below `max`. */
static struct change draw(struct tm *tm, int64_t max)
{
    struct change c = {.who = ++tm->last};

    c.off = tm_between(&tm->rng, 0, max);
    c.len = tm_between(&tm->rng, 0, 5000);
    if (c.len > max - c.off)
        c.len = max - c.off;
    return c;
}

static void write_some(struct tm *tm)
{
    struct change c = draw(tm, tm->image.max);
    bool put_back = tm_chance(&tm->rng, 30);

    tm_say(tm, "another program writes %lld bytes at %lld, access %u", (long long)c.len,
           (long long)c.off, c.who);
    if (tm->rank == 0) {
        int fd = open_it(tm, tm->opt.path, O_WRONLY);
        struct stat before = look(tm, fd), now;
        struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, before.st_mtim};

        do {
            write_it(tm, fd, &c);
            if (put_back && futimens(fd, times))
                tm_fail(tm, "cannot set times of %s: %s", tm->opt.path, strerror(errno));
            now = look(tm, fd);
        } while (c.len && !later(&now, &before));
        close(fd);
    }
    tm_image_write(&tm->image, c.off, c.len, c.who);
}

static void truncate_it(struct tm *tm)
{
    int64_t size = tm_between(&tm->rng, 0, tm->image.max - 1);

    tm_say(tm, "another program truncates to %lld", (long long)size);
    if (tm->rank == 0) {
        int fd = open_it(tm, tm->opt.path, O_WRONLY);
        struct stat before = look(tm, fd), now;

        do {
            if (ftruncate(fd, size))
                tm_fail(tm, "cannot truncate %s: %s", tm->opt.path, strerror(errno));
            now = look(tm, fd);
        } while (!later(&now, &before));
        close(fd);
    }
    tm_image_resize(&tm->image, size);
}

/* Under another name first, which then becomes this one; or where the old one was, which may give
 * the new one the number of the old. */
static void make_anew(const struct tm *tm, int64_t size, const struct change *c, int n, bool aside)
{
    char path[4300];
    struct stat before = {0}, now;
    int fd;

    snprintf(path, sizeof path, "%s%s", tm->opt.path, aside ? ".new" : "");
    if (tm->exists && stat(tm->opt.path, &before))
        tm_fail(tm, "cannot stat %s: %s", tm->opt.path, strerror(errno));
    if (tm->exists && !aside && unlink(path))
        tm_fail(tm, "cannot unlink %s: %s", path, strerror(errno));
    fd = open_it(tm, path, O_WRONLY | O_CREAT | O_EXCL);
    for (int i = 0; i < n; i++)
        write_it(tm, fd, &c[i]);
    do {
        if (ftruncate(fd, size))
            tm_fail(tm, "cannot truncate %s: %s", path, strerror(errno));
        now = look(tm, fd);
    } while (!later(&now, &before));
    close(fd);
    if (aside && rename(path, tm->opt.path))
        tm_fail(tm, "cannot rename %s: %s", path, strerror(errno));
}

void tm_outside_replace(struct tm *tm)
{
    int64_t size = tm_between(&tm->rng, 0, tm->image.max);
    bool aside = tm_chance(&tm->rng, 60);
    int n = (int)tm_between(&tm->rng, 0, 6);
    struct change c[6];

    for (int i = 0; i < n; i++)
        c[i] = draw(tm, size);
    tm_say(tm, "another program %s the file by one of %lld bytes, accesses up to %u",
           aside ? "replaces" : "deletes and makes", (long long)size, tm->last);
    if (tm->rank == 0)
        make_anew(tm, size, c, n, aside);
    tm_image_resize(&tm->image, 0);
    tm_image_resize(&tm->image, size);
    for (int i = 0; i < n; i++)
        tm_image_write(&tm->image, c[i].off, c[i].len, c[i].who);
    tm->exists = true;
}

void tm_outside(struct tm *tm)
{
    int k = tm_pick(&tm->rng, 10);

    if (k < 2 || !tm->exists)
        tm_outside_replace(tm);
    else if (k < 5)
        truncate_it(tm);
    else
        write_some(tm);
}
