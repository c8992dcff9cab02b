/*
 * MPI error codes with a text.
 *
 * Inside the driver an error is 0 or a negative errno; it becomes an MPI error code once, at the
 * slot that ROMIO called, with one of these functions. A slot stores the code in *error_code and
 * returns; it never raises the error itself. The entry function (zcache_entry.c) does that, with
 * no lock held: it calls the error handler of the file.
 *
 * Error codes mean something in the process that made them only. A rank that tells others of an
 * error sends class and text, or the errno, and each makes its own code.
 */
#ifndef ZCACHE_ERROR_H
#define ZCACHE_ERROR_H

#include <mpi.h>

/* Room for what MPI_Error_string() writes. MPICH 4.0 writes beyond MPI_MAX_ERROR_STRING when the
 * stack of an error of its own is longer: MPIR_Err_print_stack_string() goes on with what is left,
 * a negative length. */
enum { ZCACHE_MPI_TEXT_MAX = 8 * MPI_MAX_ERROR_STRING };

/*
 * Makes an MPI error code of class MPI_CLASS (MPI_ERR_NO_SPACE, ...) for which MPI_Error_string
 * shows TEXT, which is copied. Of a text longer than the library shows (239 bytes with MPICH 4.0)
 * the paths are shortened in the middle, and the end is cut if that does not help. Never fails:
 * where the MPI library can do no better, the class itself is the code. May be called by any thread
 * between MPI_Init and MPI_Finalize that may call MPI; makes no communication.
 *
 * Equal texts get the same code. About eight different texts of a class are remembered at a time: a
 * code is to be looked at now, not to be stored.
 */
int zcache_mpi_error(int mpi_class, const char *text);

/* The same with a printf format. */
int zcache_mpi_errorf(int mpi_class, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Returns the error class for a negative errno. */
int zcache_error_class(int rc);

/* Makes *error_code of a negative errno and what zc_errorf() said: "zcache: WHAT PATH: cause". WHAT
 * says what was attempted ("cannot write"). 0 is success. */
void zcache_set_error(int *error_code, int rc, const char *what, const char *path);

#endif
