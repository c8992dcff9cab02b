/* zc_fence.c - the fence mark by which a job fences a daemon. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "zc_fd.h"
#include "zc_fence.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_wire.h"

static void path_of(const char *addrfile, char *path, size_t len)
{
    snprintf(path, len, "%s.lost", addrfile);
}

/* 1 or 0, or -errno of a failed read. */
static int find_in(FILE *f, uint64_t boot_id)
{
    char line[64];

    while (fgets(line, sizeof line, f))
        if (strtoull(line, NULL, 16) == boot_id)
            return 1;
    return ferror(f) ? -(errno ? errno : EIO) : 0;
}

int zc_fence_look(const char *addrfile, uint64_t boot_id)
{
    char path[ZC_MAX_PATH + 8];
    FILE *f;
    int rc;

    zc_assert_none_held();
    path_of(addrfile, path, sizeof path);
    f = zc_fopen(path, "re");
    if (!f)
        return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0 : -errno;
    rc = find_in(f, boot_id);
    fclose(f);
    return rc;
}

int zc_fence_create(const char *addrfile, uint64_t boot_id)
{
    char path[ZC_MAX_PATH + 8], line[64];
    int len, fd, rc = 0;

    zc_assert_none_held();
    if (zc_fence_look(addrfile, boot_id) == 1)
        return 0;
    path_of(addrfile, path, sizeof path);
    len = snprintf(line, sizeof line, "%016" PRIx64 "\n", boot_id);
    fd = zc_fd(open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (fd < 0)
        return zc_errorf(errno, "%s, by which it would learn of that: %s", path, strerror(errno));
    if (write(fd, line, (size_t)len) != len) /* in one piece, as others may write, too */
        rc = errno ? errno : EIO;
    if (close(fd) < 0 && !rc)
        rc = errno;
    return rc ? zc_errorf(rc, "%s, by which it would learn of that: %s", path, strerror(rc)) : 0;
}
