/*
 * The file as other programs see it.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "posix_check.h"

#define PIECE ((size_t)4 << 20)

/* Returns the bytes read, less than `len` only at the end of the file, or negative errno. */
static ssize_t read_fully(int fd, char *buf, size_t len, int64_t offset)
{
    size_t done = 0;
    while (done < len) {
        ssize_t n = pread(fd, buf + done, len - done, offset + (int64_t)done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

static void check_contents(int fd, const char *path, const struct content *c, int64_t bytes,
                           bool gaps, struct verdict *v)
{
    char *buf = malloc(PIECE);
    if (buf == NULL) {
        verdict_fault(v, "no memory to read %s", path);
        return;
    }
    for (int64_t offset = 0; offset < bytes;) {
        size_t want = bytes - offset < (int64_t)PIECE ? (size_t)(bytes - offset) : PIECE;
        ssize_t got = read_fully(fd, buf, want, offset);
        if (got < 0) {
            verdict_fault(v, "%s cannot be read through POSIX at %" PRId64 ": %s", path, offset,
                          strerror((int)-got));
            break;
        }
        struct content_fault fault;
        int64_t wrong = content_check(c, offset, buf, got, gaps, &fault);
        if (wrong > 0)
            verdict_fault(v, "%s read through POSIX: %s", path, fault.text);
        v->wrong += wrong;
        v->posix_checked += content_bytes(c, offset, got);
        /* The wrong size is reported already. */
        if ((size_t)got < want)
            break;
        offset += got;
    }
    free(buf);
}

void posix_check(const char *path, const struct content *c, int64_t bytes, bool longer_ok,
                 bool gaps, struct verdict *v)
{
    struct stat sb;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &sb) != 0) {
        verdict_fault(v, "%s cannot be opened through POSIX: %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return;
    }
    if (sb.st_size < bytes || (sb.st_size > bytes && !longer_ok))
        verdict_fault(v,
                      "%s seen through POSIX: %" PRId64 " bytes, where %" PRId64 " were expected",
                      path, (int64_t)sb.st_size, bytes);
    check_contents(fd, path, c, bytes, gaps, v);
    close(fd);
}
