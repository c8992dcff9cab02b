/* zc_addrfile.h - the small text file by which a daemon is found.
 *
 *     zcache-daemon 1
 *     protocol 11
 *     provider tcp;ofi_rxm
 *     address 0200a3...        (hexadecimal, as fi_getname gives it)
 *     host n17
 *     pid 4711
 *     started 1234567          (zc_process_started(); may be missing)
 *     host_boot 7d1c...-...    (the kernel's boot id; may be missing, as may:)
 *     pid_ns 4026531836        (inode of the PID namespace that `pid` belongs to)
 *     boot 1f2e3d4c5b6a7988
 *     local 7a63...            (for processes of this host, see zc_tp_local.h; may be missing)
 *     secret 5c0f...           (hexadecimal: its holders may use the daemon; or)
 *     munge 5c0f...            (hexadecimal: identifies the daemon; munge authenticates)
 *     kind aggregator          (a dedicated aggregator; missing for a daemon)
 *     root /scratch
 *
 * It is written beside its final name and renamed, so a reader sees all of it or nothing.  Because
 * of the secret only its owner may read it (mode 0600); a file that others can read is refused.
 * That of a daemon of many users has no secret, mode 0644, and belongs to root, like the daemon: a
 * user able to write it could direct others to a forged daemon.
 */
#ifndef ZC_ADDRFILE_H
#define ZC_ADDRFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zc_handshake.h"
#include "zc_process.h"
#include "zc_wire.h"

struct zc_addrfile {
    unsigned protocol;
    char provider[64];
    unsigned char address[ZC_MAX_ADDRESS];
    size_t address_len;
    unsigned char local[ZC_MAX_ADDRESS];
    size_t local_len; /* 0: none */
    char host[256];
    long pid;
    uint64_t started;          /* 0: unknown */
    struct zc_pid_space space; /* of `pid`; empty and 0: unknown */
    uint64_t boot_id;
    struct zc_secret secret;
    bool munge;      /* `secret` is only a public number; zc_net_config.munge has to be set */
    bool aggregator; /* a dedicated one; else a daemon */
    char root[ZC_MAX_PATH];
};

/* Writes the file, replacing any other. */
int zc_addrfile_write(const char *path, const struct zc_addrfile *a);

/* Writes the file in place of that of boot id `before`; 0: of none or an empty one.  -EBUSY: there
 * is another one, which stays.  It does not depend on locks, which not all shared directories
 * support; of two that replace the same file concurrently, one succeeds.  For a moment there is no
 * file. */
int zc_addrfile_replace(const char *path, const struct zc_addrfile *a, uint64_t before);

/* Reads a file.  -ENOENT, -EACCES, -EPERM (others may read or write it, or it is another user's),
 * -EINVAL (not such a file, or incomplete), explained by zc_errorf(). */
int zc_addrfile_read(const char *path, struct zc_addrfile *out);
/* The same without the secret, to identify the daemon.  A caller of zc_addrfile_read() overwrites
 * the secret after use (zc_secret_forget()). */
int zc_addrfile_probe(const char *path, struct zc_addrfile *out);

/* Returns the address to use, of *len bytes, inside `a`: the local one if wanted and usable. */
const void *zc_addrfile_address(const struct zc_addrfile *a, bool local, size_t *len);
bool zc_addrfile_is_near(const struct zc_addrfile *a); /* the local one is usable */

/* Fills in this process: host, process id, and its PID namespace and boot. */
void zc_addrfile_here(struct zc_addrfile *a);

/* Whether a process id in the file is meaningful here: host name, boot and PID namespace are this
 * process's.  Else only the process itself can be asked. */
bool zc_addrfile_pid_counts(const struct zc_addrfile *a);
/* It is meaningful, and its process has ended. */
bool zc_addrfile_is_gone(const struct zc_addrfile *a);

/* Whether the daemon's local socket exists: 1, 0, or a negative errno if that cannot be known from
 * here (zc_tp_local_listens()).  It exists from before the file is written until all is written
 * back, in whatever PID namespace the daemon runs, even if it is stopped. */
int zc_addrfile_listens(const struct zc_addrfile *a);

/* Whether it listens at an address that only its own host reaches. */
bool zc_addrfile_is_loopback(const struct zc_addrfile *a);

/* Returns 0, or -EHOSTUNREACH, explained with the remedy: the daemon listens on its own host only,
 * and this process is on another one, or in another network namespace.  `path`: for the message. */
int zc_addrfile_check_reach(const char *path, const struct zc_addrfile *a);

/* Removes the file if it still is that of `boot_id`; never a later one. */
void zc_addrfile_remove(const char *path, uint64_t boot_id);

/* Lists the address files named by ZCACHE_DAEMONS: files and directories (all "*.addr" in them, in
 * alphabetical order, numbers by value), comma-separated.  *paths is one allocation that the caller
 * frees.  Returns how many, or a negative errno. */
int zc_addrfile_list(const char *daemons, char ***paths);

#endif
