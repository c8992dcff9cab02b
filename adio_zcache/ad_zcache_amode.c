/* ad_zcache_amode.c - the access mode of an open, looked at by all ranks together.
 *
 * ROMIO refuses a mode before the ranks have asked each other anything, and those whose mode is
 * fine wait for ever.
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

int zcache_check_amode(MPI_Comm comm, const char *name, int amode)
{
    struct zcache_refusal r = {0};
    int inter;

    if (!is_ours(name) || comm == MPI_COMM_NULL ||
        MPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter)
        return MPI_SUCCESS; /* for ROMIO to see */
    check(amode, &r);
    if (zcache_refusal_agree(&r, 0, NULL, comm))
        return MPI_SUCCESS;
    return zcache_refusal_code(&r, "cannot open", name);
}
