/*
 * The driver inside an MPICH: what the plugin brings and that MPICH has itself (error handlers,
 * optional functions), and what is between ROMIO's functions and the driver; see the header.
 */
#include "config.h"

#include <stdio.h>

#include "adio.h"
#include "zc_log.h"
#include "zcache_abort.h"
#include "zcache_errh.h"
#include "zcache_error.h"
#include "zcache_intree.h"
#include "zcache_library.h"

/* MPICH's own way to make error codes; its declaration is not among the headers ROMIO sees. */
int MPIR_Err_create_code(int lastcode, int fatal, const char fn[], int line, int mpi_class,
                         const char generic[], const char specific[], ...);

/* This MPICH. */
const struct zcache_library *zcache_library(void)
{
    static const struct zcache_library library = {
        .greq_class_create = PMPIX_Grequest_class_create,
        .greq_class_allocate = PMPIX_Grequest_class_allocate,
#if MPI_VERSION >= 4
        .type_get_envelope_c = PMPI_Type_get_envelope_c,
        .type_get_contents_c = PMPI_Type_get_contents_c,
#endif
        .err_create_code = MPIR_Err_create_code,
    };

    return &library;
}

static void (*before_abort)(void);

/* MPICH's own MPI_Abort does not ask. */
void zcache_abort_watch(void (*before)(void))
{
    before_abort = before;
}

/* ---- error handlers ---------------------------------------------------------- */

int zcache_raise(MPI_File fh, int rc, const char *fn)
{
    (void)fn;
    return MPIO_Err_return_file(fh, rc);
}

MPI_Errhandler zcache_errh_get(MPI_File fh)
{
    MPI_Errhandler errh;

    return PMPI_File_get_errhandler(fh, &errh) == MPI_SUCCESS ? errh : MPI_ERRORS_RETURN;
}

void zcache_errh_release(MPI_Errhandler errh)
{
    if (errh != MPI_ERRORS_RETURN && errh != MPI_ERRHANDLER_NULL && !zcache_errh_is_fatal(errh))
        PMPI_Errhandler_free(&errh);
}

static void die(int rc, const char *fn)
{
    char text[ZCACHE_MPI_TEXT_MAX] = "";
    int len;

    PMPI_Error_string(rc, text, &len);
    dprintf(zc_log_stderr(), "Fatal error in %s: %s\n", fn, text);
    if (before_abort)
        before_abort();
    PMPI_Abort(MPI_COMM_WORLD, rc);
}

/* MPI calls a handler for a file or for none: this one becomes that of MPI_FILE_NULL for the
 * call. */
int zcache_raise_closed(MPI_Errhandler errh, int rc, const char *fn)
{
    MPI_Errhandler old;

    if (errh == MPI_ERRORS_RETURN)
        return rc;
    if (zcache_errh_is_fatal(errh)) {
        die(rc, fn);
        return rc;
    }
    old = zcache_errh_get(MPI_FILE_NULL);
    PMPI_File_set_errhandler(MPI_FILE_NULL, errh);
    rc = MPIO_Err_return_file(MPI_FILE_NULL, rc);
    PMPI_File_set_errhandler(MPI_FILE_NULL, old);
    zcache_errh_release(old);
    return rc;
}

/* ---- between ROMIO's functions and the driver ---------------------------------- */

int zcache_raised(ADIO_File fd, int code)
{
    return code == MPI_SUCCESS ? code : MPIO_Err_return_file(fd, code);
}

int zcache_close(MPI_File *fh)
{
    ADIO_File fd = MPIO_File_resolve(*fh);
    MPI_Errhandler errh = zcache_errh_get(*fh);
    int code;

    zcache_close_begins(fd);
    /* As ROMIO closes other files: the name of a shared pointer's file is made at open. */
    ADIOI_Free(fd->shared_fp_fname);
    PMPI_Barrier(fd->comm);
    ADIO_Close(fd, &code);
    PMPI_File_set_errhandler(*fh, MPI_ERRORS_RETURN); /* gives the reference back */
    MPIO_File_free(fh);
    if (code != MPI_SUCCESS)
        code = zcache_raise_closed(errh, code, "MPI_File_close");
    zcache_errh_release(errh);
    return code;
}

int zcache_split_finish(ADIO_File fd, MPI_Status *status)
{
    int code = zcache_split_end(fd);

    if (status != MPI_STATUS_IGNORE)
        *status = fd->split_status;
    fd->split_coll_count = 0;
    return zcache_raised(fd, code);
}

int zcache_sync(ADIO_File fd)
{
    int code;

    ADIO_Flush(fd, &code);
    return zcache_raised(fd, code);
}

int zcache_request_done(ADIO_File fd, int code, MPI_Status *status, MPI_Request *request)
{
    MPI_Count bytes = 0;

    *request = MPI_REQUEST_NULL;
    if (code == MPI_SUCCESS) {
        PMPI_Get_elements_x(status, MPI_BYTE, &bytes);
        MPIO_Completed_request_create(&fd, bytes, &code, request);
    }
    return code;
}
