/* zcache_network.c - what connections of this process are made with. */
#include "config.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "zc_fabric.h"
#include "zc_lock.h"
#include "zc_tp_ofi.h"
#include "zc_transport.h"
#include "zcache_network.h"

static struct zc_lock lock = ZC_LOCK_INITIALIZER(ZC_ORDER_PROCESS);
static struct {
    bool known;
    uint64_t timeout;
    char *provider; /* for ever */
} network;          /* under the lock */

const char *zcache_network_provider(const struct zc_settings *s)
{
    return s->provider && strcmp(s->provider, ZC_DEFAULT_PROVIDER) ? s->provider : NULL;
}

static const char *provider_of(const char *s)
{
    return s ? s : "";
}

void zcache_network_keep(const struct zc_settings *s)
{
    zc_lock_get(&lock);
    if (!network.known) {
        network.timeout = s->timeout;
        network.provider = s->provider ? strdup(s->provider) : NULL;
        network.known = true;
    }
    zc_lock_put(&lock);
}

bool zcache_network_adopt(struct zc_settings *s)
{
    bool other = false;

    zc_lock_get(&lock);
    if (network.known && (network.timeout != s->timeout ||
                          strcmp(provider_of(network.provider), provider_of(s->provider)))) {
        other = true;
        s->timeout = network.timeout;
        free(s->provider);
        s->provider = network.provider ? strdup(network.provider) : NULL;
    }
    zc_lock_put(&lock);
    return other;
}

int64_t zcache_network_timeout(void)
{
    int64_t ms;

    zc_lock_get(&lock);
    ms = network.known ? (int64_t)network.timeout : INT64_MAX;
    zc_lock_put(&lock);
    return ms;
}

static int64_t warm(void *provider)
{
    return zc_tp_ofi_warm(*(char *)provider ? provider : NULL);
}

void zcache_network_warm(const struct zc_settings *s, struct zcache_async_group *together)
{
    static const struct zcache_async_kind kind = {warm, free};
    static bool begun;
    char *provider = strdup(provider_of(zcache_network_provider(s)));
    struct zcache_async_op *j = NULL;

    zc_fabric_prepare();
    if (provider && !__atomic_exchange_n(&begun, true, __ATOMIC_RELAXED))
        j = zcache_async_new(&kind, provider, together);
    if (!j) {
        free(provider);
        return;
    }
    zcache_async_start(j);
    zcache_async_release(j);
}

bool zcache_network_is_loss(int rc)
{
    return rc == -ETIMEDOUT || rc == -ECONNRESET || rc == -ECONNREFUSED || rc == -ENOTCONN ||
           rc == -EPIPE || rc == -ESHUTDOWN;
}
