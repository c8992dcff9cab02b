/* ad_zcache_rdwr.c - blocking reads and writes, independent and collective.
 *
 * A collective access is every rank's own access: owners of blocks, not rounds of
 * exchange, keep them from getting in each other's way.
 */
#include "config.h"

#include <errno.h>

#include "ad_zcache.h"
#include "zc_log.h"
#include "zcache_file.h"
#include "zcache_fileview.h"
#include "zcache_memory.h"
#include "zcache_error.h"

/* The view offset an access begins at. */
static int start_of(const struct zcache_slot_args *s, int64_t *view_off)
{
    if (s->file_ptr_type == ADIO_INDIVIDUAL)
        *view_off = zcache_pointer(s->fd);
    else if (s->strided)
        return zcache_view_etypes(s->fd, s->offset, view_off);
    else /* ROMIO calls the contiguous slots only when all bytes are visible */
        *view_off = s->offset - s->fd->disp;
    if (*view_off < 0)
        return zc_errorf(EINVAL, "offset %lld lies before the view", (long long)s->offset);
    return 0;
}

int zcache_slot_begin(const struct zcache_slot_args *s, struct zcache_access *a)
{
    struct zcache_layout *mem;
    struct zcache_file *f = zcache_file_of(s->fd);
    int rc;

    *a = (struct zcache_access){
        .f = f, .dir = s->dir, .buf = s->buf, .disp = s->fd->disp, .atomic = s->fd->atomicity};
    rc = start_of(s, &a->view_offset);
    if (rc == 0)
        rc = zcache_layout_get(s->type, &mem);
    if (rc)
        return rc;
    if (__builtin_mul_overflow(s->count, mem->size, &a->len) || a->len > INT64_MAX - a->view_offset)
        rc = zc_errorf(EFBIG, "the access ends beyond 2^63");
    else if (a->len)
        rc = zcache_memory_check((const char *)s->buf + zcache_layout_first(mem));
    if (rc) {
        zcache_layout_put(mem);
        return rc;
    }
    a->mem = mem;
    if (zcache_view_of(s->fd))
        a->view = zc_view_get(zcache_view_of(s->fd));
    if (s->file_ptr_type == ADIO_INDIVIDUAL)
        zcache_pointer_set(s->fd, a->view_offset + a->len);
    return 0;
}

void zcache_slot_done(struct zcache_access *a)
{
    zcache_layout_put((struct zcache_layout *)a->mem);
    zc_view_put((struct zc_view *)a->view);
}

static void count_bytes(struct zcache_file *f, enum zcache_dir dir, MPI_Offset n)
{
    if (dir == ZCACHE_WRITE) {
        __atomic_add_fetch(&f->writes, 1, __ATOMIC_RELAXED);
        __atomic_add_fetch(&f->written_bytes, (uint64_t)n, __ATOMIC_RELAXED);
    } else {
        __atomic_add_fetch(&f->reads, 1, __ATOMIC_RELAXED);
        __atomic_add_fetch(&f->read_bytes, (uint64_t)n, __ATOMIC_RELAXED);
    }
}

int64_t zcache_slot_run(const struct zcache_access *a)
{
    int64_t n = a->atomic ? zcache_transfer_atomic(a) : zcache_transfer(a);

    if (n >= 0)
        count_bytes(a->f, a->dir, n);
    return n;
}

void zcache_slot_error(enum zcache_dir dir, const char *path, int rc, int *error_code)
{
    zcache_set_error(error_code, rc, dir == ZCACHE_WRITE ? "cannot write" : "cannot read", path);
}

static void blocking(struct zcache_slot_args *s, ADIO_Status *status, int *error_code)
{
    struct zcache_access a;
    int64_t n;
    int rc;

    /* ROMIO converts external32 in the begin function itself. */
    if (status == &s->fd->split_status && !s->fd->is_external32) {
        zcache_split_begin(s, error_code);
        return;
    }
    zc_error_clear();
    rc = zcache_slot_begin(s, &a);
    n = rc ? rc : zcache_slot_run(&a);
    zcache_slot_error(a.dir, a.f->path, n < 0 ? (int)n : 0, error_code);
    if (rc == 0)
        zcache_slot_done(&a);
    if (status != MPI_STATUS_IGNORE)
        MPIR_Status_set_bytes(status, s->type, n < 0 ? 0 : n);
}

#define BLOCKING(name, constant, direction, is_strided)                                            \
    void ADIOI_ZCACHE_##name(ADIO_File fd, constant void *buf, zcache_count count,                 \
                             MPI_Datatype type, int file_ptr_type, ADIO_Offset offset,             \
                             ADIO_Status *status, int *error_code)                                 \
    {                                                                                              \
        struct zcache_slot_args s = {fd,     direction, (void *)(uintptr_t)buf,                    \
                                     count,  type,      file_ptr_type,                             \
                                     offset, is_strided};                                          \
                                                                                                   \
        blocking(&s, status, error_code);                                                          \
    }

BLOCKING(ReadContig, , ZCACHE_READ, 0)
BLOCKING(WriteContig, const, ZCACHE_WRITE, 0)
BLOCKING(ReadStrided, , ZCACHE_READ, 1)
BLOCKING(WriteStrided, const, ZCACHE_WRITE, 1)
