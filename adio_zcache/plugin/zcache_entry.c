/*
 * The exported functions that move no data.
 */
#include "config.h"

#include "zcache_entry.h"
#include "zcache_library.h"
#include "ad_zcache_seams.h"

/* MPI-4.1 and later. Exported whatever this plugin was built with: it may run with a newer MPI. */
int MPI_File_toint(MPI_File fh);
MPI_File MPI_File_fromint(int fint);
int PMPI_File_toint(MPI_File fh);
MPI_File PMPI_File_fromint(int fint);

/* ---- opening and closing ---------------------------------------------------- */

int ROMIO_File_open(MPI_Comm comm, const char *name, int amode, MPI_Info info, MPI_File *fh);
int ROMIO_File_close(MPI_File *fh);
int ROMIO_File_delete(const char *name, MPI_Info info);

int PMPI_File_open(MPI_Comm comm, const char *filename, int amode, MPI_Info info, MPI_File *fh)
{
    MPI_File opened = MPI_FILE_NULL;
    int rc;

    zcache_library();
    rc = ROMIO_File_open(comm, filename, zcache_amode_to_try(comm, filename, amode), info, &opened);
    if (rc != MPI_SUCCESS) {
        rc = zcache_amode_verdict(comm, filename, amode, rc);
        *fh = MPI_FILE_NULL;
        return zcache_raise(MPI_FILE_NULL, rc, "MPI_File_open");
    }
    zcache_errh_inherit(zcache_handle_of(opened));
    *fh = opened;
    return MPI_SUCCESS;
}

/*
 * The handle is gone afterwards, whatever came of it; the error, mostly one of writing back, is
 * raised by the handler that the file had, on MPI_FILE_NULL.
 */
int PMPI_File_close(MPI_File *fh)
{
    MPI_Errhandler errh = zcache_errh_get(*fh);
    int rc;

    if (zcache_is_ours(*fh))
        zcache_close_begins(*fh);
    rc = ROMIO_File_close(fh);
    if (rc != MPI_SUCCESS)
        rc = zcache_raise_closed(errh, rc, "MPI_File_close");
    zcache_errh_release(errh);
    return rc;
}

int PMPI_File_delete(const char *filename, MPI_Info info)
{
    int rc;

    zcache_library();
    rc = ROMIO_File_delete(filename, info);
    return rc == MPI_SUCCESS ? rc : zcache_raise(MPI_FILE_NULL, rc, "MPI_File_delete");
}

int MPI_File_open(MPI_Comm comm, const char *filename, int amode, MPI_Info info, MPI_File *fh)
    __attribute__((alias("PMPI_File_open")));
int MPI_File_close(MPI_File *fh) __attribute__((alias("PMPI_File_close")));
int MPI_File_delete(const char *filename, MPI_Info info) __attribute__((alias("PMPI_File_delete")));

/* ---- handles ------------------------------------------------------------------ */

MPI_Fint PMPI_File_c2f(MPI_File file)
{
    return MPIO_File_c2f(file);
}

MPI_File PMPI_File_f2c(MPI_Fint file)
{
    return MPIO_File_f2c(file);
}

MPI_Fint MPI_File_c2f(MPI_File file) __attribute__((alias("PMPI_File_c2f")));
MPI_File MPI_File_f2c(MPI_Fint file) __attribute__((alias("PMPI_File_f2c")));

int PMPI_File_toint(MPI_File fh)
{
    return MPIO_File_c2f(fh);
}

MPI_File PMPI_File_fromint(int fint)
{
    return MPIO_File_f2c(fint);
}

int MPI_File_toint(MPI_File fh) __attribute__((alias("PMPI_File_toint")));
MPI_File MPI_File_fromint(int fint) __attribute__((alias("PMPI_File_fromint")));

/* ---- properties ----------------------------------------------------------------- */

