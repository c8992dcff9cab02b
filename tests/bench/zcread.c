/* zcread.c - for benchmarks: reads a file through a daemon, as an aggregator does.
 *
 *     zcread [option ...] ADDRESS-FILE PATH
 *
 *     --fill SIZE      first write SIZE bytes
 *     --size SIZE      of each read (4K)
 *     --count N        reads (1000), from the start of the file on, again and again
 *     --until FILE     instead of --count: read until FILE exists
 *     --opens N        instead of reads: open and close the file N times
 *     --connects N     instead of reads: begin and end a session N times
 *     --idle FILE      instead of reads: read once, say so on a line, and do nothing until FILE
 *                      exists
 *     --local          as processes of the daemon's host do
 *
 * Prints "MICROSECONDS-A-READ MB/S READS", or fails: every byte read is compared.  "MICROSECONDS 0
 * N" of the others.  What the protocol costs shows between two builds, run in turn:
 *
 *     for build in before after before after; do
 *         $build/tests/run-iod sh -c 'zcread --fill 4K --count 20000 $ZCACHE_DAEMONS $IOD_ROOT/f'
 *     done
 */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "zc_addrfile.h"
#include "zc_client.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_units.h"

enum { CHUNK = 1 << 20 };

struct options {
    uint64_t fill, size, count, opens, connects;
    bool local;
    const char *until, *idle, *address, *path;
};

/* Eight bytes that tell their place in the file. */
static uint64_t stamp(uint64_t off)
{
    return (off / 8 + 1) * 0x9e3779b97f4a7c15ull;
}

static void fill(unsigned char *buf, size_t len, uint64_t off)
{
    for (size_t i = 0; i < len; i += 8) {
        uint64_t x = stamp(off + i);

        memcpy(buf + i, &x, 8);
    }
}

static int compare(const unsigned char *buf, size_t len, uint64_t off)
{
    for (size_t i = 0; i < len; i += 8) {
        uint64_t x = stamp(off + i);

        if (memcmp(buf + i, &x, 8))
            return zc_errorf(EIO, "wrong bytes at offset %llu", (unsigned long long)(off + i));
    }
    return 0;
}

static int write_file(struct zc_client *c, uint64_t handle, uint64_t size)
{
    unsigned char *buf = malloc(CHUNK);
    ssize_t rc = buf ? 0 : -ENOMEM;

    for (uint64_t at = 0; rc >= 0 && at < size; at += CHUNK) {
        size_t n = size - at < CHUNK ? (size_t)(size - at) : CHUNK;

        fill(buf, n, at);
        rc = zc_client_write(c, handle, buf, n, at);
    }
    free(buf);
    return rc < 0 ? (int)rc : 0;
}

/* Reads; the time to compare does not count. */
static int read_file(struct zc_client *c, uint64_t handle, uint64_t size, const struct options *o)
{
    unsigned char *buf = aligned_alloc(4096, (o->size + 4095) / 4096 * 4096);
    uint64_t n = 0, ns = 0, at = 0;
    int rc = buf ? 0 : -ENOMEM;

    if (size < o->size)
        rc = zc_errorf(EINVAL, "the file has only %llu bytes", (unsigned long long)size);
    while (rc == 0 && (o->until ? access(o->until, F_OK) : n < o->count)) {
        uint64_t began = zc_now();
        ssize_t got = zc_client_read(c, handle, buf, o->size, at);

        ns += zc_now() - began;
        if (got != (ssize_t)o->size)
            rc = got < 0 ? (int)got
                         : zc_errorf(EIO, "%zd bytes at %llu", got, (unsigned long long)at);
        else
            rc = compare(buf, o->size, at);
        n++;
        at = at + 2 * o->size > size ? 0 : at + o->size;
    }
    if (rc == 0)
        printf("%.2f %.1f %llu\n", (double)ns / 1e3 / (double)n,
               (double)(n * o->size) * 1e3 / (double)ns, (unsigned long long)n);
    free(buf);
    return rc;
}

static void print(uint64_t began, uint64_t n)
{
    printf("%.2f 0 %llu\n", (double)(zc_now() - began) / 1e3 / (double)n, (unsigned long long)n);
}

