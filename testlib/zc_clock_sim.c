/* zc_clock_sim.c - see zc_clock_sim.h. */
#include "config.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "zc_clock_sim.h"
#include "zc_fd.h"
#include "zc_list.h"

enum {
    PAUSE_US = 30,
    PAUSE_US_MAX = 2000,
    GRAIN_NS = 5000000, /* waits that end within so long end together */
    MOST_FDS = 8,
    MOST_THREADS = 512,
};

struct waiter {
    struct zc_list link;
    uint64_t until;
    pthread_cond_t *cond; /* or NULL: */
    int fd;               /* an eventfd */
    bool ended;           /* by the clock */
};

static struct {
    pthread_mutex_t lock;
    struct zc_list waiters;
    bool started, stops;
    pthread_t thread; /* moves the clock */
    pid_t mover;      /* its number */
    uint64_t now;
} sim = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t now(void)
{
    return __atomic_add_fetch(&sim.now, ZC_CLOCK_SIM_LOOK_NS, __ATOMIC_RELAXED);
}

/* ---- do all sleep? ---- */

/* A thread; its files of /proc stay open, as opening them takes longer than reading. */
struct thread {
    long tid;
    int stat, schedstat;
    unsigned long runs; /* how often it had been given a processor, in the first pass */
};

/* Threads in the order of /proc/self/task, which is that of their creation.  Of the mover. */
static struct thread threads[MOST_THREADS];
static unsigned nthreads;

static void forget(unsigned i)
{
    if (threads[i].stat >= 0)
        close(threads[i].stat);
    if (threads[i].schedstat >= 0)
        close(threads[i].schedstat);
    memmove(&threads[i], &threads[i + 1], (--nthreads - i) * sizeof *threads);
}

/* By open(): thread sanitizer does not know the descriptors of openat(). */
static int open_file(long tid, const char *file)
{
    char name[64];

    snprintf(name, sizeof name, "/proc/self/task/%ld/%s", tid, file);
    return zc_fd(open(name, O_RDONLY | O_CLOEXEC));
}

/* Makes threads[i] the thread `tid`. */
static void note(unsigned i, long tid)
{
    while (i < nthreads &&
           (threads[i].tid != tid || threads[i].stat < 0 || threads[i].schedstat < 0))
        forget(i);
    if (i < nthreads)
        return;
    if (i == MOST_THREADS)
        abort();
    threads[i] = (struct thread){
        .tid = tid, .stat = open_file(tid, "stat"), .schedstat = open_file(tid, "schedstat")};
    nthreads++;
}

static void note_all(DIR *tasks)
{
    const struct dirent *e;
    unsigned i = 0;

    rewinddir(tasks);
    while ((e = readdir(tasks))) {
        long tid = strtol(e->d_name, NULL, 10);

        if (tid > 0 && tid != sim.mover)
            note(i++, tid);
    }
    while (i < nthreads)
        forget(i);
}

/* Reads a file from its begin; false: the thread has ended. */
static bool read_text(int fd, char *text, size_t size)
{
    ssize_t n = pread(fd, text, size - 1, 0);

    text[n < 0 ? 0 : n] = '\0';
    return n > 0;
}

/* A thread that has ended sleeps. */
static bool sleeps(const struct thread *t)
{
    char text[512];
    const char *state;

    if (t->stat < 0 || t->schedstat < 0) /* without a descriptor nothing is known of it */
        return false;
    if (!read_text(t->stat, text, sizeof text))
        return true;
    state = strrchr(text, ')');
    return state && strchr("SZX", state[2]);
}

static unsigned long runs(const struct thread *t)
{
    unsigned long n = 0;
    char text[128];

    if (read_text(t->schedstat, text, sizeof text) && sscanf(text, "%*u %*u %lu", &n) != 1)
        abort();
    return n;
}

static bool all_sleep(void)
{
    static DIR *tasks;

    if (!tasks)
        tasks = zc_opendir("/proc/self/task");
    if (!tasks)
        abort();
    note_all(tasks);
    for (unsigned i = 0; i < nthreads; i++) {
        threads[i].runs = runs(&threads[i]);
        if (!sleeps(&threads[i]))
            return false;
    }
    return true;
}

/* Whether they have slept since all_sleep(): a thread that sleeps in both passes has not run
 * between them if it was given no processor. */
static bool none_ran(void)
{
    for (unsigned i = 0; i < nthreads; i++)
        if (!sleeps(&threads[i]) || runs(&threads[i]) != threads[i].runs)
            return false;
    return true;
}

/* ---- moving it ---- */

