/* zc_addrfile.h - the small text file by which a daemon is found.
 *
 *     zcache-daemon 1
 *     protocol 7
 *     provider tcp;ofi_rxm
 *     address 0200a3...        (hexadecimal, as fi_getname gives it)
 *     host n17
 *     pid 4711
 *     started 1234567          (zc_process_started(); may be missing)
 *     boot 1f2e3d4c5b6a7988
 *     local 7a63...            (for processes of this host, see zc_tp_local.h; may be missing)
 *     secret 5c0f...           (hexadecimal: who knows it may use the daemon; or)
 *     munge 5c0f...            (hexadecimal: by which it is known; munge says who may use it)
 *     root /scratch
 *
 * It is written beside its final name and renamed, so a reader sees all of it or nothing.  For its
 * secret it is its owner's alone (mode 0600), and of no use to anybody when it is not.  That of a
 * daemon of many users has no secret, is for all to read (mode 0644), and root's, as the daemon is:
 * who could write it could lead others to a daemon of his own.
 */
#ifndef ZC_ADDRFILE_H
#define ZC_ADDRFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zc_shake.h"
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
    uint64_t started; /* 0: not known */
    uint64_t boot_id;
    struct zc_secret secret;
    bool munge; /* that is none, but a number; zc_net_config.munge is to be set */
    char root[ZC_MAX_PATH];
};

/* Whatever is there. */
int zc_addrfile_write(const char *path, const struct zc_addrfile *a);

/* In the place of the file of boot id `before`, or with 0 of none and of an empty one.  -EBUSY:
 * there is another, which stays.  It does not depend on locks, which not all shared directories
 * have; of two that replace the same one at the same time, one does.  For a moment there is no
 * file. */
int zc_addrfile_replace(const char *path, const struct zc_addrfile *a, uint64_t before);

/* -ENOENT, -EACCES, -EPERM (others may read it, or write it, or it is another user's), -EINVAL (not
 * such a file, or incomplete), explained by zc_errorf(). */
int zc_addrfile_read(const char *path, struct zc_addrfile *out);
/* The same without the secret, for who only wants to know whose file it is. Of who reads the secret
 * it is to be forgotten (zc_secret_forget()). */
int zc_addrfile_look(const char *path, struct zc_addrfile *out);

/* The address to use, of *len bytes, inside `a`: the local one where it is wanted and works. */
const void *zc_addrfile_address(const struct zc_addrfile *a, bool local, size_t *len);
bool zc_addrfile_is_near(const struct zc_addrfile *a); /* it works */

/* -EHOSTUNREACH, explained with the remedy: the daemon listens on its own host only, which is not
 * this one.  `path`: the file's. */
int zc_addrfile_check_reach(const char *path, const struct zc_addrfile *a);

/* Removes the file if it still is the one of `boot_id`; no other that comes meanwhile. */
void zc_addrfile_remove(const char *path, uint64_t boot_id);

/* The address files named by ZCACHE_DAEMONS: files and directories (all "*.addr" in them,
 * in alphabetical order, numbers by value), comma-separated.  *paths is one allocation the
 * caller frees.  Returns how many, or a negative errno. */
int zc_addrfile_list(const char *daemons, char ***paths);

#endif
