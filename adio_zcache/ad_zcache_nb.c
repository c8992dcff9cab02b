/* ad_zcache_nb.c - nonblocking and split collective reads and writes.
 *
 * A thread makes the access (zcache_async.h); the request is a generalized one that MPI polls.
 * Completing it is left to the thread that tests or waits, since no other may call MPI.
 * A nonblocking collective access is every rank's own, as the blocking one is.  A read that is to
 * come after other ranks' writes (zcache_read_barrier.h) starts when the call itself, or a later
 * test or wait, sees that every rank has made the call.
 *
 * An error met while a request is under way goes to the file's error handler, once, when the
 * request completes, and makes the completing call fail.  How that call reports it depends on the
 * MPI library: MPICH's returns MPI_ERR_OTHER, and calls the error handler of MPI_COMM_SELF.
 * MPI_Request_get_status of the MPICH family does not poll, so the plugin's does so first
 * (zcache_entry_request.c).  A program may, against MPI's rules, close the file first: the request
 * then has the handler that the file had, and calls it for MPI_FILE_NULL.
 *
 * Where the MPI library cannot poll, or there is no memory, the access is made at once.
 */
#include "config.h"

#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ad_zcache.h"
#include "ad_zcache_seams.h"
#include "zc_error.h"
#include "zc_list.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zcache_async.h"
#include "zcache_errh.h"
#include "zcache_error.h"
#include "zcache_file.h"
#include "zcache_greq.h"
#include "zcache_read_barrier.h"

/* What a request refers to. */
struct pending {
    struct zcache_async_op *job;
    MPI_Request others; /* come first: the job is started when this is complete */
    MPI_Request request;
    bool looking;         /* a thread is starting or completing it; atomic */
    bool completed;       /* MPI_Grequest_complete was called */
    bool raised;          /* the error handler was, and */
    int code;             /* made this of the error */
    struct zc_list link;  /* of its file's requests; these under lock: */
    struct zc_list alike; /* of requests of all files: known[] */
    MPI_File fh;          /* MPI_FILE_NULL once it is closed ... */
    MPI_Errhandler errh;  /* ... and then the handler it had, with a reference */
};

/* Of the requests of all files. */
static struct zc_lock lock = ZC_LOCK_INITIALIZER(ZC_ORDER_REQUESTS);

/* Hashed by their handles, which are integers or addresses; under lock, except for the number. */
enum { KINDS = 64 };
static struct zc_list known[KINDS];
static unsigned pending_now; /* atomic */

/* ---- an access as a job ---- */

struct work {
    struct zcache_access a; /* its file may be closed once it is done; void when there is ... */
    struct zc_error error;  /* ... an error that kept it from being made */
    char path[];
};

static int64_t work_run(void *arg)
{
    struct work *w = arg;

    return w->error.rc ? zc_error_raise(&w->error) : zcache_slot_run(&w->a);
}

static void work_free(void *arg)
{
    struct work *w = arg;

    if (!w->error.rc)
        zcache_slot_done(&w->a);
    free(w);
}

/* What zcache_slot_begin() returned, as a job that is not started.  Takes over what the access
 * refers to; NULL: no memory, and nothing is taken. */
static struct zcache_async_op *work_new(const struct zcache_access *a, int rc)
{
    static const struct zcache_async_kind kind = {work_run, work_free};
    const char *path = a->f->path;
    struct zcache_async_op *j;
    struct work *w;

    if (!path)
        return NULL;
    w = malloc(sizeof *w + strlen(path) + 1);
    if (!w)
        return NULL;
    w->a = *a;
    w->a.background = true;
    zc_error_keep(&w->error, rc);
    strcpy(w->path, path);
    j = zcache_async_new(&kind, w, &a->f->async);
    if (!j)
        free(w);
    return j;
}

/* Of one that is done, though its file may be closed: what zcache_async_result() says, and the MPI
 * error code that stands for it. */
