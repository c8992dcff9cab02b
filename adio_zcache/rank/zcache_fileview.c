/* zcache_fileview.c - the view of a file handle. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ad_zcache_seams.h"
#include "zc_log.h"
#include "zcache_datarep.h"
#include "zcache_file.h"
#include "zcache_fileview.h"
#include "zcache_layout.h"
#include "zcache_type_contents.h"

/* ---- preparing it ---- */

/* What MPI asks of etype and filetype.  A tile that reaches into the next one is not looked
 * for: such views are legal where no bytes are written twice.  EIO, for programs that expect
 * MPI_ERR_IO as of ROMIO. */
static int check(ADIO_File fd, const struct zcache_layout *l, const char *which)
{
    if (l->size && l->low < 0)
        return zc_errorf(EIO, "%s has negative displacements", which);
    if (l->decreases)
        return zc_errorf(EIO, "displacements of the %s decrease", which);
    if (l->overlaps && fd->orig_access_mode & (ADIO_WRONLY | ADIO_RDWR))
        return zc_errorf(EIO, "parts of the %s overlap, and the file is open for writing", which);
    if (!l->view)
        return zc_errorf(EIO, "%s has an extent of %lld bytes", which, (long long)l->extent);
    return 0;
}

static int look_at(ADIO_File fd, MPI_Datatype type, const char *which, struct zcache_layout **out)
{
    int rc = zcache_layout_get(type, out);

    if (rc)
        return rc;
    rc = check(fd, *out, which);
    if (rc) {
        zcache_layout_put(*out);
        *out = NULL;
    }
    return rc;
}

static int is_basic(MPI_Datatype type)
{
    int ni, na, nt, combiner;

    return zcache_type_get_envelope(type, &ni, &na, &nt, &combiner) != MPI_SUCCESS ||
           combiner == MPI_COMBINER_NAMED;
}

/* A handle of our own for the user's type, which may be freed at any time. */
static int own(MPI_Datatype type, MPI_Datatype *copy)
{
    *copy = type;
    if (is_basic(type))
        return 0;
    if (MPI_Type_contiguous(1, type, copy) != MPI_SUCCESS)
        return zc_errorf(ENOMEM, "no copy of a datatype");
    if (MPI_Type_commit(copy) != MPI_SUCCESS) {
        MPI_Type_free(copy);
        return zc_errorf(ENOMEM, "no copy of a datatype");
    }
    return 0;
}

static void disown(MPI_Datatype *type)
{
    if (!is_basic(*type))
        MPI_Type_free(type);
}

/* Copies of both, or none. */
static int own_both(MPI_Datatype etype, MPI_Datatype filetype, MPI_Datatype copy[2])
{
    int rc = own(etype, &copy[0]);

    if (rc)
        return rc;
    rc = own(filetype, &copy[1]);
    if (rc)
        disown(&copy[0]);
    return rc;
}

static int prepare(ADIO_File fd, MPI_Datatype etype, MPI_Datatype filetype,
                   struct zcache_new_view *v)
{
    struct zcache_layout *e;
    int rc = look_at(fd, etype, "etype", &e);

    if (rc)
        return rc;
    v->etype_size = e->size ? e->size : 1; /* ROMIO divides by it */
    zcache_layout_put(e);
    rc = look_at(fd, filetype, "filetype", &v->layout);
    if (rc)
        return rc;
    rc = own_both(etype, filetype, v->types);
    if (rc) {
        zcache_layout_put(v->layout);
        v->layout = NULL;
    }
    return rc;
}

/* ---- data representations ---- */

bool zcache_view_knows_datarep(const char *name)
{
    return zcache_datarep_is_predefined(name) || zcache_datarep_find(name);
}

/* With the types that these are in the file. */
static int prepare_converted(ADIO_File fd, MPI_Datatype etype, MPI_Datatype filetype,
                             struct zcache_new_view *v)
{
    MPI_Datatype in_file[2];
    int rc = zcache_datarep_type(v->datarep, etype, &in_file[0]);

    if (rc)
        return rc;
    rc = zcache_datarep_type(v->datarep, filetype, &in_file[1]);
    if (rc == 0) {
        rc = own_both(etype, filetype, v->asked);
        if (rc == 0) {
            rc = prepare(fd, in_file[0], in_file[1], v);
            if (rc) {
                disown(&v->asked[0]);
                disown(&v->asked[1]);
            }
        }
        MPI_Type_free(&in_file[1]);
    }
    MPI_Type_free(&in_file[0]);
    return rc;
}

int zcache_view_prepare(ADIO_File fd, MPI_Datatype etype, MPI_Datatype filetype,
                        const char *datarep, struct zcache_new_view *v)
{
    const struct zcache_datarep *rep = zcache_datarep_find(datarep);

    if (strcmp(datarep, "internal") == 0 || strcmp(datarep, "INTERNAL") == 0)
        v->datarep_name = "internal";
    if (rep)
        v->datarep_name = rep->name;
    if (!rep || !zcache_datarep_converts(rep))
        return prepare(fd, etype, filetype, v);
    v->datarep = rep;
    return prepare_converted(fd, etype, filetype, v);
}

