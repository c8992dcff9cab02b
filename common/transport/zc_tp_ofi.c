/* zc_tp_ofi.c - the transport over libfabric reliable datagrams: endpoint, peers, memory. */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <rdma/fi_cm.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "zc_address_space.h"
#include "zc_fd.h"
#include "zc_log.h"
#include "zc_tp_ofi_internal.h"

int zc_tp_ofi_failed(struct ofi *o, const char *call, long rc)
{
    char remedy[ZC_ADDRESS_SPACE_TEXT] = "";

    if (fi_errno_of(rc) == ENOMEM)
        zc_address_space_remedy(0, remedy, sizeof remedy);
    return zc_errorf(fi_errno_of(rc), "libfabric provider %s: %s: %s%s", o->cfg.provider, call,
                     o->lib->strerror((int)(rc < 0 ? -rc : rc)), remedy);
}

/* ---- memory ---- */

/* Makes a memory key as long as the provider allows, since a key and an address that are guessed
 * give access.  0, or libfabric's error. */
static int random_key(const struct ofi *o, uint64_t *key)
{
    size_t size = o->info->domain_attr->mr_key_size;

    if (getrandom(key, sizeof *key, 0) != sizeof *key)
        return -FI_EAVAIL;
    if (size && size < sizeof *key)
        *key &= (UINT64_C(1) << 8 * size) - 1;
    return 0;
}

/* 0, or libfabric's error. */
static int mr_reg(struct ofi *o, void *buf, size_t len, uint64_t access, struct fid_mr **mr)
{
    int mode = o->info->domain_attr->mr_mode;
    uint64_t key = 0;
    int rc;

    if (!(mode & FI_MR_PROV_KEY)) {
        rc = random_key(o, &key);
        if (rc)
            return rc;
    }
    rc = fi_mr_reg(o->domain, buf, len, access, 0, key, 0, mr, NULL);
    if (rc == 0 && (mode & FI_MR_ENDPOINT)) {
        rc = fi_mr_bind(*mr, &o->ep->fid, 0);
        if (rc == 0)
            rc = fi_mr_enable(*mr);
        if (rc)
            fi_close(&(*mr)->fid);
    }
    return rc;
}

static int register_memory(struct ofi *o, void *buf, size_t len, uint64_t access,
                           struct fid_mr **mr)
{
    int rc;

    ofi_enter(o);
    rc = mr_reg(o, buf, len, access, mr);
    ofi_leave(o);
    return rc ? zc_tp_ofi_failed(o, "fi_mr_reg", rc) : 0;
}

static void close_memory(struct ofi *o, struct fid_mr *mr)
{
    ofi_enter(o);
    fi_close(&mr->fid);
    ofi_leave(o);
}

static int ofi_reg(struct zc_tp *tp, void *buf, size_t len, struct zc_mr *out)
{
    struct ofi *o = ofi_of(tp);
    struct fid_mr *mr;
    uint64_t access = FI_READ | FI_WRITE | (o->cfg.hidden ? 0 : FI_REMOTE_READ | FI_REMOTE_WRITE);
    int rc = register_memory(o, buf, len, access, &mr);

    if (rc)
        return rc;
    out->priv = mr;
    out->desc = fi_mr_desc(mr);
    out->rkey = fi_mr_key(mr);
    out->raddr = o->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)buf : 0;
    return 0;
}

static void ofi_dereg(struct zc_tp *tp, struct zc_mr *mr)
{
    close_memory(ofi_of(tp), mr->priv);
    mr->priv = NULL;
}

static void slab_free(struct ofi *o, struct slab *s)
{
    if (s->mr)
        close_memory(o, s->mr);
    free(s->buffers);
    free(s->memory);
    free(s);
}

/* n message buffers of `size` bytes, registered where the provider wants that; NULL: no memory. */
static struct slab *slab_new(struct ofi *o, unsigned n, size_t size, uint64_t access)
{
    struct slab *s = calloc(1, sizeof *s);
    size_t stride = (size + 63) & ~(size_t)63;

    if (!s)
        return NULL;
    s->stride = stride;
    s->buffers = calloc(n, sizeof *s->buffers);
    s->memory = aligned_alloc(64, n * stride);
    if (!s->buffers || !s->memory)
        goto fail;
    if (o->info->domain_attr->mr_mode & FI_MR_LOCAL) {
        if (register_memory(o, s->memory, n * stride, access, &s->mr))
            goto fail;
        s->desc = fi_mr_desc(s->mr);
    }
    for (unsigned i = 0; i < n; i++) {
        s->buffers[i].data = s->memory + i * stride;
        s->buffers[i].slab = s;
        s->buffers[i].post.kind = access & FI_RECV ? KIND_RECV : KIND_SEND;
        zc_list_init(&s->buffers[i].post.link);
    }
    return s;
fail:
    slab_free(o, s);
    return NULL;
}

