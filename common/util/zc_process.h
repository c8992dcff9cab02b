/* zc_process.h - whether a process of this host still runs. */
#ifndef ZC_PROCESS_H
#define ZC_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

enum zc_process_kind { ZC_PROCESS_NONE, ZC_PROCESS_OTHER, ZC_PROCESS_ZCACHED };

/* A process that has ended and that nobody has waited for counts as none: in a container
 * without an init it stays in the table for ever. */
enum zc_process_kind zc_process_kind(long pid);

/* When it was started, in clock ticks after the boot (proc(5), field 22 of stat): numbers are used
 * again, both together are not.  0: the kernel does not say. */
uint64_t zc_process_started(long pid);

/* The process of that number, started then (0: nobody knows when), does not run any more. */
bool zc_process_is_gone(long pid, uint64_t started);

/* Whether `host` is what this host calls itself. */
bool zc_is_this_host(const char *host);

#endif
