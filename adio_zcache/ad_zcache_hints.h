/* ad_zcache_hints.h - MPI_Info <-> the option table. */
#ifndef AD_ZCACHE_HINTS_H
#define AD_ZCACHE_HINTS_H

#include "adio.h"

struct zcache_file;

/* What the hint zcache_flush asks for. */
enum zcache_flush { ZCACHE_FLUSH_NONE, ZCACHE_FLUSH_START, ZCACHE_FLUSH_WAIT };

/* A call that has no use for the hint zcache_flush says so. */
void zcache_hints_no_flush(ADIO_File fd);
/* Timeout and provider are the process's: those that cannot be had any more become those
 * in force, which is said once. */
void zcache_hints_network(ADIO_File fd);
/* Echoes the values in force. */
void zcache_hints_echo(ADIO_File fd);
/* Every rank takes the settings of rank 0 of the file's communicator. */
int zcache_hints_agree(ADIO_File fd, struct zcache_file *f);

#endif
