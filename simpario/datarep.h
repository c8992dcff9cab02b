/*
 * The representation of data in the file, for --datarep.
 *
 * In external32 and in the registered one an element is of 8-byte integers, the most significant
 * byte first.  MPI converts to external32, functions of this program to the registered one.
 */
#ifndef DATAREP_H
#define DATAREP_H

enum datarep { DATAREP_NATIVE, DATAREP_EXTERNAL32, DATAREP_REGISTERED };

/* "native", "external32", "registered", NULL */
extern const char *const datarep_names[];

/* Returns the name of a representation for MPI_File_set_view(), and registers it before its first
 * use. */
const char *datarep_name(enum datarep datarep);

#endif
