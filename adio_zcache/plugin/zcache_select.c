/* Which files are the plugin's, by their names. */
#include "config.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "zc_lock.h"
#include "zc_log.h"
#include "zc_paths.h"
#include "zcache_error.h"
#include "zcache_library.h"
#include "zcache_log.h"
#include "zcache_select.h"

static const char prefix[] = "zcache:";

static bool has_our_prefix(const char *name)
{
    return name && !strncasecmp(name, prefix, sizeof prefix - 1);
}

/* Of whatever file system; a colon behind a slash is a part of the path. */
static bool has_prefix(const char *name)
{
    const char *colon = name ? strchr(name, ':') : NULL;

    return colon && !memchr(name, '/', (size_t)(colon - name));
}

/* Says once that a prefix looks like a misspelt one of zcache: the MPI library will not know it. */
static void doubt(const char *name)
{
    static const char *const alike[] = {"z*c*h*e:*", "z*a*c*h:*", "zc*a*h[!e]:*", "zcac[!h]e:*",
                                        "[!z]cache:*"};
    int rank;

    for (size_t i = 0; i < sizeof alike / sizeof *alike; i++) {
        if (strcspn(name, ":") <= 8 && !fnmatch(alike[i], name, 0) && zcache_library_has_world() &&
            !zcache_log_said("a misspelt prefix") &&
            PMPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS && rank == 0)
            zc_warn("%s: is the MPI library's; did you mean zcache:%s?", name,
                    strchr(name, ':') + 1);
    }
}

/* 1, 0, or a negative errno, explained. */
static int decide(const char *paths, const char *name)
{
    if (has_prefix(name))
        return has_our_prefix(name);
    return zc_paths_select(paths, name);
}

static bool can_be_asked(MPI_Comm comm)
{
    int inter = 1;

    return comm != MPI_COMM_NULL && PMPI_Comm_test_inter(comm, &inter) == MPI_SUCCESS && !inter;
}

enum { PATIENCE_MS = 10000, SPIN_MS = 10, NAP_NS = 1000000 };

/* Gives all ranks the answer of rank 0.  A rank that has waited PATIENCE_MS reports the possible
 * reason: rank 0 comes here only if it has a list as well.  It goes on waiting, as rank 0 may just
 * be late. */
static int take_answer(MPI_Comm comm, const char *name, int *answer)
{
    const struct timespec nap = {0, NAP_NS};
    uint64_t began = zc_now();
    MPI_Request request;
    bool said = false;
    int done = 0, rc = PMPI_Ibcast(answer, 1, MPI_INT, 0, comm, &request);

    while (rc == MPI_SUCCESS && !done) {
        rc = PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (done || zc_now() - began < SPIN_MS * ZC_NS_PER_MS)
            continue;
        nanosleep(&nap, NULL);
        if (said || zc_now() - began < PATIENCE_MS * ZC_NS_PER_MS)
            continue;
        said = true;
        zcache_log_begin();
        zc_error("open of %s: rank 0 of the communicator has not come to it for %d s; if it has no "
                 "ZCACHE_PATHS, it never will: give all ranks the same environment",
                 name, PATIENCE_MS / 1000);
    }
    return rc;
}

/* Collective, as decide(): what rank 0 says. Stores an MPI error code. */
static int decide_together(MPI_Comm comm, const char *paths, const char *name, int *error_code)
{
    int rank = 0, size = 1, answer = 0;

    zc_error_clear();
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &size);
    if (rank == 0)
        answer = decide(paths, name);
    *error_code = size == 1 ? MPI_SUCCESS : take_answer(comm, name, &answer);
    if (*error_code != MPI_SUCCESS || answer >= 0)
        return answer;
    *error_code = zcache_mpi_errorf(zcache_error_class(answer), "zcache: ZCACHE_PATHS: %s",
                                    rank == 0 ? zc_error_text(answer) : "rank 0 cannot use it");
    return answer;
}

/* The name by which the side that has the file opens it: one of the plugin's has the prefix, so
 * that its ROMIO finds the driver; one that rank 0 leaves to the MPI library has it no longer. */
static int rename_file(struct zcache_selected *s)
{
    size_t size;

    if (s->ours == has_our_prefix(s->name))
        return MPI_SUCCESS;
    if (!s->ours) {
        s->name += sizeof prefix - 1;
        return MPI_SUCCESS;
    }
    if (has_prefix(s->name))
        s->name = strchr(s->name, ':') + 1;
    size = sizeof prefix + strlen(s->name);
    s->made = malloc(size);
    if (!s->made)
        return zcache_mpi_error(MPI_ERR_NO_MEM, "no memory for the name of a file");
    snprintf(s->made, size, "%s%s", prefix, s->name);
    s->name = s->made;
    return MPI_SUCCESS;
}

int zcache_select(MPI_Comm comm, const char *name, struct zcache_selected *s)
{
    const char *forced = getenv("ROMIO_FSTYPE_FORCE"), *paths = getenv("ZCACHE_PATHS");
    int error_code;

    zcache_library();
    *s = (struct zcache_selected){.ours = has_our_prefix(forced ? forced : name), .name = name};
    if (!forced && !s->ours && has_prefix(name))
        doubt(name);
    if (forced || !paths || !*paths || !name || !can_be_asked(comm))
        return MPI_SUCCESS;
    s->ours = decide_together(comm, paths, name, &error_code) == 1;
    return error_code == MPI_SUCCESS ? rename_file(s) : error_code;
}

void zcache_selected_free(struct zcache_selected *s)
{
    free(s->made);
}

bool zcache_is_selected(const char *name)
{
    char why[MPI_MAX_ERROR_STRING] = "";
    struct zcache_selected s;
    int rc, len;

    zcache_library_ready(); /* which MPI_COMM_SELF needs */
    rc = zcache_select(MPI_COMM_SELF, name, &s);
    if (rc == MPI_SUCCESS) {
        zcache_selected_free(&s);
        return s.ours;
    }
    if (!zcache_log_said("a list that is of no use")) {
        PMPI_Error_string(rc, why, &len);
        zcache_log_begin();
        zc_error("%s: left to the MPI library: %s", name, why);
    }
    return false;
}
