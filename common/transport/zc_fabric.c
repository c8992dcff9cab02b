/* zc_fabric.c - opening libfabric at run time. */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "zc_fabric.h"
#include "zc_lock.h"
#include "zc_log.h"

static struct zc_fabric lib;
static int load_status = 1;                /* 1: not tried yet */
static const char *version = "not loaded"; /* atomic: asked for while a thread loads it */
static struct zc_lock load_lock = ZC_LOCK_INITIALIZER(ZC_ORDER_LIBFABRIC);

/* Limits memory of an endpoint, which no attribute does, only this variable, read when libfabric is
 * first used; a user's value has precedence.  ofi_rxm receives into 4096 buffers of
 * 16 KiB unless told otherwise (libfabric 1.17, with a shared receive queue): 64 MiB an
 * endpoint, of which a process has up to three.  When all are taken TCP makes senders wait.
 * The size of the buffers stays: both sides of a connection must have the same, and where
 * the MPI library has used libfabric before us it is too late to choose. */
void zc_fabric_prepare(void)
{
    setenv("FI_OFI_RXM_MSG_RX_SIZE", "256", 0);
}

/* Debian's libfabric needs libpsm2 and libinfinipath, which take over SIGSEGV, SIGTERM and others
 * when they are loaded; those are the application's. */
static void *open_library(void)
{
    static const int taken[] = {SIGSEGV, SIGBUS, SIGILL, SIGABRT, SIGINT, SIGTERM};
    struct sigaction old[sizeof taken / sizeof *taken];
    void *h;

    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        sigaction(taken[i], NULL, &old[i]);
    h = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        sigaction(taken[i], &old[i], NULL);
    return h;
}

static int load(void)
{
    static char version_text[16];
    const struct {
        const char *name;
        void **where;
    } symbols[] = {
        {"fi_getinfo", (void **)&lib.getinfo},   {"fi_freeinfo", (void **)&lib.freeinfo},
        {"fi_dupinfo", (void **)&lib.dupinfo},   {"fi_fabric", (void **)&lib.fabric},
        {"fi_strerror", (void **)&lib.strerror}, {"fi_version", (void **)&lib.version},
    };
    void *h;

    zc_fabric_prepare();
    h = open_library();
    if (!h)
        return zc_errorf(ENOENT,
                         "cannot load libfabric.so.1: %s (Debian: apt-get install libfabric1)",
                         dlerror());
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        *symbols[i].where = dlsym(h, symbols[i].name);
        if (!*symbols[i].where)
            return zc_errorf(ELIBBAD, "libfabric.so.1 has no %s", symbols[i].name);
    }
    snprintf(version_text, sizeof version_text, "%u.%u", FI_MAJOR(lib.version()),
             FI_MINOR(lib.version()));
    __atomic_store_n(&version, version_text, __ATOMIC_RELEASE);
    return 0;
}

int zc_fabric_load(const struct zc_fabric **out)
{
    int rc;

    zc_lock_get(&load_lock);
    if (load_status == 1)
        load_status = load();
    rc = load_status;
    zc_lock_put(&load_lock);
    *out = &lib;
    return rc;
}

const char *zc_fabric_version(void)
{
    return __atomic_load_n(&version, __ATOMIC_ACQUIRE);
}