/* Returns when the first wait ends that is not ended yet. */
static uint64_t first_end(void)
{
    uint64_t first = UINT64_MAX;

    zc_list_each (&sim.waiters, n) {
        const struct waiter *w = zc_list_entry(n, struct waiter, link);

        if (!w->ended && w->until < first)
            first = w->until;
    }
    return first;
}

/* Ends the waits that are due.  A thread may not yet wait on its condition, so that it is signalled
 * again while it is in the list. */
static void end_waits(void)
{
    uint64_t at = __atomic_load_n(&sim.now, __ATOMIC_RELAXED);
    uint64_t one = 1;

    zc_list_each (&sim.waiters, n) {
        struct waiter *w = zc_list_entry(n, struct waiter, link);

        if (w->until > at)
            continue;
        if (w->cond)
            pthread_cond_broadcast(w->cond);
        else if (!w->ended && write(w->fd, &one, sizeof one) < 0)
            abort();
        w->ended = true;
    }
}

/* Moves the clock to the end of the first wait, if all sleep; false: nothing was due. */
static bool move(void)
{
    bool sleep = all_sleep(), due;
    uint64_t first;

    pthread_mutex_lock(&sim.lock);
    first = first_end();
    due = first <= __atomic_load_n(&sim.now, __ATOMIC_RELAXED);
    if (!due && sleep && first != UINT64_MAX && none_ran()) {
        first += GRAIN_NS - first % GRAIN_NS;
        __atomic_store_n(&sim.now, first, __ATOMIC_RELAXED);
        due = true;
    }
    end_waits();
    pthread_mutex_unlock(&sim.lock);
    return due;
}

static void *mover(void *arg)
{
    useconds_t pause = PAUSE_US;

    sim.mover = (pid_t)syscall(SYS_gettid);
    while (!__atomic_load_n(&sim.stops, __ATOMIC_ACQUIRE)) {
        pause = move() ? PAUSE_US : 2 * pause;
        usleep(pause > PAUSE_US_MAX ? PAUSE_US_MAX : pause);
    }
    return arg;
}

/* At the end of the process; else a sanitizer may wait for the thread, or find it in what ends. */
static void stop(void)
{
    if (!sim.started)
        return;
    __atomic_store_n(&sim.stops, true, __ATOMIC_RELEASE);
    pthread_join(sim.thread, NULL);
}

static void in_child(void)
{
    pthread_mutex_init(&sim.lock, NULL);
    zc_list_init(&sim.waiters);
    sim.started = false;
}

/* Call with the lock held. */
static void start(void)
{
    sigset_t all, before;

    sim.started = true;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&sim.thread, NULL, mover, NULL))
        abort();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- waits ---- */

static void begin(struct waiter *w)
{
    pthread_mutex_lock(&sim.lock);
    if (!sim.started)
        start();
    zc_list_add_tail(&sim.waiters, &w->link);
    pthread_mutex_unlock(&sim.lock);
}

/* Returns whether the clock ended it. */
static bool end(struct waiter *w)
{
    bool ended;

    pthread_mutex_lock(&sim.lock);
    zc_list_del(&w->link);
    ended = w->ended;
    pthread_mutex_unlock(&sim.lock);
    return ended;
}

static bool wait_cond(pthread_cond_t *c, pthread_mutex_t *m, uint64_t until)
{
    struct waiter w = {.until = until, .cond = c};

    begin(&w);
    pthread_cond_wait(c, m);
    return !end(&w);
}

static int wait_poll(struct pollfd *fds, unsigned n, uint64_t ns)
{
    struct waiter w = {.until = now() + ns};
    struct pollfd all[MOST_FDS];
    int rc;

    if (n >= MOST_FDS)
        abort();
    w.fd = zc_fd(eventfd(0, EFD_CLOEXEC));
    if (w.fd < 0)
        abort();
    if (n)
        memcpy(all, fds, n * sizeof *fds);
    all[n] = (struct pollfd){.fd = w.fd, .events = POLLIN};
    begin(&w);
    rc = poll(all, n + 1, -1);
    end(&w);
    close(w.fd);
    if (n)
        memcpy(fds, all, n * sizeof *fds);
    return rc > 0 ? rc - (all[n].revents != 0) : rc;
}

static void wait_time(uint64_t ns)
{
    while (wait_poll(NULL, 0, ns) < 0)
        continue;
}

const struct zc_clock *zc_clock_sim(void)
{
    static const struct zc_clock clock = {
        .now = now, .cond_wait = wait_cond, .sleep = wait_time, .poll = wait_poll};

    sim.now = zc_now_of(CLOCK_MONOTONIC);
    zc_list_init(&sim.waiters);
    pthread_atfork(NULL, NULL, in_child);
    atexit(stop);
    return &clock;
}