static int64_t work_result(const struct zcache_async_op *j, int *code)
{
    const struct work *w = zcache_async_arg(j);
    int64_t n = zcache_async_result(j);

    zcache_slot_error(w->a.dir, w->path, n < 0 ? (int)n : 0, code);
    return n;
}

/* ---- what MPI calls ---- */

/* Starts the job when all ranks have come; *yes: it is started. */
static int begin(struct pending *p, bool *yes)
{
    int come = 1, code = MPI_SUCCESS;

    if (p->others != MPI_REQUEST_NULL) {
        code = MPI_Test(&p->others, &come, MPI_STATUS_IGNORE);
        if (code == MPI_SUCCESS && come)
            zcache_async_start(p->job);
    }
    *yes = code == MPI_SUCCESS && come;
    return code;
}

static int look_at(struct pending *p)
{
    bool begun;
    int code;

    if (p->completed)
        return MPI_SUCCESS;
    code = begin(p, &begun);
    if (!begun || !zcache_async_is_done(p->job))
        return code;
    p->completed = true;
    return MPI_Grequest_complete(p->request);
}

/* Two threads may ask for its status. */
static int complete(struct pending *p)
{
    int code;

    if (__atomic_exchange_n(&p->looking, true, __ATOMIC_ACQUIRE))
        return MPI_SUCCESS;
    code = look_at(p);
    __atomic_store_n(&p->looking, false, __ATOMIC_RELEASE);
    return code;
}

static int poll(void *state, MPI_Status *status)
{
    struct pending *p = state;

    (void)status;
    if (zcache_greq_poll_may_yield && !zcache_async_is_done(p->job))
        sched_yield(); /* MPI_Wait does nothing but call this */
    return complete(p);
}

static struct zc_list *alike(MPI_Request r)
{
    uintptr_t bits = (uintptr_t)r;

    return &known[(bits ^ bits >> 8) % KINDS];
}

static void remember(struct pending *p)
{
    struct zc_list *l = alike(p->request);

    zc_assert_held(&lock);
    if (!l->next)
        zc_list_init(l);
    zc_list_add_tail(l, &p->alike);
    __atomic_add_fetch(&pending_now, 1, __ATOMIC_RELEASE);
}

static void forget(struct pending *p)
{
    zc_assert_held(&lock);
    zc_list_del(&p->alike);
    __atomic_sub_fetch(&pending_now, 1, __ATOMIC_RELEASE);
}

void zcache_request_poll(MPI_Request request)
{
    struct pending *found = NULL;
    struct zc_list *l = alike(request);

    if (!__atomic_load_n(&pending_now, __ATOMIC_ACQUIRE))
        return;
    zc_lock_get(&lock);
    if (l->next)
        zc_list_each (l, n) {
            struct pending *p = zc_list_entry(n, struct pending, alike);

            if (p->request == request)
                found = p;
        }
    zc_lock_put(&lock);
    if (found) /* it stays: the program has its request, and asks for it */
        complete(found);
}

/* Calls begin(), unless another thread is doing that, or this one is, further up the stack:
 * MPI_Test makes progress, which may poll this request. */
static int begin_alone(struct pending *p, bool *yes)
{
    int code;

    *yes = false;
    if (__atomic_exchange_n(&p->looking, true, __ATOMIC_ACQUIRE))
        return MPI_SUCCESS;
    code = begin(p, yes);
    __atomic_store_n(&p->looking, false, __ATOMIC_RELEASE);
    return code;
}

static int wait_to_begin(struct pending *p)
{
    bool begun = false;
    int code = MPI_SUCCESS;

    while (code == MPI_SUCCESS && !begun) {
        code = begin_alone(p, &begun);
        if (!begun)
            sched_yield();
    }
    return code;
}

