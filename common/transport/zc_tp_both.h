/* zc_tp_both.h - a daemon's transport: libfabric, and the local one for processes of its host. */
#ifndef ZC_TP_BOTH_H
#define ZC_TP_BOTH_H

#include "zc_transport.h"

/* Fails when libfabric does; without the local transport everybody uses libfabric. */
int zc_tp_both_open(const struct zc_tp_config *cfg, struct zc_tp **out);

#endif
