/* tm_run.c - executes the accesses of a step that are this rank's. */
#include "tm.h"

/* The sixteen calls of one way of access, by what is asked for. */
#define CALL(a, fh, off, buf, prefix, last)                                                        \
    ((a)->individual                                                                               \
         ? ((a)->collective                                                                        \
                ? ((a)->write                                                                      \
                       ? MPI_File_##prefix##write_all(fh, buf, (a)->count, (a)->mem->mpi, last)    \
                       : MPI_File_##prefix##read_all(fh, buf, (a)->count, (a)->mem->mpi, last))    \
                : ((a)->write                                                                      \
                       ? MPI_File_##prefix##write(fh, buf, (a)->count, (a)->mem->mpi, last)        \
                       : MPI_File_##prefix##read(fh, buf, (a)->count, (a)->mem->mpi, last)))       \
         : ((a)->collective ? ((a)->write ? MPI_File_##prefix##write_at_all(                       \
                                                fh, off, buf, (a)->count, (a)->mem->mpi, last)     \
                                          : MPI_File_##prefix##read_at_all(                        \
                                                fh, off, buf, (a)->count, (a)->mem->mpi, last))    \
                            : ((a)->write ? MPI_File_##prefix##write_at(fh, off, buf, (a)->count,  \
                                                                        (a)->mem->mpi, last)       \
                                          : MPI_File_##prefix##read_at(fh, off, buf, (a)->count,   \
                                                                       (a)->mem->mpi, last))))

static int split_begin(struct tm *tm, struct tm_access *a, MPI_Offset off)
{
    if (a->individual)
        return a->write ? MPI_File_write_all_begin(tm->h->fh, tm_buffer(a), a->count, a->mem->mpi)
                        : MPI_File_read_all_begin(tm->h->fh, tm_buffer(a), a->count, a->mem->mpi);
    return a->write
               ? MPI_File_write_at_all_begin(tm->h->fh, off, tm_buffer(a), a->count, a->mem->mpi)
               : MPI_File_read_at_all_begin(tm->h->fh, off, tm_buffer(a), a->count, a->mem->mpi);
}

static int split_end(struct tm *tm, struct tm_access *a, MPI_Status *status)
{
    if (a->individual)
        return a->write ? MPI_File_write_all_end(tm->h->fh, tm_buffer(a), status)
                        : MPI_File_read_all_end(tm->h->fh, tm_buffer(a), status);
    return a->write ? MPI_File_write_at_all_end(tm->h->fh, tm_buffer(a), status)
                    : MPI_File_read_at_all_end(tm->h->fh, tm_buffer(a), status);
}

static void ok(struct tm *tm, struct tm_access *a, int rc)
{
    char text[1200];

    if (rc == MPI_SUCCESS)
        return;
    if (tm->broken && tm_break_class(rc)) {
        a->failed = tm->failed = true;
        return;
    }
    tm_plan_describe(tm, a, text, sizeof text);
    tm_ok(tm, rc, text);
}

/* ---- what it says it did ---- */

static void wrong_count(struct tm *tm, const struct tm_access *a, const char *what, MPI_Count n,
                        int64_t wanted)
{
    char text[1200];

    tm_plan_describe(tm, a, text, sizeof text);
    tm_fail(tm, "%s\n  the status says %lld %s, and should say %lld", text, (long long)n, what,
            (long long)wanted);
}

static void check_status(struct tm *tm, const struct tm_access *a, MPI_Status *status)
{
    MPI_Count n;
    int whole;

    MPI_Get_elements_x(status, MPI_BYTE, &n);
    if (n != a->got)
        wrong_count(tm, a, "bytes", n, a->got);
    if (a->got < a->len || !a->mem->size)
        return;
    MPI_Get_elements_x(status, a->mem->mpi, &n);
    if (n != a->count * a->mem->elements)
        wrong_count(tm, a, "elements", n, a->count * a->mem->elements);
    MPI_Get_count(status, a->mem->mpi, &whole);
    if (whole != a->count)
        wrong_count(tm, a, "items", whole, a->count);
}

/* A pointer moves by what was asked for; ROMIO moves it by what it got where the file is
 * contiguous, so that after a short read both are taken.
 * Where a filetype begins with a gap, ROMIO's own drivers lose count. */
