/*
 * What the plugin offers to the driver on top of ROMIO: MPI error codes with a text.
 *
 * Inside the driver an error is 0 or a negative errno; it becomes an MPI error code once, at the
 * slot that ROMIO called, with one of these functions. A slot stores the code in *error_code and
 * returns; it never raises the error itself. The entry function (zcache_entry.c) does that, with
 * no lock held: it calls the error handler of the file.
 *
 * Error codes mean something in the process that made them only. A rank that tells others of an
 * error sends class and text, or the errno, and each makes its own code.
 */
#ifndef ZCACHE_MPI_H
#define ZCACHE_MPI_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * An MPI error code of class MPI_CLASS (MPI_ERR_NO_SPACE, ...) for which MPI_Error_string shows
 * TEXT, which is copied; what is longer than the library shows (239 bytes with MPICH 4.0) has its
 * paths shortened in the middle, and is cut if that does not help. Never fails: where the MPI
 * library can do no better, the class itself is the code. May be called by any thread between
 * MPI_Init and MPI_Finalize that may call MPI; makes no communication.
 *
 * Repeated texts get the same code. Of one class about eight different texts are remembered at a
 * time: a code is meant to be looked at now, not to be stored.
 */
int zcache_mpi_error(int mpi_class, const char *text);

/* The same with a printf format. */
int zcache_mpi_errorf(int mpi_class, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The error class that stands for ERR, an errno, positive or negative; 0 gives MPI_SUCCESS. */
int zcache_mpi_class(int err);

/*
 * An MPI error code for ERR, an errno, positive or negative, whose text is "WHAT PATH: cause".
 * 0 gives MPI_SUCCESS. WHAT says what was attempted ("cannot write bytes 0 to 4095 of").
 */
int zcache_mpi_errno(int err, const char *what, const char *path);

/*
 * A generalized request that MPI polls and waits for (an extension of the MPICH family): POLL and
 * WAIT, called in whatever thread tests or waits, call MPI_Grequest_complete when the operation is
 * done, once. FNS must be the same at each call. MPI_ERR_UNSUPPORTED_OPERATION where the library
 * has no such thing.
 */
struct zcache_greq_functions {
    int (*query)(void *state, MPI_Status *status);
    int (*free)(void *state);
    int (*cancel)(void *state, int complete);
    int (*poll)(void *state, MPI_Status *status);
    int (*wait)(int count, void **states, double timeout, MPI_Status *status);
};

int zcache_greq_start(const struct zcache_greq_functions *fns, void *state, MPI_Request *request);

/* Whether ERRH ends the program. MPI_ERRORS_ABORT is MPI-4; libraries before do not name it. */
static inline bool zcache_errh_is_fatal(MPI_Errhandler errh)
{
#ifdef MPI_ERRORS_ABORT
    if (errh == MPI_ERRORS_ABORT)
        return true;
#endif
    return errh == MPI_ERRORS_ARE_FATAL;
}

/*
 * Raise RC, which function FN returned for FH: call the handler of the file, or the one of
 * MPI_FILE_NULL for a bad handle. Returns RC, or what the handler made of it, which is what FN
 * returns; unless the handler ends the program. No lock held. Also for errors of nonblocking
 * accesses, which no entry function sees.
 */
int zcache_raise(MPI_File fh, int rc, const char *fn);

/*
 * The handler of FH, with a reference to give back, for errors that are met when FH may be closed:
 * they are raised by the handler that the file had, on MPI_FILE_NULL. Any handler may be given
 * back, also predefined ones.
 */
MPI_Errhandler zcache_errh_get(MPI_File fh);
void zcache_errh_release(MPI_Errhandler errh);
int zcache_raise_closed(MPI_Errhandler errh, int rc, const char *fn);

/*
 * MPI_Type_get_envelope and MPI_Type_get_contents that also take types made with large counts
 * (MPI_Type_..._c), on which MPI's own end the program. Use them instead. Derived types among the
 * contents are the caller's to free, as with MPI's.
 */
int zcache_type_get_envelope(MPI_Datatype type, int *ni, int *na, int *nt, int *combiner);
int zcache_type_get_contents(MPI_Datatype type, int ni, int na, int nt, int *ints, MPI_Aint *aints,
                             MPI_Datatype *types);

/*
 * How a type was made, in 64 bits whatever its constructor took. V holds the integer arguments in
 * the order of the constructor with int counts, without displacements in bytes, which are in AT
 * (the stride of an hvector, too). Types of the library itself, and those Fortran asks for by
 * precision, have a combiner only.
 */
struct zcache_type_args {
    int combiner;
    int64_t *v;
    int64_t *at;
    MPI_Datatype *types;
    int ntypes;
};

/*
 * 0 or a negative errno, explained by zc_errorf(). Free what it filled in, which includes the
 * derived types among the arguments, also when it failed.
 */
int zcache_type_args_get(MPI_Datatype type, struct zcache_type_args *args);
void zcache_type_args_free(struct zcache_type_args *args);

#endif
