/*
 * Entry functions that move no data: open, close, seek, ... (zcache_functions.h lists those that
 * take a file handle first).
 */
#include "config.h"

#include "zcache_datarep.h"
#include "zcache_entry.h"
#include "zcache_flavour.h"
#include "zcache_library.h"
#include "ad_zcache_seams.h"

/* ---- opening and closing ---------------------------------------------------- */

int ROMIO_File_open(MPI_Comm comm, const char *name, int amode, MPI_Info info, MPI_File *fh);
int ROMIO_File_close(MPI_File *fh);
int ROMIO_File_delete(const char *name, MPI_Info info);

/* Where this rank has no memory for one more handle, the mode that ROMIO gets makes all fail. */
int zcache_entry_open(MPI_Comm comm, const char *filename, int amode, MPI_Info info, MPI_File *fh)
{
    MPI_File opened = MPI_FILE_NULL;
    bool reserved = zcache_handle_reserve() == 0;
    int to_try, rc;

    amode = zcache_flavour_amode_in(amode);
    to_try = zcache_amode_to_try(comm, filename, amode);
    if (!reserved)
        to_try = MPI_MODE_RDONLY | ZCACHE_AMODE_REFUSED;
    rc = ROMIO_File_open(comm, filename, to_try, info, &opened);
    if (rc != MPI_SUCCESS) {
        rc = zcache_amode_verdict(comm, filename, amode, rc);
        *fh = MPI_FILE_NULL;
        if (reserved)
            zcache_handle_opened(MPI_FILE_NULL);
        else
            rc = zcache_mpi_error(MPI_ERR_NO_MEM, "no memory for a file handle");
        return zcache_raise(MPI_FILE_NULL, rc, "MPI_File_open");
    }
    zcache_amode_opened(opened);
    zcache_handle_opened(opened);
    zcache_errh_inherit(zcache_handle_of(opened));
    *fh = opened;
    return MPI_SUCCESS;
}

/*
 * The handle is gone afterwards, whatever came of it; the error, mostly one of writing back, is
 * raised by the handler that the file had, on MPI_FILE_NULL.
 */
int zcache_entry_close(MPI_File *fh)
{
    MPI_Errhandler errh = zcache_errh_get(*fh);
    int rc;

    zcache_close_begins(*fh);
    rc = ROMIO_File_close(fh);
    if (rc != MPI_SUCCESS)
        rc = zcache_raise_closed(errh, rc, "MPI_File_close");
    zcache_errh_release(errh);
    return rc;
}

int zcache_entry_delete(const char *filename, MPI_Info info)
{
    int rc = ROMIO_File_delete(filename, info);

    return rc == MPI_SUCCESS ? rc : zcache_raise(MPI_FILE_NULL, rc, "MPI_File_delete");
}

/* ---- properties ----------------------------------------------------------------- */

