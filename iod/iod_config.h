/* iod_config.h - settings of the daemon: command line and configuration file. */
#ifndef IOD_CONFIG_H
#define IOD_CONFIG_H

#include "zc_options.h"

/* Fills *s: defaults, environment, then the file of --config, then the command line.
 * 0: go on; 1: --help or --version was answered; negative: explained by zc_errorf(), in
 * words that name file and line where there is one.  *s may be freed in any case. */
int iod_config_parse(int argc, char **argv, struct zc_settings *s);

/* Checks the values together, and against this host.  Makes paths absolute.  Returns 0, or a
 * negative errno explained with the remedy. */
int iod_config_check(struct zc_settings *s);

#endif
