/* zc_tp_ofi.h - the transport over libfabric's reliable datagrams: between hosts. */
#ifndef ZC_TP_OFI_H
#define ZC_TP_OFI_H

#include "zc_transport.h"

int zc_tp_ofi_open(const struct zc_tp_config *cfg, struct zc_tp **out);

/* A wait in progress() also ends when this descriptor is readable.  Before anybody waits. */
void zc_tp_ofi_watch(struct zc_tp *tp, int fd);

/* Loads libfabric and has it find `provider` (as in struct zc_tp_config), so that endpoints of this
 * process are opened at once from then on. Takes 0.3 s the first time, 0.2 of them asleep. */
int zc_tp_ofi_warm(const char *provider);

#endif
