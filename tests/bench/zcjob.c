/* zcjob.c - for benchmarks: a job that writes or reads in bursts through a daemon, with many
 * clients or with one.
 *
 *     zcjob [option ...] ADDRESS-FILE PATH
 *
 *     --clients N      each with a file of its own, PATH.0, PATH.1, ... (1)
 *     --file SIZE      of each, over and over again (64M)
 *     --burst SIZE     what a client writes, and has stored then, or reads (8M)
 *     --record SIZE    of each request; a client has 16 under way (1M)
 *     --rounds N       bursts of each client (20)
 *     --until FILE     instead of --rounds: until FILE exists
 *     --pause MS       between two bursts (0)
 *     --read           read instead; the files are there: a job without it has written them
 *
 * Whose job it is the environment says, as that of any: SLURM_JOB_ID.  Prints "MILLISECONDS MB/S":
 * of a burst, on the average, without pauses, and of all clients together, with them.  Every byte
 * that is read is compared.
 */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "zc_addrfile.h"
#include "zc_client.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_units.h"

enum { FLYING = 16, MOST = 256 };

static struct {
    uint64_t clients, file, burst, record, rounds, pause;
    bool read;
    const char *until, *address, *path;
} o = {.clients = 1, .file = 64 << 20, .burst = 8 << 20, .record = 1 << 20, .rounds = 20};

struct load {
    pthread_t thread;
    struct zc_client *client;
    uint64_t handle, at;
    unsigned char *buf; /* FLYING records */
    uint64_t ns, bytes, bursts;
    unsigned number;
    bool failed;
};

static bool over(const struct load *l)
{
    return l->failed || (o.until ? access(o.until, F_OK) == 0 : l->bursts >= o.rounds);
}

static bool bad(struct load *l, const char *what, ssize_t rc)
{
    if (rc >= 0)
        return false;
    fprintf(stderr, "zcjob: %s of %s.%u: %s\n", what, o.path, l->number, zc_error_text((int)rc));
    return l->failed = true;
}

/* Eight bytes that tell file and place. */
static uint64_t stamp(const struct load *l, uint64_t off)
{
    return (off / 8 + 1 + ((uint64_t)l->number << 40)) * 0x9e3779b97f4a7c15ull;
}

static void fill(const struct load *l, unsigned char *buf, uint64_t off)
{
    for (uint64_t i = 0; i < o.record; i += 8)
        memcpy(buf + i, &(uint64_t){stamp(l, off + i)}, 8);
}

static void compare(struct load *l, const unsigned char *buf, uint64_t off)
{
    for (uint64_t i = 0; i < o.record; i += 8)
        if (memcmp(buf + i, &(uint64_t){stamp(l, off + i)}, 8) != 0) {
            fprintf(stderr, "zcjob: wrong bytes at %llu\n", (unsigned long long)(off + i));
            l->failed = true;
            return;
        }
}

static void burst(struct load *l)
{
    struct zc_io io[FLYING];
    uint64_t n = o.burst / o.record;

    for (uint64_t i = 0; i < n + FLYING && !l->failed; i++) {
        struct zc_io *x = &io[i % FLYING];

        if (i >= FLYING && i - FLYING < n) {
            ssize_t rc = zc_io_wait(l->client, x);

            bad(l, o.read ? "read" : "write", rc == (ssize_t)o.record || rc < 0 ? rc : -EIO);
            if (o.read && !l->failed)
                compare(l, x->buf, x->off);
        }
        if (i >= n)
            continue;
        *x = (struct zc_io){.write = !o.read,
                            .handle = l->handle,
                            .off = l->at,
                            .len = o.record,
                            .buf = l->buf + i % FLYING * o.record};
        if (!o.read)
            fill(l, x->buf, l->at);
        zc_io_start(l->client, x);
        l->at = (l->at + o.record) % o.file;
        l->bytes += o.record;
    }
    if (!o.read && !l->failed)
        bad(l, "sync", zc_client_flush(l->client, l->handle, ZC_LEVEL_STORED));
}

