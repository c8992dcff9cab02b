/* zc_net.c - a process's endpoint towards servers, and its clients. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "zc_log.h"
#include "zc_net_internal.h"
#include "zc_thread.h"
#include "zc_tp_local.h"
#include "zc_tp_ofi.h"
#include "zc_whoami.h"

enum {
    RECEIVES = 64, /* receive buffers */
    BACKGROUND_MS_MAX = 1000,
};

bool zc_net_severed(struct zc_net *n)
{
    bool yes;

    zc_lock_get(&n->lock);
    yes = n->severed;
    zc_lock_put(&n->lock);
    return yes;
}

uint64_t zc_net_refused(struct zc_net *n)
{
    uint64_t count;

    zc_lock_get(&n->lock);
    count = n->refused;
    zc_lock_put(&n->lock);
    return count;
}

/* ---- clients ---- */

void zc_net_add(struct zc_net *n, struct zc_client *c)
{
    zc_lock_get(&n->lock);
    zc_list_add_tail(&n->clients, &c->link);
    zc_lock_put(&n->lock);
}

void zc_net_accepted(struct zc_client *c, const struct zc_msg *reply)
{
    struct zc_net *n = c->net;
    uint64_t silence = reply->silence_ms * ZC_NS_PER_MS;

    zc_lock_get(&n->lock);
    if (silence > n->timeout_ns || silence == 0)
        silence = n->timeout_ns;
    c->ping_ns = silence / 4;
    if (n->background_ns > silence / 8)
        n->background_ns = silence / 8;
    pthread_cond_broadcast(&n->stop_cond);
    c->boot_id = reply->boot_id;
    c->identity = reply->identity;
    c->page_size = reply->page_size;
    c->max_inline = reply->max_inline < ZC_MAX_INLINE ? reply->max_inline : ZC_MAX_INLINE;
    c->credits = reply->credits ? reply->credits : 1;
    if (c->credits > ZC_SESSION_SLOTS - 1)
        c->credits = ZC_SESSION_SLOTS - 1;
    c->session = reply->session;
    c->unanswered = 0;
    zc_lock_put(&n->lock);
}

void zc_net_remove(struct zc_net *n, struct zc_client *c)
{
    bool removed;

    zc_lock_get(&n->lock);
    while (c->sending || (c->broken.rc && !c->removed))
        zc_cond_wait(&n->changed, &n->lock);
    zc_list_del(&c->link);
    removed = c->removed;
    zc_lock_put(&n->lock);
    if (!removed)
        zc_tp_peer_remove(n->tp, c->peer);
}

/* ---- create and destroy ---- */

static zc_tp_open_fn *transport_of(const struct zc_net_config *cfg)
{
    return zc_tp_local_is_address(cfg->toward, cfg->toward_len) ? zc_tp_local_open : zc_tp_ofi_open;
}

int zc_net_create(const struct zc_net_config *cfg, struct zc_net **out)
{
    struct zc_tp_config tp = {.provider = cfg->provider,
                              .toward = cfg->toward,
                              .toward_len = cfg->toward_len,
                              .max_msg = ZC_MAX_MESSAGE,
                              .nrecv = RECEIVES,
                              .recv = zc_call_on_message,
                              .peer_error = zc_net_on_peer_error};
    struct zc_net *n = calloc(1, sizeof *n);
    int rc;

    if (!n)
        return zc_errorf(ENOMEM, "no memory for an endpoint");
    tp.arg = n;
    n->timeout_ns =
        (cfg->timeout_ms ? cfg->timeout_ms : ZC_DEFAULT_TIMEOUT_S * 1000) * ZC_NS_PER_MS;
    n->background_ns = n->timeout_ns / 8;
    if (n->background_ns > BACKGROUND_MS_MAX * ZC_NS_PER_MS)
        n->background_ns = BACKGROUND_MS_MAX * ZC_NS_PER_MS;
    n->munge = cfg->munge;
    zc_whoami(cfg->name ? cfg->name : "?", n->name, sizeof n->name);
    zc_lock_init(&n->lock, ZC_ORDER_NET);
    if (getrandom(&n->next_count, sizeof n->next_count, 0) != sizeof n->next_count)
        n->next_count = zc_now(); /* only HELLO's tag has no MAC */
    n->next_count >>= 17;         /* of 48 bits: 2^47 are left */
    zc_cond_init(&n->changed);
    zc_cond_init(&n->stop_cond);
    zc_list_init(&n->clients);
    rc = (cfg->open_transport ? cfg->open_transport : transport_of(cfg))(&tp, &n->tp);
    if (rc == 0)
        rc = zc_thread_start(&n->thread, "zc-heartbeat", zc_net_background, n);
    n->have_thread = rc == 0;
    if (rc) {
        zc_net_destroy(n);
        return rc;
    }
    *out = n;
    return 0;
}

void zc_net_destroy(struct zc_net *n)
{
    zc_lock_get(&n->lock);
    n->stop = true;
    pthread_cond_broadcast(&n->stop_cond);
    zc_lock_put(&n->lock);
    if (n->have_thread)
        pthread_join(n->thread, NULL);
    if (n->tp)
        zc_tp_close(n->tp);
    zc_lock_destroy(&n->lock);
    pthread_cond_destroy(&n->changed);
    pthread_cond_destroy(&n->stop_cond);
    free(n);
}