/* A collective call in which ROMIO leaves alone the ranks that have nothing against it. */
#define TOGETHER(name, params, args)                                                               \
    int zcache_entry_##name params                                                                 \
    {                                                                                              \
        return zcache_leave(NULL, fh, zcache_##name args, "MPI_File_" #name);                      \
    }                                                                                              \
    int zcache_entry_##name params

TOGETHER(set_size, (MPI_File fh, MPI_Offset size), (fh, size));
ENTRY(get_size, ALONE_NEVER, (MPI_File fh, MPI_Offset *size), (fh, size));
ENTRY(get_group, ALONE_NEVER, (MPI_File fh, MPI_Group *group), (fh, group));

int ROMIO_File_get_amode(MPI_File fh, int *amode);
int zcache_entry_get_amode(MPI_File fh, int *amode)
{
    int rc = ROMIO_File_get_amode(fh, amode);

    if (rc != MPI_SUCCESS)
        return zcache_raise(fh, rc, "MPI_File_get_amode");
    *amode = zcache_flavour_amode_out(*amode);
    return MPI_SUCCESS;
}

TOGETHER(set_view,
         (MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
          const char *datarep, MPI_Info info),
         (fh, disp, etype, filetype, datarep, info));

int ROMIO_File_get_view(MPI_File fh, MPI_Offset *disp, MPI_Datatype *etype, MPI_Datatype *filetype,
                        char *datarep);
int zcache_entry_get_view(MPI_File fh, MPI_Offset *disp, MPI_Datatype *etype,
                          MPI_Datatype *filetype, char *datarep)
{
    int rc = ROMIO_File_get_view(fh, disp, etype, filetype, datarep);

    if (rc == MPI_SUCCESS)
        rc = zcache_view_get(fh, etype, filetype, datarep);
    return rc == MPI_SUCCESS ? rc : zcache_raise(fh, rc, "MPI_File_get_view");
}

int ROMIO_File_get_type_extent(MPI_File fh, MPI_Datatype datatype, MPI_Aint *extent);
int zcache_entry_get_type_extent(MPI_File fh, MPI_Datatype datatype, MPI_Aint *extent)
{
    int rc = zcache_view_extents(fh) && datatype != MPI_DATATYPE_NULL
                 ? zcache_view_type_extent(fh, datatype, extent)
                 : ROMIO_File_get_type_extent(fh, datatype, extent);

    return rc == MPI_SUCCESS ? rc : zcache_raise(fh, rc, "MPI_File_get_type_extent");
}

TOGETHER(set_atomicity, (MPI_File fh, int flag), (fh, flag));
ENTRY(get_atomicity, ALONE_NEVER, (MPI_File fh, int *flag), (fh, flag));

int ROMIO_File_set_info(MPI_File fh, MPI_Info info);
int ROMIO_File_get_info(MPI_File fh, MPI_Info *info_used);

int zcache_entry_set_info(MPI_File fh, MPI_Info info)
{
    int rc = ROMIO_File_set_info(fh, info), changed = MPI_SUCCESS;

    zcache_info_changed(fh, &changed);
    rc = rc == MPI_SUCCESS ? changed : rc;
    return rc == MPI_SUCCESS ? rc : zcache_raise(fh, rc, "MPI_File_set_info");
}

int zcache_entry_get_info(MPI_File fh, MPI_Info *info_used)
{
    int rc = ROMIO_File_get_info(fh, info_used);

    if (rc == MPI_SUCCESS) {
        zcache_info_report(fh, *info_used, &rc);
        if (rc != MPI_SUCCESS)
            PMPI_Info_free(info_used);
    }
    return rc == MPI_SUCCESS ? rc : zcache_raise(fh, rc, "MPI_File_get_info");
}

TOGETHER(preallocate, (MPI_File fh, MPI_Offset size), (fh, size));

/* ---- file pointers ---------------------------------------------------------------- */

/* ROMIO forgets what the driver says of a place where no pointer can be. */
int zcache_entry_seek(MPI_File fh, MPI_Offset offset, int whence)
{
    struct zcache_handle *taken = zcache_enter(fh, ALONE_ALWAYS);

    return zcache_leave(taken, fh, zcache_seek(fh, offset, zcache_flavour_whence_in(whence)),
                        "MPI_File_seek");
}

ENTRY(get_position, ALONE_ALWAYS, (MPI_File fh, MPI_Offset *offset), (fh, offset));
ENTRY(get_byte_offset, ALONE_NEVER, (MPI_File fh, MPI_Offset offset, MPI_Offset *disp),
      (fh, offset, disp));

/* In ROMIO the first process alone learns of an error, and the others wait for it for ever. */
TOGETHER(seek_shared, (MPI_File fh, MPI_Offset offset, int whence),
         (fh, offset, zcache_flavour_whence_in(whence)));
ENTRY(get_position_shared, ALONE_ALWAYS, (MPI_File fh, MPI_Offset *offset), (fh, offset));

/* ---- the rest --------------------------------------------------------------------- */

int zcache_entry_get_type_extent_c(MPI_File fh, MPI_Datatype datatype, MPI_Count *extent)
{
    MPI_Aint aint = 0;
    int rc = zcache_entry_get_type_extent(fh, datatype, &aint);

    *extent = aint;
    return rc;
}

/*
 * ROMIO refuses to sync a file that was opened for reading. Those of zcache are not refused: for a
 * reader, sync is how it stops seeing what others have changed since.
 */
int zcache_entry_sync(MPI_File fh)
{
    int rc = MPI_SUCCESS;

    ADIO_Flush(fh, &rc);
    return rc == MPI_SUCCESS ? rc : zcache_raise(fh, rc, "MPI_File_sync");
}

int zcache_entry_register_datarep(const char *name, MPI_Datarep_conversion_function *read_fn,
                                  MPI_Datarep_conversion_function *write_fn,
                                  MPI_Datarep_extent_function *extent, void *state)
{
    const struct zcache_datarep rep = {.name = name,
                                       .read_fn = read_fn,
                                       .write_fn = write_fn,
                                       .extent_fn = extent,
                                       .state = state};
    int rc = zcache_datarep_register(&rep);

    return rc == MPI_SUCCESS ? rc : zcache_raise(MPI_FILE_NULL, rc, "MPI_Register_datarep");
}

int zcache_entry_register_datarep_c(const char *name, MPI_Datarep_conversion_function_c *read_fn,
                                    MPI_Datarep_conversion_function_c *write_fn,
                                    MPI_Datarep_extent_function *extent, void *state)
{
    const struct zcache_datarep rep = {.name = name,
                                       .read_fn_c = read_fn,
                                       .write_fn_c = write_fn,
                                       .extent_fn = extent,
                                       .state = state};
    int rc = zcache_datarep_register(&rep);

    return rc == MPI_SUCCESS ? rc : zcache_raise(MPI_FILE_NULL, rc, "MPI_Register_datarep_c");
}
