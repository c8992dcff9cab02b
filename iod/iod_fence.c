/* iod_fence.c - ends a daemon that is fenced or was replaced: see zc_fence.h.
 *
 * It was silent for so long that a job writes the file itself by now, or that another daemon
 * replaced it and got its unstable bytes from the caches that kept them.  Bytes that only this
 * daemon has may be older than those in the file, and cannot be told apart; so it must not write
 * them, and ends.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "iod_fence.h"
#include "zc_addrfile.h"
#include "zc_fence.h"
#include "zc_lock.h"
#include "zc_log.h"

enum {
    EXIT_LOST = 4,     /* as when bytes are left that could not be written */
    AGAIN_US = 100000, /* between two looks that fail */
};

/* Goes on while the host is suspended. */
static uint64_t boot_time(void)
{
    return zc_now_of(CLOCK_BOOTTIME);
}

/* Whether an error of reading the address file is temporary; any other one means that the file is
 * not another daemon's. */
static bool passes(int rc)
{
    return rc == -EMFILE || rc == -ENFILE || rc == -ENOMEM || rc == -EIO || rc == -EINTR ||
           rc == -ESTALE || rc == -ETIMEDOUT;
}

/* Returns 1, 0, or a negative errno if that is unknown for now. */
static int is_replaced(const struct iod_fence *l)
{
    struct zc_addrfile a;
    int rc;

    if (!__atomic_load_n(&l->published, __ATOMIC_ACQUIRE))
        return 0;
    rc = zc_addrfile_probe(l->address_file, &a);
    return rc == 0 ? a.boot_id != l->boot_id : passes(rc) ? rc : 0;
}

/* Asks until there is an answer: a change must not begin without one. */
static bool ask(const struct iod_fence *l, int (*fn)(const struct iod_fence *l))
{
    bool told = false;
    int rc;

    while ((rc = fn(l)) < 0) {
        if (!told)
            zc_warn("whether this daemon was given up cannot be read beside %s: %s; changes of "
                    "files wait for that",
                    l->address_file, strerror(-rc));
        told = true;
        usleep(AGAIN_US);
    }
    return rc;
}

static int is_given_up(const struct iod_fence *l)
{
    return zc_fence_look(l->address_file, l->boot_id);
}

static void end(const char *why) __attribute__((noreturn));
static void end(const char *why)
{
    zc_error("%s: it ends, and does not write what it has, which may be older than what is in the "
             "files by now",
             why);
    _exit(EXIT_LOST);
}

void iod_fence_check(void *lost)
{
    struct iod_fence *l = lost;
    uint64_t now = boot_time(), looked = __atomic_load_n(&l->looked, __ATOMIC_RELAXED);

    if (!l->address_file || (looked && now - looked < ZC_FENCE_CHECK_MS * ZC_NS_PER_MS))
        return;
    if (ask(l, is_given_up))
        end("a job waited in vain for a sign of life and has gone on without this daemon");
    if (ask(l, is_replaced))
        end("another daemon was started in the place of this one, with its address file");
    __atomic_store_n(&l->looked, now, __ATOMIC_RELAXED); /* when we began */
}

void iod_fence_published(struct iod_fence *l, bool replaces)
{
    uint64_t until = boot_time() + ZC_FENCE_WAIT_MS * ZC_NS_PER_MS, now;

    __atomic_store_n(&l->published, true, __ATOMIC_RELEASE);
    while (replaces && (now = boot_time()) < until)
        usleep((useconds_t)((until - now) / 1000 + 1));
}
