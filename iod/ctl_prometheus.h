/* ctl_prometheus.h - counters of daemons in Prometheus' text format. */
#ifndef CTL_PROMETHEUS_H
#define CTL_PROMETHEUS_H

#include "ctl_daemon.h"

/* Prints the metrics to standard output. */
void ctl_print_prometheus(const struct ctl_daemon *d, int n);

/* Replaces `file` by the metrics, atomically.  Returns 0, or a negative errno explained by
 * zc_errorf(). */
int ctl_write_prometheus(const char *file, const struct ctl_daemon *d, int n);

#endif
