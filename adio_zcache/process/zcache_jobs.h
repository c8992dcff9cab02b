/* zcache_jobs.h - work done by threads of the process's own.
 *
 * A few threads, started when they are needed, take jobs in the order they came; they make no
 * MPI calls.  A job has two owners: whoever submitted it and the thread.
 * Threads: any.
 */
#ifndef ZCACHE_JOBS_H
#define ZCACHE_JOBS_H

#include <stdbool.h>
#include <stdint.h>

struct zcache_job;

/* Jobs that are waited for together, those of a file; zero at first. */
struct zcache_jobs {
    unsigned under_way; /* private, under the lock of zcache_jobs.c */
};

struct zcache_job_kind {
    int64_t (*run)(void *arg); /* at least 0, or a negative errno, explained */
    void (*free)(void *arg);   /* when the last owner is through with the job */
};

/* Makes a job of kind->run(arg), which may use `together` until it returns, and takes `arg` over.
 * NULL: no memory; `arg` stays the caller's. */
struct zcache_job *zcache_job_new(const struct zcache_job_kind *kind, void *arg,
                                  struct zcache_jobs *together);
/* Starts it, once; where no thread can be had the calling one runs it. */
void zcache_job_start(struct zcache_job *j);

bool zcache_job_is_done(struct zcache_job *j); /* never blocks */
void zcache_job_wait(struct zcache_job *j);
/* What run() returned, of one that is done; zc_error_text() then tells the calling thread what the
 * job's thread was told. */
int64_t zcache_job_result(const struct zcache_job *j);
void *zcache_job_arg(const struct zcache_job *j);
/* The submitter is through with it, done or not. */
void zcache_job_release(struct zcache_job *j);

/* Returns when none of them is under way. */
void zcache_jobs_drain(struct zcache_jobs *together);

#endif
