/* zc_tp_ofi.h - the transport over libfabric's reliable datagrams: between hosts. */
#ifndef ZC_TP_OFI_H
#define ZC_TP_OFI_H

#include "zc_transport.h"

int zc_tp_ofi_open(const struct zc_tp_config *cfg, struct zc_tp **out);

/* Makes waits in progress() end when this descriptor is readable, too.  To call before the first
 * wait. */
void zc_tp_ofi_watch(struct zc_tp *tp, int fd);

/* Loads libfabric and has it find `provider` (as in struct zc_tp_config), so that later endpoints
 * of this process open at once.  Takes 0.3 s the first time, 0.2 of them asleep. */
int zc_tp_ofi_warm(const char *provider);

#endif
