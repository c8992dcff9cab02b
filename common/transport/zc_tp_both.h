/* zc_tp_both.h - a daemon's transport: libfabric, and the local one for processes of its host. */
#ifndef ZC_TP_BOTH_H
#define ZC_TP_BOTH_H

#include "zc_transport.h"

/* Fails when libfabric does; without the local transport everybody uses libfabric.
 *
 * With cfg->early libfabric starts while processes of the host are served already, where its
 * address can be known before (zc_tp_start.h).  When it then fails, that is logged, and they are
 * the only ones.  cfg->provider has to stay, and cfg->hidden to be set, as what peers would reach
 * memory by is not known yet; memory is registered and given back by who drives progress, until
 * libfabric is there. */
int zc_tp_both_open(const struct zc_tp_config *cfg, struct zc_tp **out);

#endif
