/* endshim.c - preloaded into MPI programs whose ranks are on several hosts.
 *
 * MPI_Finalize of MPICH 4.0 over UCX flushes each connection, for which the other side has to make
 * progress, and then waits for all ranks in a barrier that makes none: between hosts, over TCP, one
 * run in five or ten hangs there.  All communication is over by then, and nothing is lost when
 * connections are left as they are.
 */
#include "config.h"

#include <stddef.h>

void *ucp_disconnect_nb(void *ep);

/* UCS_OK: done at once. */
void *ucp_disconnect_nb(void *ep)
{
    (void)ep;
    return NULL;
}