static struct zc_list *free_buffers(struct ofi *o, size_t size)
{
    return size <= SEND_BRIEF ? &o->free_brief : &o->free_send;
}

/* The lock is held. */
static struct buffer *goes_to(struct buffer *b, zc_peer peer)
{
    b->post.peer = peer;
    peer_of(peer)->sending += b->slab->stride;
    return b;
}

struct buffer *zc_tp_ofi_send_buffer(struct ofi *o, zc_peer peer, size_t len)
{
    struct zc_list *list = free_buffers(o, len), *n;
    struct buffer *b = NULL;
    struct slab *s;

    zc_lock_get(&o->lock);
    n = zc_list_pop(list);
    if (n)
        b = goes_to(zc_list_entry(n, struct buffer, post.link), peer);
    zc_lock_put(&o->lock);
    if (b)
        return b;
    s = slab_new(o, SEND_SLAB, len <= SEND_BRIEF ? SEND_BRIEF : o->cfg.max_msg, FI_SEND);
    if (!s)
        return NULL;
    zc_lock_get(&o->lock);
    s->next = o->slabs;
    o->slabs = s;
    for (unsigned i = 1; i < SEND_SLAB; i++)
        zc_list_add_tail(list, &s->buffers[i].post.link);
    b = goes_to(&s->buffers[0], peer);
    zc_lock_put(&o->lock);
    return b;
}

/* The last one used is the next: so many take memory as ever were needed at a time. */
void zc_tp_ofi_send_buffer_put(struct ofi *o, struct buffer *b)
{
    zc_lock_get(&o->lock);
    if (b->post.peer)
        peer_of(b->post.peer)->sending -= b->slab->stride;
    zc_list_add_tail(free_buffers(o, b->slab->stride)->next, &b->post.link);
    zc_lock_put(&o->lock);
}

size_t zc_tp_ofi_backlog(struct zc_tp *tp, zc_peer peer)
{
    struct ofi *o = ofi_of(tp);
    size_t bytes;

    zc_lock_get(&o->lock);
    bytes = peer_of(peer)->sending;
    zc_lock_put(&o->lock);
    return bytes;
}

/* ---- peers ---- */

static int ofi_peer_add(struct zc_tp *tp, const void *addr, size_t len, zc_peer *out)
{
    struct ofi *o = ofi_of(tp);
    struct peer *p;
    int n;

    if (len != o->name_len)
        return zc_errorf(EINVAL, "address of %zu bytes; provider %s has addresses of %zu", len,
                         o->cfg.provider, o->name_len);
    p = calloc(1, sizeof *p);
    if (!p)
        return zc_errorf(ENOMEM, "no memory for a peer");
    zc_list_init(&p->queue);
    zc_list_init(&p->pending);
    ofi_enter(o);
    n = fi_av_insert(o->av, addr, 1, &p->addr, 0, NULL);
    ofi_leave(o);
    if (n != 1) {
        free(p);
        return zc_errorf(EINVAL, "provider %s does not take this address", o->cfg.provider);
    }
    zc_lock_get(&o->lock);
    zc_list_add_tail(&o->peers, &p->link);
    zc_lock_put(&o->lock);
    *out = (uintptr_t)p;
    return 0;
}

static void ofi_peer_remove(struct zc_tp *tp, zc_peer peer)
{
    struct ofi *o = ofi_of(tp);
    struct peer *p = peer_of(peer);
    fi_addr_t addr = p->addr;
    struct zc_list *n;

    zc_lock_get(&o->lock);
    o->any_gone = true;
    p->removed = true;
    p->with_fabric++; /* keeps it while others retry its queue or complete its posts */
    while ((n = zc_list_pop(&p->queue)))
        zc_tp_ofi_cancel(o, zc_list_entry(n, struct zc_post, link));
    zc_list_del(&p->pending);
    while (p->retrying)
        zc_cond_wait(&o->retried, &o->lock);
    p->with_fabric--;
    zc_tp_ofi_peer_free_if_idle(o, p);
    zc_lock_put(&o->lock);
    ofi_enter(o);
    fi_av_remove(o->av, &addr, 1, 0);
    ofi_leave(o);
    zc_tp_ofi_wake(tp);
}

static int ofi_address(struct zc_tp *tp, void *buf, size_t *len)
{
    struct ofi *o = ofi_of(tp);

    if (*len < o->name_len)
        return zc_errorf(ENOSPC, "address needs %zu bytes", o->name_len);
    memcpy(buf, o->name, o->name_len);
    *len = o->name_len;
    return 0;
}

