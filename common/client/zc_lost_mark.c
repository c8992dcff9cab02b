/* zc_lost_mark.c - the mark by which a daemon learns that a job has gone on without it. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "zc_lock.h"
#include "zc_log.h"
#include "zc_lost_mark.h"
#include "zc_wire.h"

static void path_of(const char *addrfile, char *path, size_t len)
{
    snprintf(path, len, "%s.lost", addrfile);
}

bool zc_lost_mark_is_there(const char *addrfile, uint64_t boot_id)
{
    char path[ZC_MAX_PATH + 8], line[64];
    bool found = false;
    FILE *f;

    zc_assert_none_held();
    path_of(addrfile, path, sizeof path);
    f = fopen(path, "re");
    while (f && !found && fgets(line, sizeof line, f))
        found = strtoull(line, NULL, 16) == boot_id;
    if (f)
        fclose(f);
    return found;
}

int zc_lost_mark_leave(const char *addrfile, uint64_t boot_id)
{
    char path[ZC_MAX_PATH + 8], line[64];
    int len, fd, rc = 0;

    zc_assert_none_held();
    if (zc_lost_mark_is_there(addrfile, boot_id))
        return 0;
    path_of(addrfile, path, sizeof path);
    len = snprintf(line, sizeof line, "%016" PRIx64 "\n", boot_id);
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return zc_errorf(errno, "%s, by which it would learn of that: %s", path, strerror(errno));
    if (write(fd, line, (size_t)len) != len) /* in one piece, for others may do the same */
        rc = errno ? errno : EIO;
    if (close(fd) < 0 && !rc)
        rc = errno;
    return rc ? zc_errorf(rc, "%s, by which it would learn of that: %s", path, strerror(rc)) : 0;
}
