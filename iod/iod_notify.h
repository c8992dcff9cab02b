/* iod_notify.h - what the daemon tells the service manager that started it, if one did.
 *
 * The manager is systemd, or whoever set NOTIFY_SOCKET; see sd_notify(3).  Without libsystemd
 * nothing is told.  Threads: any.
 */
#ifndef IOD_NOTIFY_H
#define IOD_NOTIFY_H

void iod_notify_ready(const char *root); /* clients may come */
void iod_notify_reloading(void);         /* SIGHUP: the log is opened again ... */
void iod_notify_reloaded(void);
void iod_notify_stopping(void); /* everything is being written back */

#endif
