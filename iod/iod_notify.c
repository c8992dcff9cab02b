/* iod_notify.c - notifies the service manager, by sd_notify(3). */
#include "config.h"

#include "iod_notify.h"

#ifdef HAVE_LIBSYSTEMD
#include <inttypes.h>
#include <systemd/sd-daemon.h>

#include "zc_lock.h"

void iod_notify_ready(const char *root)
{
    sd_notifyf(0, "READY=1\nSTATUS=serves %s", root);
}

void iod_notify_reloading(void)
{
    sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, zc_now() / 1000);
}

void iod_notify_reloaded(void)
{
    sd_notify(0, "READY=1");
}

void iod_notify_stopping(void)
{
    sd_notify(0, "STOPPING=1\nSTATUS=writing back what is dirty");
}

#else

void iod_notify_ready(const char *root)
{
    (void)root;
}

void iod_notify_reloading(void)
{
}

void iod_notify_reloaded(void)
{
}

void iod_notify_stopping(void)
{
}

#endif
