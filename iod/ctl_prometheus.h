/* ctl_prometheus.h - what daemons count, in Prometheus' text format. */
#ifndef CTL_PROMETHEUS_H
#define CTL_PROMETHEUS_H

#include "ctl_daemon.h"

/* What is printed needs two answers of a daemon: its `talk`. */
int ctl_prometheus_ask(struct ctl_daemon *d, struct zc_client *c);

/* On standard output, why a daemon did not answer on standard error. */
void ctl_print_prometheus(const struct ctl_daemon *d, int n);

/* Into `file`, which has all of it or is as it was: 0, or a negative errno explained by
 * zc_errorf(). */
int ctl_write_prometheus(const char *file, const struct ctl_daemon *d, int n);

#endif
