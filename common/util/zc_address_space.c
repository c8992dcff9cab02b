/* zc_address_space.c - the limits on the address space of a process.
 *
 * The kernel compares RLIMIT_AS with mm->total_vm and RLIMIT_DATA with mm->data_vm
 * (may_expand_vm()).  /proc/thread-self/statm shows them in pages, in columns 1 and 6; the latter
 * with the main thread's stack.
 */
#include "config.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "zc_address_space.h"
#include "zc_fd.h"
#include "zc_units.h"

/* What another thread of glibc takes for its heap, for a moment (malloc/arena.c). */
enum { HEAP = 128 << 20 };

/* What of a process a limit counts, and how it is told. */
struct limit {
    int resource;
    const char *name;
    unsigned column; /* of statm, from 0 */
};
static const struct limit limits[] = {{RLIMIT_AS, "ulimit -v", 0}, {RLIMIT_DATA, "ulimit -d", 5}};

/* Returns the bytes; UINT64_MAX: none. */
static uint64_t bytes_of(const struct limit *l)
{
    struct rlimit r;

    return getrlimit(l->resource, &r) || r.rlim_cur == RLIM_INFINITY ? UINT64_MAX : r.rlim_cur;
}

/* Returns the bytes in use that a limit counts; 0: unknown. */
static uint64_t in_use(const struct limit *l)
{
    char line[256], *p = line;
    unsigned long long pages = 0;
    int fd = zc_fd(open("/proc/thread-self/statm", O_RDONLY | O_CLOEXEC));
    ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof line - 1);

    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return 0;
    line[n] = '\0';
    for (unsigned i = 0; i <= l->column; i++)
        pages = strtoull(p, &p, 10);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Returns the limit with least room, *used of which is in use; NULL: there is none. */
static const struct limit *tightest(uint64_t *used)
{
    const struct limit *least = NULL;
    uint64_t room = UINT64_MAX;

    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        uint64_t all = bytes_of(&limits[i]), now = all == UINT64_MAX ? 0 : in_use(&limits[i]);

        if (all == UINT64_MAX || (least && (all > now ? all - now : 0) >= room))
            continue;
        least = &limits[i];
        room = all > now ? all - now : 0;
        *used = now;
    }
    return least;
}

bool zc_address_space_limited(void)
{
    uint64_t used;

    return tightest(&used);
}

const char *zc_address_space_remedy(uint64_t need, char *buf, size_t len)
{
    char all[32], used[32], more[32];
    uint64_t now;
    const struct limit *l = tightest(&now);

    buf[0] = '\0';
    if (!l)
        return buf;
    zc_format_size(bytes_of(l), all, sizeof all);
    zc_format_size(now, used, sizeof used);
    zc_format_size(need, more, sizeof more);
    if (need == 0)
        snprintf(buf, len, "; %s is %s, and %s are in use: raise it, or make the cache smaller",
                 l->name, all, used);
    else if (now + need > bytes_of(l))
        snprintf(buf, len,
                 "; %s is %s, %s are in use and %s more are needed: raise it, or make the cache "
                 "smaller",
                 l->name, all, used, more);
    return buf;
}

const char *zc_address_space_thread(char *buf, size_t len)
{
    uint64_t now;
    const struct limit *l = tightest(&now);
    size_t stack = 0, guard = 0;
    pthread_attr_t a;

    if (pthread_attr_init(&a) == 0) {
        pthread_attr_getstacksize(&a, &stack);
        pthread_attr_getguardsize(&a, &guard);
        pthread_attr_destroy(&a);
    }
    if (l && now + stack + guard <= bytes_of(l) && now + stack + guard + HEAP > bytes_of(l))
        return zc_address_space_remedy(0, buf, len);
    return zc_address_space_remedy(stack + guard, buf, len);
}
