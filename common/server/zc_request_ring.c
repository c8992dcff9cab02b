/* zc_request_ring.c - RING_OPEN: the rings of sessions (zc_shmring.h), and the open files that
 * their entries name.
 */
#include "config.h"

#include <errno.h>

#include "zc_log.h"
#include "zc_server_internal.h"
#include "zc_shmring.h"

static struct zc_handle *get(void *server, uint64_t number, void **kept)
{
    struct zc_export *e;
    struct zc_handle *h = zc_export_hold(server, number, &e);

    *kept = e;
    return h;
}

static void put(void *server, void *kept)
{
    zc_export_release(server, kept);
}

/* Adds where published pages are. */
static void show_where(const struct zc_server *s, struct zc_msg *reply)
{
    size_t len;
    int fd;

    if (!s->cfg.publishes || !zc_cache_pagedescs(s->cfg.cache, &fd, &reply->pagedescs, &len))
        return;
    reply->pagedescs_fd = (uint32_t)fd;
    reply->pagedescs_len = len;
}

void zc_request_ring_open(struct zc_request *r)
{
    struct zc_session *ss = r->session;
    struct zc_server *s = ss->server;
    const struct zc_shmring_files files = {get, put, s};
    int rc = 0, control, box;

    if (!s->cfg.shmring || !zc_tp_is_local(s->tp, ss->peer))
        rc = zc_errorf(EOPNOTSUPP, "nothing is left in memory here");
    else if (ss->ring_writer)
        rc = zc_errorf(EEXIST, "there is one already");
    else if (!zc_session_mem_keep(&s->session_mem, &ss->quota, ZC_RING_FIRST))
        rc = zc_errorf(ENOMEM, "no memory to share with this process");
    if (rc == 0) {
        rc = zc_shmring_open(s->cfg.shmring, &files, &ss->ring_writer);
        if (rc)
            zc_session_mem_give(&s->session_mem, &ss->quota, ZC_RING_FIRST);
    }
    if (rc == 0) {
        zc_shmring_descriptors(ss->ring_writer, &control, &box);
        r->reply.control_fd = (uint32_t)control;
        r->reply.ring_fd = (uint32_t)box;
        show_where(s, &r->reply);
    }
    zc_error_join(&r->error, rc);
    zc_request_finish(r);
}

void zc_session_ring_close(struct zc_session *ss)
{
    if (ss->ring_writer)
        zc_shmring_close(ss->ring_writer);
    ss->ring_writer = NULL;
}

void zc_server_rings_end(struct zc_server *s)
{
    if (s->cfg.shmring)
        zc_shmring_end(s->cfg.shmring, s);
}
