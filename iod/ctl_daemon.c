/* ctl_daemon.c - one request to each of several daemons, a thread for each, which is not waited for
 * longer than was said. */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ctl_daemon.h"
#include "zc_client.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_process.h"
#include "zc_thread.h"
#include "zc_units.h"
#include "zc_wire.h"

enum { POLL_MS = 20, TICK_MS = 500 };

/* ---- finding ---- */

static void set_name(struct ctl_daemon *d)
{
    const char *base = strrchr(d->path, '/');
    size_t n;

    base = base ? base + 1 : d->path;
    n = strlen(base);
    if (n > 5 && strcmp(base + n - 5, ".addr") == 0)
        n -= 5;
    snprintf(d->name, sizeof d->name, "%.*s", (int)n, base);
}

int ctl_daemons_find(const char *list, struct ctl_daemon **out)
{
    char **paths;
    int n = zc_addrfile_list(list, &paths);
    struct ctl_daemon *d;

    if (n < 0)
        return n;
    d = calloc(n ? (size_t)n : 1, sizeof *d);
    for (int i = 0; d && i < n; i++) {
        d[i].path = strdup(paths[i]);
        if (d[i].path)
            set_name(&d[i]);
        else
            d[i].path = "";
    }
    free(paths);
    *out = d;
    return d ? n : -ENOMEM;
}

void ctl_daemons_free(struct ctl_daemon *d, int n)
{
    for (int i = 0; i < n; i++) {
        if (*d[i].path)
            free((char *)d[i].path);
        free(d[i].text);
        free(d[i].status);
    }
    free(d);
}

/* ---- asking ---- */

/* One request. */
struct question {
    struct ctl_daemon *daemon;
    const struct ctl_command *cmd;
    uint64_t timeout_ms;
};

static const char address_file[] = "its address file";

/* When it is no longer the address file, `found` and `addr` are there to stay. */
static void waits_for(struct ctl_daemon *d, const char *what)
{
    __atomic_store_n(&d->waits_for, what, __ATOMIC_RELEASE);
}

int ctl_daemon_check_alive(const struct ctl_daemon *d)
{
    if (zc_is_this_host(d->addr.host) && zc_process_is_gone(d->addr.pid, d->addr.started))
        return zc_errorf(ESRCH, "process %ld is gone and left %s behind", d->addr.pid, d->path);
    return 0;
}

static bool address_file_is_current(const struct ctl_daemon *d)
{
    struct zc_addrfile a;

    return zc_addrfile_look(d->path, &a) == 0 && a.boot_id == d->addr.boot_id;
}

static uint64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* The address file is the last thing a daemon removes. */
static int wait_until_gone(const struct ctl_daemon *d, uint64_t timeout_ms)
{
    const struct timespec pause = {0, POLL_MS * 1000000};
    uint64_t deadline = now_ms() + timeout_ms;

    while (address_file_is_current(d) && ctl_daemon_check_alive(d) == 0) {
        if (now_ms() > deadline)
            return zc_errorf(ETIMEDOUT, "it has stopped, but %s is still there", d->path);
        nanosleep(&pause, NULL);
    }
    return 0;
}

static int ask(const struct question *q, struct zc_client *c)
{
    struct ctl_daemon *d = q->daemon;
    bool writes = q->cmd->control && q->cmd->what != ZC_CONTROL_RESUME;

    waits_for(d, writes ? "it to write everything back" : "its answer");
    if (d->talk)
        return d->talk(d, c);
    if (q->cmd->control) {
        d->told = true;
        return zc_client_control(c, q->cmd->what, &d->count);
    }
    return zc_client_info(c, q->cmd->what, &d->text);
}

static int connect_and_ask(const struct question *q)
{
    struct ctl_daemon *d = q->daemon;
    size_t len;
    const void *addr = zc_addrfile_address(&d->addr, true, &len);
    struct zc_net_config cfg = {
        .provider = d->addr.provider,
        .toward = addr,
        .toward_len = len,
        .munge = d->addr.munge,
        .timeout_ms = q->timeout_ms,
        .name = "zcachectl",
    };
    struct zc_client *client = NULL;
    struct zc_net *net;
    char label[384];
    int rc;

    waits_for(d, "a connection");
    rc = zc_net_create(&cfg, &net);

    if (rc < 0)
        return rc;
    snprintf(label, sizeof label, "zcached on %s", d->addr.host);
    rc = zc_client_connect(net, addr, len, &d->addr.secret, label, &client);
    if (rc == -ESTALE || (rc == 0 && zc_client_boot_id(client) != d->addr.boot_id))
        rc = zc_errorf(ESTALE, "another daemon answers than the one that wrote %s", d->path);
    else if (rc == 0)
        rc = ask(q, client);
    /* Keeps the explanation across the goodbye. */
    if (rc < 0)
        snprintf(d->error, sizeof d->error, "%s", zc_error_text(rc));
    if (client)
        zc_client_disconnect(client);
    zc_net_destroy(net);
    return rc;
}

