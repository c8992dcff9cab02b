/* zcput.c - for tests of the daemon: a client that leaves dirty data behind.
 *
 *     zcput write ADDRESS-FILE PATH SIZE   writes SIZE bytes, says "written", and keeps the
 *                                          file open until its standard input ends
 *     zcput leave ADDRESS-FILE PATH SIZE   the same, and says goodbye at the end
 *     zcput forever ADDRESS-FILE PATH SIZE   the same, again and again
 *     zcput read ADDRESS-FILE PATH SIZE   prints SIZE bytes as the daemon has them
 *     zcput unlink ADDRESS-FILE PATH 1     deletes the file
 *     zcput print SIZE                     prints what write would write
 *     zcput check FILE SIZE                compares a file with what write wrote
 *
 * With ZCPUT_SET=N the daemon is one of N, the first, that serve the file.
 * With ZCPUT_PAUSE_MS=N it rests so long after each time.
 * With ZCPUT_SALT=N all bytes are greater by N: other content.
 * With ZCACHE_CHECKSUM=on the daemon's pages have checksums, and so has what is read.
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "zc_addrfile.h"
#include "zc_client.h"
#include "zc_clock.h"
#include "zc_log.h"
#include "zc_units.h"
#include "zc_wire_csum.h"

static void fill(unsigned char *p, size_t n)
{
    const char *salt = getenv("ZCPUT_SALT");
    unsigned char more = (unsigned char)(salt ? atoi(salt) : 0);

    for (size_t i = 0; i < n; i++)
        p[i] = (unsigned char)(i % 251 + i / 65536 + more);
}

static int explain(int rc)
{
    fprintf(stderr, "zcput: %s\n", zc_error_text(rc));
    return 1;
}

static bool with_checksums(void)
{
    const char *checksum = getenv("ZCACHE_CHECKSUM");

    return checksum && !strcmp(checksum, "on");
}

static unsigned flags_for(unsigned access)
{
    return with_checksums() ? access | ZC_OPEN_CHECKSUM : access;
}

/* As zc_client_read(), with checksums. */
static ssize_t read_checked(struct zc_client *c, uint64_t handle, void *buf, size_t len)
{
    size_t done = 0;
    ssize_t n = 1;

    for (; n > 0 && done < len; done += (size_t)(n > 0 ? n : 0)) {
        struct zc_io io = {.handle = handle,
                           .buf = (char *)buf + done,
                           .len = len - done < ZC_CSUMS_SPAN ? len - done : ZC_CSUMS_SPAN,
                           .off = done,
                           .checked = true};

        zc_io_start(c, &io);
        n = zc_io_wait(c, &io);
    }
    return n < 0 ? n : (ssize_t)done;
}

static int read_in(struct zc_client *c, const char *path, size_t size)
{
    struct zc_attr attr = {0};
    unsigned char *buf = malloc(size);
    uint64_t handle;
    ssize_t rc;

    if (!buf)
        return -ENOMEM;
    rc = zc_client_open(c, path, flags_for(ZC_OPEN_READ), 0, &handle, &attr);
    if (rc >= 0)
        rc = with_checksums() ? read_checked(c, handle, buf, size)
                              : zc_client_read(c, handle, buf, size, 0);
    if (rc >= 0)
        fwrite(buf, 1, (size_t)rc, stdout);
    free(buf);
    if (rc >= 0)
        rc = zc_client_close(c, handle, ZC_LEVEL_STORED);
    return (int)rc;
}

static int write_out(struct zc_client *c, const char *path, size_t size, bool forever)
{
    const char *set = getenv("ZCPUT_SET"), *rest = getenv("ZCPUT_PAUSE_MS");
    struct zc_attr attr = {.set = {.id = set ? 5 : 0, .count = set ? (uint32_t)atoi(set) : 0}};
    unsigned char *buf = malloc(size);
    uint64_t handle;
    ssize_t rc;

    if (!buf)
        return -ENOMEM;
    fill(buf, size);
    rc = zc_client_open(c, path, flags_for(ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE), 0644,
                        &handle, &attr);
    do {
        for (size_t done = 0; rc >= 0 && done < size; done += (size_t)rc)
            rc = zc_client_write(c, handle, buf + done, size - done, done);
        if (rest)
            zc_clock_sleep((uint64_t)atoi(rest) * ZC_NS_PER_MS);
    } while (forever && rc >= 0);
    free(buf);
    return rc < 0 ? (int)rc : 0;
}

static int do_client(const char *what, const char *address, const char *path, size_t size)
{
    struct zc_net_config cfg = {.timeout_ms = 10000, .name = "zcput"};
    struct zc_addrfile a;
    struct zc_client *client;
    struct zc_net *net;
    char c;
    int rc = zc_addrfile_read(address, &a);

    if (rc < 0)
        return explain(rc);
    cfg.provider = a.provider;
    cfg.toward = a.address;
    cfg.toward_len = a.address_len;
    rc = zc_net_create(&cfg, &net);
    if (rc == 0)
        rc = zc_client_connect(net, a.address, a.address_len, &a.secret, "zcached", &client);
    if (rc == 0 && !strcmp(what, "read"))
        rc = read_in(client, path, size);
    else if (rc == 0 && !strcmp(what, "unlink"))
        rc = zc_client_unlink(client, path);
    else if (rc == 0)
        rc = write_out(client, path, size, !strcmp(what, "forever"));
    if (rc < 0)
        return explain(rc);
    if (!strcmp(what, "read") || !strcmp(what, "unlink")) {
        zc_client_disconnect(client);
        zc_net_destroy(net);
        return 0;
    }
    puts("written");
    fflush(stdout);
    while (read(STDIN_FILENO, &c, 1) > 0)
        ;
    if (!strcmp(what, "leave")) {
        zc_client_disconnect(client);
        zc_net_destroy(net);
        return 0;
    }
    _exit(0); /* without a goodbye: the daemon may be gone */
}

static int do_print(size_t size)
{
    unsigned char *p = malloc(size + 1);

    if (!p)
        return 1;
    fill(p, size);
    size -= fwrite(p, 1, size, stdout);
    free(p);
    return size > 0;
}

static int do_check(const char *path, size_t size)
{
    unsigned char *want = malloc(size + 1), *got = malloc(size + 1);
    FILE *f = fopen(path, "r");
    size_t n;

    if (!want || !got || !f) {
        fprintf(stderr, "zcput: %s: %s\n", path, strerror(errno));
        return 1;
    }
    fill(want, size);
    n = fread(got, 1, size + 1, f);
    if (n != size || memcmp(want, got, size) != 0) {
        fprintf(stderr, "zcput: %s: other content, %zu bytes\n", path, n);
        return 1;
    }
    fclose(f);
    free(want);
    free(got);
    return 0;
}

int main(int argc, char **argv)
{
    uint64_t size;

    zc_log_init("zcput");
    if (argc < 3 || zc_parse_size(argv[argc - 1], &size) < 0)
        return 2;
    if (argc == 3)
        return do_print(size);
    if (argc == 4)
        return do_check(argv[2], size);
    return do_client(argv[1], argv[2], argv[3], size);
}