/* A collective call in which ROMIO leaves alone the ranks that have nothing against it. */
#define TOGETHER(name, params, args)                                                               \
    int ROMIO_File_##name params;                                                                  \
    int PMPI_File_##name params                                                                    \
    {                                                                                              \
        int rc = zcache_is_ours(fh) ? zcache_##name args : ROMIO_File_##name args;                 \
                                                                                                   \
        return zcache_leave(NULL, fh, rc, "MPI_File_" #name);                                      \
    }                                                                                              \
    int MPI_File_##name params __attribute__((alias("PMPI_File_" #name)))

TOGETHER(set_size, (MPI_File fh, MPI_Offset size), (fh, size));
ENTRY(get_size, ALONE_FOREIGN, (MPI_File fh, MPI_Offset *size), (fh, size));
ENTRY(get_group, ALONE_NEVER, (MPI_File fh, MPI_Group *group), (fh, group));
ENTRY(get_amode, ALONE_NEVER, (MPI_File fh, int *amode), (fh, amode));
TOGETHER(set_view,
         (MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
          const char *datarep, MPI_Info info),
         (fh, disp, etype, filetype, datarep, info));
ENTRY(get_view, ALONE_NEVER,
      (MPI_File fh, MPI_Offset *disp, MPI_Datatype *etype, MPI_Datatype *filetype, char *datarep),
      (fh, disp, etype, filetype, datarep));
ENTRY(get_type_extent, ALONE_NEVER, (MPI_File fh, MPI_Datatype datatype, MPI_Aint *extent),
      (fh, datatype, extent));
TOGETHER(set_atomicity, (MPI_File fh, int flag), (fh, flag));
ENTRY(get_atomicity, ALONE_NEVER, (MPI_File fh, int *flag), (fh, flag));

int ROMIO_File_set_info(MPI_File fh, MPI_Info info);
int ROMIO_File_get_info(MPI_File fh, MPI_Info *info_used);

int PMPI_File_set_info(MPI_File fh, MPI_Info info)
{
    int rc = ROMIO_File_set_info(fh, info), changed = MPI_SUCCESS;

    if (zcache_is_ours(fh))
        zcache_info_changed(fh, &changed);
    rc = rc == MPI_SUCCESS ? changed : rc;
    return rc == MPI_SUCCESS ? rc : zcache_raise(fh, rc, "MPI_File_set_info");
}

int PMPI_File_get_info(MPI_File fh, MPI_Info *info_used)
{
    int rc = ROMIO_File_get_info(fh, info_used);

    if (rc == MPI_SUCCESS && zcache_is_ours(fh)) {
        zcache_info_report(fh, *info_used, &rc);
        if (rc != MPI_SUCCESS)
            PMPI_Info_free(info_used);
    }
    return rc == MPI_SUCCESS ? rc : zcache_raise(fh, rc, "MPI_File_get_info");
}

int MPI_File_set_info(MPI_File fh, MPI_Info info) __attribute__((alias("PMPI_File_set_info")));
int MPI_File_get_info(MPI_File fh, MPI_Info *info_used)
    __attribute__((alias("PMPI_File_get_info")));

int ROMIO_File_preallocate(MPI_File fh, MPI_Offset size);

/* The first rank does it, and in ROMIO is the only one to learn of an error. */
static int foreign_preallocate(MPI_File fh, MPI_Offset size)
{
    int rc = ROMIO_File_preallocate(fh, size), cls = MPI_SUCCESS;

    if (zcache_handle_of(fh) && size > 0) {
        if (rc != MPI_SUCCESS)
            PMPI_Error_class(rc, &cls);
        PMPI_Bcast(&cls, 1, MPI_INT, 0, fh->comm);
        if (rc == MPI_SUCCESS && cls != MPI_SUCCESS)
            rc = zcache_mpi_error(cls, "MPI_File_preallocate: failed on the first process");
    }
    return rc;
}

int PMPI_File_preallocate(MPI_File fh, MPI_Offset size)
{
    int rc = zcache_is_ours(fh) ? zcache_preallocate(fh, size) : foreign_preallocate(fh, size);

    return zcache_leave(NULL, fh, rc, "MPI_File_preallocate");
}

int MPI_File_preallocate(MPI_File fh, MPI_Offset size)
    __attribute__((alias("PMPI_File_preallocate")));

/* ---- file pointers ---------------------------------------------------------------- */

int ROMIO_File_seek(MPI_File fh, MPI_Offset offset, int whence);

/* ROMIO forgets what the driver says of a place where no pointer can be. */
int PMPI_File_seek(MPI_File fh, MPI_Offset offset, int whence)
{
    struct zcache_handle *taken = zcache_enter(fh, ALONE_ALWAYS);
    bool ours = taken && fh->file_system == ADIO_ZCACHE;
    int rc = ours ? zcache_seek(fh, offset, whence) : ROMIO_File_seek(fh, offset, whence);

    return zcache_leave(taken, fh, rc, "MPI_File_seek");
}

int MPI_File_seek(MPI_File fh, MPI_Offset offset, int whence)
    __attribute__((alias("PMPI_File_seek")));

ENTRY(get_position, ALONE_ALWAYS, (MPI_File fh, MPI_Offset *offset), (fh, offset));
ENTRY(get_byte_offset, ALONE_NEVER, (MPI_File fh, MPI_Offset offset, MPI_Offset *disp),
      (fh, offset, disp));

/* In ROMIO the first process alone learns of an error, and the others wait for it for ever. */
TOGETHER(seek_shared, (MPI_File fh, MPI_Offset offset, int whence), (fh, offset, whence));
ENTRY(get_position_shared, ALONE_ALWAYS, (MPI_File fh, MPI_Offset *offset), (fh, offset));

/* ---- the rest --------------------------------------------------------------------- */

int ROMIO_File_get_type_extent_c(MPI_File fh, MPI_Datatype datatype, MPI_Count *extent);
int PMPI_File_get_type_extent_c(MPI_File fh, MPI_Datatype datatype, MPI_Count *extent);
int MPI_File_get_type_extent_c(MPI_File fh, MPI_Datatype datatype, MPI_Count *extent);

int PMPI_File_get_type_extent_c(MPI_File fh, MPI_Datatype datatype, MPI_Count *extent)
{
    MPI_Aint aint = 0;
    int rc = PMPI_File_get_type_extent(fh, datatype, &aint);

    *extent = aint;
    return rc;
}

int MPI_File_get_type_extent_c(MPI_File fh, MPI_Datatype datatype, MPI_Count *extent)
    __attribute__((alias("PMPI_File_get_type_extent_c")));

int ROMIO_File_sync(MPI_File fh);

/*
 * ROMIO refuses to sync a file that was opened for reading. Those of zcache are not refused: for a
 * reader, sync is how it stops seeing what others have changed since.
 */
int PMPI_File_sync(MPI_File fh)
{
    int rc;

    if (zcache_is_ours(fh)) {
        rc = MPI_SUCCESS;
        ADIO_Flush(fh, &rc);
    } else {
        rc = ROMIO_File_sync(fh);
    }
    return rc == MPI_SUCCESS ? rc : zcache_raise(fh, rc, "MPI_File_sync");
}

int MPI_File_sync(MPI_File fh) __attribute__((alias("PMPI_File_sync")));

/* The list of data representations is ROMIO's; two threads must not add at once. */
static struct zcache_turn datareps = ZCACHE_TURN_INITIALIZER(ZCACHE_TURN_DATAREPS);

#define DATAREP(suffix, conversion)                                                                \
    int ROMIO_Register_datarep##suffix(const char *name, conversion *read_fn,                      \
                                       conversion *write_fn, MPI_Datarep_extent_function *extent,  \
                                       void *state);                                               \
    int PMPI_Register_datarep##suffix(const char *name, conversion *read_fn, conversion *write_fn, \
                                      MPI_Datarep_extent_function *extent, void *state)            \
    {                                                                                              \
        int rc;                                                                                    \
                                                                                                   \
        zcache_library();                                                                          \
        zcache_turn_take(&datareps);                                                               \
        rc = ROMIO_Register_datarep##suffix(name, read_fn, write_fn, extent, state);               \
        zcache_turn_give(&datareps);                                                               \
        if (rc != MPI_SUCCESS)                                                                     \
            rc = zcache_raise(MPI_FILE_NULL, rc, "MPI_Register_datarep");                          \
        return rc;                                                                                 \
    }                                                                                              \
    int MPI_Register_datarep##suffix(const char *name, conversion *read_fn, conversion *write_fn,  \
                                     MPI_Datarep_extent_function *extent, void *state)             \
        __attribute__((alias("PMPI_Register_datarep" #suffix)))

DATAREP(, MPI_Datarep_conversion_function);
DATAREP(_c, MPI_Datarep_conversion_function_c);
