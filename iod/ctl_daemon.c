/* ctl_daemon.c - one request to each of several daemons, a thread for each. */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ctl_daemon.h"
#include "iod_alive.h"
#include "zc_client.h"
#include "zc_log.h"
#include "zc_thread.h"

enum { POLL_MS = 20 };

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

struct job {
    struct ctl_daemon *daemon;
    const struct ctl_command *cmd;
    uint64_t timeout_ms;
    pthread_t thread;
    bool started;
};

int ctl_daemon_check_alive(const struct ctl_daemon *d)
{
    if (iod_is_this_host(d->addr.host) && iod_process_kind(d->addr.pid) == IOD_PROCESS_NONE)
        return zc_errorf(ESRCH, "process %ld is gone and left %s behind", d->addr.pid, d->path);
    return 0;
}

static bool address_file_is_current(const struct ctl_daemon *d)
{
    struct zc_addrfile a;

    return zc_addrfile_read(d->path, &a) == 0 && a.boot_id == d->addr.boot_id;
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

static int ask(const struct job *j, struct zc_client *c)
{
    struct ctl_daemon *d = j->daemon;

    if (d->talk)
        return d->talk(d, c);
    if (j->cmd->control) {
        d->told = true;
        return zc_client_control(c, j->cmd->what, &d->count);
    }
    return zc_client_info(c, j->cmd->what, &d->text);
}

static int connect_and_ask(const struct job *j)
{
    struct ctl_daemon *d = j->daemon;
    size_t len;
    const void *addr = zc_addrfile_address(&d->addr, true, &len);
    struct zc_net_config cfg = {
        .provider = d->addr.provider,
        .toward = addr,
        .toward_len = len,
        .timeout_ms = j->timeout_ms,
        .name = "zcachectl",
    };
    struct zc_client *client = NULL;
    struct zc_net *net;
    char label[384];
    int rc = zc_net_create(&cfg, &net);

    if (rc < 0)
        return rc;
    snprintf(label, sizeof label, "zcached on %s", d->addr.host);
    rc = zc_client_connect(net, addr, len, &d->addr.secret, label, &client);
    if (rc == -ESTALE || (rc == 0 && zc_client_boot_id(client) != d->addr.boot_id))
        rc = zc_errorf(ESTALE, "another daemon answers than the one that wrote %s", d->path);
    else if (rc == 0)
        rc = ask(j, client);
    /* Keeps the explanation across the goodbye. */
    if (rc < 0)
        snprintf(d->error, sizeof d->error, "%s", zc_error_text(rc));
    if (client)
        zc_client_disconnect(client);
    zc_net_destroy(net);
    return rc;
}

static void *run_job(void *arg)
{
    struct job *j = arg;
    struct ctl_daemon *d = j->daemon;

    d->rc = zc_addrfile_read(d->path, &d->addr);
    d->found = d->rc == 0;
    if (d->rc == 0)
        d->rc = ctl_daemon_check_alive(d);
    if (d->rc == 0)
        d->rc = connect_and_ask(j);
    if (d->told && j->cmd->what == ZC_CONTROL_STOP) { /* it ends, whatever it has answered */
        int rc = wait_until_gone(d, j->timeout_ms);

        d->rc = d->rc ? d->rc : rc;
    }
    if (d->rc < 0 && !*d->error)
        snprintf(d->error, sizeof d->error, "%s", zc_error_text(d->rc));
    return NULL;
}

void ctl_daemon_run(struct ctl_daemon *d, const struct ctl_command *cmd, uint64_t timeout_ms)
{
    struct job j = {.daemon = d, .cmd = cmd, .timeout_ms = timeout_ms};

    d->told = false;
    *d->error = '\0';
    run_job(&j);
}

void ctl_daemons_run(struct ctl_daemon *d, int n, const struct ctl_command *cmd,
                     uint64_t timeout_ms)
{
    struct job *jobs = calloc((size_t)n, sizeof *jobs);

    if (!jobs) {
        fputs("zcachectl: out of memory\n", stderr);
        exit(1);
    }
    for (int i = 0; i < n; i++) {
        jobs[i] = (struct job){.daemon = &d[i], .cmd = cmd, .timeout_ms = timeout_ms};
        jobs[i].started =
            n > 1 && zc_thread_start(&jobs[i].thread, "daemon", run_job, &jobs[i]) == 0;
        if (!jobs[i].started)
            run_job(&jobs[i]);
    }
    for (int i = 0; i < n; i++)
        if (jobs[i].started)
            pthread_join(jobs[i].thread, NULL);
    free(jobs);
}
