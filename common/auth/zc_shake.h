/* zc_shake.h - how two sides show each other that they know a secret, without saying it.
 *
 *     client                                   server
 *     HELLO, with a nonce          -->
 *                                  <--         R-HELLO, with a nonce and the server's proof
 *     AUTH, with the client's proof -->
 *
 * A proof is a keyed hash (BLAKE2b) of everything that was said before it: every byte of HELLO and
 * of R-HELLO, so that nothing in them can be changed, and nothing of another handshake be used
 * again.  The keys of the session come from the same; they are good for it alone.
 *
 *     T1 = H(secret, "hello"  HELLO)           proof of the server = H(T1, "server" R-HELLO's rest)
 *     T2 = H(T1,     "reply"  R-HELLO)         proof of the client = H(T2, "client")
 *                                              keys                = H(T2, "keys")
 *
 * H(k, x) is BLAKE2b of x, keyed with k, 32 bytes.  `keys` is a key of ChaCha20, used once, with a
 * nonce of zeros: the first 96 bytes of its stream are what zc_seal.h needs, the client's 48, then
 * the server's.  Pure functions; any thread.
 */
#ifndef ZC_SHAKE_H
#define ZC_SHAKE_H

#include <stdbool.h>
#include <stddef.h>

#include "zc_seal.h"
#include "zc_wire.h"

enum { ZC_SECRET_SIZE = 32 };

/* Whoever knows it may use the server, and may be it. */
struct zc_secret {
    unsigned char bytes[ZC_SECRET_SIZE];
};

/* Overwrites what is not needed any more, a secret, a key, or what keys are made of: before its
 * memory is freed, or its function returns. */
void zc_forget(void *p, size_t len);

/* A new one, random.  0 or a negative errno, explained. */
int zc_secret_make(struct zc_secret *out);
void zc_secret_forget(struct zc_secret *s);
/* False: nobody has made it. */
bool zc_secret_is_made(const struct zc_secret *s);

/* A nonce: nobody has used it before.  0 or a negative errno, explained. */
int zc_nonce_make(unsigned char nonce[ZC_NONCE_SIZE]);

/* How far a handshake has come: T1, then T2. */
struct zc_shake {
    unsigned char said[32];
};

/* HELLO is this message. */
void zc_shake_begin(struct zc_shake *s, const struct zc_secret *secret, const void *hello,
                    size_t len);
/* R-HELLO is this message, whose last bytes are for the proof, which is written there. */
void zc_shake_answer(struct zc_shake *s, void *reply, size_t len);
/* The same for who has got it; false: its sender does not know the secret, or it, or HELLO, was
 * changed on the way. */
bool zc_shake_check_answer(struct zc_shake *s, const void *reply, size_t len);
/* AUTH's proof; false: it is not the client's. */
void zc_shake_prove(const struct zc_shake *s, unsigned char proof[ZC_PROOF_SIZE]);
bool zc_shake_check_proof(const struct zc_shake *s, const void *proof, size_t len);

/* Where munge says who the client is (zc_munge.h), instead of AUTH: `key` came in the credential,
 * and what follows is of those who know it: T3 = H(key, "munge" T2) takes T2's place.  The secret
 * is none, but a number by which all who may read the address file know the server. */
void zc_shake_vouched(struct zc_shake *s, const unsigned char key[32]);

/* The session's keys, for either side; `local`: how the two are connected, zc_tp_is_local(). */
void zc_shake_keys(const struct zc_shake *s, bool server, bool local, struct zc_keys *out);

#endif
