/* zc_tp_local_card.c - can two processes use the local transport? */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "zc_log.h"
#include "zc_tp_local.h"

static unsigned char stamp[16];
static int stamp_status;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_stamp(void)
{
    if (getrandom(stamp, sizeof stamp, 0) != sizeof stamp)
        stamp_status = -errno;
#ifdef PR_SET_PTRACER
    /* Fails where there is no Yama, which then does not ask for it. */
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
#endif
}

static int network(uint64_t *dev, uint64_t *ino)
{
    struct stat st;

    if (stat("/proc/self/ns/net", &st))
        return zc_errorf(errno, "cannot look at /proc/self/ns/net");
    *dev = st.st_dev;
    *ino = st.st_ino;
    return 0;
}

int zc_tp_local_card(struct zc_tp_local_card *out)
{
    pthread_once(&once, make_stamp);
    if (stamp_status)
        return zc_errorf(-stamp_status, "getrandom");
    out->pid = (uint64_t)getpid();
    out->uid = geteuid();
    out->where = (uintptr_t)stamp;
    memcpy(out->stamp, stamp, sizeof stamp);
    return network(&out->net_dev, &out->net_ino);
}

static bool may_be_near(const struct zc_tp_local_card *mine, const struct zc_tp_local_card *theirs)
{
    return theirs->uid == mine->uid && theirs->net_dev == mine->net_dev &&
           theirs->net_ino == mine->net_ino;
}

static bool same_host(const struct zc_tp_local_card *card)
{
    struct zc_tp_local_card mine = {.uid = geteuid()};

    return !network(&mine.net_dev, &mine.net_ino) && may_be_near(&mine, card);
}

/* 0: its process has it; -ESRCH: that has ended; or it may not be looked at. */
static int look(const struct zc_tp_local_card *card)
{
    unsigned char seen[sizeof card->stamp];
    struct iovec here = {seen, sizeof seen};
    struct iovec there = {(void *)(uintptr_t)card->where, sizeof seen};
    ssize_t n = process_vm_readv((pid_t)card->pid, &here, 1, &there, 1, 0);

    if (n < 0 && errno != EFAULT)
        return -errno;
    return n == sizeof seen && memcmp(seen, card->stamp, sizeof seen) == 0 ? 0 : -ESRCH;
}

bool zc_tp_local_reaches(const struct zc_tp_local_card *card)
{
    return same_host(card) && look(card) == 0;
}

bool zc_tp_local_reaches_as(const struct zc_tp_local_card *mine,
                            const struct zc_tp_local_card *theirs)
{
    return may_be_near(mine, theirs) && look(theirs) == 0;
}

bool zc_tp_local_has_ended(const struct zc_tp_local_card *card)
{
    return same_host(card) && look(card) == -ESRCH;
}
