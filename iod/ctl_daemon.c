/* ctl_daemon.c - one request to each of several daemons: a thread for each, abandoned at the time
 * limit. */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ctl_daemon.h"
#include "ctl_json.h"
#include "ctl_table.h"
#include "zc_connect.h"
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
        json_decref(d[i].info);
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

/* Once it waits for something other than the address file, `found` and `addr` do not change. */
static void waits_for(struct ctl_daemon *d, const char *what)
{
    __atomic_store_n(&d->waits_for, what, __ATOMIC_RELEASE);
}

int ctl_daemon_check_alive(const struct ctl_daemon *d)
{
    if (zc_addrfile_is_gone(&d->addr))
        return zc_errorf(ESRCH, "process %ld is gone and left %s behind", d->addr.pid, d->path);
    return 0;
}

static bool address_file_is_current(const struct ctl_daemon *d)
{
    struct zc_addrfile a;

    return zc_addrfile_probe(d->path, &a) == 0 && a.boot_id == d->addr.boot_id;
}

static uint64_t now_ms(void)
{
    return zc_now() / ZC_NS_PER_MS;
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
    return ctl_json_ask(c, q->cmd->what, &d->info);
}

static int connect_and_ask(const struct question *q)
{
    struct ctl_daemon *d = q->daemon;
    struct zc_connect to = {.own = {.timeout_ms = q->timeout_ms, .name = "zcachectl"}};
    struct zc_client *client;
    struct zc_error e;
    int rc;

    waits_for(d, "a connection");
    zc_connect_daemon(&to, d->path, &d->addr, true);
    rc = zc_connect(&to, &client);
    if (rc < 0)
        return rc;
    zc_error_keep(&e, ask(q, client));
    zc_client_disconnect(client);
    return zc_error_raise(&e);
}

void ctl_daemon_run(struct ctl_daemon *d, const struct ctl_command *cmd, uint64_t timeout_ms)
{
    struct question q = {.daemon = d, .cmd = cmd, .timeout_ms = timeout_ms};
    int rc;

    d->told = false;
    waits_for(d, address_file);
    rc = zc_addrfile_read(d->path, &d->addr);
    d->found = rc == 0;
    if (rc == 0)
        rc = ctl_daemon_check_alive(d);
    if (rc == 0)
        rc = zc_addrfile_check_reach(d->path, &d->addr);
    if (rc == 0)
        rc = connect_and_ask(&q);
    zc_error_keep(&d->error, rc);
    /* It ends whatever it has answered, unless this user may not ask for that; or it is ending
     * already, and refuses requests. */
    if (((d->told && rc != -EPERM) || rc == -ESHUTDOWN) && cmd->control &&
        cmd->what == ZC_CONTROL_STOP) {
        waits_for(d, "it to end");
        zc_error_join(&d->error, wait_until_gone(d, timeout_ms));
    }
}

/* ---- all of them ---- */

/* Shared by the threads and their waiter; stays allocated if the waiter gives up. */
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

/* Takes a job's result.  False: it is not over, and *d gets the error only. */
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
    zc_error_set(&d->error, -ETIMEDOUT, "not done within %s: waiting for %s",
                 zc_publish_time(w->until_ms, time, sizeof time), what ? what : address_file);
    return false;
}

bool ctl_daemons_run(struct ctl_daemon *d, int n, const struct ctl_command *cmd,
                     const struct ctl_wait *wait)
{
    struct job *jobs = ctl_must(calloc((size_t)n, sizeof *jobs));
    struct round *r = ctl_must(calloc(1, sizeof *r));
    bool all = true;

    zc_lock_init(&r->lock, ZC_ORDER_TOOL);
    zc_cond_init(&r->ended);
    r->running = n;
    for (int i = 0; i < n; i++) {
        jobs[i] =
            (struct job){.daemon = d[i], .cmd = cmd, .silence_ms = wait->silence_ms, .round = r};
        ctl_must(zc_thread_start(&jobs[i].thread, "daemon", run_job, &jobs[i]) < 0 ? NULL : r);
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
