/* zcache_exit.c - the end of a process that has not closed its files. */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "zc_lock.h"
#include "zc_log.h"
#include "zc_options.h"
#include "zc_thread.h"
#include "zcache_abort.h"
#include "zcache_exit.h"
#include "zcache_finalize.h"
#include "zcache_loss_report.h"

enum {
    EXIT_LOST = 4, /* the status of a program that lost bytes and says that all is well */
    POLL_NS = 1000 * 1000,
    NAMING_MS = 2000, /* what MPI_Abort leaves is named within it */
};

static const uint64_t CALL_BEGUN = (uint64_t)1 << 32;

static pid_t opener; /* atomic; 0: no file was opened */
static int (*flush_files)(void);
static void (*name_files_left)(const char *why);
static bool aborting, abort_over, abort_lost, over; /* atomic, as is: */
static int exit_status;
unsigned zcache_exit_clients;
static uint64_t calls; /* under way, and CALL_BEGUN times how many have begun */
static bool closed;    /* none begins any more */

static bool is_opener(void)
{
    return __atomic_load_n(&opener, __ATOMIC_ACQUIRE) == getpid();
}

static void before_abort(void);
static void watch_exit(void);

void zcache_exit_watch(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, watch_exit);
    zcache_abort_watch(before_abort);
    __atomic_store_n(&opener, getpid(), __ATOMIC_RELEASE);
}

void zcache_exit_flushes(int (*flush)(void), void (*name_left)(const char *why))
{
    __atomic_store_n(&name_files_left, name_left, __ATOMIC_RELEASE);
    __atomic_store_n(&flush_files, flush, __ATOMIC_RELEASE);
}

bool zcache_exit_over(void)
{
    return __atomic_load_n(&over, __ATOMIC_ACQUIRE);
}

int zcache_exit_begin(void)
{
    __atomic_fetch_add(&calls, CALL_BEGUN + 1, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&closed, __ATOMIC_SEQ_CST))
        return 0;
    zcache_exit_end();
    return zc_errorf(ESHUTDOWN, "the program has ended, and its files with it");
}

void zcache_exit_end(void)
{
    __atomic_fetch_sub(&calls, 1, __ATOMIC_SEQ_CST);
}

static int flush(void)
{
    int (*fn)(void) = __atomic_load_n(&flush_files, __ATOMIC_ACQUIRE);

    return fn ? fn() : 0;
}

/* Nanoseconds. */
static uint64_t abort_time(void)
{
    struct zc_settings s;
    uint64_t ms;

    zc_settings_init(&s);
    ms = s.abort_time;
    zc_settings_free(&s);
    return ms * ZC_NS_PER_MS;
}

/* Waits for another thread in MPI_Abort, which writes back or names what is lost.  Takes no lock,
 * and has a limit: it may be this thread, interrupted there by a signal. */
static void wait_for_abort(void)
{
    const struct timespec pause = {.tv_nsec = POLL_NS};
    uint64_t until = zc_now() + abort_time() + NAMING_MS * ZC_NS_PER_MS;

    while (!__atomic_load_n(&abort_over, __ATOMIC_ACQUIRE) && zc_now() < until)
        nanosleep(&pause, NULL);
}

/* ---- exit ---- */

/* Waits until other ranks have disconnected, which may still write to blocks of this process; a
 * rank disconnects at its end.  The wait has a limit: a rank that goes on may wait for this one. */
static void wait_for_clients(void)
{
    const struct timespec pause = {.tv_nsec = POLL_NS};
    uint64_t until = zc_now() + abort_time();

    while ((__atomic_load_n(&zcache_exit_clients, __ATOMIC_ACQUIRE) || zcache_finalize_shared()) &&
           zc_now() < until)
        nanosleep(&pause, NULL);
}

/* Refuses new calls and waits for those of other threads.  Returns whether none is left. */
static bool close_calls(void)
{
    const struct timespec pause = {.tv_nsec = POLL_NS};
    uint64_t until = zc_now() + abort_time();

    __atomic_store_n(&closed, true, __ATOMIC_SEQ_CST);
    while ((uint32_t)__atomic_load_n(&calls, __ATOMIC_SEQ_CST)) {
        if (zc_now() >= until)
            return false;
        nanosleep(&pause, NULL);
    }
    return true;
}

/* Flushes again if a call may have written meanwhile. */
static bool flush_and_close(bool *idle)
{
    uint64_t seen = __atomic_load_n(&calls, __ATOMIC_SEQ_CST);
    bool ok = flush() == 0;

    *idle = close_calls();
    if (!*idle || __atomic_load_n(&calls, __ATOMIC_SEQ_CST) != seen)
        ok = flush() == 0 && ok;
    return ok;
}

