/* zcache_progress.h - reports the remaining bytes of a close that takes long. */
#ifndef ZCACHE_PROGRESS_H
#define ZCACHE_PROGRESS_H

struct zcache_file;
struct zcache_progress;

/* Starts reports during write-back, on rank 0, if standard error is a terminal or ZCACHE_PROGRESS
 * is set; NULL: no reports.  The file and its owners have to stay until the stop. */
struct zcache_progress *zcache_progress_start(struct zcache_file *f);
/* Waits for a question to the owners that is under way.  NULL: no effect. */
void zcache_progress_stop(struct zcache_progress *p);

#endif
