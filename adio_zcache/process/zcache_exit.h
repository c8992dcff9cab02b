/* zcache_exit.h - the end of a process that has not closed its files.
 *
 *     exit(), return, quick_exit    flush, goodbye to the owners, wait for the other ranks, end
 *     exec                          flush; the process's pages go with its memory
 *     MPI_Abort                     flush, for ZCACHE_ABORT_TIME at most; what is left is named;
 *                                   the exit handler, and MPI_Abort by another thread, wait
 *                                   for that, and do nothing then
 *     _exit, SIGKILL, a crash       nothing here: zc_unwritten.h tells what is lost
 *
 * The exit handler is a destructor of this library, which runs after all handlers of the program
 * and of libraries, and after the destructors of the program: they may still write and close (HDF5
 * does).  It runs before the destructors of the MPI library and of libfabric, which are loaded
 * later, whether MPI is finalized or not; no MPI function is called.
 *
 * A flush is of every file that this process has open, at all owners that it has talked to: what
 * it left in the memory of another process is in the file when this one has ended, whatever becomes
 * of that one.  Only the process that opened the files does any of this, none of its children.
 *
 * Threads: any.
 */
#ifndef ZCACHE_EXIT_H
#define ZCACHE_EXIT_H

#include <stdbool.h>

/* Makes the end of this process write back its files, from now on.  Any number of times. */
void zcache_exit_watch(void);

/* Sets the function that writes back all open files.  It returns 0, or a negative errno when
 * something is left, which it has reported; `name_left` then also names what this process has not
 * written back. */
void zcache_exit_flushes(int (*flush)(void), void (*name_left)(const char *why));
/* The number of clients of the owners in this process; atomic. */
extern unsigned zcache_exit_clients;

/* Writes back all open files, before an exec.  Does nothing in a child.  `path`: the file that is
 * executed, or NULL; where it cannot be executed, other ranks are not waited for. */
void zcache_exit_before_exec(const char *path);
/* Tells whether the exit handler has ended everything: a later close finds nothing to do. */
bool zcache_exit_over(void);
/* Enclose a call that needs an owner: the exit handler waits for those that other threads are
 * inside of, for ZCACHE_ABORT_TIME at most, and refuses later ones.  begin() returns 0, with
 * zcache_exit_end() to follow, or a negative errno, explained. */
int zcache_exit_begin(void);
void zcache_exit_end(void);

#endif
