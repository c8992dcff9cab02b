/*
 * Differences between the binary interfaces of MPI libraries, defined by plugin/flavour/NAME/.
 *
 * A plugin is built for one of them; the core, which is the same for all, uses only these functions
 * and zcache_greq.h.
 */
#ifndef ZCACHE_FLAVOUR_H
#define ZCACHE_FLAVOUR_H

#include <mpi.h>
#include <stdbool.h>

enum zcache_flavour {
    ZCACHE_FLAVOUR_MPICH,
    ZCACHE_FLAVOUR_OPENMPI,
    ZCACHE_FLAVOUR_ABI,
};

/* The flavour of this plugin. */
extern const enum zcache_flavour zcache_flavour;

/* Called once, before any MPI call, when the MPI library is known and of this flavour. Fills in
 * what is not constant with this library: predefined handles, and ROMIO's variables of them. */
void zcache_flavour_begin(void);

/* Learns the constants in which libraries of this flavour differ, from the handler of MPI_FILE_NULL
 * that GET_ERRHANDLER returns, a function of the library. Called once, when MPI is initialized and
 * before the program sets that handler. Returns false if the library has none of those that this
 * plugin knows. */
bool zcache_flavour_learn(int (*get_errhandler)(MPI_File fh, MPI_Errhandler *errh));

/* Translate an access mode from the program's bits to ROMIO's, and back. */
int zcache_flavour_amode_in(int amode);
int zcache_flavour_amode_out(int amode);

/* Translates the program's MPI_SEEK_SET, _CUR or _END to ROMIO's. */
int zcache_flavour_whence_in(int whence);

#endif
