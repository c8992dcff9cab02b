/* zcache_jobs.h - accesses made by threads of their own.
 *
 * A few threads for the process, started when they are needed, take jobs in the order they
 * came; they make no MPI calls.  A job has two owners: whoever submitted it and the thread.
 * Threads: any.
 */
#ifndef ZCACHE_JOBS_H
#define ZCACHE_JOBS_H

#include <stdbool.h>
#include <stdint.h>

#include "zcache_access.h"
#include "zcache_file.h"

struct zcache_job;

/* Starts an access.  The job gives back what the access refers to (zcache_slot_done()) when
 * it is released.  NULL: no memory or no thread; nothing was started and nothing taken. */
struct zcache_job *zcache_job_start(const struct zcache_access *a);

bool zcache_job_is_done(struct zcache_job *j); /* never blocks */
void zcache_job_wait(struct zcache_job *j);
/* Of one that is done, though its file may be closed: bytes moved or a negative errno, of which
 * zc_error_text() then tells the calling thread what the job's thread was told; and the MPI error
 * code that stands for it. */
int64_t zcache_job_result(const struct zcache_job *j);
int zcache_job_code(const struct zcache_job *j);
/* The submitter is through with it, done or not. */
void zcache_job_release(struct zcache_job *j);

/* Returns when no job of the file is under way. */
void zcache_jobs_drain(struct zcache_file *f);
/* At the end of the process, when no file is open. */
void zcache_jobs_stop(void);

#endif
