/* zc_process.h - whether a process of this host still runs. */
#ifndef ZC_PROCESS_H
#define ZC_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

enum zc_process_kind { ZC_PROCESS_NONE, ZC_PROCESS_OTHER, ZC_PROCESS_ZCACHED };

/* A zombie counts as ZC_PROCESS_NONE: in a container without an init it is never reaped. */
enum zc_process_kind zc_process_kind(long pid);

/* Returns the id of a thread of process `pid` that lives; 0: none that can be seen.  It stands for
 * the process where a thread is asked, as by process_vm_readv(2) or in /proc/ID/fd: a main thread
 * that has left by pthread_exit() is a zombie without memory and descriptors, and the process goes
 * on. */
long zc_process_thread(long pid);

/* Returns its start time in clock ticks after the boot (proc(5), field 22 of stat), whatever the
 * time namespace of this process: a process id may be reused, but not with the same start time.
 * 0: unknown. */
uint64_t zc_process_started(long pid);

/* Whether the process `pid` that was started at `started` (0: unknown) has ended. */
bool zc_process_is_gone(long pid, uint64_t started);

/* The scope of process ids: one kernel since its boot, one PID namespace.  Fields are empty or 0 if
 * unknown, also if /proc shows another namespace than the process's. */
struct zc_pid_space {
    char boot[40]; /* /proc/sys/kernel/random/boot_id */
    uint64_t ns;   /* inode of /proc/self/ns/pid */
};

/* Returns this process's. */
void zc_pid_space(struct zc_pid_space *out);

/* Whether both are known to be of the same kernel and boot; and of the same namespace, too. */
bool zc_pid_space_same_boot(const struct zc_pid_space *a, const struct zc_pid_space *b);
bool zc_pid_space_same(const struct zc_pid_space *a, const struct zc_pid_space *b);

/* Whether `host` is the name of this host. */
bool zc_is_this_host(const char *host);

#endif