static void *run(void *arg)
{
    struct load *l = arg;

    while (!over(l)) {
        uint64_t began = zc_now();

        burst(l);
        l->ns += zc_now() - began;
        l->bursts++;
        usleep((useconds_t)o.pause * 1000);
    }
    return NULL;
}

static bool begin(struct load *l, struct zc_net *net, const struct zc_addrfile *a)
{
    struct zc_attr attr = {.block_size = 4 << 20};
    char path[1024];
    size_t len;
    const void *address = zc_addrfile_address(a, true, &len);

    l->buf = aligned_alloc(4096, FLYING * o.record);
    if (bad(l, "memory", l->buf ? 0 : -ENOMEM) ||
        bad(l, "connect",
            zc_client_connect(net, address, len, &a->secret, "the daemon", &l->client)))
        return false;
    snprintf(path, sizeof path, "%s.%u", o.path, l->number);
    return !bad(l, "open",
                zc_client_open(l->client, path, ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE, 0644,
                               &l->handle, &attr)) &&
           !bad(l, "thread", -pthread_create(&l->thread, NULL, run, l));
}

static void end(struct load *l)
{
    if (l->thread)
        pthread_join(l->thread, NULL);
    if (l->client)
        zc_client_disconnect(l->client);
    free(l->buf);
}

static int work(struct zc_net *net, const struct zc_addrfile *a)
{
    static struct load loads[MOST];
    uint64_t began = zc_now(), ns = 0, bytes = 0, bursts = 0;
    bool failed = false;

    for (unsigned i = 0; i < o.clients && !failed; i++) {
        loads[i].number = i;
        failed = !begin(&loads[i], net, a);
    }
    for (unsigned i = 0; i < o.clients; i++) {
        end(&loads[i]);
        failed = failed || loads[i].failed;
        ns += loads[i].ns;
        bytes += loads[i].bytes;
        bursts += loads[i].bursts;
    }
    if (!failed && bursts > 0)
        printf("%.2f %.1f\n", (double)ns / 1e6 / (double)bursts,
               (double)bytes * 1e3 / (double)(zc_now() - began));
    return failed;
}

static bool parse(int argc, char **argv)
{
    static const struct option options[] = {
        {"clients", 1, NULL, 'c'}, {"file", 1, NULL, 'f'},   {"burst", 1, NULL, 'b'},
        {"record", 1, NULL, 'r'},  {"rounds", 1, NULL, 'n'}, {"until", 1, NULL, 'u'},
        {"pause", 1, NULL, 'p'},   {"read", 0, NULL, 'R'},   {0}};
    int c;

    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        uint64_t *number = c == 'c'   ? &o.clients
                           : c == 'f' ? &o.file
                           : c == 'b' ? &o.burst
                           : c == 'r' ? &o.record
                           : c == 'n' ? &o.rounds
                                      : &o.pause;

        if (c == 'u')
            o.until = optarg;
        else if (c == 'R')
            o.read = true;
        else if (c == '?' || zc_parse_size(optarg, number))
            return false;
    }
    if (optind + 2 != argc || o.clients > MOST || !o.record || o.record % 4096 ||
        o.burst % o.record || o.file % o.record)
        return false;
    o.address = argv[optind];
    o.path = argv[optind + 1];
    return true;
}

int main(int argc, char **argv)
{
    struct zc_net_config cfg = {.timeout_ms = 120000, .name = "zcjob"};
    struct zc_addrfile a;
    struct zc_net *net;
    size_t len;
    int rc;

    zc_log_init("zcjob");
    if (!parse(argc, argv)) {
        fprintf(stderr, "zcjob: wrong use; see the top of tests/bench/zcjob.c\n");
        return 2;
    }
    rc = zc_addrfile_read(o.address, &a);
    if (rc == 0) {
        cfg.provider = a.provider;
        cfg.toward = zc_addrfile_address(&a, true, &len);
        cfg.toward_len = len;
        rc = zc_net_create(&cfg, &net);
    }
    if (rc) {
        fprintf(stderr, "zcjob: %s\n", zc_error_text(rc));
        return 1;
    }
    rc = work(net, &a);
    zc_net_destroy(net);
    return rc ? 1 : 0;
}
