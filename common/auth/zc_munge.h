/* zc_munge.h - who a client is, where a server has many users: munge says it.
 *
 * A client puts a pledge into a credential that one user only can read, the server's: what both
 * have said so far, and a key that it has made.  munged, on the client's host, adds who the client
 * is, and seals it with the key that all hosts share; munged on the server's host opens it, once,
 * for that user.  So the server knows who made the pledge, and that it was made for this handshake
 * and no other one; and the client, who knows the key besides, hears by its use that the server is
 * that user.
 *
 * libmunge is opened when it is first needed, as libfabric is: programs that never need it do not
 * depend on it.  The socket of munged is libmunge's, or what ZCACHE_MUNGE_SOCKET names.
 *
 * Calls block, for moments; any thread.
 */
#ifndef ZC_MUNGE_H
#define ZC_MUNGE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum {
    ZC_PLEDGE_PART = 32,
    ZC_MUNGE_SERVER = 0,  /* the user that a server of many users is: root */
    ZC_MUNGE_LIVES_S = 60 /* a credential is good for so long */
};

/* What a credential carries. */
struct zc_pledge {
    unsigned char said[ZC_PLEDGE_PART]; /* zc_shake.said: all of the handshake */
    unsigned char key[ZC_PLEDGE_PART];  /* random */
};

/* What makes and reads credentials; texts end with a NUL.  Both explain by zc_errorf() why not. */
struct zc_munge_ops {
    /* For `reader` alone; *credential is allocated. */
    int (*encode)(uid_t reader, const void *bytes, size_t len, char **credential);
    /* At most `cap` bytes, *len of them, and who encoded them.  -EACCES: it is none, not for us,
     * too old, or was read before. */
    int (*decode)(const char *credential, void *bytes, size_t cap, size_t *len, uid_t *uid,
                  gid_t *gid);
};

/* Those of tests, or NULL for munge's; before anything else is called. */
void zc_munge_replace(const struct zc_munge_ops *ops);

/* 0: it can be used; -ENOSYS: not built with it; -ENOENT, -ELIBBAD: no library. Explained. */
int zc_munge_load(void);

/* A credential with the pledge, for ZC_MUNGE_SERVER, of at most `cap` bytes with its NUL.  0 or a
 * negative errno, explained. */
int zc_munge_vouch(const struct zc_pledge *p, char *credential, size_t cap);
/* The pledge in a credential, and whose it is. */
int zc_munge_read(const char *credential, struct zc_pledge *out, uid_t *uid, gid_t *gid);

#endif
