/* zcache_collective_error.c - one outcome for all ranks. */
#include "config.h"

#include <errno.h>
#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include "zc_lock.h"
#include "zc_log.h"
#include "zcache_collective_error.h"
#include "zcache_error.h"

/* A rank that waits polls without pause at first, which is quickest, and then in naps that grow:
 * what it waits for may be a flush of gigabytes, done by threads that need a core.  A yield after
 * each poll makes ranks that share a core switch to each other all the time, and delays the rank
 * they wait for. */
enum {
    POLLS = 1000,
    YIELD_AFTER = 16, /* polls */
    NAP_MIN_NS = 10 * 1000,
    NAP_MAX_NS = 500 * 1000,
    NAP_OF = 16,    /* a nap is this part of the time waited so far */
    SLACK_NS = 1000 /* timer slack during a nap; 50 us by default, by which naps would be longer */
};

int zcache_collective_error_mpi(int code)
{
    char text[ZCACHE_MPI_TEXT_MAX] = "";
    int len;

    if (code == MPI_SUCCESS)
        return 0;
    MPI_Error_string(code, text, &len);
    return zc_errorf(EIO, "MPI cannot reach the other ranks: %s", text);
}

static void doze(uint64_t ns)
{
    struct timespec t = {.tv_nsec = ns < NAP_MIN_NS   ? NAP_MIN_NS
                                    : ns > NAP_MAX_NS ? NAP_MAX_NS
                                                      : (long)ns};
    int slack = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);

    if (slack > SLACK_NS)
        prctl(PR_SET_TIMERSLACK, (unsigned long)SLACK_NS, 0, 0, 0);
    nanosleep(&t, NULL);
    if (slack > SLACK_NS) /* the thread is the program's */
        prctl(PR_SET_TIMERSLACK, (unsigned long)slack, 0, 0, 0);
}

/* Until the time `until`, ns; 0: for as long as it takes. */
static int wait_until(int code, MPI_Request *request, uint64_t until)
{
    uint64_t began = 0, now;
    int done = 0;

    for (int polls = 0; code == MPI_SUCCESS && !done; polls++) {
        code = MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS || done)
            break;
        if (polls < POLLS) {
            if (polls % YIELD_AFTER == YIELD_AFTER - 1)
                sched_yield();
            continue;
        }
        now = zc_now();
        if (until && now > until)
            return zc_errorf(ETIMEDOUT, "not all ranks have answered");
        if (!began)
            began = now;
        doze((now - began) / NAP_OF);
    }
    return zcache_collective_error_mpi(code);
}

int zcache_collective_error_wait(int code, MPI_Request *request)
{
    return wait_until(code, request, 0);
}

int zcache_collective_error_wait_for(int code, MPI_Request *request, uint64_t ms)
{
    return wait_until(code, request, zc_now() + ms * ZC_NS_PER_MS);
}

int zcache_collective_error_barrier(MPI_Comm comm)
{
    MPI_Request request = MPI_REQUEST_NULL;

    zc_assert_none_held();
    return zcache_collective_error_wait(MPI_Ibarrier(comm, &request), &request);
}

int zcache_collective_error_bytes(void *bytes, size_t len, int root, MPI_Comm comm)
{
    MPI_Request request = MPI_REQUEST_NULL;

    zc_assert_none_held();
    return zcache_collective_error_wait(MPI_Ibcast(bytes, (int)len, MPI_BYTE, root, comm, &request),
                                        &request);
}

int zcache_collective_error_bcast(struct zc_error *o, int root, MPI_Comm comm)
{
    int rc = zcache_collective_error_bytes(o, sizeof *o, root, comm);

    if (rc)
        zc_error_keep(o, rc);
    return zc_error_raise(o);
}

int zcache_collective_error_least(const int64_t *mine, int64_t *least, int n, int root,
                                  MPI_Comm comm)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int code;

    zc_assert_none_held();
    if (root == ZCACHE_EVERYBODY)
        code = MPI_Iallreduce(mine, least, n, MPI_INT64_T, MPI_MIN, comm, &request);
    else
        code = MPI_Ireduce(mine, least, n, MPI_INT64_T, MPI_MIN, root, comm, &request);
    return zcache_collective_error_wait(code, &request);
}

int zcache_collective_error_agree(struct zc_error *o, MPI_Comm comm)
{
    int64_t mine, first;
    int rank, size, rc;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    mine = o->rc ? rank : size; /* the first that failed */
    rc = zcache_collective_error_least(&mine, &first, 1, ZCACHE_EVERYBODY, comm);
    if (rc) {
        zc_error_keep(o, rc);
        return rc;
    }
    return first == size ? 0 : zcache_collective_error_bcast(o, (int)first, comm);
}