/* ---- open and close ---- */

/* Asks libfabric for `prov`: 0, or what it says, -FI_ENODATA if it has none that will do. */
static int ask_for(struct ofi *o, const char *prov)
{
    struct fi_info *hints = o->lib->dupinfo(NULL);
    int rc;

    if (!hints)
        return -FI_ENOMEM;
    hints->caps = FI_MSG | FI_RMA;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->threading = FI_THREAD_SAFE;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->domain_attr->mr_mode =
        FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
    hints->rx_attr->size = o->cfg.nrecv; /* ofi_rxm has 192 bytes for each of 65536 otherwise */
    hints->fabric_attr->prov_name = strdup(prov);
    /* Without a format fi_getinfo looks at every address family, which takes seconds. */
    if (strstr(prov, "tcp") || strstr(prov, "net") || strstr(prov, "sockets"))
        hints->addr_format = FI_SOCKADDR_IN;
    if (o->cfg.toward && !o->cfg.listen) {
        hints->dest_addr = malloc(o->cfg.toward_len);
        if (hints->dest_addr) {
            memcpy(hints->dest_addr, o->cfg.toward, o->cfg.toward_len);
            hints->dest_addrlen = o->cfg.toward_len;
        }
    }
    rc = o->lib->getinfo(FI_VERSION(1, 14), o->cfg.listen, o->cfg.listen ? o->cfg.port : NULL,
                         o->cfg.listen ? FI_SOURCE : 0, hints, &o->info);
    o->lib->freeinfo(hints);
    /* "tcp" without datagrams of its own is given with ofi_rxm on top: another protocol. */
    if (rc == 0 && !strcmp(prov, "tcp") && strcmp(o->info->fabric_attr->prov_name, prov)) {
        o->lib->freeinfo(o->info);
        o->info = NULL;
        rc = -FI_ENODATA;
    }
    return rc;
}

static int try_provider(struct ofi *o, const char *prov)
{
    int rc = ask_for(o, prov);

    if (rc == 0) {
        o->cfg.provider = o->provider = strdup(prov);
        o->in_turn = !strcmp(prov, "net") || !strcmp(prov, "tcp");
        rc = o->provider ? 0 : -FI_ENOMEM;
    }
    return rc;
}

/* The datagrams of libfabric's own TCP provider are "net" in 1.17 and "tcp" in later releases, and
 * understand each other.  They are also the default where ofi_rxm is
 * missing, as in Intel MPI's libfabric. */
static int find_provider(struct ofi *o, const char *wanted)
{
    static const char *const over_tcp[] = {ZC_DEFAULT_PROVIDER, "tcp", "net"};
    int rc = -FI_ENODATA;

    if (wanted && strcmp(wanted, "tcp") && strcmp(wanted, "net"))
        rc = try_provider(o, wanted);
    else
        for (int i = wanted ? 1 : 0; rc == -FI_ENODATA && i < 3; i++)
            rc = try_provider(o, over_tcp[i]);
    if (rc == 0)
        return 0;
    o->cfg.provider = wanted ? wanted : ZC_DEFAULT_PROVIDER;
    if (rc != -FI_ENODATA)
        return zc_tp_ofi_failed(o, "fi_getinfo", rc);
    return zc_errorf(ENODEV,
                     "libfabric %s has no provider \"%s\" with reliable datagrams and RMA%s%s; "
                     "fi_info lists what there is",
                     zc_fabric_version(), o->cfg.provider, o->cfg.listen ? " on " : "",
                     o->cfg.listen ? o->cfg.listen : "");
}

static void close_fid(struct fid *fid)
{
    if (fid)
        fi_close(fid);
}

#define CLOSE(x) close_fid((x) ? &(x)->fid : NULL)

