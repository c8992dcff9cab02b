/* ad_zcache_amode.c - the access mode of an open, looked at by all ranks together.
 *
 * ROMIO refuses a mode before the ranks have asked each other anything, and those whose mode is
 * fine wait for ever.  So it gets another one instead, which no rank can have asked for: as it lets
 * ranks compare their modes, an open of which any is refused fails on all, and only then they ask
 * each other why.
 */
#include "config.h"

#include <stdlib.h>
#include <strings.h>

#include "ad_zcache_seams.h"
#include "zcache_refusal.h"

static bool is_ours(const char *name)
{
    static const char prefix[] = "zcache:";
    const char *forced = getenv("ROMIO_FSTYPE_FORCE");

    name = forced ? forced : name;
    return name && !strncasecmp(name, prefix, sizeof prefix - 1);
}

/* What MPI asks of it, as ROMIO does. */
static void check(int amode, struct zcache_refusal *r)
{
    int ways =
        !!(amode & MPI_MODE_RDONLY) + !!(amode & MPI_MODE_RDWR) + !!(amode & MPI_MODE_WRONLY);

    if (ways != 1)
        zcache_refuse(r, MPI_ERR_AMODE,
                      "the access mode has to have one of MPI_MODE_RDONLY, _WRONLY and _RDWR");
    if (amode & MPI_MODE_RDONLY && amode & (MPI_MODE_CREATE | MPI_MODE_EXCL))
        zcache_refuse(r, MPI_ERR_AMODE,
                      "MPI_MODE_RDONLY goes with neither MPI_MODE_CREATE nor MPI_MODE_EXCL");
    if (amode & MPI_MODE_RDWR && amode & MPI_MODE_SEQUENTIAL)
        zcache_refuse(r, MPI_ERR_AMODE, "MPI_MODE_SEQUENTIAL does not go with MPI_MODE_RDWR");
}

/* ROMIO refuses a communicator itself. */
static bool is_asked(MPI_Comm comm, const char *name)
{
    int inter;

    return is_ours(name) && comm != MPI_COMM_NULL &&
           MPI_Comm_test_inter(comm, &inter) == MPI_SUCCESS && !inter;
}

int zcache_amode_to_try(MPI_Comm comm, const char *name, int amode)
{
    struct zcache_refusal r = {0};

    if (is_asked(comm, name))
        check(amode, &r);
    return r.mpi_class == MPI_SUCCESS ? amode : MPI_MODE_RDONLY | ZCACHE_AMODE_REFUSED;
}

/* Whether they ask each other depends on what ROMIO says on all of them alike. */
int zcache_amode_verdict(MPI_Comm comm, const char *name, int amode, int code)
{
    struct zcache_refusal r = {0};
    int class;

    if (!is_asked(comm, name) || MPI_Error_class(code, &class) != MPI_SUCCESS)
        return code;
    check(amode, &r);
    if (class == MPI_ERR_NOT_SAME || class == MPI_ERR_AMODE)
        zcache_refusal_agree(&r, 0, NULL, comm);
    return r.mpi_class == MPI_SUCCESS ? code : zcache_refusal_code(&r, "cannot open", name);
}
