/* zc_munge.h - authentication by munge, for a server that has many users.
 *
 * A client puts a pledge, the handshake so far and a key it has made, into a credential that only
 * the server's user can read.  munged on the client's host adds the client's user and encrypts it
 * with the key that all hosts share; munged on the server's host decrypts it, once, for the
 * server's user.  So the server knows which user made the pledge, and for which handshake; and use
 * of the key shows the client that the server is that user.
 *
 * libmunge is opened at its first use, like libfabric, so other programs do not depend on it.  The
 * socket of munged is libmunge's default, or ZCACHE_MUNGE_SOCKET.
 *
 * Calls block briefly; any thread.
 */
#ifndef ZC_MUNGE_H
#define ZC_MUNGE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum {
    ZC_PLEDGE_PART = 32,
    ZC_MUNGE_SERVER = 0,  /* the user of a server of many users: root */
    ZC_MUNGE_LIVES_S = 60 /* lifetime of a credential */
};

/* What a credential carries. */
struct zc_pledge {
    unsigned char said[ZC_PLEDGE_PART]; /* zc_handshake.said: hash of the whole handshake */
    unsigned char key[ZC_PLEDGE_PART];  /* random */
};

/* Make and decode credentials; texts end with a NUL.  Both explain errors by zc_errorf(). */
struct zc_munge_ops {
    /* For `reader` only; *credential is allocated. */
    int (*encode)(uid_t reader, const void *bytes, size_t len, char **credential);
    /* Decodes *len bytes, at most `cap`, and their user and group.  -EACCES: not a credential, for
     * another user, expired, or decoded before. */
    int (*decode)(const char *credential, void *bytes, size_t cap, size_t *len, uid_t *uid,
                  gid_t *gid);
};

/* Sets the functions of a test, or NULL for munge's; before any other call. */
void zc_munge_replace(const struct zc_munge_ops *ops);

/* Loads munge.  0: usable; -ENOSYS: not built with it; -ENOENT, -ELIBBAD: no library.
 * Explained. */
int zc_munge_load(void);

/* Makes a credential with the pledge, for ZC_MUNGE_SERVER, of at most `cap` bytes with its NUL.  0
 * or a negative errno, explained. */
int zc_munge_credential(const struct zc_pledge *p, char *credential, size_t cap);
/* Decodes the pledge of a credential, and its user and group. */
int zc_munge_read(const char *credential, struct zc_pledge *out, uid_t *uid, gid_t *gid);

#endif
