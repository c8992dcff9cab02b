/* zc_munge.c - credentials: libmunge, opened at run time, and their payload. */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_log.h"
#include "zc_munge.h"

/* ---- libmunge ---- */

#ifdef HAVE_MUNGE

#include <munge.h>

static struct {
    munge_ctx_t (*create)(void);
    void (*destroy)(munge_ctx_t);
    munge_err_t (*set)(munge_ctx_t, munge_opt_t, ...);
    const char *(*explain)(munge_ctx_t);
    munge_err_t (*encode)(char **, munge_ctx_t, const void *, int);
    munge_err_t (*decode)(const char *, munge_ctx_t, void **, int *, uid_t *, gid_t *);
} lib;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int load_status;
static char load_text[256];

static int find_symbols(void *h)
{
    const struct {
        const char *name;
        void **where;
    } symbols[] = {
        {"munge_ctx_create", (void **)&lib.create}, {"munge_ctx_destroy", (void **)&lib.destroy},
        {"munge_ctx_set", (void **)&lib.set},       {"munge_ctx_strerror", (void **)&lib.explain},
        {"munge_encode", (void **)&lib.encode},     {"munge_decode", (void **)&lib.decode},
    };

    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        *symbols[i].where = dlsym(h, symbols[i].name);
        if (!*symbols[i].where) {
            snprintf(load_text, sizeof load_text, "libmunge.so.2 has no %s", symbols[i].name);
            return -ELIBBAD;
        }
    }
    return 0;
}

static void load(void)
{
    void *h = dlopen("libmunge.so.2", RTLD_NOW | RTLD_LOCAL);

    if (h) {
        load_status = find_symbols(h);
        return;
    }
    load_status = -ENOENT;
    snprintf(load_text, sizeof load_text,
             "cannot load libmunge.so.2: %s (Debian: apt-get install libmunge2 munge)", dlerror());
}

static int munge_load(void)
{
    pthread_once(&once, load);
    return load_status ? zc_errorf(-load_status, "%s", load_text) : 0;
}

/* Returns -EACCES: munge refuses; -EIO: it could not be asked. */
static int refused(munge_ctx_t ctx, munge_err_t e, const char *said)
{
    bool asked = e != EMUNGE_SOCKET && e != EMUNGE_TIMEOUT && e != EMUNGE_SNAFU;

    return zc_errorf(asked ? EACCES : EIO, "%s: %s%s", said, lib.explain(ctx),
                     asked ? "" : "; is munged running on this host?");
}

static int new_context(munge_ctx_t *out)
{
    const char *socket = getenv("ZCACHE_MUNGE_SOCKET");
    int rc = munge_load();

    *out = NULL;
    if (rc < 0)
        return rc;
    *out = lib.create();
    if (!*out)
        return zc_errorf(ENOMEM, "no memory for a credential");
    if (socket && *socket && lib.set(*out, MUNGE_OPT_SOCKET, socket) != EMUNGE_SUCCESS) {
        lib.destroy(*out);
        return zc_errorf(EINVAL, "ZCACHE_MUNGE_SOCKET: munge does not take \"%s\"", socket);
    }
    return 0;
}

/* Encrypted, whatever the default of munged: the credential has a key in it. */
static int munge_encode_for(uid_t reader, const void *bytes, size_t len, char **credential)
{
    munge_ctx_t ctx;
    munge_err_t e;
    int rc = new_context(&ctx);

    *credential = NULL;
    if (rc < 0)
        return rc;
    e = lib.set(ctx, MUNGE_OPT_CIPHER_TYPE, MUNGE_CIPHER_AES128);
    if (e == EMUNGE_SUCCESS)
        e = lib.set(ctx, MUNGE_OPT_TTL, ZC_MUNGE_LIVES_S);
    if (e == EMUNGE_SUCCESS)
        e = lib.set(ctx, MUNGE_OPT_UID_RESTRICTION, reader);
    if (e == EMUNGE_SUCCESS)
        e = lib.encode(credential, ctx, bytes, (int)len);
    if (e != EMUNGE_SUCCESS)
        rc = refused(ctx, e, "munge cannot make a credential");
    lib.destroy(ctx);
    return rc;
}

static int munge_decode_for(const char *credential, void *bytes, size_t cap, size_t *len,
                            uid_t *uid, gid_t *gid)
{
    munge_ctx_t ctx;
    munge_err_t e;
    void *found = NULL;
    int n = 0, rc = new_context(&ctx);

    if (rc < 0)
        return rc;
    e = lib.decode(credential, ctx, &found, &n, uid, gid);
    if (e != EMUNGE_SUCCESS)
        rc = refused(ctx, e, "munge cannot vouch for this client");
    else if (n < 0 || (size_t)n > cap)
        rc = zc_errorf(EACCES, "a credential with %d bytes", n);
    *len = (size_t)n;
    if (rc == 0 && n)
        memcpy(bytes, found, *len);
    if (found) /* also when it was refused */
        sodium_memzero(found, (size_t)n);
    free(found);
    lib.destroy(ctx);
    return rc;
}

static const struct zc_munge_ops munge = {munge_encode_for, munge_decode_for};

#else

static int munge_load(void)
{
    return zc_errorf(ENOSYS, "this zcache was built without munge: install its header (Debian: "
                             "libmunge-dev) and configure again, --with-munge");
}

static int no_encode(uid_t reader, const void *bytes, size_t len, char **credential)
{
    (void)reader, (void)bytes, (void)len;
    *credential = NULL;
    return munge_load();
}

static int no_decode(const char *credential, void *bytes, size_t cap, size_t *len, uid_t *uid,
                     gid_t *gid)
{
    (void)credential, (void)bytes, (void)cap, (void)uid, (void)gid;
    *len = 0;
    return munge_load();
}

static const struct zc_munge_ops munge = {no_encode, no_decode};

#endif

/* ---- pledges ---- */

static const struct zc_munge_ops *ops = &munge;

/* Begins the payload: a credential that another program encoded is no pledge. */
static const char label[16] = "zcache pledge 1";

struct payload {
    char label[sizeof label];
    struct zc_pledge pledge;
};

void zc_munge_replace(const struct zc_munge_ops *o)
{
    ops = o ? o : &munge;
}

int zc_munge_load(void)
{
    return ops == &munge ? munge_load() : 0;
}

int zc_munge_credential(const struct zc_pledge *p, char *credential, size_t cap)
{
    struct payload payload = {.pledge = *p};
    char *made;
    int rc;

    memcpy(payload.label, label, sizeof label);
    rc = ops->encode(ZC_MUNGE_SERVER, &payload, sizeof payload, &made);
    sodium_memzero(&payload, sizeof payload);
    if (rc == 0 && (size_t)snprintf(credential, cap, "%s", made) >= cap)
        rc = zc_errorf(EMSGSIZE, "a credential of %zu bytes; at most %zu are possible",
                       strlen(made), cap - 1);
    free(made);
    return rc;
}

int zc_munge_read(const char *credential, struct zc_pledge *out, uid_t *uid, gid_t *gid)
{
    struct payload payload;
    size_t len = 0;
    int rc = ops->decode(credential, &payload, sizeof payload, &len, uid, gid);

    if (rc == 0 && (len != sizeof payload || memcmp(payload.label, label, sizeof label) != 0))
        rc = zc_errorf(EACCES, "a credential that was not made for zcache");
    if (rc == 0)
        *out = payload.pledge;
    sodium_memzero(&payload, sizeof payload);
    return rc;
}