static int wait_for(int count, void **states, double timeout, MPI_Status *status)
{
    int rc = MPI_SUCCESS;

    (void)timeout;
    (void)status;
    for (int i = 0; i < count; i++) {
        struct pending *p = states[i];
        int one = wait_to_begin(p);

        if (one == MPI_SUCCESS) {
            zcache_async_wait(p->job);
            one = complete(p);
        }
        rc = rc == MPI_SUCCESS ? one : rc;
    }
    return rc;
}

static int raise_once(struct pending *p, int code)
{
    MPI_Errhandler errh;
    MPI_File fh;

    if (p->raised)
        return p->code;
    p->raised = true;
    zc_lock_get(&lock);
    fh = p->fh;
    errh = p->errh;
    zc_lock_put(&lock);
    if (fh == MPI_FILE_NULL)
        p->code = zcache_raise_closed(errh, code, "MPI_Wait");
    else
        p->code = zcache_raise(fh, code, "MPI_Wait");
    return p->code;
}

/* Also for MPI_Request_get_status, so maybe more than once. */
static int query(void *state, MPI_Status *status)
{
    struct pending *p = state;
    int code;
    int64_t n = work_result(p->job, &code);

    MPI_Status_set_cancelled(status, 0);
    MPI_Status_set_elements_x(status, MPI_BYTE, n < 0 ? 0 : n);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    if (n < 0) {
        if (!p->raised)
            zc_error("%s", zc_error_text((int)n));
        code = raise_once(p, code);
    }
    return code;
}

static int release(void *state)
{
    struct pending *p = state;

    zc_lock_get(&lock);
    zc_list_del(&p->link);
    forget(p);
    zc_lock_put(&lock);
    zcache_errh_release(p->errh);
    zcache_async_release(p->job);
    free(p);
    return MPI_SUCCESS;
}

/* Too late: bytes are on the way. */
static int cancel(void *state, int is_complete)
{
    (void)state;
    (void)is_complete;
    return MPI_SUCCESS;
}

void zcache_requests_leave(ADIO_File fd)
{
    struct zc_list *n;

    zcache_read_barrier_end(fd);
    do { /* each with a reference of its own */
        MPI_Errhandler errh = zcache_errh_get(fd);

        zc_lock_get(&lock);
        n = zc_list_pop(&zcache_file_of(fd)->requests);
        if (n) {
            struct pending *p = zc_list_entry(n, struct pending, link);

            p->errh = errh;
            p->fh = MPI_FILE_NULL;
        }
        zc_lock_put(&lock);
        if (n) /* all ranks are closing the file, so all have come to its reads */
            wait_to_begin(zc_list_entry(n, struct pending, link));
        else
            zcache_errh_release(errh);
    } while (n);
}

static const struct zcache_greq_functions functions = {query, release, cancel, poll, wait_for};

/* ---- starting ---- */

/* NULL: MPI polls no requests, or there is no memory. */
static struct pending *make_request(ADIO_File fd, struct zcache_async_op *j, ADIO_Request *request)
{
    struct pending *p = calloc(1, sizeof *p);

    if (!p)
        return NULL;
    p->job = j;
    p->others = MPI_REQUEST_NULL;
    p->fh = fd;
    p->errh = MPI_ERRORS_RETURN;
    p->looking = true; /* until started() */
    if (zcache_greq_start(&functions, p, &p->request) != MPI_SUCCESS) {
        free(p);
        return NULL;
    }
    zc_lock_get(&lock);
    zc_list_add_tail(&zcache_file_of(fd)->requests, &p->link);
    remember(p);
    zc_lock_put(&lock);
    *request = p->request;
    return p;
}

/* Called when all of P is filled in: a poll may complete it from now on. */
static void started(struct pending *p)
{
    __atomic_store_n(&p->looking, false, __ATOMIC_RELEASE);
}

/* A request that is done. */
static void made(ADIO_File fd, const struct zcache_access *a, int64_t n, ADIO_Request *request,
                 int *error_code)
{
    zcache_slot_error(a->dir, a->f->path, n < 0 ? (int)n : 0, error_code);
    MPIO_Completed_request_create(&fd, n < 0 ? 0 : n, error_code, request);
}

