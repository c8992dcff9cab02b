/* zc_tp_loop.h - the transport inside one process, for tests. */
#ifndef ZC_TP_LOOP_H
#define ZC_TP_LOOP_H

#include "zc_transport.h"

int zc_tp_loop_open(const struct zc_tp_config *cfg, struct zc_tp **out);

#endif
