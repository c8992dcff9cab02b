/* ad_zcache_view.c - sets the view of a file, on all ranks or on none.
 *
 * Every rank checks its arguments and prepares its view; after one exchange all set theirs if no
 * rank has an error.  So a refused view leaves the previous one in force on every rank.
 */
#include "config.h"

#include <string.h>

#include "ad_zcache_hints.h"
#include "ad_zcache_seams.h"
#include "zc_log.h"
#include "zc_pool.h"
#include "zc_wire.h"
#include "zcache_collective_check.h"
#include "zcache_coord.h"
#include "zcache_datarep.h"
#include "zcache_error.h"
#include "zcache_file.h"
#include "zcache_fileview.h"

struct asked {
    MPI_Offset disp;
    MPI_Datatype etype, filetype;
    const char *datarep;
    MPI_Info info;
};

static bool is_external32(const char *datarep)
{
    return datarep && (!strcmp(datarep, "external32") || !strcmp(datarep, "EXTERNAL32"));
}

/* Returns a value that is the same for representations that leave the bytes as they are. */
static int64_t key_of(const char *datarep)
{
    const struct zcache_datarep *rep = zcache_datarep_find(datarep);

    return rep && zcache_datarep_converts(rep)
               ? (int64_t)(zc_pool_key_of(rep->name, strlen(rep->name)) | 2)
               : is_external32(datarep);
}

static void check_types(const struct asked *v, struct zcache_collective_check *r)
{
    MPI_Count etype = 0, filetype = 0;

    if (v->etype == MPI_DATATYPE_NULL || v->filetype == MPI_DATATYPE_NULL) {
        zcache_refuse(r, MPI_ERR_ARG, "the %s is MPI_DATATYPE_NULL",
                      v->etype == MPI_DATATYPE_NULL ? "etype" : "filetype");
    } else if (MPI_Type_size_x(v->etype, &etype) != MPI_SUCCESS ||
               MPI_Type_size_x(v->filetype, &filetype) != MPI_SUCCESS) {
        zcache_refuse(r, MPI_ERR_TYPE, "etype or filetype is no datatype");
    } else if (etype && filetype % etype) {
        zcache_refuse(r, MPI_ERR_ARG,
                      "the filetype has %lld bytes, no multiple of the etype's %lld",
                      (long long)filetype, (long long)etype);
    }
}

static void check(ADIO_File fd, const struct asked *v, struct zcache_collective_check *r)
{
    bool current = v->disp == MPI_DISPLACEMENT_CURRENT;
    int nkeys;

    if (current != !!(fd->access_mode & ADIO_SEQUENTIAL))
        zcache_refuse(r, MPI_ERR_ARG,
                      "MPI_DISPLACEMENT_CURRENT and MPI_MODE_SEQUENTIAL need each other");
    if (!current && v->disp < 0)
        zcache_refuse(r, MPI_ERR_ARG, "negative displacement %lld", (long long)v->disp);
    check_types(v, r);
    if (!zcache_view_knows_datarep(v->datarep))
        zcache_refuse(r, MPI_ERR_UNSUPPORTED_DATAREP, "unknown data representation \"%s\"",
                      v->datarep ? v->datarep : "(null)");
    if (v->info != MPI_INFO_NULL && MPI_Info_get_nkeys(v->info, &nkeys) != MPI_SUCCESS)
        zcache_refuse(r, MPI_ERR_INFO, "the info object is none");
}

/* Returns the position of the shared pointer in bytes; it does not move during this call. */
static int current_place(ADIO_File fd, MPI_Offset *disp)
{
    int64_t at;
    int rc = zcache_shared_pointer(zcache_file_of(fd), ZC_POINTER_ADD, 0, &at);

    if (rc == 0)
        *disp = zcache_byte_offset(fd, at);
    return rc;
}

/* Prepares this rank's view, to be set if all ranks succeed. */
static bool prepare(ADIO_File fd, struct asked *a, struct zcache_new_view *v,
                    struct zcache_collective_check *r)
{
    check(fd, a, r);
    if (r->mpi_class == MPI_SUCCESS)
        zcache_refuse_rc(r, zcache_view_prepare(fd, a->etype, a->filetype, a->datarep, v));
    if (!zcache_collective_check_agree(r, key_of(a->datarep), "data representation", fd->comm))
        return false;
    if (a->disp != MPI_DISPLACEMENT_CURRENT)
        return true;
    zcache_refuse_rc(r, current_place(fd, &a->disp));
    return zcache_collective_check_agree(r, 0, NULL, fd->comm);
}

int zcache_set_view(ADIO_File fd, ADIO_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
                    const char *datarep, MPI_Info info)
{
    struct asked a = {disp, etype, filetype, datarep, info};
    struct zcache_collective_check r = {0};
    struct zcache_new_view v = {0};
    int ignored;

    zc_error_clear();
    if (!prepare(fd, &a, &v, &r)) {
        zcache_view_drop(&v);
        return zcache_collective_check_code(&r, "cannot set the view of", zcache_file_of(fd)->path);
    }
    zcache_view_take(fd, a.disp, &v);
    zcache_file_of(fd)->epoch++;
    fd->is_external32 = is_external32(datarep) && !zcache_view_datarep(fd); /* ROMIO converts */
    ADIO_SetInfo(fd, info, &ignored);
    zcache_hints_no_change(fd);
    return MPI_SUCCESS;
}

int zcache_view_get(ADIO_File fd, MPI_Datatype *etype, MPI_Datatype *filetype, char *datarep)
{
    int code, rc;

    zc_error_clear();
    rc = zcache_view_asked(fd, etype, filetype, datarep);
    zcache_set_error(&code, rc, "cannot return the view of", zcache_file_of(fd)->path);
    return code;
}

const struct zcache_datarep *zcache_view_datarep(ADIO_File fd)
{
    return zcache_file_of(fd)->datarep;
}

bool zcache_view_extents(ADIO_File fd)
{
    return zcache_datarep_find(zcache_file_of(fd)->datarep_name);
}

int zcache_view_type_extent(ADIO_File fd, MPI_Datatype type, MPI_Aint *extent)
{
    const struct zcache_file *f = zcache_file_of(fd);
    MPI_Datatype in_file;
    MPI_Aint lb;
    int code, rc;

    zc_error_clear();
    rc = zcache_datarep_type(zcache_datarep_find(f->datarep_name), type, &in_file);
    if (rc == 0) {
        MPI_Type_get_extent(in_file, &lb, extent);
        MPI_Type_free(&in_file);
    }
    zcache_set_error(&code, rc, "cannot tell an extent in", f->path);
    return code;
}
