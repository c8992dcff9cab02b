/* ad_zcache_amode.c - the access mode of an open, looked at by all ranks together.
 *
 * ROMIO refuses a mode before the ranks have asked each other anything, and those whose mode is
 * fine wait for ever.  So it gets another one instead, which no rank can have asked for: as it lets
 * ranks compare their modes, an open of which any is refused fails on all, and only then they ask
 * each other why.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "ad_zcache_seams.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zcache_collective_check.h"
#include "zcache_log.h"

static bool is_ours(const char *name)
{
    static const char prefix[] = "zcache:";
    const char *forced = getenv("ROMIO_FSTYPE_FORCE");

    name = forced ? forced : name;
    return name && !strncasecmp(name, prefix, sizeof prefix - 1);
}

/* What MPI asks of it, as ROMIO does. */
static void check(int amode, struct zcache_collective_check *r)
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
    struct zcache_collective_check r = {0};

    if (!is_asked(comm, name))
        return amode;
    check(amode, &r);
    return ZCACHE_AMODE_OURS |
           (r.mpi_class == MPI_SUCCESS ? amode : MPI_MODE_RDONLY | ZCACHE_AMODE_REFUSED);
}

void zcache_amode_opened(ADIO_File fd)
{
    fd->access_mode &= ~ZCACHE_AMODE_OURS;
    fd->orig_access_mode &= ~ZCACHE_AMODE_OURS;
}

/* ---- ranks with different drivers ---- */

enum { ANSWER_MS = 10000, NAP_NS = 1000000 };

/* The ranks R with all[R] == kind, "0, 3-5": as many as fit. */
static void list(const int *all, int size, int kind, char *out, size_t room)
{
    size_t len = 0;

    *out = '\0';
    for (int first = 0, last; first < size; first = last + 1) {
        last = first;
        if (all[first] != kind)
            continue;
        while (last + 1 < size && all[last + 1] == kind)
            last++;
        if (len + 32 > room) {
            snprintf(out + len, room - len, ", ...");
            return;
        }
        len += (size_t)snprintf(out + len, room - len, "%s%d", len ? ", " : "", first);
        if (last > first)
            len += (size_t)snprintf(out + len, room - len, "-%d", last);
    }
}

/* False: not all answer.  The collective cannot be cancelled and stays under way, so `mine` and
 * `all` stay in use. */
static bool ask_all(const int *mine, int *all, MPI_Comm comm)
{
    const struct timespec nap = {0, NAP_NS};
    uint64_t until = zc_now() + ANSWER_MS * ZC_NS_PER_MS;
    MPI_Request request;
    int done = 0;

    if (MPI_Iallgather(mine, 1, MPI_INT, all, 1, MPI_INT, comm, &request) != MPI_SUCCESS)
        return false;
    while (!done && MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done &&
           zc_now() < until)
        nanosleep(&nap, NULL);
    return done;
}

static const char remedy[] =
    "give all ranks the same file name, ROMIO_FSTYPE_FORCE and LD_PRELOAD=libzcache.so";

/* Whether all ranks open the file by zcache, or none does; else why not is in *r. */
static bool same_driver(MPI_Comm comm, const char *name, struct zcache_collective_check *r)
{
    char with[120], without[120];
    int size, rank, *kinds;
    bool same;

    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &rank);
    kinds = malloc(((size_t)size + 1) * sizeof *kinds);
    if (!kinds)
        return true;
    kinds[size] = is_ours(name);
    if (!ask_all(&kinds[size], kinds, comm)) {
        zcache_refuse(r, MPI_ERR_NOT_SAME,
                      "rank %d opens it with libzcache.so, and at least one rank without, "
                      "which prints no such message: %s; end the program now: nonblocking "
                      "collective calls on this communicator would go wrong",
                      rank, remedy);
        return false;
    }
    list(kinds, size, 1, with, sizeof with);
    list(kinds, size, 0, without, sizeof without);
    same = !*with || !*without;
    if (!same)
        zcache_refuse(r, MPI_ERR_NOT_SAME,
                      "ranks %s open it by zcache and ranks %s by another driver: %s", with,
                      without, remedy);
    free(kinds);
    return same;
}

static int not_alike(const struct zcache_collective_check *r, const char *name)
{
    zcache_log_begin();
    zc_error("cannot open %s: %s", name, r->text);
    return zcache_collective_check_code(r, "cannot open", name);
}

/* Whether they ask each other depends on what ROMIO says on all of them alike. */
int zcache_amode_verdict(MPI_Comm comm, const char *name, int amode, int code)
{
    struct zcache_collective_check r = {0};
    int class;

    if (comm == MPI_COMM_NULL || MPI_Error_class(code, &class) != MPI_SUCCESS)
        return code;
    if (class == MPI_ERR_NOT_SAME && !same_driver(comm, name, &r))
        return not_alike(&r, name);
    if (!is_asked(comm, name))
        return code;
    check(amode, &r);
    if (class == MPI_ERR_NOT_SAME || class == MPI_ERR_AMODE)
        zcache_collective_check_agree(&r, 0, NULL, comm);
    return r.mpi_class == MPI_SUCCESS ? code
                                      : zcache_collective_check_code(&r, "cannot open", name);
}