static void check_pointer(struct tm *tm, struct tm_access *a)
{
    int64_t esize = tm->h->views[a->rank].etype->size;
    int64_t asked = a->at + a->len / esize, got = a->at + a->got / esize;
    MPI_Offset now;
    char text[1200];

    if (!a->individual)
        return;
    ok(tm, a, MPI_File_get_position(tm->h->fh, &now));
    if (now != asked && now != got && !tm->opt.reference && !a->failed) {
        tm_plan_describe(tm, a, text, sizeof text);
        tm_fail(tm, "%s\n  afterwards the pointer is at etype %lld, and should be at %lld", text,
                (long long)now, (long long)asked);
    }
    if (now != asked || a->got < a->len)
        ok(tm, a, MPI_File_seek(tm->h->fh, asked, MPI_SEEK_SET));
}

/* ---- doing it ---- */

/* After a failure nothing is known of the rank's later accesses of the step: they may have
 * read what the failed one should have written. */
static void check_access(struct tm *tm, struct tm_access *a, MPI_Status *status)
{
    if (tm->failed) {
        tm_buffer_free(a);
        return;
    }
    check_status(tm, a, status);
    tm_buffer_check(tm, a);
}

static void start(struct tm *tm, struct tm_access *a)
{
    MPI_Status status;
    int rc;

    switch (a->how) {
    case TM_BLOCKING:
        rc = CALL(a, tm->h->fh, a->at, tm_buffer(a), , &status);
        break;
    case TM_NONBLOCKING:
        rc = CALL(a, tm->h->fh, a->at, tm_buffer(a), i, &a->request);
        break;
    default:
        rc = split_begin(tm, a, a->at);
        if (rc == MPI_SUCCESS)
            rc = split_end(tm, a, &status);
    }
    ok(tm, a, rc);
    check_pointer(tm, a);
    if (a->how == TM_NONBLOCKING && rc == MPI_SUCCESS)
        return;
    check_access(tm, a, &status);
}

static void finished(struct tm *tm, struct tm_access *a, int rc, MPI_Status *status)
{
    ok(tm, a, rc);
    if (a->request != MPI_REQUEST_NULL)
        tm_fail(tm, "access %u: a request that is done is not MPI_REQUEST_NULL", a->id);
    check_access(tm, a, status);
}

static void wait_for_all(struct tm *tm, struct tm_access **a, int n)
{
    MPI_Request requests[2 * TM_PER_RANK];
    MPI_Status statuses[2 * TM_PER_RANK];
    int rc, done = 0;

    for (int i = 0; i < n; i++)
        requests[i] = a[i]->request;
    if (n & 1)
        rc = MPI_Waitall(n, requests, statuses);
    else
        do
            rc = MPI_Testall(n, requests, &done, statuses);
        while (rc == MPI_SUCCESS && !done);
    for (int i = 0; i < n; i++) {
        a[i]->request = requests[i];
        finished(tm, a[i], rc == MPI_ERR_IN_STATUS ? statuses[i].MPI_ERROR : rc, &statuses[i]);
    }
}

static void wait_for_each(struct tm *tm, struct tm_access **a, int n)
{
    MPI_Status status;

    while (n--) { /* the last one first */
        int done = 0, rc = MPI_SUCCESS;

        if (n & 1 || tm->opt.reference)
            rc = MPI_Wait(&a[n]->request, &status);
        else
            while (rc == MPI_SUCCESS && !done)
                rc = MPI_Test(&a[n]->request, &done, &status);
        finished(tm, a[n], rc, &status);
    }
}

void tm_run(struct tm *tm, struct tm_access *a, int n)
{
    struct tm_access *waiting[2 * TM_PER_RANK];
    int nwaiting = 0;

    for (int i = 0; i < n; i++) {
        if (a[i].rank != tm->h->me)
            continue;
        start(tm, &a[i]);
        if (a[i].how == TM_NONBLOCKING && !a[i].failed)
            waiting[nwaiting++] = &a[i];
    }
    /* MPICH asserts in MPI_Testall and MPI_Test with ROMIO's requests that were done at once. */
    if (tm->step & 1 && !tm->opt.reference)
        wait_for_all(tm, waiting, nwaiting);
    else
        wait_for_each(tm, waiting, nwaiting);
}
