/* iod_notify.h - notifies the service manager that started the daemon, if there is one.
 *
 * The manager is systemd, or another program that set NOTIFY_SOCKET; see sd_notify(3).  Without
 * libsystemd the calls have no effect.  Threads: any.
 */
#ifndef IOD_NOTIFY_H
#define IOD_NOTIFY_H

void iod_notify_ready(const char *root); /* the daemon accepts clients */
void iod_notify_reloading(void);         /* the log is being opened again (SIGHUP) ... */
void iod_notify_reloaded(void);
void iod_notify_stopping(void); /* write-back before the end has begun */

#endif
