/* zc_address_space.c - the limit on the address space of a process.
 *
 * The kernel compares it with mm->total_vm, which /proc/thread-self/statm shows in pages.
 */
#include "config.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "zc_address_space.h"
#include "zc_fd.h"
#include "zc_units.h"

/* Returns the bytes in use; 0: unknown. */
static uint64_t in_use(void)
{
    char line[256];
    unsigned long long pages = 0;
    int fd = zc_fd(open("/proc/thread-self/statm", O_RDONLY | O_CLOEXEC));
    ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof line - 1);

    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return 0;
    line[n] = '\0';
    return sscanf(line, "%llu", &pages) == 1 ? pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

const char *zc_address_space_remedy(uint64_t need, char *buf, size_t len)
{
    char all[32], used[32], more[32];
    struct rlimit l;
    uint64_t now;

    buf[0] = '\0';
    if (getrlimit(RLIMIT_AS, &l) || l.rlim_cur == RLIM_INFINITY)
        return buf;
    now = in_use();
    zc_format_size(l.rlim_cur, all, sizeof all);
    zc_format_size(now, used, sizeof used);
    zc_format_size(need, more, sizeof more);
    if (need == 0)
        snprintf(buf, len,
                 "; ulimit -v is %s, and %s are in use: raise it, or make the cache smaller", all,
                 used);
    else if (now + need > l.rlim_cur)
        snprintf(buf, len,
                 "; ulimit -v is %s, %s are in use and %s more are needed: raise it, or make the "
                 "cache smaller",
                 all, used, more);
    return buf;
}

const char *zc_address_space_thread(char *buf, size_t len)
{
    size_t stack = 0, guard = 0;
    pthread_attr_t a;

    if (pthread_attr_init(&a) == 0) {
        pthread_attr_getstacksize(&a, &stack);
        pthread_attr_getguardsize(&a, &guard);
        pthread_attr_destroy(&a);
    }
    return zc_address_space_remedy(stack + guard, buf, len);
}
