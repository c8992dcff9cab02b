/*
 * A file as other programs see it.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "posix_file.h"

int posix_file_open(const char *path, int64_t bytes, bool longer_ok, struct verdict *v)
{
    struct stat sb;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &sb) != 0) {
        verdict_fault(v, "%s cannot be opened through POSIX: %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    if (sb.st_size < bytes || (sb.st_size > bytes && !longer_ok))
        verdict_fault(v,
                      "%s seen through POSIX: %" PRId64 " bytes, where %" PRId64 " were expected",
                      path, (int64_t)sb.st_size, bytes);
    return fd;
}

ssize_t posix_file_read(int fd, const char *path, void *buf, size_t len, int64_t offset,
                        struct verdict *v)
{
    size_t done = 0;
    while (done < len) {
        ssize_t n = pread(fd, (char *)buf + done, len - done, offset + (int64_t)done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            verdict_fault(v, "%s cannot be read through POSIX at %" PRId64 ": %s", path, offset,
                          strerror(errno));
            return -1;
        }
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}
