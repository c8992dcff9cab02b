/* zc_handshake.c - handshakes: the transcript, proofs, keys. */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <sodium.h>
#include <string.h>
#include <sys/random.h>

#include "zc_handshake.h"
#include "zc_log.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* libsodium works without this call as well, with slower functions. */
static void prepare(void)
{
    if (sodium_init() < 0)
        zc_debug("sodium_init failed");
}

void zc_forget(void *p, size_t len)
{
    sodium_memzero(p, len);
}

/* ---- random numbers ---- */

static int fill(void *buf, size_t len, const char *what)
{
    if (getrandom(buf, len, 0) == (ssize_t)len)
        return 0;
    return zc_errorf(errno, "no random numbers for %s: %s", what, strerror(errno));
}

int zc_secret_make(struct zc_secret *out)
{
    return fill(out->bytes, sizeof out->bytes, "a secret");
}

void zc_secret_forget(struct zc_secret *s)
{
    sodium_memzero(s->bytes, sizeof s->bytes);
}

bool zc_secret_is_made(const struct zc_secret *s)
{
    return !sodium_is_zero(s->bytes, sizeof s->bytes);
}

int zc_nonce_make(unsigned char nonce[ZC_NONCE_SIZE])
{
    return fill(nonce, ZC_NONCE_SIZE, "a nonce");
}

/* ---- the transcript ---- */

/* Stack below a function that calls libsodium's hash, bytes: the compression function leaves its
 * state there, which is the result. */
enum { HASH_STACK = 4096 };

/* H(key, label bytes); `out` may be the key. */
static void hash(unsigned char out[32], const unsigned char key[32], const char *label,
                 const void *bytes, size_t len)
{
    crypto_generichash_state h;

    pthread_once(&once, prepare);
    crypto_generichash_init(&h, key, 32, 32);
    crypto_generichash_update(&h, (const unsigned char *)label, strlen(label) + 1);
    if (len)
        crypto_generichash_update(&h, bytes, len);
    crypto_generichash_final(&h, out, 32);
    sodium_memzero(&h, sizeof h);
    sodium_stackzero(HASH_STACK);
}

void zc_handshake_begin(struct zc_handshake *s, const struct zc_secret *secret, const void *hello,
                        size_t len)
{
    hash(s->said, secret->bytes, "zcache hello", hello, len);
}

void zc_handshake_answer(struct zc_handshake *s, void *reply, size_t len)
{
    unsigned char *proof = (unsigned char *)reply + len - ZC_PROOF_SIZE;

    hash(proof, s->said, "server", reply, len - ZC_PROOF_SIZE);
    hash(s->said, s->said, "reply", reply, len);
}

bool zc_handshake_check_answer(struct zc_handshake *s, const void *reply, size_t len)
{
    unsigned char proof[ZC_PROOF_SIZE];
    bool right;

    if (len < ZC_PROOF_SIZE)
        return false;
    hash(proof, s->said, "server", reply, len - ZC_PROOF_SIZE);
    right =
        sodium_memcmp(proof, (const unsigned char *)reply + len - ZC_PROOF_SIZE, sizeof proof) == 0;
    sodium_memzero(proof, sizeof proof); /* the client accepts it from any sender */
    if (right)
        hash(s->said, s->said, "reply", reply, len);
    return right;
}

void zc_handshake_prove(const struct zc_handshake *s, unsigned char proof[ZC_PROOF_SIZE])
{
    hash(proof, s->said, "client", NULL, 0);
}

bool zc_handshake_check_proof(const struct zc_handshake *s, const void *proof, size_t len)
{
    unsigned char right[ZC_PROOF_SIZE];
    bool same;

    zc_handshake_prove(s, right);
    same = len == sizeof right && sodium_memcmp(right, proof, sizeof right) == 0;
    sodium_memzero(right, sizeof right);
    return same;
}

void zc_handshake_confirmed(struct zc_handshake *s, const unsigned char key[32])
{
    struct zc_handshake before = *s;

    hash(s->said, key, "munge", before.said, sizeof before.said);
    sodium_memzero(&before, sizeof before);
}

void zc_handshake_keys(const struct zc_handshake *s, bool server, bool local, struct zc_keys *out)
{
    static const unsigned char nonce[crypto_stream_chacha20_NONCEBYTES];
    unsigned char from[32];
    struct zc_mac_key both[2]; /* the client's, the server's */

    hash(from, s->said, "keys", NULL, 0);
    crypto_stream_chacha20((unsigned char *)both, sizeof both, nonce, from);
    out->ours = both[server];
    out->theirs = both[!server];
    out->brief = local;
    sodium_memzero(from, sizeof from);
    sodium_memzero(both, sizeof both);
}
