/* The flavour for the standard binary interface of MPI-5. */
#include "config.h"

#include "adio.h"
#include "adio_extern.h"
#include "zcache_flavour.h"
#include "zcache_greq.h"

const enum zcache_flavour zcache_flavour = ZCACHE_FLAVOUR_ABI;

/* romio-register removes the initializers of these variables of ROMIO. */
void zcache_flavour_begin(void)
{
    ADIOI_syshints = MPI_INFO_NULL;
    ADIO_same_amode = MPI_OP_NULL;
}

/* ---- constants that differ between libraries --------------------------------------- */

_Static_assert(MPI_SEEK_SET >= 600, "the core has the constants of mpi_abi.h, not those of ROMIO");

/* All libraries call their interface version 1.0. */
static const struct constants {
    uintptr_t errors_return, errors_abort;
    int seek_set, seek_cur, seek_end;
} known[] = {
    {0x143, 0x142, 403, 401, 402}, /* the header of the MPI Forum since October 2025: MPICH */
    {0x142, 0x143, 401, 402, 403}, /* the one before: Intel MPI 2021.19 */
};

static const struct constants *constants;

struct zcache_abi_handlers zcache_abi_handlers;

/* The handler of MPI_FILE_NULL, which is MPI_ERRORS_RETURN at first, tells which they are. */
bool zcache_flavour_learn(int (*get_errhandler)(MPI_File fh, MPI_Errhandler *errh))
{
    MPI_Errhandler errh;

    if (!get_errhandler || get_errhandler(MPI_FILE_NULL, &errh) != MPI_SUCCESS)
        return false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if ((uintptr_t)errh == known[i].errors_return)
            constants = &known[i];
    }
    if (!constants)
        return false;
    zcache_abi_handlers.returns = (MPI_Errhandler)constants->errors_return;
    zcache_abi_handlers.aborts = (MPI_Errhandler)constants->errors_abort;
    ADIOI_DFLT_ERR_HANDLER = MPI_ERRORS_RETURN;
    return true;
}

/* Unknown ones become one that zcache refuses. */
int zcache_flavour_whence_in(int whence)
{
    if (whence == constants->seek_set)
        return MPI_SEEK_SET;
    if (whence == constants->seek_cur)
        return MPI_SEEK_CUR;
    return whence == constants->seek_end ? MPI_SEEK_END : 0;
}

/* ---- access modes ----------------------------------------------------------------- */

static const struct {
    int standard;
    int romio;
} modes[] = {
    {ZCACHE_ABI_MODE_APPEND, MPI_MODE_APPEND},
    {ZCACHE_ABI_MODE_CREATE, MPI_MODE_CREATE},
    {ZCACHE_ABI_MODE_DELETE_ON_CLOSE, MPI_MODE_DELETE_ON_CLOSE},
    {ZCACHE_ABI_MODE_EXCL, MPI_MODE_EXCL},
    {ZCACHE_ABI_MODE_RDONLY, MPI_MODE_RDONLY},
    {ZCACHE_ABI_MODE_RDWR, MPI_MODE_RDWR},
    {ZCACHE_ABI_MODE_SEQUENTIAL, MPI_MODE_SEQUENTIAL},
    {ZCACHE_ABI_MODE_UNIQUE_OPEN, MPI_MODE_UNIQUE_OPEN},
    {ZCACHE_ABI_MODE_WRONLY, MPI_MODE_WRONLY},
};

enum { MODES = sizeof modes / sizeof *modes, UNKNOWN_MODE = 1 << 20 };

/* Unknown bits become one that ROMIO refuses. */
int zcache_flavour_amode_in(int amode)
{
    int romio = 0;

    for (int i = 0; i < MODES; i++) {
        if (amode & modes[i].standard)
            romio |= modes[i].romio;
        amode &= ~modes[i].standard;
    }
    return amode ? romio | UNKNOWN_MODE : romio;
}

int zcache_flavour_amode_out(int amode)
{
    int standard = 0;

    for (int i = 0; i < MODES; i++)
        standard |= amode & modes[i].romio ? modes[i].standard : 0;
    return standard;
}

/* ---- generalized requests ---------------------------------------------------------------- */

const bool zcache_greq_poll_may_yield = false;

/* No request is started, as MPI would not poll it: nonblocking accesses complete at once. */
int zcache_greq_start(const struct zcache_greq_functions *fns, void *state, MPI_Request *request)
{
    (void)fns;
    (void)state;
    (void)request;
    return MPI_ERR_UNSUPPORTED_OPERATION;
}
