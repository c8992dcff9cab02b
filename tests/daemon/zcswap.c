/* zcswap.c - for tests of the daemon: names that change during their use.
 *
 *     zcswap NAME OTHER ...
 *
 * Exchanges NAME with each of the others in turn (renameat2(2) with RENAME_EXCHANGE, so that every
 * name exists at any time), over and over, until the input ends.  Prints how often.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

enum { PAUSE_NS = 100 * 1000 };

int main(int argc, char **argv)
{
    struct pollfd input = {.fd = 0, .events = POLLIN};
    struct timespec pause = {.tv_nsec = PAUSE_NS}; /* leaves the processor to others */
    unsigned long times = 0;

    if (argc < 3)
        return 2;
    while (ppoll(&input, 1, &pause, NULL) == 0) {
        const char *other = argv[2 + times % (unsigned long)(argc - 2)];

        if (renameat2(AT_FDCWD, argv[1], AT_FDCWD, other, RENAME_EXCHANGE)) {
            fprintf(stderr, "zcswap: %s and %s: %s\n", argv[1], other, strerror(errno));
            return 1;
        }
        times++;
    }
    printf("%lu times\n", times);
    return 0;
}
