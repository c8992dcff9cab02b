/* ctl_print.h - prints the answers of daemons, as tables or JSON. */
#ifndef CTL_PRINT_H
#define CTL_PRINT_H

#include "ctl_daemon.h"

/* Prints answers to standard output, and errors to standard error. */
void ctl_print(const struct ctl_command *cmd, struct ctl_daemon *d, int n, bool verbose);

/* Prints the errors of daemons to standard error. */
void ctl_print_failures(const struct ctl_daemon *d, int n);

/* Prints answers and errors as one JSON object to standard output. */
void ctl_print_json(const struct ctl_command *cmd, struct ctl_daemon *d, int n);
/* Prints such an object for a command that asked no daemon, with the error; cmd may be NULL. */
void ctl_print_json_error(const struct ctl_command *cmd, const char *error);

#endif
