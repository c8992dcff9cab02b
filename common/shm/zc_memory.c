/* zc_memory.c - memory that processes of one host share. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "zc_fd.h"
#include "zc_log.h"
#include "zc_memory.h"

/* Linux 5.1; what is mapped already stays as it is. */
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

/* The limit on the size of files counts for memfds, too, and to pass it is a signal that ends the
 * process. */
static bool too_large(size_t len)
{
    struct rlimit l;

    return getrlimit(RLIMIT_FSIZE, &l) == 0 && l.rlim_cur != RLIM_INFINITY && l.rlim_cur < len;
}

static void *map(int fd, size_t len, bool theirs)
{
    void *at;

    if (too_large(len)) {
        errno = EFBIG;
        return MAP_FAILED;
    }
    if (ftruncate(fd, (off_t)len) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW))
        return MAP_FAILED;
    at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (at == MAP_FAILED ||
        fcntl(fd, F_ADD_SEALS, theirs ? F_SEAL_SEAL : F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) == 0)
        return at;
    munmap(at, len);
    return MAP_FAILED;
}

int zc_memory_share(const char *name, size_t len, bool theirs, int *fd, void **at)
{
    *fd = zc_fd(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
    *at = *fd < 0 ? MAP_FAILED : map(*fd, len, theirs);
    if (*at != MAP_FAILED)
        return 0;
    zc_errorf(EOPNOTSUPP, "no shared memory: %s", strerror(errno));
    if (*fd >= 0)
        close(*fd);
    return -EOPNOTSUPP;
}

void zc_memory_free(void *at, size_t len, int fd)
{
    munmap(at, len);
    close(fd);
}
