/*
 * The MPI library of this process, which the plugin is not linked with.
 *
 * zcache_library() comes before the first MPI call of every exported function that a program may
 * call first. It makes a library known to the plugin that was opened privately, as Python does
 * with its modules, and ends the program if this plugin is not built for the library
 * (zcache_flavour.h). Any thread, any number of times; no MPI communication.
 */
#ifndef ZCACHE_LIBRARY_H
#define ZCACHE_LIBRARY_H

#include <mpi.h>
#include <stdbool.h>

/* What not every library of the MPICH family has; NULL where it is missing. */
struct zcache_library {
    int (*greq_class_create)(MPI_Grequest_query_function *, MPI_Grequest_free_function *,
                             MPI_Grequest_cancel_function *, MPIX_Grequest_poll_function *,
                             MPIX_Grequest_wait_function *, MPIX_Grequest_class *);
    int (*greq_class_allocate)(MPIX_Grequest_class, void *state, MPI_Request *);
    int (*type_get_envelope_c)(MPI_Datatype, MPI_Count *ni, MPI_Count *na, MPI_Count *nc,
                               MPI_Count *nt, int *combiner);
    int (*type_get_contents_c)(MPI_Datatype, MPI_Count ni, MPI_Count na, MPI_Count nc, MPI_Count nt,
                               int *ints, MPI_Aint *aints, MPI_Count *counts, MPI_Datatype *types);
    /* Of no standard; see zcache_error.c. */
    int (*err_create_code)(int lastcode, int fatal, const char *fn, int line, int mpi_class,
                           const char *generic, const char *specific, ...);
};

const struct zcache_library *zcache_library(void);

/*
 * The same, and learns the constants of the library (zcache_flavour_learn), or ends the program if
 * it has unknown ones. Comes first in every exported function that opens a file or sets the handler
 * of MPI_FILE_NULL; MPI must be initialized, by MPI_Init or by a session, or the library ends the
 * program. Functions that may be called before that, such as MPI_File_c2f, use zcache_library().
 */
void zcache_library_ready(void);

/* A function of that library itself, which the plugin may have, too; NULL: it has none. */
void *zcache_library_symbol(const char *name);

/* Whether MPI_COMM_WORLD and MPI_COMM_SELF are there: not in a program that has only sessions. */
bool zcache_library_has_world(void);

#endif
