/* iod_alive.h - whether a process of this host still runs. */
#ifndef IOD_ALIVE_H
#define IOD_ALIVE_H

#include <stdbool.h>

enum iod_process_kind { IOD_PROCESS_NONE, IOD_PROCESS_OTHER, IOD_PROCESS_ZCACHED };

/* A process that has ended and that nobody has waited for counts as none: in a container
 * without an init it stays in the table for ever. */
enum iod_process_kind iod_process_kind(long pid);

/* Whether `host` is what this host calls itself. */
bool iod_is_this_host(const char *host);

#endif
