/*
 * Error handling of the component: it returns codes, and Open MPI calls the handlers; MPI_Abort is
 * not intercepted.
 */
#include "config.h"

#include "adio.h"
#include "zcache_abort.h"
#include "zcache_errh.h"
#include "zcache_handle.h"

int zcache_raise(MPI_File fh, int rc, const char *fn)
{
    (void)fh;
    (void)fn;
    return rc;
}

int zcache_raise_closed(MPI_Errhandler errh, int rc, const char *fn)
{
    (void)errh;
    (void)fn;
    return rc;
}

void zcache_errh_inherit(struct zcache_handle *h)
{
    h->errh = MPI_ERRORS_RETURN;
}

MPI_Errhandler zcache_errh_get(MPI_File fh)
{
    (void)fh;
    return MPI_ERRORS_RETURN;
}

void zcache_errh_release(MPI_Errhandler errh)
{
    (void)errh;
}

/* Open MPI never calls these. */
int zcache_entry_get_errhandler(MPI_File fh, MPI_Errhandler *errhandler)
{
    (void)fh;
    *errhandler = MPI_ERRORS_RETURN;
    return MPI_SUCCESS;
}

int zcache_entry_call_errhandler(MPI_File fh, int errorcode)
{
    (void)fh;
    (void)errorcode;
    return MPI_SUCCESS;
}

void zcache_abort_watch(void (*before)(void))
{
    (void)before;
}

/* ROMIO's functions that raise errors and set handlers. */
int MPIO_Err_return_file(MPI_File fh, int rc)
{
    (void)fh;
    return rc;
}

int MPIO_Err_return_comm(MPI_Comm comm, int rc)
{
    (void)comm;
    return rc;
}

int ROMIO_File_set_errhandler(MPI_File fh, MPI_Errhandler errhandler);
int ROMIO_File_set_errhandler(MPI_File fh, MPI_Errhandler errhandler)
{
    (void)fh;
    (void)errhandler;
    return MPI_SUCCESS;
}
