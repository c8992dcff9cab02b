/* zcseal.c - for benchmarks: what it takes to make and to check the seals of a round trip, alone.
 *
 *     zcseal [--local]
 *
 * Prints "MICROSECONDS MICROSECONDS": of a read of 4 KiB (a request, and a reply with the data),
 * and of an open with its close (four messages), on both sides together; processor time, the least
 * of many tries, so that a busy machine says the same.  One of the two sides is a daemon, which may
 * have a faster hash.  --local: as between processes of one host, where data is not hashed.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "iod_poly1305.h"
#include "zc_handshake.h"
#include "zc_mac.h"

enum { TRIES = 300, TIMES = 200, SHORT = 160, DATA = 4096 + 100 };

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Made and checked with `sum`. */
static double seal_us(const struct zc_keys *k, size_t len, zc_poly1305_fn *sum)
{
    static unsigned char msg[DATA];
    double least = 1e9;
    unsigned wrong = 0;

    zc_mac_sum_with(sum);
    for (int i = 0; i < TRIES; i++) {
        double began = now_us(), took;

        for (int j = 0; j < TIMES; j++) {
            msg[20] = (unsigned char)j;
            zc_mac_put(k, msg, len);
            wrong += !zc_mac_check(k, msg, len);
        }
        took = (now_us() - began) / TIMES;
        least = took < least ? took : least;
    }
    return wrong ? 1e9 : least;
}

int main(int argc, char **argv)
{
    struct zc_handshake shake = {{7}};
    struct zc_keys k;
    zc_poly1305_fn *of_daemon = iod_poly1305();
    double brief, data;

    zc_handshake_keys(&shake, false, argc > 1 && strcmp(argv[1], "--local") == 0, &k);
    k.theirs = k.ours;
    brief = seal_us(&k, SHORT, zc_mac_sum_default);
    data = seal_us(&k, DATA, zc_mac_sum_default);
    if (of_daemon) /* either makes it or checks it */
        data = (data + seal_us(&k, DATA, of_daemon)) / 2;
    printf("%.3f %.3f\n", brief + data, 4 * brief);
    return 0;
}
