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
#include "zc_tsan.h"

/* What the clock does orders no threads of the program for thread sanitizer: it would miss races
 * between any two that have waited.  The functions are the sanitizer's. */
#ifdef ZC_TSAN
void AnnotateIgnoreSyncBegin(const char *file, int line);
void AnnotateIgnoreSyncEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
#else
#define AnnotateIgnoreSyncBegin(file, line)   ((void)0)
#define AnnotateIgnoreSyncEnd(file, line)     ((void)0)
#define AnnotateIgnoreWritesBegin(file, line) ((void)0)
#define AnnotateIgnoreWritesEnd(file, line)   ((void)0)
#endif

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
    bool again;           /* signalled once more, after all had slept on */
};

static struct {
    pthread_mutex_t lock;
    struct zc_list waiters;
    bool started, stops;
    pthread_t thread; /* moves the clock */
    pid_t mover;      /* its number */
    uint64_t now;
} sim = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void be_unseen(void)
{
    AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
    ZC_TSAN_RACY_BEGIN();
}

static void be_seen(void)
{
    ZC_TSAN_RACY_END();
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
}

static void lock(void)
{
    be_unseen();
    pthread_mutex_lock(&sim.lock);
}

static void unlock(void)
{
    pthread_mutex_unlock(&sim.lock);
    be_seen();
}

static uint64_t now(void)
{
    return __atomic_add_fetch(&sim.now, ZC_CLOCK_SIM_LOOK_NS, __ATOMIC_RELAXED);
}

/* ---- do all sleep? ---- */

/* A thread; its files of /proc stay open, as opening them takes longer than reading. */
struct thread {
    long tid;
    int stat, schedstat;
    char ran[64]; /* in the first pass: how long, and how often it was given a processor */
};

/* Threads in the order of /proc/self/task, which is that of their creation.  Of the mover. */
static DIR *tasks;
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

/* Returns the next of all threads but the mover; 0: there is none. */
static long next_thread(void)
{
    const struct dirent *e;

    while ((e = readdir(tasks))) {
        long tid = strtol(e->d_name, NULL, 10);

        if (tid > 0 && tid != sim.mover)
            return tid;
    }
    return 0;
}

static void note_all(void)
{
    unsigned i = 0;
    long tid;

    rewinddir(tasks);
    while ((tid = next_thread()))
        note(i++, tid);
    while (i < nthreads)
        forget(i);
}

