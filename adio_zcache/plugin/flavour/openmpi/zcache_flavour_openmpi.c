/* The flavour for Open MPI: predefined handles are addresses of variables in libmpi, found at run
 * time. */
#include "config.h"

#include <dlfcn.h>

#include "adio.h"
#include "adio_extern.h"
#include "zcache_flavour.h"

const enum zcache_flavour zcache_flavour = ZCACHE_FLAVOUR_OPENMPI;

struct zcache_predefined zcache_predefined;

void zcache_predefined_find(void)
{
#define FIND(name) zcache_predefined.name = dlsym(RTLD_DEFAULT, #name);
    ZCACHE_PREDEFINED(FIND)
#undef FIND
}

/* romio-register removes the initializers of these variables of ROMIO. */
void zcache_flavour_begin(void)
{
    zcache_predefined_find();
    ADIOI_syshints = MPI_INFO_NULL;
    ADIO_same_amode = MPI_OP_NULL;
    ADIOI_DFLT_ERR_HANDLER = MPI_ERRORS_RETURN;
}

bool zcache_flavour_learn(int (*get_errhandler)(MPI_File fh, MPI_Errhandler *errh))
{
    (void)get_errhandler;
    return true;
}

int zcache_flavour_amode_in(int amode)
{
    return amode;
}

int zcache_flavour_amode_out(int amode)
{
    return amode;
}

int zcache_flavour_whence_in(int whence)
{
    return whence;
}

int zcache_predefined_comm_copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out,
                                int *flag)
{
    (void)comm;
    (void)keyval;
    (void)extra;
    (void)in;
    (void)out;
    *flag = 0;
    return MPI_SUCCESS;
}

int zcache_predefined_comm_delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm;
    (void)keyval;
    (void)value;
    (void)extra;
    return MPI_SUCCESS;
}

int zcache_predefined_type_copy(MPI_Datatype type, int keyval, void *extra, void *in, void *out,
                                int *flag)
{
    (void)type;
    (void)keyval;
    (void)extra;
    (void)in;
    (void)out;
    *flag = 0;
    return MPI_SUCCESS;
}

int zcache_predefined_type_delete(MPI_Datatype type, int keyval, void *value, void *extra)
{
    (void)type;
    (void)keyval;
    (void)value;
    (void)extra;
    return MPI_SUCCESS;
}
