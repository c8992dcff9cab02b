/* zcload.c - for tests of the daemon: many clients that ask for more than it has memory for.
 *
 *     zcload ADDRESS-FILE DIR ENDPOINTS CLIENTS ROUNDS
 *
 * CLIENTS sessions on each of ENDPOINTS endpoints, a thread and a file each.  Every round
 * keeps as many requests under way as a client may have: large writes, small ones, writes
 * and reads through irregular views, large reads.  At the end each reads back what it wrote.
 */
#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_addrfile.h"
#include "zc_client.h"
#include "zc_log.h"
#include "zc_view.h"

enum {
    FLYING = 16,
    LARGE = 512 << 10, /* bytes a request */
    SMALL = 12000,
    PIECES = 10000, /* of an irregular view */
    MAX_ENDPOINTS = 64,
};

struct load {
    pthread_t thread;
    struct zc_client *client;
    const char *dir;
    int number, rounds;
    bool failed;
};

static bool bad(struct load *l, const char *what, ssize_t rc)
{
    if (rc >= 0)
        return false;
    fprintf(stderr, "zcload: client %d: %s: %s\n", l->number, what, zc_error_text((int)rc));
    return l->failed = true;
}

static unsigned char stamp(size_t at, int number)
{
    return (unsigned char)((at ^ at >> 8 ^ at >> 16) + (unsigned)number * 31);
}

/* Pieces of 1 to 16 bytes, gaps of 1 to 24: nothing repeats. */
static struct zc_view *irregular(unsigned seed, int64_t *size)
{
    struct zc_view_builder *b;
    struct zc_view *v;
    int64_t at = 0;

    if (zc_view_builder_create(&b))
        return NULL;
    *size = 0;
    for (int i = 0; i < PIECES; i++) {
        int64_t len = 1 + rand_r(&seed) % 16;

        if (zc_view_add(b, at, len)) {
            zc_view_builder_destroy(b);
            return NULL;
        }
        at += len + 1 + rand_r(&seed) % 24;
        *size += len;
    }
    return zc_view_finish(b, at, &v) ? NULL : v;
}

static void plain(struct load *l, uint64_t h, unsigned char *buf, size_t len, bool write)
{
    struct zc_io io[FLYING];

    for (int i = 0; i < FLYING; i++) {
        uint64_t off = (uint64_t)i * LARGE;

        io[i] =
            (struct zc_io){.write = write, .handle = h, .buf = buf + off, .len = len, .off = off};
        zc_io_start(l->client, &io[i]);
    }
    for (int i = 0; i < FLYING; i++)
        bad(l, write ? "write" : "read", zc_io_wait(l->client, &io[i]));
}

/* Of each as much as one message lists, for daemons have no memory for views. */
static void scattered(struct load *l, uint64_t h, struct zc_view *v, int64_t size,
                      unsigned char *buf, bool write)
{
    struct zc_vio io[FLYING];
    int n = 0;

    for (; n < FLYING; n++) {
        io[n] = (struct zc_vio){.write = write,
                                .handle = h,
                                .view = v,
                                .disp = (int64_t)n * LARGE,
                                .buf = write ? buf : buf + (size_t)n * LARGE,
                                .len = (size_t)size};
        if (bad(l, "list pieces", zc_vio_aim(l->client, &io[n])))
            break;
        zc_vio_start(l->client, &io[n]);
    }
    for (int i = 0; i < n; i++)
        bad(l, write ? "write pieces" : "read pieces", zc_vio_wait(l->client, &io[i]));
}

static void through_view(struct load *l, uint64_t h, unsigned char *buf, int round)
{
    int64_t size;
    struct zc_view *v = irregular((unsigned)(l->number * 1000 + round), &size);

    if (!v) {
        l->failed = true;
        return;
    }
    scattered(l, h, v, size, buf, true);
    scattered(l, h, v, size, buf, false);
    zc_client_views_end(l->client, h);
    zc_view_put(v);
}

static void read_back(struct load *l, uint64_t h, unsigned char *buf)
{
    size_t total = (size_t)FLYING * LARGE, at = 0;

    for (size_t i = 0; i < total; i++)
        buf[i] = stamp(i, l->number);
    plain(l, h, buf, LARGE, true);
    memset(buf, 0, total);
    plain(l, h, buf, LARGE, false);
    while (at < total && buf[at] == stamp(at, l->number))
        at++;
    if (at < total && !l->failed) {
        fprintf(stderr, "zcload: client %d: wrong byte at %zu\n", l->number, at);
        l->failed = true;
    }
}

static void *work(void *arg)
{
    struct load *l = arg;
    unsigned char *buf = malloc((size_t)FLYING * LARGE);
    struct zc_attr attr = {0};
    char path[4096];
    uint64_t h;

    snprintf(path, sizeof path, "%s/load.%d", l->dir, l->number);
    if (!buf || bad(l, "open",
                    zc_client_open(l->client, path, ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE,
                                   0644, &h, &attr))) {
        l->failed = true;
        return NULL;
    }
    memset(buf, 'x', (size_t)FLYING * LARGE);
    for (int i = 0; i < l->rounds && !l->failed; i++) {
        plain(l, h, buf, LARGE, true);
        plain(l, h, buf, SMALL, true);
        plain(l, h, buf, SMALL, false);
        through_view(l, h, buf, i);
        plain(l, h, buf, LARGE, false);
    }
    if (!l->failed)
        read_back(l, h, buf);
    bad(l, "close", zc_client_close(l->client, h, ZC_LEVEL_STAGED));
    free(buf);
    return NULL;
}

static int endpoint(const struct zc_addrfile *a, struct load *loads, int n, struct zc_net **net)
{
    struct zc_net_config cfg = {.timeout_ms = 120000,
                                .name = "zcload",
                                .provider = a->provider,
                                .toward = a->address,
                                .toward_len = a->address_len};
    int rc = zc_net_create(&cfg, net);

    for (int i = 0; rc == 0 && i < n; i++)
        rc = zc_client_connect(*net, a->address, a->address_len, &a->secret, "zcached",
                               &loads[i].client);
    return rc;
}

int main(int argc, char **argv)
{
    int endpoints = argc == 6 ? atoi(argv[3]) : 0, each = argc == 6 ? atoi(argv[4]) : 0;
    int n = endpoints * each, failed = 0, rc;
    struct zc_net *nets[MAX_ENDPOINTS];
    struct zc_addrfile a;
    struct load *loads;

    zc_log_init("zcload");
    if (n < 1 || endpoints > MAX_ENDPOINTS)
        return 2;
    loads = calloc((size_t)n, sizeof *loads);
    rc = loads ? zc_addrfile_read(argv[1], &a) : -1;
    for (int i = 0; rc == 0 && i < endpoints; i++)
        rc = endpoint(&a, loads + i * each, each, &nets[i]);
    if (rc) {
        fprintf(stderr, "zcload: %s\n", zc_error_text(rc));
        return 1;
    }
    for (int i = 0; i < n; i++) {
        loads[i].number = i;
        loads[i].dir = argv[2];
        loads[i].rounds = atoi(argv[5]);
        if (pthread_create(&loads[i].thread, NULL, work, &loads[i]))
            return 1;
    }
    for (int i = 0; i < n; i++) {
        pthread_join(loads[i].thread, NULL);
        failed = failed || loads[i].failed;
        zc_client_disconnect(loads[i].client);
    }
    for (int i = 0; i < endpoints; i++)
        zc_net_destroy(nets[i]);
    free(loads);
    return failed;
}
