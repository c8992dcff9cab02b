/* zc_store.c - wrappers for all calls to a store: check that no lock is held, and write the
 * trace. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "zc_lock.h"
#include "zc_log.h"
#include "zc_store.h"

static uint64_t bytes_of(const struct iovec *iov, int n)
{
    uint64_t sum = 0;

    for (int i = 0; i < n; i++)
        sum += iov[i].iov_len;
    return sum;
}

int zc_store_open_file(struct zc_store *s, const char *path, unsigned flags, mode_t mode,
                       struct zc_sfile **out, struct zc_attr *attr)
{
    zc_assert_none_held();
    zc_trace("%s: open %s, flags %#x", s->ops->name, path, flags);
    return s->ops->open(s, path, flags, mode, out, attr);
}

int zc_store_close_file(struct zc_sfile *f, enum zc_level level)
{
    zc_assert_none_held();
    zc_trace("%s: close %p, level %d", f->store->ops->name, (void *)f, (int)level);
    return f->store->ops->close(f, level);
}

ssize_t zc_store_preadv(struct zc_sfile *f, const struct iovec *iov, int n, uint64_t off)
{
    zc_assert_none_held();
    zc_trace("%s: read %p, %" PRIu64 " bytes at %" PRIu64, f->store->ops->name, (void *)f,
             bytes_of(iov, n), off);
    return f->store->ops->preadv(f, iov, n, off);
}

ssize_t zc_store_read_path(struct zc_store *s, const char *path, void *buf, size_t len,
                           uint64_t off)
{
    const struct iovec iov = {buf, len};
    struct zc_attr attr = {0};
    struct zc_sfile *f;
    ssize_t n = zc_store_open_file(s, path, ZC_OPEN_READ, 0, &f, &attr);

    if (n < 0)
        return n;
    n = zc_store_preadv(f, &iov, 1, off);
    zc_store_close_file(f, ZC_LEVEL_VISIBLE);
    return n;
}

ssize_t zc_store_pwritev(struct zc_sfile *f, const struct iovec *iov, int n, uint64_t off)
{
    uint64_t bytes = bytes_of(iov, n);
    ssize_t rc;

    zc_assert_none_held();
    zc_trace("%s: write %p, %" PRIu64 " bytes at %" PRIu64, f->store->ops->name, (void *)f, bytes,
             off);
    rc = f->store->ops->pwritev(f, iov, n, off);
    if (rc >= 0 && (uint64_t)rc != bytes)
        return zc_errorf(EIO, "the store took %zd of %" PRIu64 " bytes at %" PRIu64, rc, bytes,
                         off);
    return rc;
}

int zc_store_descriptor(struct zc_sfile *f)
{
    return f->store->ops->descriptor ? f->store->ops->descriptor(f) : -1;
}

bool zc_store_writes_ranges(const struct zc_store *s)
{
    return s->ops->write_ranges != NULL;
}

ssize_t zc_store_write_ranges(struct zc_sfile *f, const char *data, const struct zc_range *r,
                              uint32_t n, uint64_t off, struct zc_merge *m)
{
    struct zc_merge none;
    ssize_t rc;

    zc_assert_none_held();
    if (!m)
        m = &none;
    *m = (struct zc_merge){0};
    if (!f->store->ops->write_ranges)
        return -EOPNOTSUPP;
    zc_trace("%s: write %p, %u ranges at %" PRIu64, f->store->ops->name, (void *)f, n, off);
    rc = f->store->ops->write_ranges(f, data, r, n, off, m);
    if (m == &none)
        free(none.data);
    return rc;
}

int zc_store_getattr(struct zc_sfile *f, struct zc_attr *attr)
{
    zc_assert_none_held();
    return f->store->ops->getattr(f, attr);
}

int zc_store_truncate(struct zc_sfile *f, uint64_t size)
{
    zc_assert_none_held();
    zc_trace("%s: truncate %p to %" PRIu64, f->store->ops->name, (void *)f, size);
    return f->store->ops->truncate(f, size);
}

int zc_store_allocate(struct zc_sfile *f, uint64_t off, uint64_t len)
{
    zc_assert_none_held();
    zc_trace("%s: allocate %p, %" PRIu64 " bytes at %" PRIu64, f->store->ops->name, (void *)f, len,
             off);
    return f->store->ops->allocate(f, off, len);
}

int zc_store_sync(struct zc_sfile *f, enum zc_level level)
{
    zc_assert_none_held();
    zc_trace("%s: sync %p, level %d", f->store->ops->name, (void *)f, (int)level);
    return f->store->ops->sync(f, level);
}

bool zc_store_has_backlog(const struct zc_store *s)
{
    return s->ops->backlog != NULL;
}

int zc_store_backlog(struct zc_sfile *f, uint64_t *bytes)
{
    zc_assert_none_held();
    *bytes = 0;
    return f->store->ops->backlog ? f->store->ops->backlog(f, bytes) : 0;
}

int zc_store_rendezvous(struct zc_sfile *f, const char *job, const void *record, size_t len,
                        uint64_t replaces, struct zc_publication **mine,
                        struct zc_rendezvous_record *theirs)
{
    size_t n = strnlen(job, ZC_MAX_JOB + 1);
    int rc;

    zc_assert_none_held();
    *mine = NULL;
    *theirs = (struct zc_rendezvous_record){0};
    if (!f->store->ops->rendezvous)
        return zc_errorf(EOPNOTSUPP, "the %s store has no place for rendezvous records",
                         f->store->ops->name);
    if (n == 0 || n > ZC_MAX_JOB)
        return zc_errorf(EINVAL, "the name of a job has 1 to %d bytes", ZC_MAX_JOB);
    if ((record || len) && (len == 0 || len > ZC_MAX_RECORD))
        return zc_errorf(EMSGSIZE, "a rendezvous record of %zu bytes; 1 to %d are allowed", len,
                         ZC_MAX_RECORD);
    rc = f->store->ops->rendezvous(f, job, record, len, replaces, mine, theirs);
    zc_trace("%s: meet at %p for job %s: %s", f->store->ops->name, (void *)f, job,
             rc      ? "failed"
             : *mine ? "first"
                     : "found a record");
    return rc;
}

int zc_store_withdraw(struct zc_publication *mine)
{
    zc_assert_none_held();
    if (!mine)
        return 0;
    zc_trace("%s: withdraw record %p", mine->store->ops->name, (void *)mine);
    return mine->store->ops->withdraw(mine);
}

int zc_store_refresh(struct zc_sfile *f)
{
    zc_assert_none_held();
    zc_trace("%s: refresh %p", f->store->ops->name, (void *)f);
    return f->store->ops->refresh ? f->store->ops->refresh(f) : 0;
}

int zc_store_step(struct zc_sfile *f, struct zc_step_request *q)
{
    static const char *const names[] = {"begin", "publish", "wait for", "read"};

    zc_assert_none_held();
    zc_trace("%s: %s step %llu of %p", f->store->ops->name, names[q->call],
             (unsigned long long)q->number, (void *)f);
    if (!f->store->ops->step)
        return zc_errorf(EOPNOTSUPP, "steps of a file go through daemons, and there are none");
    return f->store->ops->step(f, q);
}

uint32_t zc_store_server(const struct zc_sfile *f, uint64_t off)
{
    return f->store->lossy ? f->store->ops->server(f, off) : 0;
}

void zc_store_progress(struct zc_sfile *f, uint32_t server, struct zc_progress *out)
{
    *out = (struct zc_progress){0};
    if (f->store->lossy)
        f->store->ops->progress(f, server, out);
}

void zc_store_watch(struct zc_store *s, struct zc_watch *w)
{
    zc_assert_none_held();
    if (s->lossy)
        s->ops->watch(s, w);
}

void zc_store_unwatch(struct zc_store *s, struct zc_watch *w)
{
    zc_assert_none_held();
    if (s->lossy)
        s->ops->unwatch(s, w);
}

int zc_store_unlink(struct zc_store *s, const char *path)
{
    zc_assert_none_held();
    zc_trace("%s: unlink %s", s->ops->name, path);
    return s->ops->unlink(s, path);
}

int zc_store_stat(struct zc_store *s, const char *path, struct zc_attr *attr)
{
    zc_assert_none_held();
    zc_trace("%s: stat %s", s->ops->name, path);
    return s->ops->stat(s, path, attr);
}

int zc_store_ping(struct zc_store *s)
{
    zc_assert_none_held();
    return s->ops->ping ? s->ops->ping(s) : 0;
}

void zc_store_destroy(struct zc_store *s)
{
    zc_assert_none_held();
    if (s)
        s->ops->destroy(s);
}