/* 0, or what *call has returned. */
static int try_to_open(struct ofi *o, const char **call)
{
    struct fi_av_attr av = {.type = FI_AV_TABLE};
    struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_MSG, .wait_obj = FI_WAIT_FD, .size = 4096};
    int rc;

    *call = "fi_fabric";
    if ((rc = o->lib->fabric(o->info->fabric_attr, &o->fabric, NULL)))
        return rc;
    *call = "fi_domain";
    if ((rc = fi_domain(o->fabric, o->info, &o->domain, NULL)))
        return rc;
    *call = "fi_av_open";
    if ((rc = fi_av_open(o->domain, &av, &o->av, NULL)))
        return rc;
    *call = "fi_cq_open";
    if (fi_cq_open(o->domain, &cq, &o->cq, NULL)) {
        cq.wait_obj = FI_WAIT_NONE;
        if ((rc = fi_cq_open(o->domain, &cq, &o->cq, NULL)))
            return rc;
    } else if (fi_control(&o->cq->fid, FI_GETWAIT, &o->cq_fd)) {
        o->cq_fd = -1;
    }
    *call = "fi_endpoint";
    if (o->cfg.port) /* from now on, briefly: other sockets may bind this port, too */
        setsockopt(o->cfg.port_socket, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if ((rc = fi_endpoint(o->domain, o->info, &o->ep, NULL)))
        return rc;
    *call = "fi_ep_bind";
    if ((rc = fi_ep_bind(o->ep, &o->av->fid, 0)) ||
        (rc = fi_ep_bind(o->ep, &o->cq->fid, FI_TRANSMIT | FI_RECV)))
        return rc;
    *call = "fi_enable";
    if ((rc = fi_enable(o->ep)))
        return rc;
    *call = "fi_getname";
    o->name_len = sizeof o->name;
    return fi_getname(&o->ep->fid, o->name, &o->name_len);
}

/* After a failure.  libfabric 2 frees parts of an endpoint twice that could not be enabled; there
 * it is left as it is, with what it is bound to. */
static void drop_objects(struct ofi *o)
{
    if (!o->ep || atoi(zc_fabric_version()) < 2) {
        CLOSE(o->ep);
        CLOSE(o->cq);
        CLOSE(o->av);
        CLOSE(o->domain);
        CLOSE(o->fabric);
    }
    o->ep = NULL;
    o->cq = NULL;
    o->av = NULL;
    o->domain = NULL;
    o->fabric = NULL;
    o->cq_fd = -1;
}

/* libfabric looks for a free port of its range (FI_TCP_PORT_LOW_RANGE) by binding it, and another
 * process may be the first to listen there (1.17); then it is asked again. */
static int open_endpoint(struct ofi *o)
{
    enum { TRIES = 20, MOST_US = 20000 };
    unsigned seed = (unsigned)getpid();
    const char *call;
    int rc = try_to_open(o, &call);

    for (int i = 1; rc == -FI_EADDRINUSE && !o->cfg.port && i < TRIES; i++) {
        drop_objects(o);
        usleep((useconds_t)(rand_r(&seed) % MOST_US));
        rc = try_to_open(o, &call);
    }
    if (rc == 0)
        return 0;
    drop_objects(o);
    return zc_tp_ofi_failed(o, call, rc);
}

static int post_receives(struct ofi *o)
{
    struct slab *s = slab_new(o, o->cfg.nrecv, o->cfg.max_msg, FI_RECV);
    ssize_t rc;

    if (!s)
        return zc_errorf(ENOMEM, "no memory for %u receive buffers", o->cfg.nrecv);
    s->next = o->slabs;
    o->slabs = s;
    for (unsigned i = 0; i < o->cfg.nrecv; i++)
        if ((rc = zc_tp_ofi_post_recv(o, &s->buffers[i])))
            return zc_tp_ofi_failed(o, "fi_recv", rc);
    return 0;
}

/* An RMA write whose header has arrived goes on into a memory region that was closed, and
 * removing the peer does not end its connection (libfabric 1.17, rxm): only the end of the
 * endpoint does. */
static void ofi_sever(struct zc_tp *tp)
{
    struct ofi *o = ofi_of(tp);

    o->closing = true;
    CLOSE(o->ep);
    o->ep = NULL;
    while (zc_tp_ofi_drain_cq(o) > 0)
        ;
    zc_lock_get(&o->lock);
    zc_list_each (&o->peers, p)
        zc_list_splice(&o->cancelled, &zc_list_entry(p, struct peer, link)->queue);
    zc_list_splice(&o->cancelled, &o->flying);
    zc_lock_put(&o->lock);
    zc_tp_ofi_report_cancelled(o);
}

/* libfabric 1.17 (tcp) crashes when an endpoint is closed that has received a part of an RMA
 * read, from a client that was stopped or is unreachable: xnet_ep_flush_all_queues() gives that
 * transfer back twice.  Such an endpoint is left as it is for the rest of the process; without
 * progress the fabric touches none of our memory. */
static bool must_not_close(struct ofi *o)
{
    zc_list_each (&o->flying, n)
        if (zc_list_entry(n, struct zc_post, link)->kind == KIND_PULL)
            return true;
    return false;
}