/* `after`: when all ranks have come to it. */
static void start(const struct zcache_slot_args *s, bool after, ADIO_Request *request,
                  int *error_code)
{
    struct zcache_access a;
    struct zcache_async_op *j;
    struct pending *p;
    bool begun;
    int rc;

    zc_error_clear();
    *error_code = MPI_SUCCESS;
    rc = zcache_slot_begin(s, &a);
    j = rc && !after ? NULL : work_new(&a, rc); /* others wait for this rank, also when it fails */
    p = j ? make_request(s->fd, j, request) : NULL;
    if (p && after)
        zcache_read_barrier_begin(s->fd, &p->others);
    else if (after) /* at once, but this rank has come, too */
        zcache_read_barrier_join(s->fd, false);
    if (p && p->others != MPI_REQUEST_NULL) {
        *error_code = begin(p, &begun);
        started(p);
    } else if (j) {
        zcache_async_start(j);
        if (p) {
            started(p);
            return;
        }
        zcache_async_wait(j);
        made(s->fd, &a, zcache_async_result(j), request, error_code);
        zcache_async_release(j);
    } else {
        made(s->fd, &a, rc ? rc : zcache_slot_run(&a), request, error_code);
        if (!rc)
            zcache_slot_done(&a);
    }
}

#define NONBLOCKING(name, constant, direction, is_strided, after)                                  \
    void ADIOI_ZCACHE_##name(ADIO_File fd, constant void *buf, zcache_count count,                 \
                             MPI_Datatype type, int file_ptr_type, ADIO_Offset offset,             \
                             ADIO_Request *request, int *error_code)                               \
    {                                                                                              \
        struct zcache_slot_args s = {fd,     direction, (void *)(uintptr_t)buf,                    \
                                     count,  type,      file_ptr_type,                             \
                                     offset, is_strided};                                          \
                                                                                                   \
        start(&s, after, request, error_code);                                                     \
    }

NONBLOCKING(IreadContig, , ZCACHE_READ, 0, false)
NONBLOCKING(IwriteContig, const, ZCACHE_WRITE, 0, false)
NONBLOCKING(IreadStrided, , ZCACHE_READ, 1, false)
NONBLOCKING(IreadStridedColl, , ZCACHE_READ, 1, zcache_read_barrier_wanted(fd))
NONBLOCKING(IwriteStrided, const, ZCACHE_WRITE, 1, false)

/* ---- split collectives ---- */

void zcache_split_begin(const struct zcache_slot_args *s, int *error_code)
{
    struct zcache_file *f = zcache_file_of(s->fd);
    struct zcache_access a;
    int rc;

    *error_code = MPI_SUCCESS;
    zc_error_clear();
    rc = zcache_slot_begin(s, &a);
    if (rc) {
        zcache_slot_error(a.dir, f->path, rc, error_code);
        return;
    }
    f->split = work_new(&a, 0);
    if (f->split) {
        zcache_async_start(f->split);
    } else {
        int64_t n = zcache_slot_run(&a);

        zcache_slot_error(a.dir, f->path, n < 0 ? (int)n : 0, error_code);
        MPI_Status_set_elements_x(&s->fd->split_status, MPI_BYTE, n < 0 ? 0 : n);
        zcache_slot_done(&a);
    }
}

int zcache_split_end(ADIO_File fd)
{
    struct zcache_async_op *j = zcache_file_of(fd)->split;
    int64_t n;
    int code;

    if (!j)
        return MPI_SUCCESS;
    zc_error_clear();
    zcache_async_wait(j);
    n = work_result(j, &code);
    MPI_Status_set_elements_x(&fd->split_status, MPI_BYTE, n < 0 ? 0 : n);
    zcache_async_release(j);
    zcache_file_of(fd)->split = NULL;
    return code;
}
