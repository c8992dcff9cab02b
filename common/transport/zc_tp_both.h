/* zc_tp_both.h - a daemon's transport: libfabric, and the local one for processes of its host. */
#ifndef ZC_TP_BOTH_H
#define ZC_TP_BOTH_H

#include "zc_transport.h"

/* Opens both.  Fails if libfabric does; without the local transport all clients use libfabric.
 *
 * With cfg->early libfabric starts while processes of the host are served already, if its address
 * can be known before (zc_tp_start.h).  If it then fails, that is logged, and only they are served.
 * cfg->provider has to stay valid, and cfg->hidden has to be set, as remote keys are not known yet;
 * until libfabric has started, memory is registered and released by the thread that drives
 * progress. */
int zc_tp_both_open(const struct zc_tp_config *cfg, struct zc_tp **out);

#endif
