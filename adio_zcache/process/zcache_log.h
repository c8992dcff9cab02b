/* zcache_log.h - the messages of a program's processes in the log (zc_log.h).
 *
 * Calls MPI; threads: any.
 */
#ifndef ZCACHE_LOG_H
#define ZCACHE_LOG_H

#include <stdbool.h>

/* Puts ZCACHE_LOG and ZCACHE_LOG_FILE in force, adds the rank to lines, and starts the trace if
 * ZCACHE_TRACE is set.  Called at every open; the first one counts. */
void zcache_log_begin(void);

/* Tells whether this process has called it with `about` before, or with too many others. */
bool zcache_log_said(const char *about);

/* Reports an open that failed.  Programs ignore the error, as MPI's default lets them: the process
 * that calls this, rank 0 of the file, reports each path and cause once.  Where `probed`, the
 * program asked only whether the file exists, and the message has info level. */
void zcache_log_open_failed(const char *path, int rc, bool probed, const char *text);

#endif
