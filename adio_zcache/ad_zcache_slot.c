/* ad_zcache_slot.c - what a reading or writing slot asks for, as an access. */
#include "config.h"

#include <errno.h>

#include "ad_zcache_slot.h"
#include "zc_log.h"
#include "zcache_atomic.h"
#include "zcache_error.h"
#include "zcache_file.h"
#include "zcache_fileview.h"
#include "zcache_host_pointer.h"
#include "zcache_timing.h"

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
        rc = zc_errorf(EOVERFLOW, "the access ends beyond 2^63");
    else if (a->len)
        rc = zcache_host_pointer_check((const char *)s->buf + zcache_layout_first(mem));
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

int64_t zcache_slot_run(const struct zcache_access *a)
{
    struct zcache_stopwatch watch;
    int64_t n;

    zcache_watch_start(a->f->timing, &watch);
    n = a->atomic ? zcache_transfer_atomic(a) : zcache_transfer(a);
    zcache_watch_access(a->f->timing, &watch, a->dir, n, a->background);
    return n;
}

void zcache_slot_error(enum zcache_dir dir, const char *path, int rc, int *error_code)
{
    zcache_set_error(error_code, rc, dir == ZCACHE_WRITE ? "cannot write" : "cannot read", path);
}
