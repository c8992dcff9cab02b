/* zc_net_drive.c - which thread drives the progress of an endpoint.
 *
 * Progress has one driver at a time.  A thread that waits for a call becomes the driver if
 * there is none, else it sleeps until its call is done or the driver has left; leaving, a
 * driver wakes the sleepers so that one of them takes over.  The background thread drives
 * briefly now and then, for heartbeats, when no other thread did.
 */
#include "config.h"

#include "zc_net_internal.h"

enum { CONNECT_MS = 1 }; /* interval of deadline checks while connecting */

/* Drives for up to `ms`; call with the lock held and no driver. */
static void drive(struct zc_net *n, int ms)
{
    int rc;

    zc_assert_held(&n->lock);
    n->driven = true;
    zc_lock_put(&n->lock);
    rc = zc_tp_progress(n->tp, ms);
    zc_lock_get(&n->lock);
    n->last_driven = zc_now();
    if (rc < 0)
        zc_list_each (&n->clients, cn)
            zc_net_failed(zc_list_entry(cn, struct zc_client, link), rc, NULL, 0);
    /* also when there is something to handle all the time */
    if (rc <= 0 || n->last_driven - n->last_look > ZC_DRIVE_MS * ZC_NS_PER_MS)
        zc_net_check_deadlines(n);
    n->driven = false;
}

void zc_net_leave(struct zc_net *n)
{
    zc_assert_held(&n->lock);
    if (!n->driven)
        pthread_cond_broadcast(&n->changed);
}

/* Connections are made while progress is driven, without an event that would wake us. */
static bool connecting(struct zc_net *n)
{
    zc_list_each (&n->clients, cn) {
        struct zc_client *c = zc_list_entry(cn, struct zc_client, link);

        if (!c->session && !c->broken.rc)
            return true;
    }
    return false;
}

void zc_net_wait_for_change(struct zc_net *n)
{
    zc_assert_held(&n->lock);
    if (n->driven)
        zc_cond_wait(&n->changed, &n->lock);
    else
        drive(n, connecting(n) ? CONNECT_MS : ZC_DRIVE_MS);
}

/* ---- the background thread ---- */

/* A client that should say it is alive; NULL: none. */
static struct zc_client *quiet_client(struct zc_net *n, uint64_t now)
{
    zc_list_each (&n->clients, cn) {
        struct zc_client *c = zc_list_entry(cn, struct zc_client, link);

        if (!c->broken.rc && c->session && now - c->last_sent > c->ping_ns)
            return c;
    }
    return NULL;
}

/* Sends a PING that no thread waits for; its deadline detects silence like any call's. */
static void send_heartbeat(struct zc_net *n, struct zc_client *c)
{
    struct zc_msg m = {.type = ZC_T_PING, .session = c->session, .tag = zc_tag(0, ++n->next_count)};
    unsigned char buf[ZC_HEADER_SIZE + ZC_MAC_SIZE];
    int len = zc_msg_encode(&m, buf, sizeof buf);
    zc_peer peer = c->peer;

    zc_assert_held(&n->lock);
    c->pinged = m.tag;
    c->last_sent = zc_now();
    if (!c->unanswered)
        c->unanswered = c->last_sent;
    c->sending++;
    zc_lock_put(&n->lock);
    if (len > 0) {
        zc_mac_put(&c->keys, buf, (size_t)len);
        zc_tp_send(n->tp, peer, buf, (size_t)len);
    }
    zc_lock_get(&n->lock);
    zc_net_sent(c);
}

void *zc_net_background(void *net)
{
    struct zc_net *n = net;

    zc_lock_get(&n->lock);
    while (!n->stop) {
        uint64_t now = zc_now();
        struct zc_client *c = quiet_client(n, now);

        if (c)
            send_heartbeat(n, c);
        else if (!n->driven && !zc_list_empty(&n->clients) &&
                 now - n->last_driven >= n->background_ns) {
            drive(n, 0);
            zc_net_leave(n);
        } else
            zc_cond_wait_until(&n->stop_cond, &n->lock, now + n->background_ns);
    }
    zc_lock_put(&n->lock);
    return NULL;
}
