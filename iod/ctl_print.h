/* ctl_print.h - answers for people. */
#ifndef CTL_PRINT_H
#define CTL_PRINT_H

#include "ctl_daemon.h"

/* What each answers on standard output, failures on standard error. */
void ctl_print(const struct ctl_command *cmd, struct ctl_daemon *d, int n, bool verbose);

/* Why daemons did not answer, on standard error. */
void ctl_print_failures(const struct ctl_daemon *d, int n);

/* What a counter counts; "" for those of another version. */
const char *ctl_help_of(const char *name);

/* The same as one JSON object on standard output, failures in it. */
void ctl_print_json(const struct ctl_command *cmd, struct ctl_daemon *d, int n);
/* The same where no daemon was asked, and why; cmd may be NULL. */
void ctl_print_json_error(const struct ctl_command *cmd, const char *error);

#endif
