/* ctl_watch.c - polls daemons. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl_json.h"
#include "ctl_table.h"
#include "ctl_watch.h"
#include "zc_client.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_thread.h"

/* Owned by its thread while that runs, except `asked`. */
struct watcher {
    struct ctl_daemon *daemon;
    unsigned number;
    uint64_t timeout_ms;
    int go[2];  /* a byte: ask; end of file: leave */
    int result; /* pipe for samples */
    bool left;
    pthread_t thread;

    bool asked; /* owned by the caller */
};

struct ctl_watch {
    struct ctl_daemon *daemons;
    struct watcher *watchers;
    unsigned count, running;
    int results[2]; /* pointers to samples; NULL: a thread ends */
};

void ctl_sample_free(struct ctl_sample *s)
{
    if (!s)
        return;
    json_decref(s->info);
    free(s->files);
    free(s);
}

/* ---- the threads ---- */

/* The pipe is never full: it has at most two pointers of each thread. */
static void hand_over(const struct watcher *w, struct ctl_sample *s)
{
    ssize_t n;

    do
        n = write(w->result, &s, sizeof s);
    while (n < 0 && errno == EINTR);
    if (n != sizeof s)
        ctl_sample_free(s);
}

static bool wait_for_go(struct watcher *w)
{
    char c;
    ssize_t n;

    do
        n = read(w->go[0], &c, 1);
    while (n < 0 && errno == EINTR);
    w->left = n != 1;
    return !w->left;
}

int ctl_by_path(const void *a, const void *b)
{
    return strcmp(((const struct ctl_file *)a)->path, ((const struct ctl_file *)b)->path);
}

static struct ctl_file file_of(const json_t *file)
{
    const char *path = json_string_value(json_object_get(file, "path"));
    struct ctl_file f = {.path = path ? path : ""};
    const struct {
        const char *name;
        uint64_t *value;
    } numbers[] = {
        {"handles", &f.handles},   {"size_bytes", &f.size},     {"cached_bytes", &f.cached},
        {"dirty_bytes", &f.dirty}, {"failed_bytes", &f.failed}, {"lost_bytes", &f.lost},
    };

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        *numbers[i].value = (uint64_t)json_integer_value(json_object_get(file, numbers[i].name));
    return f;
}

static int list_files(struct ctl_sample *s)
{
    const json_t *files = json_object_get(s->info, "files"), *file;
    size_t i;

    s->files = calloc(json_array_size(files) + 1, sizeof *s->files);
    if (!s->files)
        return zc_errorf(ENOMEM, "out of memory");
    /* cppcheck-suppress unknownMacro */
    json_array_foreach(files, i, file) s->files[s->nfiles++] = file_of(file);
    qsort(s->files, s->nfiles, sizeof *s->files, ctl_by_path);
    return 0;
}

static struct ctl_sample *new_sample(const struct watcher *w)
{
    struct ctl_sample *s = ctl_must(calloc(1, sizeof *s));

    s->daemon = w->number;
    s->found = w->daemon->found;
    s->addr = w->daemon->addr;
    return s;
}

static int sample(const struct watcher *w, struct zc_client *c, bool fresh)
{
    struct ctl_sample *s;
    int rc = ctl_daemon_check_alive(w->daemon);

    if (rc < 0)
        return rc;
    s = new_sample(w);
    s->fresh = fresh;
    rc = ctl_json_ask(c, CTL_TOP, &s->info);
    s->at = zc_now();
    if (rc == 0) {
        s->taken = (uint64_t)json_integer_value(json_object_get(s->info, "time_ns"));
        rc = list_files(s);
    }
    if (rc == 0)
        hand_over(w, s);
    else
        ctl_sample_free(s);
    return rc;
}

/* Asks until it is told to leave, or there is an error, which it returns.  It was told to ask. */
static int talk(struct ctl_daemon *d, struct zc_client *c)
{
    struct watcher *w = d->talker;
    bool fresh = true;
    int rc;

    do {
        rc = sample(w, c, fresh);
        fresh = false;
    } while (rc == 0 && wait_for_go(w));
    return rc;
}

static void *run_watcher(void *arg)
{
    static const struct ctl_command nothing = {.name = "top"};
    struct watcher *w = arg;
    struct ctl_sample *s;

    while (!w->left && wait_for_go(w)) {
        ctl_daemon_run(w->daemon, &nothing, w->timeout_ms);
        if (!w->daemon->error.rc)
            continue;
        s = new_sample(w);
        s->at = zc_now();
        s->error = w->daemon->error;
        hand_over(w, s);
    }
    hand_over(w, NULL);
    return NULL;
}

