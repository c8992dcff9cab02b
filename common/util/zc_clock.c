/* zc_clock.c - see zc_clock.h. */
#include "config.h"

#include <errno.h>
#include <poll.h>

#include "zc_clock.h"

const struct zc_clock *zc_clock;

void zc_clock_sleep(uint64_t ns)
{
    struct timespec t = zc_clock_timespec(ns);

    if (zc_clock)
        zc_clock->sleep(ns);
    else
        while (nanosleep(&t, &t) < 0 && errno == EINTR)
            continue;
}

int zc_clock_poll(struct pollfd *fds, unsigned n, uint64_t ns)
{
    struct timespec t = zc_clock_timespec(ns);

    return zc_clock && ns ? zc_clock->poll(fds, n, ns) : ppoll(fds, n, &t, NULL);
}
