/* zc_handshake.h - mutual proof that client and server know a secret, without sending it.
 *
 *     client                                   server
 *     HELLO, with a nonce          -->
 *                                  <--         R-HELLO, with a nonce and the server's proof
 *     AUTH, with the client's proof -->
 *
 * A proof is a keyed hash (BLAKE2b) of every byte of HELLO and R-HELLO before it, so that nothing
 * in them can be changed and nothing of another handshake replayed.  The session's keys are derived
 * from the same hash and belong to this session only.
 *
 *     T1 = H(secret, "hello"  HELLO)           proof of the server = H(T1, "server" R-HELLO's rest)
 *     T2 = H(T1,     "reply"  R-HELLO)         proof of the client = H(T2, "client")
 *                                              keys                = H(T2, "keys")
 *
 * H(k, x) is BLAKE2b of x, keyed with k, 32 bytes.  `keys` is a key of ChaCha20, used once, with a
 * nonce of zeros: the first 96 bytes of its stream are what zc_mac.h needs, the client's 48, then
 * the server's.  Pure functions; any thread.
 */
#ifndef ZC_HANDSHAKE_H
#define ZC_HANDSHAKE_H

#include <stdbool.h>
#include <stddef.h>

#include "zc_mac.h"
#include "zc_wire.h"

enum { ZC_SECRET_SIZE = 32 };

/* Its holders may connect to the server, or act as the server. */
struct zc_secret {
    unsigned char bytes[ZC_SECRET_SIZE];
};

/* Overwrites a secret or key material, before its memory is freed or its function returns. */
void zc_forget(void *p, size_t len);

/* Makes a random secret.  0 or a negative errno, explained. */
int zc_secret_make(struct zc_secret *out);
void zc_secret_forget(struct zc_secret *s);
/* Whether `s` was made; false: it is all zeros. */
bool zc_secret_is_made(const struct zc_secret *s);

/* Makes a nonce, a random number used once.  0 or a negative errno, explained. */
int zc_nonce_make(unsigned char nonce[ZC_NONCE_SIZE]);

/* State of a handshake: T1, then T2. */
struct zc_handshake {
    unsigned char said[32];
};

/* Begins with the encoded HELLO. */
void zc_handshake_begin(struct zc_handshake *s, const struct zc_secret *secret, const void *hello,
                        size_t len);
/* Server: takes the encoded R-HELLO and writes the proof into its last bytes. */
void zc_handshake_answer(struct zc_handshake *s, void *reply, size_t len);
/* Client: checks the received R-HELLO.  False: its sender does not know the secret, or HELLO or
 * R-HELLO was changed on the way. */
bool zc_handshake_check_answer(struct zc_handshake *s, const void *reply, size_t len);
/* Makes, and checks, the proof of AUTH. */
void zc_handshake_prove(const struct zc_handshake *s, unsigned char proof[ZC_PROOF_SIZE]);
bool zc_handshake_check_proof(const struct zc_handshake *s, const void *proof, size_t len);

/* With munge (zc_munge.h), instead of AUTH: `key` came in the credential, and T3 = H(key, "munge"
 * T2) replaces T2, so that only holders of the key have the session's keys.  The secret is then no
 * secret, but a number that identifies the server to all readers of the address file. */
void zc_handshake_confirmed(struct zc_handshake *s, const unsigned char key[32]);

/* The session's keys, for either side; `local`: how the two are connected, zc_tp_is_local(). */
void zc_handshake_keys(const struct zc_handshake *s, bool server, bool local, struct zc_keys *out);

#endif