/* ---- the caller ---- */

static int start(struct ctl_watch *w, unsigned i, uint64_t timeout_ms)
{
    struct watcher *t = &w->watchers[i];
    int rc;

    *t = (struct watcher){
        .daemon = &w->daemons[i], .number = i, .timeout_ms = timeout_ms, .result = w->results[1]};
    t->daemon->talk = talk;
    t->daemon->talker = t;
    if (pipe2(t->go, O_CLOEXEC) < 0)
        return zc_errorf(errno, "cannot make a pipe: %s", strerror(errno));
    rc = zc_thread_start(&t->thread, "daemon", run_watcher, t);
    if (rc < 0) {
        close(t->go[0]);
        close(t->go[1]);
        return rc;
    }
    w->running++;
    return 0;
}

static int start_all(struct ctl_watch *w, uint64_t timeout_ms)
{
    int rc = 0;

    w->watchers = calloc(w->count, sizeof *w->watchers);
    if (!w->watchers)
        return zc_errorf(ENOMEM, "out of memory");
    if (pipe2(w->results, O_CLOEXEC | O_NONBLOCK) < 0)
        return zc_errorf(errno, "cannot make a pipe: %s", strerror(errno));
    for (unsigned i = 0; i < w->count && rc == 0; i++)
        rc = start(w, i, timeout_ms);
    return rc;
}

int ctl_watch_create(const char *list, uint64_t timeout_ms, struct ctl_watch **out)
{
    struct ctl_watch *w = calloc(1, sizeof *w);
    int rc;

    if (!w)
        return zc_errorf(ENOMEM, "out of memory");
    w->results[0] = w->results[1] = -1;
    rc = ctl_daemons_find(list, &w->daemons);
    if (rc < 0) {
        free(w);
        return rc;
    }
    w->count = (unsigned)rc;
    rc = start_all(w, timeout_ms);
    if (rc < 0) {
        ctl_watch_destroy(w, -1); /* no daemon was asked: all threads end at once */
        return rc;
    }
    *out = w;
    return 0;
}

unsigned ctl_watch_count(const struct ctl_watch *w)
{
    return w->count;
}

const char *ctl_watch_name(const struct ctl_watch *w, unsigned i)
{
    return w->daemons[i].name;
}

const char *ctl_watch_path(const struct ctl_watch *w, unsigned i)
{
    return w->daemons[i].path;
}

void ctl_watch_ask(struct ctl_watch *w)
{
    for (unsigned i = 0; i < w->count; i++)
        if (!w->watchers[i].asked)
            w->watchers[i].asked = write(w->watchers[i].go[1], "", 1) == 1;
}

bool ctl_watch_is_asked(const struct ctl_watch *w, unsigned i)
{
    return w->watchers[i].asked;
}

int ctl_watch_fd(const struct ctl_watch *w)
{
    return w->results[0];
}

struct ctl_sample *ctl_watch_take(struct ctl_watch *w)
{
    struct ctl_sample *s;

    if (read(w->results[0], &s, sizeof s) != sizeof s)
        return NULL;
    w->watchers[s->daemon].asked = false;
    return s;
}

/* Frees samples that still arrive.  Returns whether all threads have ended in time. */
static bool wait_for_all(struct ctl_watch *w, int wait_ms)
{
    struct pollfd p = {w->results[0], POLLIN, 0};
    unsigned left = w->running;
    struct ctl_sample *s;

    while (left) {
        if (poll(&p, 1, wait_ms) == 0)
            return false;
        if (read(w->results[0], &s, sizeof s) != sizeof s)
            continue;
        left -= !s;
        ctl_sample_free(s);
    }
    return true;
}

bool ctl_watch_destroy(struct ctl_watch *w, int wait_ms)
{
    for (unsigned i = 0; i < w->running; i++)
        close(w->watchers[i].go[1]);
    if (!wait_for_all(w, wait_ms))
        return false;
    for (unsigned i = 0; i < w->running; i++) {
        pthread_join(w->watchers[i].thread, NULL);
        close(w->watchers[i].go[0]);
    }
    if (w->results[0] >= 0) {
        close(w->results[0]);
        close(w->results[1]);
    }
    ctl_daemons_free(w->daemons, (int)w->count);
    free(w->watchers);
    free(w);
    return true;
}
