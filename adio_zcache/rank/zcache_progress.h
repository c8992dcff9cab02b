/* zcache_progress.h - a close that takes long says how much is left. */
#ifndef ZCACHE_PROGRESS_H
#define ZCACHE_PROGRESS_H

struct zcache_file;
struct zcache_progress;

/* The file is written back from now on, on rank 0.  Where somebody looks, a terminal or who set
 * ZCACHE_PROGRESS, he is told what is left, again and again until the stop; NULL: nobody does.  The
 * file and its owners have to stay until then. */
struct zcache_progress *zcache_progress_start(struct zcache_file *f);
/* Waits for a question to the owners that is under way.  NULL: nothing. */
void zcache_progress_stop(struct zcache_progress *p);

#endif
