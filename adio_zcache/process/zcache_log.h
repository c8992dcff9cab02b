/* zcache_log.h - what the processes of a program say in the log (zc_log.h).
 *
 * Calls MPI; threads: any.
 */
#ifndef ZCACHE_LOG_H
#define ZCACHE_LOG_H

#include <stdbool.h>

/* From the first open on: ZCACHE_LOG and ZCACHE_LOG_FILE are in force, lines have the rank; what
 * happens is recorded, if ZCACHE_TRACE is set. */
void zcache_log_begin(void);

/* Whether something was said of this before by this process; from now on it was. */
bool zcache_log_said(const char *about);

/* An open came to nothing.  Programs ignore that, for it is MPI's default that they may: the
 * process that calls this, rank 0 of the file, says it once for each path and cause.  Where
 * `probed`, a file that is not there, or is, is what the program wanted to know, and is said at
 * info level. */
void zcache_log_open_failed(const char *path, int rc, bool probed, const char *text);

#endif