static int open_often(struct zc_client *c, const struct options *o)
{
    uint64_t began = zc_now(), handle;
    int rc = 0;

    for (uint64_t i = 0; rc == 0 && i < o->opens; i++) {
        struct zc_attr attr = {.stride = 1};

        rc = zc_client_open(c, o->path, ZC_OPEN_READ, 0, &handle, &attr);
        if (rc == 0)
            rc = zc_client_close(c, handle, ZC_LEVEL_VISIBLE);
    }
    if (rc == 0)
        print(began, o->opens);
    return rc;
}

static int connect_often(struct zc_net *net, const struct zc_addrfile *a, const struct options *o)
{
    uint64_t began = zc_now();
    int rc = 0;

    for (uint64_t i = 0; rc == 0 && i < o->connects; i++) {
        struct zc_client *c;
        size_t len;
        const void *addr = zc_addrfile_address(a, o->local, &len);

        rc = zc_client_connect(net, addr, len, &a->secret, "the daemon", &c);
        if (rc == 0)
            zc_client_disconnect(c);
    }
    if (rc == 0)
        print(began, o->connects);
    return rc;
}

/* Has the file open, as a program that computes. */
static void idle(const char *until)
{
    puts("idle");
    fflush(stdout);
    while (access(until, F_OK))
        usleep(200000);
}

static int run(const struct options *o)
{
    struct zc_net_config cfg = {.timeout_ms = 30000, .name = "zcread"};
    struct zc_attr attr = {.stride = 1};
    struct zc_addrfile a;
    struct zc_client *client;
    struct zc_net *net;
    const void *addr;
    uint64_t handle;
    size_t len;
    int rc = zc_addrfile_read(o->address, &a);

    if (rc)
        return rc;
    cfg.provider = a.provider;
    addr = zc_addrfile_address(&a, o->local, &len);
    cfg.toward = addr;
    cfg.toward_len = len;
    rc = zc_net_create(&cfg, &net);
    if (rc)
        return rc;
    rc = zc_client_connect(net, addr, len, &a.secret, "the daemon", &client);
    if (rc == 0) {
        rc = zc_client_open(client, o->path, ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE, 0644,
                            &handle, &attr);
        if (rc == 0 && o->fill) {
            attr.size = o->fill;
            rc = write_file(client, handle, o->fill);
        }
        if (rc == 0 && o->connects)
            rc = connect_often(net, &a, o);
        else if (rc == 0 && o->opens)
            rc = open_often(client, o);
        else if (rc == 0 && o->count)
            rc = read_file(client, handle, attr.size, o);
        if (rc == 0 && o->idle)
            idle(o->idle);
        zc_client_disconnect(client);
    }
    zc_net_destroy(net);
    return rc;
}

static bool parse(int argc, char **argv, struct options *o)
{
    static const struct option options[] = {
        {"fill", 1, NULL, 'f'},  {"size", 1, NULL, 's'},  {"count", 1, NULL, 'n'},
        {"until", 1, NULL, 'u'}, {"opens", 1, NULL, 'o'}, {"connects", 1, NULL, 'c'},
        {"local", 0, NULL, 'l'}, {"idle", 1, NULL, 'i'},  {0}};
    int c;

    *o = (struct options){.size = 4096, .count = 1000};
    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        uint64_t *number = c == 'f'   ? &o->fill
                           : c == 's' ? &o->size
                           : c == 'n' ? &o->count
                           : c == 'o' ? &o->opens
                                      : &o->connects;

        if (c == 'u')
            o->until = optarg;
        else if (c == 'i')
            o->idle = optarg, o->count = 1;
        else if (c == 'l')
            o->local = true;
        else if (c == '?' || zc_parse_size(optarg, number))
            return false;
    }
    if (optind + 2 != argc || o->size % 8 || o->fill % 8)
        return false;
    o->address = argv[optind];
    o->path = argv[optind + 1];
    return true;
}

int main(int argc, char **argv)
{
    struct options o;
    int rc;

    zc_log_init("zcread");
    if (!parse(argc, argv, &o)) {
        fprintf(stderr, "zcread: wrong use; see the top of tests/bench/zcread.c\n");
        return 2;
    }
    rc = run(&o);
    if (rc)
        fprintf(stderr, "zcread: %s\n", zc_error_text(rc));
    return rc ? 1 : 0;
}
