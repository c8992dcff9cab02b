/* zcache_async.h - asynchronous operations on threads of zcache.
 *
 * A few threads, started when they are needed, run operations in the order of submission; they make
 * no MPI calls.  An operation has two owners: its submitter and the thread. Threads: any.
 */
#ifndef ZCACHE_ASYNC_H
#define ZCACHE_ASYNC_H

#include <stdbool.h>
#include <stdint.h>

struct zcache_async_op;

/* Operations that are waited for together, those of a file; zero at first. */
struct zcache_async_group {
    unsigned under_way; /* private, under the lock of zcache_async.c */
};

struct zcache_async_kind {
    int64_t (*run)(void *arg); /* at least 0, or a negative errno, explained */
    void (*free)(void *arg);   /* after the last owner has released the operation */
};

/* Makes an operation that calls kind->run(arg), which may use `together` until it returns, and
 * takes `arg` over.  NULL: no memory; `arg` stays the caller's. */
struct zcache_async_op *zcache_async_new(const struct zcache_async_kind *kind, void *arg,
                                         struct zcache_async_group *together);
/* Starts an operation, once; where no thread can be had the calling one runs it. */
void zcache_async_start(struct zcache_async_op *j);

bool zcache_async_is_done(struct zcache_async_op *j); /* never blocks */
void zcache_async_wait(struct zcache_async_op *j);
/* Returns what run() returned, of an operation that is done; zc_error_text() then gives the calling
 * thread the explanation that the operation's thread had. */
int64_t zcache_async_result(const struct zcache_async_op *j);
void *zcache_async_arg(const struct zcache_async_op *j);
/* Gives back the submitter's reference, also of an operation that is not done. */
void zcache_async_release(struct zcache_async_op *j);

/* Waits until no operation of the group is under way. */
void zcache_async_drain(struct zcache_async_group *together);

#endif
