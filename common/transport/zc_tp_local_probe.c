/* zc_tp_local_probe.c - can two processes use the local transport? */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "zc_log.h"
#include "zc_process.h"
#include "zc_tp_local.h"

static unsigned char nonce[16];
static int nonce_status;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_nonce(void)
{
    if (getrandom(nonce, sizeof nonce, 0) != sizeof nonce)
        nonce_status = -errno;
#ifdef PR_SET_PTRACER
    /* Fails on a kernel without Yama, which does not need it. */
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
#endif
}

/* The inode of this process's PID namespace; 0: not looked up yet.  It stays the same as long as
 * the process lives: unshare() and setns() change that of its children only. */
static _Atomic uint64_t pid_ns;
static pthread_once_t at_fork = PTHREAD_ONCE_INIT;

static void forget_pid_ns(void)
{
    atomic_store(&pid_ns, 0);
}

static void forget_in_child(void)
{
    pthread_atfork(NULL, NULL, forget_pid_ns);
}

static int pid_namespace(uint64_t *ns)
{
    struct stat st;

    pthread_once(&at_fork, forget_in_child);
    *ns = atomic_load(&pid_ns);
    if (*ns)
        return 0;
    if (stat("/proc/thread-self/ns/pid", &st))
        return zc_errorf(errno, "cannot look at /proc/thread-self/ns/pid");
    *ns = st.st_ino;
    atomic_store(&pid_ns, *ns);
    return 0;
}

/* Fills in the namespaces of the calling process. */
static int place(struct zc_tp_local_probe *c)
{
    struct stat st;

    if (stat("/proc/thread-self/ns/net", &st))
        return zc_errorf(errno, "cannot look at /proc/thread-self/ns/net");
    c->net_dev = st.st_dev;
    c->net_ino = st.st_ino;
    return pid_namespace(&c->pid_ns);
}

int zc_tp_local_probe(struct zc_tp_local_probe *out)
{
    pthread_once(&once, make_nonce);
    if (nonce_status)
        return zc_errorf(-nonce_status, "getrandom");
    out->pid = (uint64_t)getpid();
    out->uid = geteuid();
    out->where = (uintptr_t)nonce;
    memcpy(out->nonce, nonce, sizeof nonce);
    return place(out);
}

static bool same_network(const struct zc_tp_local_probe *mine,
                         const struct zc_tp_local_probe *theirs)
{
    return theirs->net_dev == mine->net_dev && theirs->net_ino == mine->net_ino;
}

/* In another PID namespace the number is that of another process, or of none. */
static bool may_be_near(const struct zc_tp_local_probe *mine,
                        const struct zc_tp_local_probe *theirs)
{
    return theirs->uid == mine->uid && theirs->pid_ns == mine->pid_ns && same_network(mine, theirs);
}

static bool same_host(const struct zc_tp_local_probe *probe)
{
    struct zc_tp_local_probe mine = {.uid = geteuid()};

    return !place(&mine) && may_be_near(&mine, probe);
}

bool zc_tp_local_in_network(const struct zc_tp_local_probe *probe)
{
    struct zc_tp_local_probe mine;

    return !place(&mine) && same_network(&mine, probe);
}

/* Reads the nonce in the memory of the process of the probe.  Returns 0 if that runs; -ESRCH if it
 * has ended; another error if this process may not read there. */
static int look(const struct zc_tp_local_probe *probe)
{
    unsigned char seen[sizeof probe->nonce];
    struct iovec here = {seen, sizeof seen};
    struct iovec there = {(void *)(uintptr_t)probe->where, sizeof seen};
    ssize_t n = process_vm_readv((pid_t)probe->pid, &here, 1, &there, 1, 0);

    if (n < 0 && errno == ESRCH) { /* its main thread has ended, or the process */
        long thread = zc_process_thread((long)probe->pid);

        n = thread > 0 ? process_vm_readv((pid_t)thread, &here, 1, &there, 1, 0) : n;
        errno = n < 0 && thread <= 0 ? ESRCH : errno;
    }
    if (n < 0 && errno != EFAULT)
        return -errno;
    return n == sizeof seen && memcmp(seen, probe->nonce, sizeof seen) == 0 ? 0 : -ESRCH;
}

bool zc_tp_local_reaches(const struct zc_tp_local_probe *probe)
{
    return same_host(probe) && look(probe) == 0;
}

bool zc_tp_local_reaches_as(const struct zc_tp_local_probe *mine,
                            const struct zc_tp_local_probe *theirs)
{
    return may_be_near(mine, theirs) && look(theirs) == 0;
}

bool zc_tp_local_has_ended(const struct zc_tp_local_probe *probe)
{
    return same_host(probe) && look(probe) == -ESRCH;
}