void ctl_daemon_run(struct ctl_daemon *d, const struct ctl_command *cmd, uint64_t timeout_ms)
{
    struct question q = {.daemon = d, .cmd = cmd, .timeout_ms = timeout_ms};

    d->told = false;
    *d->error = '\0';
    waits_for(d, address_file);
    d->rc = zc_addrfile_read(d->path, &d->addr);
    d->found = d->rc == 0;
    if (d->rc == 0)
        d->rc = ctl_daemon_check_alive(d);
    if (d->rc == 0)
        d->rc = zc_addrfile_check_reach(d->path, &d->addr);
    if (d->rc == 0)
        d->rc = connect_and_ask(&q);
    /* It ends, whatever it has answered; or ends already, and takes no more requests. */
    if ((d->told || d->rc == -ESHUTDOWN) && cmd->control && cmd->what == ZC_CONTROL_STOP) {
        int rc;

        waits_for(d, "it to end");
        rc = wait_until_gone(d, timeout_ms);
        d->rc = d->rc ? d->rc : rc;
    }
    if (d->rc < 0 && !*d->error)
        snprintf(d->error, sizeof d->error, "%s", zc_error_text(d->rc));
}

/* ---- all of them ---- */

/* What threads work at and we wait for, until we give up: it is theirs as well, and stays then. */
struct round {
    struct zc_lock lock;
    zc_cond ended;
    int running; /* lock */
};

struct job {
    struct ctl_daemon daemon; /* a copy */
    const struct ctl_command *cmd;
    uint64_t silence_ms;
    struct round *round;
    pthread_t thread;
    bool over; /* round->lock */
};

static void *run_job(void *arg)
{
    struct job *j = arg;

    ctl_daemon_run(&j->daemon, j->cmd, j->silence_ms);
    zc_lock_get(&j->round->lock);
    j->over = true;
    j->round->running--;
    pthread_cond_signal(&j->round->ended);
    zc_lock_put(&j->round->lock);
    return NULL;
}

static void wait_for_all(struct round *r, const struct ctl_wait *w)
{
    uint64_t now = now_ms(), end = w->until_ms ? now + w->until_ms : UINT64_MAX;

    zc_lock_get(&r->lock);
    while (r->running && (now = now_ms()) < end) {
        uint64_t until = now + TICK_MS < end ? now + TICK_MS : end;

        if (zc_cond_wait_until(&r->ended, &r->lock, until * ZC_NS_PER_MS) || !w->tick)
            continue;
        zc_lock_put(&r->lock);
        w->tick(w->arg);
        zc_lock_get(&r->lock);
    }
    zc_lock_put(&r->lock);
}

/* What is not over stays as it was, but for the reason. */
static bool collect(struct job *j, struct ctl_daemon *d, const struct ctl_wait *w)
{
    const char *what = __atomic_load_n(&j->daemon.waits_for, __ATOMIC_ACQUIRE);
    char time[32];
    bool over;

    zc_lock_get(&j->round->lock);
    over = j->over;
    zc_lock_put(&j->round->lock);
    if (over) {
        pthread_join(j->thread, NULL);
        *d = j->daemon;
        return true;
    }
    if (what && what != address_file) {
        d->found = j->daemon.found;
        d->addr = j->daemon.addr;
    }
    pthread_detach(j->thread);
    d->rc = -ETIMEDOUT;
    snprintf(d->error, sizeof d->error, "not done within %s: waiting for %s",
             zc_show_time(w->until_ms, time, sizeof time), what ? what : address_file);
    return false;
}

static void no_memory(void) __attribute__((noreturn));
static void no_memory(void)
{
    fputs("zcachectl: out of memory\n", stderr);
    exit(1);
}

bool ctl_daemons_run(struct ctl_daemon *d, int n, const struct ctl_command *cmd,
                     const struct ctl_wait *wait)
{
    struct job *jobs = calloc((size_t)n, sizeof *jobs);
    struct round *r = calloc(1, sizeof *r);
    bool all = true;

    if (!jobs || !r)
        no_memory();
    zc_lock_init(&r->lock, ZC_ORDER_TOOL);
    zc_cond_init(&r->ended);
    r->running = n;
    for (int i = 0; i < n; i++) {
        jobs[i] =
            (struct job){.daemon = d[i], .cmd = cmd, .silence_ms = wait->silence_ms, .round = r};
        if (zc_thread_start(&jobs[i].thread, "daemon", run_job, &jobs[i]) < 0)
            no_memory();
    }
    wait_for_all(r, wait);
    for (int i = 0; i < n; i++)
        all = collect(&jobs[i], &d[i], wait) && all;
    if (!all)
        return false;
    free(jobs);
    free(r);
    return true;
}