/* Returns false when bytes are lost by it: those before, the program has been told of.  What a
 * thread still uses, inside a call that does not end, is left to it. */
static bool end_process(void)
{
    unsigned before = zcache_losses_reports();
    bool ok, idle;

    zcache_finalize_end(ZCACHE_END_MEETING);
    zcache_finalize_end(ZCACHE_END_WORK);
    ok = flush_and_close(&idle);
    if (idle)
        zcache_finalize_end(ZCACHE_END_CONNECTIONS);
    wait_for_clients();
    if (zcache_finalize_begun())
        zcache_finalize_end(ZCACHE_END_ATTACHED);
    if (idle) {
        zcache_finalize_end(ZCACHE_END_GROUPS);
        zcache_finalize_end(ZCACHE_END_STORES);
    }
    __atomic_store_n(&over, true, __ATOMIC_RELEASE);
    return ok && zcache_losses_reports() == before;
}

/* Runs before what the program has registered until now, and after the rest. */
static void note_status(int status, void *arg)
{
    (void)arg;
    __atomic_store_n(&exit_status, status, __ATOMIC_RELAXED);
}

/* Waits for MPI_Abort, which writes back itself; this end may be a part of it.  False: it has lost
 * bytes, or does not end in time. */
static bool end_aborting(void)
{
    wait_for_abort();
    return __atomic_load_n(&abort_over, __ATOMIC_ACQUIRE) &&
           !__atomic_load_n(&abort_lost, __ATOMIC_ACQUIRE);
}

static void end_if_opener(void)
{
    bool ok;

    if (!is_opener() || zcache_exit_over())
        return;
    ok = __atomic_load_n(&aborting, __ATOMIC_ACQUIRE) ? end_aborting() : end_process();
    if (ok || __atomic_load_n(&exit_status, __ATOMIC_RELAXED))
        return;
    fflush(NULL); /* which exit() does last */
    _exit(EXIT_LOST);
}

__attribute__((destructor)) static void at_end(void)
{
    end_if_opener();
}

/* quick_exit() runs no destructors.  The library stays loaded, so that exit()
 * finds the handler even after a dlclose(). */
static void watch_exit(void)
{
    Dl_info self;

    if (dladdr((void *)note_status, &self) &&
        dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE))
        on_exit(note_status, NULL);
    if (at_quick_exit(end_if_opener))
        zc_warn("a program that ends by quick_exit() with files open loses what it wrote");
}

/* ---- exec ---- */

/* Other ranks that do the same have disconnected when they are another program; what they have left
 * until then is written back, too. */
void zcache_exit_before_exec(const char *path)
{
    int saved = errno;

    if (is_opener() && !zcache_exit_over()) {
        flush(); /* which has said what is left */
        if (!path || access(path, X_OK) == 0) {
            wait_for_clients();
            flush();
        }
    }
    errno = saved;
}

/* ---- abort ---- */

static struct zc_lock lock = ZC_LOCK_INITIALIZER(ZC_ORDER_PROCESS);
static zc_cond flushed;
static bool done; /* under the lock */
static int flush_status;

static void *flush_to_abort(void *arg)
{
    int rc = flush();

    (void)arg;
    zc_lock_get(&lock);
    done = true;
    flush_status = rc;
    pthread_cond_signal(&flushed);
    zc_lock_put(&lock);
    return NULL;
}

/* By a thread of its own: the store, or another rank, may not answer. */
static void flush_within(uint64_t ns)
{
    uint64_t until = zc_now() + ns;
    void (*name_left)(const char *why) = __atomic_load_n(&name_files_left, __ATOMIC_ACQUIRE);
    pthread_t thread;
    bool in_time;
    int rc;

    zc_cond_init(&flushed);
    if (ns && zc_thread_start(&thread, "zc-abort", flush_to_abort, NULL) == 0)
        pthread_detach(thread);
    else
        until = 0;
    zc_lock_get(&lock);
    while (!done && zc_now() < until)
        zc_cond_wait_until(&flushed, &lock, until);
    in_time = done;
    rc = flush_status;
    zc_lock_put(&lock);
    __atomic_store_n(&abort_lost, !in_time || rc, __ATOMIC_RELEASE);
    if ((!in_time || rc) && name_left)
        name_left(in_time ? "MPI_Abort" : "MPI_Abort, whose time (ZCACHE_ABORT_TIME) is over");
}

static void before_abort(void)
{
    if (!is_opener() || zcache_exit_over())
        return;
    if (__atomic_exchange_n(&aborting, true, __ATOMIC_ACQ_REL)) {
        wait_for_abort();
        return;
    }
    flush_within(abort_time());
    __atomic_store_n(&abort_over, true, __ATOMIC_RELEASE);
}
