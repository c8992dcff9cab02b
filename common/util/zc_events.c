/* zc_events.c - a trace of a process, in a mapped file.
 *
 * A thread claims a record by a counter and writes that number into it last: a reader of the file
 * of a killed process skips records with another number.  Two threads meet at one record only if
 * one slept while the counter went once around; the record is then the later one's, or skipped.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "zc_events.h"
#include "zc_fd.h"
#include "zc_lock.h"
#include "zc_log.h"

atomic_bool zc_events_on;

static struct zc_event_file *map; /* set before zc_events_on */
static struct zc_lock starting = ZC_LOCK_INITIALIZER(ZC_ORDER_EVENTS);

/* The number of this thread in map->threads, from 1; 0: it has none yet. */
static _Thread_local uint32_t thread_number;

/* Allocates all blocks of the file now: a write to a mapped hole on a full file system kills. */
static struct zc_event_file *map_file(const char *path)
{
    int fd = zc_fd(open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    int rc = fd < 0 ? errno : posix_fallocate(fd, 0, sizeof(struct zc_event_file));
    void *at = MAP_FAILED;

    if (rc == 0) {
        at = mmap(NULL, sizeof(struct zc_event_file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        rc = at == MAP_FAILED ? errno : 0;
    }
    if (rc)
        zc_warn("no trace: %s: %s", path, strerror(rc));
    if (rc && fd >= 0)
        unlink(path);
    if (fd >= 0)
        close(fd);
    return at == MAP_FAILED ? NULL : at;
}

static void start(const char *dir, const char *who, int rank)
{
    char host[sizeof map->host] = "", path[1200];

    gethostname(host, sizeof host - 1);
    snprintf(path, sizeof path, "%s/%s-%ld.events", dir, host, (long)getpid());
    map = map_file(path);
    if (!map)
        return;
    map->size = sizeof *map;
    map->pid = (int32_t)getpid();
    map->rank = rank;
    snprintf(map->who, sizeof map->who, "%s", who);
    memcpy(map->host, host, sizeof host);
    map->realtime = zc_now_of(CLOCK_REALTIME);
    map->monotonic = zc_now();
    memcpy(map->magic, ZC_EVENTS_MAGIC, sizeof map->magic);
    atomic_store_explicit(&zc_events_on, true, memory_order_release);
}

void zc_events_start(const char *dir, const char *who, int rank)
{
    zc_lock_get(&starting);
    if (!map)
        start(dir, who, rank);
    zc_lock_put(&starting);
}

static uint32_t this_thread(void)
{
    if (thread_number == 0) {
        uint32_t n = atomic_fetch_add(&map->nthreads, 1);

        if (n >= ZC_EVENT_THREADS)
            n = ZC_EVENT_THREADS;
        else
            pthread_getname_np(pthread_self(), map->threads[n], sizeof map->threads[n]);
        thread_number = n + 1;
    }
    return thread_number - 1;
}

void zc_event_add(enum zc_event_kind kind, uint64_t began, uint64_t ended, uint64_t bytes)
{
    struct zc_event_record *r;
    uint64_t n;

    /* The acquire makes the set-up of `map` visible. */
    if (!atomic_load_explicit(&zc_events_on, memory_order_acquire))
        return;
    n = atomic_fetch_add_explicit(&map->count, 1, memory_order_relaxed);
    r = &map->events[n % ZC_EVENTS_MAX];
    atomic_store_explicit(&r->number, 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&r->began, began, memory_order_relaxed);
    atomic_store_explicit(&r->ended, ended, memory_order_relaxed);
    atomic_store_explicit(&r->bytes, bytes, memory_order_relaxed);
    atomic_store_explicit(&r->thread, this_thread(), memory_order_relaxed);
    atomic_store_explicit(&r->kind, kind, memory_order_relaxed);
    atomic_store_explicit(&r->number, n + 1, memory_order_release);
}