void zcache_view_forget_asked(struct zcache_file *f)
{
    if (f->datarep) {
        disown(&f->asked_types[0]);
        disown(&f->asked_types[1]);
    }
    f->datarep = NULL;
}

int zcache_view_asked(ADIO_File fd, MPI_Datatype *etype, MPI_Datatype *filetype, char *datarep)
{
    const struct zcache_file *f = zcache_file_of(fd);
    MPI_Datatype types[2];
    int rc;

    if (f->datarep_name)
        snprintf(datarep, MPI_MAX_DATAREP_STRING, "%s", f->datarep_name);
    if (!f->datarep)
        return 0;
    disown(etype);
    disown(filetype);
    rc = own_both(f->asked_types[0], f->asked_types[1], types);
    *etype = rc ? MPI_DATATYPE_NULL : types[0];
    *filetype = rc ? MPI_DATATYPE_NULL : types[1];
    return rc;
}

/* ---- setting it, once all ranks have theirs ---- */

void zcache_view_drop(struct zcache_new_view *v)
{
    if (!v->layout)
        return;
    disown(&v->types[0]);
    disown(&v->types[1]);
    if (v->datarep) {
        disown(&v->asked[0]);
        disown(&v->asked[1]);
    }
    zcache_layout_put(v->layout);
}

void zcache_view_take(ADIO_File fd, ADIO_Offset disp, struct zcache_new_view *v)
{
    struct zcache_file *f = zcache_file_of(fd);

    disown(&fd->etype);
    disown(&fd->filetype);
    fd->etype = v->types[0];
    fd->filetype = v->types[1];
    fd->etype_size = v->etype_size;
    fd->disp = disp;
    if (f->layout != v->layout)
        zcache_owners_view_replaced(f);
    zcache_layout_put(f->layout);
    f->layout = v->layout;
    zcache_view_forget_asked(f);
    f->datarep_name = v->datarep_name;
    f->datarep = v->datarep;
    memcpy(f->asked_types, v->asked, sizeof f->asked_types);
    zcache_pointer_set(fd, 0);
}

/* ---- looking through it ---- */

struct zc_view *zcache_view_of(ADIO_File fd)
{
    const struct zcache_layout *l = zcache_file_of(fd)->layout;

    return l && (!l->contiguous || !l->size) ? l->view : NULL;
}

int zcache_view_to_file(ADIO_File fd, int64_t view_off, int64_t *file_off)
{
    const struct zc_view *v = zcache_view_of(fd);

    if (v)
        return zc_view_to_file(v, fd->disp, view_off, file_off);
    return __builtin_add_overflow(fd->disp, view_off, file_off) ? -EOVERFLOW : 0;
}

/* Where tiles reach into each other: the first piece that ends behind `off`. */
static int64_t search(const struct zc_view *v, int64_t disp, int64_t off)
{
    int64_t reach = off - disp - zc_view_upper(v), tile, passed, at, len;
    struct zc_view_iter it;

    tile = reach < 0 ? 0 : reach / zc_view_extent(v);
    passed = tile * zc_view_size(v);
    if (zc_view_start(&it, v, disp, passed))
        return passed;
    while (zc_view_next(&it, INT64_MAX, &at, &len) == 0) {
        if (off < at + len)
            return passed + (off > at ? off - at : 0);
        passed += len;
    }
    return passed;
}

int64_t zcache_view_before(ADIO_File fd, int64_t off)
{
    const struct zc_view *v = zcache_view_of(fd);
    int64_t before;

    if (off <= fd->disp || (v && !zc_view_size(v)))
        return 0;
    if (!v)
        return off - fd->disp;
    if (zc_view_monotone(v) && zc_view_before(v, fd->disp, off, &before) == 0)
        return before;
    return search(v, fd->disp, off);
}

int zcache_view_etypes(ADIO_File fd, int64_t n, int64_t *bytes)
{
    int64_t at;

    if (n < 0)
        return zc_errorf(EINVAL, "negative offset %lld", (long long)n);
    if (__builtin_mul_overflow(n, fd->etype_size, bytes) ||
        zcache_view_to_file(fd, *bytes, &at) == -EOVERFLOW)
        return zc_errorf(EOVERFLOW, "offset %lld lies beyond 2^63 bytes", (long long)n);
    return 0;
}

/* ---- the individual pointer ---- */

int64_t zcache_pointer(ADIO_File fd)
{
    return zcache_view_of(fd) ? zcache_file_of(fd)->pointer : fd->fp_ind - fd->disp;
}

void zcache_pointer_set(ADIO_File fd, int64_t view_off)
{
    int64_t at;

    zcache_file_of(fd)->pointer = view_off;
    fd->fp_ind = zcache_view_to_file(fd, view_off, &at) == 0 ? at : fd->disp;
}
