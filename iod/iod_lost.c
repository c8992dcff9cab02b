/* iod_lost.c - a daemon that others have given up, or replaced, ends: see zc_lost_mark.h.
 *
 * It was silent for so long that a job writes its part of a file itself, by now, or that another
 * daemon was started in its place, which got what this one has from the jobs that kept it.  What it
 * has and the file has not may be older than what is there, and nobody can tell which of it is; so
 * it does what it was taken for, and is dead.
 */
#include "config.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "iod_lost.h"
#include "zc_addrfile.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_lost_mark.h"

enum { EXIT_LOST = 4 }; /* as when bytes are left that could not be written */

/* Also while the host is suspended. */
static uint64_t boot_time(void)
{
    struct timespec t;

    clock_gettime(CLOCK_BOOTTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static bool is_replaced(const struct iod_lost *l)
{
    struct zc_addrfile a;

    return __atomic_load_n(&l->published, __ATOMIC_ACQUIRE) &&
           zc_addrfile_look(l->address_file, &a) == 0 && a.boot_id != l->boot_id;
}

static void end(const char *why) __attribute__((noreturn));
static void end(const char *why)
{
    zc_error("%s: it ends, and does not write what it has, which may be older than what is in the "
             "files by now",
             why);
    _exit(EXIT_LOST);
}

void iod_lost_look(void *lost)
{
    struct iod_lost *l = lost;
    uint64_t now = boot_time(), looked = __atomic_load_n(&l->looked, __ATOMIC_RELAXED);

    if (!l->address_file || (looked && now - looked < ZC_LOST_LOOK_MS * ZC_NS_PER_MS))
        return;
    if (zc_lost_mark_is_there(l->address_file, l->boot_id))
        end("a job waited in vain for a sign of life and has gone on without this daemon");
    if (is_replaced(l))
        end("another daemon was started in the place of this one, with its address file");
    __atomic_store_n(&l->looked, now, __ATOMIC_RELAXED); /* when we began */
}

void iod_lost_published(struct iod_lost *l, bool replaces)
{
    uint64_t until = boot_time() + ZC_LOST_WAIT_MS * ZC_NS_PER_MS, now;

    __atomic_store_n(&l->published, true, __ATOMIC_RELEASE);
    while (replaces && (now = boot_time()) < until)
        usleep((useconds_t)((until - now) / 1000 + 1));
}
