/* iod_process.h - the daemon as a process: background, log file, pid file. */
#ifndef IOD_PROCESS_H
#define IOD_PROCESS_H

/* Goes to the background.  Only the child returns; the parent waits until the child calls
 * iod_process_ready() and then exits with 0, or exits with the child's status when that
 * ends before.  Call before there are threads. */
int iod_process_daemonize(void);

/* Opens the log file, so that a bad one is met early.  The log goes there only from
 * iod_process_ready() on: why a daemon did not start is for who started it. */
int iod_process_open_log(const char *path);

/* Lets a waiting parent go; standard input, output and error then become /dev/null. */
void iod_process_ready(void);

/* Opens it again, for it may have been moved away; a failure is logged to the old one. */
void iod_process_reopen_log(void);

/* -EBUSY: it names a zcached that runs.  A stale file is replaced. */
int iod_process_write_pid(const char *path);
/* Removes it when it is ours. */
void iod_process_remove_pid(const char *path);

/* As many open files as we may have: one a cached file is needed. */
void iod_process_raise_limits(void);

/* Of root, what a daemon of many users must not use for them when it writes back what they wrote:
 * to keep the set-user-id bits of what is written to, to use space beyond quotas and what is kept
 * for root.  Before threads are started. */
void iod_process_drop_powers(void);

#endif