/* Whether there are the same threads as in note_all(). */
static bool no_others(void)
{
    unsigned i = 0;
    long tid;

    rewinddir(tasks);
    while ((tid = next_thread()))
        if (i == nthreads || threads[i++].tid != tid)
            return false;
    return i == nthreads;
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

static bool all_sleep(void)
{
    note_all();
    for (unsigned i = 0; i < nthreads; i++) {
        read_text(threads[i].schedstat, threads[i].ran, sizeof threads[i].ran);
        if (!sleeps(&threads[i]))
            return false;
    }
    return true;
}

/* Whether they have slept since all_sleep(): a thread that sleeps in both passes has not run
 * between them if it was given no processor, and kept none. */
static bool none_ran(void)
{
    char ran[sizeof threads->ran];

    for (unsigned i = 0; i < nthreads; i++) {
        if (!sleeps(&threads[i]))
            return false;
        read_text(threads[i].schedstat, ran, sizeof ran);
        if (strcmp(ran, threads[i].ran) != 0)
            return false;
    }
    return no_others();
}

/* A kernel that does not count runs does not tell whether a thread has run. */
static void find_tasks(void)
{
    unsigned long n = 0;
    char text[64] = "";
    int fd = open_file(sim.mover, "schedstat");

    tasks = zc_opendir("/proc/self/task");
    nthreads = 0; /* those of a parent are its own */
    if (fd < 0 || !read_text(fd, text, sizeof text) || sscanf(text, "%*u %*u %lu", &n) != 1 ||
        n == 0 || !tasks) {
        fputs("simulated time needs /proc/self/task and schedstat of Linux\n", stderr);
        abort();
    }
    close(fd);
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

static void wake(struct waiter *w)
{
    uint64_t one = 1;

    if (w->cond)
        pthread_cond_broadcast(w->cond);
    else if (!w->ended && write(w->fd, &one, sizeof one) < 0)
        abort();
}

/* Ends the waits that are due.  A thread that has not reached pthread_cond_wait() yet misses the
 * signal, which is repeated while it is in the list. */
static void end_waits(void)
{
    uint64_t at = __atomic_load_n(&sim.now, __ATOMIC_RELAXED);

    zc_list_each (&sim.waiters, n) {
        struct waiter *w = zc_list_entry(n, struct waiter, link);

        if (w->until > at)
            continue;
        wake(w);
        w->ended = true;
    }
}

/* All sleep: signals the waits that were ended and go on.  Once, since a thread may be waiting for
 * its mutex; false: there was none. */
static bool wake_again(void)
{
    bool any = false;

    zc_list_each (&sim.waiters, n) {
        struct waiter *w = zc_list_entry(n, struct waiter, link);

        if (!w->ended || w->again)
            continue;
        w->again = any = true;
        wake(w);
    }
    return any;
}

/* Moves the clock to the end of the first wait, if all sleep; false: nothing was due. */
static bool move(void)
{
    bool sleep = all_sleep(), due;
    uint64_t first;

    lock();
    first = first_end();
    due = first <= __atomic_load_n(&sim.now, __ATOMIC_RELAXED);
    if (!due && sleep && none_ran()) {
        due = wake_again();
        if (!due && first != UINT64_MAX) {
            first += GRAIN_NS - first % GRAIN_NS;
            __atomic_store_n(&sim.now, first, __ATOMIC_RELAXED);
            due = true;
        }
    }
    end_waits();
    unlock();
    return due;
}

static void *mover(void *arg)
{
    useconds_t pause = PAUSE_US;

    sim.mover = (pid_t)syscall(SYS_gettid);
    find_tasks();
    while (!__atomic_load_n(&sim.stops, __ATOMIC_ACQUIRE)) {
        pause = move() ? PAUSE_US : 2 * pause;
        usleep(pause > PAUSE_US_MAX ? PAUSE_US_MAX : pause);
    }
    return arg;
}

/* At the end of the process; else a sanitizer may wait for the thread, or find it in what ends. */
static void stop(void)
{
    bool started;

    lock();
    started = sim.started;
    unlock();
    if (!started)
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
    lock();
    if (!sim.started)
        start();
    zc_list_add_tail(&sim.waiters, &w->link);
    unlock();
}

/* Returns whether the clock ended it. */
static bool end(struct waiter *w)
{
    bool ended;

    lock();
    zc_list_del(&w->link);
    ended = w->ended;
    unlock();
    return ended;
}

static bool wait_cond(pthread_cond_t *c, pthread_mutex_t *m, uint64_t until)
{
    struct waiter w = {.until = until, .cond = c};

    if (until <= __atomic_load_n(&sim.now, __ATOMIC_RELAXED)) {
        pthread_mutex_unlock(m);
        pthread_mutex_lock(m);
        return false;
    }
    begin(&w);
    pthread_cond_wait(c, m);
    return !end(&w);
}

static int poll_until(struct pollfd *fds, unsigned n, uint64_t until)
{
    struct waiter w = {.until = until};
    struct pollfd all[MOST_FDS];
    int rc;

    if (n >= MOST_FDS)
        abort();
    be_unseen(); /* threads reuse a number, in no order that thread sanitizer sees */
    w.fd = zc_fd(eventfd(0, EFD_CLOEXEC));
    be_seen();
    if (w.fd < 0)
        abort();
    if (n)
        memcpy(all, fds, n * sizeof *fds);
    all[n] = (struct pollfd){.fd = w.fd, .events = POLLIN};
    begin(&w);
    rc = poll(all, n + 1, -1);
    end(&w);
    be_unseen();
    close(w.fd);
    be_seen();
    if (n)
        memcpy(fds, all, n * sizeof *fds);
    return rc > 0 ? rc - (all[n].revents != 0) : rc;
}

static int wait_poll(struct pollfd *fds, unsigned n, uint64_t ns)
{
    return poll_until(fds, n, now() + ns);
}

static void wait_time(uint64_t ns)
{
    uint64_t until = now() + ns;

    while (poll_until(NULL, 0, until) < 0)
        continue;
}

const struct zc_clock *zc_clock_sim(void)
{
    static const struct zc_clock clock = {
        .now = now, .cond_wait = wait_cond, .sleep = wait_time, .poll = wait_poll};

    if (sim.now)
        return &clock;
    sim.now = zc_now_of(CLOCK_MONOTONIC);
    zc_list_init(&sim.waiters);
    pthread_atfork(NULL, NULL, in_child);
    atexit(stop);
    return &clock;
}
