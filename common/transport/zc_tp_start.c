/* zc_tp_start.c - opens an endpoint of libfabric on a thread of its own. */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "zc_error.h"
#include "zc_fd.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_thread.h"
#include "zc_tp_start.h"

struct zc_tp_start { /* fixed once the thread runs, except for what the lock guards */
    struct zc_tp_config cfg;
    char *provider, *listen, port[8];
    zc_tp_open_fn *open;
    void (*ready)(void *arg);
    void *arg;
    struct sockaddr_in at;
    int reserved;     /* the socket */
    pthread_t thread; /* the owner's */

    struct zc_lock lock;
    bool over;      /* the thread has ended, or */
    bool abandoned; /* its owner does not wait: the thread frees this */
    struct zc_tp *tp;
    struct zc_error error;
};

static int under_way; /* threads */

static void free_start(struct zc_tp_start *s)
{
    if (s->reserved >= 0)
        close(s->reserved);
    zc_lock_destroy(&s->lock);
    free(s->provider);
    free(s->listen);
    free(s);
}

static void open_it(struct zc_tp_start *s)
{
    struct zc_tp *tp = NULL;
    int rc = s->open(&s->cfg, &tp);
    bool abandoned;

    zc_lock_get(&s->lock);
    zc_error_keep(&s->error, rc);
    s->tp = rc ? NULL : tp;
    s->over = true;
    abandoned = s->abandoned;
    if (!abandoned)
        s->ready(s->arg); /* the lock keeps zc_tp_start_end() from returning meanwhile */
    zc_lock_put(&s->lock);
    if (!abandoned)
        return;
    if (rc == 0)
        zc_tp_close(tp);
    free_start(s);
}

static void *run(void *start)
{
    open_it(start);
    __atomic_sub_fetch(&under_way, 1, __ATOMIC_RELEASE);
    return NULL;
}

bool zc_tp_start_under_way(void)
{
    return __atomic_load_n(&under_way, __ATOMIC_ACQUIRE) > 0;
}

static bool has_ports(const char *provider)
{
    return !strcmp(provider, ZC_DEFAULT_PROVIDER) || !strcmp(provider, "tcp") ||
           !strcmp(provider, "net");
}

static int reserve(struct zc_tp_start *s)
{
    socklen_t len = sizeof s->at;

    s->at.sin_family = AF_INET;
    s->reserved = zc_fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (s->reserved < 0 || bind(s->reserved, (struct sockaddr *)&s->at, sizeof s->at) < 0 ||
        getsockname(s->reserved, (struct sockaddr *)&s->at, &len) < 0)
        return zc_errorf(errno, "no port of %s: %s", s->listen, strerror(errno));
    snprintf(s->port, sizeof s->port, "%u", ntohs(s->at.sin_port));
    s->cfg.port = s->port;
    s->cfg.port_socket = s->reserved;
    return 0;
}

int zc_tp_start_begin(const struct zc_tp_config *cfg, zc_tp_open_fn *open, void (*ready)(void *arg),
                      void *arg, struct zc_tp_start **out)
{
    const char *provider = cfg->provider ? cfg->provider : ZC_DEFAULT_PROVIDER;
    struct in_addr ip;
    struct zc_tp_start *s;
    int rc;

    if (!has_ports(provider) || !cfg->listen || inet_pton(AF_INET, cfg->listen, &ip) != 1)
        return zc_errorf(EOPNOTSUPP, "the address of provider %s is not known before it is opened",
                         provider);
    s = calloc(1, sizeof *s);
    if (!s)
        return zc_errorf(ENOMEM, "no memory for an endpoint");
    zc_lock_init(&s->lock, ZC_ORDER_INJECTION);
    s->reserved = -1;
    s->at.sin_addr = ip;
    s->open = open;
    s->ready = ready;
    s->arg = arg;
    s->cfg = *cfg;
    s->cfg.provider = s->provider = strdup(provider);
    s->cfg.listen = s->listen = strdup(cfg->listen);
    rc = s->provider && s->listen ? reserve(s) : zc_errorf(ENOMEM, "no memory for an endpoint");
    __atomic_add_fetch(&under_way, 1, __ATOMIC_RELAXED);
    if (rc == 0)
        rc = zc_thread_start(&s->thread, "zc-fabric", run, s);
    if (rc) {
        __atomic_sub_fetch(&under_way, 1, __ATOMIC_RELAXED);
        free_start(s);
        return rc;
    }
    *out = s;
    return 0;
}

int zc_tp_start_address(const struct zc_tp_start *s, void *buf, size_t *len)
{
    if (*len < sizeof s->at)
        return zc_errorf(ENOSPC, "address needs %zu bytes", sizeof s->at);
    memcpy(buf, &s->at, sizeof s->at);
    *len = sizeof s->at;
    return 0;
}

int zc_tp_start_take(struct zc_tp_start *s, struct zc_tp **out)
{
    bool over;
    int rc;

    zc_lock_get(&s->lock);
    over = s->over;
    rc = s->error.rc;
    if (over && rc == 0) {
        *out = s->tp;
        s->tp = NULL;
    }
    zc_lock_put(&s->lock);
    return rc ? zc_error_raise(&s->error) : over;
}

void zc_tp_start_end(struct zc_tp_start *s)
{
    pthread_t thread = s->thread; /* which may free s as soon as it is abandoned */
    struct zc_tp *tp;
    bool over;

    zc_lock_get(&s->lock);
    over = s->over;
    tp = s->tp;
    s->abandoned = true;
    zc_lock_put(&s->lock);
    if (!over) {
        pthread_detach(thread);
        return;
    }
    pthread_join(s->thread, NULL);
    if (tp)
        zc_tp_close(tp);
    free_start(s);
}
