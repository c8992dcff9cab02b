/* zcache_host_pointer.c - whether a buffer can be reached by the processor at all.
 *
 * The kernel is asked to copy a byte from there, and refuses instead of killing the program.
 * So no library of any maker of devices needs to be known.  Memory that both sides reach
 * (managed, pinned) is like any other.  What cannot be pinned, as a device's memory that is mapped
 * here, is asked for in another way, by which write(2) would copy it.
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "zc_fd.h"
#include "zc_log.h"
#include "zcache_host_pointer.h"

enum { NEIGHBOURS = 21 }; /* what is true of a byte is taken to be of the 2 MiB around it */

/* Whether write(2) could copy the byte; it is slower to ask than by process_vm_readv(2). */
static bool is_readable(const void *p)
{
    int fd = zc_fd(memfd_create("zcache-check", MFD_CLOEXEC));
    bool yes = fd >= 0 && write(fd, p, 1) == 1;

    if (fd >= 0)
        close(fd);
    return yes;
}

int zcache_host_pointer_check(const void *p)
{
    static _Thread_local uintptr_t good; /* 0: none; null pointers never are */
    uintptr_t place = (uintptr_t)p >> NEIGHBOURS;
    char byte;
    struct iovec here = {&byte, 1}, there = {(void *)(uintptr_t)p, 1};

    if (place && place == good)
        return 0;
    if (process_vm_readv((pid_t)syscall(SYS_gettid), &here, 1, &there, 1, 0) < 0 &&
        errno == EFAULT && !is_readable(p))
        return zc_errorf(EFAULT,
                         "the buffer at %p is no memory of this host: what a device holds has to "
                         "be copied to the host first",
                         p);
    good = place; /* also where the kernel does not answer such questions */
    return 0;
}
