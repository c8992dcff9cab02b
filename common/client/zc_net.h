/* zc_net.h - between zc_client.c (requests) and zc_net.c (endpoint, calls, deadlines).
 *
 * A call is one request on its way: created, sent, and done when its reply has come or its
 * client is broken.  Locking: zc_net.lock guards everything in these structs but what a
 * comment says is fixed after creation.  It is not held while the transport is called.
 */
#ifndef ZC_NET_H
#define ZC_NET_H

#include "zc_client.h"
#include "zc_list.h"
#include "zc_lock.h"
#include "zc_wire.h"

struct zc_call {
    struct zc_list link; /* zc_client.calls */
    uint64_t tag;
    uint8_t type;
    bool done;
    uint64_t last_sign;  /* of life concerning this call */
    bool lent;           /* the server may reach memory of the caller */
    uint64_t patience;   /* silence (ns) after which it has failed */
    struct zc_msg reply; /* byte fields are copied: */
    char text[256];      /* reply.text */
    void *data;          /* where reply.data goes; the caller's */
    size_t data_cap;
    int status; /* when done: the reply's, or why there is none */
};

struct zc_client {
    struct zc_net *net;  /* fixed, as are label, peer, session, credits, page size, boot id */
    struct zc_list link; /* zc_net.clients */
    char label[300];
    zc_peer peer;
    uint64_t session, boot_id;
    uint32_t credits, max_inline, page_size;
    struct zc_list calls; /* under way */
    unsigned ncalls;
    uint64_t last_heard, last_sent;
    uint64_t ping_ns;         /* it says something at least this often */
    int failed;               /* the transport said so; not acted upon yet */
    int broken;               /* negative errno; no call can succeed any more */
    bool removed;             /* its peer was removed */
    unsigned sending;         /* threads that post to the peer, which must stay for them */
    struct zc_lock view_lock; /* guards: */
    bool sending_view;        /* a thread sends a view, and makes the transfer it is for */
    zc_cond view_sent;        /* it has */
    char why[256];            /* it is broken */
};

/* Puts a call on its way; *out is the caller's until zc_call_wait().  msg->tag and session
 * are filled in.  `data` receives the reply's payload.  Waits for a credit. */
int zc_call_start(struct zc_client *c, struct zc_msg *msg, void *data, size_t data_cap,
                  struct zc_call **out);
/* Waits until the call is done; its status, explained.  *reply may be NULL; its text field
 * is void and its data points to the caller's memory.  Frees the call. */
int zc_call_wait(struct zc_client *c, struct zc_call *call, struct zc_msg *reply);
/* Both; the second waits for `patience_ms` at most, whatever the time-out. */
int zc_call(struct zc_client *c, struct zc_msg *msg, struct zc_msg *reply);
int zc_call_brief(struct zc_client *c, struct zc_msg *msg, uint64_t patience_ms);

struct zc_tp *zc_net_transport(struct zc_net *n);
const char *zc_net_name(const struct zc_net *n);
uint64_t zc_net_timeout_ms(const struct zc_net *n);
void zc_net_add(struct zc_net *n, struct zc_client *c);
/* Takes what the reply to HELLO says; the heartbeat looks at the client meanwhile. */
void zc_net_accepted(struct zc_client *c, const struct zc_msg *reply);
void zc_net_remove(struct zc_net *n, struct zc_client *c);

#endif
