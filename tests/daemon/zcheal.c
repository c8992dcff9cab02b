/* zcheal.c - for tests of the daemon: a program that goes on while its daemons are killed.
 *
 *     zcheal local|fabric DAEMONS PATH TIMEOUT-MS STOP
 *
 * Writes and reads a file again and again, through the daemons into the file system: what has
 * returned is there.  Prints "round N" after each, on a line of its own, until there is a file
 * STOP; then it syncs, closes, and checks that the file has what was written last.  Exits with 1
 * when a call failed, which it says.
 */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "zc_log.h"
#include "zc_store_open.h"

enum { BLOCK = 1 << 20, BYTES = 4 * BLOCK + 12345 };

static unsigned char buf[BYTES], back[BYTES];

static unsigned char stamp(size_t at, unsigned round)
{
    return (unsigned char)((at ^ at >> 8 ^ at >> 16) + round * 31);
}

static int failed(const char *what, ssize_t rc)
{
    if (rc < 0)
        fprintf(stderr, "zcheal: %s: %s\n", what, zc_error_text((int)rc));
    else
        fprintf(stderr, "zcheal: %s: other bytes\n", what);
    return 1;
}

static int one_round(struct zc_sfile *f, unsigned round)
{
    struct iovec out = {buf, BYTES}, in = {back, BYTES};
    ssize_t rc;

    for (size_t i = 0; i < BYTES; i++)
        buf[i] = stamp(i, round);
    rc = zc_store_pwritev(f, &out, 1, 0);
    if (rc != BYTES)
        return failed("write", rc);
    rc = zc_store_preadv(f, &in, 1, 0);
    if (rc != BYTES || memcmp(buf, back, BYTES))
        return failed("read", rc);
    printf("round %u\n", round);
    fflush(stdout);
    return 0;
}

static int check_file(const char *path)
{
    int fd = open(path, O_RDONLY);
    ssize_t n = fd < 0 ? -1 : read(fd, back, BYTES);

    if (n != BYTES || memcmp(buf, back, BYTES))
        return failed("the file at the end", 0);
    return 0;
}

int main(int argc, char **argv)
{
    struct zc_store_config cfg = {.name = "zcheal"};
    struct zc_attr attr = {.block_size = BLOCK};
    struct zc_store *store;
    struct zc_sfile *f;
    int rc;

    zc_log_init("zcheal");
    if (argc != 6)
        return 2;
    cfg.local = !strcmp(argv[1], "local");
    cfg.daemons = argv[2];
    cfg.timeout_ms = strtoul(argv[4], NULL, 10);
    rc = zc_store_open(&cfg, &store);
    if (rc)
        return failed("connect", rc);
    rc = zc_store_open_file(store, argv[3],
                            ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE | ZC_OPEN_THROUGH, 0600,
                            &f, &attr);
    if (rc)
        return failed("open", rc);
    for (unsigned round = 1; access(argv[5], F_OK) != 0; round++)
        if (one_round(f, round))
            return 1;
    rc = zc_store_sync(f, ZC_LEVEL_DURABLE);
    if (rc)
        return failed("sync", rc);
    rc = zc_store_close_file(f, ZC_LEVEL_STORED);
    if (rc)
        return failed("close", rc);
    zc_store_destroy(store);
    return check_file(argv[3]);
}