static void leave_open(struct ofi *o)
{
    static struct ofi *left;
    static struct zc_lock lock = ZC_LOCK_INITIALIZER(ZC_ORDER_TRANSPORT);

    zc_debug("endpoint left open: an RMA read is under way");
    zc_lock_get(&lock);
    o->next_left = left;
    left = o;
    zc_lock_put(&lock);
}

static void ofi_close(struct zc_tp *tp)
{
    struct ofi *o = ofi_of(tp);
    bool leave = must_not_close(o);
    struct zc_list *n;

    o->closing = true;
    if (!leave) {
        CLOSE(o->ep); /* from here on the fabric owns nothing */
        o->ep = NULL;
        if (o->cq)
            while (zc_tp_ofi_drain_cq(o) > 0)
                ;
    }
    zc_list_each (&o->peers, p)
        zc_list_splice(&o->cancelled, &zc_list_entry(p, struct peer, link)->queue);
    zc_list_splice(&o->cancelled, &o->flying);
    zc_tp_ofi_report_cancelled(o);
    if (leave) {
        leave_open(o);
        return;
    }
    while ((n = zc_list_pop(&o->peers)))
        free(zc_list_entry(n, struct peer, link));
    while (o->slabs) {
        struct slab *s = o->slabs;

        o->slabs = s->next;
        slab_free(o, s);
    }
    CLOSE(o->cq);
    CLOSE(o->av);
    CLOSE(o->domain);
    CLOSE(o->fabric);
    if (o->info)
        o->lib->freeinfo(o->info);
    close(o->wake_fd);
    zc_lock_destroy(&o->lock);
    zc_lock_destroy(&o->call_lock);
    pthread_cond_destroy(&o->retried);
    free(o->provider);
    free(o);
}

static const struct zc_tp_ops ofi_ops = {
    .name = "ofi",
    .close = ofi_close,
    .sever = ofi_sever,
    .address = ofi_address,
    .peer_add = ofi_peer_add,
    .peer_remove = ofi_peer_remove,
    .send = zc_tp_ofi_send,
    .backlog = zc_tp_ofi_backlog,
    .reg = ofi_reg,
    .dereg = ofi_dereg,
    .rma = zc_tp_ofi_rma,
    .progress = zc_tp_ofi_progress,
    .wake = zc_tp_ofi_wake,
};

void zc_tp_ofi_watch(struct zc_tp *tp, int fd)
{
    ofi_of(tp)->watch_fd = fd;
}

int zc_tp_ofi_warm(const char *provider)
{
    struct ofi o = {0};
    int rc = zc_fabric_load(&o.lib);

    if (rc == 0)
        rc = find_provider(&o, provider);
    if (o.info)
        o.lib->freeinfo(o.info);
    free(o.provider);
    return rc;
}

int zc_tp_ofi_open(const struct zc_tp_config *cfg, struct zc_tp **out)
{
    const struct zc_fabric *lib;
    struct ofi *o;
    int rc = zc_fabric_load(&lib);

    if (rc)
        return rc;
    o = calloc(1, sizeof *o);
    if (!o)
        return zc_errorf(ENOMEM, "no memory for an endpoint");
    o->tp.ops = &ofi_ops;
    o->cfg = *cfg; /* `listen` and `toward` are used before this returns only */
    o->lib = lib;
    o->cq_fd = o->watch_fd = -1;
    o->nap_us = 50;
    zc_adaptive_poll_init(&o->spin, (int)sysconf(_SC_NPROCESSORS_ONLN));
    o->wake_fd = zc_fd(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
    zc_lock_init(&o->lock, ZC_ORDER_TRANSPORT);
    zc_lock_init(&o->call_lock, ZC_ORDER_LIBFABRIC);
    zc_cond_init(&o->retried);
    zc_list_init(&o->free_send);
    zc_list_init(&o->free_brief);
    zc_list_init(&o->pending);
    zc_list_init(&o->cancelled);
    zc_list_init(&o->flying);
    zc_list_init(&o->peers);
    rc = o->wake_fd < 0 ? zc_errorf(errno, "eventfd: %s", strerror(errno)) : 0;
    if (rc == 0)
        rc = find_provider(o, cfg->provider);
    if (rc == 0)
        rc = open_endpoint(o);
    if (rc == 0)
        rc = post_receives(o);
    o->tp.provider = o->provider;
    o->awake = zc_now() + OPENED_MS * ZC_NS_PER_MS;
    if (rc) {
        ofi_close(&o->tp);
        return rc;
    }
    zc_debug("fabric: libfabric %s, provider %s, domain %s, %s", zc_fabric_version(), o->provider,
             o->info->domain_attr->name, o->cq_fd >= 0 ? "waits on a descriptor" : "polls");
    *out = &o->tp;
    return 0;
}
