/* iod_process.h - the daemon as a process: background, log file, pid file. */
#ifndef IOD_PROCESS_H
#define IOD_PROCESS_H

/* Goes to the background.  Returns in the child only; the parent waits until the child calls
 * iod_process_ready(), and exits with 0, or with the child's status if it ends before.  To call
 * before any thread is started. */
int iod_process_daemonize(void);

/* Sets the umask to 0: files created for clients get the permissions that they ask for, to which
 * their own umask was applied.  The daemon's own files keep its former umask.  To call before any
 * file is created. */
void iod_process_take_umask(void);

/* Opens the log file, or returns a negative errno, explained.  Messages go there from
 * iod_process_ready() on; until then to standard error. */
int iod_process_open_log(const char *path);

/* Ends a waiting parent; standard input, output and error then become /dev/null. */
void iod_process_ready(void);

/* Opens the log file again, after it was moved; logs a failure to the old one. */
void iod_process_reopen_log(void);

/* Writes the pid file; replaces a stale one.  -EBUSY: it names a zcached that runs. */
int iod_process_write_pid(const char *path);
/* Removes it if it names this process. */
void iod_process_remove_pid(const char *path);

/* Raises the limits on open files, as each cached file needs one, and on processor time, but for
 * a last part: SIGXCPU comes while there is time to write back a cache of that size.  The part is 5
 * %, or 1 s and 2 s for each GiB if that is more, or half.  A limit of 1 s is too small for two
 * signals: SIGKILL is the first. */
void iod_process_raise_limits(uint64_t cache_bytes);

/* Drops capabilities of root that must not apply to bytes written back for users: to keep
 * set-user-id bits of written files, and to exceed quotas and use space reserved for root.  To call
 * before any thread is started. */
void iod_process_drop_powers(void);

#endif
